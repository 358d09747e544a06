//! The tests of this crate that need more than one module or a reference.

mod syntax;
