//! The content of a message: text, or parts of several types.

use super::Modality;
use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::{Text, Value};

/// The content of a message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// The message has none, or `null`.
    Absent,
    /// One text.
    Text(Text<'a>),
    /// Content parts; [`Part::read`] tells what each is.
    Parts(&'a [Value<'a>]),
    /// Something that is no content. Only where the request was not checked.
    Other(Value<'a>),
}

impl<'a> Content<'a> {
    pub(super) fn new(content: Option<Value<'a>>) -> Self {
        match content {
            None | Some(Value::None(_)) => Content::Absent,
            Some(Value::Str(text)) => Content::Text(text),
            Some(Value::List(parts)) => Content::Parts(parts.items()),
            Some(other) => Content::Other(other),
        }
    }

    /// Whether nothing was written: no content, empty text, or no parts.
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Absent => true,
            Content::Text(text) => text.is_empty(),
            Content::Parts(parts) => parts.is_empty(),
            Content::Other(_) => false,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        match self {
            Content::Absent | Content::Text(_) => Ok(()),
            Content::Parts(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    Part::read(*part).map_err(|err| err.within(i))?;
                }
                Ok(())
            }
            Content::Other(found) => {
                Err(ErrorKind::wrong_type(*found, "text, an array of content parts, or null").into())
            }
        }
    }
}

/// One content part.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The part as the client sent it.
    pub raw: Value<'a>,
    /// What it is.
    pub kind: PartKind<'a>,
}

/// What a content part is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PartKind<'a> {
    /// Text: `text`, `input_text`, `output_text`, or a bare string.
    Text(Text<'a>),
    /// A refusal of the assistant.
    Refusal(Text<'a>),
    /// Reasoning of the assistant: `thinking`, `reasoning`.
    Thinking(Text<'a>),
    /// An image, a video or a sound; [`Part::raw`] says where it is.
    Media(Modality),
    /// A type that means nothing here. The format decides.
    Other(&'a str),
}

/// The types of media parts that engines accept.
const MEDIA_TYPES: [(&str, Modality); 12] = [
    ("image_url", Modality::Image),
    ("image", Modality::Image),
    ("input_image", Modality::Image),
    ("image_pil", Modality::Image),
    ("image_embeds", Modality::Image),
    ("video_url", Modality::Video),
    ("video", Modality::Video),
    ("input_video", Modality::Video),
    ("audio_url", Modality::Audio),
    ("audio", Modality::Audio),
    ("input_audio", Modality::Audio),
    ("audio_embeds", Modality::Audio),
];

/// The types of text parts, and the field of each that holds the text.
const TEXT_TYPES: [(&str, &str); 6] = [
    ("text", "text"),
    ("input_text", "text"),
    ("output_text", "text"),
    ("refusal", "refusal"),
    ("thinking", "thinking"),
    ("reasoning", "text"),
];

impl<'a> Part<'a> {
    /// Reads a content part. Parts without a type are told by their fields, as vLLM does.
    ///
    /// # Errors
    /// Client faults: the part is no object or string, has no type that could be told, or has no text where it must.
    pub fn read(raw: Value<'a>) -> Result<Self> {
        let kind = match raw {
            Value::Str(text) => PartKind::Text(text),
            Value::Dict(_) => Self::read_object(raw)?,
            found => return Err(ErrorKind::wrong_type(found, "a content part, which is an object").into()),
        };
        Ok(Part { raw, kind })
    }

    fn read_object(raw: Value<'a>) -> Result<PartKind<'a>> {
        let name = match raw.lookup("type") {
            Some(Value::Str(name)) => name.as_str(),
            None | Some(Value::None(_)) => {
                Self::told_by_fields(raw).ok_or(ErrorKind::MissingField { field: "type" })?
            }
            Some(found) => return Err(Error::new(ErrorKind::wrong_type(found, "a string")).within("type")),
        };
        if let Some((_, field)) = TEXT_TYPES.iter().find(|(known, _)| *known == name) {
            let text = Self::text_field(raw, field)?;
            return Ok(match name {
                "refusal" => PartKind::Refusal(text),
                "thinking" | "reasoning" => PartKind::Thinking(text),
                _ => PartKind::Text(text),
            });
        }
        Ok(match MEDIA_TYPES.iter().find(|(known, _)| *known == name) {
            Some((_, modality)) => PartKind::Media(*modality),
            None => PartKind::Other(name),
        })
    }

    fn told_by_fields(raw: Value<'a>) -> Option<&'static str> {
        let has = |field: &&str| raw.lookup(field).is_some_and(|value| !value.is_none());
        let text_types = TEXT_TYPES
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| *name != "reasoning");
        let media_types = MEDIA_TYPES.iter().map(|(name, _)| *name);
        text_types.chain(media_types).find(has)
    }

    fn text_field(raw: Value<'a>, field: &'static str) -> Result<Text<'a>> {
        // Some clients send a refusal or a thought as `text`.
        match raw.lookup(field).or_else(|| raw.lookup("text")) {
            Some(Value::Str(text)) => Ok(text),
            Some(found) => Err(Error::new(ErrorKind::wrong_type(found, "a string")).within(field)),
            None => Err(ErrorKind::MissingField { field }.into()),
        }
    }

    /// The part's own word for what it is, or the type that it was told to be.
    pub fn type_name(&self) -> &'a str {
        match self.raw.lookup("type") {
            Some(Value::Str(name)) => name.as_str(),
            _ => match self.kind {
                PartKind::Text(_) => "text",
                PartKind::Refusal(_) => "refusal",
                PartKind::Thinking(_) => "thinking",
                PartKind::Media(modality) => modality.as_str(),
                PartKind::Other(name) => name,
            },
        }
    }
}
