//! How long something lasted, where the clock of the capture stepped back meanwhile.

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
        let steps = clocks.iter().map(steps).collect();
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
            fine,
        }
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
        ends.last_time.ns()?.saturating_sub(ends.first_time.ns()?).checked_add(back).filter(|&ns| ns > 0)
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
