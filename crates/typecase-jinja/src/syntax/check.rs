//! What parses but does not compile: the checks of `jinja2/compiler.py` and those of Python on the code that it generates.

use super::ast::{Args, Expr, ExprKind, FilterCall, ForeignTag, Param, Part, Span, Stmt, StmtKind, Target, Template};
use super::error::{SyntaxError, SyntaxErrorKind};
use super::names::undeclared;
use std::collections::HashSet;

/// Loops in one another within one function of the generated code (CPython's `CO_MAXBLOCKS`).
const MAX_LOOPS: usize = 20;

type Result = std::result::Result<(), SyntaxError>;

/// Checks a template that was parsed from `source`.
pub(super) fn check(template: &Template<'_>, source: &str) -> Result {
    let place = Place {
        top_level: true,
        loops: 0,
        within_for: false,
    };
    let blocks = HashSet::new();
    Checker { source, blocks }.body(&template.body, place)
}

struct Checker<'s> {
    source: &'s str,
    blocks: HashSet<String>,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place {
    /// In no scope of its own.
    top_level: bool,
    /// Loops around it, up to the next function of the generated code.
    loops: usize,
    /// In a loop, be there a function in between or not.
    within_for: bool,
}

impl Place {
    fn scope(self) -> Self {
        let top_level = false;
        Place { top_level, ..self }
    }

    fn function(self) -> Self {
        let (top_level, loops) = (false, 0);
        Place {
            top_level,
            loops,
            ..self
        }
    }
}

