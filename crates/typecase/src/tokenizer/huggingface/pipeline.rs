//! The reference: the steps of the `tokenizers` crate, one after the other, with the cuts that were decided here.

use crate::Result;
use crate::tokenizer::added_tokens::Finder;
use crate::tokenizer::vocabulary::{Piece, encoding_error};
use std::collections::HashMap;
use std::ops::Range;
use tokenizers::normalizer::Range as Side;
use tokenizers::{
    DecoderWrapper, Model, NormalizedString, Normalizer, NormalizerWrapper, OffsetType, PreTokenizedString,
    PreTokenizer, PreTokenizerWrapper, Token, Tokenizer,
};

pub(super) struct Pipeline {
    inner: Tokenizer,
    normalizer: NormalizerKind,
}

/// What is known of a normalizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NormalizerKind {
    None,
    /// It only composes characters: ASCII stays, and so does each part of what stays.
    Composing,
    Other,
}

impl Pipeline {
    pub(super) fn new(inner: Tokenizer) -> Self {
        let normalizer = match inner.get_normalizer() {
            None => NormalizerKind::None,
            Some(NormalizerWrapper::NFC(_)) => NormalizerKind::Composing,
            Some(NormalizerWrapper::Sequence(steps)) if steps.as_ref().is_empty() => NormalizerKind::None,
            Some(_) => NormalizerKind::Other,
        };
        Pipeline { inner, normalizer }
    }

    /// Whether the text of ids is the bytes of each, by the byte-level table.
    pub(super) fn is_byte_level(&self) -> bool {
        matches!(self.inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)))
    }

    /// Tokens of the model and their ids, without added ones.
    pub(super) fn vocabulary(&self) -> HashMap<String, u32> {
        self.inner.get_vocab(false)
    }

    /// What normalizing makes of a text.
    pub(super) fn normalize(&self, text: &str) -> String {
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = self.inner.get_normalizer() {
            // A spelling that cannot be normalized is found as it is written, as in the reference.
            if normalizer.normalize(&mut normalized).is_err() {
                return text.to_owned();
            }
        }
        normalized.get().to_owned()
    }

    /// Whether normalizing leaves `text` and each part of it as it is, as far as that is cheap to tell.
    pub(super) fn is_normalized(&self, text: &str) -> bool {
        match self.normalizer {
            NormalizerKind::None => true,
            NormalizerKind::Composing => text.is_ascii() || self.normalize(text) == text,
            NormalizerKind::Other => false,
        }
    }

    /// Appends the ids of `piece`, in which no added token is looked for.
    pub(super) fn encode(&self, piece: Piece<'_>, ids: &mut Vec<u32>) -> Result<()> {
        let tokenized = self.tokenize(piece, None, &|_| true)?;
        let encoding = tokenized
            .into_encoding(None, 0, OffsetType::None)
            .map_err(encoding_error)?;
        ids.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// The ids of `piece` with their byte ranges in it. Added tokens of `finder` are found in the normalized text, where
    /// `trusted` says so of the bytes of the piece that they came from.
    pub(super) fn encode_with_ranges(
        &self,
        piece: Piece<'_>,
        finder: Option<&Finder>,
        trusted: &dyn Fn(Range<usize>) -> bool,
    ) -> Result<Vec<(u32, Range<usize>)>> {
        let tokenized = self.tokenize(piece, finder, trusted)?;
        let encoding = tokenized
            .into_encoding(None, 0, OffsetType::Byte)
            .map_err(encoding_error)?;
        let shift = lead(piece).len();
        let ranges = encoding.get_offsets().iter().map(|(start, end)| {
            let within = |at: usize| at.saturating_sub(shift).min(piece.text.len());
            within(*start)..within(*end)
        });
        Ok(encoding.get_ids().iter().copied().zip(ranges).collect())
    }

    fn tokenize(
        &self,
        piece: Piece<'_>,
        finder: Option<&Finder>,
        trusted: &dyn Fn(Range<usize>) -> bool,
    ) -> Result<PreTokenizedString> {
        let lead = lead(piece);
        let mut text = PreTokenizedString::from(format!("{lead}{}", piece.text));
        if !lead.is_empty() {
            // What comes before the piece has its tokens already: none.
            text.split(|_, whole| {
                Ok([
                    part(&whole, 0..lead.len(), Some(Vec::new())),
                    part(&whole, lead.len()..whole.len(), None),
                ])
            })
            .map_err(encoding_error)?;
        }
        text.split(|_, mut normalized: NormalizedString| {
            let (begin, _) = normalized.offsets_original();
            if let Some(normalizer) = self.inner.get_normalizer() {
                normalizer.normalize(&mut normalized)?;
            }
            let Some(finder) = finder else {
                return Ok(vec![(normalized, None)]);
            };
            let mut parts = Vec::new();
            let mut done = 0;
            let counts = |range: Range<usize>| {
                let origin = normalized.convert_offsets(Side::Normalized(range)).unwrap_or(0..0);
                trusted(begin - lead.len() + origin.start..begin - lead.len() + origin.end)
            };
            for found in finder.find(normalized.get(), counts) {
                parts.push(part(&normalized, done..found.range.start, None));
                let spelled = normalized.get()[found.range.clone()].to_owned();
                let token = Token::new(found.id, spelled, (0, found.range.len()));
                parts.push(part(&normalized, found.range.clone(), Some(vec![token])));
                done = found.range.end;
            }
            parts.push(part(&normalized, done..normalized.get().len(), None));
            Ok(parts)
        })
        .map_err(encoding_error)?;
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            PreTokenizerWrapper::pre_tokenize(pre_tokenizer, &mut text).map_err(encoding_error)?;
        }
        self.inner
            .get_model()
            .tokenize_in_pretokenized(&mut text, None)
            .map_err(encoding_error)?;
        Ok(text)
    }

    /// Whether there is a token with this id.
    pub(super) fn has_id(&self, id: u32) -> bool {
        self.inner.id_to_token(id).is_some()
    }

    /// The text of `ids`, by the decoder of the file.
    pub(super) fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.inner.decode(ids, skip_special).map_err(encoding_error)
    }
}

/// Stands before a piece that does not begin its segment, for steps that treat position 0 apart.
fn lead(piece: Piece<'_>) -> &'static str {
    if piece.first { "" } else { "\0" }
}

/// A part of `whole`, with the tokens that it has if it has them.
fn part(
    whole: &NormalizedString,
    range: Range<usize>,
    tokens: Option<Vec<Token>>,
) -> (NormalizedString, Option<Vec<Token>>) {
    let part = whole.slice(Side::Normalized(range));
    (part.unwrap_or_default(), tokens)
}
