//! `str()` and `repr()`.

use super::compare::{MAX_NESTING, too_deep};
use super::unicode::is_printable;
use super::{Arena, DictPart, Exception, Objects, Origin, Text, TextBuilder, Value, float};
use num_bigint::BigInt;
use std::fmt::Write;

/// `str(value)`.
///
/// # Errors
/// `ValueError` for an integer of more than 4300 digits, `RecursionError`, a spent meter.
pub fn to_text<'a>(value: &Value<'a>, objects: &dyn Objects, arena: &'a Arena) -> Result<Text<'a>, Exception> {
    match value {
        Value::Str(text) | Value::Markup(text) => Ok(*text),
        Value::Undefined(_) => Ok(Text::new("")),
        Value::Bool(bool, Origin::COMPUTED) => Ok(Text::new(if *bool { "True" } else { "False" })),
        Value::None(Origin::COMPUTED) => Ok(Text::new("None")),
        _ => {
            let mut builder = TextBuilder::new();
            push_repr(&mut builder, value, objects, arena)?;
            arena.meter().memory(builder.len())?;
            Ok(builder.finish(arena))
        }
    }
}

/// Appends `str(value)`.
///
/// # Errors
/// As [`to_text`].
pub fn push_str(
    builder: &mut TextBuilder,
    value: &Value<'_>,
    objects: &dyn Objects,
    arena: &Arena,
) -> Result<(), Exception> {
    match value {
        Value::Str(text) | Value::Markup(text) => {
            arena.meter().memory(text.len())?;
            builder.push(*text);
            Ok(())
        }
        Value::Undefined(_) => Ok(()),
        _ => push_repr(builder, value, objects, arena),
    }
}

/// Appends `repr(value)`. What is in a string keeps where it came from; brackets and commas are nobody's.
///
/// # Errors
/// As [`to_text`].
pub fn push_repr(
    builder: &mut TextBuilder,
    value: &Value<'_>,
    objects: &dyn Objects,
    arena: &Arena,
) -> Result<(), Exception> {
    let mut writer = Writer {
        builder,
        objects,
        arena,
    };
    writer.repr(value, 0)
}

struct Writer<'w> {
    builder: &'w mut TextBuilder,
    objects: &'w dyn Objects,
    arena: &'w Arena,
}

impl Writer<'_> {
    fn computed(&mut self, text: &str) {
        self.builder.push_from(text, Origin::COMPUTED);
    }

    fn repr(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Exception> {
        self.arena.meter().work(1)?;
        match value {
            Value::None(origin) => self.builder.push_from("None", *origin),
            Value::Bool(bool, origin) => self.builder.push_from(if *bool { "True" } else { "False" }, *origin),
            Value::Int(int, origin) => self.builder.write_from(*origin, |out| {
                let _ = write!(out, "{int}");
            }),
            Value::BigInt(int, origin) => {
                let digits = int_digits(int, self.arena)?;
                self.builder.push_from(&digits, *origin);
            }
            Value::Float(float, origin) => self.builder.write_from(*origin, |out| float::write_repr(out, *float)),
            Value::Str(text) => {
                self.arena.meter().memory(text.len())?;
                push_text_repr(self.builder, *text, false);
            }
            Value::Markup(text) => {
                self.arena.meter().memory(text.len())?;
                self.computed("Markup(");
                push_text_repr(self.builder, *text, false);
                self.computed(")");
            }
            Value::List(list) => {
                self.computed("[");
                self.items(list.items(), depth)?;
                self.computed("]");
            }
            Value::Tuple(list) => {
                self.computed("(");
                self.items(list.items(), depth)?;
                self.computed(if list.len() == 1 { ",)" } else { ")" });
            }
            Value::Dict(dict) => {
                self.computed("{");
                self.entries(dict.entries(), depth)?;
                self.computed("}");
            }
            Value::Undefined(_) => self.computed("Undefined"),
            Value::Range(range) => self.builder.write_from(Origin::COMPUTED, |out| {
                let _ = match range.step {
                    1 => write!(out, "range({}, {})", range.start, range.stop),
                    step => write!(out, "range({}, {}, {step})", range.start, range.stop),
                };
            }),
            Value::DictView(view) => {
                self.computed(value.type_name());
                self.computed("([");
                for (i, (key, item)) in view.dict.entries().iter().enumerate() {
                    if i > 0 {
                        self.computed(", ");
                    }
                    match view.part {
                        DictPart::Keys => self.inner(key, depth)?,
                        DictPart::Values => self.inner(item, depth)?,
                        DictPart::Items => {
                            self.computed("(");
                            self.inner(key, depth)?;
                            self.computed(", ");
                            self.inner(item, depth)?;
                            self.computed(")");
                        }
                    }
                }
                self.computed("])");
            }
            Value::Method(method) => {
                let receiver = method.receiver;
                if let Value::Markup(_) = receiver {
                    self.computed("<bound method Markup.");
                    self.computed(method.name);
                    self.computed(" of ");
                    self.inner(&receiver, depth)?;
                    self.computed(">");
                } else {
                    // An address that says nothing, so that a template prints the same each time.
                    self.computed("<built-in method ");
                    self.computed(method.name);
                    self.computed(" of ");
                    self.computed(receiver.type_name());
                    self.computed(" object at 0x7f0000000000>");
                }
            }
            Value::Object(object) => {
                let objects = self.objects;
                objects.push_repr(self.builder, *object)?;
            }
        }
        Ok(())
    }

    fn inner(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Exception> {
        if depth >= MAX_NESTING {
            return Err(too_deep("while getting the repr of an object"));
        }
        self.repr(value, depth + 1)
    }

    fn items(&mut self, items: &[Value<'_>], depth: usize) -> Result<(), Exception> {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.computed(", ");
            }
            self.inner(item, depth)?;
        }
        Ok(())
    }

    fn entries(&mut self, entries: &[(Value<'_>, Value<'_>)], depth: usize) -> Result<(), Exception> {
        for (i, (key, value)) in entries.iter().enumerate() {
            if i > 0 {
                self.computed(", ");
            }
            self.inner(key, depth)?;
            self.computed(": ");
            self.inner(value, depth)?;
        }
        Ok(())
    }
}

