//! JSON text to values, in place.

use super::decode::{Decoded, decode};
use crate::value::{Arena, Dict, Origin, Path, Step, Text, Value};
use std::fmt;

/// Nesting beyond this is refused. CPython's own reader gives up at about twice this depth.
pub const MAX_DEPTH: usize = 512;

/// Integers of more digits are refused, as CPython does (`sys.int_info.default_max_str_digits`).
pub const MAX_INT_DIGITS: usize = 4300;

/// Why a text is no JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset from the start of the text.
    pub offset: usize,
    /// The value being read.
    pub path: Path,
}

/// What is wrong with a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else was expected here.
    Expected(&'static str),
    /// The text ends within a value.
    UnexpectedEnd,
    /// Text follows the value.
    TrailingText,
    /// A control character (below U+0020) stands unescaped in a string.
    ControlCharacter(u8),
    /// A backslash is followed by something that is no escape.
    InvalidEscape,
    /// An escape names half a surrogate pair.
    LoneSurrogate(u16),
    /// The bytes of a string are no UTF-8.
    InvalidUtf8,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More digits than [`MAX_INT_DIGITS`].
    IntegerTooLong(usize),
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::UnexpectedEnd => f.write_str("the text ends within a value"),
            Self::TrailingText => f.write_str("text follows the value"),
            Self::ControlCharacter(byte) => write!(f, "control character U+{byte:04X} must be escaped in a string"),
            Self::InvalidEscape => f.write_str("invalid escape in a string"),
            Self::LoneSurrogate(unit) => {
                write!(
                    f,
                    "\\u{unit:04x} is half of a surrogate pair without the other half, which is no text"
                )
            }
            Self::InvalidUtf8 => f.write_str("the bytes of the string are not valid UTF-8"),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
            Self::IntegerTooLong(digits) => {
                write!(f, "an integer of {digits} digits; at most {MAX_INT_DIGITS} are read")
            }
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_root() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{} (at byte {})", self.kind, self.offset)
    }
}

impl std::error::Error for ParseError {}

/// Reads one JSON value from `body`. Strings of the value are slices of `body`, whose escapes are decoded in place.
///
/// # Errors
/// [`ParseError`], with the path of the value that could not be read; `body` is then in no particular state.
///
/// # Example
/// ```
/// use typecase_jinja::value::{Arena, json};
/// let arena = Arena::new();
/// let mut body = br#"{"a": [1, 2.0, "x\n"]}"#.to_vec();
/// let value = json::parse(&mut body, &arena)?;
/// assert_eq!(json::to_string(&value)?, r#"{"a": [1, 2.0, "x\n"]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse<'a>(body: &'a mut [u8], arena: &'a Arena) -> Result<Value<'a>, ParseError> {
    let text = arena.alloc_slice(body);
    Parser::new(text, body, arena).document()
}

/// Reads one JSON value from `text`, which stays as it is. Strings of the value are slices of `buffer`, each as far from
/// its start as it is from the start of `text`; `buffer` grows to the length of `text` and may be used again for the
/// next one. This is the fastest way to read: nothing is copied but the strings.
///
/// # Errors
/// As [`parse`].
///
/// # Example
/// ```
/// use typecase_jinja::value::{Arena, json};
/// let (mut arena, mut buffer) = (Arena::new(), Vec::new());
/// for body in [r#"{"n": "\u0031"}"#, r#"{"n": "2"}"#] {
///     arena.reset();
///     let value = json::parse_into(body.as_bytes(), &mut buffer, &arena)?;
///     println!("{:?}", value.lookup("n").and_then(|n| n.as_str()));
/// }
/// # Ok::<(), json::ParseError>(())
/// ```
pub fn parse_into<'a>(text: &[u8], buffer: &'a mut Vec<u8>, arena: &'a Arena) -> Result<Value<'a>, ParseError> {
    if buffer.len() < text.len() {
        buffer.resize(text.len(), 0);
    }
    Parser::new(text, &mut buffer[..text.len()], arena).document()
}

/// Reads one JSON value from `text`. Strings of the value lie in the arena, which knows where in `text` they came from:
/// [`Arena::original`] leads back.
///
/// # Errors
/// As [`parse`].
pub fn parse_str<'a>(text: &str, arena: &'a Arena) -> Result<Value<'a>, ParseError> {
    Parser::new(text.as_bytes(), arena.room_for(text), arena).document()
}

