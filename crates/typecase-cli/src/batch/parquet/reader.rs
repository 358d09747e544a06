//! Rows of a Parquet file, batch by batch.

use super::columns::Columns;
use crate::batch::input::{Chunk, ChunkSize, Input, Requests};
use crate::input::open_file;
use anyhow::{Context, Result, bail};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::RowGroupMetaData;
use std::path::Path;
use std::sync::Arc;

/// Rows that are decoded at once at most. Sizes are known only then: where rows are alike, the pages that they come from
/// are far smaller than they are.
const MAX_BATCH_ROWS: u64 = 256;

/// Reads a Parquet file.
pub(in crate::batch) struct Reader {
    batches: ParquetRecordBatchReader,
    columns: Arc<Columns>,
    name: String,
    size: ChunkSize,
    rows: u64,
    /// Rows and bytes of the whole file, for the progress bar.
    total: (u64, u64),
}

/// Rows that are requests.
pub(in crate::batch) struct Rows {
    batches: Vec<RecordBatch>,
    columns: Arc<Columns>,
}

impl Reader {
    pub(in crate::batch) fn open(file: &Path, size: ChunkSize) -> Result<Self> {
        let name = file.display().to_string();
        let opened = open_file(file)?;
        let bytes = opened.metadata().with_context(|| name.clone())?.len();
        let builder = ParquetRecordBatchReaderBuilder::try_new(opened)
            .with_context(|| format!("{name} is no whole Parquet file"))?;
        let (columns, positions) = Columns::find(builder.schema()).with_context(|| name.clone())?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), positions);
        let row_groups = builder.metadata().row_groups();
        for group in row_groups {
            check_codecs(group, &mask).with_context(|| name.clone())?;
        }
        let rows: u64 = row_groups.iter().map(|group| group.num_rows().max(0) as u64).sum();
        let uncompressed: u64 = row_groups
            .iter()
            .map(|group| group.total_byte_size().max(0) as u64)
            .sum();
        let row_bytes = (uncompressed / rows.max(1)).max(1);
        let batch_rows = (size.bytes as u64 / row_bytes).clamp(1, MAX_BATCH_ROWS);
        let batches = builder
            .with_projection(mask)
            .with_batch_size(batch_rows as usize)
            .build()
            .with_context(|| name.clone())?;
        Ok(Reader {
            batches,
            columns: Arc::new(columns),
            name,
            size,
            rows: 0,
            total: (rows, bytes),
        })
    }

    /// Bytes of the file that so many rows stand for.
    fn bytes_of(&self, rows: u64) -> u64 {
        let (all, bytes) = self.total;
        (u128::from(bytes) * u128::from(rows) / u128::from(all.max(1))) as u64
    }
}

/// Refuses a codec that is not built in, before anything is written.
fn check_codecs(group: &RowGroupMetaData, wanted: &ProjectionMask) -> Result<()> {
    let columns = group.columns().iter().enumerate();
    for (_, column) in columns.filter(|(leaf, _)| wanted.leaf_included(*leaf)) {
        let codec = match column.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => continue,
            Compression::LZO => "LZO",
            Compression::BROTLI(_) => "Brotli",
            Compression::LZ4 => "LZ4",
            Compression::LZ4_RAW => "LZ4 (raw)",
        };
        bail!(
            "the column {} is compressed with {codec}; what is read is Snappy, zstd, gzip and uncompressed",
            column.column_path()
        );
    }
    Ok(())
}

impl Input for Reader {
    fn next(&mut self) -> Result<Option<Chunk>> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        let (mut held, mut rows) = (0, 0);
        while held < self.size.bytes && rows < self.size.requests {
            let Some(batch) = self.batches.next() else { break };
            let batch = batch.with_context(|| self.name.clone())?;
            rows += batch.num_rows();
            for column in batch.columns() {
                held += column.to_data().get_slice_memory_size()?;
            }
            batches.push(batch);
        }
        let before = self.bytes_of(self.rows);
        self.rows += rows as u64;
        let bytes = self.bytes_of(self.rows) - before;
        let columns = Arc::clone(&self.columns);
        let requests = Requests::Rows(Rows { batches, columns });
        Ok((rows > 0).then_some(Chunk { requests, bytes }))
    }
}

impl Rows {
    pub(in crate::batch) fn len(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Hands out each row as a request, and the error of one that has a string that is not the JSON it has to be.
    pub(in crate::batch) fn for_each(
        self,
        mut each: impl FnMut(&mut Vec<u8>, Option<typecase::Error>) -> Result<()>,
    ) -> Result<()> {
        let mut request = Vec::new();
        for batch in self.batches {
            for row in 0..batch.num_rows() {
                request.clear();
                let broken = self.columns.write(&batch, row, &mut request)?;
                each(&mut request, broken)?;
            }
        }
        Ok(())
    }
}
