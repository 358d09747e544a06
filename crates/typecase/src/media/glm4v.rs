//! GLM-4.1V, GLM-4.5V (`glm4v`, `glm4v_moe`) and GLM-4.6V (`glm46v`): images and videos.
//!
//! ```text
//! image  <|begin_of_image|><|image|><|end_of_image|>
//! video  <|begin_of_video|><|video|><|end_of_video|>
//! ```
//!
//! An image's frame is in the prompt; engines put one `<|image|>` per token in place of the one. A video becomes a
//! list of framed images, each followed by its time, within the video's frame, which stays:
//!
//! ```text
//! <|begin_of_video|><|begin_of_image|><|image|> ...<|end_of_image|>0<|begin_of_image|> ...<|end_of_image|>1<|end_of_video|>
//! ```
//!
//! A time is text encoded alone: whole seconds in GLM-4.1V and 4.5V (`3`), one decimal and a unit in 4.6V
//! (`3.0 seconds`).

use super::number::int;
use super::smart_resize::Bounds;
use super::{Anchor, Contract, Expansion, Family, ItemContract, Media, Needs, Replaces, Settings, VideoSample};
use crate::Result;
use crate::prompt::Modality;

const ITEMS: &[ItemContract] = &[
    ItemContract {
        modality: Modality::Image,
        marker: "<|begin_of_image|><|image|><|end_of_image|>",
        anchor: Anchor::Token {
            spelling: "<|image|>",
            config_key: Some("image_token_id"),
        },
        replaces: Replaces::Anchor,
        needs: Needs::Size,
    },
    ItemContract {
        modality: Modality::Video,
        marker: "<|begin_of_video|><|video|><|end_of_video|>",
        // vLLM's target is the three tokens of the marker, of which it keeps the outer two.
        anchor: Anchor::Token {
            spelling: "<|video|>",
            config_key: Some("video_token_id"),
        },
        replaces: Replaces::Anchor,
        needs: Needs::FrameTimes,
    },
];

/// What the prompts of GLM-4.1V and GLM-4.5V carry.
pub const GLM4V_CONTRACT: Contract = Contract {
    family: "glm4v",
    model_types: &["glm4v", "glm4v_moe"],
    items: ITEMS,
};

/// What the prompts of GLM-4.6V carry.
pub const GLM46V_CONTRACT: Contract = Contract {
    family: "glm46v",
    model_types: &["glm46v"],
    items: ITEMS,
};

/// A model of the family with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Glm4v {
    contract: &'static Contract,
    image: Vision,
    video: Vision,
}

#[derive(Clone, Copy, Debug)]
struct Vision {
    patch_size: u64,
    merge_size: u64,
    temporal_patch_size: u64,
    min_pixels: u64,
    max_pixels: u64,
}

const IMAGE: Vision = Vision {
    patch_size: 14,
    merge_size: 2,
    temporal_patch_size: 2,
    min_pixels: 112 * 112,
    max_pixels: 28 * 28 * 15_000,
};

const VIDEO: Vision = Vision {
    max_pixels: 28 * 28 * 2 * 30_000,
    ..IMAGE
};

impl Vision {
    fn load(section: super::settings::Section<'_>, default: Vision) -> Result<Vision> {
        let size = section.section("size");
        Ok(Vision {
            patch_size: section.count("patch_size", default.patch_size)?,
            merge_size: section.count("merge_size", default.merge_size)?,
            temporal_patch_size: section.count("temporal_patch_size", default.temporal_patch_size)?,
            min_pixels: size.count("shortest_edge", default.min_pixels)?,
            max_pixels: size.count("longest_edge", default.max_pixels)?,
        })
    }

    /// Tokens of one image, or of one group of frames.
    fn tokens(&self, size: super::ImageSize, frames: u64) -> Result<usize> {
        let bounds = Bounds {
            factor_px: self.patch_size * self.merge_size,
            min_pixels: self.min_pixels,
            max_pixels: self.max_pixels,
        };
        let (width, height) = bounds.resize_frames(size, frames, self.temporal_patch_size)?;
        let patches = (width / self.patch_size) * (height / self.patch_size);
        Ok((patches / (self.merge_size * self.merge_size)) as usize)
    }
}

impl Glm4v {
    /// GLM-4.1V and GLM-4.5V with the defaults of transformers 5.23.0.
    pub const GLM4V: Glm4v = Glm4v {
        contract: &GLM4V_CONTRACT,
        image: IMAGE,
        video: VIDEO,
    };

    /// GLM-4.6V with the defaults of transformers 5.23.0.
    pub const GLM46V: Glm4v = Glm4v {
        contract: &GLM46V_CONTRACT,
        ..Self::GLM4V
    };

    pub(super) fn load_4v(settings: &Settings<'_>) -> Result<Self> {
        Self::GLM4V.with(settings)
    }

    pub(super) fn load_46v(settings: &Settings<'_>) -> Result<Self> {
        Self::GLM46V.with(settings)
    }

    fn with(mut self, settings: &Settings<'_>) -> Result<Self> {
        self.image = Vision::load(settings.image(), self.image)?;
        if settings.has_video() {
            self.video = Vision::load(settings.video(), self.video)?;
        }
        Ok(self)
    }

    fn expand_video(&self, video: &VideoSample) -> Result<Expansion> {
        let frames = video.frames.len();
        let tokens = self.video.tokens(video.size, frames as u64)?;
        let groups = frames.div_ceil(self.video.temporal_patch_size as usize);
        let fps = video.fps.unwrap_or(24.0);
        // The times of every second frame, whatever the size of a group; the last one again if they are too few.
        let times: Vec<f64> = video
            .frames
            .iter()
            .step_by(2)
            .map(|frame| *frame as f64 / fps)
            .collect();
        let mut expansion = Expansion::new();
        for group in 0..groups {
            let time = times.get(group).or(times.last()).copied().unwrap_or(0.0);
            expansion = expansion
                .token("<|begin_of_image|>")
                .features("<|image|>", tokens)
                .token("<|end_of_image|>")
                .text(match self.contract.family {
                    "glm46v" => format!("{time:.1} seconds"),
                    _ => int(time).to_string(),
                });
        }
        Ok(expansion)
    }
}

impl Family for Glm4v {
    fn contract(&self) -> &'static Contract {
        self.contract
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        match media {
            // An image counts as one group of equal frames.
            Media::Image(size) => {
                let tokens = self.image.tokens(*size, self.image.temporal_patch_size)?;
                Ok(Expansion::new().features("<|image|>", tokens))
            }
            Media::Video(video) => self.expand_video(video),
            Media::Audio { .. } => Err(media.unsupported(self.contract.family)),
        }
    }
}
