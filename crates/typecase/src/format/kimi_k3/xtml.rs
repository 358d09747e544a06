//! Tags, attributes and the tokens that frame them.

use super::python;
use crate::prompt::{ControlToken, PromptBuilder};
use typecase_jinja::value::{Origin, Value};

const OPEN: ControlToken = ControlToken::new("<|open|>");
const CLOSE: ControlToken = ControlToken::new("<|close|>");
const SEP: ControlToken = ControlToken::new("<|sep|>");
const END_OF_MSG: ControlToken = ControlToken::new("<|end_of_msg|>");

/// Stands for one image in the served profile: registered, one id, the same for every engine.
pub(super) const MEDIA_PAD: ControlToken = ControlToken::new("<|media_pad|>");

/// Stands for one image in the reference profile without image prompts. Not in the vocabulary.
pub(super) const IMAGE_PLACEHOLDER: ControlToken = ControlToken::new("<|kimi_image_placeholder|>");

/// Opens a tag, to be given attributes.
pub(super) fn open<'b, 'a>(out: &'b mut PromptBuilder<'a>, tag: &'static str) -> OpenTag<'b, 'a> {
    out.control(OPEN);
    out.format_text(tag);
    OpenTag { out }
}

pub(super) fn close(out: &mut PromptBuilder<'_>, tag: &'static str) {
    out.control(CLOSE);
    out.format_text(tag);
    out.control(SEP);
}

pub(super) fn close_message(out: &mut PromptBuilder<'_>) {
    close(out, "message");
    out.control(END_OF_MSG);
}

/// A tag before its `<|sep|>`.
#[must_use = "a tag is open until `end`"]
pub(super) struct OpenTag<'b, 'a> {
    out: &'b mut PromptBuilder<'a>,
}

impl<'a> OpenTag<'_, 'a> {
    /// An attribute of the format. `key` begins with a space.
    pub(super) fn attribute(self, key: &'static str, value: &'static str) -> Self {
        self.with_value(key, |out| out.format_text(value))
    }

    /// A number that the format counts.
    pub(super) fn number(self, key: &'static str, number: usize) -> Self {
        self.with_value(key, |out| {
            out.text_from(Origin::COMPUTED, |text| text.push_str(&number.to_string()));
        })
    }

    /// An attribute of the request.
    pub(super) fn value(self, key: &'static str, value: Value<'a>) -> Self {
        self.with_value(key, |out| write_escaped(out, value))
    }

    // Key, `="`, value and `"` stay four segments: joined, BPE would merge across them (encoding_k3.py).
    fn with_value(self, key: &'static str, value: impl FnOnce(&mut PromptBuilder<'a>)) -> Self {
        self.out.format_text(key);
        self.out.format_text("=\"");
        value(self.out);
        self.out.format_text("\"");
        self
    }

    /// Ends the tag.
    pub(super) fn end(self) {
        self.out.control(SEP);
    }
}

/// The text of an attribute: `&` and `"` escaped, nothing else.
fn write_escaped<'a>(out: &mut PromptBuilder<'a>, value: Value<'a>) {
    let origin = value.origin();
    let spelled;
    let text = match value {
        Value::Str(text) if !text.as_str().contains(['&', '"']) => return out.text(text),
        Value::Str(text) => text.as_str(),
        other => {
            spelled = python::to_str(other);
            &spelled
        }
    };
    out.text_from(origin, |out| {
        let mut rest = text;
        while let Some(at) = rest.find(['&', '"']) {
            out.push_str(&rest[..at]);
            out.push_str(if rest.as_bytes()[at] == b'&' { "&amp;" } else { "&quot;" });
            rest = &rest[at + 1..];
        }
        out.push_str(rest);
    });
}
