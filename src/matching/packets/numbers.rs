//! Numbers for things that come again and again.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;

/// What was answered for the two keys that came last: packets go both ways, and neighbours of one way are mostly alike.
#[derive(Debug)]
pub(in crate::matching) struct Lately<K, V>([Option<(K, V)>; 2]);

impl<K, V> Default for Lately<K, V> {
    fn default() -> Self {
        Self([None, None])
    }
}

impl<K: Copy + Eq, V: Copy> Lately<K, V> {
    /// The answer for a key, by `answer` where it is none of the two.
    #[inline]
    pub(in crate::matching) fn of(&mut self, key: K, answer: impl FnOnce() -> V) -> V {
        match &self.0 {
            [Some((latest, own)), _] | [_, Some((latest, own))] if *latest == key => *own,
            [latest, _] => {
                let own = answer();
                self.0 = [Some((key, own)), *latest];
                own
            }
        }
    }
}

/// Small numbers, given out in the order in which keys were first seen. The two keys that came last are compared first: packets go
/// both ways.
#[derive(Debug)]
pub(in crate::matching) struct Numbers<K> {
    of: HashMap<K, u32, FixedState>,
    latest: [Option<(K, u32)>; 2],
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { of: HashMap::default(), latest: [None, None] }
    }
}

impl<K: Copy + Eq + Hash> Numbers<K> {
    /// The number of a key that was seen before.
    #[inline]
    pub(in crate::matching) fn get(&mut self, key: K) -> Option<u32> {
        let [last, before] = &self.latest;
        match (last, before) {
            (Some((latest, number)), _) | (_, Some((latest, number))) if *latest == key => return Some(*number),
            _ => {}
        }
        let number = *self.of.get(&key)?;
        self.latest = [Some((key, number)), self.latest[0]];
        Some(number)
    }

    /// Gives the key a number.
    pub(in crate::matching) fn insert(&mut self, key: K, number: u32) {
        self.of.insert(key, number);
        self.latest = [Some((key, number)), self.latest[0]];
    }

    /// Keys that have a number.
    pub(in crate::matching) fn len(&self) -> usize {
        self.of.len()
    }
}
