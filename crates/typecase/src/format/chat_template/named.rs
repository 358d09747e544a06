//! Several templates of one model, by name.

use super::{ChatTemplate, TokenNames};
use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::Value;

/// The chat templates of a model: one, or several with names, as `tokenizer_config.json` may hold.
#[derive(Clone, Debug, Default)]
pub struct ChatTemplates {
    /// In the order of the configuration. A single template has the name `default`.
    templates: Vec<(String, ChatTemplate)>,
}

/// The template that is used unless something else is asked for.
const DEFAULT: &str = "default";
/// The template that is used for requests with tools, if there is one.
const TOOL_USE: &str = "tool_use";

impl ChatTemplates {
    /// A model with one template.
    pub fn single(template: ChatTemplate) -> Self {
        ChatTemplates {
            templates: vec![(DEFAULT.to_owned(), template)],
        }
    }

    /// Compiles named templates. Of equal names the last counts.
    ///
    /// # Errors
    /// A server fault if one of them does not compile.
    pub fn compile<'s>(
        sources: impl IntoIterator<Item = (&'s str, &'s str)>,
        token_names: &TokenNames,
    ) -> Result<Self> {
        let mut templates = ChatTemplates::default();
        for (name, source) in sources {
            templates.insert(name, ChatTemplate::compile(source, token_names.clone())?);
        }
        Ok(templates)
    }

    /// Adds a template, in the place of the one that had its name.
    pub fn insert(&mut self, name: &str, template: ChatTemplate) {
        match self.templates.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = template,
            None => self.templates.push((name.to_owned(), template)),
        }
    }

    /// The template called `name`.
    pub fn named(&self, name: &str) -> Option<&ChatTemplate> {
        self.templates
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, template)| template)
    }

    /// The template for a request with these `tools`: `tool_use` if there are any and there is one, else `default`. An
    /// empty list counts as tools, `null` does not.
    ///
    /// # Errors
    /// [`ErrorKind::NoDefaultTemplate`] if there is no `default`.
    ///
    /// # Source
    /// `get_chat_template` in `tokenization_utils_base.py` of transformers 5.23.0.
    pub fn choose(&self, tools: Option<Value<'_>>) -> Result<&ChatTemplate> {
        let with_tools = tools.is_some_and(|tools| !tools.is_none());
        with_tools
            .then(|| self.named(TOOL_USE))
            .flatten()
            .or_else(|| self.named(DEFAULT))
            .ok_or_else(|| {
                let mut names: Vec<String> = self.templates.iter().map(|(name, _)| name.clone()).collect();
                names.sort_unstable();
                Error::new(ErrorKind::NoDefaultTemplate { names })
            })
    }
}
