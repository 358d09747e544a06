//! The prompt from end to end: declarations, effort, messages, tool choice, response format, ending.

use super::body::MediaCount;
use super::settings::{self, Choice, ResponseFormat, Settings};
use super::tool_results::{self, Order};
use super::xtml::{close_message, open};
use super::{Profile, Reference};
use crate::error::{Error, ErrorKind, Result};
use crate::prompt::{Prompt, PromptBuilder, Warning, WarningKind};
use crate::request::{ChatRequest, Ending, Message, Role, is_truthy};
use typecase_jinja::value::json::{self, WriteOptions};
use typecase_jinja::value::{Arena, Dict, Origin, Text, Value};

/// Bytes of tags that a message brings, roughly.
const FRAME_LEN: usize = 192;

/// Segments and runs that a message brings, roughly, and the number of messages for which room is made beforehand.
const SEGMENTS: usize = 24;
const RUNS: usize = 6;
const MANY: usize = 1 << 16;

/// Bytes of short texts for which room is made beforehand: long ones are not copied.
const SHORT_TEXTS: usize = 1 << 17;

/// The least and the most room that is made beforehand.
const CAPACITY: std::ops::RangeInclusive<usize> = 1024..=1 << 30;

pub(super) fn encode<'a>(profile: &Profile, request: &ChatRequest<'a>) -> Result<Prompt<'a>> {
    let room = request.body_len().min(SHORT_TEXTS) + request.messages().len() * FRAME_LEN;
    let mut encoder = Encoder {
        request: *request,
        reference: match profile {
            Profile::Served => None,
            Profile::Reference(reference) => Some(reference),
        },
        settings: settings::resolve(profile, request)?,
        out: PromptBuilder::new(
            request.value(),
            request.arena(),
            room.clamp(*CAPACITY.start(), *CAPACITY.end()),
        ),
        image_prompts_used: 0,
        media_count: MediaCount::default(),
    };
    let messages = request.messages().len().min(MANY);
    encoder.out.reserve(messages * SEGMENTS, messages * RUNS);
    encoder.prompt()?;
    Ok(encoder.out.finish())
}

/// Writes one prompt.
pub(super) struct Encoder<'r, 'a> {
    pub(super) request: ChatRequest<'a>,
    /// The reference's ways, unless the profile is the served one.
    pub(super) reference: Option<&'r Reference>,
    pub(super) settings: Settings<'a>,
    pub(super) out: PromptBuilder<'a>,
    pub(super) image_prompts_used: usize,
    pub(super) media_count: MediaCount,
}

