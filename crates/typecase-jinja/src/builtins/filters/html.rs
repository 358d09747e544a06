//! Filters for HTML and URLs.

use super::entities::ENTITIES;
use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::{is_space, split};
use crate::value::{Class, Origin, Text, TextBuilder, Value, markup, repr};
use crate::vm::State;
use std::borrow::Cow;
use std::fmt::Write;

/// `markupsafe.escape(value)`
pub(crate) fn escaped<'a>(state: &State<'a>, value: Value<'a>) -> Result<Text<'a>> {
    match value {
        Value::Markup(text) => Ok(text),
        other => Ok(markup::escape(repr::to_text(&other, state, state.arena)?, state.arena)?),
    }
}

pub(super) fn escape<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("escape", [], 0)?;
    Ok(Value::Markup(escaped(state, value)?))
}

pub(super) fn forceescape<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_forceescape", [], 0)?;
    let text = repr::to_text(&value, state, state.arena)?;
    Ok(Value::Markup(markup::escape(text, state.arena)?))
}

pub(super) fn safe<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_mark_safe", [], 0)?;
    Ok(Value::Markup(repr::to_text(&value, state, state.arena)?))
}

pub(crate) fn striptags<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_striptags", [], 0)?;
    let text = repr::to_text(&value, state, state.arena)?;
    state.arena.meter().memory(text.len())?;
    let whole = text.as_str();
    let mut builder = TextBuilder::new();
    let mut at = 0;
    while let Some(start) = split::find(&whole[at..], "<").map(|found| at + found) {
        // An unclosed tag or comment ends the search; what follows stays.
        let end = if whole[start..].starts_with("<!--") {
            split::find(&whole[start + 4..], "-->").map(|found| start + 4 + found + 3)
        } else {
            split::find(&whole[start..], ">").map(|found| start + found + 1)
        };
        let Some(end) = end else { break };
        builder.push(text.slice(at, start, state.arena));
        at = end;
    }
    builder.push(text.slice(at, text.len(), state.arena));
    let stripped = builder.finish(state.arena);
    let mut builder = TextBuilder::new();
    for (i, (start, end)) in split::split_words(stripped.as_str(), -1).into_iter().enumerate() {
        if i > 0 {
            builder.push_from(" ", Origin::COMPUTED);
        }
        builder.push(stripped.slice(start, end, state.arena));
    }
    unescape(state, builder.finish(state.arena)).map(Value::Str)
}

/// `html.unescape(text)`
pub(crate) fn unescape<'a>(state: &State<'a>, text: Text<'a>) -> Result<Text<'a>> {
    let whole = text.as_str();
    if !whole.contains('&') {
        return Ok(text);
    }
    state.arena.meter().memory(whole.len())?;
    let mut builder = TextBuilder::new();
    let mut pieces = text.pieces();
    let mut at = 0;
    while let Some(start) = split::find(&whole[at..], "&").map(|found| at + found) {
        let rest = &whole[start + 1..];
        at = start + 1;
        let Some((len, stands_for)) = numeric_reference(rest).or_else(|| named_reference(rest)) else {
            continue;
        };
        pieces.copy_to(&mut builder, start);
        builder.push_from(&stands_for, text.origin_at(start));
        at += len;
        pieces.skip_to(at);
    }
    pieces.copy_to(&mut builder, whole.len());
    Ok(builder.finish(state.arena))
}

/// `#[0-9]+;?|#[xX][0-9a-fA-F]+;?` at the start of `text`: its length and what it stands for.
fn numeric_reference(text: &str) -> Option<(usize, Cow<'static, str>)> {
    let after = text.strip_prefix('#')?;
    let (digits, radix) = match after.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (after, 10),
    };
    let count = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if count == 0 {
        return None;
    }
    let code = digits[..count].bytes().fold(0_u32, |code, digit| {
        let digit = char::from(digit).to_digit(radix).unwrap_or_default();
        code.saturating_mul(radix).saturating_add(digit)
    });
    let end = text.len() - digits.len() + count;
    let len = end + usize::from(text[end..].starts_with(';'));
    // What HTML takes for a mistake: nothing, or the character that Windows has there.
    let c = match code {
        0 => Some('\u{fffd}'),
        0x0d => Some('\r'),
        0x80..=0x9f => Some(WINDOWS_1252[code as usize - 0x80]),
        0x1..=0x8 | 0xb | 0xe..=0x1f | 0x7f | 0xfdd0..=0xfdef => None,
        _ if code <= 0x10_ffff && code & 0xfffe == 0xfffe => None,
        _ => Some(char::from_u32(code).unwrap_or('\u{fffd}')),
    };
    Some((len, c.map_or(Cow::Borrowed(""), |c| Cow::Owned(c.to_string()))))
}

