//! Mistral's vocabularies in `tekken.json`: ranks, the split pattern and the special tokens in one file.
//!
//! Special tokens come first: `default_num_special_tokens` ids, of which those without a name are `<SPECIAL_N>`. A text
//! token's id is its rank plus that number. Of the ranks only the first `default_vocab_size` less the special ones count.
//! This is what `Tekkenizer` of mistral-common does.

use super::Tokenizer;
use super::added_tokens::{AddedToken, AddedTokens};
use super::ranks::Ranks;
use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::SpecialTokens;
use serde::Deserialize;

pub(super) const FILE: &str = "tekken.json";

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Token>,
    /// Files of the first versions name theirs nowhere.
    special_tokens: Option<Vec<SpecialToken>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Token {
    rank: u32,
    token_bytes: String,
}

#[derive(Deserialize)]
struct SpecialToken {
    rank: u32,
    token_str: String,
}

/// The special tokens of files that do not name them, from rank 0 on.
///
/// # Source
/// `Tekkenizer.DEPRECATED_SPECIAL_TOKENS` of mistral-common 1.13.1.
const UNNAMED: &[&str] = &[
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// What the special tokens are called where no other file says so.
///
/// # Source
/// `SpecialTokens` in `tokens/tokenizers/base.py` of mistral-common 1.13.1.
const NAMED: &[(&str, &str)] = &[
    ("unk_token", "<unk>"),
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("pad_token", "<pad>"),
];

/// Reads `tekken.json`.
pub(super) fn load(files: &ModelFiles) -> Result<Tokenizer> {
    let broken = |reason: String| files.broken(FILE, reason);
    let file: File = serde_json::from_str(&files.read(FILE)?).map_err(|err| broken(err.to_string()))?;
    let special = file.config.default_num_special_tokens;
    let count = file
        .config
        .default_vocab_size
        .checked_sub(special)
        .filter(|&count| count <= file.vocab.len())
        .ok_or_else(|| broken("default_vocab_size is not the number of special tokens and of some ranks".to_owned()))?;
    let mut ranks = Vec::with_capacity(count);
    for token in &file.vocab[..count] {
        // One line in the format of tiktoken, so that one reader of base64 serves both.
        let line = format!("{} {}", token.token_bytes, token.rank);
        let token = fastokens::tiktoken::parse_tiktoken_model(&line).map_err(|err| broken(err.to_string()))?;
        ranks.extend(token);
    }
    let mut names: Vec<String> = (0..special).map(|id| format!("<SPECIAL_{id}>")).collect();
    let mut name = |rank: usize, spelling: &str| match names.get_mut(rank) {
        Some(name) => {
            *name = spelling.to_owned();
            Ok(())
        }
        None => Err(broken(format!(
            "special token {spelling} has rank {rank}, but there are {special}"
        ))),
    };
    match &file.special_tokens {
        Some(tokens) => tokens
            .iter()
            .try_for_each(|token| name(token.rank as usize, &token.token_str))?,
        None => UNNAMED
            .iter()
            .enumerate()
            .try_for_each(|(rank, spelling)| name(rank, spelling))?,
    }
    let added: Vec<AddedToken> = names
        .into_iter()
        .zip(0..)
        .map(|(content, id)| AddedToken::exact(id, content))
        .collect();
    let vocabulary = Ranks::new(&ranks, &file.config.pattern, special as u32, &added, false).map_err(broken)?;
    let mut named = SpecialTokens::read(files)?;
    for (name, token) in NAMED {
        if added.iter().any(|added| added.content == *token) {
            named.default_name(name, token);
        }
    }
    Ok(Tokenizer::new(
        Box::new(vocabulary),
        AddedTokens::new(added),
        named.into_named(),
        FILE,
    ))
}
