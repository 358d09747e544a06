//! Columns of a row as a request.
//!
//! Every column that has the name of a field of requests is that field; others are passed over. Its value is
//! - in a field that is an array or object (`messages`, `tools`, ...), if the column is of strings: the JSON that they
//!   spell, as it is. `tool_choice` and `function_call` are words or objects: what begins with `{` is JSON;
//! - the JSON that strings of the Arrow extension type `arrow.json` spell, at any depth;
//! - else what Arrow holds: lists are arrays, structs and maps objects.
//!
//! A column is one type for all its rows. Where rows have different fields, whoever wrote the file (such as the
//! `datasets` library) gave every struct the fields of all, and set those that a row did not have to null. So a null field
//! of a struct, or a null cell, is a field that is not there: `{"role": "user", "content": "Hi", "tool_calls": null}` is
//! `{"role": "user", "content": "Hi"}`. Templates do tell the two apart. What says null in its own right stays: items of
//! lists, values of maps, and whatever a JSON string spells.

use anyhow::{Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use typecase::value::{Arena, json};
use typecase::{Error, ErrorKind};

/// What strings of a field mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strings {
    /// Text.
    Text,
    /// JSON.
    Json,
    /// JSON if it begins with `{`, else a word.
    WordOrJson,
}

/// The fields of requests that a column may hold, and what strings mean there.
const FIELDS: &[(&str, Strings)] = &[
    ("messages", Strings::Json),
    ("tools", Strings::Json),
    ("tool_choice", Strings::WordOrJson),
    ("functions", Strings::Json),
    ("function_call", Strings::WordOrJson),
    ("documents", Strings::Json),
    ("chat_template_kwargs", Strings::Json),
    ("response_format", Strings::Json),
    ("reasoning", Strings::Json),
    ("reasoning_effort", Strings::Text),
    ("parallel_tool_calls", Strings::Text),
    ("add_generation_prompt", Strings::Text),
    ("continue_final_message", Strings::Text),
];

/// The columns of a file that make its requests.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    columns: Vec<(Field, Strings)>,
}

impl Columns {
    /// Those of a schema, with their positions. Columns of types that JSON has nothing for are refused.
    pub(super) fn find(schema: &SchemaRef) -> Result<(Self, Vec<usize>)> {
        let mut columns = Vec::new();
        let mut positions = Vec::new();
        for (position, field) in schema.fields().iter().enumerate() {
            if let Some((_, strings)) = FIELDS.iter().find(|(name, _)| name == field.name()) {
                check(field, field.name())?;
                columns.push((field.as_ref().clone(), *strings));
                positions.push(position);
            }
        }
        if !columns.iter().any(|(field, _)| field.name() == "messages") {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            bail!("there is no column `messages`; the columns are {}", names.join(", "));
        }
        Ok((Columns { columns }, positions))
    }

    /// Writes the request of a row of `batch`, which has these columns. The error is that of a string that is not the
    /// JSON it has to be; what is written is then of no use but for a digest.
    pub(super) fn write(&self, batch: &RecordBatch, row: usize, out: &mut Vec<u8>) -> Result<Option<Error>> {
        let mut broken = None;
        out.push(b'{');
        for ((field, strings), array) in self.columns.iter().zip(batch.columns()) {
            // A column of type null has no validity of its own.
            if array.is_null(row) || array.data_type() == &DataType::Null {
                continue;
            }
            separate(out);
            string(field.name(), out)?;
            out.push(b':');
            let written = match (text(array, row), strings) {
                (Some(text), Strings::Json) => embed(text, out),
                (Some(text), Strings::WordOrJson) if text.starts_with('{') => embed(text, out),
                _ => value(field, array, row, out)?,
            };
            if let Some(err) = written {
                broken.get_or_insert(err.within(field.name().as_str()));
            }
        }
        out.push(b'}');
        Ok(broken)
    }
}

/// Refuses types that no JSON value stands for.
fn check(field: &Field, path: &str) -> Result<()> {
    match field.data_type() {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Ok(()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            check(item, &format!("{path}[]"))
        }
        DataType::Struct(fields) => fields
            .iter()
            .try_for_each(|field| check(field, &format!("{path}.{}", field.name()))),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 && is_text(fields[0].data_type()) => {
                check(&fields[1], &format!("{path}{{}}"))
            }
            _ => bail!("{path} is a map whose keys are no strings"),
        },
        other => {
            bail!("{path} is of the type {other}, which JSON has nothing for; cast it to a string, or leave it out")
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The string in a row, if it is one.
fn text(array: &ArrayRef, row: usize) -> Option<&str> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(array.as_string_view().value(row)),
        _ => None,
    }
}

