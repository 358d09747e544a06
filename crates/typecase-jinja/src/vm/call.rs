//! Calls: macros, methods, global functions.

use super::State;
use super::eval::Few;
use crate::builtins::{self, methods};
use crate::compile::program::{Args, Attr, Call, Expr, MacroDef};
use crate::error::{Error, Result};
use crate::value::{Class, Object, Origin, Text, Undefined, Value};
use smallvec::SmallVec;

/// A macro that was defined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacroObject<'a> {
    pub(super) def: &'a MacroDef<'a>,
    /// The activation of the function that it was defined in.
    activation: u32,
}

/// Evaluated arguments.
pub(super) struct Evaluated<'a> {
    positional: Few<Value<'a>>,
    keyword: SmallVec<[(&'a str, Value<'a>); 2]>,
}

impl<'a> Evaluated<'a> {
    pub(super) fn as_args(&self) -> builtins::Args<'_, 'a> {
        builtins::Args {
            positional: &self.positional,
            keyword: &self.keyword,
        }
    }
}

impl<'a> State<'a> {
    pub(super) fn new_macro(&mut self, def: &'a MacroDef<'a>) -> Value<'a> {
        self.macros.push(MacroObject {
            def,
            activation: self.activation,
        });
        self.object(Class::Macro, self.macros.len() - 1)
    }

    #[inline(never)]
    pub(super) fn eval_args(&mut self, args: &'a Args<'a>, caller: Option<Value<'a>>) -> Result<Evaluated<'a>> {
        let mut evaluated = Evaluated {
            positional: self.eval_all(&args.positional)?,
            keyword: SmallVec::new(),
        };
        for (name, value) in &args.keyword {
            evaluated.keyword.push((name, self.eval(value)?));
        }
        // Python evaluates `*args` before the named arguments; only an error could tell.
        if let Some(star) = &args.star {
            let value = self.eval(star)?;
            if !matches!(
                value,
                Value::List(_)
                    | Value::Tuple(_)
                    | Value::Dict(_)
                    | Value::Str(_)
                    | Value::Markup(_)
                    | Value::Range(_)
                    | Value::DictView(_)
                    | Value::Undefined(_)
                    | Value::Object(_)
            ) {
                return Err(Error::type_error(format!(
                    "argument after * must be an iterable, not {}",
                    value.type_name()
                )));
            }
            evaluated.positional.extend(self.collect(value)?);
        }
        if let Some(caller) = caller {
            evaluated.keyword.push(("caller", caller));
        }
        if let Some(double_star) = &args.double_star {
            let value = self.eval(double_star)?;
            let Value::Dict(dict) = value else {
                return Err(match value {
                    Value::Undefined(undefined) => undefined.exception().into(),
                    _ => Error::type_error(format!(
                        "argument after ** must be a mapping, not {}",
                        value.type_name()
                    )),
                });
            };
            for (key, value) in dict.entries() {
                let Some(name) = key.as_str() else {
                    return Err(Error::type_error("keywords must be strings"));
                };
                if evaluated.keyword.iter().any(|(known, _)| *known == name) {
                    return Err(Error::type_error(format!(
                        "got multiple values for keyword argument '{name}'"
                    )));
                }
                evaluated.keyword.push((name, *value));
            }
        }
        Ok(evaluated)
    }

    /// Calls a filter, test or method with arguments that are still to be evaluated.
    pub(super) fn apply_with<T>(
        &mut self,
        run: for<'s> fn(&mut State<'a>, Value<'a>, builtins::Args<'s, 'a>) -> Result<T>,
        value: Value<'a>,
        args: &'a Args<'a>,
    ) -> Result<T> {
        if args.plain {
            match &*args.positional {
                [] => return run(self, value, builtins::Args::NONE),
                [arg] => {
                    let arg = [self.eval(arg)?];
                    return run(self, value, builtins::Args::positional(&arg));
                }
                _ => {}
            }
        }
        let args = self.eval_args(args, None)?;
        run(self, value, args.as_args())
    }

    pub(super) fn eval_call(&mut self, call: &'a Call<'a>) -> Result<Value<'a>> {
        if let Expr::Attr(_) = &call.callee {
            return self.call_method(call, None);
        }
        let callee = self.eval(&call.callee)?;
        self.call_with(callee, call, None)
    }

    #[inline(never)]
    pub(super) fn call_with(
        &mut self,
        callee: Value<'a>,
        call: &'a Call<'a>,
        caller: Option<Value<'a>>,
    ) -> Result<Value<'a>> {
        let args = self.eval_args(&call.args, caller)?;
        self.call(callee, args.as_args()).map_err(|err| err.at_offset(call.at))
    }

    /// `value.name(args)`, without making the method a value.
    pub(super) fn call_method(&mut self, call: &'a Call<'a>, caller: Option<Value<'a>>) -> Result<Value<'a>> {
        let Expr::Attr(attr) = &call.callee else {
            return Err(self.impossible("not a method call"));
        };
        let receiver = self.eval(&attr.value)?;
        let method = match receiver {
            Value::Str(_) => call.methods.str,
            Value::Dict(_) => call.methods.dict,
            Value::List(_) => call.methods.list,
            _ => None,
        };
        if let (Some(method), None) = (method, caller) {
            return self
                .apply_with(method, receiver, &call.args)
                .map_err(|err| err.at_offset(call.at));
        }
        self.call_attribute(receiver, call, attr, caller)
    }

    /// `receiver.name(args)` for what is no method of `str`, `dict` or `list`.
    #[inline(never)]
    fn call_attribute(
        &mut self,
        receiver: Value<'a>,
        call: &'a Call<'a>,
        attr: &'a Attr<'a>,
        caller: Option<Value<'a>>,
    ) -> Result<Value<'a>> {
        if let Value::Object(Object {
            class: Class::Loop,
            index,
        }) = receiver
            && matches!(attr.name, "cycle" | "changed")
        {
            let args = self.eval_args(&call.args, caller)?;
            return self
                .call_loop_method(index, attr.name, args.as_args())
                .map_err(|err| err.at_offset(call.at));
        }
        let callee = self
            .getattr(receiver, attr.name)
            .map_err(|err| err.at_offset(attr.at))?;
        self.call_with(callee, call, caller)
    }

    /// `value(args)`
    pub(crate) fn call(&mut self, callee: Value<'a>, args: builtins::Args<'_, 'a>) -> Result<Value<'a>> {
        match callee {
            Value::Object(Object { class, index }) => match class {
                Class::Macro => {
                    let start = self.out.len();
                    self.run_macro(index, args)?;
                    let value = self.taken(start)?;
                    Ok(match value {
                        Value::Str(text) if self.autoescape => Value::Markup(text),
                        value => value,
                    })
                }
                Class::Loop => {
                    let start = self.out.len();
                    self.call_loop(index, args)?;
                    self.taken(start)
                }
                Class::Function => builtins::globals::call(self, index, args),
                Class::Joiner => {
                    let [] = args.bind("__call__", [], 0)?;
                    let joiner = &mut self.joiners[index as usize];
                    if std::mem::replace(&mut joiner.used, true) {
                        Ok(joiner.separator)
                    } else {
                        Ok(Value::Str(Text::new("")))
                    }
                }
                Class::BlockReference => {
                    let [] = args.bind("__call__", [], 0)?;
                    let program = self.program;
                    let start = self.out.len();
                    let unbuffered = self.begin_buffer();
                    self.function(&program.blocks[index as usize].1, 0)?;
                    self.end_buffer(unbuffered)?;
                    self.taken(start)
                }
                Class::Namespace | Class::Cycler | Class::Generator | Class::TemplateReference => {
                    Err(not_callable(&callee))
                }
            },
            Value::Method(method) => match method.receiver {
                Value::Object(object) => self.call_object_method(object, method.name, args),
                receiver => match methods::lookup(&receiver, method.name) {
                    Some(run) => run(self, receiver, args),
                    None => Err(not_callable(&callee)),
                },
            },
            Value::Undefined(undefined) => Err(undefined.exception().into()),
            callee => Err(not_callable(&callee)),
        }
    }

    fn call_object_method(&mut self, object: Object, name: &str, args: builtins::Args<'_, 'a>) -> Result<Value<'a>> {
        match (object.class, name) {
            (Class::Loop, _) => self.call_loop_method(object.index, name, args),
            (Class::Cycler, "next") => {
                let [] = args.bind("next", [], 0)?;
                let cycler = &mut self.cyclers[object.index as usize];
                let item = cycler.items[cycler.position];
                cycler.position = (cycler.position + 1) % cycler.items.len();
                Ok(item)
            }
            (Class::Cycler, _) => {
                let [] = args.bind("reset", [], 0)?;
                self.cyclers[object.index as usize].position = 0;
                Ok(Value::None(Origin::COMPUTED))
            }
            _ => builtins::globals::call_method(self, object, name, args),
        }
    }

    /// Runs a macro, which writes to the output. Its parameters are bound as `Macro.__call__` binds them.
    pub(super) fn run_macro(&mut self, index: u32, args: builtins::Args<'_, 'a>) -> Result<()> {
        let MacroObject { def, activation } = self.macros[index as usize];
        let saved = self.enter(def.function.slots, activation)?;
        self.arena.meter().work(def.function.body.cost as usize)?;
        let base = self.base;

        let given = args.positional.len().min(def.params.len());
        let mut taken: Few<bool> = SmallVec::from_elem(false, args.keyword.len());
        let mut found_caller = false;
        for (i, param) in def.params.iter().enumerate() {
            if i < given {
                self.slots[base + param.slot as usize] = Some(args.positional[i]);
                found_caller |= given == def.params.len() && param.name == "caller";
            } else {
                found_caller |= param.name == "caller";
                if let Some(at) = args.keyword.iter().position(|(name, _)| *name == param.name) {
                    taken[at] = true;
                    self.slots[base + param.slot as usize] = Some(args.keyword[at].1);
                }
            }
        }
        if def.accesses_caller && !found_caller {
            let at = args.keyword.iter().position(|(name, _)| *name == "caller");
            let caller = match at {
                Some(at) => {
                    taken[at] = true;
                    args.keyword[at].1
                }
                None => Value::None(Origin::COMPUTED),
            };
            let caller = match caller {
                Value::None(_) => self.undefined(Undefined::Hint("No caller defined")),
                caller => caller,
            };
            if let Some(slot) = def.caller {
                self.slots[base + slot as usize] = Some(caller);
            }
        }
        let name = def.name.unwrap_or("None");
        if let Some(slot) = def.kwargs {
            let rest = args
                .keyword
                .iter()
                .zip(&taken)
                .filter(|(_, taken)| !**taken)
                .map(|((name, value), _)| (Value::Str(Text::new(name)), *value))
                .collect();
            let rest = self.dict(rest)?;
            self.slots[base + slot as usize] = Some(rest);
        } else if let Some(at) = taken.iter().position(|taken| !taken) {
            return Err(Error::type_error(
                if args.keyword.iter().any(|(keyword, _)| *keyword == "caller") {
                    format!(
                        "macro '{name}' was invoked with two values for the special caller argument. \
                         This is most likely a bug."
                    )
                } else {
                    format!("macro '{name}' takes no keyword argument '{}'", args.keyword[at].0)
                },
            ));
        }
        if let Some(slot) = def.varargs {
            let rest = self.tuple(&args.positional[given..])?;
            self.slots[base + slot as usize] = Some(rest);
        } else if args.positional.len() > def.params.len() {
            return Err(Error::type_error(format!(
                "macro '{name}' takes not more than {} argument(s)",
                def.params.len()
            )));
        }

        self.init(&def.function.entry);
        for param in &def.params {
            if self.slots[base + param.slot as usize].is_none() {
                let value = match &param.default {
                    Some(default) => self.eval(default)?,
                    None => self.undefined(Undefined::Parameter(param.name)),
                };
                self.slots[base + param.slot as usize] = Some(value);
            }
        }
        let unbuffered = self.begin_buffer();
        self.block(&def.function.body)?;
        self.end_buffer(unbuffered)?;
        self.leave(saved, def.function.keeps_frame)
    }
}

#[cold]
fn not_callable(value: &Value<'_>) -> Error {
    Error::type_error(format!("'{}' object is not callable", value.type_name()))
}
