//! The fast backend.

use crate::Result;
use crate::tokenizer::vocabulary::{Piece, encoding_error};
use serde_json::{Value, json};
use std::borrow::Cow;

/// `fastokens`, with what it lacks around it.
pub(super) struct Fast {
    tokenizer: fastokens::Tokenizer,
    prefix: Prefix,
}

/// Before which pieces a `▁` is put, unless they begin with one or with a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    None,
    /// Before that with which a segment begins.
    First,
    All,
}

const SPACE: char = '\u{2581}';

impl Fast {
    /// Reads a `tokenizer.json` without added tokens; `None` for what the backend cannot do.
    pub(super) fn new(mut json: Value) -> Option<Self> {
        if has_token_of_unknown_characters(&json) {
            return None;
        }
        let prefix = take_metaspace(&mut json);
        Some(Fast {
            tokenizer: fastokens::Tokenizer::from_json(json).ok()?,
            prefix: prefix.unwrap_or(Prefix::None),
        })
    }

    /// The ids of `piece`, in which no added token is looked for.
    pub(super) fn encode(&self, piece: Piece<'_>) -> Result<Vec<u32>> {
        let is_prefixed = match self.prefix {
            Prefix::None => false,
            Prefix::First => piece.first,
            Prefix::All => true,
        };
        let text = match is_prefixed && !piece.text.is_empty() && !piece.text.starts_with([' ', SPACE]) {
            true => Cow::Owned(format!("{SPACE}{}", piece.text)),
            false => Cow::Borrowed(piece.text),
        };
        self.tokenizer.encode_ordinary(&text).map_err(encoding_error)
    }
}

/// `fastokens` has no `Metaspace`. One that splits nothing replaces spaces, as a normalizer can do for it, and puts one
/// more before the text.
fn take_metaspace(json: &mut Value) -> Option<Prefix> {
    let file = json.as_object_mut()?;
    let step = file.get("pre_tokenizer")?;
    let is_plain = step["type"] == "Metaspace" && step["replacement"] == "▁" && step["split"] == false;
    if !is_plain || file.get("normalizer").is_some_and(|normalizer| !normalizer.is_null()) {
        return None;
    }
    let prefix = match step["prepend_scheme"].as_str()? {
        "never" => Prefix::None,
        "first" => Prefix::First,
        "always" => Prefix::All,
        _ => return None,
    };
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    file.insert("normalizer".to_owned(), replace);
    file.insert("pre_tokenizer".to_owned(), Value::Null);
    Some(prefix)
}

/// Whether a token of several characters has one that is no token itself. Merges cannot make such a token, and the reference
/// never gives it; `fastokens` 0.3 does, wherever a text spells it (`<0x0A>` where `0` is not in the vocabulary).
fn has_token_of_unknown_characters(json: &Value) -> bool {
    let is_byte_level = |step: &Value| step["type"] == "ByteLevel";
    let step = &json["pre_tokenizer"];
    let steps = step["pretokenizers"].as_array().map_or(&[][..], Vec::as_slice);
    if is_byte_level(step) || steps.iter().any(is_byte_level) {
        // All that reaches the model is in the alphabet of bytes.
        return false;
    }
    let Some(vocabulary) = json["model"]["vocab"].as_object() else {
        return false;
    };
    let mut buffer = [0; 4];
    let mut is_unknown = |c: char| !vocabulary.contains_key(c.encode_utf8(&mut buffer) as &str);
    (vocabulary.keys()).any(|token| token.chars().nth(1).is_some() && token.chars().any(&mut is_unknown))
}
