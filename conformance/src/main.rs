//! Holds the formats of typecase against their references.
//!
//! ```text
//! typecase-conformance native FILE.jsonl...
//! ```
//!
//! Exit status: 0 all equal, 1 something differs, 2 could not run.

mod native;
mod report;

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
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Native { files, show } => native::run(&files, show),
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
