//! Opening model directories: what is refused, and how it is said.

use crate::byte_vocabulary::tokenizer_json;
use std::path::{Path, PathBuf};
use typecase::{ErrorKind, Fault, Model};

/// A copy of the demo model with `edits`: file, and its new text (`None`: the file is not there).
fn directory(name: &str, edits: &[(&str, Option<&str>)]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _was_there = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/kimi-k3-demo");
    for file in std::fs::read_dir(demo).expect("the demo model") {
        let file = file.expect("an entry").path();
        std::fs::copy(&file, directory.join(file.file_name().expect("a name"))).expect("a copy");
    }
    for (file, text) in edits {
        match text {
            Some(text) => std::fs::write(directory.join(file), text).expect("written"),
            None => std::fs::remove_file(directory.join(file)).expect("removed"),
        }
    }
    directory
}

fn demo_file(name: &str) -> String {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/kimi-k3-demo");
    std::fs::read_to_string(demo.join(name)).expect("a file of the demo model")
}

fn refused(name: &str, edits: &[(&str, Option<&str>)]) -> typecase::Error {
    let error = Model::load(directory(name, edits)).expect_err("the directory is refused");
    assert_eq!(error.fault(), Fault::Server);
    error
}

#[test]
fn a_directory_is_the_same_as_the_embedded_model() {
    let model = Model::load(directory("same", &[])).expect("a good directory");
    assert_eq!(model.model_type(), Some("kimi_k3"));
    assert_eq!(model.architectures(), ["KimiK3ForConditionalGeneration"]);
    let demo = Model::demo().expect("the demo model");
    assert_eq!(model.config_json(), demo.config_json());
}

#[test]
fn a_placeholder_that_is_another_id_is_refused() {
    let config = demo_file("config.json").replace(
        "\"media_placeholder_token_id\": 2837",
        "\"media_placeholder_token_id\": 2836",
    );
    let error = refused("other-id", &[("config.json", Some(&config))]);
    let ErrorKind::ModelSetting { key, found, expected } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(
        (key.as_str(), found.as_str(), expected.as_str()),
        ("media_placeholder_token_id", "2836", "2837, the id of <|media_pad|>")
    );
}

#[test]
fn a_placeholder_that_is_ordinary_text_is_refused() {
    let config = demo_file("tokenizer_config.json").replace("<|media_pad|>", "<|media_pat|>");
    let error = refused("ordinary", &[("tokenizer_config.json", Some(&config))]);
    let ErrorKind::PlaceholderNotRegistered { ids, .. } = error.kind() else {
        panic!("{error}");
    };
    assert!(ids.len() > 1);
}

