//! Integration tests of the library.

mod model_load;
mod oracle;
mod tiktoken;
mod vocabularies;
