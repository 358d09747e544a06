//! Values to JSON text, as `json.dumps` writes it.

use super::scan;
use crate::value::compare::{MAX_NESTING, less, too_deep};
use crate::value::repr::int_digits;
use crate::value::sort::sort;
use crate::value::{Arena, Exception, Origin, Text, TextBuilder, Value, float};
use smallvec::SmallVec;
use std::borrow::Cow;
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
    /// Another exception: an integer of too many digits, nesting too deep, a bound of the render.
    Raised(Exception),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(found) => write!(f, "Object of type {found} is not JSON serializable"),
            Self::Key(found) => write!(f, "keys must be str, int, float, bool or None, not {found}"),
            Self::Raised(exception) => exception.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<Exception> for WriteError {
    fn from(exception: Exception) -> Self {
        WriteError::Raised(exception)
    }
}

impl From<WriteError> for Exception {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Raised(exception) => exception,
            other => Exception::type_error(other.to_string()),
        }
    }
}

/// Where JSON text goes.
pub trait Sink {
    /// Appends `bytes`, which came from `origin`.
    fn push_from(&mut self, bytes: &str, origin: Origin);

    /// Appends `bytes`, which nobody in particular wrote.
    #[inline]
    fn push_computed(&mut self, bytes: &str) {
        self.push_from(bytes, Origin::COMPUTED);
    }

    /// Lets `write` append bytes that came from `origin`.
    fn write_from(&mut self, origin: Origin, write: impl FnOnce(&mut String));
}

/// Forgets where the bytes came from.
impl Sink for String {
    #[inline]
    fn push_from(&mut self, bytes: &str, _: Origin) {
        self.push_str(bytes);
    }

    #[inline]
    fn write_from(&mut self, _: Origin, write: impl FnOnce(&mut String)) {
        write(self);
    }
}

impl Sink for TextBuilder {
    #[inline]
    fn push_from(&mut self, bytes: &str, origin: Origin) {
        TextBuilder::push_from(self, bytes, origin);
    }

    #[inline]
    fn write_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        TextBuilder::write_from(self, origin, write);
    }
}

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
    write_to(out, value, options, &Arena::new())
}

/// Appends `value` as JSON to any sink. The meter of `arena` bounds what is written.
///
/// # Errors
/// As [`write()`].
pub fn write_to(
    out: &mut impl Sink,
    value: &Value<'_>,
    options: &WriteOptions<'_>,
    arena: &Arena,
) -> Result<(), WriteError> {
    Writer {
        out,
        options,
        arena,
        level: 0,
        next_key: joined(options.item_separator, "\""),
        after_key: joined("\"", options.key_separator),
    }
    .value(value)
}

struct Writer<'w, S> {
    out: &'w mut S,
    options: &'w WriteOptions<'w>,
    arena: &'w Arena,
    level: usize,
    /// What stands between a value and the next key, the quote of the key included.
    next_key: Cow<'static, str>,
    /// What stands between a key and its value, the quote of the key included.
    after_key: Cow<'static, str>,
}

/// A new line and its indentation, if that is not too deep.
const NEW_LINE: &str = "\n                                                                ";

/// `a + b`, mostly without putting it together.
fn joined(a: &str, b: &str) -> Cow<'static, str> {
    match (a, b) {
        (", ", "\"") => Cow::Borrowed(", \""),
        (",", "\"") => Cow::Borrowed(",\""),
        ("\"", ": ") => Cow::Borrowed("\": "),
        ("\"", ":") => Cow::Borrowed("\":"),
        _ => Cow::Owned([a, b].concat()),
    }
}

type Entry<'v> = (Value<'v>, Value<'v>);

