//! What a case asks for: the arguments of its line, or what `generate` and `raw` describe instead.

use typecase::value::json::{self, WriteOptions};
use typecase::value::{Arena, Value};

/// What is rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A JSON text of arguments, in the shape of a conversations file.
    Arguments(String),
    /// A request body, as a client sends it.
    Request(String),
}

/// The fields of a case that are arguments.
const ARGUMENTS: [&str; 7] = [
    "messages",
    "tools",
    "documents",
    "kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "reasoning_effort",
];

/// The body of a case. `replaced` has fields that stand in for those of the case; of a described conversation only the
/// first `turns` are made.
pub(super) fn body(case: Value<'_>, replaced: Option<Value<'_>>, turns: Option<usize>) -> Option<Body> {
    if let Some(raw) = case.lookup("raw") {
        return Some(Body::Request(raw.as_str()?.to_owned()));
    }
    let generate = case.lookup("generate");
    if let Some(raw) = generate.and_then(|generate| generate.lookup("raw")) {
        let nest = generate?.lookup("nest")?.as_list()?.items();
        let [open, Value::Int(depth, _)] = nest else {
            return None;
        };
        let depth = usize::try_from(*depth).ok()?;
        let close = if open.as_str()? == "[" { "]" } else { "}" };
        let nested = open.as_str()?.repeat(depth) + &close.repeat(depth);
        return Some(Body::Request(raw.as_str()?.replace("NEST", &nested)));
    }
    let mut out = "{".to_owned();
    for name in ARGUMENTS {
        let value = replaced
            .and_then(|replaced| replaced.lookup(name))
            .or_else(|| case.lookup(name));
        let Some(value) = value else { continue };
        if out.len() > 1 {
            out.push_str(", ");
        }
        json::write_str(&mut out, name, false);
        out.push_str(": ");
        match generate {
            Some(generate) if name == "messages" => messages(&mut out, generate, turns)?,
            // What was read from JSON has a spelling in JSON.
            _ => json::write(&mut out, &value, &WriteOptions::default()).ok()?,
        }
    }
    out.push('}');
    Some(Body::Arguments(out))
}

/// The messages that `generate` describes.
fn messages(out: &mut String, generate: Value<'_>, turns: Option<usize>) -> Option<()> {
    let mut messages = Vec::new();
    if let Some(repeated) = generate.lookup("content_repeat") {
        let role = generate.lookup("role")?.as_str()?;
        for pair in repeated.as_list()?.items() {
            let [text, Value::Int(times, _)] = pair.as_list()?.items() else {
                return None;
            };
            let content = text.as_str()?.repeat(usize::try_from(*times).ok()?);
            messages.push(message(role, &content, ""));
        }
    } else {
        let Some(Value::Int(all, _)) = generate.lookup("turns") else {
            return None;
        };
        let call = generate.lookup("assistant_tool_call")?;
        let arguments = json::to_string(&call.lookup("arguments")?).ok()?;
        let name = call.lookup("name")?.as_str()?;
        for turn in 0..turns.unwrap_or(usize::try_from(all).ok()?) {
            let i = turn.to_string();
            let text = |field: &str| Some(generate.lookup(field)?.as_str()?.replace("{i}", &i));
            messages.push(message("user", &text("user")?, ""));
            let arguments = arguments.replace("{i}", &i);
            let calls = format!(
                ", \"tool_calls\": [{{\"id\": \"call_{i}\", \"type\": \"function\", \
                 \"function\": {{\"name\": \"{name}\", \"arguments\": {arguments}}}}}]"
            );
            messages.push(message("assistant", "", &calls));
            messages.push(message(
                "tool",
                &text("tool")?,
                &format!(", \"tool_call_id\": \"call_{i}\""),
            ));
        }
    }
    out.push('[');
    out.push_str(&messages.join(", "));
    out.push(']');
    Some(())
}

fn message(role: &str, content: &str, more: &str) -> String {
    let mut out = format!("{{\"role\": \"{role}\", \"content\": ");
    json::write_str(&mut out, content, false);
    out.push_str(more);
    out.push('}');
    out
}

/// The keyword arguments of a case without some of them, as the field that stands in for `kwargs`.
pub(super) fn kwargs_without<'a>(case: Value<'a>, names: &[&str], arena: &'a Arena) -> Option<Value<'a>> {
    let kwargs = case.lookup("kwargs")?.as_dict()?;
    let mut kept: Vec<(Value<'a>, Value<'a>)> = kwargs
        .entries()
        .iter()
        .filter(|(name, _)| name.as_str().is_none_or(|name| !names.contains(&name)))
        .copied()
        .collect();
    let kwargs = Value::Dict(arena.dict(&mut kept, kwargs.origin()));
    let mut fields = vec![(Value::Str("kwargs".into()), kwargs)];
    Some(Value::Dict(arena.dict(&mut fields, Default::default())))
}
