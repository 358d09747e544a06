//! Jinja2 for chat templates: Python's semantics, byte for byte, and the provenance of every byte.
//!
//! [`value`] holds JSON and values as Python has them; it knows nothing of templates, so that native prompt formats
//! can use it as well.

pub mod syntax;
pub mod value;

mod builtins;
mod compile;
mod error;
mod output;
mod template;
mod vm;

pub use builtins::strftime::LocalTime;
pub use compile::meta::Meta;
pub use error::{Error, ErrorKind, Position, Result};
pub use template::{Options, Rendered, Template};
