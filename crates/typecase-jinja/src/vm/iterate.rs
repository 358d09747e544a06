//! Iteration over every kind of value.

use super::State;
use crate::error::{Error, Result};
use crate::value::{Class, DictPart, DictView, Origin, Range, Text, Value};

/// An iterator over a value, as `iter(value)` gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Iter<'a> {
    /// The items of a list or tuple that are left.
    Items(&'a [Value<'a>]),
    /// What of a dict is left to show.
    Entries(DictPart, &'a [(Value<'a>, Value<'a>)]),
    /// The range, and how many of its numbers were given.
    Range(&'a Range, usize),
    /// The text and how many of its bytes were given. The characters of a `Markup` are plain `str`.
    Chars(Text<'a>, usize),
    /// A generator, which keeps its own place.
    Generator(u32),
    /// A `loop`, which keeps its own place.
    Loop(u32),
}

impl<'a> Iter<'a> {
    /// `iter(value)`
    pub(crate) fn new(value: Value<'a>) -> Result<Self> {
        Ok(match value {
            Value::List(list) | Value::Tuple(list) => Iter::Items(list.items()),
            Value::Dict(dict) => Iter::Entries(DictPart::Keys, dict.entries()),
            Value::DictView(DictView { dict, part }) => Iter::Entries(*part, dict.entries()),
            Value::Range(range) => Iter::Range(range, 0),
            Value::Str(text) | Value::Markup(text) => Iter::Chars(text, 0),
            Value::Undefined(_) => Iter::Items(&[]),
            Value::Object(object) if object.class == Class::Generator => Iter::Generator(object.index),
            Value::Object(object) if object.class == Class::Loop => Iter::Loop(object.index),
            other => {
                return Err(Error::type_error(format!(
                    "'{}' object is not iterable",
                    other.type_name()
                )));
            }
        })
    }

    /// At least how many items follow.
    pub(crate) fn size_hint(&self) -> usize {
        match self {
            Iter::Items(items) => items.len(),
            Iter::Entries(_, entries) => entries.len(),
            Iter::Range(range, given) => range.len() - given,
            Iter::Chars(..) | Iter::Generator(_) | Iter::Loop(_) => 0,
        }
    }

    /// The next item.
    pub(crate) fn next(&mut self, state: &mut State<'a>) -> Result<Option<Value<'a>>> {
        Ok(match self {
            Iter::Items(items) => items.split_off_first().copied(),
            Iter::Entries(part, entries) => match entries.split_off_first() {
                Some((key, value)) => Some(match part {
                    DictPart::Keys => *key,
                    DictPart::Values => *value,
                    DictPart::Items => Value::Tuple(state.arena.list(&[*key, *value], Origin::COMPUTED)),
                }),
                None => None,
            },
            Iter::Range(range, given) => {
                let number = range.at(*given);
                *given += 1;
                number.map(|number| Value::Int(number, Origin::COMPUTED))
            }
            Iter::Chars(text, given) => match text.as_str()[*given..].chars().next() {
                Some(c) => {
                    let start = *given;
                    *given += c.len_utf8();
                    Some(Value::Str(text.slice(start, *given, state.arena)))
                }
                None => None,
            },
            Iter::Generator(index) => return state.resume(*index),
            Iter::Loop(index) => return state.loop_next(*index),
        })
    }
}
