//! Values to JSON text, as `json.dumps` writes it.

use crate::value::{Value, float};
use std::fmt::{self, Write};

/// How `json.dumps` was called.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions<'o> {
    /// Escapes everything beyond ASCII. Off, unlike in Python: chat templates and formats write text as it is.
    pub ensure_ascii: bool,
    /// One item per line; `None` writes everything on one line.
    pub indent: Option<Indent<'o>>,
    /// Between items: `", "`, or `","` with `indent`.
    pub item_separator: &'o str,
    /// Between key and value: `": "`.
    pub key_separator: &'o str,
    /// Sorts the keys of every dict by code point.
    pub sort_keys: bool,
}

/// What a level of nesting is indented by.
#[derive(Clone, Copy, Debug)]
pub enum Indent<'o> {
    /// So many spaces.
    Spaces(usize),
    /// This text.
    Text(&'o str),
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        WriteOptions {
            ensure_ascii: false,
            indent: None,
            item_separator: ", ",
            key_separator: ": ",
            sort_keys: false,
        }
    }
}

impl<'o> WriteOptions<'o> {
    /// No spaces: `separators=(",", ":")`.
    pub fn compact() -> Self {
        WriteOptions {
            item_separator: ",",
            key_separator: ":",
            ..Self::default()
        }
    }

    /// Whether to sort the keys of every dict.
    #[must_use]
    pub fn sort_keys(mut self, sort_keys: bool) -> Self {
        self.sort_keys = sort_keys;
        self
    }

    /// Whether to escape everything beyond ASCII.
    #[must_use]
    pub fn ensure_ascii(mut self, ensure_ascii: bool) -> Self {
        self.ensure_ascii = ensure_ascii;
        self
    }

    /// One item per line. Sets the item separator as well, as `json.dumps` does.
    #[must_use]
    pub fn indent(mut self, indent: Indent<'o>) -> Self {
        self.indent = Some(indent);
        self.item_separator = ",";
        self
    }
}

/// A value that JSON has no spelling for; Python raises `TypeError`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// `Object of type X is not JSON serializable`.
    Value(&'static str),
    /// `keys must be str, int, float, bool or None, not X`.
    Key(&'static str),
    /// Keys of these two types cannot be sorted.
    Unorderable(&'static str, &'static str),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(found) => write!(f, "Object of type {found} is not JSON serializable"),
            Self::Key(found) => write!(f, "keys must be str, int, float, bool or None, not {found}"),
            Self::Unorderable(a, b) => write!(f, "'<' not supported between instances of '{a}' and '{b}'"),
        }
    }
}

impl std::error::Error for WriteError {}

/// `json.dumps(value, ensure_ascii=False)`.
///
/// # Errors
/// [`WriteError`] if the value holds something that JSON cannot spell.
pub fn to_string(value: &Value<'_>) -> Result<String, WriteError> {
    let mut out = String::new();
    write(&mut out, value, &WriteOptions::default())?;
    Ok(out)
}

/// Appends `value` as JSON.
///
/// # Errors
/// As [`to_string`]; `out` then holds what was written before.
pub fn write(out: &mut String, value: &Value<'_>, options: &WriteOptions<'_>) -> Result<(), WriteError> {
    Writer { out, options, level: 0 }.value(value)
}