/// Integers of more digits are not printed (`sys.int_info.default_max_str_digits`).
const MAX_DIGITS: usize = super::json::MAX_INT_DIGITS;

/// The decimal digits of `int`, with its sign.
///
/// # Errors
/// `ValueError` if there are more than 4300.
pub fn int_digits(int: &BigInt, arena: &Arena) -> Result<String, Exception> {
    let too_long = || {
        Exception::value_error(format!(
            "Exceeds the limit ({MAX_DIGITS} digits) for integer string conversion; \
             use sys.set_int_max_str_digits() to increase the limit"
        ))
    };
    // Converting is quadratic: what is surely too long is not tried. 4300 digits have at most 14285 bits.
    if int.bits() > 14_290 {
        return Err(too_long());
    }
    arena.meter().work((int.bits() / 64 + 1) as usize)?;
    let digits = int.to_string();
    if digits.trim_start_matches('-').len() > MAX_DIGITS {
        return Err(too_long());
    }
    Ok(digits)
}

/// Appends `repr(text)`, or `ascii(text)`.
pub fn push_text_repr(builder: &mut TextBuilder, text: Text<'_>, ascii: bool) {
    let quote = match text.as_str().contains('\'') && !text.as_str().contains('"') {
        true => "\"",
        false => "'",
    };
    builder.push_from(quote, Origin::COMPUTED);
    let is_plain = |c: char| match c {
        '\\' => false,
        '\'' | '"' => !quote.starts_with(c),
        c if c.is_ascii() => matches!(c, ' '..='~'),
        c => !ascii && is_printable(c),
    };
    text.for_each_run(|bytes, origin| {
        let mut start = 0;
        while let Some(len) = bytes[start..].find(|c| !is_plain(c)) {
            let at = start + len;
            builder.push_from(&bytes[start..at], origin.plus(start));
            let Some(c) = bytes[at..].chars().next() else { break };
            builder.write_from(origin.plus(at), |out| write_escape(out, c));
            start = at + c.len_utf8();
        }
        builder.push_from(&bytes[start..], origin.plus(start));
    });
    builder.push_from(quote, Origin::COMPUTED);
}

/// Appends the escape that `repr` writes for `c`.
pub(crate) fn write_escape(out: &mut String, c: char) {
    let code = c as u32;
    let _ = match c {
        '\\' | '\'' | '"' => write!(out, "\\{c}"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        _ if code < 0x100 => write!(out, "\\x{code:02x}"),
        _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{NoObjects, json};

    fn repr(text: &str) -> String {
        let arena = Arena::new();
        let value = json::parse_str(text, &arena).expect(text);
        let mut builder = TextBuilder::new();
        push_repr(&mut builder, &value, &NoObjects, &arena).expect(text);
        builder.finish(&arena).as_str().to_owned()
    }

    /// What CPython 3.11 gave.
    #[test]
    fn spells_values_as_python_does() {
        for (json, python) in [
            (
                r#"{"a": [1, 2.0, null, true], "b'": {}}"#,
                r#"{'a': [1, 2.0, None, True], "b'": {}}"#,
            ),
            (r#""it's""#, r#""it's""#),
            (r#""it's \"so\"""#, r#"'it\'s "so"'"#),
            (
                r#""\n\t\r\\\u0007\u007f\u00a0\u00ad\u00e9""#,
                r"'\n\t\r\\\x07\x7f\xa0\xadé'",
            ),
            (
                r#""\u200b\ud83d\ude00\ue000\udb40\udc01""#,
                r"'\u200b😀\ue000\U000e0001'",
            ),
            (
                "[123456789012345678901234567890, -0.0, 1e22]",
                "[123456789012345678901234567890, -0.0, 1e+22]",
            ),
        ] {
            assert_eq!(repr(json), python);
        }
    }

    #[test]
    fn deep_values_are_an_error() {
        let arena = Arena::new();
        let mut value = Value::None(Origin::COMPUTED);
        for _ in 0..2000 {
            value = Value::List(arena.list(&[value], Origin::COMPUTED));
        }
        assert!(to_text(&value, &NoObjects, &arena).is_err());
    }
}
