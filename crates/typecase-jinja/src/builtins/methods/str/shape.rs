//! Methods that give another text: case, padding, replacing, formatting.

use super::receiver;
use super::split::taken_in;
use crate::builtins::Args;
use crate::builtins::convert::{index, index_or, like, plain};
use crate::error::{Error, ErrorKind, Result};
use crate::value::compare::Number;
use crate::value::text::{char_len, split as spans};
use crate::value::{Arena, Dict, Origin, Text, TextBuilder, Value};
use crate::vm::State;

/// Defines methods without arguments that change the case of the text.
macro_rules! case_methods {
    ($($name:ident)*) => {
        $(pub(super) fn $name<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
            plain(args, "str", stringify!($name), 0, 0)?;
            cased(state, value, |text, arena| text.$name(arena))
        })*
    };
}

case_methods! { capitalize casefold lower swapcase title upper }

/// `change` of the text; spends its size.
pub(crate) fn cased<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    change: fn(Text<'a>, &'a Arena) -> Text<'a>,
) -> Result<Value<'a>> {
    let text = receiver(&value);
    state.arena.meter().memory(text.len())?;
    Ok(like(&value, change(text, state.arena)))
}

/// Where the padding goes.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// `rjust`
    Left,
    /// `ljust`
    Right,
    /// `center`
    Both,
}

fn justified<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    name: &str,
    args: Args<'_, 'a>,
    side: Side,
) -> Result<Value<'a>> {
    let args = plain(args, "str", name, 1, 2)?;
    let width = index(&args[0])?;
    let fill = match args.get(1) {
        None => Text::new(" "),
        Some(fill) => match taken_in(state, &value, *fill)?.as_text() {
            Some(fill) if char_len(fill.as_str()) == 1 => fill,
            Some(_) => {
                return Err(Error::type_error(
                    "The fill character must be exactly one character long",
                ));
            }
            None => {
                return Err(Error::type_error(format!(
                    "The fill character must be a unicode character, not {}",
                    fill.type_name()
                )));
            }
        },
    };
    Ok(like(&value, pad(state, receiver(&value), width, fill, side)?))
}

/// `text` padded to `width` code points with `fill`, which is one.
pub(crate) fn pad<'a>(
    state: &mut State<'a>,
    text: Text<'a>,
    width: i64,
    fill: Text<'a>,
    side: Side,
) -> Result<Text<'a>> {
    let width = usize::try_from(width).unwrap_or(0);
    state.arena.meter().scan(text.len())?;
    let padding = width.saturating_sub(char_len(text.as_str()));
    if padding == 0 {
        return Ok(text);
    }
    state
        .arena
        .meter()
        .memory(padding.saturating_mul(fill.len()).saturating_add(text.len()))?;
    let left = match side {
        Side::Left => padding,
        Side::Right => 0,
        // CPython puts the odd one to the left if the width is odd.
        Side::Both => padding / 2 + (padding & width & 1),
    };
    let c = fill.as_str().chars().next().unwrap_or(' ');
    let mut builder = TextBuilder::with_capacity(text.len() + padding * fill.len());
    builder.pad(c, left, fill.origin());
    builder.push(text);
    builder.pad(c, padding - left, fill.origin());
    Ok(builder.finish(state.arena))
}

pub(super) fn center<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    justified(state, value, "center", args, Side::Both)
}

pub(super) fn ljust<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    justified(state, value, "ljust", args, Side::Right)
}

pub(super) fn rjust<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    justified(state, value, "rjust", args, Side::Left)
}

pub(super) fn zfill<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let width = index(&plain(args, "str", "zfill", 1, 1)?[0])?;
    let text = receiver(&value);
    let sign = usize::from(matches!(text.as_str().as_bytes().first(), Some(b'+' | b'-')));
    let width = width.saturating_sub(sign as i64);
    let digits = text.slice(sign, text.len(), state.arena);
    let padded = pad(state, digits, width, Text::new("0"), Side::Left)?;
    if padded.len() == digits.len() {
        return Ok(value);
    }
    let mut builder = TextBuilder::with_capacity(sign + padded.len());
    builder.push(text.slice(0, sign, state.arena));
    builder.push(padded);
    Ok(like(&value, state.text(builder)?))
}

