//! Gemma 3: still images.
//!
//! The prompt has one `<start_of_image>` per image. In its place comes
//!
//! ```text
//! \n\n<start_of_image><image_soft_token> x 256<end_of_image>\n\n
//! ```
//!
//! whatever the size. With pan-and-scan (off in the checkpoints) long images get crops as well, introduced by an
//! English sentence, each with a frame of its own. The newlines are part of the prompt's text: where the prompt has
//! newlines next to them, the tokenizer makes one token of both, and so does vLLM after replacing ids.

use super::{Anchor, Contract, Expansion, Family, ImageSize, ItemContract, Media, Needs, Replaces, Settings};
use crate::Result;
use crate::prompt::Modality;

/// What its prompts carry.
pub const CONTRACT: Contract = Contract {
    family: "gemma3",
    model_types: &["gemma3"],
    items: &[ItemContract {
        modality: Modality::Image,
        marker: "<start_of_image>",
        anchor: Anchor::Token {
            spelling: "<start_of_image>",
            config_key: Some("boi_token_index"),
        },
        replaces: Replaces::Anchor,
        needs: Needs::Size,
    }],
};

/// Gemma 3 with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Gemma3 {
    tokens_per_image: usize,
    pan_and_scan: Option<PanAndScan>,
}

/// When long images are also cut to crops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanAndScan {
    /// Crops are not narrower than this, in pixels.
    pub min_crop_size_px: u64,
    /// Crops of one image.
    pub max_crops: u64,
    /// Images less long than this many times their other side are not cut.
    pub min_ratio: f64,
}

impl Default for PanAndScan {
    fn default() -> Self {
        PanAndScan {
            min_crop_size_px: 256,
            max_crops: 4,
            min_ratio: 1.2,
        }
    }
}

impl Default for Gemma3 {
    fn default() -> Self {
        Gemma3 {
            tokens_per_image: 256,
            pan_and_scan: None,
        }
    }
}

impl Gemma3 {
    /// Turns pan-and-scan on.
    #[must_use]
    pub fn with_pan_and_scan(mut self, pan_and_scan: PanAndScan) -> Self {
        self.pan_and_scan = Some(pan_and_scan);
        self
    }

    pub(super) fn load(settings: &Settings<'_>) -> Result<Self> {
        let image = settings.image();
        let default = PanAndScan::default();
        let pan_and_scan = PanAndScan {
            min_crop_size_px: image.count("pan_and_scan_min_crop_size", default.min_crop_size_px)?,
            max_crops: image.count("pan_and_scan_max_num_crops", default.max_crops)?,
            min_ratio: image.float("pan_and_scan_min_ratio_to_activate", default.min_ratio)?,
        };
        Ok(Gemma3 {
            tokens_per_image: settings.config().count("mm_tokens_per_image", 256)? as usize,
            pan_and_scan: image.flag("do_pan_and_scan", false)?.then_some(pan_and_scan),
        })
    }
}

impl PanAndScan {
    /// Number of crops of an image of `size`, besides the image itself.
    ///
    /// # Source
    /// `pan_and_scan_batched` of transformers 5.23.0, which vLLM repeats.
    fn crops(&self, size: ImageSize) -> Result<u64> {
        let (width, height) = size.sides()?;
        let (long, short) = if width >= height {
            (width, height)
        } else {
            (height, width)
        };
        if long / short < self.min_ratio {
            return Ok(0);
        }
        let by_ratio = (long / short + 0.5).floor();
        let by_size = (long / self.min_crop_size_px as f64).floor();
        let crops = by_size.min(by_ratio).max(2.0).min(self.max_crops as f64);
        let smallest_side = (long / crops).ceil().min(short);
        if smallest_side < self.min_crop_size_px as f64 {
            return Ok(0);
        }
        Ok(crops as u64)
    }
}

impl Family for Gemma3 {
    fn contract(&self) -> &'static Contract {
        &CONTRACT
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        let Media::Image(size) = media else {
            return Err(media.unsupported(CONTRACT.family));
        };
        size.sides()?;
        let crops = match &self.pan_and_scan {
            Some(pan_and_scan) => pan_and_scan.crops(*size)?,
            None => 0,
        };
        let image = |expansion: Expansion| {
            expansion
                .token("<start_of_image>")
                .features("<image_soft_token>", self.tokens_per_image)
                .token("<end_of_image>")
        };
        if crops == 0 {
            return Ok(image(Expansion::new()).newlines_around("\n\n"));
        }
        let mut expansion = image(Expansion::new().text("Here is the original image \n\n"))
            .text("\n\n and here are some crops to help you see better \n\n");
        for crop in 0..crops {
            if crop > 0 {
                expansion = expansion.text("\n\n \n\n");
            }
            expansion = image(expansion);
        }
        Ok(expansion.newlines_after("\n\n"))
    }
}
