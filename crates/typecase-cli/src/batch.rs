//! `typecase batch`: data sets, on all cores, in order, in constant memory, and resumable.
//!
//! ```text
//! reader ─ chunk + empty slot ─> workers ─ rows ─> slot
//!    └──────── slots, in the order of the input ────────> writer
//! ```
//! The queue of slots is bounded, and so is what is in flight: the reader waits when the writer is so many chunks behind.

mod resume;
mod row;

use crate::args::Batch;
use crate::exit::{ERROR, Outcome};
use crate::input::{is_standard, open, progress};
use crate::renderer::Renderer;
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use row::{Row, RowWriter};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use typecase::value::Arena;

/// Bytes of requests that one worker takes at a time; a longer request is a chunk of its own.
const CHUNK_BYTES: usize = 256 << 10;
/// Requests that one worker takes at a time, so that short ones are soon seen in the output.
const CHUNK_REQUESTS: usize = 512;
/// Chunks in flight for each worker.
const CHUNKS_PER_WORKER: usize = 4;

/// Requests that follow one another.
struct Chunk {
    /// The number of the first.
    first: u64,
    requests: Vec<Vec<u8>>,
    /// Bytes of the input that it took, empty lines included.
    bytes: u64,
}

/// The rows of a chunk.
struct Rows {
    lines: Vec<u8>,
    count: u64,
    refused: u64,
    bytes: u64,
}

/// A chunk and where its rows go.
type Job = (Chunk, SyncSender<Result<Rows>>);

pub(crate) fn run(args: &Batch) -> Result<Outcome> {
    let renderer = Renderer::new(&args.source)?;
    if args.fields.iter().any(|field| row::needs_ids(*field)) {
        renderer
            .vocabulary()
            .context("--fields: only text can be had without a model")?;
    }
    let (output, done) = open_output(args)?;
    let mut input = BufReader::with_capacity(CHUNK_BYTES, open(&args.input)?);
    let bar = progress(&args.input, is_standard(&args.output));
    let name = args.input.display().to_string();
    let skipped = skip(&mut input, done.rows).with_context(|| name.clone())?;
    if skipped.requests < done.rows {
        bail!(
            "{} has {} rows, but {name} only {} requests: it is not the output of this input",
            args.output.display(),
            done.rows,
            skipped.requests
        );
    }
    bar.inc(skipped.bytes);
    if done.rows > 0 {
        anstream::eprintln!("resumed after {} rows", done.rows);
    }
    let threads = match args.threads {
        Some(threads) => threads.get(),
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let row_writer = RowWriter::new(&renderer, &args.fields);
    let (jobs, queue) = sync_channel::<Job>(threads * CHUNKS_PER_WORKER);
    // Owned by the workers alone: without them the reader must not wait for room in the queue.
    let queue = Arc::new(Mutex::new(queue));
    let row_writer = &row_writer;
    let written = thread::scope(|scope| {
        let (slots, in_order) = sync_channel::<Receiver<Result<Rows>>>(threads * CHUNKS_PER_WORKER);
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            scope.spawn(move || work(&queue, row_writer));
        }
        drop(queue);
        let reader = scope.spawn(move || feed(input, done.rows, &jobs, &slots));
        let written = write(output, in_order, &bar);
        // With the writer gone the reader stops, and without the reader the workers.
        let read = match reader.join() {
            Ok(read) => read.with_context(|| name.clone()),
            Err(_) => bail!("the reader gave up"),
        };
        let written = written?;
        read?;
        Ok(written)
    })?;
    bar.finish_and_clear();
    let refused = written.refused + done.refused;
    if refused == 0 {
        return Ok(Outcome::Done);
    }
    let all = written.rows + done.rows;
    anstream::eprintln!("{ERROR}refused:{ERROR:#} {refused} of {all} requests; each has a row with its error");
    Ok(Outcome::Refused)
}

