//! Sequence numbers of one SA: what was lost, doubled, late, restarted or wrapped.
//!
//! Every figure is a set or an adjacent pair, so that states of adjoining spans merge exactly:
//! coverage (numbers seen) is an interval set, lateness is a family of subsets of it, and runs are cut by a rule over
//! adjacent frames of the SA. `merge` is checked against a plain re-computation by the property test below.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::steps::Leaps;
use crate::analysis::limits::{
    CLOCK_TOLERANCE_NS, COPY_WINDOW_NS, FOLD_BEHIND, JUMP_STEP, LATE_BEHIND, MAX_INTERVALS, MAX_RUNS, RESTART_FALL,
    RESTART_NEXT, RUN_GAP_NS, RUN_STEP,
};
use crate::analysis::state::base::interval::IntervalSet;
use crate::analysis::state::base::rare::Rare;
use crate::model::{FramePos, Shift, Timestamp};

/// Anti-replay window sizes judged, in packets (RFC 4303 section 3.4.3 asks for 32 and prefers 64; 4096 is the largest in the field).
pub(crate) const WINDOWS: [u32; 7] = [32, 64, 128, 256, 512, 1024, 4096];

/// Lateness classes: 1 is "late" itself, the others are the windows.
const CLASSES: [i64; 8] = [1, 32, 64, 128, 256, 512, 1024, 4096];

/// The state of one SA's sequence numbers over a span.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SequenceState {
    /// Runs in capture order; the last is the current one.
    runs: Vec<Run>,
    /// Frames beyond the limit on runs.
    refused: u64,
    /// The number of the second frame: where the span before ends high, it says whether the first frame begins a new count.
    second: Option<u32>,
    /// The last frame, where its number fell so far that the next frame decides: a new count, or one frame far behind.
    fallen: Option<Box<Fallen>>,
}

/// A frame whose number fell by more than [`RESTART_FALL`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Fallen {
    pos: FramePos,
    time: Timestamp,
    raw: u32,
}

/// A stretch of numbers without a restart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) first: Edge,
    pub(crate) last: Edge,
    pub(crate) frames: u64,
    /// Largest unwrapped number, always in `coverage` once flushed.
    max: i64,
    coverage: IntervalSet,
    /// Per lateness class: numbers whose first sighting was that far below the maximum. `None` while nothing was late.
    late: Option<Box<[IntervalSet; CLASSES.len()]>>,
    folded: Rare<Folded>,
    /// Per lateness class: late numbers so far behind the maximum that they are only counted.
    late_before: Rare<[u64; CLASSES.len()]>,
    /// First frames behind a crossing of 2^32, at most [`MAX_WRAPS`].
    wraps: Vec<Edge>,
    /// Where the numbers do not follow each other; `None` while they do.
    steps: Option<Box<Leaps>>,
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
struct Folded {
    /// Numbers below this are folded; `None` while nothing is.
    below: Option<i64>,
    min: i64,
    covered: u64,
    gaps: u64,
    longest_gap: u64,
    beyond_horizon: u64,
}

/// The figures of an SA's sequence numbers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SequenceFigures {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) highest: u64,
    pub(crate) lost: u64,
    pub(crate) gaps: u64,
    pub(crate) longest_gap: u64,
    pub(crate) duplicate: u64,
    pub(crate) late: u64,
    pub(crate) wraps: u64,
    pub(crate) outliers: u64,
    /// Per window of [`WINDOWS`].
    pub(crate) would_drop: [u64; WINDOWS.len()],
    /// What hardly any SA has.
    unusual: Option<Box<Unusual>>,
}

/// A step forward that is too far to be loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Jump {
    /// The frame before it, and the first one after it.
    pub(crate) from: Edge,
    pub(crate) to: Edge,
    /// Numbers between the two.
    pub(crate) skipped: u64,
    /// Frames of the run before it, and how long that took.
    pub(crate) before: (u64, Option<i64>),
}

