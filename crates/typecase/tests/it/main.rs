//! Integration tests of the library.

mod model_load;
mod oracle;
mod origins;
mod tiktoken;
mod vocabularies;
