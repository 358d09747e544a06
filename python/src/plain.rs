//! Python's data as the library's values.
//!
//! In two steps, so that the work can be done without the interpreter's lock: [`Plain`] is read from objects while the
//! lock is held, and owns all it needs; values that borrow from it are made afterwards.

use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use typecase_jinja::value::{Arena, BigInt, Origin, Text, Value};

/// Nesting beyond this is refused, as by the reader of JSON.
const MAX_DEPTH: usize = 512;

/// Data of JSON's types, and tuples and keys of any type besides.
#[derive(Debug)]
pub(crate) enum Plain {
    None,
    Bool(bool),
    Int(i64),
    BigInt(BigInt),
    Float(f64),
    Str(String),
    List(Vec<Plain>),
    Tuple(Vec<Plain>),
    Dict(Vec<(Plain, Plain)>),
}

impl Plain {
    /// Reads `object`. What is of no plain type is first made so by `typecase._plain.plain`.
    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::read_within(object, 0)
    }

    fn read_within(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Self> {
        if depth > MAX_DEPTH {
            return Err(PyRecursionError::new_err(format!(
                "data for a chat template nests deeper than {MAX_DEPTH}"
            )));
        }
        let items = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
            items
                .map(|item| Self::read_within(&item, depth + 1))
                .collect::<PyResult<Vec<_>>>()
        };
        if let Ok(text) = object.cast::<PyString>() {
            Ok(Plain::Str(text.to_cow()?.into_owned()))
        } else if object.is_none() {
            Ok(Plain::None)
        } else if let Ok(flag) = object.cast::<PyBool>() {
            Ok(Plain::Bool(flag.is_true()))
        } else if let Ok(dict) = object.cast_exact::<PyDict>() {
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict.iter() {
                entries.push((
                    Self::read_within(&key, depth + 1)?,
                    Self::read_within(&value, depth + 1)?,
                ));
            }
            Ok(Plain::Dict(entries))
        } else if let Ok(list) = object.cast::<PyList>() {
            items(&mut list.iter()).map(Plain::List)
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            items(&mut tuple.iter()).map(Plain::Tuple)
        } else if let Ok(int) = object.cast::<PyInt>() {
            read_int(int)
        } else if let Ok(float) = object.cast::<PyFloat>() {
            Ok(Plain::Float(float.value()))
        } else {
            Self::read_within(&made_plain(object)?, depth + 1)
        }
    }

    /// The value, with strings that stay where they are.
    pub(crate) fn to_value<'a>(&'a self, arena: &'a Arena) -> Value<'a> {
        let origin = Origin::COMPUTED;
        let values = |items: &'a [Plain]| {
            let items: Vec<_> = items.iter().map(|item| item.to_value(arena)).collect();
            arena.list(&items, origin)
        };
        match self {
            Plain::None => Value::None(origin),
            Plain::Bool(flag) => Value::Bool(*flag, origin),
            Plain::Int(int) => Value::Int(*int, origin),
            Plain::BigInt(int) => arena.int(int.clone(), origin),
            Plain::Float(float) => Value::Float(*float, origin),
            Plain::Str(text) => Value::Str(Text::new(text)),
            Plain::List(items) => Value::List(values(items)),
            Plain::Tuple(items) => Value::Tuple(values(items)),
            Plain::Dict(entries) => {
                let mut read = Vec::with_capacity(entries.len());
                read.extend(
                    entries
                        .iter()
                        .map(|(key, value)| (key.to_value(arena), value.to_value(arena))),
                );
                // The keys of a Python dict differ, whatever their type.
                Value::Dict(arena.dict(&mut read, origin))
            }
        }
    }
}

fn read_int(int: &Bound<'_, PyInt>) -> PyResult<Plain> {
    if let Ok(small) = int.extract::<i64>() {
        return Ok(Plain::Int(small));
    }
    let digits: String = int
        .py()
        .get_type::<PyInt>()
        .call_method1("__repr__", (int,))?
        .extract()?;
    digits
        .parse()
        .map(Plain::BigInt)
        .map_err(|_| PyValueError::new_err("an integer could not be read"))
}

fn made_plain<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static PLAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let plain = PLAIN.get_or_try_init(py, || py.import("typecase._plain")?.getattr("plain").map(Bound::unbind))?;
    plain.bind(py).call1((object,))
}
