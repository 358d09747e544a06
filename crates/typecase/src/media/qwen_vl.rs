//! Qwen2-VL, Qwen2.5-VL, Qwen3-VL and the models of the same contract (Qwen3.5, 3.6): images and videos.
//!
//! ```text
//! image        <|vision_start|><|image_pad|><|vision_end|>
//! video        <|vision_start|><|video_pad|><|vision_end|>
//! ```
//!
//! The frame is in the prompt; engines put one pad per token in place of the one. Qwen3-VL's videos differ: each group
//! of frames has a time and a frame of its own, and all of them together stand in place of the whole marker:
//!
//! ```text
//! <0.3 seconds><|vision_start|><|video_pad|> ...<|vision_end|><1.3 seconds><|vision_start|> ...
//! ```
//!
//! A time is text encoded alone. Known disagreement: vLLM replaces the whole marker, transformers 5.23.0 only the pad,
//! which leaves the marker's own frame around all; here it is as in vLLM (and transformers before 5).

use super::smart_resize::Bounds;
use super::{Anchor, Contract, Expansion, Family, ItemContract, Media, Needs, Replaces, Settings, VideoSample};
use crate::Result;
use crate::prompt::Modality;

const IMAGE: ItemContract = ItemContract {
    modality: Modality::Image,
    marker: "<|vision_start|><|image_pad|><|vision_end|>",
    anchor: Anchor::Token {
        spelling: "<|image_pad|>",
        config_key: Some("image_token_id"),
    },
    replaces: Replaces::Anchor,
    needs: Needs::Size,
};

const VIDEO: ItemContract = ItemContract {
    modality: Modality::Video,
    marker: "<|vision_start|><|video_pad|><|vision_end|>",
    anchor: Anchor::Token {
        spelling: "<|video_pad|>",
        config_key: Some("video_token_id"),
    },
    replaces: Replaces::Anchor,
    needs: Needs::Frames,
};

/// What the prompts of Qwen2-VL and Qwen2.5-VL carry.
pub const QWEN2_CONTRACT: Contract = Contract {
    family: "qwen2_vl",
    model_types: &["qwen2_vl", "qwen2_5_vl"],
    items: &[IMAGE, VIDEO],
};

/// What the prompts of Qwen3-VL and later models carry.
pub const QWEN3_CONTRACT: Contract = Contract {
    family: "qwen3_vl",
    model_types: &["qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"],
    items: &[
        IMAGE,
        ItemContract {
            replaces: Replaces::Marker { before: 1, after: 1 },
            needs: Needs::FrameTimes,
            ..VIDEO
        },
    ],
};

/// A model of the family with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct QwenVl {
    contract: &'static Contract,
    image: Vision,
    video: Vision,
    /// Qwen3-VL: times are written, and the bounds are on all frames of a video together.
    timed: bool,
}

/// How images or frames become tokens.
#[derive(Clone, Copy, Debug)]
struct Vision {
    patch_size: u64,
    merge_size: u64,
    temporal_patch_size: u64,
    min_pixels: u64,
    max_pixels: u64,
}

const QWEN2_IMAGE: Vision = Vision {
    patch_size: 14,
    merge_size: 2,
    temporal_patch_size: 2,
    min_pixels: 56 * 56,
    max_pixels: 28 * 28 * 1280,
};

const QWEN2_VIDEO: Vision = Vision {
    min_pixels: 128 * 28 * 28,
    max_pixels: 28 * 28 * 768,
    ..QWEN2_IMAGE
};

const QWEN3_IMAGE: Vision = Vision {
    patch_size: 16,
    min_pixels: 256 * 256,
    max_pixels: 4096 * 4096,
    ..QWEN2_IMAGE
};

const QWEN3_VIDEO: Vision = Vision {
    min_pixels: 128 * 32 * 32,
    max_pixels: 32 * 32 * 768,
    ..QWEN3_IMAGE
};