impl<'a> Encoder<'_, 'a> {
    pub(super) fn is_served(&self) -> bool {
        self.reference.is_none()
    }

    pub(super) fn arena(&self) -> &'a Arena {
        self.request.arena()
    }

    /// An error at the place in the request that `origin` is of.
    pub(super) fn error_at(&self, origin: Origin, kind: ErrorKind) -> Error {
        let origin = self.arena().original_in(origin, self.request.value());
        Error::new(kind).at(self.request.value().path_of(origin))
    }

    /// Tells of keyword arguments that are not read. To the reference they are as good as any other.
    fn warn_of_keywords(&mut self) {
        let kwargs = self.request.template_kwargs().filter(|_| self.is_served());
        let names = kwargs
            .into_iter()
            .flat_map(Dict::str_entries)
            .map(|(name, _)| name.as_str());
        for name in names.filter(|name| !settings::KEYWORDS.contains(name)) {
            self.out.warn(Warning::of_keyword(name, WarningKind::KeywordNotRead));
        }
    }

    fn prompt(&mut self) -> Result<()> {
        self.warn_of_keywords();
        let messages = self.request.messages();
        let continued = self.continued()?;
        if let Some(tools) = self.declared_tools() {
            self.declare_tools(DECLARATION, tools)?;
        }
        if let Some(effort) = self.settings.effort {
            self.internal_message("thinking-effort", |segment| {
                segment.format_text(EFFORT).format_text(effort).format_text("`.");
            });
        }
        if self.is_batch()? {
            return self.ending(None);
        }
        let request = self.request;
        let legacy = self.is_served();
        let Order { mut placed, unmatched } =
            tool_results::order(messages, |message| calls(&request, message, legacy), legacy);
        for index in unmatched {
            let path = self.request.value().path_of(messages[index].raw.origin());
            let kind = WarningKind::ResultsUnordered;
            self.out.warn(Warning { path, kind });
        }
        // The continued message comes after the messages of the system, and is the last in any order.
        if continued.is_some() {
            placed.pop();
        }
        self.messages(&placed)?;
        self.ending(continued)
    }

    fn ending(&mut self, continued: Option<usize>) -> Result<()> {
        self.tool_choice();
        self.response_format()?;
        match (continued, self.request.ending()) {
            (Some(index), _) => self.continued_message(index)?,
            (None, Ending::GenerationStub) => {
                let start = self.out.len();
                open(&mut self.out, "message").attribute(" role", "assistant").end();
                let channel = if self.settings.thinking { "think" } else { "response" };
                open(&mut self.out, channel).end();
                self.out.stub_from(start);
            }
            (None, _) => {}
        }
        self.check_image_prompts()
    }

    /// The message that the model is to continue: the final one, if `continue_final_message` or its own `partial`
    /// says so.
    fn continued(&self) -> Result<Option<usize>> {
        let messages = self.request.messages();
        if !self.is_served() {
            return match self.request.ending() {
                Ending::Continuation => Err(Error::new(ErrorKind::CannotContinue {
                    reason: "the reference has no such mode",
                })
                .within("continue_final_message")),
                _ => Ok(None),
            };
        }
        let is_partial = |message: &Message<'_>| matches!(message.partial, Some(Value::Bool(true, _)));
        let fail = |index: usize, reason| {
            let err = Error::new(ErrorKind::CannotContinue { reason });
            Err(err.within(index).within("messages"))
        };
        for (index, message) in messages.iter().enumerate() {
            match message.partial {
                None | Some(Value::None(_)) => continue,
                Some(Value::Bool(..)) => {}
                Some(found) => {
                    let err = Error::new(ErrorKind::wrong_type(found, "a boolean"));
                    return Err(err.within("partial").within(index).within("messages"));
                }
            }
            if message.role != Role::Assistant {
                return fail(index, "only a message of the assistant can be `partial`");
            }
            if is_partial(message) && index + 1 < messages.len() {
                return fail(index, "only the final message can be `partial`");
            }
        }
        let Some((message, index)) = messages.last().zip(messages.len().checked_sub(1)) else {
            return match self.request.ending() {
                Ending::Continuation => Err(Error::new(ErrorKind::CannotContinue {
                    reason: "there is none",
                })
                .within("continue_final_message")),
                _ => Ok(None),
            };
        };
        if !is_partial(message) && self.request.ending() != Ending::Continuation {
            return Ok(None);
        }
        if message.role != Role::Assistant {
            return fail(index, "it is not the assistant's");
        }
        if !calls(&self.request, message, true).is_empty() {
            return fail(index, "it calls tools");
        }
        Ok(Some(index))
    }

    /// The reference takes a list whose first item is a list for a batch of conversations, and then writes none of
    /// its messages.
    fn is_batch(&self) -> Result<bool> {
        let messages = self.request.messages();
        let is_batch = messages
            .first()
            .is_some_and(|first| matches!(first.raw, Value::List(_)));
        if is_batch
            && let Some(found) = messages
                .iter()
                .find(|m| !matches!(m.raw, Value::List(_) | Value::Dict(_) | Value::Str(_)))
        {
            let kind = ErrorKind::wrong_type(found.raw, "a conversation, which is an array");
            return Err(self.error_at(found.raw.origin(), kind));
        }
        Ok(is_batch)
    }

    /// The tools of the request; in the served profile the legacy `functions` if there are no others.
    fn declared_tools(&self) -> Option<Value<'a>> {
        let tools = self.request.tools().filter(|tools| is_truthy(*tools));
        if tools.is_some() || !self.is_served() {
            return tools;
        }
        let functions = self
            .request
            .field("functions")?
            .as_list()
            .filter(|list| !list.is_empty())?;
        let arena = self.arena();
        let wrap = |function: &Value<'a>| {
            let mut entries = vec![
                (Value::Str(Text::new("type")), Value::Str(Text::new("function"))),
                (Value::Str(Text::new("function")), *function),
            ];
            Value::Dict(arena.dict(&mut entries, function.origin()))
        };
        let tools: Vec<Value<'a>> = functions.items().iter().map(wrap).collect();
        Some(Value::List(arena.list(&tools, functions.origin())))
    }

    /// A declaration of tools, with their specifications sorted at every depth.
    pub(super) fn declare_tools(&mut self, introduction: &str, tools: Value<'a>) -> Result<()> {
        let mut result = Ok(());
        self.internal_message("tool-declare", |segment| {
            segment.format_text(introduction);
            segment.text_from(tools.origin(), |out| {
                result = json::write(out, &tools, &WriteOptions::compact().sort_keys(true));
            });
            segment.format_text("\n```");
        });
        result.map_err(|err| {
            self.error_at(
                tools.origin(),
                ErrorKind::NotJson {
                    reason: err.to_string(),
                },
            )
        })
    }

    fn tool_choice(&mut self) {
        match self.settings.tool_choice {
            Choice::Auto => {}
            Choice::None => self.internal_message("tool-choice", |segment| {
                segment.format_text(
                    "The system is invoked with `tool_choice=none`.\nYou MUST NOT call any tools in the next message.",
                );
            }),
            Choice::Required => self.internal_message("tool-choice", |segment| {
                segment.format_text(
                    "The system is invoked with `tool_choice=required`.\nYou MUST call tools in the next message.",
                );
            }),
            Choice::Specified(name) => self.internal_message("tool-choice", |segment| {
                segment
                    .format_text("The system is invoked with `tool_choice=specified`.\nYou MUST call the tool `")
                    .text(name)
                    .format_text("` in the next message.");
            }),
        }
    }

    fn response_format(&mut self) -> Result<()> {
        let (kind, schema) = match self.settings.response_format {
            ResponseFormat::Free => return Ok(()),
            ResponseFormat::JsonObject => ("json_object", None),
            ResponseFormat::JsonSchema(schema) => ("json_schema", Some(schema)),
        };
        let mut result = Ok(());
        self.internal_message("response-format", |segment| {
            segment
                .format_text("The system is invoked with `response_format=")
                .format_text(kind)
                .format_text(RAW_JSON);
            if let Some(schema) = schema {
                segment.format_text("\nThe JSON data must match the following schema:\n```json\n");
                segment.text_from(schema.origin(), |out| {
                    result = json::write(out, &schema, &WriteOptions::compact().sort_keys(true));
                });
                segment.format_text("\n```");
            }
        });
        result.map_err(|err| {
            Error::new(ErrorKind::NotJson {
                reason: err.to_string(),
            })
            .within("response_format")
        })
    }

    /// A message of the system about the conversation: one text segment.
    fn internal_message(&mut self, kind: &'static str, write: impl FnOnce(&mut crate::prompt::TextSegment<'_, 'a>)) {
        open(&mut self.out, "message")
            .attribute(" role", "system")
            .attribute(" type", kind)
            .end();
        write(&mut self.out.text_segment());
        close_message(&mut self.out);
    }
}

