//! Results in the oracle's shape.

use crate::exact::{Found, Refusal};
use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use typecase::value::json::write_str;

/// The oracle cuts the messages of errors that state no expectation at this many code points.
const MAX_MESSAGE: usize = 300;

/// A line of the oracle's file, without the newline, spelled as Python's `json.dumps(row, ensure_ascii=False)` does.
pub(super) fn line(template: &str, conversation: &str, found: &Found) -> String {
    let mut out = "{\"template\": ".to_owned();
    write_str(&mut out, template, false);
    out.push_str(", \"conversation\": ");
    write_str(&mut out, conversation, false);
    match found {
        Found::Text { text, spans } => {
            out.push_str(", \"text\": ");
            write_str(&mut out, text, false);
            if !spans.is_empty() {
                let spans: Vec<String> = spans.iter().map(|(start, end)| format!("[{start}, {end}]")).collect();
                let _ = write!(out, ", \"spans\": [{}]", spans.join(", "));
            }
        }
        Found::Refused(Refusal {
            kind,
            exception,
            message,
            ..
        }) => {
            let _ = write!(
                out,
                ", \"error\": {{\"kind\": \"{kind}\", \"type\": \"{exception}\", \"message\": "
            );
            let cut: String = match *kind {
                "raise_exception" => message.clone(),
                _ => message.chars().take(MAX_MESSAGE).collect(),
            };
            write_str(&mut out, &cut, false);
            out.push('}');
        }
    }
    out.push('}');
    out
}

/// Writes lines to a file, compressed if its name ends in `.gz`.
pub(super) fn write(path: &Path, lines: impl IntoIterator<Item = String>) -> Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let mut out: Box<dyn Write> = match path.extension().is_some_and(|extension| extension == "gz") {
        true => Box::new(GzEncoder::new(file, Compression::best())),
        false => Box::new(file),
    };
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}
