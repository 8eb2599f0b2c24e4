//! Copies that a TAP or SPAN port adds: the same packet again within 10 ms.
//!
//! Equal frames of which each is at most the window behind the one before it, in capture order, are a chain. A frame is a copy if it
//! ends a cluster of the chain: two to four equal frames that follow each other [`RATIO`] times faster than the first of them follows
//! what came before. So the pairs of a SPAN port are copies, also of a generator's identical packets, and those packets themselves, one
//! a period, are none. That is a rule over a frame and four before it, so it merges: a state keeps the digests of its last window
//! (its tail, for what follows) and the frames whose chains begin at its start and have fewer than four before them (its head, for
//! what came before). A frame that begins a chain later than a window after the start continues nothing of an earlier span.
//!
//! Digests are forgotten by their times. A clock that steps back lets a later frame be forgotten before an earlier one; so that this
//! matters nowhere, they are kept longer than anything is looked for, by what the clock may step back. It may do so in several
//! steps, each tolerated; where they add up to more than one may have, the frames are counted (`adrift`).

mod recent;
mod written;

use serde::{Deserialize, Serialize};

use std::collections::{HashMap, HashSet};

use crate::analysis::limits::{CLOCK_TOLERANCE_NS, COPY_WINDOW_NS, MAX_COPY_HEAD, MAX_COPY_WINDOW};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Costs, Note};
use crate::model::{Shift, Timestamp};

use self::recent::Recent;

/// How far behind its first frame a span's chains can begin and continue one of the span before: the window and a backward step at
/// the border.
const HORIZON_NS: i64 = COPY_WINDOW_NS + CLOCK_TOLERANCE_NS;
/// How far behind its first frame the chains begin whose frames a span keeps for what came before: those within a horizon matter, and
/// the first frame of a piece of it may be a step before its own.
const HEAD_NS: i64 = HORIZON_NS + CLOCK_TOLERANCE_NS;
/// How far back two equal states agree: what a frame of the head continues may be a window and a step before the first frame, the newest
/// frame a step behind it, and each of them a step off.
const AGREED_NS: i64 = COPY_WINDOW_NS + 4 * CLOCK_TOLERANCE_NS;
/// How long digests are kept: one that is forgotten leaves none of the same packet that came before it and is up to a step newer.
const KEPT_NS: i64 = AGREED_NS + CLOCK_TOLERANCE_NS;
/// A cluster is so many times shorter than the time before it.
const RATIO: u64 = 10;
/// Equal frames before one that decide whether it is a copy.
const DECIDE: usize = 4;
/// Entries of a bucket: many, so that the table stays dense and small.
const WAYS: usize = 16;
/// How many of the latest frames are searched before they are put into the table.
const RECENT: usize = 32;

/// The copy window of a span.
#[derive(Clone, Debug)]
pub(crate) struct CopyWindow {
    /// Frames that were no copies for certain, latest last: they reach the table only when something may be a copy.
    recent: Recent,
    /// Set-associative: a digest lives in one bucket.
    buckets: Vec<Bucket>,
    /// Of digests that were seen more than once: the earlier times of their chain, latest first.
    older: HashMap<u64, Older>,
    /// Latest time of the current epoch; a backward step beyond the tolerance starts a new epoch.
    newest: i64,
    previous: Option<i64>,
    first: Option<i64>,
    /// Frames of the first epoch whose chains begin near the start, with fewer than [`DECIDE`] equal ones before them.
    head: Vec<HeadFrame>,
    first_epoch: bool,
    pub(crate) copies: u64,
    /// Entries that found no room.
    pub(crate) dropped: u64,
    /// Frames that are further behind the newest than one backward step may be; of those that are so only for an earlier span,
    /// one for each border.
    pub(crate) adrift: u64,
    /// Lowest time of the first epoch: whether any frame of it is adrift for an earlier span.
    lowest: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    digest: u64,
    time: i64,
}

impl Entry {
    /// Notes a frame.
    #[inline(always)]
    pub(crate) const fn set(&mut self, digest: u64, time: i64) {
        (self.digest, self.time) = (digest, time);
    }
}

#[derive(Clone, Debug)]
struct Bucket {
    digests: [u64; WAYS],
    /// `i64::MIN` where vacant.
    times: [i64; WAYS],
}

/// Times of a chain before its latest.
type Older = [i64; DECIDE - 1];

const VACANT: i64 = i64::MIN;
/// No earlier time.
const NONE_OLDER: Older = [VACANT; DECIDE - 1];
const EMPTY: Bucket = Bucket { digests: [0; WAYS], times: [VACANT; WAYS] };

