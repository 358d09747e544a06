//! `typecase batch`: data sets, on all cores, in order, in constant memory, and resumable.
//!
//! ```text
//! reader ─ chunk + empty slot ─> workers ─ rows ─> slot
//!    └──────── slots, in the order of the input ────────> writer ─ now and then ─> syncer: rows, then the manifest
//! ```
//! The queue of slots is bounded, and so is what is in flight: the reader waits when the writer is so many chunks behind.
//!
//! A run that is taken up reads its input from the beginning again. Of requests whose rows are there only digests are taken,
//! by all workers, and held against the manifest's before anything new is written. Digests know nothing of chunks: the input
//! may have grown since, so that what was its last chunk has become longer.

mod input;
mod manifest;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod row;

use crate::args::Batch;
use crate::exit::{ERROR, Outcome};
use crate::input::{is_standard, progress};
use crate::renderer::Renderer;
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use input::{Chunk, ChunkSize, Input};
use manifest::{Digest, Manifest, Progress};
use output::{Kept, Output, Syncer};
use row::{Lines, Row, RowWriter};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use typecase::value::Arena;

/// How often rows are made durable. A power cut costs what was rendered since; a kill costs nothing that was written.
const SYNC_INTERVAL: Duration = Duration::from_secs(2);

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// One JSON text per line.
    Jsonl,
    /// `*.parquet`.
    Parquet,
}

impl FileKind {
    fn of(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => FileKind::Parquet,
            _ => FileKind::Jsonl,
        }
    }

    fn name(self) -> &'static str {
        match self {
            FileKind::Jsonl => "JSONL",
            FileKind::Parquet => "Parquet",
        }
    }

    /// Chunks for an output of this kind. Those of Parquet are row groups.
    fn chunk_size(self) -> ChunkSize {
        match self {
            FileKind::Jsonl => ChunkSize {
                bytes: 256 << 10,
                requests: 512,
            },
            FileKind::Parquet => ChunkSize {
                bytes: 8 << 20,
                requests: 16 << 10,
            },
        }
    }

    /// Chunks in flight for each worker.
    fn chunks_per_worker(self) -> usize {
        match self {
            FileKind::Jsonl => 4,
            FileKind::Parquet => 1,
        }
    }
}

/// What workers make rows with.
struct Work<'r> {
    row_writer: RowWriter<'r>,
    kind: FileKind,
    /// Rows that are there already.
    kept: u64,
}

/// A chunk, the number of its first request, and where its rows go.
type Job = (Chunk, u64, SyncSender<Result<Done>>);

/// A chunk that was worked on.
struct Done {
    /// As they are written: those that were not there yet.
    rows: Vec<u8>,
    /// How many of the new rows are errors.
    refused: u64,
    bytes: u64,
    /// Of each request.
    digests: Vec<u128>,
}

