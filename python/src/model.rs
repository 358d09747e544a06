//! Models: requests to prompts, prompts to ids.

use crate::adapter::modality;
use crate::error::raise;
use crate::ids::{Ids, view};
use pyo3::exceptions::{PyLookupError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use rayon::prelude::*;
use std::ops::Range;
use std::path::PathBuf;
use typecase::Result;
use typecase::format::{LocalTime, RenderOptions};
use typecase::media::{ImageSize, Media, VideoSample};
use typecase::prompt::{MediaItem, Modality, SpecialTokens, Writer};
use typecase::request::ChatRequest;
use typecase::tokenizer::{EncodeOptions, Tokens, Trust};
use typecase_jinja::value::Arena;

/// Seconds, microseconds and offset from UTC in seconds of what `strftime_now` takes for now.
type Now = (i64, u32, i32);

/// Kind, place in the request, message, part, and code points and tokens of the placeholder of a media item.
type Item = (
    &'static str,
    usize,
    usize,
    usize,
    (usize, usize),
    Option<(usize, usize)>,
);

/// Ids as a view of 32-bit integers, the bytes of the prompt that each stands for, and the media.
type Encoded<'py> = (Bound<'py, PyAny>, Option<Vec<(usize, usize)>>, Vec<Item>);

/// Ids, and a row per id of what [`Model::explain`] says.
type Explained<'py> = (Bound<'py, PyAny>, Vec<i64>, Vec<bool>, Vec<bool>);

/// A media item that is to be expanded.
type Sent = (String, u32, u32, Option<Vec<u64>>, Option<f64>);

/// Expanded ids, and the place and the features of each item.
type Expanded<'py> = (Bound<'py, PyAny>, Vec<((usize, usize), Vec<(usize, usize)>)>);

fn media_item((kind, width, height, frames, fps): Sent) -> PyResult<Media> {
    let size = ImageSize::new(width, height);
    match modality(&kind)? {
        Modality::Image => Ok(Media::Image(size)),
        Modality::Video => Ok(Media::Video(VideoSample {
            size,
            frames: frames.unwrap_or_default(),
            fps,
        })),
        _ => Err(PyValueError::new_err("no family that is known takes audio")),
    }
}

/// A loaded model.
#[pyclass(frozen, module = "typecase._typecase")]
pub(crate) struct Model {
    model: typecase::Model,
}

