//! Added tokens: control tokens and others that are looked for in text before it is encoded.
//!
//! Matching is that of the `tokenizers` crate: the leftmost, and of those the longest; then `single_word`, `lstrip` and
//! `rstrip`. Beyond it, bytes that a request wrote can be excluded: a spelling that touches them is no token there. Where
//! it contains a shorter one that is all trusted, that one counts.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::collections::HashMap;
use std::ops::Range;

/// One added token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// How it is spelled.
    pub content: String,
    /// Whether decoding may leave it out.
    pub special: bool,
    /// Whether white space before it belongs to it.
    pub lstrip: bool,
    /// Whether white space after it belongs to it.
    pub rstrip: bool,
    /// Whether it counts only where no letter or digit touches it.
    pub single_word: bool,
    /// Whether it is looked for in normalized text.
    pub normalized: bool,
}

/// The added tokens of a vocabulary.
#[derive(Debug)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    by_id: HashMap<u32, usize>,
    by_content: HashMap<String, usize>,
    /// Finds any of `tokens` (by index); `None` when there are none.
    finder: Option<AhoCorasick>,
    /// For each token, those that are a proper prefix of it, longest first.
    prefixes: Vec<Vec<usize>>,
}

/// An added token in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The bytes of the text that become the token.
    pub(super) range: Range<usize>,
    pub(super) id: u32,
}

impl AddedTokens {
    /// A table of `tokens`. Empty spellings are left out; of equal spellings the last counts.
    pub(super) fn new(tokens: impl IntoIterator<Item = AddedToken>) -> Self {
        let mut table: Vec<AddedToken> = Vec::new();
        let mut by_content: HashMap<String, usize> = HashMap::new();
        for token in tokens {
            match by_content.get(&token.content) {
                _ if token.content.is_empty() => {}
                Some(&index) => table[index] = token,
                None => {
                    by_content.insert(token.content.clone(), table.len());
                    table.push(token);
                }
            }
        }
        let by_id = table.iter().enumerate().map(|(i, token)| (token.id, i)).collect();
        let prefixes = table
            .iter()
            .map(|token| {
                let ends = token.content.char_indices().map(|(end, _)| end).skip(1);
                let mut found: Vec<usize> = ends
                    .filter_map(|end| by_content.get(&token.content[..end]).copied())
                    .collect();
                found.reverse();
                found
            })
            .collect();
        let finder = (!table.is_empty()).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(table.iter().map(|token| token.content.as_str()))
                .expect("an automaton of a few thousand short tokens fits its 32-bit states")
        });
        AddedTokens {
            tokens: table,
            by_id,
            by_content,
            finder,
            prefixes,
        }
    }

    /// All of them, in the order of the files they come from.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &AddedToken> {
        self.tokens.iter()
    }

    /// Number of added tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token with this id.
    pub fn by_id(&self, id: u32) -> Option<&AddedToken> {
        self.by_id.get(&id).map(|&index| &self.tokens[index])
    }

    /// The id of the token that is spelled so.
    pub fn id(&self, content: &str) -> Option<u32> {
        self.by_content.get(content).map(|&index| self.tokens[index].id)
    }

    /// The added tokens in `text`, from left to right. `text` begins at byte `start` of a prompt of whose bytes those in
    /// `untrusted` (sorted, apart) make no token.
    pub(super) fn find<'t>(
        &'t self,
        text: &'t str,
        start: usize,
        untrusted: &'t [Range<usize>],
    ) -> impl Iterator<Item = Found> + 't {
        let mut at = 0;
        // What lies left of `done` belongs to an earlier token.
        let mut done = 0;
        std::iter::from_fn(move || {
            let finder = self.finder.as_ref()?;
            while let Some(found) = finder.find(Input::new(text).range(at..)) {
                let longest = found.pattern().as_usize();
                let begin = found.start();
                let trusted = std::iter::once(&longest)
                    .chain(&self.prefixes[longest])
                    .map(|&index| &self.tokens[index])
                    .find(|token| {
                        let range = start + begin..start + begin + token.content.len();
                        !touches(untrusted, range)
                    });
                let Some(token) = trusted else {
                    // The next match may begin within this one.
                    at = begin + text[begin..].chars().next().map_or(1, char::len_utf8);
                    continue;
                };
                let mut range = begin..begin + token.content.len();
                at = range.end;
                if token.single_word && (ends_with_word(&text[..range.start]) || starts_with_word(&text[range.end..])) {
                    continue;
                }
                if token.lstrip {
                    range.start = trim_end(&text[..range.start]).len().max(done);
                }
                if token.rstrip {
                    range.end = text.len() - trim_start(&text[range.end..]).len();
                    at = range.end;
                }
                done = range.end;
                return Some(Found { range, id: token.id });
            }
            None
        })
    }
}

/// Whether `range` shares a byte with one of `ranges`.
fn touches(ranges: &[Range<usize>], range: Range<usize>) -> bool {
    let next = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(next).is_some_and(|other| other.start < range.end)
}

// The reference's own patterns are `\s` and `\w` of Rust's `regex`: Unicode White_Space, not Python's set.
#[expect(clippy::disallowed_methods, reason = "the reference matches White_Space here")]
fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

// `\w` also holds marks, connector punctuation and joiners; `_` stands for those, since what differs is only a
// `single_word` token right beside one of the others.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

fn starts_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(id: u32, content: &str) -> AddedToken {
        AddedToken {
            id,
            content: content.to_owned(),
            special: true,
            lstrip: false,
            rstrip: false,
            single_word: false,
            normalized: false,
        }
    }

    fn found(tokens: Vec<AddedToken>, text: &str, untrusted: Option<Range<usize>>) -> Vec<(u32, &str)> {
        let table = AddedTokens::new(tokens);
        let untrusted = untrusted.map_or(Vec::new(), |range| vec![range]);
        table
            .find(text, 0, &untrusted)
            .map(|found| (found.id, &text[found.range]))
            .collect()
    }

    #[test]
    fn the_longest_of_the_leftmost_counts() {
        let tokens = vec![token(1, "<a>"), token(2, "<a>b"), token(3, "b")];
        assert_eq!(found(tokens, "x<a>bb<a>", None), [(2, "<a>b"), (3, "b"), (1, "<a>")]);
    }

    #[test]
    fn a_request_byte_takes_its_token_away_but_not_a_trusted_shorter_one() {
        let tokens = vec![token(1, "<a>"), token(2, "<a>b"), token(3, ">b")];
        assert_eq!(found(tokens.clone(), "<a>b", Some(3..4)), [(1, "<a>")]);
        assert_eq!(found(tokens.clone(), "<a>b", Some(0..1)), [(3, ">b")]);
        assert_eq!(found(tokens, "<a>b", Some(2..3)), []);
    }

    #[test]
    fn strips_take_white_space_along() {
        let mut both = token(1, "<m>");
        both.lstrip = true;
        both.rstrip = true;
        assert_eq!(
            found(vec![both.clone(), token(2, "<e>")], "a \n<m>\t <m> b<e> <m>", None),
            [(1, " \n<m>\t "), (1, "<m> "), (2, "<e>"), (1, " <m>")]
        );
    }

    #[test]
    fn single_words_stand_alone() {
        let mut word = token(1, "ing");
        word.single_word = true;
        assert_eq!(found(vec![word], "sing ing, ingot", None), [(1, "ing")]);
    }
}
