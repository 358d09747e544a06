//! Template source to syntax tree, as Jinja2 3.1 reads it in the environment of `transformers`: `trim_blocks` and
//! `lstrip_blocks` on, `keep_trailing_newline` off, with loop controls and the `generation` block.
//!
//! ```
//! use typecase_jinja::syntax;
//!
//! let source = syntax::normalize("{% if x %}\r\n  {{ y }}\r\n{% endif %}\r\n");
//! let template = syntax::parse(&source)?;
//! assert_eq!(template.body.len(), 1);
//!
//! let error = syntax::parse("{% if x %}").unwrap_err();
//! assert_eq!((error.line(), error.column()), (1, 11));
//! # Ok::<(), syntax::SyntaxError>(())
//! ```
//!
//! # Limits
//! | what | limit |
//! |---|---:|
//! | bytes of source | 16 MiB |
//! | brackets in one another | 100 |
//! | operations that wait for an operand | 300 |
//! | operations on the result of one another | 500 |
//! | statements in one another | 128 |
//! | loops in one another, in one macro | 20 |
//!
//! None refuses what Python takes (it stops at 60, 200, 200, 100 and 20), but for a source of such length.
//!
//! # Source
//! `lexer.py`, `parser.py` and `nodes.py` of Jinja2 3.1.6, `chat_template_utils.py` of transformers 5.23.0.

pub mod ast;
mod check;
mod error;
mod lexer;
mod literal;
pub(crate) mod names;
mod parser;
mod token;

pub use error::{EscapeError, NumberError, Open, SyntaxError, SyntaxErrorKind};

use ast::{Span, Template};
use std::borrow::Cow;

/// Bytes that a template may have; real ones have up to some 100,000.
const MAX_SOURCE_BYTES: usize = 16 << 20;

/// The source with `\n` for each `\r\n` and `\r`, and without the newline at its end. All places in the tree and in errors
/// count in it.
pub fn normalize(source: &str) -> Cow<'_, str> {
    let source = match source.find('\r') {
        None => Cow::Borrowed(source),
        Some(_) => Cow::Owned(source.replace("\r\n", "\n").replace('\r', "\n")),
    };
    match source {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('\n').unwrap_or(text)),
        Cow::Owned(mut text) => {
            if text.ends_with('\n') {
                text.pop();
            }
            Cow::Owned(text)
        }
    }
}

/// Parses a template's source, which must have gone through [`normalize`]. Names and literals of the tree borrow from it.
///
/// # Errors
/// What Jinja refuses while it lexes, parses and compiles, but for unknown filters and tests; and what exceeds a limit.
pub fn parse(source: &str) -> Result<Template<'_>, SyntaxError> {
    match parse_for_compiler(source)? {
        (_, Some(late)) => Err(late),
        (template, None) => Ok(template),
    }
}

/// The same, with an error that Python finds in the code that Jinja made beside the tree: the compiler may find one that
/// comes before it.
pub(crate) fn parse_for_compiler(source: &str) -> Result<(Template<'_>, Option<SyntaxError>), SyntaxError> {
    if source.len() > MAX_SOURCE_BYTES {
        let limit = MAX_SOURCE_BYTES;
        let start = Span { line: 1, offset: 0 };
        return Err(SyntaxError::new(SyntaxErrorKind::TooLong { limit }, start, source));
    }
    let template = parser::parse(source)?;
    match check::check(&template, source) {
        Err(error) if error.kind().exception() == "SyntaxError" => Ok((template, Some(error))),
        Err(error) => Err(error),
        Ok(()) => Ok((template, None)),
    }
}
