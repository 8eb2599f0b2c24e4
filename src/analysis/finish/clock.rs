//! How long something lasted, where the clock of the capture stepped back meanwhile.

use crate::analysis::StreamState;
use crate::analysis::state::base::seen::Seen;
use crate::model::FramePos;

/// The steps back of a tap's clock.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// The first frame behind each step, and by how much the clock was set back.
    steps: Vec<(FramePos, i64)>,
    /// So many, or frames of several captures in turns: what lies between two frames is not known.
    unknown: bool,
    /// All times are whole seconds: what lies between two frames is known to a second at best.
    coarse: bool,
}

impl Clock {
    pub(crate) fn of(stream: &StreamState) -> Self {
        let span = &stream.span;
        let steps: Vec<_> = span.steps.iter().filter_map(|step| Some((step.pos, step.set_back_ns()?))).collect();
        // Frames of captures that overlap were merged by time, and their positions are in no order.
        let times = || span.captures.iter().filter_map(|capture| capture.times);
        let in_turns = times().zip(times().skip(1)).any(|(own, next)| next.0 < own.1);
        Self { steps, unknown: span.more_steps > 0 || in_turns, coarse: span.is_coarse() }
    }

    /// Whether the clock was set back between the first and the last frame of what was seen.
    pub(crate) fn stepped(&self, seen: &Seen) -> bool {
        self.between(seen).next().is_some()
    }

    /// Whether all times are whole seconds.
    pub(crate) const fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// Nanoseconds between the first and the last frame: the sum of the forward steps between them. `None` for one moment, unknown
    /// times, or a clock that stepped too often.
    pub(crate) fn duration_ns(&self, seen: &Seen) -> Option<i64> {
        if self.coarse {
            return None;
        }
        if !self.stepped(seen) {
            return seen.duration_ns();
        }
        let ends = seen.ends().filter(|_| !self.unknown)?;
        let back = self.between(seen).fold(0, i64::saturating_add);
        ends.last_time.ns()?.saturating_sub(ends.first_time.ns()?).checked_add(back).filter(|&ns| ns > 0)
    }

    fn between(&self, seen: &Seen) -> impl Iterator<Item = i64> + '_ {
        let ends = seen.ends().map(|ends| (ends.first, ends.last));
        let within = move |pos: FramePos| ends.is_some_and(|(first, last)| first < pos && pos <= last);
        self.steps.iter().filter(move |(pos, _)| within(*pos)).map(|(_, back)| *back)
    }
}
