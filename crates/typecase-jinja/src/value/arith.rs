//! `+ - * / // % **` and the signs, for integers of any size, floats and sequences.
//!
//! `%` of strings is in [`format`](super::format).

use super::compare::Number;
use super::{Arena, Exception, ExceptionKind, Origin, Text, TextBuilder, Value, markup};
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
}

impl BinaryOp {
    /// As Python's messages name it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "** or pow()",
        }
    }
}

/// Integers of more bits are not computed. Python has no such bound, and would print no more than 4300 digits.
pub const MAX_INT_BITS: u64 = 1 << 20;

/// `left op right`; for `%` not of a `str`.
///
/// # Errors
/// As Python: `TypeError`, `ZeroDivisionError`, `OverflowError`, `UndefinedError`. [`ExceptionKind::Limit`] for results
/// that are too large, before they are made.
pub fn binary<'a>(op: BinaryOp, left: &Value<'a>, right: &Value<'a>, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    if let (Some(a), Some(b)) = (left.as_number(), right.as_number()) {
        return numbers(op, a, b, arena);
    }
    if let Value::Undefined(undefined) = left {
        return Err(undefined.exception());
    }
    if let Value::Undefined(undefined) = right {
        return Err(undefined.exception());
    }
    match op {
        BinaryOp::Add => add(left, right, arena),
        BinaryOp::Mul => multiply(left, right, arena),
        _ => Err(unsupported(op, left, right)),
    }
}

/// `-value`, or `+value`.
///
/// # Errors
/// `TypeError`, `UndefinedError`.
pub fn unary<'a>(negate: bool, value: &Value<'a>, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    if let Value::Undefined(undefined) = value {
        return Err(undefined.exception());
    }
    let Some(number) = value.as_number() else {
        return Err(Exception::type_error(format!(
            "bad operand type for unary {}: '{}'",
            if negate { '-' } else { '+' },
            value.type_name()
        )));
    };
    Ok(match number {
        Number::Int(int) if !negate => Value::Int(int, Origin::COMPUTED),
        Number::Int(int) => match int.checked_neg() {
            Some(negated) => Value::Int(negated, Origin::COMPUTED),
            None => arena.int(-BigInt::from(int), Origin::COMPUTED),
        },
        Number::Big(int) if !negate => Value::BigInt(int, Origin::COMPUTED),
        Number::Big(int) => arena.int(-int, Origin::COMPUTED),
        Number::Float(float) => Value::Float(if negate { -float } else { float }, Origin::COMPUTED),
    })
}

#[cold]
fn unsupported(op: BinaryOp, left: &Value<'_>, right: &Value<'_>) -> Exception {
    Exception::type_error(format!(
        "unsupported operand type(s) for {}: '{}' and '{}'",
        op.symbol(),
        left.type_name(),
        right.type_name()
    ))
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => Ok(Value::Str(concat(*a, *b, arena)?)),
        (Value::Markup(a), Value::Markup(b)) => Ok(Value::Markup(concat(*a, *b, arena)?)),
        (Value::Markup(a), Value::Str(b)) => Ok(Value::Markup(concat(*a, markup::escape(*b, arena)?, arena)?)),
        (Value::Str(a), Value::Markup(b)) => Ok(Value::Markup(concat(markup::escape(*a, arena)?, *b, arena)?)),
        (Value::Str(_), other) => Err(Exception::type_error(format!(
            "can only concatenate str (not \"{}\") to str",
            other.type_name()
        ))),
        (Value::List(a), Value::List(b)) => Ok(Value::List(
            arena.list(&concat_items(a.items(), b.items(), arena)?, Origin::COMPUTED),
        )),
        (Value::Tuple(a), Value::Tuple(b)) => Ok(Value::Tuple(
            arena.list(&concat_items(a.items(), b.items(), arena)?, Origin::COMPUTED),
        )),
        (Value::List(_) | Value::Tuple(_), other) => Err(Exception::type_error(format!(
            "can only concatenate {0} (not \"{1}\") to {0}",
            left.type_name(),
            other.type_name()
        ))),
        _ => Err(unsupported(BinaryOp::Add, left, right)),
    }
}

