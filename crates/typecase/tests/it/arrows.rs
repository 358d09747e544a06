//! Which modules may name which: the compiler guards the arrows between crates, this those inside.

use std::fs;
use std::path::{Path, PathBuf};

/// A module and what it must not name.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "request",
        &["adapt", "prompt", "format", "tokenizer", "media", "engine", "model"],
    ),
    ("prompt", &["adapt", "format", "tokenizer", "media", "engine", "model"]),
    ("adapt", &["format", "tokenizer", "media", "engine", "model"]),
    ("format", &["tokenizer", "media", "engine", "model"]),
    ("tokenizer", &["request", "adapt", "format", "media", "engine"]),
    ("media", &["request", "adapt", "format", "tokenizer", "engine", "model"]),
    ("engine", &["request", "adapt", "format", "model"]),
];

#[test]
fn arrows_go_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, forbidden) in FORBIDDEN {
        for file in files(&src, module) {
            let text = fs::read_to_string(&file).expect("is a source file");
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for name in named(code).filter(|name| forbidden.contains(name)) {
                    wrong.push(format!("{}:{} names {name}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The modules that a line names as `crate::module`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .unwrap_or(rest.len());
        &rest[..end]
    })
}

fn files(src: &Path, module: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![src.join(module)];
    found.extend(Some(src.join(format!("{module}.rs"))).filter(|file| file.is_file()));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
                false => {}
            }
        }
    }
    found
}
