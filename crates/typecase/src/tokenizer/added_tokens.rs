//! Added tokens: control tokens and others that are looked for in text before it is encoded.
//!
//! Matching is that of the `tokenizers` crate: the leftmost, and of those the longest; then `single_word`, `lstrip` and
//! `rstrip`. Beyond it, bytes that a request wrote can be excluded: a spelling that touches them is no token there. Where
//! it contains a shorter one that is all trusted, that one counts.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::collections::{BTreeSet, HashMap};
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

impl AddedToken {
    /// A special token that is its bytes and nothing else.
    pub(super) fn exact(id: u32, content: String) -> Self {
        AddedToken {
            id,
            content,
            special: true,
            lstrip: false,
            rstrip: false,
            single_word: false,
            normalized: false,
        }
    }
}

/// The added tokens of a vocabulary.
#[derive(Debug)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    by_id: HashMap<u32, usize>,
    by_content: HashMap<String, usize>,
    raw: Finder,
    normalized: Finder,
}

/// An added token in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The bytes of the text that become the token.
    pub(super) range: Range<usize>,
    pub(super) id: u32,
    /// Whether what follows in the text changes neither this token nor those before it, nor they what is found behind it.
    pub(super) is_border: bool,
}

impl AddedTokens {
    /// A table of `tokens`, all of which are looked for in text as it is.
    pub(super) fn new(tokens: impl IntoIterator<Item = AddedToken>) -> Self {
        Self::with_normalizer(tokens, |_| true, |content| content.to_owned())
    }

    /// A table of `tokens`, of which those are looked for in text that `is_searched` says. Those flagged `normalized` are
    /// looked for in normalized text, by what `normalize` makes of their spelling. Empty spellings are left out; of equal
    /// spellings the last counts.
    pub(super) fn with_normalizer(
        tokens: impl IntoIterator<Item = AddedToken>,
        is_searched: impl Fn(&AddedToken) -> bool,
        normalize: impl Fn(&str) -> String,
    ) -> Self {
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
        let searched: Vec<&AddedToken> = table.iter().filter(|token| is_searched(token)).collect();
        let entries = |normalized: bool| {
            let of_kind = move |token: &&AddedToken| token.normalized == normalized;
            searched.iter().copied().filter(of_kind)
        };
        let lead = prepended(&normalize);
        AddedTokens {
            raw: Finder::new(entries(false).map(|token| (token.content.clone(), token)), 0),
            normalized: Finder::new(entries(true).map(|token| (normalize(&token.content), token)), lead),
            by_id: table.iter().enumerate().map(|(i, token)| (token.id, i)).collect(),
            tokens: table,
            by_content,
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

    /// Those that are looked for in text as it is: the first step.
    pub(super) fn raw(&self) -> &Finder {
        &self.raw
    }

    /// Those that are looked for in normalized text, between the ones of the first step.
    pub(super) fn normalized(&self) -> &Finder {
        &self.normalized
    }
}

/// Bytes that `normalize` puts before every text: the `▁` of SentencePiece.
fn prepended(normalize: impl Fn(&str) -> String) -> usize {
    const LETTER: &str = "a";
    normalize(LETTER).strip_suffix(LETTER).map_or(0, str::len)
}

/// Finds some added tokens in text.
#[derive(Debug)]
pub(super) struct Finder {
    entries: Vec<Entry>,
    /// Finds any of `entries` (by index); `None` when there are none.
    automaton: Option<AhoCorasick>,
}

#[derive(Debug)]
struct Entry {
    id: u32,
    len: usize,
    /// Bytes at its beginning that normalizing put before its spelling. Whoever wrote them in a text (`▁` may have been a
    /// space of the request) did not write the token.
    lead: usize,
    lstrip: bool,
    rstrip: bool,
    single_word: bool,
    /// Whether another entry has its spelling and goes on.
    goes_on: bool,
    /// The entries that are a proper prefix of this one, longest first.
    prefixes: Vec<usize>,
}

impl Finder {
    /// Each pattern with its token. The first `lead` bytes of a pattern are not of the token's own spelling.
    fn new<'t>(patterns: impl Iterator<Item = (String, &'t AddedToken)>, lead: usize) -> Self {
        let mut spelled: HashMap<String, usize> = HashMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut spellings: Vec<String> = Vec::new();
        for (pattern, token) in patterns {
            // Two tokens may be one when normalized; the first counts.
            if pattern.is_empty() || spelled.contains_key(&pattern) {
                continue;
            }
            spelled.insert(pattern.clone(), entries.len());
            entries.push(Entry {
                id: token.id,
                len: pattern.len(),
                lead: if lead < pattern.len() { lead } else { 0 },
                lstrip: token.lstrip,
                rstrip: token.rstrip,
                single_word: token.single_word,
                goes_on: false,
                prefixes: Vec::new(),
            });
            spellings.push(pattern);
        }
        // Only lengths that there are: a token of megabytes has as many beginnings.
        let lengths: BTreeSet<usize> = spellings.iter().map(String::len).collect();
        for (entry, pattern) in entries.iter_mut().zip(&spellings) {
            let ends = lengths.range(..pattern.len()).rev();
            let prefixes = ends.filter_map(|end| spelled.get(pattern.get(..*end)?).copied());
            entry.prefixes = prefixes.collect();
        }
        // The automaton that finds tokens tells of no spelling within a longer one.
        let within = automaton(&spellings, MatchKind::Standard);
        for spelling in &spellings {
            let found = within.find_overlapping_iter(spelling);
            for shorter in found.filter(|found| found.end() < spelling.len()) {
                entries[shorter.pattern().as_usize()].goes_on = true;
            }
        }
        let automaton = (!entries.is_empty()).then(|| automaton(&spellings, MatchKind::LeftmostLongest));
        Finder { entries, automaton }
    }

