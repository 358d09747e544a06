//! The chat template of a checkpoint, run as `transformers` runs it.
//!
//! This is exact mode: [`ChatTemplate::render_arguments`] is `apply_chat_template` of transformers 5.23.0 with
//! `tokenize=False`, byte for byte, and refuses what it refuses. Nothing in the request is adapted to the template.
//!
//! # What happens
//! 1. One template is chosen if the model has several ([`ChatTemplates::choose`]).
//! 2. The messages are prepared: `null` fields dropped, reasoning under all its names (`messages`).
//! 3. If the final message is to be continued, a tag is put at its end (`continuation`).
//! 4. The template sees `messages`, `tools`, `documents`, `add_generation_prompt`, the named special tokens of the
//!    model ([`TokenNames`]), and the keyword arguments of the request, which come before the tokens (`arguments`).
//! 5. What it writes is the prompt; a continued one is cut where the tag came out.
//!
//! A keyword argument of a request replaces no named token and no argument of `apply_chat_template` (`messages`, `tools`,
//! `chat_template`, `tokenize`, ...): it is passed over, with a [warning](crate::prompt::WarningKind::KeywordPassedOver).
//!
//! # The prompt
//! One segment of the policy [`Trusted`](crate::prompt::SpecialTokens::Trusted): a special token counts only where all
//! of its bytes were written by the template or are one of the named tokens. Values are read in place; the request is
//! not copied but for messages that change in step 2 or 3.
//!
//! # What the clock says
//! `strftime_now` prints [`RenderOptions::now`](super::RenderOptions). The library has no clock of its own.

mod arguments;
mod continuation;
mod messages;
mod named;
mod token_names;

#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use named::ChatTemplates;
pub use token_names::{TOKEN_NAMES, TokenNames};
/// What can happen when a template is compiled or run.
pub use typecase_jinja::ErrorKind as TemplateErrorKind;
/// What a template reads and writes, as far as its source says so.
pub use typecase_jinja::Meta;

use super::{Format, RenderOptions};
use crate::error::{Error, ErrorKind, Fault, Result};
use crate::prompt::{Prompt, PromptTemplate, Rendered, Warning, WarningKind, Writer};
use crate::request::{ChatRequest, is_truthy};
use std::sync::Arc;
use typecase_jinja::value::{Arena, Origin, Run, Value};
use typecase_jinja::{Options, Template};

/// Units of work that a template may spend on a request of no size: well under a second.
const WORK: u64 = 10_000_000;
/// Units of work that it may spend on each byte of a request more. The known templates spend less than 10.
const WORK_PER_BYTE: u64 = 200;

/// A compiled chat template and the named tokens of its model. Cheap to clone, and shared between threads.
///
/// # Example
/// ```
/// use typecase::format::{ChatTemplate, Format, RenderOptions};
/// use typecase::request::ChatRequest;
/// use typecase::value::Arena;
///
/// let source = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}\n{% endfor %}";
/// let template = ChatTemplate::compile(source, [("eos_token", "</s>")].into_iter().collect())?;
/// let arena = Arena::new();
/// let mut body = br#"{"messages": [{"role": "user", "content": "Hi</s>"}]}"#.to_vec();
/// let request = ChatRequest::parse(&mut body, &arena)?;
/// let prompt = template.render(&request, &RenderOptions::default())?;
/// assert_eq!(prompt.text(), "[user] Hi</s></s>\n");
/// # Ok::<(), typecase::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    template: Arc<Template>,
    token_names: TokenNames,
}

impl ChatTemplate {
    /// The name of this prompt language.
    pub const NAME: &'static str = "chat_template";

    /// Compiles a template.
    ///
    /// # Errors
    /// A server fault ([`ErrorKind::Template`]) if it does not compile.
    pub fn compile(source: &str, token_names: TokenNames) -> Result<Self> {
        Ok(ChatTemplate {
            template: Arc::new(Template::compile(source)?),
            token_names,
        })
    }

    /// The named tokens that it was compiled with.
    pub fn token_names(&self) -> &TokenNames {
        &self.token_names
    }

    /// What the template reads and writes.
    pub fn meta(&self) -> &Meta {
        self.template.meta()
    }

