//! Statements.

use super::super::ast::{
    Branch, Expr, ExprKind, FilterCall, For, ForeignTag, Param, Part, Span, Stmt, StmtKind, Target,
};
use super::super::error::SyntaxErrorKind;
use super::super::token::{Op, Token};
use super::{MAX_STATEMENT_NESTING, Parser, Result};
use crate::value::text::is_space;

/// What may turn out to be a target.
enum Candidate<'s> {
    Expr(Expr<'s>),
    Attribute(Target<'s>),
}

impl<'s> Parser<'s> {
    /// Text, outputs and statements up to one of the tags `end`, which becomes the current token, or to the end.
    pub(super) fn parse_body(&mut self, end: Option<&'static [&'static str]>) -> Result<Vec<Stmt<'s>>> {
        self.end_tags.extend(end);
        let mut body = Vec::new();
        let mut parts = Vec::new();
        loop {
            match self.token {
                Token::Data(text) => {
                    let span = self.advance()?;
                    parts.push(Part::Data { text, span });
                }
                Token::VariableBegin => {
                    self.advance()?;
                    parts.push(Part::Expr(self.parse_tuple(true, false)?));
                    if self.token != Token::VariableEnd {
                        return self.fail_expected("end of print statement");
                    }
                    self.advance()?;
                }
                Token::BlockBegin => {
                    flush(&mut parts, &mut body);
                    self.advance()?;
                    if let (Some(end), Token::Name(name)) = (end, &self.token)
                        && end.contains(name)
                    {
                        break;
                    }
                    body.push(self.parse_statement()?);
                    self.expect_block_end()?;
                }
                // Nothing else stands outside of tags.
                _ => {
                    flush(&mut parts, &mut body);
                    break;
                }
            }
        }
        if end.is_some() {
            self.end_tags.pop();
        }
        Ok(body)
    }

    /// The rest of an opening tag and the body up to one of the tags `end`, which becomes the current token.
    fn parse_block_body(&mut self, end: &'static [&'static str]) -> Result<Vec<Stmt<'s>>> {
        // As in Python.
        self.skip_op(Op::Colon)?;
        self.expect_block_end()?;
        let body = self.parse_body(Some(end))?;
        if self.token == Token::Eof {
            self.end_tags.push(end);
            return self.fail(SyntaxErrorKind::UnclosedBlock(self.open(None)), self.span);
        }
        Ok(body)
    }

    /// Like [`Self::parse_block_body`], for the last body of a statement: goes past the end tag's name.
    fn parse_last_body(&mut self, end: &'static [&'static str]) -> Result<Vec<Stmt<'s>>> {
        let body = self.parse_block_body(end)?;
        self.advance()?;
        Ok(body)
    }

    fn parse_statement(&mut self) -> Result<Stmt<'s>> {
        let span = self.span;
        let Token::Name(tag) = self.token else {
            return self.fail(SyntaxErrorKind::ExpectedTagName, span);
        };
        if self.tags.len() == MAX_STATEMENT_NESTING {
            let limit = MAX_STATEMENT_NESTING;
            return self.fail(SyntaxErrorKind::TooDeep { limit }, span);
        }
        let parse: fn(&mut Self) -> Result<StmtKind<'s>> = match tag {
            "for" => Self::parse_for,
            "if" => Self::parse_if,
            "set" => Self::parse_set,
            "macro" => Self::parse_macro,
            "call" => Self::parse_call_block,
            "filter" => Self::parse_filter_block,
            "with" => Self::parse_with,
            "block" => Self::parse_block,
            "autoescape" => Self::parse_autoescape,
            "generation" => Self::parse_generation,
            "print" => Self::parse_print,
            "break" => |_| Ok(StmtKind::Break),
            "continue" => |_| Ok(StmtKind::Continue),
            "include" => Self::parse_include,
            "import" => Self::parse_import,
            "from" => Self::parse_from,
            "extends" => |parser| {
                Ok(StmtKind::Foreign {
                    tag: ForeignTag::Extends,
                    template: parser.parse_expression(true)?,
                    binds: Vec::new(),
                })
            },
            _ => {
                let kind = SyntaxErrorKind::UnknownTag {
                    name: tag.into(),
                    open: self.open(Some(tag)),
                };
                return self.fail(kind, span);
            }
        };
        self.tags.push((tag, span));
        self.advance()?;
        let kind = parse(self)?;
        self.tags.pop();
        Ok(Stmt { span, kind })
    }

    fn parse_for(&mut self) -> Result<StmtKind<'s>> {
        let target = self.parse_target(false)?;
        self.expect_name("in")?;
        let iter = self.parse_tuple(false, false)?;
        let test = if self.skip_name("if")? {
            Some(self.parse_expression(true)?)
        } else {
            None
        };
        let recursive = self.skip_name("recursive")?;
        let body = self.parse_block_body(&["endfor", "else"])?;
        let has_else = self.at_name("else");
        self.advance()?;
        let otherwise = if has_else {
            self.parse_last_body(&["endfor"])?
        } else {
            Vec::new()
        };
        Ok(StmtKind::For(Box::new(For {
            target,
            iter,
            test,
            recursive,
            body,
            otherwise,
        })))
    }

    fn parse_if(&mut self) -> Result<StmtKind<'s>> {
        let mut branches = Vec::new();
        loop {
            let span = self.span;
            let test = self.parse_tuple(false, false)?;
            let body = self.parse_block_body(&["elif", "else", "endif"])?;
            branches.push(Branch { span, test, body });
            if self.skip_name("elif")? {
                continue;
            }
            let has_else = self.at_name("else");
            self.advance()?;
            let otherwise = if has_else {
                self.parse_last_body(&["endif"])?
            } else {
                Vec::new()
            };
            return Ok(StmtKind::If { branches, otherwise });
        }
    }

    fn parse_set(&mut self) -> Result<StmtKind<'s>> {
        let target = self.parse_target(true)?;
        if self.skip_op(Op::Assign)? {
            let value = self.parse_tuple(true, false)?;
            return Ok(StmtKind::Set { target, value });
        }
        let mut filters = Vec::new();
        while self.skip_op(Op::Pipe)? {
            filters.push(self.parse_filter()?);
        }
        let body = self.parse_last_body(&["endset"])?;
        Ok(StmtKind::SetBlock { target, filters, body })
    }

    fn parse_macro(&mut self) -> Result<StmtKind<'s>> {
        let (name, _) = self.parse_name_target()?;
        let params = self.parse_params()?;
        let body = self.parse_last_body(&["endmacro"])?;
        Ok(StmtKind::Macro { name, params, body })
    }

    fn parse_call_block(&mut self) -> Result<StmtKind<'s>> {
        let params = if self.at_op(Op::LParen) {
            self.parse_params()?
        } else {
            Vec::new()
        };
        let span = self.span;
        let call = self.parse_expression(true)?;
        if !matches!(call.kind, ExprKind::Call { .. }) {
            return self.fail(SyntaxErrorKind::ExpectedCall, span);
        }
        let body = self.parse_last_body(&["endcall"])?;
        Ok(StmtKind::CallBlock { params, call, body })
    }

    fn parse_params(&mut self) -> Result<Vec<Param<'s>>> {
        self.expect_op(Op::LParen)?;
        let mut params: Vec<Param<'s>> = Vec::new();
        while !self.at_op(Op::RParen) {
            if !params.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            let (name, span) = self.parse_name_target()?;
            let default = if self.skip_op(Op::Assign)? {
                Some(self.parse_expression(true)?)
            } else if params.last().is_some_and(|param| param.default.is_some()) {
                return self.fail(SyntaxErrorKind::MissingDefault, span);
            } else {
                None
            };
            params.push(Param { name, span, default });
        }
        self.expect_op(Op::RParen)?;
        Ok(params)
    }

    fn parse_filter_block(&mut self) -> Result<StmtKind<'s>> {
        let mut filters: Vec<FilterCall<'s>> = vec![self.parse_filter()?];
        while self.skip_op(Op::Pipe)? {
            filters.push(self.parse_filter()?);
        }
        let body = self.parse_last_body(&["endfilter"])?;
        Ok(StmtKind::FilterBlock { filters, body })
    }

    fn parse_with(&mut self) -> Result<StmtKind<'s>> {
        let mut bindings = Vec::new();
        while self.token != Token::BlockEnd {
            if !bindings.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            let target = self.parse_target(false)?;
            self.expect_op(Op::Assign)?;
            bindings.push((target, self.parse_expression(true)?));
        }
        let body = self.parse_last_body(&["endwith"])?;
        Ok(StmtKind::With { bindings, body })
    }

    fn parse_block(&mut self) -> Result<StmtKind<'s>> {
        let (name, _) = self.expect_any_name()?;
        let scoped = self.skip_name("scoped")?;
        let required = self.skip_name("required")?;
        if self.at_op(Op::Sub) {
            return self.fail(SyntaxErrorKind::HyphenInBlockName, self.span);
        }
        let body = self.parse_last_body(&["endblock"])?;
        if required && !body.iter().all(is_blank) {
            return self.fail(SyntaxErrorKind::RequiredBlockNotEmpty, self.span);
        }
        self.skip_name(name)?;
        Ok(StmtKind::Block {
            name,
            scoped,
            required,
            body,
        })
    }

    fn parse_autoescape(&mut self) -> Result<StmtKind<'s>> {
        let enabled = self.parse_expression(true)?;
        let body = self.parse_last_body(&["endautoescape"])?;
        Ok(StmtKind::Autoescape { enabled, body })
    }

    fn parse_generation(&mut self) -> Result<StmtKind<'s>> {
        Ok(StmtKind::Generation(self.parse_last_body(&["endgeneration"])?))
    }

    fn parse_print(&mut self) -> Result<StmtKind<'s>> {
        let mut parts = Vec::new();
        while self.token != Token::BlockEnd {
            if !parts.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            parts.push(Part::Expr(self.parse_expression(true)?));
        }
        Ok(StmtKind::Output(parts))
    }

    fn parse_include(&mut self) -> Result<StmtKind<'s>> {
        let template = self.parse_expression(true)?;
        if self.at_name("ignore") && *self.look()? == Token::Name("missing") {
            self.advance()?;
            self.advance()?;
        }
        self.skip_context()?;
        Ok(StmtKind::Foreign {
            tag: ForeignTag::Include,
            template,
            binds: Vec::new(),
        })
    }

    fn parse_import(&mut self) -> Result<StmtKind<'s>> {
        let template = self.parse_expression(true)?;
        self.expect_name("as")?;
        let (name, _) = self.parse_name_target()?;
        self.skip_context()?;
        Ok(StmtKind::Foreign {
            tag: ForeignTag::Import,
            template,
            binds: vec![name],
        })
    }

    fn parse_from(&mut self) -> Result<StmtKind<'s>> {
        let template = self.parse_expression(true)?;
        self.expect_name("import")?;
        let mut binds = Vec::new();
        loop {
            if !binds.is_empty() {
                self.expect_op(Op::Comma)?;
            }
            if self.skip_context()? {
                break;
            }
            let (mut name, span) = self.parse_name_target()?;
            if name.starts_with('_') {
                return self.fail(SyntaxErrorKind::PrivateImport, span);
            }
            if self.skip_name("as")? {
                (name, _) = self.parse_name_target()?;
            }
            binds.push(name);
            if self.skip_context()? || !self.at_op(Op::Comma) {
                break;
            }
        }
        Ok(StmtKind::Foreign {
            tag: ForeignTag::From,
            template,
            binds,
        })
    }

    /// Goes past `with context` or `without context`, and says whether it was there.
    fn skip_context(&mut self) -> Result<bool> {
        let found = matches!(self.token, Token::Name("with" | "without")) && *self.look()? == Token::Name("context");
        if found {
            self.advance()?;
            self.advance()?;
        }
        Ok(found)
    }

    /// One name that is assigned to.
    fn parse_name_target(&mut self) -> Result<(&'s str, Span)> {
        let (name, span) = self.expect_any_name()?;
        if matches!(name, "true" | "false" | "none" | "True" | "False" | "None") {
            return self.fail(SyntaxErrorKind::CannotAssign { found: "name" }, span);
        }
        Ok((name, span))
    }

    /// Names, with `attributes` also attributes of namespaces, with commas between them.
    fn parse_target(&mut self, attributes: bool) -> Result<Target<'s>> {
        let start = self.span;
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.at_tuple_end() {
            items.push(self.parse_candidate(attributes)?);
            if !self.skip_op(Op::Comma)? {
                break;
            }
            is_tuple = true;
        }
        if is_tuple {
            let items = items.into_iter().map(Candidate::into_target).collect::<Result<_, _>>();
            return match items {
                Ok(items) => Ok(Target::Tuple { items, span: start }),
                Err(_) => self.fail(SyntaxErrorKind::CannotAssign { found: "tuple" }, start),
            };
        }
        match items.pop() {
            Some(item) => item
                .into_target()
                .or_else(|found| self.fail(SyntaxErrorKind::CannotAssign { found }, start)),
            None => {
                let found = self.token.describe().into();
                self.fail(SyntaxErrorKind::ExpectedExpression { found }, self.span)
            }
        }
    }

    fn parse_candidate(&mut self, attributes: bool) -> Result<Candidate<'s>> {
        if let Token::Name(namespace) = self.token
            && attributes
            && !matches!(namespace, "true" | "false" | "none" | "True" | "False" | "None")
            && *self.look()? == Token::Op(Op::Dot)
        {
            let span = self.advance()?;
            self.advance()?;
            let (attribute, _) = self.expect_any_name()?;
            return Ok(Candidate::Attribute(Target::Attribute {
                namespace,
                attribute,
                span,
            }));
        }
        Ok(Candidate::Expr(self.parse_primary()?))
    }
}

