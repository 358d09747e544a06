//! `typecase batch` on Parquet.

use crate::batch::{batch, kill_at, requests, rows as lines};
use crate::process::{scratch, stderr};
use arrow_array::builder::{Int64Builder, LargeStringBuilder, ListBuilder, MapBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::writer::SerializedFileWriter;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

fn write(file: &Path, columns: Vec<(Field, ArrayRef)>) {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of a length");
    let file = File::create(file).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a schema");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

fn column(name: &str, array: impl Array + 'static) -> (Field, ArrayRef) {
    (Field::new(name, array.data_type().clone(), true), Arc::new(array))
}

/// The rows of an output as its JSON lines would have them.
fn rows(file: &Path) -> Vec<Value> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).expect("is there")).expect("is Parquet");
    let mut rows = Vec::new();
    for batch in reader.build().expect("can be read") {
        let batch = batch.expect("is whole");
        for at in 0..batch.num_rows() {
            let mut row = serde_json::Map::new();
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                if !array.is_null(at) {
                    row.insert(field.name().clone(), value(array, at));
                }
            }
            rows.push(row.into());
        }
    }
    rows
}

fn value(array: &ArrayRef, at: usize) -> Value {
    match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(at).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(at).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(at).into(),
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(at);
            (0..items.len()).map(|i| value(&items, i)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let entries = fields
                .iter()
                .zip(columns)
                .map(|(field, column)| match column.is_null(at) {
                    true => (field.name().clone(), Value::Null),
                    false => (field.name().clone(), value(column, at)),
                });
            Value::Object(entries.collect())
        }
        other => panic!("a column of the type {other}"),
    }
}

#[test]
fn every_mix_of_kinds_gives_the_same_rows() {
    let directory = scratch("batch_mixed");
    let path = |name: &str| directory.join(name);
    let (in_lines, in_parquet) = (path("in.jsonl"), path("in.parquet"));
    std::fs::write(&in_lines, requests(1500)).expect("written");
    // The same, by column: messages as the JSON that they are.
    let mut messages = LargeStringBuilder::new();
    let mut efforts = StringBuilder::new();
    for request in lines_of(&requests(1500)) {
        messages.append_value(request["messages"].to_string());
        efforts.append_option(request["reasoning_effort"].as_str());
    }
    let numbers = Int64Array::from_iter_values(0..1500);
    write(
        &in_parquet,
        vec![
            column("number", numbers),
            column("messages", messages.finish()),
            column("reasoning_effort", efforts.finish()),
        ],
    );
    let all = ["--fields", "text,ids,count,mask,labels,messages", "--threads", "3"];
    for (input, output) in [
        (&in_lines, "a.jsonl"),
        (&in_lines, "b.parquet"),
        (&in_parquet, "c.jsonl"),
        (&in_parquet, "d.parquet"),
    ] {
        let done = batch(input, &path(output), &all);
        assert_eq!(done.status.code(), Some(1), "{output}: {}", stderr(&done));
        assert!(stderr(&done).contains("214 of 1500"), "{output}: {}", stderr(&done));
    }
    let expected = lines(&path("a.jsonl"));
    assert_eq!(expected.len(), 1500);
    assert_eq!(rows(&path("b.parquet")), expected);
    assert_eq!(lines(&path("c.jsonl")), expected);
    assert_eq!(rows(&path("d.parquet")), expected);
    assert!(
        !path("b.parquet.parts").exists(),
        "parts are gone once the output is complete"
    );
    let schema = ParquetRecordBatchReaderBuilder::try_new(File::open(path("b.parquet")).expect("is there"));
    let schema = Arc::clone(schema.expect("is Parquet").schema());
    let ids = schema.field_with_name("ids").expect("there are ids");
    assert!(matches!(ids.data_type(), DataType::List(item) if item.data_type() == &DataType::UInt32));
}

