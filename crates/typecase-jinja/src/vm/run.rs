//! Executes statements.

use super::State;
use crate::builtins::Args;
use crate::compile::program::{Block, FilterStep, Function, MacroDef, Place, Stmt, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Object, Origin, Text, Value, repr};
use crate::vm::state::{GenerationSpan, SpanEnd};

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next statement.
    Next,
    /// Behind the loop.
    Break,
    /// With the next round of the loop.
    Continue,
}

impl<'a> State<'a> {
    /// Runs the whole template.
    pub(crate) fn run(&mut self) -> Result<()> {
        let program = self.program;
        self.arena.meter().work(program.root.body.cost as usize)?;
        self.init(&program.root.entry);
        self.block(&program.root.body)?;
        self.joined()
    }

    pub(super) fn block(&mut self, block: &'a Block<'a>) -> Result<Flow> {
        for stmt in &block.stmts {
            let flow = match stmt {
                Stmt::Text(text) => {
                    self.out.push_from(text, Origin::of(text))?;
                    continue;
                }
                stmt => self.stmt(stmt)?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'a Stmt<'a>) -> Result<Flow> {
        self.yielded = self.out.len();
        match stmt {
            Stmt::Text(text) => self.out.push_from(text, Origin::of(text))?,
            Stmt::Emit(expr, escape) => self.emit(expr, *escape)?,
            Stmt::Assign(place, expr) => {
                let value = self.eval(expr)?;
                self.set_place(*place, value);
            }
            Stmt::AssignAttribute(node) => {
                let namespace = self.eval(&node.namespace)?;
                if !is_namespace(namespace) {
                    return Err(not_a_namespace().at_offset(node.at));
                }
                let value = self.eval(&node.value)?;
                self.set_attribute(namespace, node.attribute, value)
                    .map_err(|err| err.at_offset(node.at))?;
            }
            Stmt::AssignTuple(node) => {
                self.check_namespaces(&node.0)?;
                let value = self.eval(&node.1)?;
                self.assign(&node.0, value)?;
            }
            Stmt::If(branches, otherwise) => {
                for (test, body) in branches {
                    if self.truth(test)? {
                        return self.block(body);
                    }
                }
                return self.block(otherwise);
            }
            Stmt::For(node) => return self.for_loop(node),
            Stmt::Macro(place, def) => {
                let value = self.new_macro(def);
                self.set_place(*place, value);
            }
            Stmt::CallBlock(node) => {
                let caller = self.new_macro(&node.body);
                self.emit_call(&node.call, Some(caller), node.escape)?;
            }
            Stmt::Generation(function) => self.generation(function)?,
            Stmt::FilterBlock(node) => {
                self.init(&node.entry);
                let start = self.out.len();
                let around = self.begin_buffer();
                let flow = self.block(&node.body)?;
                if flow == Flow::Next {
                    self.end_buffer(around)?;
                    let text = self.taken_as_block(start)?;
                    let value = self.apply(&node.filters, text)?;
                    self.emit_raw(value)?;
                } else {
                    self.drop_buffer(around);
                    self.out.truncate(start);
                }
                self.clear(&node.leave);
                return Ok(flow);
            }
            Stmt::With(node) => {
                self.init(&node.entry);
                for (target, value) in &node.bindings {
                    let value = self.eval(value)?;
                    self.assign(target, value)?;
                }
                let flow = self.block(&node.body)?;
                self.clear(&node.leave);
                return Ok(flow);
            }
            Stmt::SetBlock(node) => {
                self.init(&node.entry);
                let start = self.out.len();
                let around = self.begin_buffer();
                let flow = self.block(&node.body)?;
                if flow == Flow::Next {
                    self.end_buffer(around)?;
                    let text = self.taken_as_block(start)?;
                    let value = match self.apply(&node.filters, text)? {
                        Value::Markup(text) => Value::Markup(text),
                        value if self.autoescape => Value::Markup(repr::to_text(&value, self, self.arena)?),
                        value => value,
                    };
                    self.assign_block(&node.target, value)?;
                } else {
                    self.drop_buffer(around);
                    self.out.truncate(start);
                }
                self.clear(&node.leave);
                return Ok(flow);
            }
            Stmt::Block(function) => {
                let parent = self.activation;
                self.function(function, parent)?;
            }
            Stmt::Autoescape(node) => {
                let enabled = self.truth(&node.0)?;
                let before = std::mem::replace(&mut self.autoescape, enabled);
                let flow = self.block(&node.1)?;
                self.autoescape = before;
                return Ok(flow);
            }
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
            Stmt::Fail(fail) => {
                if let Some(template) = &fail.template {
                    self.eval(template)?;
                }
                return Err(Error::new(fail.kind, fail.message.clone()).at_offset(fail.at));
            }
        }
        Ok(Flow::Next)
    }

    /// Runs `function`, defined inside the activation `parent`.
    pub(super) fn function(&mut self, function: &'a Function<'a>, parent: u32) -> Result<()> {
        let saved = self.enter(function.slots, parent)?;
        self.arena.meter().work(function.body.cost as usize)?;
        self.init(&function.entry);
        self.block(&function.body)?;
        self.leave(saved, function.keeps_frame)
    }

    fn generation(&mut self, def: &'a MacroDef<'a>) -> Result<()> {
        if self.buffered().is_none() {
            // transformers joins what has left the template so far.
            self.joined()?;
        }
        let start = self.out.len();
        if let Value::Object(body) = self.new_macro(def) {
            self.run_macro(body.index, Args::NONE)?;
        }
        let end = self.out.len();
        self.spans.push(match self.buffered() {
            None => GenerationSpan {
                start,
                end: SpanEnd::At(end),
            },
            Some(yielded) => GenerationSpan {
                start: yielded,
                end: SpanEnd::After(self.out.text[start..].chars().count()),
            },
        });
        Ok(())
    }

    pub(super) fn apply(&mut self, filters: &'a [FilterStep<'a>], mut value: Value<'a>) -> Result<Value<'a>> {
        for step in filters {
            value = self.filter_step(step, value)?;
        }
        Ok(value)
    }

    fn clear(&mut self, slots: &[u32]) {
        for slot in slots {
            self.slots[self.base + *slot as usize] = None;
        }
    }

    /// `{% set target %}...{% endset %}`, where Python does not look whether an attribute is that of a namespace.
    fn assign_block(&mut self, target: &'a Target<'a>, value: Value<'a>) -> Result<()> {
        if let Target::Attribute { namespace, at, .. } = target {
            let owner = self.eval(namespace)?;
            if let Value::Dict(_) = owner {
                let message = "a set block writes into a dict, which the sandbox keeps from changing elsewhere";
                return Err(Error::new(ErrorKind::Unsupported, message).at_offset(*at));
            }
            if !is_namespace(owner) {
                let message = format!("'{}' object does not support item assignment", owner.type_name());
                return Err(Error::type_error(message).at_offset(*at));
            }
        }
        self.assign(target, value)
    }

    fn check_namespaces(&mut self, target: &'a Target<'a>) -> Result<()> {
        match target {
            Target::Place(_) => Ok(()),
            Target::Attribute { namespace, at, .. } => {
                let namespace = self.eval(namespace)?;
                if is_namespace(namespace) {
                    Ok(())
                } else {
                    Err(not_a_namespace().at_offset(*at))
                }
            }
            Target::Tuple { items, .. } => items.iter().try_for_each(|item| self.check_namespaces(item)),
        }
    }

    pub(super) fn assign(&mut self, target: &'a Target<'a>, value: Value<'a>) -> Result<()> {
        match target {
            Target::Place(Place::Local(slot)) => self.slots[self.base + *slot as usize] = Some(value),
            Target::Place(place) => self.set_place(*place, value),
            Target::Attribute {
                namespace,
                attribute,
                at,
            } => {
                let namespace = self.eval(namespace)?;
                self.set_attribute(namespace, attribute, value)
                    .map_err(|err| err.at_offset(*at))?;
            }
            Target::Tuple { items, at } => self.unpack(items, value).map_err(|err| err.at_offset(*at))?,
        }
        Ok(())
    }

    fn unpack(&mut self, targets: &'a [Target<'a>], value: Value<'a>) -> Result<()> {
        let mut iter = match self.iterate(value) {
            Ok(iter) => iter,
            Err(_) => {
                return Err(Error::type_error(format!(
                    "cannot unpack non-iterable {} object",
                    value.type_name()
                )));
            }
        };
        // All items are taken before the first is assigned.
        let mut items: smallvec::SmallVec<[Value<'a>; 4]> = smallvec::SmallVec::new();
        while let Some(item) = iter.next(self)? {
            if items.len() == targets.len() {
                return Err(Error::value_error(format!(
                    "too many values to unpack (expected {})",
                    targets.len()
                )));
            }
            items.push(item);
        }
        if items.len() < targets.len() {
            return Err(Error::value_error(format!(
                "not enough values to unpack (expected {}, got {})",
                targets.len(),
                items.len()
            )));
        }
        for (target, item) in targets.iter().zip(items) {
            self.assign(target, item)?;
        }
        Ok(())
    }

    /// What the body of a block wrote since `start`, as its filters get it.
    fn taken_as_block(&mut self, start: usize) -> Result<Value<'a>> {
        let text = self.out.take(start, self.arena)?;
        Ok(if self.autoescape {
            Value::Markup(text)
        } else {
            Value::Str(text)
        })
    }

    /// What was written since `start`, as a value.
    pub(super) fn taken(&mut self, start: usize) -> Result<Value<'a>> {
        let text: Text<'a> = self.out.take(start, self.arena)?;
        Ok(Value::Str(text))
    }
}

fn is_namespace(value: Value<'_>) -> bool {
    matches!(
        value,
        Value::Object(Object {
            class: crate::value::Class::Namespace,
            ..
        })
    )
}

#[cold]
fn not_a_namespace() -> Error {
    Error::runtime("cannot assign attribute on non-namespace object")
}
