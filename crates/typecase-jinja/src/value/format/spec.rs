//! Format specifications: `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`.

use super::decimal::{Notation, digits};
use super::{MAX_WIDTH, not_a_character};
use crate::value::arith::to_float;
use crate::value::compare::Number;
use crate::value::text::{byte_of_char, char_len};
use crate::value::{Arena, BigInt, Exception, Objects, Origin, Text, TextBuilder, Value, repr};
use num_traits::Signed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
    Center,
    /// Between sign and digits.
    Inside,
}

#[derive(Clone, Copy, Debug)]
struct Spec<'s> {
    fill: char,
    align: Align,
    sign: Option<char>,
    no_negative_zero: bool,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    /// The type, if one was given.
    kind: Option<char>,
    source: &'s str,
}

/// Appends `format(value, spec)`.
///
/// # Errors
/// As Python: `ValueError` for a specification that the type does not take, `TypeError` for types that take none.
pub fn push_formatted(
    builder: &mut TextBuilder,
    value: &Value<'_>,
    spec: &str,
    objects: &dyn Objects,
    arena: &Arena,
) -> Result<(), Exception> {
    if spec.is_empty() {
        return repr::push_str(builder, value, objects, arena);
    }
    match value {
        Value::Str(text) | Value::Markup(text) => {
            let spec = Spec::parse(spec, value, Align::Left)?;
            spec.push_text(builder, *text, arena)
        }
        _ => match value.as_number() {
            Some(number) => {
                let spec = Spec::parse(spec, value, Align::Right)?;
                spec.push_number(builder, value, number, arena)
            }
            None => Err(Exception::type_error(format!(
                "unsupported format string passed to {}.__format__",
                value.type_name()
            ))),
        },
    }
}

fn align_of(c: char) -> Option<Align> {
    Some(match c {
        '<' => Align::Left,
        '>' => Align::Right,
        '^' => Align::Center,
        '=' => Align::Inside,
        _ => return None,
    })
}

/// As Python's messages show a character.
fn shown(c: char) -> String {
    match c {
        '!'..='\x7f' => c.to_string(),
        c => format!("\\x{:x}", c as u32),
    }
}