struct Parser<'s, 'a> {
    text: &'s [u8],
    /// How much of the text was read.
    at: usize,
    /// Where the bytes of strings go, each as far from the start of all as in the text: so the address of a byte tells
    /// where it stood. They go elsewhere, not in place, since whole vectors can then be written without a look at where
    /// the string ends (2026-11: 310 us for a chat of 1 MB in place, with 12,000 escapes in it). What is left of it,
    /// from `room_at` on.
    room: &'a mut [u8],
    room_at: usize,
    /// Address of the first byte of the whole room.
    base: usize,
    arena: &'a Arena,
    /// Items and entries of the containers that are open, innermost last.
    items: Vec<Value<'a>>,
    entries: Vec<(Value<'a>, Value<'a>)>,
}

impl<'s, 'a> Parser<'s, 'a> {
    /// `room` is as long as `text`.
    fn new(text: &'s [u8], room: &'a mut [u8], arena: &'a Arena) -> Self {
        arena.add_input(text.len());
        Parser {
            text,
            at: 0,
            base: room.as_ptr() as usize,
            room,
            room_at: 0,
            arena,
            items: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// What is not yet read.
    fn rest(&self) -> &'s [u8] {
        &self.text[self.at..]
    }

    fn document(&mut self) -> Result<Value<'a>, ParseError> {
        self.skip_space();
        let value = self.value(0)?;
        self.skip_space();
        match self.rest() {
            [] => Ok(value),
            _ => Err(self.error(ParseErrorKind::TrailingText)),
        }
    }

    fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError {
            kind,
            offset: self.at,
            path: Path::root(),
        }
    }

    fn unexpected(&self, expected: &'static str) -> ParseError {
        self.error(if self.rest().is_empty() {
            ParseErrorKind::UnexpectedEnd
        } else {
            ParseErrorKind::Expected(expected)
        })
    }

    /// The address of what comes next.
    fn here(&self) -> Origin {
        Origin(self.base + (self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn advance(&mut self, count: usize) -> &'s [u8] {
        let head = &self.rest()[..count];
        self.at += count;
        head
    }

    fn skip_space(&mut self) {
        if self.peek().is_none_or(|b| b > b' ') {
            return;
        }
        let space = self
            .rest()
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'))
            .count();
        if space > 0 {
            self.advance(space);
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, ParseError> {
        let origin = self.here();
        match self.peek() {
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b'{') => self.dict(depth, origin),
            Some(b'[') => self.list(depth, origin),
            Some(b'0'..=b'9') => self.number(origin),
            Some(b'-') if self.rest().get(1) == Some(&b'I') => {
                self.literal("-Infinity", Value::Float(f64::NEG_INFINITY, origin))
            }
            Some(b'-') => self.number(origin),
            Some(b't') => self.literal("true", Value::Bool(true, origin)),
            Some(b'f') => self.literal("false", Value::Bool(false, origin)),
            Some(b'n') => self.literal("null", Value::None(origin)),
            Some(b'N') => self.literal("NaN", Value::Float(f64::NAN, origin)),
            Some(b'I') => self.literal("Infinity", Value::Float(f64::INFINITY, origin)),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn literal(&mut self, spelling: &str, value: Value<'a>) -> Result<Value<'a>, ParseError> {
        if !self.rest().starts_with(spelling.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.advance(spelling.len());
        Ok(value)
    }

    fn dict(&mut self, depth: usize, origin: Origin) -> Result<Value<'a>, ParseError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.advance(1);
        self.skip_space();
        let start = self.entries.len();
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected("a key in double quotes"));
                }
                let key = self.string()?;
                self.skip_space();
                if self.peek() != Some(b':') {
                    return Err(self.unexpected("':' after a key").within(key.as_str().into()));
                }
                self.advance(1);
                self.skip_space();
                let value = self.value(depth + 1).map_err(|err| err.within(key.as_str().into()))?;
                self.entries.push((Value::Str(key), value));
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.advance(1),
                    Some(b'}') => break,
                    _ => return Err(self.unexpected("',' or '}' after a value")),
                };
                self.skip_space();
            }
        }
        self.advance(1);
        Ok(Value::Dict(self.arena.bump.alloc(Dict::from_entries(
            &mut self.entries,
            start,
            self.arena,
            origin,
        ))))
    }

    fn list(&mut self, depth: usize, origin: Origin) -> Result<Value<'a>, ParseError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.advance(1);
        self.skip_space();
        let start = self.items.len();
        if self.peek() != Some(b']') {
            loop {
                let index = self.items.len() - start;
                let value = self.value(depth + 1).map_err(|err| err.within(index.into()))?;
                self.items.push(value);
                self.skip_space();
                match self.peek() {
                    Some(b',') => self.advance(1),
                    Some(b']') => break,
                    _ => return Err(self.unexpected("',' or ']' after a value")),
                };
                self.skip_space();
            }
        }
        self.advance(1);
        let list = self.arena.list(&self.items[start..], origin);
        self.items.truncate(start);
        Ok(Value::List(list))
    }

    fn number(&mut self, origin: Origin) -> Result<Value<'a>, ParseError> {
        let digits = |from: usize| self.rest()[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = usize::from(self.peek() == Some(b'-'));
        let whole = match self.rest().get(sign) {
            Some(b'0') => 1,
            Some(b'1'..=b'9') => digits(sign),
            _ => return Err(self.unexpected("a value")),
        };
        let mut end = sign + whole;
        let mut is_float = false;
        // A fraction or exponent without digits is not part of the number; what is left of it is then an error.
        if self.rest().get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            if fraction > 0 {
                end += 1 + fraction;
                is_float = true;
            }
        }
        if matches!(self.rest().get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.rest().get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
                is_float = true;
            }
        }
        if !is_float && whole > MAX_INT_DIGITS {
            return Err(self.error(ParseErrorKind::IntegerTooLong(whole)));
        }
        // Only ASCII was counted, and the grammar is a subset of what Rust parses.
        let text = std::str::from_utf8(self.advance(end)).unwrap_or_default();
        if is_float {
            return Ok(Value::Float(text.parse().unwrap_or(f64::NAN), origin));
        }
        if let Ok(small) = text.parse() {
            return Ok(Value::Int(small, origin));
        }
        Ok(self.arena.int(text.parse().unwrap_or_default(), origin))
    }

    /// Reads a string, from its opening to its closing quote.
    fn string(&mut self) -> Result<Text<'a>, ParseError> {
        self.at += 1;
        let (_, room) = std::mem::take(&mut self.room).split_at_mut(self.at - self.room_at);
        let decoded = decode(self.rest(), room);
        let (string, room) = room.split_at_mut(decoded.as_ref().map_or(0, |decoded| decoded.len));
        self.room = room;
        self.room_at = self.at + string.len();
        match decoded {
            Ok(Decoded { end, .. }) => match simdutf8::basic::from_utf8(string) {
                Ok(text) => {
                    self.at += end + 1;
                    Ok(Text::new(text))
                }
                Err(_) => Err(self.error(ParseErrorKind::InvalidUtf8)),
            },
            Err((kind, at)) => {
                self.at += at;
                Err(self.error(kind))
            }
        }
    }
}

