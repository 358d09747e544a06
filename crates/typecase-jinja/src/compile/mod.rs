//! Turns the syntax tree of a template into a [`Program`](program::Program).
//!
//! Two passes over each scope, as in Jinja: [`scope`] finds out which variables it has, then [`statement`] and
//! [`expression`] write the program. Names end up as slots of a function's frame; nothing is looked up by name while a
//! template runs but keys and attributes.

mod expression;
mod literals;
pub(crate) mod meta;
pub(crate) mod program;
mod scope;
mod statement;

use crate::error::{Error, ErrorKind, Result};
use crate::syntax::ast::{Stmt, StmtKind};
use crate::syntax::names::undeclared;
use literals::{Inside, Literals, each_expr_and_body};
use program::{Block, Escape, Function, Init, InitFrom, Place, Program};
use scope::{Analysis, FunctionId, Load, ScopeId, Symbols, Table, VarId};
use std::collections::HashMap;
use std::sync::OnceLock;

/// What a program borrows from.
#[derive(Debug)]
pub(crate) struct Source {
    /// The template, with newlines as `\n` and without the last one.
    pub(crate) text: String,
    /// Literals that are not spelled in the text as they are.
    pub(crate) literals: OnceLock<String>,
}

/// Compiles the template of `source`.
pub(crate) fn compile(source: &Source) -> Result<Program<'_>> {
    let (template, late) = crate::syntax::parse_for_compiler(&source.text).map_err(|err| syntax_error(&err))?;
    let literals = Literals::collect(&template.body);
    let pool = source.literals.get_or_init(|| literals.text.clone());
    let mut blocks = Vec::new();
    let mut block_ids = HashMap::new();
    find_blocks(&template.body, &mut blocks, &mut block_ids)?;
    let mut compiler = Compiler {
        table: Table::default(),
        context: Vec::new(),
        context_ids: HashMap::new(),
        literals: &literals,
        pool,
        block_ids,
        root_scope: 0,
        cost: 0,
        macros: 0,
        late: None,
        in_block: None,
        constant: false,
        folding: 0,
        exported: None,
    };
    let root = compiler.root(&template.body)?;
    let blocks = blocks
        .into_iter()
        .map(|(name, body)| Ok((name, compiler.block(name, body, None)?)))
        .collect::<Result<_>>()?;
    if let Some(error) = late {
        return Err(syntax_error(&error));
    }
    if let Some(error) = compiler.in_block.or(compiler.late) {
        return Err(error);
    }
    let context: Box<[&str]> = compiler.context.into();
    let meta = meta::Meta::new(&template, &context);
    Ok(Program {
        context,
        root,
        blocks,
        meta,
    })
}

struct Compiler<'c, 'p> {
    table: Table<'p>,
    context: Vec<&'p str>,
    context_ids: HashMap<&'p str, u32>,
    literals: &'c Literals,
    pool: &'p str,
    block_ids: HashMap<&'p str, u32>,
    root_scope: ScopeId,
    /// Nodes written since the start of the loop body or function.
    cost: u32,
    /// Macros and call blocks written.
    macros: usize,
    /// The first error that Python, not Jinja, finds in a template.
    late: Option<Error>,
    /// An error in a block that was written in its place. Jinja compiles blocks after everything else, and so the error
    /// is found again.
    in_block: Option<Error>,
    /// Whether the expression around is written out and such that Jinja computes it when it compiles.
    constant: bool,
    /// How many expressions around are such that Jinja tries to compute them when it compiles.
    folding: u32,
    /// In the body of a block.
    exported: Option<Exported<'p>>,
}

/// What a block can see of the template.
struct Exported<'p> {
    /// That of the block.
    function: FunctionId,
    /// The scope that a `scoped` block stands in.
    around: Option<ScopeId>,
    /// See [`Compiler::exported`].
    vars: HashMap<&'p str, Option<VarId>>,
    /// What sets those variables when the block is entered.
    entry: Vec<Init>,
}

/// Where code is being written to.
#[derive(Clone, Copy, Debug)]
struct Frame {
    scope: ScopeId,
    function: FunctionId,
    /// Inside the branches of an `if`, where unknown filters and tests are errors only when they are reached.
    soft: bool,
    escape: Escape,
    /// Inside a loop of the same function.
    in_loop: bool,
}

impl Frame {
    /// A scope inside.
    fn inner(self, scope: ScopeId) -> Self {
        Frame {
            scope,
            soft: false,
            ..self
        }
    }

    fn soft(self) -> Self {
        Frame { soft: true, ..self }
    }
}

