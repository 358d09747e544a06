//! Kinds of values that no JSON text has: what a template makes, and what stands for nothing.

use super::{Dict, Exception, ExceptionKind, Origin, TextBuilder, Value};
use std::fmt::Write;

/// Jinja's `Undefined`: a value that is not there, and why.
#[derive(Clone, Copy, Debug)]
pub enum Undefined<'a> {
    /// No variable has this name.
    Name(&'a str),
    /// A value of the type `owner` (as [`Value::type_repr`] names it) has neither such an attribute nor such a key.
    Attribute {
        /// What was asked.
        owner: &'static str,
        /// What it was asked for.
        name: &'a str,
    },
    /// A value of the type `owner` has no such item.
    Element {
        /// What was asked.
        owner: &'static str,
        /// What it was asked for; no `str`.
        key: Value<'a>,
    },
    /// A macro was called without this parameter, which has no default.
    Parameter(&'a str),
    /// For another reason, which is the whole message.
    Hint(&'a str),
    /// The sandbox keeps the attribute from the template; using the value is a `SecurityError`.
    Unsafe {
        /// The type asked, as [`Value::type_name`] names it.
        owner: &'static str,
        /// What it was asked for.
        name: &'a str,
    },
}

impl Undefined<'_> {
    /// The exception that using the value raises.
    #[cold]
    pub fn exception(&self) -> Exception {
        let mut message = String::new();
        let kind = match self {
            Undefined::Unsafe { .. } => ExceptionKind::Security,
            _ => ExceptionKind::Undefined,
        };
        let _ = match self {
            Undefined::Name(name) => write!(message, "'{name}' is undefined"),
            Undefined::Attribute { owner, name } => write!(message, "'{owner}' has no attribute '{name}'"),
            Undefined::Element { owner, key } => match key {
                Value::Int(int, _) => write!(message, "{owner} has no element {int}"),
                other => write!(message, "{owner} has no element {}", other.type_name()),
            },
            Undefined::Parameter(name) => write!(message, "parameter '{name}' was not provided"),
            Undefined::Hint(hint) => message.write_str(hint),
            Undefined::Unsafe { owner, name } => {
                write!(message, "access to attribute '{name}' of '{owner}' object is unsafe.")
            }
        };
        Exception::new(kind, message)
    }
}

/// A `range`, at most as long as a `usize` can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub start: i64,
    /// The border that is not part of it.
    pub stop: i64,
    /// The distance of two neighbours; not 0.
    pub step: i64,
}

impl Range {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let distance = if step > 0 { stop - start } else { start - stop };
        let step = step.abs();
        usize::try_from(((distance + step - 1) / step).max(0)).unwrap_or(usize::MAX)
    }

    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `index`, counted from 0.
    pub fn at(&self, index: usize) -> Option<i64> {
        (index < self.len()).then(|| self.start + self.step * index as i64)
    }
}

/// What `dict.keys()`, `dict.values()` and `dict.items()` return.
#[derive(Clone, Copy, Debug)]
pub struct DictView<'a> {
    /// The dict looked at.
    pub dict: &'a Dict<'a>,
    /// What of it is shown.
    pub part: DictPart,
}

/// What a [`DictView`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DictPart {
    /// `dict_keys`
    Keys,
    /// `dict_values`
    Values,
    /// `dict_items`
    Items,
}

/// A method of a value, not yet called: what `text.upper` gives.
#[derive(Clone, Copy, Debug)]
pub struct BoundMethod<'a> {
    /// The value whose method it is.
    pub receiver: Value<'a>,
    /// Its name; the engine has such a method for the type of the receiver.
    pub name: &'a str,
}

/// A value that lives in the engine (a namespace, a macro, a generator, ...): a handle, whose meaning the engine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is.
    pub class: Class,
    /// Which of its kind.
    pub index: u32,
}

/// The kinds of [`Object`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `jinja2.utils.Namespace` as transformers restricts it.
    Namespace,
    /// A macro, or the body of a call block.
    Macro,
    /// The `loop` variable.
    Loop,
    /// `cycler(...)`
    Cycler,
    /// `joiner(...)`
    Joiner,
    /// A generator: what `map`, `select` and their kin return. It can be iterated once.
    Generator,
    /// A global function.
    Function,
    /// The `self` variable.
    TemplateReference,
    /// `self.name`
    BlockReference,
}

impl Class {
    /// `type(x).__name__`
    pub fn type_name(self) -> &'static str {
        match self {
            Class::Namespace => "TemplateNamespace",
            Class::Macro => "Macro",
            Class::Loop => "LoopContext",
            Class::Cycler => "Cycler",
            Class::Joiner => "Joiner",
            Class::Generator => "generator",
            Class::Function => "function",
            Class::TemplateReference => "TemplateReference",
            Class::BlockReference => "BlockReference",
        }
    }
}

/// Knows the engine's objects, where values are printed.
pub trait Objects {
    /// Appends `repr(object)`, with the places that the bytes of what it holds came from.
    ///
    /// # Errors
    /// `RecursionError` for objects that hold one another too deep, or themselves.
    fn push_repr(&self, builder: &mut TextBuilder, object: Object) -> Result<(), Exception>;
}

/// For values that hold no objects: names the type.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn push_repr(&self, builder: &mut TextBuilder, object: Object) -> Result<(), Exception> {
        let repr = format!("<{} object>", object.class.type_name());
        builder.push_from(&repr, Origin::COMPUTED);
        Ok(())
    }
}
