//! Chat templates.

use crate::plain::Plain;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rayon::prelude::*;
use typecase_jinja::value::{Arena, Value};
use typecase_jinja::{Error, ErrorKind, LocalTime, Options, Rendered};

/// A compiled chat template. Rendering may happen on any thread.
///
/// >>> from typecase._typecase import Template
/// >>> Template("{% for m in messages %}<{{ m.role }}>{% endfor %}").render({"messages": [{"role": "user"}]})
/// ('<user>', [])
#[pyclass(frozen, module = "typecase._typecase")]
pub(crate) struct Template {
    template: typecase_jinja::Template,
    source: String,
}

/// Seconds, microseconds and offset from UTC in seconds of what `strftime_now` takes for now.
type Now = (i64, u32, i32);

#[pymethods]
impl Template {
    #[new]
    fn new(py: Python<'_>, source: String) -> PyResult<Self> {
        match py.detach(|| typecase_jinja::Template::compile(&source)) {
            Ok(template) => Ok(Template { template, source }),
            Err(error) => Err(raise(py, &error)),
        }
    }

    /// The source that it was made of.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// The text that the template writes for these variables, and the `{% generation %}` blocks in it, in code points.
    #[pyo3(signature = (variables, *, now = None))]
    fn render(&self, py: Python<'_>, variables: &Bound<'_, PyAny>, now: Option<Now>) -> PyResult<RenderedText> {
        let variables = Plain::read(variables)?;
        let options = options(now);
        py.detach(|| self.render_plain(&variables, &options))
            .map_err(|failed| failed.raise(py))
    }

    /// As `render`, of several sets of variables, on all cores.
    #[pyo3(signature = (batch, *, now = None))]
    fn render_batch(
        &self,
        py: Python<'_>,
        batch: Vec<Bound<'_, PyAny>>,
        now: Option<Now>,
    ) -> PyResult<Vec<RenderedText>> {
        let batch = batch.iter().map(Plain::read).collect::<PyResult<Vec<_>>>()?;
        let options = options(now);
        py.detach(|| {
            let rendered = batch.par_iter().map(|variables| self.render_plain(variables, &options));
            rendered.collect::<Result<_, _>>()
        })
        .map_err(|failed: Failed| failed.raise(py))
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.source,)
    }
}

/// Text and `{% generation %}` spans.
type RenderedText = (String, Vec<(usize, usize)>);

/// Why a template was not rendered.
enum Failed {
    Template(Error),
    Python(PyErr),
}

impl Failed {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failed::Template(error) => raise(py, &error),
            Failed::Python(error) => error,
        }
    }
}

impl Template {
    fn render_plain(&self, variables: &Plain, options: &Options) -> Result<RenderedText, Failed> {
        let arena = Arena::new();
        let values = variables.to_value(&arena);
        if !matches!(values, Value::Dict(_)) {
            return Err(Failed::Python(PyTypeError::new_err(
                "the variables of a template are a dict",
            )));
        }
        let rendered = self
            .template
            .render(&values, &arena, options)
            .map_err(Failed::Template)?;
        let spans = spans(&rendered);
        Ok((rendered.text, spans))
    }
}

/// The spans in code points, as Python counts.
fn spans(rendered: &Rendered) -> Vec<(usize, usize)> {
    let chars = |end: usize| rendered.text[..end].chars().count();
    rendered
        .generation
        .iter()
        .map(|span| (chars(span.start), chars(span.end)))
        .collect()
}

fn options(now: Option<Now>) -> Options {
    let options = Options::default().provenance(false);
    match now {
        Some((seconds, microsecond, offset)) => options.now(LocalTime::from_unix(seconds, microsecond, offset)),
        None => options,
    }
}

/// The exception for what a template ran into: `TemplateError`, which carries the name of Python's exception.
fn raise(py: Python<'_>, error: &Error) -> PyErr {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        py.import("typecase._errors")?
            .getattr("template_error")
            .map(Bound::unbind)
    });
    let kind = match error.kind() {
        ErrorKind::Syntax => "syntax",
        ErrorKind::RaiseException => "raise_exception",
        ErrorKind::Undefined => "undefined",
        ErrorKind::Type => "type",
        ErrorKind::Value => "value",
        ErrorKind::Key => "key",
        ErrorKind::Index => "index",
        ErrorKind::Attribute => "attribute",
        ErrorKind::ZeroDivision => "zero_division",
        ErrorKind::Overflow => "overflow",
        ErrorKind::Recursion => "recursion",
        ErrorKind::Security => "security",
        ErrorKind::Limit => "limit",
        ErrorKind::Unsupported => "unsupported",
        _ => "runtime",
    };
    let position = error.position().map(|position| (position.line, position.column));
    let made = class.and_then(|class| class.bind(py).call1((error.message(), kind, position)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}
