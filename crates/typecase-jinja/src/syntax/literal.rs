//! Numbers and strings, as Python reads them.

use super::ast::Const;
use super::error::{EscapeError, NumberError};
use crate::value::unicode::decimal;
use num_bigint::BigInt;
use std::borrow::Cow;

/// Python refuses to read longer decimal integers (`sys.get_int_max_str_digits()`).
const MAX_DECIMAL_DIGITS: usize = 4300;

/// The number that `source` has at byte `at`: the end of its text. A float is tried first, as Jinja does.
pub(super) fn number_end(source: &str, at: usize) -> Option<(usize, bool)> {
    // Not after a dot, so that `a.1.5` looks up 1, then 5.
    if source.as_bytes().get(at.wrapping_sub(1)) != Some(&b'.')
        && let Some(end) = float_end(source, at)
    {
        return Some((end, true));
    }
    integer_end(source, at).map(|end| (end, false))
}

/// `(\d+_)*\d+`, where `\d` is a digit of any script.
fn digits_end(source: &str, at: usize) -> Option<usize> {
    let mut end = at;
    let mut rest = source[at..].chars().peekable();
    while let Some(c) = rest.next() {
        if decimal(c).is_some() || (c == '_' && end > at && rest.peek().is_some_and(|&c| decimal(c).is_some())) {
            end += c.len_utf8();
        } else {
            break;
        }
    }
    (end > at).then_some(end)
}

fn exponent_end(source: &str, at: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    digits_end(source, at + 1 + sign)
}

fn float_end(source: &str, at: usize) -> Option<usize> {
    let integer = digits_end(source, at)?;
    if source.as_bytes().get(integer) == Some(&b'.')
        && let Some(fraction) = digits_end(source, integer + 1)
    {
        return Some(exponent_end(source, fraction).unwrap_or(fraction));
    }
    exponent_end(source, integer)
}

fn integer_end(source: &str, at: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let run = |start: usize, is_digit: &dyn Fn(char) -> bool| {
        let mut end = start;
        let mut rest = source[start..].chars().peekable();
        while let Some(c) = rest.next() {
            if is_digit(c) || (c == '_' && rest.peek().is_some_and(|&c| is_digit(c))) {
                end += c.len_utf8();
            } else {
                break;
            }
        }
        end
    };
    match bytes.get(at)? {
        b'0' => {
            let is_digit: Option<&dyn Fn(char) -> bool> = match bytes.get(at + 1) {
                Some(b'b' | b'B') => Some(&|c| matches!(c, '0' | '1')),
                Some(b'o' | b'O') => Some(&|c| matches!(c, '0'..='7')),
                Some(b'x' | b'X') => Some(&|c: char| decimal(c).is_some() || c.is_ascii_hexdigit()),
                _ => None,
            };
            if let Some(is_digit) = is_digit {
                let end = run(at + 2, is_digit);
                if end > at + 2 {
                    return Some(end);
                }
            }
            Some(run(at + 1, &|c| c == '0'))
        }
        b'1'..=b'9' => Some(run(at + 1, &|c| decimal(c).is_some())),
        _ => None,
    }
}

/// The value of the number that `text` spells, as [`number_end`] found it.
pub(super) fn number(text: &str, is_float: bool) -> Result<Const<'static>, NumberError> {
    if is_float {
        let text: String = text.chars().filter(|&c| c != '_').collect();
        // Only here does Python want digits to be ASCII.
        return text.parse().map(Const::Float).map_err(|_| NumberError::Digits);
    }
    let mut digits: Vec<u8> = Vec::with_capacity(text.len());
    for c in text.chars().filter(|&c| c != '_') {
        let digit = decimal(c).and_then(|value| char::from_digit(value, 10)).unwrap_or(c);
        digits.push(u8::try_from(digit).map_err(|_| NumberError::Digits)?);
    }
    let (radix, digits) = match digits.as_slice() {
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', b'o' | b'O', rest @ ..] => (8, rest),
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        all => (10, all),
    };
    if radix == 10 && digits.len() > MAX_DECIMAL_DIGITS {
        return Err(NumberError::TooLong);
    }
    let small = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| i64::from_str_radix(text, radix).ok());
    match small {
        Some(value) => Ok(Const::Int(value)),
        None => BigInt::parse_bytes(digits, radix)
            .map(Const::BigInt)
            .ok_or(NumberError::Digits),
    }
}

/// The text that a string literal stands for, given what is between its quotes.
///
/// Jinja encodes it as ASCII with `backslashreplace` and decodes that with `unicode-escape`. So an escape that does not
/// exist stays as it is, and a backslash before a character that is not ASCII takes away the one that
/// `backslashreplace` put there: `"\é"` is the four characters `\xe9`.
pub(super) fn unescape(quoted: &str) -> Result<Cow<'_, str>, EscapeError> {
    let Some(first) = quoted.find('\\') else {
        return Ok(Cow::Borrowed(quoted));
    };
    let mut text = String::with_capacity(quoted.len());
    text.push_str(&quoted[..first]);
    let mut rest = &quoted[first..];
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(c) = rest.chars().next() else {
            // The lexer never ends a string after a single backslash.
            text.push('\\');
            break;
        };
        let mut used = c.len_utf8();
        match c {
            '\n' => {}
            '\\' | '\'' | '"' => text.push(c),
            'a' => text.push('\x07'),
            'b' => text.push('\x08'),
            'f' => text.push('\x0c'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'v' => text.push('\x0b'),
            '0'..='7' => {
                used = rest.bytes().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
                text.push(code_point(&rest[..used], 8)?);
            }
            'x' | 'u' | 'U' => {
                let (length, truncated) = match c {
                    'x' => (2, EscapeError::TruncatedX),
                    'u' => (4, EscapeError::TruncatedU),
                    _ => (8, EscapeError::TruncatedLongU),
                };
                let digits = rest.get(1..=length).ok_or(truncated)?;
                if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err(truncated);
                }
                text.push(code_point(digits, 16)?);
                used += length;
            }
            'N' => {
                let name = rest[1..].strip_prefix('{').ok_or(EscapeError::MalformedName)?;
                let end = name.find('}').ok_or(EscapeError::MalformedName)?;
                if end == 0 {
                    return Err(EscapeError::MalformedName);
                }
                text.push(named(&name[..end]).ok_or(EscapeError::UnknownName)?);
                used += end + 2;
            }
            c if c.is_ascii() => {
                text.push('\\');
                text.push(c);
            }
            c => {
                let code = c as u32;
                text.push_str(&match code {
                    ..=0xff => format!("\\x{code:02x}"),
                    ..=0xffff => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
        rest = &rest[used..];
    }
    text.push_str(rest);
    Ok(Cow::Owned(text))
}

fn code_point(digits: &str, radix: u32) -> Result<char, EscapeError> {
    let code = u32::from_str_radix(digits, radix).map_err(|_| EscapeError::OutOfRange)?;
    match code {
        0xd800..=0xdfff => Err(EscapeError::Surrogate),
        _ => char::from_u32(code).ok_or(EscapeError::OutOfRange),
    }
}

/// The character of that name.
fn named(name: &str) -> Option<char> {
    // The crate forgives missing spaces and hyphens, Python only the case.
    let c = unicode_names2::character(name)?;
    unicode_names2::name(c)
        .is_some_and(|full| full.to_string().eq_ignore_ascii_case(name))
        .then_some(c)
}