impl Jump {
    /// How many packets the pause has room for at the rate before; `None` where that rate is not known.
    pub(crate) fn room(&self) -> Option<u64> {
        let (frames, ns) = self.before;
        let ns = u128::try_from(ns?).ok().filter(|&ns| ns > 0)?;
        let pause = u128::try_from(self.pause_ns()?).ok()?;
        u64::try_from(u128::from(frames.saturating_sub(1)).saturating_mul(pause) / ns).ok()
    }

    /// Nanoseconds between the two frames.
    pub(crate) fn pause_ns(&self) -> Option<i64> {
        self.to.time.since(self.from.time)
    }
}

/// What hardly any SA has.
#[derive(Clone, PartialEq, Debug, Default)]
struct Unusual {
    restarts: Vec<Edge>,
    jumps: Vec<Jump>,
    wraps: Vec<Edge>,
    outliers: Vec<Edge>,
    degraded: Option<String>,
    folded: bool,
}

impl SequenceFigures {
    /// The first frame of every run that began below the end of the run before it.
    pub(crate) fn restarts(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.restarts)
    }

    /// Leaps forward beyond what loss explains.
    pub(crate) fn jumps(&self) -> &[Jump] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.jumps)
    }

    /// First frames behind crossings of 2^32.
    pub(crate) fn wrap_edges(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.wraps)
    }

    /// The first frame with each number that is far from its neighbours.
    pub(crate) fn outlier_edges(&self) -> &[Edge] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.outliers)
    }

    /// Why the figures are not exact.
    pub(crate) fn degraded(&self) -> Option<&str> {
        self.unusual.as_ref().and_then(|unusual| unusual.degraded.as_deref())
    }

    /// Whether that is so because old intervals became counters.
    pub(crate) fn is_folded(&self) -> bool {
        self.unusual.as_ref().is_some_and(|unusual| unusual.folded)
    }

    fn unusual(&mut self) -> &mut Unusual {
        self.unusual.get_or_insert_default()
    }
}

impl SequenceState {
    /// Takes in one frame of the SA; true if no frame that could matter to a copy bore this number before.
    #[inline]
    pub(crate) fn observe(&mut self, raw: u32, pos: FramePos, time: Timestamp) -> bool {
        if self.second.is_none() && !self.runs.is_empty() {
            self.second = Some(raw);
        }
        if self.fallen.is_some() {
            self.decide_fallen(raw);
        }
        let settled = self.runs.len() == 1;
        if let Some(run) = self.runs.last_mut()
            && let Some(step) = continues(&run.last, raw, time)
        {
            if step < -RESTART_FALL {
                self.fallen = Some(Box::new(Fallen { pos, time, raw }));
                return false;
            }
            let new = run.follow(step, raw, pos, time);
            return new && (settled || run.is_older_than_copies(time));
        }
        self.start_run(raw, pos, time)
    }

    /// Takes in the frame that waits for its successor: where that goes on from it, the counter began anew; else it was one frame
    /// far behind the others.
    #[cold]
    fn decide_fallen(&mut self, next: u32) {
        let Some(Fallen { pos, time, raw }) = self.fallen.take().map(|fallen| *fallen) else { return };
        if goes_on(raw, next) {
            self.start_run(raw, pos, time);
        } else {
            self.follow_fallen(raw, pos, time);
        }
    }

    /// Adds a frame that is far behind the others to the run it came in.
    fn follow_fallen(&mut self, raw: u32, pos: FramePos, time: Timestamp) {
        if let Some(run) = self.runs.last_mut() {
            let step = raw.wrapping_sub(run.last.raw) as i32;
            run.follow(step, raw, pos, time);
        }
    }