impl<'s> Spec<'s> {
    fn parse(source: &'s str, value: &Value<'_>, default_align: Align) -> Result<Self, Exception> {
        let mut spec = Spec {
            fill: ' ',
            align: default_align,
            sign: None,
            no_negative_zero: false,
            alternate: false,
            width: 0,
            grouping: None,
            precision: None,
            kind: None,
            source,
        };
        let mut rest = source;
        let (mut has_fill, mut has_align) = (false, false);
        let mut chars = rest.chars();
        match (chars.next(), chars.next().and_then(align_of)) {
            (Some(fill), Some(align)) => {
                (spec.fill, spec.align) = (fill, align);
                (has_fill, has_align) = (true, true);
                rest = chars.as_str();
            }
            (Some(first), _) => {
                if let Some(align) = align_of(first) {
                    spec.align = align;
                    has_align = true;
                    rest = &rest[first.len_utf8()..];
                }
            }
            (None, _) => {}
        }
        if let Some(sign @ ('+' | '-' | ' ')) = rest.chars().next() {
            spec.sign = Some(sign);
            rest = &rest[1..];
        }
        let mut take = |c: char| match rest.strip_prefix(c) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        spec.no_negative_zero = take('z');
        spec.alternate = take('#');
        if !has_fill && take('0') {
            spec.fill = '0';
            if !has_align && default_align == Align::Right {
                spec.align = Align::Inside;
            }
        }
        spec.width = integer(&mut rest)?.unwrap_or(0);
        if let Some(after) = rest.strip_prefix(',') {
            spec.grouping = Some(',');
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('_') {
            if spec.grouping.is_some() {
                return Err(Exception::value_error("Cannot specify both ',' and '_'."));
            }
            spec.grouping = Some('_');
            rest = after;
        }
        if spec.grouping == Some('_') && rest.starts_with(',') {
            return Err(Exception::value_error("Cannot specify both ',' and '_'."));
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            spec.precision = integer(&mut rest)?;
            if spec.precision.is_none() {
                return Err(Exception::value_error("Format specifier missing precision"));
            }
        }
        let mut last = rest.chars();
        spec.kind = last.next();
        if last.next().is_some() {
            return Err(Exception::value_error(format!(
                "Invalid format specifier '{source}' for object of type '{}'",
                value.type_name()
            )));
        }
        if let Some(grouping) = spec.grouping {
            let fits = match spec.kind {
                // The type of texts without one is `s`.
                None if default_align == Align::Left => false,
                None | Some('d' | 'e' | 'f' | 'g' | 'E' | 'G' | '%' | 'F') => true,
                Some('b' | 'o' | 'x' | 'X') => grouping == '_',
                _ => false,
            };
            if !fits {
                return Err(Exception::value_error(format!(
                    "Cannot specify '{grouping}' with '{}'.",
                    shown(spec.kind.unwrap_or('s'))
                )));
            }
        }
        Ok(spec)
    }

    #[cold]
    fn unknown(&self, value: &Value<'_>) -> Exception {
        Exception::value_error(format!(
            "Unknown format code '{}' for object of type '{}'",
            self.kind.map(shown).unwrap_or_default(),
            value.type_name()
        ))
    }

    fn push_text(&self, builder: &mut TextBuilder, text: Text<'_>, arena: &Arena) -> Result<(), Exception> {
        if !matches!(self.kind, None | Some('s')) {
            return Err(self.unknown(&Value::Str(text)));
        }
        let refused = match self {
            Spec { sign: Some(' '), .. } => "Space not allowed in string format specifier",
            Spec { sign: Some(_), .. } => "Sign not allowed in string format specifier",
            Spec {
                no_negative_zero: true, ..
            } => "Negative zero coercion (z) not allowed in string format specifier",
            Spec { alternate: true, .. } => "Alternate form (#) not allowed in string format specifier",
            Spec {
                align: Align::Inside, ..
            } => "'=' alignment not allowed in string format specifier",
            _ => "",
        };
        if !refused.is_empty() {
            return Err(Exception::value_error(refused));
        }
        let end = self
            .precision
            .map_or(text.len(), |precision| byte_of_char(text.as_str(), precision));
        let padding = self.width.saturating_sub(char_len(&text.as_str()[..end]));
        let (left, right) = self.sides(padding);
        arena.meter().memory(end.saturating_add(padding.saturating_mul(4)))?;
        builder.pad(self.fill, left, Origin::COMPUTED);
        text.pieces().copy_to(builder, end);
        builder.pad(self.fill, right, Origin::COMPUTED);
        Ok(())
    }

    /// How much of the padding goes before and after.
    fn sides(&self, padding: usize) -> (usize, usize) {
        match self.align {
            Align::Left => (0, padding),
            Align::Right => (padding, 0),
            Align::Center => (padding / 2, padding - padding / 2),
            Align::Inside => (0, 0),
        }
    }

    fn push_number(
        &self,
        builder: &mut TextBuilder,
        value: &Value<'_>,
        number: Number<'_>,
        arena: &Arena,
    ) -> Result<(), Exception> {
        let is_float_kind = matches!(self.kind, Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%'));
        match number {
            Number::Float(float) => self.push_float(builder, value, float, arena),
            _ if is_float_kind => self.push_float(builder, value, to_float(number)?, arena),
            Number::Int(int) => self.push_int(builder, value, &BigInt::from(int), arena),
            Number::Big(int) => self.push_int(builder, value, int, arena),
        }
    }

    fn push_int(
        &self,
        builder: &mut TextBuilder,
        value: &Value<'_>,
        int: &BigInt,
        arena: &Arena,
    ) -> Result<(), Exception> {
        let radix = match self.kind {
            None | Some('d' | 'n' | 'c') => 10,
            Some('b') => 2,
            Some('o') => 8,
            Some('x' | 'X') => 16,
            _ => return Err(self.unknown(value)),
        };
        if self.precision.is_some() {
            return Err(Exception::value_error(
                "Precision not allowed in integer format specifier",
            ));
        }
        if self.no_negative_zero {
            return Err(Exception::value_error(
                "Negative zero coercion (z) not allowed in integer format specifier",
            ));
        }
        if self.kind == Some('c') {
            let refused = match (self.sign, self.alternate) {
                (Some(_), _) => "Sign not allowed with integer format specifier 'c'",
                (_, true) => "Alternate form (#) not allowed with integer format specifier 'c'",
                _ => "",
            };
            if !refused.is_empty() {
                return Err(Exception::value_error(refused));
            }
            let c = u32::try_from(int)
                .ok()
                .and_then(char::from_u32)
                .ok_or_else(not_a_character)?;
            let mut buffer = [0; 4];
            let parts = Parts {
                rest: c.encode_utf8(&mut buffer),
                ..Parts::default()
            };
            return self.push_parts(builder, parts, value.origin(), arena);
        }
        let mut digits = match radix {
            10 => repr::int_digits(&int.abs(), arena)?,
            radix => {
                arena.meter().memory(int.bits() as usize)?;
                int.abs().to_str_radix(radix)
            }
        };
        let mut prefix = match (self.alternate, self.kind) {
            (true, Some('b')) => "0b",
            (true, Some('o')) => "0o",
            (true, Some('x')) => "0x",
            _ => "",
        };
        if self.kind == Some('X') {
            digits.make_ascii_uppercase();
            prefix = if self.alternate { "0X" } else { "" };
        }
        let parts = Parts {
            sign: self.sign_of(int.is_negative()),
            prefix,
            digits: &digits,
            group: if radix == 10 { 3 } else { 4 },
            ..Parts::default()
        };
        self.push_parts(builder, parts, value.origin(), arena)
    }

    fn push_float(
        &self,
        builder: &mut TextBuilder,
        value: &Value<'_>,
        float: f64,
        arena: &Arena,
    ) -> Result<(), Exception> {
        let (mut notation, scale) = match self.kind {
            None => (Notation::GeneralFloat, 1.0),
            Some('e' | 'E') => (Notation::Exponent, 1.0),
            Some('f' | 'F') => (Notation::Fixed, 1.0),
            Some('g' | 'G' | 'n') => (Notation::General, 1.0),
            Some('%') => (Notation::Fixed, 100.0),
            _ => return Err(self.unknown(value)),
        };
        if self.kind.is_none() && self.precision.is_none() {
            notation = Notation::Repr;
        }
        let precision = self.precision.unwrap_or(6);
        arena.meter().memory(precision)?;
        let float = float * scale;
        let mut text = digits(float, notation, precision, self.alternate);
        if matches!(self.kind, Some('E' | 'F' | 'G')) {
            text.make_ascii_uppercase();
        }
        let is_zero = !text
            .bytes()
            .take_while(|b| *b != b'e')
            .any(|b| matches!(b, b'1'..=b'9'));
        let negative =
            float.is_sign_negative() && !float.is_nan() && !(self.no_negative_zero && float.is_finite() && is_zero);
        let whole = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = text.split_at(whole);
        // Of an infinity there is nothing to group.
        let group = if float.is_finite() { 3 } else { usize::MAX };
        let percent = if self.kind == Some('%') { "%" } else { "" };
        let parts = Parts {
            sign: self.sign_of(negative),
            digits,
            rest,
            unit: percent,
            group,
            ..Parts::default()
        };
        self.push_parts(builder, parts, value.origin(), arena)
    }

    fn sign_of(&self, negative: bool) -> &'static str {
        match (negative, self.sign) {
            (true, _) => "-",
            (_, Some('+')) => "+",
            (_, Some(' ')) => " ",
            _ => "",
        }
    }

    fn push_parts(
        &self,
        builder: &mut TextBuilder,
        parts: Parts<'_>,
        origin: Origin,
        arena: &Arena,
    ) -> Result<(), Exception> {
        let fixed = parts.sign.len() + parts.prefix.len() + char_len(parts.rest) + parts.unit.len();
        // Zeros inside are grouped like digits; any other fill is not.
        let least = match self.fill == '0' && self.align == Align::Inside {
            true => self.width.saturating_sub(fixed),
            false => 0,
        };
        arena
            .meter()
            .memory(self.width.saturating_mul(4).saturating_add(2 * parts.digits.len()))?;
        let digits = match self.grouping.filter(|_| parts.group != usize::MAX) {
            Some(separator) => grouped(parts.digits, least, separator, parts.group),
            None => {
                let mut padded = String::new();
                padded.extend(std::iter::repeat_n('0', least.saturating_sub(parts.digits.len())));
                padded.push_str(parts.digits);
                padded
            }
        };
        let padding = self.width.saturating_sub(fixed + digits.len());
        let (left, right) = self.sides(padding);
        let inside = if self.align == Align::Inside { padding } else { 0 };
        builder.pad(self.fill, left, Origin::COMPUTED);
        builder.write_from(origin, |out| {
            out.push_str(parts.sign);
            out.push_str(parts.prefix);
            out.extend(std::iter::repeat_n(self.fill, inside));
            out.push_str(&digits);
            out.push_str(parts.rest);
            out.push_str(parts.unit);
        });
        builder.pad(self.fill, right, Origin::COMPUTED);
        debug_assert!(!self.source.is_empty());
        Ok(())
    }
}

/// The parts of a number.
#[derive(Clone, Copy, Default)]
struct Parts<'p> {
    sign: &'p str,
    prefix: &'p str,
    /// Before the point.
    digits: &'p str,
    /// The point and what follows.
    rest: &'p str,
    unit: &'p str,
    /// How many digits a separator parts.
    group: usize,
}