fn lines_of(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

/// Role, content, name of a tool call and its city.
type Message<'a> = (&'a str, Option<&'a str>, Option<(&'a str, &'a str)>);

/// Messages as nested columns.
fn nested(conversations: &[&[Message<'_>]]) -> ListArray {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let arguments =
        DataType::Struct(vec![text("city"), text("unit"), Field::new("days", DataType::Int64, true)].into());
    let call = DataType::Struct(vec![text("name"), Field::new("arguments", arguments, true)].into());
    let calls = DataType::List(Arc::new(Field::new("item", call, true)));
    let message = vec![text("role"), text("content"), Field::new("tool_calls", calls, true)];
    let mut messages = ListBuilder::new(StructBuilder::from_fields(message, 4));
    for conversation in conversations {
        for (role, content, call) in *conversation {
            let message = messages.values();
            message
                .field_builder::<StringBuilder>(0)
                .expect("role")
                .append_value(role);
            message
                .field_builder::<StringBuilder>(1)
                .expect("content")
                .append_option(*content);
            let calls = message
                .field_builder::<ListBuilder<Box<dyn arrow_array::builder::ArrayBuilder>>>(2)
                .expect("calls");
            if let Some((name, city)) = call {
                let call: &mut StructBuilder = calls.values().as_any_mut().downcast_mut().expect("a struct");
                call.field_builder::<StringBuilder>(0).expect("name").append_value(name);
                let arguments = call.field_builder::<StructBuilder>(1).expect("arguments");
                arguments
                    .field_builder::<StringBuilder>(0)
                    .expect("city")
                    .append_value(city);
                arguments.field_builder::<StringBuilder>(1).expect("unit").append_null();
                arguments
                    .field_builder::<Int64Builder>(2)
                    .expect("days")
                    .append_value(3);
                arguments.append(true);
                call.append(true);
            }
            calls.append(call.is_some());
            message.append(true);
        }
        messages.append(true);
    }
    messages.finish()
}

#[test]
fn nulls_that_a_schema_needs_are_no_fields() {
    let directory = scratch("batch_nested");
    let (input, template) = (directory.join("in.parquet"), directory.join("chat.jinja"));
    std::fs::write(
        &template,
        "{{ messages | tojson }}{{ tools | tojson }}{{ documents | tojson }}",
    )
    .expect("written");
    let messages = nested(&[
        &[
            ("user", Some("Wie \"heißt\" das?\n"), None),
            ("assistant", None, Some(("weather", "Köln"))),
        ],
        &[("user", Some("Hi"), None)],
        &[("user", Some("Hi"), None)],
    ]);
    // JSON in a string keeps its nulls, and may not close what it stands in.
    let tools = StringArray::from(vec![
        Some(r#"[{"type": "function", "function": {"name": "weather", "parameters": null}}]"#),
        None,
        Some(r#"[]}, "messages": []"#),
    ]);
    let mut documents = ListBuilder::new(MapBuilder::new(None, StringBuilder::new(), StringBuilder::new()));
    documents.values().keys().append_value("title");
    documents.values().values().append_null();
    documents.values().append(true).expect("keys and values");
    documents.append(true);
    documents.append_null();
    documents.append_null();
    write(
        &input,
        vec![
            column("messages", messages),
            column("tools", tools),
            column("documents", documents.finish()),
            column(
                "add_generation_prompt",
                BooleanArray::from(vec![Some(false), None, None]),
            ),
            column("when", TimestampSecondArray::from(vec![1, 2, 3])),
        ],
    );
    let output = directory.join("out.jsonl");
    let template = template.to_str().expect("is UTF-8");
    let done = batch(&input, &output, &["--template", template, "--fields", "text"]);
    assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
    let rows = lines(&output);
    assert_eq!(
        rows[0]["text"],
        concat!(
            r#"[{"role": "user", "content": "Wie \"heißt\" das?\n"}, {"role": "assistant", "tool_calls": "#,
            r#"[{"name": "weather", "arguments": {"city": "Köln", "days": 3}}]}]"#,
            r#"[{"type": "function", "function": {"name": "weather", "parameters": null}}]"#,
            r#"[{"title": null}]"#
        )
    );
    assert_eq!(rows[1]["text"], r#"[{"role": "user", "content": "Hi"}]nullnull"#);
    assert_eq!(rows[2]["error"]["code"], "invalid_json", "{}", rows[2]);
    assert_eq!(rows[2]["error"]["param"], "tools", "{}", rows[2]);
}

#[test]
fn strings_that_say_they_are_json_are_json() {
    let directory = scratch("batch_arrow_json");
    let (input, output) = (directory.join("in.parquet"), directory.join("out.jsonl"));
    let template = directory.join("chat.jinja");
    std::fs::write(&template, "{{ chat_template_kwargs | default('-') }}{{ x.y[0] }}").expect("written");
    let json = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())]);
    let x = Field::new("x", DataType::Utf8, true).with_metadata(json);
    let mut settings = StructBuilder::from_fields(vec![x], 1);
    settings
        .field_builder::<StringBuilder>(0)
        .expect("x")
        .append_value(r#"{"y": [7]}"#);
    settings.append(true);
    let messages = StringArray::from(vec![r#"[{"role": "user", "content": "Hi"}]"#]);
    write(
        &input,
        vec![
            column("messages", messages),
            column("chat_template_kwargs", settings.finish()),
        ],
    );
    let template = template.to_str().expect("is UTF-8");
    let done = batch(&input, &output, &["--template", template, "--fields", "text"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(lines(&output), [json!({"row": 0, "text": "-7"})]);
}

#[test]
fn columns_that_cannot_be_requests_are_refused() {
    let directory = scratch("batch_columns");
    let (input, output) = (directory.join("in.parquet"), directory.join("out.jsonl"));
    let refused = |columns: Vec<(Field, ArrayRef)>, says: &str| {
        write(&input, columns);
        let done = batch(&input, &output, &[]);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        assert!(stderr(&done).contains(says), "{}", stderr(&done));
        assert!(!output.exists());
    };
    let text = || StringArray::from(vec!["Hi"]);
    refused(
        vec![column("prompt", text()), column("answer", text())],
        "there is no column `messages`; the columns are prompt, answer",
    );
    refused(
        vec![
            column("messages", text()),
            column("tools", TimestampSecondArray::from(vec![1])),
        ],
        "tools is of the type Timestamp",
    );
    std::fs::write(&input, "no Parquet").expect("written");
    assert_eq!(batch(&input, &output, &[]).status.code(), Some(2));
}

#[test]
fn a_run_into_parquet_that_was_killed_is_taken_up() {
    let directory = scratch("batch_parquet_killed");
    let (input, whole, killed) = (
        directory.join("in.jsonl"),
        directory.join("whole.parquet"),
        directory.join("killed.parquet"),
    );
    // Several row groups: each is 16 K requests or fewer.
    std::fs::write(&input, requests(40_000)).expect("written");
    let flags = ["--fields", "ids,mask"];
    assert_eq!(batch(&input, &whole, &flags).status.code(), Some(1));
    let bytes = std::fs::read(&whole).expect("is there");
    let parts = directory.join("killed.parquet.parts");
    let paths = [&input, &killed].map(|path| path.to_str().expect("is UTF-8"));
    let mut kills = 0;
    for part in 1..4 {
        let args = [
            "batch",
            paths[0],
            paths[1],
            "--resume",
            "--threads",
            "2",
            "--fields",
            "ids,mask",
        ];
        kills += usize::from(kill_at(&args, &parts, bytes.len() as u64 * part / 5));
        assert!(!killed.exists(), "what is not complete is not there");
    }
    assert!(kills > 0, "some run was still at work");
    // A part that was being written.
    std::fs::write(parts.join("00000003.new"), "torn").expect("written");
    assert_eq!(
        batch(&input, &killed, &flags).status.code(),
        Some(2),
        "not written over unasked"
    );
    let other = batch(&input, &killed, &["--fields", "ids", "--resume"]);
    assert!(
        stderr(&other).contains("--fields was ids,mask, now ids"),
        "{}",
        stderr(&other)
    );
    let resumed = batch(&input, &killed, &[&flags[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("resumed after"), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("5714 of 40000"), "{}", stderr(&resumed));
    assert!(std::fs::read(&killed).expect("is there") == bytes);
    assert!(!parts.exists());
    let again = batch(&input, &killed, &[&flags[..], &["--resume"]].concat());
    assert!(
        stderr(&again).contains("resumed after 40000 rows"),
        "{}",
        stderr(&again)
    );
    assert!(std::fs::read(&killed).expect("is there") == bytes);
}

#[test]
fn a_complete_output_grows_with_its_input() {
    let directory = scratch("batch_parquet_grown");
    let path = |name: &str| directory.join(name);
    let (input, output, whole) = (path("in.jsonl"), path("out.parquet"), path("whole.parquet"));
    let parts = path("out.parquet.parts");
    std::fs::write(&input, requests(1500)).expect("written");
    assert_eq!(batch(&input, &whole, &[]).status.code(), Some(1));
    let resume = |n: usize, refused: usize| {
        std::fs::write(&input, requests(n)).expect("written");
        let done = batch(&input, &output, &["--resume"]);
        let says = format!("{refused} of {n} requests");
        assert!(stderr(&done).contains(&says), "{says}: {}", stderr(&done));
        assert!(!parts.exists());
        assert_eq!(rows(&output).len(), n);
    };
    resume(700, 100);
    resume(700, 100);
    // Killed just when the output had become the first part of a longer one.
    std::fs::create_dir(&parts).expect("a folder");
    std::fs::rename(&output, parts.join("00000000.parquet")).expect("renamed");
    resume(1300, 186);
    // Killed before the parts that the output was made of were gone.
    std::fs::create_dir(&parts).expect("a folder");
    std::fs::write(parts.join("00000007.parquet"), "old").expect("written");
    resume(1500, 214);
    assert_eq!(rows(&output), rows(&whole));
    std::fs::write(&input, requests(1600).replacen("question 1499", "question MCDXCIX", 1)).expect("written");
    let other = batch(&input, &output, &["--resume"]);
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
    assert_eq!(rows(&output), rows(&whole), "an output that is complete stays");
}

#[test]
fn codecs_that_are_not_built_in_are_named() {
    let directory = scratch("batch_parquet_codecs");
    let (plain, input, output) = (
        directory.join("plain.parquet"),
        directory.join("in.parquet"),
        directory.join("out.jsonl"),
    );
    let text = || StringArray::from(vec![r#"[{"role": "user", "content": "Hi"}]"#]);
    write(&plain, vec![column("messages", text()), column("number", text())]);
    let file = File::open(&plain).expect("is there");
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .expect("is Parquet");
    // The same pages, said to be of another codec, in one of the columns.
    let relabel = |relabelled: usize, codec: Compression| {
        let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
        let to = File::create(&input).expect("a file");
        let mut writer = SerializedFileWriter::new(to, schema, Arc::default()).expect("a writer");
        let group = metadata.row_group(0);
        let mut group_writer = writer.next_row_group().expect("a row group");
        for (position, chunk) in group.columns().iter().enumerate() {
            let builder = chunk.clone().into_builder();
            let builder = match position == relabelled {
                true => builder.set_compression(codec),
                false => builder,
            };
            let close = ColumnCloseResult {
                bytes_written: chunk.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: builder.build().expect("metadata"),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            group_writer.append_column(&file, close).expect("written");
        }
        group_writer.close().expect("written");
        writer.close().expect("written");
        batch(&input, &output, &["--overwrite"])
    };
    for (codec, name) in [
        (Compression::LZ4, "LZ4"),
        (Compression::LZ4_RAW, "LZ4 (raw)"),
        (Compression::BROTLI(Default::default()), "Brotli"),
        (Compression::LZO, "LZO"),
    ] {
        let done = relabel(0, codec);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        let says = format!("in.parquet: the column \"messages\" is compressed with {name}; what is read is Snappy");
        assert!(stderr(&done).contains(&says), "{says}: {}", stderr(&done));
        assert!(!output.exists());
    }
    // Columns that are passed over may have any.
    let done = relabel(1, Compression::BROTLI(Default::default()));
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
}

#[test]
fn no_requests_make_an_output_without_rows() {
    let directory = scratch("batch_parquet_empty");
    let (input, output) = (directory.join("in.jsonl"), directory.join("out.parquet"));
    std::fs::write(&input, "\n\n").expect("written");
    let done = batch(&input, &output, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(rows(&output), Vec::<Value>::new());
}
