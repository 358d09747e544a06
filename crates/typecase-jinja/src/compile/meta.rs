//! What a template reads and writes, found in its syntax tree.

use super::Source;
use crate::syntax::ast::Template;

/// What a template reads and writes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Meta {
    /// The variables that it may read from the values given to the render, globals excluded, in the order of their first
    /// appearance.
    pub variables: Vec<String>,
}

impl Meta {
    pub(super) fn new(_template: &Template<'_>, _source: &Source, context: &[&str]) -> Self {
        Meta {
            variables: context.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}
