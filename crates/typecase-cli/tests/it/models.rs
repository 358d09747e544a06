//! Small model directories, and what the commands make of them.

use crate::process::{json, scratch, stderr, stdout, typecase};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const TOKENS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
];

/// Bytes with the ids 0 to 255, and `added` tokens behind them.
fn vocabulary(added: &[&str]) -> Value {
    let alphabet = ('!'..='~')
        .chain('¡'..='¬')
        .chain('®'..='ÿ')
        .chain('\u{100}'..='\u{143}');
    let bytes: Map<String, Value> = alphabet.enumerate().map(|(id, c)| (c.to_string(), json!(id))).collect();
    let added = added.iter().enumerate().map(|(i, content)| {
        json!({"id": 256 + i, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false})
    });
    let step = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "added_tokens": added.collect::<Value>(), "pre_tokenizer": step, "decoder": step,
        "model": {"type": "BPE", "vocab": bytes, "merges": []}})
}

const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}\
    {% for p in m.content %}{% if p.type == 'image_url' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ p.text }}\
    {% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}";

/// A model of the Qwen2.5-VL family with these files beside its vocabulary.
fn model(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(test);
    let config = json!({"model_type": "qwen2_5_vl", "image_token_id": 260, "video_token_id": 261}).to_string();
    let tokenizer = vocabulary(TOKENS).to_string();
    let own = [("config.json", config.as_str()), ("tokenizer.json", tokenizer.as_str())];
    for (file, content) in own.iter().chain(files) {
        let path = directory.join(file);
        std::fs::create_dir_all(path.parent().expect("is in the directory")).expect("made");
        std::fs::write(path, content).expect("written");
    }
    directory
}

fn run(command: &[&str], directory: &Path, more: &[&str], input: &str) -> std::process::Output {
    let model = ["--model", directory.to_str().expect("is UTF-8")];
    let args: Vec<&str> = command.iter().chain(&model).chain(more).copied().collect();
    typecase(&args, input)
}

const IMAGE: &str = r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "<|image_pad|>"},
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]}"#;
const HI: &str = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;

/// Bytes that terminals act on, and what colours would be made of.
const BYTES: &str = "a\u{1b}[31mred\u{1b}[0m\u{8}\u{7}\0b\u{7f}\u{9b}c\u{200b}\r\n";

#[test]
fn data_goes_out_byte_for_byte() {
    let request = json!({"messages": [{"role": "user", "content": BYTES}]}).to_string();
    let directory = model("bytes", &[("chat_template.jinja", "{{ messages[0].content }}")]);
    for color in ["auto", "always", "never"] {
        let output = run(
            &["render", "--color", color],
            &directory,
            &["--output", "text"],
            &request,
        );
        assert_eq!(stdout(&output), BYTES, "--color {color}: {}", stderr(&output));
        let output = run(
            &["render", "--color", color],
            &directory,
            &["--output", "json"],
            &request,
        );
        assert_eq!(json(&output)["text"], BYTES, "--color {color}");
        assert!(stdout(&output).contains('\u{7f}'), "as JSON has it");
        let ids = run(&["tokens", "encode", "--text"], &directory, &[], BYTES);
        let decoded = run(&["tokens", "decode", "--color", color], &directory, &[], stdout(&ids));
        assert_eq!(stdout(&decoded), BYTES, "--color {color}");
    }
    let broken = run(&["tokens", "encode", "--text"], &directory, &["no/such/file"], "");
    assert_eq!(broken.status.code(), Some(2));
}

#[test]
fn media_of_a_template_are_in_the_output() {
    let directory = model("media", &[("chat_template.jinja", TEMPLATE)]);
    let other = scratch("media-template").join("other.jinja");
    std::fs::write(&other, format!("x{TEMPLATE}")).expect("written");
    let other = other.to_str().expect("is UTF-8");
    for more in [
        &[][..],
        &["--template", other],
        &["--format", "chat_template"],
        &["--template-name", "default"],
    ] {
        let args: Vec<&str> = more.iter().chain(&["--output", "json"]).copied().collect();
        let result = json(&run(&["render"], &directory, &args, IMAGE));
        let media = result["media"].as_array().expect("is a list");
        assert_eq!(media.len(), 1, "{more:?}");
        assert_eq!(media[0]["path"], "messages[0].content[1]");
        let at = media[0]["token"].as_u64().expect("is one token") as usize;
        assert_eq!(result["token_ids"][at], 260, "{more:?}");
    }
    // A template that loses an image is not let through.
    let lossy = scratch("media-lossy").join("lossy.jinja");
    std::fs::write(&lossy, "{{ messages[0].content[0].text }}").expect("written");
    let args = ["--template", lossy.to_str().expect("is UTF-8"), "--output", "json"];
    let refused = run(&["render"], &directory, &args, IMAGE);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert_eq!(json(&refused)["error"]["code"], "media_count");
}

