//! What all commands render with: a model, a bare template, or both.

use crate::args::{FormatName, Profile, Source, Trust};
use crate::clock;
use anyhow::{Context, Result, bail};
use std::path::Path;
use typecase::format::chat_template::{ChatTemplates, TokenNames};
use typecase::format::kimi_k3::{self, KimiK3};
use typecase::format::{ChatTemplate, Format};
use typecase::request::{ParseOptions, Validation};
use typecase::tokenizer::{self, EncodeOptions};
use typecase::value::Arena;
use typecase::{ChatRequest, Model, Prompt, RenderOptions, Tokens};

/// Renders requests. Shared between threads as it is.
#[derive(Debug)]
pub(crate) struct Renderer {
    model: Option<Model>,
    model_name: Option<String>,
    language: Language,
    named_tokens: Vec<String>,
    parse_options: ParseOptions,
    render_options: RenderOptions,
    trust: tokenizer::Trust,
}

/// The prompt language.
#[derive(Debug)]
enum Language {
    /// What the model picks.
    OfModel,
    Fixed(Box<dyn Format>),
    /// By the tools of the request.
    Templates(ChatTemplates),
}

/// A request that was rendered.
#[derive(Debug)]
pub(crate) struct Done<'a> {
    pub(crate) prompt: Prompt<'a>,
    /// With byte ranges; `None` without a model.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) format: &'static str,
}

/// The model in `directory`, else the demo model; and its name.
pub(crate) fn load(directory: Option<&Path>) -> Result<(Model, String)> {
    match directory {
        Some(directory) => Ok((Model::load(directory)?, directory.display().to_string())),
        None => {
            anstream::eprintln!(
                "note: no --model given; using the demo model: Kimi K3's format with a small vocabulary, whose ids \
                 mean nothing to a real checkpoint"
            );
            Ok((Model::demo()?, "demo".to_owned()))
        }
    }
}

impl Renderer {
    pub(crate) fn new(source: &Source) -> Result<Self> {
        let (model, model_name) = match (&source.model, &source.template) {
            (None, Some(_)) => (None, None),
            (directory, _) => {
                let (model, name) = load(directory.as_deref())?;
                (Some(model), Some(name))
            }
        };
        let mut names: TokenNames = model
            .iter()
            .flat_map(|model| model.special_tokens().iter().cloned())
            .collect();
        for (name, token) in &source.special {
            names.insert(name, token);
        }
        let language = Language::choose(source, model.as_ref(), &names)?;
        let validation = match source.profile {
            Profile::Served => Validation::Strict,
            Profile::Reference => Validation::Shape,
        };
        Ok(Renderer {
            model,
            model_name,
            language,
            named_tokens: names.iter().map(|(_, token)| token.as_str().to_owned()).collect(),
            parse_options: ParseOptions::default().validation(validation),
            render_options: RenderOptions::default().now(source.now.unwrap_or_else(clock::local_time)),
            trust: match source.trust {
                Trust::Strict => tokenizer::Trust::Strict,
                Trust::Compat => tokenizer::Trust::Compat,
            },
        })
    }

    pub(crate) fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// The model, for what makes no sense without ids.
    pub(crate) fn vocabulary(&self) -> Result<&Model> {
        self.model
            .as_ref()
            .context("a template has no token ids: give --model as well")
    }

    pub(crate) fn model_name(&self) -> Option<&str> {
        self.model_name.as_deref()
    }

    /// The tokens that have a name, such as `bos_token`.
    pub(crate) fn named_tokens(&self) -> &[String] {
        &self.named_tokens
    }

    pub(crate) fn trust(&self) -> tokenizer::Trust {
        self.trust
    }

    /// The prompt of a request, and the name of its format.
    pub(crate) fn prompt<'a>(
        &self,
        body: &'a mut [u8],
        arena: &'a Arena,
    ) -> typecase::Result<(Prompt<'a>, &'static str)> {
        let request = ChatRequest::parse_with(body, arena, &self.parse_options)?;
        let format: &dyn Format = match (&self.language, &self.model) {
            (Language::Fixed(format), _) => format.as_ref(),
            (Language::Templates(templates), _) => templates.choose(request.tools())?,
            (Language::OfModel, Some(model)) => model.format(&request)?,
            (Language::OfModel, None) => {
                return Err(typecase::ErrorKind::NoFormat {
                    model: "no model".to_owned(),
                    model_type: None,
                }
                .into());
            }
        };
        let prompt = format.render(&request, &self.render_options)?;
        Ok((prompt, format.name()))
    }

    /// The prompt of a request with its ids.
    pub(crate) fn render<'a>(&self, body: &'a mut [u8], arena: &'a Arena) -> typecase::Result<Done<'a>> {
        let (prompt, format) = self.prompt(body, arena)?;
        let options = EncodeOptions::new().trust(self.trust).ranges(true);
        let encode = |model: &Model| model.tokenizer().encode_with(&prompt, options);
        let tokens = self.model.as_ref().map(encode).transpose()?;
        Ok(Done { prompt, tokens, format })
    }
}

impl Language {
    fn choose(source: &Source, model: Option<&Model>, names: &TokenNames) -> Result<Self> {
        if let Some(file) = &source.template {
            if source.format == Some(FormatName::KimiK3) {
                bail!("--format kimi_k3 is no template: leave --template out");
            }
            let name = || file.display().to_string();
            let text = std::fs::read_to_string(file).with_context(name)?;
            let template = ChatTemplate::compile(&text, names.clone()).with_context(name)?;
            return Ok(Language::Fixed(Box::new(template)));
        }
        let native = model.is_some_and(|model| model.model_type() == Some("kimi_k3"));
        let format = match source.format {
            Some(format) => format,
            None if source.template_name.is_some() => FormatName::ChatTemplate,
            None if native => FormatName::KimiK3,
            None => FormatName::ChatTemplate,
        };
        match (format, model) {
            (FormatName::KimiK3, _) => {
                if source.template_name.is_some() {
                    bail!("--format kimi_k3 is no template: leave --template-name out");
                }
                Ok(Language::Fixed(Box::new(KimiK3::new(match source.profile {
                    Profile::Served => kimi_k3::Profile::Served,
                    Profile::Reference => kimi_k3::Profile::Reference(kimi_k3::Reference::default()),
                }))))
            }
            (FormatName::ChatTemplate, Some(model)) => Self::of_templates(source, model, names),
            (FormatName::ChatTemplate, None) => bail!("--format chat_template needs a model or a template"),
        }
    }

    fn of_templates(source: &Source, model: &Model, names: &TokenNames) -> Result<Self> {
        let found = model.templates();
        if let Some(wanted) = &source.template_name {
            // Of equal names the last counts.
            let Some(template) = found.iter().rev().find(|template| template.name == *wanted) else {
                let names: Vec<&str> = found.iter().map(|template| template.name.as_str()).collect();
                bail!(
                    "the model has no chat template {wanted:?}; it has {}",
                    if names.is_empty() {
                        "none".to_owned()
                    } else {
                        names.join(", ")
                    }
                );
            };
            let template = ChatTemplate::compile(&template.source, names.clone()).with_context(|| wanted.clone())?;
            return Ok(Language::Fixed(Box::new(template)));
        }
        let is_own = source.special.is_empty() && source.format.is_none();
        if is_own {
            return Ok(Language::OfModel);
        }
        if found.is_empty() {
            bail!("the model has no chat template");
        }
        let sources = found.iter().map(|found| (found.name.as_str(), found.source.as_str()));
        Ok(Language::Templates(ChatTemplates::compile(sources, names)?))
    }
}
