//! Which variable a name means: Jinja's own analysis (`jinja2/idtracking.py`), with slots for Python's local variables.
//!
//! Every scope (the template, a loop body, a macro, ...) has [`Symbols`]. A name that a scope stores gets a variable of
//! that scope, which starts as a copy of the variable outside, if there is one. A name that is only read means the
//! nearest scope that knows it, or the context. As in Jinja, variables of one name in two scopes at the same depth of
//! the same function share a slot.

use super::undeclared::each_child;
use crate::syntax::ast::{Args, Expr, ExprKind, FilterCall, Param, Part, Stmt, StmtKind, Target};
use std::collections::{BTreeSet, HashMap};

/// A variable.
pub(super) type VarId = usize;

/// A scope, by its place in [`Table::scopes`].
pub(super) type ScopeId = usize;

/// A function, by its place in [`Table::functions`].
pub(super) type FunctionId = usize;

#[derive(Clone, Copy, Debug)]
pub(super) struct Var<'s> {
    pub(super) name: &'s str,
    pub(super) function: FunctionId,
    pub(super) slot: u32,
}

/// How a variable gets its first value when its scope is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Parameter,
    Resolve,
    Alias(VarId),
    Undefined,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Symbols<'s> {
    pub(super) level: usize,
    pub(super) parent: Option<ScopeId>,
    /// The function that runs the scope, and the space in which names at one level share slots.
    pub(super) function: FunctionId,
    pub(super) space: usize,
    pub(super) refs: HashMap<&'s str, VarId>,
    /// In the order in which they were first needed.
    pub(super) loads: Vec<(VarId, Load)>,
    pub(super) stores: BTreeSet<&'s str>,
}

#[derive(Debug, Default)]
pub(super) struct Function {
    /// The function that it is defined in.
    pub(super) parent: Option<FunctionId>,
    pub(super) slots: u32,
    pub(super) keeps_frame: bool,
}

/// All scopes, functions and variables of a template.
#[derive(Debug, Default)]
pub(super) struct Table<'s> {
    pub(super) scopes: Vec<Symbols<'s>>,
    pub(super) functions: Vec<Function>,
    pub(super) vars: Vec<Var<'s>>,
    known: HashMap<(usize, usize, &'s str), VarId>,
    spaces: usize,
}

impl<'s> Table<'s> {
    pub(super) fn new_function(&mut self, parent: Option<FunctionId>) -> FunctionId {
        self.functions.push(Function {
            parent,
            ..Function::default()
        });
        self.functions.len() - 1
    }

    /// A space for names whose slots must not be shared with those of another.
    pub(super) fn new_space(&mut self) -> usize {
        self.spaces += 1;
        self.spaces
    }

    /// A slot of its own.
    pub(super) fn new_slot(&mut self, function: FunctionId) -> u32 {
        let slot = self.functions[function].slots;
        self.functions[function].slots += 1;
        slot
    }

