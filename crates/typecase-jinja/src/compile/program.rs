//! The compiled form of a template: its syntax tree with every name resolved to a place.
//!
//! A program borrows from the template's source (`'p`), so a literal is a value that is ready to use, and its address
//! says that the template wrote it. It holds no cells and no pointers to values of a render: threads share it.

use crate::builtins::{Filter, Test};
use crate::syntax::ast::{BinaryOp, CompareOp};
use crate::value::{BigInt, Value};
use crate::vm::LoopAttribute;
use memchr::memmem::Finder;

/// A compiled template.
#[derive(Debug)]
pub(crate) struct Program<'p> {
    /// Names that are looked up in the values given to the render, and then among the globals.
    pub(crate) context: Box<[&'p str]>,
    /// What is run.
    pub(crate) root: Function<'p>,
    /// The blocks by name, for `self.name()`.
    pub(crate) blocks: Box<[(&'p str, Function<'p>)]>,
    /// What the template reads and writes.
    pub(crate) meta: super::meta::Meta,
}

/// A piece of program with a frame of its own.
#[derive(Debug)]
pub(crate) struct Function<'p> {
    /// Size of the frame.
    pub(crate) slots: u32,
    /// What the frame's slots start with; those not named here are missing.
    pub(crate) entry: Box<[Init]>,
    /// What is run.
    pub(crate) body: Block<'p>,
    /// Macros are defined inside, which may outlive the call and read its frame.
    pub(crate) keeps_frame: bool,
}

/// Statements run one after the other.
#[derive(Debug, Default)]
pub(crate) struct Block<'p> {
    pub(crate) stmts: Box<[Stmt<'p>]>,
    /// Units of work that running it once takes at most, without loops and calls.
    pub(crate) cost: u32,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the frame of the function that runs.
    Local(u32),
    /// In the frame of the template itself.
    Root(u32),
    /// In the frame of a function around the one that runs: so many links up, and the slot there.
    Outer(u32, u32),
}

/// A slot's first value when a scope is entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Init {
    pub(crate) slot: u32,
    pub(crate) from: InitFrom,
}

/// Where a first value comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InitFrom {
    /// Not set.
    Missing,
    /// A variable outside.
    Alias(Place),
    /// A value given to the render.
    Context(u32),
    /// A variable outside if it is set, else whatever the slot holds.
    AliasIfSet(Place),
    /// The `self` variable.
    TemplateReference,
    /// The `super` variable of the block: undefined, as there is no parent template.
    Super(u32),
}

