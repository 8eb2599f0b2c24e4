//! Lasting steps of the times of one direction.
//!
//! Where the delay of one direction changes from one packet to the next by much and for good, its path has changed or a clock was set. Pairs of
//! the other direction on both sides of the step tell which it was; without them nothing does.

use crate::matching::limits::ON_ITS_WAY_NS;

/// Pairs on either side of a step that lasts.
const PAIRS: u64 = 16;
/// The least step that is a clock that was set, or a path that changed for good, rather than a queue: ntpd steps a clock from 128 ms on and slews it
/// below. For such a step fewer pairs on either side are enough.
const SET_NS: i64 = 128_000_000;
const PAIRS_OF_SET: u64 = 4;
/// How many times the usual change from pair to pair a step must be: a queue that fills changes the delay packet by packet.
const TIMES: i64 = 16;
/// The longest that packets of both directions are on their way together, in nanoseconds.
const FARTHEST: i64 = ON_ITS_WAY_NS;
/// By how much clocks may drift apart, as 1 in N.
const DRIFT: u64 = 10_000;

/// One step, and the pairs on its two sides.
#[derive(Clone, Copy, Debug, Default)]
struct LastingStep {
    /// By how much the delay grew (or fell, where steps down are looked for) beyond any drift.
    by: i64,
    /// The side with the lower delays: its greatest one, and its pairs.
    most_below: i64,
    below: u64,
    /// The side with the higher delays: its least one, and its pairs.
    least_above: i64,
    above: u64,
    /// How long before it the other direction had its first pair; zero where it had none.
    told: i64,
}

impl LastingStep {
    /// The room between the two sides, where none of their delays overlap.
    fn lasting(&self) -> Option<i64> {
        let room = self.least_above.saturating_sub(self.most_below);
        let step = room.min(self.by);
        let enough = if step >= SET_NS { PAIRS_OF_SET } else { PAIRS };
        (self.below >= enough && self.above >= enough && room > 0).then_some(step)
    }
}

/// The greatest steps of the delay of one direction: up after the last pair of the other one, and down before its first.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::matching) struct DelaySteps {
    /// Time and delay of the last pair.
    last: Option<(i64, i64)>,
    pairs: u64,
    least: i64,
    most: i64,
    /// Sum of all changes from pair to pair.
    changes: i64,
    up: Option<LastingStep>,
    down: Option<LastingStep>,
    /// First pair of the other direction.
    other: Option<i64>,
}

impl DelaySteps {
    /// Takes in the delay of the next pair, by clocks that are not compared.
    pub(in crate::matching) fn add(&mut self, ns: i64, delay: i64) {
        let Some((before, last)) = self.last.replace((ns, delay)) else {
            (self.pairs, self.least, self.most) = (1, delay, delay);
            return;
        };
        let drift = ns.saturating_sub(before).saturating_abs().unsigned_abs() / DRIFT;
        let change = delay.saturating_sub(last);
        let size = change.saturating_abs().saturating_sub(drift.cast_signed()).max(0);
        let change = if change < 0 { -size } else { size };
        self.changes = self.changes.saturating_add(size);
        match &mut self.up {
            Some(up) if change <= up.by => (up.least_above, up.above) = (up.least_above.min(delay), up.above + 1),
            up if change > 0 => {
                let (most_below, below) = (self.most, self.pairs);
                *up = Some(LastingStep { by: change, most_below, below, least_above: delay, above: 1, told: 0 });
            }
            _ => {}
        }
        // A clock that was set while packets of both directions were on their way shows in one of them later than in the other.
        let told = self.other.map_or(0, |other| before.saturating_sub(other).max(0));
        let is_told = self.other.is_some() && (told > FARTHEST || -change < SET_NS);
        match &mut self.down {
            Some(down) if is_told || -change <= down.by => {
                (down.most_below, down.below) = (down.most_below.max(delay), down.below + 1);
            }
            down if change < 0 && !is_told => {
                let (least_above, above) = (self.least, self.pairs);
                *down = Some(LastingStep { by: -change, most_below: delay, below: 1, least_above, above, told });
            }
            _ => {}
        }
        self.pairs += 1;
        (self.least, self.most) = (self.least.min(delay), self.most.max(delay));
    }