impl<S: Sink> Writer<'_, S> {
    #[inline]
    fn punctuation(&mut self, text: &str) {
        self.out.push_computed(text);
    }

    fn value(&mut self, value: &Value<'_>) -> Result<(), WriteError> {
        match value {
            Value::Str(text) | Value::Markup(text) => {
                self.punctuation("\"");
                self.text(*text)?;
                self.punctuation("\"");
            }
            Value::List(list) | Value::Tuple(list) => {
                let items = list.items();
                self.container("[", "]", items.len(), |writer, i| {
                    writer.next_item(i)?;
                    writer.value(&items[i])
                })?;
            }
            Value::Dict(dict) if self.options.sort_keys => {
                let mut entries: SmallVec<[&Entry<'_>; 16]> = dict.entries().iter().collect();
                sort_entries(&mut entries, self.arena)?;
                self.container("{", "}", entries.len(), |writer, i| writer.entry(i, entries[i]))?;
            }
            Value::Dict(dict) => {
                let entries = dict.entries();
                self.container("{", "}", entries.len(), |writer, i| writer.entry(i, &entries[i]))?;
            }
            scalar if !self.scalar(scalar)? => return Err(WriteError::Value(scalar.type_name())),
            _ => {}
        }
        Ok(())
    }

    /// What stands between the quotes.
    fn text(&mut self, text: Text<'_>) -> Result<(), WriteError> {
        self.arena.meter().memory(text.len())?;
        let ensure_ascii = self.options.ensure_ascii;
        let out = &mut *self.out;
        text.for_each_run(|bytes, origin| push_escaped(out, bytes, origin, ensure_ascii));
        Ok(())
    }

    /// What stands before the item `i` of a container.
    fn next_item(&mut self, i: usize) -> Result<(), WriteError> {
        if i > 0 {
            let options = self.options;
            self.punctuation(options.item_separator);
        }
        self.new_line()
    }

    fn entry(&mut self, i: usize, (key, value): &Entry<'_>) -> Result<(), WriteError> {
        if i > 0 && self.options.indent.is_none() {
            self.out.push_computed(&self.next_key);
        } else {
            self.next_item(i)?;
            self.punctuation("\"");
        }
        match key {
            Value::Str(text) | Value::Markup(text) => self.text(*text)?,
            scalar if !self.scalar(scalar)? => return Err(WriteError::Key(scalar.type_name())),
            _ => {}
        }
        self.out.push_computed(&self.after_key);
        self.value(value)
    }

    fn container(
        &mut self,
        open: &str,
        close: &str,
        len: usize,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.arena.meter().memory(2 * len + 1)?;
        self.punctuation(open);
        if len > 0 {
            if self.level >= MAX_NESTING {
                return Err(too_deep("while encoding a JSON object").into());
            }
            self.level += 1;
            for i in 0..len {
                item(self, i)?;
            }
            self.level -= 1;
            self.new_line()?;
        }
        self.punctuation(close);
        Ok(())
    }

    fn new_line(&mut self) -> Result<(), WriteError> {
        let (Some(indent), level) = (self.options.indent, self.level) else {
            return Ok(());
        };
        let width = match indent {
            Indent::Spaces(width) => width,
            Indent::Text(text) => text.len(),
        };
        let indentation = width.saturating_mul(level);
        self.arena.meter().memory(indentation)?;
        if let (Indent::Spaces(_), Some(line)) = (indent, NEW_LINE.get(..=indentation)) {
            self.out.push_computed(line);
            return Ok(());
        }
        self.out.write_from(Origin::COMPUTED, |out| {
            out.push('\n');
            match indent {
                Indent::Spaces(width) => out.extend(std::iter::repeat_n(' ', width.saturating_mul(level))),
                Indent::Text(text) => out.extend(std::iter::repeat_n(text, level)),
            }
        });
        Ok(())
    }

    /// Writes a number, a bool or `None`; says whether `value` is one.
    fn scalar(&mut self, value: &Value<'_>) -> Result<bool, WriteError> {
        match value {
            Value::None(origin) => self.out.push_from("null", *origin),
            Value::Bool(true, origin) => self.out.push_from("true", *origin),
            Value::Bool(false, origin) => self.out.push_from("false", *origin),
            Value::Int(int, origin) => self.out.write_from(*origin, |out| write_int(out, *int)),
            Value::BigInt(int, origin) => {
                let digits = int_digits(int, self.arena)?;
                self.out.push_from(&digits, *origin);
            }
            Value::Float(float, origin) => self.out.write_from(*origin, |out| match float {
                float if float.is_finite() => float::write_repr(out, *float),
                float if float.is_nan() => out.push_str("NaN"),
                float if *float > 0.0 => out.push_str("Infinity"),
                _ => out.push_str("-Infinity"),
            }),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Appends the decimal digits of `int`, about five times faster than `write!`.
fn write_int(out: &mut String, int: i64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = int.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        out.push('-');
    }
    out.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}

fn sort_entries(entries: &mut [&Entry<'_>], arena: &Arena) -> Result<(), WriteError> {
    // Keys that came from JSON are strings. Others can only come from a template, which may mix types.
    if entries.iter().any(|(key, _)| key.as_str().is_none()) {
        return sort(entries, false, &mut |(a, _), (b, _)| Ok(less(a, b, arena)?));
    }
    // UTF-8 sorts bytewise as its code points do.
    entries.sort_by_key(|(key, _)| key.as_str());
    Ok(())
}

/// Appends `text` in double quotes, escaped as `json.dumps` does.
pub fn write_str(out: &mut String, text: &str, ensure_ascii: bool) {
    out.push('"');
    push_escaped(out, text, Origin::COMPUTED, ensure_ascii);
    out.push('"');
}

/// Appends `text`, which came from `origin`, escaped. An escape comes from the character that it stands for.
fn push_escaped(out: &mut impl Sink, text: &str, origin: Origin, ensure_ascii: bool) {
    let mut at = 0;
    loop {
        let plain = plain_len(&text.as_bytes()[at..], ensure_ascii);
        if plain == text.len() {
            return out.push_from(text, origin);
        }
        out.push_from(&text[at..at + plain], origin.plus(at));
        at += plain;
        let Some(c) = text[at..].chars().next() else { break };
        out.write_from(origin.plus(at), |out| write_escape(out, c));
        at += c.len_utf8();
    }
}

/// Number of bytes before the first that must be escaped.
fn plain_len(bytes: &[u8], ensure_ascii: bool) -> usize {
    if !ensure_ascii {
        return scan::plain_len(bytes);
    }
    const LANES: usize = 32;
    const WORD: usize = 8;
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
    while let Some(word) = bytes[len..].first_chunk::<WORD>() {
        if word.iter().fold(false, |found, &b| found | stops(b)) {
            break;
        }
        len += WORD;
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
