//! References that are run live: Python scripts in `conformance/oracle`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a script of `conformance/oracle` on `input`; its output. `None`, with a note, where the references are not
/// installed (`scripts/setup_references.sh` does that) or lack what it needs.
pub(crate) fn run(script: &str, arguments: &[&str], input: String) -> Option<String> {
    let python = match std::env::var_os("TYPECASE_ORACLE_PYTHON") {
        Some(python) => PathBuf::from(python),
        None => repository().join(".cache/oracle/bin/python"),
    };
    if !python.exists() {
        eprintln!("skipped: no Python references at {}", python.display());
        return None;
    }
    let mut child = Command::new(&python)
        .arg(repository().join("conformance/oracle").join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let feed = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("python ends");
    let _fed = feed.join();
    assert!(output.status.success(), "{script} failed");
    Some(String::from_utf8(output.stdout).expect("the answer is text"))
}