/// U+0080 to U+009F as `html.unescape` has them.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '\u{2dc}', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The longest name of a character at the start of `text`: its length and what it stands for.
fn named_reference(text: &str) -> Option<(usize, Cow<'static, str>)> {
    const LONGEST: usize = 32;
    let name = text
        .find(['\t', '\n', '\x0c', ' ', '<', '&', '#', ';'])
        .unwrap_or(text.len());
    let name = name.min(text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at));
    let whole = name + usize::from(text[name..].starts_with(';'));
    // A name of one character is only looked up whole.
    (2..whole)
        .chain([whole])
        .rev()
        .filter_map(|len| Some((len, text.get(..len)?)))
        .find_map(|(len, name)| {
            let at = ENTITIES.binary_search_by_key(&name, |(known, _)| known).ok()?;
            Some((len, Cow::Borrowed(ENTITIES[at].1)))
        })
}

/// What `value.items()` raises where it is no dict.
pub(super) fn no_items(value: &Value<'_>) -> Error {
    match value {
        // A tuple is what it has there.
        Value::Object(object) if object.class == Class::Cycler => Error::type_error("'tuple' object is not callable"),
        other => Error::new(
            ErrorKind::Attribute,
            format!("'{}' object has no attribute 'items'", other.type_name()),
        ),
    }
}

pub(super) fn xmlattr<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [autospace] = args.bind("do_xmlattr", ["autospace"], 0)?;
    let dict = match value {
        Value::Dict(dict) => dict,
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        other => {
            return Err(no_items(&other));
        }
    };
    let mut builder = TextBuilder::new();
    let leads = autospace.is_none_or(|autospace| autospace.is_true());
    for (key, value) in dict.entries() {
        if matches!(value, Value::None(_) | Value::Undefined(_)) {
            continue;
        }
        let Some(name) = key.as_text() else {
            return Err(Error::type_error("expected string or bytes-like object"));
        };
        // ASCII white space, as the regular expression has it, and what would end the name.
        let is_bad = |c: char| c.is_ascii() && is_space(c) && c < '\x1c' || matches!(c, ' ' | '/' | '>' | '=');
        if name.as_str().contains(is_bad) {
            let mut shown = TextBuilder::new();
            repr::push_text_repr(&mut shown, name, false);
            return Err(Error::value_error(format!(
                "Invalid character in attribute name: {}",
                shown.into_string()
            )));
        }
        if leads || !builder.is_empty() {
            builder.push_from(" ", Origin::COMPUTED);
        }
        builder.push(escaped(state, *key)?);
        builder.push_from("=\"", Origin::COMPUTED);
        builder.push(escaped(state, *value)?);
        builder.push_from("\"", Origin::COMPUTED);
    }
    let text = state.text(builder)?;
    Ok(if state.autoescape {
        Value::Markup(text)
    } else {
        Value::Str(text)
    })
}

pub(super) fn urlencode<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_urlencode", [], 0)?;
    let mut builder = TextBuilder::new();
    let is_plain = value.as_text().is_some() || state.iterate(value).is_err();
    if is_plain {
        let text = repr::to_text(&value, state, state.arena)?;
        push_quoted(state, &mut builder, text, false)?;
        return Ok(Value::Str(state.text(builder)?));
    }
    let pairs: Vec<(Value<'a>, Value<'a>)> = match value {
        Value::Dict(dict) => dict.entries().to_vec(),
        other => {
            let mut pairs = Vec::new();
            for item in state.collect(other)? {
                let parts = state.collect(item)?;
                match parts.as_slice() {
                    [key, value] => pairs.push((*key, *value)),
                    [] | [_] => {
                        return Err(Error::value_error(format!(
                            "not enough values to unpack (expected 2, got {})",
                            parts.len()
                        )));
                    }
                    _ => return Err(Error::value_error("too many values to unpack (expected 2)")),
                }
            }
            pairs
        }
    };
    for (i, (key, value)) in pairs.into_iter().enumerate() {
        if i > 0 {
            builder.push_from("&", Origin::COMPUTED);
        }
        let key = repr::to_text(&key, state, state.arena)?;
        push_quoted(state, &mut builder, key, true)?;
        builder.push_from("=", Origin::COMPUTED);
        let value = repr::to_text(&value, state, state.arena)?;
        push_quoted(state, &mut builder, value, true)?;
    }
    Ok(Value::Str(state.text(builder)?))
}

/// `urllib.parse.quote`; in a query string the slash is quoted too, and a space is a plus sign.
fn push_quoted(state: &State<'_>, builder: &mut TextBuilder, text: Text<'_>, in_query: bool) -> Result<()> {
    state.arena.meter().memory(text.len().saturating_mul(3))?;
    text.for_each_run(|bytes, origin| {
        let is_safe =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '~') || (c == '/' && !in_query);
        for (at, c) in bytes.char_indices() {
            let from = origin.plus(at);
            if is_safe(c) {
                builder.push_from(&bytes[at..=at], from);
            } else if c == ' ' && in_query {
                builder.push_from("+", from);
            } else {
                builder.write_from(from, |out| {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(out, "%{byte:02X}");
                    }
                });
            }
        }
    });
    Ok(())
}
