//! Filters of texts.

use super::sequence::int_argument;
use crate::builtins::Args;
use crate::builtins::convert::like;
use crate::builtins::methods::str::{Side, cased, pad, replaced, strip_text};
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::split::{self as spans, Ends};
use crate::value::text::{Slice, char_len, is_space};
use crate::value::unicode::is_alnum;
use crate::value::{Arena, Origin, Text, TextBuilder, Value, arith, markup, repr};
use crate::vm::State;

/// `soft_str(value)`: texts stay as they are, `Markup` too; others are turned into one.
pub(super) fn soft<'a>(state: &State<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Str(_) | Value::Markup(_) => Ok(value),
        other => Ok(Value::Str(repr::to_text(&other, state, state.arena)?)),
    }
}

fn soft_text<'a>(state: &State<'a>, value: Value<'a>) -> Result<Text<'a>> {
    Ok(repr::to_text(&value, state, state.arena)?)
}

fn soft_cased<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    args: Args<'_, 'a>,
    name: &str,
    change: fn(Text<'a>, &'a Arena) -> Text<'a>,
) -> Result<Value<'a>> {
    let [] = args.bind(name, [], 0)?;
    let value = soft(state, value)?;
    cased(state, value, change)
}

pub(super) fn upper<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    soft_cased(state, value, args, "do_upper", Text::upper)
}

pub(super) fn lower<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    soft_cased(state, value, args, "do_lower", Text::lower)
}

pub(super) fn capitalize<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    soft_cased(state, value, args, "do_capitalize", Text::capitalize)
}

/// Unlike `str.title`, a word goes on after an apostrophe or digit: only white space and opening brackets end it.
pub(super) fn title<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_title", [], 0)?;
    let text = soft_text(state, value)?;
    state.arena.meter().memory(text.len())?;
    let mut builder = TextBuilder::with_capacity(text.len());
    let is_border = |c: char| is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    let whole = text.as_str();
    let mut at = 0;
    while at < whole.len() {
        let border = whole[at..].chars().next().is_some_and(is_border);
        let end = whole[at..].find(|c| is_border(c) != border).map_or(whole.len(), |len| at + len);
        let first = whole[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        builder.push(text.slice(at, first, state.arena).upper(state.arena));
        builder.push(text.slice(first, end, state.arena).lower(state.arena));
        at = end;
    }
    Ok(Value::Str(builder.finish(state.arena)))
}

pub(super) fn string<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("soft_str", [], 0)?;
    soft(state, value)
}

pub(super) fn trim<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [chars] = args.bind("do_trim", ["chars"], 0)?;
    let value = soft(state, value)?;
    let text = value.as_text().unwrap_or(Text::new(""));
    let chars = match &chars {
        None | Some(Value::None(_)) => None,
        Some(chars) => Some(
            chars
                .as_str()
                .ok_or_else(|| Error::type_error("strip arg must be None or str"))?,
        ),
    };
    Ok(like(&value, strip_text(state, text, chars, Ends::Both)?))
}

pub(super) fn replace<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [old, new, count] = args.bind("do_replace", ["old", "new", "count"], 2)?;
    let none = Value::None(Origin::COMPUTED);
    let (old, new) = (old.unwrap_or(none), new.unwrap_or(none));
    let count = int_argument(count.filter(|count| !count.is_none()), -1)?;
    if !state.autoescape {
        let text = soft_text(state, value)?;
        let (old, new) = (soft_text(state, old)?, soft_text(state, new)?);
        return Ok(Value::Str(replaced(state, text, old, new, count)?));
    }
    let is_markup = |value: &Value<'_>| matches!(value, Value::Markup(_));
    let value = match is_markup(&old) || (is_markup(&new) && !is_markup(&value)) {
        true => Value::Markup(super::escaped(state, value)?),
        false => soft(state, value)?,
    };
    let old = soft_text(state, old)?;
    let new = match (&value, soft(state, new)?) {
        (Value::Markup(_), Value::Str(new)) => markup::escape(new, state.arena)?,
        (_, new) => new.as_text().unwrap_or(Text::new("")),
    };
    let text = value.as_text().unwrap_or(Text::new(""));
    Ok(like(&value, replaced(state, text, old, new, count)?))
}

pub(super) fn center<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [width] = args.bind("do_center", ["width"], 0)?;
    let width = int_argument(width, 80)?;
    let value = soft(state, value)?;
    let text = value.as_text().unwrap_or(Text::new(""));
    Ok(like(&value, pad(state, text, width, Text::new(" "), Side::Both)?))
}