    /// The last frame's number as sent, if the next number would simply extend the run: nothing in front of it is folded,
    /// it crosses no multiple of 2^32, and it cannot have been seen before.
    pub(crate) fn extendable(&self, time: Timestamp) -> Option<u32> {
        let run = self.runs.last()?;
        let simple = self.fallen.is_none()
            && run.last.unwrapped == run.max
            && run.folded.get().below.is_none()
            && run.last.raw != u32::MAX
            && (self.runs.len() == 1 || run.is_older_than_copies(time));
        simple.then_some(run.last.raw)
    }

    /// Takes in `frames` frames in order, each with the next number, the last of them at `pos`. Only where the run is
    /// [`SequenceState::extendable`], and by fewer numbers than would wrap.
    pub(crate) fn extend(&mut self, frames: u64, pos: FramePos, time: Timestamp) {
        if let Some(run) = self.runs.last_mut() {
            self.second = self.second.or(Some(run.last.raw.wrapping_add(1)));
            let unwrapped = run.max.saturating_add_unsigned(frames);
            run.coverage.insert_range(run.max + 1, unwrapped + 1);
            run.frames += frames;
            run.max = unwrapped;
            run.last = Edge { pos, time, raw: run.last.raw.wrapping_add(frames as u32), unwrapped };
        }
    }

    #[cold]
    fn start_run(&mut self, raw: u32, pos: FramePos, time: Timestamp) -> bool {
        if self.runs.len() >= MAX_RUNS {
            self.refused += 1;
            return false;
        }
        let unwrapped = i64::from(raw);
        let edge = Edge { pos, time, raw, unwrapped };
        // Almost every SA has one run: room for one, not for the four that a vector begins with.
        self.runs.reserve_exact(usize::from(self.runs.is_empty()));
        self.runs.push(Run {
            first: edge,
            last: edge,
            frames: 1,
            max: unwrapped,
            coverage: IntervalSet::single(unwrapped, unwrapped + 1),
            late: None,
            folded: Rare::default(),
            late_before: Rare::default(),
            wraps: Vec::new(),
            steps: None,
        });
        self.runs.len() == 1
    }

    /// Whether all numbers are kept.
    pub(crate) fn is_exact(&self) -> bool {
        self.refused == 0 && self.runs.iter().all(|run| run.folded.get().below.is_none())
    }

