//! The digests of a window, by their latest frames.

use super::chain::{Older, VACANT};
use super::{CopyWindow, Entry};
use crate::analysis::limits::MAX_COPY_WINDOW;

/// Entries of a bucket: many, so that the table stays dense and small.
const WAYS: usize = 16;
/// How many of the latest frames are searched before they are put into the table.
const RECENT: usize = 32;

/// Digests of one part of their range, with the times of their latest frames: four cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Bucket {
    digests: [u64; WAYS],
    /// `i64::MIN` where vacant.
    times: [i64; WAYS],
}

pub(super) const EMPTY: Bucket = Bucket { digests: [0; WAYS], times: [VACANT; WAYS] };

impl Bucket {
    /// Whether what bears this time is kept.
    #[inline(always)]
    const fn is_kept(time: i64, oldest: i64) -> bool {
        time >= oldest && time != VACANT
    }

    /// Whether a digest is there, kept or not.
    #[inline(always)]
    fn has(&self, digest: u64) -> bool {
        // Four at a time: the step of a loop costs as much as a comparison.
        let fours = self.digests.as_chunks::<4>().0.iter();
        let mut same = fours.map(|[a, b, c, d]| *a == digest || *b == digest || *c == digest || *d == digest);
        same.any(|same| same)
    }

    /// The time of a digest that is there, kept or not: no digest is there twice.
    #[inline]
    fn time_of(&mut self, digest: u64) -> Option<&mut i64> {
        let at = self.digests.iter().position(|known| *known == digest)?;
        self.times.get_mut(at).filter(|time| **time != VACANT)
    }

    /// Adds a digest that is not there, in the last place that nothing is kept in; false where there is none.
    #[inline]
    fn add(&mut self, entry: Entry, oldest: i64) -> bool {
        let Some(at) = self.times.iter().rposition(|time| !Self::is_kept(*time, oldest)) else { return false };
        let (Some(digest), Some(time)) = (self.digests.get_mut(at), self.times.get_mut(at)) else { return false };
        (*digest, *time) = (entry.digest, entry.time);
        true
    }
}

impl CopyWindow {
    /// Records a digest; the time it was last seen, if that is not forgotten.
    pub(super) fn touch(&mut self, entry: Entry) -> Option<i64> {
        let oldest = self.oldest_kept();
        let near = self.recent.iter().rev().take(RECENT).find(|e| e.digest == entry.digest);
        if let Some(before) = near.map(|e| e.time).filter(|time| *time >= oldest) {
            self.remember(entry);
            return Some(before);
        }
        self.tabulate();
        self.recent.archive(entry.digest);
        self.insert(entry)
    }

    /// Reads the buckets of digests that are looked up next, so that those that the cache lacks come at once.
    #[inline]
    pub(crate) fn fetch(&self, digests: impl Iterator<Item = u64>) {
        let mask = self.buckets.len().wrapping_sub(1);
        let buckets = digests.filter_map(|digest| self.buckets.get(digest as usize & mask));
        // One place of each cache line.
        let read = buckets.fold(0, |read, Bucket { digests: [a, .., b], times: [c, .., d] }| {
            read ^ a ^ b ^ c.cast_unsigned() ^ d.cast_unsigned()
        });
        std::hint::black_box(read);
    }

    /// Records a digest that no frame of the window bears; false where one does, and nothing was done that matters.
    #[inline]
    pub(super) fn touch_new(&mut self, entry: Entry) -> bool {
        if !self.recent.is_empty() {
            if self.recent.iter().rev().take(RECENT).any(|known| known.digest == entry.digest) {
                return false;
            }
            self.tabulate();
        }
        let oldest = self.oldest_kept();
        let at = entry.digest as usize & self.buckets.len().wrapping_sub(1);
        let Some(bucket) = self.buckets.get_mut(at) else { return self.insert(entry).is_none() };
        // For almost all there is none.
        if bucket.has(entry.digest)
            && let Some(time) = bucket.time_of(entry.digest)
        {
            let is_new = !Bucket::is_kept(*time, oldest);
            *time = if is_new { entry.time } else { *time };
            return is_new;
        }
        bucket.add(entry, oldest) || self.insert(entry).is_none()
    }

    /// Puts the latest frames into the table.
    fn tabulate(&mut self) {
        self.tabulate_since(self.oldest_kept());
    }

