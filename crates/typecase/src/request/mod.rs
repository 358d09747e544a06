//! Chat requests as clients send them: OpenAI chat-completion JSON and what engines accept beyond it.
//!
//! A [`ChatRequest`] is a view over the values read from the body: nothing is copied, every field stays reachable as
//! the client sent it ([`ChatRequest::value`], [`Message::raw`], ...), unknown ones included, since templates may read
//! any of them. What formats read is found once and, unless [`Validation::Shape`] is asked for, checked once, with
//! errors that name message, field and reason.
//!
//! What the fields mean to a model is the format's business.

mod content;
mod message;
mod modality;
mod options;
mod tool;

pub use content::{Content, Part, PartKind};
pub(crate) use message::is_truthy;
pub use message::{Message, Role};
pub use modality::Modality;
pub use options::{Ending, ParseOptions, Validation};
pub use tool::{ToolCall, ToolChoice, declared_tool_name};

use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::{Arena, Dict, Value, json};

/// A chat request.
///
/// # Example
/// ```
/// use typecase::request::{ChatRequest, Content, Role};
/// use typecase_jinja::value::Arena;
/// let arena = Arena::new();
/// let mut body = br#"{"messages": [{"role": "user", "content": "hi"}]}"#.to_vec();
/// let request = ChatRequest::parse(&mut body, &arena)?;
/// let message = request.messages()[0];
/// assert_eq!(message.role, Role::User);
/// assert!(matches!(message.content(), Content::Text(text) if text.as_str() == "hi"));
/// # Ok::<(), typecase::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    value: Value<'a>,
    fields: &'a Dict<'a>,
    arena: &'a Arena,
    body_len: usize,
    messages: &'a [Message<'a>],
    allows_template: bool,
    tool_choice: ToolChoice<'a>,
    ending: Ending,
}

impl<'a> ChatRequest<'a> {
    /// Reads a request. Its strings are slices of `body`, whose escapes are decoded in place.
    ///
    /// # Errors
    /// Client faults only: [`ErrorKind::InvalidJson`], and what the check of the fields finds.
    pub fn parse(body: &'a mut [u8], arena: &'a Arena) -> Result<Self> {
        Self::parse_with(body, arena, &ParseOptions::default())
    }

    /// Reads a request with the options given.
    ///
    /// # Errors
    /// As [`ChatRequest::parse`].
    pub fn parse_with(body: &'a mut [u8], arena: &'a Arena, options: &ParseOptions) -> Result<Self> {
        let body_len = body.len();
        Self::from_json(json::parse(body, arena), body_len, arena, options)
    }

    /// Reads a request from `body`, which stays as it is: its strings are slices of `buffer`, which may be used again
    /// for the next request, as the arena may. The fastest way for a server.
    ///
    /// # Errors
    /// As [`ChatRequest::parse`].
    pub fn parse_into(body: &[u8], buffer: &'a mut Vec<u8>, arena: &'a Arena, options: &ParseOptions) -> Result<Self> {
        Self::from_json(json::parse_into(body, buffer, arena), body.len(), arena, options)
    }

    fn from_json(
        value: std::result::Result<Value<'a>, json::ParseError>,
        body_len: usize,
        arena: &'a Arena,
        options: &ParseOptions,
    ) -> Result<Self> {
        let value = value.map_err(|err| {
            Error::new(ErrorKind::InvalidJson {
                reason: err.kind.clone(),
                offset: err.offset,
            })
            .at(err.path)
        })?;
        let mut request = Self::from_value(value, arena, options)?;
        request.body_len = body_len;
        Ok(request)
    }

