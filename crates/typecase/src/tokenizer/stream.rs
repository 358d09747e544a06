//! Ids to text as they come, without ever showing half a character.

use super::Tokenizer;
use crate::Result;

/// Decodes ids one after the other. What it gave and what [`finish`](Self::finish) gives, joined, is the text of all ids.
///
/// # Example
/// ```
/// use typecase::{Model, prompt::SpecialTokens};
/// let model = Model::demo()?;
/// let ids = model.tokenizer().encode_text("grüß 😀", SpecialTokens::None)?;
/// let mut stream = model.tokenizer().stream();
/// let mut text = String::new();
/// for id in ids {
///     text += &stream.push(id)?;
/// }
/// text += &stream.finish()?;
/// assert_eq!(text, "grüß 😀");
/// # Ok::<(), typecase::Error>(())
/// ```
#[derive(Debug)]
pub struct DecodeStream<'t> {
    tokenizer: &'t Tokenizer,
    skip_special: bool,
    /// Bytes that are not yet a whole character, where tokens are bytes.
    bytes: Vec<u8>,
    /// Elsewhere: ids whose text is still open, and before them those that the decoder needs to see for it.
    ids: Vec<u32>,
    /// How many of `ids` have been given.
    given: usize,
}

impl<'t> DecodeStream<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, skip_special: bool) -> Self {
        DecodeStream {
            tokenizer,
            skip_special,
            bytes: Vec::new(),
            ids: Vec::new(),
            given: 0,
        }
    }

    /// Takes the next id; the text that is certain now, which may be none.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn push(&mut self, id: u32) -> Result<String> {
        let special = self
            .tokenizer
            .added_tokens()
            .by_id(id)
            .is_some_and(|token| token.special);
        if self.skip_special && special {
            return Ok(String::new());
        }
        if !self.tokenizer.vocabulary.is_byte_level() {
            return self.push_by_window(id);
        }
        match self.tokenizer.token_bytes(id) {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            // An error or nothing, as the vocabulary has it.
            None => return self.tokenizer.decode(&[id]),
        }
        Ok(self.take_whole_characters())
    }

    /// What was held back; bytes that never became a character are U+FFFD.
    ///
    /// # Errors
    /// As [`Tokenizer::decode`].
    pub fn finish(mut self) -> Result<String> {
        if self.tokenizer.vocabulary.is_byte_level() {
            return Ok(String::from_utf8_lossy(&self.bytes).into_owned());
        }
        let before = self.decode(self.given)?;
        let all = self.decode(self.ids.len())?;
        self.ids.clear();
        Ok(all.strip_prefix(before.as_str()).unwrap_or_default().to_owned())
    }

    fn take_whole_characters(&mut self) -> String {
        let mut text = String::new();
        let mut done = 0;
        loop {
            match std::str::from_utf8(&self.bytes[done..]) {
                Ok(rest) => {
                    text.push_str(rest);
                    done = self.bytes.len();
                    break;
                }
                Err(err) => {
                    let whole = done + err.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.bytes[done..whole]));
                    done = whole;
                    match err.error_len() {
                        // The end may become a character yet.
                        None => break,
                        Some(len) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            done += len;
                        }
                    }
                }
            }
        }
        self.bytes.drain(..done);
        text
    }

    /// Where a decoder looks at its neighbours (a space that is dropped at the beginning, bytes spelled as `<0x0A>`): what
    /// an id adds is the text with it less the text without it, both decoded from a place a little before.
    fn push_by_window(&mut self, id: u32) -> Result<String> {
        self.ids.push(id);
        let before = self.decode(self.given)?;
        let all = self.decode(self.ids.len())?;
        if all.ends_with(char::REPLACEMENT_CHARACTER) {
            return Ok(String::new());
        }
        let Some(added) = all.strip_prefix(before.as_str()) else {
            return Ok(String::new());
        };
        let added = added.to_owned();
        self.ids.drain(..self.given);
        self.given = self.ids.len();
        Ok(added)
    }

    fn decode(&self, n: usize) -> Result<String> {
        let tokenizer = self.tokenizer;
        tokenizer
            .vocabulary
            .decode(&self.ids[..n], self.skip_special, &tokenizer.added_tokens)
    }
}
