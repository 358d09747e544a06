//! What a request sets beside its messages: thinking, effort, tool choice, response format.

use super::{Entry, Profile, Reference};
use crate::error::{Error, ErrorKind, Result, shortened};
use crate::request::{ChatRequest, ToolChoice, declared_tool_name, is_truthy};
use typecase_jinja::value::{Origin, Text, Value};

/// The settings of one prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'a> {
    /// Whether assistant messages have a `think` channel.
    pub(super) thinking: bool,
    /// The word of the effort message.
    pub(super) effort: Option<&'static str>,
    pub(super) tool_choice: Choice<'a>,
    pub(super) response_format: ResponseFormat<'a>,
}

/// What the tool-choice message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice<'a> {
    /// Nothing: there is no such message.
    Auto,
    None,
    Required,
    /// Only in the served profile.
    Specified(Text<'a>),
}

/// What the response-format message says.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseFormat<'a> {
    /// Nothing: there is no such message.
    Free,
    JsonObject,
    JsonSchema(Value<'a>),
}

const EFFORTS: [&str; 3] = ["low", "high", "max"];
const DEFAULT_EFFORT: &str = "max";
const EFFORTS_EXPECTED: &str = "\"low\", \"high\" or \"max\"";

/// The `chat_template_kwargs` that the served profile reads.
pub(super) const KEYWORDS: &[&str] = &[
    "thinking",
    "enable_thinking",
    "thinking_effort",
    "reasoning_effort",
    "tool_choice",
    "response_format",
    "response_schema",
];

pub(super) fn resolve<'a>(profile: &Profile, request: &ChatRequest<'a>) -> Result<Settings<'a>> {
    match profile {
        Profile::Served => served(request),
        Profile::Reference(reference) => by_reference(reference, request),
    }
}

/// `thinking` hides `enable_thinking`, `thinking_effort` hides `reasoning_effort`; the effort `none` turns thinking
/// off unless the client says otherwise, and so does the choice of a named tool in any case.
fn served<'a>(request: &ChatRequest<'a>) -> Result<Settings<'a>> {
    let tool_choice = match setting(request, "tool_choice") {
        Some((true, value)) => ToolChoice::read(value).map_err(|err| in_kwargs(err, "tool_choice"))?,
        _ => request.tool_choice(),
    };
    let tool_choice = match tool_choice {
        ToolChoice::None => Choice::None,
        ToolChoice::Required => Choice::Required,
        ToolChoice::Named(name) => {
            if !declares(request, name) {
                let err = Error::new(ErrorKind::UnknownTool {
                    name: shortened(name.as_str()),
                });
                return Err(err.at(request.value().path_of(name.origin())));
            }
            Choice::Specified(name)
        }
        _ => Choice::Auto,
    };
    let mut thinking = match flag(request, "thinking")? {
        Some(thinking) => Some(thinking),
        None => flag(request, "enable_thinking")?,
    };
    let mut effort = request.template_kwarg("thinking_effort");
    let reasoning_effort = request
        .reasoning_effort()
        .or_else(|| request.template_kwarg("reasoning_effort"))
        .filter(|value| !value.is_none());
    match reasoning_effort {
        Some(value) if value.as_str() == Some("none") => thinking = thinking.or(Some(false)),
        Some(value) => effort = effort.or(Some(value)),
        None => {}
    }
    // vLLM refuses an unknown effort even where thinking is off.
    let effort = match effort {
        None => Some(DEFAULT_EFFORT),
        Some(value) => known_effort(request, value)?,
    };
    let thinking = thinking.unwrap_or(true) && !matches!(tool_choice, Choice::Specified(_));
    Ok(Settings {
        thinking,
        effort: effort.filter(|_| thinking),
        tool_choice,
        response_format: response_format(request),
    })
}

