//! Which way each pair of addresses goes: into the tunnel at the plain tap, or out of it.

use super::flows::FlowLane;
use super::one_end::{BothDirections, both_directions};
use super::tunnel_ways::{comes_out, tunnels};
use super::{Place, Taps};
use crate::model::Address;
use crate::model::trials::Direction;
use crate::trials::limits::ANCHOR_NS;

/// Source and destination on the link.
type Macs = ([u8; 6], [u8; 6]);

/// Ways of all pairs of addresses and of all directions of the tunnel.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    pub(crate) lane: Vec<Direction>,
    pub(crate) tunnel: Vec<Direction>,
    /// Pairs of directions of the tunnel of which nothing tells which is which.
    pub(crate) open: Vec<(usize, usize)>,
    /// Whether nothing tells which of two loads goes into the tunnel, so that the names of the directions may be exchanged.
    exchangeable: bool,
}

impl Ways {
    /// `ends`: the first tap is where packets come in, as the user says.
    pub(crate) fn of(taps: &Taps, one_clock: bool, ends: bool) -> Self {
        let begins = LinkBegins::new(taps, one_clock);
        let mut scores: Vec<i32> =
            taps.flows.lane.iter().map(|lane| evidence(taps, lane, begins.of(lane), ends)).collect();
        // What one direction shows speaks against the other.
        for (at, lane) in taps.flows.lane.iter().enumerate() {
            if let Some(back) = taps.flows.back(lane).filter(|back| *back > at) {
                let (own, other) = (scores.get(at).copied().unwrap_or(0), scores.get(back).copied().unwrap_or(0));
                let sum = own - other;
                if let Some(score) = scores.get_mut(at) {
                    *score = sum;
                }
                if let Some(score) = scores.get_mut(back) {
                    *score = -sum;
                }
            }
        }
        let packets = |lane: &FlowLane| lane.at.iter().map(|at| at.packets).max().unwrap_or(0);
        // Frames from the same station to the same station go the same way.
        let known: Vec<(Macs, i32)> = taps
            .flows
            .lane
            .iter()
            .zip(&scores)
            .filter_map(|(lane, score)| Some((lane.macs?, *score)).filter(|(_, score)| *score != 0))
            .collect();
        for (lane, score) in taps.flows.lane.iter().zip(scores.iter_mut()) {
            let Some((from, to)) = lane.macs.filter(|(from, to)| from != to) else { continue };
            let same: i32 = known.iter().filter(|(macs, _)| *macs == (from, to)).map(|(_, score)| score).sum();
            let other: i32 = known.iter().filter(|(macs, _)| *macs == (to, from)).map(|(_, score)| score).sum();
            if same != other {
                *score = (same - other).signum();
            }
        }
        // Nothing decides: the busiest goes into the tunnel at the plain tap, unless the tunnel's tap shows what comes before it.
        let undecided = scores.iter().all(|score| *score == 0);
        if undecided
            && let Some((at, busiest)) = taps.flows.lane.iter().enumerate().max_by_key(|(_, lane)| packets(lane))
        {
            let first = match comes_out(taps, one_clock) * into_at(taps) {
                0 if is_first_hop(taps, busiest) && into_at(taps) < 0 => -1,
                1.. => -1,
                _ => 1,
            };
            for (other, (lane, score)) in taps.flows.lane.iter().zip(scores.iter_mut()).enumerate() {
                let back =
                    lane.macs.zip(busiest.macs).is_some_and(|(own, first)| own == (first.1, first.0) && own.0 != own.1);
                let opposite = taps.flows.back(busiest) == Some(other) || back;
                *score = if other != at && opposite { -first } else { first };
            }
        }
        let way = |score: &i32| if *score < 0 { Direction::Rev } else { Direction::Fwd };
        let mut lane: Vec<Direction> = scores.iter().map(way).collect();
        let told = both_directions(taps, &lane, one_clock).filter(|_| undecided);
        if let Some(BothDirections::Known { as_taken: false, .. }) = told {
            lane = scores.iter().map(|score| way(&-score)).collect();
        }
        let (tunnel, open) = tunnels(taps, &lane, one_clock, told);
        Self { lane, tunnel, open, exchangeable: matches!(told, Some(BothDirections::Open(..))) }
    }

    /// What is not known of the directions.
    pub(crate) fn untold(&self) -> Option<String> {
        self.exchangeable.then(|| {
            "Both directions are loaded, and nothing tells which of them goes into the tunnel at the tap in clear: fwd and rev may be exchanged."
                .to_owned()
        })
    }

    pub(crate) fn of_flow(&self, taps: &Taps, flow: u16) -> Option<Direction> {
        self.lane.get(taps.flows.all.get(usize::from(flow))?.lane).copied()
    }
}

