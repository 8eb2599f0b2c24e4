//! Copies that a TAP or SPAN port adds: the same packet again within 10 ms.
//!
//! A frame is a copy if the latest earlier frame with the same digest is at most the window away. That is a rule over
//! adjacent pairs, so it merges: a state keeps the digests of its last window (its tail, for what follows) and the
//! frames at its start that had no predecessor (its head, for what came before).

use super::intern::{NONE, remap};
use super::limits::{CLOCK_TOLERANCE_NS, COPY_WINDOW_NS, MAX_COPY_WINDOW};
use super::observation::{Observation, SaSight};
use super::tables::Remap;
use crate::dissect::{Costs, Note};
use crate::model::{Shift, Timestamp};

/// How far back a digest can matter: the window and the backward steps it must survive.
const HORIZON_NS: i64 = COPY_WINDOW_NS + CLOCK_TOLERANCE_NS;
const WAYS: usize = 4;

/// The copy window of a span.
#[derive(Clone, Debug)]
pub(crate) struct CopyWindow {
    /// Set-associative: a digest lives in one bucket of [`WAYS`].
    buckets: Vec<[Entry; WAYS]>,
    /// Latest time of the current epoch; a backward step beyond the tolerance starts a new epoch.
    newest: i64,
    previous: Option<i64>,
    first: Option<i64>,
    /// Frames of the first epoch, near the start, without a predecessor.
    head: Vec<HeadFrame>,
    first_epoch: bool,
    pub(crate) copies: u64,
    /// Frames compared.
    pub(crate) compared: u64,
    /// Entries that found no room.
    pub(crate) dropped: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    digest: u64,
    time: i64,
}

const VACANT: Entry = Entry { digest: 0, time: i64::MIN };

/// A frame that may turn out to be a copy of something in an earlier span, with all that counting it takes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HeadFrame {
    pub(crate) observation: Observation,
    pub(crate) sights: Box<[SaSight]>,
    pub(crate) notes: Box<[Note]>,
    pub(crate) costs: Costs,
}

impl Default for CopyWindow {
    fn default() -> Self {
        Self {
            buckets: vec![[VACANT; WAYS]; 256],
            newest: i64::MIN,
            previous: None,
            first: None,
            head: Vec::new(),
            first_epoch: true,
            copies: 0,
            compared: 0,
            dropped: 0,
        }
    }
}

