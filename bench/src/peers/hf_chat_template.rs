//! `hf-chat-template`, through its typed `RenderInput`.

use hf_chat_template::{ChatTemplate as Template, RenderInput, TokenizerConfig};

use super::{Arguments, ChatTemplate, Output, Render, Stage, TemplatePeer, text, tokenizer_config};

/// A template compiled by `hf-chat-template`.
pub struct HfChatTemplate {
    template: Template,
    arguments: Arguments,
}

impl HfChatTemplate {
    /// Compiles `template`.
    ///
    /// # Errors
    /// What the crate says of a template that it cannot compile.
    pub fn new(template: &ChatTemplate) -> Result<Self, String> {
        let config: TokenizerConfig = serde_json::from_value(tokenizer_config(&template.source)).map_err(text)?;
        Ok(Self {
            template: Template::from_tokenizer_config(&config).map_err(text)?,
            arguments: template.arguments,
        })
    }

    fn parse(&self, json: &str) -> Result<RenderInput, String> {
        let mut input: RenderInput = serde_json::from_str(json).map_err(text)?;
        input.add_generation_prompt = true;
        if self.arguments == Arguments::Object {
            for call in input.messages.iter_mut().flat_map(|message| &mut message.tool_calls) {
                if let Some(arguments) = call.pointer_mut("/function/arguments")
                    && let serde_json::Value::String(spelled) = arguments
                {
                    *arguments = serde_json::from_str(spelled).map_err(text)?;
                }
            }
        }
        Ok(input)
    }

    fn render(&self, input: &RenderInput) -> Output {
        self.template.render(input).map_err(text)
    }
}

impl TemplatePeer for HfChatTemplate {
    fn name(&self) -> &'static str {
        "hf-chat-template"
    }

    fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>> {
        match stage {
            Stage::Json => Some(Box::new(move || self.render(&self.parse(json)?))),
            Stage::Request => {
                let input = self.parse(json);
                Some(Box::new(move || self.render(input.as_ref().map_err(Clone::clone)?)))
            }
            Stage::Value => None,
        }
    }
}
