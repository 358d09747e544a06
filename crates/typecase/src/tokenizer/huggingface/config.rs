//! Added tokens as `transformers` puts them together.

use crate::Result;
use crate::model::{ModelFiles, special_tokens};
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::vocabulary::encoding_error;
use std::collections::BTreeMap;
use typecase_jinja::value::{Arena, Value};

const CONFIG: &str = "tokenizer_config.json";

/// Adds what `tokenizer_config.json` and `special_tokens_map.json` have beyond `tokenizer.json`.
pub(super) fn add_tokens(reference: &mut tokenizers::Tokenizer, files: &ModelFiles) -> Result<()> {
    let arena = Arena::new();
    let text = files.read_optional(CONFIG)?;
    let config = match &text {
        Some(text) => Some(files.parse(CONFIG, text, &arena)?),
        None => None,
    };
    let declared: BTreeMap<u32, tokenizers::AddedToken> = config
        .and_then(|config| config.lookup("added_tokens_decoder"))
        .and_then(|tokens| tokens.as_dict())
        .into_iter()
        .flat_map(|tokens| tokens.str_entries())
        .filter_map(|(id, token)| Some((id.as_str().parse().ok()?, read(token)?)))
        .collect();
    let mut tokens: Vec<tokenizers::AddedToken> = declared.values().cloned().collect();
    for content in special_tokens::contents(files)? {
        if !tokens.iter().any(|token| token.content == content) {
            tokens.push(tokenizers::AddedToken::from(content, true));
        }
    }
    reference.add_tokens(tokens).map_err(encoding_error)?;
    Ok(())
}

/// One entry of `added_tokens_decoder`.
fn read(token: Value<'_>) -> Option<tokenizers::AddedToken> {
    let flag = |name: &str| matches!(token.lookup(name), Some(Value::Bool(true, _)));
    let special = flag("special");
    let normalized = match token.lookup("normalized") {
        Some(Value::Bool(normalized, _)) => normalized,
        _ => !special,
    };
    Some(
        tokenizers::AddedToken::from(token.lookup("content")?.as_str()?, special)
            .lstrip(flag("lstrip"))
            .rstrip(flag("rstrip"))
            .single_word(flag("single_word"))
            .normalized(normalized),
    )
}

/// All added tokens, by id.
pub(super) fn added_tokens(reference: &tokenizers::Tokenizer) -> Vec<AddedToken> {
    let mut tokens: Vec<AddedToken> = reference
        .get_added_tokens_decoder()
        .into_iter()
        .map(|(id, token)| AddedToken {
            id,
            content: token.content,
            special: token.special,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            single_word: token.single_word,
            normalized: token.normalized,
        })
        .collect();
    tokens.sort_unstable_by_key(|token| token.id);
    tokens
}