impl<'s> Candidate<'s> {
    /// The target, or what it is instead, as Jinja names it.
    fn into_target(self) -> Result<Target<'s>, &'static str> {
        match self {
            Self::Expr(expr) => into_target(expr),
            Self::Attribute(target) => Ok(target),
        }
    }
}

fn into_target(expr: Expr<'_>) -> Result<Target<'_>, &'static str> {
    let span = expr.span;
    match expr.kind {
        ExprKind::Name(name) => Ok(Target::Name { name, span }),
        ExprKind::Tuple(items) => {
            let items = items.into_iter().map(into_target).collect::<Result<_, _>>();
            items.map(|items| Target::Tuple { items, span }).map_err(|_| "tuple")
        }
        ExprKind::Const(_) => Err("const"),
        ExprKind::List(_) => Err("list"),
        ExprKind::Dict(_) => Err("dict"),
        ExprKind::Cond { .. } => Err("condexpr"),
        ExprKind::Getattr { .. } => Err("getattr"),
        ExprKind::Getitem { .. } => Err("getitem"),
        ExprKind::Call { .. } => Err("call"),
        _ => Err("expression"),
    }
}

/// Turns what was collected between two tags into a statement.
fn flush<'s>(parts: &mut Vec<Part<'s>>, body: &mut Vec<Stmt<'s>>) {
    let span = match parts.first() {
        Some(Part::Data { span, .. }) => *span,
        Some(Part::Expr(expr)) => expr.span,
        None => return,
    };
    body.push(Stmt {
        span,
        kind: StmtKind::Output(std::mem::take(parts)),
    });
}

/// Whether a statement writes nothing but white space.
fn is_blank(stmt: &Stmt<'_>) -> bool {
    match &stmt.kind {
        StmtKind::Output(parts) => parts
            .iter()
            .all(|part| matches!(part, Part::Data { text, .. } if text.chars().all(is_space))),
        _ => false,
    }
}