pub(crate) fn run(args: &Batch) -> Result<Outcome> {
    let kinds = (FileKind::of(&args.input), FileKind::of(&args.output));
    check_files(args)?;
    let is_kept = is_kept(&args.output);
    let earlier = earlier_run(args)?;
    let mut source = args.source.clone();
    let now = match (source.now, &earlier) {
        (Some(now), _) => now,
        (None, Some(earlier)) => earlier.now()?,
        (None, None) => crate::clock::local_time(),
    };
    source.now = Some(now);
    let renderer = Renderer::new(&source)?;
    if args.fields.iter().any(|field| row::needs_ids(*field)) {
        renderer
            .vocabulary()
            .context("--fields: only text can be had without a model")?;
    }
    let mut manifest = Manifest::new(args, kinds, &renderer, now)?;
    if let Some(earlier) = &earlier {
        manifest.check(earlier)?;
        manifest.progress = earlier.progress.clone();
    }
    let input = input::open_input(&args.input, kinds.0, kinds.1.chunk_size())?;
    if is_kept {
        // In this order: rows of another run must never stand beside this manifest, nor rows of this one without it.
        if earlier.is_none() {
            output::remove(&args.output).with_context(|| args.output.display().to_string())?;
        }
        manifest.write(&args.output)?;
    }
    let promised = earlier.as_ref().map(|earlier| &earlier.progress);
    let (output, kept) = output::open_output(&args.output, kinds.1, &args.fields, promised)?;
    if kept.rows > 0 {
        anstream::eprintln!("resumed after {} rows", kept.rows);
    }
    let work = Work {
        row_writer: RowWriter::new(&renderer, &args.fields),
        kind: kinds.1,
        kept: kept.rows,
    };
    let bar = progress(&args.input, is_standard(&args.output));
    let threads = match args.threads {
        Some(threads) => threads.get(),
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    let writer = Writer {
        output,
        name: &args.output,
        output_file: is_kept.then_some(&args.output),
        goal: manifest.progress.clone(),
        manifest,
        kept,
        digest: Digest::default(),
        bar: &bar,
    };
    let done = pipeline(input, &work, writer, threads)?;
    bar.finish_and_clear();
    if done.refused == 0 {
        return Ok(Outcome::Done);
    }
    anstream::eprintln!(
        "{ERROR}refused:{ERROR:#} {} of {} requests; each has a row with its error",
        done.refused,
        done.rows
    );
    Ok(Outcome::Refused)
}

/// Refuses, before anything is loaded, files that cannot be those of a run.
fn check_files(args: &Batch) -> Result<()> {
    let (input, output) = (&args.input, &args.output);
    if is_standard(output) {
        return Ok(());
    }
    if output.is_dir() {
        bail!("{} is a directory; OUT is a file", output.display());
    }
    if let Some(folder) = output.parent()
        && folder != Path::new("")
        && !folder.is_dir()
    {
        bail!("{}: there is no directory {}", output.display(), folder.display());
    }
    // Also by another name: --overwrite would remove what is to be read.
    if !is_standard(input)
        && let (Ok(one), Ok(other)) = (input.canonicalize(), output.canonicalize())
        && one == other
        && output.is_file()
    {
        bail!("{} is both IN and OUT", output.display());
    }
    Ok(())
}

/// Whether an output is a file, which has a manifest beside it. Pipes and devices are written to as they are.
fn is_kept(output: &Path) -> bool {
    !is_standard(output) && (output.is_file() || !output.exists())
}

/// The manifest of the run that is to be taken up, if there is one. Refuses to write over an output unasked.
fn earlier_run(args: &Batch) -> Result<Option<Manifest>> {
    if !is_kept(&args.output) {
        if args.resume {
            bail!("--resume needs an output file");
        }
        return Ok(None);
    }
    let name = args.output.display();
    let is_there = args.output.is_file() || output_parts(&args.output).is_some_and(|parts| parts.exists());
    if args.resume {
        let earlier = Manifest::read(&args.output)?;
        if is_there && earlier.is_none() {
            bail!(
                "--resume: {name} has no manifest ({}), so nothing says what it was made with; --overwrite begins anew",
                manifest::path(&args.output).display()
            );
        }
        // A run that was killed before its first row has only the manifest.
        return Ok(earlier);
    }
    if is_there && !args.overwrite {
        bail!("{name} is there already; --resume goes on after its rows, --overwrite begins anew");
    }
    Ok(None)
}

/// Where an output keeps its parts until it is complete, if it does.
fn output_parts(output: &Path) -> Option<PathBuf> {
    match FileKind::of(output) {
        FileKind::Jsonl => None,
        FileKind::Parquet => {
            let mut name = output.as_os_str().to_owned();
            name.push(".parts");
            Some(name.into())
        }
    }
}

fn pipeline(input: Box<dyn Input>, work: &Work<'_>, writer: Writer<'_>, threads: usize) -> Result<Progress> {
    let in_flight = threads * work.kind.chunks_per_worker();
    let (jobs, queue) = sync_channel::<Job>(in_flight);
    // Owned by the workers alone: without them the reader must not wait for room in the queue.
    let queue = Arc::new(Mutex::new(queue));
    thread::scope(|scope| {
        let (slots, in_order) = sync_channel::<Receiver<Result<Done>>>(in_flight);
        for _ in 0..threads {
            let queue = Arc::clone(&queue);
            scope.spawn(move || work_on(&queue, work));
        }
        drop(queue);
        let reader = scope.spawn(move || feed(input, &jobs, &slots));
        let (checkpoints, to_sync) = sync_channel::<Manifest>(1);
        let syncer = writer.output.syncer()?;
        let output_file = writer.output_file;
        let syncer = scope.spawn(move || keep_safe(to_sync, syncer, output_file));
        let written = writer.write(in_order, checkpoints);
        // With the writer gone the reader stops, and without the reader the workers.
        let read = match reader.join() {
            Ok(read) => read,
            Err(_) => bail!("the reader gave up"),
        };
        let synced = match syncer.join() {
            Ok(synced) => synced,
            Err(_) => bail!("the syncer gave up"),
        };
        let mut writer = written?;
        read?;
        synced?;
        writer.complete()
    })
}

/// Passes the chunks on, until the input or the writer ends.
fn feed(mut input: Box<dyn Input>, jobs: &SyncSender<Job>, slots: &SyncSender<Receiver<Result<Done>>>) -> Result<()> {
    let mut next = 0;
    while let Some(chunk) = input.next()? {
        let first = next;
        next += chunk.requests.len();
        let (slot, done) = sync_channel(1);
        // The slot first: a job whose slot nobody waits for would be done in vain.
        if slots.send(done).is_err() || jobs.send((chunk, first, slot)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Works on chunks until there are no more.
fn work_on(queue: &Mutex<Receiver<Job>>, work: &Work<'_>) {
    let mut arena = Arena::new();
    loop {
        // A worker that panicked did not do so while it held the queue.
        let job = queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok((chunk, first, slot)) = job else { return };
        // The writer may have given up, and then nobody asks.
        let _unwanted = slot.send(done(chunk, first, work, &mut arena));
    }
}

fn done(chunk: Chunk, first: u64, work: &Work<'_>, arena: &mut Arena) -> Result<Done> {
    let mut digests = Vec::with_capacity(chunk.requests.len() as usize);
    let mut refused = 0;
    let bytes = chunk.bytes;
    let mut number = first;
    let mut one = |request: &mut Vec<u8>, broken: Option<typecase::Error>, rows: &mut dyn row::Rows| -> Result<()> {
        digests.push(Digest::of(request.trim_ascii_end()));
        if number >= work.kept {
            arena.reset();
            let row = match broken {
                Some(err) => work.row_writer.refuse(number, &err, rows)?,
                None => work.row_writer.write(number, request, arena, rows)?,
            };
            refused += u64::from(row == Row::Refused);
        }
        number += 1;
        Ok(())
    };
    let rows = match work.kind {
        FileKind::Jsonl => {
            let mut rows = Lines::default();
            chunk
                .requests
                .for_each(|request, broken| one(request, broken, &mut rows))?;
            rows.0
        }
        #[cfg(feature = "parquet")]
        FileKind::Parquet => {
            let mut rows = parquet::RowGroup::new(work.row_writer.fields())?;
            chunk
                .requests
                .for_each(|request, broken| one(request, broken, &mut rows))?;
            rows.finish()?
        }
        #[cfg(not(feature = "parquet"))]
        FileKind::Parquet => bail!(input::NO_PARQUET),
    };
    Ok(Done {
        rows,
        refused,
        bytes,
        digests,
    })
}

/// Writes rows in the order of their requests.
struct Writer<'o> {
    output: Box<dyn Output>,
    /// The output, for messages.
    name: &'o Path,
    /// Where the output is, if it has a manifest.
    output_file: Option<&'o PathBuf>,
    /// What this run has done, requests that it passed over included.
    manifest: Manifest,
    /// What the manifest of the run that is taken up promised.
    goal: Progress,
    kept: Kept,
    digest: Digest,
    bar: &'o ProgressBar,
}

impl Writer<'_> {
    /// Writes the rows as their slots are filled. Whole chunks only, so that a run that is killed leaves one torn row at
    /// most.
    fn write(mut self, in_order: Receiver<Receiver<Result<Done>>>, checkpoints: SyncSender<Manifest>) -> Result<Self> {
        self.manifest.progress = Progress {
            refused: self.kept.refused,
            ..Progress::default()
        };
        let mut last_sync = Instant::now();
        for slot in in_order {
            // A worker that is gone without an answer panicked, which the scope reports.
            let done = slot.recv().context("a worker gave up")??;
            let progress = &mut self.manifest.progress;
            for digest in &done.digests {
                self.digest.add(&digest.to_le_bytes());
                progress.rows += 1;
                if progress.rows == self.goal.rows {
                    check_input(&self.digest, &self.goal)?;
                }
            }
            progress.refused += done.refused;
            self.bar.inc(done.bytes);
            if progress.rows <= self.kept.rows || done.digests.is_empty() {
                continue;
            }
            self.output
                .write(&done.rows)
                .with_context(|| self.name.display().to_string())?;
            self.bar
                .set_message(format!("{} rows, {} refused", progress.rows, progress.refused));
            if last_sync.elapsed() >= SYNC_INTERVAL {
                progress.output_bytes = self.output.len();
                progress.input_digest = self.digest.to_string();
                match checkpoints.try_send(self.manifest.clone()) {
                    // A slow disk: the next one will do.
                    Ok(()) | Err(TrySendError::Full(_)) => {}
                    // It failed, and says so when it is joined.
                    Err(TrySendError::Disconnected(_)) => break,
                }
                last_sync = Instant::now();
            }
        }
        Ok(self)
    }

    /// Completes the output, and then says so.
    fn complete(&mut self) -> Result<Progress> {
        let progress = &mut self.manifest.progress;
        // The output has at least the rows that were promised.
        if progress.rows < self.kept.rows {
            bail!(
                "--resume: the input is not the one of the first run: it has {} requests, the output {} rows; --overwrite \
                 begins anew",
                progress.rows,
                self.kept.rows
            );
        }
        progress.output_bytes = self.output.len();
        progress.input_digest = self.digest.to_string();
        progress.complete = true;
        self.output.finish().with_context(|| self.name.display().to_string())?;
        if let Some(file) = self.output_file {
            self.manifest.write(file)?;
        }
        self.output.tidy()?;
        Ok(self.manifest.progress.clone())
    }
}

/// Holds the requests that were passed over against those of the run that is taken up.
fn check_input(digest: &Digest, goal: &Progress) -> Result<()> {
    if digest.to_string() != goal.input_digest {
        bail!(
            "--resume: the input is not the one of the first run: among its first {} requests are others; --overwrite \
             begins anew",
            goal.rows
        );
    }
    Ok(())
}

/// Makes rows durable, and then says so in the manifest, for each checkpoint.
fn keep_safe(checkpoints: Receiver<Manifest>, sync: Option<Syncer>, output: Option<&PathBuf>) -> Result<()> {
    let (Some(mut sync), Some(output)) = (sync, output) else {
        // Takes what it is sent all the same: a writer whose syncer is gone gives up.
        checkpoints.into_iter().for_each(drop);
        return Ok(());
    };
    for manifest in checkpoints {
        sync()?;
        manifest.write(output)?;
    }
    Ok(())
}
