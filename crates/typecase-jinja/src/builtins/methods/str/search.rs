//! `find`, `count`, `startswith` and their kin: positions are code points.

use super::receiver;
use crate::builtins::Args;
use crate::builtins::convert::{border, text};
use crate::error::{Error, Result};
use crate::value::text::{byte_range, char_len, split};
use crate::value::{Origin, Value};
use crate::vm::State;

/// The needle and the optional `start` and `end`.
fn needle<'a>(name: &str, args: Args<'_, 'a>) -> Result<(Value<'a>, Option<i64>, Option<i64>)> {
    if !args.keyword.is_empty() {
        return Err(Error::type_error(format!("str.{name}() takes no keyword arguments")));
    }
    let at = |i: usize| args.positional.get(i).copied();
    match args.positional.len() {
        0 => Err(Error::type_error(format!("{name}() takes at least 1 argument (0 given)"))),
        1..=3 => Ok((args.positional[0], border(at(1))?, border(at(2))?)),
        given => Err(Error::type_error(format!(
            "{name}() takes at most 3 arguments ({given} given)"
        ))),
    }
}

/// Index of the first (or last) occurrence.
fn position<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    name: &str,
    args: Args<'_, 'a>,
    search: fn(&str, &str) -> Option<usize>,
) -> Result<Option<i64>> {
    let (sub, start, end) = needle(name, args)?;
    let sub = text(&sub)?;
    let hay = receiver(&value).as_str();
    state.arena.meter().scan(hay.len())?;
    let Some((from, to)) = byte_range(hay, start, end) else { return Ok(None) };
    Ok(search(&hay[from..to], sub.as_str()).map(|at| char_len(&hay[..from + at]) as i64))
}

fn number<'a>(int: i64) -> Value<'a> {
    Value::Int(int, Origin::COMPUTED)
}

fn not_found() -> Error {
    Error::value_error("substring not found")
}

pub(super) fn find<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(number(position(state, value, "find", args, split::find)?.unwrap_or(-1)))
}

pub(super) fn rfind<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(number(position(state, value, "rfind", args, split::rfind)?.unwrap_or(-1)))
}

pub(super) fn index<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    position(state, value, "index", args, split::find)?.map(number).ok_or_else(not_found)
}

pub(super) fn rindex<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    position(state, value, "rindex", args, split::rfind)?.map(number).ok_or_else(not_found)
}

pub(super) fn count<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let (sub, start, end) = needle("count", args)?;
    let sub = text(&sub)?;
    let hay = receiver(&value).as_str();
    state.arena.meter().scan(hay.len())?;
    let found = byte_range(hay, start, end).map_or(0, |(from, to)| split::count(&hay[from..to], sub.as_str()));
    Ok(number(found as i64))
}

/// `startswith` and `endswith`.
fn affix<'a>(
    value: Value<'a>,
    name: &str,
    args: Args<'_, 'a>,
    holds: fn(&str, &str) -> bool,
) -> Result<Value<'a>> {
    let (affix, start, end) = needle(name, args)?;
    let hay = receiver(&value).as_str();
    let range = byte_range(hay, start, end);
    let test = |affix: &str| range.is_some_and(|(from, to)| holds(&hay[from..to], affix));
    let found = match affix {
        Value::Str(affix) | Value::Markup(affix) => test(affix.as_str()),
        Value::Tuple(affixes) => {
            let mut found = false;
            for affix in affixes.items() {
                let Some(affix) = affix.as_str() else {
                    return Err(Error::type_error(format!(
                        "tuple for {name} must only contain str, not {}",
                        affix.type_name()
                    )));
                };
                if test(affix) {
                    found = true;
                    break;
                }
            }
            found
        }
        other => {
            return Err(Error::type_error(format!(
                "{name} first arg must be str or a tuple of str, not {}",
                other.type_name()
            )));
        }
    };
    Ok(Value::Bool(found, Origin::COMPUTED))
}

pub(super) fn startswith<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    affix(value, "startswith", args, |hay, affix| hay.starts_with(affix))
}

pub(super) fn endswith<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    affix(value, "endswith", args, |hay, affix| hay.ends_with(affix))
}
