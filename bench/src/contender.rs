//! What is timed: a closure of one peer for one case, with what is known about its output.

/// Where a measurement starts; it always ends with the prompt text in an owned `String`, dropped inside the timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// From the bytes of the request.
    Json,
    /// From the request as the peer's caller would hold it: `serde_json::Value` or the peer's typed request.
    Request,
    /// From the engine's own values, made beforehand. Only template engines have this stage.
    Value,
}

impl Stage {
    /// All stages, in the order of the pipeline.
    pub const ALL: [Self; 3] = [Self::Json, Self::Request, Self::Value];

    /// Name in benchmark ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Request => "request",
            Self::Value => "value",
        }
    }
}

/// How a contender's output compares with the reference's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Byte for byte equal.
    Exact,
    /// Another text; where they part.
    Differs(String),
    /// No output; the peer's message.
    Fails(String),
    /// There is no reference to hold it against.
    Unchecked,
}

/// One peer on one case.
pub struct Contender<'a> {
    /// The peer's name.
    pub peer: &'static str,
    /// Whether its output is right.
    pub verdict: Verdict,
    /// Does the work [`Self::per_run`] times.
    pub run: Box<dyn FnMut() + 'a>,
    /// Renders in one call of [`Self::run`].
    pub per_run: usize,
}

impl<'a> Contender<'a> {
    /// A contender whose run is one render.
    pub fn new(peer: &'static str, verdict: Verdict, run: impl FnMut() + 'a) -> Self {
        Self {
            peer,
            verdict,
            run: Box::new(run),
            per_run: 1,
        }
    }
}
