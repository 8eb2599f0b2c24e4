//! Offset and drift between the clocks of two captures, from the pairs alone.
//!
//! Of a packet that passes the plain tap and then the tunnel's, the difference of the two timestamps is the offset of the clocks plus
//! the time in the device, which is never negative: the differences lie above the offset and their lower edge runs along it. Of packets
//! that pass the other way they lie below. A line along an edge of the points' convex hull, chosen where the mean of the times is,
//! is nearest to all points (Moon, Skelly and Towsley, 1999); its slope is the drift. With both directions the true line lies between the
//! two edges: the lines that fit there bound offset and drift.

mod compared;
mod edge;
mod evenness;
mod steps;

use self::edge::LowerEdge;
use self::evenness::Evenness;
use self::steps::DelaySteps;
pub(in crate::matching) use crate::model::pairs::ClockBasis as Basis;

/// One pair: when the plain tap saw the packet, and by how much later the tunnel's says it did, both in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Difference {
    pub(in crate::matching) plain_ns: i64,
    pub(in crate::matching) later_ns: i64,
    /// Whether the packet passed the plain tap first.
    pub(in crate::matching) encapsulated: bool,
    /// Whether nothing but their order says that the two belong together.
    pub(in crate::matching) by_order: bool,
    /// Whether the pair is no more than a guess: it says nothing but that its direction has such.
    pub(in crate::matching) guessed: bool,
}

/// A line: what the tunnel's clock is ahead of the plain one's.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(in crate::matching) struct Clock {
    pub(in crate::matching) basis: Basis,
    /// Where the line begins, on the plain clock.
    pub(in crate::matching) origin_ns: i64,
    /// Offset there.
    pub(in crate::matching) offset_ns: f64,
    /// Nanoseconds a nanosecond.
    pub(in crate::matching) drift: f64,
    /// By how much the line may be wrong at any time of the pairs, either way; `None` where nothing limits it.
    pub(in crate::matching) uncertainty_ns: Option<f64>,
    /// By how much the drift may be wrong; `None` where it is not known at all and taken for zero.
    pub(in crate::matching) drift_uncertainty: Option<f64>,
    /// By how much pairs of the two directions contradict every line, in nanoseconds: a clock was set, or pairs are wrong.
    pub(in crate::matching) contradiction_ns: f64,
}

impl Clock {
    /// One clock for both sides.
    pub(in crate::matching) const ONE: Self = Self {
        basis: Basis::OneClock,
        origin_ns: 0,
        offset_ns: 0.0,
        drift: 0.0,
        uncertainty_ns: Some(0.0),
        drift_uncertainty: Some(0.0),
        contradiction_ns: 0.0,
    };

    /// How far a difference may be off by the rounding of both timestamps to microseconds.
    pub(in crate::matching) const STEP: f64 = 2_000.0;

    /// What the tunnel's clock is ahead when the plain clock shows this time.
    pub(in crate::matching) fn ahead(&self, plain_ns: i64) -> i64 {
        nearest(self.offset_ns + self.drift * plain_ns.saturating_sub(self.origin_ns) as f64)
    }
}

/// The nearest whole number, halves away from zero: without a call for each pair.
fn nearest(value: f64) -> i64 {
    let whole = value as i64;
    let rest = value - whole as f64;
    whole.saturating_add(i64::from(rest >= 0.5)).saturating_sub(i64::from(rest <= -0.5))
}

/// Slopes beyond this are no drift of any clock but noise of a short capture.
const STEEPEST: f64 = 1e-3;
/// Pairs of a direction that tell a drift from scatter.
const ANCHORS: u64 = 3;

/// The pairs of two clocks, as far as they decide offset and drift.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct Differences {
    origin: Option<(i64, i64)>,
    encapsulated: LowerEdge,
    decapsulated: LowerEdge,
    /// Lasting steps of each direction where the other has no pairs.
    steps: [DelaySteps; 2],
    evenness: Evenness,
}

