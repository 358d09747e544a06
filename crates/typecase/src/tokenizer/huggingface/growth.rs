//! How much longer the steps of a file may make a text.
//!
//! A file may replace each character by ten, nine times over: of one letter it makes a gigabyte. The steps run in a crate
//! that has no bounds, so they are looked at before.

use serde_json::Value;

/// Times that a text may become longer. `▁` for a space, and one before the text, are 3 x 4.
const LIMIT: u64 = 64;

/// Refuses a file whose normalizer, pre-tokenizer or decoder may make a text too long.
pub(super) fn check(file: &Value) -> Result<(), String> {
    for step in ["normalizer", "pre_tokenizer", "decoder"] {
        let growth = file.get(step).map_or(1, growth);
        if growth > LIMIT {
            return Err(format!(
                "the {step} may make a text more than {LIMIT} times as long as it was"
            ));
        }
    }
    Ok(())
}

/// Times that a step may make a text of one byte longer, up to a little more than the limit.
fn growth(step: &Value) -> u64 {
    let len = |value: &Value| value.as_str().map_or(0, |text| text.len() as u64);
    let own = match step["type"].as_str() {
        // What a pattern matches may be empty: then something is put between all characters.
        Some("Replace") => match len(&step["pattern"]["String"]) {
            0 => 1 + len(&step["content"]),
            pattern => len(&step["content"]).div_ceil(pattern).max(1),
        },
        Some("Prepend") => 1 + len(&step["prepend"]),
        _ => 1,
    };
    let parts = ["normalizers", "pretokenizers", "decoders"];
    let inner = parts.iter().filter_map(|key| step[key].as_array()).flatten();
    inner.fold(own.min(LIMIT + 1), |all, step| {
        all.saturating_mul(growth(step)).min(LIMIT + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn what_real_files_do_is_allowed_and_towers_are_not() {
        let replace = |content: &str| json!({"type": "Replace", "pattern": {"String": "a"}, "content": content});
        let sequence = |steps: Vec<serde_json::Value>| json!({"type": "Sequence", "normalizers": steps});
        for normalizer in [
            json!(null),
            json!({"type": "NFKC"}),
            sequence(vec![
                json!({"type": "Prepend", "prepend": "▁"}),
                json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
            ]),
            sequence(vec![replace("b"); 100]),
            json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}),
        ] {
            assert_eq!(check(&json!({"normalizer": normalizer})), Ok(()), "{normalizer}");
        }
        for normalizer in [
            sequence(vec![replace("aaaaaaaaaa"); 9]),
            sequence(vec![sequence(vec![replace("aaaaaaaaaa")]), replace("aaaaaaaaaa")]),
            replace(&"a".repeat(100)),
            json!({"type": "Prepend", "prepend": "a".repeat(100)}),
            json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "a".repeat(100)}),
        ] {
            assert!(check(&json!({"normalizer": normalizer})).is_err(), "{normalizer}");
            let decoder = json!({"type": "Sequence", "decoders": [normalizer["normalizers"][0], normalizer]});
            assert!(check(&json!({"decoder": decoder})).is_err(), "{decoder}");
        }
    }
}
