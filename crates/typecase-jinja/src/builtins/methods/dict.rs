//! Methods of `dict`.

use crate::builtins::{Filter, Table};

/// All methods that a template may call, in ascending order of their names.
pub(crate) const METHODS: Table<Filter> = &[];
