//! Ids of the prompts of conversations that grow.
//!
//! Each turn of a conversation sends the turns before it again. The [cache of pieces](super::cache) spares their encoding,
//! but each piece is still looked for and found. What is stored here is a *prefix*: a prompt up to the control token that
//! closes its last message, if [nothing depends on what follows it](super::added_tokens::Found::is_border). What comes behind
//! opens the turn of the assistant (`<think>`), and need not come again. If a prompt begins with a prefix, one comparison
//! and one copy stand for all of it.
//!
//! - **No false hit.** The text is stored and compared, and so is what of it the request wrote.
//! - **Only what grows.** A prompt of which the pieces are new is not stored: requests without a successor cost nothing.
//! - **Bounded.** In bytes, in entries, and in how many texts of them are compared. The one that was unused longest goes.
//! - **Shared.** Whoever finds a prefix takes it out, and puts it back longer. Meanwhile another thread that wants the same
//!   encodes piece by piece.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shorter prompts are not worth it.
const SHORTEST: usize = 1024;
/// Entries, all of which are looked at.
const MAX_ENTRIES: usize = 1024;
/// Texts that are compared as a whole in one look-up, whatever requests look like.
const MAX_COMPARED: usize = 8;
/// Bytes at the end of a prefix that tell most apart.
const SAMPLE: usize = 16;

/// The beginning of a prompt that was encoded.
#[derive(Default)]
pub(super) struct Prefix {
    text: String,
    ids: Vec<u32>,
    /// What of the text the request wrote, as far as that counts.
    untrusted: Vec<Range<usize>>,
    sample: [u8; SAMPLE],
    used: u64,
}

/// The prefixes of a tokenizer.
pub(super) struct Prefixes {
    held: Mutex<Held>,
    max_bytes: usize,
    hits: AtomicU64,
    hit_bytes: AtomicU64,
}

#[derive(Default)]
struct Held {
    entries: Vec<Prefix>,
    bytes: usize,
    /// Counts what is put in.
    clock: u64,
}

/// What was done and what is held, as [`CacheStats`](super::CacheStats) has it.
pub(super) struct Stats {
    pub(super) hits: u64,
    pub(super) hit_bytes: u64,
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

impl Prefix {
    /// The ids of the prefix.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Bytes of text.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Makes it the prefix of `text` of `len` bytes, whose ids are `ids`. Both begin with what it was.
    pub(super) fn extend(&mut self, text: &str, len: usize, ids: &[u32], untrusted: &[Range<usize>]) {
        let known = self.text.len();
        self.text.push_str(&text[known..len]);
        self.ids.extend_from_slice(&ids[self.ids.len()..]);
        self.untrusted.clear();
        self.untrusted.extend(clipped(untrusted, len));
    }

    fn bytes(&self) -> usize {
        let ranges = self.untrusted.capacity() * size_of::<Range<usize>>();
        self.text.capacity() + self.ids.capacity() * size_of::<u32>() + ranges + size_of::<Self>()
    }

    /// Whether it may be one of `text`, as far as that is cheap to tell.
    fn resembles(&self, text: &str) -> bool {
        let end = self.text.len();
        let sample = end
            .checked_sub(SAMPLE)
            .and_then(|begin| text.as_bytes().get(begin..end));
        sample.is_some_and(|sample| sample == self.sample)
    }

