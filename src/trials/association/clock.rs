//! The clocks of two taps, compared by frames that met an idle device: the first after each silence.

use std::collections::BTreeMap;

use crate::trials::limits::{ANCHOR_NS, DRIFT, FEWEST, FORWARD_NS, FURTHEST_NS, MAX_ANCHORS};
use crate::trials::segments::silences;

/// The first frame after a silence: its time and its length.
pub(crate) type Anchor = (i64, u16);

/// An anchor at one tap with what the other tap saw later, and its length.
pub(crate) type Met = (i64, i64, u16);

/// What a clock is ahead of another.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Clock {
    /// Offset at `origin`.
    pub(crate) offset: i64,
    pub(crate) drift: f64,
    /// Whether enough is known for a drift, or for none.
    pub(crate) drift_known: bool,
    /// Where not: how much it is at most, if anything bounds it.
    pub(crate) drift_most: f64,
    /// Time of the other clock at which the offset holds.
    pub(crate) origin: i64,
    /// After these times of the clock itself it is ahead by as much more: it was set.
    pub(crate) set: Vec<(i64, i64)>,
}

impl Clock {
    /// The same by packets that go the other way: their time on the way is subtracted.
    pub(crate) fn turned(self) -> Self {
        let origin = self.origin.saturating_add(self.offset);
        Self { offset: -self.offset, drift: -self.drift, origin, ..self }
    }

    /// The same where what it was taken for is ahead by a little more.
    pub(crate) fn with(&self, more: &Self) -> Self {
        let shift = (self.drift * more.origin.saturating_sub(self.origin) as f64).round() as i64;
        let offset = self.offset.saturating_add(more.offset).saturating_add(shift);
        Self { offset, drift: self.drift + more.drift, ..more.clone() }
    }

    /// A time of this clock as the other one tells it.
    pub(crate) fn map(&self, t: i64) -> i64 {
        let set = self.set.iter().rev().find(|(from, _)| t > *from).map_or(0, |(_, more)| *more);
        let t = t.saturating_sub(self.offset).saturating_sub(set);
        let drifted = (self.drift * t.saturating_sub(self.origin) as f64).round() as i64;
        t.saturating_sub(drifted).clamp(-FURTHEST_NS, FURTHEST_NS)
    }
}

/// The first frames after silences, at most as many as are compared, evenly chosen.
pub(crate) fn anchors(frames: impl Iterator<Item = Anchor>, gap: i64) -> Vec<Anchor> {
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
    let count = |size: u16| near.iter().filter(|(_, _, own)| *own == size).count();
    let size = near.iter().map(|(_, _, size)| *size).max_by_key(|size| count(*size))?;
    let point =
        |(t, d, size): &Met| (*size, (t - origin) as f64 / 1e9, (*d - near.first().map_or(0, |n| n.1)) as f64 / 1e9);
    let points: Vec<(u16, f64, f64)> = near.iter().map(point).collect();
    let usual: Vec<(u16, f64, f64)> = points.iter().copied().filter(|(own, ..)| *own == size).collect();
    // Anchors of other sizes take another time on their way, which is the same all along.
    let slopes: Vec<(f64, f64)> = [usual, points].iter().filter_map(|points| common_slope(points)).collect();
    let told = slopes.iter().find_map(|own| told(*own));
    let drift = told.unwrap_or(0.0);
    let level = |(t, d, _): &Met| (d - (drift * (t - origin) as f64).round() as i64, *t);
    let (offset, fastest) = near.iter().map(level).min()?;
    // Where nothing tells the drift, the offset is that at the time of the packet that tells it.
    let origin = if told.is_some() { origin } else { fastest };
    let most = slopes.iter().map(|(slope, error)| slope.abs() + 3.0 * error).min_by(f64::total_cmp);
    let drift_most = most.filter(|_| told.is_none()).unwrap_or(0.0);
    Some(Clock { offset, drift, drift_known: told.is_some(), drift_most, origin, set: Vec::new() })
}

/// The drift that a slope with its standard error tells: a device that serves in bursts makes anchors wander.
fn told((slope, error): (f64, f64)) -> Option<f64> {
    if slope.abs() > 3.0 * error {
        Some(slope).filter(|slope| slope.abs() < DRIFT)
    } else {
        (3.0 * error < NO_DRIFT).then_some(0.0)
    }
}

/// A clock whose drift is known to be less has none.
const NO_DRIFT: f64 = 1e-6;

/// The slope of a line through the points of several groups, with an intercept for each group, and the standard error of the slope.
fn common_slope(points: &[(u16, f64, f64)]) -> Option<(f64, f64)> {
    let mut groups: BTreeMap<u16, (f64, f64, f64)> = BTreeMap::new();
    for (group, x, y) in points {
        let (n, xs, ys) = groups.entry(*group).or_default();
        (*n, *xs, *ys) = (*n + 1.0, *xs + x, *ys + y);
    }
    let centred = points.iter().filter_map(|(group, x, y)| {
        let (n, xs, ys) = groups.get(group)?;
        Some((x - xs / n, y - ys / n))
    });
    let centred: Vec<(f64, f64)> = centred.collect();
    let free = points.len().checked_sub(groups.len() + 1).filter(|free| *free > 0)?;
    let sxx: f64 = centred.iter().map(|(x, _)| x * x).sum();
    let slope = centred.iter().map(|(x, y)| x * y).sum::<f64>() / sxx;
    let left: f64 = centred.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
    (sxx > 0.0).then(|| (slope, (left / free as f64 / sxx).sqrt()))
}

