//! Prompt to token ids, and back.
//!
//! ```text
//! Prompt ─segments─> added tokens (where trusted) ─┬─ control token ─────────────────> its id
//!                                                  └─ text ─ Vocabulary::encode ─────> ids
//! ```
//!
//! Turning text into ids is not reinvented: [`fastokens`](https://crates.io/crates/fastokens) does it. What is decided
//! here is *where an added token may be seen* ([`AddedTokens`]): vocabularies only ever get text in which none is.
//!
//! | directory has | module | reference |
//! |---|---|---|
//! | `tiktoken.model` | `tiktoken` | Python `tiktoken` with the ranks and the pattern of the model's family |

mod added_tokens;
mod byte_table;
#[cfg(feature = "tiktoken")]
mod chunking;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod tokens;
mod vocabulary;

pub use added_tokens::{AddedToken, AddedTokens};
pub use tokens::Tokens;

use crate::model::ModelFiles;
use crate::prompt::{Prompt, SpecialTokens, Writer};
use crate::{Error, ErrorKind, Result};
use std::ops::Range;
use vocabulary::Vocabulary;

/// Encodes prompts and decodes ids. Shared between threads as it is.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Box<dyn Vocabulary>,
    added_tokens: AddedTokens,
}

/// Whether added tokens are looked for in text of a template that the request supplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Never: an added token counts only where each of its bytes was written by the template or by the model's own
    /// configuration. Ids are those of `compat` whenever the request spells no added token.
    #[default]
    Strict,
    /// Everywhere: ids as a plain `encode` of the rendered text. Whoever writes the request can write control tokens.
    Compat,
}

/// How [`Tokenizer::encode_with`] encodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Whether added tokens in request text count, in segments of the policy [`SpecialTokens::Trusted`].
    pub trust: Trust,
    /// Whether the byte range of each token is wanted.
    pub ranges: bool,
}

impl EncodeOptions {
    /// Strict, without ranges.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether added tokens in request text count.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Asks for the byte range of each token.
    #[must_use]
    pub fn ranges(mut self, ranges: bool) -> Self {
        self.ranges = ranges;
        self
    }
}

impl Tokenizer {
    /// The tokenizer of a model directory.
    ///
    /// # Errors
    /// Server faults that name the file: none that could be read as a vocabulary, or one that is broken.
    pub(crate) fn load(files: &ModelFiles) -> Result<Self> {
        #[cfg(feature = "tiktoken")]
        if files.has(tiktoken::FILE) {
            return tiktoken::load(files);
        }
        Err(Error::new(ErrorKind::NoVocabulary {
            directory: files.name(),
        }))
    }

    fn new(vocabulary: Box<dyn Vocabulary>, added_tokens: AddedTokens) -> Self {
        let tokenizer = Tokenizer {
            vocabulary,
            added_tokens,
        };
        // The first call builds tables (0.1 to 0.3 s for a vocabulary of 150,000), which no request should wait for.
        let _warmed = tokenizer.encode_text("Hello, world 1\n", SpecialTokens::None);
        tokenizer
    }

    /// The ids of `prompt`, segment by segment: no token crosses a segment's border.
    ///
    /// # Errors
    /// [`ErrorKind::Encoding`] (server) when the vocabulary cannot represent the text; byte-level ones always can.
    pub fn encode(&self, prompt: &Prompt<'_>) -> Result<Tokens> {
        self.encode_with(prompt, EncodeOptions::default())
    }

