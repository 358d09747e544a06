//! The `typecase` command line.
//!
//! Standard output carries data only; notes, warnings, errors and progress go to standard error. Exit status: 0 all
//! done, 1 some request was refused, 2 could not run.

#![forbid(unsafe_code)]

mod args;
mod batch;
mod clock;
mod control_text;
mod exit;
mod input;
mod inspect;
mod output;
mod render;
mod renderer;
mod tokens;
mod view;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.set();
    let result = match args.command {
        Command::Render(args) => render::run(&args),
        Command::Tokens(args) => tokens::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Batch(args) => batch::run(&args),
    };
    exit::code(result)
}
