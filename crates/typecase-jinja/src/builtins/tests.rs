//! Tests: `value is name(...)`.

use super::{Table, Test};

/// All tests, in ascending order of their names.
pub(crate) const TESTS: Table<Test> = &[];
