//! Copies that a TAP or SPAN port adds: the same packet again within 10 ms.
//!
//! Equal frames of which each is at most the window behind the one before it, in capture order, are a chain. A frame is a copy if it
//! ends a cluster of the chain: two to eight equal frames that follow each other [`RATIO`] times faster than the first of them follows
//! what came before. So the pairs of a SPAN port are copies, also of a generator's identical packets, and those packets themselves, one
//! a period, are none. A frame that bears a sequence number is the same packet wherever it is equal: each one of the chain but the first is
//! a copy. That is a rule over a frame and eight before it, so it merges: a state keeps the digests of its last window
//! (its tail, for what follows) and the frames whose chains begin at its start and have fewer than eight before them (its head, for
//! what came before). A frame that begins a chain later than a window after the start continues nothing of an earlier span.
//!
//! Digests are forgotten by their times. A clock that steps back lets a later frame be forgotten before an earlier one; so that this
//! matters nowhere, they are kept longer than anything is looked for, by what the clock may step back. It may do so in several
//! steps, each tolerated; where they add up to more than one may have, the frames are counted (`adrift`).

pub(crate) mod archive;
pub(crate) mod chain;
mod head;
mod merge;
pub(crate) mod pattern;
mod recent;
mod sieve;
mod sights;
mod table;
mod written;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use self::archive::{Archive, DigestMark};
use self::chain::{Chain, NONE_OLDER, Older, Rank, VACANT, is_copy, place_of};
pub(crate) use self::head::HeadFrame;
use self::pattern::Pattern;
use self::recent::Recent;
use self::table::{Bucket, EMPTY};
use crate::analysis::limits::{CLOCK_TOLERANCE_NS, COPY_WINDOW_NS, HEAD_FRAME_BYTES, MAX_COPY_HEAD, MAX_COPY_WINDOW};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::listed::{At, Listed};
use crate::dissect::{Costs, Note};
use crate::model::{FramePos, Timestamp};

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
/// Equal frames before one that decide whether it is a copy: as many as sessions of a mirror show each packet.
const DECIDE: usize = 8;

/// The copy window of a span.
#[derive(Clone, Debug)]
pub(crate) struct CopyWindow {
    /// Frames that were no copies for certain, latest last: they reach the table only when something may be a copy. With the archive.
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
    /// Whether frames can be copies of an earlier span's: there may be one, and the clock has not stepped back since.
    first_epoch: bool,
    /// What equal frames look like as a whole.
    pub(crate) pattern: Pattern,
    /// Copies that stay copies when an earlier span is merged; those of the head may turn out to be none.
    settled: Listed,
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
            pattern: Pattern::default(),
            settled: Listed::default(),
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
        if o.digest == 0 {
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
        let (mut copy, mut place) = (false, Rank::default());
        // Most frames have no equal.
        if chain.latest().is_some() {
            (copy, place) = (is_copy(&chain, time, sights), place_of(&chain, time, sights));
            if counts_in_pattern(o) {
                self.pattern.add(place, o.digest, o.tos);
            }
        }
        if self.first_epoch && chain.root(time).is_some_and(|root| root <= first.saturating_add(HEAD_NS)) {
            let counts = |note: &&Note| matches!(note, Note::Null { .. } | Note::UdpCandidate { .. });
            let notes = notes.iter().filter(counts).copied().collect();
            let chained = chain.latest().unwrap_or(VACANT);
            let frame = HeadFrame { observation: *o, costs, sights: sights.into(), notes, copy, place, chained, apart };
            if let Some(copy) = self.keep(frame) {
                copy.list(&mut self.settled);
            }
        } else if copy {
            self.settled.add(o.pos, o.time);
        }
        copy
    }

    /// What tells of the frame that is observed next whether it was seen before, however long ago.
    /// The first frame of an SA was not, and that is not looked up.
    pub(crate) fn mark(&self, o: &Observation, is_first: bool) -> Option<DigestMark> {
        let is_marked = o.digest != 0 && !o.class.control && o.time.ns().is_some();
        is_marked.then(|| if is_first { self.recent.mark_first(o.digest) } else { self.recent.mark(o.digest) })
    }

    /// The digests of the frames so far, as many as are kept.
    pub(crate) fn archived(&self) -> Archive {
        self.recent.archived()
    }

    /// Declares whether no span comes before this one: then it needs no head.
    pub(crate) const fn begins_stream(&mut self, is_first: bool) {
        self.first_epoch = !is_first;
    }

    /// Octets of memory of the frames that are kept for the span before, about.
    pub(crate) fn weight(&self) -> usize {
        self.head.len().saturating_mul(HEAD_FRAME_BYTES)
    }

