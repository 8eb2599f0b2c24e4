//! Silences that findings name.

use crate::matching::measure::clock::Clock;
use crate::matching::measure::silence::{Judged, Verdict};

/// A silence in which packets are missing that were not lost, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Silent {
    /// `plain`, `tunnel` or `exit`.
    pub(crate) tap: &'static str,
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
    /// Packets of the other tap that are missing.
    pub(crate) packets: u64,
    /// Whether it may have been an outage too, or a clock that was set.
    pub(crate) open: bool,
    /// Whether frames were shown meanwhile: timestamps are too coarse to say when.
    pub(crate) is_tick: bool,
}

impl Silent {
    pub(in crate::matching) fn of(tap: &'static str, judged: &Judged) -> Self {
        let Judged { from, to, missing, verdicts, is_tick, .. } = *judged;
        Self { tap, from_ns: from, to_ns: to, packets: missing, open: !verdicts.contains(&Verdict::Hole), is_tick }
    }

    /// The same, open where it lasts about as long as the clocks contradict each other: one that is set ahead leaves a silence.
    pub(in crate::matching) fn beside(self, clock: &Clock) -> Self {
        /// By how much longer or shorter it may last: as 1 in N.
        const OF: f64 = 10.0;
        let (lasts, step) = (self.to_ns.saturating_sub(self.from_ns) as f64, clock.contradiction_ns);
        let is_step = step > 0.0 && (lasts - step).abs() < step / OF;
        Self { open: self.open || is_step, ..self }
    }
}
