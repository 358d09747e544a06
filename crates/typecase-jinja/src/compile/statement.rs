//! Statements to program.

use super::expression::is_computable;
use super::program::{
    AssignAttribute, Block, CallBlock, Escape, Fail, FilterBlock, FilterStep, For, LoopTest, MacroDef, Param, SetBlock,
    Stmt, Target, With,
};
use super::scope::{Analysis, FunctionId};
use super::{Compiler, Frame};
use crate::error::{Error, ErrorKind, Result};
use crate::syntax::ast::{self, ExprKind, FilterCall, Part, StmtKind};
use crate::syntax::names::undeclared;

impl<'p> Compiler<'_, 'p> {
    pub(super) fn body(&mut self, body: &[ast::Stmt<'p>], frame: Frame) -> Result<Block<'p>> {
        let mut stmts = Vec::with_capacity(body.len());
        for stmt in body {
            self.stmt(stmt, frame, &mut stmts)?;
        }
        Ok(Block {
            stmts: stmts.into(),
            cost: 0,
        })
    }

    // One function for each kind of statement, as for expressions.
    fn stmt(&mut self, stmt: &ast::Stmt<'p>, frame: Frame, out: &mut Vec<Stmt<'p>>) -> Result<()> {
        self.cost += 1;
        let at = stmt.span.offset;
        let stmt = match &stmt.kind {
            StmtKind::Output(parts) => return self.output(parts, frame, out),
            StmtKind::Set { target, value } => self.set(target, value, at, frame),
            StmtKind::If { branches, otherwise } => self.conditional_blocks(branches, otherwise, frame.soft()),
            StmtKind::For(node) => self.for_loop(node, at, frame).map(Box::new).map(Stmt::For),
            StmtKind::Macro { name, params, body } => {
                let place = self.place_of(name, frame);
                let def = self.macro_def(Some(name), params, body, at, frame);
                def.map(|def| Stmt::Macro(place, Box::new(def)))
            }
            StmtKind::CallBlock { params, call, body } => self.call_block(params, call, body, at, frame),
            // transformers makes a call block of it.
            StmtKind::Generation(body) => self
                .macro_def(None, &[], body, at, frame)
                .map(Box::new)
                .map(Stmt::Generation),
            StmtKind::FilterBlock { filters, body } => self.filter_block(filters, body, frame),
            StmtKind::With { bindings, body } => self.with(bindings, body, frame),
            StmtKind::SetBlock { target, filters, body } => self.set_block(target, filters, body, at, frame),
            StmtKind::Block { name, required, .. } if *required => Ok(Stmt::Fail(Box::new(Fail {
                template: None,
                kind: ErrorKind::Runtime,
                message: format!("Required block '{name}' not found"),
                at,
            }))),
            StmtKind::Block { name, scoped, body, .. } => match self.block(name, body, scoped.then_some(frame)) {
                Ok(block) => Ok(Stmt::Block(Box::new(block))),
                Err(error) => {
                    self.in_block.get_or_insert(error);
                    return Ok(());
                }
            },
            StmtKind::Autoescape { enabled, body } => self.autoescape(enabled, body, frame),
            StmtKind::Break if frame.in_loop => Ok(Stmt::Break),
            StmtKind::Continue if frame.in_loop => Ok(Stmt::Continue),
            StmtKind::Break => {
                self.late(Error::new(ErrorKind::Syntax, "'break' outside loop").at_offset(at));
                return Ok(());
            }
            StmtKind::Continue => {
                self.late(Error::new(ErrorKind::Syntax, "'continue' not properly in loop").at_offset(at));
                return Ok(());
            }
            StmtKind::Foreign { tag, template, .. } => self.foreign(*tag, template, at, frame),
        };
        out.push(stmt?);
        Ok(())
    }

    fn output(&mut self, parts: &[Part<'p>], frame: Frame, out: &mut Vec<Stmt<'p>>) -> Result<()> {
        for part in parts {
            out.push(match part {
                Part::Data { text, .. } => Stmt::Text(text),
                Part::Expr(expr) => {
                    self.constant = is_computable(expr);
                    let written = self.expr(expr, frame);
                    self.constant = false;
                    Stmt::Emit(written?, frame.escape)
                }
            });
        }
        Ok(())
    }

    fn set(&mut self, target: &ast::Target<'p>, value: &ast::Expr<'p>, at: u32, frame: Frame) -> Result<Stmt<'p>> {
        if let ast::Target::Attribute {
            namespace, attribute, ..
        } = target
        {
            return Ok(Stmt::AssignAttribute(Box::new(AssignAttribute {
                namespace: self.name(namespace, frame),
                attribute,
                value: self.expr(value, frame)?,
                at,
            })));
        }
        let value = self.expr(value, frame)?;
        Ok(match self.target(target, frame) {
            Target::Place(place) => Stmt::Assign(place, value),
            target => Stmt::AssignTuple(Box::new((target, value))),
        })
    }

    fn conditional_blocks(
        &mut self,
        branches: &[ast::Branch<'p>],
        otherwise: &[ast::Stmt<'p>],
        frame: Frame,
    ) -> Result<Stmt<'p>> {
        let branches = branches
            .iter()
            .map(|branch| Ok((self.expr(&branch.test, frame)?, self.body(&branch.body, frame)?)))
            .collect::<Result<_>>()?;
        Ok(Stmt::If(branches, self.body(otherwise, frame)?))
    }

    fn call_block(
        &mut self,
        params: &[ast::Param<'p>],
        call: &ast::Expr<'p>,
        body: &[ast::Stmt<'p>],
        at: u32,
        frame: Frame,
    ) -> Result<Stmt<'p>> {
        let body = self.macro_def(None, params, body, at, frame)?;
        let ExprKind::Call { callee, args } = &call.kind else {
            return Err(Error::new(ErrorKind::Syntax, "expected call").at_offset(at));
        };
        if let Some(arg) = args.keywords.iter().find(|arg| arg.name == "caller") {
            let error = Error::new(ErrorKind::Syntax, "keyword argument repeated: caller");
            self.late(error.at_offset(arg.span.offset));
        }
        Ok(Stmt::CallBlock(Box::new(CallBlock {
            body,
            call: self.call(callee, args, call.span.offset, frame)?,
            escape: frame.escape,
        })))
    }

    fn filter_block(&mut self, filters: &[FilterCall<'p>], body: &[ast::Stmt<'p>], frame: Frame) -> Result<Stmt<'p>> {
        let macros = self.macros;
        let inner = self.inner_scope(frame, |analysis| {
            analysis.body(body);
            analysis.filters(filters);
        });
        let entry = self.entry(inner, false);
        let body = self.body(body, inner)?;
        Ok(Stmt::FilterBlock(Box::new(FilterBlock {
            entry: entry.into(),
            body,
            filters: self.filter_steps(filters, inner)?,
            leave: self.leave(inner, macros),
        })))
    }

    fn with(
        &mut self,
        bindings: &[(ast::Target<'p>, ast::Expr<'p>)],
        body: &[ast::Stmt<'p>],
        frame: Frame,
    ) -> Result<Stmt<'p>> {
        let macros = self.macros;
        let inner = self.inner_scope(frame, |analysis| {
            bindings.iter().for_each(|(target, _)| analysis.target(target, true));
            analysis.body(body);
        });
        let entry = self.entry(inner, false);
        let bindings = bindings
            .iter()
            .map(|(target, value)| Ok((self.target(target, inner), self.expr(value, frame)?)))
            .collect::<Result<_>>()?;
        let body = self.body(body, inner)?;
        Ok(Stmt::With(Box::new(With {
            entry: entry.into(),
            bindings,
            body,
            leave: self.leave(inner, macros),
        })))
    }

    fn set_block(
        &mut self,
        target: &ast::Target<'p>,
        filters: &[FilterCall<'p>],
        body: &[ast::Stmt<'p>],
        at: u32,
        frame: Frame,
    ) -> Result<Stmt<'p>> {
        let macros = self.macros;
        let inner = self.inner_scope(frame, |analysis| analysis.body(body));
        // Jinja does not look for names in these filters, and fails if it does not know them from elsewhere.
        if let Some(name) = names_in_filters(filters)
            .into_iter()
            .find(|name| self.table.find(inner.scope, name).is_none())
        {
            let message = format!("Tried to resolve a name to a reference that was unknown to the frame ('{name}')");
            return Err(Error::runtime(message).at_offset(at));
        }
        let entry = self.entry(inner, false);
        let body = self.body(body, inner)?;
        Ok(Stmt::SetBlock(Box::new(SetBlock {
            target: self.target(target, frame),
            entry: entry.into(),
            body,
            filters: self.filter_steps(filters, inner)?,
            leave: self.leave(inner, macros),
        })))
    }

    fn autoescape(&mut self, enabled: &ast::Expr<'p>, body: &[ast::Stmt<'p>], frame: Frame) -> Result<Stmt<'p>> {
        let inner = self.inner_scope(frame, |analysis| {
            analysis.expr(enabled);
            analysis.body(body);
        });
        // A scope without variables of its own until something is set inside.
        let macros = self.macros;
        let entry = self.entry(inner, false);
        let flag = self.expr(enabled, inner)?;
        let escape = match &enabled.kind {
            ExprKind::Const(ast::Const::Bool(true)) => Escape::Always,
            ExprKind::Const(ast::Const::Bool(false)) => Escape::Never,
            _ => Escape::Asked,
        };
        let body = self.body(body, Frame { escape, ..inner })?;
        Ok(Stmt::With(Box::new(With {
            entry: entry.into(),
            bindings: Box::default(),
            body: Block {
                stmts: Box::new([Stmt::Autoescape(Box::new((flag, body)))]),
                cost: 0,
            },
            leave: self.leave(inner, macros),
        })))
    }

    fn foreign(&mut self, tag: ast::ForeignTag, template: &ast::Expr<'p>, at: u32, frame: Frame) -> Result<Stmt<'p>> {
        Ok(Stmt::Fail(Box::new(Fail {
            template: Some(self.expr(template, frame)?),
            // What Jinja raises in an environment without a loader.
            kind: ErrorKind::Type,
            message: format!(
                "no loader for this environment specified: '{}' needs another template",
                tag.name()
            ),
            at,
        })))
    }

    /// A scope inside `frame`, in the same function.
    fn inner_scope(&mut self, frame: Frame, analyse: impl FnOnce(&mut Analysis<'_, 'p>)) -> Frame {
        let space = self.table.scopes[frame.scope].space;
        let symbols = self.table.inner(frame.scope, frame.function, space);
        let mut analysis = Analysis::new(&mut self.table, symbols);
        analyse(&mut analysis);
        let symbols = analysis.symbols;
        frame.inner(self.table.push(symbols))
    }

    /// A scope inside `frame` that is a function of its own.
    fn inner_function(&mut self, frame: Frame, analyse: impl FnOnce(&mut Analysis<'_, 'p>)) -> (FunctionId, Frame) {
        let function = self.table.new_function(Some(frame.function));
        let space = self.table.new_space();
        let symbols = self.table.inner(frame.scope, function, space);
        let mut analysis = Analysis::new(&mut self.table, symbols);
        analyse(&mut analysis);
        let symbols = analysis.symbols;
        let scope = self.table.push(symbols);
        let inner = Frame {
            function,
            in_loop: false,
            ..frame.inner(scope)
        };
        (function, inner)
    }

    fn for_loop(&mut self, node: &ast::For<'p>, at: u32, frame: Frame) -> Result<For<'p>> {
        if let Some(offset) = stores_loop(node) {
            return Err(Error::new(
                ErrorKind::Syntax,
                "Can't assign to special loop variable in for-loop target",
            )
            .at_offset(offset));
        }
        let extended = node.recursive
            || !undeclared(&node.body, &["loop"]).is_empty()
            || has_scoped_block(&node.body)
            || has_scoped_block(&node.otherwise);
        let macros = self.macros;
        let (function, space) = if node.recursive {
            (self.table.new_function(Some(frame.function)), self.table.new_space())
        } else {
            (frame.function, self.table.scopes[frame.scope].space)
        };
        let iter = self.expr(&node.iter, frame)?;

        let mut loop_var = None;
        let symbols = self.table.inner(frame.scope, function, space);
        let mut analysis = Analysis::new(&mut self.table, symbols);
        if extended {
            loop_var = Some(analysis.declare_parameter("loop"));
        }
        analysis.target(&node.target, true);
        analysis.body(&node.body);
        let symbols = analysis.symbols;
        let body_frame = Frame {
            function,
            in_loop: true,
            ..frame.inner(self.table.push(symbols))
        };
        let test = match &node.test {
            Some(test) => {
                let space = self.table.new_space();
                let symbols = self.table.inner(frame.scope, function, space);
                let mut analysis = Analysis::new(&mut self.table, symbols);
                analysis.target(&node.target, true);
                analysis.expr(test);
                let symbols = analysis.symbols;
                let test_frame = Frame {
                    function,
                    ..frame.inner(self.table.push(symbols))
                };
                Some(Box::new(LoopTest {
                    entry: self.entry(test_frame, false).into(),
                    target: self.target(&node.target, test_frame),
                    test: self.expr(test, test_frame)?,
                }))
            }
            None => None,
        };
        let target = self.target(&node.target, body_frame);
        let entry = self.entry(body_frame, false);
        let outer_cost = std::mem::take(&mut self.cost);
        let mut body = self.body(&node.body, body_frame)?;
        body.cost = std::mem::replace(&mut self.cost, outer_cost + 1) + 1;
        let leave = self.leave(body_frame, macros);

        let mut else_entry = Vec::new();
        let mut otherwise = None;
        if !node.otherwise.is_empty() {
            let symbols = self.table.inner(frame.scope, function, space);
            let mut analysis = Analysis::new(&mut self.table, symbols);
            analysis.body(&node.otherwise);
            let symbols = analysis.symbols;
            let else_frame = Frame {
                function,
                in_loop: frame.in_loop && !node.recursive,
                ..frame.inner(self.table.push(symbols))
            };
            else_entry = self.entry(else_frame, false);
            otherwise = Some(self.body(&node.otherwise, else_frame)?);
        }
        Ok(For {
            iter,
            target,
            test,
            entry: entry.into(),
            body,
            leave,
            loop_escapes: extended && loop_escapes(&node.body),
            loop_slot: loop_var.map(|var| self.table.vars[var].slot),
            else_entry: else_entry.into(),
            otherwise,
            recursive: node.recursive.then(|| self.table.functions[function].slots),
            keeps_frame: self.table.functions[function].keeps_frame,
            at,
        })
    }

    fn macro_def(
        &mut self,
        name: Option<&'p str>,
        params: &[ast::Param<'p>],
        body: &[ast::Stmt<'p>],
        at: u32,
        frame: Frame,
    ) -> Result<MacroDef<'p>> {
        self.keep_frames(frame.function);
        let special = undeclared(body, &["caller", "kwargs", "varargs"]);
        let is_param = |name: &str| params.iter().any(|param| param.name == name);
        let accesses_caller = special.contains(&"caller");
        if let Some(param) = params.iter().find(|param| param.name == "caller")
            && accesses_caller
            && param.default.is_none()
        {
            return Err(Error::new(
                ErrorKind::Syntax,
                "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.",
            )
            .at_offset(at));
        }
        let (mut caller, mut kwargs, mut varargs) = (None, None, None);
        let (function, inner) = self.inner_function(frame, |analysis| {
            analysis.params(params);
            analysis.body(body);
            if accesses_caller && !is_param("caller") {
                caller = Some(analysis.declare_parameter("caller"));
            }
            if special.contains(&"kwargs") && !is_param("kwargs") {
                kwargs = Some(analysis.declare_parameter("kwargs"));
            }
            if special.contains(&"varargs") && !is_param("varargs") {
                varargs = Some(analysis.declare_parameter("varargs"));
            }
        });
        let entry = self.entry(inner, true);
        let outer_cost = std::mem::take(&mut self.cost);
        let params = params
            .iter()
            .map(|param| {
                Ok(Param {
                    name: param.name,
                    slot: self.slot_of(param.name, inner),
                    default: match &param.default {
                        Some(default) => Some(self.expr(default, inner)?),
                        None => None,
                    },
                })
            })
            .collect::<Result<_>>()?;
        self.cost = outer_cost;
        let slot = |var: Option<usize>| var.map(|var| self.table.vars[var].slot);
        let (caller, kwargs, varargs) = (slot(caller), slot(kwargs), slot(varargs));
        let function = self.function(function, entry, |compiler| compiler.body(body, inner))?;
        Ok(MacroDef {
            name,
            params,
            caller,
            accesses_caller,
            kwargs,
            varargs,
            function,
        })
    }

    pub(super) fn filter_steps(&mut self, filters: &[FilterCall<'p>], frame: Frame) -> Result<Box<[FilterStep<'p>]>> {
        filters.iter().map(|filter| self.filter_step(filter, frame)).collect()
    }

    fn target(&mut self, target: &ast::Target<'p>, frame: Frame) -> Target<'p> {
        match target {
            ast::Target::Name { name, .. } => Target::Place(self.place_of(name, frame)),
            ast::Target::Attribute {
                namespace,
                attribute,
                span,
            } => Target::Attribute {
                namespace: self.name(namespace, frame),
                attribute,
                at: span.offset,
            },
            ast::Target::Tuple { items, span } => Target::Tuple {
                items: items.iter().map(|item| self.target(item, frame)).collect(),
                at: span.offset,
            },
        }
    }
}

/// The names that the arguments of `filters` read, in order.
fn names_in_filters<'p>(filters: &[FilterCall<'p>]) -> Vec<&'p str> {
    fn in_expr<'p>(expr: &ast::Expr<'p>, names: &mut Vec<&'p str>) {
        if let ExprKind::Name(name) = expr.kind {
            names.push(name);
        }
        expr.kind.for_each_child(&mut |child| in_expr(child, names));
    }
    let mut names = Vec::new();
    for FilterCall { args, .. } in filters {
        let keywords = args.keywords.iter().map(|arg| &arg.value);
        let arguments = args.positional.iter().chain(keywords);
        for arg in arguments.chain(&args.star).chain(&args.double_star) {
            in_expr(arg, &mut names);
        }
    }
    names
}

/// Whether the loop assigns to `loop` anywhere inside, and where.
fn stores_loop(node: &ast::For<'_>) -> Option<u32> {
    fn in_target(target: &ast::Target<'_>) -> Option<u32> {
        match target {
            ast::Target::Name { name: "loop", span } => Some(span.offset),
            ast::Target::Tuple { items, .. } => items.iter().find_map(in_target),
            _ => None,
        }
    }
    fn in_body(body: &[ast::Stmt<'_>]) -> Option<u32> {
        body.iter().find_map(|stmt| {
            let here = match &stmt.kind {
                StmtKind::Set { target, .. } | StmtKind::SetBlock { target, .. } => in_target(target),
                StmtKind::For(node) => in_target(&node.target),
                _ => None,
            };
            here.or_else(|| {
                let mut found = None;
                super::literals::each_expr_and_body(stmt, &mut |inside| {
                    if let (super::Inside::Body(body), None) = (inside, found) {
                        found = in_body(body);
                    }
                });
                found
            })
        })
    }
    in_target(&node.target)
        .or_else(|| in_body(&node.body))
        .or_else(|| in_body(&node.otherwise))
}

fn has_scoped_block(body: &[ast::Stmt<'_>]) -> bool {
    body.iter().any(|stmt| {
        let mut found = matches!(stmt.kind, StmtKind::Block { scoped: true, .. });
        super::literals::each_expr_and_body(stmt, &mut |inside| {
            if let super::Inside::Body(body) = inside {
                found = found || has_scoped_block(body);
            }
        });
        found
    })
}

/// Whether `loop` is used other than as `loop.name` or `loop(...)` in `body`.
fn loop_escapes(body: &[ast::Stmt<'_>]) -> bool {
    fn in_args(args: &ast::Args<'_>) -> bool {
        args.positional.iter().any(in_expr)
            || args.keywords.iter().any(|arg| in_expr(&arg.value))
            || args.star.iter().any(in_expr)
            || args.double_star.iter().any(in_expr)
    }
    fn in_expr(expr: &ast::Expr<'_>) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => *name == "loop",
            ExprKind::Getattr { value, name } if matches!(value.kind, ExprKind::Name("loop")) => {
                // As a value, the method would keep the loop.
                matches!(*name, "cycle" | "changed")
            }
            ExprKind::Call { callee, args } => {
                let direct = match &callee.kind {
                    ExprKind::Name("loop") => true,
                    ExprKind::Getattr { value, .. } => matches!(value.kind, ExprKind::Name("loop")),
                    _ => false,
                };
                (!direct && in_expr(callee)) || in_args(args)
            }
            _ => {
                let mut found = false;
                expr.kind.for_each_child(&mut |child| found = found || in_expr(child));
                found
            }
        }
    }
    body.iter().any(|stmt| {
        let mut found = false;
        super::literals::each_expr_and_body(stmt, &mut |inside| {
            found = found
                || match inside {
                    super::Inside::Expr(expr) => in_expr(expr),
                    super::Inside::Filter(filter) => in_args(&filter.args),
                    super::Inside::Body(body) => loop_escapes(body),
                };
        });
        found
    })
}
