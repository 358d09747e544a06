//! Evaluates expressions.

use super::State;
use crate::compile::program::{Attr, Binary, Cond, Expr, FilterStep, KnownFilter, KnownTest, TestExpr};
use crate::error::{Error, ErrorKind, Result};
use crate::syntax::ast::{BinaryOp, CompareOp};
use crate::value::compare::{self, OrderOp};
use crate::value::{Class, Dict, Object, Origin, Text, Undefined, Value, arith};
use smallvec::SmallVec;

/// Evaluated operands, on the stack if they are few.
pub(super) type Few<T> = SmallVec<[T; 4]>;

impl<'a> State<'a> {
    pub(super) fn eval(&mut self, expr: &'a Expr<'a>) -> Result<Value<'a>> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Local(slot, name) => match self.slots[self.base + *slot as usize] {
                Some(value) => value,
                None => self.undefined(Undefined::Name(name)),
            },
            Expr::Root(slot, name) => match self.slots[*slot as usize] {
                Some(value) => value,
                None => self.undefined(Undefined::Name(name)),
            },
            Expr::Context(index) => match self.context[*index as usize] {
                Some(value) => value,
                None => self.undefined(Undefined::Name(self.program.context[*index as usize])),
            },
            Expr::Attr(attr) => match self.direct(&attr.value) {
                Some(Value::Dict(dict)) if attr.only_key => self.key_of(dict, attr.name),
                Some(Value::Object(Object {
                    class: Class::Namespace,
                    index,
                })) if let Some(value) = self.namespaces[*index as usize].get(attr.name) => value,
                _ => {
                    let value = self.eval(&attr.value)?;
                    self.attr(attr, value)?
                }
            },
            Expr::Item(item) => match (self.direct(&item.value), &item.key) {
                (Some(Value::Dict(dict)), Expr::Const(Value::Str(name)))
                    if let Some(value) = dict.get(name.as_str()) =>
                {
                    value
                }
                _ => {
                    let value = self.eval(&item.value)?;
                    let key = self.eval(&item.key)?;
                    match (value, key) {
                        (Value::Dict(dict), Value::Str(name)) if let Some(value) = dict.get(name.as_str()) => value,
                        (Value::List(list), Value::Int(index @ 0.., _))
                            if let Some(value) = list.items().get(index as usize) =>
                        {
                            *value
                        }
                        (value, key) => self.getitem(value, key).map_err(|err| err.at_offset(item.at))?,
                    }
                }
            },
            Expr::Compare(_) | Expr::CompareChain(_) | Expr::Not(_) | Expr::Test(_) | Expr::IsDefined(..) => {
                Value::Bool(self.truth(expr)?, Origin::COMPUTED)
            }
            Expr::Cond(cond) => match self.chosen(cond)? {
                Some(expr) => self.eval(expr)?,
                None => self.no_else(cond),
            },
            Expr::Add(_) | Expr::Concat(_) => {
                let start = self.out.len();
                match self.write(expr)? {
                    Some(value) => value,
                    None => self.taken(start)?,
                }
            }
            Expr::Filter(filter) => {
                let value = self.eval(&filter.value)?;
                self.filter_step(&filter.step, value)?
            }
            Expr::Call(call) => self.eval_call(call)?,
            _ => return self.eval_other(expr),
        })
    }

    /// The variable that `expr` is, if it is set. Looking at it where it is spares a copy, which would have to wait for
    /// the store that put it there.
    #[inline]
    fn direct(&self, expr: &Expr<'a>) -> Option<&Value<'a>> {
        match expr {
            Expr::Local(slot, _) => self.slots[self.base + *slot as usize].as_ref(),
            Expr::Root(slot, _) => self.slots[*slot as usize].as_ref(),
            Expr::Context(index) => self.context[*index as usize].as_ref(),
            _ => None,
        }
    }

    /// `dict.name`, where `name` can only be a key.
    #[inline]
    fn key_of(&self, dict: &Dict<'a>, name: &'a str) -> Value<'a> {
        match dict.get(name) {
            Some(value) => value,
            None => self.undefined(Undefined::Attribute {
                owner: "dict object",
                name,
            }),
        }
    }

    fn attr(&mut self, attr: &'a Attr<'a>, value: Value<'a>) -> Result<Value<'a>> {
        Ok(match value {
            Value::Dict(dict) if attr.only_key => self.key_of(dict, attr.name),
            Value::Object(Object {
                class: Class::Namespace,
                index,
            }) if let Some(value) = self.namespaces[index as usize].get(attr.name) => value,
            Value::Object(Object {
                class: Class::Loop,
                index,
            }) if let Some(attribute) = attr.of_loop => self
                .loop_attribute(index, attribute)
                .map_err(|err| err.at_offset(attr.at))?,
            value => self.getattr(value, attr.name).map_err(|err| err.at_offset(attr.at))?,
        })
    }

    /// The expressions that need more room on the stack, or are rare.
    #[inline(never)]
    fn eval_other(&mut self, expr: &'a Expr<'a>) -> Result<Value<'a>> {
        Ok(match expr {
            Expr::And(operands) => {
                let mut value = Value::None(Origin::COMPUTED);
                for operand in operands {
                    value = self.eval(operand)?;
                    if !value.is_true() {
                        break;
                    }
                }
                value
            }
            Expr::Or(operands) => {
                let mut value = Value::None(Origin::COMPUTED);
                for operand in operands {
                    value = self.eval(operand)?;
                    if value.is_true() {
                        break;
                    }
                }
                value
            }
            Expr::Slice(node) => {
                let value = self.eval(&node.value)?;
                let mut parts = [None; 3];
                for (part, expr) in parts.iter_mut().zip([&node.start, &node.stop, &node.step]) {
                    if let Some(expr) = expr {
                        *part = Some(self.eval(expr)?);
                    }
                }
                let [start, stop, step] = parts;
                match self.slice(value, start, stop, step) {
                    Err(err) if node.constant && err.kind() == ErrorKind::Type => {
                        self.undefined(Undefined::Hint("a constant without slices"))
                    }
                    result => result.map_err(|err| err.at_offset(node.at))?,
                }
            }
            Expr::List(items) => {
                let items = self.eval_all(items)?;
                self.list(&items)?
            }
            Expr::Tuple(items) => {
                let items = self.eval_all(items)?;
                self.tuple(&items)?
            }
            Expr::Dict(node) => {
                let mut entries = Vec::with_capacity(node.entries.len());
                for (key, value) in &node.entries {
                    let key = self.eval(key)?;
                    entries.push((key, self.eval(value)?));
                }
                self.dict(entries).map_err(|err| err.at_offset(node.at))?
            }
            Expr::Binary(node) => self.binary(node)?,
            Expr::Negate(node) => {
                let value = self.eval(&node.0)?;
                arith::unary(true, &value, self.arena).map_err(|err| Error::from(err).at_offset(node.1))?
            }
            Expr::Plus(node) => {
                let value = self.eval(&node.0)?;
                arith::unary(false, &value, self.arena).map_err(|err| Error::from(err).at_offset(node.1))?
            }
            Expr::Outer(outer) => {
                let (links, slot, name) = **outer;
                match self.get_place(crate::compile::program::Place::Outer(links, slot)) {
                    Some(value) => value,
                    None => self.undefined(Undefined::Name(name)),
                }
            }
            Expr::BigInt(int) => Value::BigInt(int, Origin::COMPUTED),
            _ => return Err(self.impossible("an expression that is evaluated elsewhere")),
        })
    }

    pub(super) fn eval_all(&mut self, exprs: &'a [Expr<'a>]) -> Result<Few<Value<'a>>> {
        let mut values = Few::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.eval(expr)?);
        }
        Ok(values)
    }

    /// A `dict` of `entries`; spends its size.
    pub(crate) fn dict(&mut self, mut entries: Vec<(Value<'a>, Value<'a>)>) -> Result<Value<'a>> {
        self.arena
            .meter()
            .memory(entries.len() * size_of::<(Value<'_>, Value<'_>)>())?;
        if entries.iter().all(|(key, _)| key.as_str().is_some()) {
            return Ok(Value::Dict(self.arena.dict(&mut entries, Origin::COMPUTED)));
        }
        let dict = crate::value::Dict::new(entries, self.arena, Origin::COMPUTED)?;
        Ok(Value::Dict(self.arena.bump.alloc(dict)))
    }

    /// The branch of a conditional expression that counts.
    pub(super) fn chosen(&mut self, cond: &'a Cond<'a>) -> Result<Option<&'a Expr<'a>>> {
        Ok(if self.truth(&cond.test)? {
            Some(&cond.then)
        } else {
            cond.otherwise.as_ref()
        })
    }

    pub(super) fn no_else(&mut self, cond: &Cond<'_>) -> Value<'a> {
        let hint = format!(
            "the inline if-expression on line {} evaluated to false and no else section was defined.",
            cond.line
        );
        self.undefined(Undefined::Hint(self.arena.alloc_str(&hint)))
    }

    /// `bool(expr)`, without making a value where that can be avoided.
    pub(super) fn truth(&mut self, expr: &'a Expr<'a>) -> Result<bool> {
        match expr {
            Expr::Compare(node) => {
                let left = self.eval(&node.left)?;
                let right = match &node.right {
                    Expr::Const(value) => *value,
                    right => self.eval(right)?,
                };
                if let (Some(needle), Some(text)) = (&node.needle, right.as_text()) {
                    let scanned = self.arena.meter().scan(text.len());
                    scanned.map_err(|err| Error::from(err).at_offset(node.at))?;
                    return Ok(needle.find(text.as_str().as_bytes()).is_some() == (node.op == CompareOp::In));
                }
                self.compare(node.op, left, right, node.at)
            }
            Expr::CompareChain(node) => {
                let mut left = self.eval(&node.first)?;
                for (op, at, operand) in &node.rest {
                    let right = self.eval(operand)?;
                    if !self.compare(*op, left, right, *at)? {
                        return Ok(false);
                    }
                    left = right;
                }
                Ok(true)
            }
            Expr::Not(operand) => Ok(!self.truth(operand)?),
            Expr::And(operands) => {
                for operand in operands {
                    if !self.truth(operand)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Or(operands) => {
                for operand in operands {
                    if self.truth(operand)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::IsDefined(operand, negated) => Ok(self.is_defined(operand)? != *negated),
            Expr::Test(test) => self.test_expr(test),
            Expr::Cond(cond) => match self.chosen(cond)? {
                Some(expr) => self.truth(expr),
                None => Ok(false),
            },
            _ => match self.direct(expr) {
                Some(value) => Ok(value.is_true()),
                None => Ok(self.eval(expr)?.is_true()),
            },
        }
    }

    /// `expr is defined`, without making an undefined value if it is not.
    fn is_defined(&mut self, expr: &'a Expr<'a>) -> Result<bool> {
        Ok(match expr {
            Expr::Local(slot, _) => is_set(self.slots[self.base + *slot as usize]),
            Expr::Root(slot, _) => is_set(self.slots[*slot as usize]),
            Expr::Context(index) => is_set(self.context[*index as usize]),
            Expr::Attr(attr) if attr.only_key => match self.eval(&attr.value)? {
                Value::Dict(dict) => is_set(dict.get(attr.name)),
                value => is_set(Some(self.attr(attr, value)?)),
            },
            expr => is_set(Some(self.eval(expr)?)),
        })
    }

    fn compare(&mut self, op: CompareOp, left: Value<'a>, right: Value<'a>, at: u32) -> Result<bool> {
        if let (Value::Str(a), Value::Str(b)) = (left, right) {
            let equal = || a.as_str() == b.as_str();
            match op {
                CompareOp::Eq => return Ok(equal()),
                CompareOp::Ne => return Ok(!equal()),
                _ => {}
            }
        }
        let order = |op| compare::order(op, &left, &right, self.arena);
        let result = match op {
            CompareOp::Eq => compare::equal(&left, &right, self.arena),
            CompareOp::Ne => compare::equal(&left, &right, self.arena).map(|equal| !equal),
            CompareOp::Lt => order(OrderOp::Lt),
            CompareOp::Le => order(OrderOp::Le),
            CompareOp::Gt => order(OrderOp::Gt),
            CompareOp::Ge => order(OrderOp::Ge),
            CompareOp::In | CompareOp::NotIn => {
                return self
                    .contains(right, left)
                    .map(|found| found == (op == CompareOp::In))
                    .map_err(|err| err.at_offset(at));
            }
        };
        result.map_err(|err| Error::from(err).at_offset(at))
    }

    /// `item in container`
    pub(crate) fn contains(&mut self, container: Value<'a>, item: Value<'a>) -> Result<bool> {
        if let Value::Object(Object {
            class: Class::Generator | Class::Loop,
            ..
        }) = container
        {
            let mut iter = self.iterate(container)?;
            while let Some(found) = iter.next(self)? {
                if compare::same_or_equal(&found, &item, self.arena)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        Ok(compare::contains(&container, &item, self.arena)?)
    }

    #[inline(never)]
    fn test_expr(&mut self, test: &'a TestExpr<'a>) -> Result<bool> {
        let value = self.eval(&test.value)?;
        let holds = match test.known {
            KnownTest::None => value.is_none(),
            KnownTest::String => matches!(value, Value::Str(_) | Value::Markup(_)),
            KnownTest::Mapping => matches!(value, Value::Dict(_)),
            KnownTest::True => matches!(value, Value::Bool(true, _)),
            KnownTest::False => matches!(value, Value::Bool(false, _)),
            KnownTest::Other => {
                let Some(run) = test.run else {
                    return Err(Error::runtime(format!("No test named '{}' found.", test.name)).at_offset(test.at));
                };
                self.apply_with(run, value, &test.args)
                    .map_err(|err| err.at_offset(test.at))?
            }
        };
        Ok(holds != test.negated)
    }

    pub(super) fn filter_step(&mut self, step: &'a FilterStep<'a>, value: Value<'a>) -> Result<Value<'a>> {
        match (step.known, value) {
            (KnownFilter::Trim, Value::Str(text)) => return Ok(Value::Str(self.trim(text)?)),
            (KnownFilter::Length, Value::List(list)) => return Ok(Value::Int(list.len() as i64, Origin::COMPUTED)),
            _ => {}
        }
        let Some(run) = step.run else {
            return Err(Error::runtime(format!("No filter named '{}' found.", step.name)).at_offset(step.at));
        };
        self.apply_with(run, value, &step.args)
            .map_err(|err| err.at_offset(step.at))
    }

    fn trim(&mut self, text: Text<'a>) -> Result<Text<'a>> {
        let bytes = text.as_str();
        let stripped = crate::value::text::strip(bytes);
        if stripped.len() == bytes.len() {
            return Ok(text);
        }
        let start = stripped.as_ptr() as usize - bytes.as_ptr() as usize;
        self.arena.meter().scan(bytes.len() - stripped.len())?;
        Ok(text.slice(start, start + stripped.len(), self.arena))
    }

    fn binary(&mut self, node: &'a Binary<'a>) -> Result<Value<'a>> {
        let left = self.eval(&node.left)?;
        let right = self.eval(&node.right)?;
        self.arithmetic(node.op, left, right)
            .map_err(|err| err.at_offset(node.at))
    }

    pub(super) fn arithmetic(&mut self, op: BinaryOp, left: Value<'a>, right: Value<'a>) -> Result<Value<'a>> {
        if let (Value::Int(a, _), Value::Int(b, _)) = (left, right) {
            let result = match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Mod if b > 0 => Some(a.rem_euclid(b)),
                _ => None,
            };
            if let Some(int) = result {
                return Ok(Value::Int(int, Origin::COMPUTED));
            }
        }
        let op = match op {
            BinaryOp::Add => arith::BinaryOp::Add,
            BinaryOp::Sub => arith::BinaryOp::Sub,
            BinaryOp::Mul => arith::BinaryOp::Mul,
            BinaryOp::Div => arith::BinaryOp::Div,
            BinaryOp::FloorDiv => arith::BinaryOp::FloorDiv,
            BinaryOp::Mod => {
                if let Value::Str(_) | Value::Markup(_) = left {
                    return Ok(crate::value::format::percent(&left, &right, self, self.arena)?);
                }
                arith::BinaryOp::Mod
            }
            BinaryOp::Pow => arith::BinaryOp::Pow,
        };
        Ok(arith::binary(op, &left, &right, self.arena)?)
    }
}

fn is_set(value: Option<Value<'_>>) -> bool {
    !matches!(value, None | Some(Value::Undefined(_)))
}
