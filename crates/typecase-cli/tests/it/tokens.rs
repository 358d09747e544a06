//! `typecase tokens`.

use crate::process::{fetched, json, stderr, stdout, typecase};
use serde_json::{Value, json};

const CHAT: &str = r#"{"messages": [{"role": "user", "content": "Hi <|sep|>"}, {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Bye"}], "reasoning_effort": "none"}"#;

#[test]
fn text_becomes_ids_and_ids_text() {
    let encode = |more: &[&str], text: &str| {
        let args: Vec<&str> = ["tokens", "encode", "--text"].iter().chain(more).copied().collect();
        let output = typecase(&args, text);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    let text = "grüß 😀<|sep|>\n";
    let ids = encode(&[], text);
    assert!(ids.contains("2821"), "{ids}");
    let plain = encode(&["--no-special"], text);
    assert!(!plain.contains("2821"), "{plain}");
    for ids in [&ids, &plain] {
        assert_eq!(stdout(&typecase(&["tokens", "decode"], ids)), text);
    }
    assert_eq!(
        stdout(&typecase(&["tokens", "decode"], "2818, 39 72")),
        "<|end_of_msg|>Hi"
    );
    assert_eq!(
        stdout(&typecase(&["tokens", "decode", "--skip-special"], "[2818,39,72]")),
        "Hi"
    );
    let count = typecase(&["tokens", "count", "--text"], text);
    let n = serde_json::from_str::<Vec<u32>>(&ids).expect("is JSON").len();
    assert_eq!(stdout(&count), format!("{n}\n"));
}

#[test]
fn what_cannot_be_read_or_is_refused_has_its_status() {
    assert_eq!(typecase(&["tokens", "decode"], "1 x").status.code(), Some(2));
    assert_eq!(typecase(&["tokens", "decode"], "4000000000").status.code(), Some(1));
    assert_eq!(
        typecase(&["tokens", "encode"], r#"{"messages": 1}"#).status.code(),
        Some(1)
    );
    assert_eq!(
        typecase(&["tokens", "encode", "--no-special"], CHAT).status.code(),
        Some(2)
    );
}

#[test]
fn each_token_of_a_request_is_explained() {
    let ids = json(&typecase(&["tokens", "encode"], CHAT));
    let explained = json(&typecase(&["tokens", "encode", "--explain", "--output", "json"], CHAT));
    let tokens = explained.as_array().expect("is a list");
    let of = |key: &str| -> Vec<Value> { tokens.iter().map(|token| token[key].clone()).collect() };
    assert_eq!(Value::from(of("id")), ids);
    let prompt = typecase(&["render", "--output", "text"], CHAT);
    let joined: String = tokens.iter().filter_map(|token| token["text"].as_str()).collect();
    assert_eq!(joined, stdout(&prompt));
    let learned: String = tokens
        .iter()
        .filter(|token| token["generated"] == true)
        .filter_map(|token| token["text"].as_str())
        .collect();
    // The model opens its channels itself.
    assert!(
        learned.starts_with("<|open|>response<|sep|>Hello") && learned.ends_with("<|end_of_msg|>"),
        "{learned}"
    );
    let first = tokens
        .iter()
        .find(|token| token["content"] == true)
        .expect("has content");
    assert_eq!(
        (&first["path"], &first["message"], &first["role"], &first["writer"]),
        (
            &json!("messages[0].content"),
            &json!(0),
            &json!("user"),
            &json!("request")
        )
    );
    let quoted = tokens.iter().filter(|token| token["message"] == 0);
    assert!(
        quoted.clone().all(|token| token["special"] == false),
        "what a request spells is text"
    );
    let table = typecase(&["tokens", "encode", "--explain"], CHAT);
    insta::assert_snapshot!(stdout(&table));
}

#[test]
fn a_directory_of_transformers_needs_no_config() {
    let Some(model) = fetched("qwen3") else { return };
    let model = model.to_str().expect("is UTF-8");
    let ids = json(&typecase(
        &["tokens", "encode", "--model", model],
        r#"{"messages": [{"role": "user", "content": "Hi <|im_end|>"}]}"#,
    ));
    // What transformers gives for the turn, but for the quoted token, which stays text.
    let expected = json!([
        151644, 872, 198, 13048, 82639, 318, 6213, 91, 29, 151645, 198, 151644, 77091, 198
    ]);
    assert_eq!(ids, expected);
}
