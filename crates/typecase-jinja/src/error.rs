//! What can go wrong with a template, and where.

use crate::value::{Exception, ExceptionKind};
use std::fmt;

/// A template that does not compile, or a render that failed.
///
/// One word wide. [`kind`](Error::kind) says what happened, [`position`](Error::position) where in the template;
/// `Display` prints both with Python's message.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    /// Byte offset in the template, until the position is known.
    offset: Option<u32>,
    position: Option<Position>,
}

/// A place in a template's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in code points, counted from 1.
    pub column: u32,
    /// Byte offset in the source.
    pub offset: u32,
}

/// What happened. The names in parentheses are the exceptions that Python raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The template does not compile (`TemplateSyntaxError`, `TemplateAssertionError`).
    Syntax,
    /// The template called `raise_exception` (`TemplateError`); the message is the template's own.
    RaiseException,
    /// An undefined value was used where that is an error (`UndefinedError`).
    Undefined,
    /// An operation does not exist for values of these types (`TypeError`).
    Type,
    /// A value is of the right type but not acceptable (`ValueError`).
    Value,
    /// No such key (`KeyError`).
    Key,
    /// No such index (`IndexError`).
    Index,
    /// No such attribute (`AttributeError`).
    Attribute,
    /// Division by zero (`ZeroDivisionError`).
    ZeroDivision,
    /// A number is too large (`OverflowError`).
    Overflow,
    /// Calls or data nest too deep (`RecursionError`).
    Recursion,
    /// The sandbox refused (`SecurityError`).
    Security,
    /// Any other error while the template ran (`TemplateRuntimeError` and its kin).
    Runtime,
    /// A bound of [`Options`](crate::Options) was reached. Python has none.
    Limit,
    /// The template wants what this engine does not do though Jinja does: other templates, randomness, complex numbers.
    Unsupported,
}

/// The result of running a part of a template.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` without a place yet.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            offset: None,
            position: None,
        }))
    }

    /// `TypeError(message)`
    #[cold]
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }

    /// `ValueError(message)`
    #[cold]
    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }

    /// `TemplateRuntimeError(message)`
    #[cold]
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Runtime, message)
    }

    /// Sets the place, unless one is known already: the innermost counts.
    #[must_use]
    pub(crate) fn at_offset(mut self, offset: u32) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Finds line and column of the place in `source`.
    #[must_use]
    pub(crate) fn locate(mut self, source: &str) -> Self {
        if let (Some(offset), None) = (self.0.offset, self.0.position) {
            let before = source.get(..offset as usize).unwrap_or(source);
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            self.0.position = Some(Position {
                line: before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1,
                column: before[line_start..].chars().count() as u32 + 1,
                offset,
            });
        }
        self
    }

    /// What happened.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the place: what Python's exception says, or the argument of `raise_exception`.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in the template.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

impl From<Exception> for Error {
    #[cold]
    fn from(exception: Exception) -> Self {
        let kind = match exception.kind() {
            ExceptionKind::Type => ErrorKind::Type,
            ExceptionKind::Value => ErrorKind::Value,
            ExceptionKind::Key => ErrorKind::Key,
            ExceptionKind::Index => ErrorKind::Index,
            ExceptionKind::Attribute => ErrorKind::Attribute,
            ExceptionKind::ZeroDivision => ErrorKind::ZeroDivision,
            ExceptionKind::Overflow => ErrorKind::Overflow,
            ExceptionKind::Recursion => ErrorKind::Recursion,
            ExceptionKind::Undefined => ErrorKind::Undefined,
            ExceptionKind::Security => ErrorKind::Security,
            ExceptionKind::Runtime => ErrorKind::Runtime,
            ExceptionKind::Limit => ErrorKind::Limit,
            ExceptionKind::Unsupported => ErrorKind::Unsupported,
        };
        Error::new(kind, exception.message())
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Syntax => "syntax error",
            ErrorKind::RaiseException => "refused by the template",
            ErrorKind::Undefined => "undefined value",
            ErrorKind::Type => "type error",
            ErrorKind::Value => "value error",
            ErrorKind::Key => "key error",
            ErrorKind::Index => "index error",
            ErrorKind::Attribute => "attribute error",
            ErrorKind::ZeroDivision => "division by zero",
            ErrorKind::Overflow => "overflow",
            ErrorKind::Recursion => "recursion too deep",
            ErrorKind::Security => "refused by the sandbox",
            ErrorKind::Runtime => "runtime error",
            ErrorKind::Limit => "limit reached",
            ErrorKind::Unsupported => "not supported",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position() {
            write!(f, "line {}, column {}: ", position.line, position.column)?;
        }
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("position", &self.0.position)
            .finish()
    }
}

impl std::error::Error for Error {}
