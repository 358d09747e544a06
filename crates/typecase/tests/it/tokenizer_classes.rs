//! What a directory's class of tokenizer makes of its `tokenizer.json`, against `AutoTokenizer`: the class, named and added
//! tokens, ids and text, for every class on two small vocabularies, whatever the model types and settings.

use crate::byte_vocabulary::alphabet;
use crate::oracle;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};
use typecase::Tokenizer;
use typecase::prompt::SpecialTokens;

const TEXTS: &[&str] = &[
    "hello world",
    " hello  world ",
    "<s>hello<s> hello</s>\nhello world",
    "<|endoftext|>the then<|im_end|>\n<|im_end|> then  ",
    "<mask> the <pad>the<FILL_ME>▁<PRE> it's 12345 3.14\r\n\r\n  x",
    "▁the▁ ▁ then ▁",
    "cafe\u{301} नमस्ते e\u{301}\u{fb01} \u{1f44d}\u{1f3fd}",
    "\n\n",
    "a",
    "",
];

fn added(id: usize, content: &str, special: bool, normalized: bool) -> Json {
    json!({"id": id, "content": content, "special": special, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": normalized})
}

/// Bytes, a few words, and added tokens behind them.
fn byte_level() -> Json {
    let mut tokens: Vec<String> = alphabet().map(String::from).collect();
    let merges = [
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("the", "n"),
        ("l", "l"),
        ("h", "e"),
        ("1", "2"),
        ("Ġ", "Ġ"),
    ];
    tokens.extend(merges.iter().map(|(a, b)| format!("{a}{b}")));
    let added = json!([
        added(tokens.len(), "<|endoftext|>", true, false),
        added(tokens.len() + 1, "<|im_end|>", true, false),
        added(tokens.len() + 2, "<tool>", false, true),
    ]);
    let step = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    file(tokens, &merges, &added, [Json::Null, step.clone(), step])
}

/// Characters, words that begin with `▁`, and bytes for what is not known.
fn sentence_piece() -> Json {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).to_vec();
    tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    tokens.extend("▁ehlowrdtn\n".chars().map(String::from));
    let merges = [
        ("h", "e"),
        ("▁", "t"),
        ("▁t", "he"),
        ("l", "l"),
        ("▁", "he"),
        ("▁", "▁"),
    ];
    tokens.extend(merges.iter().map(|(a, b)| format!("{a}{b}")));
    let added = json!([
        added(0, "<unk>", true, true),
        added(1, "<s>", true, true),
        added(2, "</s>", true, true),
    ]);
    let steps = [
        json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}),
        Json::Null,
        json!({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]}),
    ];
    let mut file = file(tokens, &merges, &added, steps);
    file["model"]["unk_token"] = json!("<unk>");
    file["model"]["byte_fallback"] = json!(true);
    file["model"]["fuse_unk"] = json!(true);
    file
}

fn file(tokens: Vec<String>, merges: &[(&str, &str)], added: &Json, steps: [Json; 3]) -> Json {
    let vocabulary: Map<String, Json> = tokens
        .into_iter()
        .enumerate()
        .map(|(id, token)| (token, json!(id)))
        .collect();
    let [normalizer, pre_tokenizer, decoder] = steps;
    json!({"version": "1.0", "truncation": null, "padding": null, "post_processor": null, "added_tokens": added,
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary,
            "merges": merges.iter().map(|(a, b)| format!("{a} {b}")).collect::<Vec<_>>()}})
}

const CLASSES: &[&str] = &[
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "CodeLlamaTokenizer",
    "GemmaTokenizer",
    "Qwen2Tokenizer",
    "Qwen2TokenizerFast",
    "Qwen3_5Tokenizer",
    "CohereTokenizerFast",
    "GPT2Tokenizer",
    "GPTNeoXTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "NoSuchTokenizer",
];

const MODEL_TYPES: &[&str] = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "qwen3_5",
    "gemma3",
    "gpt_neox",
    "cohere2",
    "phi3",
    "code_llama",
    "none_such",
];

/// `tokenizer_config.json` beyond its class.
fn settings() -> Vec<Json> {
    let end = json!({"content": "<|im_end|>", "lstrip": false, "normalized": false, "rstrip": false, "single_word": false,
        "special": true});
    let bos = json!({"__type": "AddedToken", "content": "<s>", "lstrip": false, "normalized": true, "rstrip": true,
        "single_word": false});
    vec![
        json!({}),
        json!({"legacy": true, "bos_token": bos, "eos_token": "</s>", "unk_token": "<unk>"}),
        json!({"add_prefix_space": false, "legacy": true, "eos_token": "<|im_end|>", "image_token": "<image>"}),
        json!({"split_special_tokens": true, "add_prefix_space": true, "pad_token": null, "eos_token": null, "additional_special_tokens": ["<tool>"]}),
        json!({"added_tokens_decoder": {"999": end}, "extra_special_tokens": ["<x>", "<y>"], "mask_token": "<mask>"}),
        json!({"model_specific_special_tokens": {"foo_token": "<foo>"}, "image_token": "<image>", "eos_token": "<|im_end|>"}),
    ]
}

