//! Which packets were lost, and between which taps.

mod by_sa;
mod ends;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use self::ends::EndLosses;
use super::silence::is_no_chance;
use super::tally::{SaTally, Tally};
use crate::matching::packets::flows::services::{Service, Services};
use crate::matching::packets::flows::{FlowId, FlowKey, Flows};
use crate::matching::packets::ledger::Ledger;
use crate::model::Address;

/// Packets that were lost, by SA and by length.
#[derive(Debug, Default)]
pub(in crate::matching) struct Losses {
    /// Plaintext packets that the tunnel tap did not show.
    pub(in crate::matching) missed: BTreeMap<u32, u64>,
    pub(in crate::matching) missed_sizes: BTreeMap<(u32, u32), u64>,
    /// Packets of `missed` whose length is known.
    pub(in crate::matching) known_sizes: u64,
    /// The same of all SAs.
    pub(in crate::matching) unmatched_plain: u64,
    /// Plaintext packets of flows that were found in no SA.
    pub(in crate::matching) in_no_sa: u64,
    /// Plaintext packets from a time that the tunnel's capture does not cover.
    pub(in crate::matching) uncovered: BTreeMap<u32, u64>,
    /// Packets of `missed` of which is not known which SA of several they would have gone through.
    pub(in crate::matching) shared: BTreeMap<u32, u64>,
    /// Plaintext packets of flows without any pair, and about as many unpaired packets of the tunnel: they may be the same.
    pub(in crate::matching) left_out: BTreeMap<u32, (u64, u64)>,
    /// Packets in the tunnel without counterpart, between addresses that the plain tap never showed.
    pub(in crate::matching) strange: BTreeMap<u32, u64>,
    /// Those of which is not known whether they are in the tunnel.
    pub(in crate::matching) aside: BTreeMap<u32, u64>,
    /// Plaintext packets without counterpart of flows of which few others were found.
    pub(in crate::matching) sparse: BTreeMap<u32, u64>,
    /// Packets without counterpart of flows of which hardly any was found, by SA: one pair that is wrong makes such a flow seem to be in the tunnel.
    pub(in crate::matching) hardly: BTreeMap<u32, u64>,
    /// Pairs of flows that go past the tunnel, by SA: each may have taken the place of a packet that has no counterpart then.
    pub(in crate::matching) strayed: BTreeMap<u32, u64>,
    /// Packets that the hosts behind the gateways had put into ESP or AH themselves, in flows that were not compared by order, whose lengths fit packets
    /// out of the tunnel without counterpart; by SA.
    pub(in crate::matching) customers: BTreeMap<u32, u64>,
    /// Those of a service of which few others were found, while the rest of its flow was: its port and its packets.
    pub(in crate::matching) unfound: BTreeMap<u32, (Service, u64)>,
    /// All plaintext packets that repeat one seen shortly before.
    pub(in crate::matching) repeated: BTreeMap<u32, u64>,
    /// Packets that the later of the plain tap and the far one did not show; `None` without a far one.
    pub(in crate::matching) ends: Option<EndLosses>,
    /// Packets of `missed` that are longer than any in the tunnel, while packets of their flows there have no counterpart.
    pub(in crate::matching) offloaded: BTreeMap<u32, u64>,
    /// Fragments of the plain side that were not found where the tunnel carries packets that were put together of others.
    pub(in crate::matching) torn: BTreeMap<u32, u64>,
    /// Packets of flows that were refused whole, by the smallest MTU that the errors state.
    pub(in crate::matching) refused: Option<(u32, u64)>,
    /// Smallest MTU that an ICMP error stated to a sender, by SA.
    pub(in crate::matching) mtus: BTreeMap<u32, u32>,
}

/// Packets by SA, and by SA and length.
type Counts = (BTreeMap<u32, u64>, BTreeMap<(u32, u32), u64>);

impl Losses {
    pub(in crate::matching) fn of(tally: &Tally, flows: &Flows, ledger: &Ledger) -> Self {
        let mut losses = Self { offloaded: ledger.offloaded.clone(), ..Self::default() };
        for (flow, counts) in flows.iter().filter(|(flow, _)| flows.is_selected(*flow)) {
            losses.unmatched_plain += counts.unmatched;
            if let Some(sa) = tally.flow_sa.get(&flow) {
                if tally.turns.several(flow).is_none() {
                    *losses.missed.entry(*sa).or_default() += counts.unmatched;
                }
                *losses.uncovered.entry(*sa).or_default() += counts.uncovered;
                *losses.aside.entry(*sa).or_default() += counts.aside;
                *losses.repeated.entry(*sa).or_default() += counts.repeated;
                if counts.is_hardly_found() {
                    *losses.hardly.entry(*sa).or_default() += counts.unmatched;
                }
            }
        }
        let others = flows.iter().filter(|(flow, _)| !flows.is_selected(*flow));
        losses.in_no_sa = others.map(|(_, counts)| counts.unmatched + counts.aside + counts.uncovered).sum();
        for (flow, counts) in flows.iter().filter(|(flow, counts)| counts.matched > 0 && !flows.is_selected(*flow)) {
            if let Some(sa) = tally.flow_sa.get(&flow) {
                *losses.strayed.entry(*sa).or_default() += counts.matched;
            }
        }
        for (flow, counts) in flows.iter().filter(|(flow, _)| flows.is_sparse(*flow)) {
            if let Some(sa) = tally.flow_sa.get(&flow) {
                *losses.sparse.entry(*sa).or_default() += counts.unmatched;
            }
        }
        for ((flow, bytes), count) in &ledger.missed {
            losses.known_sizes += if flows.is_selected(*flow) { *count } else { 0 };
            let is_single = |_: &&u32| flows.is_selected(*flow) && tally.turns.several(*flow).is_none();
            if let Some(sa) = tally.flow_sa.get(flow).filter(is_single) {
                *losses.missed_sizes.entry((*sa, *bytes)).or_default() += count;
            }
        }
        for (flow, count) in ledger.torn.iter().filter(|_| ledger.joins_fragments) {
            if let Some(sa) = tally.flow_sa.get(flow) {
                *losses.torn.entry(*sa).or_default() += count;
            }
        }
        losses.in_turns(tally, flows, ledger);
        losses.left_out(tally, flows, ledger);
        losses.unseen_addresses(tally, flows);
        losses.services(&ledger.services, tally, flows);
        losses
    }

