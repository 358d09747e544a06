//! Methods of `list` and `tuple` that do not change it.

use crate::builtins::convert::{border, plain};
use crate::builtins::{Args, Filter, Table};
use crate::error::{Error, Result};
use crate::value::compare::same_or_equal;
use crate::value::text::Slice;
use crate::value::{Origin, Value, repr};
use crate::vm::State;

/// All methods that a template may call, in ascending order of their names.
pub(crate) const METHODS: Table<Filter> = &[("copy", copy), ("count", count), ("index", index)];

fn items<'a>(value: &Value<'a>) -> &'a [Value<'a>] {
    match value {
        Value::List(list) | Value::Tuple(list) => list.items(),
        _ => &[],
    }
}

fn copy<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "list", "copy", 0, 0)?;
    // Nothing can change it, so nothing tells it from a copy.
    Ok(value)
}

fn count<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let wanted = plain(args, value.type_name(), "count", 1, 1)?[0];
    let mut count = 0;
    for item in items(&value) {
        state.arena.meter().work(1)?;
        count += i64::from(same_or_equal(item, &wanted, state.arena)?);
    }
    Ok(Value::Int(count, Origin::COMPUTED))
}

fn index<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = plain(args, value.type_name(), "index", 1, 3)?;
    let wanted = args[0];
    let items = items(&value);
    // `None` is no border here; the messages are the same.
    if args[1..].iter().any(Value::is_none) {
        return Err(Error::type_error(
            "slice indices must be integers or have an __index__ method",
        ));
    }
    let range = Slice {
        start: border(args.get(1).copied())?,
        stop: border(args.get(2).copied())?,
        step: None,
    }
    .indices(items.len());
    for i in range.iter() {
        state.arena.meter().work(1)?;
        if same_or_equal(&items[i], &wanted, state.arena)? {
            return Ok(Value::Int(i as i64, Origin::COMPUTED));
        }
    }
    Err(Error::value_error(match value {
        Value::Tuple(_) => "tuple.index(x): x not in tuple".to_owned(),
        _ => {
            let mut shown = crate::value::TextBuilder::new();
            repr::push_repr(&mut shown, &wanted, state, state.arena)?;
            format!("{} is not in list", shown.into_string())
        }
    }))
}