/// A frame that may turn out to be a copy of something in an earlier span, with all that counting it takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeadFrame {
    pub(crate) observation: Observation,
    pub(crate) sights: Box<[SaSight]>,
    pub(crate) notes: Box<[Note]>,
    pub(crate) costs: Costs,
    /// Whether it is a copy, by what is known of the span.
    pub(crate) copy: bool,
    /// The time of the frame whose chain it continues; [`VACANT`] where it begins one.
    #[serde(with = "optional_time")]
    chained: i64,
    /// Where there is none: whether the span holds an equal frame all the same, further away.
    apart: bool,
}

impl PartialEq for HeadFrame {
    /// Whether an equal frame further away is remembered depends on when it was forgotten.
    fn eq(&self, other: &Self) -> bool {
        let Self { observation, sights, notes, costs, copy, chained, apart: _ } = self;
        *observation == other.observation
            && *sights == other.sights
            && *notes == other.notes
            && *costs == other.costs
            && *copy == other.copy
            && *chained == other.chained
    }
}

/// Equal frames, each at most the window behind the one before it: the times of the last few, latest first.
#[derive(Clone, Copy, Debug)]
struct Chain {
    times: [i64; DECIDE],
}

impl Chain {
    const EMPTY: Self = Self { times: [VACANT; DECIDE] };

    fn new(latest: i64, older: Older) -> Self {
        let mut times = [latest; DECIDE];
        times.iter_mut().skip(1).zip(older).for_each(|(own, older)| *own = older);
        Self { times }
    }

    /// What of it a frame of this time continues: nothing, where it is more than the window away.
    fn before(self, time: i64) -> Self {
        match self.times {
            [latest, ..] if latest != VACANT && is_near(time, latest) => self,
            _ => Self::EMPTY,
        }
    }

    fn latest(&self) -> Option<i64> {
        self.times.first().copied().filter(|time| *time != VACANT)
    }

    fn len(&self) -> usize {
        self.times.iter().filter(|time| **time != VACANT).count()
    }

    /// The time at which a chain began that a frame of this time continues, where fewer frames than decide are before it.
    fn root(&self, time: i64) -> Option<i64> {
        let known = self.times.iter().copied().take_while(|time| *time != VACANT);
        (self.len() < DECIDE).then(|| known.last().unwrap_or(time))
    }

    /// Times before the one that is added next.
    fn older(&self) -> Older {
        let [a, b, c, _] = self.times;
        [a, b, c]
    }

    fn then(self, time: i64) -> Self {
        Self::new(time, self.older())
    }

    /// Whether a frame of this time, which continues the chain, ends a cluster of it.
    fn is_copied_at(&self, time: i64) -> bool {
        let starts = self.times.iter().zip(self.times.iter().skip(1)).take_while(|(start, _)| **start != VACANT);
        let [latest, second, ..] = self.times;
        // At the beginning of a chain nothing tells how far its packets are apart, but that copies are about equally so.
        let even = second == VACANT || time.abs_diff(latest) <= latest.abs_diff(second).saturating_mul(RATIO * RATIO);
        starts.enumerate().any(|(at, (&start, &before))| {
            let cluster = time.abs_diff(start);
            let short = match before {
                VACANT => at == 0 || even,
                before => cluster.saturating_mul(RATIO) <= start.abs_diff(before),
            };
            is_near(time, start) && short
        })
    }
}

impl Default for CopyWindow {
    fn default() -> Self {
        Self {
            recent: Recent::default(),
            buckets: Vec::new(),
            older: HashMap::new(),
            newest: VACANT,
            previous: None,
            first: None,
            head: Vec::new(),
            first_epoch: true,
            copies: 0,
            dropped: 0,
            adrift: 0,
            lowest: i64::MAX,
        }
    }
}

