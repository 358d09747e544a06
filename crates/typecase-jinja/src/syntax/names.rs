//! Which names a body takes from around it.

use super::ast::{Args, Expr, ExprKind, FilterCall, Param, Part, Stmt, StmtKind, Target};

/// Whether the body of a macro or call block reads `name` before it assigns it, in the order of the source and not of
/// scopes: what makes Jinja give a macro `caller`, `kwargs` and `varargs` (`find_undeclared` in `jinja2/compiler.py`).
pub(crate) fn is_free(body: &[Stmt<'_>], name: &str) -> bool {
    in_body(body, name) == Some(Use::Read)
}

/// The first thing that is done with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Assigned,
}

fn in_body(body: &[Stmt<'_>], name: &str) -> Option<Use> {
    body.iter().find_map(|stmt| in_stmt(stmt, name))
}

fn in_stmt(stmt: &Stmt<'_>, name: &str) -> Option<Use> {
    match &stmt.kind {
        StmtKind::Output(parts) => parts.iter().find_map(|part| match part {
            Part::Data { .. } => None,
            Part::Expr(expr) => in_expr(expr, name),
        }),
        // Jinja looks at the condition last.
        StmtKind::For(node) => in_target(&node.target, name)
            .or_else(|| in_expr(&node.iter, name))
            .or_else(|| in_body(&node.body, name))
            .or_else(|| in_body(&node.otherwise, name))
            .or_else(|| node.test.as_ref().and_then(|test| in_expr(test, name))),
        StmtKind::If { branches, otherwise } => branches
            .iter()
            .find_map(|branch| in_expr(&branch.test, name).or_else(|| in_body(&branch.body, name)))
            .or_else(|| in_body(otherwise, name)),
        StmtKind::Macro { params, body, .. } => in_params(params, name).or_else(|| in_body(body, name)),
        StmtKind::CallBlock { params, call, body } => in_expr(call, name)
            .or_else(|| in_params(params, name))
            .or_else(|| in_body(body, name)),
        StmtKind::FilterBlock { filters, body } => in_body(body, name).or_else(|| in_filters(filters, name)),
        StmtKind::With { bindings, body } => bindings
            .iter()
            .find_map(|(target, _)| in_target(target, name))
            .or_else(|| bindings.iter().find_map(|(_, value)| in_expr(value, name)))
            .or_else(|| in_body(body, name)),
        StmtKind::Set { target, value } => in_target(target, name).or_else(|| in_expr(value, name)),
        StmtKind::SetBlock { target, filters, body } => in_target(target, name)
            .or_else(|| in_filters(filters, name))
            .or_else(|| in_body(body, name)),
        StmtKind::Autoescape { enabled, body } => in_expr(enabled, name).or_else(|| in_body(body, name)),
        StmtKind::Generation(body) => in_body(body, name),
        StmtKind::Foreign { template, .. } => in_expr(template, name),
        // A block is a function of its own.
        StmtKind::Block { .. } | StmtKind::Break | StmtKind::Continue => None,
    }
}

fn in_target(target: &Target<'_>, name: &str) -> Option<Use> {
    match target {
        Target::Name { name: found, .. } => (*found == name).then_some(Use::Assigned),
        // Jinja does not count the namespace as read.
        Target::Attribute { .. } => None,
        Target::Tuple { items, .. } => items.iter().find_map(|item| in_target(item, name)),
    }
}

fn in_params(params: &[Param<'_>], name: &str) -> Option<Use> {
    if params.iter().any(|param| param.name == name) {
        return Some(Use::Assigned);
    }
    params
        .iter()
        .find_map(|param| param.default.as_ref().and_then(|default| in_expr(default, name)))
}

fn in_filters(filters: &[FilterCall<'_>], name: &str) -> Option<Use> {
    filters.iter().find_map(|filter| in_args(&filter.args, name))
}

fn in_args(args: &Args<'_>, name: &str) -> Option<Use> {
    let mut found = None;
    args.for_each(|value| found = found.or_else(|| in_expr(value, name)));
    found
}

/// An expression assigns nothing, so the order in it does not matter.
fn in_expr(expr: &Expr<'_>, name: &str) -> Option<Use> {
    if matches!(expr.kind, ExprKind::Name(found) if found == name) {
        return Some(Use::Read);
    }
    let mut found = None;
    expr.kind
        .for_each_child(&mut |child| found = found.or_else(|| in_expr(child, name)));
    found
}
