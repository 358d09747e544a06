//! Methods of `str`, and of `Markup`, whose results are `Markup` and which escapes what it takes in.

pub(crate) mod classify;
mod search;
mod shape;
mod split;

pub(crate) use shape::{Side, cased, pad, replaced};
pub(crate) use split::{push_joined, strip_text};

use crate::builtins::{Filter, Table};

/// All methods that a template may call, in ascending order of their names.
pub(crate) const METHODS: Table<Filter> = &[
    ("capitalize", shape::capitalize),
    ("casefold", shape::casefold),
    ("center", shape::center),
    ("count", search::count),
    ("encode", shape::encode),
    ("endswith", search::endswith),
    ("expandtabs", shape::expandtabs),
    ("find", search::find),
    ("format", shape::format),
    ("format_map", shape::format_map),
    ("index", search::index),
    ("isalnum", classify::isalnum),
    ("isalpha", classify::isalpha),
    ("isascii", classify::isascii),
    ("isdecimal", classify::isdecimal),
    ("isdigit", classify::isdigit),
    ("isidentifier", classify::isidentifier),
    ("islower", classify::islower),
    ("isnumeric", classify::isnumeric),
    ("isprintable", classify::isprintable),
    ("isspace", classify::isspace),
    ("istitle", classify::istitle),
    ("isupper", classify::isupper),
    ("join", split::join),
    ("ljust", shape::ljust),
    ("lower", shape::lower),
    ("lstrip", split::lstrip),
    ("maketrans", shape::maketrans),
    ("partition", split::partition),
    ("removeprefix", split::removeprefix),
    ("removesuffix", split::removesuffix),
    ("replace", shape::replace),
    ("rfind", search::rfind),
    ("rindex", search::rindex),
    ("rjust", shape::rjust),
    ("rpartition", split::rpartition),
    ("rsplit", split::rsplit),
    ("rstrip", split::rstrip),
    ("split", split::split),
    ("splitlines", split::splitlines),
    ("startswith", search::startswith),
    ("strip", split::strip),
    ("swapcase", shape::swapcase),
    ("title", shape::title),
    ("translate", shape::translate),
    ("upper", shape::upper),
    ("zfill", shape::zfill),
];

/// Methods that `Markup` has and `str` has not, in ascending order of their names.
pub(crate) const MARKUP_METHODS: Table<Filter> = &[
    ("escape", shape::markup_escape),
    ("striptags", shape::markup_striptags),
    ("unescape", shape::markup_unescape),
];

/// The text of the value that a method of `str` was called on.
fn receiver<'a>(value: &crate::value::Value<'a>) -> crate::value::Text<'a> {
    // The tables above are only ever looked up for texts.
    value.as_text().unwrap_or(crate::value::Text::new(""))
}
