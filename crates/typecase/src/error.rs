//! The error of this crate: what is wrong, where in the request, and whose fault it is.

use crate::media::image_header::UnreadableImage;
use crate::prompt::Modality;
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
    /// A side of an image is 0 pixels long.
    EmptyImage {
        /// Width, in pixels.
        width_px: u32,
        /// Height, in pixels.
        height_px: u32,
    },
    /// An image is longer, compared to its other side, than the model's image processor takes.
    AspectRatio {
        /// Width, in pixels.
        width_px: u32,
        /// Height, in pixels.
        height_px: u32,
        /// The longest side may be this many times the shortest.
        limit: u32,
    },
    /// A video has fewer frames than make one group.
    TooFewFrames {
        /// Sampled frames.
        frames: usize,
        /// Frames of a group.
        at_least: usize,
    },
    /// A kind of media that the model does not take.
    UnsupportedMedia {
        /// The kind.
        modality: Modality,
        /// The model's family.
        family: &'static str,
    },
    /// The size of an image cannot be read from its file.
    UnreadableImage {
        /// Why.
        reason: UnreadableImage,
    },
    /// There are not as many placeholders in the prompt as there are media items.
    MediaCount {
        /// The kind of media.
        modality: Modality,
        /// Placeholders in the prompt's ids.
        placeholders: usize,
        /// Media items that came with it.
        items: usize,
    },
    /// Ordinary text of the prompt has the ids that an engine takes for a placeholder, in front of a real one: the
    /// engine would put the image there.
    PlaceholderQuoted {
        /// Position of the text in the prompt's ids.
        position: usize,
    },
    /// A placeholder is not one registered token of the model's vocabulary.
    PlaceholderNotRegistered {
        /// Its spelling.
        token: String,
        /// The ids it encodes to; none where it was only looked up.
        ids: Vec<u32>,
    },
    /// A setting in the model's files is not what it has to be.
    ModelSetting {
        /// Its key, with those of the objects it is in.
        key: String,
        /// What is there.
        found: String,
        /// What has to be.
        expected: String,
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
            | ErrorKind::EmptyImage { .. }
            | ErrorKind::AspectRatio { .. }
            | ErrorKind::TooFewFrames { .. }
            | ErrorKind::UnsupportedMedia { .. }
            | ErrorKind::UnreadableImage { .. }
            | ErrorKind::MediaCount { .. }
            | ErrorKind::PlaceholderQuoted { .. } => Fault::Client,
            ErrorKind::PlaceholderNotRegistered { .. } | ErrorKind::ModelSetting { .. } => Fault::Server,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidJson { reason, offset } => write!(f, "invalid JSON: {reason} (at byte {offset})"),
            Self::EmptyImage { width_px, height_px } => {
                write!(
                    f,
                    "the image is {width_px} x {height_px} pixels; both sides must be at least 1"
                )
            }
            Self::AspectRatio {
                width_px,
                height_px,
                limit,
            } => write!(
                f,
                "the image is {width_px} x {height_px} pixels; one side may be {limit} times as long as the other"
            ),
            Self::TooFewFrames { frames, at_least } => {
                write!(
                    f,
                    "{frames} frames of the video were sampled; the model takes {at_least} or more"
                )
            }
            Self::UnsupportedMedia { modality, family } => {
                write!(f, "{} is not supported by {family}", modality.as_str())
            }
            Self::UnreadableImage { reason } => f.write_str(match reason {
                UnreadableImage::UnknownFormat => "the image is none of PNG, JPEG, WebP, GIF and BMP",
                UnreadableImage::Damaged => "the image's size cannot be read: the file is damaged or cut off",
                UnreadableImage::NotInline => "the image is not inline: a data: URL is expected, nothing is fetched",
            }),
            Self::MediaCount {
                modality,
                placeholders,
                items,
            } => write!(
                f,
                "the prompt has {placeholders} {kind} placeholder(s) for {items} {kind} item(s)",
                kind = modality.as_str()
            ),
            Self::PlaceholderQuoted { position } => write!(
                f,
                "text at token {position} spells the engine's image placeholder in front of a real one"
            ),
            Self::PlaceholderNotRegistered { token, ids } if ids.is_empty() => {
                write!(f, "the placeholder {token} is no token of the vocabulary")
            }
            Self::PlaceholderNotRegistered { token, ids } => {
                write!(
                    f,
                    "the placeholder {token} is not one registered token: it encodes to {ids:?}"
                )
            }
            Self::ModelSetting { key, found, expected } => write!(f, "{key} is {found}; expected {expected}"),
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
