//! Ids of text that was encoded before.
//!
//! What is stored is a *piece*: text between two added tokens, whose ids depend on nothing else (but, for some
//! vocabularies, on whether a segment begins with it). A conversation that grows sends its earlier pieces again each turn.
//!
//! - **No false hit.** The text is stored and compared; an equal hash of other text is a miss.
//! - **No crafted collisions.** The hash is keyed with numbers that are drawn when the cache is made.
//! - **Bounded.** Each of [`SHARDS`] parts has its share of the budget and keeps two generations: what is used moves to
//!   the young one; when that is full, the old one is dropped and the young one is the old one. So neither a list of uses
//!   nor a search for the least recent one is needed.
//! - **Shared.** Threads meet only at a part, and only for the look-up: the ids themselves are shared, not copied there.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Independently locked parts.
const SHARDS: usize = 64;
/// Bytes that an entry takes beside its text and ids: its place in a table, and the counts of the shared ids.
const ENTRY_BYTES: usize = 96;
/// A piece that takes more than this part of the budget is not stored.
const LARGEST: usize = 128;

/// The cache of a tokenizer.
pub(super) struct Cache {
    shards: Box<[Mutex<Shard>]>,
    keys: ahash::RandomState,
    max_bytes: usize,
    hits: AtomicU64,
    misses: AtomicU64,
    hit_bytes: AtomicU64,
    miss_bytes: AtomicU64,
}

/// What a cache did so far, and what it holds. [`Tokenizer::cache_stats`](super::Tokenizer::cache_stats) gives it, and has
/// an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Pieces found.
    pub hits: u64,
    /// Pieces not found, which were encoded.
    pub misses: u64,
    /// Bytes of text in the pieces found.
    pub hit_bytes: u64,
    /// Bytes of text in the pieces not found.
    pub miss_bytes: u64,
    /// Pieces held.
    pub entries: usize,
    /// Prompts whose beginning was found as a whole: a conversation that has grown.
    pub prefix_hits: u64,
    /// Bytes of text in these beginnings, whose pieces were not looked for.
    pub prefix_bytes: u64,
    /// Beginnings of prompts held.
    pub prefixes: usize,
    /// Bytes held: text, ids and the tables.
    pub bytes: usize,
    /// The budget.
    pub max_bytes: usize,
}

#[derive(Default)]
struct Shard {
    young: Generation,
    old: Generation,
}

#[derive(Default)]
struct Generation {
    entries: HashMap<u64, Entry, BuildHasherDefault<Keyed>>,
    bytes: usize,
}

struct Entry {
    text: Box<str>,
    first: bool,
    ids: Arc<[u32]>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len() + 4 * self.ids.len() + ENTRY_BYTES
    }
}

/// The keys of the tables are hashes already.
#[derive(Default)]
struct Keyed(u64);

impl Hasher for Keyed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stats().fmt(f)
    }
}

impl Cache {
    /// A cache that holds up to `max_bytes`; of 0 bytes, it holds nothing and costs nothing.
    pub(super) fn new(max_bytes: usize) -> Self {
        let shards = if max_bytes == 0 { 0 } else { SHARDS };
        Cache {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            keys: ahash::RandomState::new(),
            max_bytes,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            hit_bytes: AtomicU64::new(0),
            miss_bytes: AtomicU64::new(0),
        }
    }

    /// The ids of a piece, if they are known; else what to store them with.
    pub(super) fn look_up(&self, text: &str, first: bool) -> Result<Arc<[u32]>, Option<Slot>> {
        if self.shards.is_empty() || text.len() + ENTRY_BYTES > self.max_bytes / LARGEST {
            return Err(None);
        }
        let slot = Slot(self.keys.hash_one((text, first)));
        let found = self.shard(slot).find(slot.0, text, first, self.budget());
        let (count, bytes) = match found {
            Some(_) => (&self.hits, &self.hit_bytes),
            None => (&self.misses, &self.miss_bytes),
        };
        count.fetch_add(1, Relaxed);
        bytes.fetch_add(text.len() as u64, Relaxed);
        found.ok_or(Some(slot))
    }

    /// Stores the ids of a piece that was looked up.
    pub(super) fn store(&self, slot: Slot, text: &str, first: bool, ids: &[u32]) {
        let entry = Entry {
            text: text.into(),
            first,
            ids: ids.into(),
        };
        if entry.bytes() <= self.max_bytes / LARGEST {
            self.shard(slot).insert(slot.0, entry, self.budget());
        }
    }

    /// Bytes that one generation of one part may hold.
    fn budget(&self) -> usize {
        self.max_bytes / SHARDS / 2
    }

    fn shard(&self, slot: Slot) -> MutexGuard<'_, Shard> {
        // The table takes the low bits, so the part takes high ones. A panic elsewhere leaves a part as it was.
        let index = (slot.0 >> 48) as usize % self.shards.len();
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stats(&self) -> CacheStats {
        let mut stats = CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            hit_bytes: self.hit_bytes.load(Relaxed),
            miss_bytes: self.miss_bytes.load(Relaxed),
            max_bytes: self.max_bytes,
            ..CacheStats::default()
        };
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            stats.entries += shard.young.entries.len() + shard.old.entries.len();
            stats.bytes += shard.young.bytes + shard.old.bytes;
        }
        stats
    }
}

