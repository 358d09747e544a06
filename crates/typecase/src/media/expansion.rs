//! What an engine's prompt has in place of an anchor.

use crate::Result;
use std::borrow::Cow;
use std::ops::Range;

/// A part of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A registered token, `count` times in a row.
    Token {
        /// Its spelling.
        spelling: &'static str,
        /// How many of it; at least 1.
        count: usize,
        /// Whether its positions hold the features of the item.
        embeds: bool,
    },
    /// Text, encoded on its own: no token crosses its borders.
    Text(Cow<'static, str>),
}

/// What stands in an engine's prompt for one media item.
///
/// Texts that are encoded jointly are one [`Piece::Text`], so borders of pieces are borders of encoding.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Expansion {
    pieces: Vec<Piece>,
    /// The pieces before and after these count as text around the item, not as the item (Gemma 3's newlines).
    item: Range<usize>,
    merges_newlines: bool,
}

/// What a vocabulary has to answer for expansions.
pub trait Vocabulary {
    /// The id of the registered token of this spelling.
    fn token_id(&self, spelling: &str) -> Option<u32>;

    /// The ids of ordinary text; no part of it becomes a special token.
    ///
    /// # Errors
    /// Whatever the tokenizer refuses.
    fn encode_text(&self, text: &str) -> Result<Vec<u32>>;

    /// The ids of text that a format wrote: special tokens in it count.
    ///
    /// # Errors
    /// Whatever the tokenizer refuses.
    fn encode_control(&self, text: &str) -> Result<Vec<u32>>;
}

/// The ids of an expansion.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExpansionIds {
    /// The ids.
    pub ids: Vec<u32>,
    /// The positions within `ids` that are the item; what is outside is text around it.
    pub item: Range<usize>,
    /// The positions within `ids` that hold features, in order, no two of them adjacent.
    pub embeds: Vec<Range<usize>>,
    /// Whether newline tokens at its ends merge with newline tokens of the prompt, as one text of them would.
    pub merges_newlines: bool,
}

impl Expansion {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds one `spelling`.
    pub(super) fn token(self, spelling: &'static str) -> Self {
        self.push(Piece::Token {
            spelling,
            count: 1,
            embeds: false,
        })
    }

    /// Adds `count` times `spelling`, which hold features.
    pub(super) fn features(self, spelling: &'static str, count: usize) -> Self {
        if count == 0 {
            return self;
        }
        self.push(Piece::Token {
            spelling,
            count,
            embeds: true,
        })
    }

    /// Adds `text`, which is encoded on its own.
    pub(super) fn text(self, text: impl Into<Cow<'static, str>>) -> Self {
        self.push(Piece::Text(text.into()))
    }

    /// Adds text around the item that merges with newlines of the prompt.
    pub(super) fn newlines_around(mut self, newlines: &'static str) -> Self {
        self.pieces.insert(0, Piece::Text(Cow::Borrowed(newlines)));
        self.pieces.push(Piece::Text(Cow::Borrowed(newlines)));
        self.item = 1..self.pieces.len() - 1;
        self.merges_newlines = true;
        self
    }

    /// Adds text after the item that merges with newlines of the prompt.
    pub(super) fn newlines_after(mut self, newlines: &'static str) -> Self {
        self.pieces.push(Piece::Text(Cow::Borrowed(newlines)));
        self.merges_newlines = true;
        self
    }

    fn push(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self.item.end = self.pieces.len();
        self
    }

    /// The parts, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Number of positions that hold features.
    pub fn feature_count(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Token {
                    count, embeds: true, ..
                } => *count,
                _ => 0,
            })
            .sum()
    }

    /// How it is spelled.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Token { spelling, count, .. } => (0..*count).for_each(|_| text.push_str(spelling)),
                Piece::Text(piece) => text.push_str(piece),
            }
        }
        text
    }

    /// Its ids.
    ///
    /// # Errors
    /// [`ErrorKind::PlaceholderNotRegistered`](crate::ErrorKind::PlaceholderNotRegistered) (server) if the vocabulary lacks one
    /// of the tokens.
    pub fn to_ids(&self, vocabulary: &dyn Vocabulary) -> Result<ExpansionIds> {
        let mut out = ExpansionIds {
            merges_newlines: self.merges_newlines,
            ..ExpansionIds::default()
        };
        for (index, piece) in self.pieces.iter().enumerate() {
            let start = out.ids.len();
            if index == self.item.start {
                out.item.start = start;
            }
            match piece {
                Piece::Token {
                    spelling,
                    count,
                    embeds,
                } => {
                    let id = vocabulary.token_id(spelling).ok_or_else(|| {
                        crate::Error::new(crate::ErrorKind::PlaceholderNotRegistered {
                            token: (*spelling).to_owned(),
                            ids: Vec::new(),
                        })
                    })?;
                    out.ids.extend(std::iter::repeat_n(id, *count));
                    if *embeds {
                        match out.embeds.last_mut() {
                            Some(last) if last.end == start => last.end = out.ids.len(),
                            _ => out.embeds.push(start..out.ids.len()),
                        }
                    }
                }
                Piece::Text(text) => out.ids.extend(vocabulary.encode_text(text)?),
            }
            if index + 1 == self.item.end {
                out.item.end = out.ids.len();
            }
        }
        Ok(out)
    }
}