#[test]
fn a_template_that_does_not_compile_is_named_and_hinders_nothing_else() {
    let list = json!({"chat_template": [{"name": "tool_use", "template": "{{ messages[0].content }}"},
        {"name": "default", "template": "\n{% if %}"}]})
    .to_string();
    for (test, file, content, named) in [
        (
            "broken-file",
            "chat_template.jinja",
            "{% for %}",
            "chat_template.jinja: chat template, line 1",
        ),
        (
            "broken-list",
            "tokenizer_config.json",
            list.as_str(),
            "tokenizer_config.json: default chat template, line 2",
        ),
    ] {
        let directory = model(test, &[(file, content)]);
        let failed = run(&["render"], &directory, &["--output", "ids"], HI);
        assert_eq!(failed.status.code(), Some(2), "{test}");
        assert!(stderr(&failed).contains(named), "{test}: {}", stderr(&failed));

        let report = json(&typecase(
            &["inspect", "--output", "json", directory.to_str().expect("is UTF-8")],
            "",
        ));
        assert_eq!(report["format"], "chat_template", "{test}");
        let templates = report["templates"].as_array().expect("is a list");
        assert_eq!(
            templates
                .iter()
                .filter(|template| template["error"].is_string())
                .count(),
            1,
            "{test}"
        );
        assert_eq!(
            stdout(&run(&["tokens", "encode", "--text"], &directory, &[], "!\"")),
            "[0,1]\n",
            "{test}"
        );
        assert_eq!(
            stdout(&run(&["tokens", "decode"], &directory, &[], "[0, 1]")),
            "!\"",
            "{test}"
        );
        let good = scratch("broken-good").join("good.jinja");
        std::fs::write(&good, "{{ messages[0].content }}").expect("written");
        let args = ["--output", "text", "--template", good.to_str().expect("is UTF-8")];
        assert_eq!(stdout(&run(&["render"], &directory, &args, HI)), "Hi", "{test}");
    }
}

#[test]
fn a_native_format_needs_its_control_tokens() {
    let directory = model("not-k3", &[("chat_template.jinja", TEMPLATE)]);
    let failed = run(&["render"], &directory, &["--format", "kimi_k3", "--output", "ids"], HI);
    assert_eq!(failed.status.code(), Some(2));
    assert!(failed.stdout.is_empty());
    assert!(
        stderr(&failed).contains("format kimi_k3: its vocabulary has no token <|open|>"),
        "{}",
        stderr(&failed)
    );
}

