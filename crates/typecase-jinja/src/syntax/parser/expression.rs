//! Expressions.

use super::super::ast::{Args, BinaryOp, CompareOp, Const, Expr, ExprKind, FilterCall, Keyword, Span, UnaryOp};
use super::super::error::SyntaxErrorKind;
use super::super::token::{Op, Token};
use super::{MAX_NESTING, Parser, Result};
use std::borrow::Cow;

/// How tightly an operator binds; a tighter one is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Compare,
    Sum,
    Concat,
    Product,
    Power,
    Unary,
}

/// An operator between two operands.
#[derive(Clone, Copy)]
enum Infix {
    Or,
    And,
    Compare(CompareOp),
    Concat,
    Binary(BinaryOp),
}

impl Infix {
    fn level(self) -> Level {
        match self {
            Self::Or => Level::Or,
            Self::And => Level::And,
            Self::Compare(_) => Level::Compare,
            Self::Concat => Level::Concat,
            Self::Binary(BinaryOp::Add | BinaryOp::Sub) => Level::Sum,
            Self::Binary(BinaryOp::Pow) => Level::Power,
            Self::Binary(_) => Level::Product,
        }
    }
}

impl<'s> Parser<'s> {
    /// An expression; with `conditional`, also `a if b else c`.
    pub(super) fn parse_expression(&mut self, conditional: bool) -> Result<Expr<'s>> {
        if self.nesting == MAX_NESTING {
            return self.fail(SyntaxErrorKind::TooDeep { limit: MAX_NESTING }, self.span);
        }
        self.nesting += 1;
        let expr = if conditional {
            self.parse_conditional()?
        } else {
            self.parse_operation(Level::Or)?
        };
        self.nesting -= 1;
        Ok(expr)
    }

    fn parse_conditional(&mut self) -> Result<Expr<'s>> {
        // `a if b else c if d else e` goes on within the `else`: values that wait for theirs, instead of recursion.
        let mut waiting: Vec<(Expr<'s>, Expr<'s>, Span)> = Vec::new();
        let mut expr = self.parse_operation(Level::Or)?;
        while self.at_name("if") {
            let span = self.advance()?;
            let test = self.parse_operation(Level::Or)?;
            if self.skip_name("else")? {
                waiting.push((expr, test, span));
                expr = self.parse_operation(Level::Or)?;
            } else {
                expr = self.cond(expr, test, None, span)?;
            }
        }
        while let Some((then, test, span)) = waiting.pop() {
            expr = self.cond(then, test, Some(expr), span)?;
        }
        Ok(expr)
    }

    fn cond(&self, then: Expr<'s>, test: Expr<'s>, otherwise: Option<Expr<'s>>, span: Span) -> Result<Expr<'s>> {
        let kind = ExprKind::Cond {
            test: Box::new(test),
            then: Box::new(then),
            otherwise: otherwise.map(Box::new),
        };
        self.expr(span, kind)
    }

    /// Operands with operators that bind at least as tightly as `level`.
    fn parse_operation(&mut self, level: Level) -> Result<Expr<'s>> {
        let mut left = if level <= Level::Not && self.at_name("not") {
            self.parse_not()?
        } else {
            self.parse_unary()?
        };
        // An operand has taken all operators that bind more tightly than the one before it.
        while let Some(infix) = self.infix()?.filter(|infix| infix.level() >= level) {
            left = self.parse_infix(left, infix)?;
        }
        Ok(left)
    }

    fn parse_not(&mut self) -> Result<Expr<'s>> {
        let mut spans = Vec::new();
        while self.at_name("not") {
            spans.push(self.advance()?);
        }
        let operand = self.parse_operation(Level::Compare)?;
        self.wrap_unary(operand, spans.into_iter().map(|span| (UnaryOp::Not, span)))
    }

    fn wrap_unary(&self, operand: Expr<'s>, ops: impl DoubleEndedIterator<Item = (UnaryOp, Span)>) -> Result<Expr<'s>> {
        ops.rev().try_fold(operand, |value, (op, span)| {
            let value = Box::new(value);
            self.expr(span, ExprKind::Unary { op, value })
        })
    }

    fn infix(&mut self) -> Result<Option<Infix>> {
        let infix = match self.token {
            Token::Name("or") => Infix::Or,
            Token::Name("and") => Infix::And,
            Token::Name("in") => Infix::Compare(CompareOp::In),
            Token::Name("not") => match self.look()? {
                Token::Name("in") => Infix::Compare(CompareOp::NotIn),
                _ => return Ok(None),
            },
            Token::Op(op) => match op {
                Op::Eq => Infix::Compare(CompareOp::Eq),
                Op::Ne => Infix::Compare(CompareOp::Ne),
                Op::Lt => Infix::Compare(CompareOp::Lt),
                Op::Le => Infix::Compare(CompareOp::Le),
                Op::Gt => Infix::Compare(CompareOp::Gt),
                Op::Ge => Infix::Compare(CompareOp::Ge),
                Op::Add => Infix::Binary(BinaryOp::Add),
                Op::Sub => Infix::Binary(BinaryOp::Sub),
                Op::Tilde => Infix::Concat,
                Op::Mul => Infix::Binary(BinaryOp::Mul),
                Op::Div => Infix::Binary(BinaryOp::Div),
                Op::FloorDiv => Infix::Binary(BinaryOp::FloorDiv),
                Op::Mod => Infix::Binary(BinaryOp::Mod),
                Op::Pow => Infix::Binary(BinaryOp::Pow),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(infix))
    }

    fn parse_infix(&mut self, left: Expr<'s>, infix: Infix) -> Result<Expr<'s>> {
        let span = self.span;
        let kind = match infix {
            Infix::Or => ExprKind::Or(self.parse_chain(left, "or", Level::And)?),
            Infix::And => ExprKind::And(self.parse_chain(left, "and", Level::Not)?),
            Infix::Concat => {
                let mut operands = vec![left];
                while self.skip_op(Op::Tilde)? {
                    operands.push(self.parse_operation(Level::Product)?);
                }
                ExprKind::Concat(operands)
            }
            Infix::Compare(_) => {
                let mut rest = Vec::new();
                while let Some(Infix::Compare(op)) = self.infix()? {
                    let span = self.advance()?;
                    if op == CompareOp::NotIn {
                        self.advance()?;
                    }
                    rest.push((op, span, self.parse_operation(Level::Sum)?));
                }
                let first = Box::new(left);
                ExprKind::Compare { first, rest }
            }
            Infix::Binary(op) => {
                self.advance()?;
                // All group to the left, `**` too.
                let right = self.parse_operation(match infix.level() {
                    Level::Sum => Level::Concat,
                    Level::Product => Level::Power,
                    _ => Level::Unary,
                })?;
                ExprKind::Binary {
                    op,
                    left: Box::new(left),
                    right: Box::new(right),
                }
            }
        };
        self.expr(span, kind)
    }

    fn parse_chain(&mut self, first: Expr<'s>, name: &str, operand: Level) -> Result<Vec<Expr<'s>>> {
        let mut operands = vec![first];
        while self.skip_name(name)? {
            operands.push(self.parse_operation(operand)?);
        }
        Ok(operands)
    }

    /// Signs, a primary, what follows it, and filters and tests. Filters apply after the signs: `-1|abs` is 1.
    fn parse_unary(&mut self) -> Result<Expr<'s>> {
        let mut signs = Vec::new();
        loop {
            let op = match self.token {
                Token::Op(Op::Sub) => UnaryOp::Neg,
                Token::Op(Op::Add) => UnaryOp::Pos,
                _ => break,
            };
            signs.push((op, self.advance()?));
        }
        let operand = self.parse_primary()?;
        let operand = self.parse_postfix(operand)?;
        let mut expr = self.wrap_unary(operand, signs.into_iter())?;
        loop {
            expr = match self.token {
                Token::Op(Op::Pipe) => {
                    self.advance()?;
                    let filter = self.parse_filter()?;
                    let (value, span) = (Box::new(expr), filter.span);
                    let filter = Box::new(filter);
                    self.expr(span, ExprKind::Filter { value, filter })?
                }
                Token::Name("is") => self.parse_test(expr)?,
                Token::Op(Op::LParen) => self.parse_call(expr)?,
                _ => return Ok(expr),
            };
        }
    }

    pub(super) fn parse_primary(&mut self) -> Result<Expr<'s>> {
        let span = self.span;
        let kind = match &self.token {
            Token::Name(name) => match *name {
                "true" | "True" => ExprKind::Const(Const::Bool(true)),
                "false" | "False" => ExprKind::Const(Const::Bool(false)),
                "none" | "None" => ExprKind::Const(Const::None),
                name => ExprKind::Name(name),
            },
            Token::Literal(Const::Str(_)) => ExprKind::Const(Const::Str(self.parse_strings()?)),
            Token::Literal(number) => ExprKind::Const(number.clone()),
            Token::Op(Op::LParen) => {
                self.advance()?;
                let expr = self.parse_tuple(true, true)?;
                self.expect_op(Op::RParen)?;
                return Ok(expr);
            }
            Token::Op(Op::LBracket) => ExprKind::List(self.parse_list()?),
            Token::Op(Op::LBrace) => ExprKind::Dict(self.parse_dict()?),
            token => return self.fail(SyntaxErrorKind::UnexpectedToken(token.describe().into()), span),
        };
        // Displays and strings have gone past their end already.
        if matches!(kind, ExprKind::Name(_))
            || matches!(&kind, ExprKind::Const(value) if !matches!(value, Const::Str(_)))
        {
            self.advance()?;
        }
        self.expr(span, kind)
    }

    /// Adjacent strings are one.
    fn parse_strings(&mut self) -> Result<Cow<'s, str>> {
        let mut joined = Cow::Borrowed("");
        while let Token::Literal(Const::Str(text)) = &mut self.token {
            let text = std::mem::take(text);
            if joined.is_empty() {
                joined = text;
            } else {
                joined.to_mut().push_str(&text);
            }
            self.advance()?;
        }
        Ok(joined)
    }

    /// An expression, or several with commas between them, which are a tuple. `parenthesised`: within `( )`, so that it may
    /// be empty.
    pub(super) fn parse_tuple(&mut self, conditional: bool, parenthesised: bool) -> Result<Expr<'s>> {
        let start = self.span;
        let mut items = Vec::new();
        while !self.at_tuple_end() {
            let item = self.parse_expression(conditional)?;
            if !self.at_op(Op::Comma) {
                if items.is_empty() {
                    return Ok(item);
                }
                items.push(item);
                break;
            }
            items.push(item);
            self.advance()?;
        }
        if items.is_empty() && !parenthesised {
            let found = self.token.describe().into();
            return self.fail(SyntaxErrorKind::ExpectedExpression { found }, self.span);
        }
        self.expr(start, ExprKind::Tuple(items))
    }

    /// Whether a tuple ends here. Jinja means `in` and `recursive` to end those of a `for` as well, but compares them in a
    /// way that is never true: `for a, in b` has the targets `a` and `in`.
    pub(super) fn at_tuple_end(&self) -> bool {
        matches!(self.token, Token::VariableEnd | Token::BlockEnd | Token::Op(Op::RParen))
    }

    fn parse_list(&mut self) -> Result<Vec<Expr<'s>>> {
        self.expect_op(Op::LBracket)?;
        let mut items = Vec::new();
        while !self.at_op(Op::RBracket) {
            if !items.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            if self.at_op(Op::RBracket) {
                break;
            }
            items.push(self.parse_expression(true)?);
        }
        self.expect_op(Op::RBracket)?;
        Ok(items)
    }

    fn parse_dict(&mut self) -> Result<Vec<(Expr<'s>, Expr<'s>)>> {
        self.expect_op(Op::LBrace)?;
        let mut pairs = Vec::new();
        while !self.at_op(Op::RBrace) {
            if !pairs.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            if self.at_op(Op::RBrace) {
                break;
            }
            let key = self.parse_expression(true)?;
            self.expect_op(Op::Colon)?;
            pairs.push((key, self.parse_expression(true)?));
        }
        self.expect_op(Op::RBrace)?;
        Ok(pairs)
    }

    fn parse_postfix(&mut self, mut expr: Expr<'s>) -> Result<Expr<'s>> {
        loop {
            expr = match self.token {
                Token::Op(Op::Dot) => self.parse_attribute(expr)?,
                Token::Op(Op::LBracket) => self.parse_subscript(expr)?,
                Token::Op(Op::LParen) => self.parse_call(expr)?,
                _ => return Ok(expr),
            };
        }
    }

    fn parse_attribute(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let span = self.expect_op(Op::Dot)?;
        let value = Box::new(value);
        let kind = match &self.token {
            Token::Name(name) => ExprKind::Getattr { value, name },
            Token::Literal(index @ (Const::Int(_) | Const::BigInt(_))) => ExprKind::Getitem {
                value,
                key: Box::new(self.expr(self.span, ExprKind::Const(index.clone()))?),
            },
            _ => return self.fail(SyntaxErrorKind::ExpectedAttribute, self.span),
        };
        self.advance()?;
        self.expr(span, kind)
    }

    fn parse_subscript(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let span = self.expect_op(Op::LBracket)?;
        let mut keys = Vec::new();
        while !self.at_op(Op::RBracket) {
            if !keys.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            keys.push(self.parse_key()?);
        }
        self.expect_op(Op::RBracket)?;
        let key = match keys.pop() {
            Some(key) if keys.is_empty() => key,
            last => {
                keys.extend(last);
                self.expr(span, ExprKind::Tuple(keys))?
            }
        };
        let (value, key) = (Box::new(value), Box::new(key));
        self.expr(span, ExprKind::Getitem { value, key })
    }

    /// An index or a slice.
    fn parse_key(&mut self) -> Result<Expr<'s>> {
        let span = self.span;
        let mut start = None;
        if !self.at_op(Op::Colon) {
            let index = self.parse_expression(true)?;
            if !self.at_op(Op::Colon) {
                return Ok(index);
            }
            start = Some(Box::new(index));
        }
        self.advance()?;
        let stop = self.parse_bound()?;
        let step = if self.skip_op(Op::Colon)? {
            self.parse_bound()?
        } else {
            None
        };
        self.expr(span, ExprKind::Slice { start, stop, step })
    }

    fn parse_bound(&mut self) -> Result<Option<Box<Expr<'s>>>> {
        match self.token {
            Token::Op(Op::Colon | Op::RBracket | Op::Comma) => Ok(None),
            _ => Ok(Some(Box::new(self.parse_expression(true)?))),
        }
    }

    fn parse_call(&mut self, callee: Expr<'s>) -> Result<Expr<'s>> {
        let span = self.span;
        let args = Box::new(self.parse_args()?);
        let callee = Box::new(callee);
        self.expr(span, ExprKind::Call { callee, args })
    }

    fn parse_args(&mut self) -> Result<Args<'s>> {
        let open = self.expect_op(Op::LParen)?;
        let mut args = Args::default();
        let mut first = true;
        while !self.at_op(Op::RParen) {
            if !first {
                self.expect_op(Op::Comma)?;
                if self.at_op(Op::RParen) {
                    break;
                }
            }
            first = false;
            let keyword = self.keyword()?;
            let allowed = match self.token {
                Token::Op(Op::Mul) => args.star.is_none() && args.double_star.is_none(),
                Token::Op(Op::Pow) => args.double_star.is_none(),
                // Keywords may come after `*args`, and even be followed by it.
                _ if keyword.is_some() => args.double_star.is_none(),
                _ => args.star.is_none() && args.double_star.is_none() && args.keywords.is_empty(),
            };
            if !allowed {
                return self.fail(SyntaxErrorKind::InvalidArguments, open);
            }
            if self.skip_op(Op::Mul)? {
                args.star = Some(self.parse_expression(true)?);
            } else if self.skip_op(Op::Pow)? {
                args.double_star = Some(self.parse_expression(true)?);
            } else if let Some(name) = keyword {
                let span = self.advance()?;
                self.advance()?;
                let value = self.parse_expression(true)?;
                args.keywords.push(Keyword { name, span, value });
            } else {
                args.positional.push(self.parse_expression(true)?);
            }
        }
        self.expect_op(Op::RParen)?;
        Ok(args)
    }

    /// The name of the keyword argument that begins here, if one does.
    fn keyword(&mut self) -> Result<Option<&'s str>> {
        let Token::Name(name) = self.token else {
            return Ok(None);
        };
        Ok((*self.look()? == Token::Op(Op::Assign)).then_some(name))
    }

    /// A filter's name and arguments.
    pub(super) fn parse_filter(&mut self) -> Result<FilterCall<'s>> {
        let (name, span) = self.parse_dotted_name()?;
        let args = if self.at_op(Op::LParen) {
            self.parse_args()?
        } else {
            Args::default()
        };
        Ok(FilterCall { name, span, args })
    }

    fn parse_dotted_name(&mut self) -> Result<(Cow<'s, str>, Span)> {
        let (name, span) = self.expect_any_name()?;
        let mut name = Cow::Borrowed(name);
        while self.skip_op(Op::Dot)? {
            let (part, _) = self.expect_any_name()?;
            let name = name.to_mut();
            name.push('.');
            name.push_str(part);
        }
        Ok((name, span))
    }

    fn parse_test(&mut self, value: Expr<'s>) -> Result<Expr<'s>> {
        let is = self.advance()?;
        let negated = self.skip_name("not")?;
        let (name, span) = self.parse_dotted_name()?;
        let args = match self.token {
            Token::Op(Op::LParen) => self.parse_args()?,
            Token::Name("else" | "or" | "and") => Args::default(),
            Token::Name("is") => return self.fail(SyntaxErrorKind::ChainedTests, self.span),
            // Any other name is an argument, keywords included.
            Token::Name(_) | Token::Literal(_) | Token::Op(Op::LBracket | Op::LBrace) => {
                let argument = self.parse_primary()?;
                Args {
                    positional: vec![self.parse_postfix(argument)?],
                    ..Args::default()
                }
            }
            _ => Args::default(),
        };
        let test = Box::new(FilterCall { name, span, args });
        let value = Box::new(value);
        let test = self.expr(span, ExprKind::Test { value, test })?;
        self.wrap_unary(test, negated.then_some((UnaryOp::Not, is)).into_iter())
    }
}
