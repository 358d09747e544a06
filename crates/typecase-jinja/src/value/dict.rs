//! Lists and dicts.

use super::{Arena, Origin, Text, Value};
use std::collections::HashMap;

/// A `list` or `tuple`.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    items: &'a [Value<'a>],
    origin: Origin,
}

impl<'a> List<'a> {
    pub(crate) fn new(items: &'a [Value<'a>], origin: Origin) -> Self {
        List { items, origin }
    }

    /// The items, in order.
    pub fn items(&self) -> &'a [Value<'a>] {
        self.items
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Where the list was read from.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

/// Up to this many entries a look-up compares keys one by one, which beats any index.
const LINEAR: usize = 16;

/// A `dict`: entries in insertion order, keys of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Dict<'a> {
    entries: &'a [(Value<'a>, Value<'a>)],
    /// Positions of the entries whose key is a `str`, sorted by key; empty for small dicts. Not a hash table: hostile
    /// keys cannot make it slow.
    index: &'a [u32],
    origin: Origin,
}

impl<'a> Dict<'a> {
    /// Takes the entries from `start` on off the end of `entries`. Of equal `str` keys the first place and the last
    /// value stay, as in Python; keys that are no `str` are the caller's to make unique.
    pub(crate) fn from_entries(
        entries: &mut Vec<(Value<'a>, Value<'a>)>,
        start: usize,
        arena: &'a Arena,
        origin: Origin,
    ) -> Self {
        let mut dict = Dict {
            entries: &[],
            index: &[],
            origin,
        };
        if entries.len() - start <= LINEAR {
            let mut kept = start;
            for i in start..entries.len() {
                let entry = entries[i];
                match entry.0.as_str().and_then(|key| position(&entries[start..kept], key)) {
                    Some(earlier) => entries[start + earlier].1 = entry.1,
                    None => {
                        entries[kept] = entry;
                        kept += 1;
                    }
                }
            }
            dict.entries = arena.alloc_slice(&entries[start..kept]);
        } else {
            let mut seen: HashMap<&str, usize> = HashMap::with_capacity(entries.len() - start);
            let mut kept = start;
            for i in start..entries.len() {
                let entry = entries[i];
                let earlier = entry.0.as_str().and_then(|key| seen.insert(key, kept));
                match (earlier, entry.0.as_str()) {
                    (Some(earlier), Some(key)) => {
                        entries[earlier].1 = entry.1;
                        seen.insert(key, earlier);
                    }
                    _ => {
                        entries[kept] = entry;
                        kept += 1;
                    }
                }
            }
            dict.entries = arena.alloc_slice(&entries[start..kept]);
            let mut index: Vec<u32> = (0..dict.entries.len() as u32)
                .filter(|&i| dict.key_at(i).is_some())
                .collect();
            index.sort_unstable_by_key(|&i| dict.key_at(i));
            dict.index = arena.alloc_slice(&index);
        }
        entries.truncate(start);
        dict
    }

    fn key_at(&self, i: u32) -> Option<&'a str> {
        self.entries[i as usize].0.as_str()
    }

    /// The entries in insertion order.
    pub fn entries(&self) -> &'a [(Value<'a>, Value<'a>)] {
        self.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where the dict was read from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The value of a `str` key.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        if self.index.is_empty() {
            return position(self.entries, key).map(|i| self.entries[i].1);
        }
        let found = self.index.binary_search_by_key(&Some(key), |&i| self.key_at(i)).ok()?;
        Some(self.entries[self.index[found] as usize].1)
    }

    /// The entries whose key is a `str`; all of them in a dict that was read from JSON.
    pub fn str_entries(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + use<'a> {
        self.entries
            .iter()
            .filter_map(|(key, value)| Some((key.as_text()?, *value)))
    }
}

fn position(entries: &[(Value<'_>, Value<'_>)], key: &str) -> Option<usize> {
    entries.iter().position(|(k, _)| k.as_str() == Some(key))
}
