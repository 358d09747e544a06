//! `for` loops, and the `loop` variable (`LoopContext` in `jinja2/runtime.py`).

use super::run::Flow;
use super::{Iter, State};
use crate::builtins::Args;
use crate::compile::program::{For, LoopTest, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Class, DictPart, Origin, Undefined, Value, compare};

/// The state behind a `loop` variable.
pub(crate) struct LoopState<'a> {
    source: Source<'a>,
    /// The `if` of the loop.
    test: Option<&'a LoopTest<'a>>,
    /// Which round it is, counted from 0; -1 before the first.
    pub(super) index0: isize,
    length: Option<usize>,
    /// The item after the current one, if it was asked for already.
    ahead: Option<Option<Value<'a>>>,
    current: Option<Value<'a>>,
    before: Option<Value<'a>>,
    changed: Option<Vec<Value<'a>>>,
    depth0: usize,
    recursive: Option<&'a For<'a>>,
    /// Frame and activation that the loop belongs to, where its test runs.
    base: usize,
    activation: u32,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    /// Everything is known beforehand; `index0` says where the loop is.
    Items(&'a [Value<'a>]),
    /// Items are made when they are asked for, which can be seen from outside.
    Lazy(Iter<'a>),
}

impl LoopState<'_> {
    /// The length for `repr`, which must not look ahead.
    pub(super) fn known_length(&self) -> usize {
        match (self.length, self.source) {
            (Some(length), _) => length,
            (None, Source::Items(items)) => items.len(),
            (None, Source::Lazy(_)) => (self.index0 + 1) as usize,
        }
    }
}

/// An attribute of the `loop` variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopAttribute {
    Index,
    Index0,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Length,
    Depth,
    Depth0,
    PrevItem,
    NextItem,
}

impl LoopAttribute {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "index" => LoopAttribute::Index,
            "index0" => LoopAttribute::Index0,
            "revindex" => LoopAttribute::RevIndex,
            "revindex0" => LoopAttribute::RevIndex0,
            "first" => LoopAttribute::First,
            "last" => LoopAttribute::Last,
            "length" => LoopAttribute::Length,
            "depth" => LoopAttribute::Depth,
            "depth0" => LoopAttribute::Depth0,
            "previtem" => LoopAttribute::PrevItem,
            "nextitem" => LoopAttribute::NextItem,
            _ => return None,
        })
    }
}

impl<'a> State<'a> {
    pub(super) fn for_loop(&mut self, node: &'a For<'a>) -> Result<Flow> {
        let value = self.eval(&node.iter)?;
        if node.recursive.is_some() {
            let activation = self.activation;
            return self.recursive_loop(node, value, 0, activation).map(|()| Flow::Next);
        }
        self.rounds(node, value, 0)
    }

    /// Runs the loop as a function of its own, which writes to the output.
    fn recursive_loop(&mut self, node: &'a For<'a>, value: Value<'a>, depth0: usize, parent: u32) -> Result<()> {
        let slots = node.recursive.unwrap_or_default();
        let frame = self.enter(slots, parent)?;
        let around = self.begin_buffer();
        self.rounds(node, value, depth0)?;
        self.end_buffer(around)?;
        self.leave(frame, node.keeps_frame)
    }

    /// `loop(value)`
    pub(super) fn call_loop(&mut self, index: u32, args: Args<'_, 'a>) -> Result<()> {
        let state = &self.loops[index as usize];
        let [iterable] = args.bind("__call__", ["iterable"], 1)?;
        let Some(node) = state.recursive else {
            return Err(Error::type_error(
                "The loop must have the 'recursive' marker to be called recursively.",
            ));
        };
        let (depth, activation) = (state.depth0 + 1, state.activation);
        // The function around the loop is that around the activation that called it.
        let parent = self.activations[activation as usize].parent;
        self.recursive_loop(node, iterable.unwrap_or(Value::None(Origin::COMPUTED)), depth, parent)
    }

    fn rounds(&mut self, node: &'a For<'a>, value: Value<'a>, depth0: usize) -> Result<Flow> {
        let iter = self.iterate(value).map_err(|err| err.at_offset(node.at))?;
        // As Python's code has it: a round that `continue` or `break` ends does not count, and the `else` runs although
        // there were items.
        let mut empty = true;
        let flow = match node.loop_slot {
            Some(slot) => self.extended_rounds(node, slot, iter, depth0, &mut empty)?,
            None => self.plain_rounds(node, iter, &mut empty)?,
        };
        for slot in &node.leave {
            self.slots[self.base + *slot as usize] = None;
        }
        if empty && let Some(otherwise) = &node.otherwise {
            self.init(&node.else_entry);
            return self.block(otherwise);
        }
        Ok(flow)
    }

