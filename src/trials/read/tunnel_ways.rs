//! Which way each direction of a tunnel goes, where what is inside does not show it.

use super::flows::Flow;
use super::tap::TunnelWay;
use super::{Place, Taps};
use crate::model::trials::Direction;
use crate::trials::association::clock::vote;
use crate::trials::limits::{ANCHOR_NS, BACKGROUND, FEWEST};
use crate::trials::segments::silences;

/// Bunches of a way at the near and the far tap, and its packets.
type Plain = (Vec<(i64, u16)>, Vec<(i64, u16)>, u64);

const NEAR: usize = 0;
const FAR: usize = 2;

/// Which way each direction of the tunnel goes.
pub(super) fn tunnels(taps: &Taps, lanes: &[Direction], one_clock: bool) -> Vec<Direction> {
    let directions = &taps.place(Place::Middle).directions;
    let starts = |way: Direction, place: usize| -> Vec<(i64, u16)> {
        let of = taps.flows.lane.iter().zip(lanes).filter(|(_, own)| **own == way);
        let busiest = of.max_by_key(|(lane, _)| lane.at.get(place).map_or(0, |at| at.packets));
        let starts =
            busiest.and_then(|(lane, _)| lane.at.get(place)).map(|at| at.starts.as_slice()).unwrap_or_default();
        starts.iter().take(96).map(|t| (*t, 0)).collect()
    };
    let packets = |way: Direction| -> u64 {
        let of = taps.flows.lane.iter().zip(lanes).filter(|(_, own)| **own == way);
        of.map(|(lane, _)| lane.at.iter().map(|at| at.packets).max().unwrap_or(0)).sum()
    };
    let plain = [Direction::Fwd, Direction::Rev].map(|way| (starts(way, NEAR), starts(way, FAR), packets(way)));
    let score = |index: usize| -> i64 {
        let Some(way) = directions.get(index) else { return 0 };
        let inside: i64 = way
            .inside
            .iter()
            .map(|(lane, count)| {
                let count = (*count).min(1 << 40) as i64;
                if lanes.get(*lane) == Some(&Direction::Rev) { -count } else { count }
            })
            .sum();
        if inside != 0 {
            return inside.saturating_mul(1 << 20);
        }
        let own: Vec<(i64, u16)> = way.starts.starts.iter().take(96).map(|t| (*t, 0)).collect();
        let [(fwd_near, fwd_far, _), (rev_near, rev_far, _)] = &plain;
        let fwd = agree(fwd_near, &own, one_clock) + agree(&own, fwd_far, one_clock);
        let rev = agree(rev_far, &own, one_clock) + agree(&own, rev_near, one_clock);
        fwd - rev
    };
    let [(_, _, fwd), (_, _, rev)] = &plain;
    let busier = fwd >= rev;
    let mut scores: Vec<i64> = (0..directions.len()).map(score).collect();
    for (at, way) in directions.iter().enumerate() {
        let back = directions.iter().position(|other| (other.src, other.dst) == (way.dst, way.src));
        if let Some(back) = back.filter(|back| *back > at) {
            let sum = scores.get(at).copied().unwrap_or(0).saturating_sub(scores.get(back).copied().unwrap_or(0));
            let met = if way.inside.is_empty() { Met::of_both(taps, lanes, (at, back)) } else { None };
            let sum = met.map(|[own, other]| own.likelier(&other)).filter(|own| *own != 0).unwrap_or(sum);
            let sum = if sum == 0 { met.map_or(0, |[own, other]| own.smoother(&other)) } else { sum };
            let sum = if sum == 0 { by_round_trip(way, directions.get(back), &plain) } else { sum };
            // Without any evidence, the busier direction of the tunnel carries the busier way.
            let heavier = directions.get(back).is_none_or(|other| way.starts.packets >= other.starts.packets);
            let even = if heavier == busier { 1 } else { -1 };
            let sum = if sum == 0 { even } else { sum };
            for (which, value) in [(at, sum), (back, -sum)] {
                if let Some(score) = scores.get_mut(which) {
                    *score = value;
                }
            }
        }
    }
    scores.iter().map(|score| if *score < 0 { Direction::Rev } else { Direction::Fwd }).collect()
}

