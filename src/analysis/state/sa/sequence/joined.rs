//! Runs on both sides of a jump whose frames came out of order: copies and repeated packets of what came before it.

use super::run::{Edge, Folded};
use super::steps::Sighting;
use super::{IntervalSet, Rare, Run, SequenceState, continues};
use crate::analysis::limits::{COPY_WINDOW_NS, JUMP_STEP, RESTART_FALL};

impl From<Sighting> for Edge {
    fn from(at: Sighting) -> Self {
        Self { pos: at.pos, time: at.time, raw: at.number as u32, unwrapped: at.number }
    }
}

impl Run {
    /// By what the numbers of `later` move if this run ends with a frame far behind its first one, and `later` goes on from the highest.
    pub(super) fn rises_to(&self, later: &Self) -> Option<i64> {
        let step = later.first.raw.wrapping_sub(self.max as u32) as i32;
        let fell = self.last.unwrapped < self.first.unwrapped - i64::from(RESTART_FALL);
        let near = (-RESTART_FALL..=JUMP_STEP).contains(&step);
        (fell && near).then(|| self.max + i64::from(step) - later.first.unwrapped)
    }

    /// This run without its last number, and that number alone, where it is far ahead of all others of the run and `later` goes on from
    /// these: a damaged or invented number, and neither loss nor a new count.
    pub(super) fn without_one_ahead(&self, later: &Self) -> Option<(Self, Self)> {
        let top = IntervalSet::single(self.max, self.max + 1);
        let below = self.coverage.minus(&top);
        let max = below.parts().last()?.1 - 1;
        let step = later.first.raw.wrapping_sub(max as u32) as i32;
        let far = self.max - max > i64::from(RESTART_FALL) && self.last.unwrapped == self.max;
        if !far || step.unsigned_abs() > RESTART_FALL.unsigned_abs() {
            return None;
        }
        let mut rest = self.clone();
        let (leap, again) = rest.steps.as_mut()?.pop(self.max)?;
        let frames = again.again().0 + 1;
        (rest.coverage, rest.max, rest.last) = (below, max, leap.before.into());
        rest.frames = self.frames.checked_sub(frames).filter(|frames| *frames > 0)?;
        rest.wraps.retain(|edge| edge.unwrapped <= max);
        let first = Edge::from(leap.after);
        let one = Self {
            first,
            last: self.last,
            frames,
            max: self.max,
            coverage: top,
            late: None,
            folded: Rare::<Folded>::default(),
            late_before: Rare::default(),
            wraps: Vec::new(),
            steps: Some(Box::new(again)),
            begin: None,
            falls: None,
        };
        Some((rest, one))
    }

    /// Takes out the numbers far behind the first frame that the run before had already: after a jump ahead, copies and repeated packets
    /// of what came before it are not late.
    pub(super) fn leave_repeated(&mut self, before: &Self) {
        let Some(late) = self.late.as_mut() else { return };
        let mut own = IntervalSet::default();
        own.insert_range(self.first.unwrapped - i64::from(RESTART_FALL), self.max + 1);
        let far = late.first().map(|all| all.minus(&own)).unwrap_or_default();
        let step = self.first.raw.wrapping_sub(before.last.raw) as i32;
        let mut known = before.coverage.clone();
        known.shift(self.first.unwrapped - i64::from(step) - before.last.unwrapped);
        let repeated = far.minus(&far.minus(&known));
        if !repeated.is_empty() {
            late.iter_mut().for_each(|set| *set = set.minus(&repeated));
            self.coverage = self.coverage.minus(&repeated);
        }
    }
}

impl Run {
    /// What the numbers of `later` are moved by where its first one is the one that is nearest to this run's last.
    const fn moved(&self, later: &Self) -> i64 {
        let step = later.first.raw.wrapping_sub(self.last.raw) as i32;
        self.last.unwrapped + step as i64 - later.first.unwrapped
    }