    fn plain_rounds(&mut self, node: &'a For<'a>, mut iter: Iter<'a>, empty: &mut bool) -> Result<Flow> {
        if let (Iter::Entries(DictPart::Items, entries), Target::Tuple { items, .. }, None) =
            (&iter, &node.target, &node.test)
            && let [Target::Place(key_place), Target::Place(value_place)] = &**items
        {
            // `for key, value in dict.items()` without making the pairs.
            for (key, value) in *entries {
                self.set_place(*key_place, *key);
                self.set_place(*value_place, *value);
                match self.round(node)? {
                    Flow::Next => *empty = false,
                    Flow::Continue => {}
                    Flow::Break => break,
                }
            }
            return Ok(Flow::Next);
        }
        while let Some(item) = self.next_passing(&mut iter, node.test.as_deref(), node.at)? {
            self.assign(&node.target, item).map_err(|err| err.at_offset(node.at))?;
            match self.round(node)? {
                Flow::Next => *empty = false,
                Flow::Continue => {}
                Flow::Break => break,
            }
        }
        Ok(Flow::Next)
    }

    /// Runs the body once; `Break` if the loop is to end.
    fn round(&mut self, node: &'a For<'a>) -> Result<Flow> {
        self.arena.meter().work(node.body.cost as usize)?;
        self.init(&node.entry);
        self.block(&node.body)
    }

    /// The next item for which the loop's test holds.
    fn next_passing(
        &mut self,
        iter: &mut Iter<'a>,
        test: Option<&'a LoopTest<'a>>,
        at: u32,
    ) -> Result<Option<Value<'a>>> {
        while let Some(item) = iter.next(self).map_err(|err| err.at_offset(at))? {
            let Some(test) = test else { return Ok(Some(item)) };
            self.arena.meter().work(1)?;
            self.init(&test.entry);
            self.assign(&test.target, item).map_err(|err| err.at_offset(at))?;
            if self.truth(&test.test)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn extended_rounds(
        &mut self,
        node: &'a For<'a>,
        slot: u32,
        iter: Iter<'a>,
        depth0: usize,
        empty: &mut bool,
    ) -> Result<Flow> {
        let source = match iter {
            Iter::Items(items) if node.test.is_none() => Source::Items(items),
            // These cannot be told from a list of what they give, so that list is made at once.
            mut iter @ (Iter::Entries(..) | Iter::Range(..) | Iter::Chars(..)) if node.test.is_none() => {
                let mut items = Vec::with_capacity(iter.size_hint());
                while let Some(item) = iter.next(self)? {
                    self.arena.meter().work(1)?;
                    items.push(item);
                }
                self.arena.meter().memory(items.len() * size_of::<Value<'_>>())?;
                Source::Items(self.arena.alloc_slice(&items))
            }
            iter => Source::Lazy(iter),
        };
        let index = self.loops.len();
        self.loops.push(LoopState {
            source,
            test: node.test.as_deref(),
            index0: -1,
            length: None,
            ahead: None,
            current: None,
            before: None,
            changed: None,
            depth0,
            recursive: node.recursive.and(Some(node)),
            base: self.base,
            activation: self.activation,
        });
        let variable = self.object(Class::Loop, index);
        let slot = self.base + slot as usize;
        self.slots[slot] = Some(variable);
        let mut result = Ok(Flow::Next);
        loop {
            match self.advance(index) {
                Ok(Some(item)) => {
                    let flow = self
                        .assign(&node.target, item)
                        .map_err(|err| err.at_offset(node.at))
                        .and_then(|()| self.round(node));
                    match flow {
                        Ok(Flow::Next) => *empty = false,
                        Ok(Flow::Continue) => {}
                        Ok(Flow::Break) => break,
                        Err(err) => {
                            result = Err(err);
                            break;
                        }
                    }
                }
                Ok(None) => break,
                Err(err) => {
                    result = Err(err.at_offset(node.at));
                    break;
                }
            }
        }
        if !node.loop_escapes {
            self.loops.truncate(index);
        }
        result
    }

    /// The next item, which becomes the current one.
    fn advance(&mut self, index: usize) -> Result<Option<Value<'a>>> {
        let state = &mut self.loops[index];
        if let Source::Items(items) = state.source {
            let item = items.get((state.index0 + 1) as usize).copied();
            state.index0 += isize::from(item.is_some());
            return Ok(item);
        }
        let next = match state.ahead.take() {
            Some(ahead) => ahead,
            None => self.lazy_next(index)?,
        };
        if let Some(item) = next {
            let state = &mut self.loops[index];
            state.index0 += 1;
            state.before = state.current.replace(item);
        }
        Ok(next)
    }

    /// Takes an item from the source of a lazy loop.
    fn lazy_next(&mut self, index: usize) -> Result<Option<Value<'a>>> {
        let state = &self.loops[index];
        let (Source::Lazy(mut iter), test) = (state.source, state.test) else {
            return Ok(None);
        };
        // The test sees the variables of the loop's own frame, also if a macro asked.
        let saved = (self.base, self.activation);
        (self.base, self.activation) = (state.base, state.activation);
        let item = self.next_passing(&mut iter, test, u32::MAX);
        (self.base, self.activation) = saved;
        self.loops[index].source = Source::Lazy(iter);
        item
    }