#[pymethods]
impl Model {
    /// The model in `directory`.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        py.detach(|| typecase::Model::load(directory))
            .map(|model| Model { model })
            .map_err(|error| raise(py, error))
    }

    /// The small model that comes with the library.
    #[staticmethod]
    fn demo(py: Python<'_>) -> PyResult<Self> {
        py.detach(typecase::Model::demo)
            .map(|model| Model { model })
            .map_err(|error| raise(py, error))
    }

    #[getter]
    fn model_type(&self) -> Option<&str> {
        self.model.model_type()
    }

    #[getter]
    fn stop_ids(&self) -> Vec<u32> {
        self.model.stop_ids().to_vec()
    }

    #[getter]
    fn special_tokens(&self) -> Vec<(String, String)> {
        self.model.special_tokens().to_vec()
    }

    /// Name and source of each chat template that comes with the model.
    #[getter]
    fn templates(&self) -> Vec<(String, String)> {
        (self.model.templates().iter())
            .map(|template| (template.name.clone(), template.source.clone()))
            .collect()
    }

    #[pyo3(signature = (request, *, now = None))]
    fn render(&self, py: Python<'_>, request: &Bound<'_, PyAny>, now: Option<Now>) -> PyResult<Prompt> {
        let body = body(request)?;
        py.detach(|| self.prompt(body, &options(now).find_stub(true)))
            .map_err(|error| raise(py, error))
    }

    /// The ids of a request, rendered and encoded.
    #[pyo3(signature = (request, *, ranges = false, now = None))]
    fn tokenize<'py>(
        &self,
        py: Python<'py>,
        request: &Bound<'py, PyAny>,
        ranges: bool,
        now: Option<Now>,
    ) -> PyResult<Encoded<'py>> {
        let body = body(request)?;
        let tokens = py
            .detach(|| self.tokens(body, &options(now), ranges))
            .map_err(|error| raise(py, error))?;
        to_python(py, tokens)
    }

    /// The ids of several requests, on all cores.
    #[pyo3(signature = (requests, *, ranges = false, now = None))]
    fn tokenize_batch<'py>(
        &self,
        py: Python<'py>,
        requests: Vec<Bound<'py, PyAny>>,
        ranges: bool,
        now: Option<Now>,
    ) -> PyResult<Vec<Encoded<'py>>> {
        let bodies = requests.iter().map(body).collect::<PyResult<Vec<_>>>()?;
        let options = options(now);
        let tokens: Result<Vec<_>> = py.detach(|| {
            let numbered = bodies.into_par_iter().enumerate();
            numbered
                .map(|(index, body)| self.tokens(body, &options, ranges).map_err(|error| error.within(index)))
                .collect()
        });
        let tokens = tokens.map_err(|error| raise(py, error))?;
        tokens.into_iter().map(|tokens| to_python(py, tokens)).collect()
    }

    /// The ids of a request; for each its message (or -1), whether it is content, and whether a model writes it.
    #[pyo3(signature = (request, *, now = None))]
    fn explain<'py>(&self, py: Python<'py>, request: &Bound<'py, PyAny>, now: Option<Now>) -> PyResult<Explained<'py>> {
        let body = body(request)?;
        let origins = py
            .detach(|| {
                self.with_prompt(body, &options(now), |prompt| {
                    self.model.explain(prompt, Trust::default())
                })
            })
            .map_err(|error| raise(py, error))?;
        Ok((
            view(py, origins.ids())?,
            origins.message_indices(),
            origins.content_mask(),
            origins.generation_mask(),
        ))
    }

    /// The id of the placeholder of each kind of media that has one.
    #[getter]
    fn anchors(&self) -> Vec<(&'static str, u32)> {
        let anchors = self.model.media().map(|media| media.anchors().iter());
        (anchors.into_iter().flatten())
            .map(|(modality, id)| (modality.as_str(), id))
            .collect()
    }

    /// The ids as an engine's model sees them, with every placeholder expanded, and the place and the features of each
    /// item. `media` has kind, width, height, sampled frames and frames per second of each.
    fn expand<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>, media: Vec<Sent>) -> PyResult<Expanded<'py>> {
        let media: Vec<Media> = media.into_iter().map(media_item).collect::<PyResult<_>>()?;
        let Some(known) = self.model.media() else {
            let found = self.model.model_type().unwrap_or_default();
            return Err(PyLookupError::new_err(format!(
                "no media are known for model_type {found:?}"
            )));
        };
        let ids = Ids::read(ids)?;
        let ids = ids.as_slice();
        let expanded = py
            .detach(|| known.expand(&ids, &media, self.model.tokenizer()))
            .map_err(|error| raise(py, error))?;
        let pair = |range: &Range<usize>| (range.start, range.end);
        let items = (expanded.items.iter())
            .map(|item| (pair(&item.range), item.embeds.iter().map(pair).collect()))
            .collect();
        Ok((view(py, &expanded.ids)?, items))
    }

    fn decode(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        let ids = Ids::read(ids)?;
        let ids = ids.as_slice();
        py.detach(|| self.model.tokenizer().decode(&ids))
            .map_err(|error| raise(py, error))
    }

    /// The ids of text; special tokens in it count if `special_tokens` is set.
    #[pyo3(signature = (text, *, special_tokens = false))]
    fn encode_text<'py>(&self, py: Python<'py>, text: &str, special_tokens: bool) -> PyResult<Bound<'py, PyAny>> {
        let policy = match special_tokens {
            true => SpecialTokens::All,
            false => SpecialTokens::None,
        };
        let ids = py
            .detach(|| self.model.tokenizer().encode_text(text, policy))
            .map_err(|error| raise(py, error))?;
        view(py, &ids)
    }
}

