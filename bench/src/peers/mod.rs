//! Each peer as a competent user would call it: compile once, render per request, all switched on that exactness needs.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::{
    Contender, Stage, Verdict,
    reference::verdict,
    templates::{Arguments, ChatTemplate},
};

pub mod basetenkenizer;
pub mod dynamo;
pub mod hf_chat_template;
pub mod kimi_k3;
pub mod llm_tokenizer;
pub mod minijinja;
#[cfg(feature = "tokens")]
pub mod tokens;
pub mod typecase;

/// The tokens a tokenizer configuration would add to the template's variables.
pub const SPECIAL_TOKENS: [(&str, &str); 4] = [
    ("bos_token", "<s>"),
    ("eos_token", "</s>"),
    ("unk_token", "<unk>"),
    ("pad_token", "<pad>"),
];

/// A prompt, or the peer's error as text.
pub type Output = Result<String, String>;

/// A closure that renders one prepared case.
pub type Render<'a> = Box<dyn Fn() -> Output + 'a>;

/// A renderer of one chat template.
pub trait TemplatePeer {
    /// Name in tables and benchmark ids.
    fn name(&self) -> &'static str;

    /// Prepares all that lies before `stage`; what remains is timed. `None` if the peer has no such stage.
    fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>>;
}

type Make = fn(&ChatTemplate) -> Result<Box<dyn TemplatePeer>, String>;

const TEMPLATE_PEERS: [(&str, Make); 6] = [
    ("minijinja 2", |t| Ok(Box::new(minijinja::V2::new(t)?))),
    ("minijinja 3", |t| Ok(Box::new(minijinja::V3::new(t)?))),
    ("basetenkenizer", |t| Ok(Box::new(basetenkenizer::Baseten::new(t)?))),
    ("hf-chat-template", |t| {
        Ok(Box::new(hf_chat_template::HfChatTemplate::new(t)?))
    }),
    ("llm-tokenizer", |t| Ok(Box::new(llm_tokenizer::LlmTokenizer::new(t)?))),
    ("dynamo", |t| Ok(Box::new(dynamo::DynamoTemplate::new(t)?))),
];

/// One template compiled by every peer that can.
pub struct TemplatePeers {
    own: Result<typecase::Typecase, String>,
    compiled: Vec<(&'static str, Result<Box<dyn TemplatePeer>, String>)>,
}

impl TemplatePeers {
    /// Compiles `template` with all peers.
    #[must_use]
    pub fn compile(template: &ChatTemplate) -> Self {
        Self {
            own: typecase::Typecase::new(template),
            compiled: TEMPLATE_PEERS
                .iter()
                .map(|(name, make)| (*name, make(template)))
                .collect(),
        }
    }

    /// The contenders at `stage`, each already held against `expected`.
    #[must_use]
    pub fn contenders<'a>(&'a self, stage: Stage, json: &'a str, expected: &str) -> Vec<Contender<'a>> {
        let own = match &self.own {
            Ok(own) => own.contenders(stage, json, expected),
            Err(message) => vec![Contender::new("typecase", Verdict::Fails(message.clone()), || ())],
        };
        let peers = self.compiled.iter().filter_map(|(name, peer)| match peer {
            Err(message) => Some(Contender::new(name, Verdict::Fails(message.clone()), || ())),
            Ok(peer) => {
                let render = peer.prepare(stage, json)?;
                let verdict = verdict(&render(), expected);
                Some(Contender::new(peer.name(), verdict, move || {
                    std::hint::black_box(render()).ok();
                }))
            }
        });
        own.into_iter().chain(peers).collect()
    }
}

/// The part of a chat request that templates read, over any value type.
#[derive(Deserialize)]
struct ChatRequest<M, T> {
    messages: M,
    #[serde(default = "Option::default")]
    tools: Option<T>,
}

/// Parses a request into JSON values, arguments in the form the template takes.
fn parse_request(json: &str, arguments: Arguments) -> Result<ChatRequest<Vec<Json>, Vec<Json>>, String> {
    let mut request: ChatRequest<Vec<Json>, Vec<Json>> = serde_json::from_str(json).map_err(text)?;
    if arguments == Arguments::Object {
        request.messages.iter_mut().try_for_each(decode_arguments)?;
    }
    Ok(request)
}

/// Replaces each `tool_calls[].function.arguments` string by the value it spells.
fn decode_arguments(message: &mut Json) -> Result<(), String> {
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.pointer_mut("/function/arguments")
            && let Json::String(spelled) = arguments
        {
            *arguments = serde_json::from_str(spelled).map_err(text)?;
        }
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// `tokenizer_config.json` for the peers that read one.
fn tokenizer_config(source: &str) -> Json {
    let mut config: serde_json::Map<String, Json> = SPECIAL_TOKENS
        .iter()
        .map(|(name, token)| ((*name).to_owned(), Json::from(*token)))
        .collect();
    config.insert("chat_template".to_owned(), Json::from(source));
    Json::Object(config)
}
