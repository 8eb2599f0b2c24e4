//! How long something lasted, where the clock of the capture stepped back meanwhile.

use std::collections::BTreeSet;

use crate::analysis::limits::{CLOCK_TOLERANCE_NS, SECOND_NS};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::span::interfaces::InterfaceClock;
use crate::analysis::{StreamState, Succession};
use crate::model::{FramePos, Timestamp};

/// The steps back of a tap's clock, or of those of its interfaces.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Of each interface the first frame behind each step, and by how much its clock was set back.
    steps: Vec<Vec<(FramePos, i64)>>,
    /// So many, or frames of several captures in turns: what lies between two frames is not known.
    unknown: bool,
    /// All times are whole seconds: what lies between two frames is known to a second at best.
    coarse: bool,
    /// How long the tap shows no frame at all, by whole time bins, where the clock was set back: it may have been set forward again.
    pauses: Vec<(i64, i64)>,
    /// Width of these bins.
    bin_ns: i64,
    /// Some direction begins or ends within a second: where another one does not, its interface may stamp whole seconds only.
    fine: bool,
}

impl Clock {
    /// `borders`: how each capture goes on from the one before it; `None` where both were merged frame by frame.
    pub(crate) fn of(stream: &StreamState, borders: &[Option<Succession>]) -> Self {
        let span = &stream.span;
        let clocks = stream.interfaces.clocks();
        let steps = |clock: &InterfaceClock| {
            clock.steps.iter().filter_map(|step| Some((step.pos, step.set_back_ns()?))).collect()
        };
        let steps: Vec<Vec<(FramePos, i64)>> = clocks.iter().map(steps).collect();
        let pauses = if steps.iter().any(|steps| !steps.is_empty()) { pauses(stream) } else { Vec::new() };
        // Frames of captures that were merged by time have positions in no order. Files that follow each other overlap where the clock was
        // set back between them; their order is that of their frames.
        let merged = |at: usize| borders.get(at).is_none_or(Option::is_none);
        let pairs = (1..).zip(span.captures.iter().zip(span.captures.iter().skip(1)));
        let in_turns = pairs.into_iter().any(|(at, (own, next))| merged(at) && own.overlaps(next));
        let fine = stream.rates.iter().filter_map(|(_, direction)| direction.seen.ends().copied());
        let fine =
            fine.flat_map(|ends| [ends.first_time, ends.last_time]).any(|time| time.ns().is_some_and(is_fraction));
        Self {
            steps,
            unknown: clocks.iter().any(|clock| clock.more_steps > 0) || in_turns,
            coarse: span.is_coarse(),
            pauses,
            bin_ns: stream.rates.bin_ns(),
            fine,
        }
    }

    /// Whether the clock may have been set forward again after these steps back: between first and last time the tap shows nothing for about as
    /// long as one of them, or all.
    fn may_be_set_forward(&self, back: i64, (first, last): (i64, i64)) -> bool {
        let own = self.steps.iter().flatten().map(|(_, step)| *step).chain([back]);
        let within = |&&(start, end): &&(i64, i64)| first <= start && end <= last;
        // A pause is longer than its empty bins, by less than two; and a step back is measured shorter than it was, by the time between two frames.
        let about = |step: i64, (start, end): (i64, i64)| {
            let pause = end.saturating_sub(start);
            let least = pause.saturating_sub(self.bin_ns);
            (least..=pause.saturating_add(self.bin_ns.saturating_mul(2))).contains(&step)
        };
        own.into_iter().any(|step| self.pauses.iter().filter(within).any(|pause| about(step, *pause)))
    }

    /// Whether the clock was set back between the first and the last frame of what was seen on these interfaces, one bit each.
    pub(crate) fn stepped(&self, seen: &Seen, on: u64) -> bool {
        self.set_back(seen, on).any(|(_, steps)| steps > 0)
    }

