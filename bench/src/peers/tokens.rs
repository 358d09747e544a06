//! Pipelines from request JSON to token ids: a template renderer joined to a tokenizer, as frontends join them.
//!
//! Cold means no cache across calls; warm pipelines carry each peer's own cache through the turns of a conversation,
//! empty at its start.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use dynamo_renderer::dynamo_tokenizers as dynamo_tok;
use dynamo_tok::traits::Encoder as _;
use serde_json::Value as Json;
use typecase::tokenizer::Trust;

use super::{ChatTemplate, Stage, TemplatePeer, basetenkenizer::Baseten, dynamo::DynamoTemplate, text};
use crate::{
    Contender, Verdict,
    peers::{llm_tokenizer::LlmTokenizer, typecase::Typecase},
    workload,
};

/// Budget of every cache, so that none gains by size.
const CACHE_BYTES: usize = 64 << 20;

/// Token ids, or the peer's error as text.
pub type Ids = Result<Vec<u32>, String>;

/// Whether a pipeline may remember earlier calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Every call is the first.
    Cold,
    /// The peer's own cache, emptied at the start of a conversation.
    Warm,
}

trait Tokenize {
    fn encode(&self, text: &str) -> Ids;
    /// Forgets earlier calls.
    fn forget(&self) {}
}

/// One for all pipelines that use it. `fastokens` keeps its words' ids by thread, for four tokenizers at most: with one
/// more, each batch would begin by filling them anew, which no server with one model does.
#[derive(Clone)]
struct Fastokens(Rc<RefCell<fastokens::Tokenizer>>, Cache);

impl Tokenize for Fastokens {
    fn encode(&self, prompt: &str) -> Ids {
        self.0.borrow().encode(prompt).map_err(text)
    }
    fn forget(&self) {
        if self.1 == Cache::Warm {
            self.0.borrow_mut().enable_segment_cache(CACHE_BYTES);
        }
    }
}

struct Basetenkenizer(basetenkenizer::Tokenizer);

impl Tokenize for Basetenkenizer {
    fn encode(&self, prompt: &str) -> Ids {
        self.0.encode(prompt).map_err(text)
    }
}

struct Tokenizers(tokenizers::Tokenizer);

impl Tokenize for Tokenizers {
    fn encode(&self, prompt: &str) -> Ids {
        self.0
            .encode_fast(prompt, false)
            .map(|encoding| encoding.get_ids().to_vec())
            .map_err(text)
    }
}

/// `dynamo-tokenizers`: the fastest backend its prefix cache accepts, behind that cache.
struct DynamoCached {
    inner: Arc<dyn dynamo_tok::traits::Tokenizer>,
    special_tokens: Vec<String>,
    cached: RefCell<dynamo_tok::CachedTokenizer>,
}

impl DynamoCached {
    fn new(path: &str, special_tokens: Vec<String>) -> Result<Self, String> {
        let inner: Arc<dyn dynamo_tok::traits::Tokenizer> =
            Arc::new(dynamo_tok::FastTokenizer::from_file(path).map_err(text)?);
        let cached = RefCell::new(Self::fresh(&inner, &special_tokens)?);
        Ok(Self {
            inner,
            special_tokens,
            cached,
        })
    }

    fn fresh(
        inner: &Arc<dyn dynamo_tok::traits::Tokenizer>,
        special_tokens: &[String],
    ) -> Result<dynamo_tok::CachedTokenizer, String> {
        let cached = dynamo_tok::CachedTokenizer::new(Arc::clone(inner), special_tokens.to_vec(), CACHE_BYTES);
        // Conversations grow at the end: the option made for them.
        cached.map(|cached| cached.with_extend(true)).map_err(text)
    }
}

impl Tokenize for DynamoCached {
    fn encode(&self, prompt: &str) -> Ids {
        self.cached
            .borrow()
            .encode(prompt)
            .map(|encoding| encoding.token_ids().to_vec())
            .map_err(text)
    }
    fn forget(&self) {
        if let Ok(fresh) = Self::fresh(&self.inner, &self.special_tokens) {
            self.cached.replace(fresh);
        }
    }
}

struct Llm(
    Box<dyn llm_tokenizer::traits::Encoder>,
    Option<Arc<llm_tokenizer::CachedTokenizer>>,
);

impl Llm {
    fn new(path: &str, cache: Cache) -> Result<Self, String> {
        let plain = llm_tokenizer::HuggingFaceTokenizer::from_file(path).map_err(text)?;
        if cache == Cache::Cold {
            return Ok(Self(Box::new(plain), None));
        }
        let config = llm_tokenizer::CacheConfig {
            enable_l1: true,
            l1_max_memory: CACHE_BYTES,
            ..llm_tokenizer::CacheConfig::default()
        };
        let cached = Arc::new(llm_tokenizer::CachedTokenizer::new(Arc::new(plain), config));
        Ok(Self(Box::new(Shared(Arc::clone(&cached))), Some(cached)))
    }
}

