//! Times in which a tap showed no frame at all: a hole in its capture, or an outage.
//!
//! A tap that shows any frame was recording: packets of the other side that are missing meanwhile were lost. In a silence nothing proves that
//! it was recording. Packets that must have passed it prove that it was not; sequence numbers that go on without a step prove that nothing
//! passed it. Where neither is there, hole and outage cannot be told apart.

mod ticks;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use self::ticks::Ticks;
pub(in crate::matching) use self::verdict::{IN_A_LONG_ROW, is_no_chance};
use crate::matching::limits::{MAX_MISSED, MAX_SILENCES};
use crate::matching::order::delay::median;

/// Ways of packets past a tap: a tunnel has two.
pub(in crate::matching) const WAYS: usize = 2;
/// The shortest silence, in nanoseconds, and in usual gaps between frames.
const LEAST_NS: f64 = 100_000.0;
const LEAST_GAPS: f64 = 4.0;
/// Gaps up to this are none.
const SHORT_NS: i64 = LEAST_NS as i64;
/// Gaps at the beginning that tell what is usual.
const OPENING: usize = 16;
/// By how much one gap may exceed the usual one where that is learnt.
const OUTLIER: f64 = 8.0;
/// Silences that are looked at.
const LOOKED_AT: usize = 64;
/// A silence is long if it lasts this many usual gaps.
const LONG_GAPS: f64 = 16.0;

/// When packets of one way were seen between two silences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    first: i64,
    last: i64,
}

impl Seen {
    const NEVER: Self = Self { first: i64::MAX, last: i64::MIN };

    fn add(&mut self, other: Self) {
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
    }
}

/// A time without frames, by the tap's own clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Silence {
    pub(in crate::matching) from: i64,
    pub(in crate::matching) to: i64,
    /// One file of the tap ends here and the next begins.
    border: bool,
    /// Pairs after it and before the next one.
    after: [Seen; WAYS],
}

impl Silence {
    const fn lasts(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }
}

/// A packet of the other side that this tap did not show.
#[derive(Clone, Copy, Debug)]
struct Missed {
    /// When it was expected.
    ns: i64,
    /// Its flow or SA.
    who: u32,
    /// The silence that it was expected in.
    silence: Option<i64>,
}

/// When a packet is expected at a tap: at the earliest, usually, at the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Expected {
    pub(in crate::matching) least: i64,
    pub(in crate::matching) usual: i64,
    pub(in crate::matching) most: i64,
}

/// What a silence was for the packets of one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum Verdict {
    /// The tap was recording: they were lost.
    Loss,
    /// It was not.
    Hole,
    /// Nothing tells.
    Open,
}

/// A silence that is no loss, with the missing packets of both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Judged {
    pub(in crate::matching) from: i64,
    pub(in crate::matching) to: i64,
    pub(in crate::matching) missing: u64,
    pub(in crate::matching) verdicts: [Verdict; WAYS],
    /// Frames were shown meanwhile, but timestamps are too coarse to say when.
    pub(in crate::matching) is_tick: bool,
    /// Packets of each way that are missing directly before or behind it.
    pub(in crate::matching) adjoining: [u64; WAYS],
}

impl Judged {
    /// What it was for packets of a way; where nothing tells theirs, they may be of either.
    pub(in crate::matching) fn of_way(&self, way: Option<usize>) -> Verdict {
        let [first, others @ ..] = &self.verdicts;
        let of_all = if others.iter().all(|own| own == first) { *first } else { Verdict::Open };
        way.and_then(|way| self.verdicts.get(way).copied()).unwrap_or(of_all)
    }
}

/// What is known besides the silent tap.
pub(in crate::matching) struct Known<W, N> {
    /// Way of a flow or an SA.
    pub(in crate::matching) way: W,
    /// Whether packets of a way that the other tap saw had passed this one.
    pub(in crate::matching) passed: [bool; WAYS],
    /// Sequence numbers that each way skips over the silence from this time on; `None` where no SA tells.
    pub(in crate::matching) skipped: N,
    /// Pairs of each way.
    pub(in crate::matching) pairs: [u64; WAYS],
    /// Packets of each way that the tap showed before the other capture began or after it ended, by order and the clock of each.
    pub(in crate::matching) beyond: [u64; WAYS],
    /// Whether packets of both sides have no counterpart, by order: some of them may be each other.
    pub(in crate::matching) crossed: bool,
}

