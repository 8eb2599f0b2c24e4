//! A stretch of numbers without a restart: the numbers seen, and those that came late.

use serde::{Deserialize, Serialize};

use super::CLASSES;
use super::falls::Falls;
use super::figures::SequenceFigures;
use super::steps::Leaps;
use crate::analysis::limits::{
    CLOCK_TOLERANCE_NS, COPY_WINDOW_NS, FOLD_BEHIND, LATE_BEHIND, MAX_INTERVALS, RESTART_FALL,
};
use crate::analysis::state::base::interval::IntervalSet;
use crate::analysis::state::base::rare::Rare;
use crate::analysis::state::traffic::copies::archive::DigestMark;
use crate::model::{FramePos, Shift, Timestamp};

/// A stretch of numbers without a restart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) first: Edge,
    pub(crate) last: Edge,
    pub(crate) frames: u64,
    /// Largest unwrapped number, always in `coverage` once flushed.
    pub(super) max: i64,
    pub(super) coverage: IntervalSet,
    /// Per lateness class: numbers whose first sighting was that far below the maximum. `None` while nothing was late.
    pub(super) late: Option<Box<[IntervalSet; CLASSES.len()]>>,
    pub(super) folded: Rare<Folded>,
    /// Per lateness class: late numbers so far behind the maximum that they are only counted.
    pub(super) late_before: Rare<[u64; CLASSES.len()]>,
    /// First frames behind a crossing of 2^32, at most [`MAX_WRAPS`].
    pub(super) wraps: Vec<Edge>,
    /// Where the numbers do not follow each other; `None` while they do.
    pub(super) steps: Option<Box<Leaps>>,
    /// Whether its first frame was seen before, and the frames whose numbers fall.
    pub(super) begin: Option<DigestMark>,
    pub(super) falls: Option<Box<Falls>>,
}

/// Crossings of 2^32 whose frames are kept, per run.
const MAX_WRAPS: usize = 16;

/// One end of a run: a frame with its number as sent and unwrapped.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Edge {
    pub(crate) pos: FramePos,
    pub(crate) time: Timestamp,
    pub(crate) raw: u32,
    pub(crate) unwrapped: i64,
}

/// Coverage far behind the maximum, reduced to counters.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Folded {
    /// Numbers below this are folded; `None` while nothing is.
    pub(super) below: Option<i64>,
    pub(super) min: i64,
    pub(super) covered: u64,
    pub(super) gaps: u64,
    pub(super) longest_gap: u64,
    pub(super) beyond_horizon: u64,
}

impl Run {
    /// How many numbers it has in common with another one, whose first number is the one that is nearest to this one's last.
    pub(super) fn common(&self, later: &Self) -> u64 {
        let step = later.first.raw.wrapping_sub(self.last.raw) as i32;
        let by = self.last.unwrapped + i64::from(step) - later.first.unwrapped;
        let least = later.coverage.min().map_or(i64::MAX, |least| least.saturating_add(by));
        // What goes on behind the last number, as in a rotation, is not compared interval by interval.
        if least > self.max {
            return 0;
        }
        let mut coverage = later.coverage.clone();
        coverage.shift(by);
        let all = coverage.len();
        all.saturating_sub(coverage.minus(&self.coverage).len())
    }

    /// Adds the frame that follows the last one by `step`; false if its number may have been there.
    #[inline]
    pub(super) fn follow(&mut self, step: i32, raw: u32, pos: FramePos, time: Timestamp) -> bool {
        let unwrapped = self.last.unwrapped + i64::from(step);
        let edge = Edge { pos, time, raw, unwrapped };
        if step != 1 {
            self.note_step(&edge);
        }
        self.last = edge;
        self.frames += 1;
        if unwrapped >> 32 != self.max >> 32 && unwrapped > self.max {
            self.wrap();
        }
        if unwrapped == self.max + 1 && self.folded.get().below.is_none() {
            self.max = unwrapped;
            self.coverage.insert(unwrapped);
            return true;
        }
        self.cover(unwrapped)
    }

    /// Takes note of a frame whose number is not the one after the last.
    #[cold]
    pub(super) fn note_step(&mut self, edge: &Edge) {
        self.steps.get_or_insert_default().add((&self.last).into(), edge.into());
    }

    /// Least and highest number, as sent.
    pub(super) fn range(&self) -> (u32, u32) {
        (self.coverage.min().unwrap_or(self.max) as u32, self.max as u32)
    }

    /// Whether `later`, which begins `step` behind this run's last number, leaps from numbers of this run to where it had stopped.
    pub(super) fn is_resumed_by(&self, later: &Self, step: i32) -> bool {
        let by = self.last.unwrapped + i64::from(step) - later.first.unwrapped;
        let near = self.max + 1..=self.max + i64::from(RESTART_FALL);
        let parts = later.coverage.parts().map(|(start, end)| (start + by, end + by));
        let next = later.coverage.parts().skip(1).map(|(start, _)| start + by);
        // Numbers that are sent again for long fill what lay between; the first steps still show the leap.
        let leaps = later.steps.as_deref().map(Leaps::first).unwrap_or_default().iter();
        let mut leaps = leaps.map(|leap| (leap.before.number + by, leap.after.number + by));
        let is_back = |(from, to): (i64, i64)| near.contains(&to) && to - from > i64::from(RESTART_FALL);
        parts.zip(next).map(|((_, end), start)| (end, start)).any(is_back) || leaps.any(is_back)
    }

