//! What is taken from the frames of each tap.

pub(crate) mod flows;
pub(crate) mod kept;
pub(crate) mod load_flows;
mod one_end;
pub(crate) mod skipped;
pub(super) mod tap;
mod tap_stream;
pub(super) mod transfers;
mod tunnel_reading;
mod tunnel_ways;
pub(super) mod ways;

use std::collections::HashMap;

use flows::{FlowKey, Flows, Starts};
use kept::{Share, Spot};
use tap::{ContentDigest, InClear, InTunnel, Outer, SaId, Tap, TapPacket, TunnelWay};
use transfers::{Connections, TcpSegment};

use super::association::stepped::Forward;
use super::limits::{BUSY_LANES, MAX_SAS, MAX_STARTS, MAX_TRAINS};
use crate::dissect::{IpHeader, Stack};
use crate::keys::Sight;
use crate::matching::Role;
use crate::model::{Address, SaKey};
use crate::transform::size::ethernet::{FCS, MINIMUM_WITHOUT_FCS, PREAMBLE_AND_IFG};

/// A tap: which packets into the tunnel pass in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Near = 0,
    Middle = 1,
    Far = 2,
}

/// What was read of all taps.
#[derive(Debug)]
pub(crate) struct Taps {
    pub(super) tap: [Tap; 3],
    pub(super) flows: Flows,
    pub(super) connections: Connections,
    trains: HashMap<(Address, Address, u32), Train>,
    gap: i64,
}

/// Fragments of one outer packet.
#[derive(Clone, Copy, Default, Debug)]
struct Train {
    /// The SA of the first one, and where its record is, if it was kept.
    first: Option<(u16, Option<Spot>)>,
    outer: u16,
    l1: u16,
}

impl Taps {
    /// `taps`: how many there are; `records`: how many are kept of all of them.
    pub(crate) fn new(gap: i64, taps: usize, records: usize) -> Self {
        let room = records / taps.max(1);
        Self {
            tap: [(); 3].map(|()| Tap::new(room, gap)),
            flows: Flows::default(),
            connections: Connections::default(),
            trains: HashMap::new(),
            gap,
        }
    }

    /// Time up to which a tap was read, in nanoseconds.
    pub(crate) fn latest(&self, place: Place) -> Option<i64> {
        self.tap.get(place as usize)?.latest
    }

    /// Takes in a frame.
    pub(crate) fn see(&mut self, place: Place, sight: Sight<'_>) {
        let at = place as usize;
        // UDP is a tunnel's where the first fragment was.
        let later = sight.stack.outer().is_some_and(|outer| outer.fragment_offset > 0 && self.is_in_train(outer));
        let Some(tap) = self.tap.get_mut(at) else { return };
        tap.frames += 1;
        let Some(raw) = sight.frame.time.ns() else { return };
        let ns = tap.time(raw);
        let stack = sight.stack;
        tap.assumed |= stack.flags.not_ethernet;
        if stack.flags.control {
            tap.push_control(ns, l1_of(stack.frame_bytes));
        }
        let Some(outer) = stack.outer() else { return };
        match sight.role() {
            Role::None => {}
            // ESP or AH of which the capture cut off even the SPI is in a tunnel all the same.
            Role::Plain if matches!(outer.protocol, 50 | 51) => {
                tap.opaque += 1;
                self.tunnelled(at, ns, &sight, outer);
            }
            Role::Plain if later => self.piece(at, ns, stack, outer),
            Role::Plain => {
                tap.packets += 1;
                self.plain(at, ns, &sight, outer);
            }
            Role::Tunnelled => {
                tap.opaque += 1;
                self.tunnelled(at, ns, &sight, outer);
            }
            Role::Piece => self.piece(at, ns, stack, outer),
        }
    }

