//! Added tokens as `transformers` puts them together.

use super::class::Class;
use crate::model::ModelFiles;
use crate::model::special_tokens::{ConfiguredToken, SpecialTokens};
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::vocabulary::encoding_error;
use crate::{ErrorKind, Result};
use std::collections::{BTreeMap, HashSet};
use typecase_jinja::value::{Arena, Dict, Value};

const CONFIG: &str = "tokenizer_config.json";

/// Where tokens were added before there was a `tokenizer.json`: spellings and ids.
const OLD: &str = "added_tokens.json";

/// The tokens of `added_tokens_decoder` in `tokenizer_config.json`, by id; without it, those of `added_tokens.json` and of
/// `file`, the `tokenizer.json`, whose ids count before the former's. `None` if neither is there.
pub(super) fn declared_tokens(
    files: &ModelFiles,
    file: &serde_json::Value,
    special: &SpecialTokens,
) -> Result<Option<Vec<ConfiguredToken>>> {
    let arena = Arena::new();
    if let Some(text) = files.read_optional(CONFIG)? {
        let wrong = |found: Value<'_>, expected: &'static str| {
            let found = ErrorKind::wrong_type(found, expected);
            files.broken(CONFIG, format!("added_tokens_decoder: {found}"))
        };
        match files.parse(CONFIG, &text, &arena)?.lookup("added_tokens_decoder") {
            Some(Value::Dict(tokens)) => {
                let mut by_id: BTreeMap<u32, ConfiguredToken> = BTreeMap::new();
                for (id, token) in tokens.str_entries() {
                    let Ok(id) = id.as_str().parse() else {
                        return Err(wrong(Value::Str(id), "a token id as the key of a token"));
                    };
                    let read = token.as_dict().and_then(|_| ConfiguredToken::read(token, false));
                    by_id.insert(
                        id,
                        read.ok_or_else(|| wrong(token, "an object with the content of a token"))?,
                    );
                }
                return Ok(Some(by_id.into_values().collect()));
            }
            Some(found) if !found.is_none() => return Err(wrong(found, "an object")),
            _ => {}
        }
    }
    let Some(text) = files.read_optional(OLD)? else {
        return Ok(None);
    };
    let mut by_id: BTreeMap<u64, ConfiguredToken> = BTreeMap::new();
    for (content, id) in files
        .parse(OLD, &text, &arena)?
        .as_dict()
        .into_iter()
        .flat_map(Dict::str_entries)
    {
        let Value::Int(number @ 0.., _) = id else {
            let found = ErrorKind::wrong_type(id, "a token id");
            return Err(files.broken(OLD, format!("{}: {found}", content.as_str())));
        };
        let mut token = ConfiguredToken::special(content.as_str());
        token.special = special.is_standard_or_extra(&token.content);
        token.normalized = !token.special;
        by_id.insert(number.unsigned_abs(), token);
    }
    let own = file.get("added_tokens").and_then(serde_json::Value::as_array);
    by_id.extend(own.into_iter().flatten().filter_map(own_token));
    Ok(Some(by_id.into_values().collect()))
}

/// The tokens of `added_tokens` in a `tokenizer.json`, by id.
pub(super) fn own_tokens(added_tokens: &[serde_json::Value]) -> Vec<ConfiguredToken> {
    let by_id: BTreeMap<u64, ConfiguredToken> = added_tokens.iter().filter_map(own_token).collect();
    by_id.into_values().collect()
}

fn own_token(token: &serde_json::Value) -> Option<(u64, ConfiguredToken)> {
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
    // These add some a second time, which then have the flags that they have on their own.
    let again: Vec<tokenizers::AddedToken> = match class {
        Some(Class::Qwen2) => (special.all().into_iter())
            .map(|token| added(&ConfiguredToken::special(token.content)))
            .collect(),
        Some(Class::Cohere) => special.further().map(added).collect(),
        _ => Vec::new(),
    };
    reference.add_tokens(again).map_err(encoding_error)?;
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