    /// Whether all times are whole seconds, or those of what was seen may be: it begins and ends with one and has more frames than
    /// seconds, unlike others of the tap.
    pub(crate) fn is_coarse(&self, seen: &Seen) -> bool {
        let whole = |time: Timestamp| time.ns().filter(|ns| !is_fraction(*ns));
        let ends = seen.ends().and_then(|ends| Some((whole(ends.first_time)?, whole(ends.last_time)?)));
        let many = ends.is_some_and(|(first, last)| seen.count > last.abs_diff(first) / SECOND_NS.unsigned_abs() + 1);
        self.coarse || self.fine && many
    }

    /// Nanoseconds between the first and the last frame: the sum of the forward steps between them. `None` for one moment, unknown
    /// times, or a clock that stepped too often, or not as that of another of the interfaces it was seen on.
    pub(crate) fn duration_ns(&self, seen: &Seen, on: u64) -> Option<i64> {
        if self.is_coarse(seen) || seen.ends().is_some_and(|ends| was_set(ends.first_time, ends.last_time)) {
            return None;
        }
        if !self.stepped(seen, on) {
            return seen.duration_ns();
        }
        let ends = seen.ends().filter(|_| !self.unknown)?;
        let (back, _) = self.set_back(seen, on).next()?;
        if self.set_back(seen, on).any(|(other, _)| other.abs_diff(back) > CLOCK_TOLERANCE_NS.unsigned_abs()) {
            return None;
        }
        let (first, last) = (ends.first_time.ns()?, ends.last_time.ns()?);
        if self.may_be_set_forward(back, (first, last)) {
            return None;
        }
        last.saturating_sub(first).checked_add(back).filter(|&ns| ns > 0)
    }

    /// By how much the clock of each interface was set back between the first and the last frame, and in how many steps.
    fn set_back(&self, seen: &Seen, on: u64) -> impl Iterator<Item = (i64, usize)> + '_ {
        // Of directions beyond the limit it is not known.
        let on = if on == 0 { u64::MAX } else { on };
        let ends = seen.ends().map(|ends| (ends.first, ends.last));
        let within = move |pos: FramePos| ends.is_some_and(|(first, last)| first < pos && pos <= last);
        let of = move |steps: &Vec<(FramePos, i64)>| {
            let within = steps.iter().filter(|(pos, _)| within(*pos));
            within.fold((0_i64, 0), |(back, count), (_, step)| (back.saturating_add(*step), count + 1))
        };
        (0..u64::BITS).zip(&self.steps).filter(move |(at, _)| on >> at & 1 == 1).map(move |(_, steps)| of(steps))
    }
}

/// Stretches of time bins without a frame of any direction, between bins with some: their begins and ends.
fn pauses(stream: &StreamState) -> Vec<(i64, i64)> {
    let width = stream.rates.bin_ns();
    let bins: BTreeSet<i64> = stream.rates.iter().flat_map(|(_, own)| own.bins.keys().copied()).collect();
    let empty = bins.iter().zip(bins.iter().skip(1)).map(|(bin, next)| (bin.saturating_add(1), *next));
    let times = |(first, end): (i64, i64)| (first.saturating_mul(width), end.saturating_mul(width));
    empty.filter(|(first, end)| first < end).map(times).collect()
}

/// Whether a clock was set between two times: the first is of the years in which clocks begin that were never set, the last is not. What lies
/// between is no time that went by.
pub(crate) fn was_set(first: Timestamp, last: Timestamp) -> bool {
    /// The first moment of 1990. Clocks begin in 1970 (Unix) or 1980 (FAT, GPS).
    const SET_NS: i64 = 631_152_000 * SECOND_NS;
    first.ns().zip(last.ns()).is_some_and(|(first, last)| (0..SET_NS).contains(&first) && SET_NS <= last)
}

/// Whether a time is no whole second.
const fn is_fraction(ns: i64) -> bool {
    ns % SECOND_NS != 0
}
