//! Whether two clocks run evenly against each other: a clock that is slewed bends the differences of both directions the same way.
//!
//! A line may fit between the edges of both directions all the same, where packets are on their way for longer than the clock strays. What the edges
//! leave between them tells the two apart: a queue lengthens the way of one direction, and the room between the edges with it; a clock that strays
//! moves both edges together.

use super::edge::LowerHull;

/// Parts of the time. Twice as wide once there would be more.
const PARTS: usize = 16;
/// Width of the first ones, in nanoseconds.
const NARROWEST: i64 = 1_000_000;
/// Pairs of each direction that tell where the edges are in a part, and parts that tell how they move.
const PAIRS: u64 = 16;
const LEAST: usize = 3;
/// How many times further the middle between the edges moves than the room between them varies.
const TIMES: f64 = 2.0;

/// One direction in one part.
#[derive(Clone, Debug, Default)]
struct Edge {
    hull: LowerHull,
    pairs: u64,
}

/// The edges of both directions, part by part: as they are, and upside down.
#[derive(Clone, Debug)]
pub(super) struct Evenness {
    width: i64,
    parts: Vec<[Edge; 2]>,
    /// The part of the latest pair, and where it begins: most of the next ones are in it.
    latest: (usize, i64),
}

impl Default for Evenness {
    fn default() -> Self {
        Self { width: NARROWEST, parts: Vec::new(), latest: (0, i64::MIN) }
    }
}

impl Evenness {
    /// Takes in a pair of a direction.
    pub(super) fn add(&mut self, direction: usize, x: i64, y: i64) {
        let (latest, start) = self.latest;
        let at = if (0..self.width).contains(&x.saturating_sub(start)) { latest } else { self.part(x) };
        if let Some(own) = self.parts.get_mut(at).and_then(|part| part.get_mut(direction)) {
            own.hull.add(x, y);
            own.pairs += 1;
        }
    }

    /// The part of a time, made if there is none yet; beyond all parts for one before the first.
    fn part(&mut self, x: i64) -> usize {
        let Ok(mut at) = usize::try_from(x / self.width) else { return usize::MAX };
        while at >= PARTS {
            let joined = self.parts.chunks(2).map(|two| two.iter().cloned().reduce(join).unwrap_or_default());
            self.parts = joined.collect();
            self.width = self.width.saturating_mul(2);
            at /= 2;
        }
        if self.parts.len() <= at {
            self.parts.resize_with(at + 1, Default::default);
        }
        self.latest = (at, x - x % self.width);
        at
    }

    /// By how much the edge of one direction is steeper than a line of this slope between parts that are far apart, at most, either way.
    pub(super) fn bends(&mut self, direction: usize, slope: f64) -> f64 {
        /// How many parts apart, as 1 in N of all: a part has few pairs.
        const APART: usize = 5;
        let apart = self.parts.len().div_ceil(APART);
        let own = |part: &mut [Edge; 2]| part.get_mut(direction).filter(|own| own.pairs >= PAIRS)?.hull.lowest(slope);
        let lowest: Vec<Option<(f64, f64)>> = self.parts.iter_mut().map(own).collect();
        let later = |at: usize| lowest.iter().skip(at + apart).flatten();
        let earlier = lowest.iter().enumerate().filter_map(|(at, point)| Some((at, (*point)?)));
        let slopes = earlier.flat_map(|(at, from)| later(at).map(move |to| (to.1 - from.1) / (to.0 - from.0)));
        slopes.fold(0.0, |most, own| most.max(own.abs()))
    }

    /// How far the clocks stray from a line of this slope, either way, where it is the clocks that do.
    pub(super) fn strays(&mut self, drift: f64) -> Option<f64> {
        let (mut middles, mut rooms) = (Vec::new(), Vec::new());
        for [there, back] in &mut self.parts {
            if there.pairs < PAIRS || back.pairs < PAIRS {
                continue;
            }
            let (upper, lower) = (there.hull.settled(drift)?, back.hull.settled(-drift)?);
            middles.push((upper - lower) / 2.0);
            rooms.push(upper + lower);
        }
        let spread = |of: &[f64]| {
            let most = of.iter().copied().max_by(f64::total_cmp)?;
            Some(most - of.iter().copied().min_by(f64::total_cmp)?)
        };
        let (moved, varies) = (spread(&middles)?, spread(&rooms)?);
        (middles.len() >= LEAST && moved > TIMES * varies).then_some(moved / 2.0)
    }
}

/// Both parts as one.
fn join(one: [Edge; 2], other: [Edge; 2]) -> [Edge; 2] {
    let ([a, b], [c, d]) = (one, other);
    let both = |one: Edge, other: Edge| Edge { hull: one.hull.with(&other.hull), pairs: one.pairs + other.pairs };
    [both(a, c), both(b, d)]
}
