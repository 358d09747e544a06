//! Floats in the notations `e`, `f`, `g` and as `repr` has them (`PyOS_double_to_string`).

use crate::value::float;
use std::fmt::Write;

/// Which digits are printed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// `e`: one digit before the point.
    Exponent,
    /// `f`: no exponent.
    Fixed,
    /// `g`: so many significant digits, with an exponent where that is shorter.
    General,
    /// As `g`, but always with a point or an exponent: a format specification without a type.
    GeneralFloat,
    /// As `repr`, whatever the precision.
    Repr,
}

/// Rust's own formatting takes no more digits, and no float has more that are not 0.
const EXACT_DIGITS: usize = 1100;

/// The digits of `value`, which is not negative, without a sign.
pub(super) fn digits(value: f64, notation: Notation, precision: usize, keeps_zeros: bool) -> String {
    let value = value.abs();
    if !value.is_finite() {
        return if value.is_nan() { "nan" } else { "inf" }.to_owned();
    }
    match notation {
        Notation::Exponent => exponent(value, precision, keeps_zeros),
        Notation::Fixed => fixed(value, precision, keeps_zeros),
        Notation::General => general(value, precision, keeps_zeros, false),
        Notation::GeneralFloat => general(value, precision, keeps_zeros, true),
        Notation::Repr => {
            let mut out = String::new();
            float::write_repr(&mut out, value);
            out
        }
    }
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let exact = precision.min(EXACT_DIGITS);
    let mut out = format!("{value:.exact$}");
    out.extend(std::iter::repeat_n('0', precision - exact));
    if point && precision == 0 {
        out.push('.');
    }
    out
}

/// Significant digits, and the exponent of the first.
fn significant(value: f64, count: usize) -> (String, i32) {
    let exact = (count - 1).min(EXACT_DIGITS);
    let text = format!("{value:.exact$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    digits.extend(std::iter::repeat_n('0', count - 1 - exact));
    (digits, exponent.parse().unwrap_or(0))
}

fn with_exponent(digits: &str, exponent: i32, point: bool) -> String {
    let (first, rest) = digits.split_at(digits.len().min(1));
    let mut out = first.to_owned();
    if point || !rest.is_empty() {
        out.push('.');
    }
    out.push_str(rest);
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "e{sign}{:02}", exponent.abs());
    out
}

fn exponent(value: f64, precision: usize, point: bool) -> String {
    let (digits, exponent) = significant(value, precision + 1);
    with_exponent(&digits, exponent, point)
}

fn general(value: f64, precision: usize, keeps_zeros: bool, is_float: bool) -> String {
    let precision = precision.max(1);
    let (digits, exponent) = significant(value, precision);
    let digits = match keeps_zeros {
        true => digits.as_str(),
        false => match digits.trim_end_matches('0') {
            "" => "0",
            kept => kept,
        },
    };
    let limit = precision as i64 - i64::from(is_float);
    if exponent < -4 || i64::from(exponent) >= limit {
        return with_exponent(digits, exponent, keeps_zeros);
    }
    let mut out = String::new();
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(digits);
        return out;
    }
    let whole = exponent as usize + 1;
    if digits.len() > whole {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    } else {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
        if is_float {
            out.push_str(".0");
        } else if keeps_zeros {
            out.push('.');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CPython 3.11 gave.
    #[test]
    fn prints_digits_as_python_does() {
        use Notation::*;
        for (value, notation, precision, keeps_zeros, python) in [
            (0.5, Fixed, 0, false, "0"),
            (2.5, Fixed, 0, false, "2"),
            (2.5, Fixed, 0, true, "2."),
            (0.35, Fixed, 1, false, "0.3"),
            (2.5, Exponent, 0, false, "2e+00"),
            (9.995, Exponent, 2, false, "9.99e+00"),
            (0.0, Exponent, 6, false, "0.000000e+00"),
            (1e10, General, 6, false, "1e+10"),
            (1e10, General, 6, true, "1.00000e+10"),
            (0.0001, General, 6, false, "0.0001"),
            (0.00001, General, 6, false, "1e-05"),
            (100_000.0, General, 6, false, "100000"),
            (0.0, General, 6, false, "0"),
            (1.0, General, 6, true, "1.00000"),
            (100.0, GeneralFloat, 3, false, "1e+02"),
            (5.0, GeneralFloat, 3, false, "5.0"),
            (5.0, GeneralFloat, 1, false, "5e+00"),
        ] {
            assert_eq!(
                digits(value, notation, precision, keeps_zeros),
                python,
                "{value} {notation:?}"
            );
        }
        assert_eq!(fixed(1.5, 70_000, false).len(), 70_002);
    }
}