    fn plain(&mut self, at: usize, ns: i64, sight: &Sight<'_>, outer: &IpHeader) {
        let stack = sight.stack;
        let behind = outer.offset.saturating_add(outer.header_bytes);
        let upper = sight.octets.get(behind as usize..).unwrap_or_default();
        let whole = outer.fragment_offset == 0;
        let ports = if whole && matches!(outer.protocol, 6 | 17) { ports(upper) } else { (0, 0) };
        let key = FlowKey { src: outer.src, dst: outer.dst, protocol: outer.protocol, ports };
        let head = match outer.protocol {
            17 if whole => Some(outer.header_bytes + 8),
            6 if whole => upper.get(12).map(|offset| outer.header_bytes + u32::from(*offset >> 4) * 4),
            _ => None,
        };
        let link = outer.offset.saturating_sub(stack.start);
        let flow = self.flows.number(key, (if stack.flags.not_ethernet { 14 } else { link }, head));
        if outer.protocol == 6
            && whole
            && let Some(segment) = TcpSegment::read(upper, outer.total_bytes.saturating_sub(outer.header_bytes))
        {
            self.connections.see(key, at, ns, &segment);
            if segment.payload > 0 {
                self.flows.carries(flow);
            }
        }
        if let Some(lane) = self.flows.see(flow, at, ns, self.gap) {
            if let Some(ttl) = lane.ttl.get_mut(at) {
                ttl.get_or_insert(outer.ttl);
            }
            if lane.macs.is_none() && at != Place::Middle as usize {
                lane.macs = stack.macs;
            }
        }
        let size = u16::try_from(outer.total_bytes).unwrap_or(u16::MAX);
        let link = self.flows.all.get(usize::from(flow)).map_or(0, |flow| flow.link);
        let filled = MINIMUM_WITHOUT_FCS.saturating_sub(u32::from(size) + link);
        let share = Share::one(u32::from(size), filled);
        let packet = TapPacket {
            t: ns,
            pos: sight.frame.pos,
            key: sight.key(outer).map_or(ContentDigest::NONE, ContentDigest::of),
            stream: flow,
            share,
            detail: InClear { size },
        };
        if let Some(tap) = self.tap.get_mut(at) {
            tap.plain.push(packet);
        }
    }

    fn tunnelled(&mut self, at: usize, ns: i64, sight: &Sight<'_>, outer: &IpHeader) {
        let stack = sight.stack;
        let inside = sight.inside(outer);
        let lane = inside.map(|inside| (self.flows.lane(inside.ends.0, inside.ends.1), inside.ttl));
        if let Some((lane, ttl)) = lane
            && let Some(lane) = self.flows.lane.get_mut(lane)
            && let Some(own) = lane.ttl.get_mut(Place::Middle as usize)
        {
            own.get_or_insert(ttl);
        }
        let gap = self.gap;
        let Some(tap) = self.tap.get_mut(at) else { return };
        tap.decrypted += u64::from(sight.decrypted && inside.is_some());
        let way = match tap.directions.iter().position(|way| way.src == outer.src && way.dst == outer.dst) {
            Some(way) => way,
            None if tap.directions.len() >= MAX_SAS => return,
            None => {
                let starts = Starts::default();
                tap.directions.push(TunnelWay { src: outer.src, dst: outer.dst, starts, inside: HashMap::new() });
                tap.directions.len() - 1
            }
        };
        let number = way;
        if let Some(way) = tap.directions.get_mut(number) {
            way.starts.see(ns, gap, MAX_STARTS / BUSY_LANES * if number < BUSY_LANES { BUSY_LANES } else { 1 });
            way.starts.packets += 1;
            if let Some((lane, _)) = lane {
                *way.inside.entry(lane).or_insert(0) += 1;
            }
        }
        let last = stack.sas.last().filter(|sa| sa.sequence_seen);
        let key = last.map(|sa| SaKey { protocol: sa.protocol, src: outer.src, dst: outer.dst, spi: sa.spi });
        let id = SaId { key, src: outer.src, dst: outer.dst };
        let sa = match tap.numbers.get(&id) {
            Some(sa) => *sa,
            None if tap.sas.len() >= MAX_SAS => (MAX_SAS - 1) as u16,
            None => {
                tap.sas.push(id);
                let number = (tap.sas.len() - 1) as u16;
                tap.numbers.insert(id, number);
                number
            }
        };
        let inner = inside.map_or(0, |inside| clamp(inside.bytes));
        let l1 = clamp(l1_of(packet_frame(stack, outer)));
        let own = Outer {
            t: ns,
            pos: sight.frame.pos,
            key: inside.and_then(|inside| inside.key).map_or(ContentDigest::NONE, ContentDigest::of),
            stream: sa,
            share: Share::one(u32::from(l1), u32::from(inner)),
            detail: InTunnel { sequence: last.map_or(0, |sa| sa.sequence), outer: clamp(outer.total_bytes), inner, l1 },
        };
        if last.is_some() {
            tap.skipped.see(sa, ns, own.detail.sequence);
        }
        let spot = tap.tunnelled.push(own);
        if outer.more_fragments {
            let train = self.train(outer);
            train.first = Some((sa, spot));
            let (more, length) = (train.l1, train.outer);
            self.longer(at, (sa, spot), (more, length), ns);
        }
    }

    /// A later fragment of an outer packet.
    fn piece(&mut self, at: usize, ns: i64, stack: &Stack, outer: &IpHeader) {
        let l1 = clamp(l1_of(packet_frame(stack, outer)));
        let end = clamp(outer.fragment_offset.saturating_add(outer.total_bytes));
        let train = self.train(outer);
        match train.first {
            None => {
                train.l1 = train.l1.saturating_add(l1);
                train.outer = train.outer.max(end);
            }
            Some(first) => self.longer(at, first, (l1, end), ns),
        }
    }

