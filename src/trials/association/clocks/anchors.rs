//! The first frames after silences of a tap.

use super::clock::{Anchor, Clock, compare, drift_of, vote};
use super::drift::DriftInterval;
use super::{Both, seen};
use crate::trials::association::row::At;
use crate::trials::limits::{FEWEST, MAX_ANCHORS};
use crate::trials::read::Place;

/// Which frames of a tap show its silences.
#[derive(Clone, Copy)]
enum AnchorFrames {
    /// Those that may be of the load.
    All,
    /// Those of the load.
    Load,
    /// What is beside it, too.
    AndOthers,
}

impl AnchorFrames {
    /// Their times and lengths, in order.
    fn of(self, at: &At) -> Vec<Anchor> {
        let own = at.frames.iter().filter(|own| own.test || !matches!(self, Self::Load));
        let others = at.others.iter().filter(|_| matches!(self, Self::AndOthers));
        let mut all: Vec<Anchor> = own.chain(others).map(|own| (own.t, own.size)).collect();
        all.sort_by_key(|(t, _)| *t);
        all
    }
}

/// The first frames of each direction where they come in and at the other one of two taps.
pub(super) struct FirstPackets {
    pub(super) into: (Vec<Anchor>, Vec<Anchor>),
    out: (Vec<Anchor>, Vec<Anchor>),
}

impl FirstPackets {
    pub(super) fn of(both: &Both, [reference, place]: [Place; 2], gap: i64) -> Self {
        let starts = |way: usize, place: Place, which: AnchorFrames| {
            anchors(seen(both, way, place).map_or_else(Vec::new, |at| which.of(at)).into_iter(), gap)
        };
        // Background in clear that does not pass the tunnel hides silences of the load; what passes it hides them there.
        let votes = |which: &AnchorFrames| {
            let met = |way: usize, here: Place, there: Place| {
                vote(&starts(way, here, *which), &starts(way, there, *which)).map_or(0, |(met, _)| met.len())
            };
            met(0, reference, place) + met(1, place, reference)
        };
        let all = [AnchorFrames::AndOthers, AnchorFrames::Load, AnchorFrames::All]
            .into_iter()
            .max_by_key(votes)
            .unwrap_or(AnchorFrames::All);
        Self {
            into: (starts(0, reference, all), starts(0, place, all)),
            out: (starts(1, place, all), starts(1, reference, all)),
        }
    }

    /// The clock by the packets into the tunnel, or, where there are none, by those out of it.
    pub(super) fn clock(&self, both: &Both, [reference, place]: [Place; 2]) -> Option<Clock> {
        let Self { into, out } = self;
        let of = |way: usize, place: Place| times(both, way, place);
        compare(&into.0, &into.1, [&of(0, reference), &of(0, place)])
            .or_else(|| Some(compare(&out.0, &out.1, [&of(1, place), &of(1, reference)])?.turned()))
    }

    /// How fast the clock is by packets that meet an idle device, of both directions.
    pub(super) fn drift(
        &self,
        both: &Both,
        [reference, place]: [Place; 2],
        clock: &Clock,
        gap: i64,
    ) -> Option<DriftInterval> {
        let mapped =
            |anchors: &[Anchor]| -> Vec<Anchor> { anchors.iter().map(|(t, size)| (clock.map(*t), *size)).collect() };
        let here = quiet(&self.into.0, &times(both, 1, reference), gap);
        let there = mapped(&quiet(&self.out.0, &times(both, 0, place), gap));
        let more = drift_of([&here, &mapped(&self.into.1)], [&there, &self.out.1])?;
        Some(more.beside(clock.drift.slope))
    }
}

/// Times of all frames of a direction at a tap, in order.
fn times(both: &Both, way: usize, place: Place) -> Vec<i64> {
    seen(both, way, place).into_iter().flat_map(|at| AnchorFrames::AndOthers.of(at)).map(|(t, _)| t).collect()
}

/// The first frames after silences, at most as many as are compared, evenly chosen.
fn anchors(frames: impl Iterator<Item = Anchor>, gap: i64) -> Vec<Anchor> {
    let mut found: Vec<Anchor> = Vec::new();
    let mut last: Option<i64> = None;
    for (t, size) in frames {
        if last.is_none_or(|last| t - last > gap) {
            found.push((t, size));
        }
        last = Some(t);
    }
    let every = found.len().div_ceil(MAX_ANCHORS).max(1);
    if every > 1 { found.into_iter().step_by(every).collect() } else { found }
}

/// Anchors that meet an idle device: the other direction was silent, too. `others`: times of its frames at the same tap, in order.
fn quiet(anchors: &[Anchor], others: &[i64], gap: i64) -> Vec<Anchor> {
    let before = |t: i64| others.partition_point(|own| *own < t);
    let is_quiet = |(t, _): &&Anchor| before(*t) - before(t.saturating_sub(gap)) < FEWEST;
    anchors.iter().filter(is_quiet).copied().collect()
}
