//! Chat requests to the exact prompt a model was trained on, as text and token ids, for every serving engine.
//!
//! ```text
//! JSON ─parse─> ChatRequest ─Format::render─> Prompt ─encode─> Tokens ─engine─> engine prompt
//! ```
//!
//! ```
//! use typecase::format::{Format, KimiK3, RenderOptions};
//! use typecase::request::ChatRequest;
//! use typecase::value::Arena;
//!
//! let arena = Arena::new();
//! let mut body = br#"{"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none"}"#.to_vec();
//! let request = ChatRequest::parse(&mut body, &arena)?;
//! let prompt = KimiK3::default().render(&request, &RenderOptions::default())?;
//! assert_eq!(
//!     prompt.text(),
//!     "<|open|>message role=\"user\"<|sep|>Hi<|close|>message<|sep|><|end_of_msg|>\
//!      <|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>"
//! );
//! # Ok::<(), typecase::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod engine;
pub mod error;
pub mod format;
pub mod media;
pub mod model;
pub mod prompt;
pub mod request;
#[cfg_attr(
    not(any(feature = "huggingface", feature = "tiktoken")),
    expect(dead_code, reason = "without a vocabulary nothing is encoded")
)]
pub mod tokenizer;

pub use error::{Error, ErrorKind, Fault, Result};
pub use format::{Format, RenderOptions};
pub use model::Model;
pub use prompt::Prompt;
pub use request::ChatRequest;
pub use tokenizer::{Tokenizer, Tokens};
/// JSON and values as Python has them.
pub use typecase_jinja::value;

/// The README's programs, which run as tests.
#[cfg(all(doctest, feature = "tiktoken"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
