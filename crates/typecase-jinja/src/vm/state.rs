//! The state of one render.

use super::Iter;
use super::call::MacroObject;
use super::loops::LoopState;
use super::objects::{Cycler, Joiner, Namespace};
use crate::Options;
use crate::builtins::Args;
use crate::compile::program::{Init, InitFrom, Place, Program};
use crate::error::{Error, ErrorKind, Result};
use crate::output::Output;
use crate::value::compare::too_deep;
use crate::value::{Arena, Class, Exception, Object, Objects, Origin, Text, TextBuilder, Undefined, Value};

/// Makes the items of a generator, one at a time.
pub(crate) type Next<'a> = Box<dyn FnMut(&mut State<'a>) -> Result<Option<Value<'a>>> + 'a>;

/// The state of one render: what builtins may use of the engine.
pub(crate) struct State<'a> {
    /// Where new values live. Bounds are kept by [`Arena::meter`].
    pub(crate) arena: &'a Arena,
    /// Whether `{% autoescape %}` is on; filters such as `join` and `replace` then return `Markup`.
    pub(crate) autoescape: bool,
    pub(crate) program: &'a Program<'a>,
    pub(crate) options: &'a Options,
    pub(crate) out: Output,
    /// Where `{% generation %}` blocks are in the output.
    pub(crate) spans: Vec<GenerationSpan>,
    /// The values of [`Program::context`].
    pub(super) context: Vec<Option<Value<'a>>>,
    /// The frames of all functions that run, one behind the other. A variable that is not set is `None`.
    pub(super) slots: Vec<Option<Value<'a>>>,
    /// Where the frame of the function that runs begins.
    pub(super) base: usize,
    /// The function that runs, in `activations`.
    pub(super) activation: u32,
    pub(super) activations: Vec<Activation>,
    /// Frames and activations below these are kept when a function returns, since a macro may still read them.
    kept: (usize, usize),
    depth: u32,
    stack_start: usize,
    /// While output goes into a value in Python: how much had left the template when that began.
    buffered: Option<usize>,
    /// The type of a value that is no `str` but was written as it is. Python notices when it joins what was written.
    unjoinable: Option<&'static str>,
    /// How much had left the template when the statement that runs began.
    pub(super) yielded: usize,
    pub(super) generators: Vec<Generator<'a>>,
    pub(super) macros: Vec<MacroObject<'a>>,
    pub(super) loops: Vec<LoopState<'a>>,
    pub(super) namespaces: Vec<Namespace<'a>>,
    pub(super) cyclers: Vec<Cycler<'a>>,
    pub(super) joiners: Vec<Joiner<'a>>,
}

/// A function that runs, or whose frame is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    pub(super) base: usize,
    /// The activation of the function around it.
    pub(super) parent: u32,
}

/// What to return to when a function ends.
#[must_use]
pub(super) struct Saved {
    base: usize,
    activation: u32,
}

/// What to return to when a buffer ends.
#[must_use]
pub(super) struct Buffer {
    buffered: Option<usize>,
    unjoinable: Option<&'static str>,
}

/// Where a `{% generation %}` block is in the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GenerationSpan {
    /// In bytes.
    pub(crate) start: usize,
    pub(crate) end: SpanEnd,
}

/// The end of a [`GenerationSpan`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpanEnd {
    /// In bytes.
    At(usize),
    /// So many code points behind the start. transformers counts from what had left the template, so the span of a
    /// block inside a macro need not be where its text ends up.
    After(usize),
}

pub(super) struct Generator<'a> {
    /// `__name__`, which `repr` prints.
    pub(super) name: &'static str,
    /// `None` while it runs.
    next: Option<Next<'a>>,
}

impl<'a> State<'a> {
    pub(crate) fn new(program: &'a Program<'a>, values: Value<'a>, options: &'a Options, arena: &'a Arena) -> Self {
        let marker = 0u8;
        State {
            arena,
            autoescape: false,
            program,
            options,
            out: Output {
                track: options.provenance,
                max_bytes: options.max_output_bytes,
                ..Output::default()
            },
            spans: Vec::new(),
            context: program
                .context
                .iter()
                .map(|name| values.lookup(name).or_else(|| crate::builtins::globals::lookup(name)))
                .collect(),
            slots: vec![None; program.root.slots as usize],
            base: 0,
            activation: 0,
            activations: vec![Activation { base: 0, parent: 0 }],
            kept: (0, 0),
            depth: 0,
            stack_start: address(&marker),
            buffered: None,
            unjoinable: None,
            yielded: 0,
            generators: Vec::new(),
            macros: Vec::new(),
            loops: Vec::new(),
            namespaces: Vec::new(),
            cyclers: Vec::new(),
            joiners: Vec::new(),
        }
    }

    /// Starts a function with a frame of `slots` slots, defined inside the activation `parent`.
    pub(super) fn enter(&mut self, slots: u32, parent: u32) -> Result<Saved> {
        self.depth += 1;
        if self.depth > self.options.max_depth {
            return Err(too_deep("while calling a macro").into());
        }
        self.check_stack()?;
        self.arena.meter().work(1)?;
        let saved = Saved {
            base: self.base,
            activation: self.activation,
        };
        self.base = self.slots.len();
        self.slots.resize(self.base + slots as usize, None);
        self.activation = self.activations.len() as u32;
        self.activations.push(Activation {
            base: self.base,
            parent,
        });
        Ok(saved)
    }

