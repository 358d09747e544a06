//! What a template reads and writes, found in its syntax tree.

use super::literals::{Inside, each_expr_and_body};
use crate::builtins::globals;
use crate::syntax::ast::{Args, Const, Expr, ExprKind, FilterCall, Part, Stmt, StmtKind, Target, Template};
use std::collections::{BTreeMap, BTreeSet};

/// What a template reads and writes, as far as its source says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Meta {
    /// Variables that it may read from the values given to the render.
    pub variables: BTreeSet<String>,
    /// Global functions that it may call.
    pub globals: BTreeSet<String>,
    /// Filters it names.
    pub filters: BTreeSet<String>,
    /// Tests it names.
    pub tests: BTreeSet<String>,
    /// Names that it looks up in values, as `x.name`, `x['name']` or `x.get('name')`.
    pub keys: BTreeSet<String>,
    /// What it writes itself: its text and its string literals, each once.
    pub literals: BTreeSet<String>,
    /// Whether it loops over something that it got by the key `content`, so that it expects lists of content parts.
    pub iterates_content: bool,
    /// Whether it has `{% generation %}` blocks.
    pub has_generation: bool,
}

impl Meta {
    pub(super) fn new(template: &Template<'_>, context: &[&str]) -> Self {
        let mut meta = Meta::default();
        for name in context {
            if globals::is_global(name) {
                meta.globals.insert((*name).to_owned());
            } else {
                meta.variables.insert((*name).to_owned());
            }
        }
        meta.body(&template.body);
        meta.iterates_content = iterates_content(&template.body);
        meta
    }

    fn body(&mut self, body: &[Stmt<'_>]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Output(parts) => {
                    for part in parts {
                        if let Part::Data { text, .. } = part {
                            self.literals.insert((*text).to_owned());
                        }
                    }
                }
                StmtKind::Generation(_) => self.has_generation = true,
                _ => {}
            }
            each_expr_and_body(stmt, &mut |inside| match inside {
                Inside::Expr(expr) => self.expr(expr),
                Inside::Filter(filter) => self.filter(filter),
                Inside::Body(body) => self.body(body),
            });
        }
    }

    fn filter(&mut self, filter: &FilterCall<'_>) {
        self.filters.insert(filter.name.to_string());
        each_arg(&filter.args, &mut |arg| self.expr(arg));
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match &expr.kind {
            ExprKind::Const(Const::Str(text)) => {
                self.literals.insert(text.to_string());
            }
            ExprKind::Filter { filter, .. } => {
                self.filters.insert(filter.name.to_string());
            }
            ExprKind::Test { test, .. } => {
                self.tests.insert(test.name.to_string());
            }
            _ => {}
        }
        if let Some(key) = key_of(expr) {
            self.keys.insert(key.to_owned());
        }
        expr.kind.for_each_child(&mut |child| self.expr(child));
    }
}

fn each_arg<'e, 's>(args: &'e Args<'s>, each: &mut dyn FnMut(&'e Expr<'s>)) {
    args.positional.iter().for_each(&mut *each);
    args.keywords.iter().for_each(|arg| each(&arg.value));
    args.star.iter().for_each(&mut *each);
    args.double_star.iter().for_each(&mut *each);
}

/// The name that `expr` looks up in a value.
fn key_of<'e>(expr: &'e Expr<'_>) -> Option<&'e str> {
    let literal = |expr: &'e Expr<'_>| match &expr.kind {
        ExprKind::Const(Const::Str(key)) => Some(&**key),
        _ => None,
    };
    match &expr.kind {
        ExprKind::Getattr { name, .. } => Some(name),
        ExprKind::Getitem { key, .. } => literal(key),
        ExprKind::Call { callee, args } => match &callee.kind {
            ExprKind::Getattr { name: "get", .. } => args.positional.first().and_then(literal),
            _ => None,
        },
        _ => None,
    }
}

