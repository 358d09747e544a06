//! Filters that compare items: `sort`, `unique`, `min`, `groupby` and the like.

use super::lookup::{Getter, ignore_case};
use crate::builtins::Args;
use crate::error::{Error, Result};
use crate::value::compare::{Key, OrderOp, less, order, same_or_equal};
use crate::value::sort::sort as sort_by;
use crate::value::{List, Undefined, Value};
use crate::vm::{Iter, State};
use std::collections::HashSet;

fn flag(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| value.is_true())
}

/// Spends what sorting `len` items moves about.
fn charge_sort(state: &State<'_>, len: usize) -> Result<()> {
    let steps = len.saturating_mul(usize::BITS as usize - len.leading_zeros() as usize);
    Ok(state.arena.meter().work(steps)?)
}

/// Sorts `items` by `less`, within the bounds on work.
pub(super) fn sorted_by<T>(
    state: &State<'_>,
    items: &mut [T],
    less: &mut impl FnMut(&T, &T) -> Result<bool>,
) -> Result<()> {
    charge_sort(state, items.len())?;
    sort_by(items, false, less)
}

pub(super) fn sort<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [reverse, case_sensitive, attribute] = args.bind("do_sort", ["reverse", "case_sensitive", "attribute"], 0)?;
    let getters = Getter::several(state, attribute)?;
    let mut keyed = Vec::new();
    for item in state.collect(value)? {
        let mut keys = Vec::with_capacity(getters.len());
        for getter in &getters {
            keys.push(getter.key(state, item, flag(case_sensitive))?);
        }
        keyed.push((keys, item));
    }
    charge_sort(state, keyed.len())?;
    // The keys are lists in Python: the first items that differ decide.
    sort_by(&mut keyed, flag(reverse), &mut |a, b| -> Result<bool> {
        for (a, b) in a.0.iter().zip(&b.0) {
            if !same_or_equal(a, b, state.arena)? {
                return Ok(less(a, b, state.arena)?);
            }
        }
        Ok(false)
    })?;
    let items: Vec<Value<'a>> = keyed.into_iter().map(|(_, item)| item).collect();
    state.list(&items)
}

pub(super) fn dictsort<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [case_sensitive, by, reverse] = args.bind("do_dictsort", ["case_sensitive", "by", "reverse"], 0)?;
    let by_value = match by.as_ref().map(Value::as_str) {
        None | Some(Some("key")) => false,
        Some(Some("value")) => true,
        _ => return Err(Error::runtime("You can only sort by either \"key\" or \"value\"")),
    };
    let dict = match value {
        Value::Dict(dict) => dict,
        Value::Undefined(undefined) => return Err(undefined.exception().into()),
        other => return Err(super::html::no_items(&other)),
    };
    let mut keyed = Vec::with_capacity(dict.len());
    for (key, value) in dict.entries() {
        let by = if by_value { *value } else { *key };
        let by = match flag(case_sensitive) {
            true => by,
            false => ignore_case(state, by)?,
        };
        keyed.push((by, state.tuple(&[*key, *value])?));
    }
    charge_sort(state, keyed.len())?;
    sort_by(&mut keyed, flag(reverse), &mut |a, b| -> Result<bool> {
        Ok(less(&a.0, &b.0, state.arena)?)
    })?;
    let items: Vec<Value<'a>> = keyed.into_iter().map(|(_, item)| item).collect();
    state.list(&items)
}

pub(super) fn unique<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [case_sensitive, attribute] = args.bind("sync_do_unique", ["case_sensitive", "attribute"], 0)?;
    let case_sensitive = flag(case_sensitive);
    let mut started: Option<(Getter<'a>, Iter<'a>)> = None;
    let mut seen: HashSet<Key<'a>> = HashSet::new();
    Ok(state.generator("sync_do_unique", move |state| {
        let (getter, items) = match &mut started {
            Some(started) => started,
            empty => {
                let getter = Getter::new(state, attribute, None)?;
                empty.insert((getter, state.iterate(value)?))
            }
        };
        while let Some(item) = items.next(state)? {
            state.arena.meter().work(1)?;
            let key = getter.key(state, item, case_sensitive)?;
            if seen.insert(Key::of(&key)?) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }))
}

fn extreme<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>, op: OrderOp) -> Result<Value<'a>> {
    let [case_sensitive, attribute] = args.bind("do_min_or_max", ["case_sensitive", "attribute"], 0)?;
    let case_sensitive = flag(case_sensitive);
    let mut items = state.iterate(value)?;
    let Some(mut best) = items.next(state)? else {
        return Ok(state.undefined(Undefined::Hint("No aggregated item, sequence was empty.")));
    };
    let getter = Getter::new(state, attribute, None)?;
    let mut best_key = getter.key(state, best, case_sensitive)?;
    while let Some(item) = items.next(state)? {
        state.arena.meter().work(1)?;
        let key = getter.key(state, item, case_sensitive)?;
        if order(op, &key, &best_key, state.arena)? {
            (best, best_key) = (item, key);
        }
    }
    Ok(best)
}

pub(super) fn min<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    extreme(state, value, args, OrderOp::Lt)
}

pub(super) fn max<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    extreme(state, value, args, OrderOp::Gt)
}

pub(super) fn groupby<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [attribute, default, case_sensitive] =
        args.bind("sync_do_groupby", ["attribute", "default", "case_sensitive"], 1)?;
    let case_sensitive = flag(case_sensitive);
    let getter = Getter::new(state, attribute, default)?;
    let mut keyed = Vec::new();
    for item in state.collect(value)? {
        keyed.push((getter.key(state, item, case_sensitive)?, item));
    }
    charge_sort(state, keyed.len())?;
    sort_by(&mut keyed, false, &mut |a, b| -> Result<bool> {
        Ok(less(&a.0, &b.0, state.arena)?)
    })?;
    let mut groups = Vec::new();
    let mut rest = keyed.as_slice();
    while let Some((first, _)) = rest.split_first() {
        let mut len = 1;
        while len < rest.len() && same_or_equal(&first.0, &rest[len].0, state.arena)? {
            len += 1;
        }
        let items: Vec<Value<'a>> = rest[..len].iter().map(|(_, item)| *item).collect();
        // The key as the first item has it, not in lower case.
        let key = match case_sensitive {
            true => first.0,
            false => getter.get(state, first.1)?,
        };
        let pair = [key, state.list(&items)?];
        state.arena.meter().memory(size_of_val(&pair))?;
        let pair = List::named(state.arena.alloc_slice(&pair), &["grouper", "list"]);
        groups.push(Value::Tuple(state.arena.bump.alloc(pair)));
        rest = &rest[len..];
    }
    state.list(&groups)
}
