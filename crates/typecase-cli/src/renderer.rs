//! What all commands render with: a model, a bare template, or both.

use crate::args::{FormatName, Profile, Source, Trust};
use crate::clock;
use anyhow::{Context, Result, bail};
use std::path::Path;
use typecase::format::chat_template::{TokenNames, render_own};
use typecase::format::kimi_k3::{self, KimiK3};
use typecase::format::{ChatTemplate, Format};
use typecase::model::{Language, ModelFiles};
use typecase::request::{ParseOptions, Validation};
use typecase::tokenizer::{self, EncodeOptions};
use typecase::value::Arena;
use typecase::{ChatRequest, Model, Prompt, RenderOptions, Tokens};

/// Renders requests. Shared between threads as it is.
#[derive(Debug)]
pub(crate) struct Renderer {
    subject: Subject,
    named_tokens: Vec<String>,
    parse_options: ParseOptions,
    render_options: RenderOptions,
    trust: tokenizer::Trust,
}

/// What writes the prompts.
#[derive(Debug)]
enum Subject {
    Model(Box<Model>, String),
    Template(ChatTemplate),
}

/// A request that was rendered.
#[derive(Debug)]
pub(crate) struct Done<'a> {
    pub(crate) prompt: Prompt<'a>,
    /// With byte ranges; `None` without a model.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) format: &'static str,
}

/// The model in `directory`, else the demo model, without its prompt language; and its name.
pub(crate) fn open(directory: Option<&Path>) -> Result<(Model, String)> {
    let (files, name) = match directory {
        Some(directory) => (ModelFiles::open(directory)?, directory.display().to_string()),
        None => {
            anstream::eprintln!(
                "note: no --model given; using the demo model: Kimi K3's format with a small vocabulary, whose ids \
                 mean nothing to a real checkpoint"
            );
            (ModelFiles::demo(), "demo".to_owned())
        }
    };
    Ok((Model::without_language(files)?, name))
}

impl Renderer {
    pub(crate) fn new(source: &Source) -> Result<Self> {
        check_template(source)?;
        let special: TokenNames = source.special.iter().cloned().collect();
        let mut named_tokens: Vec<String> = source.special.iter().map(|(_, token)| token.clone()).collect();
        let subject = match (&source.model, &source.template) {
            (None, Some(file)) => Subject::Template(compile(file, special)?),
            (directory, _) => {
                let (model, name) = open(directory.as_deref())?;
                named_tokens.extend(model.special_tokens().iter().map(|(_, token)| token.clone()));
                let language = language(source, &model)?;
                Subject::Model(Box::new(model.with_language(language)?), name)
            }
        };
        let validation = match source.profile {
            Profile::Served => Validation::Strict,
            Profile::Reference => Validation::Shape,
        };
        Ok(Renderer {
            subject,
            named_tokens,
            parse_options: ParseOptions::default()
                .validation(validation)
                .allow_template(source.allow_template),
            render_options: RenderOptions::default().now(source.now.unwrap_or_else(clock::local_time)),
            trust: match source.trust {
                Trust::Strict => tokenizer::Trust::Strict,
                Trust::Compat => tokenizer::Trust::Compat,
            },
        })
    }

    /// Finds the generation stub of a template's prompt, too.
    pub(crate) fn with_stub(mut self) -> Self {
        self.render_options = self.render_options.find_stub(true);
        self
    }

    pub(crate) fn model(&self) -> Option<&Model> {
        match &self.subject {
            Subject::Model(model, _) => Some(model),
            Subject::Template(_) => None,
        }
    }

    /// The model, for what makes no sense without ids.
    pub(crate) fn vocabulary(&self) -> Result<&Model> {
        self.model()
            .context("a template has no token ids: give --model as well")
    }

    pub(crate) fn model_name(&self) -> Option<&str> {
        match &self.subject {
            Subject::Model(_, name) => Some(name),
            Subject::Template(_) => None,
        }
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
        let options = &self.render_options;
        match &self.subject {
            Subject::Model(model, _) => {
                let prompt = model.render(&request, options)?;
                let format = match request.own_template() {
                    Some(_) => ChatTemplate::NAME,
                    None => model.format_name().unwrap_or_default(),
                };
                Ok((prompt, format))
            }
            Subject::Template(template) => {
                let names = || template.token_names().clone();
                let prompt = match request.own_template() {
                    Some(source) => render_own(source, names(), &request, options)?,
                    None => template.render(&request, options)?,
                };
                Ok((prompt, ChatTemplate::NAME))
            }
        }
    }

    /// The prompt of a request with its ids.
    pub(crate) fn render<'a>(&self, body: &'a mut [u8], arena: &'a Arena) -> typecase::Result<Done<'a>> {
        let (prompt, format) = self.prompt(body, arena)?;
        let options = EncodeOptions::new().trust(self.trust).ranges(true);
        let encode = |model: &Model| model.tokenizer().encode_with(&prompt, options);
        let tokens = self.model().map(encode).transpose()?;
        Ok(Done { prompt, tokens, format })
    }
}

/// Refuses a template for a format that is none.
fn check_template(source: &Source) -> Result<()> {
    let flags = [
        ("--template", source.template.is_some()),
        ("--template-name", source.template_name.is_some()),
    ];
    if let (Some(FormatName::KimiK3), Some((flag, _))) = (source.format, flags.iter().find(|(_, given)| *given)) {
        bail!("--format kimi_k3 is no template: leave {flag} out");
    }
    Ok(())
}

fn compile(file: &Path, names: TokenNames) -> Result<ChatTemplate> {
    let name = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(name)?;
    ChatTemplate::compile(&text, names).with_context(name)
}

/// The prompt language that the flags ask for, else the model's own.
fn language(source: &Source, model: &Model) -> Result<Language> {
    let mut names: TokenNames = model.special_tokens().iter().cloned().collect();
    for (name, token) in &source.special {
        names.insert(name, token);
    }
    if let Some(file) = &source.template {
        return Ok(Language::template(compile(file, names)?));
    }
    if let Some(wanted) = &source.template_name {
        return named_template(model, wanted, names);
    }
    let wanted = source.format.map(|format| match format {
        FormatName::KimiK3 => KimiK3::NAME,
        FormatName::ChatTemplate => ChatTemplate::NAME,
    });
    match wanted.or(model.own_language_name()) {
        Some(KimiK3::NAME) => Ok(Language::Native(Box::new(KimiK3::new(match source.profile {
            Profile::Served => kimi_k3::Profile::Served,
            Profile::Reference => kimi_k3::Profile::Reference(kimi_k3::Reference::default()),
        })))),
        Some(_) if model.templates().is_empty() => bail!("the model has no chat template"),
        Some(_) => Ok(Language::Templates(model.compile_templates(&names)?)),
        None => Ok(Language::Unknown),
    }
}

/// The template of the model that is called `wanted`, for all requests.
fn named_template(model: &Model, wanted: &str, names: TokenNames) -> Result<Language> {
    let found = model.templates();
    // Of equal names the last counts.
    let Some(template) = found.iter().rev().find(|template| template.name == wanted) else {
        let known: Vec<&str> = found.iter().map(|template| template.name.as_str()).collect();
        bail!(
            "the model has no chat template {wanted:?}; it has {}",
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        );
    };
    Ok(Language::template(template.compile(model.files(), names)?))
}