impl Model {
    /// Reads the request in `body`, renders it, and hands the prompt to `then`.
    fn with_prompt<T>(
        &self,
        mut body: Vec<u8>,
        options: &RenderOptions,
        then: impl FnOnce(&typecase::Prompt<'_>) -> Result<T>,
    ) -> Result<T> {
        let arena = Arena::new();
        let request = ChatRequest::parse(&mut body, &arena)?;
        then(&self.model.render(&request, options)?)
    }

    fn tokens(&self, body: Vec<u8>, options: &RenderOptions, ranges: bool) -> Result<(Tokens, bool, Vec<Item>)> {
        self.with_prompt(body, options, |prompt| {
            // Where the placeholders are among the tokens is told by the ranges of these.
            let encode = EncodeOptions::new().ranges(ranges || !prompt.media().is_empty());
            let tokens = self.model.tokenizer().encode_with(prompt, encode)?;
            let media = items(prompt, tokens.ranges());
            Ok((tokens, ranges, media))
        })
    }

    fn prompt(&self, body: Vec<u8>, options: &RenderOptions) -> Result<Prompt> {
        self.with_prompt(body.clone(), options, |prompt| Ok(Prompt::new(prompt, body)))
    }
}

/// A rendered prompt. It keeps the request that it was made of, from which its ids are made.
#[pyclass(frozen, module = "typecase._typecase")]
pub(crate) struct Prompt {
    #[pyo3(get)]
    text: String,
    /// Each unit of encoding, and which special tokens it may become: `all`, `none` or `trusted`.
    #[pyo3(get)]
    segments: Vec<(String, &'static str)>,
    /// Each run of text, who wrote it (`format`, `config` or `request`), and the field it came from.
    #[pyo3(get)]
    provenance: Vec<(String, &'static str, Option<String>)>,
    /// The media, in the order of their placeholders.
    #[pyo3(get)]
    media: Vec<Item>,
    /// Code points of the opened assistant turn.
    #[pyo3(get)]
    generation_stub: Option<(usize, usize)>,
    /// What the format could not take as it is: the field, the kind of warning, and the words for it.
    #[pyo3(get)]
    warnings: Vec<(String, &'static str, String)>,
    body: Vec<u8>,
}

#[pymethods]
impl Prompt {
    /// The request as JSON.
    #[getter]
    fn request<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.body)
    }

    fn __str__(&self) -> &str {
        &self.text
    }
}

impl Prompt {
    fn new(prompt: &typecase::Prompt<'_>, body: Vec<u8>) -> Self {
        let text = prompt.text();
        Prompt {
            segments: (prompt.segment_texts())
                .map(|(text, policy)| {
                    let policy = match policy {
                        SpecialTokens::All => "all",
                        SpecialTokens::None => "none",
                        SpecialTokens::Trusted => "trusted",
                    };
                    (text.to_owned(), policy)
                })
                .collect(),
            provenance: (prompt.provenance().ranges())
                .map(|(range, writer)| {
                    let (writer, path) = match writer {
                        Writer::Format => ("format", None),
                        Writer::Config => ("config", None),
                        Writer::Request(origin) => ("request", Some(prompt.provenance().path(origin).to_string())),
                    };
                    (text[range].to_owned(), writer, path)
                })
                .collect(),
            media: items(prompt, None),
            generation_stub: prompt.generation_stub().map(|range| chars(text, range)),
            warnings: (prompt.warnings().iter())
                .map(|warning| (warning.path.to_string(), warning.kind.code(), warning.kind.to_string()))
                .collect(),
            text: text.to_owned(),
            body,
        }
    }
}

/// The JSON of a request that is given as `str`, `bytes` or a mapping.
fn body(request: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = request.cast::<PyString>() {
        return Ok(text.to_cow()?.as_bytes().to_vec());
    }
    if let Ok(bytes) = request.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if request.hasattr("items")? {
        let py = request.py();
        let options = pyo3::types::PyDict::new(py);
        options.set_item("ensure_ascii", false)?;
        let text = py.import("json")?.call_method("dumps", (request,), Some(&options))?;
        return Ok(text.cast_into::<PyString>()?.to_cow()?.as_bytes().to_vec());
    }
    Err(PyTypeError::new_err(
        "a request is given as JSON (str or bytes) or as a dict",
    ))
}

fn options(now: Option<Now>) -> RenderOptions {
    match now {
        None => RenderOptions::default(),
        Some((seconds, microsecond, offset)) => {
            RenderOptions::default().now(LocalTime::from_unix(seconds, microsecond, offset))
        }
    }
}

/// A range of bytes in code points, as Python counts.
fn chars(text: &str, range: Range<usize>) -> (usize, usize) {
    let start = text[..range.start].chars().count();
    (start, start + text[range].chars().count())
}

fn items(prompt: &typecase::Prompt<'_>, ranges: Option<&[Range<usize>]>) -> Vec<Item> {
    let item = |item: &MediaItem<'_>| {
        let tokens = ranges.map(|ranges| item.tokens(ranges));
        (
            item.modality.as_str(),
            item.request_ordinal,
            item.message,
            item.part,
            chars(prompt.text(), item.placeholder.clone()),
            tokens.map(|tokens| (tokens.start, tokens.end)),
        )
    };
    prompt.media().items().iter().map(item).collect()
}

fn to_python(py: Python<'_>, (tokens, ranges, media): (Tokens, bool, Vec<Item>)) -> PyResult<Encoded<'_>> {
    let pairs = |ranges: &[Range<usize>]| ranges.iter().map(|range| (range.start, range.end)).collect();
    let ranges = tokens.ranges().filter(|_| ranges).map(pairs);
    Ok((view(py, tokens.ids())?, ranges, media))
}
