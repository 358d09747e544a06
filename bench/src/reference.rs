//! What Python's transformers made of each template and workload (`reference.py record`).

use std::{fs, path::PathBuf};

use serde::Deserialize;

use crate::{Verdict, workload};

/// The recorded outputs.
pub struct Reference {
    directory: PathBuf,
    /// What recorded them.
    pub manifest: Manifest,
}

/// Head of a record.
#[derive(Debug, Deserialize)]
pub struct Manifest {
    /// Local date of the recording: some templates print it.
    pub date: String,
    /// Version of transformers.
    pub transformers: String,
    /// Version of Jinja2.
    pub jinja2: String,
    /// Version of Python.
    pub python: String,
}

/// What the reference did with one request.
pub enum Expected {
    /// The prompt.
    Text(String),
    /// The template refuses this conversation; the message says why.
    Refused(String),
}

impl Reference {
    /// Opens `TYPECASE_REFERENCE` or `bench/reference`.
    ///
    /// # Errors
    /// If nothing was recorded, or not today.
    pub fn open() -> Result<Self, String> {
        let directory =
            std::env::var_os("TYPECASE_REFERENCE").map_or_else(|| workload::home().join("reference"), PathBuf::from);
        let path = directory.join("manifest.json");
        let text =
            fs::read_to_string(&path).map_err(|err| format!("{}: {err} (run reference.py record)", path.display()))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|err| format!("{}: {err}", path.display()))?;
        let today = chrono::Local::now().format("%Y-%m-%d").to_string();
        if manifest.date != today {
            return Err(format!(
                "the reference was recorded on {}, today is {today}: run reference.py record",
                manifest.date
            ));
        }
        Ok(Self { directory, manifest })
    }

    /// What the reference gave for this pair.
    ///
    /// # Errors
    /// If the pair was not recorded.
    pub fn expected(&self, template: &str, workload: &str) -> Result<Expected, String> {
        let base = self.directory.join(template);
        if let Ok(text) = fs::read_to_string(base.join(format!("{workload}.txt"))) {
            return Ok(Expected::Text(text));
        }
        let path = base.join(format!("{workload}.error"));
        fs::read_to_string(&path)
            .map(Expected::Refused)
            .map_err(|err| format!("{}: {err}", path.display()))
    }
}

/// Compares one output with the expected text.
#[must_use]
pub fn verdict(output: &Result<String, String>, expected: &str) -> Verdict {
    match output {
        Ok(text) if text == expected => Verdict::Exact,
        Ok(text) => Verdict::Differs(first_difference(text, expected)),
        Err(message) => Verdict::Fails(message.clone()),
    }
}

fn first_difference(got: &str, expected: &str) -> String {
    let at = got
        .bytes()
        .zip(expected.bytes())
        .position(|(a, b)| a != b)
        .unwrap_or(got.len().min(expected.len()));
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(24).min(text.len())..(at + 24).min(text.len())];
        String::from_utf8_lossy(bytes).into_owned()
    };
    format!(
        "at byte {at} of {} (expected {}): {:?} for {:?}",
        got.len(),
        expected.len(),
        around(got),
        around(expected)
    )
}
