//! The media of a model: its family's contract held against its vocabulary, and where a template put its markers.
//!
//! Native formats write their placeholders themselves and know whose each is. A template only writes text. Its markers
//! are told from text that spells the same by who wrote them: what came from a field of the request never counts.

use super::ModelFiles;
use crate::engine::{ExpandedPrompt, expand};
use crate::media::{self, Anchor, Anchors, Contract, Family, Media, Vocabulary};
use crate::prompt::{MediaItem, Modality, Prompt, SpecialTokens, Warning, WarningKind};
use crate::request::{ChatRequest, Content, Part, PartKind};
use crate::tokenizer::{EncodeOptions, Tokenizer};
use crate::{Error, ErrorKind, Result};
use std::ops::Range;
use typecase_jinja::value::{Arena, Path, Value};

const PREPROCESSOR: &str = "preprocessor_config.json";
const VIDEO_PREPROCESSOR: &str = "video_preprocessor_config.json";
/// Where transformers 5 writes the settings of all processors of a checkpoint, each under a key.
const PROCESSOR: &str = "processor_config.json";

/// How a model takes media.
#[derive(Debug)]
pub struct ModelMedia {
    family: Box<dyn Family>,
    anchors: Anchors,
}

impl ModelMedia {
    /// That of the model whose `config.json` is `config`; `None` for a model without media, or of a family that is not
    /// known.
    pub(super) fn load(files: &ModelFiles, config: Value<'_>, tokenizer: &Tokenizer) -> Result<Option<Self>> {
        let model_type = config.lookup("model_type").and_then(|value| value.as_str());
        if model_type.and_then(media::contract).is_none() {
            return Ok(None);
        }
        let arena = Arena::new();
        let names = [PROCESSOR, PREPROCESSOR, VIDEO_PREPROCESSOR];
        let mut texts: [Option<String>; 3] = Default::default();
        let mut values: [Option<Value<'_>>; 3] = [None; 3];
        for (name, text) in names.iter().zip(&mut texts) {
            *text = files.read_optional(name)?;
        }
        for ((name, text), value) in names.iter().zip(&texts).zip(&mut values) {
            *value = text.as_ref().map(|text| files.parse(name, text, &arena)).transpose()?;
        }
        let [all, preprocessor, video] = values;
        let under = |key: &str| all.and_then(|all| all.lookup(key));
        let preprocessor = preprocessor.or_else(|| under("image_processor"));
        let video = video.or_else(|| under("video_processor"));
        let Some(family) = media::load(config, preprocessor, video)? else {
            return Ok(None);
        };
        let anchors = family.contract().anchors(config, tokenizer)?;
        Ok(Some(ModelMedia { family, anchors }))
    }

    /// Its family, with the settings of this checkpoint.
    pub fn family(&self) -> &dyn Family {
        self.family.as_ref()
    }

    /// The ids that adapters look for.
    pub fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// The ids of a canonical prompt with every placeholder expanded, as an engine's model sees them. `media` has the
    /// items in the order in which their placeholders stand; `tokenizer` is the model's.
    ///
    /// # Errors
    /// As [`expand`](crate::engine::expand::expand).
    pub fn expand(&self, ids: &[u32], media: &[Media], tokenizer: &Tokenizer) -> Result<ExpandedPrompt> {
        expand::expand(ids, media, self.family(), &self.anchors, tokenizer)
    }

    /// Finds the marker of each media item of `request` in a prompt that a template wrote, and notes it in the manifest.
    ///
    /// # Errors
    /// [`ErrorKind::MediaCount`] (client) if the template did not write one marker per item.
    pub(super) fn locate<'a>(&self, request: &ChatRequest<'a>, prompt: &mut Prompt<'a>) -> Result<()> {
        let contract = self.family.contract();
        let sent = sent(request);
        let mut places = markers(contract, prompt);
        let spelling_of = |modality: Modality| contract.item(modality).map(spelling);
        // Kinds of media that share a marker (Kimi K2.5's) are counted together.
        let counts = |modality: Modality, places: &[Place]| {
            let alike = |other: Modality| other == modality || spelling_of(other) == spelling_of(modality);
            let items = sent.iter().filter(|item| alike(item.modality)).count();
            let placeholders = places.iter().filter(|place| alike(place.modality)).count();
            match placeholders == items {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::MediaCount {
                    modality,
                    placeholders,
                    items,
                })),
            }
        };
        for modality in (sent.iter().map(|item| item.modality)).chain(places.iter().map(|place| place.modality)) {
            counts(modality, &places)?;
        }
        // A template writes media in the order in which they come; kinds with markers of their own are told apart.
        let mut items = Vec::with_capacity(sent.len());
        for (request_ordinal, item) in sent.iter().enumerate() {
            let wanted = spelling_of(item.modality);
            if let Some(next) = places.iter().position(|place| Some(place.spelling) == wanted) {
                items.push(MediaItem {
                    modality: item.modality,
                    request_ordinal,
                    message: item.message,
                    part: item.part,
                    source: item.source,
                    placeholder: places.remove(next).range,
                });
            }
        }
        items.sort_by_key(|item| item.placeholder.start);
        prompt.set_media(items);
        Ok(())
    }
}