/// `Encoder` is not implemented for `Arc`s of encoders.
struct Shared(Arc<llm_tokenizer::CachedTokenizer>);

impl llm_tokenizer::traits::Encoder for Shared {
    fn encode(&self, input: &str, special: bool) -> anyhow::Result<llm_tokenizer::Encoding> {
        self.0.encode(input, special)
    }
    fn encode_batch(&self, inputs: &[&str], special: bool) -> anyhow::Result<Vec<llm_tokenizer::Encoding>> {
        self.0.encode_batch(inputs, special)
    }
}

impl Tokenize for Llm {
    fn encode(&self, prompt: &str) -> Ids {
        self.0
            .encode(prompt, false)
            .map(|encoding| encoding.token_ids().to_vec())
            .map_err(text)
    }
    fn forget(&self) {
        if let Some(cached) = &self.1 {
            cached.clear_cache();
        }
    }
}

/// `typecase`, whose tokenizer takes the prompt with its provenance instead of a text.
#[derive(Clone)]
struct Ours {
    template: Rc<Typecase>,
    tokenizer: Rc<RefCell<Option<typecase::Tokenizer>>>,
    trust: Trust,
    cache_bytes: usize,
}

impl Ours {
    fn new(template: &ChatTemplate, directory: &Path, cache: Cache) -> Result<Self, String> {
        let cache_bytes = match cache {
            Cache::Cold => 0,
            Cache::Warm => CACHE_BYTES,
        };
        let tokenizer = typecase::Tokenizer::load(directory)
            .map_err(text)?
            .cache_bytes(cache_bytes);
        Ok(Self {
            template: Rc::new(Typecase::new(template)?),
            tokenizer: Rc::new(RefCell::new(Some(tokenizer))),
            trust: Trust::Strict,
            cache_bytes,
        })
    }
}

/// From request JSON to ids.
trait FromJson {
    fn ids(&self, json: &str) -> Ids;
    /// Forgets earlier calls.
    fn forget(&self);
}

impl FromJson for Ours {
    fn ids(&self, json: &str) -> Ids {
        let tokenizer = self.tokenizer.borrow();
        let tokenizer = tokenizer.as_ref().ok_or("no tokenizer")?;
        self.template.ids(json, tokenizer, self.trust)
    }
    fn forget(&self) {
        let tokenizer = self.tokenizer.take();
        self.tokenizer
            .replace(tokenizer.map(|tokenizer| tokenizer.cache_bytes(self.cache_bytes)));
    }
}

/// A template and a tokenizer, joined by the text.
struct Joined {
    template: Box<dyn TemplatePeer>,
    tokenizer: Box<dyn Tokenize>,
}

impl FromJson for Joined {
    fn ids(&self, json: &str) -> Ids {
        let render = self.template.prepare(Stage::Json, json).ok_or("no way from JSON")?;
        self.tokenizer.encode(&render()?)
    }
    fn forget(&self) {
        self.tokenizer.forget();
    }
}

struct Pipeline {
    name: &'static str,
    way: Box<dyn FromJson>,
}

impl Pipeline {
    fn joined(name: &'static str, template: Box<dyn TemplatePeer>, tokenizer: Box<dyn Tokenize>) -> Self {
        Self {
            name,
            way: Box::new(Joined { template, tokenizer }),
        }
    }

    fn ids(&self, json: &str) -> Ids {
        self.way.ids(json)
    }

    fn conversation(&self, turns: &[String]) -> Result<Vec<Vec<u32>>, String> {
        self.way.forget();
        turns.iter().map(|json| self.ids(json)).collect()
    }
}

/// All pipelines for one model.
pub struct TokenPeers {
    pipelines: Vec<Pipeline>,
    reference: Pipeline,
    times_reference: bool,
}

/// Where the directory of `model` would be: below `TYPECASE_MODELS` or `bench/models`.
#[must_use]
pub fn model_directory(model: &str) -> PathBuf {
    std::env::var_os("TYPECASE_MODELS")
        .map_or_else(|| workload::home().join("models"), PathBuf::from)
        .join(model)
}

