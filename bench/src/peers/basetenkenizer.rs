//! The chat-template renderer of `basetenkenizer`. Its documentation advises to deserialize straight into the engine's
//! values where one can, which is what happens here unless arguments must be decoded.

use basetenkenizer::chat_template::{
    ChatTemplateRenderer,
    minijinja::{Value, context},
};

use super::{Arguments, ChatRequest, ChatTemplate, Render, SPECIAL_TOKENS, Stage, TemplatePeer, parse_request, text};

/// A template compiled by `basetenkenizer`.
pub struct Baseten {
    renderer: ChatTemplateRenderer,
    arguments: Arguments,
}

impl Baseten {
    /// Compiles `template`.
    ///
    /// # Errors
    /// What the engine says of a template that it cannot compile.
    pub fn new(template: &ChatTemplate) -> Result<Self, String> {
        let renderer = ChatTemplateRenderer::new(&template.source).map_err(text)?;
        Ok(Self {
            renderer,
            arguments: template.arguments,
        })
    }

    fn context(messages: Value, tools: Option<Value>) -> Value {
        let [(_, bos), (_, eos), (_, unk), (_, pad)] = SPECIAL_TOKENS;
        context! {
            messages, tools, add_generation_prompt => true, continue_final_message => false, documents => (),
            bos_token => bos, eos_token => eos, unk_token => unk, pad_token => pad,
        }
    }

    fn context_from_json(&self, json: &str) -> Result<Value, String> {
        if self.arguments == Arguments::String {
            let request: ChatRequest<Value, Value> = serde_json::from_str(json).map_err(text)?;
            return Ok(Self::context(request.messages, request.tools));
        }
        let request = parse_request(json, self.arguments)?;
        Ok(Self::context(
            Value::from_serialize(&request.messages),
            request.tools.as_ref().map(Value::from_serialize),
        ))
    }

    fn render(&self, context: Value) -> Result<String, String> {
        self.renderer.render_context(context).map_err(|err| format!("{err:#}"))
    }
}

impl TemplatePeer for Baseten {
    fn name(&self) -> &'static str {
        "basetenkenizer"
    }

    fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>> {
        Some(match stage {
            Stage::Json => Box::new(move || self.render(self.context_from_json(json)?)),
            Stage::Request => {
                let request = parse_request(json, self.arguments);
                Box::new(move || {
                    let request = request.as_ref().map_err(Clone::clone)?;
                    let tools = request.tools.as_ref().map(Value::from_serialize);
                    self.render(Self::context(Value::from_serialize(&request.messages), tools))
                })
            }
            Stage::Value => {
                let context = self.context_from_json(json);
                Box::new(move || self.render(context.clone()?))
            }
        })
    }
}