impl Differences {
    pub(in crate::matching) fn add(&mut self, difference: Difference) {
        let Difference { plain_ns, later_ns, encapsulated, by_order, guessed } = difference;
        if guessed {
            (if encapsulated { &mut self.encapsulated } else { &mut self.decapsulated }).guesses += 1;
            return;
        }
        let (origin_x, origin_y) = *self.origin.get_or_insert((plain_ns, later_ns));
        let (x, y) = (plain_ns.saturating_sub(origin_x), later_ns.saturating_sub(origin_y));
        let [there, back] = &mut self.steps;
        let (own, other) = if encapsulated { (there, back) } else { (back, there) };
        own.add(x, if encapsulated { y } else { y.saturating_neg() });
        other.confirm(x);
        if encapsulated {
            self.encapsulated.add(x, y, by_order);
            self.evenness.add(0, x, y);
        } else {
            // Upside down, so that both are lower edges.
            self.decapsulated.add(x, y.saturating_neg(), by_order);
            self.evenness.add(1, x, y.saturating_neg());
        }
    }

    /// Offset and drift by all pairs so far.
    pub(in crate::matching) fn clock(&mut self) -> Clock {
        self.encapsulated.settle();
        self.decapsulated.settle();
        let Some((origin_ns, first)) = self.origin else { return Clock::default() };
        let clock = match (self.encapsulated.is_sound(), self.decapsulated.is_sound()) {
            (true, true) => {
                let clock = self.between();
                let trip = clock.uncertainty_ns.map_or(0, |within| (2.0 * within) as i64);
                let step = self.steps.iter().filter_map(|own| own.lasting(trip)).max().unwrap_or(0);
                // A clock that strays further from the line than the line is uncertain fits no line.
                let within = clock.uncertainty_ns.unwrap_or(f64::INFINITY);
                let strays = self.evenness.strays(clock.drift).filter(|strays| *strays > within).unwrap_or(0.0);
                Clock { contradiction_ns: clock.contradiction_ns.max(step as f64).max(strays), ..clock }
            }
            (true, false) => self.along(true),
            (false, true) => self.along(false),
            (false, false) => self.along(self.encapsulated.count > 0),
        };
        Clock { origin_ns, offset_ns: first as f64 + clock.offset_ns, ..clock }
    }

    /// The greatest offset at the origin that a drift allows, and the least.
    fn bounds(&self, drift: f64) -> (f64, f64) {
        let upper = self.encapsulated.intercept(drift).unwrap_or(0.0);
        let lower = self.decapsulated.intercept(-drift).map_or(0.0, |least| -least);
        (upper, lower)
    }

    /// Every line between the two edges may be the true one, and no other: offset and drift lie in what these lines span.
    fn between(&self) -> Clock {
        let room = |drift: f64| {
            let (upper, lower) = self.bounds(drift);
            upper - lower
        };
        let widest = highest(-STEEPEST, STEEPEST, room);
        if room(widest) < 0.0 {
            // A clock was set, or pairs are wrong: no line fits all.
            let (upper, lower) = self.bounds(widest);
            return Clock {
                basis: Basis::BothDirections,
                offset_ns: f64::midpoint(upper, lower),
                drift: widest,
                uncertainty_ns: Some(lower - upper),
                contradiction_ns: lower - upper,
                ..Clock::default()
            };
        }
        let least = border(widest, -STEEPEST, room);
        let most = border(widest, STEEPEST, room);
        let slopes = [self.encapsulated.slope(), self.decapsulated.slope().map(|(slope, wrong)| (-slope, wrong))];
        let slopes: Vec<(f64, f64)> = slopes.into_iter().flatten().filter(|(_, wrong)| *wrong < STEEPEST).collect();
        // Each counts by how well it is known.
        let weights: f64 = slopes.iter().map(|(_, wrong)| wrong.powi(-2)).sum();
        let mean = slopes.iter().map(|(slope, wrong)| slope * wrong.powi(-2)).sum::<f64>() / weights;
        let drift = if weights > 0.0 { mean } else { 0.0 }.clamp(least, most);
        let (upper, lower) = self.bounds(drift);
        let offset_ns = f64::midpoint(upper, lower);
        // The lines that fit cross where the edges are nearest to each other, and are furthest apart at an end of the capture.
        let wrong_at = |x: f64| {
            let most_ahead = |drift: f64| self.bounds(drift).0 + drift * x;
            let least_behind = |drift: f64| -self.bounds(drift).1 - drift * x;
            let own = offset_ns + drift * x;
            let [ahead, behind] =
                [most_ahead(highest(least, most, most_ahead)), -least_behind(highest(least, most, least_behind))];
            (ahead - own).max(own - behind)
        };
        let (first, last) = self
            .encapsulated
            .reach()
            .zip(self.decapsulated.reach())
            .map_or((0.0, 0.0), |(a, b)| (a.0.min(b.0), a.1.max(b.1)));
        let anchored = self.encapsulated.count.min(self.decapsulated.count) >= ANCHORS;
        let known = anchored && most - least < STEEPEST;
        Clock {
            basis: Basis::BothDirections,
            origin_ns: 0,
            offset_ns,
            drift,
            uncertainty_ns: Some(wrong_at(first).max(wrong_at(last))),
            drift_uncertainty: known.then(|| (most - drift).max(drift - least)),
            contradiction_ns: 0.0,
        }
    }