    /// A request that was read already. `value` must come from one JSON text for paths to be found.
    ///
    /// # Errors
    /// What the check of the fields finds.
    pub fn from_value(value: Value<'a>, arena: &'a Arena, options: &ParseOptions) -> Result<Self> {
        let Value::Dict(fields) = value else {
            return Err(ErrorKind::wrong_type(value, "a request, which is an object").into());
        };
        let strict = options.validation == Validation::Strict;
        let Some(messages) = fields.get("messages") else {
            return Err(ErrorKind::MissingField { field: "messages" }.into());
        };
        let Value::List(messages) = messages else {
            return Err(Error::new(ErrorKind::wrong_type(messages, "an array of messages")).within("messages"));
        };
        let items = messages.items();
        // Made where they stay: a message is large.
        let messages = arena.alloc_slice_with(items.len(), |i| Message::new(items[i]));
        if strict {
            for (i, message) in messages.iter().enumerate() {
                message.check().map_err(|err| err.within(i).within("messages"))?;
            }
        }
        let request = ChatRequest {
            value,
            fields,
            arena,
            body_len: 0,
            messages,
            allows_template: options.allow_template,
            tool_choice: tool::request_choice(fields, strict)?,
            ending: options::ending(fields, strict)?,
        };
        if strict {
            request.check()?;
        }
        Ok(request)
    }

    fn check(&self) -> Result<()> {
        options::check_types(self.fields)?;
        if !self.allows_template
            && let Some(found) = self.set_field("chat_template")
        {
            let kind = ErrorKind::UnsupportedValue {
                found: crate::error::shortened(found.as_str().unwrap_or_default()),
                expected: "no chat template of the request's own",
            };
            return Err(Error::new(kind).within("chat_template"));
        }
        for name in ["tools", "functions"] {
            if let Some(tools) = self.set_field(name) {
                tool::check_declarations(tools).map_err(|err| err.within(name))?;
            }
        }
        Ok(())
    }

    /// The whole request as the client sent it.
    pub fn value(&self) -> Value<'a> {
        self.value
    }

    /// The memory that its values live in.
    pub fn arena(&self) -> &'a Arena {
        self.arena
    }

    /// Bytes of the body it was read from; 0 if it was made from a value.
    pub fn body_len(&self) -> usize {
        self.body_len
    }

    /// The messages in the order in which they were sent.
    pub fn messages(&self) -> &'a [Message<'a>] {
        self.messages
    }

    /// A field of the request itself, `null` included.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        self.fields.get(name)
    }

    /// A field of the request itself that is there and not `null`.
    pub fn set_field(&self, name: &str) -> Option<Value<'a>> {
        self.field(name).filter(|value| !value.is_none())
    }

    /// The tools as declared, `null` included. The legacy `functions` are not among them.
    pub fn tools(&self) -> Option<Value<'a>> {
        self.field("tools")
    }

    /// Whether and which tools the model may or must call, from `tool_choice` or the legacy `function_call`.
    pub fn tool_choice(&self) -> ToolChoice<'a> {
        self.tool_choice
    }

    /// The `response_format`, unless `null`.
    pub fn response_format(&self) -> Option<Value<'a>> {
        self.set_field("response_format")
    }

    /// The `reasoning_effort`, or `reasoning.effort` of the Responses shape, unless `null`.
    pub fn reasoning_effort(&self) -> Option<Value<'a>> {
        self.set_field("reasoning_effort")
            .or_else(|| self.set_field("reasoning")?.lookup("effort").filter(|v| !v.is_none()))
    }

    /// One of the `chat_template_kwargs`, `null` included.
    pub fn template_kwarg(&self, name: &str) -> Option<Value<'a>> {
        self.template_kwargs()?.get(name)
    }

    /// The `chat_template_kwargs`.
    pub fn template_kwargs(&self) -> Option<&'a Dict<'a>> {
        self.fields.get("chat_template_kwargs")?.as_dict()
    }

    /// The request's own `chat_template`, if [`ParseOptions::allow_template`] lets it bring one.
    pub fn own_template(&self) -> Option<&'a str> {
        self.set_field("chat_template")?
            .as_str()
            .filter(|_| self.allows_template)
    }

    /// The `documents`, unless `null`.
    pub fn documents(&self) -> Option<Value<'a>> {
        self.set_field("documents")
    }

    /// How the prompt is to end.
    pub fn ending(&self) -> Ending {
        self.ending
    }
}