impl<'p> Compiler<'_, 'p> {
    fn root(&mut self, body: &[Stmt<'p>]) -> Result<Function<'p>> {
        let function = self.table.new_function(None);
        let space = self.table.new_space();
        let symbols = Symbols {
            function,
            space,
            ..Symbols::default()
        };
        let mut analysis = Analysis::new(&mut self.table, symbols);
        let this = (!undeclared(body, &["self"]).is_empty()).then(|| analysis.declare_parameter("self"));
        analysis.body(body);
        let symbols = analysis.symbols;
        let scope = self.table.push(symbols);
        self.root_scope = scope;
        let frame = Frame {
            scope,
            function,
            soft: false,
            escape: Escape::Never,
            in_loop: false,
        };
        let mut entry = self.entry(frame, true);
        if let Some(this) = this {
            entry.push(Init {
                slot: self.table.vars[this].slot,
                from: InitFrom::TemplateReference,
            });
        }
        self.function(function, entry, |compiler| compiler.body(body, frame))
    }

    /// A block: sees the context and what the template itself has set; if it is rendered in place and `scoped`, also
    /// what is set around it (`around`).
    fn block(&mut self, name: &'p str, body: &[Stmt<'p>], around: Option<Frame>) -> Result<Function<'p>> {
        let outer = self.exported.take();
        let function = self.table.new_function(around.map(|frame| frame.function));
        let space = self.table.new_space();
        let special = undeclared(body, &["self", "super"]);
        let symbols = Symbols {
            function,
            space,
            ..Symbols::default()
        };
        let mut analysis = Analysis::new(&mut self.table, symbols);
        let mut special_slots = Vec::new();
        for special in special {
            special_slots.push((special, analysis.declare_parameter(special)));
        }
        analysis.body(body);
        let mut symbols = analysis.symbols;
        let loads = symbols.loads.clone();
        for (var, load) in loads.iter() {
            if load == Load::Resolve {
                symbols.stores.insert(self.table.vars[var].name);
            }
        }
        let scope = self.table.push(symbols);
        let frame = Frame {
            scope,
            function,
            soft: false,
            escape: Escape::Never,
            in_loop: false,
        };
        let mut entry = self.entry(frame, true);
        for (var, load) in loads.iter() {
            let (name, slot) = (self.table.vars[var].name, self.table.vars[var].slot);
            if load != Load::Resolve {
                continue;
            }
            // What the template has exported hides the context; what is set around a scoped block hides both.
            for scope in [Some(self.root_scope), around.map(|frame| frame.scope)]
                .into_iter()
                .flatten()
            {
                if let Some(outer) = self.table.find_stored(scope, name) {
                    entry.push(Init {
                        slot,
                        from: InitFrom::AliasIfSet(self.place(function, outer)),
                    });
                }
            }
        }
        let block_index = self.block_ids.get(name).copied().unwrap_or_default();
        for (special, var) in special_slots {
            entry.push(Init {
                slot: self.table.vars[var].slot,
                from: match special {
                    "self" => InitFrom::TemplateReference,
                    _ => InitFrom::Super(block_index),
                },
            });
        }
        self.exported = Some(Exported {
            function,
            around: around.map(|frame| frame.scope),
            vars: HashMap::new(),
            entry: Vec::new(),
        });
        let mut written = self.function(function, entry, |compiler| compiler.body(body, frame))?;
        if let Some(exported) = std::mem::replace(&mut self.exported, outer)
            && !exported.entry.is_empty()
        {
            written.entry = written.entry.iter().cloned().chain(exported.entry).collect();
        }
        Ok(written)
    }

    /// Writes a function: `body` writes its statements.
    fn function(
        &mut self,
        function: FunctionId,
        entry: Vec<Init>,
        body: impl FnOnce(&mut Self) -> Result<Block<'p>>,
    ) -> Result<Function<'p>> {
        let outer_cost = std::mem::take(&mut self.cost);
        let mut body = body(self)?;
        body.cost = std::mem::replace(&mut self.cost, outer_cost + 1);
        Ok(Function {
            slots: self.table.functions[function].slots,
            entry: entry.into(),
            body,
            keeps_frame: self.table.functions[function].keeps_frame,
        })
    }

    /// What has to be done when the scope of `frame` is entered; in a `fresh` frame all slots are missing already.
    fn entry(&mut self, frame: Frame, fresh: bool) -> Vec<Init> {
        let loads = self.table.scopes[frame.scope].loads.clone();
        let parent = self.table.scopes[frame.scope].parent;
        let mut entry = Vec::new();
        for (var, load) in loads.iter() {
            let (name, slot) = (self.table.vars[var].name, self.table.vars[var].slot);
            let from = match load {
                Load::Parameter => continue,
                Load::Undefined if fresh => continue,
                Load::Undefined => InitFrom::Missing,
                Load::Resolve if self.table.scopes[frame.scope].stores.contains(name) => {
                    self.context_init(name, frame.function)
                }
                Load::Resolve => continue,
                Load::Alias(outer) => match parent.and_then(|parent| self.table.load_of(parent, outer)) {
                    Some((Load::Resolve, false)) => self.context_init(name, frame.function),
                    _ => InitFrom::Alias(self.place(frame.function, outer)),
                },
            };
            entry.push(Init { slot, from });
        }
        entry
    }

    /// What `context.resolve(name)` gives in `function`.
    fn context_init(&mut self, name: &'p str, function: FunctionId) -> InitFrom {
        match self.exported(name) {
            Some(var) => InitFrom::Alias(self.place(function, var)),
            None => InitFrom::Context(self.context_id(name)),
        }
    }

    /// In a block: the variable that holds what the template has exported as `name`, or else what the context has. The
    /// scopes inside the block look it up there. `None` if it can only be in the context.
    fn exported(&mut self, name: &'p str) -> Option<VarId> {
        let Exported {
            function, around, vars, ..
        } = self.exported.as_ref()?;
        if let Some(var) = vars.get(name) {
            return *var;
        }
        let (function, around) = (*function, *around);
        let sources: Vec<VarId> = [Some(self.root_scope), around]
            .into_iter()
            .flatten()
            .filter_map(|scope| self.table.find_stored(scope, name))
            .collect();
        let mut var = None;
        let mut entry = Vec::new();
        if !sources.is_empty() {
            let slot = self.table.new_slot(function);
            var = Some(self.table.new_var(name, function, slot));
            let from = InitFrom::Context(self.context_id(name));
            entry.push(Init { slot, from });
            entry.extend(sources.into_iter().map(|outer| Init {
                slot,
                from: InitFrom::AliasIfSet(self.place(function, outer)),
            }));
        }
        let exported = self.exported.as_mut()?;
        exported.vars.insert(name, var);
        exported.entry.extend(entry);
        var
    }

    /// The slots of the scope of `frame`, to be set to missing when it is left; only if a macro was defined inside, as
    /// nothing else can read them then.
    fn leave(&self, frame: Frame, macros_before: usize) -> Box<[u32]> {
        if self.macros == macros_before {
            return Box::default();
        }
        let symbols = &self.table.scopes[frame.scope];
        symbols.loads.iter().map(|(var, _)| self.table.vars[var].slot).collect()
    }

    /// Where `var` is for the code of `function`.
    fn place(&self, function: FunctionId, var: VarId) -> Place {
        let var = self.table.vars[var];
        if var.function == function {
            return Place::Local(var.slot);
        }
        if var.function == 0 {
            return Place::Root(var.slot);
        }
        let mut links = 0;
        let mut at = function;
        while at != var.function {
            match self.table.functions[at].parent {
                Some(parent) => at = parent,
                None => break,
            }
            links += 1;
        }
        Place::Outer(links, var.slot)
    }

    fn late(&mut self, error: Error) {
        self.late.get_or_insert(error);
    }

    fn context_id(&mut self, name: &'p str) -> u32 {
        *self.context_ids.entry(name).or_insert_with(|| {
            self.context.push(name);
            self.context.len() as u32 - 1
        })
    }

    /// A macro is defined in `function`: its frame, and those around it, may be read later.
    fn keep_frames(&mut self, function: FunctionId) {
        self.macros += 1;
        let mut next = Some(function);
        while let Some(function) = next {
            self.table.functions[function].keeps_frame = true;
            next = self.table.functions[function].parent;
        }
    }
}

fn find_blocks<'t, 'p>(
    body: &'t [Stmt<'p>],
    blocks: &mut Vec<(&'p str, &'t [Stmt<'p>])>,
    ids: &mut HashMap<&'p str, u32>,
) -> Result<()> {
    for stmt in body {
        if let StmtKind::Block { name, body, .. } = &stmt.kind {
            if ids.insert(name, blocks.len() as u32).is_some() {
                return Err(
                    Error::new(ErrorKind::Syntax, format!("block '{name}' defined twice")).at_offset(stmt.span.offset)
                );
            }
            blocks.push((name, body));
        }
        let mut result = Ok(());
        each_expr_and_body(stmt, &mut |inside| {
            if let (Inside::Body(body), Ok(())) = (inside, &result) {
                result = find_blocks(body, blocks, ids);
            }
        });
        result?;
    }
    Ok(())
}

fn syntax_error(err: &crate::syntax::SyntaxError) -> Error {
    Error::new(ErrorKind::Syntax, err.kind().to_string()).at_offset(err.span().offset)
}
