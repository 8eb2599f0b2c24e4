//! Flows and pairs of addresses, as each tap sees them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::model::Address;
use crate::trials::limits::{BUSY_LANES, MAX_FLOWS, MAX_LANES, MAX_STARTS};

/// What tells flows apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FlowKey {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) protocol: u8,
    pub(crate) ports: (u16, u16),
}

/// Ports of what is left of flows beyond the limit.
const SHARED: (u16, u16) = (u16::MAX, u16::MAX);

impl FlowKey {
    /// Whether it stands for all flows of its addresses that found no number of their own.
    fn is_shared(&self) -> bool {
        self.ports == SHARED
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    /// The pair of its addresses.
    pub(crate) lane: usize,
    /// Octets before the IP header: 14 and tags.
    pub(crate) link: u32,
    /// Octets of IP and UDP or TCP headers.
    pub(crate) head: Option<u32>,
    /// Whether it is TCP with payload, or the other direction of such a connection.
    pub(crate) transfer: bool,
    /// As each tap sees it.
    pub(crate) at: [Busy; 3],
}

/// Packets of a flow at one tap, and its busiest second.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Busy {
    pub(crate) packets: u64,
    second: i64,
    count: u64,
    pub(crate) peak: u64,
}

impl Busy {
    fn see(&mut self, ns: i64) {
        let second = ns.div_euclid(1_000_000_000);
        if second != self.second {
            (self.second, self.count) = (second, 0);
        }
        self.count += 1;
        self.packets += 1;
        self.peak = self.peak.max(self.count);
    }
}

/// Beginnings of bunches: frames after a silence.
#[derive(Clone, Default, Debug)]
pub(crate) struct Starts {
    last: Option<i64>,
    pub(crate) starts: Vec<i64>,
    pub(crate) packets: u64,
}

impl Starts {
    pub(crate) fn see(&mut self, ns: i64, gap: i64, room: usize) {
        if self.last.is_none_or(|last| ns - last > gap) && self.starts.len() < room {
            self.starts.push(ns);
        }
        self.last = Some(ns);
    }
}

/// A pair of addresses, source and destination.
#[derive(Clone, Debug)]
pub(crate) struct FlowLane {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    /// At each tap: bunches.
    pub(crate) at: [Starts; 3],
    /// At each tap: all its flows together, but for transfers.
    pub(crate) busy: [Busy; 3],
    /// At each tap: time to live of the first packet; in the middle, of the packet in the tunnel.
    pub(crate) ttl: [Option<u8>; 3],
    /// MAC addresses at the first tap that shows it.
    pub(crate) macs: Option<([u8; 6], [u8; 6])>,
}

/// All flows of a run.
#[derive(Default, Debug)]
pub(crate) struct Flows {
    numbers: HashMap<FlowKey, u16, FixedState>,
    pub(crate) all: Vec<Flow>,
    lanes: HashMap<(Address, Address), usize, FixedState>,
    pub(crate) lane: Vec<FlowLane>,
    /// Packets of flows that found no number of their own.
    pub(crate) refused: u64,
}

impl Flows {
    /// Number of a flow. `octets`: before the IP header, and of the headers up to the payload.
    pub(crate) fn number(&mut self, key: FlowKey, octets: (u32, Option<u32>)) -> u16 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        // Ports at random: flows beyond the limit are one for each pair of addresses and protocol.
        if self.all.len() >= MAX_FLOWS && !key.is_shared() {
            self.refused += 1;
            return self.number(FlowKey { ports: SHARED, ..key }, octets);
        }
        if self.all.len() >= MAX_FLOWS + MAX_LANES {
            return (MAX_FLOWS - 1) as u16;
        }
        let number = self.all.len() as u16;
        let lane = self.lane(key.src, key.dst);
        let back = FlowKey { src: key.dst, dst: key.src, ports: (key.ports.1, key.ports.0), ..key };
        let transfer =
            self.numbers.get(&back).and_then(|back| self.all.get(usize::from(*back))).is_some_and(|f| f.transfer);
        self.numbers.insert(key, number);
        let (link, head) = octets;
        self.all.push(Flow { key, lane, link, head, transfer, at: Default::default() });
        number
    }

    /// The flow of the same addresses and protocol that took in those beyond the limit.
    pub(crate) fn shared(&self, number: usize) -> Option<&Flow> {
        if self.refused == 0 {
            return None;
        }
        let key = self.all.get(number)?.key;
        self.all.get(usize::from(*self.numbers.get(&FlowKey { ports: SHARED, ..key })?))
    }

    /// Number of a pair of addresses.
    pub(crate) fn lane(&mut self, src: Address, dst: Address) -> usize {
        if let Some(lane) = self.lanes.get(&(src, dst)) {
            return *lane;
        }
        if self.lane.len() >= MAX_LANES {
            self.refused += 1;
            return MAX_LANES - 1;
        }
        let number = self.lane.len();
        self.lanes.insert((src, dst), number);
        self.lane.push(FlowLane {
            src,
            dst,
            at: Default::default(),
            busy: Default::default(),
            ttl: [None; 3],
            macs: None,
        });
        number
    }

    /// Whether the lane is the one that sums all pairs of addresses beyond the limit.
    pub(crate) fn is_shared_lane(&self, number: usize) -> bool {
        number + 1 == MAX_LANES
    }

    /// The pair of addresses the other way round.
    pub(crate) fn back(&self, lane: &FlowLane) -> Option<usize> {
        self.lanes.get(&(lane.dst, lane.src)).copied()
    }

    /// Marks a connection with payload, both directions.
    pub(crate) fn carries(&mut self, number: u16) {
        let Some(flow) = self.all.get_mut(usize::from(number)).filter(|flow| !flow.transfer) else { return };
        flow.transfer = true;
        let key = flow.key;
        let back = FlowKey { src: key.dst, dst: key.src, ports: (key.ports.1, key.ports.0), ..key };
        if let Some(back) = self.numbers.get(&back).and_then(|back| self.all.get_mut(usize::from(*back))) {
            back.transfer = true;
        }
    }

    /// Takes note of a packet of a flow at a tap.
    pub(crate) fn see(&mut self, number: u16, tap: usize, ns: i64, gap: i64) -> Option<&mut FlowLane> {
        let flow = self.all.get_mut(usize::from(number))?;
        flow.at.get_mut(tap)?.see(ns);
        let transfer = flow.transfer;
        let room = if flow.lane < BUSY_LANES { MAX_STARTS } else { MAX_STARTS / BUSY_LANES };
        let lane = self.lane.get_mut(flow.lane)?;
        let at = lane.at.get_mut(tap)?;
        at.packets += 1;
        if !transfer {
            at.see(ns, gap, room);
            lane.busy.get_mut(tap)?.see(ns);
        }
        Some(lane)
    }
}
