//! Adapters from canonical prompts to what engines take.

use crate::error::raise;
use crate::ids::{Ids, replaced_list};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::borrow::Cow;
use typecase::engine::RawMedia;
use typecase::engine::{canonical, vllm};
use typecase::media::Anchors;
use typecase::prompt::Modality;

/// Kimi K3 on vLLM: puts the ids of the checkpoint's `image_placeholder` in place of each `anchor`.
///
/// >>> from typecase._typecase import VllmKimiK3
/// >>> adapter = VllmKimiK3(163605, [27, 91, 74])
/// >>> adapter.prompt_ids([1, 163605, 2], images=1)
/// [1, 27, 91, 74, 2]
#[pyclass(frozen, module = "typecase._typecase")]
#[derive(Clone)]
pub(crate) struct VllmKimiK3(vllm::KimiK3);

#[pymethods]
impl VllmKimiK3 {
    #[new]
    fn new(py: Python<'_>, anchor: u32, placeholder: Vec<u32>) -> PyResult<Self> {
        vllm::KimiK3::new(anchor, placeholder)
            .map(VllmKimiK3)
            .map_err(|error| raise(py, error))
    }

    /// The canonical placeholder.
    #[getter]
    fn anchor(&self) -> u32 {
        self.0.anchor()
    }

    /// What vLLM takes in its place.
    #[getter]
    fn placeholder(&self) -> Vec<u32> {
        self.0.placeholder().to_vec()
    }

    /// The ids that vLLM takes; the very object given where there is nothing to do.
    #[pyo3(signature = (ids, *, images = 0, vision_chunks = 0))]
    fn prompt_ids<'py>(
        &self,
        py: Python<'py>,
        ids: Bound<'py, PyAny>,
        images: usize,
        vision_chunks: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if images == 0 && vision_chunks == 0 {
            return Ok(ids);
        }
        let media = RawMedia::NONE.images(images).vision_chunks(vision_chunks);
        let read = Ids::read(&ids)?;
        let slice = read.as_slice();
        let (adapter, view) = (&self.0, &*slice);
        match py.detach(|| adapter.prompt_ids(view, &media)) {
            Ok(Cow::Borrowed(_)) => Ok(ids),
            Ok(Cow::Owned(out)) => match ids.cast::<PyList>() {
                Ok(list) => replaced_list(list, view, adapter.anchor(), adapter.placeholder()),
                Err(_) => crate::ids::view(py, &out),
            },
            Err(error) => Err(raise(py, error)),
        }
    }

    fn __getnewargs__(&self) -> (u32, Vec<u32>) {
        (self.anchor(), self.placeholder())
    }

    fn __repr__(&self) -> String {
        format!("VllmKimiK3({}, {:?})", self.anchor(), self.placeholder())
    }
}

/// Engines that take the canonical form: counts, and gives back the very object it was given.
///
/// >>> from typecase._typecase import Canonical
/// >>> ids = [1, 151655, 2]
/// >>> Canonical({"image": 151655}).prompt_ids(ids, images=1) is ids
/// True
#[pyclass(frozen, module = "typecase._typecase")]
#[derive(Clone)]
pub(crate) struct Canonical {
    adapter: canonical::Canonical,
    anchors: Vec<(String, u32)>,
}

#[pymethods]
impl Canonical {
    #[new]
    fn new(anchors: std::collections::BTreeMap<String, u32>) -> PyResult<Self> {
        let read: PyResult<Vec<_>> = anchors.iter().map(|(kind, id)| Ok((modality(kind)?, *id))).collect();
        Ok(Canonical {
            adapter: canonical::Canonical::new(Anchors::new(read?)),
            anchors: anchors.into_iter().collect(),
        })
    }

    /// `ids`, once they are found to have one placeholder per item.
    #[pyo3(signature = (ids, *, images = 0, videos = 0, audios = 0, vision_chunks = 0))]
    fn prompt_ids<'py>(
        &self,
        py: Python<'py>,
        ids: Bound<'py, PyAny>,
        images: usize,
        videos: usize,
        audios: usize,
        vision_chunks: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let media = RawMedia::NONE
            .images(images)
            .videos(videos)
            .audios(audios)
            .vision_chunks(vision_chunks);
        let read = Ids::read(&ids)?;
        let slice = read.as_slice();
        let (adapter, view) = (&self.adapter, &*slice);
        match py.detach(|| adapter.prompt_ids(view, &media).map(|_| ())) {
            Ok(()) => Ok(ids),
            Err(error) => Err(raise(py, error)),
        }
    }

    fn __getnewargs__(&self) -> (std::collections::BTreeMap<String, u32>,) {
        (self.anchors.iter().cloned().collect(),)
    }

    fn __repr__(&self) -> String {
        format!("Canonical({:?})", self.anchors)
    }
}

/// `image`, `video` or `audio`.
pub(crate) fn modality(name: &str) -> PyResult<Modality> {
    match name {
        "image" => Ok(Modality::Image),
        "video" => Ok(Modality::Video),
        "audio" => Ok(Modality::Audio),
        other => Err(PyValueError::new_err(format!(
            "{other:?} is no kind of media; there are image, video, audio"
        ))),
    }
}
