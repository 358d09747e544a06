//! Blocks with what every processor has.

use super::super::scan::{self, CHUNK};
use super::{Progress, SIMPLE_ESCAPES};

/// What is looked at together: a chunk, and another behind an escape that begins with its last byte.
const WINDOW: usize = 2 * CHUNK + 1;

/// See [`super::blocks`].
#[inline]
pub(super) fn blocks(text: &[u8], room: &mut [u8], at: &mut Progress) {
    let Progress { mut read, mut written } = *at;
    while let Some(window) = text[read..].first_chunk::<WINDOW>()
        && let Some(target) = room[written..].first_chunk_mut::<WINDOW>()
        && let Some(chunk) = window.first_chunk::<CHUNK>()
        && let Some(head) = target.first_chunk_mut::<CHUNK>()
    {
        *head = *chunk;
        let mut stops = scan::stop_mask(chunk);
        if stops == 0 {
            read += CHUNK;
            written += CHUNK;
            continue;
        }
        // One mask serves for all escapes of a chunk. What follows an escape is copied once more, to its new place.
        let (mut from, mut to) = (0, 0);
        while stops != 0 {
            let stop = stops.trailing_zeros() as usize;
            to += stop - from;
            let simple = SIMPLE_ESCAPES[usize::from(window[stop + 1])];
            if window[stop] != b'\\' || simple == 0 {
                *at = Progress {
                    read: read + stop,
                    written: written + to,
                };
                return;
            }
            target[to] = simple;
            to += 1;
            from = stop + 2;
            target[to..to + CHUNK].copy_from_slice(&window[from..from + CHUNK]);
            // What follows a backslash is no stop, whatever it is.
            stops &= u32::MAX.checked_shl(from as u32).unwrap_or(0);
        }
        // An escape may reach one byte beyond the chunk.
        let used = from.max(CHUNK);
        written += to + used - from;
        read += used;
    }
    *at = Progress { read, written };
}