/// Whether packets of a pair of addresses were not routed yet at the one tap that shows them in clear: behind the tunnel a gateway has lowered
/// the time to live that hosts begin with.
fn is_first_hop(taps: &Taps, lane: &FlowLane) -> bool {
    let [near, _, far] = lane.ttl;
    let ttl = if taps.place(Place::Near).packets > 0 { near } else { far };
    matches!(ttl, Some(64 | 128 | 255))
}

/// 1 where what comes out of the tunnel goes the other way, at the plain tap; -1 at the exit.
fn into_at(taps: &Taps) -> i64 {
    if taps.place(Place::Near).packets > 0 { 1 } else { -1 }
}

/// Beginnings of bunches at each tap, where one clock stamps all of them. Pairs of addresses that pass from the same station to the same
/// station begin together: a host that sends its first packet a little later is no answer to the one before.
struct LinkBegins {
    one_clock: bool,
    /// Of pairs of stations: as each tap sees them.
    links: Vec<(Macs, [Vec<i64>; 3])>,
}

impl LinkBegins {
    fn new(taps: &Taps, one_clock: bool) -> Self {
        let mut links: Vec<(Macs, [Vec<i64>; 3])> = Vec::new();
        for lane in taps.flows.lane.iter().filter(|_| one_clock) {
            let Some(macs) = lane.macs.filter(|(from, to)| from != to) else { continue };
            let at = links.iter().position(|(own, _)| *own == macs).unwrap_or_else(|| {
                links.push((macs, Default::default()));
                links.len() - 1
            });
            if let Some((_, own)) = links.get_mut(at) {
                own.iter_mut().zip(&lane.at).for_each(|(own, at)| own.extend(&at.starts));
            }
        }
        for starts in links.iter_mut().flat_map(|(_, own)| own) {
            starts.sort_unstable();
            let mut before = None;
            starts.retain(|t| before.replace(*t).is_none_or(|before| t - before > taps.gap));
        }
        Self { one_clock, links }
    }

    /// Those of a pair of addresses.
    fn of(&self, lane: &FlowLane) -> Option<[Vec<i64>; 3]> {
        let link = || self.links.iter().find(|(own, _)| Some(*own) == lane.macs);
        let own = || lane.at.each_ref().map(|at| at.starts.clone());
        self.one_clock.then(|| link().map_or_else(own, |(_, begins)| begins.clone()))
    }
}

/// Evidence that a pair of addresses goes into the tunnel at the plain tap (above 0), or out of it.
fn evidence(taps: &Taps, lane: &FlowLane, begins: Option<[Vec<i64>; 3]>, ends: bool) -> i32 {
    let mut score = 0;
    let [near, middle, far] = lane.ttl;
    // Every router on the way lowers the time to live.
    for (earlier, later) in [(near, far), (near, middle), (middle, far)] {
        if let (Some(earlier), Some(later)) = (earlier, later) {
            score += 16 * i32::from((i16::from(earlier) - i16::from(later)).signum());
        }
    }
    let [at_near, at_middle, at_far] = &lane.at;
    if let Some([near, between, far]) = &begins {
        score += order(near, &[far]) + order(near, &[between]) + order(between, &[far]);
        let directions = taps.place(Place::Middle).directions.iter();
        let tunnel: Vec<&[i64]> = directions.map(|way| way.starts.starts.as_slice()).collect();
        if middle.is_none() && at_middle.packets == 0 {
            score += order(near, &tunnel) - order(far, &tunnel);
        }
    }
    // Where packets come in there are more than where they go out.
    let (came, left) = (at_near.packets, at_far.packets);
    if came > 0 && left > 0 && came.abs_diff(left) > 2 + came / 1_000 {
        score += if came > left { 2 } else { -2 };
    }
    if ends && score == 0 { 1 } else { score }
}

/// Whether bunches of one tap begin before those of another (above 0) or after them: at most 8 either way.
fn order(here: &[i64], there: &[&[i64]]) -> i32 {
    let (mut before, mut after) = (0, 0);
    for start in here {
        let within = |from: i64, to: i64| {
            there.iter().any(|own| own.get(own.partition_point(|t| *t < from)).is_some_and(|t| *t <= to))
        };
        let (earlier, later) = (within(start - ANCHOR_NS, start - 1), within(*start, start + ANCHOR_NS));
        match (earlier, later) {
            (true, false) => after += 1,
            (false, true) => before += 1,
            _ => {}
        }
    }
    (before - after).clamp(-8, 8)
}

/// Whether a flow is the one that was asked for.
pub(crate) fn is_asked(key: (Address, Address), asked: Option<(Address, Address)>) -> bool {
    asked.is_none_or(|asked| asked == key || asked == (key.1, key.0))
}
