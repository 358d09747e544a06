//! What each model family's prompts carry for an image, a video or a sound, and what engines make of it.
//!
//! A format writes one **marker** per media item. In the marker stands the **anchor**, wherever the checkpoint has one
//! registered token for it; adapters ([`crate::engine`]) find it by its id. What an engine puts in its place is the
//! item's [`Expansion`]: its frame and one placeholder per feature, of which there are as many as the image processor
//! of the checkpoint would make of an image of that size.
//!
//! ```text
//! marker     <|media_pad|>
//! expansion  <|media_begin|>image 1920x1080<|media_content|><|media_pad|> x 2691<|media_end|>
//! ```
//!
//! Everything here is arithmetic over sizes: no pixel is decoded and nothing is fetched. Image sizes are read from the
//! first bytes of a file by [`image_header`]. A family is one file: its [`Contract`], its settings and its arithmetic.
//!
//! | family | images | video | counted from |
//! |---|---|---|---|
//! | [`kimi_k3`] | yes | | size |
//! | [`kimi_k25`] | yes | in chunks, one item each | size, frames |
//! | [`qwen_vl`] (2, 2.5) | yes | yes | size, frames |
//! | [`qwen_vl`] (3, 3.5) | yes | with timestamps | size, frames and their times |
//! | [`gemma3`] | yes | | size, where pan-and-scan is on |
//! | [`llama4`] | yes | | size |
//! | [`glm4v`] | yes | with timestamps | size, frames and their times |
//! | [`internvl`] | yes | yes | size, frames |

pub mod contract;
pub mod expansion;
pub mod gemma3;
pub mod glm4v;
pub mod image_header;
pub mod internvl;
pub mod kimi_k25;
pub mod kimi_k3;
pub mod llama4;
pub mod measure;
pub mod qwen_vl;

mod data_url;
mod navit;
mod number;
mod settings;
mod smart_resize;

pub use contract::{Anchor, Anchors, Contract, ItemContract, Needs, Replaces};
pub use expansion::{Expansion, ExpansionIds, Piece, Vocabulary};
pub use image_header::{ImageHeader, Orientation};
pub use measure::{ImageSize, Media, VideoSample};
pub use navit::{Limits, Resized};
pub use settings::Settings;
pub(crate) use settings::wrong as wrong_setting;

use crate::Result;
use typecase_jinja::value::Value;

/// A family, with the settings of one checkpoint.
pub trait Family: std::fmt::Debug + Send + Sync {
    /// What its prompts carry.
    fn contract(&self) -> &'static Contract;

    /// What stands in an engine's prompt for `media`.
    ///
    /// # Errors
    /// Media of a kind that the family does not take, an empty image, a shape that its image processor refuses, and
    /// a video that lacks what its contract [needs](ItemContract::needs).
    fn expand(&self, media: &Media) -> Result<Expansion>;

    /// Number of features of `media`: positions of an engine's prompt that hold embeddings.
    ///
    /// # Errors
    /// As [`expand`](Self::expand).
    fn token_count(&self, media: &Media) -> Result<usize> {
        Ok(self.expand(media)?.feature_count())
    }
}

type Load = fn(&Settings<'_>) -> Result<Box<dyn Family>>;

/// Every family: what it goes by in `model_type`, and how to read its settings.
const FAMILIES: &[(&Contract, Load)] = &[
    (&kimi_k3::CONTRACT, |settings| {
        Ok(Box::new(kimi_k3::KimiK3::load(settings)?))
    }),
    (&kimi_k25::CONTRACT, |settings| {
        Ok(Box::new(kimi_k25::KimiK25::load(settings)?))
    }),
    (&qwen_vl::QWEN2_CONTRACT, |settings| {
        Ok(Box::new(qwen_vl::QwenVl::load_2(settings)?))
    }),
    (&qwen_vl::QWEN3_CONTRACT, |settings| {
        Ok(Box::new(qwen_vl::QwenVl::load_3(settings)?))
    }),
    (&gemma3::CONTRACT, |settings| {
        Ok(Box::new(gemma3::Gemma3::load(settings)?))
    }),
    (&llama4::CONTRACT, |settings| {
        Ok(Box::new(llama4::Llama4::load(settings)?))
    }),
    (&glm4v::GLM4V_CONTRACT, |settings| {
        Ok(Box::new(glm4v::Glm4v::load_4v(settings)?))
    }),
    (&glm4v::GLM46V_CONTRACT, |settings| {
        Ok(Box::new(glm4v::Glm4v::load_46v(settings)?))
    }),
    (&internvl::CHAT_CONTRACT, |settings| {
        Ok(Box::new(internvl::InternVl::load_chat(settings)?))
    }),
    (&internvl::HF_CONTRACT, |settings| {
        Ok(Box::new(internvl::InternVl::load_hf(settings)?))
    }),
];

/// The contracts of every family that is known.
pub fn contracts() -> impl ExactSizeIterator<Item = &'static Contract> {
    FAMILIES.iter().map(|(contract, _)| *contract)
}

/// The contract of the family that `model_type` of `config.json` names.
pub fn contract(model_type: &str) -> Option<&'static Contract> {
    contracts().find(|contract| contract.model_types.contains(&model_type))
}

/// Loads the family of a checkpoint, from the contents of its `config.json` and, where it has them, its
/// `preprocessor_config.json` and `video_preprocessor_config.json`. `None` for a model without media, or of a family
/// that is not known.
///
/// # Errors
/// [`ErrorKind::ModelSetting`](crate::ErrorKind::ModelSetting) (server) for a setting of the wrong type.
pub fn load(
    config: Value<'_>,
    preprocessor: Option<Value<'_>>,
    video_preprocessor: Option<Value<'_>>,
) -> Result<Option<Box<dyn Family>>> {
    let Some(model_type) = config.lookup("model_type").and_then(|value| value.as_str()) else {
        return Ok(None);
    };
    let Some((_, load)) = FAMILIES
        .iter()
        .find(|(contract, _)| contract.model_types.contains(&model_type))
    else {
        return Ok(None);
    };
    load(&Settings::new(config, preprocessor, video_preprocessor)).map(Some)
}

#[cfg(test)]
pub(crate) mod tests;
