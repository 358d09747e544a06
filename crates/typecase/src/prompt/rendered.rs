//! Prompts that a chat template wrote in one piece.

use super::text::PromptText;
use super::{MediaManifest, Prompt, Provenance, Segment, SpecialTokens, Writer};
use std::ops::Range;
use typecase_jinja::value::{Arena, Run, Value};

/// A prompt that was written as a whole: one segment, in which special tokens count where the template or trusted
/// configuration wrote them.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// Where the bytes came from.
    pub(crate) runs: Vec<Run>,
    /// The `{% generation %}` blocks.
    pub(crate) generation: Vec<Range<usize>>,
    /// Where the generation stub begins, if that is known.
    pub(crate) stub: Option<usize>,
}

impl Rendered {
    /// The prompt; `writer` tells who wrote the bytes of a run.
    pub(crate) fn into_prompt<'a>(
        self,
        request: Value<'a>,
        arena: &'a Arena,
        mut writer: impl FnMut(&Run) -> Writer,
    ) -> Prompt<'a> {
        let end = self.text.len();
        let (mut runs, mut kept) = (self.runs, 0);
        for at in 0..runs.len() {
            let (run, writer) = (runs[at], writer(&runs[at]));
            match runs[..kept].last_mut() {
                Some(last) if writer.continues(last) => last.end = run.end,
                _ => {
                    runs[kept] = Run {
                        end: run.end,
                        origin: writer.to_origin(),
                    };
                    kept += 1;
                }
            }
        }
        runs.truncate(kept);
        let segment = Segment {
            end,
            special_tokens: SpecialTokens::Trusted,
        };
        Prompt {
            segments: (end > 0).then_some(segment).into_iter().collect(),
            provenance: Provenance { runs, request, arena },
            media: MediaManifest::default(),
            stub: self.stub.map(|start| start..end),
            generation: self.generation,
            warnings: Vec::new(),
            template: Default::default(),
            text: PromptText::new(self.text),
        }
    }
}

impl Rendered {
    /// Drops everything from `end` on.
    pub(crate) fn cut(&mut self, end: usize) {
        self.text.truncate(end);
        let kept = self.runs.partition_point(|run| run.end < end);
        self.runs.truncate(kept + 1);
        match self.runs.last_mut() {
            Some(_) if end == 0 => self.runs.clear(),
            Some(last) => last.end = last.end.min(end),
            None => {}
        }
    }
}