    /// Puts those of the latest frames into the table that are not older than `oldest`.
    fn tabulate_since(&mut self, oldest: i64) {
        if self.recent.is_empty() {
            return;
        }
        let mut recent = std::mem::take(&mut self.recent);
        for waiting in recent.iter().filter(|waiting| waiting.time >= oldest) {
            self.insert(*waiting);
        }
        recent.clear();
        self.recent = recent;
    }

    /// Records a digest of a span that follows, with the chain it ends there.
    pub(super) fn touch_latest(&mut self, entry: Entry, older: Older) {
        self.tabulate_since(i64::MIN);
        self.insert(entry);
        self.set_older(entry.digest, older);
    }

    /// Puts a digest into the table; the time it had there.
    pub(super) fn insert(&mut self, entry: Entry) -> Option<i64> {
        let oldest = self.oldest_kept();
        if self.buckets.is_empty() {
            self.buckets.resize(16, EMPTY);
        }
        loop {
            let at = entry.digest as usize & (self.buckets.len() - 1);
            let bucket = self.buckets.get_mut(at)?;
            if bucket.has(entry.digest)
                && let Some(time) = bucket.time_of(entry.digest)
            {
                return Some(std::mem::replace(time, entry.time)).filter(|time| Bucket::is_kept(*time, oldest));
            }
            if bucket.add(entry, oldest) {
                return None;
            }
            if !self.grow() {
                self.dropped += 1;
                return None;
            }
        }
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let size = self.buckets.len() * 2;
        if size * WAYS > MAX_COPY_WINDOW {
            return false;
        }
        let old = std::mem::replace(&mut self.buckets, vec![EMPTY; size]);
        let oldest = self.oldest_kept();
        for (digest, time) in old.iter().flat_map(|b| b.digests.iter().zip(&b.times)) {
            if *time >= oldest && *time != VACANT {
                self.insert(Entry { digest: *digest, time: *time });
            }
        }
        true
    }

    /// The digests that are kept, each with the time of its latest frame in capture order, in falling order of digest.
    pub(super) fn tail(&self) -> Vec<Entry> {
        self.tail_of(|_| true)
    }

    /// Those of them that are wanted.
    pub(super) fn tail_of(&self, is_wanted: impl Fn(u64) -> bool) -> Vec<Entry> {
        let oldest = self.oldest_kept();
        let table = self.buckets.iter().flat_map(|b| b.digests.iter().zip(&b.times));
        // What waits for the table is later than what is in it. The sort is stable.
        let mut entries: Vec<Entry> = self
            .recent
            .iter()
            .rev()
            .copied()
            .chain(table.map(|(&digest, &time)| Entry { digest, time }).filter(|e| e.time != VACANT))
            .filter(|e| e.time >= oldest && is_wanted(e.digest))
            .collect();
        entries.sort_by_key(|e| std::cmp::Reverse(e.digest));
        entries.dedup_by_key(|e| e.digest);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames within the window, each another.
    fn frames(count: usize) -> impl Iterator<Item = Entry> {
        (1..=count as u64).map(|digest| Entry { digest, time: 0 })
    }

    #[test]
    fn what_finds_no_room_in_the_window_is_counted() {
        // Packets of an SA with new numbers, which are only remembered, and others, which are looked up.
        let mut remembered = CopyWindow { newest: 0, ..CopyWindow::default() };
        frames(MAX_COPY_WINDOW).for_each(|entry| remembered.remember(entry));
        assert_eq!(remembered.dropped, 0);
        frames(3).for_each(|entry| remembered.remember(entry));
        assert_eq!((remembered.dropped, remembered.recent.len()), (3, MAX_COPY_WINDOW));
        let mut looked_up = CopyWindow { newest: 0, ..CopyWindow::default() };
        assert!(frames(MAX_COPY_WINDOW).all(|entry| looked_up.touch(entry).is_none()));
        assert_eq!(looked_up.dropped, 0);
        assert!(frames(MAX_COPY_WINDOW).all(|entry| looked_up.touch(entry) == Some(0)), "all of them are there");
        let others = frames(5).map(|entry| Entry { digest: u64::MAX - entry.digest, ..entry });
        assert!(others.map(|entry| looked_up.touch(entry)).all(|before| before.is_none()));
        assert_eq!((looked_up.dropped, looked_up.buckets.len() * WAYS), (5, MAX_COPY_WINDOW));
    }
}
