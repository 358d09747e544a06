//! Methods of `int`, `bool` and `float`.

use crate::builtins::convert::plain;
use crate::builtins::{Args, Filter, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::value::compare::Number;
use crate::value::number::float_to_int;
use crate::value::{BigInt, Origin, Text, Value, arith};
use crate::vm::State;
use std::fmt::Write;

/// The methods of `int` and `bool`, in ascending order of their names.
pub(crate) const INT_METHODS: Table<Filter> = &[
    ("as_integer_ratio", as_integer_ratio),
    ("bit_count", bit_count),
    ("bit_length", bit_length),
    ("conjugate", conjugate),
    ("from_bytes", bytes),
    ("to_bytes", bytes),
];

/// The methods of `float`, in ascending order of their names.
pub(crate) const FLOAT_METHODS: Table<Filter> = &[
    ("as_integer_ratio", as_integer_ratio),
    ("conjugate", conjugate),
    ("fromhex", fromhex),
    ("hex", hex),
    ("is_integer", is_integer),
];

fn int_of(value: &Value<'_>) -> BigInt {
    match value.as_number() {
        Some(Number::Int(int)) => BigInt::from(int),
        Some(Number::Big(int)) => int.clone(),
        _ => BigInt::default(),
    }
}

fn float_of(value: &Value<'_>) -> f64 {
    match value {
        Value::Float(float, _) => *float,
        _ => 0.0,
    }
}

fn number<'a>(int: u64) -> Value<'a> {
    Value::Int(i64::try_from(int).unwrap_or(i64::MAX), Origin::COMPUTED)
}

fn bit_length<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "int", "bit_length", 0, 0)?;
    Ok(number(int_of(&value).bits()))
}

fn bit_count<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "int", "bit_count", 0, 0)?;
    Ok(number(int_of(&value).magnitude().count_ones()))
}

fn conjugate<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, value.type_name(), "conjugate", 0, 0)?;
    Ok(arith::unary(false, &value, state.arena)?)
}

fn bytes<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "bytes are not supported"))
}

fn fromhex<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "float.fromhex is not supported"))
}

fn is_integer<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "float", "is_integer", 0, 0)?;
    let float = float_of(&value);
    Ok(Value::Bool(float.is_finite() && float.fract() == 0.0, Origin::COMPUTED))
}

fn as_integer_ratio<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, value.type_name(), "as_integer_ratio", 0, 0)?;
    let Value::Float(float, _) = value else {
        let pair = [arith::unary(false, &value, state.arena)?, number(1)];
        return state.tuple(&pair);
    };
    if !float.is_finite() {
        let what = if float.is_nan() { "NaN" } else { "Infinity" };
        let kind = if float.is_nan() {
            ErrorKind::Value
        } else {
            ErrorKind::Overflow
        };
        return Err(Error::new(kind, format!("cannot convert {what} to integer ratio")));
    }
    // Doubling is exact, and ends: a float has at most 1074 bits behind the point.
    let (mut numerator, mut shift) = (float, 0_u32);
    while numerator.fract() != 0.0 {
        numerator *= 2.0;
        shift += 1;
    }
    let denominator = BigInt::from(1) << shift;
    let pair = [
        float_to_int(numerator, state.arena)?,
        state.arena.int(denominator, Origin::COMPUTED),
    ];
    state.tuple(&pair)
}

fn hex<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    const FRACTION_BITS: u32 = 52;
    plain(args, "float", "hex", 0, 0)?;
    let float = float_of(&value);
    let mut out = String::new();
    if !float.is_finite() {
        crate::value::float::write_repr(&mut out, float);
    } else {
        let bits = float.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let exponent = ((bits >> FRACTION_BITS) & 0x7ff) as i32;
        let sign = if float.is_sign_negative() { "-" } else { "" };
        let _ = match (exponent, fraction) {
            (0, 0) => write!(out, "{sign}0x0.0p+0"),
            (0, _) => write!(out, "{sign}0x0.{fraction:013x}p-1022"),
            _ => write!(out, "{sign}0x1.{fraction:013x}p{:+}", exponent - 1023),
        };
    }
    Ok(Value::Str(Text::with_origin(&out, value.origin(), state.arena)))
}
