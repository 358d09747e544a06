//! The steps that each class puts around a vocabulary.
//!
//! # Source
//! `__init__` of the classes in `models/*/tokenization_*.py` of transformers 5.23.0.

use super::{Class, Settings};
use crate::model::special_tokens::SpecialTokens;
use serde_json::{Value as Json, json};

/// The splits of two classes; they differ in what becomes of marks (`\p{M}`).
const QWEN2_SPLIT: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN35_SPLIT: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

impl Class {
    /// Puts the steps of the class around the vocabulary and merges of `file`, and takes its added tokens out.
    pub(in super::super) fn rebuild(self, file: &mut Json, settings: &Settings, tokens: &SpecialTokens) {
        // What has no model is refused by whoever reads the file next.
        let Some(Json::Object(model)) = file.get_mut("model") else {
            return;
        };
        let mut model = std::mem::take(model);
        let byte_level = |add_prefix_space: bool, use_regex: bool| {
            json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true,
                "use_regex": use_regex})
        };
        let split = |pattern: &str, add_prefix_space: bool| {
            json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
                byte_level(add_prefix_space, false),
            ]})
        };
        let metaspace =
            |scheme: &str| json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false});
        let spaces = |strip: bool| {
            let mut steps = vec![
                json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
                json!({"type": "ByteFallback"}),
                json!({"type": "Fuse"}),
            ];
            if strip {
                steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
            }
            json!({"type": "Sequence", "decoders": steps})
        };
        let nfc = || json!({"type": "NFC"});
        let prefix = settings.add_prefix_space.unwrap_or(false);
        let llama_prefix = settings.add_prefix_space.unwrap_or(true);
        let unk = || tokens.get("unk_token").map_or(Json::Null, Json::from);
        let (normalizer, pre_tokenizer, decoder, unk, is_sentencepiece) = match self {
            Class::Llama => {
                let scheme = match (llama_prefix, settings.legacy) {
                    (false, _) => "never",
                    (true, true) => "always",
                    (true, false) => "first",
                };
                (Json::Null, metaspace(scheme), spaces(llama_prefix), Json::Null, true)
            }
            Class::CodeLlama => {
                let scheme = if llama_prefix { "first" } else { "never" };
                (Json::Null, metaspace(scheme), spaces(true), unk(), true)
            }
            Class::Gemma => (
                json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
                json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false}),
                spaces(false),
                unk(),
                true,
            ),
            Class::Qwen2 => (
                nfc(),
                split(QWEN2_SPLIT, prefix),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::Qwen35 => (
                nfc(),
                split(QWEN35_SPLIT, prefix),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::Cohere => {
                let steps = json!({"type": "Sequence", "pretokenizers": [
                    {"type": "Digits", "individual_digits": true}, byte_level(prefix, true)]});
                (nfc(), steps, byte_level(prefix, true), Json::Null, false)
            }
            Class::Gpt2 => (
                Json::Null,
                byte_level(prefix, true),
                byte_level(true, true),
                Json::Null,
                false,
            ),
            Class::GptNeoX => (
                nfc(),
                byte_level(prefix, true),
                byte_level(true, true),
                Json::Null,
                false,
            ),
        };
        let vocabulary = vocabulary(model.remove("vocab").unwrap_or_default());
        let merges = model.remove("merges").filter(|merges| !merges.is_null());
        file["model"] = json!({
            "type": "BPE",
            "dropout": null,
            "unk_token": unk,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": is_sentencepiece,
            "byte_fallback": is_sentencepiece,
            "ignore_merges": false,
            "vocab": vocabulary,
            "merges": merges.unwrap_or_else(|| json!([])),
        });
        file["normalizer"] = normalizer;
        file["pre_tokenizer"] = pre_tokenizer;
        file["decoder"] = decoder;
    }
}

/// A vocabulary by token. That of a unigram model is a list of tokens and scores, whose places are their ids.
fn vocabulary(vocabulary: Json) -> Json {
    let Json::Array(list) = vocabulary else {
        return vocabulary;
    };
    let token = |entry: &Json| match entry {
        Json::String(token) => Some(token.clone()),
        entry => entry.get(0)?.as_str().map(str::to_owned),
    };
    let ids = list.iter().enumerate();
    ids.filter_map(|(id, entry)| Some((token(entry)?, Json::from(id))))
        .collect()
}
