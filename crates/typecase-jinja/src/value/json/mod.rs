//! JSON as Python's `json` module reads and writes it.
//!
//! Reading: integers of any size, `NaN` and `Infinity`, `1e400` is infinite, the first place and the last value of a
//! repeated key. Not as in Python: an escape of half a surrogate pair is refused, since such a string is no text and
//! cannot be encoded, and nesting is bounded by [`MAX_DEPTH`].

mod decode;
mod parse;
mod scan;
mod write;

pub use parse::{MAX_DEPTH, MAX_INT_DIGITS, ParseError, ParseErrorKind, parse, parse_into, parse_str};
pub use write::{Indent, Sink, WriteError, WriteOptions, to_string, write, write_str, write_to};