/// `special_tokens_map.json`, which counts where there is no `added_tokens_decoder`.
fn map() -> Json {
    json!({"eos_token": "<end>", "pad_token": {"content": "<pad>", "lstrip": true, "rstrip": false, "normalized": false,
        "single_word": false}, "image_token": "<other>", "additional_special_tokens": ["<z>"]})
}

struct Case {
    name: String,
    directory: PathBuf,
}

fn directory(name: &str, files: &[(&str, Json)]) -> Case {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("tokenizer-classes")
        .join(name);
    let _was_there = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    for (file, content) in files {
        std::fs::write(directory.join(file), content.to_string()).expect("written");
    }
    Case {
        name: format!(
            "{name}: {}",
            Json::from_iter(files[1..].iter().map(|(name, file)| (*name, file.clone())))
        ),
        directory,
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let vocabularies = [("bytes", byte_level()), ("pieces", sentence_piece())];
    let settings = settings();
    for (kind, file) in &vocabularies {
        for (c, class) in CLASSES.iter().map(Some).chain([None]).enumerate() {
            for (m, model_type) in MODEL_TYPES.iter().map(Some).chain([None]).enumerate() {
                // Each class with each type, and each of both with all settings, in turn.
                let s = (c + m) % (settings.len() + 1);
                let mut config = settings[s % settings.len()].clone();
                if let Some(class) = class {
                    config["tokenizer_class"] = json!(class);
                }
                let mut files = vec![("tokenizer.json", file.clone()), ("tokenizer_config.json", config)];
                if let Some(model_type) = model_type {
                    files.push(("config.json", json!({"model_type": model_type})));
                }
                if (c + 2 * m) % 5 == 0 {
                    files.push((
                        "added_tokens.json",
                        json!({"<old>": 1000, "<image>": 1001, "<tool>": 1002}),
                    ));
                }
                if s == settings.len() || s % 2 == 1 {
                    files.push(("special_tokens_map.json", map()));
                }
                cases.push(directory(&format!("{kind}-{c}-{m}"), &files));
            }
        }
    }
    cases
}

#[test]
fn directories_open_as_with_auto_tokenizer() {
    let cases = cases();
    let input = cases
        .iter()
        .map(|case| json!({"directory": case.directory, "texts": TEXTS}).to_string() + "\n")
        .collect();
    let Some(answers) = oracle::run("auto_tokenizer.py", &[], input) else {
        return;
    };
    assert_eq!(answers.lines().count(), cases.len());
    let (mut held, mut refused) = (0, 0);
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(answers.lines()) {
        let answer: Json = serde_json::from_str(answer).expect("JSON");
        if !answer["error"].is_null() {
            refused += 1;
            continue;
        }
        match compare(case, &answer) {
            Ok(()) => held += 1,
            Err(difference) => wrong.push(format!("{} as {}\n  {difference}", case.name, answer["class"])),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    eprintln!("{held} directories equal, {refused} that the reference does not open");
    assert!(held > 250, "{held}");
}

fn compare(case: &Case, answer: &Json) -> Result<(), String> {
    let tokenizer = Tokenizer::load(&case.directory).map_err(|err| err.to_string())?;
    let same = |what: &str, ours: Json, expected: &Json| match ours == *expected {
        true => Ok(()),
        false => Err(format!("{what}: {ours} is not {expected}")),
    };
    let names: Map<String, Json> = (tokenizer.named_tokens().iter())
        .map(|(name, token)| (name.clone(), json!(token)))
        .collect();
    same("names", Json::Object(names), &answer["names"])?;
    let added = tokenizer.added_tokens().iter();
    let added = added.map(|token| {
        json!([
            token.id,
            token.content,
            token.special,
            token.lstrip,
            token.rstrip,
            token.single_word,
            token.normalized
        ])
    });
    same("added", added.collect(), &answer["added"])?;
    for (i, text) in TEXTS.iter().enumerate() {
        for (policy, key) in [(SpecialTokens::Trusted, "ids"), (SpecialTokens::None, "plain")] {
            let ids = tokenizer.encode_text(text, policy).map_err(|err| err.to_string())?;
            same(&format!("{key} of {text:?}"), json!(ids), &answer[key][i])?;
        }
        let ids: Vec<u32> = serde_json::from_value(answer["ids"][i].clone()).map_err(|err| err.to_string())?;
        let decoded = tokenizer.decode(&ids).map_err(|err| err.to_string())?;
        same(&format!("text of {text:?}"), json!(decoded), &answer["decoded"][i])?;
    }
    Ok(())
}
