//! What each silence of a tap was.

use std::collections::BTreeMap;

use super::{Judged, Known, LONG_GAPS, Seen, Silence, Silences, Verdict, WAYS};

/// Missing packets in a row that may be a hole.
const IN_A_ROW: u64 = 6;
/// The same for a long silence.
pub(in crate::matching) const IN_A_LONG_ROW: u64 = 3;
/// Missing packets next to a silence that prove that the tap was recording: a number, and where the order may have been lost there a share of those
/// in it, as 1 in N.
const ADJOINING: u64 = 3;
const OF_ADJOINING: u64 = 2;
/// Packets beyond the other capture that may be the missing ones, by a clock that was set: a share of these, as 1 in N.
const OF_BEYOND: u64 = 2;
/// How much rarer a row of losses by chance is than one in the capture, in nats.
const NOT_BY_CHANCE: f64 = 7.0;

/// Silences in which no packet is missing, and when those are expected that are missing in the others.
struct Pauses {
    /// How long they last, the shortest first.
    silent: Vec<i64>,
    /// The first and the last of each.
    missing: BTreeMap<i64, (i64, i64)>,
}

impl Pauses {
    /// Whether the traffic itself pauses at this silence, as it often does: the packets that are missing lie at one edge of it, as where a
    /// queue drops the end of a burst. The silence then says nothing of the tap.
    fn explain(&self, silence: &Silence) -> bool {
        /// Pauses that are as long, within one part in `OF`.
        const OTHERS: usize = 8;
        const OF: i64 = 4;
        /// Packets are at the edge of a silence if they are in its first or last part, 1 in N of it.
        const EDGE: i64 = 8;
        let Some((first, last)) = self.missing.get(&silence.from) else { return false };
        let lasts = silence.lasts();
        let edge = silence.to.saturating_sub(*first).min(last.saturating_sub(silence.from));
        let shorter = self.silent.partition_point(|own| *own < lasts - lasts / OF);
        edge <= lasts / EDGE && self.silent.len() - shorter >= OTHERS
    }
}

