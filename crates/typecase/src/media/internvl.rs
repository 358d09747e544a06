//! InternVL: images and videos. Two kinds of checkpoints, with one arithmetic.
//!
//! The original ones (`internvl_chat`) have markers that are ordinary text, `<image>` and `<video>`: no id tells them
//! from a user's text, so they count only where the template wrote them ([`Anchor::Marker`]). Those converted for
//! transformers (`internvl`) have the registered token `<IMG_CONTEXT>` for images. An image becomes
//!
//! ```text
//! <img><IMG_CONTEXT> x (256 per tile)</img>
//! ```
//!
//! where an image of several tiles has one more, the whole image made small. A frame of a video has one tile, and
//! `Frame1: ` in front. Known disagreement: transformers puts a newline between frames, vLLM nothing (here as the
//! engine of the contract: vLLM for the original checkpoints, transformers for the converted ones).

use super::{Anchor, Contract, Expansion, Family, ImageSize, ItemContract, Media, Needs, Replaces, Settings};
use crate::Result;
use crate::prompt::Modality;

const VIDEO: ItemContract = ItemContract {
    modality: Modality::Video,
    marker: "<video>",
    anchor: Anchor::Marker,
    replaces: Replaces::Anchor,
    needs: Needs::Frames,
};

/// What the prompts of the original checkpoints carry.
pub const CHAT_CONTRACT: Contract = Contract {
    family: "internvl_chat",
    model_types: &["internvl_chat"],
    items: &[
        ItemContract {
            modality: Modality::Image,
            marker: "<image>",
            anchor: Anchor::Marker,
            replaces: Replaces::Anchor,
            needs: Needs::Size,
        },
        VIDEO,
    ],
};

/// What the prompts of the checkpoints for transformers carry.
pub const HF_CONTRACT: Contract = Contract {
    family: "internvl",
    model_types: &["internvl"],
    items: &[
        ItemContract {
            modality: Modality::Image,
            marker: "<IMG_CONTEXT>",
            anchor: Anchor::Token {
                spelling: "<IMG_CONTEXT>",
                config_key: Some("image_token_id"),
            },
            replaces: Replaces::Anchor,
            needs: Needs::Size,
        },
        VIDEO,
    ],
};

/// A model of the family with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct InternVl {
    contract: &'static Contract,
    tile_width_px: u64,
    tile_height_px: u64,
    tokens_per_tile: usize,
    /// Whether images are cut to tiles at all.
    tiled: bool,
    min_tiles: u64,
    max_tiles: u64,
    thumbnail: bool,
    between_frames: &'static str,
}

impl InternVl {
    /// The original checkpoints, with their usual settings.
    pub const CHAT: InternVl = InternVl {
        contract: &CHAT_CONTRACT,
        tile_width_px: 448,
        tile_height_px: 448,
        tokens_per_tile: 256,
        tiled: true,
        min_tiles: 1,
        max_tiles: 12,
        thumbnail: true,
        between_frames: "",
    };

    /// The checkpoints for transformers, with their usual settings.
    pub const HF: InternVl = InternVl {
        contract: &HF_CONTRACT,
        between_frames: "\n",
        ..Self::CHAT
    };

    pub(super) fn load_chat(settings: &Settings<'_>) -> Result<Self> {
        let config = settings.config();
        let vision = config.section("vision_config");
        let side = match config.optional_count("force_image_size")? {
            Some(side) => side,
            None => vision.count("image_size", 448)?,
        };
        let patches = (side / vision.count("patch_size", 14)?) as f64;
        let ratio = config.float("downsample_ratio", 0.5)?;
        Ok(InternVl {
            tile_width_px: side,
            tile_height_px: side,
            tokens_per_tile: (patches * patches * (ratio * ratio)) as usize,
            tiled: config.flag("dynamic_image_size", true)?,
            min_tiles: config.count("min_dynamic_patch", 1)?,
            max_tiles: config.count("max_dynamic_patch", 12)?,
            thumbnail: config.flag("use_thumbnail", true)?,
            ..Self::CHAT
        })
    }

    pub(super) fn load_hf(settings: &Settings<'_>) -> Result<Self> {
        let image = settings.image();
        let size = image.section("size");
        Ok(InternVl {
            tile_width_px: size.count("width", 448)?,
            tile_height_px: size.count("height", 448)?,
            tokens_per_tile: settings.config().count("image_seq_length", 256)? as usize,
            // InternVL's processor turns cropping on, whatever the image processor's own default.
            tiled: true,
            min_tiles: image.count("min_patches", 1)?,
            max_tiles: image.count("max_patches", 12)?,
            ..Self::HF
        })
    }

    /// Number of tiles of an image of `size`, the small whole one included.
    ///
    /// # Source
    /// `find_closest_aspect_ratio` of vLLM 0.33.0 and `get_optimal_tiled_canvas` of transformers 5.23.0, which agree.
    fn tiles(&self, size: ImageSize) -> Result<usize> {
        let (width, height) = size.sides()?;
        if !self.tiled || self.max_tiles == 1 {
            return Ok(1);
        }
        let (ratio, area) = (width / height, width * height);
        let tile_area = (self.tile_width_px * self.tile_height_px) as f64;
        let mut best = (f64::INFINITY, 1);
        // From few tiles to many, and of as many from narrow to wide.
        for tiles in self.min_tiles..=self.max_tiles {
            for columns in (1..=tiles).filter(|columns| tiles.is_multiple_of(*columns)) {
                let distance = (ratio - columns as f64 / (tiles / columns) as f64).abs();
                // Of canvases alike in shape the larger one, unless it would be less than half full.
                if distance < best.0 || (distance == best.0 && area > 0.5 * tile_area * tiles as f64) {
                    best = (distance, tiles);
                }
            }
        }
        Ok(match best.1 as usize {
            1 => 1,
            tiles => tiles + usize::from(self.thumbnail),
        })
    }

    fn framed(&self, expansion: Expansion, tiles: usize) -> Expansion {
        expansion
            .token("<img>")
            .features("<IMG_CONTEXT>", tiles * self.tokens_per_tile)
            .token("</img>")
    }
}

impl Family for InternVl {
    fn contract(&self) -> &'static Contract {
        self.contract
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        match media {
            Media::Image(size) => Ok(self.framed(Expansion::new(), self.tiles(*size)?)),
            Media::Video(video) => {
                let mut expansion = Expansion::new();
                for frame in 1..=video.frames.len() {
                    let between = if frame == 1 { "" } else { self.between_frames };
                    expansion = self.framed(expansion.text(format!("{between}Frame{frame}: ")), 1);
                }
                Ok(expansion)
            }
            Media::Audio { .. } => Err(media.unsupported(self.contract.family)),
        }
    }
}