    /// Of one direction alone: the line along its edge.
    fn along(&mut self, encapsulated: bool) -> Clock {
        /// Scatter of the least times against that of the mean: with this it held in 99 of 100 captures of one clock.
        const SCATTER: f64 = 4.0;
        // The other one is upside down.
        let (edge, sign) = if encapsulated { (&self.encapsulated, 1.0) } else { (&self.decapsulated, -1.0) };
        let slope = edge.slope().map(|(slope, wrong)| {
            // A queue that fills at some time bends the edge: which part of it is the drift, it does not tell.
            let bends = self.evenness.bends(usize::from(!encapsulated), slope);
            (slope * sign, wrong * SCATTER + bends)
        });
        let slope = slope.filter(|(slope, wrong)| edge.count >= ANCHORS && *wrong < STEEPEST && slope.abs() < STEEPEST);
        let drift = slope.map_or(0.0, |(slope, _)| slope);
        Clock {
            basis: Basis::OneDirection,
            origin_ns: 0,
            offset_ns: edge.intercept(drift * sign).unwrap_or(0.0) * sign,
            drift,
            uncertainty_ns: None,
            drift_uncertainty: slope.map(|(_, wrong)| wrong),
            contradiction_ns: 0.0,
        }
    }
}

/// Steps of a search: each leaves at most two thirds.
const STEPS: usize = 80;

/// Where a concave function of one variable is highest.
fn highest(mut from: f64, mut to: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (to - from) / 3.0;
        if of(from + third) < of(to - third) { from += third } else { to -= third }
    }
    f64::midpoint(from, to)
}

