//! `typecase batch`.

use crate::process::{scratch, start, stderr, stdout, typecase};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// So many requests, every seventh of which is refused, with an empty line now and then.
pub(crate) fn requests(n: usize) -> String {
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

pub(crate) fn batch(input: &Path, output: &Path, more: &[&str]) -> std::process::Output {
    let (input, output) = (input.to_str().expect("is UTF-8"), output.to_str().expect("is UTF-8"));
    let args: Vec<&str> = ["batch", input, output].iter().chain(more).copied().collect();
    typecase(&args, "")
}

pub(crate) fn rows(file: &Path) -> Vec<Value> {
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

/// Starts a run and kills it once `watched` has grown to so many bytes; whether it was still at work.
pub(crate) fn kill_at(args: &[&str], watched: &Path, bytes: u64) -> bool {
    let mut child = start(args);
    while size(watched) < bytes {
        if child.try_wait().expect("can be asked").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("can be killed");
    !child.wait().expect("ends").success()
}

/// Bytes of a file, or of all files in a folder.
fn size(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |metadata| metadata.len()),
    }
}

#[test]
fn a_run_that_was_killed_is_taken_up() {
    let directory = scratch("batch_killed");
    let (input, whole, killed) = (
        directory.join("in.jsonl"),
        directory.join("whole.jsonl"),
        directory.join("killed.jsonl"),
    );
    std::fs::write(&input, requests(20_000)).expect("written");
    assert_eq!(batch(&input, &whole, &[]).status.code(), Some(1));
    let bytes = std::fs::read(&whole).expect("is there");
    let paths = [&input, &killed].map(|path| path.to_str().expect("is UTF-8"));
    let mut kills = 0;
    for part in 1..5 {
        let args = ["batch", paths[0], paths[1], "--resume", "--threads", "2"];
        kills += usize::from(kill_at(&args, &killed, bytes.len() as u64 * part / 6));
        let mut there = std::fs::read(&killed).expect("is there");
        let torn = there.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        assert!(
            bytes.starts_with(&there[..torn]),
            "rows that are whole stay as they are"
        );
        if part == 2 {
            // What a power cut may leave of rows that were not made durable.
            there.extend_from_slice(&[0; 4096]);
            there.extend_from_slice(b"\n");
            std::fs::write(&killed, there).expect("written");
        }
    }
    assert!(kills > 0, "some run was still at work");
    let unasked = batch(&input, &killed, &[]);
    assert_eq!(
        unasked.status.code(),
        Some(2),
        "what is there is not written over unasked"
    );
    let resumed = batch(&input, &killed, &["--resume"]);
    assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("2857 of 20000"), "{}", stderr(&resumed));
    assert!(std::fs::read(&killed).expect("is there") == bytes);
    // Nothing is left to do, and nothing changes.
    let again = batch(&input, &killed, &["--resume"]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));
    assert!(
        stderr(&again).contains("resumed after 20000 rows"),
        "{}",
        stderr(&again)
    );
    assert!(std::fs::read(&killed).expect("is there") == bytes);
}

#[test]
fn a_run_of_something_else_is_not_taken_up() {
    let directory = scratch("batch_changed");
    let (input, output) = (directory.join("in.jsonl"), directory.join("out.jsonl"));
    let template = directory.join("chat.jinja");
    std::fs::write(&input, requests(700)).expect("written");
    std::fs::write(&template, "{{ messages[0].content }}").expect("written");
    let template_name = template.to_str().expect("is UTF-8");
    let flags = ["--template", template_name, "--fields", "text"];
    assert_eq!(batch(&input, &output, &flags).status.code(), Some(1));
    let bytes = std::fs::read(&output).expect("is there");
    let refused = |flags: &[&str], says: &str| {
        let mut all = vec!["--resume"];
        all.extend(flags);
        let done = batch(&input, &output, &all);
        assert_eq!(done.status.code(), Some(2), "{says}: {}", stderr(&done));
        assert!(stderr(&done).contains(says), "{says}: {}", stderr(&done));
        assert!(std::fs::read(&output).expect("is there") == bytes);
    };
    refused(&[], "--fields was text, now text,ids");
    refused(&[&flags[..], &["--special", "bos_token=<s>"]].concat(), "--special was");
    refused(&[&flags[..], &["--now", "2020-01-01"]].concat(), "--now was");
    std::fs::write(&template, "{{ messages[0].role }}").expect("written");
    refused(&flags, "the template was");
    std::fs::write(&template, "{{ messages[0].content }}").expect("written");
    let lines = requests(700);
    std::fs::write(&input, lines.replacen("question 5", "question V", 1)).expect("written");
    refused(&flags, "the input is not the one of the first run");
    std::fs::write(&input, requests(10)).expect("written");
    refused(&flags, "the input is not the one of the first run");
    std::fs::write(&input, &lines).expect("written");
    std::fs::write(&output, &bytes[..bytes.len() - 9]).expect("written");
    let shorter = batch(&input, &output, &[&flags[..], &["--resume"]].concat());
    assert!(stderr(&shorter).contains("was changed since"), "{}", stderr(&shorter));
    let manifest = directory.join("out.jsonl.manifest.json");
    std::fs::remove_file(&manifest).expect("is there");
    let unknown = batch(&input, &output, &[&flags[..], &["--resume"]].concat());
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("has no manifest"), "{}", stderr(&unknown));
    let anew = batch(&input, &output, &[&flags[..], &["--overwrite"]].concat());
    assert_eq!(anew.status.code(), Some(1), "{}", stderr(&anew));
    assert!(std::fs::read(&output).expect("is there") == bytes);
}

