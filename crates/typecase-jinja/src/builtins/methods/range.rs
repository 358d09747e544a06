//! Methods of `range`.

use crate::builtins::convert::plain;
use crate::builtins::{Args, Filter, Table};
use crate::error::{Error, Result};
use crate::value::compare::{Number, contains};
use crate::value::{Origin, TextBuilder, Value, repr};
use crate::vm::State;

/// All methods, in ascending order of their names.
pub(crate) const METHODS: Table<Filter> = &[("count", count), ("index", index)];

fn count<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let wanted = plain(args, "range", "count", 1, 1)?[0];
    let found = contains(&value, &wanted, state.arena)?;
    Ok(Value::Int(i64::from(found), Origin::COMPUTED))
}

fn index<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let wanted = plain(args, "range", "index", 1, 1)?[0];
    if let (Value::Range(range), true) = (value, contains(&value, &wanted, state.arena)?) {
        let number = match wanted.as_number() {
            Some(Number::Int(int)) => int,
            Some(Number::Float(float)) => float as i64,
            _ => range.start,
        };
        // It is one of the numbers, so the division is exact.
        let index = (i128::from(number) - i128::from(range.start)) / i128::from(range.step);
        return Ok(Value::Int(index as i64, Origin::COMPUTED));
    }
    let mut shown = TextBuilder::new();
    repr::push_repr(&mut shown, &wanted, state, state.arena)?;
    Err(Error::value_error(match wanted {
        Value::Int(..) | Value::Bool(..) | Value::BigInt(..) => format!("{} is not in range", shown.into_string()),
        _ => "sequence.index(x): x not in sequence".to_owned(),
    }))
}
