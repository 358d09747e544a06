//! Runs the command.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Runs `typecase` with `input` on standard input.
pub(crate) fn typecase(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_typecase"))
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

/// Starts `typecase` on files, with nothing to say.
pub(crate) fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_typecase"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("is UTF-8")
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("is UTF-8")
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|err| panic!("{err}: {}", stderr(output)))
}

/// An empty directory of a test.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _was_there = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// A vocabulary that `scripts/fetch_vocabularies.sh` fetched, with the template that came with it.
pub(crate) fn fetched(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/vocabularies");
    let directory = root.join(name).join("package/models");
    if directory.join("tokenizer.json").exists() {
        return Some(directory);
    }
    eprintln!("skipped: no vocabulary at {}", directory.display());
    None
}
