//! `wordwrap`, `urlize`, `pprint`.

use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use crate::vm::State;

pub(super) fn wordwrap<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "the filter 'wordwrap' is not supported"))
}

pub(super) fn urlize<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "the filter 'urlize' is not supported"))
}

pub(super) fn pprint<'a>(_: &mut State<'a>, _: Value<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(ErrorKind::Unsupported, "the filter 'pprint' is not supported"))
}
