//! Rows as a Parquet file of one row group.

use crate::args::Field as Wanted;
use crate::batch::row::{Fields, Rows};
use crate::output::Refused;
use anyhow::Result;
use arrow_array::builder::{
    Int32Builder, Int64Builder, ListBuilder, PrimitiveBuilder, StringBuilder, UInt8Builder, UInt32Builder,
    UInt64Builder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields as ArrowFields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

/// Bytes that are collected before they are encoded, so that no array grows past what its offsets can say.
const BATCH_BYTES: usize = 16 << 20;

/// The key under which a part, and the output, says how many of its rows are errors.
pub(super) const REFUSED: &str = "typecase.refused";

/// Collects rows of `--fields`, and encodes them.
pub(in crate::batch) struct RowGroup {
    writer: ArrowWriter<Vec<u8>>,
    columns: Columns,
    refused: u64,
}

/// Columns that grow.
struct Columns {
    schema: SchemaRef,
    row: UInt64Builder,
    text: Option<StringBuilder>,
    ids: Option<ListBuilder<UInt32Builder>>,
    count: Option<UInt32Builder>,
    mask: Option<ListBuilder<UInt8Builder>>,
    labels: Option<ListBuilder<Int64Builder>>,
    messages: Option<ListBuilder<Int32Builder>>,
    /// `message`, `type`, `param`, `code`.
    error: [StringBuilder; 4],
    has_error: Vec<bool>,
    bytes: usize,
}

/// How all row groups are encoded: joined, they must be one file.
pub(super) fn properties() -> Result<parquet::file::properties::WriterPropertiesBuilder> {
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        // No index of pages: it would have to be moved when parts are joined, and nothing looks up rows by their values.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None))
}

/// The columns of the output, in the order of `--help`.
pub(super) fn schema(wanted: &[Wanted]) -> SchemaRef {
    let has = |field: Wanted| wanted.contains(&field);
    let list = |name: &str, item: DataType| Field::new_list(name, Field::new_list_field(item, true), true);
    let columns = [
        Some(Field::new("row", DataType::UInt64, false)),
        has(Wanted::Text).then(|| Field::new("text", DataType::Utf8, true)),
        has(Wanted::Ids).then(|| list("ids", DataType::UInt32)),
        has(Wanted::Count).then(|| Field::new("count", DataType::UInt32, true)),
        has(Wanted::Mask).then(|| list("mask", DataType::UInt8)),
        has(Wanted::Labels).then(|| list("labels", DataType::Int64)),
        has(Wanted::Messages).then(|| list("messages", DataType::Int32)),
        Some(Field::new("error", DataType::Struct(error_fields()), true)),
    ];
    Arc::new(Schema::new(columns.into_iter().flatten().collect::<Vec<Field>>()))
}

fn error_fields() -> ArrowFields {
    ["message", "type", "param", "code"]
        .into_iter()
        .map(|name| Field::new(name, DataType::Utf8, true))
        .collect()
}

impl RowGroup {
    pub(in crate::batch) fn new(wanted: &[Wanted]) -> Result<Self> {
        let schema = schema(wanted);
        Ok(RowGroup {
            writer: ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties()?.build()))?,
            columns: Columns::new(schema, wanted),
            refused: 0,
        })
    }

    /// The file.
    pub(in crate::batch) fn finish(mut self) -> Result<Vec<u8>> {
        self.writer.write(&self.columns.take()?)?;
        let refused = KeyValue::new(REFUSED.to_owned(), self.refused.to_string());
        self.writer.append_key_value_metadata(refused);
        Ok(self.writer.into_inner()?)
    }

    fn relieve(&mut self) -> Result<()> {
        if self.columns.bytes >= BATCH_BYTES {
            self.writer.write(&self.columns.take()?)?;
        }
        Ok(())
    }
}

