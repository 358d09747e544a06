//! Lists and dicts.

use super::compare::Key;
use super::{Arena, Exception, Origin, Text, Value};
use std::collections::HashMap;

/// A `list` or `tuple`.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    items: &'a [Value<'a>],
    /// Names of the items of a named tuple.
    names: &'static [&'static str],
    origin: Origin,
}

impl<'a> List<'a> {
    pub(crate) fn new(items: &'a [Value<'a>], origin: Origin) -> Self {
        List {
            items,
            names: &[],
            origin,
        }
    }

    /// A named tuple.
    pub(crate) fn named(items: &'a [Value<'a>], names: &'static [&'static str]) -> Self {
        List {
            items,
            names,
            origin: Origin::COMPUTED,
        }
    }

    /// Whether it is a named tuple.
    pub(crate) fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// The item called `name` of a named tuple.
    pub fn by_name(&self, name: &str) -> Option<Value<'a>> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.items.get(at).copied()
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
    /// The same for the entries with other keys, sorted by [`Key`].
    others: &'a [u32],
    origin: Origin,
}

impl<'a> Dict<'a> {
    /// `{}`
    pub(crate) const EMPTY: Dict<'static> = Dict {
        entries: &[],
        index: &[],
        others: &[],
        origin: Origin::COMPUTED,
    };

    /// A dict as `dict(entries)` makes it: of equal keys the first place and the last value stay.
    ///
    /// # Errors
    /// `TypeError` for a key that cannot be hashed.
    pub fn new(
        entries: impl IntoIterator<Item = (Value<'a>, Value<'a>)>,
        arena: &'a Arena,
        origin: Origin,
    ) -> Result<Self, Exception> {
        let mut unique: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        let mut seen: HashMap<Key<'a>, usize> = HashMap::new();
        for (key, value) in entries {
            if key.as_str().is_some() {
                unique.push((key, value));
                continue;
            }
            match seen.entry(Key::of(&key)?) {
                std::collections::hash_map::Entry::Occupied(entry) => unique[*entry.get()].1 = value,
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(unique.len());
                    unique.push((key, value));
                }
            }
        }
        Ok(Dict::from_entries(&mut unique, 0, arena, origin))
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// `TypeError` if `key` cannot be hashed.
    pub fn lookup(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, Exception> {
        if let Some(key) = key.as_str() {
            return Ok(self.get(key));
        }
        let key = Key::of(key)?;
        if self.entries.len() <= LINEAR {
            return Ok(self
                .entries
                .iter()
                .find(|(other, _)| other.as_str().is_none() && Key::of(other).is_ok_and(|other| other == key))
                .map(|(_, value)| *value));
        }
        let found = self.others.binary_search_by(|&i| {
            Key::of(&self.entries[i as usize].0).map_or(std::cmp::Ordering::Less, |other| other.cmp(&key))
        });
        Ok(found.ok().map(|at| self.entries[self.others[at] as usize].1))
    }

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
            others: &[],
            origin,
        };
        if entries.len() - start <= LINEAR {
            let mut kept = start;
            let mut seen = 0;
            for i in start..entries.len() {
                let entry = entries[i];
                let earlier = entry.0.as_str().and_then(|key| {
                    let mark = mark(key);
                    let may_be_there = seen & mark != 0;
                    seen |= mark;
                    may_be_there.then(|| position(&entries[start..kept], key)).flatten()
                });
                match earlier {
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
            if index.len() < dict.entries.len() {
                let mut others: Vec<(Key<'a>, u32)> = (0..dict.entries.len() as u32)
                    .filter(|&i| dict.key_at(i).is_none())
                    .filter_map(|i| Some((Key::of(&dict.entries[i as usize].0).ok()?, i)))
                    .collect();
                others.sort_unstable();
                let others: Vec<u32> = others.into_iter().map(|(_, i)| i).collect();
                dict.others = arena.alloc_slice(&others);
            }
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
        if self.entries.len() <= LINEAR {
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

/// One of 64 bits, the same for equal keys and mostly different for different ones.
#[inline]
fn mark(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let (first, last) = (bytes.first().copied(), bytes.last().copied());
    let mixed = bytes.len() ^ (usize::from(first.unwrap_or(0)) * 5) ^ (usize::from(last.unwrap_or(0)) * 11);
    1 << (mixed % 64)
}

fn position(entries: &[(Value<'_>, Value<'_>)], key: &str) -> Option<usize> {
    let Some(&first) = key.as_bytes().first() else {
        return entries.iter().position(|(k, _)| k.as_str() == Some(""));
    };
    // Keys of the same length mostly differ in their first byte, which spares the call that compares the rest.
    entries.iter().position(|(k, _)| {
        k.as_str()
            .is_some_and(|k| k.len() == key.len() && k.as_bytes().first() == Some(&first) && k == key)
    })
}
