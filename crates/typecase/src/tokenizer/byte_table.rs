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

    /// Whether the bytes of `ids`, one after the other, are those of `text`.
    pub(super) fn spells(&self, ids: &[u32], text: &str) -> bool {
        let mut rest = text.as_bytes();
        for &id in ids {
            match self.token(id).and_then(|token| rest.strip_prefix(token)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
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

/// The bytes of a token that is spelled with one character per byte, as GPT-2 introduced it. A token with a character
/// outside of that alphabet is its own bytes, which is how the `tokenizers` crate decodes added tokens.
pub(super) fn bytes_of_byte_level(token: &str) -> Vec<u8> {
    let bytes: Option<Vec<u8>> = token.chars().map(byte_of_char).collect();
    bytes.unwrap_or_else(|| token.as_bytes().to_vec())
}

/// Printable bytes of Latin-1 stand for themselves; the 68 others are U+0100 and up, in order.
fn byte_of_char(c: char) -> Option<u8> {
    match c {
        '!'..='~' | '¡'..='¬' | '®'..='ÿ' => Some(c as u8),
        '\u{100}'..='\u{120}' => Some((c as u32 - 0x100) as u8),
        '\u{121}'..='\u{142}' => Some((c as u32 - 0x121 + 0x7f) as u8),
        '\u{143}' => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character() {
        let chars = (0..0x144).filter_map(char::from_u32);
        let mut bytes: Vec<u8> = chars.filter_map(byte_of_char).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(bytes_of_byte_level("Ġa"), b" a");
        assert_eq!(bytes_of_byte_level("<｜é｜>"), "<｜é｜>".as_bytes());
    }
}
