//! `typecase inspect`.

use crate::process::{json, scratch, stdout, typecase};

#[test]
fn the_demo_model() {
    let output = typecase(&["inspect", "--color", "never"], "");
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(stdout(&output));
    let json = json(&typecase(&["inspect", "--output", "json"], ""));
    assert_eq!(json["format"], "kimi_k3");
    assert_eq!(json["media"]["items"][0]["anchor_id"], 2837);
}

#[test]
fn templates_and_the_files_they_are_from() {
    let directory = scratch("inspect");
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../typecase/models/kimi-k3-demo");
    for file in std::fs::read_dir(demo).expect("the demo model") {
        let file = file.expect("an entry").path();
        std::fs::copy(&file, directory.join(file.file_name().expect("a name"))).expect("a copy");
    }
    let template =
        "{% for m in messages %}{% for part in m.content %}{{ part.text | trim }}{% endfor %}{% endfor %}{{ mood }}";
    std::fs::write(directory.join("chat_template.jinja"), template).expect("written");
    std::fs::create_dir_all(directory.join("additional_chat_templates")).expect("made");
    std::fs::write(directory.join("additional_chat_templates/rag.jinja"), "{% if %}").expect("written");
    let report = json(&typecase(
        &["inspect", "--output", "json", directory.to_str().expect("is UTF-8")],
        "",
    ));
    // A native model opens whatever its templates are; a broken one is said to be.
    let templates = report["templates"].as_array().expect("is a list");
    assert_eq!(templates[0]["iterates_content"], true);
    assert_eq!(templates[0]["variables"], serde_json::json!(["messages", "mood"]));
    assert_eq!(templates[1]["name"], "rag");
    assert!(templates[1]["error"].is_string());
    let files = report["files"].as_array().expect("is a list");
    let gave = |file: &str| {
        files
            .iter()
            .find(|known| known["file"] == file)
            .map(|known| known["gives"].clone())
    };
    assert_eq!(gave("chat_template.jinja"), Some("chat template default".into()));
    assert_eq!(
        gave("additional_chat_templates/rag.jinja"),
        Some("chat template rag".into())
    );
    assert_eq!(typecase(&["inspect", "/no/such/model"], "").status.code(), Some(2));
}
