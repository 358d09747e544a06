//! Vocabularies in `tiktoken.model`: one line per token, its bytes in base64 and its rank, which is its id.
//!
//! The file has neither the pattern that text is split by nor the special tokens. Both follow from the family, which
//! `tokenizer_config.json` names; Kimi's is the one known. Its special tokens are the 256 ids after the ranks: those that
//! `added_tokens_decoder` names, and `<|reserved_token_N|>` for every other id N. All are looked for in control text,
//! whether flagged special or not.

use super::Tokenizer;
use super::added_tokens::{AddedToken, AddedTokens};
use super::ranks::Ranks;
use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::SpecialTokens;
use fastokens::{KIMI_PATTERN, KIMI_RESERVED_SPECIAL_TOKENS};
use std::collections::HashMap;
use typecase_jinja::value::{Arena, Value};

pub(super) const FILE: &str = "tiktoken.model";
const CONFIG: &str = "tokenizer_config.json";

/// Whether `files` hold a vocabulary of a known family. A `tokenizer.json` beside it is then someone's conversion.
pub(super) fn recognizes(files: &ModelFiles) -> Result<bool> {
    if !files.has(FILE) {
        return Ok(false);
    }
    let Some(config) = files.read_optional(CONFIG)? else {
        return Ok(false);
    };
    let arena = Arena::new();
    Ok(is_kimi(files.parse(CONFIG, &config, &arena)?))
}

/// Reads `tiktoken.model` and `tokenizer_config.json`.
pub(super) fn load(files: &ModelFiles) -> Result<Tokenizer> {
    let broken = |reason: String| files.broken(FILE, reason);
    let ranks = fastokens::tiktoken::parse_tiktoken_model(&files.read(FILE)?).map_err(|err| broken(err.to_string()))?;
    let arena = Arena::new();
    let config = files.read(CONFIG)?;
    let config = files.parse(CONFIG, &config, &arena)?;
    if !is_kimi(config) {
        let reason = "of the families with a tiktoken.model only Kimi's split pattern is known, and neither \
                      tokenizer_class nor auto_map names it";
        return Err(files.broken(CONFIG, reason.to_owned()));
    }
    let window = special_window(config, ranks.len() as u32);
    let vocabulary = Ranks::new(&ranks, KIMI_PATTERN, 0, &window, true).map_err(broken)?;
    let named = SpecialTokens::read(files)?.into_named();
    Ok(Tokenizer::new(
        Box::new(vocabulary),
        AddedTokens::new(window),
        named,
        FILE,
    ))
}

fn is_kimi(config: Value<'_>) -> bool {
    let class = config.lookup("tokenizer_class").and_then(|class| class.as_str());
    let auto = config
        .lookup("auto_map")
        .and_then(|map| map.lookup("AutoTokenizer"))
        .and_then(|auto| match auto.as_list() {
            Some(list) => list.items().first().and_then(Value::as_str),
            None => auto.as_str(),
        });
    class == Some("TikTokenTokenizer") && auto.is_some_and(|module| module.starts_with("tokenization_kimi"))
}

/// The special tokens of the window after `ranks` ranks. Names for ids outside of it are ignored, as the reference does.
fn special_window(config: Value<'_>, ranks: u32) -> Vec<AddedToken> {
    let entries = config
        .lookup("added_tokens_decoder")
        .and_then(|tokens| tokens.as_dict());
    let mut named: HashMap<u32, Value<'_>> = entries
        .into_iter()
        .flat_map(|tokens| tokens.str_entries())
        .filter_map(|(id, token)| Some((id.as_str().parse().ok()?, token)))
        .collect();
    let flag = |token: Option<Value<'_>>, name: &str, default: bool| match token.and_then(|token| token.lookup(name)) {
        Some(Value::Bool(flag, _)) => flag,
        _ => default,
    };
    (ranks..ranks.saturating_add(KIMI_RESERVED_SPECIAL_TOKENS))
        .map(|id| {
            let token = named.remove(&id);
            let content = token
                .and_then(|token| token.lookup("content"))
                .and_then(|content| content.as_str());
            let mut added = AddedToken::exact(
                id,
                content.map_or_else(|| format!("<|reserved_token_{id}|>"), str::to_owned),
            );
            // tiktoken knows no stripping: a special token is its bytes.
            added.special = flag(token, "special", true);
            added
        })
        .collect()
}
