//! An output in Parquet, which says only at its end what it holds: until then each of its row groups is a file of its own,
//! in `OUTPUT.parts/`. At the end they are joined, without encoding anything anew.
//!
//! A part is written under another name, made durable, and then renamed: one that is there is whole.

use super::row_group::{REFUSED, properties, schema};
use crate::args::Field;
use crate::batch::manifest::{Progress, sync_folder_of};
use crate::batch::output::{Kept, Output, Syncer};
use anyhow::{Context, Result, bail};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::writer::SerializedFileWriter;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The parts of an output.
pub(in crate::batch) struct Parts {
    output: PathBuf,
    folder: PathBuf,
    schema: SchemaRef,
    count: u64,
    /// Whether the parts were joined by an earlier run.
    complete: bool,
}

impl Parts {
    /// The parts that an earlier run left, or none.
    pub(in crate::batch) fn open(output: &Path, fields: &[Field], earlier: Option<&Progress>) -> Result<(Self, Kept)> {
        let mut parts = Parts {
            output: output.to_owned(),
            folder: crate::batch::output_parts(output).context("a Parquet output has parts")?,
            schema: schema(fields),
            count: 0,
            complete: false,
        };
        if let Some(earlier) = earlier
            && earlier.complete
            && output.exists()
        {
            parts.complete = true;
            let (rows, refused) = (earlier.rows, earlier.refused);
            return Ok((parts, Kept { rows, refused }));
        }
        fs::create_dir_all(&parts.folder)?;
        sync_folder_of(&parts.folder)?;
        let mut kept = Kept::default();
        while let Some((_, metadata)) = parts.read(parts.count)? {
            kept.rows += metadata.file_metadata().num_rows().max(0) as u64;
            kept.refused += refused(&metadata);
            parts.count += 1;
        }
        if let Some(earlier) = earlier
            && kept.rows < earlier.rows
        {
            bail!(
                "has {} rows in its parts, but {} were written: it was changed since; --overwrite begins anew",
                kept.rows,
                earlier.rows
            );
        }
        Ok((parts, kept))
    }

    fn path(&self, part: u64) -> PathBuf {
        self.folder.join(format!("{part:08}.parquet"))
    }

    /// A part and what it says of itself; `None` if it is not there.
    fn read(&self, part: u64) -> Result<Option<(File, ParquetMetaData)>> {
        let path = self.path(part);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(err).with_context(|| path.display().to_string()),
        };
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        Ok(Some((file, metadata.with_context(|| path.display().to_string())?)))
    }

    /// Writes the output from its parts.
    fn join(&self) -> Result<()> {
        let joined = self.folder.join("joined.parquet");
        let file = File::create(&joined)?;
        let Some((_, first)) = self.read(0)? else {
            ArrowWriter::try_new(file, Arc::clone(&self.schema), Some(properties()?.build()))?.close()?;
            return self.put_in_place(&joined);
        };
        let schema = first.file_metadata().schema_descr().root_schema_ptr();
        let about = first.file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let about = about.into_iter().filter(|entry| entry.key != REFUSED).collect();
        let properties = properties()?.set_key_value_metadata(Some(about)).build();
        let mut writer =
            SerializedFileWriter::new(BufWriter::with_capacity(1 << 20, file), schema, Arc::new(properties))?;
        for part in 0..self.count {
            let path = self.path(part);
            let (file, metadata) = self
                .read(part)?
                .with_context(|| format!("{} is gone", path.display()))?;
            for group in metadata.row_groups() {
                let mut to = writer.next_row_group()?;
                for column in group.columns() {
                    let close = ColumnCloseResult {
                        bytes_written: column.compressed_size().max(0) as u64,
                        rows_written: group.num_rows().max(0) as u64,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    to.append_column(&file, close)?;
                }
                to.close()?;
            }
        }
        writer.close()?;
        self.put_in_place(&joined)
    }

    fn put_in_place(&self, joined: &Path) -> Result<()> {
        File::open(joined)?.sync_all()?;
        fs::rename(joined, &self.output)?;
        Ok(sync_folder_of(&self.output)?)
    }
}

fn refused(metadata: &ParquetMetaData) -> u64 {
    let entries = metadata.file_metadata().key_value_metadata();
    let entry = entries.into_iter().flatten().find(|entry| entry.key == REFUSED);
    entry
        .and_then(|entry| entry.value.as_deref()?.parse().ok())
        .unwrap_or_default()
}

impl Output for Parts {
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        if self.complete {
            bail!("--resume: the output is complete, but the input has more requests than it had");
        }
        let path = self.path(self.count);
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(rows)?;
        file.sync_data()?;
        fs::rename(&new, &path)?;
        self.count += 1;
        Ok(())
    }

    fn len(&self) -> u64 {
        0
    }

    fn syncer(&self) -> Result<Option<Syncer>> {
        let within = self.path(0);
        Ok(Some(Box::new(move || sync_folder_of(&within))))
    }

    fn finish(&mut self) -> Result<()> {
        match self.complete {
            true => Ok(()),
            false => self.join(),
        }
    }

    fn tidy(&mut self) -> Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(err) if err.kind() != std::io::ErrorKind::NotFound => Err(err.into()),
            _ => Ok(()),
        }
    }
}