    /// Appends the state of the span that follows.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { runs, refused, second, mut fallen } = later;
        self.refused += refused;
        if let Some(fallen) = &mut fallen {
            fallen.pos = fallen.pos.shifted(shift);
        }
        let mut runs = runs.into_iter();
        let Some(mut run) = runs.next() else { return };
        if self.runs.is_empty() {
            self.second = second;
        } else {
            self.decide_fallen(run.first.raw);
            self.second = self.second.or(Some(run.first.raw));
        }
        run.shift_positions(shift);
        // Only the border between the two states can join; inside `later` the rule has already been applied.
        let step = self.runs.last().and_then(|own| continues(&own.last, run.first.raw, run.first.time));
        match (step, second) {
            // All of `later` is this frame, and what follows decides about it.
            (Some(step), None) if step < -RESTART_FALL => {
                let Edge { pos, time, raw, .. } = run.first;
                self.fallen = Some(Box::new(Fallen { pos, time, raw }));
                return;
            }
            (Some(step), Some(second)) if step < -RESTART_FALL && goes_on(run.first.raw, second) => self.push(run),
            (Some(step), _) => {
                if let Some(own) = self.runs.last_mut() {
                    let by = own.last.unwrapped + i64::from(step) - run.first.unwrapped;
                    own.append(run, by);
                }
            }
            (None, _) => self.push(run),
        }
        for mut run in runs {
            run.shift_positions(shift);
            self.push(run);
        }
        self.fallen = fallen;
    }

    fn push(&mut self, run: Run) {
        if self.runs.len() < MAX_RUNS {
            self.runs.push(run);
        } else {
            self.refused += run.frames;
        }
    }

    /// The figures; `copies` frames of the SA are TAP copies and do not count as duplicates.
    pub(crate) fn finish(&self, copies: u64) -> Option<SequenceFigures> {
        let first = self.runs.first()?.first.raw;
        let last = self.fallen.as_ref().map_or(self.runs.last()?.last.raw, |fallen| fallen.raw);
        let (runs, outliers) = self.joined();
        let mut figures = SequenceFigures {
            first,
            last,
            highest: 0,
            lost: 0,
            gaps: 0,
            longest_gap: 0,
            duplicate: outliers.iter().map(|run| run.frames - 1).sum(),
            late: 0,
            wraps: 0,
            outliers: outliers.len() as u64,
            would_drop: [0; WINDOWS.len()],
            unusual: None,
        };
        if self.refused > 0 {
            let why = format!("{} frames beyond {MAX_RUNS} runs of sequence numbers", self.refused);
            figures.unusual().degraded = Some(why);
        }
        if !outliers.is_empty() {
            figures.unusual().outliers = outliers.iter().map(|run| run.first).collect();
        }
        let mut previous: Option<&Run> = None;
        for run in &runs {
            run.add_to(&mut figures);
            if let Some(before) = previous {
                match jump(before, run) {
                    Some(jump) => figures.unusual().jumps.push(jump),
                    None if run.first.raw < before.last.raw => figures.unusual().restarts.push(run.first),
                    None => {}
                }
            }
            previous = Some(run);
        }
        figures.highest = u64::try_from(runs.last().map_or(0, |run| run.max)).unwrap_or(0);
        figures.duplicate = figures.duplicate.saturating_sub(copies);
        for dropped in &mut figures.would_drop {
            *dropped = dropped.saturating_sub(copies);
        }
        Some(figures)
    }

    /// Least and highest number of the first run, as sent.
    pub(crate) fn first_range(&self) -> Option<(u32, u32)> {
        self.runs.first().map(Run::range)
    }

    /// Least and highest number of the last run, as sent.
    pub(crate) fn last_range(&self) -> Option<(u32, u32)> {
        self.runs.last().map(Run::range)
    }

    /// The first run, without what came late; `None` without numbers.
    pub(crate) fn head(&self) -> Option<Self> {
        self.runs.first().map(Self::border)
    }

    /// The last run, without what came late; `None` without numbers.
    pub(crate) fn tail(&self) -> Option<Self> {
        self.runs.last().map(Self::border)
    }

    fn border(run: &Run) -> Self {
        let run = Run {
            coverage: run.coverage.clone(),
            late: None,
            folded: Rare::default(),
            late_before: Rare::default(),
            wraps: Vec::new(),
            steps: None,
            ..*run
        };
        Self { runs: vec![run], ..Self::default() }
    }

    /// How many numbers the last run has in common with the first run of another state.
    pub(crate) fn common(&self, later: &Self) -> u64 {
        let (Some(own), Some(later)) = (self.runs.last(), later.runs.first()) else { return 0 };
        let step = later.first.raw.wrapping_sub(own.last.raw) as i32;
        let by = own.last.unwrapped + i64::from(step) - later.first.unwrapped;
        let mut coverage = later.coverage.clone();
        coverage.shift(by);
        let all = coverage.len();
        all.saturating_sub(coverage.minus(&own.coverage).len())
    }

    /// The number before the first hole, unwrapped.
    pub(crate) fn first_gap(&self) -> Option<i64> {
        let (runs, _) = self.joined();
        runs.iter().find_map(|run| {
            let mut counted = run.counted();
            let (_, end) = counted.next()?;
            counted.next().map(|_| end - 1)
        })
    }

    /// Runs without outliers: one number far from both neighbours is none of the SA's numbers (a damaged header), and
    /// the runs on its two sides are one if they would have been adjacent. A run that fell back and then goes on where the run
    /// before it had stopped is no new count either, but packets that were sent again.
    /// Beside them those that are outliers, each one number and the frames that repeat it.
    fn joined(&self) -> (Vec<Run>, Vec<Run>) {
        let mut own_runs = Cow::Borrowed(&self.runs);
        if let (Some(fallen), Some(_)) = (&self.fallen, self.runs.last()) {
            let Fallen { pos, time, raw } = **fallen;
            let mut state = Self { runs: self.runs.clone(), ..Self::default() };
            state.follow_fallen(raw, pos, time);
            own_runs = Cow::Owned(state.runs);
        }
        let mut runs: Vec<Run> = Vec::with_capacity(own_runs.len());
        let mut outliers = Vec::new();
        for (at, run) in own_runs.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|i| own_runs.get(i));
            let after = own_runs.get(at + 1);
            let far = |a: u32, b: u32| (b.wrapping_sub(a) as i32).unsigned_abs() > JUMP_STEP.unsigned_abs();
            if run.coverage.len() == 1
                && run.folded.get().below.is_none()
                && let (Some(before), Some(after)) = (before, after)
                && far(before.last.raw, run.first.raw)
                && far(run.first.raw, after.first.raw)
            {
                outliers.push(run.clone());
                continue;
            }
            match runs.last_mut() {
                Some(own) => match continues(&own.last, run.first.raw, run.first.time) {
                    Some(step) if step >= -RESTART_FALL || own.is_resumed_by(run, step) => {
                        let by = own.last.unwrapped + i64::from(step) - run.first.unwrapped;
                        own.append(run.clone(), by);
                    }
                    _ => match own.rises_to(run) {
                        Some(by) => own.append(run.clone(), by),
                        None => runs.push(run.clone()),
                    },
                },
                None => runs.push(run.clone()),
            }
        }
        for at in 1..runs.len() {
            let (before, rest) = runs.split_at_mut(at);
            if let (Some(before), Some(run)) = (before.last(), rest.first_mut()) {
                run.leave_repeated(before);
            }
        }
        (runs, outliers)
    }
}

