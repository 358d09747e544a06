//! Methods of dict views.

use crate::builtins::convert::plain;
use crate::builtins::{Args, Filter, Table};
use crate::error::Result;
use crate::value::compare::contains;
use crate::value::{Origin, Value};
use crate::vm::State;

/// The methods of `dict_keys` and `dict_items`; `dict_values` has none.
pub(crate) const METHODS: Table<Filter> = &[("isdisjoint", isdisjoint)];

fn isdisjoint<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let other = plain(args, value.type_name(), "isdisjoint", 1, 1)?[0];
    for item in state.collect(other)? {
        state.arena.meter().work(1)?;
        if contains(&value, &item, state.arena)? {
            return Ok(Value::Bool(false, Origin::COMPUTED));
        }
    }
    Ok(Value::Bool(true, Origin::COMPUTED))
}
