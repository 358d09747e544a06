//! Values from types that implement [`serde::Serialize`].

use super::json::{self, ParseError};
use super::{Arena, Value};
use std::fmt;

/// The value that `from` serializes to, as if it had been read from the JSON that `serde_json` writes for it.
///
/// Integers may be of any of Rust's sizes, keys of maps that are numbers become strings, an enum's variant is a string or
/// a dict with one key, unless the type's attributes say otherwise, and a float that is no number or infinite becomes
/// `None`, which JSON has instead. The strings count as written by the request: see [`Authors`](crate::Authors).
///
/// # Errors
/// What the type's own `Serialize` refuses, keys of maps that are no strings or numbers, and what is nested deeper than
/// [`json::MAX_DEPTH`].
///
/// # Example
/// ```
/// use serde::Serialize;
/// use typecase_jinja::value::{Arena, serialize};
/// use typecase_jinja::{Options, Template};
///
/// #[derive(Serialize)]
/// #[serde(rename_all = "lowercase")]
/// enum Role {
///     System,
///     User,
/// }
///
/// #[derive(Serialize)]
/// struct Message {
///     role: Role,
///     content: String,
/// }
///
/// #[derive(Serialize)]
/// struct Values {
///     messages: Vec<Message>,
///     largest: u128,
/// }
///
/// let message = |role, content: &str| Message { role, content: content.to_owned() };
/// let values = Values {
///     messages: vec![message(Role::System, "Be brief."), message(Role::User, "Hi")],
///     largest: u128::MAX,
/// };
/// let template =
///     Template::compile("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %} {{ largest + 1 }}")?;
/// let arena = Arena::new();
/// let values = serialize::value(&values, &arena)?;
/// let rendered = template.render(&values, &arena, &Options::default())?;
/// assert_eq!(rendered.text, "<|system|>Be brief.<|user|>Hi 340282366920938463463374607431768211456");
/// assert_eq!(values.path_of(rendered.runs[1].origin).to_string(), "messages[0].role");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn value<'a>(from: &(impl serde::Serialize + ?Sized), arena: &'a Arena) -> Result<Value<'a>, SerializeError> {
    // By way of JSON, which costs less than the render of what it holds, so that there is one rule for both: what values
    // there are, how their addresses ascend, and what a number is.
    let text = serde_json::to_vec(from).map_err(|error| SerializeError(Cause::Serialize(error)))?;
    // The text is kept as long as the values, since their origins are addresses in it.
    let text = arena.bump.alloc_slice_copy(&text);
    json::parse(text, arena).map_err(|error| SerializeError(Cause::Read(error)))
}

/// Why a type gave no value.
#[derive(Debug)]
pub struct SerializeError(Cause);

#[derive(Debug)]
enum Cause {
    Serialize(serde_json::Error),
    Read(ParseError),
}

impl fmt::Display for SerializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Serialize(error) => write!(f, "not serialized: {error}"),
            Cause::Read(error) => write!(f, "not a value: {error}"),
        }
    }
}

impl std::error::Error for SerializeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Cause::Serialize(error) => Some(error),
            Cause::Read(error) => Some(error),
        }
    }
}
