//! Vocabularies in `tokenizer.json`.
//!
//! Two crates read it. `tokenizers` is the reference and knows every kind of model; `fastokens` is some fifty times as
//! fast and knows byte-level BPE and most of what else serves today. The fast one encodes where it can read the file and
//! gave the same ids on a [probe](probe) at load; the reference does all else: kinds the fast one lacks, byte ranges where
//! normalizing moves bytes, tokens that are looked for in normalized text.
//!
//! Added tokens are those of `tokenizer.json`, then those of `tokenizer_config.json` with its flags, then named special
//! tokens that are still missing, as `transformers` adds them. Where its [class](class) of tokenizer reads the vocabulary
//! alone, so is it done here.

mod class;
mod config;
mod fast;
mod growth;
mod pipeline;
mod probe;

use super::added_tokens::AddedTokens;
use super::byte_table::{ByteTable, bytes_of_byte_level};
use super::vocabulary::{Piece, Vocabulary, append, to_text};
use super::{Tokenizer, added_tokens};
use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::SpecialTokens;
use fast::Fast;
use pipeline::Pipeline;
use std::ops::Range;

pub(super) const FILE: &str = "tokenizer.json";

/// Reads `tokenizer.json` and, if there is one, `tokenizer_config.json`.
pub(super) fn load(files: &ModelFiles) -> Result<Tokenizer> {
    let broken = |reason: String| files.broken(FILE, reason);
    let text = files.read(FILE)?;
    let settings = class::Settings::read(files)?;
    let class = settings.class(&text);
    let mut json: serde_json::Value = serde_json::from_str(&text).map_err(|err| broken(err.to_string()))?;
    drop(text);
    // Encoding here is of parts of a prompt: nothing may be cut off, padded or put around each of them.
    for key in ["truncation", "padding", "post_processor"] {
        if let Some(value) = json.get_mut(key) {
            *value = serde_json::Value::Null;
        }
    }
    growth::check(&json).map_err(broken)?;
    let mut special = SpecialTokens::read(files)?;
    let mut declared = config::declared_tokens(files, &json, &special)?;
    if let Some(class) = class {
        class.default_tokens(&mut special);
        class.rebuild(&mut json, &settings, &special);
        let own = take_added_tokens(&mut json);
        declared = declared.or_else(|| Some(config::own_tokens(&own)));
    }
    let text = json.to_string();
    take_added_tokens(&mut json);
    // Each of the two takes a second for 150,000 tokens.
    let (fast, reference) = std::thread::scope(|scope| {
        let fast = scope.spawn(move || Fast::new(json));
        let reference = serde_json::from_str::<tokenizers::Tokenizer>(&text);
        // Without the fast one, whatever became of it, all is right and slow.
        (fast.join().ok().flatten(), reference)
    });
    let mut reference = reference.map_err(|err| broken(err.to_string()))?;
    config::add_tokens(&mut reference, declared.unwrap_or_default(), &special, class)?;
    let tokens = config::added_tokens(&reference);
    let pipeline = Pipeline::new(reference);
    let fast = fast.filter(|fast| probe::agree(fast, &pipeline, &tokens));
    let bytes = pipeline.is_byte_level().then(|| byte_table(&pipeline, &tokens));
    let added_tokens = AddedTokens::with_normalizer(
        tokens,
        |token| !(settings.splits_special_tokens && token.special),
        |content| pipeline.normalize(content),
    );
    let vocabulary = HuggingFace { fast, pipeline, bytes };
    Ok(Tokenizer::new(
        Box::new(vocabulary),
        added_tokens,
        special.into_named(),
        FILE,
    ))
}

/// Takes the added tokens out of a `tokenizer.json`.
fn take_added_tokens(json: &mut serde_json::Value) -> Vec<serde_json::Value> {
    match json.get_mut("added_tokens") {
        Some(serde_json::Value::Array(tokens)) => std::mem::take(tokens),
        _ => Vec::new(),
    }
}

/// The bytes of all tokens, by the rule of the byte-level decoder.
fn byte_table(pipeline: &Pipeline, added: &[added_tokens::AddedToken]) -> ByteTable {
    let vocabulary = pipeline.vocabulary();
    let plain = vocabulary.iter().map(|(token, id)| (*id, bytes_of_byte_level(token)));
    // Added tokens shadow tokens of the same id, and are decoded from what they are found by.
    let added = added.iter().map(|token| match token.normalized {
        true => (token.id, bytes_of_byte_level(&pipeline.normalize(&token.content))),
        false => (token.id, bytes_of_byte_level(&token.content)),
    });
    let all: Vec<(u32, Vec<u8>)> = plain.chain(added).collect();
    ByteTable::new(all.iter().map(|(id, bytes)| (*id, bytes.as_slice())))
}

struct HuggingFace {
    fast: Option<Fast>,
    pipeline: Pipeline,
    /// Set where tokens are bytes.
    bytes: Option<ByteTable>,
}

impl std::fmt::Debug for HuggingFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HuggingFace")
            .field("fast", &self.fast.is_some())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Vocabulary for HuggingFace {
    fn encode(&self, piece: Piece<'_>, ids: &mut Vec<u32>) -> Result<()> {
        match &self.fast {
            Some(fast) => {
                append(fast.encode(piece)?, ids);
                Ok(())
            }
            None => self.pipeline.encode(piece, ids),
        }
    }

    fn ranges(&self, piece: Piece<'_>, ids: &[u32], ranges: &mut Vec<Range<usize>>) -> Result<()> {
        if let Some(bytes) = &self.bytes
            && bytes.spells(ids, piece.text)
        {
            bytes.ranges(ids, 0, ranges);
            return Ok(());
        }
        let slow = self.pipeline.encode_with_ranges(piece, None, &|_| true)?;
        debug_assert!(
            slow.iter().map(|token| token.0).eq(ids.iter().copied()),
            "the backends agree"
        );
        // A text on which they do not agree after all must not end in ranges of other tokens.
        match slow.len() == ids.len() {
            true => ranges.extend(slow.into_iter().map(|token| token.1)),
            false => ranges.extend(ids.iter().map(|_| 0..piece.text.len())),
        }
        Ok(())
    }

    fn encode_normalized(
        &self,
        piece: Piece<'_>,
        added_tokens: &AddedTokens,
        trusted: &dyn Fn(Range<usize>) -> bool,
    ) -> Result<Vec<(u32, Range<usize>)>> {
        self.pipeline
            .encode_with_ranges(piece, Some(added_tokens.normalized()), trusted)
    }

    fn is_normalized(&self, text: &str) -> bool {
        self.pipeline.is_normalized(text)
    }

    fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.bytes.as_ref()?.token(id)
    }

    fn has_id(&self, id: u32) -> bool {
        self.pipeline.has_id(id)
    }

    fn decode(&self, ids: &[u32], skip_special: bool, added_tokens: &AddedTokens) -> Result<String> {
        let Some(table) = &self.bytes else {
            return self.pipeline.decode(ids, skip_special);
        };
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            if skip_special && added_tokens.by_id(id).is_some_and(|token| token.special) {
                continue;
            }
            // Ids without a token are left out, as the reference does: models have more outputs than tokens.
            bytes.extend_from_slice(table.token(id).unwrap_or_default());
        }
        Ok(to_text(bytes))
    }

    fn is_byte_level(&self) -> bool {
        self.bytes.is_some()
    }
}
