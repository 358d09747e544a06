//! What a vocabulary has to do.

use crate::Result;
use std::fmt::Debug;
use std::ops::Range;

/// Text to ids, without any added token.
pub(super) trait Vocabulary: Debug + Send + Sync {
    /// Appends the ids of `text`, whatever it spells.
    fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Result<()>;

    /// Appends the byte range of each of `ids`, which are those of `text`, whose first byte is number `start`.
    fn ranges(&self, text: &str, start: usize, ids: &[u32], ranges: &mut Vec<Range<usize>>) -> Result<()>;

    /// The bytes of a token.
    fn token_bytes(&self, id: u32) -> Option<&[u8]>;
}
