//! Sizes of images, and how many tokens media have.

use crate::error::raise;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use typecase::media::{self, Anchor, Family, ImageHeader, ImageSize, Media, VideoSample};
use typecase_jinja::value::{Arena, json};

/// Format, stored width and height, and EXIF orientation (1 to 8) of the image in `data`, which is the bytes of a file
/// or a `data:` URL. Nothing is decoded or fetched.
#[pyfunction]
pub(crate) fn image_header(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<(&'static str, u32, u32, u8)> {
    let header = if let Ok(url) = data.cast::<PyString>() {
        ImageHeader::read_data_url(url.to_cow()?.as_ref())
    } else if let Ok(bytes) = data.cast::<PyBytes>() {
        ImageHeader::read(bytes.as_bytes())
    } else {
        return Err(PyTypeError::new_err("an image is given as bytes or as a data: URL"));
    };
    let header = header.map_err(|error| raise(py, error))?;
    let format = match header.format {
        media::image_header::ImageFormat::Png => "png",
        media::image_header::ImageFormat::Jpeg => "jpeg",
        media::image_header::ImageFormat::WebP => "webp",
        media::image_header::ImageFormat::Gif => "gif",
        media::image_header::ImageFormat::Bmp => "bmp",
        _ => "other",
    };
    let ImageSize { width_px, height_px } = header.stored;
    Ok((format, width_px, height_px, header.orientation.to_exif()))
}

/// Kind of media, marker, spelling of the token in it, key of `config.json` that names its id.
type Marker = (&'static str, &'static str, Option<&'static str>, Option<&'static str>);

/// How a checkpoint counts media.
#[pyclass(frozen, module = "typecase._typecase")]
pub(crate) struct MediaFamily(Box<dyn Family>);

#[pymethods]
impl MediaFamily {
    /// From the JSON texts of `config.json`, `preprocessor_config.json` and `video_preprocessor_config.json`; `None`
    /// for a model without media, or of a family that is not known.
    #[staticmethod]
    #[pyo3(signature = (config, preprocessor_config = None, video_preprocessor_config = None))]
    fn load(
        py: Python<'_>,
        config: &str,
        preprocessor_config: Option<&str>,
        video_preprocessor_config: Option<&str>,
    ) -> PyResult<Option<Self>> {
        let arena = Arena::new();
        let parse = |text: &str| {
            json::parse_str(text, &arena)
                .map_err(|error| pyo3::exceptions::PyValueError::new_err(format!("invalid JSON: {error}")))
        };
        let config = parse(config)?;
        let preprocessor = preprocessor_config.map(parse).transpose()?;
        let video = video_preprocessor_config.map(parse).transpose()?;
        media::load(config, preprocessor, video)
            .map(|family| family.map(MediaFamily))
            .map_err(|error| raise(py, error))
    }

    /// The name of the family.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.contract().family
    }

    /// Of each kind of media: what the prompt carries for one item, the token in it that adapters look for, and the key
    /// of `config.json` that names its id.
    #[getter]
    fn markers(&self) -> Vec<Marker> {
        let anchor = |anchor| match anchor {
            Anchor::Token { spelling, config_key } => (Some(spelling), config_key),
            Anchor::Marker => (None, None),
        };
        (self.0.contract().items.iter())
            .map(|item| {
                let (spelling, key) = anchor(item.anchor);
                (item.modality.as_str(), item.marker, spelling, key)
            })
            .collect()
    }

    /// Number of features of an image of `width` times `height` pixels, or of a video of such frames.
    #[pyo3(signature = (width, height, *, frames = None, fps = None))]
    fn token_count(
        &self,
        py: Python<'_>,
        width: u32,
        height: u32,
        frames: Option<Vec<u64>>,
        fps: Option<f64>,
    ) -> PyResult<usize> {
        self.0
            .token_count(&media_of(width, height, frames, fps))
            .map_err(|error| raise(py, error))
    }

    /// What stands for it in an engine's prompt.
    #[pyo3(signature = (width, height, *, frames = None, fps = None))]
    fn expansion(
        &self,
        py: Python<'_>,
        width: u32,
        height: u32,
        frames: Option<Vec<u64>>,
        fps: Option<f64>,
    ) -> PyResult<String> {
        self.0
            .expand(&media_of(width, height, frames, fps))
            .map(|expansion| expansion.to_text())
            .map_err(|error| raise(py, error))
    }
}

fn media_of(width_px: u32, height_px: u32, frames: Option<Vec<u64>>, fps: Option<f64>) -> Media {
    let size = ImageSize::new(width_px, height_px);
    match frames {
        None => Media::Image(size),
        Some(frames) => Media::Video(VideoSample { size, frames, fps }),
    }
}
