//! Services of plaintext traffic, by their port: a policy may keep one of them out of the tunnel that takes the others of the same hosts.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::FlowId;
use crate::dissect::IpHeader;
use crate::matching::limits::MAX_FLOWS;

/// The lower port of a packet: that of the service, where the other one is the client's.
pub(in crate::matching) type Service = u16;

/// The service of a packet; `None` of fragments, and where the protocol has no ports or the capture was cut before them.
pub(in crate::matching) fn service(octets: &[u8], outer: &IpHeader) -> Option<Service> {
    /// TCP, UDP, UDP-Lite, SCTP, DCCP.
    const WITH_PORTS: [u8; 5] = [6, 17, 136, 132, 33];
    if outer.is_fragment() || !WITH_PORTS.contains(&outer.protocol) {
        return None;
    }
    let start = outer.offset.checked_add(outer.header_bytes)? as usize;
    let [a, b, c, d] = *octets.get(start..)?.first_chunk::<4>()?;
    Some(u16::from_be_bytes([a, b]).min(u16::from_be_bytes([c, d])))
}

/// Packets of each service that were found in the tunnel, and those that were not.
#[derive(Debug, Default)]
pub(in crate::matching) struct Services {
    found: HashMap<(FlowId, Service), u64, FixedState>,
    missed: BTreeMap<(FlowId, Service), u64>,
    /// Packets of the two latest services that are not counted in `found` yet: packets go both ways, and neighbours of one way are mostly of one
    /// service.
    latest: [Option<((FlowId, Service), u64)>; 2],
}

impl Services {
    /// A packet was found in the tunnel.
    #[inline]
    pub(in crate::matching) fn found(&mut self, flow: FlowId, service: Option<Service>) {
        let Some(key) = service.map(|service| (flow, service)) else { return };
        match &mut self.latest {
            [Some((latest, count)), _] | [_, Some((latest, count))] if *latest == key => *count += 1,
            _ => self.begin(key),
        }
    }

    /// Takes in a packet of a service that is none of the two latest.
    fn begin(&mut self, key: (FlowId, Service)) {
        let [latest, gone] = self.latest;
        if let Some((key, count)) = gone
            && let Some(own) = self.found.get_mut(&key)
        {
            *own += count;
        }
        if self.found.len() < MAX_FLOWS {
            self.found.entry(key).or_default();
        }
        self.latest = [Some((key, 1)), latest];
    }

    /// A packet was not found in the tunnel.
    pub(in crate::matching) fn missed(&mut self, flow: FlowId, service: Option<Service>) {
        let Some(key) = service.map(|service| (flow, service)) else { return };
        if self.missed.len() < MAX_FLOWS || self.missed.contains_key(&key) {
            *self.missed.entry(key).or_default() += 1;
        }
    }

    /// A packet that was not found came after all.
    pub(in crate::matching) fn came(&mut self, flow: FlowId, service: Option<Service>) {
        if let Some(count) = service.and_then(|service| self.missed.get_mut(&(flow, service))) {
            *count = count.saturating_sub(1);
        }
        self.found(flow, service);
    }

    /// Services of which packets are missing: their packets that were not found, and those that were.
    pub(in crate::matching) fn missing(&self) -> impl Iterator<Item = ((FlowId, Service), u64, u64)> {
        let latest =
            |key| self.latest.iter().flatten().find(|(latest, _)| *latest == key).map_or(0, |(_, count)| *count);
        self.missed.iter().map(move |(key, missed)| {
            // Where no more were told apart, it may have been found.
            let full = if self.found.len() < MAX_FLOWS { 0 } else { u64::MAX };
            let found = self.found.get(key).copied().unwrap_or(full);
            (*key, *missed, found.saturating_add(latest(*key)))
        })
    }
}
