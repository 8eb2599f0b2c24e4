//! Latencies that grow at one pace in load after load: by a clock that drifts, or by a queue that fills along each load because the next link is
//! slower by as little. Both directions, loads of other rates, or what is left of it in the pauses tell which.

use super::clock::STAMP;
use super::drift::{DriftInterval, Late, Line, NO_DRIFT, student};
use super::loads::{ALIKE, MetPacket};

/// The packets of one load.
#[derive(Clone, Copy)]
pub(super) struct Bunch<'m> {
    pub(super) packets: &'m [MetPacket],
    /// Whether they go the other way.
    pub(super) back: bool,
    /// Frames a second of their direction.
    pub(super) fps: f64,
    /// Loads of about the same rates both ways.
    pub(super) alike: usize,
}

/// How fast latencies grow in one load.
struct Pace {
    slope: f64,
    /// Standard error.
    error: f64,
    free: usize,
    seconds: f64,
    back: bool,
    fps: f64,
    /// Mean length of the packets.
    size: u64,
    alike: usize,
    /// The least latency and when that packet comes in, in nanoseconds.
    least: (i64, i64),
}

/// The pace at which the fastest packets of each part of a load are later and later, where it is the same in most loads of both directions and it is
/// the clock's.
pub(super) fn within<'a>(loads: impl Iterator<Item = &'a Bunch<'a>>) -> Option<DriftInterval> {
    let mut paces: Vec<Pace> = loads.filter_map(Pace::of).collect();
    paces.sort_by(|a, b| a.slope.total_cmp(&b.slope));
    let (all, middle) = (paces.len(), paces.get(paces.len() / 2)?.slope);
    paces.retain(|own| (own.slope - middle).abs() <= student(own.free) * own.error + NO_DRIFT);
    let said = (paces.len() >= FEW_BUNCHES && paces.len() * 3 >= all * 2).then(|| Pace::common(&paces))??;
    (said.slope.abs() <= said.error || is_of_a_clock(&paces, said.slope)).then_some(said)
}

/// Whether loads of one pace have it by a clock. A queue that fills because the next link is slower fills in either direction, at another pace in a load
/// of another rate, and begins anew with each load.
fn is_of_a_clock(paces: &[Pace], drift: f64) -> bool {
    let pairs =
        || paces.iter().enumerate().flat_map(|(at, own)| paces.iter().skip(at + 1).map(move |other| (own, other)));
    let alike = || pairs().filter(|(own, other)| own.is_like(other));
    let others = || pairs().filter(|(own, other)| own.back == other.back && !own.is_like(other));
    let goes_on: Vec<bool> = alike().filter_map(|(own, other)| own.goes_on(other, drift)).collect();
    // Packets of another length or rate take longer or shorter for that: only that most take as long speaks against a drift.
    let rests: Vec<bool> = others().filter_map(|(own, other)| own.rests(other, drift)).collect();
    if goes_on.contains(&false) || rests.iter().filter(|rests| **rests).count() * 2 > rests.len() {
        return false;
    }
    let is_sure = |own: &Pace| own.slope.abs() > student(own.free) * own.error;
    let tells = |(own, other): (&Pace, &Pace)| {
        is_sure(own) && is_sure(other) && (own.back != other.back || !own.may_fill_as_much(other))
    };
    pairs().any(tells) || !goes_on.is_empty()
}

impl Pace {
    fn of(bunch: &Bunch<'_>) -> Option<Self> {
        let Bunch { packets, back, fps, alike } = *bunch;
        let (begin, level) = packets.first().map(|(t, d, _)| (*t, d - t))?;
        let part = packets.len().div_ceil(PARTS).max(1);
        let least = |own: &[MetPacket]| own.iter().map(|(t, d, _)| (d - t, *t)).min();
        let point = |(late, t): (i64, i64)| ((), (t - begin) as f64 / 1e9, (late - level) as f64 / 1e9);
        let points: Vec<Late<()>> = packets.chunks(part).filter_map(least).map(point).collect();
        let line = Line::through(&points)?;
        Some(Self {
            slope: if back { -line.slope } else { line.slope },
            error: line.error.hypot(STAMP / line.spread),
            free: line.free,
            seconds: (packets.last()?.0 - begin) as f64 / 1e9,
            back,
            fps,
            size: packets.iter().map(|(.., size)| u64::from(*size)).sum::<u64>() / packets.len() as u64,
            alike,
            least: least(packets)?,
        })
    }