pub(super) fn expandtabs<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [size] = args.bind("expandtabs", ["tabsize"], 0)?;
    let size = usize::try_from(index_or(size, 8)?).unwrap_or(0);
    let text = receiver(&value);
    state.arena.meter().memory(text.len())?;
    let mut builder = TextBuilder::new();
    let mut pieces = text.pieces();
    let mut column = 0;
    for (at, c) in text.as_str().char_indices() {
        match c {
            '\t' => {
                pieces.copy_to(&mut builder, at);
                pieces.skip_to(at + 1);
                let spaces = if size == 0 { 0 } else { size - column % size };
                state.arena.meter().memory(spaces)?;
                builder.pad(' ', spaces, text.origin_at(at));
                column += spaces;
            }
            '\n' | '\r' => column = 0,
            _ => column += 1,
        }
    }
    pieces.copy_to(&mut builder, text.len());
    Ok(like(&value, builder.finish(state.arena)))
}

pub(super) fn replace<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = plain(args, "str", "replace", 2, 3)?;
    let argument = |i: usize, value: Value<'a>| {
        value.as_text().ok_or_else(|| {
            Error::type_error(format!(
                "replace() argument {} must be str, not {}",
                i + 1,
                value.type_name()
            ))
        })
    };
    let old = argument(0, args[0])?;
    let new = match (value, args[1]) {
        // `Markup.replace` escapes whatever it is given.
        (Value::Markup(_), new) => crate::builtins::filters::escaped(state, new)?,
        (_, new) => argument(1, new)?,
    };
    let count = index_or(args.get(2).copied(), -1)?;
    Ok(like(&value, replaced(state, receiver(&value), old, new, count)?))
}

/// `text.replace(old, new, count)`, within the bounds on memory.
pub(crate) fn replaced<'a>(
    state: &mut State<'a>,
    text: Text<'a>,
    old: Text<'a>,
    new: Text<'a>,
    count: i64,
) -> Result<Text<'a>> {
    state.arena.meter().scan(text.len())?;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let found = spans::count(text.as_str(), old.as_str()).min(limit);
    if found == 0 {
        return Ok(text);
    }
    state.arena.meter().work(found)?;
    state
        .arena
        .meter()
        .memory(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(text.replace(old.as_str(), new, count, state.arena))
}

pub(super) fn encode<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "bytes are not supported"))
}

pub(super) fn format<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    crate::builtins::format::format(state, value, args)
}

pub(super) fn format_map<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let mapping = plain(args, "str", "format_map", 1, 1)?[0];
    crate::builtins::format::format_map(state, value, mapping)
}

/// What `str.translate` puts in place of a character.
enum Translation<'a> {
    Same,
    Gone,
    Char(char),
    Text(Text<'a>),
}

pub(super) fn translate<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let table = plain(args, "str", "translate", 1, 1)?[0];
    let text = receiver(&value);
    state.arena.meter().memory(text.len())?;
    let mut builder = TextBuilder::new();
    let mut pieces = text.pieces();
    for (at, c) in text.as_str().char_indices() {
        state.arena.meter().work(1)?;
        let translation = translation(&table, c)?;
        if let Translation::Same = translation {
            continue;
        }
        pieces.copy_to(&mut builder, at);
        pieces.skip_to(at + c.len_utf8());
        match translation {
            Translation::Char(to) => builder.push_from(to.encode_utf8(&mut [0; 4]), text.origin_at(at)),
            Translation::Text(to) => {
                state.arena.meter().memory(to.len())?;
                builder.push(to);
            }
            Translation::Same | Translation::Gone => {}
        }
    }
    pieces.copy_to(&mut builder, text.len());
    Ok(like(&value, builder.finish(state.arena)))
}

