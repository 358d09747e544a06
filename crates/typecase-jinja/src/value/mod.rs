//! Values as Python has them, made from JSON or by a template, and how Python spells them.
//!
//! All values of one render live in one [`Arena`] and borrow from it or from the request's bytes; a [`Value`] is
//! `Copy` and 24 bytes wide. Nothing here knows about templates.
//!
//! **Provenance by address.** A string that came from the request *is* a slice of the request's bytes (JSON escapes are
//! decoded in place), and a template literal is a slice of the template's literal pool, so the address of a byte tells
//! who wrote it. Only operations that build new strings have to say where their bytes came from: see [`Text`].

pub mod arith;
pub mod compare;
pub mod dict;
pub mod exception;
pub mod float;
pub mod format;
pub mod json;
pub mod markup;
pub mod meter;
pub mod number;
pub mod object;
pub mod path;
pub mod repr;
#[cfg(feature = "serde")]
pub mod serialize;
pub mod sort;
pub mod text;
pub mod unicode;

pub use dict::{Dict, List};
pub use exception::{Exception, ExceptionKind};
pub use meter::Meter;
pub use num_bigint::BigInt;
pub use object::{BoundMethod, Class, DictPart, DictView, NoObjects, Object, Objects, Range, Undefined};
pub use path::{Path, Step};
pub use text::{Run, Text, TextBuilder};

use std::cell::{Cell, RefCell};

/// The address of the first byte that a value was read from; [`Origin::COMPUTED`] when there is no such byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Origin(pub usize);

impl Origin {
    /// Not read from anywhere: the result of a computation, which counts as written by whoever computes.
    pub const COMPUTED: Origin = Origin(0);

    /// The origin of the bytes of `text`.
    pub fn of(text: &str) -> Self {
        Origin(text.as_ptr() as usize)
    }

    /// The origin of the byte that stands `bytes` further on.
    pub fn plus(self, bytes: usize) -> Self {
        match self {
            Origin::COMPUTED => Origin::COMPUTED,
            Origin(address) => Origin(address.wrapping_add(bytes)),
        }
    }
}