/// `a + b` of two texts.
///
/// # Errors
/// A spent meter.
pub fn concat<'a>(a: Text<'a>, b: Text<'a>, arena: &'a Arena) -> Result<Text<'a>, Exception> {
    if a.is_empty() {
        return Ok(b);
    }
    if b.is_empty() {
        return Ok(a);
    }
    arena.meter().memory(a.len() + b.len())?;
    let mut builder = TextBuilder::with_capacity(a.len() + b.len());
    builder.push(a);
    builder.push(b);
    Ok(builder.finish(arena))
}

fn concat_items<'a>(a: &[Value<'a>], b: &[Value<'a>], arena: &Arena) -> Result<Vec<Value<'a>>, Exception> {
    arena.meter().memory(size_of_val(a) + size_of_val(b))?;
    Ok([a, b].concat())
}

fn multiply<'a>(left: &Value<'a>, right: &Value<'a>, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    let is_sequence =
        |value: &Value<'_>| matches!(value, Value::List(_) | Value::Tuple(_)) || value.as_text().is_some();
    let (sequence, count) = match (is_sequence(left), is_sequence(right)) {
        (true, _) => (left, right),
        (false, true) => (right, left),
        _ => return Err(unsupported(BinaryOp::Mul, left, right)),
    };
    let count = match count.as_number() {
        Some(Number::Int(count)) => usize::try_from(count).unwrap_or(0),
        Some(Number::Big(_)) => {
            return Err(Exception::new(
                ExceptionKind::Overflow,
                "cannot fit 'int' into an index-sized integer",
            ));
        }
        _ => {
            return Err(Exception::type_error(format!(
                "can't multiply sequence by non-int of type '{}'",
                count.type_name()
            )));
        }
    };
    Ok(match sequence {
        Value::Str(text) => Value::Str(repeat(*text, count, arena)?),
        Value::Markup(text) => Value::Markup(repeat(*text, count, arena)?),
        Value::Tuple(list) => Value::Tuple(arena.list(&repeat_items(list.items(), count, arena)?, Origin::COMPUTED)),
        Value::List(list) => Value::List(arena.list(&repeat_items(list.items(), count, arena)?, Origin::COMPUTED)),
        _ => return Err(unsupported(BinaryOp::Mul, left, right)),
    })
}

fn repeat<'a>(text: Text<'a>, count: usize, arena: &'a Arena) -> Result<Text<'a>, Exception> {
    arena.meter().memory(text.len().saturating_mul(count))?;
    if text.is_empty() {
        return Ok(text);
    }
    Ok(text.repeat(count, arena))
}

fn repeat_items<'a>(items: &[Value<'a>], count: usize, arena: &Arena) -> Result<Vec<Value<'a>>, Exception> {
    arena.meter().memory(size_of_val(items).saturating_mul(count))?;
    if items.is_empty() {
        return Ok(Vec::new());
    }
    Ok(items.repeat(count))
}

fn numbers<'a>(op: BinaryOp, a: Number<'_>, b: Number<'_>, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => match small_ints(op, a, b)? {
            Some(value) => Ok(value),
            None => big_ints(op, &BigInt::from(a), &BigInt::from(b), arena),
        },
        (Number::Float(_), _) | (_, Number::Float(_)) => {
            let float = floats(op, to_float(a)?, to_float(b)?)?;
            Ok(Value::Float(float, Origin::COMPUTED))
        }
        (Number::Int(a), Number::Big(b)) => big_ints(op, &BigInt::from(a), b, arena),
        (Number::Big(a), Number::Int(b)) => big_ints(op, a, &BigInt::from(b), arena),
        (Number::Big(a), Number::Big(b)) => big_ints(op, a, b, arena),
    }
}

/// `float(number)`.
///
/// # Errors
/// `OverflowError` for an `int` beyond all floats.
pub fn to_float(number: Number<'_>) -> Result<f64, Exception> {
    match number {
        Number::Int(int) => Ok(int as f64),
        Number::Float(float) => Ok(float),
        Number::Big(int) => match int.to_f64() {
            Some(float) if float.is_finite() => Ok(float),
            _ => Err(Exception::new(
                ExceptionKind::Overflow,
                "int too large to convert to float",
            )),
        },
    }
}

#[cold]
fn zero_division(message: &str) -> Exception {
    Exception::new(ExceptionKind::ZeroDivision, message)
}

