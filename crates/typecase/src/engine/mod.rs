//! From the ids of a canonical prompt to what an engine takes, on the engine's worker.
//!
//! A frontend emits the same ids for every engine: one placeholder per media item. The adapters here make an engine's
//! own form of them, from checkpoint metadata alone. They are pure functions over ids; where there is nothing to do,
//! they give back the ids they were given. Counts that do not match are refused, never guessed, and ids outside the
//! placeholders come out as they went in: nothing is decoded or encoded again.
//!
//! | engine | family | form |
//! |---|---|---|
//! | vLLM | Kimi K3 | each placeholder becomes the ids of the checkpoint's `image_placeholder`: [`vllm::KimiK3`] |
//! | vLLM | the others | the canonical form: [`canonical::Canonical`] |
//! | SGLang | all | the canonical form, which its processors expand: [`sglang::Sglang`] |
//! | TensorRT-LLM | Qwen-VL, Kimi K2.5 | the canonical form (1.3 keeps the placeholder ids of these in the prompt) |
//!
//! Routers that hash what a worker will see make the expanded prompt themselves, with [`expand`].

pub mod canonical;
pub mod expand;
pub mod sglang;
pub mod vllm;

mod scan;
mod splice;

pub use expand::{ExpandedItem, ExpandedPrompt};

use crate::prompt::Modality;

/// How many raw media items came with a prompt, under each name that an engine's request has for them.
///
/// One item is given as itself or as a list of one: both count 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawMedia {
    /// Items under `image`.
    pub images: usize,
    /// Items under `video`.
    pub videos: usize,
    /// Items under `audio`.
    pub audios: usize,
    /// Items under `vision_chunk`, vLLM's one name for images and parts of videos.
    pub vision_chunks: usize,
}

impl RawMedia {
    /// No media.
    pub const NONE: RawMedia = RawMedia {
        images: 0,
        videos: 0,
        audios: 0,
        vision_chunks: 0,
    };

    /// `count` images.
    #[must_use]
    pub const fn images(mut self, count: usize) -> Self {
        self.images = count;
        self
    }

    /// `count` videos.
    #[must_use]
    pub const fn videos(mut self, count: usize) -> Self {
        self.videos = count;
        self
    }

    /// `count` sounds.
    #[must_use]
    pub const fn audios(mut self, count: usize) -> Self {
        self.audios = count;
        self
    }

    /// `count` items that are images or parts of videos.
    #[must_use]
    pub const fn vision_chunks(mut self, count: usize) -> Self {
        self.vision_chunks = count;
        self
    }

    /// Items of `modality`; unified items count as images.
    pub fn count(&self, modality: Modality) -> usize {
        match modality {
            Modality::Image => self.images + self.vision_chunks,
            Modality::Video => self.videos,
            Modality::Audio => self.audios,
        }
    }
}

#[cfg(test)]
mod tests;
