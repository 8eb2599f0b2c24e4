//! Packets that neither the tunnel nor the other plaintext side shows, beside others that both do: hosts that send one packet, which is lost.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::{EndFlows, EndLosses};
use crate::matching::content::ends::OpenEnd;
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::prefix::Prefix;
use crate::model::Address;

/// Packets by way that go from networks to hosts whose other packets go through the tunnel, of flows that no SA and not the other side shows.
pub(super) struct Unheard(BTreeMap<i8, u64>);

impl Unheard {
    pub(super) fn of(flows: &EndFlows<'_>) -> Self {
        let all = || (0..).zip(&flows.ends.flows);
        let of_way = |own: i8| {
            let shown =
                all().filter(|(at, (_, flow))| flow.matched > 0 && flows.way(*at).is_some_and(|(way, _)| way == own));
            let keys: Vec<FlowKey> = shown.map(|(_, (key, _))| *key).collect();
            let from = keys.iter().map(|key| key.src).fold(None, |all: Option<Prefix>, src| {
                let mut all = all.unwrap_or_else(|| Prefix::of(src));
                all.cover(src);
                Some(all)
            });
            let hosts: HashSet<Address, FixedState> = keys.iter().map(|key| key.dst).collect();
            let sources: HashSet<Address, FixedState> = keys.iter().map(|key| key.src).collect();
            (from.map(Prefix::site), hosts, sources)
        };
        let mut counts: BTreeMap<i8, u64> = BTreeMap::new();
        for way in [1, -1] {
            let (Some(from), to_hosts, sources) = of_way(way) else { continue };
            let (_, _, answering) = of_way(-way);
            for (_, (key, flow)) in all().filter(|(at, (_, flow))| flow.matched == 0 && flows.way(*at).is_none()) {
                // What one server sends to many hosts is known by the server.
                let is_own = from.covers(key.src) && to_hosts.contains(&key.dst)
                    || sources.contains(&key.src) && answering.contains(&key.dst);
                let count = if way > 0 { flow.only_plain } else { flow.only_exit };
                if is_own && count > 0 {
                    *counts.entry(way).or_default() += count;
                }
            }
        }
        Self(counts)
    }
}

impl EndLosses {
    /// Leaves open what SAs and ways lost where packets between their networks may have been lost, too, as the only ones of their flows.
    pub(super) fn leave_unheard_open(&mut self, flows: &EndFlows<'_>, unheard: Unheard) {
        for (way, count) in unheard.0 {
            *self.open_ways.entry(way).or_default() += count;
            let sas: BTreeSet<u32> =
                flows.ways.iter().flatten().filter(|(own, _)| *own == way).filter_map(|(_, sa)| *sa).collect();
            for sa in sas {
                *self.open.entry(sa).or_default() += count;
                let why = self.why.entry(sa).or_default();
                *why = OpenEnd::Unheard.max(*why);
            }
        }
    }
}
