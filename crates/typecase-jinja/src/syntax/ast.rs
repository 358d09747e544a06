//! The syntax tree of one template.
//!
//! The node kinds are those of Jinja2 3.1 (`jinja2/nodes.py`), so that the two trees can be compared; they differ where
//! ours can say more in types: targets of assignments are [`Target`]s, not expressions, `and`/`or` chains are flat, and
//! filters of a `set` or `filter` block are a list.
//!
//! Everything borrows from the normalised source (newlines are `\n`, the last one is gone); only strings with escapes own
//! their text. The height of a tree is bounded by the parser, so recursion over it (and dropping it) is safe.

use num_bigint::BigInt;
use std::borrow::Cow;

/// Where in the normalised source something begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Line, counted from 1.
    pub line: u32,
    /// Bytes before it. The column is the distance from the last newline before: [`Span::column`].
    pub offset: u32,
}

impl Span {
    /// The column, in characters counted from 1, where `source` is the normalised source that was parsed.
    pub fn column(self, source: &str) -> u32 {
        let before = source.get(..self.offset as usize).unwrap_or(source);
        let line = before.rsplit('\n').next().unwrap_or(before);
        u32::try_from(line.chars().count())
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }
}

/// A parsed template.
#[derive(Clone, Debug, Default)]
pub struct Template<'s> {
    /// Its statements, text included.
    pub body: Vec<Stmt<'s>>,
}

/// A statement and where it begins: the tag's name, or the first part of an output.
#[derive(Clone, Debug)]
pub struct Stmt<'s> {
    /// Where it begins.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind<'s>,
}

/// The statements.
#[derive(Clone, Debug)]
pub enum StmtKind<'s> {
    /// Text and `{{ expressions }}` between two tags, or `{% print a, b %}`.
    Output(Vec<Part<'s>>),
    /// `{% for target in iter if test recursive %}body{% else %}otherwise{% endfor %}`.
    For(Box<For<'s>>),
    /// `{% if %}`, with all its `{% elif %}` branches, and the `{% else %}` body (empty when there is none).
    If {
        /// Conditions with their bodies, in order; at least one.
        branches: Vec<Branch<'s>>,
        /// What is run if no condition holds.
        otherwise: Vec<Stmt<'s>>,
    },
    /// `{% macro name(params) %}body{% endmacro %}`.
    Macro {
        /// The name that is assigned.
        name: &'s str,
        /// Parameters.
        params: Vec<Param<'s>>,
        /// What a call runs.
        body: Vec<Stmt<'s>>,
    },
    /// `{% call(params) callee(args) %}body{% endcall %}`.
    CallBlock {
        /// Parameters of `caller`.
        params: Vec<Param<'s>>,
        /// The call; always [`ExprKind::Call`].
        call: Expr<'s>,
        /// The body of `caller`.
        body: Vec<Stmt<'s>>,
    },
    /// `{% filter upper|trim %}body{% endfilter %}`.
    FilterBlock {
        /// Filters, the first one applied first; at least one.
        filters: Vec<FilterCall<'s>>,
        /// What is filtered.
        body: Vec<Stmt<'s>>,
    },
    /// `{% with a = 1, b = 2 %}body{% endwith %}`. The values do not see the targets.
    With {
        /// Targets (never [`Target::Attribute`]) and values.
        bindings: Vec<(Target<'s>, Expr<'s>)>,
        /// The body.
        body: Vec<Stmt<'s>>,
    },
    /// `{% set target = value %}`.
    Set {
        /// What is assigned to.
        target: Target<'s>,
        /// What is assigned.
        value: Expr<'s>,
    },
    /// `{% set target | filter %}body{% endset %}`.
    SetBlock {
        /// What is assigned to.
        target: Target<'s>,
        /// Filters, the first one applied first; may be empty.
        filters: Vec<FilterCall<'s>>,
        /// What is rendered for the value.
        body: Vec<Stmt<'s>>,
    },
    /// `{% block name scoped required %}body{% endblock %}`; rendered in place, as nothing can extend a lone template.
    Block {
        /// Its name, by which `self.name()` renders it again.
        name: &'s str,
        /// Whether it sees the variables around it.
        scoped: bool,
        /// Whether a child has to override it, so that rendering it is an error.
        required: bool,
        /// The body.
        body: Vec<Stmt<'s>>,
    },
    /// `{% autoescape enabled %}body{% endautoescape %}`.
    Autoescape {
        /// Whether what the body writes is escaped for HTML.
        enabled: Expr<'s>,
        /// The body.
        body: Vec<Stmt<'s>>,
    },
    /// `{% generation %}body{% endgeneration %}`: what the assistant writes. Like a call block: a scope of its own.
    Generation(Vec<Stmt<'s>>),
    /// `{% break %}`.
    Break,
    /// `{% continue %}`.
    Continue,
    /// `include`, `import`, `from` or `extends`: needs another template, so it fails when it is reached.
    Foreign {
        /// Which tag.
        tag: ForeignTag,
        /// The name of the other template, evaluated before it fails.
        template: Expr<'s>,
        /// The names that it would assign.
        binds: Vec<&'s str>,
    },
}

/// A piece of an output statement.
#[derive(Clone, Debug)]
pub enum Part<'s> {
    /// Text of the template; never empty.
    Data {
        /// The text.
        text: &'s str,
        /// Where it begins.
        span: Span,
    },
    /// `{{ expression }}`.
    Expr(Expr<'s>),
}

/// A `for` loop.
#[derive(Clone, Debug)]
pub struct For<'s> {
    /// What each item is assigned to; never [`Target::Attribute`].
    pub target: Target<'s>,
    /// What is looped over.
    pub iter: Expr<'s>,
    /// The `if` of the loop: items for which it does not hold do not count.
    pub test: Option<Expr<'s>>,
    /// Whether `loop(...)` may be called.
    pub recursive: bool,
    /// The body.
    pub body: Vec<Stmt<'s>>,
    /// What is run if there was no item; empty when there is no `{% else %}`.
    pub otherwise: Vec<Stmt<'s>>,
}

/// A condition with what it guards.
#[derive(Clone, Debug)]
pub struct Branch<'s> {
    /// Where the condition begins.
    pub span: Span,
    /// The condition.
    pub test: Expr<'s>,
    /// The body.
    pub body: Vec<Stmt<'s>>,
}