impl Silences {
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
        let mut in_ticks = BTreeMap::new();
        for (from, counts) in &counts {
            let silence = self.list.binary_search_by_key(from, |own| own.from).ok().and_then(|at| self.list.get(at));
            if silence.is_none() {
                in_ticks.insert(*from, *counts);
            }
            let least = silence.map_or(u64::MAX, least);
            few.iter_mut().zip(counts).for_each(|(few, own)| *few += if *own < least { *own } else { 0 });
        }
        let pauses = self.pauses(&counts);
        let mut judged = self.judge_ticks(&in_ticks, known);
        for (from, missing) in counts {
            let Ok(at) = self.list.binary_search_by_key(&from, |own| own.from) else { continue };
            let Some(silence) = self.list.get(at) else { continue };
            let (mut verdicts, mut adjoining) = ([None; WAYS], [0; WAYS]);
            let had_passed = known.passed.iter().zip(missing).zip(alive).filter(|((passed, _), _)| **passed);
            let proved = had_passed.into_iter().any(|((_, count), alive)| self.is_proved(silence, count, alive));
            for (way, verdict) in verdicts.iter_mut().enumerate() {
                let of = |counts: &[u64; WAYS]| counts.get(way).copied().unwrap_or(0);
                let (count, lost, pairs) = (of(&missing), of(&alive) + of(&few), of(&known.pairs));
                let is_row = count >= least(silence) && is_no_chance(count, lost, pairs)
                    || count >= IN_A_LONG_ROW && self.is_concentrated(silence, count, lost);
                let passed = known.passed.get(way).copied().unwrap_or(false);
                let is_row = proved || is_row && (passed || !pauses.explain(silence));
                if count == 0 || !(is_row || silence.border || self.is_at_an_end(at)) {
                    continue;
                }
                let times = times.get(way).map_or(&[][..], Vec::as_slice);
                let beside = self.adjoining(at, way, times);
                let least = if known.crossed { count / OF_ADJOINING } else { 0 };
                if beside >= ADJOINING.max(least) {
                    *verdict = Some(Verdict::Loss);
                    continue;
                }
                adjoining.get_mut(way).into_iter().for_each(|own| *own = beside);
                let silence = (count, passed, silence.border, of(&known.beyond));
                *verdict = Some(by_numbers((known.skipped)(from, way, count), silence));
            }
            let hole = verdicts.contains(&Some(Verdict::Hole));
            if !hole && !verdicts.contains(&Some(Verdict::Open)) {
                continue;
            }
            let verdicts = verdicts.map(|own| if hole { Verdict::Hole } else { own.unwrap_or(Verdict::Loss) });
            let missing = missing.iter().sum();
            judged.insert(from, Judged { from, to: silence.to, missing, verdicts, is_tick: false, adjoining });
        }
        judged
    }

    /// What the silences tell of the pauses of the traffic. `missing`: those in which packets are.
    fn pauses(&self, missing: &BTreeMap<i64, [u64; WAYS]>) -> Pauses {
        let silent = self.list.iter().filter(|own| !own.border && !missing.contains_key(&own.from));
        let mut pauses = Pauses { silent: silent.map(Silence::lasts).collect(), missing: BTreeMap::new() };
        pauses.silent.sort_unstable();
        for missed in &self.missed {
            if let Some(from) = missed.silence {
                let (first, last) = pauses.missing.entry(from).or_insert((missed.ns, missed.ns));
                (*first, *last) = ((*first).min(missed.ns), (*last).max(missed.ns));
            }
        }
        pauses
    }

    /// Whether no pair lies before a long silence, or none after it: the other capture may begin or end inside.
    fn is_at_an_end(&self, at: usize) -> bool {
        let has_pairs = |after: &[Seen; WAYS]| after.iter().any(|own| *own != Seen::NEVER);
        let (before, after) = self.list.split_at_checked(at).unwrap_or_default();
        let is_long = after.first().is_some_and(|own| own.lasts() as f64 >= LONG_GAPS * self.usual);
        let is_first = !has_pairs(&self.before) && !before.iter().any(|own| has_pairs(&own.after));
        is_long && (is_first || !after.iter().any(|own| has_pairs(&own.after)))
    }

    /// Whether nearly all missing packets are in one silence, although it takes only a small part of the time: `lost` are elsewhere.
    fn is_concentrated(&self, silence: &Silence, count: u64, lost: u64) -> bool {
        /// How long it is at least, in usual gaps, and how much rarer that is by chance, in nats.
        const GAPS: f64 = 8.0;
        const NATS: f64 = 5.0;
        let span = self.latest.map_or(0, |(latest, _)| latest.saturating_sub(self.first));
        let share = silence.lasts() as f64 / span.max(1) as f64;
        let (count, expected) = (count as f64, (lost as f64 + 1.0) * share);
        let is_long = silence.lasts() as f64 >= GAPS * self.usual;
        is_long && count > expected && count * (count / expected).ln() - (count - expected) >= NATS
    }

    /// Whether packets that must have passed the tap are missing in a silence by no chance, so few as they are: `alive` others are while the tap was
    /// recording.
    fn is_proved(&self, silence: &Silence, count: u64, alive: u64) -> bool {
        /// How much rarer it is by chance, in nats.
        const NATS: f64 = 3.0;
        let span = self.latest.map_or(0, |(latest, _)| latest.saturating_sub(self.first));
        let longer = self.list.iter().map(Silence::lasts).filter(|own| *own >= silence.lasts());
        let silent: f64 = longer.map(|own| own as f64).sum();
        let (count, expected) = (count as f64, (alive as f64 + 1.0) * silent / span.max(1) as f64);
        count > expected && count * (count / expected).ln() - (count - expected) >= NATS
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

/// What a silence was by the numbers that the SAs skip over it: `count` packets are missing in it, and so many lie beyond the other capture.
const fn by_numbers(skipped: Option<u64>, (count, passed, border, beyond): (u64, bool, bool, u64)) -> Verdict {
    match skipped {
        _ if passed => Verdict::Hole,
        // A wire between gateway and tap that is down for a while looks the same.
        Some(skipped) if skipped * 2 >= count => {
            if border {
                Verdict::Hole
            } else {
                Verdict::Open
            }
        }
        // Numbers that go on prove an outage, unless the clock was set meanwhile: packets behind it then pass for ones beyond the other capture.
        Some(skipped) if skipped * 10 <= count && beyond * OF_BEYOND < count => Verdict::Loss,
        None if border => Verdict::Hole,
        _ => Verdict::Open,
    }
}

/// Whether `count` losses in a row are unlikely to be chance, when `lost` other packets were lost and `pairs` were not.
pub(in crate::matching) fn is_no_chance(count: u64, lost: u64, pairs: u64) -> bool {
    let all = (pairs + lost + 2) as f64;
    let share = (lost as f64 + 1.0) / all;
    count as f64 * -share.ln() >= all.ln() + NOT_BY_CHANCE
}
