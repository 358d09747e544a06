//! The bytes of every token of a byte-level vocabulary, in one block.

use std::ops::Range;

/// Bytes by id. Ids without a token have none.
#[derive(Default)]
pub(super) struct ByteTable {
    bytes: Box<[u8]>,
    /// Where in `bytes` the token of each id lies.
    places: Box<[(u32, u32)]>,
}

impl std::fmt::Debug for ByteTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ByteTable({} ids, {} bytes)", self.places.len(), self.bytes.len())
    }
}

impl ByteTable {
    /// The table of `tokens`. Ids far beyond their number get no place, lest one wrong line of a file cost gigabytes.
    pub(super) fn new<'t>(tokens: impl Iterator<Item = (u32, &'t [u8])> + Clone) -> Self {
        const MAX_IDS: u32 = 1 << 24;
        let ids = tokens.clone().map(|(id, _)| id).filter(|&id| id < MAX_IDS);
        let mut places = vec![(0, 0); ids.max().map_or(0, |id| id as usize + 1)];
        let mut bytes = Vec::new();
        for (id, token) in tokens {
            if let Some(place) = places.get_mut(id as usize) {
                *place = (bytes.len() as u32, token.len() as u32);
                bytes.extend_from_slice(token);
            }
        }
        ByteTable {
            bytes: bytes.into(),
            places: places.into(),
        }
    }

    /// The bytes of `id`.
    pub(super) fn token(&self, id: u32) -> Option<&[u8]> {
        match *self.places.get(id as usize)? {
            (_, 0) => None,
            (start, len) => Some(&self.bytes[start as usize..][..len as usize]),
        }
    }

    /// Appends the range of each id of a text that begins at `start`; the position after the last.
    pub(super) fn ranges(&self, ids: &[u32], mut start: usize, ranges: &mut Vec<Range<usize>>) -> usize {
        for &id in ids {
            let end = start + self.places.get(id as usize).map_or(0, |place| place.1 as usize);
            ranges.push(start..end);
            start = end;
        }
        start
    }
}
