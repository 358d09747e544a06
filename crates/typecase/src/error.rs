//! The error of this crate: what is wrong, where in the request, and whose fault it is.

use std::fmt;
use typecase_jinja::value::json::ParseErrorKind;
use typecase_jinja::value::{Path, Step};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, and where. One word wide.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Path,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Who has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The request is at fault: sending it again cannot help (4xx).
    Client,
    /// Model files, settings or a bug are at fault (5xx).
    Server,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is no JSON text.
    InvalidJson {
        /// What is wrong with it.
        reason: ParseErrorKind,
        /// Byte offset in the body.
        offset: usize,
    },
    /// An id that the vocabulary does not have was to be decoded.
    UnknownId {
        /// The id.
        id: u32,
    },
    /// There is no such model directory.
    NoModelDirectory {
        /// The path that was given.
        directory: String,
    },
    /// A model directory lacks a file.
    MissingModelFile {
        /// Where it was looked for.
        file: String,
    },
    /// A file of a model is not what it should be.
    BrokenModelFile {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A model directory has no vocabulary that can be read.
    NoVocabulary {
        /// The directory.
        directory: String,
    },
    /// A media placeholder does not encode to the one id that `config.json` names.
    PlaceholderNotOneId {
        /// How the placeholder is spelled.
        token: String,
        /// The ids it encodes to.
        ids: Vec<u32>,
        /// The key of `config.json` that names the id.
        key: String,
        /// The id that it names.
        expected: u32,
    },
    /// A model has no chat template of the name, or none that is the default.
    NoSuchTemplate {
        /// The name, if the request gave one.
        requested: Option<String>,
        /// The names there are.
        available: Vec<String>,
    },
    /// A text could not be turned into ids.
    Encoding {
        /// What the tokenizer says.
        reason: String,
    },
}

impl Error {
    /// An error at the request itself; [`Error::within`] adds where.
    pub fn new(kind: ErrorKind) -> Self {
        Error(Box::new(Inner {
            kind,
            path: Path::root(),
            source: None,
        }))
    }

    /// Adds the step that leads here. Steps come from the inside out, so a parser names only its own field.
    #[must_use]
    pub fn within(mut self, step: impl Into<Step>) -> Self {
        self.0.path = std::mem::take(&mut self.0.path).within(step);
        self
    }

    /// Puts the error at `path`.
    #[must_use]
    pub fn at(mut self, path: Path) -> Self {
        self.0.path = path;
        self
    }

    /// Adds the error that led to this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where in the request; the root when it is not about one place.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Who has to change something.
    pub fn fault(&self) -> Fault {
        match self.0.kind {
            ErrorKind::InvalidJson { .. }
            | ErrorKind::UnknownId { .. }
            | ErrorKind::NoSuchTemplate { requested: Some(_), .. } => Fault::Client,
            ErrorKind::NoModelDirectory { .. }
            | ErrorKind::MissingModelFile { .. }
            | ErrorKind::BrokenModelFile { .. }
            | ErrorKind::NoVocabulary { .. }
            | ErrorKind::NoSuchTemplate { requested: None, .. }
            | ErrorKind::PlaceholderNotOneId { .. }
            | ErrorKind::Encoding { .. } => Fault::Server,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidJson { reason, offset } => write!(f, "invalid JSON: {reason} (at byte {offset})"),
            Self::UnknownId { id } => write!(f, "the vocabulary has no token with the id {id}"),
            Self::NoModelDirectory { directory } => write!(f, "{directory} is no directory"),
            Self::MissingModelFile { file } => write!(f, "{file} is missing"),
            Self::BrokenModelFile { file, reason } => write!(f, "{file}: {reason}"),
            Self::NoVocabulary { directory } => write!(
                f,
                "no vocabulary in {directory}; looked for tokenizer.json, tiktoken.model and tekken.json"
            ),
            Self::NoSuchTemplate { requested, available } => {
                match requested {
                    Some(name) => write!(f, "the model has no chat template {name:?}")?,
                    None => f.write_str("the model has no default chat template")?,
                }
                match available.is_empty() {
                    true => f.write_str(", nor any other"),
                    false => write!(f, "; it has {}", available.join(", ")),
                }
            }
            Self::PlaceholderNotOneId {
                token,
                ids,
                key,
                expected,
            } => write!(
                f,
                "the media placeholder {token} encodes to {ids:?}, but {key} in config.json says {expected}; \
                 it has to be that one id"
            ),
            Self::Encoding { reason } => write!(f, "cannot encode the text: {reason}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_root() {
            write!(f, "{}: ", self.0.path)?;
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}
