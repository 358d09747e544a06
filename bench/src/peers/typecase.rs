//! `typecase` itself, as a server thread would hold it: one arena, reset for each request.
//!
//! It reads the bytes of the request where they are. The buffer that strings are decoded to, the arena and the memory of
//! the prompt's text are kept between requests, as a server thread keeps them.

use std::cell::RefCell;

use typecase::{
    ChatRequest, Format, RenderOptions, Tokenizer,
    format::{ChatTemplate, KimiK3, LocalTime, chat_template::Arguments as TemplateArguments},
    prompt::{Prompt, SpecialTokens},
    request::ParseOptions,
    tokenizer::{EncodeOptions, Trust},
    value::{Arena, Origin, Value, json::parse_str},
};
use typecase_jinja::{Options, Template};

use super::{Arguments, Output, SPECIAL_TOKENS, text};
use crate::{Contender, Stage, Verdict, reference, templates};

/// Renders from a parsed request before it is parsed anew. Adds a sixty-fourth of a parse to each render.
const RENDERS_PER_PARSE: usize = 64;

/// Memory that is kept from request to request.
#[derive(Default)]
struct Kept {
    arena: Arena,
    buffer: Vec<u8>,
    /// What a render makes when the request is parsed already; freed with the prompt.
    scratch: Arena,
}

impl Kept {
    fn parse<T>(&mut self, json: &str, then: impl FnOnce(&ChatRequest<'_>) -> T) -> Result<T, String> {
        self.parse_beside(json, |request, _| then(request))
    }

    fn parse_beside<T>(
        &mut self,
        json: &str,
        then: impl FnOnce(&ChatRequest<'_>, &mut Arena) -> T,
    ) -> Result<T, String> {
        self.arena.reset();
        let options = ParseOptions::default();
        let request = ChatRequest::parse_into(json.as_bytes(), &mut self.buffer, &self.arena, &options);
        Ok(then(&request.map_err(text)?, &mut self.scratch))
    }
}

/// A template compiled by `typecase`.
pub struct Typecase {
    format: ChatTemplate,
    engine: Template,
    arguments: Arguments,
    reads_clock: bool,
}

impl Typecase {
    /// Compiles `template`.
    ///
    /// # Errors
    /// What the library says of a template that it cannot compile.
    pub fn new(template: &templates::ChatTemplate) -> Result<Self, String> {
        let format = ChatTemplate::compile(&template.source, SPECIAL_TOKENS.into_iter().collect()).map_err(text)?;
        let engine = Template::compile(&template.source).map_err(text)?;
        let reads_clock = template.source.contains("strftime_now");
        Ok(Self {
            format,
            engine,
            arguments: template.arguments,
            reads_clock,
        })
    }

    /// The ids of a request, from its JSON.
    ///
    /// # Errors
    /// The library's message.
    pub fn ids(&self, json: &str, tokenizer: &Tokenizer, trust: Trust) -> Result<Vec<u32>, String> {
        thread_local!(static KEPT: RefCell<Kept> = RefCell::default());
        let options = EncodeOptions::new().trust(trust);
        KEPT.with_borrow_mut(|kept| {
            kept.parse(json, |request| {
                let prompt = self.render_request(request)?;
                let tokens = tokenizer.encode_with(&prompt, options).map_err(text)?;
                done_with(prompt);
                Ok(tokens.into_ids())
            })
        })?
    }

    fn now(&self) -> Option<LocalTime> {
        self.reads_clock.then(|| {
            let now = chrono::Local::now();
            LocalTime::from_unix(
                now.timestamp(),
                now.timestamp_subsec_micros(),
                now.offset().local_minus_utc(),
            )
        })
    }

    /// What the template is given of `request`.
    fn template_arguments<'a>(&self, request: &ChatRequest<'a>) -> Result<TemplateArguments<'a>, String> {
        let mut arguments = TemplateArguments::from_request(request);
        if self.arguments == Arguments::Object {
            arguments.messages = decode_arguments(arguments.messages, request.arena())?;
        }
        Ok(arguments)
    }

