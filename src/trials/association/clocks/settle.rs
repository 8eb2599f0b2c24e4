//! The drift of a clock by all that tells it, and its offset beside that drift.

use super::Both;
use super::clock::Clock;
use super::contents::by_content;
use super::drift::{Drift, DriftInterval};
use super::loads::{Loads, MetPacket, Traffic, say};
use crate::trials::read::Place;

/// Packets of both directions that contents tell apart, in time of the first tap.
pub(super) fn contents_of(both: &Both, [reference, place]: [Place; 2], clock: &Clock) -> [Vec<MetPacket>; 2] {
    let [fwd, rev] = both;
    let fwd = by_content(fwd, reference, place).unwrap_or_default();
    let rev = by_content(rev, place, reference).unwrap_or_default();
    [
        fwd.into_iter().map(|(t, d, size)| (t, clock.map(d), size)).collect(),
        rev.into_iter().map(|(t, d, size)| (clock.map(t), d, size)).collect(),
    ]
}

/// Puts a clock right by what the first packets say of its drift and by packets of loads of both directions, whose times are those that it was
/// taken to mean so far. Whether it was changed.
pub(super) fn settle(
    clock: &mut Clock,
    first: Option<DriftInterval>,
    ways: &[Vec<MetPacket>; 2],
    (gap, traffic): (i64, &Traffic),
) -> bool {
    let [fwd, rev] = ways;
    let (fwd, rev) = (Loads::of(fwd, gap, traffic, false), Loads::of(rev, gap, traffic, true));
    let so_far = clock.drift.slope;
    let said: Vec<DriftInterval> = say(&fwd, &rev).into_iter().map(|own| own.beside(so_far)).collect();
    if said.is_empty() && first.is_none() {
        return false;
    }
    let drift = Drift::of(first, &said);
    let more = drift.slope - so_far;
    if more == 0.0 {
        clock.drift = drift;
        return false;
    }
    // Of packets the other way the time on the way is subtracted, and the drift makes them earlier.
    let least = fwd.least(more).or_else(|| rev.least(-more).map(|(late, t)| (-late, t + late)));
    *clock = clock.with(least.unwrap_or((0, clock.origin)), drift);
    true
}