#[test]
fn a_model_with_a_template_for_tools_alone() {
    let config = json!({"chat_template": [{"name": "tool_use", "template": "{{ tools | length }} tools"}]}).to_string();
    let directory = model("tool-use", &[("tokenizer_config.json", &config)]);
    let with_tools = r#"{"messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}"#;
    let output = run(&["render"], &directory, &["--output", "text"], with_tools);
    assert_eq!(stdout(&output), "1 tools", "{}", stderr(&output));
    let refused = run(&["render"], &directory, &["--output", "json"], HI);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(json(&refused)["error"]["code"], "no_default_template");
    assert!(
        stderr(&refused).contains("the request has no tools"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn templates_of_requests_need_leave() {
    let directory = model("own-template", &[("chat_template.jinja", TEMPLATE)]);
    let request =
        r#"{"messages": [{"role": "user", "content": "Hi"}], "chat_template": "<{{ messages[0].content }}>"}"#;
    let refused = run(&["render"], &directory, &["--output", "json"], request);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(json(&refused)["error"]["param"], "chat_template");
    let allowed = run(
        &["render"],
        &directory,
        &["--output", "text", "--allow-template"],
        request,
    );
    assert_eq!(stdout(&allowed), "<Hi>");
}

#[test]
fn keyword_arguments_that_no_request_may_give_are_told_of() {
    let config = json!({"image_token": "<|image_pad|>", "eos_token": "<|im_end|>"}).to_string();
    let template = "{{ image_token }}{{ eos_token }}{{ messages | length }}{{ mood }}";
    let files = [
        ("tokenizer_config.json", config.as_str()),
        ("chat_template.jinja", template),
    ];
    let directory = model("keywords", &files);
    let request = r#"{"messages": [{"role": "user", "content": "Hi"}], "chat_template_kwargs": {"image_token": "x",
        "eos_token": "y", "messages": [], "mood": "calm", "tokenize": true, "thinkng": false}}"#;
    let result = json(&run(
        &["render"],
        &directory,
        &["--output", "json", "--profile", "reference"],
        request,
    ));
    // Media are counted: the template writes one placeholder for none.
    assert_eq!(result["error"]["code"], "media_count");
    std::fs::write(directory.join("config.json"), r#"{"model_type": "other"}"#).expect("written");
    let result = json(&run(&["render"], &directory, &["--output", "json"], request));
    assert_eq!(result["text"], "<|image_pad|><|im_end|>1calm");
    let warnings = result["warnings"].as_array().expect("is a list");
    let paths: Vec<&str> = warnings.iter().filter_map(|warning| warning["path"].as_str()).collect();
    assert_eq!(
        paths,
        ["image_token", "eos_token", "messages", "tokenize", "thinkng"]
            .map(|name| format!("chat_template_kwargs.{name}"))
    );
    assert_eq!(warnings[0]["code"], "keyword_passed_over");
    assert_eq!(warnings[4]["code"], "keyword_not_read");
}

#[test]
fn ids_of_no_token_are_told_of() {
    let directory = model("unknown-ids", &[]);
    let output = run(&["tokens", "decode"], &directory, &[], "0 1 5000 6000");
    assert_eq!(stdout(&output), "!\"");
    assert!(
        stderr(&output).contains("2 of the ids are of no token and were left out, the first 5000"),
        "{}",
        stderr(&output)
    );
    let binary = scratch("binary").join("binary");
    std::fs::write(&binary, b"ab\xff").expect("written");
    let args = ["--text", binary.to_str().expect("is UTF-8")];
    let output = run(&["tokens", "encode"], &directory, &args, "");
    assert!(
        stderr(&output).contains("binary is no text: the byte at 2 is not UTF-8"),
        "{}",
        stderr(&output)
    );
}

const WITH_TOOLS: &str = r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    "add_generation_prompt": false, "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}"#;

#[test]
fn a_broken_template_for_tools_is_told_of_when_a_request_has_some() {
    let files = [
        ("chat_template.jinja", "{{ messages[0].content }}"),
        ("additional_chat_templates/tool_use.jinja", "{% if %}"),
    ];
    let directory = model("broken-tools", &files);
    let output = run(&["render"], &directory, &["--output", "text"], HI);
    assert_eq!(stdout(&output), "Hi", "{}", stderr(&output));
    let failed = run(&["render"], &directory, &["--output", "text"], WITH_TOOLS);
    assert_eq!(failed.status.code(), Some(2));
    assert!(
        stderr(&failed).contains("tool_use.jinja: chat template, line 1"),
        "{}",
        stderr(&failed)
    );
}

#[test]
fn every_line_has_its_result_whoever_s_fault_an_error_is() {
    let directory = model("lines", &[("chat_template.jinja", "{{ messages[0].content }}")]);
    let brings = |template: &str| {
        json!({"messages": [{"role": "user", "content": "Hi"}], "chat_template": template}).to_string()
    };
    let lines = [
        brings("{% if %}"),
        brings("{% set l = [] %}{{ l.append(1) }}"),
        brings("<{{ messages[0].content }}>"),
        brings("{{ raise_exception('no') }}"),
    ];
    let args = ["--jsonl", "--allow-template"];
    let output = run(&["render"], &directory, &args, &(lines.join("\n") + "\n"));
    assert_eq!(output.status.code(), Some(1));
    let rows: Vec<Value> = (stdout(&output).lines())
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect();
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["text"].as_str(),
                row["error"]["code"].as_str(),
                row["error"]["type"].as_str(),
            )
        })
        .collect();
    let client = Some("invalid_request_error");
    assert_eq!(
        found,
        [
            (None, Some("request_template"), client),
            (None, Some("request_template"), client),
            (Some("<Hi>"), None, None),
            (None, Some("template_refused"), client),
        ]
    );
    assert_eq!(rows[0]["error"]["param"], "chat_template");
    // A fault of the server ends no run either.
    let broken = [
        ("chat_template.jinja", "x"),
        ("additional_chat_templates/tool_use.jinja", "{% if %}"),
    ];
    let directory = model("server-lines", &broken);
    let compact = serde_json::from_str::<Value>(WITH_TOOLS).expect("is JSON").to_string();
    let output = run(
        &["render"],
        &directory,
        &["--jsonl", "--output", "text"],
        &format!("{compact}\n{HI}\n"),
    );
    assert_eq!(stdout(&output).lines().count(), 2, "{}", stdout(&output));
    assert!(stdout(&output).contains("server_error") && stdout(&output).ends_with("\"x\"\n"));
}

