//! `dynamo-renderer` with the protocol types of `dynamo-protocols`: templates, and its Kimi K3 formatter.

use std::sync::Arc;

use dynamo_protocols::types::CreateChatCompletionRequest;
use dynamo_renderer::{
    ChatTemplate as Config, ContextMixins, OAIPromptFormatter, PromptFormatter, RenderedPrompt,
    kimi_k3::KimiK3Formatter,
};

use super::{ChatTemplate, Render, Stage, TemplatePeer, text, tokenizer_config};

/// A template compiled by `dynamo-renderer`. It decides by itself which form of arguments the template takes.
pub struct DynamoTemplate {
    formatter: Arc<dyn OAIPromptFormatter>,
}

impl DynamoTemplate {
    /// Compiles `template`.
    ///
    /// # Errors
    /// What the crate says of a template that it cannot compile.
    pub fn new(template: &ChatTemplate) -> Result<Self, String> {
        let config: Config = serde_json::from_value(tokenizer_config(&template.source)).map_err(text)?;
        let PromptFormatter::OAI(formatter) =
            PromptFormatter::from_parts(config, ContextMixins::default(), true).map_err(|err| format!("{err:#}"))?;
        Ok(Self { formatter })
    }
}

impl TemplatePeer for DynamoTemplate {
    fn name(&self) -> &'static str {
        "dynamo"
    }

    fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>> {
        let render =
            |request: &CreateChatCompletionRequest| self.formatter.render(request).map_err(|err| format!("{err:#}"));
        match stage {
            Stage::Json => Some(Box::new(move || render(&parse(json)?))),
            Stage::Request => {
                let request = parse(json);
                Some(Box::new(move || render(request.as_ref().map_err(Clone::clone)?)))
            }
            Stage::Value => None,
        }
    }
}

fn parse(json: &str) -> Result<CreateChatCompletionRequest, String> {
    serde_json::from_str(json).map_err(text)
}

/// Kimi K3 in segments, from the stages that dynamo has.
#[must_use]
pub fn kimi_k3(stage: Stage, json: &str) -> Option<Box<dyn Fn() -> Result<RenderedPrompt, String> + '_>> {
    let formatter = KimiK3Formatter::new(true);
    let render =
        move |request: &CreateChatCompletionRequest| formatter.render_prompt(request).map_err(|err| format!("{err:#}"));
    match stage {
        Stage::Json => Some(Box::new(move || render(&parse(json)?))),
        Stage::Request => {
            let request = parse(json);
            Some(Box::new(move || render(request.as_ref().map_err(Clone::clone)?)))
        }
        Stage::Value => None,
    }
}
