//! Worker adapters: what cases expect of the ids that an engine gets.
//!
//! The checkpoint is the demo model that comes with the library: Kimi K3's layout and metadata, a vocabulary of its own.

use super::Case;
use super::check::{Verdict, check};
use super::request::Body;
use super::subject::{Failure, Got, as_request};
use typecase::engine::RawMedia;
use typecase::engine::sglang::Sglang;
use typecase::engine::vllm::{KimiK3, Resolved};
use typecase::prompt::{Modality, SpecialTokens};
use typecase::request::{ParseOptions, Validation};
use typecase::value::{Arena, Dict, Value, json};
use typecase::{ChatRequest, Model, Result};

use Verdict::{Fails, Holds};

/// What adapters have to do with.
struct Worker {
    model: Model,
    vllm: KimiK3,
    sglang: Sglang,
}

impl Worker {
    fn new() -> Result<Option<Self>> {
        let model = Model::demo()?;
        let arena = Arena::new();
        let config = json::parse_str(model.config_json(), &arena).ok();
        let (Resolved::KimiK3(vllm), Some(media)) = (KimiK3::resolve(config, model.tokenizer())?, model.media()) else {
            return Ok(None);
        };
        let sglang = Sglang::new(media.anchors().clone());
        Ok(Some(Worker { model, vllm, sglang }))
    }

    /// Ids with so many placeholders, among ids that are no tokenizer's: one for each letter.
    fn ids(&self, placeholders: usize) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        for index in 0..=placeholders {
            if index > 0 {
                ids.push(self.vllm.anchor());
            }
            for letter in ["w", "o", "r", "d"] {
                ids.extend(self.model.tokenizer().encode_text(letter, SpecialTokens::None)?);
            }
        }
        Ok(ids)
    }

    fn retokenized(&self, ids: &[u32]) -> Result<Vec<u32>> {
        let text = self.model.tokenizer().decode(ids)?;
        self.model.tokenizer().encode_text(&text, SpecialTokens::All)
    }

    /// `ids` with each placeholder replaced, the slow and obvious way.
    fn replaced(&self, ids: &[u32]) -> Vec<u32> {
        let mut out = Vec::new();
        for id in ids {
            match *id == self.vllm.anchor() {
                true => out.extend_from_slice(self.vllm.placeholder()),
                false => out.push(*id),
            }
        }
        out
    }
}

/// A case of which only ids and a number of media items are given: runs the adapter and holds what comes out against
/// what is expected.
pub(super) fn adapt<'a>(case: &Case<'_>, engine: Value<'_>, expected: &'a Dict<'a>) -> Vec<(&'a str, Verdict)> {
    let number = |name: &str| match engine.lookup(name) {
        Some(Value::Int(number, _)) => usize::try_from(number).ok(),
        _ => None,
    };
    let (Some(placeholders), Some(items)) = (number("placeholders_in_ids"), number("media_items")) else {
        return vec![("engine", Fails("no numbers".to_owned()))];
    };
    let run = || -> Result<_> {
        let Some(worker) = Worker::new()? else {
            return Ok(None);
        };
        let ids = worker.ids(placeholders)?;
        let media = RawMedia::NONE.images(items);
        let adapted = worker.vllm.prompt_ids(&ids, &media)?.into_owned();
        let kept = worker.sglang.prompt_ids(&ids, &media)? == ids;
        let unchanged = kept && adapted == worker.replaced(&ids);
        // Decoding and encoding again would have given other ids, which is what the case is about.
        let told_apart = worker.retokenized(&ids)? != ids;
        Ok(Some((unchanged, told_apart)))
    };
    match run() {
        Err(err) => check(case, expected, &Got::Refused(Failure::new(&err, false))),
        Ok(None) => vec![(
            "engine",
            Fails("the metadata of the checkpoint are not read".to_owned()),
        )],
        Ok(Some((unchanged, told_apart))) => named(expected)
            .into_iter()
            .map(|name| {
                let verdict = match name {
                    "ids_outside_placeholders_unchanged" => holds(unchanged, "other ids came out"),
                    "no_decode" => holds(unchanged && told_apart, "ids were made from text"),
                    _ => Fails("nothing was refused".to_owned()),
                };
                (name, verdict)
            })
            .collect(),
    }
}

/// A prompt whose ids do not depend on the engine: both adapters make their engine's form of the same ids.
pub(super) fn engines(case: &Case<'_>, expected: Value<'_>) -> Verdict {
    let run = || -> Result<Option<bool>> {
        let (Some(worker), Some(body)) = (Worker::new()?, case.body(None, None)) else {
            return Ok(None);
        };
        let text = match body {
            Body::Request(text) => text,
            Body::Arguments(text) => as_request(&text),
        };
        let mut bytes = text.into_bytes();
        let arena = Arena::new();
        let parse = ParseOptions::default().validation(Validation::Shape);
        let request = ChatRequest::parse_with(&mut bytes, &arena, &parse)?;
        let prompt = worker.model.render(&request, &case.options)?;
        let ids = worker.model.encode(&prompt)?.into_ids();
        let images = prompt.media().items().iter();
        let media = RawMedia::NONE.images(images.filter(|item| item.modality == Modality::Image).count());
        let sglang = worker.sglang.prompt_ids(&ids, &media)? == ids;
        let vllm = *worker.vllm.prompt_ids(&ids, &media)? == worker.replaced(&ids);
        let known = |name: &str| ["sglang", "vllm"].contains(&name);
        let asked = expected.as_dict().into_iter().flat_map(|engines| engines.str_entries());
        let all_known = asked.into_iter().all(|(name, _)| known(name.as_str()));
        Ok(Some(all_known && sglang && vllm && media.images > 0))
    };
    match run() {
        Ok(Some(true)) => Holds,
        Ok(_) => Fails("the ids of an engine are others".to_owned()),
        Err(err) => Fails(err.to_string()),
    }
}

/// The names of all expectations.
fn named<'a>(expected: &'a Dict<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (name, value) in expected.str_entries() {
        match (name.as_str(), value.as_dict()) {
            ("property", Some(properties)) => names.extend(named(properties)),
            (name, _) => names.push(name),
        }
    }
    names
}

fn holds(holds: bool, otherwise: &str) -> Verdict {
    match holds {
        true => Holds,
        false => Fails(otherwise.to_owned()),
    }
}
