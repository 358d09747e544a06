//! Finding a few ids among many.

use smallvec::SmallVec;

/// Positions of placeholders; few prompts have more media items than fit inline.
pub(super) type Positions = SmallVec<[usize; 32]>;

/// Ids that are looked at together. Eight vector registers of AVX2; a block without a hit costs about one comparison
/// per register and one branch.
const BLOCK: usize = 64;

/// The positions at which `wanted` holds, in order.
///
/// `wanted` is asked about each id at least once, so it should be a comparison or two: the compiler then makes vector
/// code of the loop over a block, as no branch is in it.
pub(super) fn positions(ids: &[u32], wanted: impl Fn(u32) -> bool) -> Positions {
    let mut found = Positions::new();
    let mut start = 0;
    let (blocks, rest) = ids.as_chunks::<BLOCK>();
    let mut note = |start: usize, ids: &[u32]| {
        found.extend(
            ids.iter()
                .enumerate()
                .filter(|(_, id)| wanted(**id))
                .map(|(at, _)| start + at),
        );
    };
    for block in blocks {
        if block.iter().fold(false, |hit, id| hit | wanted(*id)) {
            note(start, block);
        }
        start += BLOCK;
    }
    note(start, rest);
    found
}