/// What a tap shows between silences.
struct Bunched {
    times: Vec<i64>,
    bunches: Vec<(usize, usize)>,
}

impl Bunched {
    fn of(times: impl Iterator<Item = i64>, gap: i64) -> Self {
        let times: Vec<i64> = times.collect();
        let bunches = silences(&times, gap);
        Self { times, bunches }
    }
}

/// How well the packets of both ways agree with two directions of a tunnel.
#[derive(Clone, Copy, Default, Debug)]
struct Met {
    /// Bunches of as many frames at one tap as at the next.
    bunches: usize,
    /// Frames, and by how many a tap shows more than the one before.
    frames: usize,
    grown: usize,
    /// By how much the time between both taps changes from packet to packet, in all, and the changes.
    unrest: f64,
    changes: f64,
}

impl Met {
    /// Where two directions of the tunnel go in and out, and where they go the other way round. `None` where not all records are kept.
    fn of_both(taps: &Taps, lanes: &[Direction], (at, back): (usize, usize)) -> Option<[Self; 2]> {
        if taps.is_thinned() {
            return None;
        }
        let [near, far] = [Place::Near, Place::Far].map(|place| {
            [Direction::Fwd, Direction::Rev].map(|way| Bunched::of(in_clear(taps, lanes, way, place), taps.gap))
        });
        let inside = [at, back].map(|index| Bunched::of(in_tunnel(taps, index), taps.gap));
        let [(fwd_near, rev_near), (fwd_far, rev_far)] = [near, far].map(|[fwd, rev]| (fwd, rev));
        let [x, y] = inside;
        let sum = |into: &Bunched, out: &Bunched| {
            let mut met = Self::default();
            for (here, there) in [(&fwd_near, into), (into, &fwd_far), (&rev_far, out), (out, &rev_near)] {
                met.add(here, there);
            }
            met
        };
        Some([sum(&x, &y), sum(&y, &x)])
    }

    /// Adds the bunches that have as many frames at one tap as at the next.
    fn add(&mut self, here: &Bunched, there: &Bunched) {
        if here.bunches.len() != there.bunches.len() {
            return;
        }
        for ((a, b), (x, y)) in here.bunches.iter().zip(&there.bunches) {
            let (own, other) = (here.times.get(*a..*b), there.times.get(*x..*y));
            let (Some(own), Some(other)) = (own, other) else { continue };
            self.frames += own.len();
            self.grown += other.len().saturating_sub(own.len());
            if own.len() != other.len() {
                continue;
            }
            self.bunches += 1;
            if own.len() < FEWEST {
                continue;
            }
            let late: Vec<i64> = own.iter().zip(other).map(|(t, d)| d - t).collect();
            self.unrest +=
                late.iter().zip(late.iter().skip(1)).map(|(one, next)| (next - one).abs() as f64).sum::<f64>();
            self.changes += late.len() as f64;
        }
    }

    /// Above 0 where this is how packets go, by their number: none become more on their way, and many loads lose none on a part of it.
    const fn likelier(&self, other: &Self) -> i64 {
        let least = 2 + self.frames / GROWN_OF;
        if self.grown.abs_diff(other.grown) > least {
            other.grown as i64 - self.grown as i64
        } else {
            self.bunches as i64 - other.bunches as i64
        }
    }

    /// 1 where times between taps change clearly less from packet to packet than in `other`, -1 where they change more: to what passed
    /// a tap at another time, all the unrest of both adds.
    fn smoother(&self, other: &Self) -> i64 {
        let (own, other) = (self.unrest / self.changes.max(1.0), other.unrest / other.changes.max(1.0));
        if own < other * SMOOTHER {
            1
        } else if other < own * SMOOTHER {
            -1
        } else {
            0
        }
    }
}

