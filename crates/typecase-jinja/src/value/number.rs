//! `int()` and `float()`.

use super::text::strip;
use super::unicode::decimal;
use super::{Arena, Exception, ExceptionKind, Origin, Text, TextBuilder, Value, json::MAX_INT_DIGITS, repr};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed, ToPrimitive};
use std::cmp::Ordering;

/// `int(text, base)`; `base` 0 reads the base off a prefix.
///
/// # Errors
/// `ValueError`, as Python.
pub fn parse_int<'a>(text: Text<'_>, base: i64, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    if base != 0 && !(2..=36).contains(&base) {
        return Err(Exception::value_error("int() base must be >= 2 and <= 36, or 0"));
    }
    let invalid = || {
        let mut message = TextBuilder::new();
        message.push_from(&format!("invalid literal for int() with base {base}: "), Origin::COMPUTED);
        let shown = text.as_str().char_indices().nth(200).map_or(text.len(), |(at, _)| at);
        repr::push_text_repr(&mut message, Text::new(&text.as_str()[..shown]), false);
        Exception::value_error(message.into_string())
    };
    arena.meter().scan(text.len())?;
    let trimmed = strip(text.as_str());
    let (negative, unsigned) = match trimmed.as_bytes().first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    let prefix = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 0,
    };
    let has_prefix = prefix != 0 && (base == 0 || base == prefix);
    let radix = match base {
        0 if has_prefix => prefix as u32,
        0 => 10,
        base => base as u32,
    };
    // After a prefix an underscore may come first.
    let mut rest = if has_prefix { &unsigned[2..] } else { unsigned };
    if has_prefix {
        rest = rest.strip_prefix('_').unwrap_or(rest);
    }
    let mut digits = String::with_capacity(rest.len().min(MAX_INT_DIGITS + 1));
    let mut underscore = true;
    for c in rest.chars() {
        let digit = match c {
            '_' if underscore => return Err(invalid()),
            '_' => {
                underscore = true;
                continue;
            }
            c if c.is_ascii() => c.to_digit(radix),
            c => decimal(c).filter(|digit| *digit < radix),
        };
        underscore = false;
        match digit.and_then(|digit| char::from_digit(digit, radix)) {
            Some(digit) => digits.push(digit),
            None => return Err(invalid()),
        }
    }
    if underscore {
        return Err(invalid());
    }
    // Without a prefix, base 0 takes no leading zeros, except for zero itself.
    if base == 0 && !has_prefix && digits.starts_with('0') && digits.bytes().any(|b| b != b'0') {
        return Err(invalid());
    }
    if !radix.is_power_of_two() && digits.len() > MAX_INT_DIGITS {
        return Err(Exception::value_error(format!(
            "Exceeds the limit ({MAX_INT_DIGITS} digits) for integer string conversion: value has {} digits; \
             use sys.set_int_max_str_digits() to increase the limit",
            digits.len()
        )));
    }
    arena.meter().memory(digits.len())?;
    let magnitude = BigInt::parse_bytes(digits.as_bytes(), radix).ok_or_else(invalid)?;
    Ok(arena.int(if negative { -magnitude } else { magnitude }, Origin::COMPUTED))
}

/// `float(text)`, if the text is one.
pub fn parse_float(text: &str) -> Option<f64> {
    let trimmed = strip(text);
    let unsigned = trimmed.trim_start_matches(['-', '+']);
    if trimmed.len() - unsigned.len() > 1 {
        return None;
    }
    let sign = if trimmed.starts_with('-') { -1.0 } else { 1.0 };
    if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        return Some(sign * f64::INFINITY);
    }
    if unsigned.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    // To ASCII without underscores, each of which must stand between two digits; Rust's grammar is then Python's.
    let mut plain = String::with_capacity(unsigned.len());
    let mut chars = unsigned.chars().peekable();
    let mut after_digit = false;
    while let Some(c) = chars.next() {
        match c {
            '_' if after_digit && chars.peek().is_some_and(|&next| decimal(next).is_some()) => after_digit = false,
            '.' | 'e' | 'E' | '+' | '-' => {
                plain.push(c);
                after_digit = false;
            }
            c => {
                plain.push(char::from_digit(decimal(c)?, 10)?);
                after_digit = true;
            }
        }
    }
    if !plain.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    plain.parse().ok().map(|float: f64| sign * float)
}

/// `int(float)`.
///
/// # Errors
/// `ValueError` for `nan`, `OverflowError` for the infinities.
pub fn float_to_int(float: f64, arena: &Arena) -> Result<Value<'_>, Exception> {
    if float.is_nan() {
        return Err(Exception::value_error("cannot convert float NaN to integer"));
    }
    match BigInt::from_f64(float.trunc()) {
        Some(int) => Ok(arena.int(int, Origin::COMPUTED)),
        None => Err(Exception::new(
            ExceptionKind::Overflow,
            "cannot convert float infinity to integer",
        )),
    }
}

