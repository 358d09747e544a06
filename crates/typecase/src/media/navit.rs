//! How Kimi's image processors resize: shrink to a number of patches, then pad to whole tokens.

use super::ImageSize;
use super::number::{int, padding};
use super::settings::Section;
use crate::{Error, ErrorKind, Result};

/// Limits of the resizing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Side of a patch, in pixels.
    pub patch_size: u64,
    /// Patches of a side that make one token.
    pub merge_kernel_size: u64,
    /// Patches of an image.
    pub in_patch_limit: u64,
    /// Patches of one side of an image.
    pub patch_limit_on_one_side: u64,
    /// A fixed number of tokens for any image.
    pub fixed_output_tokens: Option<u64>,
}

/// What becomes of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// Number of tokens.
    pub token_count: u64,
    /// Size after shrinking, before padding.
    pub size: ImageSize,
    /// Pixels added on the right and at the bottom.
    pub padding: ImageSize,
    /// Frames, rows and columns of patches.
    pub grid_thw: [u64; 3],
}

impl Limits {
    pub(super) fn load(section: &Section<'_>, default: Limits) -> Result<Limits> {
        Ok(Limits {
            patch_size: section.count("patch_size", default.patch_size)?,
            merge_kernel_size: section.count("merge_kernel_size", default.merge_kernel_size)?,
            in_patch_limit: section.count("in_patch_limit", default.in_patch_limit)?,
            patch_limit_on_one_side: section.count("patch_limit_on_one_side", default.patch_limit_on_one_side)?,
            fixed_output_tokens: section.optional_count("fixed_output_tokens")?,
        })
    }

    /// What becomes of an image of `size`.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyImage`] (client) if a side is 0; [`ErrorKind::ModelSetting`] (server) if the limits
    /// contradict each other.
    /// # Source
    /// `navit_resize_image` of vLLM 0.33.0 and of the checkpoints' own processors.
    pub fn resize(&self, size: ImageSize) -> Result<Resized> {
        let (width, height) = size.sides()?;
        let patches = |side_px: u32| (u64::from(side_px) / self.patch_size).max(1) as f64;
        let longest = (self.patch_limit_on_one_side * self.patch_size) as f64;
        let scale = (self.in_patch_limit as f64 / (patches(size.width_px) * patches(size.height_px)))
            .sqrt()
            .min(longest / width)
            .min(longest / height)
            .min(1.0);
        let shrink = |side: f64| int(side * scale).max(1).min(longest as u64);
        let (width, height) = (shrink(width), shrink(height));
        let factor = self.merge_kernel_size * self.patch_size;
        let (right, bottom) = (padding(width, factor), padding(height, factor));
        let (columns, rows) = ((width + right) / factor, (height + bottom) / factor);
        let token_count = match self.fixed_output_tokens {
            Some(fixed) => fixed,
            None if columns.max(rows) * self.merge_kernel_size > self.patch_limit_on_one_side => {
                return Err(Error::new(ErrorKind::ModelSetting {
                    key: "patch_limit_on_one_side".to_owned(),
                    found: self.patch_limit_on_one_side.to_string(),
                    expected: format!("a multiple of merge_kernel_size ({})", self.merge_kernel_size),
                }));
            }
            None => columns * rows,
        };
        Ok(Resized {
            token_count,
            size: ImageSize::new(width as u32, height as u32),
            padding: ImageSize::new(right as u32, bottom as u32),
            grid_thw: [
                1,
                (height + bottom) / self.patch_size,
                (width + right) / self.patch_size,
            ],
        })
    }
}
