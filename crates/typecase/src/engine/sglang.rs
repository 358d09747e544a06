//! SGLang.
//!
//! SGLang's processors take the canonical ids (`prefer_tokenized_input`): they look for the placeholder's id, expand it
//! and count themselves, late, in a process of their own. The adapter counts first, where the client can still be told.
//! What SGLang will make of the ids, for a router to hash, is [`expand`](super::expand).

use super::RawMedia;
use super::canonical::Canonical;
use crate::Result;
use crate::media::Anchors;

/// The adapter for SGLang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sglang {
    canonical: Canonical,
}

impl Sglang {
    /// The adapter for a checkpoint with these anchors.
    pub fn new(anchors: Anchors) -> Self {
        Sglang {
            canonical: Canonical::new(anchors),
        }
    }

    /// The ids to put into `input_ids`: the same, once they are found to have one placeholder per item.
    ///
    /// # Errors
    /// [`ErrorKind::MediaCount`](crate::ErrorKind::MediaCount) (client) if they have not.
    pub fn prompt_ids<'a>(&self, ids: &'a [u32], media: &RawMedia) -> Result<&'a [u32]> {
        self.canonical.prompt_ids(ids, media)
    }
}
