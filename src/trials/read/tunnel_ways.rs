//! Which way each direction of a tunnel goes, where what is inside does not show it.

use std::collections::BTreeMap;

use super::flows::Flow;
use super::one_end::BothDirections;
use super::tap::TunnelWay;
use super::tap_stream::{StreamFrame, TapStream};
use super::tunnel_reading::{Hop, ReadingRules, WayReading};
use super::{Place, Taps};
use crate::model::trials::Direction;
use crate::trials::association::row::Sighted;
use crate::trials::association::shown_once;
use crate::trials::association::vote;
use crate::trials::limits::{ANCHOR_NS, BACKGROUND};

const NEAR: usize = 0;
const FAR: usize = 2;

/// Which way each direction of the tunnel goes, and the pairs of which nothing tells it. `told`: what is known already of the directions of
/// one pair.
pub(super) fn tunnels(
    taps: &Taps,
    lanes: &[Direction],
    one_clock: bool,
    told: Option<BothDirections>,
) -> (Vec<Direction>, Vec<(usize, usize)>) {
    let directions = &taps.place(Place::Middle).directions;
    let starts = |way: Direction, place: usize| begins(taps, lanes, way, place);
    let plain =
        [Direction::Fwd, Direction::Rev].map(|way| (starts(way, NEAR), starts(way, FAR), packets(taps, lanes, way)));
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
    let busier = plain[0].2 >= plain[1].2;
    let mut scores: Vec<i64> = (0..directions.len()).map(score).collect();
    let mut open = Vec::new();
    for (at, way) in directions.iter().enumerate() {
        let back = directions.iter().position(|other| (other.src, other.dst) == (way.dst, way.src));
        if let Some(back) = back.filter(|back| *back > at) {
            let sum = scores.get(at).copied().unwrap_or(0).saturating_sub(scores.get(back).copied().unwrap_or(0));
            let visible = !way.inside.is_empty() || directions.get(back).is_some_and(|back| !back.inside.is_empty());
            let sum = match told {
                Some(BothDirections::Known { fwd, .. }) if fwd == at => 1,
                Some(BothDirections::Known { fwd, .. }) if fwd == back => -1,
                Some(BothDirections::Open(one, other)) if (one, other) == (at, back) => 0,
                _ if visible => sum,
                _ => Some(read_as(taps, lanes, (at, back), one_clock)).filter(|own| *own != 0).unwrap_or(sum),
            };
            if sum == 0 {
                open.push((at, back));
            }
            // Without any evidence, the busier direction of the tunnel carries the busier way.
            let heavier = directions.get(back).is_none_or(|other| way.starts.packets >= other.starts.packets);
            let sum = if sum == 0 { 2 * i64::from(heavier == busier) - 1 } else { sum };
            for (which, value) in [(at, sum), (back, -sum)] {
                if let Some(score) = scores.get_mut(which) {
                    *score = value;
                }
            }
        }
    }
    alone(directions, &mut scores, busier);
    (scores.iter().map(|score| if *score < 0 { Direction::Rev } else { Direction::Fwd }).collect(), open)
}

/// A direction of the tunnel that has none back and of which nothing tells the way carries the busier way. `busier`: whether that goes in at the
/// plain tap.
fn alone(directions: &[TunnelWay], scores: &mut [i64], busier: bool) {
    let most = directions.iter().map(|way| way.starts.packets).max();
    for (way, score) in directions.iter().zip(scores) {
        let has_back = directions.iter().any(|other| (other.src, other.dst) == (way.dst, way.src));
        if *score == 0 && !busier && !has_back && Some(way.starts.packets) == most {
            *score = -1;
        }
    }
}

/// Packets of one way, at the tap that shows most of each pair of addresses.
fn packets(taps: &Taps, lanes: &[Direction], way: Direction) -> u64 {
    let of = taps.flows.lane.iter().zip(lanes).filter(|(_, own)| **own == way);
    of.map(|(lane, _)| lane.at.iter().map(|at| at.packets).max().unwrap_or(0)).sum()
}

/// Beginnings of bunches of the busiest pair of addresses of one way at a tap.
fn begins(taps: &Taps, lanes: &[Direction], way: Direction, place: usize) -> Vec<(i64, u16)> {
    let of = taps.flows.lane.iter().zip(lanes).filter(|(_, own)| **own == way);
    let busiest = of.max_by_key(|(lane, _)| lane.at.get(place).map_or(0, |at| at.packets));
    let starts = busiest.and_then(|(lane, _)| lane.at.get(place)).map(|at| at.starts.as_slice()).unwrap_or_default();
    starts.iter().take(96).map(|t| (*t, 0)).collect()
}

/// Whether the load of one way comes out of the tunnel, above 0, where it alone is there and one tap shows it in clear; below 0 where it goes
/// in there. 0 where nothing tells.
pub(super) fn comes_out(taps: &Taps, one_clock: bool) -> i64 {
    let packets = |place: Place| taps.place(place).packets;
    let place = match (packets(Place::Near), packets(Place::Far)) {
        (1.., 0) => Place::Near,
        (0, 1..) => Place::Far,
        _ => return 0,
    };
    let directions = &taps.place(Place::Middle).directions;
    let all: u64 = directions.iter().map(|way| way.starts.packets).sum();
    let Some((at, most)) = directions.iter().enumerate().max_by_key(|(_, way)| way.starts.packets) else { return 0 };
    if most.starts.packets as f64 <= (1.0 - BACKGROUND) * all as f64 || !most.inside.is_empty() {
        return 0;
    }
    let lanes = vec![Direction::Fwd; taps.flows.lane.len()];
    let (clear, twice) = in_clear(taps, &lanes, Direction::Fwd, place);
    let inside = TapStream::of(in_tunnel(taps, at), taps.gap);
    let [into, out] =
        [(&clear, &inside, 1), (&inside, &clear, -1)].map(|hop| WayReading { hops: vec![hop], ends: Vec::new() });
    out.against(&into, rules(taps, one_clock, !twice))
}