    fn render<'a>(
        &self,
        arguments: &TemplateArguments<'a>,
        request: &ChatRequest<'a>,
        arena: &'a Arena,
    ) -> Result<Prompt<'a>, String> {
        let mut options = RenderOptions::default();
        options.now = self.now();
        self.format
            .render_arguments(arguments, request.value(), arena, &options)
            .map_err(text)
    }

    fn render_request<'a>(&self, request: &ChatRequest<'a>) -> Result<Prompt<'a>, String> {
        self.render(&self.template_arguments(request)?, request, request.arena())
    }

    /// The variables of the template, for the engine alone.
    fn variables<'a>(&self, request: &ChatRequest<'a>) -> Result<Value<'a>, String> {
        let none = Value::None(Origin::COMPUTED);
        let mut messages = request.field("messages").unwrap_or(none);
        if self.arguments == Arguments::Object {
            messages = decode_arguments(messages, request.arena())?;
        }
        let mut variables = vec![
            (Value::Str("messages".into()), messages),
            (Value::Str("tools".into()), request.tools().unwrap_or(none)),
            (Value::Str("documents".into()), none),
            (
                Value::Str("add_generation_prompt".into()),
                Value::Bool(true, Origin::COMPUTED),
            ),
        ];
        variables.extend(SPECIAL_TOKENS.map(|(name, token)| (Value::Str(name.into()), Value::Str(token.into()))));
        Ok(Value::Dict(request.arena().dict(&mut variables, Origin::COMPUTED)))
    }

    fn options(&self, provenance: bool) -> Options {
        let options = Options::default().provenance(provenance);
        self.now().into_iter().fold(options, Options::now)
    }

    fn output(&self, json: &str) -> Output {
        Kept::default().parse(json, |request| {
            self.render_request(request).map(|prompt| prompt.text().to_owned())
        })?
    }

    fn engine_output(&self, json: &str) -> Output {
        Kept::default().parse(json, |request| {
            let (variables, options) = (self.variables(request)?, self.options(true));
            self.engine
                .render(&variables, request.arena(), &options)
                .map(|rendered| rendered.text)
                .map_err(text)
        })?
    }

    /// The contenders at `stage`: from values there are two, with and without provenance.
    pub fn contenders<'a>(&'a self, stage: Stage, json: &'a str, expected: &str) -> Vec<Contender<'a>> {
        let mut kept = Kept::default();
        match stage {
            Stage::Json => vec![Contender::new(
                "typecase",
                reference::verdict(&self.output(json), expected),
                move || {
                    let done = kept.parse(json, |request| self.render_request(request).map(done_with).is_ok());
                    std::hint::black_box(done).ok();
                },
            )],
            Stage::Request => {
                let verdict = reference::verdict(&self.output(json), expected);
                let contender = Contender::new("typecase", verdict, move || {
                    let done = kept.parse_beside(json, |request, scratch| {
                        let arguments = self.template_arguments(request)?;
                        for _ in 0..RENDERS_PER_PARSE {
                            self.render(&arguments, request, scratch).map(done_with).ok();
                            scratch.reset();
                        }
                        Ok::<(), String>(())
                    });
                    std::hint::black_box(done).ok();
                });
                vec![Contender {
                    per_run: RENDERS_PER_PARSE,
                    ..contender
                }]
            }
            Stage::Value => {
                let verdict = reference::verdict(&self.engine_output(json), expected);
                vec![
                    self.from_values("typecase", true, json, verdict.clone()),
                    self.from_values("typecase, no provenance", false, json, verdict),
                ]
            }
        }
    }

    fn from_values<'a>(
        &'a self,
        name: &'static str,
        provenance: bool,
        json: &'a str,
        verdict: Verdict,
    ) -> Contender<'a> {
        let mut kept = Kept::default();
        let contender = Contender::new(name, verdict, move || {
            let done = kept.parse_beside(json, |request, scratch| {
                let variables = self.variables(request)?;
                for _ in 0..RENDERS_PER_PARSE {
                    let options = self.options(provenance);
                    if let Ok(rendered) = std::hint::black_box(self.engine.render(&variables, scratch, &options)) {
                        rendered.recycle(scratch);
                    }
                    scratch.reset();
                }
                Ok::<(), String>(())
            });
            std::hint::black_box(done).ok();
        });
        Contender {
            per_run: RENDERS_PER_PARSE,
            ..contender
        }
    }
}

