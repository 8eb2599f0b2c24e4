//! Which packets were lost, and between which taps.

mod by_sa;

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::FixedState;

use super::silence::is_no_chance;
use super::tally::{SaTally, Tally};
use crate::matching::content::ends::{EndToEnd, FlowEnds, OpenEnd};
use crate::matching::limits::{MAX_LOST, MAX_MISSED};
use crate::matching::packets::flows::services::{Service, Services};
use crate::matching::packets::flows::{FlowKey, Flows};
use crate::matching::packets::ledger::{Ledger, Lost};
use crate::model::{Address, FramePos};

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
    /// Plaintext packets from a time that the tunnel's capture does not cover.
    pub(in crate::matching) uncovered: BTreeMap<u32, u64>,
    /// Packets of `missed` of which is not known which SA of several they would have gone through.
    pub(in crate::matching) shared: BTreeMap<u32, u64>,
    /// Packets in the tunnel without counterpart, between addresses that the plain tap never showed.
    pub(in crate::matching) strange: BTreeMap<u32, u64>,
    /// Those of which is not known whether they are in the tunnel.
    pub(in crate::matching) aside: BTreeMap<u32, u64>,
    /// Plaintext packets without counterpart of flows of which few others were found.
    pub(in crate::matching) sparse: BTreeMap<u32, u64>,
    /// Those of a service of which few others were found, while the rest of its flow was: its port and its packets.
    pub(in crate::matching) unfound: BTreeMap<u32, (Service, u64)>,
    /// All plaintext packets that repeat one seen shortly before.
    pub(in crate::matching) repeated: BTreeMap<u32, u64>,
    /// Packets that the later of the plain tap and the far one did not show; `None` without a far one.
    pub(in crate::matching) ends: Option<EndLosses>,
    /// Packets of `missed` that are longer than any in the tunnel, while packets of their flows there have no counterpart.
    pub(in crate::matching) offloaded: BTreeMap<u32, u64>,
    /// Packets of flows that were refused whole, by the smallest MTU that the errors state.
    pub(in crate::matching) refused: Option<(u32, u64)>,
    /// Smallest MTU that an ICMP error stated to a sender, by SA.
    pub(in crate::matching) mtus: BTreeMap<u32, u32>,
}

/// Packets by SA, and by SA and length.
type Counts = (BTreeMap<u32, u64>, BTreeMap<(u32, u32), u64>);

/// Packets that were lost from one plaintext side to the other.
#[derive(Debug, Default)]
pub(in crate::matching) struct EndLosses {
    pub(in crate::matching) lost: BTreeMap<u32, u64>,
    pub(in crate::matching) sizes: BTreeMap<(u32, u32), u64>,
    /// Packets that may have been lost or not, by SA and by way.
    pub(in crate::matching) open: BTreeMap<u32, u64>,
    pub(in crate::matching) open_ways: BTreeMap<i8, u64>,
    /// Why, by SA.
    pub(in crate::matching) why: BTreeMap<u32, OpenEnd>,
    /// Whether some of them are missing in ticks of the timestamps, in which frames were shown.
    pub(in crate::matching) in_ticks: bool,
    /// By way: packets of its flows that both plaintext sides showed.
    pub(in crate::matching) matched: BTreeMap<i8, u64>,
    /// By way: packets, and the addresses of the flows.
    pub(in crate::matching) ways: BTreeMap<i8, (u64, Vec<(Address, Address)>)>,
    /// Those that the tunnel tap had shown, by SA and by SA and length; `None` where too many were lost to tell each of them.
    pub(in crate::matching) behind: Option<Counts>,
    /// Those that were lost before the tunnel's tap at a time that the exit covers, likewise.
    before: Option<Counts>,
    /// Packets that the exit showed and the tunnel's tap did not, by SA.
    pub(in crate::matching) arrived: BTreeMap<u32, u64>,
    /// Packets of the plain side that the exit did not show, or of which it says nothing; `None` where these are too many to be told.
    pub(in crate::matching) not_arrived: Option<HashSet<FramePos, FixedState>>,
    /// Frames of the plain side, with the SA that they went into.
    pub(in crate::matching) frames: Vec<(FramePos, i64, u32, u32)>,
}

impl EndLosses {
    /// Takes in the packets of a flow that may have been lost or not.
    fn leave_open(&mut self, sa: u32, flow: &FlowEnds) {
        *self.open.entry(sa).or_default() += flow.open;
        let why = self.why.entry(sa).or_default();
        *why = flow.why.max(*why);
    }
}

