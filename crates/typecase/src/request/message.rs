//! One message of a conversation.

use super::content::Content;
use super::tool::{self, ToolCall};
use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::{Text, Value};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role<'a> {
    /// `system`
    System,
    /// `developer`
    Developer,
    /// `user`
    User,
    /// `assistant`
    Assistant,
    /// `tool`
    Tool,
    /// `function`: the result of a legacy `function_call`.
    Function,
    /// Any other word. The format decides.
    Other(Text<'a>),
    /// No word at all. Only where the request was not checked.
    Invalid,
}

impl<'a> Role<'a> {
    fn new(role: Option<Value<'a>>) -> Self {
        let Some(Value::Str(role)) = role else {
            return Role::Invalid;
        };
        match role.as_str() {
            "system" => Role::System,
            "developer" => Role::Developer,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            "function" => Role::Function,
            _ => Role::Other(role),
        }
    }
}

/// One message. The fields that formats read were found once; those named here hold what the client sent, so that a
/// missing field, `null` and an empty text stay three things.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Message<'a> {
    /// The message as the client sent it, with all its fields.
    pub raw: Value<'a>,
    /// Who speaks.
    pub role: Role<'a>,
    /// `role`, as sent.
    pub role_value: Option<Value<'a>>,
    /// `content`; [`Message::content`] tells what it is.
    pub content_value: Option<Value<'a>>,
    /// `name`
    pub name: Option<Value<'a>>,
    /// `reasoning_content`
    pub reasoning_content: Option<Value<'a>>,
    /// `reasoning`, its alias.
    pub reasoning: Option<Value<'a>>,
    /// `tool_calls`; [`Message::tool_calls`] gives them one by one.
    pub tool_calls_value: Option<Value<'a>>,
    /// `function_call`, the legacy form of a single call.
    pub function_call: Option<Value<'a>>,
    /// `tool_call_id`
    pub tool_call_id: Option<Value<'a>>,
    /// `id`, which some clients send instead of `tool_call_id`.
    pub id: Option<Value<'a>>,
    /// `tool`, the name of the tool that a result is of.
    pub tool: Option<Value<'a>>,
    /// `tools`: tools that this message declares.
    pub tools: Option<Value<'a>>,
    /// `partial`: whether the model is to continue this message.
    pub partial: Option<Value<'a>>,
}

impl<'a> Message<'a> {
    pub(super) fn new(raw: Value<'a>) -> Self {
        let mut message = Message {
            raw,
            role: Role::Invalid,
            role_value: None,
            content_value: None,
            name: None,
            reasoning_content: None,
            reasoning: None,
            tool_calls_value: None,
            function_call: None,
            tool_call_id: None,
            id: None,
            tool: None,
            tools: None,
            partial: None,
        };
        for (key, value) in raw.as_dict().into_iter().flat_map(|dict| dict.str_entries()) {
            let field = match key.as_str() {
                "role" => &mut message.role_value,
                "content" => &mut message.content_value,
                "name" => &mut message.name,
                "reasoning_content" => &mut message.reasoning_content,
                "reasoning" => &mut message.reasoning,
                "tool_calls" => &mut message.tool_calls_value,
                "function_call" => &mut message.function_call,
                "tool_call_id" => &mut message.tool_call_id,
                "id" => &mut message.id,
                "tool" => &mut message.tool,
                "tools" => &mut message.tools,
                "partial" => &mut message.partial,
                _ => continue,
            };
            *field = Some(value);
        }
        message.role = Role::new(message.role_value);
        message
    }

    /// Whether it is an object at all. Only requests that were not checked hold messages that are not.
    pub fn is_object(&self) -> bool {
        matches!(self.raw, Value::Dict(_))
    }

    /// The content.
    pub fn content(&self) -> Content<'a> {
        Content::new(self.content_value)
    }

    /// The calls, with the legacy `function_call` as the only one if there are no others.
    pub fn tool_calls(&self) -> impl ExactSizeIterator<Item = ToolCall<'a>> + use<'a> {
        let calls: &'a [Value<'a>] = match self.tool_calls_value {
            Some(Value::List(calls)) => calls.items(),
            _ => &[],
        };
        calls.iter().map(|call| ToolCall::new(*call))
    }

    /// A field of the message, `null` included.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        self.raw.lookup(name)
    }

    /// Checks the types of the fields that formats read.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_object() {
            return Err(ErrorKind::wrong_type(self.raw, "a message, which is an object").into());
        }
        match self.role_value {
            None => return Err(ErrorKind::MissingField { field: "role" }.into()),
            Some(found) if found.as_str().is_none() => {
                return Err(Error::new(ErrorKind::wrong_type(found, "a string")).within("role"));
            }
            Some(_) => {}
        }
        self.content().check().map_err(|err| err.within("content"))?;
        for (name, value) in [
            ("name", self.name),
            ("reasoning_content", self.reasoning_content),
            ("reasoning", self.reasoning),
            ("tool", self.tool),
        ] {
            if let Some(found) = value.filter(|value| !value.is_none() && value.as_str().is_none()) {
                return Err(Error::new(ErrorKind::wrong_type(found, "a string or null")).within(name));
            }
        }
        // Ids are compared as text, so a number is as good as a string.
        for (name, value) in [("tool_call_id", self.tool_call_id)] {
            if let Some(found) = value.filter(|value| matches!(value, Value::List(_) | Value::Dict(_))) {
                return Err(Error::new(ErrorKind::wrong_type(found, "a string")).within(name));
            }
        }
        if let Some(found) = self
            .partial
            .filter(|value| !matches!(value, Value::None(_) | Value::Bool(..)))
        {
            return Err(Error::new(ErrorKind::wrong_type(found, "a boolean")).within("partial"));
        }
        if let Some(tools) = self.tools.filter(|tools| !tools.is_none()) {
            tool::check_declarations(tools).map_err(|err| err.within("tools"))?;
        }
        if let Some(calls) = self.tool_calls_value.filter(|calls| !calls.is_none()) {
            tool::check_calls(calls).map_err(|err| err.within("tool_calls"))?;
        }
        if let Some(call) = self.function_call.filter(|call| !call.is_none()) {
            tool::check_call(call).map_err(|err| err.within("function_call"))?;
        }
        Ok(())
    }
}

/// What Python's `bool()` says of a value read from JSON.
pub(crate) fn is_truthy(value: Value<'_>) -> bool {
    match value {
        Value::None(_) => false,
        Value::Bool(value, _) => value,
        Value::Int(value, _) => value != 0,
        Value::BigInt(..) => true,
        Value::Float(value, _) => value != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::List(list) | Value::Tuple(list) => !list.is_empty(),
        Value::Dict(dict) => !dict.is_empty(),
        _ => true,
    }
}