    /// An empty scope inside `parent`.
    pub(super) fn inner(&self, parent: ScopeId, function: FunctionId, space: usize) -> Symbols<'s> {
        Symbols {
            level: self.scopes[parent].level + 1,
            parent: Some(parent),
            function,
            space,
            ..Symbols::default()
        }
    }

    pub(super) fn push(&mut self, symbols: Symbols<'s>) -> ScopeId {
        self.scopes.push(symbols);
        self.scopes.len() - 1
    }

    /// The variable that `name` means in `scope`, with the load of the scope that it belongs to.
    pub(super) fn find(&self, scope: ScopeId, name: &str) -> Option<VarId> {
        self.find_from(Some(scope), name)
    }

    fn find_from(&self, mut scope: Option<ScopeId>, name: &str) -> Option<VarId> {
        while let Some(id) = scope {
            let symbols = &self.scopes[id];
            if let Some(var) = symbols.refs.get(name) {
                return Some(*var);
            }
            scope = symbols.parent;
        }
        None
    }

    /// How `var` is loaded, and whether its scope stores it.
    pub(super) fn load_of(&self, scope: ScopeId, var: VarId) -> Option<(Load, bool)> {
        let mut scope = Some(scope);
        while let Some(id) = scope {
            let symbols = &self.scopes[id];
            if let Some((_, load)) = symbols.loads.iter().find(|(known, _)| *known == var) {
                return Some((*load, symbols.stores.contains(self.vars[var].name)));
            }
            scope = symbols.parent;
        }
        None
    }

    /// All variables stored in `scope` or around it, the innermost of each name.
    pub(super) fn stored(&self, scope: ScopeId) -> Vec<(&'s str, VarId)> {
        let mut found: Vec<(&'s str, VarId)> = Vec::new();
        let mut next = Some(scope);
        while let Some(id) = next {
            let symbols = &self.scopes[id];
            for name in &symbols.stores {
                if !found.iter().any(|(known, _)| known == name)
                    && let Some(var) = self.find(scope, name)
                {
                    found.push((name, var));
                }
            }
            next = symbols.parent;
        }
        found
    }

    fn intern(&mut self, symbols: &Symbols<'s>, name: &'s str) -> VarId {
        let key = (symbols.space, symbols.level, name);
        if let Some(var) = self.known.get(&key) {
            return *var;
        }
        let slot = self.new_slot(symbols.function);
        self.vars.push(Var {
            name,
            function: symbols.function,
            slot,
        });
        self.known.insert(key, self.vars.len() - 1);
        self.vars.len() - 1
    }
}

/// Collects the symbols of one scope.
pub(super) struct Analysis<'t, 's> {
    pub(super) table: &'t mut Table<'s>,
    pub(super) symbols: Symbols<'s>,
}