impl CopyWindow {
    /// Whether the frame is a copy of one seen shortly before. `first_sighting`: it bears a sequence number that no
    /// earlier frame bore, so it is none, and only has to be remembered.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        o: &Observation,
        sights: &[SaSight],
        notes: &[Note],
        costs: Costs,
        first_sighting: bool,
    ) -> bool {
        if o.digest == 0 || o.class.control {
            return false;
        }
        let Some(time) = o.time.ns() else { return false };
        if self.previous.is_some_and(|previous| time < previous.saturating_sub(CLOCK_TOLERANCE_NS)) {
            self.start_epoch();
        }
        self.previous = Some(time);
        let first = *self.first.get_or_insert(time);
        self.newest = self.newest.max(time);
        self.adrift += u64::from(self.is_adrift(time));
        if self.first_epoch {
            self.lowest = self.lowest.min(time);
        }
        let entry = Entry { digest: o.digest, time };
        let (chain, apart) = if first_sighting {
            self.remember(entry);
            (Chain::EMPTY, false)
        } else {
            self.chain_before(entry)
        };
        let copy = chain.is_copied_at(time);
        self.copies += u64::from(copy);
        if self.first_epoch && chain.root(time).is_some_and(|root| root <= first.saturating_add(HEAD_NS)) {
            let counts = |note: &&Note| matches!(note, Note::Null { .. } | Note::UdpCandidate { .. });
            let notes = notes.iter().filter(counts).copied().collect();
            let chained = chain.latest().unwrap_or(VACANT);
            self.keep(HeadFrame { observation: *o, costs, sights: sights.into(), notes, copy, chained, apart });
        }
        copy
    }

    /// Keeps a frame of the head.
    fn keep(&mut self, frame: HeadFrame) {
        if self.head.len() >= MAX_COPY_HEAD {
            self.dropped += 1;
        } else {
            self.head.push(frame);
        }
    }

    /// Records a digest; the chain that it continues, and whether it continues none of an equal frame that is known.
    fn chain_before(&mut self, entry: Entry) -> (Chain, bool) {
        let Some(before) = self.touch(entry) else {
            self.older.remove(&entry.digest);
            return (Chain::EMPTY, false);
        };
        let chain = Chain::new(before, self.older_of(entry.digest)).before(entry.time);
        self.set_older(entry.digest, chain.older());
        (chain, chain.len() == 0)
    }

    fn set_older(&mut self, digest: u64, older: Older) {
        if older == NONE_OLDER {
            self.older.remove(&digest);
            return;
        }
        if self.older.len() >= self.older.capacity() {
            // Chains whose latest time is that old cannot be continued.
            let oldest = self.oldest_kept();
            self.older.retain(|_, [latest, ..]| *latest >= oldest.saturating_sub(COPY_WINDOW_NS));
        }
        if self.older.len() < MAX_COPY_WINDOW {
            self.older.insert(digest, older);
        }
    }

    /// Whether a frame of this time can be passed: the clock of the frames that are remembered has not stepped back, and no
    /// earlier span can hold what it is a copy of.
    #[inline]
    pub(crate) fn admits(&self, time: i64) -> bool {
        self.previous.is_some_and(|previous| time >= previous) && self.is_past_head(time) && !self.is_adrift(time)
    }

    /// Whether frames of this time on can no longer be copies of an earlier span's.
    pub(crate) fn is_past_head(&self, time: i64) -> bool {
        !self.first_epoch || self.first.is_some_and(|first| time > first.saturating_add(HEAD_NS))
    }

    /// Remembers a frame that bears a new sequence number, behind frames that were passed and one that the window [admits](Self::admits).
    /// [`CopyWindow::passed`] must follow before anything else is asked of it.
    #[inline(always)]
    pub(crate) fn pass(&mut self, digest: u64, time: i64) {
        let entry = Entry { digest, time };
        if !self.recent.push(entry) {
            self.newest = self.newest.max(time);
            self.remember(entry);
        }
    }

    /// Where the next frames can be noted that are passed; [`CopyWindow::fill`] says how many of them are.
    #[inline]
    pub(crate) fn room(&mut self) -> &mut [Entry] {
        self.recent.room()
    }

    /// Passes the frames that were noted in the first places of [`CopyWindow::room`].
    #[inline]
    pub(crate) fn fill(&mut self, count: usize) {
        self.recent.fill(count);
    }

    /// Notes the time of the last frame that was passed.
    pub(crate) fn passed(&mut self, time: i64) {
        self.previous = Some(time);
        self.newest = self.newest.max(time);
    }

    #[cold]
    fn start_epoch(&mut self) {
        self.recent.clear();
        self.buckets.iter_mut().for_each(|bucket| *bucket = EMPTY);
        self.older.clear();
        self.newest = VACANT;
        self.first_epoch = false;
    }

    /// Whether a frame of this time is further behind the newest than one backward step may be.
    fn is_adrift(&self, time: i64) -> bool {
        time < self.newest.saturating_sub(CLOCK_TOLERANCE_NS)
    }

    fn oldest_kept(&self) -> i64 {
        self.newest.saturating_sub(KEPT_NS)
    }

    /// Keeps a digest for later, without a look at the table.
    #[inline]
    fn remember(&mut self, entry: Entry) {
        if !self.recent.push(entry) {
            let full = self.recent.push_out(entry, self.oldest_kept(), MAX_COPY_WINDOW);
            self.dropped += u64::from(full);
        }
    }

    /// Records a digest; the time it was last seen, if that is not forgotten.
    fn touch(&mut self, entry: Entry) -> Option<i64> {
        let oldest = self.oldest_kept();
        let near = self.recent.iter().rev().take(RECENT).find(|e| e.digest == entry.digest);
        if let Some(before) = near.map(|e| e.time).filter(|time| *time >= oldest) {
            self.remember(entry);
            return Some(before);
        }
        while let Some(waiting) = self.recent.pop_front() {
            if waiting.time >= oldest {
                self.insert(waiting);
            }
        }
        self.insert(entry)
    }

    /// Records a digest of a span that follows, with the chain it ends there.
    fn touch_latest(&mut self, entry: Entry, older: Older) {
        while let Some(waiting) = self.recent.pop_front() {
            self.insert(waiting);
        }
        self.insert(entry);
        self.set_older(entry.digest, older);
    }

    /// Puts a digest into the table; the time it had there.
    fn insert(&mut self, entry: Entry) -> Option<i64> {
        let oldest = self.oldest_kept();
        if self.buckets.is_empty() {
            self.buckets.resize(16, EMPTY);
        }
        loop {
            let at = entry.digest as usize & (self.buckets.len() - 1);
            let bucket = self.buckets.get_mut(at)?;
            let mut free = None;
            for (digest, time) in bucket.digests.iter_mut().zip(&mut bucket.times) {
                if *time < oldest || *time == VACANT {
                    free = Some((digest, time));
                } else if *digest == entry.digest {
                    return Some(std::mem::replace(time, entry.time));
                }
            }
            if let Some((digest, time)) = free {
                *digest = entry.digest;
                *time = entry.time;
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
    fn tail(&self) -> Vec<Entry> {
        let oldest = self.oldest_kept();
        let table = self.buckets.iter().flat_map(|b| b.digests.iter().zip(&b.times));
        // What waits for the table is later than what is in it. The sort is stable.
        let mut entries: Vec<Entry> = self
            .recent
            .iter()
            .rev()
            .copied()
            .chain(table.map(|(&digest, &time)| Entry { digest, time }).filter(|e| e.time != VACANT))
            .filter(|e| e.time >= oldest)
            .collect();
        entries.sort_by_key(|e| std::cmp::Reverse(e.digest));
        entries.dedup_by_key(|e| e.digest);
        entries
    }

    /// Frames of the head that can be copies of what came before: those of chains that begin within the horizon.
    fn agreed_head(&self) -> impl Iterator<Item = &HeadFrame> {
        let limit = self.first.map(|first| first.saturating_add(HORIZON_NS));
        // Of each digest: the latest frame and where its chain began. A chain without its beginning began beyond the horizon.
        let mut roots: HashMap<u64, (Option<i64>, Option<i64>)> = HashMap::new();
        self.head.iter().filter(move |frame| {
            let (digest, time) = (frame.observation.digest, frame.observation.time.ns());
            let root = match (frame.chained(), roots.get(&digest)) {
                (None, _) => time,
                (before, Some((latest, root))) if before == *latest => *root,
                _ => None,
            };
            roots.insert(digest, (time, root));
            root.is_some_and(|root| Some(root) <= limit)
        })
    }

    /// Digests that two equal states share, with the times of their chains.
    fn agreed(&self) -> Vec<(Entry, Older)> {
        let oldest = self.newest.saturating_sub(AGREED_NS);
        let mut tail = self.chained_tail();
        tail.retain(|(e, _)| e.time >= oldest);
        tail
    }

    /// The digests that are kept, each with the times of its chain.
    fn chained_tail(&self) -> Vec<(Entry, Older)> {
        self.tail().into_iter().map(|entry| (entry, self.older_of(entry.digest))).collect()
    }

    /// The times of a digest's chain before its latest.
    fn older_of(&self, digest: u64) -> Older {
        self.older.get(&digest).copied().unwrap_or(NONE_OLDER)
    }

    /// Appends the window of the span that follows; returns the frames of it that are copies for what came before them here, or
    /// are none for that, unlike what the later span took them for.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) -> Vec<HeadFrame> {
        let later_tail = later.tail();
        let Self {
            recent: _,
            buckets: _,
            older: later_older,
            newest,
            previous,
            first,
            head,
            first_epoch,
            copies,
            dropped,
            adrift,
            lowest,
        } = later;
        self.copies += copies;
        self.dropped += dropped;
        self.adrift += adrift;
        let (Some(previous), Some(later_first)) = (previous, first) else { return Vec::new() };
        let mut found = Vec::new();
        // Digests of which the head has more than one frame.
        let continued: HashSet<u64> =
            head.iter().filter(|frame| frame.chained().is_some()).map(|frame| frame.observation.digest).collect();
        // The chain of each digest that begins with a frame of the head and has more than that frame.
        let mut chains: HashMap<u64, Chain> = HashMap::new();
        if self.previous.is_some_and(|own| later_first < own.saturating_sub(CLOCK_TOLERANCE_NS)) {
            self.start_epoch();
        } else {
            self.adrift += u64::from(self.is_adrift(lowest));
            if self.first_epoch {
                self.lowest = self.lowest.min(lowest);
            }
            let limit = self.first.unwrap_or(later_first).saturating_add(HEAD_NS);
            // By digest, so that a search is a bisection.
            let own = self.tail();
            for frame in head {
                let mut frame = frame.remapped(shift, map);
                let Some(time) = frame.observation.time.ns() else { continue };
                let digest = frame.observation.digest;
                let kept = || {
                    let at = own.partition_point(|e| e.digest > digest);
                    let known = own.get(at).filter(|e| e.digest == digest);
                    known.map_or(Chain::EMPTY, |e| Chain::new(e.time, self.older_of(digest)))
                };
                let chain = match (chains.remove(&digest), frame.chained()) {
                    (Some(chain), Some(before)) if chain.times.first() == Some(&before) => Some(chain),
                    // It goes on from a frame behind the head, which nothing before this span can touch.
                    (_, Some(_)) => None,
                    _ if frame.apart => Some(Chain::EMPTY),
                    _ => {
                        let known = kept();
                        let chain = known.before(time);
                        frame.apart = known.len() > 0 && chain.len() == 0;
                        Some(chain)
                    }
                };
                let Some(chain) = chain else {
                    if self.first_epoch && time <= limit {
                        self.keep(frame);
                    }
                    continue;
                };
                let copy = chain.is_copied_at(time);
                if copy != frame.copy {
                    frame.copy = copy;
                    found.push(frame.clone());
                    self.copies = if copy { self.copies + 1 } else { self.copies.saturating_sub(1) };
                }
                frame.chained = chain.latest().unwrap_or(VACANT);
                if self.first_epoch && chain.root(time).is_some_and(|root| root <= limit) {
                    self.keep(frame);
                }
                if chain.len() > 0 || continued.contains(&digest) {
                    chains.insert(digest, chain.then(time));
                }
            }
        }
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
            let older = later_older.get(&entry.digest).copied().unwrap_or(NONE_OLDER);
            // Only a chain of the first epoch with fewer frames than decide can have begun before this span; its latest frame is in
            // the head, or too far behind it. The time alone does not tell: where the clock steps back, a chain has the same time twice.
            let begun = if first_epoch && older.contains(&VACANT) { chains.get(&entry.digest) } else { None };
            let [_, a, b, c] = match begun {
                Some(chain) if chain.latest() == Some(entry.time) => chain.times,
                _ => Chain::new(entry.time, older).times,
            };
            self.touch_latest(entry, [a, b, c]);
        }
        found
    }
}

impl PartialEq for CopyWindow {
    fn eq(&self, other: &Self) -> bool {
        self.copies == other.copies
            && self.dropped == other.dropped
            && self.first == other.first
            && self.previous == other.previous
            && self.newest == other.newest
            && self.first_epoch == other.first_epoch
            && self.adrift == other.adrift
            && self.lowest == other.lowest
            && self.agreed_head().eq(other.agreed_head())
            && self.agreed() == other.agreed()
    }
}

/// Whether two times are within the copy window of each other.
fn is_near(a: i64, b: i64) -> bool {
    a.abs_diff(b) <= COPY_WINDOW_NS.unsigned_abs()
}

impl HeadFrame {
    fn chained(&self) -> Option<i64> {
        Some(self.chained).filter(|time| *time != VACANT)
    }

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
    after.since(before).filter(|&step| step < 0).map(i64::saturating_neg)
}

/// A time that may be vacant, as it is written.
mod optional_time {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::VACANT;
    use crate::model::all_bits;

    pub(super) fn serialize<S: Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        all_bits(&Some(*time).filter(|time| *time != VACANT), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        Option::deserialize(deserializer).map(|time| time.unwrap_or(VACANT))
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