impl CopyWindow {
    /// Whether the frame is a copy of one seen shortly before.
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs) -> bool {
        if o.digest == 0 || o.class.control {
            return false;
        }
        let Some(time) = o.time.ns() else { return false };
        self.compared += 1;
        if self.previous.is_some_and(|previous| time < previous.saturating_sub(CLOCK_TOLERANCE_NS)) {
            self.start_epoch();
        }
        self.previous = Some(time);
        let first = *self.first.get_or_insert(time);
        self.newest = self.newest.max(time);
        match self.touch(Entry { digest: o.digest, time }) {
            Some(before) => {
                let copy = time.abs_diff(before) <= COPY_WINDOW_NS.unsigned_abs();
                self.copies += u64::from(copy);
                copy
            }
            None => {
                if self.first_epoch && time <= first.saturating_add(HORIZON_NS) {
                    self.head.push(HeadFrame {
                        observation: *o,
                        costs,
                        sights: sights.into(),
                        notes: notes.iter().filter(|n| matches!(n, Note::Null { .. })).copied().collect(),
                    });
                }
                false
            }
        }
    }

    #[cold]
    fn start_epoch(&mut self) {
        self.buckets.iter_mut().for_each(|bucket| *bucket = [VACANT; WAYS]);
        self.newest = i64::MIN;
        self.first_epoch = false;
    }

    fn oldest_kept(&self) -> i64 {
        self.newest.saturating_sub(HORIZON_NS)
    }

    /// Records a digest; the time it was last seen, if that is not forgotten.
    #[inline]
    fn touch(&mut self, entry: Entry) -> Option<i64> {
        let oldest = self.oldest_kept();
        loop {
            let at = entry.digest as usize & (self.buckets.len() - 1);
            let bucket = self.buckets.get_mut(at)?;
            let mut free = None;
            for slot in bucket.iter_mut() {
                if slot.time < oldest || *slot == VACANT {
                    free = Some(slot);
                } else if slot.digest == entry.digest {
                    return Some(std::mem::replace(&mut slot.time, entry.time));
                }
            }
            if let Some(slot) = free {
                *slot = entry;
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
        let entries = self.tail();
        self.buckets = vec![[VACANT; WAYS]; size];
        for entry in entries {
            let at = entry.digest as usize & (size - 1);
            if let Some(slot) = self.buckets.get_mut(at).and_then(|b| b.iter_mut().find(|s| **s == VACANT)) {
                *slot = entry;
            } else {
                self.dropped += 1;
            }
        }
        true
    }

    /// The digests that still matter.
    fn tail(&self) -> Vec<Entry> {
        let oldest = self.oldest_kept();
        self.buckets.iter().flatten().filter(|e| e.time >= oldest && **e != VACANT).copied().collect()
    }

    /// Appends the window of the span that follows; returns the frames of it that turn out to be copies of this one's.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) -> Vec<HeadFrame> {
        let later_tail = later.tail();
        let Self { buckets: _, newest, previous, first, head, first_epoch, copies, compared, dropped } = later;
        self.copies += copies;
        self.compared += compared;
        self.dropped += dropped;
        let (Some(previous), Some(later_first)) = (previous, first) else { return Vec::new() };
        let mut found = Vec::new();
        if self.previous.is_some_and(|own| later_first < own.saturating_sub(CLOCK_TOLERANCE_NS)) {
            self.start_epoch();
        } else {
            let limit = self.first.unwrap_or(later_first).saturating_add(HORIZON_NS);
            let oldest = self.oldest_kept();
            for frame in head {
                let frame = frame.remapped(shift, map);
                let Some(time) = frame.observation.time.ns() else { continue };
                let before = self.lookup(frame.observation.digest, oldest);
                match before {
                    Some(before) if time.abs_diff(before) <= COPY_WINDOW_NS.unsigned_abs() => found.push(frame),
                    Some(_) => {}
                    None if self.first_epoch && time <= limit => self.head.push(frame),
                    None => {}
                }
            }
        }
        self.copies += found.len() as u64;
        self.first = self.first.or(Some(later_first));
        self.previous = Some(previous);
        if first_epoch {
            self.newest = self.newest.max(newest);
        } else {
            self.start_epoch();
            self.newest = newest;
        }
        let oldest = self.oldest_kept();
        for entry in later_tail.into_iter().filter(|e| e.time >= oldest) {
            self.touch(entry);
        }
        found
    }

    fn lookup(&self, digest: u64, oldest: i64) -> Option<i64> {
        let bucket = self.buckets.get(digest as usize & (self.buckets.len() - 1))?;
        bucket.iter().find(|s| s.digest == digest && s.time >= oldest && **s != VACANT).map(|s| s.time)
    }
}

impl PartialEq for CopyWindow {
    fn eq(&self, other: &Self) -> bool {
        let sorted = |window: &Self| {
            let mut tail = window.tail();
            tail.sort_unstable();
            tail
        };
        self.copies == other.copies
            && self.compared == other.compared
            && self.dropped == other.dropped
            && self.first == other.first
            && self.previous == other.previous
            && self.newest == other.newest
            && self.first_epoch == other.first_epoch
            && self.head == other.head
            && sorted(self) == sorted(other)
    }
}

impl HeadFrame {
    fn remapped(mut self, shift: Shift, map: &Remap) -> Self {
        let o = &mut self.observation;
        o.pos = o.pos.shifted(shift);
        o.stack = remap(&map.stacks, o.stack);
        o.direction = remap(&map.directions, o.direction);
        if o.lane != 0 {
            o.lane = if o.direction == NONE { NONE } else { o.direction + 1 };
        }
        o.path = remap(&map.paths, o.path);
        o.flow = remap(&map.flows, o.flow);
        for sight in &mut self.sights {
            sight.sa = remap(&map.sas, sight.sa);
        }
        self
    }
}

/// Times of a span's ends, for the rules that look at neighbours.
pub(crate) fn stepped_back(before: Timestamp, after: Timestamp) -> Option<i64> {
    after.since(before).filter(|&step| step < 0).map(|step| -step)
}