impl<'s> Analysis<'_, 's> {
    fn find(&self, name: &str) -> Option<VarId> {
        match self.symbols.refs.get(name) {
            Some(var) => Some(*var),
            None => self.table.find_from(self.symbols.parent, name),
        }
    }

    fn define(&mut self, name: &'s str, load: Load) -> VarId {
        let var = self.table.intern(&self.symbols, name);
        self.symbols.refs.insert(name, var);
        set_load(&mut self.symbols.loads, var, load);
        var
    }

    pub(super) fn store(&mut self, name: &'s str) {
        self.symbols.stores.insert(name);
        if self.symbols.refs.contains_key(name) {
            return;
        }
        let load = match self.table.find_from(self.symbols.parent, name) {
            Some(outer) => Load::Alias(outer),
            None => Load::Undefined,
        };
        self.define(name, load);
    }

    pub(super) fn declare_parameter(&mut self, name: &'s str) -> VarId {
        self.symbols.stores.insert(name);
        self.define(name, Load::Parameter)
    }

    fn load(&mut self, name: &'s str) {
        if self.find(name).is_none() {
            self.define(name, Load::Resolve);
        }
    }

    fn branch_update(&mut self, branches: Vec<Symbols<'s>>) {
        let mut stores: Vec<&'s str> = Vec::new();
        for branch in &branches {
            for name in &branch.stores {
                if !self.symbols.stores.contains(name) && !stores.contains(name) {
                    stores.push(name);
                }
            }
        }
        stores.sort_unstable();
        for branch in branches {
            self.symbols.refs.extend(branch.refs);
            for (var, load) in branch.loads {
                set_load(&mut self.symbols.loads, var, load);
            }
            self.symbols.stores.extend(branch.stores);
        }
        for name in stores {
            let Some(var) = self.find(name) else { continue };
            let load = match self.table.find_from(self.symbols.parent, name) {
                Some(outer) => Load::Alias(outer),
                None => Load::Resolve,
            };
            set_load(&mut self.symbols.loads, var, load);
        }
    }

    pub(super) fn body(&mut self, body: &[Stmt<'s>]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    pub(super) fn target(&mut self, target: &Target<'s>, as_parameter: bool) {
        match target {
            Target::Name { name, .. } if as_parameter => {
                self.declare_parameter(name);
            }
            Target::Name { name, .. } => self.store(name),
            Target::Attribute { namespace, .. } => self.load(namespace),
            Target::Tuple { items, .. } => items.iter().for_each(|item| self.target(item, as_parameter)),
        }
    }

    pub(super) fn params(&mut self, params: &[Param<'s>]) {
        for param in params {
            self.declare_parameter(param.name);
        }
        for default in params.iter().filter_map(|param| param.default.as_ref()) {
            self.expr(default);
        }
    }

    /// What a statement means to the scope that it stands in; inner scopes are not looked into.
    fn stmt(&mut self, stmt: &Stmt<'s>) {
        match &stmt.kind {
            StmtKind::Output(parts) => {
                for part in parts {
                    if let Part::Expr(expr) = part {
                        self.expr(expr);
                    }
                }
            }
            StmtKind::For(node) => self.expr(&node.iter),
            StmtKind::If { branches, otherwise } => {
                // Jinja's tree has one node for the first branch, with those after it as nested nodes of one branch.
                let Some((first, elifs)) = branches.split_first() else {
                    return;
                };
                self.expr(&first.test);
                let body = self.in_branch(|analysis| analysis.body(&first.body));
                let elifs = self.in_branch(|analysis| {
                    for branch in elifs {
                        analysis.expr(&branch.test);
                        let body = analysis.in_branch(|analysis| analysis.body(&branch.body));
                        let nothing = analysis.in_branch(|_| {});
                        analysis.branch_update(vec![body, nothing.clone(), nothing]);
                    }
                });
                let otherwise = self.in_branch(|analysis| analysis.body(otherwise));
                self.branch_update(vec![body, elifs, otherwise]);
            }
            StmtKind::Macro { name, .. } => self.store(name),
            StmtKind::CallBlock { call, .. } => self.expr(call),
            StmtKind::FilterBlock { filters, .. } => self.filters(filters),
            StmtKind::With { bindings, .. } => bindings.iter().for_each(|(_, value)| self.expr(value)),
            StmtKind::Set { target, value } => {
                self.expr(value);
                self.target(target, false);
            }
            StmtKind::SetBlock { target, .. } => self.target(target, false),
            StmtKind::Foreign { template, binds, .. } => {
                self.expr(template);
                binds.iter().for_each(|name| self.store(name));
            }
            StmtKind::Autoescape { .. }
            | StmtKind::Generation(_)
            | StmtKind::Block { .. }
            | StmtKind::Break
            | StmtKind::Continue => {}
        }
    }

    fn in_branch(&mut self, visit: impl FnOnce(&mut Self)) -> Symbols<'s> {
        let original = self.symbols.clone();
        visit(self);
        std::mem::replace(&mut self.symbols, original)
    }

    pub(super) fn filters(&mut self, filters: &[FilterCall<'s>]) {
        filters.iter().for_each(|filter| self.args(&filter.args));
    }

    fn args(&mut self, args: &Args<'s>) {
        args.positional.iter().for_each(|arg| self.expr(arg));
        args.keywords.iter().for_each(|arg| self.expr(&arg.value));
        args.star.iter().for_each(|arg| self.expr(arg));
        args.double_star.iter().for_each(|arg| self.expr(arg));
    }

    pub(super) fn expr(&mut self, expr: &Expr<'s>) {
        if let ExprKind::Name(name) = expr.kind {
            return self.load(name);
        }
        each_child(expr, &mut |child| self.expr(child));
    }
}

fn set_load(loads: &mut Vec<(VarId, Load)>, var: VarId, load: Load) {
    match loads.iter_mut().find(|(known, _)| *known == var) {
        Some(entry) => entry.1 = load,
        None => loads.push((var, load)),
    }
}
