//! Several templates of one model, by name.

use super::{ChatTemplate, TokenNames};
use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::Value;

/// The chat templates of a model: one, or several with names, as `tokenizer_config.json` may hold.
#[derive(Clone, Debug, Default)]
pub struct ChatTemplates {
    /// In the order of the configuration. A single template has the name `default`.
    templates: Vec<(String, Compiled)>,
}

/// A template, or why it does not compile.
type Compiled = std::result::Result<ChatTemplate, ErrorKind>;

/// The template that is used unless something else is asked for.
const DEFAULT: &str = "default";
/// The template that is used for requests with tools, if there is one.
const TOOL_USE: &str = "tool_use";

impl ChatTemplates {
    /// A model with one template.
    pub fn single(template: ChatTemplate) -> Self {
        ChatTemplates {
            templates: vec![(DEFAULT.to_owned(), Ok(template))],
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
        self.insert_result(name, Ok(template));
    }

    /// Adds a template or, for requests that ask for it, why there is none.
    pub(crate) fn insert_result(&mut self, name: &str, template: Compiled) {
        match self.templates.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = template,
            None => self.templates.push((name.to_owned(), template)),
        }
    }

    /// Why the template that is used unless something else is asked for does not compile.
    pub(crate) fn broken_default(&self) -> Option<ErrorKind> {
        let (_, template) = self.templates.get(self.index(DEFAULT)?)?;
        template.as_ref().err().cloned()
    }

    /// Number of templates.
    pub fn len(&self) -> usize {
        self.templates.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// The template called `name`.
    pub fn named(&self, name: &str) -> Option<&ChatTemplate> {
        self.at(self.index(name)?)
    }

    pub(crate) fn at(&self, index: usize) -> Option<&ChatTemplate> {
        self.templates.get(index)?.1.as_ref().ok()
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.templates.iter().position(|(known, _)| known == name)
    }

    /// The template for a request with these `tools`: `tool_use` if there are any and there is one, else `default`. An
    /// empty list counts as tools, `null` does not.
    ///
    /// # Errors
    /// [`ErrorKind::NoDefaultTemplate`] if there is no `default`; [`ErrorKind::BrokenModelFile`] (server) if it does not
    /// compile.
    ///
    /// # Source
    /// `get_chat_template` in `tokenization_utils_base.py` of transformers 5.23.0.
    pub fn choose(&self, tools: Option<Value<'_>>) -> Result<&ChatTemplate> {
        self.pick(tools).map(|(_, template)| template)
    }

    /// The same, and which it is.
    pub(crate) fn pick(&self, tools: Option<Value<'_>>) -> Result<(usize, &ChatTemplate)> {
        let with_tools = tools.is_some_and(|tools| !tools.is_none());
        let tool_use = with_tools.then(|| self.index(TOOL_USE)).flatten();
        let Some(index) = tool_use.or_else(|| self.index(DEFAULT)) else {
            let mut names: Vec<String> = self.templates.iter().map(|(name, _)| name.clone()).collect();
            names.sort_unstable();
            return Err(Error::new(ErrorKind::NoDefaultTemplate { names }));
        };
        match &self.templates[index].1 {
            Ok(template) => Ok((index, template)),
            Err(kind) => Err(kind.clone().into()),
        }
    }
}
