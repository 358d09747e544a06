//! Puts a prompt together; the only place where a segment is opened.

use super::text::PromptText;
use super::{MediaItem, MediaManifest, Prompt, Provenance, Segment, SpecialTokens, Warning, Writer};
use typecase_jinja::value::{Arena, Origin, Run, Text, Value};

/// Text that may become a special id. `'static` is the point: no request text lives that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlToken(&'static str);

impl ControlToken {
    /// A token that a format's own table names.
    pub const fn new(spelling: &'static str) -> Self {
        ControlToken(spelling)
    }

    /// How it is spelled.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// From so many bytes on a text of the request is not copied.
const LONG: usize = 256;

/// Builds a [`Prompt`] from left to right. Each call of [`control`](Self::control), [`text`](Self::text) and the like
/// is one segment; empty text opens none.
#[derive(Debug)]
pub struct PromptBuilder<'a> {
    prompt: Prompt<'a>,
}

impl<'a> PromptBuilder<'a> {
    /// An empty prompt for `request`, with room for `capacity` bytes that are written for it.
    pub fn new(request: Value<'a>, arena: &'a Arena, capacity: usize) -> Self {
        PromptBuilder {
            prompt: Prompt {
                text: PromptText::new(arena.spare_text(capacity)),
                segments: Vec::new(),
                provenance: Provenance {
                    runs: arena.spare_runs(0),
                    request,
                    arena,
                },
                media: MediaManifest::default(),
                stub: None,
                generation: Vec::new(),
                warnings: Vec::new(),
                template: Default::default(),
            },
        }
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.prompt.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.prompt.is_empty()
    }

    /// A control segment.
    pub fn control(&mut self, token: ControlToken) {
        self.prompt.text.written.push_str(token.as_str());
        self.end_run(Writer::Format);
        self.end_segment(SpecialTokens::All);
    }

    /// A control segment that whoever runs the model spelled in its configuration. Never for text of a request.
    pub fn configured_control(&mut self, spelling: &str) {
        self.prompt.text.written.push_str(spelling);
        self.end_run(Writer::Config);
        self.end_segment(SpecialTokens::All);
    }

    /// A text segment that the format itself writes.
    pub fn format_text(&mut self, text: &str) {
        self.prompt.text.written.push_str(text);
        self.end_run(Writer::Format);
        self.end_segment(SpecialTokens::None);
    }

    /// Makes room for so many segments and runs more.
    pub(crate) fn reserve(&mut self, segments: usize, runs: usize) {
        self.prompt.segments.reserve(segments);
        self.prompt.provenance.runs.reserve(runs);
    }

    /// Segments of the format that were put together before.
    pub(crate) fn piece(&mut self, piece: &Piece) {
        let start = self.len();
        self.prompt.text.written.push_str(&piece.text);
        self.end_run(Writer::Format);
        self.prompt
            .segments
            .extend(piece.segments.iter().map(|segment| Segment {
                end: start + segment.end,
                special_tokens: segment.special_tokens,
            }));
    }

    /// A text segment of the request.
    pub fn text(&mut self, text: Text<'a>) {
        match text.as_slice() {
            Some(slice) if slice.len() >= LONG => {
                self.prompt.text.borrow(slice);
                self.end_run(writer(text.origin()));
                self.end_segment(SpecialTokens::None);
            }
            _ => {
                self.text_segment().text(text);
            }
        }
    }