/// Nothing if 64 bits do not hold the result.
fn small_ints<'a>(op: BinaryOp, a: i64, b: i64) -> Result<Option<Value<'a>>, Exception> {
    let int = |int: Option<i64>| Ok(int.map(|int| Value::Int(int, Origin::COMPUTED)));
    match op {
        BinaryOp::Add => int(a.checked_add(b)),
        BinaryOp::Sub => int(a.checked_sub(b)),
        BinaryOp::Mul => int(a.checked_mul(b)),
        BinaryOp::Div => {
            const EXACT: u64 = 1 << 53;
            if b == 0 {
                return Err(zero_division("division by zero"));
            }
            if a.unsigned_abs() > EXACT || b.unsigned_abs() > EXACT {
                return Ok(None);
            }
            Ok(Some(Value::Float(a as f64 / b as f64, Origin::COMPUTED)))
        }
        BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => Err(zero_division(match op {
            BinaryOp::Mod => "integer modulo by zero",
            _ => "integer division or modulo by zero",
        })),
        // Python rounds towards negative infinity, and the remainder takes the sign of the divisor.
        BinaryOp::FloorDiv => {
            let Some(quotient) = a.checked_div(b) else {
                return Ok(None);
            };
            let rounds_down = a % b != 0 && (a < 0) != (b < 0);
            int(Some(quotient - i64::from(rounds_down)))
        }
        BinaryOp::Mod => {
            let remainder = a.wrapping_rem(b);
            let other_sign = remainder != 0 && (remainder < 0) != (b < 0);
            int(Some(if other_sign { remainder + b } else { remainder }))
        }
        BinaryOp::Pow if b < 0 => {
            let float = floats(op, a as f64, b as f64)?;
            Ok(Some(Value::Float(float, Origin::COMPUTED)))
        }
        BinaryOp::Pow => match u32::try_from(b) {
            Ok(exponent) => int(a.checked_pow(exponent)),
            Err(_) => Ok(None),
        },
    }
}

fn big_ints<'a>(op: BinaryOp, a: &BigInt, b: &BigInt, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    let work = (a.bits() / 64 + 1).saturating_mul(b.bits() / 64 + 1) as usize;
    Ok(match op {
        BinaryOp::Add => {
            charge_int(a.bits().max(b.bits()) + 1, 1, arena)?;
            arena.int(a + b, Origin::COMPUTED)
        }
        BinaryOp::Sub => {
            charge_int(a.bits().max(b.bits()) + 1, 1, arena)?;
            arena.int(a - b, Origin::COMPUTED)
        }
        BinaryOp::Mul => {
            charge_int(a.bits() + b.bits(), work, arena)?;
            arena.int(a * b, Origin::COMPUTED)
        }
        BinaryOp::Div => {
            arena.meter().work(work)?;
            Value::Float(divide_exactly(a, b)?, Origin::COMPUTED)
        }
        BinaryOp::FloorDiv | BinaryOp::Mod if b.is_zero() => {
            return Err(zero_division(match op {
                BinaryOp::Mod => "integer modulo by zero",
                _ => "integer division or modulo by zero",
            }));
        }
        BinaryOp::FloorDiv => {
            charge_int(a.bits(), work, arena)?;
            arena.int(num_integer::Integer::div_floor(a, b), Origin::COMPUTED)
        }
        BinaryOp::Mod => {
            charge_int(b.bits(), work, arena)?;
            arena.int(num_integer::Integer::mod_floor(a, b), Origin::COMPUTED)
        }
        BinaryOp::Pow if b.sign() == Sign::Minus => {
            let base = to_float(Number::Big(a))?;
            Value::Float(floats(op, base, to_float(Number::Big(b))?)?, Origin::COMPUTED)
        }
        BinaryOp::Pow => power(a, b, arena)?,
    })
}

fn power<'a>(base: &BigInt, exponent: &BigInt, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    // 0, 1 and -1 stay small whatever the exponent is.
    if base.bits() <= 1 {
        let odd = exponent.bit(0);
        let value = match (exponent.is_zero(), base.sign()) {
            (true, _) => 1,
            (_, Sign::Minus) if odd => -1,
            (_, Sign::NoSign) => 0,
            _ => 1,
        };
        return Ok(Value::Int(value, Origin::COMPUTED));
    }
    let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
    let bits = base.bits().saturating_mul(u64::from(exponent));
    let limbs = bits / 64 + 1;
    charge_int(
        bits,
        usize::try_from(limbs.saturating_mul(limbs)).unwrap_or(usize::MAX),
        arena,
    )?;
    Ok(arena.int(base.pow(exponent), Origin::COMPUTED))
}