/// The way of each flow of both plaintext sides, towards the exit (1) or from it (-1), with its SA; `None` for what goes elsewhere.
fn ways(ends: &EndToEnd, sas: &HashMap<FlowKey, u32, FixedState>, tally: &Tally) -> Vec<Option<(i8, Option<u32>)>> {
    let balances = ends.balances();
    ends.flows
        .iter()
        .map(|(key, flow)| {
            let sa = sas.get(key).copied();
            let told = balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum() as i8;
            let answer = balances.get(&(key.dst, key.src)).copied().unwrap_or(0).signum() as i8;
            let by_tunnel = sa.and_then(|sa| tally.sas.get(sa as usize)?.encapsulated);
            let way = match (told, answer, by_tunnel) {
                (0, 0, Some(encapsulated)) => {
                    if encapsulated {
                        1
                    } else {
                        -1
                    }
                }
                (0, answer, _) => -answer,
                (told, ..) => told,
            };
            // What neither went into the tunnel nor came out at the other end goes elsewhere.
            (way != 0 && (flow.matched > 0 || sa.is_some())).then_some((way, sa))
        })
        .collect()
}

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
        losses.in_turns(tally, flows, ledger);
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

    /// Takes in what both plaintext sides say.
    pub(in crate::matching) fn ends(
        &mut self,
        ends: &EndToEnd,
        tally: &Tally,
        flows: &Flows,
        unpaired: &HashSet<FramePos, FixedState>,
        lost: &[Lost],
    ) {
        let mut own = EndLosses { in_ticks: ends.hides_in_ticks(), ..EndLosses::default() };
        let sas = sas(tally, flows);
        let of = ways(ends, &sas, tally);
        let way = |flow: u32| of.get(flow as usize).copied().flatten();
        for (at, (key, flow)) in ends.flows.iter().enumerate() {
            let Some((way, sa)) = way(at as u32) else { continue };
            let lost = if way > 0 { flow.only_plain } else { flow.only_exit };
            if flow.matched > 0 {
                *own.matched.entry(way).or_default() += flow.matched;
            }
            if lost > 0 {
                let row = own.ways.entry(way).or_default();
                row.0 += lost;
                row.1.push((key.src, key.dst));
            }
            if flow.open > 0 {
                *own.open_ways.entry(way).or_default() += flow.open;
                if let Some(sa) = sa {
                    own.leave_open(sa, flow);
                }
            }
            if let Some(sa) = sa {
                *own.lost.entry(sa).or_default() += lost;
            }
        }
        for ((flow, bytes, exit), count) in &ends.sizes {
            if let Some((way, Some(sa))) = way(*flow)
                && *exit == (way < 0)
            {
                *own.sizes.entry((sa, *bytes)).or_default() += count;
            }
        }
        let mut behind = Counts::default();
        for gone in &ends.gone {
            if let Some((1, Some(sa))) = way(gone.flow) {
                own.frames.push((gone.pos, gone.ns, gone.bytes, sa));
                if !unpaired.contains(&gone.pos) {
                    *behind.0.entry(sa).or_default() += 1;
                    *behind.1.entry((sa, gone.bytes)).or_default() += 1;
                }
            }
        }
        own.not_arrived = ends.not_arrived();
        if let Some(not_arrived) = &own.not_arrived {
            let mut before = Counts::default();
            for lost in lost.iter().filter(|lost| flows.is_selected(lost.flow)) {
                let Some(sa) = tally.flow_sa.get(&lost.flow) else { continue };
                if !not_arrived.contains(&lost.pos) {
                    *own.arrived.entry(*sa).or_default() += 1;
                }
                if ends.tells_of(lost.pos) {
                    *before.0.entry(*sa).or_default() += 1;
                    *before.1.entry((*sa, lost.bytes)).or_default() += 1;
                }
            }
            own.before = (lost.len() < MAX_LOST).then_some(before);
        }
        own.behind = (ends.gone.len() < MAX_LOST && unpaired.len() < MAX_MISSED).then_some(behind);
        self.ends = Some(own);
    }

    /// Takes in what ICMP errors say of the MTU, by the addresses of the packet that was too big.
    pub(in crate::matching) fn too_big(
        &mut self,
        stated: &BTreeMap<(Address, Address), u32>,
        tally: &Tally,
        flows: &Flows,
    ) {
        for (key, sa) in sas(tally, flows) {
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

    /// Packets lost from end to end, and those of them that the tunnel tap had seen: of an SA, or of packets of one length in it.
    pub(in crate::matching) fn behind(
        &self,
        sa: u32,
        bytes: Option<u32>,
        before: Option<u64>,
    ) -> (Option<u64>, Option<u64>) {
        let Some(ends) = self.ends.as_ref().filter(|ends| !ends.open.contains_key(&sa)) else { return (None, None) };
        // Of an SA without flows nothing is known.
        let Some(all) = ends.lost.get(&sa).copied() else { return (None, None) };
        let lost = bytes.map_or(all, |bytes| ends.sizes.get(&(sa, bytes)).copied().unwrap_or(0));
        let of = |counts: &Option<Counts>| {
            let (sas, sizes) = counts.as_ref()?;
            Some(bytes.map_or_else(|| sas.get(&sa), |bytes| sizes.get(&(sa, bytes))).copied().unwrap_or(0))
        };
        let behind = before.map(|before| {
            // What was lost before the tunnel while the exit was recording did not reach it either: a pair by order may have taken a neighbour for it.
            let before = of(&ends.before).map_or(before, |told| told.min(before));
            of(&ends.behind).unwrap_or(lost).min(lost.saturating_sub(before))
        });
        (Some(lost), behind)
    }
}

/// Which SA each flow goes through.
fn sas(tally: &Tally, flows: &Flows) -> HashMap<FlowKey, u32, FixedState> {
    tally.flow_sa.iter().filter_map(|(flow, sa)| Some((flows.key(*flow)?, *sa))).collect()
}
