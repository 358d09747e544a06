//! The boundary between Python and the library: convert, let go of the interpreter's lock, call, raise. No logic.

mod adapter;
mod error;
mod ids;
mod media;
mod model;
mod plain;
mod template;

use pyo3::prelude::*;

#[pymodule]
mod _typecase {
    #[pymodule_export]
    use super::adapter::{Canonical, VllmKimiK3};
    #[pymodule_export]
    use super::media::{MediaFamily, image_header};
    #[pymodule_export]
    use super::model::{Model, Prompt};
    #[pymodule_export]
    use super::template::Template;
}
