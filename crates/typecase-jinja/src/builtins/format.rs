//! `str.format`, as the sandbox lets templates use it.

use super::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use crate::vm::State;

/// `value.format(*args, **kwargs)`
pub(crate) fn format<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "str.format"))
}

/// `value.format_map(mapping)`
pub(crate) fn format_map<'a>(_: &mut State<'a>, _: Value<'a>, _: Value<'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "str.format_map"))
}
