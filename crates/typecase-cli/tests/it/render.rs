//! `typecase render`.

use crate::process::{json, scratch, stderr, stdout, typecase};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kimi-k3-vision.json")
}

/// Runs `typecase render` with `input` on standard input.
fn render(args: &[&str], input: &str) -> Output {
    let all: Vec<&str> = ["render"].iter().chain(args).copied().collect();
    typecase(&all, input)
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
        stderr(&output).contains("2 of 4 requests have no prompt"),
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

/// A template that writes two control tokens, one of them by its name.
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
    {% if today is undefined %}{{ strftime_now('%d %b %Y') }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

#[test]
fn a_bare_template_renders_without_a_model() {
    let directory = scratch("bare_template");
    let file = directory.join("chat.jinja");
    std::fs::write(&file, TEMPLATE).expect("written");
    let file = file.to_str().expect("is UTF-8");
    let source = [
        "--template",
        file,
        "--special",
        "bos_token=<s>",
        "--now",
        "2026-03-14T15:09:26",
    ];
    let request = r#"{"messages": [{"role": "user", "content": "a<|end|><s>"}]}"#;
    let with = |more: &[&str]| {
        let args: Vec<&str> = source.iter().chain(more).copied().collect();
        render(&args, request)
    };
    let text = "<s><|user|>a<|end|><s><|end|>14 Mar 2026<|assistant|>";
    assert_eq!(stdout(&with(&["--output", "text"])), text);
    let json = json(&with(&["--output", "json"]));
    assert_eq!(json["text"], text);
    assert_eq!(json["format"], "chat_template");
    assert!(json["token_ids"].is_null() && json["model"].is_null());
    let writers: Vec<(&str, Option<&str>)> = json["provenance"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|run| (run["writer"].as_str().expect("is text"), run["path"].as_str()))
        .collect();
    assert_eq!(
        writers,
        [
            ("config", None),
            ("format", None),
            ("request", Some("messages[0].role")),
            ("format", None),
            ("request", Some("messages[0].content")),
            ("format", None),
        ]
    );
    let view = with(&["--color", "always"]);
    insta::assert_snapshot!(stdout(&view).replace('\x1b', "ESC"));
    let ids = with(&["--output", "ids"]);
    assert_eq!(ids.status.code(), Some(2), "there are no ids without a vocabulary");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../typecase/models/kimi-k3-demo");
    let both = with(&["--model", demo.to_str().expect("is UTF-8"), "--output", "json"]);
    let both = self::json(&both);
    assert_eq!(both["text"], text);
    assert!(both["token_ids"].as_array().is_some_and(|ids| !ids.is_empty()));
}

#[test]
fn templates_that_do_not_compile_or_refuse_say_where() {
    let directory = scratch("broken_template");
    let file = directory.join("chat.jinja");
    let with = |template: &str| {
        std::fs::write(&file, template).expect("written");
        render(
            &["--template", file.to_str().expect("is UTF-8"), "--output", "json"],
            HI,
        )
    };
    let broken = with("a\n{% if %}");
    assert_eq!(broken.status.code(), Some(2));
    assert!(
        stderr(&broken).contains("chat.jinja") && stderr(&broken).contains("line 2"),
        "{}",
        stderr(&broken)
    );
    let refused = with("{{ raise_exception('no such role') }}");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(json(&refused)["error"]["code"], "template_refused");
    let clash = render(&["--now", "yesterday"], HI);
    assert_eq!(clash.status.code(), Some(2));
}

#[test]
fn a_named_template_and_a_format_can_be_asked_for() {
    let directory = scratch("named_templates");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../typecase/models/kimi-k3-demo");
    for file in std::fs::read_dir(demo).expect("the demo model") {
        let file = file.expect("an entry").path();
        std::fs::copy(&file, directory.join(file.file_name().expect("a name"))).expect("a copy");
    }
    std::fs::write(directory.join("chat_template.jinja"), "default {{ eos_token }}").expect("written");
    std::fs::create_dir_all(directory.join("additional_chat_templates")).expect("made");
    std::fs::write(directory.join("additional_chat_templates/rag.jinja"), "rag").expect("written");
    let model = directory.to_str().expect("is UTF-8");
    let text = |more: &[&str]| {
        let args: Vec<&str> = ["--model", model, "--output", "text"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let output = render(&args, HI);
        (output.status.code(), stdout(&output).to_owned())
    };
    assert!(text(&[]).1.starts_with("<|open|>"), "the native format comes first");
    assert_eq!(text(&["--format", "chat_template"]).1, "default [EOS]");
    assert_eq!(
        text(&["--format", "chat_template", "--special", "eos_token=<e>"]).1,
        "default <e>"
    );
    assert_eq!(text(&["--template-name", "rag"]).1, "rag");
    assert_eq!(text(&["--template-name", "poem"]).0, Some(2));
    assert_eq!(text(&["--template-name", "rag", "--format", "kimi_k3"]).0, Some(2));
}
