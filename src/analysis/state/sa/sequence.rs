//! Sequence numbers of one SA: what was lost, doubled, late, restarted or wrapped.
//!
//! Every figure is a set or an adjacent pair, so that states of adjoining spans merge exactly:
//! coverage (numbers seen) is an interval set, lateness is a family of subsets of it, and runs are cut by a rule over
//! adjacent frames of the SA. `merge` is checked against a plain re-computation by the property test below.

mod begun;
mod bound;
mod counters;
pub(crate) mod falls;
mod figures;
pub(crate) mod history;
mod joined;
mod run;
pub(crate) mod steps;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::falls::Fallen;
use self::figures::jump;
pub(crate) use self::figures::{Jump, SequenceFigures};
use self::joined::{give_back_repeated, with_one_ahead};
pub(crate) use self::run::{Edge, Run};
use crate::analysis::limits::{JUMP_STEP, MAX_RUNS, RESTART_FALL, RESTART_NEXT, RUN_GAP_NS, RUN_STEP};
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
                self.fallen = Some(Box::new(Fallen { pos, time, raw, mark: None }));
                return false;
            }
            let new = run.follow(step, raw, pos, time);
            return new && (settled || run.is_older_than_copies(time));
        }
        self.start_run(raw, pos, time)
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
            begin: None,
            falls: None,
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
                self.fallen = Some(Box::new(Fallen { pos, time, raw, mark: run.begin }));
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
        let (runs, outliers) = self.joined(copies > 0);
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
        // Frames that no run took may bear the numbers that are missing.
        figures.lost = figures.lost.saturating_sub(self.refused);
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
            falls: None,
            ..*run
        };
        Self { runs: vec![run], ..Self::default() }
    }

    /// How many numbers the last run has in common with the first run of another state.
    pub(crate) fn common(&self, later: &Self) -> u64 {
        let (Some(own), Some(later)) = (self.runs.last(), later.runs.first()) else { return 0 };
        own.common(later)
    }

    /// Whether another state holds half of the numbers of this one again, or this one half of that one's: of the first or the last run of
    /// each. `None` where one has no numbers.
    pub(crate) fn repeats(&self, other: &Self) -> Option<bool> {
        /// Fewer numbers may be those of copies around a border.
        const MANY: u64 = 4;
        let own = [self.runs.first()?, self.runs.last()?];
        let other = [other.runs.first()?, other.runs.last()?];
        let mut pairs = own.into_iter().flat_map(|own| other.into_iter().map(move |other| (own, other)));
        Some(pairs.any(|(own, other)| {
            let common = own.common(other);
            common >= MANY && common.saturating_mul(2) >= own.coverage.len().min(other.coverage.len())
        }))
    }

    /// The number before the first hole, unwrapped.
    pub(crate) fn first_gap(&self) -> Option<i64> {
        let (runs, _) = self.joined(false);
        runs.iter().find_map(|run| {
            let mut counted = run.counted();
            let (_, end) = counted.next()?;
            counted.next().map(|_| end - 1)
        })
    }

    /// Runs without outliers: one number far from both neighbours is none of the SA's numbers (a damaged header), and
    /// the runs on its two sides are one if they would have been adjacent. A run that fell back and then goes on where the run
    /// before it had stopped is no new count either, but packets that were sent again; nor is one that fills the holes of the run before it. Nor is one that goes on as if the last number of
    /// the run before it, far ahead of all others, had not been.
    /// Beside them those that are outliers, each one number and the frames that repeat it.
    /// `copied`: the TAP makes copies, which may come after the first number behind a jump.
    fn joined(&self, copied: bool) -> (Vec<Run>, Vec<Run>) {
        let mut own_runs = Cow::Borrowed(&self.runs);
        if let (Some(fallen), Some(_)) = (&self.fallen, self.runs.last()) {
            let mut state = Self { runs: self.runs.clone(), ..Self::default() };
            state.follow_fallen(fallen);
            own_runs = Cow::Owned(state.runs);
        }
        if copied && own_runs.len() > 2 {
            give_back_repeated(own_runs.to_mut());
        }
        let mut outliers = Vec::new();
        for (at, rest, one) in with_one_ahead(&own_runs) {
            outliers.push(one);
            own_runs.to_mut().get_mut(at).into_iter().for_each(|run| run.clone_from(&rest));
        }
        let begin = own_runs.first().and_then(|run| run.begin);
        let mut runs: Vec<Run> = Vec::with_capacity(own_runs.len());
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
                Some(own) => match own.step_to(run) {
                    Some(step) if own.is_continued_by(run, step, after.is_none() && !run.begins_new(begin)) => {
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
        outliers.sort_by_key(|run: &Run| run.first.pos);
        for at in 1..runs.len() {
            let (before, rest) = runs.split_at_mut(at);
            if let (Some(before), Some(run)) = (before.last_mut(), rest.first_mut()) {
                run.leave_repeated(before);
                if copied {
                    before.leave_early(run);
                }
            }
        }
        (runs, outliers)
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

/// Whether the next number of an SA goes on from this one, or changed places with it.
fn goes_on(raw: u32, next: u32) -> bool {
    next.wrapping_sub(raw) <= RESTART_NEXT || raw.wrapping_sub(next) <= RESTART_NEXT
}

#[cfg(test)]
mod tests;
