//! Chat requests to the exact prompt a model was trained on, as text and token ids, for every serving engine.
//!
//! ```text
//! JSON ─parse─> ChatRequest ─adapt─> Conversation ─Format::render─> Prompt ─encode─> Tokens ─engine─> engine prompt
//! ```

pub mod engine;
pub mod error;
pub mod media;
pub mod prompt;

pub use error::{Error, ErrorKind, Fault, Result};
pub use prompt::Prompt;
