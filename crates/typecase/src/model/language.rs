//! What a model's prompts are written in.

use super::{CONFIG, Model, ModelFiles, NamedTemplate};
use crate::error::{Error, ErrorKind, Result};
use crate::format::chat_template::{ChatTemplate, ChatTemplates, TokenNames};
use crate::format::{Format, KimiK3};
use crate::media::{self, Anchor, Contract};
use crate::request::ChatRequest;
use std::sync::OnceLock;
use typecase_jinja::value::{Arena, Value};

/// What the prompts of a model are written in.
#[derive(Debug)]
#[non_exhaustive]
pub enum Language {
    /// A format of its own.
    Native(Box<dyn Format>),
    /// Chat templates, of which the tools of a request pick one.
    Templates(ChatTemplates),
    /// Neither: only the vocabulary can be used.
    Unknown,
}

impl Language {
    /// One template for every request.
    pub fn template(template: ChatTemplate) -> Self {
        Language::Templates(ChatTemplates::single(template))
    }

    /// The name of the format, or `chat_template`; none for [`Language::Unknown`].
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Language::Native(format) => Some(format.name()),
            Language::Templates(_) => Some(ChatTemplate::NAME),
            Language::Unknown => None,
        }
    }
}

impl Model {
    /// The model with another prompt language than its own.
    ///
    /// # Errors
    /// Server faults: [`ErrorKind::ControlTokenNotRegistered`] if the vocabulary lacks a control token of a native format,
    /// whose prompts would be ordinary text to the model; [`ErrorKind::BrokenModelFile`] if the `config.json` of a model of
    /// that format does not name the id of a placeholder.
    ///
    /// # Example
    /// ```
    /// use typecase::format::ChatTemplate;
    /// use typecase::model::{Language, Model};
    /// use typecase::{ChatRequest, value::Arena};
    /// let template = ChatTemplate::compile("{% for m in messages %}{{ m.content }}<|end_of_msg|>{% endfor %}", Default::default())?;
    /// let model = Model::demo()?.with_language(Language::template(template))?;
    /// let arena = Arena::new();
    /// let mut body = br#"{"messages": [{"role": "user", "content": "Hi"}]}"#.to_vec();
    /// let request = ChatRequest::parse(&mut body, &arena)?;
    /// assert_eq!(model.render(&request, &Default::default())?.text(), "Hi<|end_of_msg|>");
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn with_language(mut self, language: Language) -> Result<Self> {
        let templates = match &language {
            Language::Native(format) => {
                self.check_control_tokens(format.as_ref())?;
                0
            }
            Language::Templates(templates) => templates.len(),
            Language::Unknown => 0,
        };
        self.language = language;
        self.turn_marks = OnceLock::new();
        self.template_marks = (0..templates).map(|_| OnceLock::new()).collect();
        Ok(self)
    }

    /// The prompt language that the files of the model say: the native format of its `model_type`, else its templates.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenModelFile`] (server) if the default template does not compile.
    pub fn own_language(&self) -> Result<Language> {
        match self.own_language_name() {
            Some(KimiK3::NAME) => Ok(Language::Native(Box::new(KimiK3::default()))),
            Some(_) => {
                let names = self.special_tokens().iter().cloned().collect();
                Ok(Language::Templates(self.compile_templates(&names)?))
            }
            None => Ok(Language::Unknown),
        }
    }

    /// The [name](Language::name) of that language, whether its templates compile or not.
    pub fn own_language_name(&self) -> Option<&'static str> {
        match self.model_type.as_deref() {
            Some(KimiK3::NAME) => Some(KimiK3::NAME),
            _ if self.templates.is_empty() => None,
            _ => Some(ChatTemplate::NAME),
        }
    }

    /// The templates of the model, compiled with `names` for its named tokens.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenModelFile`] (server) if the default one does not compile. Of another one it is told when a request
    /// asks for it, as in transformers.
    pub fn compile_templates(&self, names: &TokenNames) -> Result<ChatTemplates> {
        let mut compiled = ChatTemplates::default();
        for template in &self.templates {
            let result = template.compile(&self.files, names.clone());
            compiled.insert_result(&template.name, result.map_err(|err| err.kind().clone()));
        }
        match compiled.broken_default() {
            Some(kind) => Err(kind.into()),
            None => Ok(compiled),
        }
    }

    /// The format of the prompts of a request: the model's native one, else the template that its tools ask for.
    ///
    /// # Errors
    /// [`ErrorKind::NoFormat`] (server), [`ErrorKind::NoDefaultTemplate`].
    pub fn format(&self, request: &ChatRequest<'_>) -> Result<&dyn Format> {
        match &self.language {
            Language::Native(format) => Ok(format.as_ref()),
            Language::Templates(templates) => Ok(templates.choose(request.tools())?),
            Language::Unknown => Err(Error::new(ErrorKind::NoFormat {
                model: self.files.name(),
                model_type: self.model_type.clone(),
            })),
        }
    }

    fn check_control_tokens(&self, format: &dyn Format) -> Result<()> {
        let is_own = self.model_type.as_deref() == Some(format.name());
        if let (true, Err(kind)) = (is_own, &self.media) {
            return Err(kind.clone().into());
        }
        let added = self.tokenizer.added_tokens();
        if let Some(token) = (format.control_tokens().iter()).find(|token| added.id(token.as_str()).is_none()) {
            return Err(Error::new(ErrorKind::ControlTokenNotRegistered {
                token: token.as_str(),
                format: format.name(),
                model: self.files.name(),
            }));
        }
        if !is_own {
            return Ok(());
        }
        match media::contract(format.name()) {
            Some(contract) => check_placeholders_are_named(&self.files, contract, &self.config),
            None => Ok(()),
        }
    }
}

impl NamedTemplate {
    /// Compiles it; `files` are those of its model.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenModelFile`] (server), which names the file, and the template where the file has several.
    pub fn compile(&self, files: &ModelFiles, names: TokenNames) -> Result<ChatTemplate> {
        ChatTemplate::compile(&self.source, names).map_err(|err| {
            let reason = match self.file.ends_with(".jinja") {
                true => err.to_string(),
                false => format!("{} {err}", self.name),
            };
            files.broken(&self.file, reason).caused_by(err)
        })
    }
}

/// `config.json` has to name the id of each placeholder that a native format writes: engines put the media's embeddings
/// where that id stands, so a prompt with other ids there would be accepted and mean nothing. Whether it is the id is
/// seen where the media of the model are loaded.
fn check_placeholders_are_named(files: &ModelFiles, contract: &Contract, config: &str) -> Result<()> {
    let arena = Arena::new();
    let config = files.parse(CONFIG, config, &arena)?;
    for item in contract.items {
        let Anchor::Token {
            spelling,
            config_key: Some(key),
        } = item.anchor
        else {
            continue;
        };
        let is_id = matches!(config.lookup(key), Some(Value::Int(id, _)) if u32::try_from(id).is_ok());
        if !is_id {
            let reason = format!("{key} is missing or is no token id; {spelling} has to be that id");
            return Err(files.broken(CONFIG, reason));
        }
    }
    Ok(())
}