    /// The other direction has a pair at this time: steps up so far show in it.
    pub(in crate::matching) fn confirm(&mut self, ns: i64) {
        self.up = None;
        self.other.get_or_insert(ns);
    }

    /// By how much the delay changed for good where the other direction has no pairs, in nanoseconds, or none that were sent before the step: `trip`
    /// is how long packets of both directions are on their way together, at most.
    pub(in crate::matching) fn lasting(&self, trip: i64) -> Option<i64> {
        let is_abrupt = |step: &LastingStep| {
            let others = self.changes.saturating_sub(step.by) / i64::try_from(self.pairs).unwrap_or(i64::MAX).max(1);
            step.by > others.saturating_mul(TIMES)
        };
        let is_open = |step: &LastingStep| step.told <= trip && is_abrupt(step);
        [self.up, self.down].into_iter().flatten().filter(is_open).filter_map(|step| step.lasting()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays with a little scatter, and the other direction's pairs beside those of these places.
    fn steps(delays: impl Iterator<Item = i64>, other: std::ops::Range<usize>) -> Option<i64> {
        steps_over(delays, other, 0)
    }

    /// The same where packets of both directions are on their way for so long.
    fn steps_over(delays: impl Iterator<Item = i64>, other: std::ops::Range<usize>, trip: i64) -> Option<i64> {
        let mut steps = DelaySteps::default();
        for (at, delay) in delays.enumerate() {
            steps.add(at as i64 * 1_000_000, delay + (at as i64 * 7_919) % 9_000);
            if other.contains(&at) {
                steps.confirm(at as i64 * 1_000_000);
            }
        }
        steps.lasting(trip)
    }

    #[test]
    fn a_step_that_lasts_is_found_where_the_other_direction_has_no_pairs() {
        let up = |at: i64| if at < 100 { 50_000 } else { 2_000_050_000 };
        let room = steps((0..200).map(up), 0..90).expect("a step");
        assert!((1_999_990_000..2_000_010_000).contains(&room), "{room}");
        assert_eq!(steps((0..200).map(up), 0..150), None, "pairs of the other direction tell it");
        let down = |at: i64| if at < 100 { 2_000_050_000 } else { 50_000 };
        assert!(steps((0..200).map(down), 150..200).is_some_and(|room| room > 1_999_990_000));
        assert_eq!(steps((0..200).map(down), 10..200), None);
        assert_eq!(steps_over((0..200).map(down), 10..200, 80_000_000), None);
        assert!(
            steps_over((0..200).map(down), 10..200, 100_000_000).is_some(),
            "its first pairs were sent behind the step"
        );
    }

    #[test]
    fn what_does_not_last_or_grows_packet_by_packet_is_no_step() {
        let spike = |at: i64| if at == 150 { 2_000_050_000 } else { 50_000 };
        assert_eq!(steps((0..200).map(spike), 0..90), None);
        let queue = |at: i64| 50_000 + (at - 100).clamp(0, 30) * 1_200_000;
        assert_eq!(steps((0..200).map(queue), 0..90), None, "a queue fills");
        let few = |at: i64| if at < 190 { 50_000 } else { 100_050_000 };
        assert_eq!(steps((0..200).map(few), 0..90), None, "too few pairs behind it for a path that changed");
    }

    #[test]
    fn few_pairs_tell_that_a_clock_was_set() {
        let up = |at: i64, from: i64| if at < from { 50_000 } else { 2_000_050_000 };
        assert!(steps((0..200).map(|at| up(at, 195)), 0..90).is_some());
        assert_eq!(steps((0..200).map(|at| up(at, 198)), 0..90), None, "two packets that came late");
        let down = |at: i64| if at < 5 { 2_000_050_000 } else { 50_000 };
        assert!(steps((0..200).map(down), 150..200).is_some());
    }
}
