//! A bounded histogram: sums over packets that agree in a key.

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::analysis::limits::MAX_SIZE_CELLS;
use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::{NONE, Quick, cache_slot, remember};
use crate::analysis::state::base::seen::Seen;
use crate::model::Shift;

/// Sums over the packets of one cell.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) seen: Seen,
    pub(crate) l1_bytes: u64,
    pub(crate) copies: u64,
    pub(crate) copies_l1_bytes: u64,
}

impl Cell {
    /// Packets that are no copies, and their layer 1 octets.
    pub(crate) const fn without_copies(&self) -> (u64, u64) {
        (self.seen.count.saturating_sub(self.copies), self.l1_bytes.saturating_sub(self.copies_l1_bytes))
    }

    #[inline]
    fn add(&mut self, o: &Observation) {
        self.seen.add(o.pos, o.time);
        self.l1_bytes += o.l1_bytes();
    }

    fn add_copy(&mut self, o: &Observation) {
        self.copies += 1;
        self.copies_l1_bytes += o.l1_bytes();
    }

    fn take_copy(&mut self, o: &Observation) {
        self.copies = self.copies.saturating_sub(1);
        self.copies_l1_bytes = self.copies_l1_bytes.saturating_sub(o.l1_bytes());
    }

    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { seen, l1_bytes, copies, copies_l1_bytes } = later;
        self.seen.merge(seen, shift);
        self.l1_bytes += l1_bytes;
        self.copies += copies;
        self.copies_l1_bytes += copies_l1_bytes;
    }
}

/// A bounded map of cells with a memory for the last one used.
#[derive(Clone, Debug)]
pub(crate) struct Cells<K> {
    ids: HashMap<K, u32, RandomState>,
    cells: Vec<(K, Cell)>,
    /// Numbers of cells used lately, by the quick word of their key.
    cache: Vec<u32>,
    limit: usize,
    /// Packets of keys that have no cell, because there is no room for more.
    pub(crate) refused: u64,
}

impl<K> Default for Cells<K> {
    fn default() -> Self {
        Self { ids: HashMap::default(), cells: Vec::new(), cache: Vec::new(), limit: MAX_SIZE_CELLS, refused: 0 }
    }
}

impl<K: PartialEq> PartialEq for Cells<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells && self.refused == other.refused
    }
}

impl<K: Copy + Eq + Hash + Quick> Cells<K> {
    #[inline]
    fn cell(&mut self, key: K) -> Option<&mut Cell> {
        let slot = cache_slot(key.quick());
        let mut id = self.cache.get(slot).copied().unwrap_or(NONE);
        if self.cells.get(id as usize).is_none_or(|(known, _)| *known != key) {
            id = self.find(key)?;
            remember(&mut self.cache, slot, id);
        }
        self.cells.get_mut(id as usize).map(|(_, cell)| cell)
    }

    #[inline(never)]
    fn find(&mut self, key: K) -> Option<u32> {
        if self.ids.len() < self.cells.len() {
            self.ids = self.cells.iter().enumerate().map(|(id, (key, _))| (*key, id as u32)).collect();
        }
        if let Some(&id) = self.ids.get(&key) {
            return Some(id);
        }
        if self.cells.len() >= self.limit {
            self.refused += 1;
            return None;
        }
        let id = self.cells.len() as u32;
        self.cells.push((key, Cell::default()));
        self.ids.insert(key, id);
        Some(id)
    }

    /// Whether a key has a cell.
    pub(crate) fn has(&self, key: &K) -> bool {
        let cached = self.cache.get(cache_slot(key.quick())).and_then(|id| self.cells.get(*id as usize));
        cached.is_some_and(|(known, _)| known == key) || self.ids.contains_key(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, Cell)> {
        self.cells.iter()
    }

    pub(super) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Admits no further keys.
    pub(super) const fn close(&mut self) {
        self.limit = self.cells.len();
    }

    /// Takes out the cells of these keys.
    pub(super) fn take_out(&mut self, of: impl Fn(&K) -> bool) {
        self.cells.retain(|(key, _)| !of(key));
        // Numbers have changed; made again when the next cell is looked for.
        (self.ids, self.cache) = (HashMap::default(), Vec::new());
    }

    pub(super) fn settle(&mut self)
    where
        K: Ord,
    {
        self.cells.sort_unstable_by_key(|(key, _)| *key);
        self.cells.shrink_to_fit();
        // Made again when the next cell is looked for.
        self.ids = HashMap::default();
        self.cache = Vec::new();
    }

    pub(crate) fn add(&mut self, key: K, o: &Observation) {
        if let Some(cell) = self.cell(key) {
            cell.add(o);
        }
    }

    /// Adds a frame to the copies, or takes it back.
    #[inline]
    pub(crate) fn count_copy(&mut self, key: K, o: &Observation, copy: bool) {
        self.apply(key, o, if copy { Op::Copy } else { Op::NoCopy });
    }

    pub(super) fn apply(&mut self, key: K, o: &Observation, op: Op) {
        if let Some(cell) = self.cell(key) {
            match op {
                Op::Add => cell.add(o),
                Op::Copy => cell.add_copy(o),
                Op::NoCopy => cell.take_copy(o),
            }
        }
    }

    /// Adds packets of one size.
    pub(crate) fn add_many(&mut self, key: K, seen: &Seen, l1_bytes: u64) {
        if let Some(cell) = self.cell(key) {
            cell.seen.join(seen);
            cell.l1_bytes += l1_bytes;
        }
    }

    /// Adds the sums of a cell.
    pub(crate) fn add_cell(&mut self, key: K, sums: &Cell) {
        if let Some(cell) = self.cell(key) {
            cell.seen.join(&sums.seen);
            cell.l1_bytes += sums.l1_bytes;
        }
    }

    /// Adds a whole packet that was put together from fragments: first seen with its first fragment.
    pub(crate) fn add_train(&mut self, key: K, seen: Seen, l1_bytes: u64) {
        if let Some(cell) = self.cell(key) {
            cell.seen.count += 1;
            let mut ends = seen;
            ends.count = 0;
            cell.seen.join(&ends);
            cell.l1_bytes += l1_bytes;
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: impl Fn(K) -> K) {
        let Self { ids: _, cells, cache: _, limit: _, refused } = later;
        self.refused += refused;
        for (key, theirs) in cells {
            if let Some(cell) = self.cell(map(key)) {
                cell.merge(theirs, shift);
            }
        }
    }
}

impl<K: Serialize> Serialize for Cells<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.cells, self.refused).serialize(serializer)
    }
}

impl<'de, K: Copy + Eq + Hash + Deserialize<'de>> Deserialize<'de> for Cells<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (cells, refused) = <(Vec<(K, Cell)>, u64)>::deserialize(deserializer)?;
        Ok(Self { cells, refused, ..Self::default() })
    }
}

/// What an observation does to its cell.
#[derive(Clone, Copy)]
pub(super) enum Op {
    Add,
    Copy,
    /// It was taken for a copy and is none.
    NoCopy,
}
