//! Loads of both directions that one tap alone shows in clear, beside the tunnel's: which of them goes into the tunnel there, and which direction
//! of the tunnel carries it. Of four readings, two are the others with time turned round.

use super::tap_stream::TapStream;
use super::tunnel_reading::{ReadingRules, WayReading};
use super::tunnel_ways::{in_clear, in_tunnel, rules};
use super::{Place, Taps};
use crate::model::trials::Direction;
use crate::trials::limits::FEWEST;

/// What is known of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BothDirections {
    /// Whether the ways are as they were taken to be, and in which direction of the tunnel packets go from the near side to the far one.
    Known { as_taken: bool, fwd: usize },
    /// Times fit either way: these directions of the tunnel.
    Open(usize, usize),
}

/// One of the four ways to read them.
struct BothRead<'s> {
    reading: WayReading<'s>,
    known: BothDirections,
}

/// How both directions go. `None` where other evidence must tell: both ends are in clear, or one direction has hardly any packets. `lanes`: ways
/// that the pairs of addresses are taken to go.
pub(super) fn both_directions(taps: &Taps, lanes: &[Direction], one_clock: bool) -> Option<BothDirections> {
    let place = match (taps.place(Place::Near).packets, taps.place(Place::Far).packets) {
        (1.., 0) => Place::Near,
        (0, 1..) => Place::Far,
        _ => return None,
    };
    let (x, y) = busiest_pair(taps)?;
    let [(fwd, fwd_twice), (rev, rev_twice)] =
        [Direction::Fwd, Direction::Rev].map(|way| in_clear(taps, lanes, way, place));
    let (into, out) = if place == Place::Near { (&fwd, &rev) } else { (&rev, &fwd) };
    let streams = [x, y].map(|index| TapStream::of(in_tunnel(taps, index), taps.gap));
    if [into, out, &streams[0], &streams[1]].iter().any(|stream| stream.frames() < FEWEST as u64) {
        return None;
    }
    let rules = rules(taps, one_clock, !fwd_twice && !rev_twice);
    let read = |as_taken: bool, swapped: bool| {
        let (own_into, own_out) = if as_taken { (into, out) } else { (out, into) };
        let [(first, there), (second, back)] = if swapped { [(y, 1), (x, 0)] } else { [(x, 0), (y, 1)] };
        let (there, back): (&TapStream, &TapStream) = (streams.get(there)?, streams.get(back)?);
        let (there, back) = ((own_into, there, 1), (back, own_out, -1));
        let fwd = if place == Place::Near { first } else { second };
        let reading = WayReading { hops: vec![there, back], ends: vec![(there, back)] };
        Some(BothRead { reading, known: BothDirections::Known { as_taken, fwd } })
    };
    // Each with the one that is the same with time turned round.
    let pairs = [[read(true, false)?, read(false, true)?], [read(true, true)?, read(false, false)?]];
    Some(best(&pairs, rules).unwrap_or(BothDirections::Open(x, y)))
}

/// The one of four readings that fits, if the others do not.
fn best(pairs: &[[BothRead<'_>; 2]; 2], rules: ReadingRules) -> Option<BothDirections> {
    let [first, second] = pairs.each_ref().map(|pair| onwards(pair, rules));
    let (winner, others) = match (first, second) {
        (Some(own), Some(other)) => {
            let found = own.reading.against(&other.reading, rules);
            let found = if found == 0 { own.reading.closer(&other.reading, rules) } else { found };
            return match found {
                0 => None,
                1.. => Some(own.known),
                _ => Some(other.known),
            };
        }
        (Some(own), None) => (own, pairs.get(1)?),
        (None, Some(own)) => (own, pairs.first()?),
        (None, None) => return None,
    };
    others.iter().all(|other| winner.reading.against(&other.reading, rules) > 0).then_some(winner.known)
}

/// The one of two readings in which packets come out after they went in.
fn onwards<'r, 's>([own, turned]: &'r [BothRead<'s>; 2], rules: ReadingRules) -> Option<&'r BothRead<'s>> {
    let found = match own.reading.against(&turned.reading, rules) {
        0 => own.reading.trip(rules).filter(|trip| trip.abs() > AT_ONCE_NS + 2 * rules.grain).map_or(0, i64::signum),
        found => found,
    };
    match found {
        0 => None,
        1.. => Some(own),
        _ => Some(turned),
    }
}

/// No device lets a packet through in less than this, in nanoseconds.
const AT_ONCE_NS: i64 = 1_000;

/// The two directions between the gateways that carry most, where nothing inside is visible.
fn busiest_pair(taps: &Taps) -> Option<(usize, usize)> {
    let directions = &taps.place(Place::Middle).directions;
    let pairs = directions.iter().enumerate().filter_map(|(at, way)| {
        let back = directions.iter().position(|other| (other.src, other.dst) == (way.dst, way.src))?;
        let other =
            directions.get(back).filter(|other| back > at && way.inside.is_empty() && other.inside.is_empty())?;
        Some((way.starts.packets + other.starts.packets, (at, back)))
    });
    pairs.max_by_key(|(packets, _)| *packets).map(|(_, pair)| pair)
}