    /// The intervals of numbers that count for loss: without those that the SA had sent before it was captured.
    pub(super) fn counted(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let base = self.base();
        self.coverage.parts().filter(move |(start, _)| *start >= base)
    }

    /// The least number that counts for loss. Numbers below that of the first frame came late; those between them passed before the
    /// capture began, unless most of them came late as well.
    pub(super) fn base(&self) -> i64 {
        if self.folded.get().below.is_some() {
            return i64::MIN;
        }
        let first = self.first.unwrapped;
        let (mut seen, mut base) = (0, first);
        let late = self.coverage.parts().take_while(|(start, _)| *start < first);
        let late: Vec<_> = late.filter(|(_, end)| *end > first - i64::from(RESTART_FALL)).collect();
        for (start, end) in late.into_iter().rev() {
            seen += end.min(first).abs_diff(start);
            if seen.saturating_mul(2) >= start.abs_diff(first) {
                base = start;
            }
        }
        base
    }

    /// Whether a number of the run before can no longer be near enough to be copied.
    pub(super) fn is_older_than_copies(&self, time: Timestamp) -> bool {
        time.since(self.first.time).is_some_and(|age| age > 2 * (COPY_WINDOW_NS + CLOCK_TOLERANCE_NS))
    }

    /// Adds a number that is not simply the next; false if it may have been there.
    #[cold]
    pub(super) fn cover(&mut self, n: i64) -> bool {
        if self.folded.get().below.is_some_and(|below| n < below) {
            self.folded.edit().beyond_horizon += 1;
            return false;
        }
        let new = self.coverage.insert(n);
        if n > self.max {
            self.max = n;
        } else if new {
            let lateness = self.max - n;
            let late = self.late.get_or_insert_default();
            for (set, class) in late.iter_mut().zip(CLASSES) {
                if lateness >= class {
                    set.insert(n);
                }
            }
        }
        if self.coverage.intervals() > MAX_INTERVALS {
            self.fold();
        }
        self.fold_late();
        new
    }

    /// Reduces late numbers far behind the maximum to counters, where there are too many.
    pub(super) fn fold_late(&mut self) {
        let Some(late) = &self.late else { return };
        // The numbers of every other class are in the first one too.
        if late.first().is_none_or(|first| first.intervals() <= MAX_INTERVALS) {
            return;
        }
        self.fold_late_below(self.max - LATE_BEHIND);
    }

    pub(super) fn fold_late_below(&mut self, floor: i64) {
        let Some(late) = &mut self.late else { return };
        for (set, count) in late.iter_mut().zip(self.late_before.edit()) {
            *count += set.drop_below(floor).iter().map(|(start, end)| start.abs_diff(*end)).sum::<u64>();
        }
    }

    /// Takes note of the last frame as the first behind a crossing of 2^32.
    #[cold]
    pub(super) fn wrap(&mut self) {
        if self.wraps.len() < MAX_WRAPS {
            self.wraps.push(self.last);
        }
    }

    /// Reduces gaps far behind the maximum to counters.
    pub(super) fn fold(&mut self) {
        self.fold_below(self.max - FOLD_BEHIND);
    }

    pub(super) fn fold_below(&mut self, floor: i64) {
        let dropped = self.coverage.drop_below(floor);
        let Some(&(first, _)) = dropped.first() else { return };
        let folded = self.folded.edit();
        if folded.below.is_none() {
            folded.min = first;
        }
        let mut previous = folded.below;
        for &(start, end) in &dropped {
            folded.covered += start.abs_diff(end);
            // A number that came late may touch what was folded before it.
            if let Some(previous) = previous.filter(|previous| *previous != start) {
                folded.gaps += 1;
                folded.longest_gap = folded.longest_gap.max(previous.abs_diff(start));
            }
            previous = Some(end);
        }
        folded.below = previous;
    }