    /// Whether `later` has the numbers right after the maximum of this run and none right before them: the sender continued its count.
    pub(super) fn goes_on_in(&self, later: &Self) -> bool {
        /// Numbers that loss may have taken at either side.
        const NEAR: i64 = 64;
        let next = self.max + 1 - self.moved(later);
        let has = |from: i64, to: i64| !later.coverage.between(from, to).is_empty();
        has(next, next + NEAR) && !has(next - NEAR, next)
    }

    /// Whether `later`, the last run, is nothing but numbers of this one, and was sent again: a counter that begins anew begins at 1.
    fn is_sent_again_by(&self, later: &Self) -> bool {
        let is_known = self.folded.get().below.is_none() && later.folded.get().below.is_none();
        let is_within = later.first.raw > RESTART_FALL.unsigned_abs() && later.max + self.moved(later) <= self.max;
        is_known && is_within && self.common(later) == later.coverage.len()
    }

    /// Whether `later` begins among the numbers of this run with one that was missing, has none of them again, and leaves few missing: it came late. A
    /// counter that begins anew gives numbers a second time, or begins below all others.
    fn is_filled_by(&self, later: &Self) -> bool {
        let by = self.moved(later);
        let Some(min) = self.coverage.min() else { return false };
        let within = (min..self.max).contains(&(later.first.unwrapped + by));
        let all = self.max.max(later.max + by).abs_diff(min);
        let is_dense = (self.coverage.len() + later.coverage.len()).saturating_mul(2) > all;
        let is_known = self.folded.get().below.is_none() && later.folded.get().below.is_none();
        is_known && within && is_dense && self.common(later) == 0
    }

    /// Whether `later`, whose first number is `step` behind the last one, is no new count; `is_last`: no run comes after it.
    pub(super) fn is_continued_by(&self, later: &Self, step: i32, is_last: bool) -> bool {
        step >= -RESTART_FALL
            || self.is_repeated_from(later)
            || self.is_resumed_by(later, step)
            || self.is_filled_by(later)
            || is_last && self.is_sent_again_by(later)
    }

    /// Takes out the first numbers of `later` that came early, far below this run's own: their copies began `later`.
    pub(super) fn leave_early(&mut self, later: &Self) {
        /// Numbers that copies may be behind.
        const NEAR: i64 = 64;
        let is_near = later.first.time.since(self.last.time).is_some_and(|age| age <= COPY_WINDOW_NS);
        let Some(late) = self.late.as_mut().filter(|_| is_near) else { return };
        let mut far = IntervalSet::default();
        far.insert_range(i64::MIN / 2, self.first.unwrapped - i64::from(RESTART_FALL));
        let step = later.first.raw.wrapping_sub(self.last.raw) as i32;
        let begin = self.last.unwrapped + i64::from(step);
        let near = IntervalSet::single(begin, begin + NEAR);
        let all = late.first().cloned().unwrap_or_default();
        let of = |set: &IntervalSet, other: &IntervalSet| set.minus(&set.minus(other));
        let mut known = later.coverage.clone();
        known.shift(begin - later.first.unwrapped);
        let early = of(&of(&of(&all, &far), &near), &known);
        if !early.is_empty() {
            late.iter_mut().for_each(|set| *set = set.minus(&early));
            self.coverage = self.coverage.minus(&early);
        }
    }

    /// Whether `later` is nothing but numbers of this run, sent again while it was still fresh.
    fn is_repeated_by(&self, later: &Self) -> bool {
        /// Numbers that copies may be behind.
        const MOST: u64 = 64;
        let is_plain = later.folded.get().below.is_none() && later.coverage.len() <= MOST;
        if !is_plain || later.last.time.since(self.last.time).is_none_or(|age| age > COPY_WINDOW_NS) {
            return false;
        }
        let mut numbers = later.coverage.clone();
        numbers.shift(self.moved(later));
        numbers.minus(&self.coverage).is_empty()
    }
}