    /// A text segment that came from `origin` and is written by `write`.
    pub fn text_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        self.text_segment().text_from(origin, write);
    }

    /// A text segment of several pieces; it ends when what is returned is dropped.
    pub fn text_segment(&mut self) -> TextSegment<'_, 'a> {
        TextSegment { builder: self }
    }

    /// Notes a media item. Its placeholder is what was written since `start`.
    pub fn media(&mut self, item: MediaItem<'a>) {
        self.prompt.media.items.push(item);
    }

    /// Everything from `start` on is the generation stub.
    pub fn stub_from(&mut self, start: usize) {
        self.prompt.stub = Some(start..self.len());
    }

    /// Notes what a client should know.
    pub fn warn(&mut self, warning: Warning) {
        self.prompt.warn(warning);
    }

    /// The prompt.
    pub fn finish(self) -> Prompt<'a> {
        self.prompt
    }

    /// Ends the segment that began where the last one ended, unless nothing was written since.
    fn end_segment(&mut self, special_tokens: SpecialTokens) {
        let end = self.len();
        if end > self.prompt.segments.last().map_or(0, |segment| segment.end) {
            self.prompt.segments.push(Segment { end, special_tokens });
        }
    }

    /// Says who wrote what was written since the last run ended.
    fn end_run(&mut self, writer: Writer) {
        let end = self.len();
        let runs = &mut self.prompt.provenance.runs;
        match runs.last_mut() {
            Some(last) if last.end == end => {}
            Some(last) if writer.continues(last) => last.end = end,
            None if end == 0 => {}
            _ => runs.push(Run {
                end,
                origin: writer.to_origin(),
            }),
        }
    }
}

/// Segments that a format writes again and again.
#[derive(Debug)]
pub(crate) struct Piece {
    text: String,
    segments: Vec<Segment>,
}

impl Piece {
    /// What `write` writes, which has no request to write from.
    pub(crate) fn new(write: impl FnOnce(&mut PromptBuilder<'_>)) -> Self {
        let arena = Arena::new();
        let mut builder = PromptBuilder::new(Value::None(Origin::COMPUTED), &arena, 0);
        write(&mut builder);
        let prompt = builder.finish();
        debug_assert!(prompt.provenance.ranges().all(|(_, writer)| writer == Writer::Format));
        Piece {
            text: prompt.text.written,
            segments: prompt.segments,
        }
    }
}

/// A text segment that is being written.
#[derive(Debug)]
pub struct TextSegment<'b, 'a> {
    builder: &'b mut PromptBuilder<'a>,
}

impl<'a> TextSegment<'_, 'a> {
    /// Text of the format.
    pub fn format_text(&mut self, text: &str) -> &mut Self {
        self.builder.prompt.text.written.push_str(text);
        self.builder.end_run(Writer::Format);
        self
    }

    /// Text of the request.
    pub fn text(&mut self, text: Text<'a>) -> &mut Self {
        text.for_each_run(|bytes, origin| {
            self.builder.prompt.text.written.push_str(bytes);
            self.builder.end_run(writer(origin));
        });
        self
    }

    /// Text that came from `origin` and is written by `write`.
    pub fn text_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) -> &mut Self {
        write(&mut self.builder.prompt.text.written);
        self.builder.end_run(writer(origin));
        self
    }
}

impl Drop for TextSegment<'_, '_> {
    fn drop(&mut self) {
        self.builder.end_segment(SpecialTokens::None);
    }
}

fn writer(origin: Origin) -> Writer {
    match origin {
        Origin::COMPUTED => Writer::Format,
        origin => Writer::Request(origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_text_opens_neither_segment_nor_run() {
        let arena = Arena::new();
        let mut builder = PromptBuilder::new(Value::None(Origin::COMPUTED), &arena, 0);
        builder.text(Text::new(""));
        builder.format_text("");
        builder.control(ControlToken::new("<c>"));
        builder.text(Text::new(""));
        builder
            .text_segment()
            .format_text("a")
            .text(Text::new(""))
            .text(Text::new("b"));
        let prompt = builder.finish();
        let segments: Vec<_> = prompt.segment_texts().collect();
        assert_eq!(segments, [("<c>", SpecialTokens::All), ("ab", SpecialTokens::None)]);
        let writers: Vec<_> = prompt.provenance().ranges().collect();
        assert_eq!(writers[0], (0..4, Writer::Format));
        assert!(matches!(writers[1], (ref range, Writer::Request(_)) if *range == (4..5)));
        assert_eq!(writers.len(), 2);
    }
}