    /// Takes in services that are missing as a whole, by no chance.
    fn services(&mut self, services: &Services, tally: &Tally, flows: &Flows) {
        /// Packets that say something of a service, and the share of it that may be found by mistake, as 1 in N.
        const ENOUGH: u64 = 6;
        const OF: u64 = 10;
        for ((flow, service), missed, found) in services.missing() {
            let Some(sa) = tally.flow_sa.get(&flow).filter(|_| flows.is_selected(flow)) else { continue };
            let own = flows.get(flow);
            let others = own.unmatched.saturating_sub(missed);
            if missed >= ENOUGH && found.saturating_mul(OF) < missed && is_no_chance(missed, others, own.matched) {
                let told = self.unfound.entry(*sa).or_insert((service, 0));
                *told = if missed > told.1 { (service, missed) } else { *told };
            }
        }
    }

    /// Takes in what ICMP errors say of the MTU, by the addresses of the packet that was too big.
    pub(in crate::matching) fn too_big(
        &mut self,
        stated: &BTreeMap<(Address, Address), u32>,
        tally: &Tally,
        flows: &Flows,
    ) {
        for (key, (_, sa)) in sas(tally, flows) {
            if let Some(mtu) = stated.get(&(key.src, key.dst)) {
                let own = self.mtus.entry(sa).or_insert(*mtu);
                *own = (*own).min(*mtu);
            }
        }
        for (id, flow) in flows.iter().filter(|(_, flow)| flow.is_refused() && !flow.adopted) {
            if let Some(mtu) = flows.key(id).and_then(|key| stated.get(&(key.src, key.dst))) {
                let (least, count) = self.refused.get_or_insert((*mtu, 0));
                *least = (*least).min(*mtu);
                *count += flow.refused;
            }
        }
    }

    /// Packets of an SA that were lost before the tunnel's tap by its capture, and reached the exit all the same.
    pub(in crate::matching) fn arrived(&self, at: u32, sa: &SaTally) -> u64 {
        let Some(ends) = self.ends.as_ref().filter(|_| sa.encapsulated == Some(true)) else { return 0 };
        let arrived = ends.arrived.get(&at).copied().unwrap_or(0);
        // Of packets that are equal byte for byte any may be taken for another.
        let behind = ends.behind.as_ref().and_then(|(sas, _)| sas.get(&at)).copied().unwrap_or(0);
        if sa.is_alike() && !sa.is_by_order() { arrived.saturating_sub(behind) } else { arrived }
    }

    /// Whether the two plaintext sides show which packets an SA lost.
    pub(in crate::matching) fn is_told(&self, sa: u32) -> bool {
        self.ends.as_ref().is_some_and(|ends| !ends.is_untold(sa))
    }

    /// Packets lost from end to end, and those of them that the tunnel tap had seen: of an SA, or of packets of one length in it.
    pub(in crate::matching) fn behind(
        &self,
        sa: u32,
        bytes: Option<u32>,
        before: Option<u64>,
    ) -> (Option<u64>, Option<u64>) {
        let is_known = |ends: &&EndLosses| !ends.open.contains_key(&sa) && self.is_told(sa);
        let Some(ends) = self.ends.as_ref().filter(is_known) else { return (None, None) };
        // Of an SA without flows nothing is known.
        let Some(all) = ends.lost.get(&sa).copied() else { return (None, None) };
        let lost = bytes.map_or(all, |bytes| ends.sizes.get(&(sa, bytes)).copied().unwrap_or(0));
        let of = |counts: &Option<Counts>| {
            let (sas, sizes) = counts.as_ref()?;
            Some(bytes.map_or_else(|| sas.get(&sa), |bytes| sizes.get(&(sa, bytes))).copied().unwrap_or(0))
        };
        let behind = before.and_then(|before| {
            // Where not all are listed, the difference tells, unless it is one of different times.
            let told = of(&ends.behind).or_else(|| ends.is_same_time.then_some(lost))?;
            // What was lost before the tunnel while the exit was recording did not reach it either: a pair by order may have taken a neighbour for it.
            let before = of(&ends.before).map_or(before, |told| told.min(before));
            Some(told.min(lost.saturating_sub(before)))
        });
        (Some(lost), behind)
    }
}

/// The number of each flow, and the SA that it went through last.
fn sas(tally: &Tally, flows: &Flows) -> HashMap<FlowKey, (FlowId, u32), FixedState> {
    tally.flow_sa.iter().filter_map(|(flow, sa)| Some((flows.key(*flow)?, (*flow, *sa)))).collect()
}