/// `digits` in groups, with zeros in front to be `least` long, separators counted (`_PyUnicode_InsertThousandsGrouping`).
fn grouped(digits: &str, least: usize, separator: char, group: usize) -> String {
    let mut least = least as i64;
    let mut rest = digits;
    // From the last group to the first.
    let mut groups: Vec<String> = Vec::new();
    loop {
        let len = (group as i64).min((rest.len() as i64).max(least).max(1));
        let taken = rest.len().min(len as usize);
        let (before, last) = rest.split_at(rest.len() - taken);
        groups.push(format!("{}{last}", "0".repeat(len as usize - taken)));
        rest = before;
        least -= len;
        if rest.is_empty() && least <= 0 {
            break;
        }
        least -= 1;
    }
    groups.reverse();
    groups.join(separator.encode_utf8(&mut [0; 4]))
}

/// Takes digits off the front of `rest`.
fn integer(rest: &mut &str) -> Result<Option<usize>, Exception> {
    let mut value: u64 = 0;
    let mut found = false;
    let mut chars = rest.chars();
    while let Some(digit) = chars.clone().next().and_then(crate::value::unicode::decimal) {
        chars.next();
        found = true;
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit)))
            .filter(|value| *value <= i64::MAX as u64)
            .ok_or_else(|| Exception::value_error("Too many decimal digits in format string"))?;
    }
    *rest = chars.as_str();
    if value > MAX_WIDTH {
        return Err(Exception::value_error("precision too big"));
    }
    Ok(found.then_some(value as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{NoObjects, json};

    fn formatted(value: &str, spec: &str) -> Result<String, String> {
        let arena = Arena::new();
        let value = json::parse_str(value, &arena).expect(value);
        let mut builder = TextBuilder::new();
        push_formatted(&mut builder, &value, spec, &NoObjects, &arena).map_err(|err| err.to_string())?;
        Ok(builder.into_string())
    }

    /// What CPython 3.11 gave.
    #[test]
    fn formats_as_python_does() {
        for (value, spec, python) in [
            ("\"a\"", ">5", "    a"),
            ("\"a\"", "05", "a0000"),
            ("\"a\"", "é^7", "éééaééé"),
            ("\"abc\"", "^8", "  abc   "),
            ("\"abcdef\"", "10.3", "abc       "),
            ("1", "5", "    1"),
            ("true", "1", "1"),
            ("1234567", ",", "1,234,567"),
            ("180150001", "_x", "abc_def1"),
            ("255", "#x", "0xff"),
            ("255", "#X", "0XFF"),
            ("5", "#010b", "0b00000101"),
            ("5", "=+10d", "+        5"),
            ("-3", "05", "-0003"),
            ("-3", "<05", "-3000"),
            ("123456", "#012_x", "0x0_0001_e240"),
            ("65", "c", "A"),
            ("3", ".2f", "3.00"),
            ("0.5", "%", "50.000000%"),
            ("3.14159", ".3", "3.14"),
            ("1234567.891", ",.2f", "1,234,567.89"),
            ("1234.5", "015,.2f", "0,000,001,234.50"),
            ("1234", "010,", "00,001,234"),
            ("1.0", "#.3g", "1.00"),
            ("-0.01", "z.1f", "0.0"),
            ("-0.4", "+z.0f", "+0"),
            ("Infinity", "05f", "00inf"),
            ("Infinity", "08,", "00000inf"),
            ("NaN", "F", "NAN"),
            ("1e16", "", "1e+16"),
            ("1.5", "<10", "1.5       "),
            ("-1.5", "010", "-0000001.5"),
            ("1234.5", "012_.1f", "00_001_234.5"),
            (
                "1000000000000000000000000000000",
                "f",
                "1000000000000000019884624838656.000000",
            ),
        ] {
            assert_eq!(
                formatted(value, spec).as_deref(),
                Ok(python),
                "format({value}, {spec:?})"
            );
        }
    }

    #[test]
    fn refuses_as_python_does() {
        for (value, spec, python) in [
            ("\"a\"", "d", "Unknown format code 'd' for object of type 'str'"),
            ("\"a\"", "=5", "'=' alignment not allowed in string format specifier"),
            ("5", ".3", "Precision not allowed in integer format specifier"),
            ("5", ",,", "Cannot specify ',' with ','."),
            ("5", ",_", "Cannot specify both ',' and '_'."),
            ("5.0", ".", "Format specifier missing precision"),
            ("5", "99999999999999999999", "Too many decimal digits in format string"),
            ("\"a\"", "ss", "Invalid format specifier 'ss' for object of type 'str'"),
            ("5", "é", "Unknown format code '\\xe9' for object of type 'int'"),
            ("-1", "c", "%c arg not in range(0x110000)"),
            ("null", "5", "unsupported format string passed to NoneType.__format__"),
            ("1.5", "d", "Unknown format code 'd' for object of type 'float'"),
        ] {
            assert_eq!(
                formatted(value, spec),
                Err(python.to_owned()),
                "format({value}, {spec:?})"
            );
        }
    }
}
