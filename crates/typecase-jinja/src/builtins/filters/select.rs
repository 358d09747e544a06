//! `map`, `select`, `reject` and their kin: generators that start their work with the first item asked for.

use super::lookup::Getter;
use crate::builtins::Args;
use crate::error::{Error, Result};
use crate::value::Value;
use crate::vm::{Iter, State};

/// The arguments, kept for when a generator starts.
struct Kept<'a> {
    positional: Vec<Value<'a>>,
    keyword: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Kept<'a> {
    fn new(args: Args<'_, 'a>) -> Self {
        Kept {
            positional: args.positional.to_vec(),
            keyword: args.keyword.to_vec(),
        }
    }

    /// The arguments after the first `skipped`.
    fn after(&self, skipped: usize) -> Args<'_, 'a> {
        Args {
            positional: &self.positional[skipped.min(self.positional.len())..],
            keyword: &self.keyword,
        }
    }

    fn name(&self, at: usize) -> Option<Value<'a>> {
        self.positional.get(at).copied()
    }
}

/// What `map` does to each item.
enum Change<'a> {
    Get(Getter<'a>),
    Filter(Value<'a>),
}

pub(super) fn map<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let args = Kept::new(args);
    let mut started: Option<(Change<'a>, Iter<'a>)> = None;
    Ok(state.generator("sync_do_map", move |state| {
        if started.is_none() {
            if !value.is_true() {
                return Ok(None);
            }
            started = Some((change(state, &args)?, state.iterate(value)?));
        }
        let Some((change, items)) = &mut started else { return Ok(None) };
        let Some(item) = items.next(state)? else { return Ok(None) };
        Ok(Some(match change {
            Change::Get(getter) => getter.get(state, item)?,
            Change::Filter(Value::Str(name) | Value::Markup(name)) => {
                state.filter(name.as_str(), item, args.after(1))?
            }
            Change::Filter(other) => return Err(unknown(state, "filter", other)),
        }))
    }))
}

fn change<'a>(state: &State<'a>, args: &Kept<'a>) -> Result<Change<'a>> {
    let keyword = |name: &str| args.keyword.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    if args.positional.is_empty()
        && let Some(attribute) = keyword("attribute")
    {
        if let Some((other, _)) = args
            .keyword
            .iter()
            .find(|(name, _)| !matches!(*name, "attribute" | "default"))
        {
            return Err(Error::runtime(format!("Unexpected keyword argument '{other}'")));
        }
        return Ok(Change::Get(Getter::new(state, Some(attribute), keyword("default"))?));
    }
    match args.name(0) {
        Some(name) => Ok(Change::Filter(name)),
        None => Err(Error::runtime("map requires a filter argument")),
    }
}

/// The error for a filter or test whose name is no text.
fn unknown<'a>(state: &State<'a>, what: &str, name: &Value<'a>) -> Error {
    let mut shown = crate::value::TextBuilder::new();
    match crate::value::repr::push_repr(&mut shown, name, state, state.arena) {
        Ok(()) => Error::runtime(format!("No {what} named {}.", shown.into_string())),
        Err(exception) => exception.into(),
    }
}

pub(super) fn select<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(filtered(state, value, args, false, true))
}

pub(super) fn reject<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(filtered(state, value, args, false, false))
}

pub(super) fn selectattr<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(filtered(state, value, args, true, true))
}

pub(super) fn rejectattr<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    Ok(filtered(state, value, args, true, false))
}

/// A generator of the items whose test (or truth, without one) is `wanted`; of an attribute if `by_attribute`.
fn filtered<'a>(
    state: &mut State<'a>,
    value: Value<'a>,
    args: Args<'_, 'a>,
    by_attribute: bool,
    wanted: bool,
) -> Value<'a> {
    let args = Kept::new(args);
    let skipped = usize::from(by_attribute);
    let mut started: Option<(Getter<'a>, Iter<'a>)> = None;
    state.generator("select_or_reject", move |state| {
        if started.is_none() {
            if !value.is_true() {
                return Ok(None);
            }
            if by_attribute && args.positional.is_empty() {
                return Err(Error::runtime("Missing parameter for attribute name"));
            }
            let attribute = if by_attribute { args.name(0) } else { None };
            started = Some((Getter::new(state, attribute, None)?, state.iterate(value)?));
        }
        let Some((getter, items)) = &mut started else { return Ok(None) };
        while let Some(item) = items.next(state)? {
            state.arena.meter().work(1)?;
            let tested = getter.get(state, item)?;
            let holds = match args.name(skipped) {
                None => tested.is_true(),
                Some(Value::Str(name) | Value::Markup(name)) => {
                    state.test(name.as_str(), tested, args.after(skipped + 1))?
                }
                Some(other) => return Err(unknown(state, "test", &other)),
            };
            if holds == wanted {
                return Ok(Some(item));
            }
        }
        Ok(None)
    })
}
