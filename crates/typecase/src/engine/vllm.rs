//! vLLM.
//!
//! vLLM finds the places of media by the ids that its own frontend writes. For most families those are the canonical
//! ones. For Kimi K3 they are the ids of the checkpoint's `image_placeholder` (`<|kimi_image_placeholder|>`), which is
//! no token of the vocabulary but several ids of ordinary text.

use super::{RawMedia, scan, splice};
use crate::media::{Vocabulary, kimi_k3};
use crate::prompt::Modality;
use crate::{Error, ErrorKind, Result};
use std::borrow::Cow;
use typecase_jinja::value::Value;

/// What a checkpoint's metadata says about Kimi K3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It is Kimi K3, and everything is known. May be kept.
    KimiK3(KimiK3),
    /// It is another model, whose prompts this adapter leaves alone. May be kept.
    OtherModel,
    /// Something is missing that may be there later, while a worker starts. Not to be kept; prompts pass until then.
    NotYetKnown,
}

/// The adapter for Kimi K3 on vLLM.
///
/// # Source
/// The target of `KimiK3MultiModalProcessor` (vLLM 0.33.0), and the behaviour of dynamo's worker adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KimiK3 {
    anchor: u32,
    placeholder: Box<[u32]>,
}

impl KimiK3 {
    /// An adapter that puts `placeholder` in place of `anchor`.
    ///
    /// # Errors
    /// [`ErrorKind::ModelSetting`] (server) if `placeholder` is empty.
    pub fn new(anchor: u32, placeholder: impl Into<Box<[u32]>>) -> Result<Self> {
        let placeholder = placeholder.into();
        if placeholder.is_empty() {
            return Err(Error::new(ErrorKind::ModelSetting {
                key: "image_placeholder".to_owned(),
                found: "no ids".to_owned(),
                expected: "text of at least one token".to_owned(),
            }));
        }
        Ok(KimiK3 { anchor, placeholder })
    }

    /// Reads `media_placeholder_token_id` and `image_placeholder` of a checkpoint's `config.json`.
    ///
    /// `config` is `None` where there is no configuration yet.
    ///
    /// # Errors
    /// [`ErrorKind::ModelSetting`] (server) naming the key, if Kimi K3's configuration has one of the wrong type.
    pub fn resolve(config: Option<Value<'_>>, vocabulary: &dyn Vocabulary) -> Result<Resolved> {
        let present = |key: &str| config?.lookup(key).filter(|value| !value.is_none());
        let wrong = crate::media::wrong_setting;
        let Some(model_type) = present("model_type") else {
            return Ok(Resolved::NotYetKnown);
        };
        let model_type = (model_type.as_str()).ok_or_else(|| wrong("model_type", model_type, "a string"))?;
        if !kimi_k3::CONTRACT.model_types.contains(&model_type) {
            return Ok(Resolved::OtherModel);
        }
        let (Some(anchor), Some(placeholder)) = (present("media_placeholder_token_id"), present("image_placeholder"))
        else {
            return Ok(Resolved::NotYetKnown);
        };
        let anchor = match anchor {
            Value::Int(id, _) => u32::try_from(id).ok(),
            _ => None,
        }
        .ok_or_else(|| wrong("media_placeholder_token_id", anchor, "a token id"))?;
        let text = (placeholder.as_str().filter(|text| !text.is_empty()))
            .ok_or_else(|| wrong("image_placeholder", placeholder, "text of at least one token"))?;
        KimiK3::new(anchor, vocabulary.encode_control(text)?).map(Resolved::KimiK3)
    }

    /// The canonical placeholder.
    pub fn anchor(&self) -> u32 {
        self.anchor
    }

    /// What vLLM takes in its place.
    pub fn placeholder(&self) -> &[u32] {
        &self.placeholder
    }

    /// The ids that vLLM takes, for a prompt that came with `media`.
    ///
    /// Borrowed where there is nothing to do: without raw images, and for a prompt that is vLLM's own already, which
    /// has no canonical placeholder.
    ///
    /// # Errors
    /// [`ErrorKind::MediaCount`] (client) if there are not as many placeholders as images.
    /// [`ErrorKind::PlaceholderQuoted`] (client) if text in front of a placeholder has the very ids that vLLM looks for:
    /// vLLM would take it for the image's place.
    pub fn prompt_ids<'a>(&self, ids: &'a [u32], media: &RawMedia) -> Result<Cow<'a, [u32]>> {
        let items = media.count(Modality::Image);
        if items == 0 {
            return Ok(Cow::Borrowed(ids));
        }
        // One scan finds both the placeholders and what may be the start of text that spells vLLM's.
        let start = self.placeholder[0];
        let mut found = scan::positions(ids, |id| (id == self.anchor) | (id == start));
        let quoted = found
            .iter()
            .copied()
            .find(|at| self.placeholder[..] != [self.anchor] && ids[*at..].starts_with(&self.placeholder));
        found.retain(|at| ids[*at] == self.anchor);
        if found.is_empty() {
            return Ok(Cow::Borrowed(ids));
        }
        if found.len() != items {
            return Err(Error::new(ErrorKind::MediaCount {
                modality: Modality::Image,
                placeholders: found.len(),
                items,
            }));
        }
        // Text behind the last placeholder is harmless: by then vLLM has found as many as it looks for.
        if let Some(position) = quoted.filter(|at| found.last().is_some_and(|last| at < last)) {
            return Err(Error::new(ErrorKind::PlaceholderQuoted { position }));
        }
        if self.placeholder[..] == [self.anchor] {
            return Ok(Cow::Borrowed(ids));
        }
        Ok(Cow::Owned(splice::replace_each(ids, &found, &self.placeholder)))
    }
}
