//! The messages of the conversation.

use super::arguments::{Arguments, type_name};
use super::encoder::{DYNAMIC_DECLARATION, Encoder, calls};
use super::tool_results::Placed;
use super::xtml::{MEDIA_PAD, PIECES, close, close_message, open, write_escaped, write_number};
use crate::error::{ErrorKind, Result, shortened};
use crate::prompt::{Warning, WarningKind};
use crate::request::{Content, Message, Modality, Part, PartKind, Role, is_truthy};
use typecase_jinja::value::json::{self, WriteOptions};
use typecase_jinja::value::{Value, text};

const ROLES: &str = "system, developer, user, assistant, tool";
const PARTS: &str = "text, image_url";

/// The calls that tool results without a name are counted against, and how many results there were.
#[derive(Clone, Copy, Default)]
struct Results<'a> {
    calls: &'a [Value<'a>],
    count: usize,
}

impl<'a> Encoder<'_, 'a> {
    pub(super) fn messages(&mut self, placed: &[Placed<'a>]) -> Result<()> {
        let messages = self.request.messages();
        let mut results = Results::default();
        for place in placed {
            let message = &messages[place.index];
            if !message.is_object() {
                continue;
            }
            if message.role != Role::Assistant {
                self.check_idle_calls(message)?;
            }
            match message.role {
                Role::System | Role::User => self.plain_message(place.index)?,
                Role::Developer if self.is_served() => self.plain_message(place.index)?,
                Role::Assistant => {
                    results = Results {
                        calls: calls(&self.request, message, self.is_served()),
                        count: 0,
                    };
                    self.assistant_message(place.index)?;
                }
                Role::Tool => self.tool_message(place, &mut results)?,
                Role::Function if self.is_served() => self.tool_message(place, &mut results)?,
                Role::Invalid if message.role_value.is_none() => {
                    return Err(self.error_at(message.raw.origin(), ErrorKind::MissingField { field: "role" }));
                }
                role if self.is_served() => {
                    let found = match role {
                        Role::Other(role) => shortened(role.as_str()),
                        _ => "null".to_owned(),
                    };
                    let kind = ErrorKind::UnsupportedRole {
                        found,
                        supported: ROLES,
                    };
                    return Err(self.error_at(message.role_value.map_or(message.raw.origin(), |r| r.origin()), kind));
                }
                // The reference writes nothing for a role that it does not know.
                _ => {}
            }
        }
        Ok(())
    }

    /// Calls of a message that is not the assistant's are not written, but the reference refuses what it cannot read.
    fn check_idle_calls(&self, message: &Message<'a>) -> Result<()> {
        let Some(value) = message.tool_calls_value.filter(|calls| is_truthy(*calls)) else {
            return Ok(());
        };
        match value {
            Value::List(calls) => {
                for call in calls.items().iter().filter(|call| call.as_dict().is_some()) {
                    self.arguments(*call)?;
                }
                Ok(())
            }
            Value::Dict(_) | Value::Str(_) => Ok(()),
            found => Err(self.error_at(found.origin(), ErrorKind::wrong_type(found, "an array of tool calls"))),
        }
    }

    /// A message of the user, the system or the developer.
    fn plain_message(&mut self, index: usize) -> Result<()> {
        let message = &self.request.messages()[index];
        if message.role != Role::User {
            if let Some(tools) = message.tools.filter(|tools| is_truthy(*tools)) {
                self.declare_tools(DYNAMIC_DECLARATION, tools)?;
                if !self.is_served() || message.content().is_empty() {
                    return Ok(());
                }
                // The reference drops the content; nothing is lost here.
                if message.role == Role::System {
                    let reason = "a message of the system carries one or the other";
                    let (one, other) = ("tools", "content");
                    return Err(self.error_at(message.raw.origin(), ErrorKind::Conflict { one, other, reason }));
                }
            }
        } else if self.is_served() {
            self.refuse_tools(message)?;
        }
        let role = if message.role == Role::User { "user" } else { "system" };
        self.open_message(role, message.name);
        self.content(index)?;
        close_message(&mut self.out);
        Ok(())
    }

    fn refuse_tools(&self, message: &Message<'a>) -> Result<()> {
        match message.tools.filter(|tools| is_truthy(*tools)) {
            Some(tools) if self.is_served() => {
                let allowed = "on messages of the system or the developer, and in the request itself";
                Err(self.error_at(tools.origin(), ErrorKind::Misplaced { allowed }))
            }
            _ => Ok(()),
        }
    }

    fn open_message(&mut self, role: &'static str, name: Option<Value<'a>>) {
        if let Some(name) = name.filter(|name| is_truthy(*name)) {
            let tag = open(&mut self.out, "message").attribute(" role", role);
            return tag.value(" name", name).end();
        }
        self.out.piece(match role {
            "user" => &PIECES.user,
            "assistant" => &PIECES.assistant,
            _ => &PIECES.system,
        });
    }

    fn assistant_message(&mut self, index: usize) -> Result<()> {
        let message = &self.request.messages()[index];
        self.refuse_tools(message)?;
        self.open_message("assistant", message.name);
        self.think_channel(message)?;
        self.out.piece(&PIECES.open_response);
        self.content(index)?;
        self.out.piece(&PIECES.close_response);
        self.call_channel(message)?;
        close_message(&mut self.out);
        Ok(())
    }

    /// The final message, left open for the model to continue.
    pub(super) fn continued_message(&mut self, index: usize) -> Result<()> {
        let message = &self.request.messages()[index];
        self.refuse_tools(message)?;
        self.open_message("assistant", message.name);
        self.think_channel(message)?;
        self.out.piece(&PIECES.open_response);
        self.content(index)
    }

    /// With thinking every message of the assistant has the channel, empty or not; without, none has.
    fn think_channel(&mut self, message: &Message<'a>) -> Result<()> {
        if !self.settings.thinking {
            return Ok(());
        }
        self.out.piece(&PIECES.open_think);
        let reasoning = message
            .reasoning_content
            .filter(|value| is_truthy(*value))
            .or(message.reasoning);
        match reasoning {
            None | Some(Value::None(_)) => {}
            Some(Value::Str(reasoning)) if text::strip(reasoning.as_str()).is_empty() => {}
            Some(reasoning) => self.body(reasoning)?,
        }
        self.out.piece(&PIECES.close_think);
        Ok(())
    }

    fn call_channel(&mut self, message: &Message<'a>) -> Result<()> {
        if let Some(found) = message.tool_calls_value
            && is_truthy(found)
            && !matches!(found, Value::List(_))
        {
            return Err(self.error_at(found.origin(), ErrorKind::wrong_type(found, "an array of tool calls")));
        }
        let calls = calls(&self.request, message, self.is_served());
        if calls.is_empty() {
            return Ok(());
        }
        open(&mut self.out, "tools").end();
        for (i, call) in calls.iter().enumerate() {
            self.call(*call, i + 1)?;
        }
        close(&mut self.out, "tools");
        Ok(())
    }

    fn call(&mut self, call: Value<'a>, number: usize) -> Result<()> {
        let name = self.call_name(call)?;
        let out = &mut self.out;
        out.piece(&PIECES.call);
        write_escaped(out, name);
        out.piece(&PIECES.index);
        write_number(out, number);
        out.piece(&PIECES.end);
        match self.arguments(call)? {
            Arguments::Empty => {}
            Arguments::Object(arguments) => {
                for (key, value) in arguments.entries() {
                    self.out.piece(&PIECES.argument);
                    write_escaped(&mut self.out, *key);
                    self.out.piece(&PIECES.value_type);
                    self.out.format_text(type_name(*value));
                    self.out.piece(&PIECES.end);
                    self.argument(*value)?;
                    self.out.piece(&PIECES.close_argument);
                }
            }
            Arguments::Verbatim(text) => {
                let path = self.request.value().path_of(text.origin());
                let kind = WarningKind::ArgumentsVerbatim;
                self.out.warn(Warning { path, kind });
                open(&mut self.out, "json").attribute(" type", "object").end();
                self.body(Value::Str(text))?;
                close(&mut self.out, "json");
            }
        }
        self.out.piece(&PIECES.close_call);
        Ok(())
    }

    /// The name that a call has: on its `function`, or, if it has none, on itself.
    fn call_name(&self, call: Value<'a>) -> Result<Value<'a>> {
        let target = call.lookup("function").unwrap_or(call);
        let Value::Dict(target) = target else {
            return Err(self.error_at(target.origin(), ErrorKind::wrong_type(target, "an object")));
        };
        let missing = ErrorKind::MissingField { field: "name" };
        target
            .get("name")
            .ok_or_else(|| self.error_at(target.origin(), missing))
    }

    fn arguments(&self, call: Value<'a>) -> Result<Arguments<'a>> {
        let target = call
            .lookup("function")
            .filter(|function| function.as_dict().is_some())
            .unwrap_or(call);
        let value = target.lookup("arguments");
        Arguments::read(value, self.arena()).map_err(|err| {
            let place = value.unwrap_or(target);
            err.at(self.request.value().path_of(place.origin()))
        })
    }

    /// The value of an argument: text as it is, anything else as `json.dumps` writes it.
    fn argument(&mut self, value: Value<'a>) -> Result<()> {
        let Value::Str(_) = value else {
            let mut spelled = String::new();
            if let Err(err) = json::write(&mut spelled, &value, &WriteOptions::default()) {
                let kind = ErrorKind::NotJson {
                    reason: err.to_string(),
                };
                return Err(self.error_at(value.origin(), kind));
            }
            return self.computed_body(value.origin(), &spelled);
        };
        self.body(value)
    }

    fn tool_message(&mut self, place: &Placed<'a>, results: &mut Results<'a>) -> Result<()> {
        let message = &self.request.messages()[place.index];
        self.refuse_tools(message)?;
        results.count += 1;
        // A `tool` that is there but null hides the `name`.
        let own = message.tool.or(message.name).filter(|name| !name.is_none());
        let called = |results: &Results<'a>| results.calls.get(results.count - 1).copied();
        let tool = match (place.tool.or(own), called(results)) {
            (Some(tool), _) => tool,
            (None, Some(call)) => self.call_name(call)?,
            (None, None) => return Err(self.error_at(message.raw.origin(), ErrorKind::UnresolvedTool)),
        };
        if tool.is_none() {
            return Err(self.error_at(message.raw.origin(), ErrorKind::UnresolvedTool));
        }
        let out = &mut self.out;
        out.piece(&PIECES.tool_message);
        write_escaped(out, tool);
        out.piece(&PIECES.index);
        write_number(out, results.count);
        out.piece(&PIECES.end);
        self.content(place.index)?;
        close_message(&mut self.out);
        Ok(())
    }

    fn content(&mut self, index: usize) -> Result<()> {
        match self.request.messages()[index].content() {
            Content::Absent => Ok(()),
            Content::Text(text) => self.body(Value::Str(text)),
            Content::Parts(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if self.is_served() {
                        self.served_part(index, i, *part)?;
                    } else {
                        self.reference_part(index, i, *part)?;
                    }
                }
                Ok(())
            }
            // Python finds no part in an empty dict.
            Content::Other(Value::Dict(dict)) if dict.is_empty() && !self.is_served() => Ok(()),
            Content::Other(found) => {
                let kind = ErrorKind::wrong_type(found, "text, an array of content parts, or null");
                Err(self.error_at(found.origin(), kind))
            }
        }
    }

    fn served_part(&mut self, message: usize, index: usize, raw: Value<'a>) -> Result<()> {
        let part =
            Part::read(raw).map_err(|err| err.within(index).within("content").within(message).within("messages"))?;
        match part.kind {
            PartKind::Text(text) | PartKind::Refusal(text) => self.body(Value::Str(text))?,
            PartKind::Media(Modality::Image) => {
                let start = self.out.len();
                self.out.control(MEDIA_PAD);
                self.image(message, index, raw, start);
            }
            _ => {
                let kind = ErrorKind::UnsupportedPart {
                    found: shortened(part.type_name()),
                    format: "kimi_k3",
                    supported: PARTS,
                };
                return Err(self.error_at(raw.origin(), kind));
            }
        }
        Ok(())
    }

    fn reference_part(&mut self, message: usize, index: usize, raw: Value<'a>) -> Result<()> {
        let Value::Dict(part) = raw else {
            return Err(self.error_at(
                raw.origin(),
                ErrorKind::wrong_type(raw, "a content part, which is an object"),
            ));
        };
        let missing = |field| self.error_at(raw.origin(), ErrorKind::MissingField { field });
        let kind = part.get("type").ok_or_else(|| missing("type"))?;
        if matches!(kind.as_str(), Some("image" | "image_url")) {
            let start = self.out.len();
            self.image_prompt()?;
            self.image(message, index, raw, start);
            return Ok(());
        }
        let text = part.get("text").ok_or_else(|| missing("text"))?;
        self.body(text)
    }
}