/// Where a piece belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u64);

impl Shard {
    fn find(&mut self, hash: u64, text: &str, first: bool, budget: usize) -> Option<Arc<[u32]>> {
        let same = |entry: &Entry| entry.first == first && *entry.text == *text;
        if let Some(entry) = self.young.entries.get(&hash) {
            return same(entry).then(|| entry.ids.clone());
        }
        if !self.old.entries.get(&hash).is_some_and(same) {
            return None;
        }
        let entry = self.old.entries.remove(&hash)?;
        self.old.bytes -= entry.bytes();
        let ids = entry.ids.clone();
        self.insert(hash, entry, budget);
        Some(ids)
    }

    fn insert(&mut self, hash: u64, entry: Entry, budget: usize) {
        if self.young.bytes + entry.bytes() > budget {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += entry.bytes();
        if let Some(replaced) = self.young.entries.insert(hash, entry) {
            self.young.bytes -= replaced.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_found_and_nothing_else() {
        let cache = Cache::new(1 << 20);
        let Err(Some(slot)) = cache.look_up("a b", true) else {
            panic!("nothing is stored yet");
        };
        cache.store(slot, "a b", true, &[1, 2]);
        assert_eq!(*cache.look_up("a b", true).expect("stored"), [1, 2]);
        assert!(cache.look_up("a b", false).is_err());
        assert!(cache.look_up("a c", true).is_err());
        // Other text at the same place is a miss, and takes the place.
        assert!(cache.shard(slot).find(slot.0, "other", true, 1 << 20).is_none());
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses, stats.entries), (1, 3, 1));
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let cache = Cache::new(1 << 18);
        for i in 0..20_000u32 {
            for text in [format!("piece number {i}"), "used all the time".to_owned()] {
                if let Err(Some(slot)) = cache.look_up(&text, false) {
                    cache.store(slot, &text, false, &[i; 20]);
                }
            }
            if i % 1000 == 0 {
                assert!(cache.stats().bytes <= 1 << 18);
            }
        }
        assert!(cache.stats().bytes <= 1 << 18);
        assert!(cache.stats().bytes > 1 << 16);
        assert_eq!(
            *cache.look_up("used all the time", false).expect("still there"),
            [0; 20]
        );
    }

    #[test]
    fn texts_of_one_hash_never_stand_for_each_other() {
        // The worst that crafted text could do if the keys were known: all of it at one place.
        let cache = Cache::new(1 << 20);
        let slot = Slot(7 << 48 | 42);
        for i in 0..1000u32 {
            let text = format!("crafted {i}");
            assert!(cache.shard(slot).find(slot.0, &text, false, cache.budget()).is_none());
            cache.store(slot, &text, false, &[i]);
            let found = cache.shard(slot).find(slot.0, &text, false, cache.budget());
            assert_eq!(*found.expect("just stored"), [i]);
            let other = cache.shard(slot).find(slot.0, &text, true, cache.budget());
            assert!(other.is_none(), "the beginning of a segment is another piece");
        }
        // They took each other's place, so a pile of them costs no more than one.
        assert_eq!(cache.stats().entries, 1);
    }

    #[test]
    fn no_two_caches_have_the_same_places() {
        let places = |cache: &Cache| -> Vec<u64> {
            (0..64)
                .map(|i| match cache.look_up(&format!("text {i}"), false) {
                    Err(Some(slot)) => slot.0,
                    _ => unreachable!("the cache is empty and has a budget"),
                })
                .collect()
        };
        let [one, other] = [Cache::new(1 << 20), Cache::new(1 << 20)].map(|cache| places(&cache));
        assert!(one.iter().zip(&other).all(|(one, other)| one != other));
    }

    #[test]
    fn threads_share_what_was_stored_and_stay_within_the_budget() {
        const BUDGET: usize = 1 << 20;
        let cache = Cache::new(BUDGET);
        let id_of = |text: &str| text.bytes().fold(0u32, |sum, byte| sum * 31 % 65_537 + u32::from(byte));
        std::thread::scope(|scope| {
            for worker in 0..4u32 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..20_000u32 {
                        // Half of the texts are all threads', half are one's own.
                        let text = match i % 2 {
                            0 => format!("shared {}", i % 512),
                            _ => format!("worker {worker} text {i}"),
                        };
                        match cache.look_up(&text, i % 4 == 0) {
                            Ok(ids) => assert_eq!(*ids, [id_of(&text); 3]),
                            Err(Some(slot)) => cache.store(slot, &text, i % 4 == 0, &[id_of(&text); 3]),
                            Err(None) => unreachable!("short texts are stored"),
                        }
                    }
                });
            }
        });
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.misses, 80_000);
        assert!(stats.hits > 30_000, "{stats:?}");
        assert!(stats.bytes <= BUDGET && stats.max_bytes == BUDGET, "{stats:?}");
    }

    #[test]
    fn without_a_budget_nothing_is_held() {
        let cache = Cache::new(0);
        assert!(matches!(cache.look_up("a", true), Err(None)));
    }
}
