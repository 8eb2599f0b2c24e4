//! Where the numbers of an SA fall back: whether the packets there were seen before, octet for octet.
//!
//! A number that was seen before comes with the same packet (a copy, a loop, a replay) or with another one (the counter began anew, or two
//! senders count). A run keeps its deepest falls, a bounded set, so that they merge.

use serde::{Deserialize, Serialize};

use super::steps::{Leaps, Sighting};
use super::{Edge, Run, SequenceState, continues, goes_on};
use crate::analysis::limits::RUN_STEP;
use crate::analysis::state::traffic::copies::archive::{Archive, DigestMark};
use crate::model::{FramePos, Shift, Timestamp};

/// Falls of a run that are kept.
const KEPT: usize = 16;

/// A frame whose number is lower than that of the frame before it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Fall {
    at: Sighting,
    depth: u64,
    mark: DigestMark,
}

/// A frame whose number fell by more than [`crate::analysis::limits::RESTART_FALL`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Fallen {
    pub(super) pos: FramePos,
    pub(super) time: Timestamp,
    pub(super) raw: u32,
    pub(super) mark: Option<DigestMark>,
}

/// The deepest falls of a run, the deepest first; of equal ones the earliest.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Falls(Vec<Fall>);

impl Falls {
    fn place(&self, depth: u64, pos: FramePos) -> usize {
        self.0.partition_point(|own| own.depth > depth || own.depth == depth && own.at.pos < pos)
    }

    fn add(&mut self, fall: Fall) {
        let place = self.place(fall.depth, fall.at.pos);
        if place < KEPT {
            self.0.insert(place, fall);
            self.0.truncate(KEPT);
        }
    }
}

/// Packets whose number had been seen, at the falls that are kept.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Reused {
    /// Falls to a packet that had been seen.
    pub(crate) same: u64,
    /// Whether one of these came after a rest, or far behind.
    pub(crate) rested: bool,
    /// Falls to another packet with a number that had been seen.
    pub(crate) other: Vec<Sighting>,
    /// Steps to another number than the next, of all frames.
    steps: u64,
    frames: u64,
}

impl Reused {
    /// Whether numbers go back and forth between packets that differ: several senders count. A counter that begins anew falls once.
    pub(crate) fn is_mixed(&self) -> bool {
        /// Fewer falls may be as many restarts.
        const FEWEST: usize = 4;
        self.same == 0 && self.other.len() >= FEWEST && self.steps.saturating_mul(4) >= self.frames
    }
}

impl Run {
    fn deepen(&mut self, from: i64, at: Sighting, mark: Option<DigestMark>) {
        let Some(mark) = mark.filter(|_| at.number < from) else { return };
        self.falls.get_or_insert_default().add(Fall { at, depth: from.abs_diff(at.number), mark });
    }

    /// Appends the falls of the run that continues this one and has been moved by `by`, and the one between both.
    pub(super) fn append_falls(
        &mut self,
        later: Option<Box<Falls>>,
        (first, begin): (&Edge, Option<DigestMark>),
        by: i64,
    ) {
        self.deepen(self.last.unwrapped, first.into(), begin);
        for fall in later.iter().flat_map(|falls| &falls.0) {
            let at = Sighting { number: fall.at.number + by, ..fall.at };
            self.falls.get_or_insert_default().add(Fall { at, ..*fall });
        }
    }

    pub(super) fn shift_falls(&mut self, shift: Shift) {
        for fall in self.falls.iter_mut().flat_map(|falls| &mut falls.0) {
            fall.at.pos = fall.at.pos.shifted(shift);
        }
    }

    fn marks(&mut self) -> impl Iterator<Item = &mut DigestMark> {
        let falls = self.falls.iter_mut().flat_map(|falls| &mut falls.0);
        self.begin.iter_mut().chain(falls.map(|fall| &mut fall.mark))
    }

    /// Whether it begins with a packet that was seen before: no new count.
    pub(super) fn begins_again(&self) -> bool {
        self.begin.is_some_and(|mark| mark.is_again())
    }

    /// Whether `later` repeats packets of this run. False for the copy of a new packet, and for a count that restarts at 1.
    pub(super) fn is_repeated_from(&self, later: &Self) -> bool {
        let falls = || self.falls.iter().flat_map(|falls| &falls.0);
        let is_copy = |mark: DigestMark| falls().any(|fall| !fall.mark.is_again() && fall.mark.is_like(&mark));
        // After a restart at 1 with the same keys, equal packets are equal octets again.
        let is_no_count = later.first.raw > 1 || self.goes_on_in(later);
        is_no_count && later.begin.is_some_and(|mark| mark.is_again() && !is_copy(mark))
    }

