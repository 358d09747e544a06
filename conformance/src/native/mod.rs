//! Formats without a template, against what their own encoders gave.
//!
//! A case is `{"id", "input", ...}` with one of `segments` (pairs of text and whether it is control), `text`, or `error`
//! (of which only the fact counts). Nothing is normalized: segments and flags are compared one by one.

mod kimi_k3;
mod kimi_k3_media;

use crate::report::{Outcome, Report};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use typecase::value::{Arena, Value, json};

/// Compares one case.
type Check = fn(Case<'_>) -> Outcome;

/// Files by what their names begin with, and what compares their cases; `None` for formats that are not there yet.
/// A name that begins another stands after it.
const FILES: [(&str, Option<Check>); 6] = [
    ("kimi_k3_media", Some(kimi_k3_media::check)),
    ("kimi_k3", Some(kimi_k3::check)),
    ("deepseek_v32", None),
    ("deepseek_v41", None),
    ("deepseek_v4", None),
    ("inkling", None),
];

/// One line of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    /// What the encoder was given: `input`, or the whole line where that has none.
    pub(crate) input: Value<'a>,
    /// The whole line: `segments`, `text` or `error`.
    pub(crate) expected: Value<'a>,
}

/// Compares all cases of `files`. Whether nothing differs.
pub(crate) fn run(files: &[PathBuf], show: usize) -> Result<bool> {
    let mut agrees = true;
    for file in files {
        let report = run_file(file).with_context(|| file.display().to_string())?;
        report.print(&file.display().to_string(), show)?;
        agrees &= report.agrees();
    }
    Ok(agrees)
}

fn run_file(file: &Path) -> Result<Report> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let Some((name, check)) = FILES.into_iter().find(|(name, _)| is_named(stem, name)) else {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        bail!("the name tells no format; names begin with {}", names.join(", "));
    };
    let mut report = Report::default();
    let text = fs::read_to_string(file)?;
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        let arena = Arena::new();
        let Ok(value) = json::parse_str(line, &arena) else {
            bail!("line {} is no JSON", number + 1);
        };
        let id = value.lookup("id").and_then(|id| id.as_str());
        let Some(id) = id else {
            // A head that says how the file was made.
            if value.lookup("meta").is_some() {
                continue;
            }
            bail!("line {} has no `id`", number + 1);
        };
        let outcome = match check {
            Some(check) => check(Case {
                input: value.lookup("input").unwrap_or(value),
                expected: value,
            }),
            None => Outcome::Skipped(format!("{name} is not reached yet")),
        };
        report.add(id, outcome);
    }
    Ok(report)
}

/// `kimi_k3`, `kimi_k3.more`, `kimi_k3_more` and `kimi_k3-more` are named `kimi_k3`.
fn is_named(stem: &str, name: &str) -> bool {
    stem.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_', '-']))
}
