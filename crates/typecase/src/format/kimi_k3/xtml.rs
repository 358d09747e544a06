//! Tags, attributes and the tokens that frame them.

use super::python;
use crate::prompt::{ControlToken, Piece, PromptBuilder};
use std::fmt::Write as _;
use std::sync::LazyLock;
use typecase_jinja::value::{Origin, Value};

const OPEN: ControlToken = ControlToken::new("<|open|>");
const CLOSE: ControlToken = ControlToken::new("<|close|>");
const SEP: ControlToken = ControlToken::new("<|sep|>");
const END_OF_MSG: ControlToken = ControlToken::new("<|end_of_msg|>");

/// Stands for one image in the served profile: registered, one id, the same for every engine.
pub(super) const MEDIA_PAD: ControlToken = ControlToken::new("<|media_pad|>");

/// What a vocabulary must have.
pub(super) const CONTROL_TOKENS: &[ControlToken] = &[OPEN, CLOSE, SEP, END_OF_MSG, MEDIA_PAD];

/// Stands for one image in the reference profile without image prompts. Not in the vocabulary.
pub(super) const IMAGE_PLACEHOLDER: ControlToken = ControlToken::new("<|kimi_image_placeholder|>");

/// Opens a tag, to be given attributes.
pub(super) fn open<'b, 'a>(out: &'b mut PromptBuilder<'a>, tag: &'static str) -> OpenTag<'b, 'a> {
    out.control(OPEN);
    out.format_text(tag);
    OpenTag { out }
}

/// The sequences that most messages are made of, put together once.
pub(super) struct Pieces {
    /// The tags that open a message without a name.
    pub(super) system: Piece,
    pub(super) user: Piece,
    pub(super) assistant: Piece,
    pub(super) close_message: Piece,
    pub(super) open_think: Piece,
    pub(super) close_think: Piece,
    pub(super) open_response: Piece,
    pub(super) close_response: Piece,
    /// From the beginning of a tag to its first value, and from there on to the second one.
    pub(super) tool_message: Piece,
    pub(super) call: Piece,
    pub(super) index: Piece,
    pub(super) argument: Piece,
    pub(super) value_type: Piece,
    /// Behind the last value of a tag.
    pub(super) end: Piece,
    pub(super) close_call: Piece,
    pub(super) close_argument: Piece,
}

pub(super) static PIECES: LazyLock<Pieces> = LazyLock::new(|| {
    let message = |role| Piece::new(|out| open(out, "message").attribute(" role", role).end());
    let open_tag = |tag| Piece::new(|out| open(out, tag).end());
    let close_tag = |tag| Piece::new(|out| close(out, tag));
    let value = |out: &mut PromptBuilder<'_>, key| {
        out.format_text(key);
        out.format_text("=\"");
    };
    Pieces {
        system: message("system"),
        user: message("user"),
        assistant: message("assistant"),
        close_message: Piece::new(|out| {
            close(out, "message");
            out.control(END_OF_MSG);
        }),
        open_think: open_tag("think"),
        close_think: close_tag("think"),
        open_response: open_tag("response"),
        close_response: close_tag("response"),
        tool_message: Piece::new(|out| value(open(out, "message").attribute(" role", "tool").out, " tool")),
        call: Piece::new(|out| value(open(out, "call").out, " tool")),
        index: Piece::new(|out| {
            out.format_text("\"");
            value(out, " index");
        }),
        argument: Piece::new(|out| value(open(out, "argument").out, " key")),
        value_type: Piece::new(|out| {
            out.format_text("\"");
            value(out, " type");
        }),
        end: Piece::new(|out| {
            out.format_text("\"");
            out.control(SEP);
        }),
        close_call: close_tag("call"),
        close_argument: close_tag("argument"),
    }
});

pub(super) fn close(out: &mut PromptBuilder<'_>, tag: &'static str) {
    out.control(CLOSE);
    out.format_text(tag);
    out.control(SEP);
}

pub(super) fn close_message(out: &mut PromptBuilder<'_>) {
    out.piece(&PIECES.close_message);
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

/// A number that the format counts.
pub(super) fn write_number(out: &mut PromptBuilder<'_>, number: usize) {
    out.text_from(Origin::COMPUTED, |text| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{number}");
    });
}

/// The text of an attribute: `&` and `"` escaped, nothing else.
pub(super) fn write_escaped<'a>(out: &mut PromptBuilder<'a>, value: Value<'a>) {
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
