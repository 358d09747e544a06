//! Puts a prompt together; the only place where a segment is opened.

use super::{MediaItem, MediaManifest, Prompt, Provenance, ProvenanceRun, Segment, SpecialTokens, Writer};
use typecase_jinja::value::{Arena, Origin, Text, Value};

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

/// Builds a [`Prompt`] from left to right. Each call of [`control`](Self::control) or [`text`](Self::text) is one
/// segment; empty text opens none.
#[derive(Debug)]
pub struct PromptBuilder<'a> {
    prompt: Prompt<'a>,
}

impl<'a> PromptBuilder<'a> {
    /// An empty prompt for `request`, with room for `capacity` bytes.
    pub fn new(request: Value<'a>, arena: &'a Arena, capacity: usize) -> Self {
        PromptBuilder {
            prompt: Prompt {
                text: String::with_capacity(capacity),
                segments: Vec::new(),
                provenance: Provenance {
                    runs: Vec::new(),
                    request,
                    arena,
                },
                media: MediaManifest::default(),
                stub: None,
            },
        }
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.prompt.text.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.prompt.text.is_empty()
    }

    /// A control segment.
    pub fn control(&mut self, token: ControlToken) {
        self.prompt.text.push_str(token.as_str());
        self.end_segment(SpecialTokens::All, Writer::Format);
    }

    /// A text segment that the format itself writes.
    pub fn format_text(&mut self, text: &str) {
        self.prompt.text.push_str(text);
        self.end_segment(SpecialTokens::None, Writer::Format);
    }

    /// A text segment of the request.
    pub fn text(&mut self, text: Text<'a>) {
        text.for_each_run(|bytes, origin| {
            self.prompt.text.push_str(bytes);
            self.end_run(writer(origin));
        });
        self.end_segment_of_runs(SpecialTokens::None);
    }

    /// A text segment that came from `origin` and is written by `write`.
    pub fn text_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        write(&mut self.prompt.text);
        self.end_segment(SpecialTokens::None, writer(origin));
    }

    /// Notes a media item whose placeholder is the last segment written.
    pub fn media(&mut self, item: MediaItem<'a>) {
        self.prompt.media.items.push(item);
    }

    /// Everything from `start` on is the generation stub.
    pub fn stub_from(&mut self, start: usize) {
        self.prompt.stub = Some(start..self.len());
    }

    /// The prompt.
    pub fn finish(self) -> Prompt<'a> {
        self.prompt
    }

    fn end_segment(&mut self, special_tokens: SpecialTokens, writer: Writer) {
        self.end_run(writer);
        self.end_segment_of_runs(special_tokens);
    }

    fn end_segment_of_runs(&mut self, special_tokens: SpecialTokens) {
        let end = self.len();
        if end > self.prompt.segments.last().map_or(0, |segment| segment.end) {
            self.prompt.segments.push(Segment { end, special_tokens });
        }
    }

    fn end_run(&mut self, writer: Writer) {
        let end = self.len();
        let runs = &mut self.prompt.provenance.runs;
        match runs.last_mut() {
            Some(last) if last.end == end => {}
            Some(last) if last.writer == writer && writer == Writer::Format => last.end = end,
            _ if end == 0 => {}
            _ => runs.push(ProvenanceRun { end, writer }),
        }
    }
}

fn writer(origin: Origin) -> Writer {
    match origin {
        Origin::COMPUTED => Writer::Format,
        origin => Writer::Request(origin),
    }
}
