//! Integration tests of the library.

mod arrows;
mod injection;
mod kimi_k3;
mod masks;
mod media_places;
mod model_load;
mod oracle;
mod origins;
mod sanitized;
mod tiktoken;
mod vocabularies;
