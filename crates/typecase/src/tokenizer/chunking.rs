//! How Kimi's tokenizer cuts long text before it is split by the pattern.
//!
//! Text is cut every 400,000 code points; then, within each cut, wherever more than 25,000 code points in a row are all
//! white space or all not, after each 25,000 of them. White space is Python's (`str.isspace`), which has U+001C to U+001F
//! where the pattern's `\s` has not. The cuts change ids, so they are part of the vocabulary.

use typecase_jinja::value::text::is_space;

/// Code points between two cuts.
const MAX_POINTS: usize = 400_000;
/// Code points of one kind in a row before a cut.
const MAX_RUN: usize = 25_000;

/// The pieces of `text`, in order.
pub(super) fn chunks(text: &str) -> impl Iterator<Item = &str> {
    // A text of so many bytes has at most as many code points; nearly all text ends here.
    let whole = (text.len() <= MAX_RUN).then_some(text);
    let cut = (text.len() > MAX_RUN).then(|| Blocks { rest: text }.flat_map(|block| Runs { rest: block }));
    whole.into_iter().chain(cut.into_iter().flatten())
}

/// Cuts every [`MAX_POINTS`].
struct Blocks<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Blocks<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = match self.rest.len() <= MAX_POINTS {
            true => self.rest.len(),
            false => nth_point(self.rest, MAX_POINTS),
        };
        let (block, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(block)
    }
}

/// Byte position of code point number `n`, or the end.
fn nth_point(text: &str, n: usize) -> usize {
    // Counting bytes that begin a code point, block by block, is several times as fast as walking over `chars`.
    const BLOCK: usize = 4096;
    let (mut at, mut left) = (0, n);
    for block in text.as_bytes().chunks(BLOCK) {
        let points = block.iter().filter(|&&byte| (byte as i8) >= -0x40).count();
        if points > left {
            break;
        }
        left -= points;
        at += block.len();
    }
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text[at..].char_indices().nth(left).map_or(text.len(), |(i, _)| at + i)
}

/// Cuts within runs longer than [`MAX_RUN`].
struct Runs<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Runs<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let (piece, rest) = self.rest.split_at(first_cut(self.rest).unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(piece)
    }
}

/// Where the first run of more than [`MAX_RUN`] ends its first [`MAX_RUN`] code points.
///
/// After the cut, counting starts anew with the code point behind it, so the rest can be looked at on its own.
fn first_cut(text: &str) -> Option<usize> {
    let mut at = 0;
    // A run of more than MAX_RUN code points has more than MAX_RUN bytes, so it covers a multiple of MAX_RUN: look at
    // the run around each of those only.
    let mut probe = 0;
    while probe < text.len() {
        while !text.is_char_boundary(probe) {
            probe += 1;
        }
        let Some(space) = text[probe..].chars().next().map(is_space) else {
            break;
        };
        let same = |c: char| is_space(c) == space;
        let begin = text[at..probe].trim_end_matches(same).len() + at;
        let end = text.len() - text[probe..].trim_start_matches(same).len();
        if end - begin > MAX_RUN {
            let cut = nth_point(&text[begin..end], MAX_RUN) + begin;
            if cut < end {
                return Some(cut);
            }
        }
        at = end;
        // The next run that could be long covers the next multiple that is not in this one.
        probe = end.div_ceil(MAX_RUN) * MAX_RUN;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference's own way, one code point after the other.
    fn slow(text: &str) -> Vec<String> {
        let points: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        for block in points.chunks(MAX_POINTS) {
            let (mut piece, mut run, mut kind) = (String::new(), 0, is_space(block[0]));
            for &c in block {
                run = if is_space(c) == kind { run + 1 } else { 1 };
                kind = is_space(c);
                if run > MAX_RUN {
                    pieces.push(std::mem::take(&mut piece));
                    run = 1;
                }
                piece.push(c);
            }
            pieces.push(piece);
        }
        pieces
    }

    #[test]
    fn short_text_is_one_piece_and_none_is_none() {
        assert_eq!(chunks("a b").collect::<Vec<_>>(), ["a b"]);
        assert_eq!(chunks("").filter(|chunk| !chunk.is_empty()).count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn cuts_where_the_reference_cuts(
            runs in prop::collection::vec(
                (prop::sample::select(vec!['a', ' ', '\u{1c}', 'é', '\u{3000}', '中', '😀', '\n']),
                 prop_oneof![1usize..40, 24_990usize..25_010, 49_990usize..50_010, Just(130_000usize)]),
                0..14,
            )
        ) {
            let text: String = runs.iter().flat_map(|(c, n)| std::iter::repeat_n(*c, *n)).collect();
            let expected = if text.is_empty() { vec![] } else { slow(&text) };
            let pieces: Vec<&str> = chunks(&text).filter(|chunk| !chunk.is_empty()).collect();
            prop_assert!(pieces == expected, "{:?}", runs);
        }
    }
}