    /// Whether the other load is of the same packets at the same rate.
    const fn is_like(&self, other: &Self) -> bool {
        self.back == other.back && self.size == other.size && self.alike == other.alike
    }

    /// Whether both loads may have one bit rate on a link, for some number of octets that tunnel and link add to each packet.
    fn may_fill_as_much(&self, other: &Self) -> bool {
        let pads: &[f64] =
            if self.size == other.size { &[0.0] } else { &[-PADDED, -PADDED / 2.0, 0.0, PADDED / 2.0, PADDED] };
        let added = (0..=MOST_ADDED).step_by(4).map(f64::from);
        added.flat_map(|added| pads.iter().map(move |pad| (added, added + pad))).any(|(to_own, to_other)| {
            let (own, other) = (self.fps * (self.size as f64 + to_own), other.fps * (other.size as f64 + to_other));
            (own - other).abs() <= ALIKE * own.max(other)
        })
    }

    /// By how much the least latency of the later of two loads is greater, in the direction of a drift, and by how much that makes it greater.
    fn moved(&self, other: &Self, drift: f64) -> (f64, f64) {
        let [(from, begin), (to, end)] =
            if self.least.1 <= other.least.1 { [self.least, other.least] } else { [other.least, self.least] };
        let drift = if self.back { -drift } else { drift };
        ((to - from) as f64 * drift.signum(), drift.abs() * (end - begin) as f64)
    }

    /// Whether a drift is there from one load to another that is alike, where it makes them differ.
    fn goes_on(&self, other: &Self, drift: f64) -> Option<bool> {
        let (moved, due) = self.moved(other, drift);
        (due > TOLD_NS).then_some(moved >= due / 2.0)
    }

    /// Whether packets take as long in another load, where a drift makes them differ.
    fn rests(&self, other: &Self, drift: f64) -> Option<bool> {
        let (moved, due) = self.moved(other, drift);
        (due > OTHER_LOAD_NS).then_some(moved.abs() < due / 2.0)
    }

    /// What is common to several: no better known than by how much they differ, nor than a device is steady.
    fn common(paces: &[Self]) -> Option<DriftInterval> {
        let weight = |own: &Self| 1.0 / own.error.max(1e-12).powi(2);
        let all: f64 = paces.iter().map(weight).sum();
        let slope = paces.iter().map(|own| own.slope * weight(own)).sum::<f64>() / all;
        let apart: f64 = paces.iter().map(|own| (own.slope - slope).powi(2) * weight(own)).sum();
        let others = paces.len().checked_sub(1)?;
        let free = paces.iter().map(|own| own.free).sum();
        let inner = student(free) / all.sqrt();
        let outer = student(others) * (apart / others as f64 / all).sqrt();
        let longest = paces.iter().map(|own| own.seconds).fold(0.0, f64::max);
        Some(DriftInterval { slope, error: inner.max(outer).hypot(STEADY / longest) })
    }
}

/// Parts of a load whose fastest packets are compared.
const PARTS: usize = 8;
/// Loads that agree, at least.
const FEW_BUNCHES: usize = 3;
/// By how much the least latency of a device may change all along a load, in seconds.
const STEADY: f64 = 1e-6;
/// By how much a drift must make equal loads differ to be told from what changes from load to load, in nanoseconds.
const TOLD_NS: f64 = 5_000.0;
/// What a tunnel and a link add to a packet, and by how much padding makes that differ, in octets.
const MOST_ADDED: u32 = 200;
const PADDED: f64 = 16.0;
/// Packets of another size or rate may take longer by as much.
const OTHER_LOAD_NS: f64 = 100_000.0;
