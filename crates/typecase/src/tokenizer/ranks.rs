//! Ranks and a split pattern, as tiktoken has them: what `tiktoken.model` and `tekken.json` come down to.

use super::added_tokens::{AddedToken, AddedTokens};
use super::byte_table::ByteTable;
use super::chunking;
use super::vocabulary::{Piece, Vocabulary, append, encoding_error, to_text};
use crate::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::ops::Range;

/// A vocabulary of ranks.
pub(super) struct Ranks {
    inner: fastokens::Tokenizer,
    bytes: ByteTable,
    /// The id of rank 0.
    first_id: u32,
    /// Whether long text is cut as Kimi's tokenizer does.
    cuts_long_text: bool,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ranks({:?})", self.bytes)
    }
}

impl Ranks {
    /// A vocabulary of `ranks`, of which number 0 has the id `first_id`, and the special tokens `added`. The error says
    /// what is wrong with the file.
    pub(super) fn new(
        ranks: &[(Vec<u8>, u32)],
        pattern: &str,
        first_id: u32,
        added: &[AddedToken],
        cuts_long_text: bool,
    ) -> std::result::Result<Self, String> {
        check(ranks)?;
        let inner = fastokens::Tokenizer::from_tiktoken_ranks_with_added_tokens(ranks, pattern, &[])
            .map_err(|err| err.to_string())?;
        let plain = ranks.iter().map(|(bytes, rank)| (first_id + *rank, bytes.as_slice()));
        let special = added.iter().map(|token| (token.id, token.content.as_bytes()));
        Ok(Ranks {
            inner,
            bytes: ByteTable::new(plain.chain(special)),
            first_id,
            cuts_long_text,
        })
    }

    fn encode_chunk(&self, text: &str, ids: &mut Vec<u32>) -> Result<()> {
        let encoded = self.inner.encode_ordinary(text).map_err(encoding_error)?;
        match self.first_id {
            0 => append(encoded, ids),
            first => ids.extend(encoded.iter().map(|id| id + first)),
        }
        Ok(())
    }
}

/// What the split into merges relies on: ranks are 0, 1, ... in some order, every byte has one, no bytes have two.
fn check(ranks: &[(Vec<u8>, u32)]) -> std::result::Result<(), String> {
    let mut seen = vec![false; ranks.len()];
    let mut bytes = HashSet::with_capacity(ranks.len());
    for (token, rank) in ranks {
        match seen.get_mut(*rank as usize) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(format!("rank {rank} is given twice")),
            None => return Err(format!("rank {rank} leaves a gap: there are {} tokens", ranks.len())),
        }
        if token.is_empty() || !bytes.insert(token.as_slice()) {
            return Err(format!("the token of rank {rank} is empty or has another rank as well"));
        }
    }
    match (0..=255u8).find(|byte| !bytes.contains([*byte].as_slice())) {
        Some(byte) => Err(format!(
            "byte 0x{byte:02x} has no rank, so some text could not be encoded"
        )),
        None => Ok(()),
    }
}

impl Vocabulary for Ranks {
    fn encode(&self, piece: Piece<'_>, ids: &mut Vec<u32>) -> Result<()> {
        if !self.cuts_long_text {
            return self.encode_chunk(piece.text, ids);
        }
        chunking::chunks(piece.text).try_for_each(|chunk| self.encode_chunk(chunk, ids))
    }

    fn ranges(&self, piece: Piece<'_>, ids: &[u32], ranges: &mut Vec<Range<usize>>) -> Result<()> {
        let end = self.bytes.ranges(ids, 0, ranges);
        debug_assert_eq!(end, piece.text.len(), "byte-level tokens joined are the text");
        Ok(())
    }

    fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.token(id)
    }

    fn has_id(&self, id: u32) -> bool {
        self.bytes.token(id).is_some()
    }

    fn decode(&self, ids: &[u32], skip_special: bool, added_tokens: &AddedTokens) -> Result<String> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            match self.bytes.token(id) {
                _ if skip_special && added_tokens.by_id(id).is_some_and(|token| token.special) => {}
                Some(token) => bytes.extend_from_slice(token),
                // As the reference: an id outside the vocabulary is an error (`KeyError`).
                None => return Err(Error::new(ErrorKind::UnknownId { id })),
            }
        }
        Ok(to_text(bytes))
    }

    fn is_byte_level(&self) -> bool {
        true
    }
}