/// The calls of a message. The legacy `function_call` is one as well where `legacy` says so.
pub(super) fn calls<'a>(request: &ChatRequest<'a>, message: &Message<'a>, legacy: bool) -> &'a [Value<'a>] {
    match (message.tool_calls_value, message.function_call) {
        (Some(Value::List(calls)), _) if !calls.is_empty() || !legacy => calls.items(),
        (_, Some(call @ Value::Dict(_))) if legacy => request.arena().alloc_slice(&[call]),
        _ => &[],
    }
}

const DECLARATION: &str = "# Tools\nHere are the available tools, described in JSONSchema.\n\n```json\n";

/// Introduces tools that a system message declares.
pub(super) const DYNAMIC_DECLARATION: &str = "## New Tools Available\n\
    The system dynamically extends the toolset via lazy-loading.\n\
    You have access to all existing and extended tools.\n\
    Here are the specs for the extended tools.\n\n```json\n";

const EFFORT: &str = "`thinking_effort` guides on how much to think in your thinking channel (not including the \
    response channel), supported values include `low`, `medium`, `high`, and `max`.\n\
    Now the system is invoked with `thinking_effort=";

const RAW_JSON: &str = "`.\nYour response must be raw JSON data without markdown code blocks (```json) or any \
    additional formatting.";