/// A Python value. What lives in the engine (namespaces, macros, ...) is a handle here: see [`Object`].
// The tag is a word, so that a value is moved in whole words. With a byte for a tag the compiler moves it in pieces of
// other sizes than it was stored in, which stalls the processor at every step of the interpreter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[repr(u64)]
pub enum Value<'a> {
    /// `None`.
    None(Origin),
    /// `True` or `False`.
    Bool(bool, Origin),
    /// An `int` that fits 64 bits. Larger ones are always [`Value::BigInt`], so each integer has one representation.
    Int(i64, Origin),
    /// An `int` beyond 64 bits.
    BigInt(&'a BigInt, Origin),
    /// A `float`.
    Float(f64, Origin),
    /// A `str`.
    Str(Text<'a>),
    /// A `list`.
    List(&'a List<'a>),
    /// A `tuple`.
    Tuple(&'a List<'a>),
    /// A `dict`, in insertion order.
    Dict(&'a Dict<'a>),
    /// A `markupsafe.Markup`: a `str` that counts as escaped, and escapes what is put together with it.
    Markup(Text<'a>),
    /// A value that is not there.
    Undefined(&'a Undefined<'a>),
    /// A `range`.
    Range(&'a Range),
    /// A `dict_keys`, `dict_values` or `dict_items`.
    DictView(&'a DictView<'a>),
    /// A method that was not yet called.
    Method(&'a BoundMethod<'a>),
    /// A value that lives in the engine.
    Object(Object),
}

impl<'a> Value<'a> {
    /// The text if this is a `str`, which a `Markup` is too.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Value::Str(text) | Value::Markup(text) => Some(*text),
            _ => None,
        }
    }

    /// The characters if this is a `str`.
    pub fn as_str(&self) -> Option<&'a str> {
        self.as_text().map(Text::as_str)
    }

    /// The entries if this is a `dict`.
    pub fn as_dict(&self) -> Option<&'a Dict<'a>> {
        match self {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The items if this is a `list`.
    pub fn as_list(&self) -> Option<&'a List<'a>> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// Whether this is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None(_))
    }

    /// The value of the key `key`, if this is a `dict` that has it.
    pub fn lookup(&self, key: &str) -> Option<Value<'a>> {
        self.as_dict()?.get(key)
    }

    /// The name of the type in Python (`NoneType`, `str`, ...).
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::None(_) => "NoneType",
            Value::Bool(..) => "bool",
            Value::Int(..) | Value::BigInt(..) => "int",
            Value::Float(..) => "float",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::Markup(_) => "Markup",
            Value::Undefined(_) => "Undefined",
            Value::Range(_) => "range",
            Value::DictView(view) => match view.part {
                DictPart::Keys => "dict_keys",
                DictPart::Values => "dict_values",
                DictPart::Items => "dict_items",
            },
            Value::Method(_) => "builtin_function_or_method",
            Value::Object(object) => object.class.type_name(),
        }
    }

    /// How Jinja names the type in messages (`object_type_repr`): `str object`, `None`, `jinja2.runtime.Macro object`.
    pub fn type_repr(&self) -> &'static str {
        match self {
            Value::None(_) => "None",
            Value::Bool(..) => "bool object",
            Value::Int(..) | Value::BigInt(..) => "int object",
            Value::Float(..) => "float object",
            Value::Str(_) => "str object",
            Value::List(_) => "list object",
            Value::Tuple(_) => "tuple object",
            Value::Dict(_) => "dict object",
            Value::Markup(_) => "markupsafe.Markup object",
            Value::Undefined(_) => "jinja2.runtime.Undefined object",
            Value::Range(_) => "range object",
            Value::DictView(view) => match view.part {
                DictPart::Keys => "dict_keys object",
                DictPart::Values => "dict_values object",
                DictPart::Items => "dict_items object",
            },
            Value::Method(_) => "builtin_function_or_method object",
            Value::Object(object) => match object.class {
                Class::Namespace => "transformers.utils.chat_template_utils.TemplateNamespace object",
                Class::Macro => "jinja2.runtime.Macro object",
                Class::Loop => "jinja2.runtime.LoopContext object",
                Class::Cycler => "jinja2.utils.Cycler object",
                Class::Joiner => "jinja2.utils.Joiner object",
                Class::Generator => "generator object",
                Class::Function => "function object",
                Class::TemplateReference => "jinja2.runtime.TemplateReference object",
                Class::BlockReference => "jinja2.runtime.BlockReference object",
            },
        }
    }

    /// The path, within this value, of the value that was read from `origin` or around it; the root if there is none.
    ///
    /// For values read from one JSON text only: it relies on their addresses ascending in the order of the text.
    pub fn path_of(&self, origin: Origin) -> Path {
        let mut steps: Vec<Step> = Vec::new();
        let mut value = *self;
        loop {
            // Keys and items start in ascending order, so the one that holds `origin` is the last not after it.
            let (step, inner) = match value {
                Value::List(list) => {
                    let after = list.items().partition_point(|item| item.origin() <= origin);
                    match after.checked_sub(1) {
                        Some(index) => (Step::Index(index), list.items()[index]),
                        None => break,
                    }
                }
                // A repeated key keeps its first place with its last value, so here the order may be broken.
                Value::Dict(dict) => {
                    match dict
                        .entries()
                        .iter()
                        .filter(|(key, _)| key.origin() <= origin)
                        .max_by_key(|(key, value)| {
                            if value.origin() <= origin {
                                value.origin()
                            } else {
                                key.origin()
                            }
                        }) {
                        Some((key, value)) => (Step::from(key.as_str().unwrap_or_default()), *value),
                        None => break,
                    }
                }
                _ => break,
            };
            steps.push(step);
            value = inner;
        }
        steps.into_iter().collect()
    }

    /// Where the value was read from.
    pub fn origin(&self) -> Origin {
        match self {
            Value::None(origin)
            | Value::Bool(_, origin)
            | Value::Int(_, origin)
            | Value::BigInt(_, origin)
            | Value::Float(_, origin) => *origin,
            Value::Str(text) | Value::Markup(text) => text.origin(),
            Value::List(list) | Value::Tuple(list) => list.origin(),
            Value::Dict(dict) => dict.origin(),
            Value::Undefined(_) | Value::Range(_) | Value::DictView(_) | Value::Method(_) | Value::Object(_) => {
                Origin::COMPUTED
            }
        }
    }
}

/// Memory for the values of one render, freed all at once.
///
/// An arena may be kept and [reset](Arena::reset) between renders, which keeps its largest chunk, and the memory of an
/// output that was given back to it.
#[derive(Default)]
pub struct Arena {
    pub(crate) bump: bumpalo::Bump,
    /// Big integers own memory of their own, which a bump allocator would never free.
    big_ints: typed_arena::Arena<BigInt>,
    copies: RefCell<Vec<Copied>>,
    input_bytes: Cell<usize>,
    meter: Meter,
    /// Empty, with the memory of an output that is no longer needed. A large one that goes back to the system would be
    /// fetched from it again page by page (2026-11: 90 us of 340 for a prompt of 1 MB).
    spare_text: Cell<String>,
    spare_runs: Cell<Vec<Run>>,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("allocated_bytes", &self.allocated_bytes())
            .finish_non_exhaustive()
    }
}

/// Bytes that were copied into the arena to be parsed there, and where they came from.
#[derive(Clone, Copy, Debug)]
struct Copied {
    start: usize,
    len: usize,
    original: usize,
}

impl Copied {
    fn holds(&self, origin: Origin) -> bool {
        origin.0.wrapping_sub(self.start) < self.len
    }
}

