//! `format % values`.

use super::decimal::{Notation, digits};
use super::{MAX_WIDTH, not_a_character};
use crate::value::arith::to_float;
use crate::value::compare::Number;
use crate::value::number::{float_to_int, parse_float, parse_int};
use crate::value::text::{byte_of_char, char_len};
use crate::value::{Arena, BigInt, Exception, ExceptionKind, Objects, Origin, Text, TextBuilder, Value, markup, repr};
use num_traits::Signed;

/// `format % values`, for a `str` or `Markup`, which escapes what it takes in.
///
/// # Errors
/// As Python: `TypeError`, `ValueError`, `KeyError`, `OverflowError`, `UndefinedError`.
pub fn percent<'a>(
    format: &Value<'a>,
    values: &Value<'a>,
    objects: &dyn Objects,
    arena: &'a Arena,
) -> Result<Value<'a>, Exception> {
    let Some(text) = format.as_text() else {
        return Err(Exception::type_error(format!(
            "unsupported operand type(s) for %: '{}' and '{}'",
            format.type_name(),
            values.type_name()
        )));
    };
    arena.meter().memory(text.len())?;
    let mut formatter = Formatter {
        text,
        at: 0,
        escapes: matches!(format, Value::Markup(_)),
        values: *values,
        next: match values {
            Value::Tuple(_) => Next::Item(0),
            _ => Next::Single,
        },
        is_mapping: matches!(
            values,
            Value::List(_) | Value::Dict(_) | Value::Range(_) | Value::Undefined(_)
        ),
        builder: TextBuilder::new(),
        objects,
        arena,
    };
    formatter.run()?;
    let text = formatter.builder.finish(arena);
    Ok(match format {
        Value::Markup(_) => Value::Markup(text),
        _ => Value::Str(text),
    })
}

/// Which value comes next.
#[derive(Clone, Copy)]
enum Next<'a> {
    /// The item of the tuple.
    Item(usize),
    /// The one value.
    Single,
    /// The value of the key.
    Keyed(Value<'a>),
    /// None is left.
    Nothing,
}

struct Formatter<'f, 'a> {
    text: Text<'a>,
    /// Byte offset of what comes next in the format.
    at: usize,
    escapes: bool,
    values: Value<'a>,
    next: Next<'a>,
    /// Whether Python looks keys up in the values, and so does not mind if they are not used.
    is_mapping: bool,
    builder: TextBuilder,
    objects: &'f dyn Objects,
    arena: &'a Arena,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    left: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    zero: bool,
}

/// How one value is printed.
#[derive(Clone, Copy)]
struct Conversion {
    flags: Flags,
    width: usize,
    precision: Option<usize>,
}

fn incomplete() -> Exception {
    Exception::value_error("incomplete format")
}

