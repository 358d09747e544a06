//! Arguments as the numbers, texts and flags that a builtin takes, with Python's errors for others.

use super::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::compare::Number;
use crate::value::{Text, Value};

/// `operator.index(value)` as a machine integer.
pub(crate) fn index(value: &Value<'_>) -> Result<i64> {
    match value.as_number() {
        Some(Number::Int(int)) => Ok(int),
        Some(Number::Big(_)) => Err(Error::new(
            ErrorKind::Overflow,
            "Python int too large to convert to C ssize_t",
        )),
        _ => Err(Error::type_error(format!(
            "'{}' object cannot be interpreted as an integer",
            value.type_name()
        ))),
    }
}

/// [`index`] of an argument that has a default.
pub(crate) fn index_or(value: Option<Value<'_>>, default: i64) -> Result<i64> {
    value.as_ref().map_or(Ok(default), index)
}

/// A border of a slice: `None`, or an integer of any size.
pub(crate) fn border(value: Option<Value<'_>>) -> Result<Option<i64>> {
    match value {
        None | Some(Value::None(_)) => Ok(None),
        Some(Value::BigInt(int, _)) => Ok(Some(match int.sign() {
            num_bigint::Sign::Minus => i64::MIN,
            _ => i64::MAX,
        })),
        Some(value) => match value.as_number() {
            Some(Number::Int(int)) => Ok(Some(int)),
            _ => Err(Error::type_error(
                "slice indices must be integers or None or have an __index__ method",
            )),
        },
    }
}

/// A text, for parameters that take nothing else.
pub(crate) fn text<'a>(value: &Value<'a>) -> Result<Text<'a>> {
    value
        .as_text()
        .ok_or_else(|| Error::type_error(format!("must be str, not {}", value.type_name())))
}

/// `str(value)` of a number is not its text: the escaped or plain text of `text`, as `like` is.
pub(crate) fn like<'a>(like: &Value<'_>, text: Text<'a>) -> Value<'a> {
    match like {
        Value::Markup(_) => Value::Markup(text),
        _ => Value::Str(text),
    }
}

/// The positional arguments of a method that takes no names, between `least` and `most` of them.
pub(crate) fn plain<'s, 'a>(args: Args<'s, 'a>, owner: &str, name: &str, least: usize, most: usize) -> Result<&'s [Value<'a>]> {
    if !args.keyword.is_empty() {
        return Err(Error::type_error(format!("{owner}.{name}() takes no keyword arguments")));
    }
    let given = args.positional.len();
    if (least..=most).contains(&given) {
        return Ok(args.positional);
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    Err(Error::type_error(match (least, most) {
        (0, 0) => format!("{owner}.{name}() takes no arguments ({given} given)"),
        (1, 1) => format!("{owner}.{name}() takes exactly one argument ({given} given)"),
        (least, most) if least == most => {
            format!("{name} expected {least} argument{}, got {given}", plural(least))
        }
        (least, _) if given < least => {
            format!("{name} expected at least {least} argument{}, got {given}", plural(least))
        }
        (_, most) => format!("{name} expected at most {most} argument{}, got {given}", plural(most)),
    }))
}