impl Checker<'_> {
    fn fail(&self, kind: SyntaxErrorKind, span: Span) -> Result {
        Err(SyntaxError::new(kind, span, self.source))
    }

    fn body(&mut self, body: &[Stmt<'_>], place: Place) -> Result {
        body.iter().try_for_each(|stmt| self.stmt(stmt, place))
    }

    fn stmt(&mut self, stmt: &Stmt<'_>, place: Place) -> Result {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Output(parts) => parts.iter().try_for_each(|part| match part {
                Part::Data { .. } => Ok(()),
                Part::Expr(expr) => self.expr(expr),
            }),
            StmtKind::For(node) => {
                let loops = if node.recursive { 0 } else { place.loops };
                if loops == MAX_LOOPS {
                    return self.fail(SyntaxErrorKind::TooManyLoops { limit: MAX_LOOPS }, span);
                }
                let otherwise = Place {
                    top_level: false,
                    loops,
                    within_for: true,
                };
                let inner = Place {
                    loops: loops + 1,
                    ..otherwise
                };
                self.target(&node.target, inner)?;
                self.expr(&node.iter)?;
                node.test.iter().try_for_each(|test| self.expr(test))?;
                self.body(&node.body, inner)?;
                self.body(&node.otherwise, otherwise)
            }
            StmtKind::If { branches, otherwise } => {
                for branch in branches {
                    self.expr(&branch.test)?;
                    self.body(&branch.body, place)?;
                }
                self.body(otherwise, place)
            }
            StmtKind::Macro { params, body, .. } => {
                self.params(params, body, span)?;
                self.body(body, place.function())
            }
            StmtKind::CallBlock { params, call, body } => {
                self.params(params, body, span)?;
                self.expr(call)?;
                self.body(body, place.function())
            }
            StmtKind::Generation(body) => self.body(body, place.function()),
            StmtKind::FilterBlock { filters, body } => {
                self.filters(filters)?;
                self.body(body, place.scope())
            }
            StmtKind::With { bindings, body } => {
                bindings.iter().try_for_each(|(_, value)| self.expr(value))?;
                self.body(body, place.scope())
            }
            StmtKind::Set { target, value } => {
                self.target(target, place)?;
                self.expr(value)
            }
            StmtKind::SetBlock { target, filters, body } => {
                self.target(target, place)?;
                self.filters(filters)?;
                self.body(body, place.scope())
            }
            StmtKind::Block { name, body, .. } => {
                if !self.blocks.insert((*name).into()) {
                    let name = (*name).into();
                    return self.fail(SyntaxErrorKind::DuplicateBlock { name }, span);
                }
                self.body(body, place.function())
            }
            StmtKind::Autoescape { enabled, body } => {
                self.expr(enabled)?;
                self.body(body, place.scope())
            }
            StmtKind::Break if place.loops == 0 => self.fail(SyntaxErrorKind::OutsideLoop { tag: "break" }, span),
            StmtKind::Continue if place.loops == 0 => self.fail(SyntaxErrorKind::OutsideLoop { tag: "continue" }, span),
            StmtKind::Break | StmtKind::Continue => Ok(()),
            StmtKind::Foreign { tag, template, .. } => {
                if *tag == ForeignTag::Extends && !place.top_level {
                    return self.fail(SyntaxErrorKind::NestedExtends, span);
                }
                self.expr(template)
            }
        }
    }

    /// Within a loop, `loop` is not assigned to, however deep.
    fn target(&self, target: &Target<'_>, place: Place) -> Result {
        match target {
            Target::Name { name: "loop", span } if place.within_for => self.fail(SyntaxErrorKind::LoopAssigned, *span),
            Target::Name { .. } | Target::Attribute { .. } => Ok(()),
            Target::Tuple { items, .. } => items.iter().try_for_each(|item| self.target(item, place)),
        }
    }

    fn params(&self, params: &[Param<'_>], body: &[Stmt<'_>], span: Span) -> Result {
        let mut seen = HashSet::new();
        for param in params {
            if !seen.insert(param.name) {
                let name = param.name.into();
                return self.fail(SyntaxErrorKind::DuplicateParameter { name }, param.span);
            }
            if param.name == "caller" && param.default.is_none() && !undeclared(body, &["caller"]).is_empty() {
                return self.fail(SyntaxErrorKind::CallerWithoutDefault, span);
            }
        }
        let mut defaults = params.iter().filter_map(|param| param.default.as_ref());
        defaults.try_for_each(|default| self.expr(default))
    }

    fn filters(&self, filters: &[FilterCall<'_>]) -> Result {
        filters.iter().try_for_each(|filter| {
            self.args(&filter.args)?;
            self.each(|each| filter.args.for_each(each))
        })
    }

    fn expr(&self, expr: &Expr<'_>) -> Result {
        match &expr.kind {
            ExprKind::Call { args, .. } => self.args(args)?,
            ExprKind::Filter { filter: call, .. } | ExprKind::Test { test: call, .. } => self.args(&call.args)?,
            // A slice is a key itself, and then it is not looked at here.
            ExprKind::Slice { .. } => return self.fail(SyntaxErrorKind::SliceInTuple, expr.span),
            ExprKind::Getitem { value, key } if matches!(key.kind, ExprKind::Slice { .. }) => {
                self.expr(value)?;
                return self.each(|each| key.kind.for_each_child(each));
            }
            _ => {}
        }
        self.each(|each| expr.kind.for_each_child(each))
    }

    /// Checks each of the expressions that `visit` hands to what it is given.
    fn each<'e, 's: 'e>(&self, visit: impl FnOnce(&mut dyn FnMut(&'e Expr<'s>))) -> Result {
        let mut result = Ok(());
        visit(&mut |expr| {
            if result.is_ok() {
                result = self.expr(expr);
            }
        });
        result
    }

    fn args(&self, args: &Args<'_>) -> Result {
        // With a word of Python's among the names, Jinja passes them as a dict, where the last one wins.
        if args.keywords.iter().any(|keyword| is_python_keyword(keyword.name)) {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for keyword in &args.keywords {
            if !seen.insert(keyword.name) {
                let name = keyword.name.into();
                return self.fail(SyntaxErrorKind::DuplicateKeyword { name }, keyword.span);
            }
        }
        Ok(())
    }
}

/// Python 3.11's `keyword.iskeyword`.
fn is_python_keyword(name: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    KEYWORDS.contains(&name)
}
