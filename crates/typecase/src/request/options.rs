//! How a request is read, and the settings that are neither messages nor tools.

use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::{Dict, Value};

/// How a request is read.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ParseOptions {
    /// How much of it is checked. Default: [`Validation::Strict`].
    pub validation: Validation,
    /// Whether the request may bring its own `chat_template`. Default: no, and one that does is refused: who sends the
    /// template decides what is a control token.
    pub allow_template: bool,
}

impl ParseOptions {
    /// How much of the request is checked.
    #[must_use]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    /// Whether the request may bring its own `chat_template`.
    ///
    /// # Example
    /// ```
    /// use typecase::request::{ChatRequest, ParseOptions};
    /// use typecase::{Fault, Model, value::Arena};
    /// let body = br#"{"messages": [{"role": "user", "content": "Hi"}],
    ///     "chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"}"#;
    /// let arena = Arena::new();
    ///
    /// let mut buffer = Vec::new();
    /// let refused = ChatRequest::parse_into(body, &mut buffer, &arena, &ParseOptions::default());
    /// assert_eq!(refused.map_err(|err| err.fault()).err(), Some(Fault::Client));
    ///
    /// let mut buffer = Vec::new();
    /// let options = ParseOptions::default().allow_template(true);
    /// let request = ChatRequest::parse_into(body, &mut buffer, &arena, &options)?;
    /// let prompt = Model::demo()?.render(&request, &Default::default())?;
    /// assert_eq!(prompt.text(), "user: Hi");
    /// # Ok::<(), typecase::Error>(())
    /// ```
    #[must_use]
    pub fn allow_template(mut self, allow: bool) -> Self {
        self.allow_template = allow;
        self
    }
}

/// How much of a request is checked when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validation {
    /// Every field that means something has a type that engines accept.
    #[default]
    Strict,
    /// Only that it is an object with a list of messages: references accept, and refuse, in their own ways.
    Shape,
}

/// How a prompt ends. The fourth combination of `add_generation_prompt` and `continue_final_message` makes no sense
/// and is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With an opened assistant turn for the model to write.
    GenerationStub,
    /// With the final message left open for the model to continue.
    Continuation,
    /// After the final message.
    Closed,
}

/// Reads `add_generation_prompt` (default: true) and `continue_final_message` (default: false).
pub(super) fn ending(fields: &Dict<'_>, strict: bool) -> Result<Ending> {
    let stub = flag(fields, "add_generation_prompt", strict)?;
    let continuation = flag(fields, "continue_final_message", strict)?;
    match (stub, continuation) {
        (Some(true), Some(true)) => Err(ErrorKind::Conflict {
            one: "add_generation_prompt",
            other: "continue_final_message",
            reason: "a prompt ends with a new turn or within the last one",
        }
        .into()),
        (_, Some(true)) => Ok(Ending::Continuation),
        (Some(false), _) => Ok(Ending::Closed),
        (Some(true) | None, _) => Ok(Ending::GenerationStub),
    }
}

fn flag(fields: &Dict<'_>, name: &'static str, strict: bool) -> Result<Option<bool>> {
    match fields.get(name) {
        None | Some(Value::None(_)) => Ok(None),
        Some(Value::Bool(flag, _)) => Ok(Some(flag)),
        // transformers continues the field of that name.
        Some(Value::Str(field)) if name == "continue_final_message" => Ok(Some(!field.is_empty())),
        Some(found) if strict => Err(Error::new(ErrorKind::wrong_type(found, "a boolean")).within(name)),
        Some(found) => Ok(Some(super::message::is_truthy(found))),
    }
}

/// Whether a value has the type.
type Holds = fn(Value<'_>) -> bool;

/// Fields whose type is checked, and what they may be beside `null`.
const TYPES: [(&str, &str, Holds); 9] = [
    ("chat_template", "a string", is_string),
    ("chat_template_kwargs", "an object", is_object),
    ("response_format", "an object", is_object),
    ("reasoning", "an object", is_object),
    ("reasoning_effort", "a string", is_string),
    ("parallel_tool_calls", "a boolean", is_bool),
    ("documents", "an array", is_array),
    ("tools", "an array of tools", is_array),
    ("functions", "an array of functions", is_array),
];

pub(super) fn check_types(fields: &Dict<'_>) -> Result<()> {
    for (name, expected, holds) in TYPES {
        match fields.get(name) {
            None | Some(Value::None(_)) => {}
            Some(value) if holds(value) => {}
            Some(found) => return Err(Error::new(ErrorKind::wrong_type(found, expected)).within(name)),
        }
    }
    if let Some(format) = fields.get("response_format").filter(|format| is_object(*format)) {
        let kind = match format.lookup("type") {
            None => return Err(Error::new(ErrorKind::MissingField { field: "type" }).within("response_format")),
            Some(kind) => kind,
        };
        if !is_string(kind) {
            let err = Error::new(ErrorKind::wrong_type(kind, "a string"));
            return Err(err.within("type").within("response_format"));
        }
    }
    Ok(())
}

fn is_object(value: Value<'_>) -> bool {
    matches!(value, Value::Dict(_))
}

fn is_array(value: Value<'_>) -> bool {
    matches!(value, Value::List(_))
}

fn is_string(value: Value<'_>) -> bool {
    matches!(value, Value::Str(_))
}

fn is_bool(value: Value<'_>) -> bool {
    matches!(value, Value::Bool(..))
}
