//! What an earlier run left.

use anyhow::{Result, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

/// Whole rows of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) rows: u64,
    /// How many of them are errors.
    pub(super) refused: u64,
}

#[derive(Deserialize)]
struct Row {
    row: u64,
    error: Option<IgnoredAny>,
}

/// Counts the whole rows of `file`, cuts off a torn one, and leaves the file at its end.
pub(super) fn whole_rows(file: &mut File) -> Result<Done> {
    let mut done = Done::default();
    let mut end = 0;
    let mut reader = BufReader::new(&mut *file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = reader.read_until(b'\n', &mut line)?;
        if len == 0 || line.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice::<Row>(&line) {
            Ok(row) if row.row == done.rows => {
                done.rows += 1;
                done.refused += u64::from(row.error.is_some());
            }
            _ => bail!("line {} is not row {} of a batch", done.rows + 1, done.rows),
        }
        end += len as u64;
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok(done)
}
