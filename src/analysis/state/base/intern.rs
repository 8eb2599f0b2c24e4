//! Keys become small numbers, in order of first appearance.
//!
//! First-appearance order is what makes numbered tables mergeable: the order in `a ++ b` is `a`'s keys, then `b`'s new ones.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// No number: the key was not admitted, or there is nothing to number.
pub(crate) const NONE: u32 = u32::MAX;

/// A key that can be told from most others by one word, cheaply.
pub(crate) trait Quick {
    /// A word that differs between keys that occur together. Not a hash: a chosen collision costs a look-up, no more.
    fn quick(&self) -> u64;
}

/// Slots of the cache in front of a table.
const CACHE: usize = 1 << 10;

/// The slot of a quick word.
#[inline]
pub(crate) fn cache_slot(quick: u64) -> usize {
    (quick.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CACHE.trailing_zeros())) as usize
}

/// Puts a number into a cache. A cache takes its room when the first number comes: of thousands of captures each has several.
pub(crate) fn remember(cache: &mut Vec<u32>, slot: usize, id: u32) {
    if cache.is_empty() {
        cache.resize(CACHE, NONE);
    }
    if let Some(cached) = cache.get_mut(slot) {
        *cached = id;
    }
}

/// A table of keys numbered from 0, bounded.
#[derive(Clone, Debug)]
pub(crate) struct Interner<K> {
    ids: HashMap<K, u32, RandomState>,
    keys: Vec<K>,
    limit: usize,
    /// Numbers of keys used lately, by their quick word.
    cache: Vec<u32>,
    /// How often a key was refused because the table was full.
    pub(crate) refused: u64,
}

impl<K: Copy + Eq + Hash + Quick> Interner<K> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { ids: HashMap::default(), keys: Vec::new(), limit, cache: Vec::new(), refused: 0 }
    }

    /// The number of `key`, or [`NONE`] if the table is full.
    #[inline]
    pub(crate) fn intern(&mut self, key: K) -> u32 {
        let slot = cache_slot(key.quick());
        let cached = self.cache.get(slot).copied().unwrap_or(NONE);
        if self.keys.get(cached as usize).is_some_and(|known| *known == key) {
            return cached;
        }
        self.intern_slow(key, slot)
    }

    #[inline(never)]
    fn intern_slow(&mut self, key: K, slot: usize) -> u32 {
        let id = match self.ids.get(&key) {
            Some(&id) => id,
            None if self.keys.len() < self.limit => {
                let id = self.keys.len() as u32;
                self.keys.push(key);
                self.ids.insert(key, id);
                id
            }
            None => {
                self.refused += 1;
                return NONE;
            }
        };
        remember(&mut self.cache, slot, id);
        id
    }

    /// Gives the cache's room back.
    pub(crate) fn settle(&mut self) {
        self.cache = Vec::new();
    }

    pub(crate) fn get(&self, id: u32) -> Option<&K> {
        self.keys.get(id as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Admits no further keys.
    pub(crate) fn close(&mut self) {
        self.limit = self.keys.len();
    }

    pub(crate) fn find(&self, key: &K) -> Option<u32> {
        self.ids.get(key).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &K)> {
        self.keys.iter().enumerate().map(|(id, key)| (id as u32, key))
    }

    /// Admits the keys of a later table, changed by `map`; returns the new number of each of its keys.
    pub(crate) fn absorb(&mut self, later: &Self, map: impl Fn(K) -> K) -> Vec<u32> {
        self.refused += later.refused;
        later.keys.iter().map(|&key| self.intern(map(key))).collect()
    }
}

impl<K: PartialEq> PartialEq for Interner<K> {
    /// What was refused does not count: a table that was full in the whole may have had room in each part.
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys
    }
}

/// The number of a later table's `id` after [`Interner::absorb`].
pub(crate) fn remap(map: &[u32], id: u32) -> u32 {
    map.get(id as usize).copied().unwrap_or(NONE)
}

impl<K: Serialize> Serialize for Interner<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.keys, self.refused).serialize(serializer)
    }
}

impl<'de, K: Copy + Eq + Hash + Quick + Deserialize<'de>> Deserialize<'de> for Interner<K> {
    /// The table has room for what it holds: a state that was read is merged into an empty one, whose tables have room for more.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (keys, refused) = <(Vec<K>, u64)>::deserialize(deserializer)?;
        let mut table = Self::new(keys.len());
        for key in keys {
            table.intern(key);
        }
        table.refused = refused;
        Ok(table)
    }
}
