//! Methods of values: `text.upper()`. Those that would change a list or dict are the sandbox's business and not here.

pub(crate) mod dict;
pub(crate) mod list;
pub(crate) mod number;
pub(crate) mod range;
pub(crate) mod str;
pub(crate) mod view;

use super::{Filter, find};
use crate::value::{DictPart, Value};

/// The method `name` that the type of `value` has, if the engine knows it.
pub(crate) fn lookup(value: &Value<'_>, name: &str) -> Option<Filter> {
    match value {
        Value::Str(_) => find(str::METHODS, name),
        Value::Markup(_) => find(str::METHODS, name).or_else(|| find(str::MARKUP_METHODS, name)),
        // Of the methods of `list`, a tuple has `count` and `index`.
        Value::List(_) => find(list::METHODS, name),
        Value::Tuple(_) if matches!(name, "count" | "index") => find(list::METHODS, name),
        Value::Dict(_) => find(dict::METHODS, name),
        Value::Int(..) | Value::BigInt(..) | Value::Bool(..) => find(number::INT_METHODS, name),
        Value::Float(..) => find(number::FLOAT_METHODS, name),
        Value::Range(_) => find(range::METHODS, name),
        Value::DictView(shown) if shown.part != DictPart::Values => find(view::METHODS, name),
        _ => None,
    }
}
