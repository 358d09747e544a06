//! The ids of a prompt.

use std::ops::Range;

/// Token ids, with their byte ranges when these were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    ids: Vec<u32>,
    ranges: Option<Vec<Range<usize>>>,
}

impl Tokens {
    pub(super) fn new(ids: Vec<u32>, ranges: Option<Vec<Range<usize>>>) -> Self {
        debug_assert!(ranges.as_ref().is_none_or(|ranges| ranges.len() == ids.len()));
        Tokens { ids, ranges }
    }

    /// The ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The ids, without a copy.
    pub fn into_ids(self) -> Vec<u32> {
        self.ids
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The bytes of the prompt that each token stands for, if they were asked for. They need not be whole characters.
    pub fn ranges(&self) -> Option<&[Range<usize>]> {
        self.ranges.as_deref()
    }
}
