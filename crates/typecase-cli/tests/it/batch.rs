//! `typecase batch`.

use crate::process::{scratch, stderr, stdout, typecase};
use serde_json::{Value, json};
use std::path::Path;

/// So many requests, every seventh of which is refused, with an empty line now and then.
fn requests(n: usize) -> String {
    let mut lines = String::new();
    for i in 0..n {
        if i % 7 == 3 {
            lines += "{\"messages\": 1}\n";
        } else {
            lines += &format!(
                "{{\"messages\": [{{\"role\": \"user\", \"content\": \"question {i}\"}}, {{\"role\": \"assistant\", \
                 \"content\": \"answer\"}}], \"reasoning_effort\": \"none\"}}\n"
            );
        }
        if i % 50 == 0 {
            lines.push('\n');
        }
    }
    lines
}

fn batch(input: &Path, output: &Path, more: &[&str]) -> std::process::Output {
    let (input, output) = (input.to_str().expect("is UTF-8"), output.to_str().expect("is UTF-8"));
    let args: Vec<&str> = ["batch", input, output].iter().chain(more).copied().collect();
    typecase(&args, "")
}

fn rows(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("is there");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect()
}

#[test]
fn rows_are_in_order_and_a_bad_record_has_its_own() {
    let directory = scratch("batch_order");
    let (input, output) = (directory.join("in.jsonl"), directory.join("out.jsonl"));
    std::fs::write(&input, requests(1500)).expect("written");
    let done = batch(
        &input,
        &output,
        &["--fields", "text,ids,count,mask,labels,messages", "--threads", "3"],
    );
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    assert!(stderr(&done).contains("214 of 1500"), "{}", stderr(&done));
    let rows = rows(&output);
    assert_eq!(rows.len(), 1500);
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["row"], i);
        if i % 7 == 3 {
            assert_eq!(row["error"]["param"], "messages", "{row}");
            continue;
        }
        let text = row["text"].as_str().expect("is text");
        assert!(text.contains(&format!("question {i}<|close|>")), "{row}");
        let len = |key: &str| row[key].as_array().map(Vec::len);
        let count = row["count"].as_u64().expect("is a number") as usize;
        for key in ["ids", "mask", "labels", "messages"] {
            assert_eq!(len(key), Some(count), "{key} of {row}");
        }
    }
}

#[test]
fn a_run_that_was_killed_is_taken_up() {
    let directory = scratch("batch_resume");
    let (input, whole, torn) = (
        directory.join("in.jsonl"),
        directory.join("whole.jsonl"),
        directory.join("torn.jsonl"),
    );
    std::fs::write(&input, requests(700)).expect("written");
    assert_eq!(batch(&input, &whole, &[]).status.code(), Some(1));
    let bytes = std::fs::read(&whole).expect("is there");
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1, bytes.len()] {
        std::fs::write(&torn, &bytes[..cut]).expect("written");
        let refused = batch(&input, &torn, &[]);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "what is there is not written over unasked"
        );
        assert_eq!(std::fs::read(&torn).expect("is there"), &bytes[..cut]);
        let resumed = batch(&input, &torn, &["--resume"]);
        assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
        assert!(stderr(&resumed).contains("100 of 700"), "{}", stderr(&resumed));
        assert!(std::fs::read(&torn).expect("is there") == bytes, "cut at {cut}");
    }
    std::fs::write(&torn, "{\"row\": 7}\n").expect("written");
    assert_eq!(batch(&input, &torn, &["--resume"]).status.code(), Some(2));
    assert_eq!(batch(&input, &torn, &["--overwrite"]).status.code(), Some(1));
    assert!(std::fs::read(&torn).expect("is there") == bytes);
    std::fs::write(&input, requests(10)).expect("written");
    let other = batch(&input, &torn, &["--resume"]);
    assert_eq!(
        other.status.code(),
        Some(2),
        "the output has more rows than the input requests"
    );
}

#[test]
fn fields_can_be_chosen_and_pipes_are_files() {
    let request = r#"{"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none"}"#;
    let output = typecase(&["batch", "-", "-", "--fields", "count"], request);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let row: Value = serde_json::from_str(stdout(&output)).expect("is JSON");
    assert_eq!(row, json!({"row": 0, "count": 24}));
    let directory = scratch("batch_template");
    let template = directory.join("chat.jinja");
    std::fs::write(&template, "{{ messages[0].content }}").expect("written");
    let template = template.to_str().expect("is UTF-8");
    let output = typecase(
        &["batch", "-", "-", "--template", template, "--fields", "text"],
        request,
    );
    assert_eq!(stdout(&output), "{\"row\":0,\"text\":\"Hi\"}\n");
    let no_ids = typecase(&["batch", "-", "-", "--template", template], request);
    assert_eq!(no_ids.status.code(), Some(2));
}
