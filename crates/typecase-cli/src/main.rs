//! The `typecase` command line.
//!
//! Standard output carries data only; notes, warnings, errors and progress go to standard error. Exit status: 0 all
//! done, 1 some request was refused, 2 could not run.

mod args;
mod clock;
mod exit;
mod output;
mod render;
mod view;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    args.color.set();
    let result = match args.command {
        Command::Render(render) => render::run(&render),
    };
    exit::code(result)
}