fn by_reference<'a>(reference: &Reference, request: &ChatRequest<'a>) -> Result<Settings<'a>> {
    let thinking = request.template_kwarg("thinking").is_none_or(is_truthy);
    let effort = match (request.template_kwarg("thinking_effort"), reference.entry) {
        (Some(value), _) if thinking => known_effort(request, value)?,
        (None, Entry::ApplyChatTemplate) if thinking => Some(DEFAULT_EFFORT),
        _ => None,
    };
    let tool_choice = match setting(request, "tool_choice").and_then(|(_, value)| value.as_str()) {
        Some("required") => Choice::Required,
        Some("none") => Choice::None,
        _ => Choice::Auto,
    };
    Ok(Settings {
        thinking,
        effort,
        tool_choice,
        response_format: response_format(request),
    })
}

/// A field of the request, else of its template arguments (then `true`), that is not `null`.
fn setting<'a>(request: &ChatRequest<'a>, name: &str) -> Option<(bool, Value<'a>)> {
    let kwarg = || request.template_kwarg(name).filter(|value| !value.is_none());
    request
        .set_field(name)
        .map(|value| (false, value))
        .or_else(|| Some((true, kwarg()?)))
}

fn in_kwargs(err: Error, name: &'static str) -> Error {
    err.within(name).within("chat_template_kwargs")
}

fn flag(request: &ChatRequest<'_>, name: &'static str) -> Result<Option<bool>> {
    match request.template_kwarg(name) {
        None | Some(Value::None(_)) => Ok(None),
        Some(Value::Bool(flag, _)) => Ok(Some(flag)),
        Some(found) => Err(in_kwargs(Error::new(ErrorKind::wrong_type(found, "a boolean")), name)),
    }
}

/// The effort's word; nothing if it is `null`, which is not the same as absent.
fn known_effort(request: &ChatRequest<'_>, value: Value<'_>) -> Result<Option<&'static str>> {
    let kind = match value {
        Value::None(_) => return Ok(None),
        Value::Str(word) => match EFFORTS.into_iter().find(|known| *known == word.as_str()) {
            Some(known) => return Ok(Some(known)),
            None => ErrorKind::UnsupportedValue {
                found: shortened(word.as_str()),
                expected: EFFORTS_EXPECTED,
            },
        },
        found => ErrorKind::wrong_type(found, EFFORTS_EXPECTED),
    };
    Err(Error::new(kind).at(request.value().path_of(value.origin())))
}

fn response_format<'a>(request: &ChatRequest<'a>) -> ResponseFormat<'a> {
    let Some((_, format)) = setting(request, "response_format") else {
        return ResponseFormat::Free;
    };
    let kind = match format {
        Value::Dict(dict) => dict.get("type"),
        word => Some(word),
    };
    match kind.and_then(|kind| kind.as_str()) {
        Some("json_object") => ResponseFormat::JsonObject,
        Some("json_schema") => ResponseFormat::JsonSchema(
            request
                .template_kwarg("response_schema")
                .or_else(|| response_schema(format))
                .unwrap_or(Value::None(Origin::COMPUTED)),
        ),
        _ => ResponseFormat::Free,
    }
}

/// `json_schema.schema`, else `json_schema.json_schema`, else `json_schema` itself.
fn response_schema(format: Value<'_>) -> Option<Value<'_>> {
    let schema = format.lookup("json_schema").filter(|schema| !schema.is_none())?;
    schema
        .lookup("schema")
        .or_else(|| schema.lookup("json_schema"))
        .or(Some(schema))
}

/// Whether a tool of this name is declared, by the request or by a message.
fn declares(request: &ChatRequest<'_>, name: Text<'_>) -> bool {
    let top = [request.tools(), request.field("functions")];
    let lists = top
        .into_iter()
        .chain(request.messages().iter().map(|message| message.tools));
    lists
        .flatten()
        .filter_map(|tools| tools.as_list())
        .flat_map(|tools| tools.items())
        .any(|tool| declared_tool_name(*tool) == Some(name))
}
