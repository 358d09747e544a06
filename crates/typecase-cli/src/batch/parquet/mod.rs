//! Data sets in Parquet.
//!
//! | file | what it does |
//! |---|---|
//! | `reader` | row groups of the input -> record batches |
//! | `columns` | columns of a row -> a request as JSON |
//! | `row_group` | rows -> a Parquet file of one row group |
//! | `parts` | such files, kept until the output is complete, and joined |

mod columns;
mod parts;
mod reader;
mod row_group;

pub(super) use parts::Parts;
pub(super) use reader::{Reader, Rows};
pub(super) use row_group::RowGroup;