fn translation<'a>(table: &Value<'a>, c: char) -> Result<Translation<'a>> {
    let index = c as usize;
    let found = match table {
        Value::Dict(dict) => dict.lookup(&Value::Int(i64::from(c as u32), Origin::COMPUTED))?,
        Value::List(list) | Value::Tuple(list) => list.items().get(index).copied(),
        Value::Range(range) => range.at(index).map(|int| Value::Int(int, Origin::COMPUTED)),
        Value::Str(text) | Value::Markup(text) => {
            return Ok(text
                .as_str()
                .chars()
                .nth(index)
                .map_or(Translation::Same, Translation::Char));
        }
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        other => {
            return Err(Error::type_error(format!(
                "'{}' object is not subscriptable",
                other.type_name()
            )));
        }
    };
    Ok(match found {
        None => Translation::Same,
        Some(Value::None(_)) => Translation::Gone,
        Some(Value::Str(text) | Value::Markup(text)) => Translation::Text(text),
        Some(value) => match value.as_number() {
            Some(Number::Int(int)) => match u32::try_from(int).ok().and_then(char::from_u32) {
                Some(c) => Translation::Char(c),
                None => {
                    return Err(Error::value_error("character mapping must be in range(0x110000)"));
                }
            },
            Some(Number::Big(_)) => {
                return Err(Error::value_error("character mapping must be in range(0x110000)"));
            }
            _ => {
                return Err(Error::type_error("character mapping must return integer, None or str"));
            }
        },
    })
}

pub(super) fn maketrans<'a>(state: &mut State<'a>, _: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = plain(args, "str", "maketrans", 1, 3)?;
    let code = |c: char| Value::Int(i64::from(c as u32), Origin::COMPUTED);
    let mut entries = Vec::new();
    match args {
        [Value::Dict(dict)] => {
            for (key, value) in dict.entries() {
                let key = match key {
                    Value::Str(text) | Value::Markup(text) => {
                        let mut chars = text.as_str().chars();
                        match (chars.next(), chars.next()) {
                            (Some(c), None) => code(c),
                            _ => {
                                return Err(Error::value_error("string keys in translate table must be of length 1"));
                            }
                        }
                    }
                    Value::Int(..) | Value::BigInt(..) | Value::Bool(..) => *key,
                    _ => {
                        return Err(Error::type_error("keys in translate table must be strings or integers"));
                    }
                };
                entries.push((key, *value));
            }
        }
        [_] => {
            return Err(Error::type_error(
                "if you give only one argument to maketrans it must be a dict",
            ));
        }
        [from, to, gone @ ..] => {
            let text = |i: usize, value: &Value<'a>| {
                value.as_str().ok_or_else(|| {
                    Error::type_error(format!(
                        "maketrans() argument {i} must be str, not {}",
                        value.type_name()
                    ))
                })
            };
            let (from, to) = match from.as_str() {
                Some(from) => (from, text(2, to)?),
                None => {
                    return Err(Error::type_error(
                        "first maketrans argument must be a string if there is a second argument",
                    ));
                }
            };
            if char_len(from) != char_len(to) {
                return Err(Error::value_error(
                    "the first two maketrans arguments must have equal length",
                ));
            }
            entries.extend(from.chars().zip(to.chars()).map(|(from, to)| (code(from), code(to))));
            if let Some(gone) = gone.first() {
                let gone = text(3, gone)?;
                entries.extend(gone.chars().map(|c| (code(c), Value::None(Origin::COMPUTED))));
            }
        }
        [] => {}
    }
    state.arena.meter().memory(size_of_val(entries.as_slice()))?;
    let dict = Dict::new(entries, state.arena, Origin::COMPUTED)?;
    Ok(Value::Dict(state.arena.bump.alloc(dict)))
}

pub(super) fn markup_escape<'a>(state: &mut State<'a>, _: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let value = plain(args, "Markup", "escape", 1, 1)?[0];
    Ok(Value::Markup(crate::builtins::filters::escaped(state, value)?))
}

pub(super) fn markup_striptags<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "Markup", "striptags", 0, 0)?;
    crate::builtins::filters::striptags(state, value, args)
}

pub(super) fn markup_unescape<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "Markup", "unescape", 0, 0)?;
    Ok(match value.as_text() {
        Some(text) => Value::Str(crate::builtins::filters::unescape(state, text)?),
        None => value,
    })
}
