//! `typecase` beside its peers, on the same requests and in the same run.
//!
//! ```text
//! workloads, templates ──> peers (compiled once) ──> contenders (checked against the reference) ──> measure ──> report
//! ```
//!
//! A fast wrong answer is no result: every contender's output is compared with what Python recorded
//! (`reference.py`) before it is timed, and [`Verdict`] goes with its numbers. `benches/` holds the same contenders for
//! criterion; the `compare` command interleaves them, because on a machine that others use only ratios of neighbours in
//! time mean anything.

pub mod contender;
pub mod measure;
pub mod peers;
pub mod reference;
pub mod report;
pub mod templates;
pub mod workload;

pub use contender::{Contender, Stage, Verdict};
