//! Body text, and what stands in it for images.

use super::encoder::Encoder;
use super::python;
use super::xtml::IMAGE_PLACEHOLDER;
use crate::error::{ErrorKind, Result};
use crate::prompt::MediaItem;
use crate::request::{Content, Modality, Part, PartKind};
use typecase_jinja::value::{Origin, Text, Value};

/// How far the media of the request were counted.
#[derive(Debug, Default)]
pub(super) struct MediaCount {
    /// For each message the number of media in those before it; filled when the first item is met.
    before: Vec<usize>,
    /// The message and part up to which the media of a message were counted, and their number.
    message: usize,
    part: usize,
    count: usize,
}

impl<'a> Encoder<'_, 'a> {
    /// One text segment: text as it is, any other value as Python's `str` spells it. Where the reference was given
    /// image prompts, each spelling of the placeholder in it takes one.
    pub(super) fn body(&mut self, value: Value<'a>) -> Result<()> {
        match value {
            Value::Str(text) => self.text_body(text),
            other => self.computed_body(other.origin(), &python::to_str(other)),
        }
    }

    /// A body that is spelled here and came from `origin`.
    pub(super) fn computed_body(&mut self, origin: Origin, spelled: &str) -> Result<()> {
        if self.splits(spelled) {
            return self.text_body(Text::with_origin(spelled, origin, self.arena()));
        }
        self.out.text_from(origin, |out| out.push_str(spelled));
        Ok(())
    }

    fn splits(&self, text: &str) -> bool {
        self.reference
            .is_some_and(|reference| reference.image_prompts.is_some())
            && text.contains(IMAGE_PLACEHOLDER.as_str())
    }

    fn text_body(&mut self, text: Text<'a>) -> Result<()> {
        if !self.splits(text.as_str()) {
            self.out.text(text);
            return Ok(());
        }
        let mut start = 0;
        while let Some(at) = text.as_str()[start..].find(IMAGE_PLACEHOLDER.as_str()) {
            self.out.text(text.slice(start, start + at, self.arena()));
            self.image_prompt()?;
            start += at + IMAGE_PLACEHOLDER.as_str().len();
        }
        self.out.text(text.slice(start, text.len(), self.arena()));
        Ok(())
    }

    /// What stands for the next image in the reference profile.
    pub(super) fn image_prompt(&mut self) -> Result<()> {
        match self.reference.and_then(|reference| reference.image_prompts.as_ref()) {
            None => self.out.control(IMAGE_PLACEHOLDER),
            Some(prompts) => match prompts.get(self.image_prompts_used) {
                Some(prompt) => self.out.configured_control(prompt),
                None => {
                    return Err(ErrorKind::MediaCount {
                        placeholders: self.image_prompts_used + 1,
                        items: prompts.len(),
                    }
                    .into());
                }
            },
        }
        self.image_prompts_used += 1;
        Ok(())
    }

    /// All image prompts must have been used.
    pub(super) fn check_image_prompts(&self) -> Result<()> {
        match self.reference.and_then(|reference| reference.image_prompts.as_ref()) {
            Some(prompts) if prompts.len() != self.image_prompts_used => Err(ErrorKind::MediaCount {
                placeholders: self.image_prompts_used,
                items: prompts.len(),
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// Notes an image whose placeholder was written from `start` on.
    pub(super) fn image(&mut self, message: usize, part: usize, source: Value<'a>, start: usize) {
        let request_ordinal = self.media_ordinal(message, part);
        self.out.media(MediaItem {
            modality: Modality::Image,
            request_ordinal,
            message,
            part,
            source,
            placeholder: start..self.out.len(),
        });
    }

    /// Number of media in the request before this part.
    fn media_ordinal(&mut self, message: usize, part: usize) -> usize {
        let messages = self.request.messages();
        let counted = &mut self.media_count;
        if counted.before.is_empty() {
            let mut before = 0;
            for message in messages {
                counted.before.push(before);
                before += media_among(message.content(), 0, usize::MAX);
            }
        }
        // The parts of one message are met in order, so each is counted once.
        if counted.message != message || counted.part > part {
            (counted.message, counted.part, counted.count) = (message, 0, 0);
        }
        counted.count += media_among(messages[message].content(), counted.part, part);
        counted.part = part;
        counted.before[message] + counted.count
    }
}

/// Number of media among the parts from `start` to `end`.
fn media_among(content: Content<'_>, start: usize, end: usize) -> usize {
    let Content::Parts(parts) = content else { return 0 };
    let is_media = |part: &&Value<'_>| Part::read(**part).is_ok_and(|part| matches!(part.kind, PartKind::Media(_)));
    parts[start..end.min(parts.len())].iter().filter(is_media).count()
}