struct Writer<'w, 'o> {
    out: &'w mut String,
    options: &'w WriteOptions<'o>,
    level: usize,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Value<'_>) -> Result<(), WriteError> {
        match value {
            Value::Str(text) | Value::Markup(text) => write_str(self.out, text.as_str(), self.options.ensure_ascii),
            Value::List(list) | Value::Tuple(list) => {
                let items = list.items();
                self.container('[', ']', items.len(), |writer, i| writer.value(&items[i]))?;
            }
            Value::Dict(dict) if self.options.sort_keys => {
                let mut entries = dict.entries().to_vec();
                sort_entries(&mut entries)?;
                self.entries(&entries)?;
            }
            Value::Dict(dict) => self.entries(dict.entries())?,
            scalar => self.scalar(scalar).ok_or(WriteError::Value(scalar.type_name()))?,
        }
        Ok(())
    }

    fn entries(&mut self, entries: &[(Value<'_>, Value<'_>)]) -> Result<(), WriteError> {
        self.container('{', '}', entries.len(), |writer, i| {
            let (key, value) = &entries[i];
            match key {
                Value::Str(text) | Value::Markup(text) => {
                    write_str(writer.out, text.as_str(), writer.options.ensure_ascii)
                }
                scalar => {
                    writer.out.push('"');
                    writer.scalar(scalar).ok_or(WriteError::Key(scalar.type_name()))?;
                    writer.out.push('"');
                }
            }
            writer.out.push_str(writer.options.key_separator);
            writer.value(value)
        })
    }

    fn container(
        &mut self,
        open: char,
        close: char,
        len: usize,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.out.push(open);
        if len > 0 {
            self.level += 1;
            self.new_line();
            for i in 0..len {
                if i > 0 {
                    self.out.push_str(self.options.item_separator);
                    self.new_line();
                }
                item(self, i)?;
            }
            self.level -= 1;
            self.new_line();
        }
        self.out.push(close);
        Ok(())
    }

    fn new_line(&mut self) {
        let Some(indent) = self.options.indent else { return };
        self.out.push('\n');
        match indent {
            Indent::Spaces(width) => self.out.extend(std::iter::repeat_n(' ', width * self.level)),
            Indent::Text(text) => self.out.extend(std::iter::repeat_n(text, self.level)),
        }
    }

    /// Writes a number, a bool or `None`; nothing for any other value.
    fn scalar(&mut self, value: &Value<'_>) -> Option<()> {
        match value {
            Value::None(_) => self.out.push_str("null"),
            Value::Bool(true, _) => self.out.push_str("true"),
            Value::Bool(false, _) => self.out.push_str("false"),
            Value::Int(int, _) => {
                let _ = write!(self.out, "{int}");
            }
            Value::BigInt(int, _) => {
                let _ = write!(self.out, "{int}");
            }
            Value::Float(float, _) if float.is_finite() => float::write_repr(self.out, *float),
            Value::Float(float, _) => self.out.push_str(match float {
                _ if float.is_nan() => "NaN",
                _ if *float > 0.0 => "Infinity",
                _ => "-Infinity",
            }),
            _ => return None,
        }
        Some(())
    }
}

fn sort_entries(entries: &mut [(Value<'_>, Value<'_>)]) -> Result<(), WriteError> {
    // Keys that came from JSON are strings. Others can only come from a template, which may mix types.
    if let Some((key, _)) = entries.iter().find(|(key, _)| key.as_str().is_none()) {
        return Err(WriteError::Unorderable(key.type_name(), "str"));
    }
    // UTF-8 sorts bytewise as its code points do.
    entries.sort_by_key(|(key, _)| key.as_str());
    Ok(())
}

/// Appends `text` in double quotes, escaped as `json.dumps` does.
pub fn write_str(out: &mut String, text: &str, ensure_ascii: bool) {
    out.push('"');
    let mut rest = text;
    loop {
        let plain = plain_len(rest.as_bytes(), ensure_ascii);
        out.push_str(&rest[..plain]);
        let Some(c) = rest[plain..].chars().next() else { break };
        write_escape(out, c);
        rest = &rest[plain + c.len_utf8()..];
    }
    out.push('"');
}

/// Number of bytes before the first that must be escaped.
fn plain_len(bytes: &[u8], ensure_ascii: bool) -> usize {
    const LANES: usize = 32;
    // `ensure_ascii` escapes U+007F as well, which is why the limit is not 0x80.
    let limit = if ensure_ascii { 0x7f } else { 0xff };
    let stops = |b: u8| (b == b'"') | (b == b'\\') | (b < 0x20) | (b >= limit);
    let mut len = 0;
    while let Some(chunk) = bytes[len..].first_chunk::<LANES>() {
        if chunk.iter().fold(false, |found, &b| found | stops(b)) {
            break;
        }
        len += LANES;
    }
    len + bytes[len..].iter().take_while(|&&b| !stops(b)).count()
}

fn write_escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        other => {
            for unit in other.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Arena, json::parse_str};

    fn dumps(text: &str, options: &WriteOptions<'_>) -> String {
        let arena = Arena::new();
        let mut out = String::new();
        write(&mut out, &parse_str(text, &arena).expect(text), options).expect(text);
        out
    }

    /// `json.dumps` of CPython 3.11 with the arguments named.
    #[test]
    fn writes_as_python_does() {
        let value = r#"{"b": [1, {"z": "é\u007f😀", "a": []}], "a": {}}"#;
        assert_eq!(
            dumps(value, &WriteOptions::compact().sort_keys(true)),
            "{\"a\":{},\"b\":[1,{\"a\":[],\"z\":\"é\u{7f}😀\"}]}"
        );
        assert_eq!(
            dumps(value, &WriteOptions::default().ensure_ascii(true)),
            r#"{"b": [1, {"z": "\u00e9\u007f\ud83d\ude00", "a": []}], "a": {}}"#
        );
        assert_eq!(
            dumps(
                r#"{"b": [1, {"z": 2}], "a": {}}"#,
                &WriteOptions::default().indent(Indent::Spaces(2))
            ),
            "{\n  \"b\": [\n    1,\n    {\n      \"z\": 2\n    }\n  ],\n  \"a\": {}\n}"
        );
    }
}
