//! The clocks of two taps, compared by frames that met an idle device: the first after each silence.

use super::drift::{Drift, DriftInterval, Late};
use crate::trials::limits::{ANCHOR_NS, FURTHEST_NS};

/// The first frame after a silence: its time and its length.
pub(crate) type Anchor = (i64, u16);

/// An anchor at one tap with what the other tap saw later, and its length.
pub(crate) type Met = (i64, i64, u16);

/// What a clock is ahead of another.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Clock {
    /// Offset at `origin`.
    pub(crate) offset: i64,
    pub(crate) drift: Drift,
    /// Time of the other clock at which the offset is told.
    pub(crate) origin: i64,
    /// After these times of the clock itself it is ahead by as much more: it was set.
    pub(crate) set: Vec<(i64, i64)>,
}

impl Clock {
    /// The same by packets that go the other way: their time on the way is subtracted.
    pub(crate) fn turned(self) -> Self {
        let origin = self.origin.saturating_add(self.offset);
        Self { offset: -self.offset, drift: self.drift.turned(), origin, ..self }
    }

    /// The same where a time of it is ahead by a little more, and that at another time.
    pub(super) fn with(&self, (more, origin): (i64, i64), drift: Drift) -> Self {
        Self { offset: self.ahead(origin).saturating_add(more), drift, origin, set: self.set.clone() }
    }

    /// By how much it is ahead at a time of the other clock, if it was not set.
    pub(crate) fn ahead(&self, at: i64) -> i64 {
        let drifted = (self.drift.slope * at.saturating_sub(self.origin) as f64).round() as i64;
        self.offset.saturating_add(drifted)
    }

    /// A time of this clock as the other one tells it.
    pub(crate) fn map(&self, t: i64) -> i64 {
        let set = self.set.iter().rev().find(|(from, _)| t > *from).map_or(0, |(_, more)| *more);
        let t = t.saturating_sub(self.offset).saturating_sub(set);
        let Drift { slope, .. } = self.drift;
        let drifted = (slope / (1.0 + slope) * t.saturating_sub(self.origin) as f64).round() as i64;
        t.saturating_sub(drifted).clamp(-FURTHEST_NS, FURTHEST_NS)
    }
}

/// Anchors of `here` with what `there` is later, where that agrees with an offset.
fn agreeing(here: &[Anchor], there: &[Anchor], offset: i64) -> Vec<Met> {
    let partner = |(t, size): &Anchor| {
        let from = t.saturating_add(offset).saturating_sub(ANCHOR_NS);
        let (other, _) = *there.get(there.partition_point(|(t, _)| *t < from))?;
        let difference = other - t;
        (difference.saturating_sub(offset) < ANCHOR_NS).then_some((*t, difference, *size))
    };
    here.iter().filter_map(partner).collect()
}

/// The offset that most anchors share, where nothing leaves before it came: of equal votes the one nearest to zero. Anchors with it.
pub(crate) fn vote(here: &[Anchor], there: &[Anchor]) -> Option<(Vec<Met>, i64)> {
    let mut best: Option<(usize, u64, i64)> = None;
    for (x, _) in here {
        for (y, _) in there {
            let offset = y - x;
            let votes = agreeing(here, there, offset).len();
            if best.is_none_or(|(most, least, _)| votes > most || votes == most && offset.unsigned_abs() < least) {
                best = Some((votes, offset.unsigned_abs(), offset));
            }
        }
    }
    best.map(|(_, _, offset)| (agreeing(here, there, offset), offset))
}

/// Offsets that as many anchors share as share any, at most some of them, each further from the others than anchors of one offset are.
fn ties(here: &[Anchor], there: &[Anchor], most: usize) -> Vec<i64> {
    let mut ties: Vec<i64> = Vec::new();
    for offset in here.iter().flat_map(|(x, _)| there.iter().map(move |(y, _)| y - x)) {
        let is_new = ties.iter().all(|own| (own - offset).abs() > ANCHOR_NS);
        if ties.len() < MAX_TIES && is_new && agreeing(here, there, offset).len() == most {
            ties.push(offset);
        }
    }
    ties
}

/// By how many frames more left than can have come, at any time. Times are in order.
fn too_early(came: &[i64], left: &[i64], offset: i64) -> usize {
    let mut k = 0;
    let early = left.iter().enumerate().filter(|(j, d)| {
        while came.get(k).is_some_and(|t| *t <= **d - offset + ANCHOR_NS) {
            k += 1;
        }
        k <= *j
    });
    early.count()
}

