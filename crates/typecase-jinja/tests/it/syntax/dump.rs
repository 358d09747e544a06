//! The tree in the form that `conformance/oracle/ast_dump.py` gives to Jinja's.

use std::fmt::{Display, Write as _};
use typecase_jinja::syntax::ast::*;

pub(crate) fn template(template: &Template<'_>) -> String {
    stmts(&template.body)
}

fn text(value: &str) -> String {
    let mut out = String::from('"');
    for c in value.chars() {
        match c {
            ' '..='~' if c != '"' && c != '\\' => out.push(c),
            _ => {
                let _ = write!(out, "\\{{{:x}}}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

fn many<T>(items: impl IntoIterator<Item = T>, each: impl Fn(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(each).collect();
    format!("[{}]", items.join(" "))
}

/// Python's spelling.
fn bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn maybe(value: Option<&Expr<'_>>) -> String {
    value.map_or("-".into(), expr)
}

fn args(args: &Args<'_>) -> String {
    let keywords = many(&args.keywords, |k| format!("({} {})", text(k.name), expr(&k.value)));
    format!(
        "{} {keywords} {} {}",
        many(&args.positional, expr),
        maybe(args.star.as_ref()),
        maybe(args.double_star.as_ref())
    )
}

fn constant(value: &Const<'_>) -> String {
    match value {
        Const::None => "None".into(),
        Const::Bool(value) => bool(*value).into(),
        Const::Int(value) => format!("(int {value:x})"),
        Const::BigInt(value) => format!("(int {value:x})"),
        Const::Float(value) => format!("(float {:016x})", value.to_bits()),
        Const::Str(value) => text(value),
    }
}

/// Flat chains are nested to the left in Jinja.
fn chain(name: &str, operands: &[Expr<'_>]) -> String {
    let mut operands = operands.iter().map(expr);
    let first = operands.next().unwrap_or_default();
    operands.fold(first, |left, right| format!("({name} {left} {right})"))
}

fn expr(node: &Expr<'_>) -> String {
    match &node.kind {
        ExprKind::Const(value) => constant(value),
        ExprKind::Name(name) => format!("(name {})", text(name)),
        ExprKind::Tuple(items) => format!("(Tuple {})", many(items, expr)),
        ExprKind::List(items) => format!("(List {})", many(items, expr)),
        ExprKind::Dict(pairs) => format!(
            "(Dict {})",
            many(pairs, |(key, value)| format!("({} {})", expr(key), expr(value)))
        ),
        ExprKind::Cond { test, then, otherwise } => {
            format!("(Cond {} {} {})", expr(test), expr(then), maybe(otherwise.as_deref()))
        }
        ExprKind::Filter { value, filter } => format!("(Filter {} {})", expr(value), call(filter)),
        ExprKind::Test { value, test } => format!("(Test {} {})", expr(value), call(test)),
        ExprKind::Call { callee, args: list } => format!("(Call {} {})", expr(callee), args(list)),
        ExprKind::Getitem { value, key } => format!("(Getitem {} {})", expr(value), expr(key)),
        ExprKind::Getattr { value, name } => format!("(Getattr {} {})", expr(value), text(name)),
        ExprKind::Slice { start, stop, step } => format!(
            "(Slice {} {} {})",
            maybe(start.as_deref()),
            maybe(stop.as_deref()),
            maybe(step.as_deref())
        ),
        ExprKind::Concat(items) => format!("(Concat {})", many(items, expr)),
        ExprKind::Compare { first, rest } => {
            let rest = many(rest, |(op, _, operand)| {
                format!("({} {})", compare_op(*op), expr(operand))
            });
            format!("(Compare {} {rest})", expr(first))
        }
        ExprKind::And(operands) => chain("And", operands),
        ExprKind::Or(operands) => chain("Or", operands),
        ExprKind::Binary { op, left, right } => format!("({op:?} {} {})", expr(left), expr(right)),
        ExprKind::Unary { op, value } => format!("({op:?} {})", expr(value)),
    }
}

fn compare_op(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "eq",
        CompareOp::Ne => "ne",
        CompareOp::Lt => "lt",
        CompareOp::Le => "lteq",
        CompareOp::Gt => "gt",
        CompareOp::Ge => "gteq",
        CompareOp::In => "in",
        CompareOp::NotIn => "notin",
    }
}

fn call(call: &FilterCall<'_>) -> String {
    format!("{} {}", text(&call.name), args(&call.args))
}

fn filters(filters: &[FilterCall<'_>]) -> String {
    many(filters, |filter| format!("({})", call(filter)))
}

fn params(params: &[Param<'_>]) -> String {
    many(params, |p| format!("({} {})", text(p.name), maybe(p.default.as_ref())))
}

fn target(node: &Target<'_>) -> String {
    match node {
        Target::Name { name, .. } => format!("(name {})", text(name)),
        Target::Attribute {
            namespace, attribute, ..
        } => format!("(attribute {} {})", text(namespace), text(attribute)),
        Target::Tuple { items, .. } => format!("(Tuple {})", many(items, target)),
    }
}

fn part(part: &Part<'_>) -> String {
    match part {
        Part::Data { text: data, span } => format!("(data {} {})", span.line, text(data)),
        Part::Expr(node) => expr(node),
    }
}

fn stmts(body: &[Stmt<'_>]) -> String {
    many(body, stmt)
}

fn stmt(node: &Stmt<'_>) -> String {
    let line = node.span.line;
    let tagged = |tag: &str, rest: &dyn Display| format!("({tag} {line} {rest})");
    match &node.kind {
        StmtKind::Output(parts) => format!("(Output {})", many(parts, part)),
        StmtKind::For(node) => {
            let head = format!(
                "{} {} {} {}",
                target(&node.target),
                expr(&node.iter),
                maybe(node.test.as_ref()),
                bool(node.recursive)
            );
            format!("(For {line} {head} {} {})", stmts(&node.body), stmts(&node.otherwise))
        }
        StmtKind::If { branches, otherwise } => {
            let branches = many(branches, |b| format!("({} {})", expr(&b.test), stmts(&b.body)));
            format!("(If {line} {branches} {})", stmts(otherwise))
        }
        StmtKind::Macro {
            name,
            params: list,
            body,
        } => {
            format!("(Macro {line} {} {} {})", text(name), params(list), stmts(body))
        }
        StmtKind::CallBlock {
            params: list,
            call,
            body,
        } => {
            format!("(CallBlock {line} {} {} {})", params(list), expr(call), stmts(body))
        }
        StmtKind::Generation(body) => tagged("Generation", &stmts(body)),
        StmtKind::FilterBlock { filters: list, body } => {
            format!("(FilterBlock {line} {} {})", filters(list), stmts(body))
        }
        StmtKind::With { bindings, body } => {
            let bindings = many(bindings, |(to, value)| format!("({} {})", target(to), expr(value)));
            format!("(With {line} {bindings} {})", stmts(body))
        }
        StmtKind::Set { target: to, value } => format!("(Set {line} {} {})", target(to), expr(value)),
        StmtKind::SetBlock {
            target: to,
            filters: list,
            body,
        } => {
            format!("(SetBlock {line} {} {} {})", target(to), filters(list), stmts(body))
        }
        StmtKind::Block {
            name,
            scoped,
            required,
            body,
        } => format!(
            "(Block {line} {} {} {} {})",
            text(name),
            bool(*scoped),
            bool(*required),
            stmts(body)
        ),
        StmtKind::Autoescape { enabled, body } => {
            format!("(Autoescape {line} {} {})", expr(enabled), stmts(body))
        }
        StmtKind::Break => format!("(Break {line})"),
        StmtKind::Continue => format!("(Continue {line})"),
        StmtKind::Foreign { tag, template, binds } => {
            let name = match tag {
                ForeignTag::Include => "Include",
                ForeignTag::Import => "Import",
                ForeignTag::From => "FromImport",
                ForeignTag::Extends => "Extends",
            };
            format!("({name} {line} {} {})", expr(template), many(binds, |name| text(name)))
        }
    }
}
