//! Integration tests of the library.

mod arrows;
mod byte_vocabulary;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "hub")]
mod hub;
mod injection;
mod kimi_k3;
mod masks;
mod media_places;
mod model_load;
mod oracle;
mod origins;
mod sanitized;
mod tiktoken;
mod tokenizer_classes;
mod vocabularies;
