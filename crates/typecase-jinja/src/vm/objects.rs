//! What lives in the engine: namespaces, cyclers, joiners, references to blocks.

use super::State;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Class, Exception, Object, Origin, Text, TextBuilder, Undefined, Value, repr};

/// `namespace(...)`: attributes in the order in which they were first set.
#[derive(Debug, Default)]
pub(crate) struct Namespace<'a> {
    pub(crate) attributes: Vec<(Value<'a>, Value<'a>)>,
}

impl<'a> Namespace<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.attributes
            .iter()
            .find(|(key, _)| key.as_str() == Some(name))
            .map(|(_, value)| *value)
    }

    pub(crate) fn set(&mut self, name: &'a str, value: Value<'a>) {
        match self.attributes.iter_mut().find(|(key, _)| key.as_str() == Some(name)) {
            Some(entry) => entry.1 = value,
            None => self.attributes.push((Value::Str(Text::new(name)), value)),
        }
    }
}

/// `cycler(...)`
#[derive(Debug)]
pub(crate) struct Cycler<'a> {
    pub(crate) items: &'a [Value<'a>],
    pub(crate) position: usize,
}

/// `joiner(...)`
#[derive(Debug)]
pub(crate) struct Joiner<'a> {
    pub(crate) separator: Value<'a>,
    pub(crate) used: bool,
}

/// The attribute names that transformers keeps out of namespaces.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.starts_with('_') {
        return Err(Error::new(
            ErrorKind::Security,
            format!(
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'. \
                 Please rename the attribute."
            ),
        ));
    }
    Ok(())
}

impl<'a> State<'a> {
    pub(super) fn object(&self, class: Class, index: usize) -> Value<'a> {
        Value::Object(Object {
            class,
            index: index as u32,
        })
    }

    pub(crate) fn new_namespace(&mut self, namespace: Namespace<'a>) -> Value<'a> {
        self.namespaces.push(namespace);
        self.object(Class::Namespace, self.namespaces.len() - 1)
    }

    pub(crate) fn new_cycler(&mut self, items: &'a [Value<'a>]) -> Value<'a> {
        self.cyclers.push(Cycler { items, position: 0 });
        self.object(Class::Cycler, self.cyclers.len() - 1)
    }

    pub(crate) fn new_joiner(&mut self, separator: Value<'a>) -> Value<'a> {
        self.joiners.push(Joiner { separator, used: false });
        self.object(Class::Joiner, self.joiners.len() - 1)
    }

    /// `namespace.name = value`
    pub(super) fn set_attribute(&mut self, target: Value<'a>, name: &'a str, value: Value<'a>) -> Result<()> {
        let Value::Object(Object {
            class: Class::Namespace,
            index,
        }) = target
        else {
            return Err(Error::runtime("cannot assign attribute on non-namespace object"));
        };
        check_name(name)?;
        self.namespaces[index as usize].set(name, value);
        Ok(())
    }

    pub(super) fn block_reference(&mut self, name: &str) -> Option<Value<'a>> {
        let index = self.program.blocks.iter().position(|(known, _)| *known == name)?;
        Some(self.object(Class::BlockReference, index))
    }

    pub(super) fn object_attribute(&mut self, object: Object, name: &'a str) -> Result<Option<Value<'a>>> {
        let index = object.index as usize;
        let text = |text: &'a str| Value::Str(Text::new(text));
        let flag = |flag| Value::Bool(flag, Origin::COMPUTED);
        Ok(match object.class {
            Class::Namespace => self.namespaces[index].get(name),
            Class::Macro => {
                let def = self.macros[index].def;
                match name {
                    "name" => Some(def.name.map_or(Value::None(Origin::COMPUTED), text)),
                    "arguments" => {
                        let names: Vec<Value<'a>> = def.params.iter().map(|param| text(param.name)).collect();
                        // In Python a tuple.
                        Some(self.tuple(&names)?)
                    }
                    "catch_kwargs" => Some(flag(def.kwargs.is_some())),
                    "catch_varargs" => Some(flag(def.varargs.is_some())),
                    "caller" => Some(flag(def.accesses_caller)),
                    "explicit_caller" => Some(flag(def.params.iter().any(|param| param.name == "caller"))),
                    _ => None,
                }
            }
            Class::Loop => match name {
                "cycle" | "changed" => Some(self.method(Value::Object(object), name)),
                _ => match super::loops::LoopAttribute::named(name) {
                    Some(attribute) => Some(self.loop_attribute(object.index, attribute)?),
                    None => None,
                },
            },
            Class::Cycler => match name {
                "items" => Some(self.tuple(self.cyclers[index].items)?),
                "pos" => Some(Value::Int(self.cyclers[index].position as i64, Origin::COMPUTED)),
                "current" => {
                    let cycler = &self.cyclers[index];
                    Some(cycler.items[cycler.position])
                }
                "next" | "reset" => Some(self.method(Value::Object(object), name)),
                _ => None,
            },
            Class::Joiner => match name {
                "sep" => Some(self.joiners[index].separator),
                "used" => Some(flag(self.joiners[index].used)),
                _ => None,
            },
            Class::BlockReference => match name {
                "name" => Some(text(self.program.blocks[index].0)),
                "super" => {
                    let hint = format!("there is no parent block called '{}'.", self.program.blocks[index].0);
                    let hint = self.arena.alloc_str(&hint);
                    Some(self.undefined(Undefined::Hint(hint)))
                }
                _ => None,
            },
            Class::Function if name == "fromkeys" && crate::builtins::globals::name(object) == "dict" => {
                Some(self.method(Value::Object(object), name))
            }
            Class::Function | Class::Generator | Class::TemplateReference => None,
        })
    }

    /// `repr(object)`. An address in it is as long as one is in Python, and always the same.
    pub(super) fn object_repr(&self, builder: &mut TextBuilder, object: Object) -> Result<(), Exception> {
        let index = object.index as usize;
        let mut plain = |text: &str| builder.push_from(text, Origin::COMPUTED);
        match object.class {
            Class::Namespace => {
                plain("<Namespace {");
                for (i, (key, value)) in self.namespaces[index].attributes.iter().enumerate() {
                    if i > 0 {
                        builder.push_from(", ", Origin::COMPUTED);
                    }
                    repr::push_repr(builder, key, self, self.arena)?;
                    builder.push_from(": ", Origin::COMPUTED);
                    repr::push_repr(builder, value, self, self.arena)?;
                }
                builder.push_from("}>", Origin::COMPUTED);
            }
            Class::Macro => match self.macros[index].def.name {
                Some(name) => plain(&format!("<Macro '{name}'>")),
                None => plain("<Macro anonymous>"),
            },
            Class::Loop => {
                let state = &self.loops[index];
                plain(&format!("<LoopContext {}/{}>", state.index0 + 1, state.known_length()));
            }
            Class::Generator => plain(&format!(
                "<generator object {} at 0x7f0000000000>",
                self.generators[index].name
            )),
            Class::TemplateReference => plain("<TemplateReference None>"),
            Class::Function => plain(&crate::builtins::globals::repr(object)),
            Class::Cycler => plain("<jinja2.utils.Cycler object at 0x7f0000000000>"),
            Class::Joiner => plain("<jinja2.utils.Joiner object at 0x7f0000000000>"),
            Class::BlockReference => plain("<jinja2.runtime.BlockReference object at 0x7f0000000000>"),
        }
        Ok(())
    }
}
