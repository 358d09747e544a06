//! Kimi K2.5 (and K2.6): images, and videos in chunks of a few frames.
//!
//! ```text
//! image        <|media_begin|>image<|media_content|><|media_pad|><|media_end|>
//! video chunk  00:00:02.000<|media_begin|>video<|media_content|><|media_pad|><|media_end|>
//! ```
//!
//! The frame is in the prompt already; engines put one `<|media_pad|>` per token in place of the one. vLLM calls both
//! kinds `vision_chunk`. A template writes `<|kimi_k25_video_placeholder|>`, ordinary text, for a whole video; the
//! checkpoint's processor replaces it with the prompts of its chunks ([`KimiK25::video_prompt`]) before the text is
//! encoded. The features of a chunk are averaged over its frames, so it has as many tokens as one of them.

use super::navit::{Limits, Resized};
use super::number::{int, round};
use super::settings::wrong_text;
use super::{
    Anchor, Contract, Expansion, Family, ImageSize, ItemContract, Media, Needs, Replaces, Settings, VideoSample,
};
use crate::Result;
use crate::prompt::Modality;
use std::fmt::Write;

const PAD: Anchor = Anchor::Token {
    spelling: "<|media_pad|>",
    config_key: Some("media_placeholder_token_id"),
};

/// What its prompts carry. A video's entry is that of one chunk.
pub const CONTRACT: Contract = Contract {
    family: "kimi_k25",
    model_types: &["kimi_k25"],
    items: &[
        ItemContract {
            modality: Modality::Image,
            marker: "<|media_begin|>image<|media_content|><|media_pad|><|media_end|>",
            anchor: PAD,
            replaces: Replaces::Anchor,
            needs: Needs::Size,
        },
        ItemContract {
            modality: Modality::Video,
            marker: "<|media_begin|>video<|media_content|><|media_pad|><|media_end|>",
            anchor: PAD,
            replaces: Replaces::Anchor,
            needs: Needs::Frames,
        },
    ],
};

/// The limits in K2.5's `preprocessor_config.json`.
pub const LIMITS: Limits = Limits {
    in_patch_limit: 16_384,
    ..super::kimi_k3::LIMITS
};

/// How the times of chunks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimestampMode {
    HoursMillis,
    MinutesMillis,
    Minutes,
}

/// Kimi K2.5 with the settings of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct KimiK25 {
    limits: Limits,
    frame_patch_limit: Option<u64>,
    video_patch_limit: Option<u64>,
    frames_per_chunk: usize,
    timestamp_mode: TimestampMode,
}

impl Default for KimiK25 {
    fn default() -> Self {
        KimiK25 {
            limits: LIMITS,
            frame_patch_limit: None,
            video_patch_limit: None,
            frames_per_chunk: 4,
            timestamp_mode: TimestampMode::HoursMillis,
        }
    }
}

impl KimiK25 {
    pub(super) fn load(settings: &Settings<'_>) -> Result<Self> {
        let section = settings.image().section("media_proc_cfg");
        let mode = section.text("timestamp_mode")?.unwrap_or("hh:mm:ss.fff");
        Ok(KimiK25 {
            limits: Limits::load(&section, LIMITS)?,
            frame_patch_limit: section.optional_count("in_patch_limit_each_frame")?,
            video_patch_limit: section.optional_count("in_patch_limit_video")?,
            frames_per_chunk: section.count("temporal_merge_kernel_size", 4)? as usize,
            timestamp_mode: match mode {
                "hh:mm:ss.fff" => TimestampMode::HoursMillis,
                "mm:ss.fff" => TimestampMode::MinutesMillis,
                "mm:ss" => TimestampMode::Minutes,
                other => {
                    return Err(wrong_text(
                        "media_proc_cfg.timestamp_mode",
                        other,
                        "hh:mm:ss.fff, mm:ss.fff or mm:ss",
                    ));
                }
            },
        })
    }

    /// What becomes of the frames of a chunk.
    ///
    /// # Source
    /// `get_resize_config` of the checkpoint's `KimiK25VisionProcessor`, for a `video_chunk`.
    fn resize_chunk(&self, size: ImageSize, frames: usize) -> Result<Resized> {
        let mut limits = self.limits;
        limits.in_patch_limit = self.frame_patch_limit.unwrap_or(limits.in_patch_limit);
        if let Some(total) = self.video_patch_limit {
            let share = int(round(total as f64 / frames.max(1) as f64));
            limits.in_patch_limit = limits.in_patch_limit.min(share);
        }
        limits.resize(size)
    }

    /// The prompt of a whole video: the prompts of its chunks, with one placeholder each.
    ///
    /// # Source
    /// `split_video_chunks` of the checkpoint's `KimiK25VisionProcessor`.
    pub fn video_prompt(&self, video: &VideoSample) -> String {
        let mut prompt = String::new();
        let fps = video.fps.unwrap_or(24.0);
        for chunk in video.frames.chunks(self.frames_per_chunk.max(1)) {
            self.write_timestamp(&mut prompt, chunk[0] as f64 / fps);
            prompt.push_str("<|media_begin|>video<|media_content|><|media_pad|><|media_end|>");
        }
        prompt
    }

    fn write_timestamp(&self, out: &mut String, time: f64) {
        // Hours and minutes come from `datetime`, which rounds to microseconds (halves to even) and starts over each
        // day; the milliseconds are those of the float, dropped, not rounded.
        let carry = u64::from(round(time.fract() * 1e6) >= 1e6);
        let seconds = (int(time) + carry) % 86_400;
        let millis = int((time % 1.0) * 1000.0);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        // Writing to a `String` does not fail.
        let _ = match self.timestamp_mode {
            TimestampMode::HoursMillis => write!(out, "{hours:02}:{minutes:02}:{seconds:02}.{millis:03}"),
            TimestampMode::MinutesMillis => write!(out, "{minutes:02}:{seconds:02}.{millis:03}"),
            TimestampMode::Minutes => write!(out, "{minutes:02}:{seconds:02}"),
        };
    }
}

impl Family for KimiK25 {
    fn contract(&self) -> &'static Contract {
        &CONTRACT
    }

    /// `media` is an image or one chunk of a video.
    fn expand(&self, media: &Media) -> Result<Expansion> {
        let resized = match media {
            Media::Image(size) => self.limits.resize(*size)?,
            Media::Video(chunk) => self.resize_chunk(chunk.size, chunk.frames.len())?,
            Media::Audio { .. } => return Err(media.unsupported(CONTRACT.family)),
        };
        Ok(Expansion::new().features("<|media_pad|>", resized.token_count as usize))
    }
}
