//! A model directory: what ties format, tokenizer and media together.

mod files;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "hub")]
mod hub;
mod hub_failure;
mod language;
mod media;
#[cfg(any(feature = "huggingface", feature = "tiktoken"))]
#[cfg_attr(
    not(feature = "huggingface"),
    expect(dead_code, reason = "a tiktoken.model has its own added tokens")
)]
pub(crate) mod special_tokens;
mod templates;
mod turn_probe;

pub use files::ModelFiles;
#[cfg(feature = "hub")]
pub use hub::Hub;
pub use hub_failure::HubFailure;
pub use language::Language;
pub use media::ModelMedia;
pub use templates::NamedTemplate;

use crate::format::{ChatTemplate, Format, RenderOptions, chat_template};
use crate::prompt::{Prompt, PromptTemplate};
use crate::request::ChatRequest;
use crate::tokenizer::{TokenOrigins, Tokenizer, Tokens, Trust, TurnMarks};
use crate::{ErrorKind, Result};
use std::path::Path;
use std::sync::OnceLock;
use typecase_jinja::value::{Arena, Value};

/// A model, loaded: it knows its prompt language and its vocabulary. Shared between threads as it is.
#[derive(Debug)]
pub struct Model {
    files: ModelFiles,
    config: String,
    model_type: Option<String>,
    architectures: Vec<String>,
    templates: Vec<NamedTemplate>,
    stop_ids: Vec<u32>,
    language: Language,
    tokenizer: Tokenizer,
    /// Made when first asked for: only training wants masks.
    turn_marks: OnceLock<TurnMarks>,
    /// With the reason for refusing media where the vocabulary lacks a placeholder of the family.
    media: std::result::Result<Option<ModelMedia>, ErrorKind>,
    /// What closes and opens turns in the prompts of each template, when asked for.
    template_marks: Vec<OnceLock<TurnMarks>>,
}

const CONFIG: &str = "config.json";

impl Model {
    /// Opens a model directory. With the feature `hub`, what is none but has the form of a Hugging Face hub id
    /// (`organization/name`, `organization/name@revision`) is had from there, as the environment says (`HF_HOME`,
    /// `HF_HUB_CACHE`, `HF_HUB_OFFLINE`, ...). With the feature `gguf`, a file `*.gguf` is one too.
    ///
    /// # Errors
    /// Server faults that name the file: one that is missing or broken, a vocabulary of no known kind, a media
    /// placeholder that is not the one id that `config.json` says. [`ErrorKind::ModelFromHub`] if it is not to be had.
    pub fn load(model: impl AsRef<Path>) -> Result<Self> {
        Self::from_files(ModelFiles::open(model.as_ref())?)
    }

    /// The small model that comes with this crate: Kimi K3's layout and control tokens, with a vocabulary of its own of
    /// 2,816 ranks. For trying things out; its ids mean nothing to any real model.
    ///
    /// # Errors
    /// None unless it was built in a broken state.
    pub fn demo() -> Result<Self> {
        Self::from_files(ModelFiles::demo())
    }

