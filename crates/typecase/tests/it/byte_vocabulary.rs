//! The smallest `tokenizer.json` that encodes any text: its bytes.

use serde_json::{Map, Value, json};

/// What stands for each byte, as GPT-2 introduced it: the characters of the ids 0 to 255.
pub(crate) fn alphabet() -> impl Iterator<Item = char> {
    ('!'..='~')
        .chain('¡'..='¬')
        .chain('®'..='ÿ')
        .chain('\u{100}'..='\u{143}')
}

/// Bytes, and `added` tokens from id 256 on.
pub(crate) fn tokenizer_json(added: &[&str]) -> String {
    let vocabulary: Map<String, Value> = alphabet()
        .enumerate()
        .map(|(id, c)| (c.to_string(), json!(id)))
        .collect();
    let added: Vec<Value> = added
        .iter()
        .enumerate()
        .map(|(i, content)| {
            json!({"id": 256 + i, "content": content, "special": true, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false})
        })
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "added_tokens": added, "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}})
    .to_string()
}
