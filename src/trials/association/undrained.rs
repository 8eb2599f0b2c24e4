//! When a queue has drained behind the last load, and one that had not when the captures ended, as its room in other loads tells.

use super::Clocks;
use super::both_ways::{QueuedSpan, rate};
use super::queue::QueueRoom;
use super::row::{At, FrameRow};
use crate::trials::figures::fit::rank;
use crate::trials::limits::DRAIN_NS;
use crate::trials::read::Place;

/// Until when frames of the last load come out: up to the first silence behind it that is long for a device that sends what it holds.
/// `last`: time of its last packet; `gap`: a longer silence ends a load in any case.
pub(crate) fn drained(seen: &[(Place, At)], clocks: &Clocks, last: i64, gap: i64) -> i64 {
    let least = last.saturating_add(DRAIN_NS);
    let tap = |(place, at): &(Place, At)| {
        let own = at.frames.iter().filter(|frame| frame.test).map(|frame| clocks.map(*place, frame.t));
        let times: Vec<i64> = own.filter(|t| *t > last).collect();
        let (soon, later) = times.split_at(times.partition_point(|t| *t <= least));
        let mut gaps: Vec<i64> = soon.iter().zip(soon.iter().skip(1)).map(|(a, b)| b - a).collect();
        gaps.sort_unstable();
        let (pace, mut before) = (rank(&gaps, 0.5)?, soon.last().copied()?);
        let goes_on = |t: &&i64| {
            let near = **t - before <= gap.min(PERIODS * pace.max(SHORTEST_NS));
            before = **t;
            near
        };
        later.iter().take_while(goes_on).last().map(|t| t + 1)
    };
    seen.iter().skip(1).filter_map(tap).max().unwrap_or(least)
}

/// A device that sends what it holds is not silent for so many of its periods.
const PERIODS: i64 = 16;
/// Its period, at least, as time stamps may be coarse, in nanoseconds.
const SHORTEST_NS: i64 = 1_000_000;

/// The last packet, if the device sends until the capture at the last tap ends, and its queue would have held fewer packets than in the
/// other loads of the length: some are still inside. `apart`: by how much times of different taps may be wrong, in nanoseconds.
pub(super) fn undrained(row: &FrameRow, apart: i64) -> Option<usize> {
    let last = row.t.len().checked_sub(1)?;
    let left = |own: &QueuedSpan| row.out.get(own.from..own.to).unwrap_or_default().iter().copied().max();
    let at_end = |own: &&QueuedSpan| own.to > last && left(own).is_some() && left(own) == row.recorded;
    row.queued.iter().filter(at_end).any(|own| is_less(row, own, last, apart)).then_some(last)
}

/// Whether a queue held fewer packets in a load than in all others that it lost packets of, and as many in each of these.
fn is_less(row: &FrameRow, own: &QueuedSpan, last: usize, apart: i64) -> bool {
    let Some(room) = own.room.filter(|room| room.lost) else { return false };
    let size = |own: &QueuedSpan| row.size.get(own.from).copied();
    let kind = |own: &QueuedSpan| (own.place, size(own), own.beside);
    let of_kind = row.queued.iter().filter(|other| kind(other) == kind(own) && other.to <= last);
    let others: Vec<(QueueRoom, f64)> =
        of_kind.filter_map(|other| Some((other.room.filter(|room| room.lost)?, rate(row, other)))).collect();
    let differ = |one: &(QueueRoom, f64), other: &(QueueRoom, f64)| {
        let varies = one.0.spread.max(other.0.spread) + one.1.max(other.1) * apart as f64 / 1e9;
        one.0.contradicts(&other.0, varies)
    };
    // A device that drops at random holds another number in each load. Two that agree tell a full queue from it.
    let agree = others.len() >= 2 && others.iter().all(|one| others.iter().all(|other| !differ(one, other)));
    let last = (room, rate(row, own));
    agree && others.iter().all(|other| other.0.frames > room.frames && differ(other, &last))
}