    /// A fragment more of a packet whose first one was seen. If that is no record any more, the octets are of its SA.
    fn longer(&mut self, at: usize, (sa, spot): (u16, Option<Spot>), (l1, end): (u16, u16), ns: i64) {
        let Some(kept) = self.tap.get_mut(at).map(|tap| &mut tap.tunnelled) else { return };
        let own = match spot {
            Some(spot) => kept.at(spot),
            None => kept.held(sa),
        };
        if let Some(own) = own {
            own.detail.l1 = own.detail.l1.saturating_add(l1);
            own.detail.outer = own.detail.outer.max(end);
            own.t = own.t.max(ns);
            own.share.octets = own.share.octets.saturating_add(u32::from(l1));
        }
    }

    /// Whether it is a later fragment of a packet of a tunnel.
    fn is_in_train(&self, outer: &IpHeader) -> bool {
        let train = self.trains.get(&(outer.src, outer.dst, outer.identification));
        train.is_some_and(|train| train.first.is_some())
    }

    fn train(&mut self, outer: &IpHeader) -> &mut Train {
        let key = (outer.src, outer.dst, outer.identification);
        // A first fragment begins a new packet; numbers are used again.
        if outer.fragment_offset == 0 && self.trains.get(&key).is_some_and(|train| train.first.is_some()) {
            self.trains.remove(&key);
        }
        if self.trains.len() >= MAX_TRAINS && !self.trains.contains_key(&key) {
            self.trains.clear();
        }
        self.trains.entry(key).or_default()
    }

    /// Of each tap: frames, packets in clear, packets in a tunnel.
    pub(crate) fn counts(&self) -> [(u64, u64, u64); 3] {
        self.tap.each_ref().map(|tap| (tap.frames, tap.packets, tap.opaque))
    }

    /// Taps whose frames are none of Ethernet, so that their lengths on the wire are assumed.
    pub(crate) fn assumed(&self) -> [bool; 3] {
        self.tap.each_ref().map(|tap| tap.assumed)
    }

    /// Whether the plain tap shows a tunnel and the tunnel's tap none.
    pub(crate) fn looks_swapped(&self) -> bool {
        let (near, middle) = (self.place(Place::Near), self.place(Place::Middle));
        near.opaque > 0 && middle.opaque == 0 && middle.packets > 0
    }

    /// Takes back that a clock was set forward.
    pub(super) fn undo(&mut self, step: Forward) {
        let place = step.place as usize;
        if let Some(tap) = self.tap.get_mut(place) {
            tap.undo(step.after, step.by, step.doubtful);
        }
        for start in self.flows.lane.iter_mut().filter_map(|lane| lane.at.get_mut(place)).flat_map(|at| &mut at.starts)
        {
            if *start > step.after {
                *start = start.saturating_sub(step.by);
            }
        }
    }

    /// Records further apart are all kept, at all taps.
    pub(super) fn apart(&self) -> i64 {
        self.tap.iter().map(|tap| tap.plain.apart.max(tap.tunnelled.apart)).max().unwrap_or(0)
    }

    /// Whether records of a tap were thinned.
    pub(super) fn is_thinned(&self) -> bool {
        self.tap.iter().any(Tap::is_thinned)
    }

    /// Puts all records in order of time.
    pub(crate) fn sort(&mut self) {
        self.tap.iter_mut().for_each(Tap::sort);
    }

    pub(super) const fn place(&self, place: Place) -> &Tap {
        let [near, middle, far] = &self.tap;
        match place {
            Place::Near => near,
            Place::Middle => middle,
            Place::Far => far,
        }
    }

    /// Whether a tap shows packets under IPsec or in a tunnel.
    pub(super) fn is_tunnel(&self, place: Place) -> bool {
        place == Place::Middle && !self.place(place).tunnelled.records.is_empty()
    }
}

/// Octets of a frame with this packet, without FCS, as they were on the wire: sliced captures keep the lengths of IP.
fn packet_frame(stack: &Stack, outer: &IpHeader) -> u32 {
    let link = if stack.flags.not_ethernet { 14 } else { outer.offset.saturating_sub(stack.start) };
    link.saturating_add(outer.total_bytes)
}

/// Octets at layer 1 of a frame of so many octets without FCS.
fn l1_of(frame_bytes: u32) -> u32 {
    frame_bytes.max(MINIMUM_WITHOUT_FCS).saturating_add(FCS).saturating_add(PREAMBLE_AND_IFG as u32)
}

fn clamp(octets: u32) -> u16 {
    u16::try_from(octets).unwrap_or(u16::MAX)
}

fn ports(upper: &[u8]) -> (u16, u16) {
    match upper {
        [a, b, c, d, ..] => (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])),
        _ => (0, 0),
    }
}