impl Arena {
    /// An empty arena; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Frees every value, keeping memory for the next render.
    pub fn reset(&mut self) {
        self.bump.reset();
        self.big_ints = typed_arena::Arena::new();
        self.copies.get_mut().clear();
        self.input_bytes.set(0);
        self.meter = Meter::default();
    }

    /// The bounds on what may be allocated here and on the work done with it.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Bytes of JSON that were read into values here since the arena was new or [reset](Arena::reset).
    pub fn input_bytes(&self) -> usize {
        self.input_bytes.get()
    }

    fn add_input(&self, bytes: usize) {
        self.input_bytes.set(self.input_bytes.get().saturating_add(bytes));
    }

    /// Bytes allocated from the system.
    pub fn allocated_bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }

    /// Copies `text` here; its origin becomes [`Origin::COMPUTED`] for the caller to set.
    pub fn alloc_str(&self, text: &str) -> &str {
        self.bump.alloc_str(text)
    }

    /// Copies `values` here.
    pub fn alloc_slice<T: Copy>(&self, values: &[T]) -> &[T] {
        self.bump.alloc_slice_copy(values)
    }

    /// Makes `len` values here.
    pub fn alloc_slice_with<T: Copy>(&self, len: usize, make: impl FnMut(usize) -> T) -> &[T] {
        self.bump.alloc_slice_fill_with(len, make)
    }

    /// An empty string with room for `capacity` bytes, in memory that was [given back](Arena::give_back) if there is any.
    pub fn spare_text(&self, capacity: usize) -> String {
        let mut text = self.spare_text.take();
        text.reserve(capacity);
        text
    }

    /// As [`spare_text`](Arena::spare_text), for the runs of a text.
    pub fn spare_runs(&self, capacity: usize) -> Vec<Run> {
        let mut runs = self.spare_runs.take();
        runs.reserve(capacity);
        runs
    }

    /// Leaves the memory of a text that is no longer needed to the next output.
    pub fn give_back(&self, mut text: String) {
        let spare = self.spare_text.take();
        text.clear();
        self.spare_text.set(if text.capacity() < spare.capacity() {
            spare
        } else {
            text
        });
    }

    /// As [`give_back`](Arena::give_back), for the runs of a text.
    pub fn give_back_runs(&self, mut runs: Vec<Run>) {
        let spare = self.spare_runs.take();
        runs.clear();
        self.spare_runs.set(if runs.capacity() < spare.capacity() {
            spare
        } else {
            runs
        });
    }

    /// An `int`, in the one representation that its size has.
    pub fn int(&self, value: BigInt, origin: Origin) -> Value<'_> {
        match i64::try_from(&value) {
            Ok(small) => Value::Int(small, origin),
            Err(_) => Value::BigInt(self.big_ints.alloc(value), origin),
        }
    }

    /// A list of `items`, which are copied here.
    pub fn list<'a>(&'a self, items: &[Value<'a>], origin: Origin) -> &'a List<'a> {
        self.bump.alloc(List::new(self.alloc_slice(items), origin))
    }

    /// A dict of `entries` (later duplicates win), which are copied here.
    pub fn dict<'a>(&'a self, entries: &mut Vec<(Value<'a>, Value<'a>)>, origin: Origin) -> &'a Dict<'a> {
        self.bump.alloc(Dict::from_entries(entries, 0, self, origin))
    }

    /// Room for the strings of `text`, which is JSON: each byte that is written there counts as the one at the same
    /// distance in `text`.
    fn room_for(&self, text: &str) -> &mut [u8] {
        let room = self.bump.alloc_slice_fill_copy(text.len(), 0);
        self.copies.borrow_mut().push(Copied {
            start: room.as_ptr() as usize,
            len: room.len(),
            original: text.as_ptr() as usize,
        });
        room
    }

    /// The origin in the request's own bytes of an `origin` that may lie in a copy made by [`json::parse_str`].
    pub fn original(&self, origin: Origin) -> Origin {
        self.traced(origin, |_| false)
    }

    /// As [`original`](Self::original), but no further back than to the bytes that `root` was read to: those a value
    /// that was itself read by [`json::parse_str`] has its places in.
    pub fn original_in(&self, origin: Origin, root: Value<'_>) -> Origin {
        let root = root.origin();
        self.traced(origin, |copied| copied.holds(root))
    }

    /// The origin of the bytes that were copied to where `origin` is, except through copies that are `kept`.
    fn traced(&self, mut origin: Origin, kept: impl Fn(&Copied) -> bool) -> Origin {
        // A copy may itself be of a copy; later copies are of earlier ones, so one walk backwards is enough.
        for copied in self.copies.borrow().iter().rev() {
            if copied.holds(origin) && !kept(copied) {
                origin = Origin(copied.original + (origin.0 - copied.start));
            }
        }
        origin
    }
}
