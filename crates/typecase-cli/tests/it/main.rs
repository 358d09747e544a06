//! The command, run as a process.

mod batch;
mod inspect;
mod process;
mod render;
mod tokens;
