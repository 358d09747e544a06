//! The recorded goldens of the formats without a template; a case that differs is named in the output.

use std::path::Path;
use std::process::Command;

/// Holds a file of goldens against the formats. A file that is not there is said to be skipped.
fn agrees(file: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if !file.is_file() {
        eprintln!("skipped: {} is not here", file.display());
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_typecase-conformance"))
        .arg("native")
        .arg(&file)
        .output()
        .expect("starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    eprintln!("{stdout}");
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        stdout.contains("different 0") && stdout.contains("skipped 0"),
        "{stdout}"
    );
}

#[test]
fn kimi_k3() {
    agrees("golden/kimi_k3.jsonl");
}

#[test]
fn kimi_k3_shared() {
    agrees("../../shared/conformance/native/kimi_k3.jsonl");
}

#[test]
fn kimi_k3_media_shared() {
    agrees("../../shared/conformance/native/kimi_k3_media.jsonl");
}

#[test]
fn a_difference_is_shown_and_fails() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kimi_k3-wrong.jsonl");
    let wrong = r#"{"id": "wrong", "input": {"messages": []}, "segments": [["<|open|>", true], ["massage", false]]}"#;
    std::fs::write(&file, wrong).expect("is writable");
    let output = Command::new(env!("CARGO_BIN_EXE_typecase-conformance"))
        .arg("native")
        .arg(&file)
        .output()
        .expect("starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout.contains("equal 0, different 1, error-agreement 0, skipped 0"),
        "{stdout}"
    );
    assert!(
        stdout.contains("differs: wrong") && stdout.contains("\"massage\""),
        "{stdout}"
    );
}
