//! Opening model directories: what is refused, and how it is said.

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