/// Replaces each `tool_calls[].function.arguments` string by the value it spells.
fn decode_arguments<'a>(messages: Value<'a>, arena: &'a Arena) -> Result<Value<'a>, String> {
    let Some(list) = messages.as_list() else {
        return Ok(messages);
    };
    let mut items = list.items().to_vec();
    for message in &mut items {
        let Some(calls) = message.lookup("tool_calls").and_then(|calls| calls.as_list()) else {
            continue;
        };
        let mut decoded = calls.items().to_vec();
        for call in &mut decoded {
            let Some(function) = call.lookup("function") else {
                continue;
            };
            if let Some(spelled) = function.lookup("arguments").and_then(|arguments| arguments.as_str()) {
                let arguments = parse_str(spelled, arena).map_err(text)?;
                *call = replaced(
                    *call,
                    "function",
                    replaced(function, "arguments", arguments, arena),
                    arena,
                );
            }
        }
        *message = replaced(
            *message,
            "tool_calls",
            Value::List(arena.list(&decoded, calls.origin())),
            arena,
        );
    }
    Ok(Value::List(arena.list(&items, list.origin())))
}

/// `dict` with another value for one key.
fn replaced<'a>(dict: Value<'a>, key: &str, value: Value<'a>, arena: &'a Arena) -> Value<'a> {
    let Some(dict) = dict.as_dict() else { return dict };
    let mut entries = dict.entries().to_vec();
    for (name, old) in &mut entries {
        if name.as_str() == Some(key) {
            *old = value;
        }
    }
    Value::Dict(arena.dict(&mut entries, dict.origin()))
}

/// The end of a run: the prompt was made, and its memory is kept.
fn done_with(prompt: Prompt<'_>) {
    std::hint::black_box(prompt).recycle();
}

fn kimi_k3<'a>(request: &ChatRequest<'a>) -> Result<Prompt<'a>, String> {
    KimiK3::default()
        .render(request, &RenderOptions::default())
        .map_err(text)
}

/// Kimi K3 from JSON, in segments.
pub fn kimi_k3_from_json(json: &str) -> impl FnMut() {
    let mut kept = Kept::default();
    move || {
        let done = kept.parse(json, |request| kimi_k3(request).map(done_with).is_ok());
        std::hint::black_box(done).ok();
    }
}

/// Kimi K3 from the parsed request, in segments. A run is [`RENDERS_PER_PARSE`] renders after one parse.
pub fn kimi_k3_from_request(json: &str) -> (usize, impl FnMut()) {
    let mut kept = Kept::default();
    let run = move || {
        let done = kept.parse(json, |request| {
            for _ in 0..RENDERS_PER_PARSE {
                kimi_k3(request).map(done_with).ok();
            }
        });
        std::hint::black_box(done).ok();
    };
    (RENDERS_PER_PARSE, run)
}

/// Parsing alone: the part of a run from JSON that no format can save.
pub fn parse_only(json: &str) -> impl FnMut() {
    let mut kept = Kept::default();
    move || {
        let done = kept.parse(json, |request| std::hint::black_box(request.messages()).len());
        std::hint::black_box(done).ok();
    }
}

/// What Kimi K3 renders: each segment's text and whether special tokens count in it.
///
/// # Errors
/// The error's message.
pub fn kimi_k3_segments(json: &str) -> Result<Vec<(String, bool)>, String> {
    thread_local!(static KEPT: RefCell<Kept> = RefCell::default());
    KEPT.with_borrow_mut(|kept| {
        kept.parse(json, |request| {
            let prompt = kimi_k3(request)?;
            Ok(prompt
                .segment_texts()
                .map(|(text, special_tokens)| (text.to_owned(), special_tokens == SpecialTokens::All))
                .collect())
        })
    })?
}
