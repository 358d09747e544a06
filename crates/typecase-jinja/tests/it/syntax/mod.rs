//! Lexer and parser.

mod dump;
mod reference;
