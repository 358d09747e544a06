//! Kimi K3: still images.
//!
//! The prompt has one `<|media_pad|>` per image, from this project's format as from dynamo's, SMG's and SGLang's. vLLM's
//! own frontend writes the checkpoint's `image_placeholder` instead (`<|kimi_image_placeholder|>`, ordinary text of
//! several ids): see [`crate::engine::vllm`]. Both engines expand to the same ids,
//!
//! ```text
//! <|media_begin|>image 1920x1080<|media_content|><|media_pad|> ...<|media_end|>
//! ```
//!
//! with the size of the image *before* resizing. `image 1920x1080` is one text to vLLM and to SGLang (SMG encodes the
//! dimensions alone, which gives other ids). Only the pads hold features.

use super::navit::{Limits, Resized};
use super::{Anchor, Contract, Expansion, Family, ImageSize, ItemContract, Media, Needs, Replaces, Settings};
use crate::Result;
use crate::prompt::Modality;

/// What its prompts carry.
pub const CONTRACT: Contract = Contract {
    family: "kimi_k3",
    model_types: &["kimi_k3"],
    items: &[ItemContract {
        modality: Modality::Image,
        marker: "<|media_pad|>",
        anchor: Anchor::Token {
            spelling: "<|media_pad|>",
            config_key: Some("media_placeholder_token_id"),
        },
        replaces: Replaces::Anchor,
        needs: Needs::Size,
    }],
};

/// The limits in K3's `preprocessor_config.json`.
pub const LIMITS: Limits = Limits {
    patch_size: 14,
    merge_kernel_size: 2,
    in_patch_limit: 65_536,
    patch_limit_on_one_side: 512,
    fixed_output_tokens: None,
};

/// Kimi K3 with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct KimiK3 {
    limits: Limits,
}

impl Default for KimiK3 {
    fn default() -> Self {
        KimiK3 { limits: LIMITS }
    }
}

impl KimiK3 {
    /// With other limits than the checkpoint's own.
    pub const fn with_limits(limits: Limits) -> Self {
        KimiK3 { limits }
    }

    pub(super) fn load(settings: &Settings<'_>) -> Result<Self> {
        let limits = Limits::load(&settings.image().section("media_proc_cfg"), LIMITS)?;
        Ok(KimiK3 { limits })
    }

    /// What becomes of an image of `size` before it is cut to patches.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyImage`](crate::ErrorKind::EmptyImage) (client) if a side is 0.
    pub fn resize(&self, size: ImageSize) -> Result<Resized> {
        self.limits.resize(size)
    }

    /// The text that stands for an image of `size` with `pads` placeholders: one in the checkpoint's own prompt, one
    /// per token in an engine's.
    pub fn image_prompt(size: ImageSize, pads: usize) -> Expansion {
        Expansion::new()
            .token("<|media_begin|>")
            .text(format!("image {}x{}", size.width_px, size.height_px))
            .token("<|media_content|>")
            .features("<|media_pad|>", pads)
            .token("<|media_end|>")
    }
}

impl Family for KimiK3 {
    fn contract(&self) -> &'static Contract {
        &CONTRACT
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        match media {
            Media::Image(size) => Ok(Self::image_prompt(*size, self.resize(*size)?.token_count as usize)),
            _ => Err(media.unsupported(CONTRACT.family)),
        }
    }
}

/// Number of placeholder tokens that stand for one Kimi K3 image in an engine's prompt.
///
/// `width_px`, `height_px`: the image before resizing. One token covers 28 x 28 pixels of the padded image (14-pixel
/// patches, merged 2 x 2).
/// # Errors
/// [`ErrorKind::EmptyImage`](crate::ErrorKind::EmptyImage) (client) if a side is 0.
/// # Source
/// `navit_resize_image` of vLLM 0.33.0 with the limits in K3's `preprocessor_config.json`.
/// # Example
/// ```
/// assert_eq!(typecase::media::kimi_k3::token_count(1920, 1080)?, 2691); // 69 x 39
/// # Ok::<(), typecase::Error>(())
/// ```
pub fn token_count(width_px: u32, height_px: u32) -> Result<usize> {
    KimiK3::default().token_count(&Media::image(width_px, height_px))
}