    /// The step to the first number of `later` if that run continues this one. Packets seen before continue it after any pause.
    pub(super) fn step_to(&self, later: &Self) -> Option<i32> {
        let step = later.first.raw.wrapping_sub(self.last.raw) as i32;
        let is_back = self.is_repeated_from(later) && (-RUN_STEP..0).contains(&step);
        if is_back { Some(step) } else { continues(&self.last, later.first.raw, later.first.time) }
    }

    /// Whether it is known to begin with a packet that was not seen from the one marked `first` on.
    pub(super) fn begins_new(&self, first: Option<DigestMark>) -> bool {
        self.begin.zip(first).is_some_and(|(own, first)| own.is_new_since(&first))
    }

    /// The number before the last one, where that falls, at this frame.
    fn fell_at(&self, pos: FramePos) -> Option<i64> {
        let last = self.steps.as_deref().and_then(Leaps::latest)?;
        (last.after.pos == pos && last.after.number < last.before.number).then_some(last.before.number)
    }
}

impl SequenceState {
    /// Takes in the frame that waits for its successor: where that goes on from it, the counter began anew; else it was one frame
    /// far behind the others.
    #[cold]
    pub(super) fn decide_fallen(&mut self, next: u32) {
        let Some(fallen) = self.fallen.take().map(|fallen| *fallen) else { return };
        if goes_on(fallen.raw, next) {
            let begun = self.runs.len();
            self.start_run(fallen.raw, fallen.pos, fallen.time);
            if let Some(run) = self.runs.get_mut(begun) {
                run.begin = fallen.mark;
            }
        } else {
            self.follow_fallen(&fallen);
        }
    }

    /// Adds a frame that is far behind the others to the run it came in.
    pub(super) fn follow_fallen(&mut self, fallen: &Fallen) {
        let Fallen { pos, time, raw, mark } = *fallen;
        if let Some(run) = self.runs.last_mut() {
            let step = raw.wrapping_sub(run.last.raw) as i32;
            run.follow(step, raw, pos, time);
        }
        self.mark(pos, |_| mark);
    }

    /// Marks the last frame, at `pos`, if its number begins a run or falls. `mark` makes the mark; its argument says whether the frame is the
    /// first of the SA.
    #[inline]
    pub(crate) fn mark(&mut self, pos: FramePos, mark: impl FnOnce(bool) -> Option<DigestMark>) {
        if let Some(fallen) = &mut self.fallen {
            if fallen.pos == pos {
                fallen.mark = mark(false);
            }
            return;
        }
        let is_only = self.runs.len() == 1;
        let Some(run) = self.runs.last_mut() else { return };
        if run.first.pos == pos {
            run.begin = mark(is_only);
        } else if let Some(from) = run.fell_at(pos) {
            let at = Sighting::from(&run.last);
            let depth = from.abs_diff(at.number);
            if run.falls.as_ref().is_none_or(|falls| falls.place(depth, pos) < KEPT) {
                run.deepen(from, at, mark(false));
            }
        }
    }

    /// Looks the marked frames up in the span before.
    pub(crate) fn look_up(&mut self, before: &Archive) {
        let fallen = self.fallen.iter_mut().filter_map(|fallen| fallen.mark.as_mut());
        self.runs.iter_mut().flat_map(Run::marks).chain(fallen).for_each(|mark| mark.look_up(before));
    }

    /// The same of numbers of which the span before has none: their first frame is not looked up.
    pub(crate) fn look_up_rest(&mut self, before: &Archive) {
        let first = self.runs.first().and_then(|run| run.begin);
        self.look_up(before);
        if let (Some(run), Some(first)) = (self.runs.first_mut(), first) {
            run.begin = Some(first.moved(before));
        }
    }

    /// What the falls to numbers that had been seen show.
    pub(crate) fn reused(&self) -> Reused {
        let mut reused = Reused { rested: self.runs.iter().any(Run::begins_again), ..Reused::default() };
        let Some(first) = self.runs.first().and_then(|run| run.begin) else { return reused };
        for run in &self.joined(false).0 {
            reused.frames += run.frames;
            reused.steps += run.steps.as_deref().map_or(0, Leaps::total);
            for fall in run.falls.iter().flat_map(|falls| &falls.0) {
                let is_seen = !run.coverage.between(fall.at.number, fall.at.number + 1).is_empty()
                    && !run.is_late(fall.at.number);
                let all = || run.falls.iter().flat_map(|falls| &falls.0);
                if all().any(|own| fall.mark.is_again() && !own.mark.is_again() && own.mark.is_like(&fall.mark)) {
                    // A copy of what is another packet.
                } else if fall.mark.is_again() {
                    reused.same += 1;
                } else if is_seen && run.late_before.get()[0] == 0 && fall.mark.is_new_since(&first) {
                    reused.other.push(fall.at);
                }
            }
        }
        reused.other.sort_by_key(|at| at.pos);
        reused
    }
}
