//! What a format renders: text, its segments, who wrote each byte, and where the media go.
//!
//! Only [`PromptBuilder`] opens segments, and only a [`ControlToken`], which no request text can become, opens one in
//! which the tokenizer may see control tokens at will.

mod builder;
mod media_manifest;
mod provenance;
mod rendered;
mod segment;
mod text;
mod warning;

pub use crate::request::Modality;
pub(crate) use builder::Piece;
pub use builder::{ControlToken, PromptBuilder, TextSegment};
pub use media_manifest::{MediaItem, MediaManifest};
pub use provenance::{Provenance, Writer};
pub(crate) use rendered::Rendered;
pub use segment::{Segment, SpecialTokens};
pub use warning::{Warning, WarningKind};

use std::ops::Range;
use text::PromptText;

/// A rendered prompt. It borrows from the request for the paths of its provenance and the sources of its media.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    text: PromptText<'a>,
    segments: Vec<Segment>,
    provenance: Provenance<'a>,
    media: MediaManifest<'a>,
    stub: Option<Range<usize>>,
    generation: Vec<Range<usize>>,
    warnings: Vec<Warning>,
    template: PromptTemplate,
}

/// The chat template that wrote a prompt, as far as a model has to know to tell its turns apart.
#[derive(Clone, Debug, Default)]
pub(crate) enum PromptTemplate {
    /// None, or the only one.
    #[default]
    Unknown,
    /// One of those of the model.
    Named(usize),
    /// That of the request: a `ChatTemplate`, which prompts know nothing of.
    Own(std::sync::Arc<dyn std::any::Any + Send + Sync>),
}

impl<'a> Prompt<'a> {
    /// The whole text. Long texts of the request are not copied before it is asked for:
    /// [`segment_texts`](Self::segment_texts) does without.
    pub fn text(&self) -> &str {
        self.text.joined(self.provenance.arena)
    }

    /// Number of bytes of the text.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The units of encoding, in order; joined they are the text. No segment is empty.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes of each segment and what special tokens they may become.
    pub fn segment_texts(&self) -> impl ExactSizeIterator<Item = (&str, SpecialTokens)> {
        let policies = self.segments.iter().map(|segment| segment.special_tokens);
        self.text.segments(&self.segments).zip(policies)
    }

    /// Who wrote each byte.
    pub fn provenance(&self) -> &Provenance<'a> {
        &self.provenance
    }

    /// The media items, in the order of the prompt.
    pub fn media(&self) -> &MediaManifest<'a> {
        &self.media
    }

    /// The bytes of the opened assistant turn at the end that the model is to continue, if one was opened. That of a chat
    /// template is known only [if it was asked for](crate::RenderOptions::find_stub).
    pub fn generation_stub(&self) -> Option<Range<usize>> {
        self.stub.clone()
    }

    /// The `{% generation %}` blocks of a chat template in bytes, in the order in which they ended.
    ///
    /// A block within a macro, or within another block whose text is not written at once, counts from where the prompt
    /// ended when it ran, as in transformers.
    pub fn generation_spans(&self) -> &[Range<usize>] {
        &self.generation
    }

    /// What the format did with parts of the request that it could not take as they are.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn template(&self) -> &PromptTemplate {
        &self.template
    }

    pub(crate) fn set_template(&mut self, template: PromptTemplate) {
        self.template = template;
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Leaves the memory of the text and its runs to the next prompt of a request that is read with the same arena: for servers,
    /// which keep the arena from request to request.
    pub fn recycle(self) {
        self.text.recycle(self.provenance.arena);
        self.provenance.arena.give_back_runs(self.provenance.runs);
    }
}
