//! Blocks of 64 bytes on processors with AVX-512 VBMI2 (x86-64: Ice Lake, Zen 4 and later), which take the backslashes
//! out of a block at once and without a branch that depends on where they stand: which text has next to none of, since
//! no one can tell where its next escape is. A chat of 1 MB with 12,000 escapes reads in 60 % of the time (2026-11).
#![expect(
    unsafe_code,
    reason = "calls a function that needs features of the processor, after a test for them; loads and stores of arrays"
)]

use super::{Progress, SIMPLE_ESCAPES};
use std::arch::x86_64::{
    __m512i, _bzhi_u64, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512,
    _mm512_mask2_permutex2var_epi8, _mm512_maskz_compress_epi8, _mm512_movepi8_mask, _mm512_set1_epi8,
    _mm512_storeu_si512, _mm512_testn_epi8_mask,
};
use std::hint::cold_path;

const BLOCK: usize = 64;

/// See [`super::blocks`]. False, and nothing is done, on a processor without what it takes.
#[inline]
pub(super) fn blocks(text: &[u8], room: &mut [u8], at: &mut Progress) -> bool {
    let fit = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    if fit {
        // SAFETY: the processor has all features that the function is compiled for.
        unsafe { decode(text, room, at) };
    }
    fit
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn decode(text: &[u8], room: &mut [u8], at: &mut Progress) {
    let (escapes, _) = SIMPLE_ESCAPES.as_chunks();
    let (low_escapes, high_escapes) = (load(&escapes[0]), load(&escapes[1]));
    let Progress { mut read, mut written } = *at;
    while let Some(block) = text[read..].first_chunk()
        && let Some(target) = room[written..].first_chunk_mut()
    {
        let bytes = load(block);
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
        let backslashes = escape_starts(equal(b'\\'));
        let letters = backslashes << 1;
        let decoded = _mm512_mask2_permutex2var_epi8(low_escapes, bytes, letters, high_escapes);
        // The table is of 128 bytes, in which a letter beyond ASCII would be taken for another.
        let not_simple = letters & (_mm512_testn_epi8_mask(decoded, decoded) | _mm512_movepi8_mask(bytes));
        let control = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20));
        let stops = (equal(b'"') | control) & !letters | not_simple >> 1;
        // Branches rather than arithmetic: where the next block begins must not wait for all of the above.
        if stops != 0 || backslashes >> (BLOCK - 1) != 0 {
            cold_path();
            // An escape that begins with the last byte is left to the next block.
            let used = (stops.trailing_zeros() as usize).min(BLOCK - 1);
            let kept = _bzhi_u64(!backslashes, used as u32);
            store(target, _mm512_maskz_compress_epi8(kept, decoded));
            read += used;
            written += kept.count_ones() as usize;
            if stops != 0 {
                break;
            }
            continue;
        }
        store(target, _mm512_maskz_compress_epi8(!backslashes, decoded));
        read += BLOCK;
        written += backslashes.count_zeros() as usize;
    }
    *at = Progress { read, written };
}

/// The backslashes among `backslashes` that begin an escape: every second one of a row.
#[inline]
fn escape_starts(backslashes: u64) -> u64 {
    if backslashes & backslashes << 1 == 0 {
        return backslashes;
    }
    let (mut starts, mut rest) = (0, backslashes);
    while rest != 0 {
        let first = rest & rest.wrapping_neg();
        starts |= first;
        rest &= !(first | first << 1);
    }
    starts
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: reads the 64 bytes of the array, wherever they lie.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(block: &mut [u8; BLOCK], bytes: __m512i) {
    // SAFETY: writes the 64 bytes of the array, wherever they lie.
    unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), bytes) }
}