#[test]
fn the_mask_is_that_of_the_template_that_was_used() {
    let turn = |open: &str| {
        format!(
            "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}{open}{{{{ m.content }}}}<|im_end|>{{% endfor %}}\
             {{% if add_generation_prompt %}}<|im_start|>assistant{open}{{% endif %}}"
        )
    };
    let (default, tools) = (turn("\n"), turn(" with tools says:\n"));
    let files = [
        ("chat_template.jinja", default.as_str()),
        ("additional_chat_templates/tool_use.jinja", tools.as_str()),
    ];
    let directory = model("masks", &files);
    let generated = |args: &[&str], request: &str| {
        let args: Vec<&str> = ["--explain", "--output", "json"].iter().chain(args).copied().collect();
        let tokens = json(&run(&["tokens", "encode"], &directory, &args, request));
        let tokens = tokens.as_array().expect("is a list");
        let texts = tokens.iter().filter(|token| token["generated"] == true);
        texts
            .map(|token| token["text"].as_str().expect("is text"))
            .collect::<String>()
    };
    let mut without: Value = serde_json::from_str(WITH_TOOLS).expect("is JSON");
    without.as_object_mut().expect("is an object").remove("tools");
    let mut own = without.clone();
    own["chat_template"] = json!(turn(" on its own:\n"));
    assert_eq!(generated(&[], &without.to_string()), "Ho<|im_end|>");
    assert_eq!(generated(&[], WITH_TOOLS), "Ho<|im_end|>");
    assert_eq!(generated(&["--allow-template"], &own.to_string()), "Ho<|im_end|>");
}

#[test]
fn media_that_nobody_can_place_are_told_of() {
    let directory = model("unplaced", &[("chat_template.jinja", TEMPLATE), ("config.json", "{}")]);
    std::fs::write(directory.join("config.json"), r#"{"model_type": "other"}"#).expect("written");
    let result = json(&run(&["render"], &directory, &["--output", "json"], IMAGE));
    assert_eq!(result["warnings"][0]["code"], "media_not_placed");
    assert_eq!(result["warnings"][0]["path"], "messages[0].content[1]");
}

#[test]
fn inspect_says_which_files_count() {
    let config = r#"{"added_tokens_decoder": {"300": {"content": "<x>", "special": true}}}"#;
    let files = [
        ("tokenizer_config.json", config),
        ("special_tokens_map.json", "{}"),
        ("tekken.json", "{}"),
    ];
    let directory = model("counts", &files);
    let report = json(&typecase(
        &["inspect", "--output", "json", directory.to_str().expect("is UTF-8")],
        "",
    ));
    let files = report["files"].as_array().expect("is a list");
    let gives = |name: &str| {
        let file = files.iter().find(|file| file["file"] == name).expect("is listed");
        file["gives"].as_str().expect("is text").to_owned()
    };
    assert_eq!(gives("tokenizer.json"), "vocabulary, added tokens");
    assert_eq!(
        gives("tekken.json"),
        "nothing: the vocabulary is that of tokenizer.json"
    );
    assert_eq!(
        gives("special_tokens_map.json"),
        "nothing: tokenizer_config.json has added_tokens_decoder"
    );
}