    fn begins(&self, text: &str, untrusted: &[Range<usize>]) -> bool {
        text.as_bytes().starts_with(self.text.as_bytes())
            && clipped(untrusted, self.text.len()).eq(self.untrusted.iter().cloned())
    }
}

/// The parts of `ranges` that lie before `end`.
fn clipped(ranges: &[Range<usize>], end: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let before = ranges.iter().take_while(move |range| range.start < end);
    before.map(move |range| range.start..range.end.min(end))
}

impl std::fmt::Debug for Prefixes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prefixes")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Prefixes {
    /// Holds up to `max_bytes`; of 0 bytes, nothing.
    pub(super) fn new(max_bytes: usize) -> Self {
        Prefixes {
            held: Mutex::default(),
            max_bytes,
            hits: AtomicU64::new(0),
            hit_bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Whether a prompt of `len` bytes may be stored.
    pub(super) fn takes(&self, len: usize) -> bool {
        len >= SHORTEST && self.max_bytes > 0
    }

    /// Takes the longest prefix of `text` out, if there is one.
    pub(super) fn take(&self, text: &str, untrusted: &[Range<usize>]) -> Option<Prefix> {
        let mut held = self.held();
        let mut longest: Option<usize> = None;
        let mut compared = 0;
        for (at, prefix) in held.entries.iter().enumerate() {
            let is_longer = longest.is_none_or(|longest| prefix.len() > held.entries[longest].len());
            if !is_longer || !prefix.resembles(text) {
                continue;
            }
            if prefix.begins(text, untrusted) {
                longest = Some(at);
            }
            compared += 1;
            if compared == MAX_COMPARED {
                break;
            }
        }
        let prefix = held.entries.swap_remove(longest?);
        held.bytes -= prefix.bytes();
        drop(held);
        self.hits.fetch_add(1, Relaxed);
        self.hit_bytes.fetch_add(prefix.len() as u64, Relaxed);
        Some(prefix)
    }

    /// Puts a prefix in, and takes out what then is too much.
    pub(super) fn put(&self, mut prefix: Prefix) {
        let bytes = prefix.bytes();
        // Some conversations must fit, not one alone.
        if !self.takes(prefix.len()) || bytes > self.max_bytes / 4 {
            return;
        }
        if let Some(sample) = prefix.text.as_bytes().last_chunk() {
            prefix.sample = *sample;
        }
        let mut held = self.held();
        held.clock += 1;
        prefix.used = held.clock;
        while held.bytes + bytes > self.max_bytes || held.entries.len() == MAX_ENTRIES {
            let entries = held.entries.iter().enumerate();
            let Some((oldest, _)) = entries.min_by_key(|(_, prefix)| prefix.used) else {
                break;
            };
            let dropped = held.entries.swap_remove(oldest);
            held.bytes -= dropped.bytes();
        }
        held.bytes += bytes;
        held.entries.push(prefix);
    }

    pub(super) fn stats(&self) -> Stats {
        let held = self.held();
        Stats {
            hits: self.hits.load(Relaxed),
            hit_bytes: self.hit_bytes.load(Relaxed),
            entries: held.entries.len(),
            bytes: held.bytes,
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // A panic elsewhere leaves them as they were.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str, untrusted: &[Range<usize>]) -> Prefix {
        let mut prefix = Prefix::default();
        let ids: Vec<u32> = (0..text.len() as u32).collect();
        prefix.extend(text, text.len(), &ids, untrusted);
        prefix
    }

    fn long(seed: &str) -> String {
        seed.repeat(2 * SHORTEST / seed.len())
    }

    #[test]
    fn the_longest_one_that_begins_the_text_is_taken() {
        let prefixes = Prefixes::new(1 << 20);
        let (short, longer) = (long("ab "), long("ab ") + "ab ab ab");
        prefixes.put(prefix(&short, &[]));
        prefixes.put(prefix(&longer, &[]));
        prefixes.put(prefix(&long("cd "), &[]));
        let text = long("ab ") + "ab ab ab and more";
        assert_eq!(prefixes.take(&text, &[]).map(|prefix| prefix.len()), Some(longer.len()));
        assert_eq!(prefixes.take(&text, &[]).map(|prefix| prefix.len()), Some(short.len()));
        assert!(prefixes.take(&text, &[]).is_none(), "both were taken out");
        let stats = prefixes.stats();
        assert_eq!(
            (stats.hits, stats.hit_bytes, stats.entries),
            (2, (short.len() + longer.len()) as u64, 1)
        );
    }

    #[test]
    fn what_the_request_wrote_has_to_be_the_same() {
        let prefixes = Prefixes::new(1 << 20);
        let text = long("abc ");
        let end = text.len();
        prefixes.put(prefix(&text, &[5..9, end - 4..end]));
        let others: [Vec<Range<usize>>; 5] = [
            Vec::new(),
            std::iter::once(5..9).collect(),
            Vec::from([5..8, end - 4..end]),
            Vec::from([5..9, end - 3..end]),
            Vec::from([1..2, 5..9, end - 4..end]),
        ];
        for other in &others {
            assert!(prefixes.take(&text, other).is_none(), "{other:?}");
        }
        // What begins behind it, or goes on there, does not count.
        assert!(
            prefixes
                .take(&(text + "more"), &[5..9, end - 4..end + 2, end + 3..end + 4])
                .is_some()
        );
    }

    #[test]
    fn texts_that_differ_before_the_sample_are_others() {
        let prefixes = Prefixes::new(1 << 20);
        let text = long("abcd");
        for i in 0..2 * MAX_COMPARED {
            let mut other = text.clone();
            other.replace_range(i * 4..i * 4 + 1, "x");
            prefixes.put(prefix(&other, &[]));
        }
        assert!(prefixes.take(&text, &[]).is_none());
        assert_eq!(prefixes.stats().entries, 2 * MAX_COMPARED);
    }

    #[test]
    fn budget_and_number_hold_and_the_oldest_goes() {
        let prefixes = Prefixes::new(100 * SHORTEST);
        let texts: Vec<String> = (0..100).map(|i| long(&format!("{i:04} "))).collect();
        for text in &texts {
            prefixes.put(prefix(text, &[]));
            assert!(prefixes.stats().bytes <= 100 * SHORTEST);
        }
        assert!(prefixes.take(&texts[0], &[]).is_none());
        assert!(prefixes.take(&texts[99], &[]).is_some());
        let small = Prefixes::new(64 << 20);
        for i in 0..2 * MAX_ENTRIES {
            small.put(prefix(&long(&format!("{i:04} ")), &[]));
        }
        assert_eq!(small.stats().entries, MAX_ENTRIES);
        // One that would fill the budget alone, one that is too short, and none at all.
        small.put(prefix(&"x".repeat(16 << 20), &[]));
        small.put(prefix("short", &[]));
        assert_eq!(small.stats().entries, MAX_ENTRIES);
        let none = Prefixes::new(0);
        none.put(prefix(&texts[0], &[]));
        assert!(none.take(&texts[0], &[]).is_none());
    }
}