/// A parameter of a macro or of `caller`.
#[derive(Clone, Debug)]
pub struct Param<'s> {
    /// Its name.
    pub name: &'s str,
    /// Where it is.
    pub span: Span,
    /// Its default; parameters without one come first.
    pub default: Option<Expr<'s>>,
}

/// What can be assigned to.
#[derive(Clone, Debug)]
pub enum Target<'s> {
    /// A variable.
    Name {
        /// Its name.
        name: &'s str,
        /// Where it is.
        span: Span,
    },
    /// `namespace.attribute`, in `set` only.
    Attribute {
        /// The name of the variable that holds the namespace.
        namespace: &'s str,
        /// The attribute.
        attribute: &'s str,
        /// Where it is.
        span: Span,
    },
    /// Several targets that an iterable is unpacked to; may be empty.
    Tuple {
        /// The targets.
        items: Vec<Target<'s>>,
        /// Where it is.
        span: Span,
    },
}

impl Target<'_> {
    /// Where it is.
    pub fn span(&self) -> Span {
        match self {
            Self::Name { span, .. } | Self::Attribute { span, .. } | Self::Tuple { span, .. } => *span,
        }
    }
}

/// A tag that needs another template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignTag {
    /// `{% include %}`.
    Include,
    /// `{% import %}`.
    Import,
    /// `{% from ... import %}`.
    From,
    /// `{% extends %}`.
    Extends,
}

impl ForeignTag {
    /// The tag's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Import => "import",
            Self::From => "from",
            Self::Extends => "extends",
        }
    }
}

/// An expression and where it is: the operator of an operation, the `.`, `[` or `(` of a lookup or a call, the name of a
/// filter or test, else its first token.
#[derive(Clone, Debug)]
pub struct Expr<'s> {
    /// Where it is.
    pub span: Span,
    /// Number of levels below and including this one; the parser bounds it.
    pub(super) height: u16,
    /// What it is.
    pub kind: ExprKind<'s>,
}

