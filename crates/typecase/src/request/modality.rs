//! Kinds of media.

/// What kind of media an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Modality {
    /// A still image.
    Image,
    /// A video.
    Video,
    /// Sound.
    Audio,
}

impl Modality {
    /// `image`, `video` or `audio`.
    pub fn as_str(self) -> &'static str {
        match self {
            Modality::Image => "image",
            Modality::Video => "video",
            Modality::Audio => "audio",
        }
    }
}
