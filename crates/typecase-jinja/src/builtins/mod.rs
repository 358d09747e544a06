//! What Jinja and transformers give every template: filters, tests, global functions, and the methods of values.
//!
//! Each is a table of names and functions. All functions share one shape: the state of the render, the value that the
//! filter, test or method is applied to, and the [`Args`] in parentheses.

pub(crate) mod args;
pub(crate) mod convert;
pub(crate) mod filters;
pub(crate) mod format;
pub(crate) mod globals;
pub(crate) mod methods;
pub(crate) mod strftime;
pub(crate) mod tests;

pub(crate) use args::Args;

use crate::error::Result;
use crate::value::Value;
use crate::vm::State;

/// A filter, or a method of a value.
pub(crate) type Filter = for<'a> fn(&mut State<'a>, Value<'a>, Args<'_, 'a>) -> Result<Value<'a>>;

/// A test.
pub(crate) type Test = for<'a> fn(&mut State<'a>, Value<'a>, Args<'_, 'a>) -> Result<bool>;

/// Names in ascending order, each with its function.
pub(crate) type Table<F> = &'static [(&'static str, F)];

/// The function called `name`.
pub(crate) fn find<F: Copy>(table: Table<F>, name: &str) -> Option<F> {
    let found = table.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(table[found].1)
}