    /// Renders the arguments of `apply_chat_template`. `request` is what the provenance names paths of; values that
    /// did not come from it have none.
    ///
    /// # Errors
    /// What the template refuses or fails on, and what `apply_chat_template` itself refuses: client faults but for
    /// faults of the template, at their path where they are about one.
    pub fn render_arguments<'a>(
        &self,
        arguments: &Arguments<'a>,
        request: Value<'a>,
        arena: &'a Arena,
        options: &RenderOptions,
    ) -> Result<Prompt<'a>> {
        let rendered = self.run(arguments, arena, options)?;
        Ok(rendered.into_prompt(request, arena, |run| self.writer(run)))
    }

    fn run<'a>(&self, arguments: &Arguments<'a>, arena: &'a Arena, options: &RenderOptions) -> Result<Rendered> {
        // In the order in which the reference looks, so that of several faults the same one is told.
        arguments.check()?;
        let mut messages = messages::prepare(arguments.message_list()?, arena);
        let tools = arguments.tool_list(arena)?;
        let documents = arguments.document_list()?;
        let mut continuation = None;
        if let Some(field) = arguments.continued_field() {
            let tagged = continuation::tag(messages, field, self.template.source(), arena)?;
            messages = tagged.messages;
            continuation = Some(tagged);
        }
        let mut variables = Vec::with_capacity(8);
        for (name, value) in [
            ("messages", Value::List(messages)),
            ("tools", tools),
            ("documents", documents),
            ("add_generation_prompt", arguments.add_generation_prompt),
        ] {
            variables.push((Value::Str(name.into()), value));
        }
        arguments.keywords(&self.token_names, &mut variables);
        let mut engine = Options::default();
        engine.now = options.now;
        let size = arguments.request_bytes.max(arena.allocated_bytes()) as u64;
        engine.max_work = WORK.saturating_add(size.saturating_mul(WORK_PER_BYTE));
        let variables = Value::Dict(arena.dict(&mut variables, Origin::COMPUTED));
        let output = self.template.render(&variables, arena, &engine)?;
        let mut rendered = Rendered {
            text: output.text,
            runs: output.runs,
            generation: output.generation,
            stub: None,
        };
        if let Some(continuation) = continuation {
            rendered.cut(continuation.end(&rendered.text)?);
            rendered.generation.clear();
        }
        Ok(rendered)
    }

    /// Where the opened turn at the end of `text` begins: it is what the prompt has more than one without it.
    fn stub(&self, text: &str, arguments: &Arguments<'_>, options: &RenderOptions) -> Option<usize> {
        if !is_truthy(arguments.add_generation_prompt) {
            return None;
        }
        let closed = Arguments {
            add_generation_prompt: Value::Bool(false, Origin::COMPUTED),
            ..*arguments
        };
        // What the second run computes is not kept.
        let closed = self.run(&closed, &Arena::new(), options).ok()?.text;
        let is_opened = text.len() > closed.len() && text.starts_with(&closed);
        is_opened.then_some(closed.len())
    }

    /// Who wrote the bytes of a run.
    fn writer(&self, run: &Run) -> Writer {
        match run.origin {
            Origin::COMPUTED => Writer::Format,
            origin if self.template.wrote(origin) => Writer::Format,
            origin if self.token_names.holds(origin) => Writer::Config,
            origin => Writer::Request(origin),
        }
    }
}

/// The prompt of a request by a template that it brings. `token_names`: those of the model.
///
/// # Errors
/// As [`Format::render`]; [`ErrorKind::RequestTemplate`] (client) if the template does not compile, or does what templates
/// may not.
pub fn render_own<'a>(
    source: &str,
    token_names: TokenNames,
    request: &ChatRequest<'a>,
    options: &RenderOptions,
) -> Result<Prompt<'a>> {
    let of_request = |err: Error| match err.fault() {
        Fault::Client => err,
        Fault::Server => {
            let reason = err.to_string();
            Error::new(ErrorKind::RequestTemplate { reason })
                .within("chat_template")
                .caused_by(err)
        }
    };
    let template = Arc::new(ChatTemplate::compile(source, token_names).map_err(of_request)?);
    let mut prompt = template.render(request, options).map_err(of_request)?;
    prompt.set_template(PromptTemplate::Own(template));
    Ok(prompt)
}

impl Format for ChatTemplate {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn render<'a>(&self, request: &ChatRequest<'a>, options: &RenderOptions) -> Result<Prompt<'a>> {
        let arguments = Arguments::from_request(request);
        let mut rendered = self.run(&arguments, request.arena(), options)?;
        if options.find_stub {
            rendered.stub = self.stub(&rendered.text, &arguments, options);
        }
        let mut prompt = rendered.into_prompt(request.value(), request.arena(), |run| self.writer(run));
        for (name, is_taken) in arguments.given(&self.token_names) {
            let kind = match is_taken {
                true => WarningKind::KeywordPassedOver,
                false if self.meta().variables.contains(name) => continue,
                false => WarningKind::KeywordNotRead,
            };
            prompt.warn(Warning::of_keyword(name, kind));
        }
        Ok(prompt)
    }
}
