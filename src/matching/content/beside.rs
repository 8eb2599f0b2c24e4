//! Packets in clear on the tunnel's side: traffic beside the tunnel, or what the gateway's own capture shows once more.

use std::collections::{BTreeMap, VecDeque};

use super::identity::Identity;
use super::queue::Queue;
use crate::keys::Sight;
use crate::matching::Matcher;
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::ledger::Crowded;
use crate::matching::packets::numbers::Numbers;

/// Flows whose packets are compared with the ESP in front of them, and pairs of MACs.
const MAX_FLOWS: usize = 4_096;
const MAX_LANES: usize = 256;
/// How long a gateway takes to decrypt a packet, at most: a link without other traffic brings something else later.
const SOON_NS: u64 = 250_000;
/// Packets that a gateway takes in at once, at most.
const BURST: usize = 64;
/// What ESP adds in tunnel mode, without padding against traffic analysis: from header, trailer and the shortest ICV without IV and padding
/// to AES-CBC with the longest ICV around GRE (RFC 4303 section 2).
const ADDED: std::ops::RangeInclusive<u32> = 18..=101;

/// Source and destination of frames, where the link has MACs: what a gateway shows once more keeps those of the frame it came in.
type Macs = Option<([u8; 6], [u8; 6])>;

/// Packets in clear on the tunnel's side.
#[derive(Debug, Default)]
pub(in crate::matching) struct Beside {
    /// Those that wait for their sight on the plain side.
    waiting: Queue<Option<i64>>,
    numbers: Numbers<Macs>,
    /// By number of their MACs.
    lanes: Vec<Lane>,
    /// By flow, packets behind ESP that they fit in, and others.
    flows: BTreeMap<FlowKey, (u64, u64)>,
}

/// Opaque ESP of one way.
#[derive(Debug, Default)]
struct Lane {
    /// What came last, each with its length from header to ICV, until a packet in clear is taken for what it carried.
    latest: VecDeque<(i64, u32)>,
    /// Packets that were followed by what fits in them, and others.
    followed: u64,
    alone: u64,
}

impl Lane {
    /// Whether a packet in clear is the content of the next of these: they come out in the order in which they went in.
    fn follow(&mut self, ns: i64, bytes: u32) -> bool {
        self.forget(ns);
        let fits = |(_, esp): &(i64, u32)| esp.checked_sub(bytes).is_some_and(|more| ADDED.contains(&more));
        let Some(at) = self.latest.iter().position(fits) else { return false };
        self.alone += at as u64;
        self.followed += 1;
        self.latest.drain(..=at);
        // The capture of a gateway shows nearly all of them; bypass traffic fits in some by chance.
        self.followed >= self.alone * 3
    }

    /// What is behind those that were too long ago was not shown.
    fn forget(&mut self, ns: i64) {
        let is_old = |own: &mut (i64, u32)| ns < own.0 || ns.abs_diff(own.0) > SOON_NS;
        while self.latest.len() >= BURST || self.latest.front_mut().is_some_and(is_old) {
            self.latest.pop_front();
            self.alone += 1;
        }
    }
}

impl Beside {
    /// Takes in an opaque ESP packet: `bytes` is its length from header to ICV.
    pub(in crate::matching) fn esp(&mut self, macs: Macs, ns: i64, bytes: u32) {
        let number = match self.numbers.get(macs) {
            Some(number) => number,
            None if self.lanes.len() >= MAX_LANES => return,
            None => {
                let number = self.lanes.len() as u32;
                self.numbers.insert(macs, number);
                self.lanes.push(Lane::default());
                number
            }
        };
        self.esp_of(number, ns, bytes);
    }

    /// The number of a way that opaque ESP was seen on.
    pub(in crate::matching) fn number(&mut self, macs: Macs) -> Option<u32> {
        self.numbers.get(macs)
    }

    /// Takes in an opaque ESP packet of a way.
    #[inline]
    pub(in crate::matching) fn esp_of(&mut self, number: u32, ns: i64, bytes: u32) {
        if let Some(lane) = self.lanes.get_mut(number as usize) {
            lane.forget(ns);
            lane.latest.push_back((ns, bytes));
        }
    }

    /// Whether a packet of a flow is what came out of the ESP in front of it, as nearly all of its flow are.
    fn is_decapsulated(&mut self, (macs, flow): (Macs, FlowKey), ns: Option<i64>, bytes: u32) -> bool {
        let number = self.numbers.get(macs);
        let Some(lane) = number.and_then(|number| self.lanes.get_mut(number as usize)) else { return false };
        let follows = ns.is_some_and(|ns| lane.follow(ns, bytes));
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&flow) {
            return false;
        }
        let (behind, apart) = self.flows.entry(flow).or_default();
        *if follows { &mut *behind } else { &mut *apart } += 1;
        follows && *behind > *apart * 7
    }

    /// Whether a packet was seen here in clear; it waits no longer.
    #[inline]
    pub(in crate::matching) fn take(&mut self, identity: Identity) -> bool {
        !self.waiting.is_empty() && self.waiting.take(identity, None, |_| 0).is_some()
    }

    /// Packets that made room for others, and those that were not compared.
    pub(in crate::matching) const fn crowded(&self) -> &Crowded {
        &self.waiting.crowded
    }

    /// Packets for which none was found among those compared, while there were more.
    pub(in crate::matching) fn missed(&self) -> u64 {
        self.waiting.missed()
    }
}

impl Matcher {
    /// An IP packet in clear on the side of the tunnel.
    pub(in crate::matching) fn beside(&mut self, sight: &Sight<'_>) {
        let Some(outer) = sight.stack.outer() else { return };
        let Some(identity) = sight.plain(outer, 0).identity else { return };
        let (flow, ns) = (FlowKey { src: outer.src, dst: outer.dst, protocol: outer.protocol }, sight.frame.time.ns());
        // A gateway's own capture shows a packet once more when it has taken it out of the tunnel.
        if self.beside.is_decapsulated((sight.stack.macs, flow), ns, outer.total_bytes)
            || self.tunnel_index.is_latest(identity)
        {
            return;
        }
        match self.plain_with(identity) {
            Some((serial, _)) => self.ledger.clear(serial),
            None => {
                let read = self.ahead.map(|ahead| self.plain.until().saturating_add(ahead));
                let _ = self.beside.waiting.push(identity, ns, read, |ns| *ns);
            }
        }
    }
}