/// Of so many frames one may be more at a tap than at the one before.
const GROWN_OF: usize = 100;
/// By how much less times must change to tell the directions of a tunnel apart.
const SMOOTHER: f64 = 0.9;

/// Times of the busy flows that go one way at a tap.
fn in_clear<'t>(
    taps: &'t Taps,
    lanes: &'t [Direction],
    way: Direction,
    place: Place,
) -> impl Iterator<Item = i64> + use<'t> {
    let peak = move |flow: &Flow| flow.at.get(place as usize).map_or(0, |at| at.peak);
    // What passes one side alone is not of the tunnel: a gateway answers for itself.
    let ends =
        [NEAR, FAR].map(|end| taps.flows.all.iter().any(|flow| flow.at.get(end).is_some_and(|at| at.packets > 0)));
    let passes = move |flow: &Flow| {
        let at = |end: usize| flow.at.get(end).is_some_and(|at| at.packets > 0);
        ends != [true; 2] || at(NEAR) && at(FAR)
    };
    let mine = move |flow: &Flow| !flow.transfer && passes(flow) && lanes.get(flow.lane) == Some(&way);
    let most = taps.flows.all.iter().filter(|flow| mine(flow)).map(peak).max().unwrap_or(0);
    let is_test = move |flow: &Flow| mine(flow) && peak(flow) as f64 >= BACKGROUND * most as f64;
    let records = taps.place(place).plain.records.iter();
    records.filter(move |own| taps.flows.all.get(usize::from(own.stream)).is_some_and(is_test)).map(|own| own.t)
}

/// Times of a direction of the tunnel.
fn in_tunnel(taps: &Taps, index: usize) -> impl Iterator<Item = i64> {
    let tap = taps.place(Place::Middle);
    let ends = tap.directions.get(index).map(|way| (way.src, way.dst));
    let is_own = move |stream: u16| tap.sas.get(usize::from(stream)).map(|sa| (sa.src, sa.dst)) == ends;
    tap.tunnelled.records.iter().filter(move |own| is_own(own.stream)).map(|own| own.t)
}

/// Which of two directions of the tunnel goes in, where both begin as often: the time into the tunnel and the time out of it make a round
/// trip, whatever the clocks are, and that is short and not negative.
fn by_round_trip(way: &TunnelWay, back: Option<&TunnelWay>, plain: &[Plain; 2]) -> i64 {
    let [(into, _, _), (out, _, _)] = plain;
    let first = |starts: &[(i64, u16)]| starts.first().map(|(t, _)| *t);
    let (Some(a), Some(b)) = (first(into), first(out)) else { return 0 };
    let begin = |way: &TunnelWay| way.starts.starts.first().copied();
    let (Some(x), Some(y)) = (begin(way), back.and_then(begin)) else { return 0 };
    let (fwd, rev) = (
        x.saturating_sub(a).saturating_add(b.saturating_sub(y)),
        y.saturating_sub(a).saturating_add(b.saturating_sub(x)),
    );
    match (fwd >= 0, rev >= 0) {
        (true, false) => 1,
        (false, true) => -1,
        (true, true) if fwd != rev => (rev - fwd).signum(),
        _ => 0,
    }
}

/// How many bunches begin at both of two taps.
fn agree(here: &[(i64, u16)], there: &[(i64, u16)], one_clock: bool) -> i64 {
    if here.is_empty() || there.is_empty() {
        return 0;
    }
    if !one_clock {
        return vote(here, there).map_or(0, |(near, _)| near.len() as i64);
    }
    let met = |start: i64| {
        there.get(there.partition_point(|(t, _)| *t < start)).is_some_and(|(t, _)| *t <= start + ANCHOR_NS)
    };
    here.iter().filter(|(t, _)| met(*t)).count() as i64
}