/// A packet at both of two taps: its time at either, and its length.
pub(crate) type MetPacket = (i64, i64, u16);

/// The clock of a tap by packets that are known at both: times at this tap and at the other one, in order. The fastest packets of each bunch
/// meet an idle device, and those of a length take as long in each. Where each bunch has another length, latencies that grow at one pace in all
/// bunches tell: a queue would fill at another pace in each. `None` where neither tells of a drift.
pub(crate) fn by_fastest(met: &[MetPacket], gap: i64) -> Option<Clock> {
    let times: Vec<i64> = met.iter().map(|(t, ..)| *t).collect();
    let origin = *times.first()?;
    let bunches: Vec<&[MetPacket]> = silences(&times, gap)
        .into_iter()
        .filter_map(|(from, to)| met.get(from..to))
        .filter(|own| own.len() >= FEWEST)
        .collect();
    let fastest: Vec<(u16, i64, i64)> = bunches.iter().flat_map(|own| fastest_of(own)).collect();
    let level = fastest.first()?.1;
    let points: Vec<(u16, f64, f64)> =
        fastest.iter().map(|(size, late, t)| (*size, (t - origin) as f64 / 1e9, (late - level) as f64 / 1e9)).collect();
    let drift = common_slope(&points).and_then(told).or_else(|| within(&bunches))?;
    let rest = |(_, late, t): &(u16, i64, i64)| late - (drift * (t - origin) as f64).round() as i64;
    // A clock that was set, or a path that became longer, is no drift.
    let mut sizes: BTreeMap<u16, (i64, i64)> = BTreeMap::new();
    for own in &fastest {
        let (least, most) = sizes.entry(own.0).or_insert((i64::MAX, i64::MIN));
        (*least, *most) = (rest(own).min(*least), rest(own).max(*most));
    }
    if sizes.values().any(|(least, most)| most - least >= FORWARD_NS) {
        return None;
    }
    let offset = fastest.iter().map(rest).min()?;
    Some(Clock { offset, drift, drift_known: true, drift_most: 0.0, origin, set: Vec::new() })
}

/// The fastest packet of each length of a bunch, with its time; of all where hardly two have the same.
fn fastest_of(bunch: &[MetPacket]) -> Vec<(u16, i64, i64)> {
    let mut sizes: BTreeMap<u16, (usize, (i64, i64))> = BTreeMap::new();
    for (t, d, size) in bunch {
        let (count, fastest) = sizes.entry(*size).or_insert((0, (d - t, *t)));
        (*count, *fastest) = (*count + 1, (*fastest).min((d - t, *t)));
    }
    let usual = || sizes.iter().filter(|(_, (count, _))| *count >= FEWEST);
    if usual().count() == 0 {
        let fastest = sizes.values().map(|(_, own)| *own).min();
        return fastest.into_iter().map(|(late, t)| (0, late, t)).collect();
    }
    usual().map(|(size, (_, (late, t)))| (*size, *late, *t)).collect()
}

/// The pace at which the fastest packets of each part of a bunch are later and later, where it is the same in most bunches.
fn within(bunches: &[&[MetPacket]]) -> Option<f64> {
    let of = |bunch: &&[MetPacket]| {
        let (begin, level) = (bunch.first()?.0, bunch.first().map(|(t, d, _)| d - t)?);
        let part = bunch.len().div_ceil(PARTS).max(1);
        let least = |own: &[MetPacket]| own.iter().map(|(t, d, _)| (d - t, *t)).min();
        let point = |(late, t): (i64, i64)| (0, (t - begin) as f64 / 1e9, (late - level) as f64 / 1e9);
        let points: Vec<(u16, f64, f64)> = bunch.chunks(part).filter_map(least).map(point).collect();
        common_slope(&points)
    };
    let mut slopes: Vec<(f64, f64)> = bunches.iter().filter_map(of).collect();
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (middle, _) = *slopes.get(slopes.len() / 2)?;
    slopes.retain(|(slope, error)| (slope - middle).abs() <= 3.0 * error + NO_DRIFT);
    if slopes.len() < FEW_BUNCHES || slopes.len() * 3 < bunches.len() * 2 {
        return None;
    }
    let weight = |error: f64| 1.0 / error.max(1e-9).powi(2);
    let all: f64 = slopes.iter().map(|(_, error)| weight(*error)).sum();
    let slope = slopes.iter().map(|(slope, error)| slope * weight(*error)).sum::<f64>() / all;
    told((slope, all.sqrt().recip()))
}

/// Parts of a bunch whose fastest packets are compared.
const PARTS: usize = 8;
/// Bunches that agree, at least.
const FEW_BUNCHES: usize = 3;

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