/// `round(float, digits)`: to nearest, ties to even, judged by the exact value of the float.
///
/// # Errors
/// `OverflowError` if the result is beyond all floats.
pub fn round_float(float: f64, digits: i64) -> Result<f64, Exception> {
    // Beyond these there is nothing to round, or nothing left (`float.__round__`).
    const MOST_DIGITS: i64 = 323;
    const LEAST_DIGITS: i64 = -308;
    if !float.is_finite() || digits > MOST_DIGITS {
        return Ok(float);
    }
    if digits < LEAST_DIGITS {
        return Ok(0.0_f64.copysign(float));
    }
    let rounded = if digits >= 0 {
        // Rust prints the exact value, rounded half to even.
        format!("{float:.*}", digits as usize).parse().unwrap_or(float)
    } else {
        let power = BigInt::from(10).pow(digits.unsigned_abs() as u32);
        let whole = BigInt::from_f64(float.trunc().abs()).unwrap_or_default();
        let rounded = round_to_multiple(&whole, &power, float.fract() != 0.0);
        rounded.to_f64().unwrap_or(f64::INFINITY).copysign(float)
    };
    match rounded.is_finite() {
        true => Ok(rounded),
        false => Err(Exception::new(
            ExceptionKind::Overflow,
            "rounded value too large to represent",
        )),
    }
}

/// The multiple of `step` nearest to `whole` (plus something below 1 if `more`), ties to even. Neither is negative.
fn round_to_multiple(whole: &BigInt, step: &BigInt, more: bool) -> BigInt {
    let quotient = whole / step;
    let rest = whole - &quotient * step;
    let up = match (&rest * 2_u8).cmp(step) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => more || quotient.bit(0),
    };
    (quotient + u8::from(up)) * step
}

/// `round(int, digits)`.
///
/// # Errors
/// A spent meter.
pub fn round_int<'a>(int: &BigInt, digits: i64, arena: &'a Arena) -> Result<Value<'a>, Exception> {
    if digits >= 0 {
        return Ok(arena.int(int.clone(), Origin::COMPUTED));
    }
    // Rounding away more digits than there are leaves nothing: a digit takes more than three bits.
    if digits.unsigned_abs() > int.bits() / 3 + 1 {
        return Ok(Value::Int(0, Origin::COMPUTED));
    }
    let power = BigInt::from(10).pow(digits.unsigned_abs() as u32);
    arena.meter().work((int.bits() / 32) as usize)?;
    let rounded = round_to_multiple(&int.abs(), &power, false);
    Ok(arena.int(if int.is_negative() { -rounded } else { rounded }, Origin::COMPUTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CPython 3.11 gave.
    #[test]
    fn reads_integers_as_python_does() {
        let arena = Arena::new();
        for (text, base, python) in [
            (" 42 ", 10, Some(42)),
            ("1_000", 10, Some(1000)),
            ("1__0", 10, None),
            ("_1", 10, None),
            ("1_", 10, None),
            ("-0x_ff", 16, Some(-255)),
            ("0xff", 0, Some(255)),
            ("0xff", 10, None),
            ("0b1", 16, Some(177)),
            ("010", 0, None),
            ("00", 0, Some(0)),
            ("٣٤", 10, Some(34)),
            ("z", 36, Some(35)),
            ("", 10, None),
            ("+", 10, None),
            ("- 1", 10, None),
            ("4.2", 10, None),
        ] {
            let got = match parse_int(Text::new(text), base, &arena) {
                Ok(Value::Int(int, _)) => Some(int),
                _ => None,
            };
            assert_eq!(got, python, "int({text:?}, {base})");
        }
    }

    #[test]
    fn reads_floats_as_python_does() {
        for (text, python) in [
            (" 4.25 ", Some(4.25)),
            ("1_0.5", Some(10.5)),
            ("1_.5", None),
            ("1e5", Some(1e5)),
            ("1e", None),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            (".", None),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("١.٥", Some(1.5)),
            ("--1", None),
            ("0x10", None),
            ("", None),
        ] {
            assert_eq!(parse_float(text), python, "float({text:?})");
        }
    }

    #[test]
    fn rounds_as_python_does() {
        for (float, digits, python) in [
            (2.5, 0, 2.0),
            (-0.5, 0, -0.0),
            (0.5, 0, 0.0),
            (1.5, 0, 2.0),
            (2.675, 2, 2.67),
            (1.25, 1, 1.2),
            (1234567.891, -2, 1234600.0),
            (25.0, -1, 20.0),
            (1e300, 400, 1e300),
            (5.0, -400, 0.0),
            (1.5, 300, 1.5),
        ] {
            assert_eq!(round_float(float, digits), Ok(python), "round({float}, {digits})");
        }
        let arena = Arena::new();
        for (int, digits, python) in [(25, -1, 20), (15, -1, 20), (-15, -1, -20), (5, -1, 0), (5, 3, 5), (51, -2, 100)] {
            let rounded = round_int(&BigInt::from(int), digits, &arena).expect("no bounds");
            assert!(matches!(rounded, Value::Int(rounded, _) if rounded == python), "round({int}, {digits})");
        }
    }
}