impl<'a> Formatter<'_, 'a> {
    fn run(&mut self) -> Result<(), Exception> {
        let format = self.text.as_str();
        let mut pieces = self.text.pieces();
        while let Some(found) = format[self.at..].find('%') {
            let start = self.at + found;
            pieces.copy_to(&mut self.builder, start);
            self.at = start + 1;
            if format[self.at..].starts_with('%') {
                self.at += 1;
                pieces.skip_to(start + 1);
                pieces.copy_to(&mut self.builder, start + 2);
            } else {
                self.conversion()?;
                pieces.skip_to(self.at);
            }
        }
        pieces.copy_to(&mut self.builder, format.len());
        let is_left = match self.next {
            Next::Item(index) => matches!(self.values, Value::Tuple(list) if index < list.len()),
            Next::Single => true,
            Next::Keyed(_) | Next::Nothing => false,
        };
        if is_left && !self.is_mapping {
            return Err(Exception::type_error(
                "not all arguments converted during string formatting",
            ));
        }
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.text.as_str()[self.at..].chars().next()
    }

    fn bump(&mut self) -> Result<char, Exception> {
        let c = self.peek().ok_or_else(incomplete)?;
        self.at += c.len_utf8();
        Ok(c)
    }

    fn conversion(&mut self) -> Result<(), Exception> {
        if self.peek() == Some('(') {
            self.key()?;
        }
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some('-') => flags.left = true,
                Some('+') => flags.plus = true,
                Some(' ') => flags.blank = true,
                Some('#') => flags.alternate = true,
                Some('0') => flags.zero = true,
                _ => break,
            }
            self.at += 1;
        }
        let mut width = 0;
        if self.peek() == Some('*') {
            self.at += 1;
            let given = self.star()?;
            flags.left |= given < 0;
            width = given.unsigned_abs();
        } else if let Some(given) = self.digits("")? {
            width = given;
        }
        let mut precision = None;
        if self.peek() == Some('.') {
            self.at += 1;
            precision = Some(0);
            if self.peek() == Some('*') {
                self.at += 1;
                precision = Some(u64::try_from(self.star()?).unwrap_or(0));
            } else if let Some(given) = self.digits("precision too big")? {
                precision = Some(given);
            }
        }
        if matches!(self.peek(), Some('h' | 'l' | 'L')) {
            self.at += 1;
        }
        let at = char_len(&self.text.as_str()[..self.at]);
        let kind = self.bump()?;
        let conversion = Conversion {
            flags,
            width: usize::try_from(width).unwrap_or(usize::MAX),
            precision: precision.map(|precision| usize::try_from(precision).unwrap_or(usize::MAX)),
        };
        self.arena
            .meter()
            .memory(conversion.width.saturating_add(conversion.precision.unwrap_or(0)))?;
        // CPython takes the value before it looks at the type.
        let value = self.value()?;
        match kind {
            's' | 'r' | 'a' => self.text(kind, &value, conversion),
            'c' => self.character(&value, conversion),
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => self.integer(kind, &value, conversion),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => self.float(kind, &value, conversion),
            _ => {
                let shown = if matches!(kind, '\x1f'..='~') { kind } else { '?' };
                Err(Exception::value_error(format!(
                    "unsupported format character '{shown}' (0x{:x}) at index {at}",
                    kind as u32
                )))
            }
        }
    }

    /// `(key)`: what it names comes next.
    fn key(&mut self) -> Result<(), Exception> {
        if !self.is_mapping {
            return Err(Exception::type_error("format requires a mapping"));
        }
        self.at += 1;
        let start = self.at;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some(_) => {}
                None => return Err(Exception::value_error("incomplete format key")),
            }
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        let key = &self.text.as_str()[start..self.at - 1];
        let value = match &self.values {
            Value::Dict(dict) => dict.get(key).ok_or_else(|| {
                let mut shown = TextBuilder::new();
                repr::push_text_repr(&mut shown, Text::new(key), false);
                Exception::new(ExceptionKind::Key, shown.into_string())
            })?,
            Value::Undefined(undefined) => return Err(undefined.exception()),
            other => {
                return Err(Exception::type_error(format!(
                    "{} indices must be integers or slices, not str",
                    other.type_name()
                )));
            }
        };
        self.next = Next::Keyed(value);
        Ok(())
    }

    fn value(&mut self) -> Result<Value<'a>, Exception> {
        let (value, next) = match (self.next, &self.values) {
            (Next::Item(index), Value::Tuple(list)) if index < list.len() => {
                (list.items()[index], Next::Item(index + 1))
            }
            (Next::Single, value) => (*value, Next::Nothing),
            (Next::Keyed(value), _) => (value, Next::Nothing),
            _ => return Err(Exception::type_error("not enough arguments for format string")),
        };
        self.next = next;
        Ok(value)
    }

    /// `*`: a width or precision among the values.
    fn star(&mut self) -> Result<i64, Exception> {
        let value = self.value()?;
        match value {
            Value::Int(int, _) if int.unsigned_abs() <= MAX_WIDTH => Ok(int),
            Value::Bool(bool, _) => Ok(i64::from(bool)),
            Value::Int(..) | Value::BigInt(..) => Err(Exception::new(
                ExceptionKind::Overflow,
                "Python int too large to convert to C int",
            )),
            _ => Err(Exception::type_error("* wants int")),
        }
    }

    fn digits(&mut self, too_big: &'static str) -> Result<Option<u64>, Exception> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            let value = number.unwrap_or(0) * 10 + u64::from(digit);
            if value > MAX_WIDTH {
                return Err(match too_big {
                    // CPython would try, and raise `MemoryError`.
                    "" => Exception::new(ExceptionKind::Limit, "a width of more than 2147483647"),
                    message => Exception::value_error(message),
                });
            }
            number = Some(value);
        }
        Ok(number)
    }

    fn text(&mut self, kind: char, value: &Value<'a>, conversion: Conversion) -> Result<(), Exception> {
        let mut text = match kind {
            's' if self.escapes => match value {
                Value::Markup(text) => *text,
                value => markup::escape(repr::to_text(value, self.objects, self.arena)?, self.arena)?,
            },
            's' => repr::to_text(value, self.objects, self.arena)?,
            _ => {
                let mut builder = TextBuilder::new();
                repr::push_repr(&mut builder, value, self.objects, self.arena)?;
                let mut text = builder.finish(self.arena);
                if self.escapes {
                    text = markup::escape(text, self.arena)?;
                }
                match kind {
                    'a' => to_ascii(text, self.arena),
                    _ => text,
                }
            }
        };
        if let Some(precision) = conversion.precision {
            text = text.slice(0, byte_of_char(text.as_str(), precision), self.arena);
        }
        self.arena.meter().memory(text.len())?;
        let padding = conversion.width.saturating_sub(char_len(text.as_str()));
        let left = if conversion.flags.left { 0 } else { padding };
        self.builder.pad(' ', left, Origin::COMPUTED);
        self.builder.push(text);
        self.builder.pad(' ', padding - left, Origin::COMPUTED);
        Ok(())
    }

    fn character(&mut self, value: &Value<'a>, conversion: Conversion) -> Result<(), Exception> {
        let wrong = || Exception::type_error("%c requires int or char");
        let text = match value {
            _ if self.escapes => return Err(wrong()),
            Value::Str(text) | Value::Markup(text) if char_len(text.as_str()) == 1 => *text,
            other => match other.as_number() {
                Some(Number::Int(int)) => {
                    let c = u32::try_from(int)
                        .ok()
                        .and_then(char::from_u32)
                        .ok_or_else(not_a_character)?;
                    Text::with_origin(c.encode_utf8(&mut [0; 4]), other.origin(), self.arena)
                }
                Some(Number::Big(_)) => return Err(not_a_character()),
                _ => return Err(wrong()),
            },
        };
        let conversion = Conversion {
            precision: None,
            ..conversion
        };
        self.text('s', &Value::Str(text), conversion)
    }

    fn integer(&mut self, kind: char, value: &Value<'a>, conversion: Conversion) -> Result<(), Exception> {
        let radix: u32 = match kind {
            'o' => 8,
            'x' | 'X' => 16,
            _ => 10,
        };
        let wrong = |found: &str| {
            Exception::type_error(match radix {
                10 => format!("%{kind} format: a real number is required, not {found}"),
                _ => format!("%{kind} format: an integer is required, not {found}"),
            })
        };
        let mut int = *value;
        match value {
            // What `Markup` takes in is wrapped, and the wrapper is turned to a number as `int()` does it.
            _ if self.escapes && radix != 10 => return Err(wrong("_MarkupEscapeHelper")),
            Value::Str(text) | Value::Markup(text) if self.escapes => int = parse_int(*text, 10, self.arena)?,
            Value::Undefined(undefined) if radix == 10 => return Err(undefined.exception()),
            Value::Float(float, origin) if radix == 10 => {
                int = match float_to_int(*float, self.arena)? {
                    Value::Int(int, _) => Value::Int(int, *origin),
                    other => other,
                };
            }
            _ => {}
        }
        let int = match int.as_number() {
            Some(Number::Int(int)) => BigInt::from(int),
            Some(Number::Big(int)) => int.clone(),
            _ => return Err(wrong(value.type_name())),
        };
        let mut text = match radix {
            10 => repr::int_digits(&int.abs(), self.arena)?,
            radix => {
                self.arena.meter().memory(int.bits() as usize)?;
                int.abs().to_str_radix(radix)
            }
        };
        if let Some(precision) = conversion.precision {
            let missing = precision.saturating_sub(text.len());
            text.insert_str(0, &"0".repeat(missing));
        }
        let mut prefix = match (conversion.flags.alternate, kind) {
            (true, 'o') => "0o",
            (true, 'x' | 'X') => "0x",
            _ => "",
        };
        if kind == 'X' {
            text.make_ascii_uppercase();
            prefix = if prefix.is_empty() { "" } else { "0X" };
        }
        self.number(value.origin(), int.is_negative(), prefix, &text, conversion);
        Ok(())
    }

    fn float(&mut self, kind: char, value: &Value<'a>, conversion: Conversion) -> Result<(), Exception> {
        let float = match (value, value.as_number()) {
            (_, Some(number)) => to_float(number)?,
            (Value::Undefined(undefined), _) => return Err(undefined.exception()),
            (Value::Str(text) | Value::Markup(text), _) if self.escapes => {
                parse_float(text.as_str()).ok_or_else(|| {
                    let mut shown = TextBuilder::new();
                    repr::push_text_repr(&mut shown, *text, false);
                    Exception::value_error(format!("could not convert string to float: {}", shown.into_string()))
                })?
            }
            _ => {
                return Err(Exception::type_error(format!(
                    "must be real number, not {}",
                    value.type_name()
                )));
            }
        };
        let notation = match kind {
            'e' | 'E' => Notation::Exponent,
            'f' | 'F' => Notation::Fixed,
            _ => Notation::General,
        };
        let precision = conversion.precision.unwrap_or(6);
        let mut text = digits(float, notation, precision, conversion.flags.alternate);
        if kind.is_ascii_uppercase() {
            text.make_ascii_uppercase();
        }
        let negative = float.is_sign_negative() && !float.is_nan();
        self.number(value.origin(), negative, "", &text, conversion);
        Ok(())
    }

    /// Appends a number with its sign, padded to the width.
    fn number(&mut self, origin: Origin, negative: bool, prefix: &str, digits: &str, conversion: Conversion) {
        let Conversion { flags, width, .. } = conversion;
        let sign = match flags {
            _ if negative => "-",
            Flags { plus: true, .. } => "+",
            Flags { blank: true, .. } => " ",
            _ => "",
        };
        let padding = width.saturating_sub(sign.len() + prefix.len() + digits.len());
        let (left, zeros, right) = match flags {
            Flags { left: true, .. } => (0, 0, padding),
            Flags { zero: true, .. } => (0, padding, 0),
            _ => (padding, 0, 0),
        };
        self.builder.pad(' ', left, Origin::COMPUTED);
        self.builder.write_from(origin, |out| {
            out.push_str(sign);
            out.push_str(prefix);
            out.extend(std::iter::repeat_n('0', zeros));
            out.push_str(digits);
        });
        self.builder.pad(' ', right, Origin::COMPUTED);
    }
}