impl Run {
    /// Adds the frame that follows the last one by `step`; false if its number may have been there.
    #[inline]
    fn follow(&mut self, step: i32, raw: u32, pos: FramePos, time: Timestamp) -> bool {
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
    fn note_step(&mut self, edge: &Edge) {
        self.steps.get_or_insert_default().add((&self.last).into(), edge.into());
    }

    /// Least and highest number, as sent.
    fn range(&self) -> (u32, u32) {
        (self.coverage.min().unwrap_or(self.max) as u32, self.max as u32)
    }

    /// Whether `later`, which begins `step` behind this run's last number, leaps from numbers of this run to where it had stopped.
    fn is_resumed_by(&self, later: &Self, step: i32) -> bool {
        let by = self.last.unwrapped + i64::from(step) - later.first.unwrapped;
        let near = self.max + 1..=self.max + i64::from(RESTART_FALL);
        let parts = later.coverage.parts().map(|(start, end)| (start + by, end + by));
        let next = later.coverage.parts().skip(1).map(|(start, _)| start + by);
        parts.zip(next).any(|((_, end), start)| near.contains(&start) && start - end > i64::from(RESTART_FALL))
    }

    /// The intervals of numbers that count for loss: without those that were far behind the first frame when they came, which the
    /// SA had before it was captured.
    fn counted(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let base =
            if self.folded.get().below.is_some() { i64::MIN } else { self.first.unwrapped - i64::from(RESTART_FALL) };
        self.coverage.parts().filter(move |(_, end)| *end > base)
    }

    /// Whether a number of the run before can no longer be near enough to be copied.
    fn is_older_than_copies(&self, time: Timestamp) -> bool {
        time.since(self.first.time).is_some_and(|age| age > 2 * (COPY_WINDOW_NS + CLOCK_TOLERANCE_NS))
    }

    /// Adds a number that is not simply the next; false if it may have been there.
    #[cold]
    fn cover(&mut self, n: i64) -> bool {
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
    fn fold_late(&mut self) {
        let Some(late) = &self.late else { return };
        // Whatever is in another class is in the first.
        if late.first().is_none_or(|first| first.intervals() <= MAX_INTERVALS) {
            return;
        }
        self.fold_late_below(self.max - LATE_BEHIND);
    }

    fn fold_late_below(&mut self, floor: i64) {
        let Some(late) = &mut self.late else { return };
        for (set, count) in late.iter_mut().zip(self.late_before.edit()) {
            *count += set.drop_below(floor).iter().map(|(start, end)| start.abs_diff(*end)).sum::<u64>();
        }
    }

    /// Takes note of the last frame as the first behind a crossing of 2^32.
    #[cold]
    fn wrap(&mut self) {
        if self.wraps.len() < MAX_WRAPS {
            self.wraps.push(self.last);
        }
    }

    /// Reduces gaps far behind the maximum to counters.
    fn fold(&mut self) {
        self.fold_below(self.max - FOLD_BEHIND);
    }

    fn fold_below(&mut self, floor: i64) {
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
    fn append(&mut self, mut later: Self, by: i64) {
        later.coverage.shift(by);
        if let Some(late) = &mut later.late {
            late.iter_mut().for_each(|set| set.shift(by));
        }
        self.refuse_folded(&mut later);
        later.first.unwrapped += by;
        later.last.unwrapped += by;
        self.append_steps(later.steps.take(), &later.first, by);
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

    /// Appends the steps of the run that continues this one, and the one between both.
    fn append_steps(&mut self, later: Option<Box<Leaps>>, first: &Edge, by: i64) {
        if first.unwrapped != self.last.unwrapped + 1 {
            self.note_step(first);
        }
        if let Some(mut later) = later {
            later.shift(Shift::default(), by);
            self.steps.get_or_insert_default().append(*later);
        }
    }

    fn shift_positions(&mut self, shift: Shift) {
        if let Some(steps) = &mut self.steps {
            steps.shift(shift, 0);
        }
        for edge in &mut self.wraps {
            edge.pos = edge.pos.shifted(shift);
        }
        self.first.pos = self.first.pos.shifted(shift);
        self.last.pos = self.last.pos.shifted(shift);
    }

    fn add_to(&self, figures: &mut SequenceFigures) {
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

/// Whether a frame continues the run that `last` ends: the signed step to it, or `None` where a new run begins.
#[inline]
fn continues(last: &Edge, raw: u32, time: Timestamp) -> Option<i32> {
    let step = raw.wrapping_sub(last.raw) as i32;
    if step == 1 {
        return Some(step);
    }
    let silent = time.since(last.time).unwrap_or(0) >= RUN_GAP_NS;
    let far = !(-RUN_STEP..=JUMP_STEP).contains(&step);
    (!(far || step < 0 && silent)).then_some(step)
}

/// Whether the next number of an SA goes on from this one.
fn goes_on(raw: u32, next: u32) -> bool {
    next.wrapping_sub(raw) <= RESTART_NEXT
}

/// The jump between two runs, where the second begins ahead of the first: also across 2^32, if not by much.
fn jump(before: &Run, after: &Run) -> Option<Jump> {
    let ahead = after.first.raw.wrapping_sub(before.last.raw);
    let forward = after.first.raw > before.last.raw || ahead <= FURTHEST_ACROSS;
    let far = ahead > JUMP_STEP.unsigned_abs() && i32::try_from(ahead).is_ok();
    (forward && far).then(|| Jump {
        from: before.last,
        to: after.first,
        skipped: u64::from(ahead) - 1,
        before: (before.frames, before.last.time.since(before.first.time)),
    })
}

/// A step across 2^32 that is no larger is a jump ahead; a larger one is a counter that began anew.
const FURTHEST_ACROSS: u32 = 1 << 24;

mod bound;
pub(crate) mod history;
mod joined;
pub(crate) mod steps;

#[cfg(test)]
mod tests;
