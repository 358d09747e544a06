//! What a render writes.

use crate::error::{Error, ErrorKind, Result};
use crate::value::json::Sink;
use crate::value::{Arena, Origin, Run, Text};

/// The text written so far, and where its bytes came from.
///
/// There is one per render. What is not output but a value (a set block, a macro call inside an expression) is written
/// here as well, and [taken off](Output::take) its end.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) text: String,
    pub(crate) runs: Vec<Run>,
    /// Whether runs are kept.
    pub(crate) track: bool,
    pub(crate) max_bytes: usize,
}

impl Output {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, text: Text<'_>) -> Result<()> {
        match text.as_slice() {
            Some(text) => self.push_from(text, Origin::of(text)),
            None => {
                self.check(text.len())?;
                text.for_each_run(|bytes, origin| {
                    self.text.push_str(bytes);
                    if self.track {
                        self.run(bytes.len(), origin);
                    }
                });
                Ok(())
            }
        }
    }

    #[inline]
    pub(crate) fn push_from(&mut self, bytes: &str, origin: Origin) -> Result<()> {
        self.check(bytes.len())?;
        self.text.push_str(bytes);
        if self.track && !bytes.is_empty() {
            self.run(bytes.len(), origin);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn check(&self, more: usize) -> Result<()> {
        if more > self.max_bytes.saturating_sub(self.text.len()) {
            return Err(too_long(self.max_bytes));
        }
        Ok(())
    }

    /// The last `len` bytes came from `origin`.
    #[inline]
    pub(crate) fn run(&mut self, len: usize, origin: Origin) {
        let end = self.text.len();
        // Template text, fields and punctuation alternate, so neighbours seldom belong together.
        let continued = match self.runs.as_slice() {
            [] => false,
            [.., last] if last.origin == Origin::COMPUTED || origin == Origin::COMPUTED => last.origin == origin,
            [before @ .., last] => {
                let last_start = before.last().map_or(0, |run| run.end);
                origin.0 == last.origin.0.wrapping_add(end - len - last_start)
            }
        };
        if continued && let Some(last) = self.runs.last_mut() {
            last.end = end;
            return;
        }
        self.runs.push(Run { end, origin });
    }

    /// Takes what was written since `start` off the end, as a text of its own.
    pub(crate) fn take<'a>(&mut self, start: usize, arena: &'a Arena) -> Result<Text<'a>> {
        let written = &self.text[start..];
        if written.is_empty() {
            return Ok(Text::new(""));
        }
        arena.meter().memory(written.len())?;
        let written = arena.alloc_str(written);
        let text = if self.track {
            let first = self.runs.partition_point(|run| run.end <= start);
            let first_start = if first == 0 { 0 } else { self.runs[first - 1].end };
            let runs = arena
                .bump
                .alloc_slice_fill_iter(self.runs[first..].iter().map(|run| Run {
                    end: run.end - start,
                    origin: run.origin,
                }));
            if let Some(run) = runs.first_mut() {
                run.origin = run.origin.plus(start - first_start);
            }
            Text::built(written, runs, arena)
        } else {
            Text::new(written)
        };
        self.truncate(start);
        Ok(text)
    }

    /// Forgets what was written since `start`.
    pub(crate) fn truncate(&mut self, start: usize) {
        self.text.truncate(start);
        if self.track {
            let kept = self.runs.partition_point(|run| run.end < start);
            if let Some(run) = self.runs.get_mut(kept) {
                run.end = start;
                let begins = if kept == 0 { 0 } else { self.runs[kept - 1].end };
                self.runs.truncate(if begins == start { kept } else { kept + 1 });
            }
        }
    }
}

/// JSON goes straight to the output. Its size is checked afterwards: the meter has bounded it already.
impl Sink for Output {
    #[inline]
    fn push_from(&mut self, bytes: &str, origin: Origin) {
        self.text.push_str(bytes);
        if self.track && !bytes.is_empty() {
            self.run(bytes.len(), origin);
        }
    }

    #[inline]
    fn push_computed(&mut self, bytes: &str) {
        self.text.push_str(bytes);
        if self.track && !bytes.is_empty() {
            let end = self.text.len();
            match self.runs.last_mut() {
                Some(last) if last.origin == Origin::COMPUTED => last.end = end,
                _ => self.runs.push(Run {
                    end,
                    origin: Origin::COMPUTED,
                }),
            }
        }
    }

    #[inline]
    fn write_from(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        let len = self.text.len() - start;
        if self.track && len > 0 {
            self.run(len, origin);
        }
    }
}

#[cold]
fn too_long(max_bytes: usize) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!("the template writes more than {max_bytes} bytes"),
    )
}
