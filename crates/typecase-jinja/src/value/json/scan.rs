//! Finds the bytes of a string that JSON escapes: the inner loop of reading and of writing.

use wide::u8x16;

/// Bytes that are looked at together.
pub(super) const CHUNK: usize = 32;

/// A bit for each byte of `chunk` that is a quote, a backslash or a control character, the lowest for the first.
#[inline(always)]
pub(super) fn stop_mask(chunk: &[u8; CHUNK]) -> u32 {
    let mask = |half: [u8; CHUNK / 2]| {
        let bytes = u8x16::new(half);
        let is_control = bytes.saturating_sub(u8x16::splat(0x1f)).simd_eq(u8x16::splat(0));
        (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | is_control).to_bitmask()
    };
    let (halves, _) = chunk.as_chunks();
    mask(halves[0]) | mask(halves[1]) << (CHUNK / 2)
}

/// Number of bytes before the first quote, backslash or control character.
#[inline]
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Some(chunk) = bytes[len..].first_chunk::<CHUNK>() {
        match stop_mask(chunk) {
            0 => len += CHUNK,
            stops => return len + stops.trailing_zeros() as usize,
        }
    }
    len + tail_len(&bytes[len..])
}

/// Whether a string cannot hold this byte as it is.
fn is_stop(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The same for fewer bytes than a chunk: most strings are.
#[inline]
fn tail_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Some(word) = bytes[len..].first_chunk::<8>() {
        match stop_bits(u64::from_le_bytes(*word)) {
            0 => len += 8,
            stops => return len + stops.trailing_zeros() as usize / 8,
        }
    }
    // The last word overlaps the one before, in which there is no stop.
    if let Some(word) = bytes.last_chunk::<8>() {
        return match stop_bits(u64::from_le_bytes(*word)) {
            0 => bytes.len(),
            stops => bytes.len() - 8 + stops.trailing_zeros() as usize / 8,
        };
    }
    bytes.iter().take_while(|&&b| !is_stop(b)).count()
}

/// The high bit of each byte of `word` that is a stop; those above the lowest may be wrong.
#[inline]
fn stop_bits(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    // Subtracting 1 borrows through a zero byte only.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    control | zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')))
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
            let plain = bytes.iter().take_while(|&&b| !is_stop(b)).count();
            prop_assert_eq!(plain_len(&bytes), plain);
            prop_assert_eq!(tail_len(&bytes), plain);
        }
    }
}
