//! Prompt languages: one module each.
//!
//! A [`Format`] turns a request into a prompt. It knows nothing of tokenizers and engines. To add one: a module here,
//! a golden file in the conformance harness, and a line where models are loaded.

pub mod chat_template;
pub mod kimi_k3;

pub use chat_template::ChatTemplate;
pub use kimi_k3::KimiK3;

use crate::error::Result;
use crate::prompt::{ControlToken, Prompt};
use crate::request::ChatRequest;
use std::fmt::Debug;
pub use typecase_jinja::LocalTime;

/// A prompt language.
pub trait Format: Debug + Send + Sync {
    /// Its name, as in `config.json`: `kimi_k3`.
    fn name(&self) -> &'static str;

    /// The control tokens that it writes, each of which a vocabulary must have as one token.
    fn control_tokens(&self) -> &'static [ControlToken] {
        &[]
    }

    /// Renders a request.
    ///
    /// # Errors
    /// Client faults: something in the request that the format has no place for, at its path.
    fn render<'a>(&self, request: &ChatRequest<'a>, options: &RenderOptions) -> Result<Prompt<'a>>;
}

/// What may differ from one render to the next and is no part of the request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RenderOptions {
    /// The local time that templates see (`strftime_now`). Default: none, and a template that asks for it fails. The
    /// library has no clock; whoever serves requests reads one.
    pub now: Option<LocalTime>,
    /// Whether the [generation stub](Prompt::generation_stub) of a chat template's prompt is wanted. A template does not
    /// say which of its text opens the turn; to find out, it runs twice. Native formats always tell.
    pub find_stub: bool,
}

impl RenderOptions {
    /// Sets the local time that templates see.
    #[must_use]
    pub fn now(mut self, now: LocalTime) -> Self {
        self.now = Some(now);
        self
    }

    /// Asks for the generation stub of a chat template's prompt, at the cost of running the template twice.
    #[must_use]
    pub fn find_stub(mut self, find: bool) -> Self {
        self.find_stub = find;
        self
    }
}
