//! Runs a compiled template.
//!
//! [`State`] holds everything of one render. [`run`] executes statements, [`eval`] expressions; [`emit`] writes an
//! expression straight to the output, which spares most strings from being made at all.

mod attribute;
mod call;
mod emit;
mod eval;
mod iterate;
mod loops;
mod objects;
mod run;
pub(crate) mod sandbox;
mod state;

pub(crate) use iterate::Iter;
pub(crate) use loops::LoopAttribute;
pub(crate) use objects::{Namespace, check_name};
pub(crate) use state::{GenerationSpan, SpanEnd, State};
