//! What a vocabulary has to do.

use super::added_tokens::AddedTokens;
use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

/// A stretch of a segment in which no added token is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// Whether the segment begins with it. Some vocabularies put a space only there.
    pub(super) first: bool,
}

/// Text to ids and back.
pub(super) trait Vocabulary: Debug + Send + Sync {
    /// Appends the ids of `piece`, whatever it spells.
    fn encode(&self, piece: Piece<'_>, ids: &mut Vec<u32>) -> Result<()>;

    /// Appends the byte range, within the piece, of each of `ids`, which are those of `piece`.
    fn ranges(&self, piece: Piece<'_>, ids: &[u32], ranges: &mut Vec<Range<usize>>) -> Result<()>;

    /// Encodes a piece in which added tokens are to be found that are looked for in normalized text. A spelling counts if
    /// `trusted` says so of the bytes of the piece that it came from.
    fn encode_normalized(
        &self,
        piece: Piece<'_>,
        added_tokens: &AddedTokens,
        trusted: &dyn Fn(Range<usize>) -> bool,
    ) -> Result<Vec<(u32, Range<usize>)>> {
        let _ = (added_tokens, trusted);
        let mut ids = Vec::new();
        let mut ranges = Vec::new();
        self.encode(piece, &mut ids)?;
        self.ranges(piece, &ids, &mut ranges)?;
        Ok(ids.into_iter().zip(ranges).collect())
    }

    /// Whether normalizing leaves this text and every part of it as it is.
    fn is_normalized(&self, text: &str) -> bool {
        let _ = text;
        true
    }

    /// The bytes of a token, for vocabularies whose tokens are bytes.
    fn token_bytes(&self, id: u32) -> Option<&[u8]>;

    /// Whether there is a token with this id.
    fn has_id(&self, id: u32) -> bool;

    /// The text of `ids`.
    fn decode(&self, ids: &[u32], skip_special: bool, added_tokens: &AddedTokens) -> Result<String>;

    /// Whether the text of ids is the bytes of each, one after the other.
    fn is_byte_level(&self) -> bool;
}

/// Bytes to text; what is no UTF-8 becomes U+FFFD, as in Python's `decode(errors="replace")`.
pub(super) fn to_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(invalid) => match String::from_utf8_lossy(invalid.as_bytes()) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        },
    }
}

/// Appends the ids of one piece. Memory that was set aside for the ids of all pieces is not given up for that of the first.
pub(super) fn append(encoded: Vec<u32>, ids: &mut Vec<u32>) {
    match ids.is_empty() && ids.capacity() < encoded.len() {
        true => *ids = encoded,
        false => ids.extend_from_slice(&encoded),
    }
}

/// An error of a tokenizer crate.
pub(super) fn encoding_error(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Encoding {
        reason: error.to_string(),
    })
}