    /// Keeps a frame of the head; gives back a copy that finds no room there.
    fn keep(&mut self, frame: HeadFrame) -> Option<HeadFrame> {
        if self.head.len() < MAX_COPY_HEAD {
            self.head.push(frame);
            return None;
        }
        self.dropped += 1;
        Some(frame).filter(|frame| frame.copy)
    }

    /// The copies of the span.
    pub(crate) fn copies(&self) -> Listed {
        let mut all = Listed::default();
        self.head.iter().filter(|frame| frame.copy).for_each(|frame| frame.list(&mut all));
        all.join(&self.settled);
        all
    }

    /// Records a digest; the chain that it continues, and whether it continues none of an equal frame that is known.
    fn chain_before(&mut self, entry: Entry) -> (Chain, bool) {
        let Some(before) = self.touch(entry) else {
            self.set_older(entry.digest, NONE_OLDER);
            return (Chain::EMPTY, false);
        };
        let chain = Chain::new(before, self.older_of(entry.digest)).before(entry.time);
        self.set_older(entry.digest, chain.older());
        (chain, chain.len() == 0)
    }

    #[inline]
    fn set_older(&mut self, digest: u64, older: Older) {
        if older == NONE_OLDER {
            // Asked first: where no frame is like another there are none, and looking for one takes a hash.
            if !self.older.is_empty() {
                self.older.remove(&digest);
            }
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

    /// Whether a frame of this time can be passed: the clock of the frames that are remembered has not stepped back. Up to
    /// [`CopyWindow::head_end`] it must be kept besides.
    #[inline]
    pub(crate) fn admits(&self, time: i64) -> bool {
        self.previous.is_some_and(|previous| time >= previous) && !self.is_adrift(time)
    }

    /// Whether frames of this time on can no longer be copies of an earlier span's.
    pub(crate) fn is_past_head(&self, time: i64) -> bool {
        !self.first_epoch || self.first.is_some_and(|first| time > first.saturating_add(HEAD_NS))
    }

    /// The first time from which on no earlier span can hold what a frame is a copy of; `None` where that is no later than `time`.
    pub(crate) fn head_end(&self, time: i64) -> Option<i64> {
        let end = self.first?.saturating_add(HEAD_NS).saturating_add(1);
        (self.first_epoch && time < end).then_some(end)
    }

    /// The place of the last frame of the head, if it is the one at `pos`.
    pub(crate) fn place_in_head(&self, pos: FramePos) -> Option<usize> {
        let last = self.head.len().checked_sub(1)?;
        self.head.get(last).filter(|frame| frame.observation.pos == pos).map(|_| last)
    }

    /// Keeps a frame that was passed and is [like](HeadFrame::like) the one at a place of the head.
    pub(crate) fn keep_like(&mut self, place: Option<usize>, here: At, told: (u64, u8, u32)) {
        if let Some(known) = place.and_then(|place| self.head.get(place)) {
            self.keep(known.like(here, told));
        }
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

    /// The same of a frame whose number does not say that it is new, where no frame is like it; false where one is, and nothing was done.
    #[inline]
    pub(crate) fn pass_unlike(&mut self, digest: u64, time: i64) -> bool {
        self.newest = self.newest.max(time);
        let is_new = self.touch_new(Entry { digest, time });
        if is_new {
            self.recent.archive(digest);
        }
        // Asked first: where no frame is like another there are none, and looking for one takes a hash.
        if is_new && !self.older.is_empty() {
            self.older.remove(&digest);
        }
        is_new
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
            let full = self.recent.push_out(entry, (self.oldest_kept(), self.newest), MAX_COPY_WINDOW);
            self.dropped += u64::from(full);
        }
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
}

impl PartialEq for CopyWindow {
    fn eq(&self, other: &Self) -> bool {
        self.copies() == other.copies()
            && self.pattern == other.pattern
            && self.dropped == other.dropped
            && self.first == other.first
            && self.previous == other.previous
            && self.newest == other.newest
            && self.first_epoch == other.first_epoch
            && self.adrift == other.adrift
            && self.lowest == other.lowest
            && self.agreed_head().eq(other.agreed_head())
            && self.agreed() == other.agreed()
            && self.recent.archived() == other.recent.archived()
    }
}

/// Whether equal frames tell what makes them: keepalives of NAT are all alike, whoever copies them.
pub(super) const fn counts_in_pattern(o: &Observation) -> bool {
    !o.class.control
}

/// Times of a span's ends, for the rules that look at neighbours.
pub(crate) fn stepped_back(before: Timestamp, after: Timestamp) -> Option<i64> {
    after.since(before).filter(|&step| step < 0).map(i64::saturating_neg)
}
