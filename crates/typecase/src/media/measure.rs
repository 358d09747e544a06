//! What is known of a media item without decoding it.

use crate::prompt::Modality;
use crate::{Error, ErrorKind, Result};

/// Width and height of an image or of the frames of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Width, in pixels.
    pub width_px: u32,
    /// Height, in pixels.
    pub height_px: u32,
}

impl ImageSize {
    /// A size of `width_px` times `height_px` pixels.
    pub const fn new(width_px: u32, height_px: u32) -> Self {
        ImageSize { width_px, height_px }
    }

    /// Both sides as Python's floats have them.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyImage`] (client) if a side is 0, where the references divide by zero.
    pub(super) fn sides(self) -> Result<(f64, f64)> {
        if self.width_px == 0 || self.height_px == 0 {
            return Err(Error::new(ErrorKind::EmptyImage {
                width_px: self.width_px,
                height_px: self.height_px,
            }));
        }
        Ok((f64::from(self.width_px), f64::from(self.height_px)))
    }
}

/// The frames of a video that an engine will see.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoSample {
    /// Size of the frames.
    pub size: ImageSize,
    /// Number of each sampled frame in the file, counted from 0, in order.
    pub frames: Vec<u64>,
    /// Frames per second of the file, which turns frame numbers into times. Where it is not known, references that
    /// write times take 24.
    pub fps: Option<f64>,
}

/// A media item, as far as it has to be known to count its tokens.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Media {
    /// A still image, by its size after its EXIF orientation was or was not applied, as the engine has it.
    Image(ImageSize),
    /// A video.
    Video(VideoSample),
    /// A sound, by its number of samples.
    Audio {
        /// Samples of one channel.
        samples: u64,
        /// Samples per second.
        sample_rate_hz: u32,
    },
}

impl Media {
    /// An image of `width_px` times `height_px` pixels.
    pub const fn image(width_px: u32, height_px: u32) -> Self {
        Media::Image(ImageSize::new(width_px, height_px))
    }

    /// What kind of media it is.
    pub fn modality(&self) -> Modality {
        match self {
            Media::Image(_) => Modality::Image,
            Media::Video(_) => Modality::Video,
            Media::Audio { .. } => Modality::Audio,
        }
    }

    /// The error of a `family` that does not take this kind of media.
    pub(super) fn unsupported(&self, family: &'static str) -> Error {
        Error::new(ErrorKind::UnsupportedMedia {
            modality: self.modality(),
            family,
        })
    }
}