/// The silences of one tap, and packets of the other side that it did not show.
#[derive(Debug)]
pub(in crate::matching) struct Silences {
    latest: Option<(i64, u32)>,
    /// Files that frames came from: the ports of a TAP take turns, files of a rotation do not.
    files: BTreeSet<u32>,
    first: i64,
    ticks: Ticks,
    /// The usual gap between two frames, in nanoseconds; zero until the first gaps tell it.
    usual: f64,
    /// The first gaps. Each may be a silence until they tell what is usual.
    opening: Vec<i64>,
    list: Vec<Silence>,
    /// Pairs before the first one.
    before: [Seen; WAYS],
    missed: Vec<Missed>,
    /// Missing packets that wait for the verdict, by silence, flow or SA, and length.
    waiting: BTreeMap<(i64, u32, u32), u64>,
}

impl Default for Silences {
    fn default() -> Self {
        Self {
            latest: None,
            files: BTreeSet::new(),
            first: 0,
            ticks: Ticks::default(),
            usual: 0.0,
            opening: Vec::new(),
            list: Vec::new(),
            before: [Seen::NEVER; WAYS],
            missed: Vec::new(),
            waiting: BTreeMap::new(),
        }
    }
}

impl Silences {
    /// Takes in a frame of the tap, whatever it is.
    #[inline]
    pub(in crate::matching) fn see(&mut self, ns: i64, capture: u32) {
        // No silence is so short, not even of ticks: most frames are no further behind the one before.
        if let Some((latest, file)) = &mut self.latest
            && *file == capture
            && (1..=SHORT_NS).contains(&ns.saturating_sub(*latest))
            && self.usual > 0.0
        {
            let gap = ns.saturating_sub(*latest);
            *latest = ns;
            self.ticks.see(ns, true);
            self.learn(gap);
        } else {
            self.see_at_length(ns, capture);
        }
    }

    /// Learns from a gap that is no silence, or is one, what is usual.
    #[inline]
    fn learn(&mut self, gap: i64) {
        /// Frames over which the usual gap is learnt.
        const LEARNT: f64 = 64.0;
        let (gap, most) = (gap as f64, OUTLIER * self.usual);
        self.usual += (if gap < most { gap } else { most } - self.usual) / LEARNT;
    }

    fn see_at_length(&mut self, ns: i64, capture: u32) {
        let Some((latest, file)) = self.latest else {
            self.ticks.see(ns, true);
            (self.first, self.latest) = (ns, Some((ns, capture)));
            self.files.insert(capture);
            return;
        };
        let gap = ns.saturating_sub(latest);
        self.ticks.see(ns, gap > 0);
        if gap <= 0 {
            return;
        }
        let border = capture != file && self.files.insert(capture);
        let is_opening = self.usual <= 0.0;
        if border || is_opening || self.is_silence(gap) {
            self.list.push(Silence { from: latest, to: ns, border, after: [Seen::NEVER; WAYS] });
            self.make_room();
        }
        if is_opening {
            self.opening.push(gap);
            if self.opening.len() >= OPENING {
                self.settle();
            }
        } else {
            self.learn(gap);
        }
        self.latest = Some((ns, capture));
    }

    /// Whether a gap between two frames is more than the usual ones.
    fn is_silence(&self, gap: i64) -> bool {
        match self.ticks.step() {
            // A tick without a frame.
            Some(step) => gap >= 2 * step && gap as f64 > LEAST_GAPS * self.usual * self.ticks.for_each(),
            None => gap as f64 > (LEAST_GAPS * self.usual).max(LEAST_NS),
        }
    }

    /// Learns from the first gaps, or from all where there are no more, what is usual, and keeps the silences among them.
    pub(in crate::matching) fn settle(&mut self) {
        let gaps = std::mem::take(&mut self.opening);
        if let Some(middle) = median(gaps.clone()).filter(|_| self.usual <= 0.0) {
            let sum: f64 = gaps.iter().map(|gap| (*gap as f64).min(OUTLIER * middle as f64)).sum();
            self.usual = sum / gaps.len() as f64;
            let list = std::mem::take(&mut self.list);
            self.keep(list.into_iter().map(|own| (own.border || self.is_silence(own.lasts()), own)).collect());
        }
    }

    /// Keeps some silences; pairs behind the others are then behind the ones before.
    fn keep(&mut self, list: Vec<(bool, Silence)>) {
        for (is_kept, own) in list {
            if is_kept {
                self.list.push(own);
            } else {
                let after = self.list.last_mut().map_or(&mut self.before, |last| &mut last.after);
                after.iter_mut().zip(own.after).for_each(|(after, own)| after.add(own));
            }
        }
    }

