//! `tojson` as transformers overrides it: `json.dumps` with its arguments, and no escaping for HTML.

use crate::builtins::Args;
use crate::error::{Error, Result};
use crate::value::arith::{self, BinaryOp};
use crate::value::json::{Indent, WriteOptions, write_to};
use crate::value::{Exception, Text, TextBuilder, Value};
use crate::vm::State;

pub(super) fn tojson<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let options = write_options(state, &value, args)?;
    let mut builder = TextBuilder::new();
    write_to(&mut builder, &value, &options, state.arena).map_err(Exception::from)?;
    // What was written is paid for already.
    Ok(Value::Str(builder.finish(state.arena)))
}

/// The options that the arguments of `tojson` ask for. Python unpacks the separators at once and looks at the rest when it
/// writes a `value` that is no text.
pub(crate) fn write_options<'a>(
    state: &mut State<'a>,
    value: &Value<'a>,
    args: Args<'_, 'a>,
) -> Result<WriteOptions<'a>> {
    let mut options = WriteOptions::default();
    if !args.positional.is_empty() || !args.keyword.is_empty() {
        let [ensure_ascii, indent, separators, sort_keys] =
            args.bind("tojson", ["ensure_ascii", "indent", "separators", "sort_keys"], 0)?;
        options.ensure_ascii = ensure_ascii.is_some_and(|value| value.is_true());
        options.sort_keys = sort_keys.is_some_and(|value| value.is_true());
        let separators = match separators.filter(|separators| !separators.is_none()) {
            Some(separators) => Some(pair(state, separators)?),
            None => None,
        };
        if value.as_text().is_some() {
            return Ok(options);
        }
        if let Some(indent) = indent.filter(|indent| !indent.is_none()) {
            options = options.indent(indentation(state, &indent)?);
        }
        if let Some([item, key]) = separators {
            // The key separator is looked at first.
            options.key_separator = separator(5, key)?;
            options.item_separator = separator(6, item)?;
        }
    }
    Ok(options)
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
fn pair<'a>(state: &mut State<'a>, separators: Value<'a>) -> Result<[Value<'a>; 2]> {
    let parts = match state.iterate(separators) {
        Ok(_) => state.collect(separators)?,
        Err(_) => {
            return Err(Error::type_error(format!(
                "cannot unpack non-iterable {} object",
                separators.type_name()
            )));
        }
    };
    match parts[..] {
        [item, key] => Ok([item, key]),
        [] | [_] => Err(Error::value_error(format!(
            "not enough values to unpack (expected 2, got {})",
            parts.len()
        ))),
        _ => Err(Error::value_error("too many values to unpack (expected 2)")),
    }
}

fn separator(argument: usize, value: Value<'_>) -> Result<&str> {
    value.as_str().ok_or_else(|| {
        Error::type_error(format!(
            "make_encoder() argument {argument} must be str, not {}",
            value.type_name()
        ))
    })
}
