//! How Qwen's and GLM's image processors resize: to whole tokens, within bounds on the number of pixels.

use super::ImageSize;
use super::number::{int, round};
use crate::{Error, ErrorKind, Result};

/// An image or the frames of a video may not be longer than this many times their other side.
const MAX_ASPECT_RATIO: f64 = 200.0;

/// Bounds on the pixels of an image or of all frames of a video together, and what one token covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Both sides become multiples of this.
    pub(super) factor_px: u64,
    pub(super) min_pixels: u64,
    pub(super) max_pixels: u64,
}

impl Bounds {
    /// The size of an image after resizing.
    ///
    /// # Source
    /// `smart_resize` of transformers 5.23.0 (`qwen2_vl`), which vLLM calls.
    pub(super) fn resize(&self, size: ImageSize) -> Result<(u64, u64)> {
        let (width, height) = size.sides()?;
        self.fit(size, width, height, 1.0, 1.0)
    }

    /// The size of the frames of a video of `frames` frames after resizing.
    ///
    /// # Source
    /// `smart_resize` of transformers 5.23.0 (`qwen3_vl` and `glm4v`, alike).
    pub(super) fn resize_frames(&self, size: ImageSize, frames: u64, temporal_factor: u64) -> Result<(u64, u64)> {
        if frames < temporal_factor {
            return Err(Error::new(ErrorKind::TooFewFrames {
                frames: frames as usize,
                at_least: temporal_factor as usize,
            }));
        }
        let (mut width, mut height) = size.sides()?;
        let factor = self.factor_px as f64;
        if height < factor || width < factor {
            // `max(a, b)`: which one comes first does not matter for numbers.
            let scale = (factor / height).max(factor / width);
            height = int(height * scale) as f64;
            width = int(width * scale) as f64;
        }
        let (frames, temporal_factor) = (frames as f64, temporal_factor as f64);
        let whole_frames = round(frames / temporal_factor) * temporal_factor;
        self.fit(size, width, height, frames, whole_frames)
    }

    fn fit(&self, size: ImageSize, width: f64, height: f64, frames: f64, whole_frames: f64) -> Result<(u64, u64)> {
        if width.max(height) / width.min(height) > MAX_ASPECT_RATIO {
            return Err(Error::new(ErrorKind::AspectRatio {
                width_px: size.width_px,
                height_px: size.height_px,
                limit: MAX_ASPECT_RATIO as u32,
            }));
        }
        let factor = self.factor_px as f64;
        let (min_pixels, max_pixels) = (self.min_pixels as f64, self.max_pixels as f64);
        let nearest = |side: f64| round(side / factor) * factor;
        let (mut fit_width, mut fit_height) = (nearest(width), nearest(height));
        let pixels = whole_frames * fit_height * fit_width;
        if pixels > max_pixels {
            let beta = (frames * height * width / max_pixels).sqrt();
            let shrink = |side: f64| ((side / beta / factor).floor() * factor).max(factor);
            (fit_width, fit_height) = (shrink(width), shrink(height));
        } else if pixels < min_pixels {
            let beta = (min_pixels / (frames * height * width)).sqrt();
            let grow = |side: f64| (side * beta / factor).ceil() * factor;
            (fit_width, fit_height) = (grow(width), grow(height));
        }
        Ok((int(fit_width), int(fit_height)))
    }
}
