//! Which of a few special names a piece of template reads before it stores them.
//!
//! Jinja decides by this walk, in the order of its own node fields, whether a loop has a `loop` variable and a macro
//! takes `caller`, `kwargs` and `varargs` (`find_undeclared` in `jinja2/compiler.py`).

use super::ast::{Args, Expr, ExprKind, Param, Part, Stmt, StmtKind, Target};

/// Of `names`, those that `body` reads undeclared.
pub(crate) fn undeclared<'n>(body: &[Stmt<'_>], names: &[&'n str]) -> Vec<&'n str> {
    let mut walk = Walk {
        watched: names.to_vec(),
        found: Vec::new(),
    };
    walk.body(body);
    walk.found
}

struct Walk<'n> {
    watched: Vec<&'n str>,
    found: Vec<&'n str>,
}

impl<'n> Walk<'n> {
    fn load(&mut self, name: &str) {
        if let Some(watched) = self.watched.iter().find(|watched| **watched == name)
            && !self.found.contains(watched)
        {
            self.found.push(watched);
        }
    }

    fn store(&mut self, name: &str) {
        self.watched.retain(|watched| *watched != name);
    }

    fn body(&mut self, body: &[Stmt<'_>]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn target(&mut self, target: &Target<'_>) {
        match target {
            Target::Name { name, .. } => self.store(name),
            Target::Attribute { .. } => {}
            Target::Tuple { items, .. } => items.iter().for_each(|item| self.target(item)),
        }
    }

    fn params(&mut self, params: &[Param<'_>]) {
        for param in params {
            self.store(param.name);
        }
        for default in params.iter().filter_map(|param| param.default.as_ref()) {
            self.expr(default);
        }
    }

    fn stmt(&mut self, stmt: &Stmt<'_>) {
        match &stmt.kind {
            StmtKind::Output(parts) => {
                for part in parts {
                    if let Part::Expr(expr) = part {
                        self.expr(expr);
                    }
                }
            }
            StmtKind::For(node) => {
                self.target(&node.target);
                self.expr(&node.iter);
                self.body(&node.body);
                self.body(&node.otherwise);
                if let Some(test) = &node.test {
                    self.expr(test);
                }
            }
            StmtKind::If { branches, otherwise } => {
                // Jinja keeps the branches after the first as nodes of their own, behind the first body.
                for branch in branches {
                    self.expr(&branch.test);
                    self.body(&branch.body);
                }
                self.body(otherwise);
            }
            StmtKind::Macro { params, body, .. } => {
                self.params(params);
                self.body(body);
            }
            StmtKind::CallBlock { params, call, body } => {
                self.expr(call);
                self.params(params);
                self.body(body);
            }
            StmtKind::FilterBlock { filters, body } => {
                self.body(body);
                filters.iter().for_each(|filter| self.args(&filter.args));
            }
            StmtKind::With { bindings, body } => {
                bindings.iter().for_each(|(target, _)| self.target(target));
                bindings.iter().for_each(|(_, value)| self.expr(value));
                self.body(body);
            }
            StmtKind::Set { target, value } => {
                self.target(target);
                self.expr(value);
            }
            StmtKind::SetBlock { target, filters, body } => {
                self.target(target);
                filters.iter().for_each(|filter| self.args(&filter.args));
                self.body(body);
            }
            StmtKind::Autoescape { enabled, body } => {
                self.expr(enabled);
                self.body(body);
            }
            StmtKind::Generation(body) => self.body(body),
            StmtKind::Foreign { template, .. } => self.expr(template),
            // Blocks are not looked into.
            StmtKind::Block { .. } | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn args(&mut self, args: &Args<'_>) {
        args.positional.iter().for_each(|arg| self.expr(arg));
        args.keywords.iter().for_each(|arg| self.expr(&arg.value));
        args.star.iter().for_each(|arg| self.expr(arg));
        args.double_star.iter().for_each(|arg| self.expr(arg));
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        if let ExprKind::Name(name) = expr.kind {
            return self.load(name);
        }
        expr.kind.for_each_child(&mut |child| self.expr(child));
    }
}
