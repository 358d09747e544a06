//! The arguments of `apply_chat_template`, and the variables that a template sees.

use super::token_names::{TOKEN_NAMES, TokenNames};
use crate::error::{Error, ErrorKind, Result};
use crate::request::{ChatRequest, Ending, is_truthy};
use typecase_jinja::value::{Arena, Dict, List, Origin, Value};

/// What a template is rendered for: the arguments of `apply_chat_template`, as the client sent them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Arguments<'a> {
    /// `conversation`
    pub messages: Value<'a>,
    /// `tools`
    pub tools: Value<'a>,
    /// `documents`
    pub documents: Value<'a>,
    /// `add_generation_prompt`, which the template sees as it is.
    pub add_generation_prompt: Value<'a>,
    /// `continue_final_message`: whether, or the name of the field.
    pub continue_final_message: Value<'a>,
    /// `**kwargs`
    pub kwargs: Option<&'a Dict<'a>>,
    /// Whether `kwargs` may replace the named tokens of the model, `bos_token`, `image_token` and the like, as those of the
    /// caller of `apply_chat_template` may. Those of a request may not: what a client sends is no control token.
    pub kwargs_name_tokens: bool,
    /// The `reasoning_effort` of the request, which is one of the variables unless `kwargs` has it.
    pub reasoning_effort: Option<Value<'a>>,
    /// Bytes of the request as it was sent: the template may work longer on a larger one.
    pub request_bytes: usize,
}

/// `None`, where a client sent nothing.
const NOTHING: Value<'static> = Value::None(Origin::COMPUTED);

/// Keyword arguments that `apply_chat_template` and what it calls take themselves. None of them reaches a template as a
/// variable, and those of a request do not change how it is rendered.
const TAKEN: [&str; 18] = [
    "add_generation_prompt",
    "chat_template",
    "continue_final_message",
    "conversation",
    "conversations",
    "documents",
    "max_length",
    "messages",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "sanitize_control_tokens",
    "self",
    "tokenize",
    "tokenizer_kwargs",
    "tools",
    "truncation",
];

impl<'a> Arguments<'a> {
    /// A conversation alone: no tools, no documents, closed after its last message.
    pub fn new(messages: Value<'a>) -> Self {
        Arguments {
            messages,
            tools: NOTHING,
            documents: NOTHING,
            add_generation_prompt: Value::Bool(false, Origin::COMPUTED),
            continue_final_message: Value::Bool(false, Origin::COMPUTED),
            kwargs: None,
            kwargs_name_tokens: true,
            reasoning_effort: None,
            request_bytes: 0,
        }
    }

    /// What a request asks for. As in the API of engines, a generation prompt is the default.
    pub fn from_request(request: &ChatRequest<'a>) -> Self {
        let stub = request.ending() == Ending::GenerationStub;
        Arguments {
            messages: request.field("messages").unwrap_or(NOTHING),
            tools: request.tools().unwrap_or(NOTHING),
            documents: request.documents().unwrap_or(NOTHING),
            add_generation_prompt: request
                .set_field("add_generation_prompt")
                .unwrap_or(Value::Bool(stub, Origin::COMPUTED)),
            continue_final_message: request.field("continue_final_message").unwrap_or(NOTHING),
            kwargs: request.template_kwargs(),
            kwargs_name_tokens: false,
            reasoning_effort: request.reasoning_effort(),
            request_bytes: request.body_len(),
        }
    }

    /// Refuses what is refused whatever the template is, in the order in which the reference looks.
    ///
    /// # Errors
    /// Client faults: there is no message, one is no object, or two endings are asked for.
    pub fn check(&self) -> Result<()> {
        self.message_list()?;
        if self.continued_field().is_some() && is_truthy(self.add_generation_prompt) {
            return Err(Error::new(ErrorKind::Conflict {
                one: "add_generation_prompt",
                other: "continue_final_message",
                reason: "a prompt ends with a new turn or within the last one",
            }));
        }
        Ok(())
    }

