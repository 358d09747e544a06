//! Floats as Python's `repr` spells them.

use std::fmt::Write;

/// Appends `repr(value)`: the shortest digits that read back as the same float, with an exponent from 1e16 up and below
/// 1e-4 (CPython's `float_repr_style` "short"); `nan`, `inf` and `-inf` for the others.
pub fn write_repr(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str(match value {
            _ if value.is_nan() => "nan",
            _ if value > 0.0 => "inf",
            _ => "-inf",
        });
        return;
    }
    // Rust prints the shortest digits too, but chooses other places for the exponent: take only digits and exponent.
    let mut buffer = ShortBuffer::default();
    let _ = write!(buffer, "{value:e}");
    buffer.round_half_to_even(value);
    let (mantissa, exponent) = buffer.as_str().split_once('e').unwrap_or((buffer.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    out.push_str(sign);
    if !(-4..16).contains(&exponent) {
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(first);
        out.push_str(rest);
    } else {
        let whole = exponent as usize;
        out.push_str(first);
        if rest.len() > whole {
            out.push_str(&rest[..whole]);
            out.push('.');
            out.push_str(&rest[whole..]);
        } else {
            out.push_str(rest);
            out.extend(std::iter::repeat_n('0', whole - rest.len()));
            out.push_str(".0");
        }
    }
}

/// Room for any float in `{:e}` form without allocating.
#[derive(Default)]
struct ShortBuffer {
    bytes: [u8; 32],
    len: usize,
}

/// Two decimals of this many digits can lie within half a step of one float, and so be equally short; not of fewer.
const MIN_TIE_DIGITS: usize = 16;

impl ShortBuffer {
    /// Of two shortest decimals that are equally near to `value`, Rust takes the larger and Python the even one:
    /// 589182803420550.25 is `589182803420550.3` there and `589182803420550.2` here.
    fn round_half_to_even(&mut self, value: f64) {
        let Some(digits_end) = self.bytes[..self.len].iter().position(|b| *b == b'e') else {
            return;
        };
        let digits = self.bytes[..digits_end].iter().filter(|b| b.is_ascii_digit()).count();
        let last = digits_end - 1;
        if digits < MIN_TIE_DIGITS || self.bytes[last].is_multiple_of(2) {
            return;
        }
        // `{:e}` with a precision is exact. A tie ends with one more digit, a 5; a float of so few digits is an
        // integer or has few binary places, so zeros up to here are zeros for good.
        const EXACT_DIGITS: usize = 60;
        let exact = format!("{value:.EXACT_DIGITS$e}");
        let mantissa = exact.split_once('e').map_or(exact.as_str(), |(mantissa, _)| mantissa);
        let mut rest = mantissa.bytes().filter(u8::is_ascii_digit).skip(digits);
        if rest.next() != Some(b'5') || rest.any(|b| b != b'0') {
            return;
        }
        self.bytes[last] -= 1;
        // Below a power of two the floats lie closer together: the smaller decimal may belong to the next one.
        if self.as_str().parse() != Ok(value) {
            self.bytes[last] += 1;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for ShortBuffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::write_repr;

    /// Values that CPython 3.11 printed.
    #[expect(clippy::excessive_precision, reason = "the digits are exact, which is the point")]
    #[test]
    fn spells_floats_as_python_does() {
        for (value, python) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.30000000000000004, "0.30000000000000004"),
            (100.0, "100.0"),
            (12345.678, "12345.678"),
            (589182803420550.25, "589182803420550.2"),
            (-655203336259818.75, "-655203336259818.8"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            let mut out = String::new();
            write_repr(&mut out, value);
            assert_eq!(out, python);
        }
    }
}
