//! Which variable a name means: Jinja's own analysis (`jinja2/idtracking.py`), with slots for Python's local variables.
//!
//! Every scope (the template, a loop body, a macro, ...) has [`Symbols`]. A name that a scope stores gets a variable of
//! that scope, which starts as a copy of the variable outside, if there is one. A name that is only read means the
//! nearest scope that knows it, or the context. As in Jinja, variables of one name in two scopes at the same depth of
//! the same function share a slot.

use crate::syntax::ast::{Args, Expr, ExprKind, FilterCall, Param, Part, Stmt, StmtKind, Target};
use std::collections::{BTreeSet, HashMap, HashSet};

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
    pub(super) loads: Loads,
    pub(super) stores: BTreeSet<&'s str>,
}

/// How the variables of a scope are loaded, in the order in which they were first needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    list: Vec<(VarId, Load)>,
    at: HashMap<VarId, usize>,
}

impl Loads {
    pub(super) fn iter(&self) -> impl Iterator<Item = (VarId, Load)> + '_ {
        self.list.iter().copied()
    }

    fn get(&self, var: VarId) -> Option<Load> {
        Some(self.list[*self.at.get(&var)?].1)
    }

    /// Sets the load of `var`, or takes it away again if it was the last one added.
    fn set(&mut self, var: VarId, load: Option<Load>) {
        match (load, self.at.get(&var)) {
            (Some(load), Some(&at)) => self.list[at].1 = load,
            (Some(load), None) => {
                self.at.insert(var, self.list.len());
                self.list.push((var, load));
            }
            (None, _) => {
                self.at.remove(&var);
                self.list.pop();
            }
        }
    }
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

    /// A variable that no scope knows.
    pub(super) fn new_var(&mut self, name: &'s str, function: FunctionId, slot: u32) -> VarId {
        self.vars.push(Var { name, function, slot });
        self.vars.len() - 1
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
            if let Some(load) = symbols.loads.get(var) {
                return Some((load, symbols.stores.contains(self.vars[var].name)));
            }
            scope = symbols.parent;
        }
        None
    }

    /// The variable that `name` means in `scope`, if it is stored there or around it.
    pub(super) fn find_stored(&self, scope: ScopeId, name: &str) -> Option<VarId> {
        let mut next = Some(scope);
        while let Some(id) = next {
            if self.scopes[id].stores.contains(name) {
                return self.find(scope, name);
            }
            next = self.scopes[id].parent;
        }
        None
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
    /// What was done to the symbols, so that a branch can be taken back. Jinja copies them for each branch, which takes
    /// time in the square of a template's size when it has many names and many branches.
    changes: Vec<Change<'s>>,
}

/// One change of the symbols.
#[derive(Clone, Copy, Debug)]
enum Change<'s> {
    Ref(&'s str),
    /// With what was there before.
    Load(VarId, Option<Load>),
    /// Whether the load of what some branch stores is known by now: it stays the same further out.
    Store(&'s str, bool),
}

/// What a branch changes.
#[derive(Debug, Default)]
struct Branch<'s> {
    refs: Vec<(&'s str, VarId)>,
    loads: Vec<(VarId, Load)>,
    stores: Vec<&'s str>,
}

impl<'t, 's> Analysis<'t, 's> {
    pub(super) fn new(table: &'t mut Table<'s>, symbols: Symbols<'s>) -> Self {
        Analysis {
            table,
            symbols,
            changes: Vec::new(),
        }
    }

    fn find(&self, name: &str) -> Option<VarId> {
        match self.symbols.refs.get(name) {
            Some(var) => Some(*var),
            None => self.table.find_from(self.symbols.parent, name),
        }
    }

    fn define(&mut self, name: &'s str, load: Load) -> VarId {
        let var = self.table.intern(&self.symbols, name);
        self.set_ref(name, var);
        self.set_load(var, load);
        var
    }

    fn set_ref(&mut self, name: &'s str, var: VarId) {
        // A scope has one variable of a name, so this adds or does nothing.
        if self.symbols.refs.insert(name, var).is_none() {
            self.changes.push(Change::Ref(name));
        }
    }

    fn set_load(&mut self, var: VarId, load: Load) {
        let before = self.symbols.loads.get(var);
        if before != Some(load) {
            self.symbols.loads.set(var, Some(load));
            self.changes.push(Change::Load(var, before));
        }
    }

    fn set_stored(&mut self, name: &'s str) {
        if self.symbols.stores.insert(name) {
            self.changes.push(Change::Store(name, false));
        }
    }

    pub(super) fn store(&mut self, name: &'s str) {
        self.set_stored(name);
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
        self.set_stored(name);
        self.define(name, Load::Parameter)
    }

    fn load(&mut self, name: &'s str) {
        if self.find(name).is_none() {
            self.define(name, Load::Resolve);
        }
    }

    /// The last branch of an `if`, which need not be taken back, after `branches`; and what all of them come to.
    fn last_branch(&mut self, branches: Vec<Branch<'s>>, visit: impl FnOnce(&mut Self)) {
        let start = self.changes.len();
        visit(self);
        let mut stores: BTreeSet<&'s str> = BTreeSet::new();
        for branch in branches {
            for (name, var) in branch.refs {
                self.set_ref(name, var);
            }
            for (var, load) in branch.loads {
                self.set_load(var, load);
            }
            for name in branch.stores {
                self.set_stored(name);
                stores.insert(name);
            }
        }
        for change in &mut self.changes[start..] {
            if let Change::Store(name, is_settled @ false) = change {
                *is_settled = true;
                stores.insert(name);
            }
        }
        for name in stores {
            let Some(var) = self.find(name) else { continue };
            let load = match self.table.find_from(self.symbols.parent, name) {
                Some(outer) => Load::Alias(outer),
                None => Load::Resolve,
            };
            self.set_load(var, load);
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
                let visit_elifs = |analysis: &mut Self| {
                    for branch in elifs {
                        analysis.expr(&branch.test);
                        analysis.last_branch(Vec::new(), |analysis| analysis.body(&branch.body));
                    }
                };
                if elifs.is_empty() && otherwise.is_empty() {
                    return self.last_branch(Vec::new(), |analysis| analysis.body(&first.body));
                }
                let body = self.in_branch(|analysis| analysis.body(&first.body));
                if otherwise.is_empty() {
                    return self.last_branch(vec![body], visit_elifs);
                }
                let elifs = self.in_branch(visit_elifs);
                self.last_branch(vec![body, elifs], |analysis| analysis.body(otherwise));
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

    /// What `visit` changes; it is taken back.
    fn in_branch(&mut self, visit: impl FnOnce(&mut Self)) -> Branch<'s> {
        let start = self.changes.len();
        visit(self);
        let mut branch = Branch::default();
        let mut seen = HashSet::new();
        for change in &self.changes[start..] {
            match change {
                Change::Ref(name) => branch.refs.extend(self.symbols.refs.get(name).map(|var| (*name, *var))),
                Change::Load(var, _) if seen.insert(*var) => {
                    branch
                        .loads
                        .extend(self.symbols.loads.get(*var).map(|load| (*var, load)));
                }
                Change::Load(..) => {}
                Change::Store(name, _) => branch.stores.push(name),
            }
        }
        for change in self.changes.drain(start..).rev() {
            match change {
                Change::Ref(name) => {
                    self.symbols.refs.remove(name);
                }
                Change::Load(var, before) => self.symbols.loads.set(var, before),
                Change::Store(name, _) => {
                    self.symbols.stores.remove(name);
                }
            }
        }
        branch
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
        expr.kind.for_each_child(&mut |child| self.expr(child));
    }
}
