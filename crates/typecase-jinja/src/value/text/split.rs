//! Splitting and stripping: byte ranges of a `str`, so that the parts can be slices of it.

use super::is_space;
use crate::value::unicode::is_line_break;
use memchr::memmem;

/// A range of bytes.
pub type Span = (usize, usize);

/// Which ends to strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// `strip`
    Both,
    /// `lstrip`
    Start,
    /// `rstrip`
    End,
}

/// What is left after stripping white space (`None`) or any of `chars`.
pub fn strip_span(text: &str, chars: Option<&str>, ends: Ends) -> Span {
    match chars {
        None => strip_where(text, is_space, ends),
        Some(set) if set.is_ascii() => {
            let mut members = [false; 128];
            set.bytes().for_each(|b| members[b as usize] = true);
            strip_where(text, |c| c.is_ascii() && members[c as usize], ends)
        }
        // A set as long as the text must not cost their product.
        Some(set) if set.len() > 64 => {
            let mut members: Vec<char> = set.chars().collect();
            members.sort_unstable();
            strip_where(text, |c| members.binary_search(&c).is_ok(), ends)
        }
        Some(set) => strip_where(text, |c| set.contains(c), ends),
    }
}

fn strip_where(text: &str, strips: impl Fn(char) -> bool, ends: Ends) -> Span {
    let start = match ends {
        Ends::End => 0,
        _ => text.len() - text.trim_start_matches(&strips).len(),
    };
    let end = match ends {
        Ends::Start => text.len(),
        _ => start + text[start..].trim_end_matches(&strips).len(),
    };
    (start, end)
}

/// `str.split(sep, maxsplit)`; a negative `max` is no limit. `sep` is not empty.
pub fn split_on(text: &str, sep: &str, max: i64) -> Vec<Span> {
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut start = 0;
    for at in memmem::find_iter(text.as_bytes(), sep).take(limit) {
        parts.push((start, at));
        start = at + sep.len();
    }
    parts.push((start, text.len()));
    parts
}

/// `str.rsplit(sep, maxsplit)`; a negative `max` is no limit. `sep` is not empty.
pub fn rsplit_on(text: &str, sep: &str, max: i64) -> Vec<Span> {
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut end = text.len();
    for at in memmem::rfind_iter(text.as_bytes(), sep).take(limit) {
        parts.push((at + sep.len(), end));
        end = at;
    }
    parts.push((0, end));
    parts.reverse();
    parts
}

/// `str.split(None, maxsplit)`: words between white space; what is left after `max` words keeps its end.
pub fn split_words(text: &str, max: i64) -> Vec<Span> {
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        let (start, _) = strip_span(&text[at..], None, Ends::Start);
        let start = at + start;
        if start == text.len() {
            return parts;
        }
        if parts.len() == limit {
            parts.push((start, text.len()));
            return parts;
        }
        at = text[start..].find(is_space).map_or(text.len(), |len| start + len);
        parts.push((start, at));
    }
}

/// `str.rsplit(None, maxsplit)`.
pub fn rsplit_words(text: &str, max: i64) -> Vec<Span> {
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (_, end) = strip_span(rest, None, Ends::End);
        if end == 0 {
            break;
        }
        if parts.len() == limit {
            parts.push((0, end));
            break;
        }
        let start = rest[..end]
            .char_indices()
            .rev()
            .find(|&(_, c)| is_space(c))
            .map_or(0, |(at, c)| at + c.len_utf8());
        parts.push((start, end));
        rest = &text[..start];
    }
    parts.reverse();
    parts
}

/// `str.splitlines(keepends)`.
pub fn split_lines(text: &str, keep_ends: bool) -> Vec<Span> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (end, next) = match text[start..].char_indices().find(|&(_, c)| is_line_break(c)) {
            Some((len, c)) => {
                let end = start + len;
                let is_crlf = c == '\r' && text.as_bytes().get(end + 1) == Some(&b'\n');
                (end, end + if is_crlf { 2 } else { c.len_utf8() })
            }
            None => (text.len(), text.len()),
        };
        lines.push((start, if keep_ends { next } else { end }));
        start = next;
    }
    lines
}

/// `str.count(sub)`: occurrences that do not overlap; the empty string stands between all characters.
pub fn count(text: &str, sub: &str) -> usize {
    if sub.is_empty() {
        return super::char_len(text) + 1;
    }
    memmem::find_iter(text.as_bytes(), sub).count()
}

/// Byte offset of the first `sub`.
pub fn find(text: &str, sub: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), sub.as_bytes())
}

/// Byte offset of the last `sub`.
pub fn rfind(text: &str, sub: &str) -> Option<usize> {
    memmem::rfind(text.as_bytes(), sub.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, spans: Vec<Span>) -> Vec<&str> {
        spans.into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    /// What CPython 3.11 gave.
    #[test]
    fn splits_as_python_does() {
        let text = " a\u{1f}b  c ";
        assert_eq!(parts(text, split_words(text, -1)), ["a", "b", "c"]);
        assert_eq!(parts(text, split_words(text, 1)), ["a", "b  c "]);
        assert_eq!(parts(text, split_words(text, 0)), ["a\u{1f}b  c "]);
        assert_eq!(parts(text, rsplit_words(text, 1)), [" a\u{1f}b", "c"]);
        assert_eq!(parts(text, rsplit_words(text, 0)), [" a\u{1f}b  c"]);
        assert_eq!(parts("aaa", split_on("aaa", "aa", -1)), ["", "a"]);
        assert_eq!(parts("aaa", rsplit_on("aaa", "aa", -1)), ["a", ""]);
        assert_eq!(parts("a-b-c", rsplit_on("a-b-c", "-", 1)), ["a-b", "c"]);
        assert_eq!(parts("", split_on("", "-", -1)), [""]);
        assert_eq!(parts("", split_words("", -1)), [""; 0]);
    }

    #[test]
    fn lines_end_where_python_ends_them() {
        let text = "a\r\nb\rc\u{2028}d\x1ce\n";
        assert_eq!(parts(text, split_lines(text, false)), ["a", "b", "c", "d", "e"]);
        assert_eq!(
            parts(text, split_lines(text, true)),
            ["a\r\n", "b\r", "c\u{2028}", "d\x1c", "e\n"]
        );
    }

    #[test]
    fn strips_sets_of_characters() {
        let stripped = |text: &'static str, chars, ends| {
            let (start, end) = strip_span(text, chars, ends);
            &text[start..end]
        };
        assert_eq!(stripped("\u{1c} a \u{3000}", None, Ends::Both), "a");
        assert_eq!(stripped("xyaxy", Some("yx"), Ends::Both), "a");
        assert_eq!(stripped("éaé", Some("é"), Ends::Start), "aé");
        assert_eq!(stripped("éaé", Some(""), Ends::End), "éaé");
    }
}
