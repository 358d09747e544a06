//! The JSON output, as `render --help` documents it. Fields may be added, never removed.

use serde::Serialize;
use std::ops::Range;
use typecase::prompt::{MediaItem, Prompt, SpecialTokens};
use typecase::{Error, Fault, Tokens};

/// A rendered request.
#[derive(Debug, Serialize)]
pub(crate) struct Rendered<'r> {
    text: &'r str,
    segments: Vec<Segment<'r>>,
    token_ids: &'r [u32],
    media: Vec<Media>,
    stub: Option<Bytes>,
    format: &'r str,
    model: &'r str,
    warnings: Vec<Warning>,
}

#[derive(Debug, Serialize)]
struct Segment<'r> {
    text: &'r str,
    special_tokens: &'static str,
    start: usize,
    end: usize,
}

#[derive(Debug, Serialize)]
struct Bytes {
    start: usize,
    end: usize,
}

#[derive(Debug, Serialize)]
struct Media {
    modality: &'static str,
    path: String,
    message: usize,
    part: usize,
    request_ordinal: usize,
    placeholder: Bytes,
    token: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Warning {
    path: String,
    code: &'static str,
    message: String,
}

impl<'r> Rendered<'r> {
    pub(crate) fn new(prompt: &'r Prompt<'_>, tokens: &'r Tokens, format: &'r str, model: &'r str) -> Self {
        let mut start = 0;
        let segments = prompt.segment_texts().map(|(text, special_tokens)| {
            let from = start;
            start += text.len();
            Segment {
                text,
                special_tokens: match special_tokens {
                    SpecialTokens::All => "all",
                    SpecialTokens::None => "none",
                    SpecialTokens::Trusted => "trusted",
                },
                start: from,
                end: start,
            }
        });
        let media = prompt.media().items().iter().map(|item| Media {
            modality: item.modality.as_str(),
            path: path(item),
            message: item.message,
            part: item.part,
            request_ordinal: item.request_ordinal,
            placeholder: bytes(item.placeholder.clone()),
            token: placeholder_token(item, tokens),
        });
        let warnings = prompt.warnings().iter().map(|warning| Warning {
            path: warning.path.to_string(),
            code: warning.kind.code(),
            message: warning.kind.to_string(),
        });
        Rendered {
            text: prompt.text(),
            segments: segments.collect(),
            token_ids: tokens.ids(),
            media: media.collect(),
            stub: prompt.generation_stub().map(bytes),
            format,
            model,
            warnings: warnings.collect(),
        }
    }
}

fn bytes(range: Range<usize>) -> Bytes {
    Bytes {
        start: range.start,
        end: range.end,
    }
}

/// Where in the request a media item stands.
pub(crate) fn path(item: &MediaItem<'_>) -> String {
    format!("messages[{}].content[{}]", item.message, item.part)
}

/// The position of an item's placeholder among the ids, if it is one id.
pub(crate) fn placeholder_token(item: &MediaItem<'_>, tokens: &Tokens) -> Option<usize> {
    let ranges = tokens.ranges()?;
    let at = ranges.partition_point(|range| range.start < item.placeholder.start);
    (ranges.get(at) == Some(&item.placeholder)).then_some(at)
}

/// A refused request, in the shape of OpenAI's errors.
#[derive(Debug, Serialize)]
pub(crate) struct Refused {
    error: ErrorObject,
}

#[derive(Debug, Serialize)]
struct ErrorObject {
    message: String,
    r#type: &'static str,
    param: Option<String>,
    code: &'static str,
}

impl Refused {
    pub(crate) fn new(err: &Error) -> Self {
        Refused {
            error: ErrorObject {
                message: err.to_string(),
                r#type: match err.fault() {
                    Fault::Client => "invalid_request_error",
                    Fault::Server => "server_error",
                },
                param: (!err.path().is_root()).then(|| err.path().to_string()),
                code: err.kind().code(),
            },
        }
    }
}
