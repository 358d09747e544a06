#![doc = include_str!("specification.md")]

mod arguments;
mod body;
mod encoder;
mod message;
mod python;
mod settings;
mod tool_results;
mod xtml;

#[cfg(test)]
mod tests;

use super::{Format, RenderOptions};
use crate::error::Result;
use crate::prompt::{ControlToken, Prompt};
use crate::request::ChatRequest;

/// The Kimi K3 format. Default: the [`Profile::Served`] profile.
#[derive(Clone, Debug, Default)]
pub struct KimiK3 {
    profile: Profile,
}

/// Whose rules hold where implementations part ways.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Profile {
    /// Those of the serving stacks.
    #[default]
    Served,
    /// Those of Moonshot's encoder, to the letter.
    Reference(Reference),
}

/// How Moonshot's encoder is called.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reference {
    /// Which of its two functions is called.
    pub entry: Entry,
    /// What stands in for each image, in order, as a control segment: its `image_prompts`. `None` leaves
    /// `<|kimi_image_placeholder|>`; anything else also replaces that spelling where a message spells it.
    pub image_prompts: Option<Vec<String>>,
}

impl Reference {
    /// Which function is called.
    #[must_use]
    pub fn entry(mut self, entry: Entry) -> Self {
        self.entry = entry;
        self
    }

    /// What stands in for each image. Whoever gives it vouches for it: it becomes control segments.
    #[must_use]
    pub fn image_prompts(mut self, image_prompts: Option<Vec<String>>) -> Self {
        self.image_prompts = image_prompts;
        self
    }
}

/// The functions of Moonshot's encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// `apply_chat_template`: no `thinking_effort` means `max`.
    #[default]
    ApplyChatTemplate,
    /// `build_chat_segments`: no `thinking_effort` means no message about it.
    BuildChatSegments,
}

impl KimiK3 {
    /// The name of the format, which is the `model_type` of its models.
    pub const NAME: &'static str = "kimi_k3";

    /// The format with the profile given.
    pub fn new(profile: Profile) -> Self {
        KimiK3 { profile }
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

impl Format for KimiK3 {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn control_tokens(&self) -> &'static [ControlToken] {
        xtml::CONTROL_TOKENS
    }

    fn render<'a>(&self, request: &ChatRequest<'a>, _options: &RenderOptions) -> Result<Prompt<'a>> {
        encoder::encode(&self.profile, request)
    }
}
