//! Chat requests to the exact prompt a model was trained on, as text and token ids, for every serving engine.
//!
//! ```text
//! JSON ─parse─> ChatRequest ─adapt─> Conversation ─Format::render─> Prompt ─encode─> Tokens ─engine─> engine prompt
//! ```

pub mod error;
pub mod model;
pub mod prompt;
#[cfg_attr(
    not(any(feature = "huggingface", feature = "tiktoken")),
    expect(dead_code, reason = "without a vocabulary nothing is encoded")
)]
pub mod tokenizer;

pub use error::{Error, ErrorKind, Fault, Result};
pub use model::Model;
pub use prompt::Prompt;
pub use tokenizer::{Tokenizer, Tokens};