    /// The ids of `prompt`, as `options` say.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_with(&self, prompt: &Prompt<'_>, options: EncodeOptions) -> Result<Tokens> {
        let mut ids = Vec::with_capacity(prompt.text().len() / 3 + prompt.segments().len());
        let mut ranges = options.ranges.then(Vec::new);
        let untrusted = match options.trust {
            Trust::Strict => request_ranges(prompt),
            Trust::Compat => Vec::new(),
        };
        let mut start = 0;
        for (text, policy) in prompt.segment_texts() {
            self.encode_segment(text, policy, start, &untrusted, &mut ids, ranges.as_mut())?;
            start += text.len();
        }
        Ok(Tokens::new(ids, ranges))
    }

    /// The ids of a text on its own; with [`SpecialTokens::Trusted`] all of it is trusted.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_text(&self, text: &str, policy: SpecialTokens) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        self.encode_segment(text, policy, 0, &[], &mut ids, None)?;
        Ok(ids)
    }

    /// Encodes the segment `text` that begins at byte `start` of the prompt.
    fn encode_segment(
        &self,
        text: &str,
        policy: SpecialTokens,
        start: usize,
        untrusted: &[Range<usize>],
        ids: &mut Vec<u32>,
        mut ranges: Option<&mut Vec<Range<usize>>>,
    ) -> Result<()> {
        let untrusted = match policy {
            SpecialTokens::None => return self.encode_plain(text, start, ids, ranges),
            SpecialTokens::All => &[],
            SpecialTokens::Trusted => untrusted,
        };
        // Nearly every control segment is one token as it stands.
        if policy == SpecialTokens::All
            && let Some(id) = self.added_tokens.id(text)
        {
            push_token(id, start..start + text.len(), ids, ranges);
            return Ok(());
        }
        let mut done = 0;
        for found in self.added_tokens.find(text, start, untrusted) {
            self.encode_plain(&text[done..found.range.start], start + done, ids, ranges.as_deref_mut())?;
            let range = start + found.range.start..start + found.range.end;
            push_token(found.id, range, ids, ranges.as_deref_mut());
            done = found.range.end;
        }
        self.encode_plain(&text[done..], start + done, ids, ranges)
    }

    /// Encodes text in which no added token is looked for.
    fn encode_plain(
        &self,
        text: &str,
        start: usize,
        ids: &mut Vec<u32>,
        ranges: Option<&mut Vec<Range<usize>>>,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let before = ids.len();
        self.vocabulary.encode(text, ids)?;
        if let Some(ranges) = ranges {
            self.vocabulary.ranges(text, start, &ids[before..], ranges)?;
        }
        Ok(())
    }

    /// The text of `ids`. Bytes that are no UTF-8 become U+FFFD, as in Python's `decode(errors="replace")`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownId`] (client) for an id outside the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            match self.token_bytes(id) {
                Some(token) => bytes.extend_from_slice(token),
                None => return Err(Error::new(ErrorKind::UnknownId { id })),
            }
        }
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
        })
    }

    /// The bytes that `id` stands for. They need not be whole characters.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        match self.added_tokens.by_id(id) {
            Some(token) => Some(token.content.as_bytes()),
            None => self.vocabulary.token_bytes(id),
        }
    }

    /// The added tokens: control tokens and others that are found in text before it is encoded.
    pub fn added_tokens(&self) -> &AddedTokens {
        &self.added_tokens
    }
}

fn push_token(id: u32, range: Range<usize>, ids: &mut Vec<u32>, ranges: Option<&mut Vec<Range<usize>>>) {
    ids.push(id);
    if let Some(ranges) = ranges {
        ranges.push(range);
    }
}

/// The bytes that the request wrote, joined where they touch.
fn request_ranges(prompt: &Prompt<'_>) -> Vec<Range<usize>> {
    if !prompt
        .segments()
        .iter()
        .any(|segment| segment.special_tokens == SpecialTokens::Trusted)
    {
        return Vec::new();
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (range, writer) in prompt.provenance().ranges() {
        match (writer, ranges.last_mut()) {
            (Writer::Format | Writer::Config, _) => {}
            (Writer::Request(_), Some(last)) if last.end == range.start => last.end = range.end,
            (Writer::Request(_), _) => ranges.push(range),
        }
    }
    ranges
}
