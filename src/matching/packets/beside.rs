//! Packets in clear on the tunnel's side: traffic beside the tunnel, or what the gateway's own capture shows once more.

use std::collections::BTreeMap;

use crate::keys::Sight;
use crate::matching::Matcher;
use crate::matching::content::identity::Identity;
use crate::matching::content::queue::Queue;
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::ledger::Crowded;

/// Flows whose packets are compared with the ESP in front of them.
const MAX_FLOWS: usize = 4_096;
/// How long a gateway takes to decrypt a packet, at most: a link without other traffic brings something else later.
const SOON_NS: u64 = 1_000_000;
/// What ESP adds in tunnel mode, without padding against traffic analysis: from header, trailer and the shortest ICV without IV and padding
/// to AES-CBC with the longest ICV around GRE (RFC 4303 section 2).
const ADDED: std::ops::RangeInclusive<u32> = 18..=101;

/// Packets in clear on the tunnel's side.
#[derive(Debug, Default)]
pub(in crate::matching) struct Beside {
    /// Those that wait for their sight on the plain side.
    waiting: Queue<Option<i64>>,
    /// The frame before, if it was opaque ESP that nothing followed yet: its time and its length from header to ICV.
    before: Option<(i64, u32)>,
    /// By flow, packets directly behind ESP that they fit in, and others.
    flows: BTreeMap<FlowKey, (u64, u64)>,
}

impl Beside {
    /// Opaque ESP of so many octets came.
    pub(in crate::matching) fn esp(&mut self, ns: i64, bytes: u32) {
        self.before = Some((ns, bytes));
    }

    /// Another packet came.
    pub(in crate::matching) const fn other(&mut self) {
        self.before = None;
    }

    /// Whether a packet of a flow is what came out of the ESP in front of it: as nearly all of its flow are. Bypass traffic stands behind
    /// ESP that it fits in by chance.
    fn is_decapsulated(&mut self, flow: FlowKey, ns: Option<i64>, bytes: u32) -> bool {
        let before = self.before.take().zip(ns);
        let fits = before.is_some_and(|((before, esp), ns)| {
            ns >= before && ns.abs_diff(before) <= SOON_NS && esp.checked_sub(bytes).is_some_and(|more| ADDED.contains(&more))
        });
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&flow) {
            return false;
        }
        let (behind, apart) = self.flows.entry(flow).or_default();
        *if fits { &mut *behind } else { &mut *apart } += 1;
        fits && *behind > *apart * 7
    }

    /// Whether a packet was seen here in clear; it waits no longer.
    pub(in crate::matching) fn take(&mut self, identity: Identity) -> bool {
        self.waiting.take(identity, None, |_| 0).is_some()
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
        if self.beside.is_decapsulated(flow, ns, outer.total_bytes) || self.tunnel_index.is_latest(identity) {
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
