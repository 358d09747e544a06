//! Holds the formats of typecase against their references.
//!
//! ```text
//! typecase-conformance native FILE.jsonl...
//! typecase-conformance templates --templates DIR --conversations FILE.jsonl --goldens FILE.jsonl.gz
//! typecase-conformance reports FILE.jsonl --templates DIR
//! ```
//!
//! Exit status: 0 all equal, 1 something differs, 2 could not run.

#![forbid(unsafe_code)]

mod clock;
mod exact;
mod native;
mod pool;
mod report;
mod reports;
mod templates;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Hold the formats of typecase against their references.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Formats without a template. The name of a file tells the format: kimi_k3.jsonl, kimi_k3_more.jsonl, ...
    Native {
        /// Files of cases, one JSON object per line.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// How many differences to show of each file.
        #[arg(long, default_value_t = 5)]
        show: usize,
    },
    /// Chat templates: every template with every conversation, against what transformers rendered.
    Templates(templates::Args),
    /// Cases made after reports of users.
    Reports(reports::Args),
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Native { files, show } => native::run(&files, show),
        Command::Templates(args) => templates::run(&args),
        Command::Reports(args) => reports::run(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::from(2)
        }
    }
}
