//! Which SA lost packets would have gone through, and which packets in the tunnel no plaintext tap could have shown.

use std::collections::{BTreeMap, BTreeSet};

use super::Losses;
use crate::matching::content::identity;
use crate::matching::measure::tally::Tally;
use crate::matching::packets::flows::{FlowId, FlowKey, Flows};
use crate::matching::packets::ledger::{Ledger, Lost};
use crate::model::Address;

/// Whether SAs of several tunnels carry a flow, and one of them packets that no other network is likely to send: each may carry all of the flow.
fn is_doubled(sas: &BTreeSet<u32>, tally: &Tally) -> bool {
    /// Packets that are no stray.
    const FEW: u64 = 2;
    let own = || sas.iter().filter_map(|sa| tally.sas.get(*sa as usize));
    let tunnels: BTreeSet<(Address, Address)> = own().map(|sa| sa.key.ends()).collect();
    tunnels.len() > 1 && own().any(|sa| sa.alone > FEW)
}

impl Losses {
    /// Takes in what is missing of flows that go through several SAs: what a hole in the numbers names is of its SA, the others are of the one that
    /// the flow went through at the time.
    pub(super) fn in_turns(&mut self, tally: &Tally, flows: &Flows, ledger: &Ledger) {
        let mut lost: BTreeMap<FlowId, Vec<&Lost>> = BTreeMap::new();
        for own in ledger.lost.iter().filter(|own| tally.turns.several(own.flow).is_some()) {
            lost.entry(own.flow).or_default().push(own);
        }
        for (flow, counts) in flows.iter().filter(|(flow, counts)| counts.unmatched > 0 && flows.is_selected(*flow)) {
            let (Some(sas), Some(latest)) = (tally.turns.several(flow), tally.flow_sa.get(&flow)) else { continue };
            let own = lost.remove(&flow).unwrap_or_default();
            if own.len() as u64 != counts.unmatched {
                // Too many to be listed.
                *self.missed.entry(*latest).or_default() += counts.unmatched;
                self.share(sas, counts.unmatched);
                let sizes = ledger.missed.iter().filter(|((of, _), _)| *of == flow);
                for ((_, bytes), count) in sizes {
                    *self.missed_sizes.entry((*latest, *bytes)).or_default() += count;
                }
                continue;
            }
            for lost in &own {
                let sa = tally.sa_of(lost).unwrap_or(*latest);
                *self.missed.entry(sa).or_default() += 1;
                *self.missed_sizes.entry((sa, lost.bytes)).or_default() += 1;
            }
            let is_mixed = tally.turns.is_mixed(flow) || is_doubled(sas, tally);
            for lost in own.iter().filter(|lost| lost.hole.is_none()) {
                if is_mixed {
                    self.share(sas, 1);
                } else if let Some(both) = tally.turns.between(flow, lost.time.ns()) {
                    self.share(&BTreeSet::from(both), 1);
                }
            }
        }
    }

    /// Plaintext packets of an SA that the tunnel tap did not show.
    pub(in crate::matching) fn missed_of(&self, sa: u32) -> u64 {
        self.missed.get(&sa).copied().unwrap_or(0)
    }

    /// Packets that may be of any of these SAs.
    fn share(&mut self, sas: &BTreeSet<u32>, count: u64) {
        for sa in sas {
            *self.shared.entry(*sa).or_default() += count;
        }
    }

    /// Compares flows without any pair with the unpaired packets of the SAs between the same networks, by number and by length. Flows seen in clear
    /// are outside the tunnel.
    pub(super) fn left_out(&mut self, tally: &Tally, flows: &Flows, ledger: &Ledger) {
        /// Packets of the tunnel that are no stray.
        const FEW: u64 = 2;
        /// Packets of other lengths than the tunnel's unpaired ones, as 1 in N.
        const OTHERS: u64 = 16;
        let mut alone: BTreeMap<(Address, Address), u64> = BTreeMap::new();
        for sa in &tally.sas {
            *alone.entry(sa.key.ends()).or_default() += sa.alone;
        }
        let carried = (0..).zip(&tally.sas).filter(|(_, sa)| sa.is_by_order() && sa.alone > FEW);
        let is_left_out = |id: FlowId| !flows.is_selected(id) && flows.get(id).clear == 0;
        let left = ledger.missed.iter().filter(|((id, _), _)| is_left_out(*id));
        let left: Vec<(FlowKey, u32, u64, bool)> = left
            .filter_map(|((id, bytes), count)| Some((flows.key(*id)?, *bytes, *count, flows.get(*id).is_hidden())))
            .collect();
        for (at, sa) in carried {
            let (Some(src), Some(dst), Some(mapping)) = (sa.src, sa.dst, sa.mapping) else { continue };
            let (src, dst) = (src.site(), dst.site());
            let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
            let mut hidden: BTreeMap<u32, u64> = BTreeMap::new();
            for (_, bytes, count, is_hidden) in
                left.iter().filter(|(key, ..)| src.covers(key.src) && dst.covers(key.dst))
            {
                let esp = mapping.esp(*bytes).unwrap_or(0);
                *lengths.entry(esp).or_default() += count;
                *hidden.entry(esp).or_default() += if *is_hidden { *count } else { 0 };
            }
            let plain: u64 = lengths.values().sum();
            let unpaired = |esp: &u32| sa.alone_frames.lengths.get(esp).copied().unwrap_or(0);
            let customers = hidden.iter().map(|(esp, count)| (*count).min(unpaired(esp))).sum();
            if sa.encapsulated == Some(false) && customers > 0 {
                self.customers.insert(at, customers);
            }
            let others: u64 = lengths.iter().map(|(esp, count)| count.saturating_sub(unpaired(esp))).sum();
            let tunnelled = alone.get(&sa.key.ends()).copied().unwrap_or(0);
            let is_alike = plain * 2 >= tunnelled && plain * 2 <= tunnelled * 3;
            if is_alike && (others <= FEW.max(plain / OTHERS) || tunnelled > sa.alone) {
                self.left_out.insert(at, (plain, tunnelled));
            }
        }
    }

    /// Whether too many packets are unpaired for the latencies of the pairs to represent the SA: the most delayed packets are missing.
    pub(in crate::matching) fn is_half_found(&self, at: u32, pairs: u64) -> bool {
        /// Unpaired packets that do not change a median, as 1 in N pairs.
        const OF: u64 = 8;
        self.left_out.get(&at).is_some_and(|(_, tunnelled)| tunnelled * OF > pairs)
    }

    /// Takes in packets in the tunnel without counterpart, as far as no plaintext packet was seen between the addresses inside, neither way: a tap that
    /// shows what a host sends shows what it receives.
    pub(super) fn unseen_addresses(&mut self, tally: &Tally, flows: &Flows) {
        let keys = flows.iter().filter_map(|(flow, _)| flows.key(flow));
        let seen: BTreeSet<u64> =
            keys.flat_map(|key| [identity::ends(key.src, key.dst), identity::ends(key.dst, key.src)]).collect();
        for ((sa, _), own) in tally.strangers.0.iter().filter(|((_, ends), _)| !seen.contains(ends)) {
            *self.strange.entry(*sa).or_default() += own.packets;
        }
    }
}