    /// Appends the run that continues this one; its numbers move by `by`.
    pub(super) fn append(&mut self, mut later: Self, by: i64) {
        later.coverage.shift(by);
        if let Some(late) = &mut later.late {
            late.iter_mut().for_each(|set| set.shift(by));
        }
        self.refuse_folded(&mut later);
        later.first.unwrapped += by;
        later.last.unwrapped += by;
        self.append_steps(&mut later, by);
        let level = self.max >> 32;
        let border = (later.first.unwrapped >> 32 > level).then_some(later.first);
        for mut edge in border.into_iter().chain(later.wraps) {
            if border.is_none_or(|b| b.pos != edge.pos) {
                edge.unwrapped += by;
            }
            if edge.unwrapped >> 32 > level && self.wraps.len() < MAX_WRAPS {
                self.wraps.push(edge);
            }
        }
        later.max += by;
        let coverage = &mut self.coverage;
        self.folded.merge(later.folded, |folded, later| {
            // A folded later run no longer knows its numbers; its counters are added as they are.
            folded.beyond_horizon += later.beyond_horizon;
            folded.covered += later.covered;
            folded.gaps += later.gaps;
            folded.longest_gap = folded.longest_gap.max(later.longest_gap);
            if folded.below.is_none() {
                folded.min = coverage.min().unwrap_or(later.min + by);
            }
            for (start, end) in coverage.parts() {
                if let Some(previous) = folded.below.filter(|previous| *previous != start) {
                    folded.gaps += 1;
                    folded.longest_gap = folded.longest_gap.max(previous.abs_diff(start));
                }
                folded.covered += start.abs_diff(end);
                folded.below = Some(end);
            }
            *coverage = IntervalSet::default();
            if let Some(previous) = folded.below.filter(|previous| *previous < later.min + by) {
                folded.gaps += 1;
                folded.longest_gap = folded.longest_gap.max(previous.abs_diff(later.min + by));
            }
            folded.below = later.below.map(|below| below + by);
        });
        let max = self.max;
        let overlaps = later.coverage.min().is_some_and(|min| min <= max);
        if overlaps || later.late.is_some() {
            let mut classes = self.late.take().unwrap_or_default();
            for (at, class) in CLASSES.iter().enumerate() {
                let mut theirs = later.late.as_ref().and_then(|l| l.get(at)).cloned().unwrap_or_default();
                theirs.union(&later.coverage.up_to(max - class));
                if let Some(own) = classes.get_mut(at) {
                    own.union(&theirs.minus(&self.coverage));
                }
            }
            self.late = classes.iter().any(|set| !set.is_empty()).then_some(classes);
        }
        self.coverage.union(&later.coverage);
        self.late_before.merge(later.late_before, |own, later| {
            own.iter_mut().zip(later).for_each(|(own, later)| *own += later);
        });
        self.max = self.max.max(later.max);
        self.fold_late();
        self.frames += later.frames;
        self.last = later.last;
        if self.coverage.intervals() > MAX_INTERVALS {
            self.fold();
        }
    }

    /// Appends the steps and falls of the run that continues this one, and the one between both.
    pub(super) fn append_steps(&mut self, later: &mut Self, by: i64) {
        self.append_falls(later.falls.take(), (&later.first, later.begin), by);
        if later.first.unwrapped != self.last.unwrapped + 1 {
            self.note_step(&later.first);
        }
        if let Some(mut later) = later.steps.take() {
            later.shift(Shift::default(), by);
            self.steps.get_or_insert_default().append(*later);
        }
    }

    pub(super) fn shift_positions(&mut self, shift: Shift) {
        if let Some(steps) = &mut self.steps {
            steps.shift(shift, 0);
        }
        for edge in &mut self.wraps {
            edge.pos = edge.pos.shifted(shift);
        }
        self.shift_falls(shift);
        self.first.pos = self.first.pos.shifted(shift);
        self.last.pos = self.last.pos.shifted(shift);
    }

    pub(super) fn add_to(&self, figures: &mut SequenceFigures) {
        let folded = self.folded.get();
        let covered = self.coverage.len() + folded.covered;
        let min =
            if folded.below.is_some() { folded.min } else { self.counted().next().map_or(self.max, |part| part.0) };
        let counted = folded.covered + self.counted().map(|(start, end)| start.abs_diff(end)).sum::<u64>();
        figures.lost += (min.abs_diff(self.max) + 1).saturating_sub(counted);
        figures.gaps += folded.gaps;
        figures.longest_gap = figures.longest_gap.max(folded.longest_gap);
        let mut previous = folded.below;
        for (start, end) in self.counted() {
            if let Some(previous) = previous
                && previous != start
            {
                figures.gaps += 1;
                figures.longest_gap = figures.longest_gap.max(previous.abs_diff(start));
            }
            previous = Some(end);
        }
        let duplicate = self.frames.saturating_sub(covered + folded.beyond_horizon);
        figures.duplicate += duplicate;
        let before = self.late_before.get();
        let class = |at: usize| {
            let kept = self.late.as_ref().and_then(|l| l.get(at)).map_or(0, IntervalSet::len);
            kept + before.get(at).copied().unwrap_or(0)
        };
        figures.late += class(0);
        for (at, dropped) in figures.would_drop.iter_mut().enumerate() {
            *dropped += duplicate + class(at + 1);
        }
        if !self.wraps.is_empty() {
            figures.unusual().wraps.extend_from_slice(&self.wraps);
        }
        figures.wraps += ((self.max >> 32) - (min >> 32)).unsigned_abs();
        if folded.below.is_some() {
            figures.unusual().folded = true;
            figures.unusual().degraded = Some(format!(
                "coverage beyond {MAX_INTERVALS} intervals was folded; {} frames fell into folded ground",
                folded.beyond_horizon
            ));
        }
    }
}
