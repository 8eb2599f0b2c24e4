//! The latest digests of a window of copies, in the order in which they came.

use std::collections::VecDeque;

use super::archive::{Archive, DigestMark, short};
use super::{Entry, VACANT};

/// Entries of a block: few enough for the first-level cache, many enough that a change of blocks is cheap per entry.
const BLOCK: usize = 256;

/// A bounded queue of entries, oldest first. Entries that are too old are removed a block at a time, or one by one where room is scarce.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    full: VecDeque<Block>,
    /// The block that is being filled, later than the full ones: its first `used` entries are filled, as many as `room` may be.
    open: Vec<Entry>,
    used: usize,
    room: usize,
    /// A block to fill next.
    spare: Vec<Entry>,
    /// The digests of all frames but the last ones: those of the open block from `archived` on.
    archive: Archive,
    archived: usize,
}

/// A full block.
#[derive(Clone, Debug)]
struct Block {
    entries: Vec<Entry>,
    /// Entries in front of this place were removed.
    begin: usize,
    /// No entry is later.
    newest: i64,
}

impl Block {
    fn entries(&self) -> &[Entry] {
        self.entries.get(self.begin..).unwrap_or_default()
    }
}

impl Recent {
    /// Adds an entry, where there is room at once; false if there is not, and nothing was done.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        match self.open.get_mut(self.used) {
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
        self.open.get_mut(self.used..self.room).unwrap_or_default()
    }

    /// Adds the first `count` entries that were written into [`Recent::room`].
    #[inline]
    pub(super) fn fill(&mut self, count: usize) {
        self.used = (self.used + count).min(self.room);
    }

    /// Adds an entry where [`Recent::push`] would not. All entries lie before `newest`, or at that time. Removes entries older than `oldest`, and the
    /// oldest one if still as many as `most` are left. Returns whether that was so.
    #[cold]
    pub(super) fn push_out(&mut self, entry: Entry, (oldest, newest): (i64, i64), most: usize) -> bool {
        if self.used >= self.open.len() {
            self.turn(newest);
        }
        while self.full.front().is_some_and(|block| block.newest < oldest) {
            self.spare = self.full.pop_front().map_or_else(Vec::new, |block| block.entries);
        }
        let scarce = self.len() + BLOCK > most;
        if scarce {
            self.remove_old(oldest);
        }
        let full = self.len() >= most;
        if full {
            self.remove_first();
        }
        self.room = self.open.len().min(self.used + most.saturating_sub(self.len()));
        self.push(entry);
        full
    }

    /// Opens the next block.
    fn turn(&mut self, newest: i64) {
        self.archive_open();
        let mut next = std::mem::take(&mut self.spare);
        next.resize(BLOCK, Entry { digest: 0, time: VACANT });
        let entries = std::mem::replace(&mut self.open, next);
        if !entries.is_empty() {
            self.full.push_back(Block { entries, begin: 0, newest });
        }
        (self.used, self.archived) = (0, 0);
    }

    fn archive_open(&mut self) {
        let open = self.open.get(self.archived..self.used).unwrap_or_default();
        self.archive.extend(open.iter().map(|entry| short(entry.digest)));
        self.archived = self.used;
    }

    /// Adds a frame to the archive that is not remembered here.
    #[inline]
    pub(super) fn archive(&mut self, digest: u64) {
        self.archive_open();
        self.archive.extend(std::iter::once(short(digest)));
    }

    /// Whether a frame was seen before, as far as the archive tells.
    pub(super) fn mark(&self, digest: u64) -> DigestMark {
        let open = self.open.get(self.archived..self.used).unwrap_or_default();
        let mark = self.mark_first(digest);
        let again = open.iter().any(|entry| mark.is_of(entry.digest));
        mark.seen(again || self.archive.holds(mark, open.len()))
    }

    /// The mark of a frame that was not seen before.
    pub(super) fn mark_first(&self, digest: u64) -> DigestMark {
        DigestMark::new(digest, self.archive.total() + self.used.saturating_sub(self.archived) as u64)
    }

    /// The digests of all frames, as many as are kept.
    pub(super) fn archived(&self) -> Archive {
        let mut archive = self.archive.clone();
        let open = self.open.get(self.archived..self.used).unwrap_or_default();
        archive.extend(open.iter().map(|entry| short(entry.digest)));
        archive.trimmed()
    }

    /// The same of these frames and those of the span that follows.
    pub(super) fn archive_with(&self, later: &Self) -> Archive {
        let mut archive = self.archived();
        archive.append(&later.archived());
        archive
    }

    /// Sets the digests of all frames, those that are remembered included.
    pub(super) fn set_archive(&mut self, archive: Archive) {
        (self.archive, self.archived) = (archive, self.used);
    }

    /// Removes the entries in front of the first one that is not older than `oldest`.
    fn remove_old(&mut self, oldest: i64) {
        while self.iter().next().is_some_and(|entry| entry.time < oldest) {
            self.remove_first();
        }
    }

    fn remove_first(&mut self) {
        if let Some(first) = self.full.front_mut() {
            first.begin += 1;
            if first.begin >= first.entries.len() {
                self.full.pop_front();
            }
        } else if self.used > 0 {
            self.open.copy_within(1..self.used, 0);
            self.used -= 1;
            self.archived = self.archived.saturating_sub(1);
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let open = self.open.get(..self.used).into_iter().flatten();
        self.full.iter().flat_map(Block::entries).chain(open)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0 && self.full.is_empty()
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.archive_open();
        self.full.clear();
        (self.used, self.archived, self.room) = (0, 0, self.open.len());
    }

    pub(super) fn len(&self) -> usize {
        let removed = self.full.front().map_or(0, |block| block.begin);
        self.full.len() * BLOCK + self.used - removed
    }
}
