//! Added tokens as `transformers` puts them together.

use super::class::Class;
use crate::Result;
use crate::model::ModelFiles;
use crate::model::special_tokens::{ConfiguredToken, SpecialTokens};
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::vocabulary::encoding_error;
use std::collections::{BTreeMap, HashSet};
use typecase_jinja::value::Arena;

const CONFIG: &str = "tokenizer_config.json";

/// The tokens of `added_tokens_decoder` in `tokenizer_config.json`, by id; `None` if it has none.
pub(super) fn declared_tokens(files: &ModelFiles) -> Result<Option<Vec<ConfiguredToken>>> {
    let Some(text) = files.read_optional(CONFIG)? else {
        return Ok(None);
    };
    let arena = Arena::new();
    let declared = files.parse(CONFIG, &text, &arena)?.lookup("added_tokens_decoder");
    let tokens = declared.and_then(|tokens| tokens.as_dict()).map(|tokens| {
        let entries = tokens.str_entries();
        let by_id: BTreeMap<u32, ConfiguredToken> = entries
            .filter_map(|(id, token)| Some((id.as_str().parse().ok()?, ConfiguredToken::read(token, false)?)))
            .collect();
        by_id.into_values().collect()
    });
    Ok(tokens)
}

/// The tokens of `added_tokens` in a `tokenizer.json`, by id.
pub(super) fn own_tokens(added_tokens: &[serde_json::Value]) -> Vec<ConfiguredToken> {
    let read = |token: &serde_json::Value| {
        let flag = |name: &str| token.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
        let content = token.get("content")?.as_str()?.to_owned();
        let token_of_file = ConfiguredToken {
            content,
            special: flag("special"),
            lstrip: flag("lstrip"),
            rstrip: flag("rstrip"),
            single_word: flag("single_word"),
            normalized: flag("normalized"),
        };
        Some((token.get("id")?.as_u64()?, token_of_file))
    };
    let by_id: BTreeMap<u64, ConfiguredToken> = added_tokens.iter().filter_map(read).collect();
    by_id.into_values().collect()
}

/// Adds `declared` tokens and what of `special` is still missing.
pub(super) fn add_tokens(
    reference: &mut tokenizers::Tokenizer,
    declared: Vec<ConfiguredToken>,
    special: &SpecialTokens,
    class: Option<Class>,
) -> Result<()> {
    let present = reference.get_added_vocabulary();
    let mut known: HashSet<String> = present.get_vocab().keys().cloned().collect();
    let present: HashSet<tokenizers::AddedToken> = present.get_added_tokens_decoder().values().cloned().collect();
    let mut tokens = Vec::new();
    for mut token in declared {
        known.insert(token.content.clone());
        if !present.contains(&added(&token)) {
            token.special |= special.names(&token.content);
            tokens.push(added(&token));
        }
    }
    let missing = special
        .all()
        .into_iter()
        .filter(|token| !known.contains(&token.content));
    tokens.extend(missing.map(|token| added(&token)));
    reference.add_tokens(tokens).map_err(encoding_error)?;
    if class.is_some_and(Class::resets_special_tokens) {
        let special = special.all().into_iter();
        let reset = special.map(|token| added(&ConfiguredToken::special(token.content)));
        reference
            .add_tokens(reset.collect::<Vec<_>>())
            .map_err(encoding_error)?;
    }
    Ok(())
}

fn added(token: &ConfiguredToken) -> tokenizers::AddedToken {
    tokenizers::AddedToken::from(token.content.as_str(), token.special)
        .lstrip(token.lstrip)
        .rstrip(token.rstrip)
        .single_word(token.single_word)
        .normalized(token.normalized)
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