impl Vision {
    fn load(section: super::settings::Section<'_>, default: Vision) -> Result<Vision> {
        let size = section.section("size");
        Ok(Vision {
            patch_size: section.count("patch_size", default.patch_size)?,
            merge_size: section.count("merge_size", default.merge_size)?,
            temporal_patch_size: section.count("temporal_patch_size", default.temporal_patch_size)?,
            // `min_pixels` and `max_pixels` are the older names, and win where both are there.
            min_pixels: match section.optional_count("min_pixels")? {
                Some(pixels) => pixels,
                None => size.count("shortest_edge", default.min_pixels)?,
            },
            max_pixels: match section.optional_count("max_pixels")? {
                Some(pixels) => pixels,
                None => size.count("longest_edge", default.max_pixels)?,
            },
        })
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            factor_px: self.patch_size * self.merge_size,
            min_pixels: self.min_pixels,
            max_pixels: self.max_pixels,
        }
    }

    /// Tokens of one image or one group of frames of that size.
    fn tokens(&self, (width, height): (u64, u64)) -> usize {
        let patches = (width / self.patch_size) * (height / self.patch_size);
        (patches / (self.merge_size * self.merge_size)) as usize
    }
}

impl QwenVl {
    /// Qwen2-VL and Qwen2.5-VL with the defaults of transformers 5.23.0.
    pub const QWEN2: QwenVl = QwenVl {
        contract: &QWEN2_CONTRACT,
        image: QWEN2_IMAGE,
        video: QWEN2_VIDEO,
        timed: false,
    };

    /// Qwen3-VL with the settings of its checkpoints.
    pub const QWEN3: QwenVl = QwenVl {
        contract: &QWEN3_CONTRACT,
        image: QWEN3_IMAGE,
        video: QWEN3_VIDEO,
        timed: true,
    };

    pub(super) fn load_2(settings: &Settings<'_>) -> Result<Self> {
        let image = Vision::load(settings.image(), QWEN2_IMAGE)?;
        // Checkpoints older than the video processor have one set of settings for both.
        let video = match settings.has_video() {
            true => Vision::load(settings.video(), QWEN2_VIDEO)?,
            false => image,
        };
        Ok(QwenVl {
            image,
            video,
            ..Self::QWEN2
        })
    }

    pub(super) fn load_3(settings: &Settings<'_>) -> Result<Self> {
        let image = Vision::load(settings.image(), QWEN3_IMAGE)?;
        let video = match settings.has_video() {
            true => Vision::load(settings.video(), QWEN3_VIDEO)?,
            false => Vision {
                patch_size: image.patch_size,
                merge_size: image.merge_size,
                temporal_patch_size: image.temporal_patch_size,
                ..QWEN3_VIDEO
            },
        };
        Ok(QwenVl {
            image,
            video,
            ..Self::QWEN3
        })
    }

    fn expand_video(&self, video: &VideoSample) -> Result<Expansion> {
        let frames = video.frames.len() as u64;
        let groups = frames.div_ceil(self.video.temporal_patch_size).max(1);
        if !self.timed {
            let tokens = self.video.tokens(self.video.bounds().resize(video.size)?);
            return Ok(Expansion::new().features("<|video_pad|>", groups as usize * tokens));
        }
        let size = (self.video.bounds()).resize_frames(video.size, frames, self.video.temporal_patch_size)?;
        let tokens = self.video.tokens(size);
        let mut expansion = Expansion::new();
        for time in group_times(video, self.video.temporal_patch_size as usize) {
            expansion = expansion
                .text(format!("<{time:.1} seconds>"))
                .token("<|vision_start|>")
                .features("<|video_pad|>", tokens)
                .token("<|vision_end|>");
        }
        Ok(expansion)
    }
}

/// The time of each group of `size` frames: half-way between its first frame and its last, in seconds.
///
/// # Source
/// `_calculate_timestamps` of transformers 5.23.0 (`qwen3_vl`): an incomplete group is filled with the last frame.
fn group_times(video: &VideoSample, size: usize) -> impl Iterator<Item = f64> {
    let fps = video.fps.unwrap_or(24.0);
    video.frames.chunks(size.max(1)).map(move |group| {
        // A chunk is never empty, and a filled group ends with its last frame all the same.
        let (first, last) = (group[0], group[group.len() - 1]);
        (first as f64 / fps + last as f64 / fps) / 2.0
    })
}

impl Family for QwenVl {
    fn contract(&self) -> &'static Contract {
        self.contract
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        match media {
            Media::Image(size) => {
                let tokens = self.image.tokens(self.image.bounds().resize(*size)?);
                Ok(Expansion::new().features("<|image_pad|>", tokens))
            }
            Media::Video(video) => self.expand_video(video),
            Media::Audio { .. } => Err(media.unsupported(self.contract.family)),
        }
    }
}
