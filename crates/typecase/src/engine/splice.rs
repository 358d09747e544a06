//! Putting ids in place of ids.

/// `ids` with `with` in place of each id at `positions`, which ascend. One allocation.
pub(super) fn replace_each(ids: &[u32], positions: &[usize], with: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(ids.len() - positions.len() + positions.len() * with.len());
    let mut copied = 0;
    for &position in positions {
        out.extend_from_slice(&ids[copied..position]);
        out.extend_from_slice(with);
        copied = position + 1;
    }
    out.extend_from_slice(&ids[copied..]);
    out
}
