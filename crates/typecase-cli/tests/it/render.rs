//! `typecase render`.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kimi-k3-vision.json")
}

/// Runs `typecase render` with `input` on standard input.
fn render(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_typecase"))
        .arg("render")
        .args(args)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // A process that reads a file closes its input early.
    let _ = child.stdin.take().expect("is piped").write_all(input.as_bytes());
    child.wait_with_output().expect("ends")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("is UTF-8")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("is UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("is JSON")
}

const HI: &str = r#"{"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none"}"#;
const HOLOGRAM: &str = r#"{"messages": [{"role": "user", "content": ["a", {"type": "hologram"}]}]}"#;

#[test]
fn the_view_of_a_short_chat() {
    let output = render(&["--color", "never"], HI);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("demo model"), "{}", stderr(&output));
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn colours_tell_control_text_and_placeholders_apart() {
    let request =
        r#"{"messages": [{"role": "user", "content": ["<|sep|>", {"type": "image"}]}], "reasoning_effort": "none"}"#;
    let output = render(&["--color", "always"], request);
    insta::assert_snapshot!(stdout(&output).replace('\x1b', "ESC"));
    assert!(
        !stdout(&render(&[], request)).contains('\x1b'),
        "a pipe gets no colours unless asked for"
    );
}

#[test]
fn json_has_what_the_help_says() {
    let file = example();
    let output = render(&["--output", "json", file.to_str().expect("is UTF-8")], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json = json(&output);
    let text = json["text"].as_str().expect("is text");
    let segments = json["segments"].as_array().expect("is a list");
    let joined: String = segments.iter().filter_map(|segment| segment["text"].as_str()).collect();
    assert_eq!(joined, text);
    let media = json["media"].as_array().expect("is a list");
    let paths: Vec<_> = media.iter().filter_map(|item| item["path"].as_str()).collect();
    assert_eq!(
        paths,
        [
            "messages[1].content[1]",
            "messages[1].content[2]",
            "messages[3].content[1]"
        ]
    );
    let ids = json["token_ids"].as_array().expect("is a list");
    let pads: Vec<_> = media
        .iter()
        .map(|item| &ids[item["token"].as_u64().expect("is one id") as usize])
        .collect();
    assert_eq!(ids.iter().filter(|id| *id == pads[0]).count(), media.len());
    assert!(pads.iter().all(|id| *id == pads[0]));
    let stub = json["stub"]["start"].as_u64().expect("has a stub") as usize;
    assert!(text[stub..].starts_with("<|open|>message role=\"assistant\""));
    assert_eq!(
        (json["format"].as_str(), json["model"].as_str()),
        (Some("kimi_k3"), Some("demo"))
    );
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn text_is_the_prompt_byte_for_byte() {
    let output = render(&["--output", "text", "-"], HI);
    let expected = "<|open|>message role=\"user\"<|sep|>Hi<|close|>message<|sep|><|end_of_msg|>\
        <|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>";
    assert_eq!(stdout(&output), expected);
}

#[test]
fn lines_keep_their_order_and_errors_their_place() {
    let input = format!("{HI}\n{HOLOGRAM}\n\nnot json\n{HI}\n");
    let output = render(&["--jsonl"], &input);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], lines[3]);
    assert_eq!(lines[1]["error"]["param"], "messages[0].content[1]");
    assert_eq!(lines[1]["error"]["code"], "unsupported_part");
    assert_eq!(lines[2]["error"]["code"], "invalid_json");
    assert!(
        stderr(&output).contains("2 of 4 requests were refused"),
        "{}",
        stderr(&output)
    );
    let ids = render(&["--jsonl", "--output", "ids"], &format!("{HI}\n"));
    assert_eq!(
        serde_json::from_str::<Value>(stdout(&ids)).expect("is JSON"),
        lines[0]["token_ids"]
    );
}

#[test]
fn refusals_and_failures_have_their_own_status() {
    let refused = render(&["--output", "json"], HOLOGRAM);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(json(&refused)["error"]["type"], "invalid_request_error");
    assert!(
        stderr(&refused).contains("messages[0].content[1]: part type \"hologram\""),
        "{}",
        stderr(&refused)
    );
    for args in [
        &["no-such-file.json"][..],
        &["--model", "/no/such/model"],
        &["--jsonl", "--output", "view"],
        &["--no-such-flag"],
    ] {
        let failed = render(args, HI);
        assert_eq!(failed.status.code(), Some(2), "{args:?}");
        assert!(failed.stdout.is_empty() && !failed.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn the_reference_profile_follows_the_encoder() {
    let request =
        r#"{"messages": [{"role": "critic", "content": "x"}, {"role": "user", "content": [{"type": "image"}]}]}"#;
    let output = render(&["--profile", "reference", "--output", "text"], request);
    assert!(
        stdout(&output).contains("<|kimi_image_placeholder|>"),
        "{}",
        stderr(&output)
    );
    assert!(!stdout(&output).contains("critic"));
    assert_eq!(render(&["--output", "text"], request).status.code(), Some(1));
}