pub(super) fn indent<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [width, first, blank] = args.bind("do_indent", ["width", "first", "blank"], 0)?;
    let text = match value {
        Value::Str(text) | Value::Markup(text) => text,
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        // A list would take the new line in as an item, and then have no lines to split into.
        Value::List(_) => {
            return Err(Error::new(
                ErrorKind::Attribute,
                "'list' object has no attribute 'splitlines'",
            ));
        }
        other => {
            return Err(Error::type_error(format!(
                "unsupported operand type(s) for +=: '{}' and 'str'",
                other.type_name()
            )));
        }
    };
    let indention = match width {
        None => Text::new("    "),
        Some(Value::Str(text) | Value::Markup(text)) => text,
        Some(width) => {
            let spaces = Value::Str(Text::new(" "));
            arith::binary(arith::BinaryOp::Mul, &spaces, &width, state.arena)?
                .as_text()
                .unwrap_or(Text::new(""))
        }
    };
    let is_set = |flag: Option<Value<'_>>| flag.is_some_and(|flag| flag.is_true());
    let (first, blank) = (is_set(first), is_set(blank));
    state.arena.meter().scan(text.len())?;
    let mut lines = spans::split_lines(text.as_str(), false);
    // A new line is put at the end before splitting: an empty text has one line, and one that ends in a line break
    // (other than the carriage return that it would complete) an empty one more.
    let whole = text.as_str();
    if whole.is_empty() || whole.ends_with(crate::value::unicode::is_line_break) && !whole.ends_with('\r') {
        lines.push((text.len(), text.len()));
    }
    let mut builder = TextBuilder::new();
    for (i, (start, end)) in lines.into_iter().enumerate() {
        if i > 0 {
            builder.push(Text::new("\n"));
        }
        let indents = if i == 0 { first } else { blank || end > start };
        if indents {
            state.arena.meter().memory(indention.len())?;
            builder.push(indention);
        }
        builder.push(text.slice(start, end, state.arena));
    }
    Ok(like(&value, state.text(builder)?))
}

pub(super) fn truncate<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [length, kill_words, end, leeway] =
        args.bind("do_truncate", ["length", "killwords", "end", "leeway"], 0)?;
    let length = int_argument(length, 255)?;
    let leeway = int_argument(leeway.filter(|leeway| !leeway.is_none()), 5)?;
    let end = end.unwrap_or(Value::Str(Text::new("...")));
    let end_len = match super::sequence::len(state, &end)? {
        Some(len) => len as i64,
        None => {
            return Err(Error::type_error(format!(
                "object of type '{}' has no len()",
                end.type_name()
            )));
        }
    };
    if length < end_len {
        return Err(Error::runtime(format!("expected length >= {end_len}, got {length}")));
    }
    if leeway < 0 {
        return Err(Error::runtime(format!("expected leeway >= 0, got {leeway}")));
    }
    let Some(len) = super::sequence::len(state, &value)? else {
        return Err(Error::type_error(format!(
            "object of type '{}' has no len()",
            value.type_name()
        )));
    };
    if len as i64 <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let Some(text) = value.as_text() else {
        return Err(Error::type_error(format!("'{}' object is no text", value.type_name())));
    };
    let slice = Slice {
        stop: Some(length - end_len),
        ..Slice::default()
    };
    let mut kept = text.slice_chars(slice, state.arena);
    if !kill_words.is_some_and(|kill| kill.is_true())
        && let Some(at) = spans::rfind(kept.as_str(), " ")
    {
        kept = kept.slice(0, at, state.arena);
    }
    Ok(arith::binary(arith::BinaryOp::Add, &like(&value, kept), &end, state.arena)?)
}

pub(super) fn wordcount<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_wordcount", [], 0)?;
    let text = soft_text(state, value)?;
    state.arena.meter().memory(text.len())?;
    let mut count = 0;
    let mut in_word = false;
    for c in text.as_str().chars() {
        let is_word = is_alnum(c) || c == '_';
        count += i64::from(is_word && !in_word);
        in_word = is_word;
    }
    Ok(Value::Int(count, Origin::COMPUTED))
}

pub(super) fn format<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if !args.positional.is_empty() && !args.keyword.is_empty() {
        return Err(Error::runtime(
            "can't handle positional and keyword arguments at the same time",
        ));
    }
    let value = soft(state, value)?;
    let values = match args.keyword {
        [] => state.tuple(args.positional)?,
        keyword => {
            let mut entries: Vec<_> = keyword
                .iter()
                .map(|(name, value)| (Value::Str(Text::new(name)), *value))
                .collect();
            Value::Dict(state.arena.dict(&mut entries, Origin::COMPUTED))
        }
    };
    Ok(crate::value::format::percent(&value, &values, state, state.arena)?)
}
