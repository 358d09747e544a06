//! `llm-tokenizer`'s template state (the renderer of the Shepherd model gateway) and its Kimi K3 encoder.

use llm_tokenizer::{
    ChatTemplateState, SpecialTokens, chat_template::ChatTemplateParams,
    encoders::kimi_k3_xtml::apply_kimi_k3_xtml_with_effort_default,
};
use serde_json::Value as Json;

use super::{
    Arguments, ChatRequest, ChatTemplate, Output, Render, SPECIAL_TOKENS, Stage, TemplatePeer, parse_request, text,
};

/// A template compiled by `llm-tokenizer`.
pub struct LlmTokenizer {
    state: ChatTemplateState,
    special_tokens: SpecialTokens,
    arguments: Arguments,
}

impl LlmTokenizer {
    /// Compiles `template`.
    ///
    /// # Errors
    /// What the crate says of a template that it cannot compile.
    pub fn new(template: &ChatTemplate) -> Result<Self, String> {
        let state = ChatTemplateState::new(Some(template.source.clone())).map_err(text)?;
        let token = |name: &str| {
            SPECIAL_TOKENS
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, token)| (*token).to_owned())
        };
        let special_tokens = SpecialTokens {
            bos_token: token("bos_token"),
            eos_token: token("eos_token"),
            unk_token: token("unk_token"),
            pad_token: token("pad_token"),
            ..SpecialTokens::default()
        };
        Ok(Self {
            state,
            special_tokens,
            arguments: template.arguments,
        })
    }

    fn render(&self, request: &ChatRequest<Vec<Json>, Vec<Json>>) -> Output {
        let params = ChatTemplateParams {
            add_generation_prompt: true,
            tools: request.tools.as_deref(),
            special_tokens: Some(&self.special_tokens),
            ..ChatTemplateParams::default()
        };
        self.state
            .apply(&request.messages, params)
            .map_err(|err| format!("{err:#}"))
    }
}

impl TemplatePeer for LlmTokenizer {
    fn name(&self) -> &'static str {
        "llm-tokenizer"
    }

    fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>> {
        match stage {
            Stage::Json => Some(Box::new(move || self.render(&parse_request(json, self.arguments)?))),
            Stage::Request => {
                let request = parse_request(json, self.arguments);
                Some(Box::new(move || self.render(request.as_ref().map_err(Clone::clone)?)))
            }
            Stage::Value => None,
        }
    }
}

/// Kimi K3 as this crate renders it: one joined text, since its segments stay inside its tokenizer.
#[must_use]
pub fn kimi_k3(stage: Stage, json: &str) -> Option<Render<'_>> {
    fn render(request: &ChatRequest<Vec<Json>, Vec<Json>>) -> Output {
        let params = ChatTemplateParams {
            add_generation_prompt: true,
            tools: request.tools.as_deref(),
            ..ChatTemplateParams::default()
        };
        apply_kimi_k3_xtml_with_effort_default(&request.messages, &params).map_err(text)
    }
    match stage {
        Stage::Json => Some(Box::new(move || render(&parse_request(json, Arguments::String)?))),
        Stage::Request => {
            let request = parse_request(json, Arguments::String);
            Some(Box::new(move || render(request.as_ref().map_err(Clone::clone)?)))
        }
        Stage::Value => None,
    }
}