/// What `ascii()` makes of a `repr`: all beyond ASCII escaped.
pub(crate) fn to_ascii<'a>(text: Text<'a>, arena: &'a Arena) -> Text<'a> {
    if text.as_str().is_ascii() {
        return text;
    }
    let mut builder = TextBuilder::new();
    text.for_each_run(|bytes, origin| {
        let mut start = 0;
        for (at, c) in bytes.char_indices().filter(|(_, c)| !c.is_ascii()) {
            builder.push_from(&bytes[start..at], origin.plus(start));
            builder.write_from(origin.plus(at), |out| repr::write_escape(out, c));
            start = at + c.len_utf8();
        }
        builder.push_from(&bytes[start..], origin.plus(start));
    });
    builder.finish(arena)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{NoObjects, json};

    /// A list of values stands for a tuple.
    fn formatted(format: &str, values: &str) -> Result<String, String> {
        let arena = Arena::new();
        let values = match json::parse_str(values, &arena).expect(values) {
            Value::List(list) => Value::Tuple(list),
            other => other,
        };
        let format = Value::Str(Text::new(arena.alloc_str(format)));
        percent(&format, &values, &NoObjects, &arena)
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .map_err(|err| err.to_string())
    }

    /// What CPython 3.11 gave.
    #[test]
    fn formats_as_python_does() {
        for (format, values, python) in [
            ("%s %d%%", r#"["é", 5]"#, "é 5%"),
            ("%(a)s %(b)d", r#"{"a": "x", "b": 2}"#, "x 2"),
            ("%5s|%-5s|%05s", r#"["a", "b", "c"]"#, "    a|b    |    c"),
            ("%.2s", r#""abc""#, "ab"),
            ("% d %+d %05d %-5d|", "[5, true, -42, 42]", " 5 +1 -0042 42   |"),
            ("%x %X %#X %o %#x", "[-255, 255, 255, 8, -255]", "-ff FF 0XFF 10 -0xff"),
            (
                "%08.3f %+.2e %g",
                "[3.14159, 12345.678, 1e10]",
                "0003.142 +1.23e+04 1e+10",
            ),
            ("%*d|%-*d|%.*f", "[5, 3, -5, 3, 2, 3.14159]", "    3|3    |3.14"),
            ("%r %a %c %c", r#"["a", "é", 65, "é"]"#, "'a' '\\xe9' A é"),
            ("%#.5x %010.5d", "[-10, -42]", "-0x0000a -000000042"),
            ("%05f %F", "[Infinity, Infinity]", "00inf INF"),
            ("%d %i", "[1.9, 100000000000000000000]", "1 100000000000000000000"),
            ("a", "{}", "a"),
            ("%s", "{}", "{}"),
            ("%(a(b)c)s", r#"{"a(b)c": 1}"#, "1"),
            ("%ld", "5", "5"),
            ("%s", r#"[[1, "x"]]"#, "[1, 'x']"),
        ] {
            assert_eq!(
                formatted(format, values).as_deref(),
                Ok(python),
                "{format:?} % {values}"
            );
        }
    }

    #[test]
    fn refuses_as_python_does() {
        for (format, values, python) in [
            ("%s %s", "[1]", "not enough arguments for format string"),
            ("%s", "[1, 2]", "not all arguments converted during string formatting"),
            ("a", "1", "not all arguments converted during string formatting"),
            ("%", "1", "incomplete format"),
            ("%(a", "{}", "incomplete format key"),
            ("%(a)s", "1", "format requires a mapping"),
            ("%(a)s", "{}", "'a'"),
            ("%y", "1", "unsupported format character 'y' (0x79) at index 1"),
            ("%é", "1", "unsupported format character '?' (0xe9) at index 1"),
            ("%5%", "1", "unsupported format character '%' (0x25) at index 2"),
            ("%d", r#""a""#, "%d format: a real number is required, not str"),
            ("%x", "1.5", "%x format: an integer is required, not float"),
            ("%c", r#""ab""#, "%c requires int or char"),
            ("%f", r#""a""#, "must be real number, not str"),
            ("%*s", r#"["a", "b"]"#, "* wants int"),
            ("%.99999999999f", "1", "precision too big"),
        ] {
            assert_eq!(
                formatted(format, values),
                Err(python.to_owned()),
                "{format:?} % {values}"
            );
        }
    }
}