#[test]
fn a_run_goes_on_when_its_input_has_grown() {
    let directory = scratch("batch_grown");
    let (input, output, whole) = (
        directory.join("in.jsonl"),
        directory.join("out.jsonl"),
        directory.join("whole.jsonl"),
    );
    std::fs::write(&input, requests(1500)).expect("written");
    assert_eq!(batch(&input, &whole, &[]).status.code(), Some(1));
    let bytes = std::fs::read(&whole).expect("is there");
    // None of these is a multiple of what a chunk holds.
    let mut before = 0;
    for n in [0, 3, 700, 700, 1300, 1500] {
        std::fs::write(&input, requests(n)).expect("written");
        let done = batch(&input, &output, &["--resume"]);
        assert_eq!(done.status.code(), Some(i32::from(n > 3)), "{}", stderr(&done));
        let resumed = format!("resumed after {before} rows");
        assert_eq!(stderr(&done).contains(&resumed), before > 0, "{}", stderr(&done));
        assert_eq!(rows(&output).len(), n);
        before = n;
    }
    assert!(std::fs::read(&output).expect("is there") == bytes);
    let grown = requests(1600);
    std::fs::write(&input, grown.replacen("question 5", "question V", 1)).expect("written");
    let other = batch(&input, &output, &["--resume"]);
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
    assert!(stderr(&other).contains("among its first 1500 requests are others"));
    assert!(std::fs::read(&output).expect("is there") == bytes);
    // Piped in, it is the same input.
    let args = ["batch", "-", output.to_str().expect("is UTF-8"), "--resume"];
    let piped = typecase(&args, &grown);
    assert_eq!(piped.status.code(), Some(1), "{}", stderr(&piped));
    assert!(stderr(&piped).contains("resumed after 1500 rows"), "{}", stderr(&piped));
    assert_eq!(rows(&output).len(), 1600);
}

#[test]
fn files_that_cannot_be_are_named_before_anything_is_written() {
    let directory = scratch("batch_files");
    let (input, folder) = (directory.join("in.jsonl"), directory.join("folder"));
    std::fs::write(&input, requests(3)).expect("written");
    std::fs::create_dir(&folder).expect("a folder");
    let refused = |input: &Path, output: &Path, says: &str| {
        let done = batch(input, output, &["--overwrite"]);
        assert_eq!(done.status.code(), Some(2), "{says}: {}", stderr(&done));
        assert!(stderr(&done).contains(says), "{says}: {}", stderr(&done));
    };
    refused(&input, &input, "in.jsonl is both IN and OUT");
    refused(&input, &folder.join("../in.jsonl"), "in.jsonl is both IN and OUT");
    refused(&input, &folder, "folder is a directory; OUT is a file");
    refused(&input, &folder.join("a/b.jsonl"), "there is no directory");
    refused(&folder, &directory.join("out.jsonl"), "folder is a directory");
    refused(
        &directory.join("none.jsonl"),
        &directory.join("out.jsonl"),
        "none.jsonl: ",
    );
    let left = std::fs::read_dir(&directory).expect("is there").count();
    assert_eq!(left, 2, "nothing was written");
    assert_eq!(std::fs::read_to_string(&input).expect("is there"), requests(3));
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
