//! Runs a compiled template.

mod iterate;
mod state;

pub(crate) use iterate::Iter;
pub(crate) use state::State;