    /// Opens a model from its files, wherever they are. [`ModelFiles::in_memory`] has an example.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_files(files: ModelFiles) -> Result<Self> {
        let model = Self::without_language(files)?;
        let language = model.own_language()?;
        model.with_language(language)
    }

    /// Opens a model without its prompt language: no template is compiled, and [`render`](Self::render) refuses all requests.
    /// For those who bring [another language](Self::with_language), or want the vocabulary alone.
    ///
    /// # Errors
    /// As [`load`](Self::load), but for what is wrong with templates.
    pub fn without_language(files: ModelFiles) -> Result<Self> {
        let config = config_text(&files)?;
        let arena = Arena::new();
        let parsed = files.parse(CONFIG, &config, &arena)?;
        let text = |value: Value<'_>| value.as_str().map(str::to_owned);
        let model_type = parsed.lookup("model_type").and_then(text);
        let architectures = parsed
            .lookup("architectures")
            .and_then(|names| names.as_list())
            .map_or(Vec::new(), |names| {
                names.items().iter().copied().filter_map(text).collect()
            });
        let templates = NamedTemplate::find(&files)?;
        let tokenizer = Tokenizer::from_files(&files)?;
        let stop_ids = stop_ids(&files, parsed, &tokenizer)?;
        let media = match ModelMedia::load(&files, parsed, &tokenizer) {
            Ok(media) => Ok(media),
            Err(err) => match err.kind() {
                kind @ ErrorKind::PlaceholderNotRegistered { .. } => Err(kind.clone()),
                _ => return Err(err),
            },
        };
        Ok(Model {
            files,
            config,
            model_type,
            architectures,
            templates,
            stop_ids,
            language: Language::Unknown,
            tokenizer,
            turn_marks: OnceLock::new(),
            media,
            template_marks: Vec::new(),
        })
    }

    /// The name of the prompt language that was picked for the model: of a native format, or `chat_template`; none if only
    /// the vocabulary can be used.
    ///
    /// # Example
    /// ```
    /// assert_eq!(typecase::Model::demo()?.format_name(), Some("kimi_k3"));
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn format_name(&self) -> Option<&'static str> {
        self.language.name()
    }

    /// The prompt of a request; by the template that it brings, if it was read with leave to bring one.
    ///
    /// # Errors
    /// As [`format`](Self::format) and [`Format::render`]; [`ErrorKind::RequestTemplate`] (client) if the template of the
    /// request does not compile or does what templates may not; [`ErrorKind::MediaCount`] (client) if a template of a model
    /// that takes media does not write one placeholder per item; [`ErrorKind::PlaceholderNotRegistered`] (server) for a
    /// request with media if the vocabulary lacks the placeholder of the model's family.
    pub fn render<'a>(&self, request: &ChatRequest<'a>, options: &RenderOptions) -> Result<Prompt<'a>> {
        let names = || self.special_tokens().iter().cloned().collect();
        let mut prompt = match request.own_template() {
            Some(source) => chat_template::render_own(source, names(), request, options)?,
            None => match &self.language {
                Language::Native(format) => return format.render(request, options),
                Language::Templates(templates) => {
                    let (index, template) = templates.pick(request.tools())?;
                    let mut prompt = template.render(request, options)?;
                    prompt.set_template(PromptTemplate::Named(index));
                    prompt
                }
                Language::Unknown => self.format(request)?.render(request, options)?,
            },
        };
        match &self.media {
            Ok(Some(media)) => media.locate(request, &mut prompt)?,
            Ok(None) => media::warn_of_media(request, &mut prompt),
            Err(kind) if media::has_media(request) => return Err(kind.clone().into()),
            Err(_) => {}
        }
        Ok(prompt)
    }

    /// The tokens of a prompt with where each came from: message, role, field, loss mask.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    ///
    /// # Example
    /// ```
    /// use typecase::tokenizer::{IGNORED_LABEL, Trust};
    /// use typecase::{ChatRequest, Model, value::Arena};
    /// let model = Model::demo()?;
    /// let mut body = br#"{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}],
    ///     "reasoning_effort": "none", "add_generation_prompt": false}"#.to_vec();
    /// let arena = Arena::new();
    /// let request = ChatRequest::parse(&mut body, &arena)?;
    /// let prompt = model.render(&request, &Default::default())?;
    /// let origins = model.explain(&prompt, Trust::Strict)?;
    ///
    /// // The first token that a message says: its message, its role, its field.
    /// let at = origins.content_mask().iter().position(|&is_content| is_content).unwrap_or_default();
    /// let token = &origins.tokens()[at];
    /// assert_eq!(&prompt.text()[token.range.clone()], "Hello");
    /// assert_eq!(token.message.and_then(|message| origins.role(message)), Some("user"));
    /// assert_eq!(origins.field(token).map(ToString::to_string).as_deref(), Some("messages[0].content"));
    ///
    /// // What is learned is the assistant's turn, with the token that closes it.
    /// let labels = origins.labels();
    /// assert_eq!(labels[at], IGNORED_LABEL);
    /// let learned: Vec<u32> = labels.iter().filter_map(|&label| u32::try_from(label).ok()).collect();
    /// assert_eq!(
    ///     model.tokenizer().decode(&learned)?,
    ///     "<|open|>response<|sep|>Hi!<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>"
    /// );
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn explain(&self, prompt: &Prompt<'_>, trust: Trust) -> Result<TokenOrigins> {
        let own;
        let marks = match prompt.template() {
            PromptTemplate::Own(template) => match template.downcast_ref::<ChatTemplate>() {
                Some(template) => {
                    own = turn_probe::marks(template, &self.tokenizer, &self.stop_ids);
                    Some(&own)
                }
                None => None,
            },
            PromptTemplate::Named(index) => self.template_turn_marks(*index),
            PromptTemplate::Unknown => None,
        };
        let marks = marks.unwrap_or_else(|| self.turn_marks());
        self.tokenizer.explain(prompt, trust, marks)
    }

    /// What opens and closes the turns of the assistant in this model's prompts, as small conversations show it; of several
    /// templates, in those of the default one.
    pub fn turn_marks(&self) -> &TurnMarks {
        let default = match &self.language {
            Language::Templates(templates) => templates.pick(None).ok().map(|(index, _)| index),
            _ => None,
        };
        let of_template = default.and_then(|index| self.template_turn_marks(index));
        of_template.unwrap_or_else(|| {
            self.turn_marks.get_or_init(|| match &self.language {
                Language::Native(format) => turn_probe::marks(format.as_ref(), &self.tokenizer, &self.stop_ids),
                Language::Templates(_) | Language::Unknown => TurnMarks::closed_by(&self.stop_ids),
            })
        })
    }

    /// Those of one of several templates.
    fn template_turn_marks(&self, index: usize) -> Option<&TurnMarks> {
        let Language::Templates(templates) = &self.language else {
            return None;
        };
        let template = templates.at(index)?;
        let marks = self.template_marks.get(index)?;
        Some(marks.get_or_init(|| turn_probe::marks(template, &self.tokenizer, &self.stop_ids)))
    }

    /// The ids of a prompt.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    ///
    /// # Example
    /// ```
    /// use typecase::{Model, prompt::SpecialTokens};
    /// let model = Model::demo()?;
    /// let ids = model.tokenizer().encode_text("<|open|>", SpecialTokens::All)?;
    /// assert_eq!(ids, [2819]);
    /// assert_eq!(model.tokenizer().decode(&ids)?, "<|open|>");
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn encode(&self, prompt: &Prompt<'_>) -> Result<Tokens> {
        self.tokenizer.encode(prompt)
    }

    /// Sets how many bytes of text and ids the tokenizer remembers, as [`Tokenizer::cache_bytes`] does.
    #[must_use]
    pub fn cache_bytes(mut self, max_bytes: usize) -> Self {
        self.tokenizer = self.tokenizer.cache_bytes(max_bytes);
        self
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The tokens that the configuration names, which templates may write: `("bos_token", "<s>")`.
    pub fn special_tokens(&self) -> &[(String, String)] {
        self.tokenizer.named_tokens()
    }

    /// The chat templates that come with the model.
    pub fn templates(&self) -> &[NamedTemplate] {
        &self.templates
    }

    /// The tokens with which the model ends its turn: `eos_token_id` of `generation_config.json`, else of `config.json`,
    /// else the `eos_token`.
    pub fn stop_ids(&self) -> &[u32] {
        &self.stop_ids
    }

    /// Where the model's files are.
    pub fn files(&self) -> &ModelFiles {
        &self.files
    }

    /// `model_type` of `config.json`.
    pub fn model_type(&self) -> Option<&str> {
        self.model_type.as_deref()
    }

    /// `architectures` of `config.json`.
    pub fn architectures(&self) -> &[String] {
        &self.architectures
    }

    /// `config.json`, as it is; `{}` where there is none.
    pub fn config_json(&self) -> &str {
        &self.config
    }
}

