//! Filters: `value | name(...)`.

use super::{Filter, Table};

/// All filters, in ascending order of their names.
pub(crate) const FILTERS: Table<Filter> = &[];
