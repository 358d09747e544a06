//! String literals that are not spelled in the source as they are (they have escapes), put together in one string.

use crate::syntax::ast::{Args, Const, Expr, ExprKind, FilterCall, Part, Stmt, StmtKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The literals of a template that own their text.
#[derive(Debug, Default)]
pub(super) struct Literals {
    pub(super) text: String,
    places: HashMap<String, Range<usize>>,
}

impl Literals {
    pub(super) fn collect(body: &[Stmt<'_>]) -> Self {
        let mut literals = Literals::default();
        literals.body(body);
        literals
    }

    /// Where `literal` stands in the text.
    pub(super) fn place(&self, literal: &str) -> Range<usize> {
        self.places.get(literal).cloned().unwrap_or(0..0)
    }

    #[expect(clippy::ptr_arg, reason = "whether the text is owned is the point")]
    fn add(&mut self, literal: &Cow<'_, str>) {
        if let Cow::Owned(literal) = literal
            && !self.places.contains_key(literal)
        {
            let start = self.text.len();
            self.text.push_str(literal);
            self.places.insert(literal.clone(), start..self.text.len());
        }
    }

    fn body(&mut self, body: &[Stmt<'_>]) {
        for stmt in body {
            each_expr_and_body(stmt, &mut |part| match part {
                Inside::Expr(expr) => self.expr(expr),
                Inside::Filter(filter) => self.filter(filter),
                Inside::Body(body) => self.body(body),
            });
        }
    }

    fn filter(&mut self, filter: &FilterCall<'_>) {
        self.add(&filter.name);
        self.args(&filter.args);
    }

    fn args(&mut self, args: &Args<'_>) {
        args.positional.iter().for_each(|arg| self.expr(arg));
        args.keywords.iter().for_each(|arg| self.expr(&arg.value));
        args.star.iter().for_each(|arg| self.expr(arg));
        args.double_star.iter().for_each(|arg| self.expr(arg));
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match &expr.kind {
            ExprKind::Const(Const::Str(literal)) => self.add(literal),
            ExprKind::Filter { filter, .. } => self.add(&filter.name),
            ExprKind::Test { test, .. } => self.add(&test.name),
            _ => {}
        }
        expr.kind.for_each_child(&mut |child| self.expr(child));
    }
}

/// A part of a statement.
pub(super) enum Inside<'t, 's> {
    Expr(&'t Expr<'s>),
    Filter(&'t FilterCall<'s>),
    Body(&'t [Stmt<'s>]),
}

/// Calls `each` with everything directly inside `stmt`.
pub(super) fn each_expr_and_body<'t, 's>(stmt: &'t Stmt<'s>, each: &mut dyn FnMut(Inside<'t, 's>)) {
    match &stmt.kind {
        StmtKind::Output(parts) => {
            for part in parts {
                if let Part::Expr(expr) = part {
                    each(Inside::Expr(expr));
                }
            }
        }
        StmtKind::For(node) => {
            each(Inside::Expr(&node.iter));
            node.test.iter().for_each(|test| each(Inside::Expr(test)));
            each(Inside::Body(&node.body));
            each(Inside::Body(&node.otherwise));
        }
        StmtKind::If { branches, otherwise } => {
            for branch in branches {
                each(Inside::Expr(&branch.test));
                each(Inside::Body(&branch.body));
            }
            each(Inside::Body(otherwise));
        }
        StmtKind::Macro { params, body, .. } => {
            params
                .iter()
                .filter_map(|param| param.default.as_ref())
                .for_each(|default| each(Inside::Expr(default)));
            each(Inside::Body(body));
        }
        StmtKind::CallBlock { params, call, body } => {
            each(Inside::Expr(call));
            params
                .iter()
                .filter_map(|param| param.default.as_ref())
                .for_each(|default| each(Inside::Expr(default)));
            each(Inside::Body(body));
        }
        StmtKind::FilterBlock { filters, body } | StmtKind::SetBlock { filters, body, .. } => {
            filters.iter().for_each(|filter| each(Inside::Filter(filter)));
            each(Inside::Body(body));
        }
        StmtKind::With { bindings, body } => {
            bindings.iter().for_each(|(_, value)| each(Inside::Expr(value)));
            each(Inside::Body(body));
        }
        StmtKind::Set { value, .. } => each(Inside::Expr(value)),
        StmtKind::Autoescape { enabled, body } => {
            each(Inside::Expr(enabled));
            each(Inside::Body(body));
        }
        StmtKind::Block { body, .. } | StmtKind::Generation(body) => each(Inside::Body(body)),
        StmtKind::Foreign { template, .. } => each(Inside::Expr(template)),
        StmtKind::Break | StmtKind::Continue => {}
    }
}
