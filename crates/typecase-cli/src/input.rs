//! Files that are read, and the bar that shows how far.

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Opens a file; `-` is standard input.
pub(crate) fn open(file: &Path) -> Result<Box<dyn Read + Send>> {
    if is_standard(file) {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(open_file(file)?))
}

/// Opens a file that has a name.
pub(crate) fn open_file(file: &Path) -> Result<File> {
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    // A folder can be opened, and says only when it is read that it is one.
    if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{} is a directory", file.display());
    }
    Ok(opened)
}

/// All bytes of a file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?
        .read_to_end(&mut bytes)
        .with_context(|| file.display().to_string())?;
    Ok(bytes)
}

/// Whether a name stands for standard input or output.
pub(crate) fn is_standard(file: &Path) -> bool {
    file == Path::new("-")
}

/// A bar over the bytes of the file, on a terminal.
pub(crate) fn progress(file: &Path, results_scroll_by: bool) -> ProgressBar {
    // Results that scroll by tell enough themselves.
    if !io::stderr().is_terminal() || results_scroll_by {
        return ProgressBar::hidden();
    }
    let (len, template) = match file.metadata() {
        Ok(metadata) if metadata.is_file() => (
            Some(metadata.len()),
            "{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} {msg}",
        ),
        _ => (None, "{spinner} {bytes} {binary_bytes_per_sec} {msg}"),
    };
    let bar = match len {
        Some(len) => ProgressBar::new(len),
        None => ProgressBar::new_spinner(),
    };
    // A template that does not parse is a bug of this file, and no reason not to render.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
