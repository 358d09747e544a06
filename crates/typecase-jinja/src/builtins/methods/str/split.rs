//! Methods that take a text apart, giving slices of it, and `join`.

use super::receiver;
use crate::builtins::Args;
use crate::builtins::convert::{index, index_or, like, plain, text};
use crate::error::{Error, Result};
use crate::value::text::split::{self as spans, Ends, Span};
use crate::value::{Text, TextBuilder, Value, markup};
use crate::vm::State;

fn stripped<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    name: &str,
    args: Args<'_, 'a>,
    ends: Ends,
) -> Result<Value<'a>> {
    let args = plain(args, "str", name, 0, 1)?;
    let chars = match args.first() {
        None | Some(Value::None(_)) => None,
        Some(chars) => Some(
            chars
                .as_str()
                .ok_or_else(|| Error::type_error(format!("{name} arg must be None or str")))?,
        ),
    };
    Ok(like(&value, strip_text(state, receiver(&value), chars, ends)?))
}

/// What is left of `text` after stripping `chars` (white space if `None`).
pub(crate) fn strip_text<'a>(
    state: &mut State<'a>,
    text: Text<'a>,
    chars: Option<&str>,
    ends: Ends,
) -> Result<Text<'a>> {
    let (start, end) = spans::strip_span(text.as_str(), chars, ends);
    state.arena.meter().scan(text.len() - (end - start))?;
    Ok(text.slice(start, end, state.arena))
}

pub(super) fn strip<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    stripped(state, value, "strip", args, Ends::Both)
}

pub(super) fn lstrip<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    stripped(state, value, "lstrip", args, Ends::Start)
}

pub(super) fn rstrip<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    stripped(state, value, "rstrip", args, Ends::End)
}

/// A list of slices of `value`.
fn parts<'a>(state: &mut State<'a>, value: Value<'a>, spans: &[Span]) -> Result<Value<'a>> {
    let text = receiver(&value);
    state.arena.meter().work(spans.len())?;
    let parts: Vec<Value<'a>> = spans
        .iter()
        .map(|&(start, end)| like(&value, text.slice(start, end, state.arena)))
        .collect();
    state.list(&parts)
}

/// `sep` and `maxsplit`.
fn separator<'a>(name: &str, args: Args<'_, 'a>) -> Result<(Option<Text<'a>>, i64)> {
    let given = args.positional.len() + args.keyword.len();
    if given > 2 {
        return Err(Error::type_error(format!(
            "{name}() takes at most 2 arguments ({given} given)"
        )));
    }
    let mut bound = [args.positional.first().copied(), args.positional.get(1).copied()];
    for (key, value) in args.keyword {
        let slot = match *key {
            "sep" => 0,
            "maxsplit" => 1,
            _ => {
                return Err(Error::type_error(format!(
                    "'{key}' is an invalid keyword argument for {name}()"
                )));
            }
        };
        if bound[slot].replace(*value).is_some() {
            return Err(Error::type_error(format!(
                "argument for {name}() given by name ('{key}') and position ({})",
                slot + 1
            )));
        }
    }
    let max = index_or(bound[1], -1)?;
    let sep = match bound[0] {
        None | Some(Value::None(_)) => None,
        Some(sep) => match sep.as_text() {
            Some(sep) if sep.is_empty() => return Err(Error::value_error("empty separator")),
            Some(sep) => Some(sep),
            None => {
                return Err(Error::type_error(format!(
                    "must be str or None, not {}",
                    sep.type_name()
                )));
            }
        },
    };
    Ok((sep, max))
}

pub(super) fn split<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let (sep, max) = separator("split", args)?;
    let text = receiver(&value).as_str();
    state.arena.meter().scan(text.len())?;
    let spans = match sep {
        Some(sep) => spans::split_on(text, sep.as_str(), max),
        None => spans::split_words(text, max),
    };
    parts(state, value, &spans)
}

pub(super) fn rsplit<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let (sep, max) = separator("rsplit", args)?;
    let text = receiver(&value).as_str();
    state.arena.meter().scan(text.len())?;
    let spans = match sep {
        Some(sep) => spans::rsplit_on(text, sep.as_str(), max),
        None => spans::rsplit_words(text, max),
    };
    parts(state, value, &spans)
}

