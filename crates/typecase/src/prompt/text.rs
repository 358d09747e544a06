//! The text of a prompt, in pieces until someone asks for the whole.

use super::Segment;
use std::cell::OnceCell;
use std::iter;
use typecase_jinja::value::Arena;

/// What was written for the prompt, and between it long texts of the request, which stay where they are: the tokenizer
/// reads segment by segment, so most prompts are never needed in one piece.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptText<'a> {
    /// All but the borrowed texts.
    pub(super) written: String,
    borrowed: Vec<Borrowed<'a>>,
    borrowed_len: usize,
    joined: OnceCell<String>,
}

/// A whole segment that lies in the request.
#[derive(Clone, Copy, Debug)]
struct Borrowed<'a> {
    /// Bytes of `written` before it.
    after: usize,
    text: &'a str,
}

impl<'a> PromptText<'a> {
    /// Nothing yet, in memory that was lent.
    pub(super) fn new(written: String) -> Self {
        PromptText {
            written,
            ..Self::default()
        }
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.written.len() + self.borrowed_len
    }

    /// Appends a text that is to be a segment by itself.
    pub(super) fn borrow(&mut self, text: &'a str) {
        self.borrowed.push(Borrowed {
            after: self.written.len(),
            text,
        });
        self.borrowed_len += text.len();
    }

    /// All in one piece, which is put together once.
    pub(super) fn joined(&self, arena: &Arena) -> &str {
        if self.borrowed.is_empty() {
            return &self.written;
        }
        self.joined.get_or_init(|| {
            let mut joined = arena.spare_text(self.len());
            let mut written = 0;
            for borrowed in &self.borrowed {
                joined.push_str(&self.written[written..borrowed.after]);
                joined.push_str(borrowed.text);
                written = borrowed.after;
            }
            joined.push_str(&self.written[written..]);
            joined
        })
    }

    /// The text of each segment, of which all are given.
    pub(super) fn segments<'s>(&'s self, segments: &'s [Segment]) -> impl ExactSizeIterator<Item = &'s str> {
        let (mut end, mut written) = (0, 0);
        let mut borrowed = self.borrowed.iter().copied().peekable();
        let next = move |segment: &Segment| {
            let len = segment.end - end;
            end = segment.end;
            match borrowed.next_if(|borrowed| borrowed.after == written) {
                Some(borrowed) => borrowed.text,
                None => {
                    written += len;
                    &self.written[written - len..written]
                }
            }
        };
        segments.iter().map(next)
    }

    /// Gives the memory back.
    pub(super) fn recycle(self, arena: &Arena) {
        let texts = iter::once(self.written).chain(self.joined.into_inner());
        texts.for_each(|text| arena.give_back(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::SpecialTokens;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_joined_are_the_text(pieces in prop::collection::vec(("[a-zé]{1,4}", any::<bool>()), 0..20)) {
            let arena = Arena::new();
            let mut text = PromptText::default();
            let mut segments = Vec::new();
            for (piece, is_borrowed) in &pieces {
                if *is_borrowed {
                    text.borrow(piece);
                } else {
                    text.written.push_str(piece);
                }
                segments.push(Segment { end: text.len(), special_tokens: SpecialTokens::None });
            }
            let expected: Vec<&str> = pieces.iter().map(|(piece, _)| piece.as_str()).collect();
            prop_assert_eq!(text.segments(&segments).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(text.joined(&arena), expected.concat());
            prop_assert_eq!(text.len(), expected.concat().len());
        }
    }
}
