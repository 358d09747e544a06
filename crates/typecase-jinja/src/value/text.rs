//! Strings that know where their bytes came from.

mod build;
mod case;
mod slice;
pub mod split;

pub use slice::{Indices, Slice, byte_of_char, byte_range, char_len};

use super::{Arena, Origin};

/// A `str`. Either one slice of the request, of the template or of the arena, or bytes put together from several such
/// slices, with a run for each.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(Repr<'a>);

#[derive(Clone, Copy, Debug)]
enum Repr<'a> {
    Slice(&'a str),
    Built(&'a Built<'a>),
}

#[derive(Debug)]
struct Built<'a> {
    text: &'a str,
    runs: &'a [Run],
}

/// Bytes of a built string that came from one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where the run ends, in bytes from the start of the string; it begins where the one before ends.
    pub end: usize,
    /// Where its first byte came from.
    pub origin: Origin,
}

impl<'a> Text<'a> {
    /// A text whose origin is its own address.
    pub const fn new(text: &'a str) -> Self {
        Text(Repr::Slice(text))
    }

    /// A copy of `text` in the arena that came from `origin` as a whole.
    pub fn with_origin(text: &str, origin: Origin, arena: &'a Arena) -> Self {
        if text.is_empty() {
            return Text::new("");
        }
        let text = arena.alloc_str(text);
        let runs = arena.alloc_slice(&[Run {
            end: text.len(),
            origin,
        }]);
        Text(Repr::Built(arena.bump.alloc(Built { text, runs })))
    }

    /// `text`, with a run for each of its parts, the last of which ends where it ends.
    pub(crate) fn built(text: &'a str, runs: &'a [Run], arena: &'a Arena) -> Self {
        Text(Repr::Built(arena.bump.alloc(Built { text, runs })))
    }

    /// The characters if they are one slice, and where they come from.
    pub const fn as_slice(self) -> Option<&'a str> {
        match self.0 {
            Repr::Slice(text) => Some(text),
            Repr::Built(_) => None,
        }
    }

    /// The characters.
    pub const fn as_str(self) -> &'a str {
        match self.0 {
            Repr::Slice(text) => text,
            Repr::Built(built) => built.text,
        }
    }

    /// Number of bytes.
    pub const fn len(self) -> usize {
        self.as_str().len()
    }

    /// Whether there is no byte.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Where the first byte came from.
    pub fn origin(self) -> Origin {
        match self.0 {
            Repr::Slice(text) => Origin::of(text),
            Repr::Built(built) => built.runs.first().map_or(Origin::COMPUTED, |run| run.origin),
        }
    }

    /// Where the byte `at` came from.
    pub fn origin_at(self, at: usize) -> Origin {
        match self.0 {
            Repr::Slice(text) => Origin::of(text).plus(at),
            Repr::Built(built) => {
                let run = built.runs.partition_point(|run| run.end <= at);
                let start = run.checked_sub(1).map_or(0, |before| built.runs[before].end);
                built
                    .runs
                    .get(run)
                    .map_or(Origin::COMPUTED, |run| run.origin.plus(at - start))
            }
        }
    }

    /// Where the byte `at` came from, and where the run ends that it is in. `run` is the index of a run not behind
    /// `at`, and moves on to that of `at`.
    pub(crate) fn run_at(self, at: usize, run: &mut usize) -> (Origin, usize) {
        let built = match self.0 {
            Repr::Slice(text) => return (Origin::of(text).plus(at), text.len()),
            Repr::Built(built) => built,
        };
        while built.runs.get(*run).is_some_and(|run| run.end <= at) {
            *run += 1;
        }
        let start = run.checked_sub(1).map_or(0, |before| built.runs[before].end);
        match built.runs.get(*run) {
            Some(run) => (run.origin.plus(at - start), run.end),
            None => (Origin::COMPUTED, built.text.len()),
        }
    }

    /// `text`, which is as long as this one and whose every byte came from where the byte here at its place came from.
    pub(crate) fn respelled(self, text: &'a str, arena: &'a Arena) -> Self {
        debug_assert_eq!(text.len(), self.len());
        if text.is_empty() {
            return Text::new("");
        }
        let runs = match self.0 {
            Repr::Slice(from) => arena.alloc_slice(&[Run {
                end: text.len(),
                origin: Origin::of(from),
            }]),
            Repr::Built(built) => built.runs,
        };
        Text(Repr::Built(arena.bump.alloc(Built { text, runs })))
    }

    /// Calls `each` with every run of bytes from one place: the bytes and where the first of them came from.
    pub fn for_each_run(self, mut each: impl FnMut(&'a str, Origin)) {
        match self.0 {
            Repr::Slice(text) => each(text, Origin::of(text)),
            Repr::Built(built) => {
                let mut start = 0;
                for run in built.runs {
                    each(&built.text[start..run.end], run.origin);
                    start = run.end;
                }
            }
        }
    }

    /// The bytes from `start` to `end`, which must be character borders. A slice of a slice costs nothing; a slice of a
    /// built string copies its runs.
    pub fn slice(self, start: usize, end: usize, arena: &'a Arena) -> Self {
        let built = match self.0 {
            Repr::Slice(text) => return Text::new(&text[start..end]),
            Repr::Built(built) => built,
        };
        if start == 0 && end == built.text.len() {
            return self;
        }
        if start == end {
            return Text::new("");
        }
        let first = built.runs.partition_point(|run| run.end <= start);
        let mut runs = Vec::new();
        let mut run_start = if first == 0 { 0 } else { built.runs[first - 1].end };
        for run in &built.runs[first..] {
            if run_start >= end {
                break;
            }
            let skipped = start.saturating_sub(run_start);
            runs.push(Run {
                end: run.end.min(end) - start,
                origin: run.origin.plus(skipped),
            });
            run_start = run.end;
        }
        let text = &built.text[start..end];
        Text(Repr::Built(arena.bump.alloc(Built {
            text,
            runs: arena.alloc_slice(&runs),
        })))
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text<'_> {}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::new(text)
    }
}

