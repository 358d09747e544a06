//! Methods of values: `text.upper()`. Those that would change a list or dict are the sandbox's business and not here.

pub(crate) mod dict;
pub(crate) mod list;
pub(crate) mod str;

use super::{Filter, find};
use crate::value::Value;

/// The method `name` that the type of `value` has, if the engine knows it.
pub(crate) fn lookup(value: &Value<'_>, name: &str) -> Option<Filter> {
    match value {
        Value::Str(_) | Value::Markup(_) => find(str::METHODS, name),
        // Of the methods of `list`, a tuple has `count` and `index`.
        Value::List(_) => find(list::METHODS, name),
        Value::Tuple(_) if matches!(name, "count" | "index") => find(list::METHODS, name),
        Value::Dict(_) => find(dict::METHODS, name),
        _ => None,
    }
}
