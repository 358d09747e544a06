//! The JSON output, as `render --help` documents it. Fields may be added, never removed.

use crate::renderer::Done;
use anstream::AutoStream;
use anyhow::Result;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::ops::Range;
use typecase::prompt::{MediaItem, Prompt, SpecialTokens, Writer};
use typecase::{Error, Fault, Tokens};

/// Standard output. Data goes out byte for byte; only a view for people has colours, which are taken out where nobody
/// sees them, and control characters with them.
pub(crate) enum Out {
    Data(BufWriter<StdoutLock<'static>>),
    View(BufWriter<AutoStream<StdoutLock<'static>>>),
}

impl Out {
    pub(crate) fn new(is_view: bool) -> Self {
        match is_view {
            true => Out::View(BufWriter::new(AutoStream::auto(io::stdout().lock()))),
            false => Out::Data(BufWriter::new(io::stdout().lock())),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Data(out) => out.write(bytes),
            Out::View(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Data(out) => out.flush(),
            Out::View(out) => out.flush(),
        }
    }
}

/// A rendered request.
#[derive(Debug, Serialize)]
pub(crate) struct Rendered<'r> {
    text: &'r str,
    segments: Vec<Segment<'r>>,
    token_ids: Option<&'r [u32]>,
    media: Vec<Media>,
    stub: Option<Bytes>,
    format: &'r str,
    model: Option<&'r str>,
    warnings: Vec<Warning>,
    provenance: Vec<Run>,
    generation: Vec<Bytes>,
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
struct Run {
    start: usize,
    end: usize,
    writer: &'static str,
    path: Option<String>,
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
    pub(crate) fn new(done: &'r Done<'_>, model: Option<&'r str>) -> Self {
        let Done { prompt, tokens, format } = done;
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
            token: tokens.as_ref().and_then(|tokens| placeholder_token(item, tokens)),
        });
        let warnings = prompt.warnings().iter().map(|warning| Warning {
            path: warning.path.to_string(),
            code: warning.kind.code(),
            message: warning.kind.to_string(),
        });
        Rendered {
            text: prompt.text(),
            segments: segments.collect(),
            token_ids: tokens.as_ref().map(Tokens::ids),
            media: media.collect(),
            stub: prompt.generation_stub().map(bytes),
            format,
            model,
            warnings: warnings.collect(),
            provenance: runs(prompt),
            generation: prompt.generation_spans().iter().cloned().map(bytes).collect(),
        }
    }
}

fn runs(prompt: &Prompt<'_>) -> Vec<Run> {
    let runs = prompt.provenance().ranges().map(|(range, writer)| Run {
        start: range.start,
        end: range.end,
        writer: writer_name(writer),
        path: match writer {
            Writer::Request(origin) => Some(prompt.provenance().path(origin).to_string()),
            Writer::Format | Writer::Config => None,
        },
    });
    runs.collect()
}

/// Who wrote, in a word.
pub(crate) fn writer_name(writer: Writer) -> &'static str {
    match writer {
        Writer::Format => "format",
        Writer::Config => "config",
        Writer::Request(_) => "request",
    }
}

/// Writes `value` as one line of JSON.
pub(crate) fn json_line<T: Serialize + ?Sized>(out: &mut impl Write, value: &T) -> Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
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
    pub(crate) error: ErrorObject,
}

#[derive(Debug, Serialize)]
pub(crate) struct ErrorObject {
    pub(crate) message: String,
    pub(crate) r#type: &'static str,
    pub(crate) param: Option<String>,
    pub(crate) code: &'static str,
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
