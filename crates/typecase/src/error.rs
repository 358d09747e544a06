//! The error of this crate: what is wrong, where in the request, and whose fault it is.

use crate::media::image_header::UnreadableImage;
use crate::model::HubFailure;
use crate::prompt::Modality;
use std::fmt;
use typecase_jinja::Position;
use typecase_jinja::value::json::ParseErrorKind;
use typecase_jinja::value::{Path, Step, Value};

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
    /// A vocabulary lacks a control token of the format that prompts are asked for in.
    ControlTokenNotRegistered {
        /// How the token is spelled.
        token: &'static str,
        /// The format.
        format: &'static str,
        /// Where the model is.
        model: String,
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
    /// A field holds a value of another type than it can have.
    WrongType {
        /// The JSON type that was found: `array`, `null`, ...
        found: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// A field that must be there is not.
    MissingField {
        /// Its name.
        field: &'static str,
    },
    /// A field holds a word or number that nothing is known by.
    UnsupportedValue {
        /// What was found, shortened.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A message role that the format has no place for.
    UnsupportedRole {
        /// The role, shortened.
        found: String,
        /// The roles it has.
        supported: &'static str,
    },
    /// A content part of a type that the format has no place for.
    UnsupportedPart {
        /// The type of the part, shortened.
        found: String,
        /// The format.
        format: &'static str,
        /// The types it takes.
        supported: &'static str,
    },
    /// Two fields that exclude each other.
    Conflict {
        /// One of them.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// Why they exclude each other, or what to do.
        reason: &'static str,
    },
    /// The final message cannot be continued.
    CannotContinue {
        /// Why not.
        reason: &'static str,
    },
    /// A field that would be lost: the format has no place for it there.
    Misplaced {
        /// Where it may stand.
        allowed: &'static str,
    },
    /// The tool choice names a tool that the request does not declare.
    UnknownTool {
        /// The name, shortened.
        name: String,
    },
    /// A tool result that belongs to no call and names no tool.
    UnresolvedTool,
    /// The arguments of a tool call are no JSON object.
    InvalidArguments {
        /// What they are instead.
        reason: String,
    },
    /// A value that has no JSON spelling; no value read from JSON is one.
    NotJson {
        /// Why not.
        reason: String,
    },
    /// The chat template refused the conversation, failed on it, or does not compile.
    Template {
        /// What happened.
        kind: typecase_jinja::ErrorKind,
        /// What Python's exception says, or what the template gave to `raise_exception`.
        message: String,
        /// Where in the template.
        position: Option<Position>,
    },
    /// The chat template that the request brings does not compile, or does what templates may not.
    RequestTemplate {
        /// What is wrong with it.
        reason: String,
    },
    /// The model has several chat templates, none of which is meant if none is named. The fault of the client where
    /// there is one for requests with tools.
    NoDefaultTemplate {
        /// Their names.
        names: Vec<String>,
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
    /// A model could not be had from the Hugging Face hub.
    ModelFromHub {
        /// The id that was given.
        id: String,
        /// Why not.
        failure: HubFailure,
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
    /// A model has neither a native prompt format nor a chat template.
    NoFormat {
        /// Where the model is.
        model: String,
        /// Its `model_type`.
        model_type: Option<String>,
    },
    /// A model directory has no vocabulary that can be read.
    NoVocabulary {
        /// The directory.
        directory: String,
    },
    /// A text could not be turned into ids.
    Encoding {
        /// What the tokenizer says.
        reason: String,
    },
}

impl ErrorKind {
    /// A value of another type than `expected`.
    pub fn wrong_type(found: Value<'_>, expected: &'static str) -> Self {
        ErrorKind::WrongType {
            found: json_type(found),
            expected,
        }
    }

    /// The kind in `snake_case`, as HTTP and JSON errors name it (`unsupported_part`).
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson { .. } => "invalid_json",
            Self::WrongType { .. } => "wrong_type",
            Self::MissingField { .. } => "missing_field",
            Self::UnsupportedValue { .. } => "unsupported_value",
            Self::UnsupportedRole { .. } => "unsupported_role",
            Self::UnsupportedPart { .. } => "unsupported_part",
            Self::Conflict { .. } => "conflict",
            Self::CannotContinue { .. } => "cannot_continue",
            Self::Misplaced { .. } => "misplaced",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::UnresolvedTool => "unresolved_tool",
            Self::InvalidArguments { .. } => "invalid_arguments",
            Self::NotJson { .. } => "not_json",
            Self::EmptyImage { .. } => "empty_image",
            Self::AspectRatio { .. } => "aspect_ratio",
            Self::TooFewFrames { .. } => "too_few_frames",
            Self::UnsupportedMedia { .. } => "unsupported_media",
            Self::UnreadableImage { .. } => "unreadable_image",
            Self::MediaCount { .. } => "media_count",
            Self::Template { kind, .. } => match kind {
                typecase_jinja::ErrorKind::Syntax => "template_syntax",
                typecase_jinja::ErrorKind::RaiseException => "template_refused",
                typecase_jinja::ErrorKind::Limit => "template_limit",
                _ => "template_error",
            },
            Self::RequestTemplate { .. } => "request_template",
            Self::NoDefaultTemplate { .. } => "no_default_template",
            Self::UnknownId { .. } => "unknown_id",
            Self::NoModelDirectory { .. } => "no_model_directory",
            Self::ModelFromHub { .. } => "model_from_hub",
            Self::MissingModelFile { .. } => "missing_model_file",
            Self::BrokenModelFile { .. } => "broken_model_file",
            Self::NoFormat { .. } => "no_format",
            Self::NoVocabulary { .. } => "no_vocabulary",
            Self::Encoding { .. } => "encoding",
            Self::PlaceholderQuoted { .. } => "placeholder_quoted",
            Self::PlaceholderNotRegistered { .. } => "placeholder_not_registered",
            Self::ControlTokenNotRegistered { .. } => "control_token_not_registered",
            Self::ModelSetting { .. } => "model_setting",
        }
    }

    /// Who has to change something.
    pub fn fault(&self) -> Fault {
        match self {
            Self::InvalidJson { .. }
            | Self::WrongType { .. }
            | Self::MissingField { .. }
            | Self::UnsupportedValue { .. }
            | Self::UnsupportedRole { .. }
            | Self::UnsupportedPart { .. }
            | Self::Conflict { .. }
            | Self::CannotContinue { .. }
            | Self::Misplaced { .. }
            | Self::UnknownTool { .. }
            | Self::UnresolvedTool
            | Self::InvalidArguments { .. }
            | Self::NotJson { .. }
            | Self::UnknownId { .. }
            | Self::EmptyImage { .. }
            | Self::AspectRatio { .. }
            | Self::TooFewFrames { .. }
            | Self::UnsupportedMedia { .. }
            | Self::UnreadableImage { .. }
            | Self::MediaCount { .. }
            | Self::RequestTemplate { .. }
            | Self::PlaceholderQuoted { .. } => Fault::Client,
            // A template that ran and failed was given what it has no place for.
            Self::Template { kind, .. } => match kind {
                typecase_jinja::ErrorKind::Syntax
                | typecase_jinja::ErrorKind::Security
                | typecase_jinja::ErrorKind::Unsupported => Fault::Server,
                _ => Fault::Client,
            },
            Self::NoDefaultTemplate { names } if serves_tools(names) => Fault::Client,
            Self::NoDefaultTemplate { .. }
            | Self::NoModelDirectory { .. }
            | Self::ModelFromHub { .. }
            | Self::MissingModelFile { .. }
            | Self::BrokenModelFile { .. }
            | Self::NoFormat { .. }
            | Self::NoVocabulary { .. }
            | Self::Encoding { .. }
            | Self::PlaceholderNotRegistered { .. }
            | Self::ControlTokenNotRegistered { .. }
            | Self::ModelSetting { .. } => Fault::Server,
        }
    }
}

/// Whether one of the templates is for requests with tools.
fn serves_tools(templates: &[String]) -> bool {
    templates.iter().any(|name| name == "tool_use")
}

/// The name that JSON has for the type of a value.
pub(crate) fn json_type(value: Value<'_>) -> &'static str {
    match value {
        Value::None(_) => "null",
        Value::Bool(..) => "boolean",
        Value::Int(..) | Value::BigInt(..) | Value::Float(..) => "number",
        Value::Str(_) => "string",
        Value::List(_) | Value::Tuple(_) => "array",
        Value::Dict(_) => "object",
        other => other.type_name(),
    }
}

/// Characters of a client's text that a message quotes at most.
const MAX_SHOWN: usize = 64;

/// `text` as a message quotes it.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
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
        self.0.kind.fault()
    }
}

impl From<typecase_jinja::Error> for Error {
    fn from(err: typecase_jinja::Error) -> Self {
        let kind = ErrorKind::Template {
            kind: err.kind(),
            message: err.message().to_owned(),
            position: err.position(),
        };
        Error::new(kind).caused_by(err)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error::new(kind)
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
            Self::ControlTokenNotRegistered { token, format, model } => {
                write!(
                    f,
                    "{model} cannot be prompted in the format {format}: its vocabulary has no token {token}"
                )
            }
            Self::ModelSetting { key, found, expected } => write!(f, "{key} is {found}; expected {expected}"),
            Self::WrongType { found, expected } => write!(f, "expected {expected}, found {found}"),
            Self::MissingField { field } => write!(f, "the field `{field}` is missing"),
            Self::UnsupportedValue { found, expected } => write!(f, "expected {expected}, found {found:?}"),
            Self::UnsupportedRole { found, supported } => {
                write!(f, "role {found:?} is not supported; the roles are {supported}")
            }
            Self::UnsupportedPart {
                found,
                format,
                supported,
            } => write!(
                f,
                "part type {found:?} is not supported by {format}; it takes {supported}"
            ),
            Self::Conflict { one, other, reason } => write!(f, "`{one}` and `{other}` exclude each other: {reason}"),
            Self::CannotContinue { reason } => write!(f, "the final message cannot be continued: {reason}"),
            Self::Misplaced { allowed } => write!(f, "this would be lost here; it may stand {allowed}"),
            Self::UnknownTool { name } => {
                write!(f, "the tool {name:?} is declared neither in `tools` nor by a message")
            }
            Self::UnresolvedTool => {
                f.write_str("the result names no tool and belongs to no call: give `tool_call_id` of a call, or `name`")
            }
            Self::InvalidArguments { reason } => {
                write!(f, "tool arguments must be an object or a JSON text of one, {reason}")
            }
            Self::NotJson { reason } => write!(f, "cannot be written as JSON: {reason}"),
            Self::Template {
                kind,
                message,
                position,
            } => {
                f.write_str("chat template")?;
                if let Some(Position { line, column, .. }) = position {
                    write!(f, ", line {line}, column {column}")?;
                }
                write!(f, ": {kind}: {message}")
            }
            Self::RequestTemplate { reason } => f.write_str(reason),
            Self::NoDefaultTemplate { names } => {
                let tools = match serves_tools(names) {
                    true => "the request has no tools, and ",
                    false => "",
                };
                write!(
                    f,
                    "{tools}of the chat templates of the model none is called \"default\": {}",
                    names.join(", ")
                )
            }
            Self::UnknownId { id } => write!(f, "the vocabulary has no token with the id {id}"),
            Self::NoModelDirectory { directory } => write!(f, "{directory} is no directory"),
            Self::ModelFromHub { id, failure } => {
                write!(f, "{id} is no directory, nor to be had from the hub: {failure}")
            }
            Self::MissingModelFile { file } => write!(f, "{file} is missing"),
            Self::BrokenModelFile { file, reason } => write!(f, "{file}: {reason}"),
            Self::NoFormat { model, model_type } => {
                write!(
                    f,
                    "{model} has no chat template, and there is no format of its own for "
                )?;
                match model_type {
                    Some(model_type) => write!(f, "the model type {model_type}"),
                    None => f.write_str("a model whose config.json names no model_type"),
                }
            }
            Self::NoVocabulary { directory } => write!(
                f,
                "no vocabulary in {directory}; looked for tokenizer.json, tiktoken.model and tekken.json"
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
