//! Filters of sequences: `first`, `join`, `length`, `list` and the like.

use super::html::escaped;
use super::lookup::Getter;
use crate::builtins::Args;
use crate::builtins::convert::index;
use crate::builtins::methods::str::push_joined;
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::{Slice, char_len};
use crate::value::{Dict, DictPart, Origin, Text, TextBuilder, Undefined, Value, repr};
use crate::vm::{Iter, State};

pub(super) fn length<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if !args.keyword.is_empty() {
        return Err(Error::type_error("len() takes no keyword arguments"));
    }
    if !args.positional.is_empty() {
        return Err(Error::type_error(format!(
            "len() takes exactly one argument ({} given)",
            args.positional.len() + 1
        )));
    }
    let length = match len(state, &value)? {
        Some(length) => length,
        None => {
            return Err(Error::type_error(format!(
                "object of type '{}' has no len()",
                value.type_name()
            )));
        }
    };
    Ok(Value::Int(length as i64, Origin::COMPUTED))
}

/// `len(value)`, for all but the engine's objects.
pub(crate) fn len(state: &State<'_>, value: &Value<'_>) -> Result<Option<usize>> {
    Ok(match value {
        Value::Str(text) | Value::Markup(text) => {
            state.arena.meter().scan(text.len())?;
            Some(char_len(text.as_str()))
        }
        Value::List(list) | Value::Tuple(list) => Some(list.len()),
        Value::Dict(dict) => Some(dict.len()),
        Value::DictView(view) => Some(view.dict.len()),
        Value::Range(range) => Some(range.len()),
        Value::Undefined(_) => Some(0),
        _ => None,
    })
}

pub(super) fn list<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("sync_do_list", [], 0)?;
    if let Value::List(_) = value {
        // Nothing can change it, so nothing tells it from a copy.
        return Ok(value);
    }
    let items = state.collect(value)?;
    state.list(&items)
}

pub(super) fn first<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("sync_do_first", [], 0)?;
    match state.iterate(value)?.next(state)? {
        Some(item) => Ok(item),
        None => Ok(state.undefined(Undefined::Hint("No first item, sequence was empty."))),
    }
}

/// `reversed(value)` as a list, where Python has one.
fn reversed<'a>(state: &mut State<'a>, value: Value<'a>) -> Result<Option<Vec<Value<'a>>>> {
    if let Value::Object(_) = value {
        return Ok(None);
    }
    match state.iterate(value) {
        Ok(_) => {
            let mut items = state.collect(value)?;
            items.reverse();
            Ok(Some(items))
        }
        Err(_) => Ok(None),
    }
}

pub(super) fn last<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_last", [], 0)?;
    let item = match value {
        Value::List(list) | Value::Tuple(list) => list.items().last().copied(),
        Value::Str(text) => text.char_at(-1, state.arena).map(Value::Str),
        Value::Markup(text) => text.char_at(-1, state.arena).map(Value::Markup),
        Value::Dict(dict) => dict.entries().last().map(|(key, _)| *key),
        other => match reversed(state, other)? {
            Some(items) => items.first().copied(),
            None => {
                return Err(Error::type_error(format!(
                    "'{}' object is not reversible",
                    other.type_name()
                )));
            }
        },
    };
    Ok(item.unwrap_or_else(|| state.undefined(Undefined::Hint("No last item, sequence was empty."))))
}

pub(super) fn reverse<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_reverse", [], 0)?;
    let backwards = Slice {
        step: Some(-1),
        ..Slice::default()
    };
    if let Some(text) = value.as_text() {
        state.arena.meter().memory(text.len())?;
        let reversed = text.slice_chars(backwards, state.arena);
        return Ok(crate::builtins::convert::like(&value, reversed));
    }
    match reversed(state, value)? {
        Some(items) => {
            let mut items = items.into_iter();
            Ok(state.generator("reversed", move |_| Ok(items.next())))
        }
        // What cannot be reversed but iterated becomes a list.
        None => {
            if state.iterate(value).is_err() {
                return Err(Error::runtime("argument must be iterable"));
            }
            let mut items = state.collect(value)?;
            items.reverse();
            state.list(&items)
        }
    }
}

pub(super) fn items<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_items", [], 0)?;
    let mut entries = None;
    Ok(state.generator("do_items", move |state| {
        if entries.is_none() {
            entries = Some(match value {
                Value::Undefined(_) => Iter::Items(&[]),
                Value::Dict(dict) => Iter::Entries(DictPart::Items, Dict::entries(dict)),
                _ => return Err(Error::type_error("Can only get item pairs from a mapping.")),
            });
        }
        match &mut entries {
            Some(entries) => entries.next(state),
            None => Ok(None),
        }
    }))
}

