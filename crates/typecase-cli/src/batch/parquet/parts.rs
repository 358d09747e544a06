//! An output in Parquet, which says only at its end what it holds: until then each of its row groups is a file of its own,
//! in `OUTPUT.parts/`. At the end they are joined, without encoding anything anew.
//!
//! A part is written under another name, made durable, and then renamed: one that is there is whole. When the input of a
//! complete output has grown, the output becomes the first part of the new one.

use super::row_group::{REFUSED, properties, schema};
use crate::args::Field;
use crate::batch::manifest::{Progress, sync_folder_of};
use crate::batch::output::{Kept, Output, Syncer};
use anyhow::{Context, Result, bail};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
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
            // What the file says, not the manifest: a run may have been killed between the two.
            let kept = kept(&read(output)?.context("is gone")?.1);
            check_rows(kept, earlier)?;
            return Ok((parts, kept));
        }
        fs::create_dir_all(&parts.folder)?;
        sync_folder_of(&parts.folder)?;
        let mut all = Kept::default();
        while let Some((_, metadata)) = read(&parts.path(parts.count))? {
            let part = kept(&metadata);
            all.rows += part.rows;
            all.refused += part.refused;
            parts.count += 1;
        }
        if let Some(earlier) = earlier {
            check_rows(all, earlier)?;
        }
        Ok((parts, all))
    }

    fn path(&self, part: u64) -> PathBuf {
        self.folder.join(format!("{part:08}.parquet"))
    }

    /// Makes the output, which is complete, the first part of a longer one.
    fn reopen(&mut self) -> Result<()> {
        // Parts that it was joined from may be there still.
        self.tidy()?;
        fs::create_dir_all(&self.folder)?;
        sync_folder_of(&self.folder)?;
        fs::rename(&self.output, self.path(0))?;
        sync_folder_of(&self.path(0))?;
        sync_folder_of(&self.output)?;
        self.count = 1;
        self.complete = false;
        Ok(())
    }

    /// Writes the output from its parts.
    fn join(&self) -> Result<()> {
        let joined = self.folder.join("joined.parquet");
        let file = File::create(&joined)?;
        let Some((_, first)) = read(&self.path(0))? else {
            ArrowWriter::try_new(file, Arc::clone(&self.schema), Some(properties()?.build()))?.close()?;
            return self.put_in_place(&joined);
        };
        let schema = first.file_metadata().schema_descr().root_schema_ptr();
        let about = first.file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let about = about.into_iter().filter(|entry| entry.key != REFUSED).collect();
        let properties = properties()?.set_key_value_metadata(Some(about)).build();
        let mut writer =
            SerializedFileWriter::new(BufWriter::with_capacity(1 << 20, file), schema, Arc::new(properties))?;
        let mut refused = 0;
        for part in 0..self.count {
            let path = self.path(part);
            let (file, metadata) = read(&path)?.with_context(|| format!("{} is gone", path.display()))?;
            refused += kept(&metadata).refused;
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
        writer.append_key_value_metadata(KeyValue::new(REFUSED.to_owned(), refused.to_string()));
        writer.close()?;
        self.put_in_place(&joined)
    }

    fn put_in_place(&self, joined: &Path) -> Result<()> {
        File::open(joined)?.sync_all()?;
        fs::rename(joined, &self.output)?;
        Ok(sync_folder_of(&self.output)?)
    }
}

/// A file and what it says of itself; `None` if it is not there.
fn read(path: &Path) -> Result<Option<(File, ParquetMetaData)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err).with_context(|| path.display().to_string()),
    };
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    Ok(Some((file, metadata.with_context(|| path.display().to_string())?)))
}

/// The rows of a file.
fn kept(metadata: &ParquetMetaData) -> Kept {
    let about = metadata.file_metadata();
    let entries = about.key_value_metadata();
    let refused = entries.into_iter().flatten().find(|entry| entry.key == REFUSED);
    Kept {
        rows: about.num_rows().max(0) as u64,
        refused: refused
            .and_then(|entry| entry.value.as_deref()?.parse().ok())
            .unwrap_or_default(),
    }
}

/// Refuses an output that has lost rows.
fn check_rows(kept: Kept, earlier: &Progress) -> Result<()> {
    if kept.rows < earlier.rows {
        bail!(
            "has {} rows, but {} were written: it was changed since; --overwrite begins anew",
            kept.rows,
            earlier.rows
        );
    }
    Ok(())
}

impl Output for Parts {
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        if self.complete {
            self.reopen()?;
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