/// What is known of the taps. `counts`: whether all packets of a way are in one direction of the tunnel.
pub(super) fn rules(taps: &Taps, one_clock: bool, counts: bool) -> ReadingRules {
    let grain = taps.tap.iter().map(|tap| tap.grain.step()).max().unwrap_or(0);
    ReadingRules { one_clock, grain, whole: !taps.is_thinned(), counts }
}

/// Both ways to read two directions of the tunnel: the first goes in and the second out, above 0, or the other way round, below 0. 0 where
/// nothing tells.
fn read_as(taps: &Taps, lanes: &[Direction], (at, back): (usize, usize), one_clock: bool) -> i64 {
    let clear = |way: Direction, place: Place| in_clear(taps, lanes, way, place);
    let [near, far] =
        [Place::Near, Place::Far].map(|place| [Direction::Fwd, Direction::Rev].map(|way| clear(way, place)));
    let twice = near.iter().chain(&far).any(|(_, twice)| *twice);
    let [[(fwd_near, _), (rev_near, _)], [(fwd_far, _), (rev_far, _)]] = [near, far];
    let [x, y] = [at, back].map(|index| TapStream::of(in_tunnel(taps, index), taps.gap));
    let has = [Place::Near, Place::Far].map(|place| taps.place(place).packets > 0);
    let reading = |into, out| {
        let ends: Vec<(Hop<'_>, Hop<'_>)> =
            [((&fwd_near, into, 1), (out, &rev_near, -1)), ((&rev_far, out, 1), (into, &fwd_far, -1))]
                .into_iter()
                .zip(has)
                .filter_map(|(end, has)| has.then_some(end))
                .collect();
        WayReading { hops: ends.iter().flat_map(|(into, out)| [*into, *out]).collect(), ends }
    };
    let directions = &taps.place(Place::Middle).directions;
    let packets = |index: usize| directions.get(index).map_or(0, |way| way.starts.packets);
    let all: u64 = directions.iter().map(|way| way.starts.packets).sum();
    let counts = (packets(at) + packets(back)) as f64 > (1.0 - BACKGROUND) * all as f64;
    reading(&x, &y).against(&reading(&y, &x), rules(taps, one_clock, counts && !twice))
}

/// The busy flows that go one way at a tap, and whether the tap may show each of their frames twice.
pub(super) fn in_clear(taps: &Taps, lanes: &[Direction], way: Direction, place: Place) -> (TapStream, bool) {
    let peak = |flow: &Flow| flow.at.get(place as usize).map_or(0, |at| at.peak);
    // What passes one side alone is not of the tunnel: a gateway answers for itself.
    let ends =
        [NEAR, FAR].map(|end| taps.flows.all.iter().any(|flow| flow.at.get(end).is_some_and(|at| at.packets > 0)));
    let passes = |flow: &Flow| {
        let at = |end: usize| flow.at.get(end).is_some_and(|at| at.packets > 0);
        ends != [true; 2] || at(NEAR) && at(FAR)
    };
    let mine = |flow: &Flow| !flow.transfer && passes(flow) && lanes.get(flow.lane) == Some(&way);
    let most = taps.flows.all.iter().filter(|flow| mine(flow)).map(peak).max().unwrap_or(0);
    let is_test = |flow: &Flow| mine(flow) && peak(flow) as f64 >= BACKGROUND * most as f64;
    let records = taps.place(place).plain.records.iter();
    let own = records.filter(|own| taps.flows.all.get(usize::from(own.stream)).is_some_and(is_test));
    let mut frames: Vec<Sighted> = own
        .map(|own| Sighted {
            t: own.t,
            key: own.key,
            size: own.detail.size,
            record: 0,
            frames: own.share.frames,
            stream: own.stream,
            test: true,
        })
        .collect();
    let twice = !taps.is_thinned() && shown_once(&mut frames);
    (TapStream::of(frames.iter().map(|own| (own.t, own.size, own.frames)), taps.gap), twice)
}

/// Frames of a direction of the tunnel.
pub(super) fn in_tunnel(taps: &Taps, index: usize) -> impl Iterator<Item = StreamFrame> {
    let tap = taps.place(Place::Middle);
    let ends = tap.directions.get(index).map(|way| (way.src, way.dst));
    let is_own = move |stream: u16| tap.sas.get(usize::from(stream)).map(|sa| (sa.src, sa.dst)) == ends;
    // A tap may show each frame twice.
    let mut before: BTreeMap<u16, u32> = BTreeMap::new();
    let numbered = |stream: u16| tap.sas.get(usize::from(stream)).is_some_and(|sa| sa.key.is_some());
    let mine = tap.tunnelled.records.iter().filter(move |own| is_own(own.stream));
    let once = mine.filter(move |own| {
        let number = own.detail.sequence;
        before.insert(own.stream, number) != Some(number) || !numbered(own.stream)
    });
    once.map(|own| (own.t, own.detail.outer, own.share.frames))
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