pub(super) fn join<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [glue, attribute] = args.bind("sync_do_join", ["d", "attribute"], 0)?;
    let glue = glue.unwrap_or(Value::Str(Text::new("")));
    let getter = match attribute {
        Some(attribute) if !attribute.is_none() => Some(Getter::new(state, Some(attribute), None)?),
        _ => None,
    };
    let mut builder = TextBuilder::new();
    let mut first = true;
    if !state.autoescape {
        let glue = repr::to_text(&glue, state, state.arena)?;
        let mut items = state.iterate(value)?;
        while let Some(mut item) = items.next(state)? {
            if let Some(getter) = &getter {
                item = getter.get(state, item)?;
            }
            let item = repr::to_text(&item, state, state.arena)?;
            push_joined(state, &mut builder, glue, item, &mut first)?;
        }
        return Ok(Value::Str(builder.finish(state.arena)));
    }
    let mut items = state.collect(value)?;
    if let Some(getter) = &getter {
        for item in &mut items {
            *item = getter.get(state, *item)?;
        }
    }
    let is_markup = |value: &Value<'_>| matches!(value, Value::Markup(_));
    // Markup in the glue or in any item makes all of it markup.
    let escapes = is_markup(&glue) || items.iter().any(is_markup);
    let spell = |state: &State<'a>, value: Value<'a>| match escapes {
        true => escaped(state, value),
        false => Ok(repr::to_text(&value, state, state.arena)?),
    };
    let glue = spell(state, glue)?;
    for item in items {
        let item = spell(state, item)?;
        push_joined(state, &mut builder, glue, item, &mut first)?;
    }
    let text = builder.finish(state.arena);
    Ok(if escapes { Value::Markup(text) } else { Value::Str(text) })
}

pub(super) fn batch<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [count, fill] = args.bind("do_batch", ["linecount", "fill_with"], 1)?;
    let count = count.unwrap_or(Value::None(Origin::COMPUTED));
    let fill = fill.filter(|fill| !fill.is_none());
    let mut items = None;
    // The first item, where a count of 0 gives an empty batch before it and everything in one batch then.
    let mut ahead = None;
    Ok(state.generator("do_batch", move |state| {
        let is_first = items.is_none();
        let items = match &mut items {
            Some(items) => items,
            empty => empty.insert(state.iterate(value)?),
        };
        let mut batch = Vec::new();
        // A count that no length equals puts everything in one batch.
        let count = match count.as_number() {
            Some(crate::value::compare::Number::Int(count)) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        if count == 0 && is_first {
            ahead = items.next(state)?;
            return if ahead.is_some() {
                state.list(&[]).map(Some)
            } else {
                Ok(None)
            };
        }
        batch.extend(ahead.take());
        while batch.len() < if count == 0 { usize::MAX } else { count } {
            match items.next(state)? {
                Some(item) => batch.push(item),
                None if batch.is_empty() => return Ok(None),
                None => {
                    if let Some(fill) = fill {
                        let missing = count.saturating_sub(batch.len());
                        state
                            .arena
                            .meter()
                            .memory(missing.saturating_mul(size_of::<Value<'_>>()))?;
                        batch.resize(batch.len() + missing, fill);
                    }
                    break;
                }
            }
        }
        state.list(&batch).map(Some)
    }))
}

pub(super) fn slice<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [slices, fill] = args.bind("sync_do_slice", ["slices", "fill_with"], 1)?;
    let slices = slices.unwrap_or(Value::None(Origin::COMPUTED));
    let fill = fill.filter(|fill| !fill.is_none());
    let mut started: Option<(Vec<Value<'a>>, i64)> = None;
    let mut number = 0;
    let mut start = 0;
    Ok(state.generator("sync_do_slice", move |state| {
        let (items, count) = match &mut started {
            Some(started) => started,
            empty => {
                let items = state.collect(value)?;
                let count = match slices.as_number() {
                    Some(crate::value::compare::Number::Int(0)) => {
                        return Err(Error::new(
                            ErrorKind::ZeroDivision,
                            "integer division or modulo by zero",
                        ));
                    }
                    Some(crate::value::compare::Number::Int(count)) => count,
                    _ => {
                        return Err(Error::type_error(format!(
                            "unsupported operand type(s) for //: 'int' and '{}'",
                            slices.type_name()
                        )));
                    }
                };
                empty.insert((items, count))
            }
        };
        if number >= *count {
            return Ok(None);
        }
        let count = usize::try_from(*count).unwrap_or(1);
        let (each, longer) = (items.len() / count, items.len() % count);
        let is_longer = (number as usize) < longer;
        let end = start + each + usize::from(is_longer);
        let mut part = items[start..end].to_vec();
        if let Some(fill) = fill
            && !is_longer
        {
            part.push(fill);
        }
        start = end;
        number += 1;
        state.list(&part).map(Some)
    }))
}

pub(super) fn random<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [] = args.bind("do_random", [], 0)?;
    match len(state, &value)? {
        None => Err(Error::type_error(format!(
            "object of type '{}' has no len()",
            value.type_name()
        ))),
        Some(0) => Ok(state.undefined(Undefined::Hint("No random item, sequence was empty."))),
        Some(_) => Err(Error::new(
            ErrorKind::Unsupported,
            "the filter 'random' is not supported: a prompt must not depend on chance",
        )),
    }
}

/// `index(value)` of an argument, or `default` without one.
pub(super) fn int_argument(value: Option<Value<'_>>, default: i64) -> Result<i64> {
    value.as_ref().map_or(Ok(default), index)
}