/// A statement.
#[derive(Debug)]
pub(crate) enum Stmt<'p> {
    /// Text of the template.
    Text(&'p str),
    /// `{{ expression }}`
    Emit(Expr<'p>, Escape),
    /// `{% set name = value %}`
    Assign(Place, Expr<'p>),
    /// `{% set ns.name = value %}`
    AssignAttribute(Box<AssignAttribute<'p>>),
    /// `{% set a, ns.b = value %}`
    AssignTuple(Box<(Target<'p>, Expr<'p>)>),
    /// `{% if %}`
    If(Box<[(Expr<'p>, Block<'p>)]>, Block<'p>),
    /// `{% for %}`
    For(Box<For<'p>>),
    /// `{% macro %}`
    Macro(Place, Box<MacroDef<'p>>),
    /// `{% call %}`
    CallBlock(Box<CallBlock<'p>>),
    /// `{% generation %}`
    Generation(Box<MacroDef<'p>>),
    /// `{% filter %}`
    FilterBlock(Box<FilterBlock<'p>>),
    /// `{% with %}`
    With(Box<With<'p>>),
    /// `{% set name %}...{% endset %}`
    SetBlock(Box<SetBlock<'p>>),
    /// `{% block %}`, rendered in place.
    Block(Box<Function<'p>>),
    /// `{% autoescape %}`
    Autoescape(Box<(Expr<'p>, Block<'p>)>),
    /// `{% break %}`
    Break,
    /// `{% continue %}`
    Continue,
    /// Fails with this message.
    Fail(Box<Fail<'p>>),
}

/// Whether output is escaped for HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// No.
    Never,
    /// Yes.
    Always,
    /// As the render's state says.
    Asked,
}

#[derive(Debug)]
pub(crate) struct AssignAttribute<'p> {
    pub(crate) namespace: Expr<'p>,
    pub(crate) attribute: &'p str,
    pub(crate) value: Expr<'p>,
    pub(crate) at: u32,
}

/// What an item is assigned to.
#[derive(Debug)]
pub(crate) enum Target<'p> {
    Place(Place),
    Attribute {
        namespace: Expr<'p>,
        attribute: &'p str,
        at: u32,
    },
    Tuple {
        items: Box<[Target<'p>]>,
        at: u32,
    },
}

#[derive(Debug)]
pub(crate) struct For<'p> {
    pub(crate) iter: Expr<'p>,
    pub(crate) target: Target<'p>,
    /// The test, with the target in slots of its own.
    pub(crate) test: Option<Box<LoopTest<'p>>>,
    /// Entered before each round.
    pub(crate) entry: Box<[Init]>,
    pub(crate) body: Block<'p>,
    /// Set to missing afterwards, for macros that were defined inside.
    pub(crate) leave: Box<[u32]>,
    /// The slot of the `loop` variable, if anything asks for it.
    pub(crate) loop_slot: Option<u32>,
    /// The `loop` variable is used other than by its attributes, so it may be kept beyond the loop.
    pub(crate) loop_escapes: bool,
    /// Entered if there was no item.
    pub(crate) else_entry: Box<[Init]>,
    pub(crate) otherwise: Option<Block<'p>>,
    /// A recursive loop is a function: its number of slots.
    pub(crate) recursive: Option<u32>,
    /// Macros are defined inside.
    pub(crate) keeps_frame: bool,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct LoopTest<'p> {
    pub(crate) entry: Box<[Init]>,
    pub(crate) target: Target<'p>,
    pub(crate) test: Expr<'p>,
}

#[derive(Debug)]
pub(crate) struct MacroDef<'p> {
    /// `None` for the body of a call block.
    pub(crate) name: Option<&'p str>,
    pub(crate) params: Box<[Param<'p>]>,
    /// The slot of `caller`, if the body asks for it and it is no parameter.
    pub(crate) caller: Option<u32>,
    /// Whether the body asks for `caller`, parameter or not.
    pub(crate) accesses_caller: bool,
    /// The slot of `kwargs`, if the body asks for it.
    pub(crate) kwargs: Option<u32>,
    /// The slot of `varargs`, if the body asks for it.
    pub(crate) varargs: Option<u32>,
    pub(crate) function: Function<'p>,
}

#[derive(Debug)]
pub(crate) struct Param<'p> {
    pub(crate) name: &'p str,
    pub(crate) slot: u32,
    pub(crate) default: Option<Expr<'p>>,
}

#[derive(Debug)]
pub(crate) struct CallBlock<'p> {
    pub(crate) body: MacroDef<'p>,
    pub(crate) call: Call<'p>,
    pub(crate) escape: Escape,
}

#[derive(Debug)]
pub(crate) struct FilterBlock<'p> {
    pub(crate) entry: Box<[Init]>,
    pub(crate) body: Block<'p>,
    pub(crate) filters: Box<[FilterStep<'p>]>,
    pub(crate) leave: Box<[u32]>,
}

#[derive(Debug)]
pub(crate) struct With<'p> {
    pub(crate) entry: Box<[Init]>,
    pub(crate) bindings: Box<[(Target<'p>, Expr<'p>)]>,
    pub(crate) body: Block<'p>,
    pub(crate) leave: Box<[u32]>,
}

#[derive(Debug)]
pub(crate) struct SetBlock<'p> {
    pub(crate) target: Target<'p>,
    pub(crate) entry: Box<[Init]>,
    pub(crate) body: Block<'p>,
    pub(crate) filters: Box<[FilterStep<'p>]>,
    pub(crate) leave: Box<[u32]>,
}

#[derive(Debug)]
pub(crate) struct Fail<'p> {
    /// Evaluated first.
    pub(crate) template: Option<Expr<'p>>,
    pub(crate) kind: crate::error::ErrorKind,
    pub(crate) message: String,
    pub(crate) at: u32,
}

/// An expression. What can fail knows where it stands (`at`, a byte offset in the source).
#[derive(Debug)]
pub(crate) enum Expr<'p> {
    Const(Value<'p>),
    BigInt(Box<BigInt>),
    Local(u32, &'p str),
    Root(u32, &'p str),
    Outer(Box<(u32, u32, &'p str)>),
    Context(u32),
    List(Box<[Expr<'p>]>),
    Tuple(Box<[Expr<'p>]>),
    Dict(Box<DictExpr<'p>>),
    Cond(Box<Cond<'p>>),
    And(Box<[Expr<'p>]>),
    Or(Box<[Expr<'p>]>),
    Not(Box<Expr<'p>>),
    Negate(Box<(Expr<'p>, u32)>),
    Plus(Box<(Expr<'p>, u32)>),
    /// `a + b + c`, grouped to the left; at least two.
    Add(Box<Many<'p>>),
    /// `a ~ b ~ c`
    Concat(Box<Many<'p>>),
    Binary(Box<Binary<'p>>),
    Compare(Box<Compare<'p>>),
    /// `a < b < c`: the first operand, and operators with their right operands.
    CompareChain(Box<CompareChain<'p>>),
    Attr(Box<Attr<'p>>),
    Item(Box<Item<'p>>),
    Slice(Box<SliceExpr<'p>>),
    Filter(Box<FilterExpr<'p>>),
    Test(Box<TestExpr<'p>>),
    /// `x is defined`; the flag says whether the answer is turned round.
    IsDefined(Box<Expr<'p>>, bool),
    Call(Box<Call<'p>>),
}

#[derive(Debug)]
pub(crate) struct DictExpr<'p> {
    pub(crate) entries: Box<[(Expr<'p>, Expr<'p>)]>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Cond<'p> {
    pub(crate) test: Expr<'p>,
    pub(crate) then: Expr<'p>,
    pub(crate) otherwise: Option<Expr<'p>>,
    pub(crate) line: u32,
}

/// Several operands, each with the place of the operator before it (the first has its own place).
#[derive(Debug)]
pub(crate) struct Many<'p> {
    pub(crate) operands: Box<[(Expr<'p>, u32)]>,
}

#[derive(Debug)]
pub(crate) struct Binary<'p> {
    pub(crate) op: BinaryOp,
    pub(crate) left: Expr<'p>,
    pub(crate) right: Expr<'p>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Compare<'p> {
    pub(crate) op: CompareOp,
    /// The string that `'...' in text` looks for, made ready once: which takes longer than to search a short text.
    pub(crate) needle: Option<Box<Finder<'p>>>,
    pub(crate) left: Expr<'p>,
    pub(crate) right: Expr<'p>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct CompareChain<'p> {
    pub(crate) first: Expr<'p>,
    pub(crate) rest: Box<[(CompareOp, u32, Expr<'p>)]>,
}

#[derive(Debug)]
pub(crate) struct Attr<'p> {
    pub(crate) value: Expr<'p>,
    pub(crate) name: &'p str,
    /// Whether no dict has an attribute of this name, so that a key is all it can be.
    pub(crate) only_key: bool,
    /// What it is if `value` is a `loop` variable.
    pub(crate) of_loop: Option<LoopAttribute>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Item<'p> {
    pub(crate) value: Expr<'p>,
    pub(crate) key: Expr<'p>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct SliceExpr<'p> {
    /// Jinja computes it when it compiles, by which a value without slices gives an undefined value.
    pub(crate) constant: bool,
    pub(crate) value: Expr<'p>,
    pub(crate) start: Option<Expr<'p>>,
    pub(crate) stop: Option<Expr<'p>>,
    pub(crate) step: Option<Expr<'p>>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct FilterExpr<'p> {
    pub(crate) value: Expr<'p>,
    pub(crate) step: FilterStep<'p>,
}

/// A filter with its arguments.
#[derive(Debug)]
pub(crate) struct FilterStep<'p> {
    pub(crate) name: &'p str,
    pub(crate) at: u32,
    pub(crate) args: Args<'p>,
    /// `None` if there is no such filter, which is an error only when it is reached.
    pub(crate) run: Option<Filter>,
    /// Filters that the engine itself knows how to write straight to the output.
    pub(crate) known: KnownFilter,
}

/// See [`FilterStep::known`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownFilter {
    Tojson,
    Trim,
    Length,
    Other,
}

#[derive(Debug)]
pub(crate) struct TestExpr<'p> {
    pub(crate) value: Expr<'p>,
    pub(crate) name: &'p str,
    pub(crate) args: Args<'p>,
    pub(crate) run: Option<Test>,
    pub(crate) known: KnownTest,
    pub(crate) negated: bool,
    pub(crate) at: u32,
}

/// Tests without arguments that need no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownTest {
    None,
    String,
    Mapping,
    True,
    False,
    Other,
}

#[derive(Debug)]
pub(crate) struct Call<'p> {
    pub(crate) callee: Expr<'p>,
    /// If the callee is an attribute: the methods of that name.
    pub(crate) methods: Methods,
    pub(crate) args: Args<'p>,
    pub(crate) at: u32,
}

/// The methods of one name that the types have which templates call methods of most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Methods {
    pub(crate) str: Option<Filter>,
    pub(crate) dict: Option<Filter>,
    pub(crate) list: Option<Filter>,
}

/// The arguments of a call.
#[derive(Debug)]
pub(crate) struct Args<'p> {
    pub(crate) positional: Box<[Expr<'p>]>,
    pub(crate) keyword: Box<[(&'p str, Expr<'p>)]>,
    pub(crate) star: Option<Box<Expr<'p>>>,
    pub(crate) double_star: Option<Box<Expr<'p>>>,
    /// Whether there are but positional ones.
    pub(crate) plain: bool,
}

impl Args<'_> {
    /// Whether there is no argument.
    pub(crate) fn is_empty(&self) -> bool {
        self.plain && self.positional.is_empty()
    }
}