/// The output, ready to be appended to, and what it has.
fn open_output(args: &Batch) -> Result<(Box<dyn Write>, resume::Done)> {
    if is_standard(&args.output) {
        if args.resume {
            bail!("--resume needs an output file");
        }
        return Ok((Box::new(io::stdout().lock()), resume::Done::default()));
    }
    let name = || args.output.display().to_string();
    let (file, done) = if args.resume && args.output.exists() {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&args.output)
            .with_context(name)?;
        let done = resume::whole_rows(&mut file).with_context(name)?;
        (file, done)
    } else if args.overwrite {
        (File::create(&args.output).with_context(name)?, resume::Done::default())
    } else {
        let file = File::create_new(&args.output).with_context(|| {
            format!(
                "{}; --resume goes on after its rows, --overwrite begins anew",
                args.output.display()
            )
        })?;
        (file, resume::Done::default())
    };
    Ok((Box::new(file), done))
}

/// Passes the lines on in chunks, until the input or the writer ends.
fn feed(
    mut input: impl BufRead,
    mut next: u64,
    jobs: &SyncSender<Job>,
    slots: &SyncSender<Receiver<Result<Rows>>>,
) -> io::Result<()> {
    loop {
        let mut chunk = Chunk {
            first: next,
            requests: Vec::new(),
            bytes: 0,
        };
        let mut ended = false;
        let mut held = 0;
        while held < CHUNK_BYTES && chunk.requests.len() < CHUNK_REQUESTS {
            let mut line = Vec::new();
            let len = input.read_until(b'\n', &mut line)?;
            if len == 0 {
                ended = true;
                break;
            }
            chunk.bytes += len as u64;
            if !is_empty(&line) {
                held += len;
                chunk.requests.push(line);
            }
        }
        next += chunk.requests.len() as u64;
        if chunk.bytes > 0 {
            let (slot, rows) = sync_channel(1);
            // The slot first: a job whose slot nobody waits for would be done in vain.
            if slots.send(rows).is_err() || jobs.send((chunk, slot)).is_err() {
                return Ok(());
            }
        }
        if ended {
            return Ok(());
        }
    }
}

fn is_empty(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Renders chunks until there are no more.
fn work(queue: &Mutex<Receiver<Job>>, row_writer: &RowWriter<'_>) {
    let mut arena = Arena::new();
    loop {
        // A worker that panicked did not do so while it held the queue.
        let job = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok((chunk, slot)) = job else { return };
        // The writer may have given up, and then nobody asks.
        let _unwanted = slot.send(rows(chunk, row_writer, &mut arena));
    }
}

fn rows(chunk: Chunk, row_writer: &RowWriter<'_>, arena: &mut Arena) -> Result<Rows> {
    let mut rows = Rows {
        lines: Vec::new(),
        count: 0,
        refused: 0,
        bytes: chunk.bytes,
    };
    for mut request in chunk.requests {
        arena.reset();
        let number = chunk.first + rows.count;
        if row_writer.write(number, &mut request, arena, &mut rows.lines)? == Row::Refused {
            rows.refused += 1;
        }
        rows.count += 1;
    }
    Ok(rows)
}

/// What was written.
#[derive(Default)]
struct Written {
    rows: u64,
    refused: u64,
}

/// Writes the rows as their slots are filled. Whole chunks only, so that a run that is killed leaves one torn row at most.
fn write(output: Box<dyn Write>, in_order: Receiver<Receiver<Result<Rows>>>, bar: &ProgressBar) -> Result<Written> {
    let mut output = BufWriter::new(output);
    let mut written = Written::default();
    for slot in in_order {
        // A worker that is gone without an answer panicked, which the scope reports.
        let rows = slot.recv().context("a worker gave up")??;
        output.write_all(&rows.lines)?;
        output.flush()?;
        written.rows += rows.count;
        written.refused += rows.refused;
        bar.inc(rows.bytes);
        bar.set_message(format!("{} rows, {} refused", written.rows, written.refused));
    }
    Ok(written)
}

/// How much of the input was passed over.
struct Skipped {
    requests: u64,
    bytes: u64,
}

/// Passes over so many requests.
fn skip<R: Read>(input: &mut BufReader<R>, requests: u64) -> io::Result<Skipped> {
    let mut skipped = Skipped { requests: 0, bytes: 0 };
    let mut line = Vec::new();
    while skipped.requests < requests {
        line.clear();
        let len = input.read_until(b'\n', &mut line)?;
        if len == 0 {
            break;
        }
        skipped.bytes += len as u64;
        skipped.requests += u64::from(!is_empty(&line));
    }
    Ok(skipped)
}
