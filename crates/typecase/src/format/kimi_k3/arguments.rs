//! The arguments of a tool call.

use crate::error::{Error, ErrorKind, Result, json_type};
use typecase_jinja::value::json::{self, ParseErrorKind};
use typecase_jinja::value::{Arena, Dict, Text, Value, text};

/// What a client sent as arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments<'a> {
    /// None: absent, `null`, or blank text.
    Empty,
    /// An object, or a JSON text of one.
    Object(&'a Dict<'a>),
    /// Text that is no JSON. It is written as it is, since a model wrote it.
    Verbatim(Text<'a>),
}

impl<'a> Arguments<'a> {
    /// Reads arguments as `normalize_tool_arguments` does.
    pub(super) fn read(value: Option<Value<'a>>, arena: &'a Arena) -> Result<Self> {
        let text = match value {
            None | Some(Value::None(_)) => return Ok(Arguments::Empty),
            Some(Value::Dict(dict)) => return Ok(Arguments::Object(dict)),
            Some(Value::Str(text)) => text,
            Some(other) => return Err(not_an_object(json_type(other))),
        };
        if text::strip(text.as_str()).is_empty() {
            return Ok(Arguments::Empty);
        }
        match json::parse_str(text.as_str(), arena) {
            Ok(Value::Dict(dict)) => Ok(Arguments::Object(dict)),
            Ok(other) => Err(not_an_object(json_type(other))),
            // Python raises other errors than `JSONDecodeError` for these two, which the reference lets through.
            Err(err) if matches!(err.kind, ParseErrorKind::TooDeep | ParseErrorKind::IntegerTooLong(_)) => {
                Err(Error::new(ErrorKind::InvalidArguments {
                    reason: format!("this text is not: {}", err.kind),
                })
                .caused_by(err))
            }
            Err(_) => Ok(Arguments::Verbatim(text)),
        }
    }
}

fn not_an_object(found: &str) -> Error {
    Error::new(ErrorKind::InvalidArguments {
        reason: format!("not {} {found}", if found.starts_with(['a', 'o']) { "an" } else { "a" }),
    })
}

/// The `type` attribute of an argument.
pub(super) fn type_name(value: Value<'_>) -> &'static str {
    match value {
        Value::Bool(..) => "boolean",
        Value::None(_) => "null",
        Value::Int(..) | Value::BigInt(..) | Value::Float(..) => "number",
        Value::Str(_) => "string",
        Value::Dict(_) => "object",
        _ => "array",
    }
}
