//! Token ids in and out.
//!
//! In: anything with a buffer of 32-bit or 64-bit integers (`array`, numpy, `memoryview`, `typecase.Tokens`), or
//! a sequence of `int`. Out: `bytes` that hold 32-bit integers, of which `memoryview(..).cast("I")` is a typed view.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySlice, PyTuple};
use std::borrow::Cow;

/// Ids that a caller gave.
pub(crate) enum Ids<'py> {
    /// 32-bit integers of a buffer.
    Buffer(Bound<'py, PyBytes>),
    /// From a sequence, or wider integers of a buffer.
    Owned(Vec<u32>),
}

impl<'py> Ids<'py> {
    pub(crate) fn read(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return packed(object);
        }
        // `typecase.Tokens` has the buffer protocol itself from Python 3.12 on, and its memory in `ids` before.
        let view = PyMemoryView::from(object).or_else(|_| PyMemoryView::from(&object.getattr("ids")?));
        let Ok(view) = view else {
            return match object.extract() {
                Ok(ids) => Ok(Ids::Owned(ids)),
                Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Err(PyTypeError::new_err(
                    "token ids must be a sequence of int or a buffer of 32-bit or 64-bit integers",
                )),
                Err(error) => Err(error),
            };
        };
        let format: String = view.getattr("format")?.extract()?;
        let width: usize = view.getattr("itemsize")?.extract()?;
        match (format.trim_start_matches(['@', '=', '<']), width) {
            ("I" | "L", 4) => Ok(Ids::Buffer(contents(&view)?)),
            ("i" | "l", 4) => narrow(&view, |chunk| i32::from_ne_bytes(*chunk).into()),
            ("q" | "l" | "Q" | "L", 8) => narrow(&view, |chunk| i64::from_ne_bytes(*chunk)),
            _ => Err(PyTypeError::new_err(format!(
                "token ids must be 32-bit or 64-bit integers, not a buffer of format {format:?}"
            ))),
        }
    }

    pub(crate) fn as_slice(&self) -> Cow<'_, [u32]> {
        match self {
            // Both `bytes` and the stable ABI's view of them keep the data aligned, but do not promise it.
            Ids::Buffer(bytes) => match bytemuck::try_cast_slice(bytes.as_bytes()) {
                Ok(ids) => Cow::Borrowed(ids),
                Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes.as_bytes())),
            },
            Ids::Owned(ids) => Cow::Borrowed(ids),
        }
    }
}

/// The ids of a list or tuple. Python's own `array` reads them some three times faster than one by one through the
/// stable ABI.
fn packed<'py>(sequence: &Bound<'py, PyAny>) -> PyResult<Ids<'py>> {
    static ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = sequence.py();
    let array = ARRAY.get_or_try_init(py, || py.import("array")?.getattr("array").map(Bound::unbind))?;
    let array = array.bind(py).call1(("I", sequence))?;
    Ok(Ids::Buffer(contents(&PyMemoryView::from(&array)?)?))
}

/// The bytes of a buffer: those of the `bytes` that it is a view of, where it is one of the whole, else a copy.
fn contents<'py>(view: &Bound<'py, PyMemoryView>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = view.getattr("obj")?.cast_into::<PyBytes>()
        && view.getattr("c_contiguous")?.is_truthy()?
        && view.getattr("nbytes")?.extract::<usize>()? == bytes.as_bytes().len()
    {
        return Ok(bytes);
    }
    Ok(view.call_method0("tobytes")?.cast_into::<PyBytes>()?)
}

/// Ids that are copied together: few enough for the allocator to have the room at hand.
const PIECE: usize = 8192;

/// The ids of a buffer of integers of `N` bytes.
fn narrow<'py, const N: usize>(view: &Bound<'py, PyMemoryView>, read: impl Fn(&[u8; N]) -> i64) -> PyResult<Ids<'py>> {
    let py = view.py();
    let mut ids = Vec::new();
    let mut add = |bytes: &Bound<'py, PyBytes>| {
        let (chunks, _) = bytes.as_bytes().as_chunks();
        // Two passes without a branch in them are several times faster than one that may stop anywhere.
        let bits = chunks.iter().fold(0, |bits, chunk| bits | read(chunk));
        if u32::try_from(bits).is_err() {
            return Err(PyValueError::new_err("token ids must be between 0 and 4294967295"));
        }
        ids.extend(chunks.iter().map(|chunk| read(chunk) as u32));
        Ok(())
    };
    if view.getattr("ndim")?.extract::<usize>()? != 1 {
        add(&contents(view)?)?;
        return Ok(Ids::Owned(ids));
    }
    let len = view.len()?;
    for start in (0..len).step_by(PIECE) {
        let end = len.min(start + PIECE);
        let piece = view.get_item(PySlice::new(py, start as isize, end as isize, 1))?;
        add(&piece.call_method0("tobytes")?.cast_into::<PyBytes>()?)?;
    }
    Ok(Ids::Owned(ids))
}

/// A list like `given`, whose ids are `ids`, with `with` in place of each `anchor`. What is between is copied as
/// references: making 100,000 `int` objects costs more than everything else together.
pub(crate) fn replaced_list<'py>(
    given: &Bound<'py, PyList>,
    ids: &[u32],
    anchor: u32,
    with: &[u32],
) -> PyResult<Bound<'py, PyAny>> {
    let with = PyList::new(given.py(), with)?;
    let out = PyList::empty(given.py());
    let append = |part: &Bound<'py, PyList>| out.set_slice(out.len(), out.len(), part.as_any());
    let mut copied = 0;
    for (position, _) in ids.iter().enumerate().filter(|(_, id)| **id == anchor) {
        append(&given.get_slice(copied, position))?;
        append(&with)?;
        copied = position + 1;
    }
    append(&given.get_slice(copied, given.len()))?;
    Ok(out.into_any())
}

/// A read-only `memoryview` of 32-bit integers, which owns them.
pub(crate) fn view<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new(py, bytemuck::cast_slice(ids));
    PyMemoryView::from(&bytes)?.call_method1("cast", ("I",))
}
