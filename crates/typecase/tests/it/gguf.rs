//! Models in GGUF files: made here of vocabularies that were fetched, and held against their `tokenizer.json`.

use crate::oracle;
use crate::tiktoken::{Numbers, every_kind_of_character, picky};
use gguf_rs_lib::format::metadata::{Metadata, MetadataArray, MetadataValue};
use gguf_rs_lib::format::types::GGUFValueType;
use serde_json::Value;
use std::path::{Path, PathBuf};
use typecase::prompt::SpecialTokens;
use typecase::{ErrorKind, Model, Tokenizer};

/// Values by key, as a file has them.
struct File(Metadata);

impl File {
    fn new(entries: &[(&str, &str)]) -> Self {
        let mut file = File(Metadata::new());
        for (key, text) in entries {
            file.set(key, MetadataValue::String((*text).to_owned()));
        }
        file
    }

    fn set(&mut self, key: &str, value: MetadataValue) {
        self.0.insert(key.to_owned(), value);
    }

    fn array(&mut self, key: &str, kind: GGUFValueType, values: Vec<MetadataValue>) {
        let array = MetadataArray::new(kind, values).expect("of one type");
        self.set(key, MetadataValue::Array(Box::new(array)));
    }

    fn texts(&mut self, key: &str, texts: impl IntoIterator<Item = String>) {
        let values = texts.into_iter().map(MetadataValue::String).collect();
        self.array(key, GGUFValueType::String, values);
    }