impl ParseError {
    fn within(mut self, step: Step) -> Self {
        self.path = self.path.within(step);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json::to_string;

    fn round_trip(text: &str) -> String {
        let arena = Arena::new();
        to_string(&parse_str(text, &arena).expect(text)).expect(text)
    }

    fn error(text: &str) -> String {
        parse_str(text, &Arena::new()).expect_err(text).to_string()
    }

    /// `json.dumps(json.loads(text), ensure_ascii=False)` in CPython 3.11.
    #[test]
    fn reads_and_writes_as_python_does() {
        for (text, python) in [
            (r#"{"b": 1, "a": 2, "b": 3}"#, r#"{"b": 3, "a": 2}"#),
            (
                "[1, 1.0, -0, -0.0, 1e16, 1e400, -1e400, NaN, -Infinity]",
                "[1, 1.0, 0, -0.0, 1e+16, Infinity, -Infinity, NaN, -Infinity]",
            ),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("9223372036854775808", "9223372036854775808"),
            (r#""\u00e9\ud83d\ude00\/\b\f\u0001""#, "\"é😀/\\b\\f\\u0001\""),
            (" [ ] ", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(round_trip(text), python);
        }
    }

    #[test]
    fn many_keys_keep_first_place_and_last_value() {
        let pairs: Vec<String> = (0..100).map(|i| format!("\"k{}\": {i}", i % 40)).collect();
        let arena = Arena::new();
        let value = parse_str(&format!("{{{}}}", pairs.join(", ")), &arena).expect("is JSON");
        let dict = value.as_dict().expect("is a dict");
        assert_eq!(dict.len(), 40);
        assert!(matches!(dict.get("k3"), Some(Value::Int(83, _))));
        assert_eq!(dict.entries()[3].0.as_str(), Some("k3"));
        assert!(dict.get("k40").is_none());
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(
            error(r#"{"messages": [{"content": "cut \ud83d"}]}"#),
            "messages[0].content: \\ud83d is half of a surrogate pair without the other half, which is no text (at byte 31)"
        );
        assert_eq!(error("[1, 2"), "the text ends within a value (at byte 5)");
        assert_eq!(error("[1.]"), "expected ',' or ']' after a value (at byte 2)");
        assert_eq!(error("[01]"), "expected ',' or ']' after a value (at byte 2)");
        assert_eq!(
            error("{\"a\": \"\n\"}"),
            "a: control character U+000A must be escaped in a string (at byte 7)"
        );
        assert_eq!(error("1 2"), "text follows the value (at byte 2)");
        assert_eq!(error(""), "the text ends within a value (at byte 0)");
        assert!(error(&"[".repeat(100_000)).contains("nested deeper"));
        assert!(error(&"9".repeat(5000)).contains("5000 digits"));
    }

    #[test]
    fn strings_are_slices_of_the_body() {
        let arena = Arena::new();
        let mut body = br#"["plain", "esc\n\u00e9aped", {"key": 7}]"#.to_vec();
        let base = body.as_ptr() as usize;
        let value = parse(&mut body, &arena).expect("is JSON");
        let items = value.as_list().expect("is a list").items();
        assert_eq!(items[0].origin(), Origin(base + 2));
        assert_eq!(items[1].as_str(), Some("esc\néaped"));
        assert_eq!(items[1].origin(), Origin(base + 11));
        assert_eq!(items[2].lookup("key").map(|v| v.origin()), Some(Origin(base + 37)));
    }

    #[test]
    fn an_origin_leads_back_to_its_field() {
        let arena = Arena::new();
        let mut body =
            br#"{"messages": [{"role": "user", "content": [{"text": "a\n"}, {"text": "b"}]}, 17], "n": 3}"#.to_vec();
        let value = parse(&mut body, &arena).expect("is JSON");
        let messages = value
            .lookup("messages")
            .and_then(|m| m.as_list())
            .expect("is a list")
            .items();
        let parts = messages[0]
            .lookup("content")
            .and_then(|c| c.as_list())
            .expect("is a list")
            .items();
        let path = |found: Option<Value<'_>>| value.path_of(found.expect("exists").origin()).to_string();
        assert_eq!(path(parts[1].lookup("text")), "messages[0].content[1].text");
        assert_eq!(path(messages[0].lookup("role")), "messages[0].role");
        assert_eq!(path(Some(messages[1])), "messages[1]");
        assert_eq!(path(value.lookup("n")), "n");
    }

    proptest::proptest! {
        /// Long and short stretches between escapes, whole and half chunks, the end of the text close by.
        #[test]
        fn reads_back_what_was_written(
            pieces in proptest::collection::vec("[ -~]{0,70}|[\\x00-\\x1f\"\\\\]{1,3}|\\PC{0,40}", 0..8),
            ensure_ascii: bool,
        ) {
            let texts = [pieces.concat(), pieces.first().cloned().unwrap_or_default()];
            let mut json = String::from("[");
            crate::value::json::write_str(&mut json, &texts[0], ensure_ascii);
            json.push_str(", ");
            crate::value::json::write_str(&mut json, &texts[1], ensure_ascii);
            json.push(']');
            let (arena, mut buffer, mut body) = (Arena::new(), Vec::new(), json.clone().into_bytes());
            for value in [
                parse_str(&json, &arena),
                parse_into(json.as_bytes(), &mut buffer, &arena),
                parse(&mut body, &arena),
            ] {
                let items = value.expect("is JSON").as_list().expect("is a list").items();
                for (item, text) in items.iter().zip(&texts) {
                    proptest::prop_assert_eq!(item.as_str(), Some(text.as_str()));
                }
            }
        }
    }
}
