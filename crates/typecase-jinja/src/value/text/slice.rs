//! Code points: length, index, slices with a step.

use crate::value::{Arena, Text, TextBuilder};

/// `start:stop:step` with what is left out; the numbers are already clamped to 64 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice {
    /// First index.
    pub start: Option<i64>,
    /// Index to stop before.
    pub stop: Option<i64>,
    /// Distance from one index to the next; 0 is for the caller to refuse.
    pub step: Option<i64>,
}

/// The indices that a [`Slice`] takes from a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indices {
    /// First index; within the sequence if `count` is not 0.
    pub start: usize,
    /// Distance from one index to the next.
    pub step: i64,
    /// How many.
    pub count: usize,
}

impl Indices {
    /// The indices, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count as i64).map(move |i| (self.start as i64).wrapping_add(i.wrapping_mul(self.step)) as usize)
    }
}

impl Slice {
    /// `slice.indices` of Python for a sequence of `len` items.
    pub fn indices(self, len: usize) -> Indices {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let step = match self.step.unwrap_or(1) {
            0 => 1,
            // The one step whose negative is no i64; a step this large takes one item either way.
            i64::MIN => -i64::MAX,
            step => step,
        };
        let (lower, upper) = if step < 0 { (-1, len - 1) } else { (0, len) };
        let clamp = |index: i64| match index < 0 {
            true => index.saturating_add(len).max(lower),
            false => index.min(upper),
        };
        let start = self.start.map_or(if step < 0 { upper } else { lower }, clamp);
        let stop = self.stop.map_or(if step < 0 { lower } else { upper }, clamp);
        let count = match step < 0 {
            true if stop < start => (start - stop - 1) / -step + 1,
            false if start < stop => (stop - start - 1) / step + 1,
            _ => 0,
        };
        Indices {
            start: start.max(0) as usize,
            step,
            count: count as usize,
        }
    }
}

/// Number of code points: `len(text)`.
pub fn char_len(text: &str) -> usize {
    text.chars().count()
}

/// Byte offset of the code point with this index, or the length in bytes if there are fewer.
pub fn byte_of_char(text: &str, index: usize) -> usize {
    if index >= text.len() {
        return text.len();
    }
    if text.as_bytes()[..index].is_ascii() {
        return index;
    }
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Byte range of `start:stop` (code points, as Python's optional arguments of `find`, `startswith` and the like), or
/// nothing if the range starts after the end, where not even the empty string is found.
pub fn byte_range(text: &str, start: Option<i64>, stop: Option<i64>) -> Option<(usize, usize)> {
    if start.is_none() && stop.is_none() {
        return Some((0, text.len()));
    }
    let len = char_len(text) as i64;
    let clamp = |index: i64| match index < 0 {
        true => index.saturating_add(len).max(0),
        false => index,
    };
    let start = clamp(start.unwrap_or(0));
    let stop = clamp(stop.unwrap_or(len)).min(len);
    if start > stop {
        return None;
    }
    Some((byte_of_char(text, start as usize), byte_of_char(text, stop as usize)))
}

impl<'a> Text<'a> {
    /// The code point at `index` (negative counts from the end), if there is one.
    pub fn char_at(self, index: i64, arena: &'a Arena) -> Option<Text<'a>> {
        let text = self.as_str();
        let (start, c) = if index >= 0 {
            let start = byte_of_char(text, usize::try_from(index).ok()?);
            (start, text[start..].chars().next()?)
        } else {
            let back = usize::try_from(index.unsigned_abs() - 1).ok()?;
            text.char_indices().rev().nth(back)?
        };
        Some(self.slice(start, start + c.len_utf8(), arena))
    }

    /// `text[start:stop:step]`, by code point.
    pub fn slice_chars(self, slice: Slice, arena: &'a Arena) -> Text<'a> {
        let text = self.as_str();
        let Indices { start, step, count } = slice.indices(char_len(text));
        if count == 0 {
            return Text::new("");
        }
        if step == 1 {
            let from = byte_of_char(text, start);
            let to = from + byte_of_char(&text[from..], count);
            return self.slice(from, to, arena);
        }
        let mut builder = TextBuilder::new();
        let mut push = |at: usize, c: char| {
            builder.push_from(&text[at..at + c.len_utf8()], self.origin_at(at));
        };
        if step > 0 {
            let from = byte_of_char(text, start);
            let stride = usize::try_from(step).unwrap_or(usize::MAX);
            text[from..]
                .char_indices()
                .step_by(stride)
                .take(count)
                .for_each(|(at, c)| push(from + at, c));
        } else {
            let to = byte_of_char(text, start + 1);
            let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
            text[..to]
                .char_indices()
                .rev()
                .step_by(stride)
                .take(count)
                .for_each(|(at, c)| push(at, c));
        }
        builder.finish(arena)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliced(text: &str, start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> String {
        let arena = Arena::new();
        Text::new(text)
            .slice_chars(Slice { start, stop, step }, &arena)
            .as_str()
            .to_owned()
    }

    /// What CPython 3.11 gave.
    #[test]
    fn slices_count_code_points() {
        assert_eq!(sliced("añb", None, None, Some(-1)), "bña");
        assert_eq!(sliced("añbcd", Some(-3), None, None), "bcd");
        assert_eq!(sliced("añbcd", Some(1), Some(4), Some(2)), "ñc");
        assert_eq!(sliced("añbcd", Some(10), Some(0), Some(-2)), "db");
        assert_eq!(sliced("añbcd", Some(3), Some(-10), Some(-2)), "cñ");
        assert_eq!(sliced("abc", Some(5), None, None), "");
        assert_eq!(sliced("abc", None, Some(i64::MIN), Some(i64::MIN)), "c");
        assert_eq!(sliced("abc", None, None, Some(i64::MAX)), "a");
    }

    #[test]
    fn ranges_that_start_behind_the_end_find_nothing() {
        assert_eq!(byte_range("añb", Some(1), Some(2)), Some((1, 3)));
        assert_eq!(byte_range("añb", Some(3), None), Some((4, 4)));
        assert_eq!(byte_range("añb", Some(4), None), None);
        assert_eq!(byte_range("añb", Some(-1), Some(-2)), None);
        assert_eq!(byte_range("añb", Some(-9), Some(99)), Some((0, 4)));
    }
}