    fn write(&self, name: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Magic, version, tensors, entries.
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend_from_slice(&0u64.to_le_bytes());
        bytes.extend_from_slice(&(self.0.len() as u64).to_le_bytes());
        self.0.write_to(&mut bytes).expect("written");
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

/// `tokenizer.json` of a vocabulary, if it was fetched, and its directory.
fn fetched(name: &str) -> Option<(Value, PathBuf)> {
    let directory = oracle::repository()
        .join(".cache/vocabularies")
        .join(name)
        .join("package/models");
    match std::fs::read(directory.join("tokenizer.json")) {
        Ok(bytes) => Some((serde_json::from_slice(&bytes).expect("is JSON"), directory)),
        Err(_) => {
            eprintln!("skipped: no vocabulary at {}", directory.display());
            None
        }
    }
}

/// A file of the vocabulary, as converters make it.
fn convert(tokenizer: &Value, model: &str, pre: &str) -> File {
    let mut tokens: Vec<(String, i32)> = Vec::new();
    let mut put = |id: usize, content: &str, kind: i32| {
        while tokens.len() <= id {
            // What converters fill gaps with.
            tokens.push((format!("[PAD{}]", tokens.len()), 5));
        }
        tokens[id] = (content.to_owned(), kind);
    };
    for (content, id) in tokenizer["model"]["vocab"].as_object().expect("a vocabulary") {
        let id = id.as_u64().expect("an id") as usize;
        let is_byte = content.starts_with("<0x") && content.len() == 6;
        put(id, content, if is_byte { 6 } else { 1 });
    }
    for token in tokenizer["added_tokens"].as_array().expect("added tokens") {
        let kind = if token["special"].as_bool() == Some(true) { 3 } else { 4 };
        let id = token["id"].as_u64().expect("an id") as usize;
        put(id, token["content"].as_str().expect("a text"), kind);
    }
    // Models have more outputs than tokens.
    let end = tokens.len();
    tokens.extend((end..end + 10).map(|id| (format!("[PAD{id}]"), 5)));
    let mut file = File::new(&[
        ("general.architecture", "llama"),
        ("tokenizer.ggml.model", model),
        ("tokenizer.ggml.pre", pre),
    ]);
    if model == "gpt2" {
        let merges = tokenizer["model"]["merges"].as_array().expect("merges");
        let merges = merges.iter().map(|merge| match merge.as_array() {
            Some(pair) => format!(
                "{} {}",
                pair[0].as_str().expect("a text"),
                pair[1].as_str().expect("a text")
            ),
            None => merge.as_str().expect("a text").to_owned(),
        });
        file.texts("tokenizer.ggml.merges", merges);
    } else {
        // The ids of a SentencePiece model are in the order of the scores, after bytes and control tokens.
        let score = |id: usize| if id < 259 { 0.0 } else { 259.0 - id as f32 };
        let scores = (0..tokens.len()).map(|id| MetadataValue::F32(score(id))).collect();
        file.array("tokenizer.ggml.scores", GGUFValueType::F32, scores);
        file.set("tokenizer.ggml.unknown_token_id", MetadataValue::U32(0));
    }
    let kinds = tokens.iter().map(|(_, kind)| MetadataValue::I32(*kind)).collect();
    file.array("tokenizer.ggml.token_type", GGUFValueType::I32, kinds);
    file.texts("tokenizer.ggml.tokens", tokens.into_iter().map(|(content, _)| content));
    file
}

/// Holds the ids of the file made of a vocabulary against those of its `tokenizer.json`.
fn hold(name: &str, model: &str, pre: &str) {
    let Some((json, directory)) = fetched(name) else { return };
    let path = convert(&json, model, pre).write(&format!("{name}.gguf"));
    let gguf = Model::load(&path).expect("the file loads");
    let reference = Tokenizer::load(&directory).expect("the vocabulary loads");
    let mut numbers = Numbers::seeded(17);
    let mut texts: Vec<String> = (0..400).map(|_| picky(&mut numbers)).collect();
    let spelled = reference.added_tokens();
    texts.extend(
        spelled
            .iter()
            .map(|token| format!("a {} b{}", token.content, token.content)),
    );
    let all = every_kind_of_character();
    texts.extend(
        all.chunks(1024)
            .step_by(4)
            .map(|block| block.iter().map(|c| format!("{c}a {c}{c}1")).collect::<String>()),
    );
    for text in &texts {
        for policy in [SpecialTokens::All, SpecialTokens::None] {
            let ids = gguf.tokenizer().encode_text(text, policy).expect("any text encodes");
            let expected = reference.encode_text(text, policy).expect("any text encodes");
            assert!(ids == expected, "{policy:?} of {text:?}: {ids:?} is not {expected:?}");
            let decoded = gguf.tokenizer().decode(&ids).expect("known ids");
            assert_eq!(decoded, reference.decode(&ids).expect("known ids"), "ids of {text:?}");
        }
    }
}

#[test]
fn qwen3_in_gguf_has_the_same_ids() {
    hold("qwen3", "gpt2", "qwen2");
}

#[test]
fn llama_3_1_in_gguf_has_the_same_ids() {
    hold("llama3_1", "gpt2", "llama-bpe");
}

#[test]
fn gpt_oss_in_gguf_has_the_same_ids() {
    hold("gptoss", "gpt2", "gpt-4o");
}

#[test]
fn deepseek_v3_in_gguf_has_the_same_ids() {
    hold("deepseek_v3", "gpt2", "deepseek-v3");
}

/// A vocabulary of the 256 bytes and two control tokens.
fn bytes() -> File {
    let mut tokens: Vec<String> = (33u32..127)
        .chain(161..173)
        .chain(174..256)
        .chain(256..324)
        .filter_map(char::from_u32)
        .map(String::from)
        .collect();
    assert_eq!(tokens.len(), 256);
    let mut kinds = vec![MetadataValue::I32(1); 256];
    tokens.extend(["<s>".to_owned(), "</s>".to_owned()]);
    kinds.extend([MetadataValue::I32(3), MetadataValue::I32(3)]);
    let mut file = File::new(&[
        ("general.architecture", "tiny"),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "qwen2"),
        (
            "tokenizer.chat_template",
            "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}",
        ),
        ("tokenizer.chat_template.tool_use", "{{ tools | tojson }}"),
    ]);
    file.texts("tokenizer.ggml.tokens", tokens);
    file.texts("tokenizer.ggml.merges", []);
    file.texts("tokenizer.chat_templates", ["tool_use".to_owned()]);
    file.array("tokenizer.ggml.token_type", GGUFValueType::I32, kinds);
    file.set("tokenizer.ggml.bos_token_id", MetadataValue::U32(256));
    file.set("tokenizer.ggml.eos_token_id", MetadataValue::U32(257));
    file
}

#[test]
fn templates_and_named_tokens_are_those_of_the_file() {
    let model = Model::load(bytes().write("bytes.gguf")).expect("the file loads");
    assert_eq!(model.model_type(), Some("tiny"));
    assert_eq!(model.stop_ids(), [257]);
    let names: Vec<&str> = model
        .templates()
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(names, ["tool_use", "default"]);
    let arena = typecase::value::Arena::new();
    let mut body = br#"{"messages": [{"role": "user", "content": "a</s>"}]}"#.to_vec();
    let request = typecase::ChatRequest::parse(&mut body, &arena).expect("a request");
    let prompt = model.render(&request, &Default::default()).expect("renders");
    assert_eq!(prompt.text(), "<s>a</s></s>");
    let ids = model.encode(&prompt).expect("encodes");
    let control: Vec<u32> = ids.ids().iter().copied().filter(|id| *id >= 256).collect();
    assert_eq!(control, [256, 257], "what the request spells is text");
}

#[test]
fn files_that_say_too_little_are_refused() {
    let refused = |name: &str, file: File, says: &str| {
        let err = Model::load(file.write(name)).expect_err("is refused");
        let ErrorKind::BrokenModelFile { file, reason } = err.kind() else {
            panic!("{err}");
        };
        assert!(file.ends_with(name) && reason.contains(says), "{err}");
    };
    let mut file = bytes();
    file.set("tokenizer.ggml.pre", MetadataValue::String("new-thing".to_owned()));
    refused("pre.gguf", file, "tokenizer.ggml.pre is new-thing; known are qwen2");
    let mut file = bytes();
    file.set("tokenizer.ggml.model", MetadataValue::String("bert".to_owned()));
    refused("kind.gguf", file, "tokenizer.ggml.model is bert");
    let mut file = bytes();
    file.0.remove("tokenizer.ggml.tokens");
    refused("none.gguf", file, "tokenizer.ggml.tokens is missing");
    let missing = Model::load("no/such.gguf").expect_err("is not there");
    assert!(
        matches!(missing.kind(), ErrorKind::MissingModelFile { .. }),
        "{missing}"
    );
    let path = bytes().write("cut.gguf");
    let whole = std::fs::read(&path).expect("is there");
    for cut in [0, 3, 20, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).expect("written");
        let err = Model::load(&path).expect_err("is cut off");
        assert!(matches!(err.kind(), ErrorKind::BrokenModelFile { .. }), "{err}");
    }
}
