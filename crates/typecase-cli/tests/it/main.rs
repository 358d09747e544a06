//! The command, run as a process.

mod batch;
#[cfg(feature = "parquet")]
mod batch_parquet;
mod inspect;
mod models;
mod process;
mod render;
mod tokens;