/// Spends what an integer of `bits` bits costs to make in `work` steps of 64 x 64 bits.
fn charge_int(bits: u64, work: usize, arena: &Arena) -> Result<(), Exception> {
    if bits > MAX_INT_BITS {
        return Err(Exception::new(
            ExceptionKind::Limit,
            format!("an integer of about {bits} bits; at most {MAX_INT_BITS} are computed"),
        ));
    }
    arena.meter().work(work)?;
    arena.meter().memory((bits / 8) as usize + 32)
}

/// `a / b`, rounded once (to nearest, ties to even), as Python's `long_true_divide` does.
fn divide_exactly(a: &BigInt, b: &BigInt) -> Result<f64, Exception> {
    if b.is_zero() {
        return Err(zero_division("division by zero"));
    }
    if a.is_zero() {
        return Ok(0.0);
    }
    // Scaled so that the quotient has at least 64 bits, of which a float keeps 53: what is cut off below only says
    // whether there is anything, which the lowest bit then stands for.
    let (a_abs, b_abs) = (a.abs(), b.abs());
    let shift = 66 + b_abs.bits() as i64 - a_abs.bits() as i64;
    let (numerator, denominator) = match shift >= 0 {
        true => (a_abs << shift, b_abs),
        false => (a_abs, b_abs << -shift),
    };
    let (quotient, rest) = num_integer::Integer::div_rem(&numerator, &denominator);
    let mut quotient = quotient.to_u128().unwrap_or(u128::MAX);
    if !rest.is_zero() {
        quotient |= 1;
    }
    let result = scale(quotient, -shift);
    if result.is_infinite() {
        return Err(Exception::new(
            ExceptionKind::Overflow,
            "integer division result too large for a float",
        ));
    }
    Ok(if (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus) {
        -result
    } else {
        result
    })
}

/// `mantissa * 2 ** exponent`, rounded once; the lowest bit of `mantissa` may stand for all below it.
pub(crate) fn scale(mantissa: u128, exponent: i64) -> f64 {
    let bits = 128 - i64::from(mantissa.leading_zeros());
    // The exponent of the leading bit decides how many bits are kept: 53, or fewer for subnormal numbers.
    let top = exponent + bits - 1;
    if top > 1023 {
        return f64::INFINITY;
    }
    let kept = if top >= -1022 { 53 } else { 53 - (-1022 - top) };
    if kept < 0 {
        return 0.0;
    }
    let dropped = (bits - kept).max(0);
    if dropped == 0 {
        return mantissa as f64 * pow2(exponent);
    }
    let rounded = if dropped >= 128 {
        0
    } else {
        let (high, low) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1));
        let half = 1 << (dropped - 1);
        high + u128::from(low > half || (low == half && high & 1 == 1))
    };
    // At most 54 bits, so exact; two steps, since the power alone may be below all floats.
    let exponent = exponent + dropped;
    let first = exponent.max(-1000);
    rounded as f64 * pow2(first) * pow2(exponent - first)
}

fn pow2(exponent: i64) -> f64 {
    2.0_f64.powi(exponent.clamp(-1100, 1100) as i32)
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<f64, Exception> {
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b == 0.0 => return Err(zero_division("float division by zero")),
        BinaryOp::Div => a / b,
        BinaryOp::FloorDiv if b == 0.0 => return Err(zero_division("float floor division by zero")),
        BinaryOp::FloorDiv => div_mod(a, b).0,
        BinaryOp::Mod if b == 0.0 => return Err(zero_division("float modulo")),
        BinaryOp::Mod => div_mod(a, b).1,
        BinaryOp::Pow => float_power(a, b)?,
    })
}

