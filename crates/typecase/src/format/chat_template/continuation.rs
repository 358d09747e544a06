//! The final message left open: `continue_final_message`.
//!
//! transformers appends a tag to the text that is to be continued, renders, and cuts the prompt where the tag came out
//! last. The tag passes through the filters of the template together with the text, which is how it is found out that
//! the template trimmed the text. The same is done here, byte for byte; only the bytes of the request keep their
//! origins, and what the tag leaves behind counts as written by the format.

use super::messages::REASONING_FIELDS;
use crate::error::{Error, ErrorKind, Result};
use typecase_jinja::value::text::strip;
use typecase_jinja::value::{Arena, Dict, List, Origin, Text, TextBuilder, Value, compare, text};

/// What transformers 5.23.0 appends (`continue_final_message_tag`).
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";
/// The tag as it is found again.
const TRIMMED_TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG";

/// A conversation whose final message is tagged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Continuation<'a> {
    /// The messages for the template.
    pub(super) messages: &'a List<'a>,
    /// The text that is continued, without the tag.
    text: &'a str,
}

/// Tags the final one of the prepared `messages`, in `field`.
///
/// # Errors
/// Client faults: there is no such field or no text in it, or `source`, the template, never reads it.
pub(super) fn tag<'a>(messages: &'a List<'a>, field: &str, source: &str, arena: &'a Arena) -> Result<Continuation<'a>> {
    let Some((Value::Dict(last), before)) = messages.items().split_last() else {
        return Err(refused("there is no message"));
    };
    let at_last = |err: Error| err.within(before.len()).within("messages");
    let Some(value) = last.get(field).filter(|value| !value.is_none()) else {
        return Err(at_last(refused("it has no such field")));
    };
    // The name of the field may be under the client's control, but which fields are tagged is not.
    let is_reasoning = REASONING_FIELDS.contains(&field);
    let is_tagged = |name: &str, other: Value<'_>| match is_reasoning {
        true => REASONING_FIELDS.contains(&name) && is_equal(other, value, arena),
        false => name == field,
    };
    let mut tagged = last
        .str_entries()
        .filter(|(name, other)| is_tagged(name.as_str(), *other));
    if !tagged.any(|(name, _)| source.contains(name.as_str())) {
        return Err(at_last(refused("the template does not read the field")));
    }
    let (text, replaced) = match value {
        Value::List(parts) => {
            let (text, tagged) = tag_last_part(parts, arena).map_err(|err| at_last(err.within(field)))?;
            // A list that stands under several names is one list.
            (
                text,
                replace(last, arena, |_, other| is_list(other, parts).then_some(tagged)),
            )
        }
        Value::Str(text) => {
            let tagged = Value::Str(with_tag(text, arena));
            let replaced = replace(last, arena, |name, other| is_tagged(name, other).then_some(tagged));
            (text.as_str(), replaced)
        }
        found => {
            let kind = ErrorKind::wrong_type(found, "a string or an array of parts");
            return Err(at_last(Error::new(kind).within(field)));
        }
    };
    let mut all = before.to_vec();
    all.push(Value::Dict(replaced));
    Ok(Continuation {
        messages: arena.list(&all, messages.origin()),
        text,
    })
}

/// Tags the last part that has a `text`; returns that text and the parts.
fn tag_last_part<'a>(parts: &'a List<'a>, arena: &'a Arena) -> Result<(&'a str, Value<'a>)> {
    for (i, part) in parts.items().iter().enumerate().rev() {
        let fields = match part {
            Value::Dict(fields) => fields,
            // Python looks for "text" within a `str` or a list, too, and then fails to take it from there.
            Value::Str(text) if !text.as_str().contains("text") => continue,
            Value::List(items) if !items.items().iter().any(|item| item.as_str() == Some("text")) => continue,
            found => return Err(Error::new(ErrorKind::wrong_type(*found, "a content part")).within(i)),
        };
        let text = match fields.get("text") {
            None => continue,
            Some(Value::Str(text)) => text,
            Some(found) => {
                return Err(Error::new(ErrorKind::wrong_type(found, "a string"))
                    .within("text")
                    .within(i));
            }
        };
        let tagged = Value::Str(with_tag(text, arena));
        let part = replace(fields, arena, |name, _| (name == "text").then_some(tagged));
        let mut all = parts.items().to_vec();
        all[i] = Value::Dict(part);
        return Ok((text.as_str(), Value::List(arena.list(&all, parts.origin()))));
    }
    Err(refused("there is no text to continue"))
}

/// The dict with those values replaced for which `with` has another.
fn replace<'a>(
    dict: &'a Dict<'a>,
    arena: &'a Arena,
    with: impl Fn(&str, Value<'a>) -> Option<Value<'a>>,
) -> &'a Dict<'a> {
    let mut entries = dict.entries().to_vec();
    for (name, value) in &mut entries {
        if let Some(other) = name.as_str().and_then(|name| with(name, *value)) {
            *value = other;
        }
    }
    arena.dict(&mut entries, dict.origin())
}

fn with_tag<'a>(text: Text<'a>, arena: &'a Arena) -> Text<'a> {
    let mut builder = TextBuilder::new();
    builder.push(text);
    builder.push_from(TAG, Origin::COMPUTED);
    builder.finish(arena)
}

/// `==`; what nests too deep to be compared is not tagged.
fn is_equal(a: Value<'_>, b: Value<'_>, arena: &Arena) -> bool {
    compare::equal(&a, &b, arena).unwrap_or(false)
}

fn is_list<'a>(value: Value<'a>, list: &'a List<'a>) -> bool {
    matches!(value, Value::List(other) if std::ptr::eq(other, list))
}

impl Continuation<'_> {
    /// Where to cut what was rendered, so that it ends within the message.
    ///
    /// # Errors
    /// A client fault if the text or the tag did not come out: the template left it out, or wrote it in another way.
    pub(super) fn end(&self, rendered: &str) -> Result<usize> {
        let found = rendered.rfind(TRIMMED_TAG);
        let Some(end) = found.filter(|_| rendered.contains(strip(self.text))) else {
            return Err(refused("the template does not write its text as it is"));
        };
        Ok(match rendered[end..].starts_with(TAG) {
            true => end,
            // Trailing space was trimmed from the text, so it is trimmed here as well.
            false => rendered[..end].trim_end_matches(text::is_space).len(),
        })
    }
}

#[cold]
fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::CannotContinue { reason })
}