/// The clock of `there` against that of `here`, if the least latency were zero. Never from inside trials: a filling queue looks like
/// drift. `frames`: times of all frames at both. Loads that come one like the other leave several offsets: it is one at which no packets
/// leave before they came, and of these the one that makes them wait least, unless one is close to zero.
pub(crate) fn compare(here: &[Anchor], there: &[Anchor], frames: [&[i64]; 2]) -> Option<Clock> {
    let (near, offset) = vote(here, there)?;
    let all = ties(here, there, near.len());
    let [came, left] = frames;
    let order = |offset: &i64| {
        let early = Some(too_early(came, left, *offset)).filter(|early| early * EARLY_OF > left.len()).unwrap_or(0);
        let far = offset.abs() > SYNCHRONOUS_NS;
        (early, far, if far { -offset } else { offset.abs() })
    };
    let offset = if all.len() > 1 { all.into_iter().min_by_key(order)? } else { offset };
    compare_at(here, there, offset)
}

/// The same where the offset is known to about what anchors of one offset agree within.
pub(crate) fn compare_at(here: &[Anchor], there: &[Anchor], offset: i64) -> Option<Clock> {
    let near = agreeing(here, there, offset);
    let origin = near.first()?.0;
    let drift = Drift::of(DriftInterval::of(&lates(&near, 1.0), STAMP), &[]);
    let level = |(t, d, _): &Met| (d - (drift.slope * (t - origin) as f64).round() as i64, *t);
    let (offset, fastest) = near.iter().map(level).min()?;
    let clock = Clock { offset, drift, origin, set: Vec::new() };
    Some(clock.with((0, fastest), drift))
}

/// By how much anchors of each size are late; `sign`: less than none where they go the other way. Those of other sizes take another time on their
/// way, which is the same all along.
fn lates(near: &[Met], sign: f64) -> Vec<Late<(bool, u16)>> {
    let (begin, level) = near.first().map_or((0, 0), |(t, d, _)| (*t, *d));
    let point = |(t, d, size): &Met| ((sign < 0.0, *size), (t - begin) as f64 / 1e9, sign * (d - level) as f64 / 1e9);
    near.iter().map(point).collect()
}

/// How fast a clock is that was put right, by anchors of both directions, each at the tap where they come in and at the other one.
pub(super) fn drift_of(into: [&[Anchor]; 2], out: [&[Anchor]; 2]) -> Option<DriftInterval> {
    let late = |[here, there]: [&[Anchor]; 2], sign: f64| lates(&agreeing(here, there, 0), sign);
    DriftInterval::of(&[late(into, 1.0), late(out, -1.0)].concat(), STAMP)
}

/// Error of the difference of two stamps in microseconds, in seconds.
pub(super) const STAMP: f64 = 4e-7;

/// Offsets that are tried, at most.
const MAX_TIES: usize = 16;
/// Of so many frames one may seem to leave before it came.
const EARLY_OF: usize = 50;
/// Clocks that somebody keeps are not further apart, in nanoseconds.
const SYNCHRONOUS_NS: i64 = 250_000_000;

/// By how much a clock is ahead after each of the moments at which one of the clocks was set: the anchors since then against those
/// before the first.
pub(crate) fn settings(clock: &mut Clock, here: &[Anchor], there: &[Anchor], moments: &[i64]) {
    let mapped: Vec<Anchor> = there.iter().map(|(t, size)| (clock.map(*t), *size)).collect();
    let pairs = agreeing(here, &mapped, 0);
    let Some(first) = moments.first() else { return };
    let usual = |size: u16| {
        let of = |any: bool| {
            pairs.iter().filter(|(t, _, own)| t <= first && (any || *own == size)).map(|(_, d, _)| *d).min()
        };
        of(false).or_else(|| of(true))
    };
    for (at, from) in moments.iter().enumerate() {
        let until = moments.get(at + 1).copied().unwrap_or(i64::MAX);
        let since = pairs.iter().filter(|(t, _, _)| t > from && *t <= until);
        if let Some(more) = since.filter_map(|(_, d, size)| Some(d - usual(*size)?)).min() {
            clock.set.push((from.saturating_add(clock.offset), more));
        }
    }
}
