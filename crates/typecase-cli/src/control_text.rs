//! Where a prompt spells control tokens.

use std::collections::HashMap;
use std::ops::Range;

/// Spellings to look for.
#[derive(Debug)]
pub(crate) struct Spellings<'s> {
    /// Known ones by their first byte, longest first.
    known: HashMap<u8, Vec<&'s str>>,
    /// Whether anything that looks like one counts, for want of a vocabulary.
    guess: bool,
}

/// Bytes that a guessed spelling may have.
const MAX_LEN: usize = 48;

impl<'s> Spellings<'s> {
    /// Those of `known`, and with `guess` whatever is built like `<|im_end|>`, `<end_of_turn>`, `</s>` or `[INST]`.
    pub(crate) fn new(known: impl IntoIterator<Item = &'s str>, guess: bool) -> Self {
        let mut table: HashMap<u8, Vec<&'s str>> = HashMap::new();
        for spelling in known {
            if let Some(first) = spelling.bytes().next() {
                table.entry(first).or_default().push(spelling);
            }
        }
        #[expect(clippy::iter_over_hash_type, reason = "each list is sorted on its own")]
        for spellings in table.values_mut() {
            spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        }
        Spellings { known: table, guess }
    }

    /// The spellings in `text`, from left to right.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(first) = text.as_bytes().get(at) {
            // Both kinds begin and end where characters do; other places are passed over byte by byte.
            let len = text.get(at..).and_then(|rest| {
                let known = self.known.get(first).into_iter().flatten();
                let known = known.copied().find(|spelling| rest.starts_with(spelling)).map(str::len);
                known.or_else(|| self.guess.then(|| guessed(rest)).flatten())
            });
            match len {
                Some(len) => {
                    found.push(at..at + len);
                    at += len;
                }
                None => at += 1,
            }
        }
        found
    }
}

/// The length of what looks like a control token at the beginning of `text`.
fn guessed(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (close, is_inner): (u8, fn(char) -> bool) = match bytes.first()? {
        b'<' => (b'>', |c| c.is_alphanumeric() || "_-|/:.\u{ff5c}\u{2581}".contains(c)),
        b'[' => (b']', |c| {
            c.is_ascii_uppercase() || c.is_ascii_digit() || "_/".contains(c)
        }),
        _ => return None,
    };
    let end = bytes.iter().take(MAX_LEN).position(|byte| *byte == close)?;
    let inner = text.get(1..end)?;
    let has_letter = inner.chars().any(char::is_alphabetic);
    (has_letter && inner.chars().all(is_inner)).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_guessed_spellings() {
        let text = "<s>a <|im_end|> b < c > [INST] [x] <｜User｜>";
        let spelled = |spellings: &Spellings<'_>| -> Vec<String> {
            spellings
                .find(text)
                .into_iter()
                .map(|range| text[range].to_owned())
                .collect()
        };
        assert_eq!(spelled(&Spellings::new(["<|im_end|>", "<|im"], false)), ["<|im_end|>"]);
        assert_eq!(
            spelled(&Spellings::new([], true)),
            ["<s>", "<|im_end|>", "[INST]", "<｜User｜>"]
        );
    }
}