    /// Whether there is nothing to find.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The added tokens in `text`, from left to right. A spelling counts only if `trusted` says so of its bytes.
    pub(super) fn find<'t>(
        &'t self,
        text: &'t str,
        trusted: impl Fn(Range<usize>) -> bool + 't,
    ) -> impl Iterator<Item = Found> + 't {
        self.find_from(0, text, trusted)
    }

    /// Those from byte `from` on, where an earlier token ended.
    pub(super) fn find_from<'t>(
        &'t self,
        from: usize,
        text: &'t str,
        trusted: impl Fn(Range<usize>) -> bool + 't,
    ) -> impl Iterator<Item = Found> + 't {
        let mut at = from;
        // What lies left of `done` belongs to an earlier token.
        let mut done = from;
        std::iter::from_fn(move || {
            let automaton = self.automaton.as_ref()?;
            while let Some(found) = automaton.find(Input::new(text).range(at..)) {
                let longest = found.pattern().as_usize();
                let begin = found.start();
                let counts = std::iter::once(&longest)
                    .chain(&self.entries[longest].prefixes)
                    .map(|&index| &self.entries[index])
                    .find(|entry| trusted(begin + entry.lead..begin + entry.len));
                let Some(entry) = counts else {
                    // The next match may begin within this one.
                    at = begin + text[begin..].chars().next().map_or(1, char::len_utf8);
                    continue;
                };
                let mut range = begin..begin + entry.len;
                at = range.end;
                if entry.single_word && (ends_with_word(&text[..range.start]) || starts_with_word(&text[range.end..])) {
                    continue;
                }
                if entry.lstrip {
                    range.start = trim_end(&text[..range.start]).len().max(done);
                }
                if entry.rstrip {
                    range.end = text.len() - trim_start(&text[range.end..]).len();
                    at = range.end;
                }
                done = range.end;
                return Some(Found {
                    range,
                    id: entry.id,
                    is_border: !entry.rstrip && !entry.single_word && !entry.goes_on,
                });
            }
            None
        })
    }
}

fn automaton(spellings: &[String], kind: MatchKind) -> AhoCorasick {
    AhoCorasick::builder()
        .match_kind(kind)
        .build(spellings)
        .expect("an automaton of a few thousand short tokens fits its 32-bit states")
}

/// Whether `range` shares a byte with one of `ranges`.
pub(super) fn touches(ranges: &[Range<usize>], range: Range<usize>) -> bool {
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

/// Whether `\w` of the `regex` crate matches, by which the reference decides (marks and joiners are part of words).
fn is_word(c: char) -> bool {
    regex_syntax::is_word_character(c)
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
        AddedToken::exact(id, content.to_owned())
    }

    fn found(tokens: Vec<AddedToken>, text: &str, untrusted: Option<Range<usize>>) -> Vec<(u32, &str)> {
        let table = AddedTokens::new(tokens);
        let untrusted = untrusted.map_or(Vec::new(), |range| vec![range]);
        table
            .raw()
            .find(text, |range| !touches(&untrusted, range))
            .map(|found| (found.id, &text[found.range]))
            .collect()
    }

    #[test]
    fn the_longest_of_the_leftmost_counts() {
        let tokens = vec![token(1, "<a>"), token(2, "<a>b"), token(3, "b")];
        assert_eq!(found(tokens, "x<a>bb<a>", None), [(2, "<a>b"), (3, "b"), (1, "<a>")]);
    }

    #[test]
    fn a_long_token_falls_back_to_its_beginnings() {
        let long = "<a>".repeat(1 << 10);
        let tokens = vec![token(1, "<a>"), token(2, "<a><a>"), token(3, &long)];
        assert_eq!(found(tokens.clone(), &long, None).len(), 1);
        // Without its last byte the longest of its beginnings count.
        let untrusted = long.len() - 1..long.len();
        assert_eq!(found(tokens, &long, Some(untrusted)).first(), Some(&(2, "<a><a>")));
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
    fn borders_are_tokens_that_no_other_goes_on_with() {
        let mut word = token(6, "ing");
        word.single_word = true;
        let mut strip = token(7, "<s>");
        strip.rstrip = true;
        let tokens = [
            token(1, "<a>"),
            token(2, "<a>b"),
            token(3, ">c"),
            token(4, "x<e>y"),
            token(5, "<e>"),
            word,
            strip,
        ];
        let table = AddedTokens::new(tokens);
        let found = |text: &str| -> Vec<(u32, bool)> {
            let found = table.raw().find(text, |_| true);
            found.map(|found| (found.id, found.is_border)).collect()
        };
        assert_eq!(
            found("<a> <a>b >c x<e>y <e> ing <s>"),
            [
                (1, false),
                (2, true),
                (3, true),
                (4, true),
                (5, false),
                (6, false),
                (7, false)
            ]
        );
        let text = "<a>b <a>b";
        let from: Vec<usize> = table
            .raw()
            .find_from(4, text, |_| true)
            .map(|found| found.range.start)
            .collect();
        assert_eq!(from, [5]);
    }

    #[test]
    fn single_words_stand_alone() {
        let mut word = token(1, "ing");
        word.single_word = true;
        assert_eq!(found(vec![word], "sing ing, ingot", None), [(1, "ing")]);
    }
}