#[test]
fn a_config_without_the_placeholder_is_refused() {
    let error = refused("no-key", &[("config.json", Some(r#"{"model_type": "kimi_k3"}"#))]);
    assert!(
        matches!(error.kind(), ErrorKind::BrokenModelFile { file, .. } if file.ends_with("config.json")),
        "{error}"
    );
}

#[test]
fn missing_and_broken_files_are_named() {
    let missing = Model::load("no/such/directory").expect_err("no directory");
    assert!(matches!(missing.kind(), ErrorKind::NoModelDirectory { .. }));
    for file in ["config.json", "tokenizer_config.json"] {
        let error = refused("missing", &[(file, None)]);
        assert!(
            matches!(error.kind(), ErrorKind::MissingModelFile { file: named } if named.ends_with(file)),
            "{error}"
        );
        let error = refused("broken", &[(file, Some("{"))]);
        assert!(
            matches!(error.kind(), ErrorKind::BrokenModelFile { file: named, .. } if named.ends_with(file)),
            "{error}"
        );
    }
    let error = refused("no-vocabulary", &[("tiktoken.model", None)]);
    assert!(matches!(error.kind(), ErrorKind::NoVocabulary { .. }), "{error}");
    let ranks = demo_file("tiktoken.model");
    let lines: Vec<&str> = ranks.lines().collect();
    for (name, broken) in [
        ("empty", String::new()),
        ("no-base64", ranks.replacen("IQ==", "I*==", 1)),
        ("no-rank", format!("{ranks}IQ==\n")),
        ("twice", format!("{ranks}IQ== 0\n")),
        ("gap", ranks.replacen(" 2815\n", " 2816\n", 1)),
        ("a-byte-less", lines[1..].join("\n").replace(" 2815", " 0")),
    ] {
        let error = refused(name, &[("tiktoken.model", Some(&broken))]);
        assert!(
            matches!(error.kind(), ErrorKind::BrokenModelFile { file, .. } if file.ends_with("tiktoken.model")),
            "{name}: {error}"
        );
    }
}

#[test]
fn no_id_is_known_to_the_code() {
    // One rank less: the window and every id in it moves, and all follows the files.
    let ranks = demo_file("tiktoken.model");
    let ranks = &ranks[..ranks.strip_suffix('\n').expect("lines").rfind('\n').expect("lines") + 1];
    let mut config = demo_file("config.json");
    let mut names = demo_file("tokenizer_config.json");
    for id in 2816..3072 {
        config = config.replace(&format!(" {id},"), &format!(" {},", id - 1));
        names = names.replace(&format!("\"{id}\""), &format!("\"{}\"", id - 1));
    }
    let edits = [
        ("tiktoken.model", Some(ranks)),
        ("config.json", Some(config.as_str())),
        ("tokenizer_config.json", Some(names.as_str())),
    ];
    let model = Model::load(directory("moved", &edits)).expect("a consistent directory");
    assert_eq!(model.tokenizer().added_tokens().id("<|media_pad|>"), Some(2836));
}

#[test]
fn a_template_of_the_request_needs_leave() {
    use typecase::request::{ChatRequest, ParseOptions};
    use typecase::value::Arena;
    let body = r#"{"messages": [{"role": "user", "content": "Hi"}], "chat_template": "<{{ messages[0].content }}>"}"#;
    let arena = Arena::new();
    let mut bytes = body.as_bytes().to_vec();
    let error = ChatRequest::parse(&mut bytes, &arena).expect_err("it is refused");
    assert_eq!(
        (error.fault(), error.path().to_string()),
        (Fault::Client, "chat_template".to_owned())
    );
    let mut bytes = body.as_bytes().to_vec();
    let options = ParseOptions::default().allow_template(true);
    let request = ChatRequest::parse_with(&mut bytes, &arena, &options).expect("it is allowed");
    let model = Model::demo().expect("the demo model");
    let prompt = model.render(&request, &Default::default()).expect("a prompt");
    assert_eq!(prompt.text(), "<Hi>");
}

#[test]
fn files_that_are_json_of_another_shape_are_named() {
    let is_named = |file: &str, error: &typecase::Error| {
        assert!(
            matches!(error.kind(), ErrorKind::BrokenModelFile { file: named, .. } if named.contains(file)),
            "{file}: {error}"
        );
    };
    for (name, file, text) in [
        ("a-list", "config.json", "[]"),
        ("a-number", "tokenizer_config.json", "1"),
        ("a-list-too", "generation_config.json", "[1, 2]"),
        ("a-text", "generation_config.json", r#"{"eos_token_id": "abc"}"#),
        ("a-null", "generation_config.json", r#"{"eos_token_id": [1, null]}"#),
        ("a-template", "chat_template.json", r#"{"chat_template": 5}"#),
        (
            "templates",
            "chat_template.json",
            r#"{"chat_template": [{"name": "default"}]}"#,
        ),
        (
            "template-map",
            "chat_template.json",
            r#"{"chat_template": {"default": 1}}"#,
        ),
    ] {
        is_named(file, &refused(name, &[(file, Some(text))]));
    }
    // These are looked at only where there is no added_tokens_decoder, which the demo model has.
    for (file, text) in [
        ("special_tokens_map.json", "[]"),
        ("special_tokens_map.json", r#"{"bos_token": 5}"#),
        ("special_tokens_map.json", r#"{"additional_special_tokens": [null]}"#),
        ("added_tokens.json", r#"{"<x>": "1"}"#),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": []}"#),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": {"1": 2}}"#),
        ("tokenizer.json", GROWING),
    ] {
        is_named(file, &in_memory(&[(file, text)]).map(drop).expect_err(text));
    }
}

/// Nine steps of which each makes ten characters of one.
const GROWING: &str = r#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": null, "decoder": null,
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"},
        {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}]},
    "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;

/// A model of bytes with these files.
fn in_memory(files: &[(&str, &str)]) -> typecase::Result<Model> {
    let own = [("tokenizer.json".to_owned(), tokenizer_json(&[]))];
    let files = files
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
    // Of equal names the first counts.
    Model::from_files(typecase::model::ModelFiles::in_memory("bytes", files.chain(own)))
}

#[test]
fn templates_may_be_a_map_and_ids_that_say_none_are_none() {
    let config = r#"{"chat_template": {"default": "D{{ eos_token }}", "tool_use": "T"}, "eos_token": "!"}"#;
    let model = in_memory(&[
        ("tokenizer_config.json", config),
        ("generation_config.json", r#"{"eos_token_id": -1}"#),
        ("config.json", r#"{"eos_token_id": null}"#),
    ])
    .expect("loads");
    let names: Vec<&str> = model
        .templates()
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(names, ["default", "tool_use"]);
    assert_eq!(model.stop_ids(), [0]);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_a_broken_file() {
    for file in [
        "generation_config.json",
        "tokenizer.json",
        "chat_template.jinja",
        "config.json",
    ] {
        let directory = directory("dangling", &[]);
        let _was_there = std::fs::remove_file(directory.join(file));
        std::os::unix::fs::symlink("no-such-blob", directory.join(file)).expect("linked");
        // Kimi's vocabulary is found first, so nobody asks for the other one.
        if file == "tokenizer.json" {
            std::fs::remove_file(directory.join("tiktoken.model")).expect("removed");
        }
        let error = Model::load(&directory).expect_err("is refused");
        assert!(
            matches!(error.kind(), ErrorKind::BrokenModelFile { file: named, reason }
                if named.ends_with(file) && reason.contains("link")),
            "{error}"
        );
    }
}

#[test]
fn tekken_alone_has_its_tokens_named() {
    let data = crate::oracle::repository().join(".cache/vocabularies/mistral_common/mistral_common/data");
    let file = data.join("tekken_240911.json");
    if !file.exists() {
        eprintln!("skipped: no tekken.json in {}", data.display());
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tekken-model");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::copy(&file, directory.join("tekken.json")).expect("a copy");
    let template = "{{ bos_token }}[INST]{{ messages[0].content }}[/INST]{{ eos_token }}";
    std::fs::write(directory.join("chat_template.jinja"), template).expect("written");
    let model = Model::load(&directory).expect("loads");
    assert_eq!(model.stop_ids(), [2]);
    let arena = typecase::value::Arena::new();
    let mut body = br#"{"messages": [{"role": "user", "content": "</s>"}]}"#.to_vec();
    let request = typecase::ChatRequest::parse(&mut body, &arena).expect("a request");
    let prompt = model.render(&request, &Default::default()).expect("renders");
    assert_eq!(prompt.text(), "<s>[INST]</s>[/INST]</s>");
    let ids = model.encode(&prompt).expect("ids").into_ids();
    assert_eq!((ids.first(), ids.last()), (Some(&1), Some(&2)));
    assert_eq!(
        ids.iter().filter(|id| **id == 2).count(),
        1,
        "what the request spells is text"
    );
}