    fn peek(&mut self, index: usize) -> Result<Option<Value<'a>>> {
        let state = &self.loops[index];
        if let Source::Items(items) = state.source {
            return Ok(items.get((state.index0 + 1) as usize).copied());
        }
        if let Some(ahead) = state.ahead {
            return Ok(ahead);
        }
        let next = self.lazy_next(index)?;
        self.loops[index].ahead = Some(next);
        Ok(next)
    }

    fn loop_length(&mut self, index: usize) -> Result<usize> {
        let state = &self.loops[index];
        if let Source::Items(items) = state.source {
            return Ok(items.len());
        }
        if let Some(length) = state.length {
            return Ok(length);
        }
        let mut rest = Vec::new();
        while let Some(item) = self.lazy_next(index)? {
            self.arena.meter().work(1)?;
            rest.push(item);
        }
        self.arena.meter().memory(rest.len() * size_of::<Value<'_>>())?;
        let rest = self.arena.alloc_slice(&rest);
        let state = &mut self.loops[index];
        state.source = Source::Lazy(Iter::Items(rest));
        state.test = None;
        let ahead = usize::from(matches!(state.ahead, Some(Some(_))));
        let length = rest.len() + (state.index0 + 1) as usize + ahead;
        state.length = Some(length);
        Ok(length)
    }

    pub(super) fn loop_attribute(&mut self, index: u32, attribute: LoopAttribute) -> Result<Value<'a>> {
        let index = index as usize;
        let Some(state) = self.loops.get(index) else {
            return Err(gone());
        };
        let index0 = state.index0;
        let int = |int: isize| Value::Int(int as i64, Origin::COMPUTED);
        let flag = |flag| Value::Bool(flag, Origin::COMPUTED);
        Ok(match attribute {
            LoopAttribute::Index => int(index0 + 1),
            LoopAttribute::Index0 => int(index0),
            LoopAttribute::First => flag(index0 == 0),
            LoopAttribute::Depth => int(state.depth0 as isize + 1),
            LoopAttribute::Depth0 => int(state.depth0 as isize),
            LoopAttribute::Last => flag(self.peek(index)?.is_none()),
            LoopAttribute::Length => int(self.loop_length(index)? as isize),
            LoopAttribute::RevIndex => int(self.loop_length(index)? as isize - index0),
            LoopAttribute::RevIndex0 => int(self.loop_length(index)? as isize - index0 - 1),
            LoopAttribute::PrevItem => {
                let before = match state.source {
                    Source::Items(items) => (index0 > 0).then(|| items[index0 as usize - 1]),
                    Source::Lazy(_) if index0 == 0 => None,
                    Source::Lazy(_) => state.before,
                };
                match before {
                    Some(item) => item,
                    None => self.undefined(Undefined::Hint("there is no previous item")),
                }
            }
            LoopAttribute::NextItem => match self.peek(index)? {
                Some(item) => item,
                None => self.undefined(Undefined::Hint("there is no next item")),
            },
        })
    }

    /// `loop.cycle(...)` and `loop.changed(...)`
    pub(super) fn call_loop_method(&mut self, index: u32, name: &str, args: Args<'_, 'a>) -> Result<Value<'a>> {
        if let Some((keyword, _)) = args.keyword.first() {
            return Err(Error::type_error(format!(
                "LoopContext.{name}() got an unexpected keyword argument '{keyword}'"
            )));
        }
        let Some(state) = self.loops.get_mut(index as usize) else {
            return Err(gone());
        };
        if name == "cycle" {
            if args.positional.is_empty() {
                return Err(Error::type_error("no items for cycling given"));
            }
            return Ok(args.positional[state.index0.max(0) as usize % args.positional.len()]);
        }
        let same = match &state.changed {
            Some(last) if last.len() == args.positional.len() => {
                let mut same = true;
                for (a, b) in last.iter().zip(args.positional) {
                    same = same && compare::same_or_equal(a, b, self.arena)?;
                }
                same
            }
            _ => false,
        };
        if !same {
            state.changed = Some(args.positional.to_vec());
        }
        Ok(Value::Bool(!same, Origin::COMPUTED))
    }

    /// The next pair that iterating a `loop` gives, as Python's does.
    pub(super) fn loop_next(&mut self, index: u32) -> Result<Option<Value<'a>>> {
        if self.loops.get(index as usize).is_none() {
            return Err(gone());
        }
        match self.advance(index as usize)? {
            Some(item) => {
                let variable = self.object(Class::Loop, index as usize);
                Ok(Some(self.tuple(&[item, variable])?))
            }
            None => Ok(None),
        }
    }
}

#[cold]
fn gone() -> Error {
    Error::new(ErrorKind::Unsupported, "the loop variable was used after its loop")
}