/// Puts a string together, keeping who wrote what.
#[derive(Debug, Default)]
pub struct TextBuilder {
    text: String,
    runs: Vec<Run>,
}

impl TextBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty builder with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        TextBuilder {
            text: String::with_capacity(bytes),
            runs: Vec::new(),
        }
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no byte yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Appends `text` with the places its bytes came from.
    pub fn push(&mut self, text: Text<'_>) {
        text.for_each_run(|bytes, origin| self.push_from(bytes, origin));
    }

    /// Appends `bytes` that came from `origin`.
    pub fn push_from(&mut self, bytes: &str, origin: Origin) {
        if bytes.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(bytes);
        self.end_run(start, origin);
    }

    /// Lets `write` append to the bytes; what it appends came from `origin`.
    pub fn write_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        if self.text.len() > start {
            self.end_run(start, origin);
        }
    }

    fn end_run(&mut self, start: usize, origin: Origin) {
        let end = self.text.len();
        let run_start = match self.runs.len() {
            0 | 1 => 0,
            n => self.runs[n - 2].end,
        };
        if let Some(last) = self.runs.last_mut() {
            let continues = match last.origin {
                Origin::COMPUTED => origin == Origin::COMPUTED,
                Origin(address) => origin.0 == address + (start - run_start),
            };
            if continues {
                last.end = end;
                return;
            }
        }
        self.runs.push(Run { end, origin });
    }

    /// The characters alone.
    pub fn into_string(self) -> String {
        self.text
    }

    /// The string, in the arena.
    pub fn finish(self, arena: &Arena) -> Text<'_> {
        if self.text.is_empty() {
            return Text::new("");
        }
        let built = Built {
            text: arena.alloc_str(&self.text),
            runs: arena.alloc_slice(&self.runs),
        };
        Text(Repr::Built(arena.bump.alloc(built)))
    }
}

/// Whether Python's `str.isspace` holds for `c`: Unicode white space and the four separators U+001C to U+001F, which
/// Rust's `char::is_whitespace` leaves out.
pub const fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | '\x1c'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Python's `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Text<'_>>(), 16);
        assert_eq!(size_of::<crate::value::Value<'_>>(), 24);
        assert_eq!(size_of::<Option<crate::value::Value<'_>>>(), 24);
    }

    #[test]
    fn neighbouring_runs_of_one_source_merge() {
        let arena = Arena::new();
        let source = "hello world";
        let mut builder = TextBuilder::new();
        builder.push(Text::new(&source[..5]));
        builder.push(Text::new(&source[5..]));
        builder.push_from("!", Origin::COMPUTED);
        let text = builder.finish(&arena);
        let mut runs = Vec::new();
        text.slice(3, 12, &arena)
            .for_each_run(|bytes, origin| runs.push((bytes, origin)));
        assert_eq!(runs, [("lo world", Origin::of(&source[3..])), ("!", Origin::COMPUTED)]);
    }
}
