//! Jinja2 for chat templates: Python's semantics, byte for byte, and the provenance of every byte.
//!
//! ```
//! use typecase_jinja::value::{Arena, json};
//! use typecase_jinja::{Options, Template};
//!
//! let template = Template::compile("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}")?;
//! let arena = Arena::new();
//! let values = json::parse_str(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#, &arena)?;
//! let rendered = template.render(&values, &arena, &Options::default())?;
//! assert_eq!(rendered.text, "<|user|>Hi\n");
//!
//! // Who wrote it: the template's literals and the request's strings are told apart by where they are in memory.
//! let origin = rendered.runs[1].origin;
//! assert_eq!(values.path_of(origin).to_string(), "messages[0].role");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Template`] is compiled once and shared between threads; [`Template::render`] runs it within the bounds of
//! [`Options`]. What fails is an [`Error`] with Python's kind and message and its place in the template.
//!
//! [`value`] holds JSON and values as Python has them; it knows nothing of templates, so that native prompt formats
//! can use it as well. With the feature `serde`, values are made from types that implement `serde::Serialize`, too.
//!
//! What differs from Jinja2, what is bounded, and what keeps its provenance: [`compatibility`].

/// What differs from Jinja2, what is bounded, and what keeps its provenance.
#[doc = include_str!("../docs/compatibility.md")]
pub mod compatibility {}

pub mod syntax;
pub mod value;

mod builtins;
mod compile;
mod error;
mod output;
mod provenance;
mod template;
mod vm;

pub use builtins::strftime::LocalTime;
pub use compile::meta::Meta;
pub use error::{Error, ErrorKind, Position, Result};
pub use provenance::{Author, Authors};
pub use template::{Options, Rendered, Template};