    /// Called wherever a template can make the engine call itself.
    ///
    /// # Errors
    /// `RecursionError` when as much of the stack is used as may be.
    fn check_stack(&self) -> Result<(), Exception> {
        let marker = 0u8;
        // The stack grows downwards everywhere that Rust runs; if it did not, the depth of macros is still bounded.
        let stack = self.stack_start.saturating_sub(address(&marker));
        if stack > self.options.max_stack_bytes {
            return Err(too_deep("in a template"));
        }
        Ok(())
    }

    /// Returns from the function that runs; `keep` its frame if macros were defined inside.
    pub(super) fn leave(&mut self, saved: Saved, keep: bool) -> Result<()> {
        if keep {
            self.arena
                .meter()
                .memory((self.slots.len() - self.base) * size_of::<Value<'_>>())?;
            self.kept = (self.slots.len(), self.activations.len());
        }
        self.slots.truncate(self.base.max(self.kept.0));
        self.activations.truncate((self.activation as usize).max(self.kept.1));
        (self.base, self.activation) = (saved.base, saved.activation);
        self.depth -= 1;
        Ok(())
    }

    /// From now on output goes into a value in Python. Returns what [`end_buffer`](Self::end_buffer) takes.
    pub(super) fn begin_buffer(&mut self) -> Buffer {
        let around = Buffer {
            buffered: self.buffered,
            unjoinable: self.unjoinable.take(),
        };
        self.buffered.get_or_insert(self.yielded);
        around
    }

    pub(super) fn end_buffer(&mut self, around: Buffer) -> Result<()> {
        self.joined()?;
        self.buffered = around.buffered;
        self.unjoinable = around.unjoinable;
        Ok(())
    }

    /// Ends a buffer that is thrown away.
    pub(super) fn drop_buffer(&mut self, around: Buffer) {
        self.buffered = around.buffered;
        self.unjoinable = around.unjoinable;
    }

    /// Writes a value that Python writes as it is, without making a `str` of it.
    pub(super) fn emit_raw(&mut self, value: Value<'a>) -> Result<()> {
        match value {
            Value::Str(text) | Value::Markup(text) => self.out.push(text),
            other => {
                self.unjoinable.get_or_insert(other.type_name());
                Ok(())
            }
        }
    }

    /// `"".join(...)` of what was written.
    pub(super) fn joined(&self) -> Result<()> {
        match self.unjoinable {
            None => Ok(()),
            Some(name) => Err(Error::type_error(format!("expected str instance, {name} found"))),
        }
    }

    /// How much had left the template when the value that is being written began, if a value it is.
    pub(super) fn buffered(&self) -> Option<usize> {
        self.buffered
    }

    pub(super) fn init(&mut self, entry: &[Init]) {
        for init in entry {
            let value = match init.from {
                InitFrom::Missing => None,
                InitFrom::Alias(place) => self.get_place(place),
                InitFrom::Context(index) => self.context[index as usize],
                InitFrom::AliasIfSet(place) => match self.get_place(place) {
                    Some(value) => Some(value),
                    None => continue,
                },
                InitFrom::TemplateReference => Some(self.object(Class::TemplateReference, 0)),
                InitFrom::Super(block) => {
                    let name = self.program.blocks.get(block as usize).map_or("", |(name, _)| name);
                    let hint = format!("there is no parent block called '{name}'.");
                    Some(self.undefined(Undefined::Hint(self.arena.alloc_str(&hint))))
                }
            };
            self.slots[self.base + init.slot as usize] = value;
        }
    }

    fn outer_base(&self, links: u32) -> usize {
        let mut activation = self.activations[self.activation as usize];
        for _ in 0..links {
            activation = self.activations[activation.parent as usize];
        }
        activation.base
    }

    #[inline]
    pub(super) fn get_place(&self, place: Place) -> Option<Value<'a>> {
        match place {
            Place::Local(slot) => self.slots[self.base + slot as usize],
            Place::Root(slot) => self.slots[slot as usize],
            Place::Outer(links, slot) => self.slots[self.outer_base(links) + slot as usize],
        }
    }

    #[inline]
    pub(super) fn set_place(&mut self, place: Place, value: Value<'a>) {
        let at = match place {
            Place::Local(slot) => self.base + slot as usize,
            Place::Root(slot) => slot as usize,
            Place::Outer(links, slot) => self.outer_base(links) + slot as usize,
        };
        self.slots[at] = Some(value);
    }

    /// A string put together by `builder`; spends its size.
    pub(crate) fn text(&self, builder: TextBuilder) -> Result<Text<'a>> {
        self.arena.meter().memory(builder.len())?;
        Ok(builder.finish(self.arena))
    }

    /// A `list` of `items`; spends its size.
    pub(crate) fn list(&self, items: &[Value<'a>]) -> Result<Value<'a>> {
        self.arena.meter().memory(size_of_val(items))?;
        Ok(Value::List(self.arena.list(items, Origin::COMPUTED)))
    }

    /// A `tuple` of `items`; spends its size.
    pub(crate) fn tuple(&self, items: &[Value<'a>]) -> Result<Value<'a>> {
        self.arena.meter().memory(size_of_val(items))?;
        Ok(Value::Tuple(self.arena.list(items, Origin::COMPUTED)))
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
        self.check_stack()?;
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
        if let Value::Object(Object {
            class: Class::TemplateReference,
            ..
        }) = value
        {
            // It is asked for block number 0.
            return Err(Error::new(ErrorKind::Key, "0"));
        }
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
    fn push_repr(&self, builder: &mut TextBuilder, object: Object) -> Result<(), Exception> {
        self.check_stack()?;
        self.object_repr(builder, object)
    }
}

/// The address of a variable on the stack.
fn address(marker: &u8) -> usize {
    std::hint::black_box(std::ptr::from_ref(marker)) as usize
}
