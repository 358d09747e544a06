//! Errors of the library as exceptions.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use typecase::{Error, Fault};

static CLASSES: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();

/// The exception for `error`: `RequestError` if the request is at fault, else `ModelError`.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    match exception(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let classes = CLASSES.get_or_try_init(py, || -> PyResult<_> {
        // Exceptions are written in Python: the stable ABI cannot extend them.
        let module = py.import("typecase._errors")?;
        let class = |name: &str| module.getattr(name).map(Bound::unbind);
        Ok([class("RequestError")?, class("ModelError")?])
    })?;
    let class = match error.fault() {
        Fault::Client => &classes[0],
        Fault::Server => &classes[1],
    };
    class
        .bind(py)
        .call1((error.to_string(), error.kind().code(), error.path().to_string()))
}
