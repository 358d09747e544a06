//! What Python raises when an operation on values fails.

use std::fmt;

/// A failed operation: which exception Python raises, and with which message.
#[derive(Clone, PartialEq, Eq)]
pub struct Exception(Box<(ExceptionKind, String)>);

/// Which exception Python raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExceptionKind {
    /// `TypeError`
    Type,
    /// `ValueError`
    Value,
    /// `KeyError`
    Key,
    /// `IndexError`
    Index,
    /// `AttributeError`
    Attribute,
    /// `ZeroDivisionError`
    ZeroDivision,
    /// `OverflowError`
    Overflow,
    /// `RecursionError`
    Recursion,
    /// `jinja2.UndefinedError`: an undefined value was used where that is an error.
    Undefined,
    /// `jinja2.sandbox.SecurityError`
    Security,
    /// `jinja2.TemplateRuntimeError` and its kin, `FilterArgumentError` among them.
    Runtime,
    /// No exception of Python's: a bound of this engine was reached.
    Limit,
    /// No exception of Python's: this engine does not do what Python would do here.
    Unsupported,
}

impl Exception {
    /// An exception of `kind`; `message` is what `str(exc)` gives in Python.
    #[cold]
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        Exception(Box::new((kind, message.into())))
    }

    /// `TypeError(message)`
    #[cold]
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(ExceptionKind::Type, message)
    }

    /// `ValueError(message)`
    #[cold]
    pub fn value_error(message: impl Into<String>) -> Self {
        Self::new(ExceptionKind::Value, message)
    }

    /// Which exception it is.
    pub fn kind(&self) -> ExceptionKind {
        self.0.0
    }

    /// What `str(exc)` gives in Python.
    pub fn message(&self) -> &str {
        &self.0.1
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?})", self.kind(), self.message())
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Exception {}
