//! Filters of numbers.

use super::lookup::Getter;
use super::sequence::int_argument;
use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::arith::{self, BinaryOp, to_float};
use crate::value::compare::Number;
use crate::value::number::{float_to_int, parse_float, parse_int, round_float, round_int};
use crate::value::{BigInt, Origin, Text, TextBuilder, Value, repr};
use crate::vm::State;
use num_traits::Signed;

pub(super) fn abs<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if !args.positional.is_empty() || !args.keyword.is_empty() {
        return Err(Error::type_error(format!(
            "abs() takes exactly one argument ({} given)",
            args.positional.len() + args.keyword.len() + 1
        )));
    }
    match value.as_number() {
        Some(Number::Int(int)) if int >= 0 => Ok(Value::Int(int, Origin::COMPUTED)),
        Some(Number::Int(_)) => Ok(arith::unary(true, &value, state.arena)?),
        Some(Number::Big(int)) => Ok(state.arena.int(int.abs(), Origin::COMPUTED)),
        Some(Number::Float(float)) => Ok(Value::Float(float.abs(), Origin::COMPUTED)),
        None => Err(Error::type_error(format!(
            "bad operand type for abs(): '{}'",
            value.type_name()
        ))),
    }
}

/// `float(value)`: `None` where Python raises `TypeError` or `ValueError`.
fn to_python_float(value: &Value<'_>) -> Result<Option<f64>> {
    match value {
        Value::Str(text) | Value::Markup(text) => Ok(parse_float(text.as_str())),
        Value::Undefined(undefined) => Err(undefined.exception().into()),
        other => match other.as_number() {
            Some(number) => Ok(Some(to_float(number)?)),
            None => Ok(None),
        },
    }
}

pub(super) fn float<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [default] = args.bind("do_float", ["default"], 0)?;
    Ok(match to_python_float(&value)? {
        Some(float) => Value::Float(float, Origin::COMPUTED),
        None => default.unwrap_or(Value::Float(0.0, Origin::COMPUTED)),
    })
}

pub(super) fn int<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [default, base] = args.bind("do_int", ["default", "base"], 0)?;
    let default = default.unwrap_or(Value::Int(0, Origin::COMPUTED));
    if let Some(text) = value.as_text() {
        // A base that is no integer is a `TypeError`, which the second attempt below catches as well.
        if let Ok(base) = int_argument(base, 10)
            && let Ok(int) = parse_int(text, base, state.arena)
        {
            return Ok(int);
        }
    } else {
        match value.as_number() {
            Some(Number::Int(int)) => return Ok(Value::Int(int, Origin::COMPUTED)),
            Some(Number::Big(_)) => return Ok(value),
            // An infinite float is an `OverflowError`, which nothing catches here.
            Some(Number::Float(float)) if !float.is_nan() => return Ok(float_to_int(float, state.arena)?),
            _ => {}
        }
    }
    // "42.23" is no integer, but a float that can be turned into one.
    let float = to_python_float(&value)?;
    Ok(float
        .and_then(|float| float_to_int(float, state.arena).ok())
        .unwrap_or(default))
}

pub(super) fn round<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [precision, method] = args.bind("do_round", ["precision", "method"], 0)?;
    let precision = precision.unwrap_or(Value::Int(0, Origin::COMPUTED));
    let method = match method {
        None => "common",
        Some(method) => method.as_str().unwrap_or(""),
    };
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(Error::runtime("method must be common, ceil or floor"));
    }
    if method == "common" {
        let Some(number) = value.as_number() else {
            return Err(Error::type_error(format!(
                "type {} doesn't define __round__ method",
                value.type_name()
            )));
        };
        return match number {
            Number::Float(float) if precision.is_none() => {
                let rounded = round_float(float, 0)?;
                Ok(float_to_int(rounded, state.arena)?)
            }
            Number::Float(float) => {
                let digits = int_argument(Some(precision), 0)?;
                Ok(Value::Float(round_float(float, digits)?, Origin::COMPUTED))
            }
            Number::Int(_) | Number::Big(_) if precision.is_none() => {
                Ok(arith::unary(false, &value, state.arena)?)
            }
            Number::Int(int) => {
                let digits = int_argument(Some(precision), 0)?;
                Ok(round_int(&BigInt::from(int), digits, state.arena)?)
            }
            Number::Big(int) => {
                let digits = int_argument(Some(precision), 0)?;
                Ok(round_int(int, digits, state.arena)?)
            }
        };
    }
    let ten = Value::Int(10, Origin::COMPUTED);
    let factor = arith::binary(BinaryOp::Pow, &ten, &precision, state.arena)?;
    let scaled = arith::binary(BinaryOp::Mul, &value, &factor, state.arena)?;
    let whole = match scaled.as_number() {
        Some(Number::Float(float)) => {
            let float = if method == "ceil" { float.ceil() } else { float.floor() };
            float_to_int(float, state.arena)?
        }
        Some(_) => scaled,
        None => {
            return Err(Error::type_error(format!(
                "must be real number, not {}",
                scaled.type_name()
            )));
        }
    };
    Ok(arith::binary(BinaryOp::Div, &whole, &factor, state.arena)?)
}

pub(super) fn sum<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [attribute, start] = args.bind("sync_do_sum", ["attribute", "start"], 0)?;
    let getter = match attribute {
        Some(attribute) if !attribute.is_none() => Some(Getter::new(state, Some(attribute), None)?),
        _ => None,
    };
    let mut items = state.iterate(value)?;
    let mut total = start.unwrap_or(Value::Int(0, Origin::COMPUTED));
    if total.as_text().is_some() {
        return Err(Error::type_error("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    while let Some(mut item) = items.next(state)? {
        if let Some(getter) = &getter {
            item = getter.get(state, item)?;
        }
        state.arena.meter().work(1)?;
        total = arith::binary(BinaryOp::Add, &total, &item, state.arena)?;
    }
    Ok(total)
}

pub(super) fn filesizeformat<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    const DECIMAL: [&str; 8] = ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
    const BINARY: [&str; 8] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];
    let [binary] = args.bind("do_filesizeformat", ["binary"], 0)?;
    let is_binary = binary.is_some_and(|binary| binary.is_true());
    let Some(bytes) = to_python_float(&value)? else {
        return Err(match value.as_text() {
            Some(text) => {
                let mut shown = TextBuilder::new();
                repr::push_text_repr(&mut shown, text, false);
                Error::value_error(format!("could not convert string to float: {}", shown.into_string()))
            }
            None => Error::type_error(format!(
                "float() argument must be a string or a real number, not '{}'",
                value.type_name()
            )),
        });
    };
    let (base, prefixes): (f64, _) = if is_binary { (1024.0, BINARY) } else { (1000.0, DECIMAL) };
    let text = if bytes == 1.0 {
        "1 Byte".to_owned()
    } else if bytes < base {
        let whole = float_to_int(bytes, state.arena)?;
        format!("{} Bytes", repr::to_text(&whole, state, state.arena)?.as_str())
    } else if bytes.is_nan() {
        return Err(Error::new(ErrorKind::Value, "cannot convert float NaN to integer"));
    } else {
        let last = prefixes.len() - 1;
        let i = (0..last).find(|&i| bytes < base.powi(i as i32 + 2)).unwrap_or(last);
        let value = base * bytes / base.powi(i as i32 + 2);
        match value.is_infinite() {
            true => format!("inf {}", prefixes[i]),
            false => format!("{value:.1} {}", prefixes[i]),
        }
    };
    Ok(Value::Str(Text::with_origin(&text, Origin::COMPUTED, state.arena)))
}
