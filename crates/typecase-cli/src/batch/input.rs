//! The requests of a data set, in chunks.

use super::FileKind;
use crate::input::open;
#[cfg(not(feature = "parquet"))]
use anyhow::bail;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// How large chunks are. The same input gives the same chunks, whatever the number of threads, and so the same row groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkSize {
    /// Bytes of requests; a longer request is a chunk of its own.
    pub(super) bytes: usize,
    /// Requests, so that short ones are soon seen in the output.
    pub(super) requests: usize,
}

/// Requests that follow one another.
pub(super) struct Chunk {
    pub(super) requests: Requests,
    /// Bytes of the input that it took.
    pub(super) bytes: u64,
}

pub(super) enum Requests {
    /// JSON texts.
    Lines(Vec<Vec<u8>>),
    #[cfg(feature = "parquet")]
    Rows(super::parquet::Rows),
}

impl Requests {
    pub(super) fn len(&self) -> u64 {
        match self {
            Requests::Lines(lines) => lines.len() as u64,
            #[cfg(feature = "parquet")]
            Requests::Rows(rows) => rows.len(),
        }
    }

    /// Hands out each request as JSON, and the error of one that cannot be made of its row.
    pub(super) fn for_each(
        self,
        mut each: impl FnMut(&mut Vec<u8>, Option<typecase::Error>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Requests::Lines(lines) => lines.into_iter().try_for_each(|mut line| each(&mut line, None)),
            #[cfg(feature = "parquet")]
            Requests::Rows(rows) => rows.for_each(each),
        }
    }
}

/// A data set that is read from its beginning.
pub(super) trait Input: Send {
    /// The next chunk; `None` at the end.
    fn next(&mut self) -> Result<Option<Chunk>>;
}

/// Opens a data set; `-` is JSONL from standard input.
pub(super) fn open_input(file: &Path, kind: FileKind, size: ChunkSize) -> Result<Box<dyn Input>> {
    match kind {
        FileKind::Jsonl => Ok(Box::new(Lines {
            reader: BufReader::with_capacity(256 << 10, open(file)?),
            name: file.display().to_string(),
            size,
        })),
        #[cfg(feature = "parquet")]
        FileKind::Parquet => Ok(Box::new(super::parquet::Reader::open(file, size)?)),
        #[cfg(not(feature = "parquet"))]
        FileKind::Parquet => bail!(NO_PARQUET),
    }
}

/// What is said where Parquet was left out of the build.
#[cfg(not(feature = "parquet"))]
pub(super) const NO_PARQUET: &str = "this build has no Parquet: build typecase-cli with the feature `parquet`";

/// One request per line; empty lines are passed over.
struct Lines<R> {
    reader: BufReader<R>,
    name: String,
    size: ChunkSize,
}

impl<R: Read + Send> Input for Lines<R> {
    fn next(&mut self) -> Result<Option<Chunk>> {
        let mut lines = Vec::new();
        let (mut held, mut bytes) = (0, 0);
        while held < self.size.bytes && lines.len() < self.size.requests {
            let mut line = Vec::new();
            let len = self
                .reader
                .read_until(b'\n', &mut line)
                .with_context(|| self.name.clone())?;
            if len == 0 {
                break;
            }
            bytes += len as u64;
            if !line.iter().all(u8::is_ascii_whitespace) {
                held += len;
                lines.push(line);
            }
        }
        let requests = Requests::Lines(lines);
        Ok((bytes > 0).then_some(Chunk { requests, bytes }))
    }
}