impl TokenPeers {
    /// Loads `tokenizer.json` of `directory` into every tokenizer; or into those of `typecase` and of the pipeline `peer`
    /// alone, as a server has one: many in one process leave an allocator that slows down whoever allocates much.
    ///
    /// # Errors
    /// If a file is missing or a peer cannot load it.
    pub fn load(template: &ChatTemplate, directory: &Path, cache: Cache, peer: Option<&str>) -> Result<Self, String> {
        let path = directory.join("tokenizer.json");
        let file = path.to_str().ok_or("the path is not Unicode")?;
        if !path.exists() {
            return Err(format!("{file} is missing (see README: vocabularies)"));
        }
        let mut shared: Option<Fastokens> = None;
        let mut fast = || -> Result<Box<dyn Tokenize>, String> {
            let fastokens = match shared.take() {
                Some(fastokens) => fastokens,
                None => {
                    let tokenizer = fastokens::Tokenizer::from_file(&path).map_err(text)?;
                    Fastokens(Rc::new(RefCell::new(tokenizer)), cache)
                }
            };
            Ok(Box::new(shared.insert(fastokens).clone()))
        };
        let dynamo = || DynamoTemplate::new(template).map(|t| Box::new(t) as Box<dyn TemplatePeer>);
        let baseten = || Baseten::new(template).map(|t| Box::new(t) as Box<dyn TemplatePeer>);
        let llm = || LlmTokenizer::new(template).map(|t| Box::new(t) as Box<dyn TemplatePeer>);
        let hf = tokenizers::Tokenizer::from_file(&path).map_err(text)?;
        let typecase = Ours::new(template, directory, cache)?;
        let ours = |name, trust| {
            let way = Ours {
                trust,
                ..typecase.clone()
            };
            Pipeline {
                name,
                way: Box::new(way),
            }
        };
        let mut pipelines = vec![
            ours("typecase", Trust::Strict),
            ours("typecase (compat)", Trust::Compat),
        ];
        let is_wanted = |name: &str| peer.is_none_or(|peer| peer == name);
        if is_wanted("dynamo + fastokens") {
            pipelines.push(Pipeline::joined("dynamo + fastokens", dynamo()?, fast()?));
        }
        if is_wanted("baseten + fastokens") {
            pipelines.push(Pipeline::joined("baseten + fastokens", baseten()?, fast()?));
        }
        if is_wanted("llm-tokenizer") {
            pipelines.push(Pipeline::joined(
                "llm-tokenizer",
                llm()?,
                Box::new(Llm::new(file, cache)?),
            ));
        }
        if cache == Cache::Cold && is_wanted("baseten") {
            let own = basetenkenizer::Tokenizer::from_file(&path).map_err(text)?;
            pipelines.push(Pipeline::joined("baseten", baseten()?, Box::new(Basetenkenizer(own))));
        }
        if cache == Cache::Warm && is_wanted("dynamo-tokenizers") {
            let cached = DynamoCached::new(file, special_tokens(&path)?)?;
            pipelines.push(Pipeline::joined("dynamo-tokenizers", dynamo()?, Box::new(cached)));
        }
        let reference = Pipeline::joined("tokenizers", baseten()?, Box::new(Tokenizers(hf)));
        let times_reference = is_wanted(reference.name);
        Ok(Self {
            pipelines,
            reference,
            times_reference,
        })
    }

    /// Contenders that encode one request, held against the `tokenizers` crate.
    #[must_use]
    pub fn contenders<'a>(&'a self, json: &'a str) -> Vec<Contender<'a>> {
        let expected = self.reference.ids(json);
        self.all()
            .map(|pipeline| {
                let verdict = verdict(&pipeline.ids(json), &expected);
                Contender::new(pipeline.name, verdict, move || {
                    std::hint::black_box(pipeline.ids(json)).ok();
                })
            })
            .collect()
    }

    /// Contenders that encode every prefix of a conversation, as its turns come.
    #[must_use]
    pub fn conversations<'a>(&'a self, turns: &'a [String]) -> Vec<Contender<'a>> {
        let expected = self.reference.conversation(turns);
        self.pipelines
            .iter()
            .map(|pipeline| {
                let verdict = verdict(&pipeline.conversation(turns), &expected);
                Contender::new(pipeline.name, verdict, move || {
                    pipeline.way.forget();
                    for json in turns {
                        std::hint::black_box(pipeline.ids(json)).ok();
                    }
                })
            })
            .collect()
    }

    fn all(&self) -> impl Iterator<Item = &Pipeline> {
        let reference = self.times_reference.then_some(&self.reference);
        self.pipelines.iter().chain(reference)
    }
}

fn verdict<T: PartialEq>(got: &Result<T, String>, expected: &Result<T, String>) -> Verdict {
    match (got, expected) {
        (Err(message), _) => Verdict::Fails(message.clone()),
        (_, Err(_)) => Verdict::Unchecked,
        (Ok(got), Ok(expected)) if got == expected => Verdict::Exact,
        _ => Verdict::Differs("other ids".to_owned()),
    }
}

/// The strings of the special added tokens in a `tokenizer.json`.
fn special_tokens(path: &Path) -> Result<Vec<String>, String> {
    let json: Json = serde_json::from_str(&std::fs::read_to_string(path).map_err(text)?).map_err(text)?;
    let added = json
        .get("added_tokens")
        .and_then(Json::as_array)
        .cloned()
        .unwrap_or_default();
    let special = added
        .iter()
        .filter(|token| token.get("special") == Some(&Json::Bool(true)));
    Ok(special
        .filter_map(|token| token.get("content")?.as_str().map(str::to_owned))
        .collect())
}
