//! `value.name`, `value[key]` and `value[start:stop:step]`.
//!
//! Source: `getattr` and `getitem` of `SandboxedEnvironment` (`jinja2/sandbox.py`).

use super::{State, sandbox};
use crate::builtins::methods;
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::Slice;
use crate::value::{BoundMethod, Class, Origin, Text, Undefined, Value};

impl<'a> State<'a> {
    /// `value.name` as templates write it: the attribute, else the item.
    pub(crate) fn getattr(&mut self, value: Value<'a>, name: &'a str) -> Result<Value<'a>> {
        if let Value::Undefined(undefined) = value
            && !name.starts_with("__")
        {
            return Err(undefined.exception().into());
        }
        if let Some(found) = self.attribute(value, name)? {
            return Ok(found);
        }
        if let Some(found) = self.item(value, Value::Str(Text::new(name)))? {
            return Ok(found);
        }
        Ok(self.undefined(Undefined::Attribute {
            owner: value.type_repr(),
            name,
        }))
    }

    /// `value[key]` as templates write it: the item, else the attribute.
    pub(crate) fn getitem(&mut self, value: Value<'a>, key: Value<'a>) -> Result<Value<'a>> {
        if let Some(found) = self.item(value, key)? {
            return Ok(found);
        }
        let Some(name) = key.as_str() else {
            return Ok(self.undefined(Undefined::Element {
                owner: value.type_repr(),
                key,
            }));
        };
        if let Some(found) = self.attribute(value, name)? {
            return Ok(found);
        }
        Ok(self.undefined(Undefined::Attribute {
            owner: value.type_repr(),
            name,
        }))
    }

    /// The attribute of Python's object, as far as a template may see it.
    pub(crate) fn attribute(&mut self, value: Value<'a>, name: &'a str) -> Result<Option<Value<'a>>> {
        if sandbox::is_hidden(&value, name) {
            return Ok(Some(self.undefined(Undefined::Unsafe {
                owner: value.type_name(),
                name,
            })));
        }
        let found = match value {
            Value::Object(object) => self.object_attribute(object, name)?,
            Value::Tuple(list) => list.by_name(name),
            Value::Range(range) => match name {
                "start" => Some(Value::Int(range.start, Origin::COMPUTED)),
                "stop" => Some(Value::Int(range.stop, Origin::COMPUTED)),
                "step" => Some(Value::Int(range.step, Origin::COMPUTED)),
                _ => None,
            },
            Value::Int(..) | Value::BigInt(..) => match name {
                "real" | "numerator" => Some(value),
                "imag" => Some(Value::Int(0, Origin::COMPUTED)),
                "denominator" => Some(Value::Int(1, Origin::COMPUTED)),
                _ => None,
            },
            Value::Bool(flag, _) => match name {
                "real" | "numerator" => Some(Value::Int(i64::from(flag), Origin::COMPUTED)),
                "imag" => Some(Value::Int(0, Origin::COMPUTED)),
                "denominator" => Some(Value::Int(1, Origin::COMPUTED)),
                _ => None,
            },
            // Nothing can change a dict, so a proxy of it is the dict.
            Value::DictView(view) if name == "mapping" => Some(Value::Dict(view.dict)),
            Value::Float(..) => match name {
                "real" => Some(value),
                "imag" => Some(Value::Float(0.0, Origin::COMPUTED)),
                _ => None,
            },
            _ => None,
        };
        if found.is_none() && methods::lookup(&value, name).is_some() {
            return Ok(Some(self.method(value, name)));
        }
        Ok(found)
    }

    /// The method `name` of `receiver`, not yet called.
    pub(super) fn method(&self, receiver: Value<'a>, name: &'a str) -> Value<'a> {
        Value::Method(self.arena.bump.alloc(BoundMethod { receiver, name }))
    }

    /// `value[key]` as Python has it, if that works.
    fn item(&mut self, value: Value<'a>, key: Value<'a>) -> Result<Option<Value<'a>>> {
        Ok(match value {
            // An unhashable key is a `TypeError`, which Jinja takes for an item that is not there.
            Value::Dict(dict) => dict.lookup(&key).unwrap_or_default(),
            Value::List(list) | Value::Tuple(list) => {
                index(&key, list.len()).and_then(|index| list.items().get(index).copied())
            }
            Value::Str(text) => self.char_at(text, &key)?.map(Value::Str),
            Value::Markup(text) => self.char_at(text, &key)?.map(Value::Markup),
            Value::Range(range) => {
                index(&key, range.len()).and_then(|index| Some(Value::Int(range.at(index)?, Origin::COMPUTED)))
            }
            Value::Undefined(undefined) => return Err(undefined.exception().into()),
            Value::Object(object) if object.class == Class::TemplateReference => match key.as_str() {
                Some(name) => self.block_reference(name),
                None => None,
            },
            _ => None,
        })
    }

    fn char_at(&mut self, text: Text<'a>, key: &Value<'a>) -> Result<Option<Text<'a>>> {
        let index = match key {
            Value::Int(index, _) => *index,
            Value::Bool(index, _) => i64::from(*index),
            _ => return Ok(None),
        };
        let steps = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
        self.arena.meter().scan(text.len().min(steps))?;
        Ok(text.char_at(index, self.arena))
    }

    /// `value[start:stop:step]`
    pub(super) fn slice(
        &mut self,
        value: Value<'a>,
        start: Option<Value<'a>>,
        stop: Option<Value<'a>>,
        step: Option<Value<'a>>,
    ) -> Result<Value<'a>> {
        match value {
            Value::Undefined(undefined) => return Err(undefined.exception().into()),
            Value::Str(_) | Value::Markup(_) | Value::List(_) | Value::Tuple(_) | Value::Range(_) => {}
            Value::Dict(_) => return Err(Error::type_error("unhashable type: 'slice'")),
            other => {
                return Err(Error::type_error(format!(
                    "'{}' object is not subscriptable",
                    other.type_name()
                )));
            }
        }
        let slice = Slice {
            start: slice_index(start)?,
            stop: slice_index(stop)?,
            step: slice_index(step)?,
        };
        if slice.step == Some(0) {
            return Err(Error::value_error("slice step cannot be zero"));
        }
        Ok(match value {
            Value::Str(text) => Value::Str(self.slice_text(text, slice)?),
            Value::Markup(text) => Value::Markup(self.slice_text(text, slice)?),
            Value::List(list) | Value::Tuple(list) => {
                let indices = slice.indices(list.len());
                self.arena.meter().memory(indices.count * size_of::<Value<'_>>())?;
                let items = list.items();
                let origin = list.origin();
                let items = if indices.step == 1 {
                    // Lists never change, so a part of one can share its items.
                    items.get(indices.start..indices.start + indices.count).unwrap_or(&[])
                } else {
                    self.arena
                        .bump
                        .alloc_slice_fill_iter(indices.iter().collect::<Vec<_>>().into_iter().map(|i| items[i]))
                };
                let list = self.arena.bump.alloc(crate::value::List::new(items, origin));
                match value {
                    Value::List(_) => Value::List(list),
                    _ => Value::Tuple(list),
                }
            }
            Value::Range(range) => {
                let indices = slice.indices(range.len());
                let start = range
                    .start
                    .saturating_add(range.step.saturating_mul(indices.start as i64));
                let step = range.step.saturating_mul(indices.step);
                Value::Range(self.arena.bump.alloc(crate::value::Range {
                    start,
                    stop: start.saturating_add(step.saturating_mul(indices.count as i64)),
                    step,
                }))
            }
            _ => return Err(Error::new(ErrorKind::Type, "object is not subscriptable")),
        })
    }

    fn slice_text(&mut self, text: Text<'a>, slice: Slice) -> Result<Text<'a>> {
        self.arena.meter().scan(text.len())?;
        if slice.step.is_some_and(|step| step != 1) {
            self.arena.meter().memory(text.len())?;
        }
        Ok(text.slice_chars(slice, self.arena))
    }
}

fn index(key: &Value<'_>, len: usize) -> Option<usize> {
    let index = match key {
        Value::Int(index, _) => *index,
        Value::Bool(index, _) => i64::from(*index),
        _ => return None,
    };
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}

fn slice_index(value: Option<Value<'_>>) -> Result<Option<i64>> {
    use num_traits::Signed as _;
    Ok(match value {
        None | Some(Value::None(_)) => None,
        Some(Value::Int(index, _)) => Some(index),
        Some(Value::Bool(index, _)) => Some(i64::from(index)),
        Some(Value::BigInt(index, _)) => Some(if index.is_negative() { i64::MIN } else { i64::MAX }),
        Some(_) => {
            return Err(Error::type_error(
                "slice indices must be integers or None or have an __index__ method",
            ));
        }
    })
}
