//! Llama 4: still images.
//!
//! The prompt has one `<|image|>` per image. In its place come the tiles of the image, row by row, and then the whole
//! image once more, smaller; an image of one tile is only that:
//!
//! ```text
//! <|image_start|><|patch|> ...<|tile_x_separator|><|patch|> ...<|tile_y_separator|><|image|><|patch|> ...<|image_end|>
//! ```
//!
//! Only the patches hold features. The anchor `<|image|>` is also part of its own expansion, so a prompt that is
//! expanded already cannot be told from one that is not by counting it.

use super::{Anchor, Contract, Expansion, Family, ImageSize, ItemContract, Media, Needs, Replaces, Settings};
use crate::Result;
use crate::prompt::Modality;

/// What its prompts carry.
pub const CONTRACT: Contract = Contract {
    family: "llama4",
    model_types: &["llama4"],
    items: &[ItemContract {
        modality: Modality::Image,
        marker: "<|image|>",
        // `image_token_index` of the configuration names `<|patch|>`.
        anchor: Anchor::Token {
            spelling: "<|image|>",
            config_key: None,
        },
        replaces: Replaces::Anchor,
        needs: Needs::Size,
    }],
};

/// Llama 4 with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Llama4 {
    tile_size_px: u64,
    max_tiles: u64,
    resize_to_max_canvas: bool,
    patch_size: u64,
    /// Patches that make one token.
    downsample: u64,
}

impl Default for Llama4 {
    fn default() -> Self {
        Llama4 {
            tile_size_px: 336,
            max_tiles: 16,
            resize_to_max_canvas: false,
            patch_size: 14,
            downsample: 4,
        }
    }
}

impl Llama4 {
    pub(super) fn load(settings: &Settings<'_>) -> Result<Self> {
        let (image, vision) = (settings.image(), settings.config().section("vision_config"));
        let ratio = vision.float("pixel_shuffle_ratio", 0.5)?;
        Ok(Llama4 {
            tile_size_px: image.section("size").count("height", 336)?,
            max_tiles: image.count("max_patches", 16)?,
            resize_to_max_canvas: image.flag("resize_to_max_canvas", false)?,
            patch_size: vision.count("patch_size", 14)?,
            downsample: super::number::int(super::number::round(1.0 / (ratio * ratio))).max(1),
        })
    }

    /// Rows and columns of tiles of the canvas that suits an image of `size` best.
    ///
    /// # Source
    /// `find_supported_resolutions` and `get_best_fit` of transformers 5.23.0, which vLLM calls. Both divide tensors of
    /// integers, so scales are `float32`, and compare them for equality.
    fn canvas(&self, size: ImageSize) -> Result<(u64, u64)> {
        size.sides()?;
        let scale = |(rows, columns): (u64, u64)| {
            let of = |tiles: u64, side_px: u32| (tiles * self.tile_size_px) as f32 / side_px as f32;
            let (by_height, by_width) = (of(rows, size.height_px), of(columns, size.width_px));
            if by_height > by_width { by_width } else { by_height }
        };
        let canvases = self.canvases();
        let scales = || canvases.iter().map(|canvas| scale(*canvas));
        let enlarging = scales().filter(|scale| *scale >= 1.0);
        let best = if self.resize_to_max_canvas {
            enlarging.reduce(f32::max)
        } else {
            enlarging.reduce(f32::min)
        };
        // Where no canvas is as large as the image, the one that shrinks it least.
        let best = best.or_else(|| scales().reduce(f32::max));
        // Of several that suit equally well the smallest, and of those the first.
        let fitting = canvases.iter().filter(|canvas| Some(scale(**canvas)) == best);
        Ok(fitting
            .min_by_key(|(rows, columns)| rows * columns)
            .copied()
            .unwrap_or((1, 1)))
    }

    /// Every canvas of at most as many tiles as there may be. Those of one aspect ratio stand together, where the
    /// largest of them was found: from many tiles to few, and from few rows to many.
    fn canvases(&self) -> Vec<(u64, u64)> {
        let mut by_ratio: Vec<(f64, Vec<(u64, u64)>)> = Vec::new();
        for tiles in (1..=self.max_tiles).rev() {
            for rows in (1..=tiles).filter(|rows| tiles.is_multiple_of(*rows)) {
                let columns = tiles / rows;
                let ratio = rows as f64 / columns as f64;
                match by_ratio.iter_mut().find(|(known, _)| *known == ratio) {
                    Some((_, canvases)) => canvases.push((rows, columns)),
                    None => by_ratio.push((ratio, vec![(rows, columns)])),
                }
            }
        }
        by_ratio.into_iter().flat_map(|(_, canvases)| canvases).collect()
    }
}

impl Family for Llama4 {
    fn contract(&self) -> &'static Contract {
        &CONTRACT
    }

    fn expand(&self, media: &Media) -> Result<Expansion> {
        let Media::Image(size) = media else {
            return Err(media.unsupported(CONTRACT.family));
        };
        let (rows, columns) = self.canvas(*size)?;
        let patches_per_side = self.tile_size_px / self.patch_size;
        let patches = (patches_per_side * patches_per_side / self.downsample) as usize;
        let mut expansion = Expansion::new().token("<|image_start|>");
        if rows * columns > 1 {
            for _ in 0..rows {
                for column in 0..columns {
                    if column > 0 {
                        expansion = expansion.token("<|tile_x_separator|>");
                    }
                    expansion = expansion.features("<|patch|>", patches);
                }
                expansion = expansion.token("<|tile_y_separator|>");
            }
        }
        Ok(expansion
            .token("<|image|>")
            .features("<|patch|>", patches)
            .token("<|image_end|>"))
    }
}