/// Whether a request has media.
pub(super) fn has_media(request: &ChatRequest<'_>) -> bool {
    !sent(request).is_empty()
}

/// Tells of media whose places nobody knows, since the family of the model is not known to take any.
pub(super) fn warn_of_media(request: &ChatRequest<'_>, prompt: &mut Prompt<'_>) {
    for item in sent(request) {
        prompt.warn(Warning {
            path: Path::root()
                .within(item.part)
                .within("content")
                .within(item.message)
                .within("messages"),
            kind: WarningKind::MediaNotPlaced,
        });
    }
}

/// A media item of a request.
struct Sent<'a> {
    modality: Modality,
    message: usize,
    part: usize,
    source: Value<'a>,
}

/// The media of a request, in its order.
fn sent<'a>(request: &ChatRequest<'a>) -> Vec<Sent<'a>> {
    let mut sent = Vec::new();
    for (message, read) in request.messages().iter().enumerate() {
        let Content::Parts(parts) = read.content() else {
            continue;
        };
        for (part, &source) in parts.iter().enumerate() {
            if let Ok(Part {
                kind: PartKind::Media(modality),
                ..
            }) = Part::read(source)
            {
                sent.push(Sent {
                    modality,
                    message,
                    part,
                    source,
                });
            }
        }
    }
    sent
}

/// A marker that the template wrote.
struct Place {
    modality: Modality,
    spelling: &'static str,
    range: Range<usize>,
}

/// What adapters look for in the text of a marker.
fn spelling(item: &media::ItemContract) -> &'static str {
    match item.anchor {
        Anchor::Token { spelling, .. } => spelling,
        Anchor::Marker => item.marker,
    }
}

/// The markers in the text of a prompt all of whose bytes the template or trusted configuration wrote.
fn markers(contract: &'static Contract, prompt: &Prompt<'_>) -> Vec<Place> {
    let trusted = |range: &Range<usize>| prompt.provenance().is_trusted(range);
    let mut places: Vec<Place> = Vec::new();
    for item in contract.items {
        let spelling = spelling(item);
        if places.iter().any(|place| place.spelling == spelling) {
            continue;
        }
        let found = prompt.text().match_indices(spelling);
        let found = found.map(|(at, _)| at..at + spelling.len()).filter(trusted);
        places.extend(found.map(|range| Place {
            modality: item.modality,
            spelling,
            range,
        }));
    }
    places
}

// Stands here as neither side names the other: what an expansion asks of a vocabulary is what a tokenizer can answer.
impl Vocabulary for Tokenizer {
    fn token_id(&self, spelling: &str) -> Option<u32> {
        let whole = || match self.encode_text(spelling, SpecialTokens::None).as_deref() {
            Ok([id]) => Some(*id),
            _ => None,
        };
        self.added_tokens().id(spelling).or_else(whole)
    }

    fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_text(text, SpecialTokens::None)
    }

    fn encode_control(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_text(text, SpecialTokens::All)
    }
}

impl super::Model {
    /// How the model takes media; `None` for a model without media, of a family that is not known, or whose vocabulary lacks
    /// the placeholder of its family.
    pub fn media(&self) -> Option<&ModelMedia> {
        self.media.as_ref().ok()?.as_ref()
    }

    /// The tokens of each media item of a prompt, in the order of its manifest: where adapters find what they replace.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    ///
    /// # Example
    /// ```
    /// use typecase::{ChatRequest, Model, value::Arena};
    /// let model = Model::demo()?;
    /// let mut body = br#"{"messages": [{"role": "user", "content": [
    ///     {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]}"#.to_vec();
    /// let arena = Arena::new();
    /// let request = ChatRequest::parse(&mut body, &arena)?;
    /// let prompt = model.render(&request, &Default::default())?;
    /// let places = model.media_tokens(&prompt)?;
    /// let ids = model.encode(&prompt)?.into_ids();
    /// assert_eq!(places.len(), 1);
    /// assert_eq!(ids[places[0].clone()], [2837]); // `media_placeholder_token_id`
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn media_tokens(&self, prompt: &Prompt<'_>) -> Result<Vec<Range<usize>>> {
        if prompt.media().is_empty() {
            return Ok(Vec::new());
        }
        let tokens = self.tokenizer.encode_with(prompt, EncodeOptions::new().ranges(true))?;
        let ranges = tokens.ranges().unwrap_or_default();
        Ok(prompt.media().items().iter().map(|item| item.tokens(ranges)).collect())
    }
}
