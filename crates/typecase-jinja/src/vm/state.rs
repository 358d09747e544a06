//! The state of one render.

use super::Iter;
use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Arena, Class, Object, Objects, Text, TextBuilder, Undefined, Value};

/// Makes the items of a generator, one at a time.
pub(crate) type Next<'a> = Box<dyn FnMut(&mut State<'a>) -> Result<Option<Value<'a>>> + 'a>;

/// The state of one render: what builtins may use of the engine.
pub(crate) struct State<'a> {
    /// Where new values live. Bounds are kept by [`Arena::meter`].
    pub(crate) arena: &'a Arena,
    /// Whether `{% autoescape %}` is on; filters such as `join` and `replace` then return `Markup`.
    pub(crate) autoescape: bool,
    generators: Vec<Generator<'a>>,
}

struct Generator<'a> {
    /// `__name__`, which `repr` prints.
    name: &'static str,
    /// `None` while it runs.
    next: Option<Next<'a>>,
}

impl<'a> State<'a> {
    /// A string put together by `builder`; spends its size.
    pub(crate) fn text(&self, builder: TextBuilder) -> Result<Text<'a>> {
        self.arena.meter().memory(builder.len())?;
        Ok(builder.finish(self.arena))
    }

    /// A `list` of `items`; spends its size.
    pub(crate) fn list(&self, items: &[Value<'a>]) -> Result<Value<'a>> {
        self.arena.meter().memory(size_of_val(items))?;
        Ok(Value::List(self.arena.list(items, crate::value::Origin::COMPUTED)))
    }

    /// A `tuple` of `items`; spends its size.
    pub(crate) fn tuple(&self, items: &[Value<'a>]) -> Result<Value<'a>> {
        self.arena.meter().memory(size_of_val(items))?;
        Ok(Value::Tuple(self.arena.list(items, crate::value::Origin::COMPUTED)))
    }

    /// An undefined value.
    pub(crate) fn undefined(&self, undefined: Undefined<'a>) -> Value<'a> {
        Value::Undefined(self.arena.bump.alloc(undefined))
    }

    /// A generator whose items `next` makes when they are asked for; `name` is that of the Python function.
    pub(crate) fn generator(
        &mut self,
        name: &'static str,
        next: impl FnMut(&mut State<'a>) -> Result<Option<Value<'a>>> + 'a,
    ) -> Value<'a> {
        let index = self.generators.len() as u32;
        self.generators.push(Generator {
            name,
            next: Some(Box::new(next)),
        });
        Value::Object(Object {
            class: Class::Generator,
            index,
        })
    }

    /// The next item of generator `index`.
    pub(crate) fn resume(&mut self, index: u32) -> Result<Option<Value<'a>>> {
        self.arena.meter().work(1)?;
        let Some(mut next) = self.generators[index as usize].next.take() else {
            return Err(Error::value_error("generator already executing"));
        };
        let item = next(self);
        // After its end or an error a generator stays empty.
        self.generators[index as usize].next = match item {
            Ok(Some(_)) => Some(next),
            _ => Some(Box::new(|_| Ok(None))),
        };
        item
    }

    /// `iter(value)`
    ///
    /// # Errors
    /// `TypeError` if it cannot be iterated.
    pub(crate) fn iterate(&mut self, value: Value<'a>) -> Result<Iter<'a>> {
        Iter::new(value)
    }

    /// `list(value)`
    pub(crate) fn collect(&mut self, value: Value<'a>) -> Result<Vec<Value<'a>>> {
        let mut iter = self.iterate(value)?;
        let mut items = Vec::with_capacity(iter.size_hint());
        while let Some(item) = iter.next(self)? {
            self.arena.meter().work(1)?;
            items.push(item);
        }
        Ok(items)
    }

    /// `value[key]` as templates write it: `environment.getitem`.
    pub(crate) fn getitem(&mut self, value: Value<'a>, key: Value<'a>) -> Result<Value<'a>> {
        let _ = (value, key);
        Err(Error::new(ErrorKind::Unsupported, "getitem"))
    }

    /// `value.name` as templates write it: `environment.getattr`.
    pub(crate) fn getattr(&mut self, value: Value<'a>, name: &'a str) -> Result<Value<'a>> {
        let _ = (value, name);
        Err(Error::new(ErrorKind::Unsupported, "getattr"))
    }

    /// `value(args)`
    pub(crate) fn call(&mut self, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
        let _ = (value, args);
        Err(Error::new(ErrorKind::Unsupported, "call"))
    }

    /// `value | name(args)`, for filters that take the name of another, such as `map`.
    pub(crate) fn filter(&mut self, name: &str, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
        match crate::builtins::find(crate::builtins::filters::FILTERS, name) {
            Some(filter) => filter(self, value, args),
            None => Err(Error::runtime(format!("No filter named '{name}'."))),
        }
    }

    /// `value is name(args)`, for filters that take the name of a test, such as `select`.
    pub(crate) fn test(&mut self, name: &str, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
        match crate::builtins::find(crate::builtins::tests::TESTS, name) {
            Some(test) => test(self, value, args),
            None => Err(Error::runtime(format!("No test named '{name}'."))),
        }
    }
}

impl Objects for State<'_> {
    fn write_repr(&self, out: &mut String, object: Object) {
        let name = match object.class {
            Class::Generator => self.generators[object.index as usize].name,
            other => other.type_name(),
        };
        out.push_str(name);
    }
}
