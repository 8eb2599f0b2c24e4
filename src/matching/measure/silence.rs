//! Times in which a tap showed no frame at all: a hole in its capture, or an outage.
//!
//! A tap that shows any frame was recording: packets of the other side that are missing meanwhile were lost. In a silence nothing proves that
//! it was recording. Packets that must have passed it prove that it was not; sequence numbers that go on without a step prove that nothing
//! passed it. Where neither is there, hole and outage cannot be told apart.

use std::collections::BTreeMap;

use crate::matching::limits::{MAX_MISSED, MAX_SILENCES};
use crate::matching::order::delay::median;

/// Ways of packets past a tap: a tunnel has two.
pub(in crate::matching) const WAYS: usize = 2;
/// The shortest silence, in nanoseconds, and in usual gaps between frames.
const LEAST_NS: f64 = 100_000.0;
const LEAST_GAPS: f64 = 4.0;
/// Gaps at the beginning that tell what is usual.
const OPENING: usize = 16;
/// By how much one gap may exceed the usual one where that is learnt.
const OUTLIER: f64 = 8.0;
/// Missing packets in a row that may be a hole.
pub(in crate::matching) const IN_A_ROW: u64 = 6;
/// The same for a silence of at least this many usual gaps.
const IN_A_LONG_ROW: u64 = 3;
const LONG_GAPS: f64 = 16.0;
/// Missing packets next to a silence that prove that the tap was recording.
const ADJOINING: u64 = 3;
/// How much rarer a row of losses by chance is than one in the capture, in nats.
const NOT_BY_CHANCE: f64 = 7.0;

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
}