/// Gives the frames back to the run before the last that a jump parts from it: copies of its numbers that came after the first number
/// behind the jump.
pub(super) fn give_back_repeated(runs: &mut Vec<Run>) {
    let mut at = 2;
    while let Some(later) = runs.get(at) {
        let repeats = runs.get(at - 2).is_some_and(|run| run.is_repeated_by(later));
        if !repeats {
            at += 1;
            continue;
        }
        let frames = runs.remove(at).frames;
        if let Some(run) = runs.get_mut(at - 2) {
            run.frames += frames;
        }
        // What follows may go on from the run in between.
        let joins = runs.get(at - 1).zip(runs.get(at)).and_then(|(own, next)| {
            let step = continues(&own.last, next.first.raw, next.first.time).filter(|step| *step >= -RESTART_FALL)?;
            Some(own.last.unwrapped + i64::from(step) - next.first.unwrapped)
        });
        if let Some(by) = joins {
            let next = runs.remove(at);
            if let Some(own) = runs.get_mut(at - 1) {
                own.append(next, by);
            }
        }
    }
}

/// Runs that end with a number far ahead of all others, while the next run goes on from these: where each is, the run without that number, and
/// the number alone.
pub(super) fn with_one_ahead(runs: &[Run]) -> Vec<(usize, Run, Run)> {
    let pairs = runs.iter().zip(runs.iter().skip(1)).enumerate();
    let pairs = pairs.filter(|(_, (run, next))| !run.begins_again() && !next.begins_again());
    pairs.filter_map(|(at, (run, next))| run.without_one_ahead(next).map(|(rest, one)| (at, rest, one))).collect()
}

impl SequenceState {
    /// All numbers, where they are one run and exact.
    pub(crate) fn coverage(&self) -> Option<&IntervalSet> {
        match self.runs.as_slice() {
            [run] if self.is_exact() && self.fallen.is_none() => Some(&run.coverage),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SequenceFigures;
    use super::super::tests::{numbers, state};

    /// Queues by class, and a path that takes longer: packets come late by more than any anti-replay window, and none is lost.
    #[test]
    fn packets_that_are_late_by_thousands_are_no_restart() {
        let mut seqs: Vec<u32> = (1..=40_000).collect();
        let mut late = |is_late: &dyn Fn(u32) -> bool, by: u32| {
            seqs.sort_by_key(|n| (n + if is_late(*n) { by } else { 0 }, *n));
            seqs.clone()
        };
        for seqs in [late(&|n| n % 97 == 5, 6_000), late(&|n| n / 20 % 5 == 0, 6_000), late(&|n| n % 4_000 < 20, 9_000)]
        {
            let SequenceFigures { lost, duplicate, outliers, late, .. } = numbers(&seqs);
            assert_eq!((lost, duplicate, outliers, numbers(&seqs).restarts().len(), late > 0), (0, 0, 0, 0, true));
        }
        let path: Vec<_> = late(&|n| (12_000..24_000).contains(&n), 6_000).into_iter().map(|n| (n, 0)).collect();
        assert_eq!(state(&path).counters(), Vec::<u32>::new());
        // What comes again was there before: nothing is missing between.
        let f = numbers(&(1..=20_000).chain((14_000..20_000).step_by(97)).collect::<Vec<_>>());
        assert_eq!((f.lost, f.duplicate, f.restarts().len()), (0, 62, 0));
        let again = |n: u32| {
            [n, n.max(5_001) - 5_000, n.max(5_001) - 4_999].into_iter().take(if n.is_multiple_of(2_000) {
                3
            } else {
                2
            })
        };
        let f = numbers(&(1..=16_000).flat_map(again).collect::<Vec<_>>());
        assert_eq!((f.lost, f.restarts().len()), (0, 0));
        // A counter that begins anew has numbers of before, from 1 on; what is lost of it is lost.
        let f = numbers(&(1..=20_000).chain((1..6_000).filter(|n| n % 10 != 3)).collect::<Vec<_>>());
        assert_eq!((f.lost, f.restarts().len()), (600, 1));
    }
}
