//! Attribute paths, `attr` and `default`.

use crate::builtins::Args;
use crate::error::{Error, Result};
use crate::value::{Origin, Text, Undefined, Value};
use crate::vm::State;

/// The parts of an attribute path: `"a.b.0"` looks up `a`, then `b`, then the index 0.
#[derive(Clone)]
pub(super) struct Getter<'a> {
    parts: Vec<Value<'a>>,
    /// Stands in for what is undefined, if it is not `None`.
    default: Option<Value<'a>>,
}

impl<'a> Getter<'a> {
    /// From the argument `attribute`: a path, an index, or nothing for the value itself.
    pub(super) fn new(
        state: &State<'a>,
        attribute: Option<Value<'a>>,
        default: Option<Value<'a>>,
    ) -> Result<Self> {
        let parts = match attribute {
            None | Some(Value::None(_)) => Vec::new(),
            Some(Value::Str(path) | Value::Markup(path)) => parts(state, path)?,
            Some(other) => vec![other],
        };
        Ok(Getter {
            parts,
            default: default.filter(|default| !default.is_none()),
        })
    }

    /// Several paths, separated by commas.
    pub(super) fn several(state: &State<'a>, attribute: Option<Value<'a>>) -> Result<Vec<Self>> {
        let Some(Value::Str(paths) | Value::Markup(paths)) = attribute else {
            return Ok(vec![Getter::new(state, attribute, None)?]);
        };
        crate::value::text::split::split_on(paths.as_str(), ",", -1)
            .into_iter()
            .map(|(start, end)| {
                Ok(Getter {
                    parts: parts(state, paths.slice(start, end, state.arena))?,
                    default: None,
                })
            })
            .collect()
    }

    /// Looks up the path in `item`.
    pub(super) fn get(&self, state: &mut State<'a>, mut item: Value<'a>) -> Result<Value<'a>> {
        for part in &self.parts {
            item = state.getitem(item, *part)?;
            if let (Value::Undefined(_), Some(default)) = (item, self.default) {
                item = default;
            }
        }
        Ok(item)
    }

    /// As [`get`](Self::get); a text is turned to lower case unless `case_sensitive`.
    pub(super) fn key(&self, state: &mut State<'a>, item: Value<'a>, case_sensitive: bool) -> Result<Value<'a>> {
        let key = self.get(state, item)?;
        match case_sensitive {
            true => Ok(key),
            false => ignore_case(state, key),
        }
    }
}

fn parts<'a>(state: &State<'a>, path: Text<'a>) -> Result<Vec<Value<'a>>> {
    state.arena.meter().scan(path.len())?;
    crate::value::text::split::split_on(path.as_str(), ".", -1)
        .into_iter()
        .map(|(start, end)| {
            let part = path.slice(start, end, state.arena);
            let is_number = !part.is_empty() && part.as_str().chars().all(crate::value::unicode::is_digit);
            Ok(match is_number {
                true => crate::value::number::parse_int(part, 10, state.arena)?,
                false => Value::Str(part),
            })
        })
        .collect()
}

/// Texts in lower case, other values as they are.
pub(super) fn ignore_case<'a>(state: &mut State<'a>, value: Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Str(_) | Value::Markup(_) => {
            crate::builtins::methods::str::cased(state, value, |text, arena| text.lower(arena))
        }
        other => Ok(other),
    }
}

pub(super) fn default<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [default, boolean] = args.bind("do_default", ["default_value", "boolean"], 0)?;
    let is_missing = matches!(value, Value::Undefined(_))
        || (boolean.is_some_and(|boolean| boolean.is_true()) && !value.is_true());
    Ok(match is_missing {
        true => default.unwrap_or(Value::Str(Text::new(""))),
        false => value,
    })
}

/// Methods of `dict` that change it: attributes that the sandbox refuses, not missing ones.
const DICT_MUTATORS: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];

pub(super) fn attr<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [name] = args.bind("do_attr", ["name"], 1)?;
    let name = name.unwrap_or(Value::None(Origin::COMPUTED));
    let Some(name) = name.as_str() else {
        return Err(Error::type_error(format!(
            "attribute name must be string, not '{}'",
            name.type_name()
        )));
    };
    // Unlike `value.name`, this does not fall back to the key of a dict.
    if let Value::Dict(_) = value
        && crate::builtins::methods::lookup(&value, name).is_none()
        && !DICT_MUTATORS.contains(&name)
        && !name.starts_with("__")
    {
        return Ok(state.undefined(Undefined::Attribute {
            owner: value.type_repr(),
            name,
        }));
    }
    state.getattr(value, name)
}
