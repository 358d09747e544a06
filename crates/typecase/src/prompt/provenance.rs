//! Who wrote each byte of a prompt.

use std::ops::Range;
use typecase_jinja::value::{Arena, Origin, Path, Value};

/// Who wrote a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// The format or the template.
    Format,
    /// Trusted configuration of the model (`bos_token` and the like).
    Config,
    /// The request; [`Provenance::path`] says which field.
    Request(Origin),
}

/// A run of bytes that one writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenanceRun {
    /// Where the run ends, in bytes from the start of the prompt; it begins where the one before ends.
    pub end: usize,
    /// Who wrote it.
    pub writer: Writer,
}

/// Who wrote each byte of a prompt, as a run-length list.
#[derive(Clone, Debug)]
pub struct Provenance<'a> {
    pub(super) runs: Vec<ProvenanceRun>,
    /// The request, whose places the origins are.
    pub(super) request: Value<'a>,
    pub(super) arena: &'a Arena,
}

impl<'a> Provenance<'a> {
    /// The request, as it was read.
    pub fn request(&self) -> Value<'a> {
        self.request
    }

    /// The runs, in order, without gaps.
    pub fn runs(&self) -> &[ProvenanceRun] {
        &self.runs
    }

    /// The runs with the bytes they cover.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (Range<usize>, Writer)> {
        let mut start = 0;
        self.runs.iter().map(move |run| {
            let range = start..run.end;
            start = run.end;
            (range, run.writer)
        })
    }

    /// The field of the request that bytes of `origin` came from: `messages[3].content[1].text`.
    pub fn path(&self, origin: Origin) -> Path {
        self.request.path_of(self.origin_in_request(origin))
    }

    /// The place among the request's own bytes that bytes of `origin` came from.
    pub(crate) fn origin_in_request(&self, origin: Origin) -> Origin {
        self.arena.original_in(origin, self.request)
    }
}
