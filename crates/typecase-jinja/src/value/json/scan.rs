//! Finds the bytes of a string that JSON escapes: the inner loop of reading and of writing.

/// Bytes of a machine word that are looked at together.
pub(super) const WORD: usize = 8;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The top bit of each byte that is a quote, a backslash or a control character. Bits above the lowest that is set may
/// be set by a borrow, so only the lowest tells a byte.
pub(super) fn stops(word: u64) -> u64 {
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = is_zero(word ^ (ONES * b'"' as u64));
    let backslash = is_zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGHS
}

/// Number of bytes below the lowest that `stops` found.
pub(super) fn first(stops: u64) -> usize {
    (stops.trailing_zeros() / 8) as usize
}

/// Bytes that are looked at together in long text.
pub(super) const CHUNK: usize = 32;

/// Whether a chunk has a quote, a backslash or a control character.
pub(super) fn has_stop(chunk: &[u8; CHUNK]) -> bool {
    // Without a branch, so that the compiler does it with a few vector instructions.
    chunk
        .iter()
        .fold(false, |found, &b| found | (b == b'"') | (b == b'\\') | (b < 0x20))
}

/// Whether a string cannot hold this byte as it is.
fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Number of bytes before the first quote, backslash or control character.
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    // Most strings are short: keys, roles, ids. Only then is it worth to look at whole vectors.
    for _ in 0..4 {
        let Some(word) = bytes[len..].first_chunk::<WORD>() else {
            return len + tail_len(&bytes[len..]);
        };
        let found = stops(u64::from_le_bytes(*word));
        if found != 0 {
            return len + first(found);
        }
        len += WORD;
    }
    while let Some(chunk) = bytes[len..].first_chunk::<CHUNK>() {
        if has_stop(chunk) {
            break;
        }
        len += CHUNK;
    }
    while let Some(word) = bytes[len..].first_chunk::<WORD>() {
        let found = stops(u64::from_le_bytes(*word));
        if found != 0 {
            return len + first(found);
        }
        len += WORD;
    }
    len + tail_len(&bytes[len..])
}

fn tail_len(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&b| !is_stop(b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(
            bytes in prop::collection::vec(prop_oneof![8 => 0x20u8..=0x7e, 1 => any::<u8>(), 1 => Just(0x80)], 0..200)
        ) {
            prop_assert_eq!(plain_len(&bytes), tail_len(&bytes));
        }
    }
}
