//! Writes the value of an expression straight to the output.

use super::State;
use crate::builtins::filters::write_options;
use crate::compile::program::{Args, Call, Escape, Expr, KnownFilter, Many};
use crate::error::{Error, Result};
use crate::syntax::ast::BinaryOp;
use crate::value::json::{self, WriteOptions};
use crate::value::{Class, Exception, Object, Origin, TextBuilder, Value, markup, repr};
use std::fmt::Write as _;

impl<'a> State<'a> {
    /// `{{ expr }}`
    pub(super) fn emit(&mut self, expr: &'a Expr<'a>, escape: Escape) -> Result<()> {
        if escape != Escape::Never || self.autoescape {
            let value = self.eval(expr)?;
            return self.emit_value(value, escape);
        }
        match self.write(expr)? {
            Some(value) => self.emit_str(value),
            None => Ok(()),
        }
    }

    /// Writes the value of `expr` if that is a plain `str`, and returns it otherwise, with nothing written.
    pub(super) fn write(&mut self, expr: &'a Expr<'a>) -> Result<Option<Value<'a>>> {
        let value = match expr {
            Expr::Add(many) => return self.write_sum(many),
            Expr::Concat(many) if !self.autoescape => {
                for (operand, at) in &many.operands {
                    if let Some(value) = self.write(operand)? {
                        self.emit_str(value).map_err(|err| err.at_offset(*at))?;
                    }
                }
                return Ok(None);
            }
            Expr::Concat(many) => return self.join_markup(many).map(Some),
            Expr::Call(call) if !self.autoescape => return self.write_call(call, None),
            Expr::Cond(cond) => match self.chosen(cond)? {
                Some(expr) => return self.write(expr),
                None => return Ok(Some(self.no_else(cond))),
            },
            Expr::Filter(filter) if filter.step.known == KnownFilter::Tojson => {
                let value = self.eval(&filter.value)?;
                let at = filter.step.at;
                return self
                    .write_json(&filter.step.args, value)
                    .map(|()| None)
                    .map_err(|err| err.at_offset(at));
            }
            expr => self.eval(expr)?,
        };
        match value {
            Value::Str(text) => {
                self.out.push(text)?;
                Ok(None)
            }
            value => Ok(Some(value)),
        }
    }

    /// `a + b + c`: strings are written one behind the other; anything else is added up.
    fn write_sum(&mut self, many: &'a Many<'a>) -> Result<Option<Value<'a>>> {
        let start = self.out.len();
        let Some(((first, _), rest)) = many.operands.split_first() else {
            return Ok(None);
        };
        let mut sum = self.write(first)?;
        for (operand, at) in rest {
            match sum {
                None => {
                    if let Some(value) = self.write(operand)? {
                        let left = self.taken(start)?;
                        sum = Some(self.add(left, value, *at)?);
                    }
                }
                Some(left) => {
                    let value = self.eval(operand)?;
                    sum = Some(self.add(left, value, *at)?);
                }
            }
        }
        Ok(sum)
    }

    fn add(&mut self, left: Value<'a>, right: Value<'a>, at: u32) -> Result<Value<'a>> {
        self.arithmetic(BinaryOp::Add, left, right)
            .map_err(|err| err.at_offset(at))
    }

    /// `a ~ b` where `{% autoescape %}` is on: `markup_join`.
    #[inline(never)]
    fn join_markup(&mut self, many: &'a Many<'a>) -> Result<Value<'a>> {
        let mut values = Vec::with_capacity(many.operands.len());
        for (operand, _) in &many.operands {
            let value = self.eval(operand)?;
            values.push(match value {
                Value::Markup(_) => value,
                value => Value::Str(repr::to_text(&value, self, self.arena)?),
            });
        }
        let markup = values.iter().any(|value| matches!(value, Value::Markup(_)));
        let mut builder = TextBuilder::new();
        for value in values {
            match value {
                Value::Str(text) if markup => markup::push_escaped(&mut builder, text),
                Value::Str(text) | Value::Markup(text) => builder.push(text),
                _ => {}
            }
        }
        let text = self.text(builder)?;
        Ok(if markup { Value::Markup(text) } else { Value::Str(text) })
    }

    #[inline(never)]
    pub(super) fn emit_value(&mut self, value: Value<'a>, escape: Escape) -> Result<()> {
        let escape = match escape {
            Escape::Never => false,
            Escape::Always => true,
            Escape::Asked => self.autoescape,
        };
        if !escape || matches!(value, Value::Markup(_)) {
            return self.emit_str(value);
        }
        let text = repr::to_text(&value, self, self.arena)?;
        let escaped = markup::escape(text, self.arena)?;
        self.out.push(escaped)
    }

    /// Writes `str(value)`.
    pub(super) fn emit_str(&mut self, value: Value<'a>) -> Result<()> {
        match value {
            Value::Str(text) | Value::Markup(text) => self.out.push(text),
            Value::Undefined(_) => Ok(()),
            Value::Int(int, origin) => {
                self.out.check(20)?;
                let start = self.out.len();
                let _ = write!(self.out.text, "{int}");
                self.written_since(start, origin);
                Ok(())
            }
            Value::Bool(flag, origin) => self.out.push_from(if flag { "True" } else { "False" }, origin),
            Value::None(origin) => self.out.push_from("None", origin),
            Value::Object(object) => {
                if object.class == Class::Loop {
                    // Its text shows the length, for which Python takes the items that are left.
                    self.loop_attribute(object.index, super::loops::LoopAttribute::Length)?;
                }
                let mut builder = TextBuilder::new();
                self.object_repr(&mut builder, object)?;
                let text = self.text(builder)?;
                self.out.push(text)
            }
            value => {
                let text = repr::to_text(&value, self, self.arena)?;
                self.out.push(text)
            }
        }
    }

    fn written_since(&mut self, start: usize, origin: Origin) {
        if self.out.track {
            let len = self.out.len() - start;
            self.out.run(len, origin);
        }
    }

    /// Writes the result of a call block.
    pub(super) fn emit_call(&mut self, call: &'a Call<'a>, caller: Option<Value<'a>>, escape: Escape) -> Result<()> {
        // A call block writes what the call returns as it is.
        let _ = escape;
        match self.write_call(call, caller)? {
            Some(value) => self.emit_raw(value),
            None => Ok(()),
        }
    }

    /// Calls; what a macro writes goes straight to the output.
    fn write_call(&mut self, call: &'a Call<'a>, caller: Option<Value<'a>>) -> Result<Option<Value<'a>>> {
        let callee = match &call.callee {
            Expr::Attr(_) => None,
            callee => Some(self.eval(callee)?),
        };
        if let Some(Value::Object(Object { class, index })) = callee
            && matches!(class, Class::Macro | Class::Loop)
        {
            let args = self
                .eval_args(&call.args, caller)
                .map_err(|err| err.at_offset(call.at))?;
            let result = match class {
                Class::Macro => self.run_macro(index, args.as_args()),
                _ => self.call_loop(index, args.as_args()),
            };
            return result.map(|()| None).map_err(|err| err.at_offset(call.at));
        }
        let value = match callee {
            Some(callee) => self.call_with(callee, call, caller)?,
            None => self.call_method(call, caller)?,
        };
        match value {
            Value::Str(text) => {
                self.out.push(text)?;
                Ok(None)
            }
            value => Ok(Some(value)),
        }
    }

    /// `value | tojson(args)`
    #[inline(never)]
    fn write_json(&mut self, args: &'a Args<'a>, value: Value<'a>) -> Result<()> {
        let options = if args.is_empty() {
            WriteOptions::default()
        } else {
            let args = self.eval_args(args, None)?;
            write_options(self, &value, args.as_args())?
        };
        let written = if self.out.track {
            json::write_to(&mut self.out, &value, &options, self.arena)
        } else {
            json::write_to(&mut self.out.text, &value, &options, self.arena)
        };
        written.map_err(Exception::from)?;
        self.out.check(0)
    }

    /// For what the compiler never makes.
    #[cold]
    pub(super) fn impossible(&self, what: &str) -> Error {
        Error::runtime(format!("internal error: {what}"))
    }
}
