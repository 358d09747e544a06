//! Who wrote each byte of a prompt.

use std::ops::Range;
use typecase_jinja::value::{Arena, Origin, Path, Run, Value};

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

/// The origin that stands for the configuration in a list of runs: no byte lies there.
const CONFIG: Origin = Origin(1);

impl Writer {
    /// As the origin of a run.
    pub(super) fn to_origin(self) -> Origin {
        match self {
            Writer::Format => Origin::COMPUTED,
            Writer::Config => CONFIG,
            Writer::Request(origin) => origin,
        }
    }

    /// Whether what it writes next belongs to the run `last`. Two runs of the request are never one: an origin counts from
    /// where its run begins.
    pub(super) fn continues(self, last: &Run) -> bool {
        last.origin == self.to_origin() && !matches!(self, Writer::Request(_))
    }

    fn of(origin: Origin) -> Self {
        match origin {
            Origin::COMPUTED => Writer::Format,
            CONFIG => Writer::Config,
            origin => Writer::Request(origin),
        }
    }
}

/// Who wrote each byte of a prompt, as a run-length list.
#[derive(Clone, Debug)]
pub struct Provenance<'a> {
    /// Each ends where the next begins. Runs of a render, whose memory goes from prompt to prompt.
    pub(super) runs: Vec<Run>,
    /// The request, whose places the origins are.
    pub(super) request: Value<'a>,
    pub(super) arena: &'a Arena,
}

impl<'a> Provenance<'a> {
    /// The request, as it was read.
    pub fn request(&self) -> Value<'a> {
        self.request
    }

    /// The runs of bytes that one writer wrote, in order and without gaps.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (Range<usize>, Writer)> {
        let mut start = 0;
        self.runs.iter().map(move |run| {
            let range = start..run.end;
            start = run.end;
            (range, Writer::of(run.origin))
        })
    }

    /// Whether the request wrote none of the bytes of `range`.
    pub fn is_trusted(&self, range: &Range<usize>) -> bool {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let last = self.runs.partition_point(|run| run.end < range.end);
        let mut runs = self.runs[first..].iter().take(last + 1 - first);
        runs.all(|run| !matches!(Writer::of(run.origin), Writer::Request(_)))
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