/// How often the source is walked in search of aliases of content. Each walk follows all assignments in the order of the
/// source, so real templates need one or two.
const MAX_CONTENT_PASSES: usize = 8;

/// Whether something got by the key `content` is looped over, followed through assignments and macro parameters, scopes
/// aside.
fn iterates_content(body: &[Stmt<'_>]) -> bool {
    let mut aliases: BTreeSet<String> = BTreeSet::new();
    for _ in 0..MAX_CONTENT_PASSES {
        let before = aliases.len();
        let mut walk = ContentWalk {
            aliases,
            macros: BTreeMap::new(),
            found: false,
        };
        walk.collect_macros(body);
        walk.body(body);
        if walk.found {
            return true;
        }
        aliases = walk.aliases;
        if aliases.len() == before {
            break;
        }
    }
    false
}

struct ContentWalk {
    /// Variables that may hold a message's content.
    aliases: BTreeSet<String>,
    /// Macros with the names of their parameters.
    macros: BTreeMap<String, Vec<String>>,
    found: bool,
}

impl ContentWalk {
    fn collect_macros(&mut self, body: &[Stmt<'_>]) {
        for stmt in body {
            if let StmtKind::Macro { name, params, .. } = &stmt.kind {
                let params = params.iter().map(|param| param.name.to_owned()).collect();
                self.macros.entry((*name).to_owned()).or_insert(params);
            }
            each_expr_and_body(stmt, &mut |inside| {
                if let Inside::Body(body) = inside {
                    self.collect_macros(body);
                }
            });
        }
    }

    fn body(&mut self, body: &[Stmt<'_>]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::For(node) => self.found = self.found || self.is_content(&node.iter),
                StmtKind::Set {
                    target: Target::Name { name, .. },
                    value,
                } if self.is_content(value) => {
                    self.aliases.insert((*name).to_owned());
                }
                StmtKind::Set {
                    target: Target::Attribute { attribute, .. },
                    value,
                } if self.is_content(value) => {
                    self.aliases.insert((*attribute).to_owned());
                }
                _ => {}
            }
            each_expr_and_body(stmt, &mut |inside| match inside {
                Inside::Expr(expr) => self.calls(expr),
                Inside::Filter(filter) => each_arg(&filter.args, &mut |arg| self.calls(arg)),
                Inside::Body(body) => self.body(body),
            });
        }
    }

    /// Parameters of macros that are given content.
    fn calls(&mut self, expr: &Expr<'_>) {
        if let ExprKind::Call { callee, args } = &expr.kind
            && let ExprKind::Name(name) = &callee.kind
        {
            let params = self.macros.get(*name);
            let mut given = Vec::new();
            if let Some(params) = params {
                for (param, arg) in params.iter().zip(&args.positional) {
                    if self.is_content(arg) {
                        given.push(param.clone());
                    }
                }
                for arg in &args.keywords {
                    if self.is_content(&arg.value) {
                        given.push(arg.name.to_owned());
                    }
                }
            }
            self.aliases.extend(given);
        }
        expr.kind.for_each_child(&mut |child| self.calls(child));
    }

    /// Whether the value of `expr` may be a message's content, or a part of it.
    fn is_content(&self, expr: &Expr<'_>) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => self.aliases.contains(*name),
            ExprKind::Filter { value, .. } => self.is_content(value),
            ExprKind::Cond { then, otherwise, .. } => {
                self.is_content(then) || otherwise.as_ref().is_some_and(|otherwise| self.is_content(otherwise))
            }
            ExprKind::Or(operands) | ExprKind::And(operands) => operands.iter().any(|operand| self.is_content(operand)),
            ExprKind::Getitem { value, key } if matches!(key.kind, ExprKind::Slice { .. }) => self.is_content(value),
            _ => key_of(expr).is_some_and(|key| key == "content" || self.aliases.contains(key)),
        }
    }
}
