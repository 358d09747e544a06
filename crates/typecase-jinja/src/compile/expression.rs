//! Expressions to program.

use super::program::{
    Args, Attr, Binary, Call, Compare, CompareChain, Cond, DictExpr, Expr, FilterExpr, FilterStep, Item, KnownFilter,
    KnownTest, Many, Methods, Place, SliceExpr, TestExpr,
};
use super::scope::Load;
use super::{Compiler, Frame};
use crate::builtins::{filters, find, methods, tests};
use crate::error::{Error, ErrorKind, Result};
use crate::syntax::ast::{self, BinaryOp, CompareOp, Const, ExprKind, FilterCall, UnaryOp};
use crate::value::{Arena, Origin, Text, Value, arith};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::collections::HashSet;

impl<'p> Compiler<'_, 'p> {
    // One function for each kind of node: one for all would need a stack frame for all at each level of nesting.
    pub(super) fn expr(&mut self, expr: &ast::Expr<'p>, frame: Frame) -> Result<Expr<'p>> {
        let folded = u32::from(!matches!(
            expr.kind,
            ExprKind::Const(_)
                | ExprKind::Name(_)
                | ExprKind::Tuple(_)
                | ExprKind::List(_)
                | ExprKind::Dict(_)
                | ExprKind::And(_)
                | ExprKind::Or(_)
        ));
        self.folding += folded;
        self.cost += 1;
        let at = expr.span.offset;
        let written = match &expr.kind {
            ExprKind::Const(literal) => Ok(self.constant(literal)),
            ExprKind::Name(name) => Ok(self.name(name, frame)),
            ExprKind::Tuple(items) => self.exprs(items, frame).map(Expr::Tuple),
            ExprKind::List(items) => self.exprs(items, frame).map(Expr::List),
            ExprKind::And(items) => self.exprs(items, frame).map(Expr::And),
            ExprKind::Or(items) => self.exprs(items, frame).map(Expr::Or),
            ExprKind::Dict(entries) => self.dict(entries, at, frame),
            ExprKind::Cond { test, then, otherwise } => {
                self.conditional(test, then, otherwise.as_deref(), expr.span.line, frame.soft())
            }
            ExprKind::Filter { value, filter } => self.filter(value, filter, frame),
            ExprKind::Test { value, test } => self.test(value, test, frame, false),
            ExprKind::Call { callee, args } => self.call(callee, args, at, frame).map(Box::new).map(Expr::Call),
            ExprKind::Getitem { value, key } => self.item(value, key, at, frame),
            ExprKind::Getattr { value, name } => self.attribute(value, name, at, frame),
            ExprKind::Slice { .. } => Err(unsupported_slice(at)),
            ExprKind::Concat(items) => self
                .operands(items.iter().map(|item| (item, item.span.offset)), frame)
                .map(Expr::Concat),
            ExprKind::Compare { first, rest } => self.compare(first, rest, frame),
            ExprKind::Binary {
                op: BinaryOp::Add,
                left,
                right,
            } => self.sum(left, right, at, frame),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, at, frame),
            ExprKind::Unary { op, value } => self.unary(*op, value, at, frame),
        };
        self.folding -= folded;
        written
    }

    fn dict(&mut self, entries: &[(ast::Expr<'p>, ast::Expr<'p>)], at: u32, frame: Frame) -> Result<Expr<'p>> {
        let mut constants = entries
            .iter()
            .take_while(|(key, value)| is_constant(key) && is_constant(value));
        if self.folding > 0 && constants.any(|(key, _)| !is_hashable(key)) {
            // Jinja makes this dict when it compiles.
            return Err(Error::type_error("unhashable type").at_offset(at));
        }
        let entries = entries
            .iter()
            .map(|(key, value)| Ok((self.expr(key, frame)?, self.expr(value, frame)?)))
            .collect::<Result<_>>()?;
        Ok(Expr::Dict(Box::new(DictExpr { entries, at })))
    }

    fn conditional(
        &mut self,
        test: &ast::Expr<'p>,
        then: &ast::Expr<'p>,
        otherwise: Option<&ast::Expr<'p>>,
        line: u32,
        frame: Frame,
    ) -> Result<Expr<'p>> {
        Ok(Expr::Cond(Box::new(Cond {
            test: self.expr(test, frame)?,
            then: self.expr(then, frame)?,
            otherwise: self.optional(otherwise, frame)?,
            line,
        })))
    }

    fn filter(&mut self, value: &ast::Expr<'p>, filter: &FilterCall<'p>, frame: Frame) -> Result<Expr<'p>> {
        Ok(Expr::Filter(Box::new(FilterExpr {
            value: self.expr(value, frame)?,
            step: self.filter_step(filter, frame)?,
        })))
    }

    fn item(&mut self, value: &ast::Expr<'p>, key: &ast::Expr<'p>, at: u32, frame: Frame) -> Result<Expr<'p>> {
        let value = self.expr(value, frame)?;
        Ok(match &key.kind {
            ExprKind::Slice { start, stop, step } => Expr::Slice(Box::new(SliceExpr {
                constant: self.constant,
                value,
                start: self.optional(start.as_deref(), frame)?,
                stop: self.optional(stop.as_deref(), frame)?,
                step: self.optional(step.as_deref(), frame)?,
                at,
            })),
            _ => Expr::Item(Box::new(Item {
                value,
                key: self.expr(key, frame)?,
                at,
            })),
        })
    }

    fn attribute(&mut self, value: &ast::Expr<'p>, name: &'p str, at: u32, frame: Frame) -> Result<Expr<'p>> {
        Ok(Expr::Attr(Box::new(Attr {
            value: self.expr(value, frame)?,
            name,
            of_loop: crate::vm::LoopAttribute::named(name),
            only_key: !crate::vm::sandbox::is_dict_attribute(name),
            at,
        })))
    }

    /// Operands with their places.
    fn operands<'t>(
        &mut self,
        operands: impl Iterator<Item = (&'t ast::Expr<'p>, u32)>,
        frame: Frame,
    ) -> Result<Box<Many<'p>>>
    where
        'p: 't,
    {
        let operands = operands
            .map(|(operand, at)| Ok((self.expr(operand, frame)?, at)))
            .collect::<Result<_>>()?;
        Ok(Box::new(Many { operands }))
    }

    fn compare(
        &mut self,
        first: &ast::Expr<'p>,
        rest: &[(CompareOp, ast::Span, ast::Expr<'p>)],
        frame: Frame,
    ) -> Result<Expr<'p>> {
        let first = self.expr(first, frame)?;
        Ok(match rest {
            [(op, span, right)] => Expr::Compare(Box::new(Compare {
                op: *op,
                needle: match (op, &first) {
                    (CompareOp::In | CompareOp::NotIn, Expr::Const(Value::Str(needle))) => {
                        Some(Box::new(Finder::new(needle.as_str())))
                    }
                    _ => None,
                },
                left: first,
                right: self.expr(right, frame)?,
                at: span.offset,
            })),
            _ => Expr::CompareChain(Box::new(CompareChain {
                first,
                rest: rest
                    .iter()
                    .map(|(op, span, operand)| Ok((*op, span.offset, self.expr(operand, frame)?)))
                    .collect::<Result<_>>()?,
            })),
        })
    }

    /// `a + b + c` groups to the left: one node for the whole chain.
    fn sum(&mut self, left: &ast::Expr<'p>, right: &ast::Expr<'p>, at: u32, frame: Frame) -> Result<Expr<'p>> {
        let mut operands = vec![(right, at)];
        let mut leftmost = left;
        while let ExprKind::Binary {
            op: BinaryOp::Add,
            left,
            right,
        } = &leftmost.kind
        {
            operands.push((right, leftmost.span.offset));
            leftmost = left;
        }
        operands.push((leftmost, leftmost.span.offset));
        self.operands(operands.into_iter().rev(), frame).map(Expr::Add)
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &ast::Expr<'p>,
        right: &ast::Expr<'p>,
        at: u32,
        frame: Frame,
    ) -> Result<Expr<'p>> {
        let left = self.expr(left, frame)?;
        let right = self.expr(right, frame)?;
        // Jinja writes a folded constant into Python's source without parentheses: `(-2) ** x` becomes `-2 ** x`,
        // which is `-(2 ** x)`.
        let negated =
            op == BinaryOp::Pow && is_negative_constant(&left) && constant_number(&right, &Arena::new()).is_none();
        let left = match negated {
            true => Expr::Negate(Box::new((left, at))),
            false => left,
        };
        let binary = Expr::Binary(Box::new(Binary { op, left, right, at }));
        Ok(match negated {
            true => Expr::Negate(Box::new((binary, at))),
            false => binary,
        })
    }

    fn unary(&mut self, op: UnaryOp, value: &ast::Expr<'p>, at: u32, frame: Frame) -> Result<Expr<'p>> {
        if let (UnaryOp::Not, ExprKind::Test { value, test }) = (op, &value.kind) {
            return self.test(value, test, frame, true);
        }
        let value = self.expr(value, frame)?;
        Ok(match (op, value) {
            (UnaryOp::Not, value) => Expr::Not(Box::new(value)),
            (UnaryOp::Neg, Expr::Const(Value::Int(int, origin))) if int != i64::MIN => {
                Expr::Const(Value::Int(-int, origin))
            }
            (UnaryOp::Neg, Expr::Const(Value::Float(float, origin))) => Expr::Const(Value::Float(-float, origin)),
            (UnaryOp::Neg, value) => Expr::Negate(Box::new((value, at))),
            (UnaryOp::Pos, value) => Expr::Plus(Box::new((value, at))),
        })
    }

    fn exprs(&mut self, exprs: &[ast::Expr<'p>], frame: Frame) -> Result<Box<[Expr<'p>]>> {
        exprs.iter().map(|expr| self.expr(expr, frame)).collect()
    }

    fn optional(&mut self, expr: Option<&ast::Expr<'p>>, frame: Frame) -> Result<Option<Expr<'p>>> {
        expr.map(|expr| self.expr(expr, frame)).transpose()
    }

    fn constant(&self, literal: &Const<'p>) -> Expr<'p> {
        Expr::Const(match literal {
            Const::None => Value::None(Origin::COMPUTED),
            Const::Bool(flag) => Value::Bool(*flag, Origin::COMPUTED),
            Const::Int(int) => Value::Int(*int, Origin::COMPUTED),
            Const::BigInt(int) => return Expr::BigInt(Box::new(int.clone())),
            Const::Float(float) => Value::Float(*float, Origin::COMPUTED),
            Const::Str(text) => Value::Str(Text::new(self.literal(text))),
        })
    }

    fn literal(&self, literal: &Cow<'p, str>) -> &'p str {
        match literal {
            Cow::Borrowed(literal) => literal,
            Cow::Owned(literal) => self.pool.get(self.literals.place(literal)).unwrap_or_default(),
        }
    }

    /// A variable that is read.
    pub(super) fn name(&mut self, name: &'p str, frame: Frame) -> Expr<'p> {
        let found = self.table.find(frame.scope, name);
        let found = found.filter(|var| self.table.load_of(frame.scope, *var) != Some((Load::Resolve, false)));
        let Some(var) = found.or_else(|| self.exported(name)) else {
            return Expr::Context(self.context_id(name));
        };
        match self.place(frame.function, var) {
            Place::Local(slot) => Expr::Local(slot, name),
            Place::Root(slot) => Expr::Root(slot, name),
            Place::Outer(links, slot) => Expr::Outer(Box::new((links, slot, name))),
        }
    }

    /// A variable of the scope of `frame` that is assigned to.
    pub(super) fn place_of(&mut self, name: &'p str, frame: Frame) -> Place {
        match self.table.find(frame.scope, name) {
            Some(var) => self.place(frame.function, var),
            // The analysis has seen every name that is stored, so this slot is never needed.
            None => Place::Local(self.table.new_slot(frame.function)),
        }
    }

    pub(super) fn slot_of(&mut self, name: &'p str, frame: Frame) -> u32 {
        match self.place_of(name, frame) {
            Place::Local(slot) | Place::Root(slot) | Place::Outer(_, slot) => slot,
        }
    }

    pub(super) fn call(
        &mut self,
        callee: &ast::Expr<'p>,
        args: &ast::Args<'p>,
        at: u32,
        frame: Frame,
    ) -> Result<Call<'p>> {
        let methods = match &callee.kind {
            ExprKind::Getattr { name, .. } => Methods {
                str: find(methods::str::METHODS, name),
                dict: find(methods::dict::METHODS, name),
                list: find(methods::list::METHODS, name),
            },
            _ => Methods::default(),
        };
        Ok(Call {
            callee: self.expr(callee, frame)?,
            methods,
            args: self.args(args, frame)?,
            at,
        })
    }

    fn args(&mut self, args: &ast::Args<'p>, frame: Frame) -> Result<Args<'p>> {
        let mut keyword: Vec<(&'p str, Expr<'p>)> = Vec::with_capacity(args.keywords.len());
        let mut names = HashSet::new();
        for arg in &args.keywords {
            if !names.insert(arg.name) {
                let error = Error::new(ErrorKind::Syntax, format!("keyword argument repeated: {}", arg.name));
                self.late(error.at_offset(arg.span.offset));
            }
            keyword.push((arg.name, self.expr(&arg.value, frame)?));
        }
        Ok(Args {
            positional: self.exprs(&args.positional, frame)?,
            keyword: keyword.into(),
            star: self.optional(args.star.as_ref(), frame)?.map(Box::new),
            double_star: self.optional(args.double_star.as_ref(), frame)?.map(Box::new),
            plain: args.keywords.is_empty() && args.star.is_none() && args.double_star.is_none(),
        })
    }

    pub(super) fn filter_step(&mut self, filter: &FilterCall<'p>, frame: Frame) -> Result<FilterStep<'p>> {
        let run = find(filters::FILTERS, &filter.name);
        if run.is_none() && !frame.soft {
            return Err(
                Error::new(ErrorKind::Syntax, format!("No filter named '{}'.", filter.name))
                    .at_offset(filter.span.offset),
            );
        }
        let args = self.args(&filter.args, frame)?;
        Ok(FilterStep {
            name: self.literal(&filter.name),
            at: filter.span.offset,
            known: match &*filter.name {
                "tojson" => KnownFilter::Tojson,
                "trim" if args.is_empty() => KnownFilter::Trim,
                "length" | "count" if args.is_empty() => KnownFilter::Length,
                _ => KnownFilter::Other,
            },
            args,
            run,
        })
    }

    fn test(&mut self, value: &ast::Expr<'p>, test: &FilterCall<'p>, frame: Frame, negated: bool) -> Result<Expr<'p>> {
        let run = find(tests::TESTS, &test.name);
        let no_args = test.args.positional.is_empty()
            && test.args.keywords.is_empty()
            && test.args.star.is_none()
            && test.args.double_star.is_none();
        let value = self.expr(value, frame)?;
        let known = match &*test.name {
            "defined" if no_args => return Ok(Expr::IsDefined(Box::new(value), negated)),
            "undefined" if no_args => return Ok(Expr::IsDefined(Box::new(value), !negated)),
            "none" if no_args => KnownTest::None,
            "string" if no_args => KnownTest::String,
            "mapping" if no_args => KnownTest::Mapping,
            "true" if no_args => KnownTest::True,
            "false" if no_args => KnownTest::False,
            _ => KnownTest::Other,
        };
        if run.is_none() && known == KnownTest::Other && !frame.soft {
            return Err(
                Error::new(ErrorKind::Syntax, format!("No test named '{}'.", test.name)).at_offset(test.span.offset)
            );
        }
        Ok(Expr::Test(Box::new(TestExpr {
            value,
            name: self.literal(&test.name),
            args: self.args(&test.args, frame)?,
            run,
            known,
            negated,
            at: test.span.offset,
        })))
    }
}

/// Whether `expr` is put together from literals alone.
fn is_constant(expr: &ast::Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Unary { value, .. } => is_constant(value),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().all(is_constant),
        ExprKind::Dict(entries) => entries
            .iter()
            .all(|(key, value)| is_constant(key) && is_constant(value)),
        _ => false,
    }
}

/// Whether a constant can be a key.
fn is_hashable(expr: &ast::Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::List(_) | ExprKind::Dict(_) => false,
        ExprKind::Tuple(items) => items.iter().all(is_hashable),
        _ => true,
    }
}

fn is_negative_constant(expr: &Expr<'_>) -> bool {
    let arena = Arena::new();
    match constant_number(expr, &arena) {
        Some(Value::Int(int, _)) => int < 0,
        Some(Value::BigInt(int, _)) => int.sign() == num_bigint::Sign::Minus,
        // The sign is part of the spelling, also that of zero.
        Some(Value::Float(float, _)) => float.is_sign_negative() && !float.is_nan(),
        _ => false,
    }
}

/// The number that `expr` is, if it is made of number literals alone.
fn constant_number<'a>(expr: &Expr<'_>, arena: &'a Arena) -> Option<Value<'a>> {
    arena.meter().set(1 << 20, 1 << 20);
    let unary = |negate, value: &Expr<'_>| arith::unary(negate, &constant_number(value, arena)?, arena).ok();
    Some(match expr {
        Expr::Const(Value::Int(int, origin)) => Value::Int(*int, *origin),
        Expr::Const(Value::Float(float, origin)) => Value::Float(*float, *origin),
        Expr::Const(Value::Bool(flag, origin)) => Value::Bool(*flag, *origin),
        Expr::BigInt(int) => arena.int((**int).clone(), Origin::COMPUTED),
        Expr::Negate(node) => unary(true, &node.0)?,
        Expr::Plus(node) => unary(false, &node.0)?,
        Expr::Add(many) => {
            let mut operands = many.operands.iter();
            let mut sum = constant_number(&operands.next()?.0, arena)?;
            for (operand, _) in operands {
                sum = arith::binary(arith::BinaryOp::Add, &sum, &constant_number(operand, arena)?, arena).ok()?;
            }
            sum
        }
        Expr::Binary(node) => {
            let op = match node.op {
                BinaryOp::Add => arith::BinaryOp::Add,
                BinaryOp::Sub => arith::BinaryOp::Sub,
                BinaryOp::Mul => arith::BinaryOp::Mul,
                BinaryOp::Div => arith::BinaryOp::Div,
                BinaryOp::FloorDiv => arith::BinaryOp::FloorDiv,
                BinaryOp::Mod => arith::BinaryOp::Mod,
                BinaryOp::Pow => arith::BinaryOp::Pow,
            };
            let (left, right) = (
                constant_number(&node.left, arena)?,
                constant_number(&node.right, arena)?,
            );
            arith::binary(op, &left, &right, arena).ok()?
        }
        _ => return None,
    })
}

/// A slice that is an item of a tuple: the tuple is a key that nothing has.
#[cold]
fn unsupported_slice(at: u32) -> Error {
    Error::new(ErrorKind::Unsupported, "a slice within a tuple that is a key").at_offset(at)
}

/// Whether Jinja can compute `expr` when it compiles: no names, no calls, no filters that look at the context.
pub(super) fn is_computable(expr: &ast::Expr<'_>) -> bool {
    const WITH_CONTEXT: &[&str] = &["map", "select", "reject", "selectattr", "rejectattr"];
    let mut computable = match &expr.kind {
        ExprKind::Name(_) | ExprKind::Call { .. } => false,
        ExprKind::Filter { filter, .. } => !WITH_CONTEXT.contains(&&*filter.name),
        _ => true,
    };
    expr.kind
        .for_each_child(&mut |child| computable = computable && is_computable(child));
    computable
}