/// The expressions.
#[derive(Clone, Debug)]
pub enum ExprKind<'s> {
    /// A literal.
    Const(Const<'s>),
    /// A variable that is read.
    Name(&'s str),
    /// `a, b` or `(a, b)`.
    Tuple(Vec<Expr<'s>>),
    /// `[a, b]`.
    List(Vec<Expr<'s>>),
    /// `{key: value}`.
    Dict(Vec<(Expr<'s>, Expr<'s>)>),
    /// `then if test else otherwise`; without `else` it is undefined.
    Cond {
        /// The condition, evaluated first.
        test: Box<Expr<'s>>,
        /// The value if it holds.
        then: Box<Expr<'s>>,
        /// The value if not.
        otherwise: Option<Box<Expr<'s>>>,
    },
    /// `value|filter(args)`.
    Filter {
        /// What is filtered.
        value: Box<Expr<'s>>,
        /// The filter.
        filter: Box<FilterCall<'s>>,
    },
    /// `value is test(args)`; `is not` is a [`UnaryOp::Not`] around it.
    Test {
        /// What is tested.
        value: Box<Expr<'s>>,
        /// The test.
        test: Box<FilterCall<'s>>,
    },
    /// `callee(args)`.
    Call {
        /// What is called.
        callee: Box<Expr<'s>>,
        /// Its arguments.
        args: Box<Args<'s>>,
    },
    /// `value[key]`, or `value.0` with a number; a slice is a key of kind [`ExprKind::Slice`].
    Getitem {
        /// What is looked into.
        value: Box<Expr<'s>>,
        /// What is looked for.
        key: Box<Expr<'s>>,
    },
    /// `value.name`.
    Getattr {
        /// What is looked into.
        value: Box<Expr<'s>>,
        /// The name.
        name: &'s str,
    },
    /// `start:stop:step`, only as the key of a [`ExprKind::Getitem`].
    Slice {
        /// The first index.
        start: Option<Box<Expr<'s>>>,
        /// The index it ends before.
        stop: Option<Box<Expr<'s>>>,
        /// The distance.
        step: Option<Box<Expr<'s>>>,
    },
    /// `a ~ b ~ c`, at least two.
    Concat(Vec<Expr<'s>>),
    /// `a < b == c`: `rest` has at least one entry. Each operand is evaluated once, up to the first that does not hold.
    Compare {
        /// The first operand.
        first: Box<Expr<'s>>,
        /// Operators, where they are, and their right operand.
        rest: Vec<(CompareOp, Span, Expr<'s>)>,
    },
    /// `a and b and c`, at least two.
    And(Vec<Expr<'s>>),
    /// `a or b or c`, at least two.
    Or(Vec<Expr<'s>>),
    /// An arithmetic operation.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        left: Box<Expr<'s>>,
        /// The right operand.
        right: Box<Expr<'s>>,
    },
    /// `not a`, `-a` or `+a`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        value: Box<Expr<'s>>,
    },
}

impl<'s> ExprKind<'s> {
    /// Calls `each` with every expression directly in this one.
    pub fn for_each_child<'e>(&'e self, each: &mut dyn FnMut(&'e Expr<'s>)) {
        match self {
            Self::Const(_) | Self::Name(_) => {}
            Self::Tuple(items) | Self::List(items) | Self::Concat(items) | Self::And(items) | Self::Or(items) => {
                items.iter().for_each(each);
            }
            Self::Dict(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).for_each(each),
            Self::Cond { test, then, otherwise } => {
                each(test);
                each(then);
                otherwise.as_deref().into_iter().for_each(each);
            }
            Self::Filter { value, filter: call } | Self::Test { value, test: call } => {
                each(value);
                call.args.for_each(each);
            }
            Self::Call { callee, args } => {
                each(callee);
                args.for_each(each);
            }
            Self::Getitem { value, key } => {
                each(value);
                each(key);
            }
            Self::Getattr { value, .. } | Self::Unary { value, .. } => each(value),
            Self::Slice { start, stop, step } => [start, stop, step]
                .into_iter()
                .flat_map(Option::as_deref)
                .for_each(each),
            Self::Compare { first, rest } => {
                each(first);
                rest.iter().map(|(_, _, operand)| operand).for_each(each);
            }
            Self::Binary { left, right, .. } => {
                each(left);
                each(right);
            }
        }
    }
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Const<'s> {
    /// `none`.
    None,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// A larger one.
    BigInt(BigInt),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text; adjacent literals are joined.
    Str(Cow<'s, str>),
}

/// A filter or test with its arguments.
#[derive(Clone, Debug)]
pub struct FilterCall<'s> {
    /// Its name; dots may be part of it.
    pub name: Cow<'s, str>,
    /// Where the name is.
    pub span: Span,
    /// Its arguments but the first.
    pub args: Args<'s>,
}

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Args<'s> {
    /// By position.
    pub positional: Vec<Expr<'s>>,
    /// By name.
    pub keywords: Vec<Keyword<'s>>,
    /// `*args`, after those by position.
    pub star: Option<Expr<'s>>,
    /// `**kwargs`.
    pub double_star: Option<Expr<'s>>,
}

impl<'s> Args<'s> {
    /// Calls `each` with every argument's value.
    pub fn for_each<'e>(&'e self, mut each: impl FnMut(&'e Expr<'s>)) {
        self.positional.iter().for_each(&mut each);
        self.keywords.iter().map(|keyword| &keyword.value).for_each(&mut each);
        self.star.iter().for_each(&mut each);
        self.double_star.iter().for_each(&mut each);
    }
}

/// `name=value`.
#[derive(Clone, Debug)]
pub struct Keyword<'s> {
    /// The name.
    pub name: &'s str,
    /// Where it is.
    pub span: Span,
    /// The value.
    pub value: Expr<'s>,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`; groups to the left, unlike Python's.
    Pow,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `not`
    Not,
    /// `-`
    Neg,
    /// `+`
    Pos,
}
