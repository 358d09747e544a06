//! Methods of `dict` that do not change it.

use crate::builtins::convert::plain;
use crate::builtins::{Args, Filter, Table};
use crate::error::Result;
use crate::value::{Dict, DictPart, DictView, Origin, Value};
use crate::vm::State;

/// All methods that a template may call, in ascending order of their names.
pub(crate) const METHODS: Table<Filter> = &[
    ("copy", copy),
    ("fromkeys", fromkeys),
    ("get", get),
    ("items", items),
    ("keys", keys),
    ("values", values),
];

fn copy<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    plain(args, "dict", "copy", 0, 0)?;
    // Nothing can change it, so nothing tells it from a copy.
    Ok(value)
}

fn fromkeys<'a>(state: &mut State<'a>, _: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = plain(args, "dict", "fromkeys", 1, 2)?;
    let value = args.get(1).copied().unwrap_or(Value::None(Origin::COMPUTED));
    let keys = state.collect(args[0])?;
    state.arena.meter().memory(2 * size_of_val(keys.as_slice()))?;
    let dict = Dict::new(keys.into_iter().map(|key| (key, value)), state.arena, Origin::COMPUTED)?;
    Ok(Value::Dict(state.arena.bump.alloc(dict)))
}

fn get<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = plain(args, "dict", "get", 1, 2)?;
    let found = match &value {
        Value::Dict(dict) => dict.lookup(&args[0])?,
        _ => None,
    };
    Ok(found.unwrap_or_else(|| args.get(1).copied().unwrap_or(Value::None(Origin::COMPUTED))))
}

fn view<'a>(state: &mut State<'a>, value: Value<'a>, name: &str, args: Args<'_, 'a>, part: DictPart) -> Result<Value<'a>> {
    plain(args, "dict", name, 0, 0)?;
    Ok(match value {
        Value::Dict(dict) => Value::DictView(state.arena.bump.alloc(DictView { dict, part })),
        other => other,
    })
}

fn items<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    view(state, value, "items", args, DictPart::Items)
}

fn keys<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    view(state, value, "keys", args, DictPart::Keys)
}

fn values<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    view(state, value, "values", args, DictPart::Values)
}