pub(super) fn splitlines<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [keep_ends] = args.bind("splitlines", ["keepends"], 0)?;
    // `keepends` is read as a C int, which a markup's own method does not check.
    let keep_ends = match keep_ends {
        Some(keep_ends) => index(&keep_ends)? != 0,
        None => false,
    };
    let text = receiver(&value).as_str();
    state.arena.meter().scan(text.len())?;
    parts(state, value, &spans::split_lines(text, keep_ends))
}

/// The three parts around the separator that `find` finds; `whole` is where everything goes if it finds none.
fn partitioned<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    name: &str,
    args: Args<'_, 'a>,
    find: fn(&str, &str) -> Option<usize>,
    whole: usize,
) -> Result<Value<'a>> {
    let sep = text(&plain(args, "str", name, 1, 1)?[0])?;
    if sep.is_empty() {
        return Err(Error::value_error("empty separator"));
    }
    let text = receiver(&value);
    state.arena.meter().scan(text.len())?;
    let mut spans = [(0, 0); 3];
    match find(text.as_str(), sep.as_str()) {
        Some(at) => spans = [(0, at), (at, at + sep.len()), (at + sep.len(), text.len())],
        None => spans[whole] = (0, text.len()),
    }
    let parts = spans.map(|(start, end)| like(&value, text.slice(start, end, state.arena)));
    state.tuple(&parts)
}

pub(super) fn partition<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    partitioned(state, value, "partition", args, spans::find, 0)
}

pub(super) fn rpartition<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    partitioned(state, value, "rpartition", args, spans::rfind, 2)
}

fn affix<'a>(name: &str, args: Args<'_, 'a>) -> Result<Text<'a>> {
    let affix = plain(args, "str", name, 1, 1)?[0];
    affix
        .as_text()
        .ok_or_else(|| Error::type_error(format!("{name}() argument must be str, not {}", affix.type_name())))
}

pub(super) fn removeprefix<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let prefix = affix("removeprefix", args)?;
    let text = receiver(&value);
    Ok(like(&value, match text.as_str().starts_with(prefix.as_str()) {
        true => text.slice(prefix.len(), text.len(), state.arena),
        false => text,
    }))
}

pub(super) fn removesuffix<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let suffix = affix("removesuffix", args)?;
    let text = receiver(&value);
    Ok(like(&value, match text.as_str().ends_with(suffix.as_str()) {
        true => text.slice(0, text.len() - suffix.len(), state.arena),
        false => text,
    }))
}

pub(super) fn join<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let items = plain(args, "str", "join", 1, 1)?[0];
    let glue = receiver(&value);
    let mut builder = TextBuilder::new();
    if let Value::Markup(_) = value {
        // `Markup.join` maps `escape` over the items as they come.
        let mut iter = state.iterate(items)?;
        let mut first = true;
        while let Some(item) = iter.next(state)? {
            let escaped = crate::builtins::filters::escaped(state, item)?;
            push_joined(state, &mut builder, glue, escaped, &mut first)?;
        }
        return Ok(Value::Markup(state.text(builder)?));
    }
    let items = match state.iterate(items) {
        Ok(_) => state.collect(items)?,
        Err(_) => return Err(Error::type_error("can only join an iterable")),
    };
    let mut first = true;
    for (i, item) in items.iter().enumerate() {
        let Some(item) = item.as_text() else {
            return Err(Error::type_error(format!(
                "sequence item {i}: expected str instance, {} found",
                item.type_name()
            )));
        };
        push_joined(state, &mut builder, glue, item, &mut first)?;
    }
    Ok(Value::Str(state.text(builder)?))
}

/// Appends `glue`, unless this is the `first` item, and `item`, within the bounds on memory.
pub(crate) fn push_joined(
    state: &State<'_>,
    builder: &mut TextBuilder,
    glue: Text<'_>,
    item: Text<'_>,
    first: &mut bool,
) -> Result<()> {
    if !std::mem::take(first) {
        state.arena.meter().memory(glue.len())?;
        builder.push(glue);
    }
    state.arena.meter().memory(item.len())?;
    builder.push(item);
    Ok(())
}

/// What `Markup` does to a text that it takes in.
pub(super) fn taken_in<'a>(state: &State<'a>, value: &Value<'_>, taken: Value<'a>) -> Result<Value<'a>> {
    match (value, taken) {
        (Value::Markup(_), Value::Str(text)) => Ok(Value::Markup(markup::escape(text, state.arena)?)),
        _ => Ok(taken),
    }
}
