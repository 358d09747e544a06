//! Building new strings out of old ones: replace, join, pad, repeat.

use crate::value::{Arena, Origin, Text, TextBuilder};
use memchr::memmem;

impl<'a> Text<'a> {
    /// `str.replace(old, new, count)`; a negative `count` is no limit.
    pub fn replace(self, old: &str, new: Text<'_>, count: i64, arena: &'a Arena) -> Text<'a> {
        let text = self.as_str();
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        if old.is_empty() {
            return self.interleave(new, limit, arena);
        }
        let mut found = memmem::find_iter(text.as_bytes(), old).take(limit).peekable();
        if found.peek().is_none() {
            return self;
        }
        let mut builder = TextBuilder::new();
        let mut pieces = self.pieces();
        for at in found {
            pieces.copy_to(&mut builder, at);
            pieces.skip_to(at + old.len());
            builder.push(new);
        }
        pieces.copy_to(&mut builder, text.len());
        builder.finish(arena)
    }

    /// `str.replace("", new, limit)`: `new` before each character and at the end.
    fn interleave(self, new: Text<'_>, limit: usize, arena: &'a Arena) -> Text<'a> {
        let mut builder = TextBuilder::new();
        let mut pieces = self.pieces();
        let text = self.as_str();
        let borders = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for at in borders.take(limit) {
            pieces.copy_to(&mut builder, at);
            builder.push(new);
        }
        pieces.copy_to(&mut builder, text.len());
        builder.finish(arena)
    }

    /// A reader of the text from front to back that copies parts of it with their origins.
    pub(crate) fn pieces(self) -> Pieces<'a> {
        Pieces {
            text: self,
            at: 0,
            run: 0,
        }
    }

    /// `text * count`. The caller has bounded the size.
    pub fn repeat(self, count: usize, arena: &'a Arena) -> Text<'a> {
        if count == 1 {
            return self;
        }
        let mut builder = TextBuilder::new();
        for _ in 0..count {
            builder.push(self);
        }
        builder.finish(arena)
    }
}

impl TextBuilder {
    /// Appends `count` times the character `fill`, which came from `origin`.
    pub(crate) fn pad(&mut self, fill: char, count: usize, origin: Origin) {
        self.write_from(origin, |out| out.extend(std::iter::repeat_n(fill, count)));
    }
}

/// See [`Text::pieces`].
pub(crate) struct Pieces<'a> {
    text: Text<'a>,
    at: usize,
    /// Index of the run that holds `at`, for built texts.
    run: usize,
}

impl Pieces<'_> {
    /// Moves on to byte `to` without copying.
    pub(crate) fn skip_to(&mut self, to: usize) {
        self.at = to;
    }

    /// Copies the bytes up to `to`.
    pub(crate) fn copy_to(&mut self, builder: &mut TextBuilder, to: usize) {
        let text = self.text.as_str();
        while self.at < to {
            let (origin, end) = self.text.run_at(self.at, &mut self.run);
            let end = end.min(to);
            builder.push_from(&text[self.at..end], origin);
            self.at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CPython 3.11 gave.
    #[test]
    fn replaces_as_python_does() {
        let arena = Arena::new();
        for (text, old, new, count, python) in [
            ("aaa", "aa", "b", -1, "ba"),
            ("añb", "", "-", -1, "-a-ñ-b-"),
            ("añb", "", "-", 2, "-a-ñb"),
            ("", "", "x", -1, "x"),
            ("", "", "x", 0, ""),
            ("a.b.c", ".", "", 1, "ab.c"),
        ] {
            let got = Text::new(text).replace(old, Text::new(new), count, &arena);
            assert_eq!(got.as_str(), python, "{text:?}.replace({old:?}, {new:?}, {count})");
        }
    }

    #[test]
    fn what_is_kept_keeps_its_origin() {
        let arena = Arena::new();
        let (text, new) = ("a.b", "++");
        let mut runs = Vec::new();
        Text::new(text)
            .replace(".", Text::new(new), -1, &arena)
            .slice(1, 4, &arena)
            .for_each_run(|bytes, origin| runs.push((bytes, origin)));
        assert_eq!(runs, [("++", Origin::of(new)), ("b", Origin::of(&text[2..]))]);
    }
}