    /// Keeps the longest silences where there are too many.
    fn make_room(&mut self) {
        if self.list.len() < 2 * MAX_SILENCES {
            return;
        }
        let mut lengths: Vec<i64> =
            self.list.iter().map(|own| if own.border { i64::MAX } else { own.lasts() }).collect();
        lengths.select_nth_unstable_by(MAX_SILENCES, |a, b| b.cmp(a));
        let least = lengths.get(MAX_SILENCES).copied().unwrap_or(0);
        let mut room = MAX_SILENCES;
        let list = std::mem::take(&mut self.list).into_iter().map(|own| {
            let is_kept = (own.border || own.lasts() > least) && room > 0;
            room -= usize::from(is_kept);
            (is_kept, own)
        });
        self.keep(list.collect());
    }

    /// Takes note of a pair of one way, by its time at this tap.
    #[inline]
    pub(in crate::matching) fn pair(&mut self, way: usize, ns: i64) {
        let is_after_all = self.list.last().is_some_and(|last| ns >= last.to);
        let own = match () {
            () if self.list.is_empty() => None,
            () if is_after_all => self.list.last_mut(),
            () => self.last_before(ns),
        };
        let seen = match own {
            Some(own) => &mut own.after,
            None => &mut self.before,
        };
        if let Some(seen) = seen.get_mut(way) {
            seen.add(Seen { first: ns, last: ns });
        }
    }

    /// The last silence that ended before a time.
    fn last_before(&mut self, ns: i64) -> Option<&mut Silence> {
        let at = self.list.partition_point(|own| own.to <= ns);
        self.list.get_mut(at.checked_sub(1)?)
    }

    /// The longest silence that a time touches.
    fn touched(&self, from: i64, to: i64) -> Option<&Silence> {
        // Timestamps may be coarse: a packet of the tick before it, or behind it, may have been in it.
        let at = self.list.partition_point(|own| own.to < from);
        let touched = self.list.get(at..).unwrap_or_default().iter().take_while(|own| own.from <= to);
        touched.take(LOOKED_AT).max_by_key(|own| own.lasts())
    }

    /// The longest silence that lies between two times.
    pub(in crate::matching) fn between(&self, from: i64, to: i64) -> Option<i64> {
        if self.list.last().is_none_or(|last| last.to <= from) {
            return None;
        }
        let at = self.list.partition_point(|own| own.from < from);
        let within = self.list.get(at..).unwrap_or_default().iter().take_while(|own| own.to <= to);
        within.take(LOOKED_AT).max_by_key(|own| own.lasts()).map(|own| own.from)
    }

    /// The tick of a time, where ticks are so long that they hide silences.
    pub(in crate::matching) fn tick(&self, ns: i64) -> Option<i64> {
        self.ticks.of(ns)
    }

    /// Whether the tap was silent for much longer than it usually is.
    pub(in crate::matching) fn has_long(&self) -> bool {
        self.list.iter().any(|own| own.lasts() as f64 >= LONG_GAPS * self.usual)
    }

    /// The silence that has just ended, where it did so no longer ago than it lasted.
    pub(in crate::matching) fn just_ended(&self, ns: i64) -> Option<i64> {
        let last = self.list.last()?;
        (ns.saturating_sub(last.to) <= last.lasts()).then_some(last.from)
    }

    /// A packet of the other side was not seen. The silence in which it was expected, if any: it then waits for the verdict.
    pub(in crate::matching) fn miss(&mut self, who: u32, bytes: u32, expected: Expected) -> Option<i64> {
        let silence = self.touched(expected.least, expected.most).map(|own| own.from);
        let silence = silence.or_else(|| self.ticks.of(expected.usual));
        if self.missed.len() < MAX_MISSED {
            self.missed.push(Missed { ns: expected.usual, who, silence });
        }
        let from = silence?;
        let new = !self.waiting.contains_key(&(from, who, bytes));
        // Without room lengths are not kept apart.
        let bytes = if new && self.waiting.len() >= MAX_MISSED { 0 } else { bytes };
        *self.waiting.entry((from, who, bytes)).or_default() += 1;
        Some(from)
    }

    /// Packets of the other side that were not seen, as far as they are remembered.
    pub(in crate::matching) const fn missed(&self) -> usize {
        self.missed.len()
    }

    /// A packet that waited for the verdict came after all.
    pub(in crate::matching) fn came(&mut self, silence: i64, who: u32, bytes: u32) {
        if let Some(count) = self.waiting.get_mut(&(silence, who, bytes)) {
            *count = count.saturating_sub(1);
        }
    }

    /// Missing packets that wait for the verdict: their silence, their flow or SA, and how many they are.
    pub(in crate::matching) fn waiting(&self) -> impl Iterator<Item = (i64, u32, u64)> {
        self.waiting.iter().map(|((from, who, _), count)| (*from, *who, *count))
    }

    /// Missing packets that wait for the verdict, by silence, flow or SA, and length; they wait no longer.
    pub(in crate::matching) fn take_waiting(&mut self) -> BTreeMap<(i64, u32, u32), u64> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests;
