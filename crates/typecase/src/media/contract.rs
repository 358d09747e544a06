//! What a family's prompts carry for a media item.

use super::Vocabulary;
use crate::prompt::Modality;
use crate::{Error, ErrorKind, Result};
use typecase_jinja::value::Value;

/// What the prompts of one family carry for media.
#[derive(Debug)]
pub struct Contract {
    /// The name of the family.
    pub family: &'static str,
    /// What `model_type` of `config.json` may say.
    pub model_types: &'static [&'static str],
    /// One entry for each kind of media that the family takes.
    pub items: &'static [ItemContract],
}

/// What stands for one item of a kind of media.
#[derive(Debug)]
pub struct ItemContract {
    /// The kind of media.
    pub modality: Modality,
    /// What the format or the template writes for one item.
    pub marker: &'static str,
    /// What adapters look for.
    pub anchor: Anchor,
    /// What of the marker the expansion stands in place of.
    pub replaces: Replaces,
    /// What has to be known of an item to count its tokens.
    pub needs: Needs,
}

/// What adapters look for in the ids of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// One registered token of the marker.
    Token {
        /// Its spelling.
        spelling: &'static str,
        /// The key of `config.json` that names its id, where there is one.
        config_key: Option<&'static str>,
    },
    /// The marker itself, which is ordinary text or several tokens. No id tells it from text that spells the same:
    /// only the place where the format wrote it does, so adapters need the positions of the media manifest.
    Marker,
}

/// What of the marker the expansion stands in place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// The anchor; what frames it in the marker stays.
    Anchor,
    /// The whole marker: so many tokens before the anchor and after it.
    Marker {
        /// Tokens before the anchor.
        before: usize,
        /// Tokens after the anchor.
        after: usize,
    },
}

/// What has to be known of an item to count its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: all items have as many.
    Nothing,
    /// Width and height of the original, as the engine has it. EXIF orientation swaps them for an engine that turns
    /// images upright: vLLM (since its `normalize_image`) and transformers do, SGLang 0.5.23 does not.
    Size,
    /// Width, height and the number of sampled frames.
    Frames,
    /// Width, height, the numbers of the sampled frames, and frames per second.
    FrameTimes,
}

/// The ids of a checkpoint's anchors, checked when it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    ids: Vec<(Modality, u32)>,
}

impl Anchors {
    /// Anchors by id, for adapters whose caller knows them.
    pub fn new(ids: impl IntoIterator<Item = (Modality, u32)>) -> Self {
        Anchors {
            ids: ids.into_iter().collect(),
        }
    }

    /// The id that stands for an item of `modality`, if one does.
    pub fn id(&self, modality: Modality) -> Option<u32> {
        self.iter().find(|(of, _)| *of == modality).map(|(_, id)| id)
    }

    /// Each kind of media with the id that stands for an item of it.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Modality, u32)> {
        self.ids.iter().copied()
    }
}

impl Contract {
    /// What stands for an item of `modality`.
    pub fn item(&self, modality: Modality) -> Option<&'static ItemContract> {
        self.items.iter().find(|item| item.modality == modality)
    }

    /// Looks up the anchors of a checkpoint and checks that each is one registered token, and the one that
    /// `config.json` names.
    ///
    /// # Errors
    /// [`ErrorKind::PlaceholderNotRegistered`] (server) if an anchor is no token of the vocabulary or does not encode to
    /// its one id; [`ErrorKind::ModelSetting`] (server) if `config` names another id.
    pub fn anchors(&self, config: Value<'_>, vocabulary: &dyn Vocabulary) -> Result<Anchors> {
        let mut anchors = Anchors::default();
        for item in self.items {
            let Anchor::Token { spelling, config_key } = item.anchor else {
                continue;
            };
            let encoded = vocabulary.encode_control(spelling)?;
            let id = match (vocabulary.token_id(spelling), encoded.as_slice()) {
                (Some(id), [only]) if id == *only => id,
                _ => {
                    return Err(Error::new(ErrorKind::PlaceholderNotRegistered {
                        token: spelling.to_owned(),
                        ids: encoded,
                    }));
                }
            };
            let named = config_key.and_then(|key| Some((key, config.lookup(key)?)));
            if let Some((key, value)) = named
                && !matches!(value, Value::Int(named, _) if named == i64::from(id))
            {
                return Err(super::settings::wrong(
                    key,
                    value,
                    &format!("{id}, the id of {spelling}"),
                ));
            }
            anchors.ids.push((item.modality, id));
        }
        Ok(anchors)
    }
}
