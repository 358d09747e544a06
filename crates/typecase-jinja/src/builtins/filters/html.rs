//! Filters for HTML and URLs.

use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::{is_space, split};
use crate::value::{Origin, Text, TextBuilder, Value, markup, repr};
use crate::vm::State;
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

/// `html.unescape`, for numeric references and the five entities of XML.
///
/// # Errors
/// Other named entities are not supported.
fn unescape<'a>(state: &State<'a>, text: Text<'a>) -> Result<Text<'a>> {
    let whole = text.as_str();
    if !whole.contains('&') {
        return Ok(text);
    }
    let mut builder = TextBuilder::new();
    let mut pieces = text.pieces();
    let mut at = 0;
    while let Some(start) = split::find(&whole[at..], "&").map(|found| at + found) {
        let rest = &whole[start + 1..];
        let name = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '#')
            .map_or(rest, |len| &rest[..len]);
        at = start + 1;
        let c = match name {
            "" | "#" => continue,
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            name => match numeric_reference(name) {
                Some(c) => c,
                None => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("the HTML entity '&{name};' is not supported"),
                    ));
                }
            },
        };
        let end = start + 1 + name.len();
        pieces.copy_to(&mut builder, start);
        builder.push_from(c.encode_utf8(&mut [0; 4]), text.origin_at(start));
        at = end + usize::from(whole[end..].starts_with(';'));
        pieces.skip_to(at);
    }
    pieces.copy_to(&mut builder, whole.len());
    Ok(builder.finish(state.arena))
}

fn numeric_reference(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    // The standard maps these to other characters or to nothing.
    if code == 0 || (0x80..0xa0).contains(&code) || code == 0x0d {
        return None;
    }
    char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\x0c'))
}

pub(super) fn xmlattr<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [autospace] = args.bind("do_xmlattr", ["autospace"], 0)?;
    let dict = match value {
        Value::Dict(dict) => dict,
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        other => {
            return Err(Error::new(
                ErrorKind::Attribute,
                format!("'{}' object has no attribute 'items'", other.type_name()),
            ));
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
    Ok(if state.autoescape { Value::Markup(text) } else { Value::Str(text) })
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
