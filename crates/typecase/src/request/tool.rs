//! Tools: what is declared, what was called, what may be called.

use crate::error::{Error, ErrorKind, Result, shortened};
use typecase_jinja::value::{Dict, Text, Value};

/// A call of a tool by the assistant.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolCall<'a> {
    /// The call as the client sent it.
    pub raw: Value<'a>,
    /// `id`
    pub id: Option<Value<'a>>,
    /// `function`, as sent. Calls may also be bare: name and arguments on the call itself.
    pub function: Option<Value<'a>>,
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(raw: Value<'a>) -> Self {
        ToolCall {
            raw,
            id: raw.lookup("id"),
            function: raw.lookup("function"),
        }
    }

    /// What holds name and arguments: `function` if the call has one, else the call itself.
    pub fn target(&self) -> Value<'a> {
        self.function.unwrap_or(self.raw)
    }

    /// The name of the tool, as sent.
    pub fn name(&self) -> Option<Value<'a>> {
        self.target().lookup("name")
    }

    /// The arguments, as sent: an object, or a JSON text.
    pub fn arguments(&self) -> Option<Value<'a>> {
        self.target().lookup("arguments")
    }
}

/// Whether and which tools the model may or must call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice<'a> {
    /// The client did not say, or said `auto`.
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// This tool.
    Named(Text<'a>),
    /// Something else. Only where the request was not checked.
    Other,
}

const CHOICES: &str = "\"auto\", \"none\", \"required\", or a named function";

impl<'a> ToolChoice<'a> {
    /// Reads a `tool_choice`: a word, `{"type": "function", "function": {"name": ..}}` as in Chat Completions, or
    /// `{"type": "function", "name": ..}` as in Responses.
    ///
    /// # Errors
    /// Client faults: another type, another word, a function without a name.
    pub fn read(value: Value<'a>) -> Result<Self> {
        match value {
            Value::None(_) => Ok(ToolChoice::Auto),
            Value::Str(word) => Self::from_word(word),
            Value::Dict(choice) => match choice.get("type") {
                Some(Value::Str(kind)) if kind.as_str() == "function" => Self::named(choice),
                Some(Value::Str(word)) => Self::from_word(word).map_err(|err| err.within("type")),
                Some(found) => Err(Error::new(ErrorKind::wrong_type(found, "a string")).within("type")),
                None => Err(ErrorKind::MissingField { field: "type" }.into()),
            },
            found => Err(ErrorKind::wrong_type(found, CHOICES).into()),
        }
    }

    fn from_word(word: Text<'a>) -> Result<Self> {
        match word.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            other => Err(ErrorKind::UnsupportedValue {
                found: shortened(other),
                expected: CHOICES,
            }
            .into()),
        }
    }

    fn named(choice: &'a Dict<'a>) -> Result<Self> {
        let function = choice.get("function").filter(|function| !function.is_none());
        let name = match function {
            Some(function) => required_name(function).map_err(|err| err.within("function"))?,
            None => required_name(Value::Dict(choice))?,
        };
        Ok(ToolChoice::Named(name))
    }
}

/// Reads `tool_choice`, or the legacy `function_call`, of a request.
pub(super) fn request_choice<'a>(fields: &'a Dict<'a>, strict: bool) -> Result<ToolChoice<'a>> {
    let set = |name: &str| fields.get(name).filter(|value| !value.is_none());
    let (field, choice) = match (set("tool_choice"), set("function_call")) {
        (Some(choice), _) => ("tool_choice", ToolChoice::read(choice)),
        // The legacy form names the function without a type.
        (None, Some(Value::Dict(choice))) => ("function_call", ToolChoice::named(choice)),
        (None, Some(word)) => ("function_call", ToolChoice::read(word)),
        (None, None) => return Ok(ToolChoice::Auto),
    };
    match choice {
        Err(err) if strict => Err(err.within(field)),
        Err(_) => Ok(ToolChoice::Other),
        choice => choice,
    }
}

/// The name that a declared tool has: of its `function`, or its own.
pub fn declared_tool_name<'a>(tool: Value<'a>) -> Option<Text<'a>> {
    tool.lookup("function")
        .and_then(|function| function.lookup("name"))
        .or_else(|| tool.lookup("name"))?
        .as_text()
}

pub(super) fn check_declarations(tools: Value<'_>) -> Result<()> {
    let Value::List(tools) = tools else {
        return Err(ErrorKind::wrong_type(tools, "an array of tools").into());
    };
    for (i, tool) in tools.items().iter().enumerate() {
        let check = || match (tool, tool.lookup("function")) {
            (Value::Dict(_), None | Some(Value::None(_) | Value::Dict(_))) => Ok(()),
            (Value::Dict(_), Some(found)) => {
                Err(Error::new(ErrorKind::wrong_type(found, "an object")).within("function"))
            }
            (found, _) => Err(Error::new(ErrorKind::wrong_type(*found, "a tool, which is an object"))),
        };
        check().map_err(|err| err.within(i))?;
    }
    Ok(())
}

pub(super) fn check_calls(calls: Value<'_>) -> Result<()> {
    let Value::List(calls) = calls else {
        return Err(ErrorKind::wrong_type(calls, "an array of tool calls").into());
    };
    for (i, call) in calls.items().iter().enumerate() {
        let check = || match (call, call.lookup("function")) {
            (Value::Dict(_), Some(function)) => check_call(function).map_err(|err| err.within("function")),
            (found, _) => check_call(*found),
        };
        check().map_err(|err| err.within(i))?;
    }
    Ok(())
}

/// Checks what holds the name and the arguments of a call.
pub(super) fn check_call(function: Value<'_>) -> Result<()> {
    if !matches!(function, Value::Dict(_)) {
        return Err(ErrorKind::wrong_type(function, "an object").into());
    }
    required_name(function)?;
    match function.lookup("arguments") {
        None | Some(Value::None(_) | Value::Str(_) | Value::Dict(_)) => Ok(()),
        Some(found) => {
            Err(Error::new(ErrorKind::wrong_type(found, "an object or a JSON text of one")).within("arguments"))
        }
    }
}

fn required_name<'a>(function: Value<'a>) -> Result<Text<'a>> {
    match function.lookup("name") {
        Some(Value::Str(name)) if !name.is_empty() => Ok(name),
        Some(Value::Str(_)) => Err(Error::new(ErrorKind::UnsupportedValue {
            found: String::new(),
            expected: "the name of a function",
        })
        .within("name")),
        Some(found) => Err(Error::new(ErrorKind::wrong_type(found, "a string")).within("name")),
        None => Err(ErrorKind::MissingField { field: "name" }.into()),
    }
}
