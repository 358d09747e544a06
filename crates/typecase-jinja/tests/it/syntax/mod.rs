//! Lexer and parser.

mod dump;
mod errors;
mod limits;
mod recorded;
mod reference;
