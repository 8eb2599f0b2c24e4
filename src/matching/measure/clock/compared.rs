//! The clocks of a run, as its pairs compare them.

use super::Clock;
use crate::matching::Matcher;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::progress::Progress;

impl Matcher {
    /// Whether the pairs of the two directions contradict each other by more than a few outliers and the steps of the clocks explain.
    pub(in crate::matching) fn contradicted(&self, clock: &Clock) -> bool {
        /// Nanoseconds.
        const TOLERATED: f64 = 1e6;
        /// Steps of timestamps that tell no order of packets, and frames that show them.
        const COARSE: f64 = 1e8;
        const FRAMES: u64 = 64;
        let step = self.plain.step().max(self.tunnel.step()) as f64;
        let coarse = step >= COARSE && self.plain.frames.min(self.tunnel.frames) >= FRAMES;
        coarse || clock.contradiction_ns > TOLERATED + 2.0 * step
    }

    /// Whether an SA has pairs that arrive before they were sent: by order, the line that fits best is none of theirs; by one clock, there are two.
    pub(in crate::matching) fn has_untimely(&self) -> bool {
        let is_untimely = |sa: &SaTally| (sa.is_by_order() || self.settings.one_clock) && sa.is_untimely();
        self.tally.sas.iter().any(is_untimely)
    }

    /// The coarsest step of the timestamps of either side, in nanoseconds: a file may keep times more exactly than whoever took them.
    pub(in crate::matching) fn coarseness(&self) -> f64 {
        self.plain.coarseness().max(self.tunnel.coarseness()) as f64
    }

    pub(in crate::matching) fn clock(&mut self) -> Clock {
        /// Steps of timestamps that hide a drift, in nanoseconds, and the most that a drift may be uncertain.
        const COARSE: f64 = 100_000.0;
        const MOST: f64 = 1e-3;
        if self.settings.one_clock {
            return Clock::ONE;
        }
        let clock = self.differences.clock();
        let step = self.plain.step().max(self.tunnel.step()) as f64;
        let span = |side: &Progress| side.first.map_or(0, |first| side.latest.saturating_sub(first)).max(1) as f64;
        let hidden = if step < COARSE { 0.0 } else { 2.0 * step / span(&self.plain).min(span(&self.tunnel)) };
        let drift_uncertainty = clock.drift_uncertainty.map(|own| own + hidden).filter(|own| *own < MOST);
        // Each time may be as much as a step later than it says.
        let rounding = (self.plain.coarseness() + self.tunnel.coarseness()) as f64;
        let uncertainty_ns = clock.uncertainty_ns.map(|own| own + rounding);
        Clock { drift_uncertainty, uncertainty_ns, ..clock }
    }
}
