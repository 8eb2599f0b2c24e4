//! Timestamps so coarse that frames share them: what lies between two frames of one tick, no gap shows. Packets that are missing in a row
//! there may be missing from the capture.

use std::collections::{BTreeMap, BTreeSet};

use super::{Judged, Known, Silences, Verdict, WAYS};
use crate::matching::packets::progress::Stamps;

/// Frames that share a tick, on the average, where it hides gaps.
const SHARING: u64 = 2;
/// Missing packets of a tick that may be a hole.
const IN_A_TICK: u64 = 3;
/// A tick is suspect if chance alone would bring that many missing packets less often than once per capture, by this factor (natural logarithm).
const NOT_BY_CHANCE: f64 = 3.0;

/// The frames of a tap, and the ticks that they share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks {
    stamps: Stamps,
    frames: u64,
    count: u64,
}

impl Ticks {
    /// Takes in a frame, of a tick that is new or not.
    #[inline]
    pub(super) fn see(&mut self, ns: i64, is_new: bool) {
        self.stamps.see(ns);
        self.frames += 1;
        self.count += u64::from(is_new);
    }

    /// How long a tick is, in nanoseconds, where ticks hide gaps.
    pub(super) fn step(&self) -> Option<i64> {
        let step = self.stamps.coarseness();
        (step > 0 && self.frames >= SHARING * self.count).then_some(step)
    }

    /// The tick of a time, where ticks hide gaps.
    pub(super) fn of(&self, ns: i64) -> Option<i64> {
        self.step().map(|step| ns.div_euclid(step).saturating_mul(step))
    }

    /// Ticks for each frame.
    pub(super) fn for_each(&self) -> f64 {
        self.count as f64 / self.frames.max(1) as f64
    }

    /// Ticks in which many more packets are missing than in most, alone or with the next one. `missing`: packets by tick; `pairs`: others,
    /// in all ticks.
    pub(super) fn rows(&self, missing: &BTreeMap<i64, u64>, pairs: u64) -> BTreeSet<i64> {
        let Some(step) = self.step() else { return BTreeSet::new() };
        let ticks = self.count.max(missing.len() as u64).max(1);
        let mut counts: Vec<u64> = missing.values().copied().collect();
        counts.sort_unstable();
        // The half of the ticks with the fewest says what is usual.
        let none = ticks.saturating_sub(counts.len() as u64);
        let half = usize::try_from((ticks / 2).saturating_sub(none)).unwrap_or(usize::MAX);
        let usual = 2 * counts.iter().take(half).sum::<u64>();
        let share = (usual + 1) as f64 / (pairs + usual + 2) as f64;
        let paired = pairs as f64 / ticks as f64;
        let is_row = |count: u64, of: f64| {
            let expected = share * (of * paired + count as f64);
            let surprise = count as f64 * (count as f64 / expected).ln() - (count as f64 - expected);
            count >= IN_A_TICK && count as f64 > expected && surprise >= (ticks as f64).ln() + NOT_BY_CHANCE
        };
        let mut rows = BTreeSet::new();
        for (tick, count) in missing {
            let next = tick.saturating_add(step);
            let both = missing.get(&next).map_or(0, |next| count + next);
            if is_row(*count, 1.0) {
                rows.insert(*tick);
            }
            if is_row(both, 2.0) {
                rows.extend([*tick, next]);
            }
        }
        rows
    }
}

impl Silences {
    /// Decides what the ticks were in which many packets are missing, by way. Those that are not named were losses.
    pub(super) fn judge_ticks(
        &self,
        missing: &BTreeMap<i64, [u64; WAYS]>,
        known: &Known<impl Fn(u32) -> Option<usize>, impl Fn(i64, usize, u64) -> Option<u64>>,
    ) -> BTreeMap<i64, Judged> {
        let mut judged = BTreeMap::new();
        let Some(step) = self.ticks.step() else { return judged };
        for way in 0..WAYS {
            let of = |counts: &[u64; WAYS]| counts.get(way).copied().unwrap_or(0);
            let counts: BTreeMap<i64, u64> = missing.iter().map(|(tick, counts)| (*tick, of(counts))).collect();
            let pairs = of(&known.pairs);
            for tick in self.ticks.rows(&counts, pairs) {
                let count = counts.get(&tick).copied().unwrap_or(0);
                let passed = known.passed.get(way).copied().unwrap_or(false);
                // When a packet was expected is not known to the tick.
                let around = [tick.saturating_sub(step), tick, tick.saturating_add(step)];
                let skipped: Option<u64> = around.into_iter().map(|tick| (known.skipped)(tick, way, count)).sum();
                let verdict = match skipped {
                    _ if passed => Verdict::Hole,
                    Some(skipped) if skipped * 10 <= count => Verdict::Loss,
                    _ => Verdict::Open,
                };
                let own = judged.entry(tick).or_insert(Judged {
                    from: tick,
                    to: tick.saturating_add(step),
                    missing: 0,
                    verdicts: [Verdict::Loss; WAYS],
                    is_tick: true,
                    adjoining: [0; WAYS],
                });
                if let Some(of_way) = own.verdicts.get_mut(way).filter(|_| verdict != Verdict::Loss) {
                    *of_way = verdict;
                    own.missing += count;
                }
            }
        }
        judged.retain(|_, own| own.missing > 0);
        judged
    }
}
