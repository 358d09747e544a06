//! Formatting: `%`, and the format specifications of `str.format`.

use super::{Arena, Exception, ExceptionKind, Objects, Value};

/// `format % values`, for a `str` or `Markup`.
///
/// # Errors
/// As Python.
pub fn percent<'a>(
    format: &Value<'a>,
    values: &Value<'a>,
    objects: &dyn Objects,
    arena: &'a Arena,
) -> Result<Value<'a>, Exception> {
    let _ = (format, values, objects, arena);
    Err(Exception::new(ExceptionKind::Unsupported, "% formatting"))
}
