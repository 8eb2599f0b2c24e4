//! The latest digests of a window of copies, in the order in which they came.

use std::collections::VecDeque;

use super::{Entry, VACANT};

/// Size of the buffer for new entries: small enough for the first-level cache, large enough that moving it to the ring is cheap per entry.
const FRESH: usize = 256;

/// A bounded queue of entries, oldest first. Entries that are too old are removed when room is needed, or later.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    waiting: VecDeque<Entry>,
    /// Buffer for new entries, later than all in the queue; the first `used` are filled.
    fresh: Box<[Entry; FRESH]>,
    used: usize,
    /// How many may be fresh, so that all together are no more than allowed.
    room: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            fresh: Box::new([Entry { digest: 0, time: VACANT }; FRESH]),
            used: 0,
            room: FRESH,
        }
    }
}

impl Recent {
    /// Adds an entry, where there is room at once; false if there is not, and nothing was done.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        match self.fresh.get_mut(self.used) {
            Some(slot) if self.used < self.room => {
                *slot = entry;
                self.used += 1;
                true
            }
            _ => false,
        }
    }

    /// Where entries can be written that [`Recent::fill`] then adds.
    #[inline]
    pub(super) fn room(&mut self) -> &mut [Entry] {
        self.fresh.get_mut(self.used..self.room).unwrap_or_default()
    }

    /// Adds the first `count` entries that were written into [`Recent::room`].
    #[inline]
    pub(super) fn fill(&mut self, count: usize) {
        self.used = (self.used + count).min(self.room);
    }

    /// Adds an entry where [`Recent::push`] would not: lets those go that are older than `oldest`, and the oldest where still as many
    /// as `most` are left. Answers whether that was so.
    #[cold]
    pub(super) fn push_out(&mut self, entry: Entry, oldest: i64, most: usize) -> bool {
        self.gather();
        let old = self.old(oldest);
        self.waiting.drain(..old);
        let full = self.waiting.len() >= most;
        if full {
            self.waiting.pop_front();
        }
        self.waiting.push_back(entry);
        self.room = most.saturating_sub(self.waiting.len()).min(FRESH);
        full
    }

    /// How many of the first that wait are older than `oldest`. Either half of the ring is searched as the slice that it is.
    fn old(&self, oldest: i64) -> usize {
        let is_young = |waiting: &Entry| waiting.time >= oldest;
        let (front, back) = self.waiting.as_slices();
        front
            .iter()
            .position(is_young)
            .unwrap_or_else(|| front.len() + back.iter().position(is_young).unwrap_or(back.len()))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.waiting.iter().chain(self.fresh.get(..self.used).into_iter().flatten())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0 && self.waiting.is_empty()
    }

    /// Takes the oldest entry out.
    pub(super) fn pop_front(&mut self) -> Option<Entry> {
        self.gather();
        self.waiting.pop_front()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        (self.used, self.room) = (0, FRESH);
    }

    /// Puts the fresh ones behind what waits.
    #[inline]
    fn gather(&mut self) {
        if self.used > 0 {
            self.waiting.extend(self.fresh.get(..self.used).unwrap_or_default());
            self.used = 0;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.used
    }
}
