//! Case methods of `str`, character by character.

use crate::value::unicode::{self, Mapped};
use crate::value::{Arena, Text, TextBuilder};

impl<'a> Text<'a> {
    /// `str.upper`.
    pub fn upper(self, arena: &'a Arena) -> Text<'a> {
        if self.as_str().is_ascii() {
            return self.with_ascii(arena, |text| text.make_ascii_uppercase());
        }
        self.map_chars(arena, |_, c| unicode::to_upper(c))
    }

    /// `str.lower`.
    pub fn lower(self, arena: &'a Arena) -> Text<'a> {
        if self.as_str().is_ascii() {
            return self.with_ascii(arena, |text| text.make_ascii_lowercase());
        }
        let text = self.as_str();
        self.map_chars(arena, |at, c| lower_at(text, at, c))
    }

    /// `str.casefold`.
    pub fn casefold(self, arena: &'a Arena) -> Text<'a> {
        if self.as_str().is_ascii() {
            return self.with_ascii(arena, |text| text.make_ascii_lowercase());
        }
        self.map_chars(arena, |_, c| unicode::fold(c))
    }

    /// `str.swapcase`.
    pub fn swapcase(self, arena: &'a Arena) -> Text<'a> {
        let text = self.as_str();
        self.map_chars(arena, |at, c| match c {
            c if unicode::is_upper(c) => lower_at(text, at, c),
            c if unicode::is_lower(c) => unicode::to_upper(c),
            c => Mapped::One(c),
        })
    }

    /// `str.capitalize`: the first character in title case, all others in lower case.
    pub fn capitalize(self, arena: &'a Arena) -> Text<'a> {
        let text = self.as_str();
        self.map_chars(arena, |at, c| match at {
            0 => unicode::to_title(c),
            _ => lower_at(text, at, c),
        })
    }

    /// `str.title`.
    pub fn title(self, arena: &'a Arena) -> Text<'a> {
        let text = self.as_str();
        let mut in_word = false;
        self.map_chars(arena, |at, c| {
            let mapped = match in_word {
                true => lower_at(text, at, c),
                false => unicode::to_title(c),
            };
            in_word = unicode::is_cased(c);
            mapped
        })
    }

    /// A copy that `change` alters without changing its length; its bytes come from where these came from.
    fn with_ascii(self, arena: &'a Arena, change: impl FnOnce(&mut str)) -> Text<'a> {
        let copy = arena.bump.alloc_str(self.as_str());
        change(copy);
        self.respelled(copy, arena)
    }

    /// Replaces each character (given with its byte offset), keeping where it came from.
    pub(crate) fn map_chars(self, arena: &'a Arena, mut map: impl FnMut(usize, char) -> Mapped) -> Text<'a> {
        let mut builder = TextBuilder::new();
        let mut at = 0;
        self.for_each_run(|bytes, origin| {
            for (offset, c) in bytes.char_indices() {
                let from = origin.plus(offset);
                // Each character of a longer spelling comes from the one it replaces, not from what follows that.
                match map(at + offset, c) {
                    Mapped::One(to) => builder.push_from(to.encode_utf8(&mut [0; 4]), from),
                    Mapped::Many(to) => to
                        .chars()
                        .for_each(|to| builder.push_from(to.encode_utf8(&mut [0; 4]), from)),
                }
            }
            at += bytes.len();
        });
        builder.finish(arena)
    }
}

/// `str.lower` of the character `c` that stands at byte `at` of `text`.
fn lower_at(text: &str, at: usize, c: char) -> Mapped {
    match c {
        'Σ' if unicode::is_final_sigma(&text[..at], &text[at + c.len_utf8()..]) => Mapped::One('ς'),
        c => unicode::to_lower(c),
    }
}
