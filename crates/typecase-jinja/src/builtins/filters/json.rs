//! `tojson` as transformers overrides it: `json.dumps` with its arguments, and no escaping for HTML.

use crate::builtins::Args;
use crate::error::{Error, Result};
use crate::value::arith::{self, BinaryOp};
use crate::value::json::{Indent, WriteOptions, write_to};
use crate::value::{Exception, Text, TextBuilder, Value};
use crate::vm::State;

pub(super) fn tojson<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let mut options = WriteOptions::default();
    if !args.positional.is_empty() || !args.keyword.is_empty() {
        let [ensure_ascii, indent, separators, sort_keys] =
            args.bind("tojson", ["ensure_ascii", "indent", "separators", "sort_keys"], 0)?;
        options.ensure_ascii = ensure_ascii.is_some_and(|value| value.is_true());
        options.sort_keys = sort_keys.is_some_and(|value| value.is_true());
        if let Some(indent) = indent.filter(|indent| !indent.is_none()) {
            options = options.indent(indentation(state, &indent)?);
        }
        if let Some(separators) = separators.filter(|separators| !separators.is_none()) {
            (options.item_separator, options.key_separator) = pair(state, separators)?;
        }
    }
    let mut builder = TextBuilder::new();
    write_to(&mut builder, &value, &options, state.arena).map_err(Exception::from)?;
    // What was written is paid for already.
    Ok(Value::Str(builder.finish(state.arena)))
}

/// `' ' * indent`, unless it is a text itself.
fn indentation<'a>(state: &State<'a>, indent: &Value<'a>) -> Result<Indent<'a>> {
    if let Some(text) = indent.as_str() {
        return Ok(Indent::Text(text));
    }
    let spaces = arith::binary(BinaryOp::Mul, &Value::Str(Text::new(" ")), indent, state.arena)?;
    Ok(Indent::Spaces(spaces.as_str().map_or(0, str::len)))
}

/// `item_separator, key_separator = separators`
fn pair<'a>(state: &mut State<'a>, separators: Value<'a>) -> Result<(&'a str, &'a str)> {
    let parts = match state.iterate(separators) {
        Ok(_) => state.collect(separators)?,
        Err(_) => {
            return Err(Error::type_error(format!(
                "cannot unpack non-iterable {} object",
                separators.type_name()
            )));
        }
    };
    let text = |i: usize| {
        parts[i].as_str().ok_or_else(|| {
            Error::type_error(format!(
                "make_encoder() argument {} must be str, not {}",
                6 - i,
                parts[i].type_name()
            ))
        })
    };
    match parts.len() {
        2 => {
            // The key separator is looked at first.
            let key = text(1)?;
            Ok((text(0)?, key))
        }
        0 | 1 => Err(Error::value_error(format!(
            "not enough values to unpack (expected 2, got {})",
            parts.len()
        ))),
        _ => Err(Error::value_error("too many values to unpack (expected 2)")),
    }
}