/// How far from where a concave function is positive, towards `to`, it stays so.
fn border(mut from: f64, mut to: f64, of: impl Fn(f64) -> f64) -> f64 {
    if of(to) >= 0.0 {
        return to;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(from, to);
        if of(middle) >= 0.0 { from = middle } else { to = middle }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs a millisecond apart: out after 50 to 150 us, back after 30 to 90 us, by a clock that is ahead and runs fast.
    fn differences(ahead: i64, drift: f64, count: i64, shift: i64) -> Differences {
        let mut differences = Differences::default();
        for at in 0..count {
            let true_ns = at * 1_000_000;
            // Scattered, but the same each time.
            let scatter = (at * 7_919) % 1_000;
            let ahead = |ns: i64| ahead + (ns as f64 * drift).round() as i64;
            let seen = true_ns + 50_000 + scatter * 100;
            differences.add(Difference {
                plain_ns: shift + true_ns,
                later_ns: seen + ahead(seen) - true_ns - shift,
                encapsulated: true,
                by_order: false,
                guessed: false,
            });
            let seen = true_ns - 30_000 - scatter * 60;
            differences.add(Difference {
                plain_ns: shift + true_ns,
                later_ns: seen + ahead(seen) - true_ns - shift,
                encapsulated: false,
                by_order: false,
                guessed: false,
            });
        }
        differences
    }

    #[test]
    fn offset_and_drift_are_found() {
        let hour = 3_600_000_000_000;
        let clock = differences(2 * hour, 50e-6, 10_000, 0).clock();
        assert_eq!(clock.basis, Basis::BothDirections);
        assert!((clock.drift - 50e-6).abs() < 0.5e-6, "{clock:?}");
        assert!((clock.offset_ns - (2 * hour + 10_000) as f64).abs() < 1_000.0, "{clock:?}");
        // Half of both least ways, and a little more at the ends.
        assert!(clock.uncertainty_ns.is_some_and(|within| (40_000.0..43_000.0).contains(&within)), "{clock:?}");
        assert_eq!(clock.origin_ns, 0);
    }

    #[test]
    fn a_shifted_clock_shifts_the_offset_and_nothing_else() {
        let (one, other) =
            (differences(0, 0.0, 2_000, 0).clock(), differences(0, 0.0, 2_000, 7_200_000_000_000).clock());
        assert!((one.offset_ns - other.offset_ns - 7.2e12).abs() < 1.0, "{one:?} {other:?}");
        assert!((one.drift - other.drift).abs() < 1e-12);
    }

    /// As many pairs lie far below the others as beside them: which are right is not known, and the mean of all says nothing of the scatter.
    #[test]
    fn doubted_pairs_leave_the_slope_open() {
        let edge = |below: i64| {
            let mut edge = LowerEdge::default();
            let above = |at: i64| 50_000 + at * 7_919 % 1_000 - at % 2 * below;
            (0..64).for_each(|at| edge.add(at * 1_000_000, above(at), true));
            edge.settle();
            edge.slope()
        };
        assert!(edge(0).is_some_and(|(_, wrong)| wrong > 1e-6));
        assert_eq!(edge(20_000), None);
    }

    #[test]
    fn one_direction_leaves_the_offset_open() {
        let mut all = Differences::default();
        for (plain_ns, later_ns) in [(0, 500), (1_000_000, 450), (2_000_000, 700)] {
            all.add(Difference { plain_ns, later_ns, encapsulated: true, by_order: false, guessed: false });
        }
        let clock = all.clock();
        assert_eq!((clock.basis, clock.uncertainty_ns), (Basis::OneDirection, None));
        assert!(clock.ahead(1_000_000) <= 450);
    }

    /// The way out grows longer all the time: at the end, half of that may be drift.
    #[test]
    fn a_way_that_grows_longer_makes_the_line_uncertain_at_its_end() {
        let mut all = Differences::default();
        let mut add = |plain_ns, later_ns, encapsulated| {
            all.add(Difference { plain_ns, later_ns, encapsulated, by_order: false, guessed: false });
        };
        for at in 0..2_000 {
            let ns = at * 1_000_000;
            add(ns, 200_000 + at * 10_000 + at * 7_919 % 5_000, true);
            add(ns, -300_000 - at * 7_919 % 5_000, false);
        }
        let clock = all.clock();
        let wrong = (clock.ahead(2_000_000_000) as f64).abs();
        assert!(clock.uncertainty_ns.is_some_and(|within| wrong <= within && within < 21e6), "{wrong} {clock:?}");
    }

    /// Of one direction alone: the queue grows from the first third on. Before that the edge shows the drift, afterwards more.
    #[test]
    fn an_edge_that_bends_leaves_room_for_both_slopes() {
        for encapsulated in [true, false] {
            let mut all = Differences::default();
            for at in 0..3_000 {
                let queue = (at - 1_000).max(0) * 250;
                let later_ns = at * 1_000 + if encapsulated { queue } else { -queue };
                let later_ns = later_ns + (at * 7_919 % 5_000) * if encapsulated { 1 } else { -1 };
                all.add(Difference {
                    plain_ns: at * 10_000_000,
                    later_ns,
                    encapsulated,
                    by_order: true,
                    guessed: false,
                });
            }
            let clock = all.clock();
            let within = clock.drift_uncertainty.unwrap_or(0.0);
            assert!((clock.drift - 100e-6).abs() <= within && within < 60e-6, "{clock:?}");
        }
    }

    #[test]
    fn a_moment_is_no_drift() {
        let mut all = Differences::default();
        for (plain_ns, later_ns) in [(0, 50_000), (1_000, 60_000), (2_000, 20_000)] {
            all.add(Difference { plain_ns, later_ns, encapsulated: true, by_order: false, guessed: false });
        }
        let clock = all.clock();
        assert_eq!((clock.drift, clock.drift_uncertainty), (0.0, None));
        assert_eq!(Differences::default().clock(), Clock::default());
    }

    #[test]
    fn times_that_are_centuries_apart_make_no_clock_and_no_overflow() {
        let mut differences = Differences::default();
        for (at, plain_ns) in [i64::MIN + 1, 0, i64::MAX, 5, i64::MAX - 1].into_iter().enumerate() {
            let later_ns = if at % 2 == 0 { i64::MAX } else { i64::MIN };
            differences.add(Difference { plain_ns, later_ns, encapsulated: true, by_order: false, guessed: false });
            differences.add(Difference {
                plain_ns,
                later_ns: later_ns.saturating_neg(),
                encapsulated: false,
                by_order: false,
                guessed: false,
            });
        }
        let clock = differences.clock();
        assert!(clock.drift.abs() < STEEPEST, "{clock:?}");
        assert!(clock.offset_ns.is_finite(), "{clock:?}");
    }
}
