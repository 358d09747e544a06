//! The tests of this crate that need more than one module or a reference.

mod bounds;
mod depth;
mod differential;
mod language;
mod syntax;
mod templates;