/// The silences of one tap, and packets of the other side that it did not show.
#[derive(Debug)]
pub(in crate::matching) struct Silences {
    latest: Option<(i64, u32)>,
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
    pub(in crate::matching) fn see(&mut self, ns: i64, capture: u32) {
        /// Frames over which the usual gap is learnt.
        const LEARNT: f64 = 64.0;
        let Some((latest, file)) = self.latest else {
            self.latest = Some((ns, capture));
            return;
        };
        let gap = ns.saturating_sub(latest);
        if gap <= 0 {
            return;
        }
        let border = capture != file;
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
            self.usual += ((gap as f64).min(OUTLIER * self.usual) - self.usual) / LEARNT;
        }
        self.latest = Some((ns, capture));
    }

    /// Whether a gap between two frames is more than the usual ones.
    fn is_silence(&self, gap: i64) -> bool {
        gap as f64 > (LEAST_GAPS * self.usual).max(LEAST_NS)
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
    pub(in crate::matching) fn pair(&mut self, way: usize, ns: i64) {
        let at = match self.list.last() {
            Some(last) if ns >= last.to => self.list.len(),
            _ => self.list.partition_point(|own| own.to <= ns),
        };
        let seen = match at.checked_sub(1).and_then(|at| self.list.get_mut(at)) {
            Some(own) => &mut own.after,
            None => &mut self.before,
        };
        if let Some(seen) = seen.get_mut(way) {
            seen.add(Seen { first: ns, last: ns });
        }
    }

    /// The longest silence that a time touches.
    fn touched(&self, from: i64, to: i64) -> Option<&Silence> {
        /// Silences that are looked at.
        const LOOKED_AT: usize = 64;
        let at = self.list.partition_point(|own| own.to <= from);
        let touched = self.list.get(at..).unwrap_or_default().iter().take_while(|own| own.from < to);
        touched.take(LOOKED_AT).max_by_key(|own| own.lasts())
    }

    /// The longest silence that lies between two times.
    pub(in crate::matching) fn between(&self, from: i64, to: i64) -> Option<i64> {
        if self.list.last().is_none_or(|last| last.to <= from) {
            return None;
        }
        self.touched(from, to).filter(|own| from <= own.from && own.to <= to).map(|own| own.from)
    }

    /// The silence that has just ended, where it did so no longer ago than it lasted.
    pub(in crate::matching) fn just_ended(&self, ns: i64) -> Option<i64> {
        let last = self.list.last()?;
        (ns.saturating_sub(last.to) <= last.lasts()).then_some(last.from)
    }

    /// A packet of the other side was not seen. The silence in which it was expected, if any: it then waits for the verdict.
    pub(in crate::matching) fn miss(&mut self, who: u32, bytes: u32, expected: Expected) -> Option<i64> {
        let silence = self.touched(expected.least, expected.most).map(|own| own.from);
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

    /// Decides what each silence in which packets are missing was. Those that are not named were losses.
    pub(in crate::matching) fn judge(
        &self,
        known: &Known<impl Fn(u32) -> Option<usize>, impl Fn(i64, usize, u64) -> Option<u64>>,
    ) -> BTreeMap<i64, Judged> {
        let mut counts: BTreeMap<i64, [u64; WAYS]> = BTreeMap::new();
        for ((from, who, _), count) in &self.waiting {
            if let Some(own) = (known.way)(*who).and_then(|way| counts.entry(*from).or_default().get_mut(way)) {
                *own += count;
            }
        }
        let mut times: [Vec<i64>; WAYS] = Default::default();
        let mut alive = [0_u64; WAYS];
        for missed in &self.missed {
            if let Some(way) = (known.way)(missed.who)
                && let (Some(times), Some(alive)) = (times.get_mut(way), alive.get_mut(way))
            {
                times.push(missed.ns);
                *alive += u64::from(missed.silence.is_none());
            }
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let least = |silence: &Silence| {
            if silence.lasts() as f64 >= LONG_GAPS * self.usual { IN_A_LONG_ROW } else { IN_A_ROW }
        };
        let mut few = [0; WAYS];
        for (from, counts) in &counts {
            let silence = self.list.binary_search_by_key(from, |own| own.from).ok().and_then(|at| self.list.get(at));
            let least = silence.map_or(IN_A_ROW, least);
            few.iter_mut().zip(counts).for_each(|(few, own)| *few += if *own < least { *own } else { 0 });
        }
        let mut judged = BTreeMap::new();
        for (from, missing) in counts {
            let Ok(at) = self.list.binary_search_by_key(&from, |own| own.from) else { continue };
            let Some(silence) = self.list.get(at) else { continue };
            let mut verdicts = [None; WAYS];
            for (way, verdict) in verdicts.iter_mut().enumerate() {
                let of = |counts: &[u64; WAYS]| counts.get(way).copied().unwrap_or(0);
                let (count, lost, pairs) = (of(&missing), of(&alive) + of(&few), of(&known.pairs));
                let is_row = count >= least(silence) && is_no_chance(count, lost, pairs);
                if count == 0 || !(is_row || silence.border) {
                    continue;
                }
                let times = times.get(way).map_or(&[][..], Vec::as_slice);
                if self.adjoining(at, way, times) >= ADJOINING {
                    *verdict = Some(Verdict::Loss);
                    continue;
                }
                let passed = known.passed.get(way).copied().unwrap_or(false);
                *verdict = Some(match (known.skipped)(from, way, count) {
                    _ if passed => Verdict::Hole,
                    Some(skipped) if skipped * 2 >= count => Verdict::Hole,
                    Some(skipped) if skipped * 10 <= count => Verdict::Loss,
                    None if silence.border => Verdict::Hole,
                    _ => Verdict::Open,
                });
            }
            let hole = verdicts.contains(&Some(Verdict::Hole));
            if !hole && !verdicts.contains(&Some(Verdict::Open)) {
                continue;
            }
            let verdicts = verdicts.map(|own| if hole { Verdict::Hole } else { own.unwrap_or(Verdict::Loss) });
            let missing = missing.iter().sum();
            judged.insert(from, Judged { from, to: silence.to, missing, verdicts });
        }
        judged
    }

    /// Missing packets of a way just before or after a silence, with no pair between it and them: the tap was recording then.
    fn adjoining(&self, at: usize, way: usize, times: &[i64]) -> u64 {
        let Some(silence) = self.list.get(at) else { return 0 };
        let seen = |after: &[Seen; WAYS]| after.get(way).copied().unwrap_or(Seen::NEVER);
        let earlier = self.list.get(..at).unwrap_or_default().iter().rev().map(|own| seen(&own.after));
        let mut earlier = earlier.chain([seen(&self.before)]);
        let last = earlier.find(|seen| seen.last > i64::MIN).map_or(i64::MIN, |seen| seen.last);
        let later = self.list.get(at..).unwrap_or_default().iter().map(|own| seen(&own.after));
        let first = later.map(|seen| seen.first).find(|first| *first < i64::MAX).unwrap_or(i64::MAX);
        let count = |from: i64, to: i64| {
            let (low, high) = (times.partition_point(|ns| *ns <= from), times.partition_point(|ns| *ns < to));
            high.saturating_sub(low) as u64
        };
        count(last, silence.from) + count(silence.to, first)
    }
}

/// Whether so many losses in a row are more than chance brings about: `lost` others of `pairs` packets.
pub(in crate::matching) fn is_no_chance(count: u64, lost: u64, pairs: u64) -> bool {
    let all = (pairs + lost + 2) as f64;
    let share = (lost as f64 + 1.0) / all;
    count as f64 * -share.ln() >= all.ln() + NOT_BY_CHANCE
}

#[cfg(test)]
mod tests;
