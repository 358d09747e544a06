//! The media of a prompt.

use crate::request::Modality;
use std::ops::Range;
use typecase_jinja::value::Value;

/// One image, video or sound of the request.
#[derive(Clone, Debug)]
pub struct MediaItem<'a> {
    /// What kind of media it is.
    pub modality: Modality,
    /// Its place among all media of the request, counted from 0. Formats may put them in another order.
    pub request_ordinal: usize,
    /// The message it came with.
    pub message: usize,
    /// The content part of that message.
    pub part: usize,
    /// The content part itself, as the client sent it.
    pub source: Value<'a>,
    /// The bytes of its placeholder in the prompt.
    pub placeholder: Range<usize>,
}

impl MediaItem<'_> {
    /// The tokens of its placeholder, among tokens that have these byte ranges: where adapters find what they replace.
    pub fn tokens(&self, ranges: &[Range<usize>]) -> Range<usize> {
        let start = ranges.partition_point(|range| range.end <= self.placeholder.start);
        start..ranges.partition_point(|range| range.start < self.placeholder.end)
    }
}

/// The media of a prompt, in the order in which their placeholders stand.
#[derive(Clone, Debug, Default)]
pub struct MediaManifest<'a> {
    pub(super) items: Vec<MediaItem<'a>>,
}

impl<'a> MediaManifest<'a> {
    /// The items, in the order of the prompt.
    pub fn items(&self) -> &[MediaItem<'a>] {
        &self.items
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no media.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<'a> super::Prompt<'a> {
    /// Notes the media of a prompt that was written as a whole; `items` are in the order of their placeholders.
    pub(crate) fn set_media(&mut self, items: Vec<MediaItem<'a>>) {
        self.media.items = items;
    }
}