/// `divmod(a, b)` as `float_divmod` of CPython computes it.
fn div_mod(a: f64, b: f64) -> (f64, f64) {
    let mut modulus = a % b;
    let mut div = (a - modulus) / b;
    if modulus == 0.0 {
        modulus = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (modulus < 0.0) {
        modulus += b;
        div -= 1.0;
    }
    let floor = if div == 0.0 {
        0.0_f64.copysign(a / b)
    } else {
        let floor = div.floor();
        if div - floor > 0.5 { floor + 1.0 } else { floor }
    };
    (floor, modulus)
}

fn float_power(a: f64, b: f64) -> Result<f64, Exception> {
    if a == 0.0 && b < 0.0 {
        return Err(zero_division("0.0 cannot be raised to a negative power"));
    }
    if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
        return Err(Exception::new(
            ExceptionKind::Unsupported,
            "complex numbers are not supported",
        ));
    }
    let power = a.powf(b);
    if power.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(Exception::new(
            ExceptionKind::Overflow,
            "(34, 'Numerical result out of range')",
        ));
    }
    Ok(power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    fn compute(a: &str, op: BinaryOp, b: &str) -> String {
        let arena = Arena::new();
        arena.meter().set(1 << 30, 1 << 24);
        let (a, b) = (
            json::parse_str(a, &arena).expect(a),
            json::parse_str(b, &arena).expect(b),
        );
        match binary(op, &a, &b, &arena) {
            Ok(value) => json::to_string(&value).expect("a value"),
            Err(exception) => format!("{:?}", exception.kind()),
        }
    }

    /// What CPython 3.11 gave.
    #[test]
    fn computes_as_python_does() {
        use BinaryOp::*;
        for (a, op, b, python) in [
            ("9223372036854775807", Add, "1", "9223372036854775808"),
            ("-9223372036854775808", FloorDiv, "-1", "9223372036854775808"),
            ("-9223372036854775808", Mod, "-1", "0"),
            ("-7", FloorDiv, "3", "-3"),
            ("-7", Mod, "3", "2"),
            ("7", Mod, "-3", "-2"),
            ("7", Div, "2", "3.5"),
            ("-7", FloorDiv, "2.0", "-4.0"),
            ("-7.5", Mod, "2", "0.5"),
            ("7", Mod, "-2.5", "-0.5"),
            ("2.5", FloorDiv, "0.3", "8.0"),
            ("Infinity", FloorDiv, "1", "NaN"),
            ("-5", Mod, "Infinity", "Infinity"),
            ("2", Pow, "-1", "0.5"),
            ("2", Pow, "100", "1267650600228229401496703205376"),
            ("-1", Pow, "99999999999999999999", "-1"),
            ("10", Pow, "-3", "0.001"),
            ("1e300", Pow, "2", "Overflow"),
            ("0", Pow, "-1", "ZeroDivision"),
            ("10", Pow, "1000000000", "Limit"),
            ("1", Div, "0", "ZeroDivision"),
            ("9007199254740993", Div, "1", "9007199254740992.0"),
            ("100000000000000000000000000000000", Div, "3", "3.333333333333333e+31"),
            ("1", Div, "100000000000000000000000000000000", "1e-32"),
            ("\"ab\"", Mul, "3", "\"ababab\""),
            ("\"ab\"", Mul, "-1", "\"\""),
            ("\"a\"", Mul, "1000000000", "Limit"),
            ("[1]", Mul, "2", "[1, 1]"),
            ("[1]", Add, "[2]", "[1, 2]"),
            ("1", Add, "\"a\"", "Type"),
        ] {
            assert_eq!(compute(a, op, b), python, "{a} {op:?} {b}");
        }
    }

    #[test]
    fn quotients_round_once() {
        let one = BigInt::from(1);
        assert_eq!(divide_exactly(&one, &(BigInt::from(1) << 1074)).ok(), Some(5e-324));
        assert_eq!(divide_exactly(&one, &(BigInt::from(1) << 1075)).ok(), Some(0.0));
        assert_eq!(
            divide_exactly(&BigInt::from(3), &(BigInt::from(1) << 1075)).ok(),
            Some(1e-323)
        );
        assert_eq!(
            divide_exactly(&(BigInt::from(1) << 1100), &(BigInt::from(1) << 1000)).ok(),
            Some(2.0_f64.powi(100))
        );
        assert!(divide_exactly(&(BigInt::from(1) << 1100), &one).is_err());
    }
}
