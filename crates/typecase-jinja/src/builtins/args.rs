//! Arguments of a call, bound to parameters as Python binds them.

use crate::error::{Error, Result};
use crate::value::Value;

/// The arguments in the parentheses of a filter, test, method or function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'s, 'a> {
    /// Those without a name.
    pub(crate) positional: &'s [Value<'a>],
    /// Those with a name, in the order they were written; no name twice.
    pub(crate) keyword: &'s [(&'a str, Value<'a>)],
}

impl<'s, 'a> Args<'s, 'a> {
    /// No arguments.
    pub(crate) const NONE: Args<'static, 'static> = Args {
        positional: &[],
        keyword: &[],
    };

    /// Arguments without names.
    pub(crate) fn positional(positional: &'s [Value<'a>]) -> Self {
        Args {
            positional,
            keyword: &[],
        }
    }

    /// Binds to the parameters `names`, the first `required` of which have no default. A parameter that no argument was
    /// given for is `None`.
    ///
    /// # Errors
    /// `TypeError`, as Python raises it, for too many arguments, an unknown name, a parameter given twice or not at all.
    pub(crate) fn bind<const N: usize>(
        &self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value<'a>>; N]> {
        let mut bound = [None; N];
        if self.positional.len() > N {
            return Err(Error::type_error(format!(
                "{function}() takes at most {N} arguments ({} given)",
                self.positional.len()
            )));
        }
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(*value);
        }
        for (name, value) in self.keyword {
            match names.iter().position(|known| known == name) {
                Some(i) if bound[i].is_none() => bound[i] = Some(*value),
                Some(_) => {
                    return Err(Error::type_error(format!(
                        "{function}() got multiple values for argument '{name}'"
                    )));
                }
                None => {
                    return Err(Error::type_error(format!(
                        "{function}() got an unexpected keyword argument '{name}'"
                    )));
                }
            }
        }
        match bound[..required].iter().position(Option::is_none) {
            Some(i) => Err(Error::type_error(format!(
                "{function}() missing 1 required positional argument: '{}'",
                names[i]
            ))),
            None => Ok(bound),
        }
    }

    /// Binds to `N` parameters that take no names, as most methods of `str`, `list` and `dict` have them. The first
    /// `required` have no default.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub(crate) fn bind_positional<const N: usize>(
        &self,
        function: &str,
        required: usize,
    ) -> Result<[Option<Value<'a>>; N]> {
        if !self.keyword.is_empty() {
            return Err(Error::type_error(format!("{function}() takes no keyword arguments")));
        }
        if self.positional.len() > N || self.positional.len() < required {
            return Err(Error::type_error(format!(
                "{function} expected between {required} and {N} arguments, got {}",
                self.positional.len()
            )));
        }
        let mut bound = [None; N];
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(*value);
        }
        Ok(bound)
    }
}
