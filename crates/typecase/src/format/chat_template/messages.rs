//! Messages as templates see them.
//!
//! `apply_chat_template` changes every message a little before the template runs (transformers 5.23.0,
//! `tokenization_utils_base.py` and `_alias_reasoning_fields` of `utils/chat_template_utils.py`):
//!
//! 1. Fields that are `null` are dropped: those of the message itself, not what is inside of them.
//! 2. Reasoning is copied to the names that templates read: `reasoning_content` becomes the first of
//!    `reasoning_content`, `thinking` and `reasoning`, in its own place or else at the end; and `thinking`, which keeps
//!    its value if there is one, moves to the front.
//!
//! Most messages have neither, and are used as they are.

use typecase_jinja::value::{Arena, Dict, List, Origin, Text, Value};

/// The names of a message's reasoning, the first of which templates should read.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The messages as a template sees them; the list itself if none of them changes.
pub(super) fn prepare<'a>(messages: &'a List<'a>, arena: &'a Arena) -> &'a List<'a> {
    let mut changed: Vec<Value<'a>> = Vec::new();
    for (i, message) in messages.items().iter().enumerate() {
        let Some(prepared) = message.as_dict().and_then(|fields| prepare_one(fields, arena)) else {
            if !changed.is_empty() {
                changed.push(*message);
            }
            continue;
        };
        if changed.is_empty() {
            changed.reserve(messages.len());
            changed.extend_from_slice(&messages.items()[..i]);
        }
        changed.push(Value::Dict(prepared));
    }
    match changed.is_empty() {
        true => messages,
        false => arena.list(&changed, messages.origin()),
    }
}

/// A message without its `null`s and with its reasoning under all names; `None` if that is the message itself.
fn prepare_one<'a>(message: &'a Dict<'a>, arena: &'a Arena) -> Option<&'a Dict<'a>> {
    let (mut nulls, mut reasons) = (false, false);
    for (key, value) in message.entries() {
        match value {
            Value::None(_) => nulls = true,
            _ => reasons |= key.as_str().is_some_and(|key| REASONING_FIELDS.contains(&key)),
        }
    }
    if !nulls && !reasons {
        return None;
    }
    let mut entries = Vec::with_capacity(message.len() + 2);
    let reasoning = REASONING_FIELDS
        .iter()
        .find_map(|name| message.get(name).filter(|value| !value.is_none()));
    if let Some(reasoning) = reasoning {
        entries.push((key("thinking", arena), reasoning));
    }
    entries.extend(message.entries().iter().filter(|(_, value)| !value.is_none()));
    if let Some(reasoning) = reasoning {
        entries.push((key("reasoning_content", arena), reasoning));
    }
    // Of equal keys a dict keeps the first place and the last value, which is all that the two copies need.
    Some(arena.dict(&mut entries, message.origin()))
}

/// A key that the client did not send.
fn key<'a>(name: &str, arena: &'a Arena) -> Value<'a> {
    Value::Str(Text::with_origin(name, Origin::COMPUTED, arena))
}
