//! The named special tokens of a model (`bos_token` and the like), which every template can read.

use std::ops::Range;
use typecase_jinja::value::{Origin, Text};

/// The `special_tokens_map` of a tokenizer: attribute names and their tokens.
///
/// The tokens are trusted configuration of the model: where a template prints one, it is a special token, just as if the
/// template had spelled it.
#[derive(Clone, Debug, Default)]
pub struct TokenNames {
    /// All tokens in one piece, so that two addresses tell their bytes from all others.
    pool: String,
    /// Each name and where its token stands in `pool`.
    names: Vec<(String, Range<usize>)>,
}

/// The names that transformers knows (`SPECIAL_TOKENS_ATTRIBUTES`). Others in a `tokenizer_config.json` are no variables.
pub const TOKEN_NAMES: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

impl TokenNames {
    /// No tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the token `name`, or replaces it.
    pub fn insert(&mut self, name: &str, token: &str) {
        self.names.retain(|(known, _)| known != name);
        let start = self.pool.len();
        self.pool.push_str(token);
        self.names.push((name.to_owned(), start..self.pool.len()));
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names and tokens, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Text<'_>)> {
        self.names
            .iter()
            .map(|(name, range)| (name.as_str(), Text::new(&self.pool[range.clone()])))
    }

    /// Whether the byte at `origin` is one of these tokens.
    pub(super) fn holds(&self, origin: Origin) -> bool {
        origin.0.wrapping_sub(self.pool.as_ptr() as usize) < self.pool.len()
    }
}

impl<N: AsRef<str>, T: AsRef<str>> FromIterator<(N, T)> for TokenNames {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(tokens: I) -> Self {
        let mut names = TokenNames::new();
        for (name, token) in tokens {
            names.insert(name.as_ref(), token.as_ref());
        }
        names
    }
}