impl Rows for RowGroup {
    fn rendered(&mut self, fields: &Fields<'_>) -> Result<()> {
        self.columns.add(fields);
        self.columns.has_error.push(false);
        self.columns.error.iter_mut().for_each(StringBuilder::append_null);
        self.relieve()
    }

    fn refused(&mut self, row: u64, refused: &Refused) -> Result<()> {
        let fields = Fields {
            row,
            ..Fields::default()
        };
        self.columns.add(&fields);
        self.columns.has_error.push(true);
        let error = &refused.error;
        let [message, kind, param, code] = &mut self.columns.error;
        message.append_value(&error.message);
        kind.append_value(error.r#type);
        param.append_option(error.param.as_deref());
        code.append_value(error.code);
        self.refused += 1;
        self.relieve()
    }
}

impl Columns {
    fn new(schema: SchemaRef, wanted: &[Wanted]) -> Self {
        let has = |field: Wanted| wanted.contains(&field);
        Columns {
            schema,
            row: UInt64Builder::new(),
            text: has(Wanted::Text).then(StringBuilder::new),
            ids: has(Wanted::Ids).then(|| ListBuilder::new(UInt32Builder::new())),
            count: has(Wanted::Count).then(UInt32Builder::new),
            mask: has(Wanted::Mask).then(|| ListBuilder::new(UInt8Builder::new())),
            labels: has(Wanted::Labels).then(|| ListBuilder::new(Int64Builder::new())),
            messages: has(Wanted::Messages).then(|| ListBuilder::new(Int32Builder::new())),
            error: std::array::from_fn(|_| StringBuilder::new()),
            has_error: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, fields: &Fields<'_>) {
        self.row.append_value(fields.row);
        if let Some(text) = &mut self.text {
            text.append_option(fields.text);
            self.bytes += fields.text.map_or(0, str::len);
        }
        if let Some(count) = &mut self.count {
            count.append_option(fields.count.map(|count| count as u32));
        }
        self.bytes += 64;
        self.bytes += add_list(&mut self.ids, fields.ids);
        self.bytes += add_list(&mut self.mask, fields.mask.as_deref());
        self.bytes += add_list(&mut self.labels, fields.labels.as_deref());
        // There are no more messages than bytes of a request.
        let messages = fields.messages.as_deref();
        let messages: Option<Vec<i32>> = messages.map(|all| all.iter().map(|message| *message as i32).collect());
        self.bytes += add_list(&mut self.messages, messages.as_deref());
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.bytes = 0;
        let error = StructArray::try_new(
            error_fields(),
            self.error
                .iter_mut()
                .map(|column| Arc::new(column.finish()) as ArrayRef)
                .collect(),
            Some(std::mem::take(&mut self.has_error).into()),
        )?;
        let columns = [
            Some(Arc::new(self.row.finish()) as ArrayRef),
            self.text.as_mut().map(|column| Arc::new(column.finish()) as ArrayRef),
            finish_list(&mut self.ids),
            self.count.as_mut().map(|column| Arc::new(column.finish()) as ArrayRef),
            finish_list(&mut self.mask),
            finish_list(&mut self.labels),
            finish_list(&mut self.messages),
            Some(Arc::new(error) as ArrayRef),
        ];
        Ok(RecordBatch::try_new(
            Arc::clone(&self.schema),
            columns.into_iter().flatten().collect(),
        )?)
    }
}

/// Adds a list, or null; how many bytes that took.
fn add_list<T: ArrowPrimitiveType>(
    column: &mut Option<ListBuilder<PrimitiveBuilder<T>>>,
    items: Option<&[T::Native]>,
) -> usize {
    let Some(column) = column else { return 0 };
    column.values().append_slice(items.unwrap_or_default());
    column.append(items.is_some());
    size_of_val(items.unwrap_or_default())
}

fn finish_list<T: ArrowPrimitiveType>(column: &mut Option<ListBuilder<PrimitiveBuilder<T>>>) -> Option<ArrayRef> {
    column.as_mut().map(|column| Arc::new(column.finish()) as ArrayRef)
}
