//! Where rows go.

use super::manifest::Progress;
use super::{FileKind, output_parts};
use crate::args::Field;
use crate::input::is_standard;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

/// Rows that are kept.
pub(super) trait Output {
    /// Writes the rows of a chunk: all of them, or an error.
    fn write(&mut self, rows: &[u8]) -> Result<()>;

    /// Bytes written, those of an earlier run included, if that says where to go on.
    fn len(&self) -> u64;

    /// What makes durable all that was written when it is called, on another thread; `None` if nothing can.
    fn syncer(&self) -> Result<Option<Syncer>>;

    /// Completes the output, durably.
    fn finish(&mut self) -> Result<()>;

    /// Removes what is of no use once the manifest says that the output is complete.
    fn tidy(&mut self) -> Result<()> {
        Ok(())
    }
}

pub(super) type Syncer = Box<dyn FnMut() -> io::Result<()> + Send>;

/// Whole rows of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) rows: u64,
    /// How many of them are errors.
    pub(super) refused: u64,
}

/// The output, ready to be appended to, and what it has. `earlier`: what an earlier run that is taken up had made sure of.
pub(super) fn open_output(
    file: &Path,
    kind: FileKind,
    fields: &[Field],
    earlier: Option<&Progress>,
) -> Result<(Box<dyn Output>, Kept)> {
    let name = || file.display().to_string();
    #[cfg(not(feature = "parquet"))]
    let _only_for_parquet = fields;
    match kind {
        FileKind::Jsonl if is_standard(file) => Ok((Box::new(Standard(io::stdout())), Kept::default())),
        FileKind::Jsonl => {
            let (lines, kept) = LinesFile::open(file, earlier).with_context(name)?;
            Ok((Box::new(lines), kept))
        }
        #[cfg(feature = "parquet")]
        FileKind::Parquet => {
            let (parts, kept) = super::parquet::Parts::open(file, fields, earlier).with_context(name)?;
            Ok((Box::new(parts), kept))
        }
        #[cfg(not(feature = "parquet"))]
        FileKind::Parquet => bail!(super::input::NO_PARQUET),
    }
}

/// Removes an output with its parts, if it is there.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    let removed = [
        fs::remove_file(file),
        output_parts(file).map_or(Ok(()), fs::remove_dir_all),
    ];
    let is_failure = |err: &io::Error| err.kind() != io::ErrorKind::NotFound;
    removed
        .into_iter()
        .find_map(|removed| removed.err().filter(is_failure))
        .map_or(Ok(()), Err)
}

/// Standard output, which cannot be taken up.
struct Standard(io::Stdout);

impl Output for Standard {
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        self.0.write_all(rows)?;
        Ok(self.0.flush()?)
    }

    fn len(&self) -> u64 {
        0
    }

    fn syncer(&self) -> Result<Option<Syncer>> {
        Ok(None)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A file of JSON lines.
struct LinesFile {
    file: File,
    len: u64,
}

#[derive(Deserialize)]
struct Row {
    row: u64,
    error: Option<IgnoredAny>,
}

impl LinesFile {
    fn open(file: &Path, earlier: Option<&Progress>) -> Result<(Self, Kept)> {
        let Some(earlier) = earlier.filter(|_| file.exists()) else {
            let file = File::create(file)?;
            return Ok((LinesFile { file, len: 0 }, Kept::default()));
        };
        let mut file = OpenOptions::new().read(true).write(true).open(file)?;
        let (len, kept) = whole_rows(&file, earlier)?;
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len))?;
        Ok((LinesFile { file, len }, kept))
    }
}

/// The whole rows of `file` and the bytes they take: those that were made sure of, and those after them that are as they
/// should be. What follows is torn: a row that was being written, or pages that a power cut kept from the disk.
fn whole_rows(file: &File, earlier: &Progress) -> Result<(u64, Kept)> {
    let len = file.metadata()?.len();
    if len < earlier.output_bytes {
        bail!(
            "has {len} bytes, but {} were written: it was changed since; --overwrite begins anew",
            earlier.output_bytes
        );
    }
    let mut kept = Kept {
        rows: earlier.rows,
        refused: earlier.refused,
    };
    let mut end = earlier.output_bytes;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    reader.seek(SeekFrom::Start(end))?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let len = reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice::<Row>(&line) {
            Ok(row) if row.row == kept.rows => {
                kept.rows += 1;
                kept.refused += u64::from(row.error.is_some());
            }
            _ => break,
        }
        end += len as u64;
    }
    Ok((end, kept))
}

impl Output for LinesFile {
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        self.file.write_all(rows)?;
        self.len += rows.len() as u64;
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn syncer(&self) -> Result<Option<Syncer>> {
        // Pipes and devices have no disk behind them.
        if !self.file.metadata()?.is_file() {
            return Ok(None);
        }
        let file = self.file.try_clone()?;
        Ok(Some(Box::new(move || file.sync_data())))
    }

    fn finish(&mut self) -> Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.sync_all()?;
        }
        Ok(())
    }
}