    /// The field of the final message that is to be continued, if it is.
    pub(super) fn continued_field(&self) -> Option<&'a str> {
        match self.continue_final_message {
            Value::Str(name) if !name.is_empty() => Some(name.as_str()),
            value => is_truthy(value).then_some("content"),
        }
    }

    /// The messages, all of them dicts and at least one.
    pub(super) fn message_list(&self) -> Result<&'a List<'a>> {
        let Value::List(messages) = self.messages else {
            return Err(Error::new(ErrorKind::wrong_type(self.messages, "an array of messages")).within("messages"));
        };
        if messages.is_empty() {
            let nothing = ErrorKind::UnsupportedValue {
                found: "[]".to_owned(),
                expected: "at least one message",
            };
            return Err(Error::new(nothing).within("messages"));
        }
        all_dicts(messages).map_err(|err| err.within("messages"))?;
        Ok(messages)
    }

    /// The tools as the template sees them: `None` or a list of dicts.
    pub(super) fn tool_list(&self, arena: &'a Arena) -> Result<Value<'a>> {
        match self.tools {
            Value::List(tools) => {
                all_dicts(tools).map_err(|err| err.within("tools"))?;
                Ok(self.tools)
            }
            Value::None(_) => Ok(self.tools),
            // Python makes a list of whatever can be iterated, and what is empty makes an empty one.
            Value::Dict(dict) if dict.is_empty() => Ok(Value::List(arena.list(&[], dict.origin()))),
            Value::Str(text) if text.is_empty() => Ok(Value::List(arena.list(&[], text.origin()))),
            found => Err(Error::new(ErrorKind::wrong_type(found, "an array of tools")).within("tools")),
        }
    }

    /// The documents as the template sees them: as they are, once they are found to be dicts.
    pub(super) fn document_list(&self) -> Result<Value<'a>> {
        match self.documents {
            Value::List(documents) => {
                all_dicts(documents).map_err(|err| err.within("documents"))?;
            }
            Value::None(_) => {}
            Value::Dict(dict) if dict.is_empty() => {}
            Value::Str(text) if text.is_empty() => {}
            found => return Err(Error::new(ErrorKind::wrong_type(found, "an array of objects")).within("documents")),
        }
        Ok(self.documents)
    }

    /// Whether no keyword argument of this name reaches the template.
    fn is_taken(&self, name: &str, token_names: &TokenNames) -> bool {
        let is_token = || TOKEN_NAMES.contains(&name) || token_names.iter().any(|(token, _)| token == name);
        TAKEN.binary_search(&name).is_ok() || !self.kwargs_name_tokens && is_token()
    }

    /// The keyword arguments that were given, and whether each reaches no template.
    pub(super) fn given<'v>(&'v self, token_names: &'v TokenNames) -> impl Iterator<Item = (&'a str, bool)> + 'v {
        let names = self
            .kwargs
            .into_iter()
            .flat_map(Dict::str_entries)
            .map(|(name, _)| name.as_str());
        names.map(|name| (name, self.is_taken(name, token_names)))
    }

    /// Adds the variables that are keyword arguments: the named tokens of the model, and what is given beside them. No
    /// name is added twice.
    pub(super) fn keywords<'v>(&self, token_names: &'v TokenNames, variables: &mut Vec<(Value<'v>, Value<'v>)>)
    where
        'a: 'v,
    {
        let kwargs = self.kwargs.map_or(&[][..], Dict::entries);
        let is_taken = |name: &str| self.is_taken(name, token_names);
        let is_given = |name: &str| !is_taken(name) && self.kwargs.is_some_and(|kwargs| kwargs.get(name).is_some());
        variables.reserve(token_names.len() + kwargs.len() + 1);
        for (name, token) in token_names.iter() {
            if !is_given(name) {
                variables.push((Value::Str(name.into()), Value::Str(token)));
            }
        }
        if let Some(effort) = self.reasoning_effort
            && !is_given("reasoning_effort")
        {
            variables.push((Value::Str("reasoning_effort".into()), effort));
        }
        for (name, value) in kwargs {
            if name.as_str().is_some_and(|name| !is_taken(name)) {
                variables.push((*name, *value));
            }
        }
    }
}

fn all_dicts(list: &List<'_>) -> Result<()> {
    match list.items().iter().position(|item| !matches!(item, Value::Dict(_))) {
        Some(at) => Err(Error::new(ErrorKind::wrong_type(list.items()[at], "an object")).within(at)),
        None => Ok(()),
    }
}