/// Writes JSON that was found in a string, after making sure that it is one value: it must not close what it stands in.
fn embed(text: &str, out: &mut Vec<u8>) -> Option<Error> {
    out.extend_from_slice(text.as_bytes());
    match json::parse_str(text, &Arena::new()) {
        Ok(_) => None,
        Err(err) => Some(
            Error::new(ErrorKind::InvalidJson {
                reason: err.kind,
                offset: err.offset,
            })
            .at(err.path),
        ),
    }
}

/// Writes the value in a row.
fn value(field: &Field, array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<Option<Error>> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(None);
    }
    if let Some(text) = text(array, row) {
        if field
            .metadata()
            .get("ARROW:extension:name")
            .is_some_and(|name| name == "arrow.json")
        {
            return Ok(embed(text, out));
        }
        string(text, out)?;
        return Ok(None);
    }
    match array.data_type() {
        DataType::Null => out.extend_from_slice(b"null"),
        DataType::Boolean => display(array.as_boolean().value(row), out),
        DataType::Int8 => display(array.as_primitive::<Int8Type>().value(row), out),
        DataType::Int16 => display(array.as_primitive::<Int16Type>().value(row), out),
        DataType::Int32 => display(array.as_primitive::<Int32Type>().value(row), out),
        DataType::Int64 => display(array.as_primitive::<Int64Type>().value(row), out),
        DataType::UInt8 => display(array.as_primitive::<UInt8Type>().value(row), out),
        DataType::UInt16 => display(array.as_primitive::<UInt16Type>().value(row), out),
        DataType::UInt32 => display(array.as_primitive::<UInt32Type>().value(row), out),
        DataType::UInt64 => display(array.as_primitive::<UInt64Type>().value(row), out),
        DataType::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row)), out),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), out),
        DataType::List(item) => return list(item, &array.as_list::<i32>().value(row), out),
        DataType::LargeList(item) => return list(item, &array.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(item, _) => return list(item, &array.as_fixed_size_list().value(row), out),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let mut broken = None;
            out.push(b'{');
            for (field, column) in fields.iter().zip(columns) {
                if column.is_null(row) || column.data_type() == &DataType::Null {
                    continue;
                }
                separate(out);
                string(field.name(), out)?;
                out.push(b':');
                let err = value(field, column, row, out)?;
                broken = broken.or(err.map(|err| err.within(field.name().as_str())));
            }
            out.push(b'}');
            return Ok(broken);
        }
        DataType::Map(..) => return map(array, row, out),
        other => bail!("a column of the type {other} was not refused"),
    }
    Ok(None)
}

fn list(item: &Field, items: &ArrayRef, out: &mut Vec<u8>) -> Result<Option<Error>> {
    let mut broken = None;
    out.push(b'[');
    for i in 0..items.len() {
        separate(out);
        let err = value(item, items, i, out)?;
        broken = broken.or(err.map(|err| err.within(i)));
    }
    out.push(b']');
    Ok(broken)
}

fn map(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<Option<Error>> {
    let entries = array.as_map().value(row);
    let DataType::Struct(fields) = entries.data_type() else {
        bail!("a map whose entries are no pairs was not refused");
    };
    let (keys, values) = (entries.column(0), entries.column(1));
    let mut broken = None;
    out.push(b'{');
    for i in 0..entries.len() {
        let key = text(keys, i).unwrap_or_default();
        separate(out);
        string(key, out)?;
        out.push(b':');
        let err = value(&fields[1], values, i, out)?;
        broken = broken.or(err.map(|err| err.within(key)));
    }
    out.push(b'}');
    Ok(broken)
}

/// A comma, unless nothing was written before it.
fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

fn display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
}

/// As Python's `json` writes what JSON has no numbers for.
fn float(value: f64, out: &mut Vec<u8>) {
    match value {
        _ if value.is_nan() => out.extend_from_slice(b"NaN"),
        f64::INFINITY => out.extend_from_slice(b"Infinity"),
        f64::NEG_INFINITY => out.extend_from_slice(b"-Infinity"),
        // `{:?}` keeps the point of whole numbers: 1.0 stays a float.
        _ => out.extend_from_slice(format!("{value:?}").as_bytes()),
    }
}

fn string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    Ok(serde_json::to_writer(out, text)?)
}
