//! The order of tool results.
//!
//! Clients send results in any order; the model saw them in the order of its calls. Each run of results is matched by
//! id against the calls of the last assistant message and sorted by them, unless one result has no match: then the run
//! stays as it is.

use super::python;
use crate::request::{Message, Role};
use std::borrow::Cow;
use typecase_jinja::value::Value;

/// A message at its place in the prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    /// Its index in the request.
    pub(super) index: usize,
    /// The name of the call that it was matched with, which overrides any that the result itself has.
    pub(super) tool: Option<Value<'a>>,
}

/// The messages in the order of the prompt.
#[derive(Debug, Default)]
pub(super) struct Order<'a> {
    pub(super) placed: Vec<Placed<'a>>,
    /// Results without a match that kept a run of several as it is.
    pub(super) unmatched: Vec<usize>,
}

/// Orders `messages`. `calls_of` gives the calls of a message; with `aliases`, a result may also name its call
/// `name:index`, counted from 0, as vLLM lets it.
pub(super) fn order<'a>(
    messages: &[Message<'a>],
    calls_of: impl Fn(&Message<'a>) -> &'a [Value<'a>],
    aliases: bool,
) -> Order<'a> {
    let mut order = Order {
        placed: Vec::with_capacity(messages.len()),
        unmatched: Vec::new(),
    };
    let mut calls = Calls::default();
    let mut start = 0;
    while start < messages.len() {
        let message = &messages[start];
        if !is_result(message, aliases) {
            if message.role == Role::Assistant {
                calls = Calls::new(calls_of(message), aliases);
            }
            order.placed.push(Placed {
                index: start,
                tool: None,
            });
            start += 1;
            continue;
        }
        let len = messages[start..]
            .iter()
            .take_while(|message| is_result(message, aliases))
            .count();
        place_run(&messages[start..start + len], start, &calls, &mut order);
        start += len;
    }
    order
}

fn is_result(message: &Message<'_>, served: bool) -> bool {
    message.role == Role::Tool || (served && message.role == Role::Function)
}

fn place_run<'a>(run: &[Message<'a>], start: usize, calls: &Calls<'a>, order: &mut Order<'a>) {
    let mut matched: Vec<(usize, Placed<'a>)> = Vec::with_capacity(run.len());
    for (offset, message) in run.iter().enumerate() {
        let index = start + offset;
        // A `tool_call_id` that is there but null hides an `id`.
        let id = message.tool_call_id.or(message.id);
        let Some(position) = id.and_then(|id| calls.position(id)) else {
            if run.len() > 1 {
                order.unmatched.push(index);
            }
            order
                .placed
                .extend((start..start + run.len()).map(|index| Placed { index, tool: None }));
            return;
        };
        let tool = calls.name(position);
        matched.push((position, Placed { index, tool }));
    }
    matched.sort_by_key(|(position, _)| *position);
    order.placed.extend(matched.into_iter().map(|(_, placed)| placed));
}

/// The calls of one assistant message, to be found by id.
#[derive(Debug, Default)]
struct Calls<'a> {
    calls: &'a [Value<'a>],
    /// Ids as text, sorted, with the position of their call; of equal ids the first call counts.
    by_id: Vec<(Cow<'a, str>, usize)>,
    aliases: bool,
}

impl<'a> Calls<'a> {
    fn new(calls: &'a [Value<'a>], aliases: bool) -> Self {
        let mut by_id: Vec<_> = calls
            .iter()
            .enumerate()
            .filter_map(|(position, call)| Some((as_text(call.lookup("id")?)?, position)))
            .collect();
        by_id.sort();
        Calls { calls, by_id, aliases }
    }

    fn position(&self, id: Value<'a>) -> Option<usize> {
        let id = as_text(id)?;
        let first = self.by_id.partition_point(|(known, _)| *known < id);
        let by_id = self
            .by_id
            .get(first)
            .filter(|(known, _)| *known == id)
            .map(|(_, position)| *position);
        match self.by_alias(&id) {
            Some(alias) => Some(by_id.map_or(alias, |position| position.min(alias))),
            None => by_id,
        }
    }

    fn by_alias(&self, id: &str) -> Option<usize> {
        if !self.aliases {
            return None;
        }
        let (name, index) = id.rsplit_once(':')?;
        let position: usize = index.parse().ok()?;
        // `f:01` and `f:+1` are no spellings of `f:1`.
        let is_canonical = position.to_string() == index;
        let called = self.name(position)?.as_str()?;
        (is_canonical && !called.is_empty() && called == name).then_some(position)
    }

    /// The name of a call, unless `null`.
    fn name(&self, position: usize) -> Option<Value<'a>> {
        let call = self.calls.get(position)?;
        let holder = call
            .lookup("function")
            .filter(|function| function.as_dict().is_some())
            .unwrap_or(*call);
        holder.lookup("name").filter(|name| !name.is_none())
    }
}

/// Ids are compared as text: the id 1 is the id "1".
fn as_text(id: Value<'_>) -> Option<Cow<'_, str>> {
    match id {
        Value::None(_) => None,
        Value::Str(text) => Some(Cow::Borrowed(text.as_str())),
        other => Some(Cow::Owned(python::to_str(other))),
    }
}