/// The text of `config.json`. What `AutoTokenizer` opens without one is opened here too: a vocabulary that is all in one
/// file, which the templates of `tokenizer_config.json` may stand beside.
fn config_text(files: &ModelFiles) -> Result<String> {
    let stands_alone = ["tokenizer.json", "tekken.json"].iter().any(|file| files.has(file));
    match files.read_optional(CONFIG)? {
        Some(text) => Ok(text),
        None if stands_alone => Ok("{}".to_owned()),
        None => files.read(CONFIG),
    }
}

fn stop_ids(files: &ModelFiles, config: Value<'_>, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    const GENERATION: &str = "generation_config.json";
    const KEY: &str = "eos_token_id";
    let arena = Arena::new();
    let generation = files.read_optional(GENERATION)?;
    let generation = match &generation {
        Some(text) => files.parse(GENERATION, text, &arena)?.lookup(KEY),
        None => None,
    };
    for (file, value) in [(GENERATION, generation), (CONFIG, config.lookup(KEY))] {
        let values = match value {
            Some(Value::None(_)) | None => continue,
            Some(Value::List(list)) => list.items().to_vec(),
            Some(value) => vec![value],
        };
        let mut ids = Vec::new();
        for value in values {
            match value {
                // -1 and the like say that there is none.
                Value::Int(id, _) => ids.extend(u32::try_from(id).ok()),
                found => {
                    let found = ErrorKind::wrong_type(found, "a token id, or an array of them");
                    return Err(files.broken(file, format!("{KEY}: {found}")));
                }
            }
        }
        if !ids.is_empty() {
            return Ok(ids);
        }
    }
    let eos = tokenizer.named_tokens().iter().find(|(name, _)| name == "eos_token");
    let id = eos.and_then(|(_, content)| tokenizer.added_tokens().id(content));
    Ok(id.into_iter().collect())
}
