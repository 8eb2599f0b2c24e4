//! Flows that a tunnel may have lost whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::Matcher;
use crate::matching::measure::doubt::{self, Doubt};
use crate::matching::measure::losses::Losses;
use crate::matching::packets::flows::{Flow, FlowId, Flows};
use crate::matching::packets::prefix::Prefix;
use crate::model::FramePos;
use crate::model::pairs::Undetermined;

/// Packets of a flow that may be lost together by chance.
const FEWEST: u64 = 2;

/// Between which networks an SA carries packets, and what is known of its loss.
struct Carried {
    sa: u32,
    networks: (Prefix, Prefix),
    /// Where the plaintext packet of its last pair is.
    last: FramePos,
    lost: u64,
    matched: u64,
    /// Packets of its flows of several packets: lost ones, and all. These tell how much it loses.
    told: (u64, u64),
}

impl Carried {
    /// How many of `flows`, which have `packets` each, are expected to lose all of them.
    fn loses_whole(&self, packets: u64, flows: u64) -> f64 {
        let share = self.lost as f64 / (self.lost + self.matched).max(1) as f64;
        share.powf(packets as f64) * flows as f64
    }

    /// The most of them that may be, as far as the others tell: of N packets none is lost in 1 of 20 cases where 3 of N are.
    fn may_lose_whole(&self, packets: u64, flows: u64) -> f64 {
        const UNSEEN: u64 = 3;
        let (lost, all) = self.told;
        let share = (lost + UNSEEN) as f64 / (all + UNSEEN) as f64;
        share.powf(packets as f64) * flows as f64
    }
}

/// Flows between the networks of SAs of which nothing was found.
#[derive(Default)]
pub(super) struct GoneFlows {
    /// With the SAs that may have lost them.
    flows: BTreeMap<FlowId, Vec<u32>>,
    /// Their packets, by SA.
    packets: BTreeMap<u32, GonePackets>,
}

#[derive(Default)]
struct GonePackets {
    all: u64,
    /// Those of flows that began while the SA still carried others.
    in_time: u64,
}

impl GoneFlows {
    pub(super) fn ids(&self) -> impl Iterator<Item = FlowId> {
        self.flows.keys().copied()
    }

    fn add(&mut self, id: FlowId, sas: Vec<u32>, packets: u64, in_time: bool) {
        for sa in &sas {
            let own = self.packets.entry(*sa).or_default();
            own.all += packets;
            own.in_time += if in_time { packets } else { 0 };
        }
        self.flows.insert(id, sas);
    }

    /// Why the loss of an SA is unknown although `missed` packets are known to be lost. Flows that began after its last pair do not count.
    pub(super) fn doubt(&self, sa: u32, missed: u64) -> Option<Undetermined> {
        /// So few say nothing: a number, and a share of the lost ones as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 5;
        let count = self.packets.get(&sa)?.in_time;
        (count > FEW.max(missed / OF)).then(|| doubt::gone(count))
    }
}

impl Matcher {
    /// Flows of which all packets may be lost: flows that began after the last pair of their SAs, and flows of few packets.
    fn gone(&self, flows: &Flows, losses: &Losses) -> GoneFlows {
        /// Flows that are lost whole, at the least, so that one may be; and how many more than expected are none.
        const EXPECTED: f64 = 0.01;
        const FEW: f64 = 2.0;
        const TIMES: f64 = 3.0;
        let told = self.told(flows);
        let into = (0..).zip(&self.tally.sas).filter(|(_, sa)| sa.encapsulated == Some(true));
        let carried = into.filter_map(|(at, sa)| {
            let lost = losses.missed.get(&at).copied().unwrap_or(0);
            let told = told.get(&at).copied().unwrap_or_default();
            Some(Carried { sa: at, networks: sa.src.zip(sa.dst)?, last: sa.furthest?, lost, matched: sa.matched, told })
        });
        let sas: Vec<Carried> = carried.collect();
        let is_unknown = |id: FlowId, flow: &Flow| {
            !flows.is_selected(id) && flow.matched == 0 && flow.clear == 0 && flow.refused == 0
        };
        // Flows by how many packets they have: those that were found in the tunnel, and those of which nothing was.
        let mut of_packets: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (id, flow) in flows.iter() {
            let (found, unknown) = of_packets.entry(flow.matched + flow.unmatched).or_default();
            *found += u64::from(flows.is_selected(id));
            *unknown += u64::from(is_unknown(id, &flow));
        }
        // One may be lost where a hundredth is expected, and no more than a few times as many as are.
        let may_be_lost = |own: &Carried, packets: u64| {
            let (found, unknown) = of_packets.get(&packets).copied().unwrap_or_default();
            let expected = own.loses_whole(packets, found + unknown);
            let most = if packets <= FEWEST { own.may_lose_whole(packets, found + unknown) } else { 0.0 };
            expected > EXPECTED && unknown as f64 <= FEW + TIMES * expected || unknown as f64 <= most
        };
        let may_have_lost = |own: &&Carried, flow: &Flow, has_ended: bool| {
            own.lost > 0 && has_ended || may_be_lost(own, flow.unmatched)
        };
        let mut gone = GoneFlows::default();
        for (id, flow) in flows.iter().filter(|(id, flow)| is_unknown(*id, flow)) {
            let Some(key) = flows.key(id) else { continue };
            let covers = |own: &&Carried| own.networks.0.covers(key.src) && own.networks.1.covers(key.dst);
            let between: Vec<&Carried> = sas.iter().filter(covers).collect();
            let has_ended = between.iter().map(|own| own.last).max().is_some_and(|last| flow.first > Some(last));
            // An SA that carried nothing any more lost none of it, if another one had taken over.
            let was_there = |own: &&Carried| has_ended || Some(own.last) >= flow.first;
            let by = between.into_iter().filter(was_there).filter(|own| may_have_lost(own, &flow, has_ended));
            let by: Vec<u32> = by.map(|own| own.sa).collect();
            if !by.is_empty() {
                gone.add(id, by, flow.unmatched, !has_ended);
            }
        }
        gone
    }

    /// Packets of the flows of each SA that have several: lost ones, and all.
    fn told(&self, flows: &Flows) -> BTreeMap<u32, (u64, u64)> {
        let mut told: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (flow, sa) in self.tally.flow_sa.iter().filter(|(flow, _)| flows.is_selected(**flow)) {
            let flow = flows.get(*flow);
            let packets = flow.matched + flow.unmatched;
            if packets > FEWEST {
                let (lost, all) = told.entry(*sa).or_default();
                (*lost, *all) = (*lost + flow.unmatched, *all + packets);
            }
        }
        told
    }

    /// What was lost, and what else may have been: flows of which nothing was found.
    pub(super) fn losses(&mut self, flows: &mut Flows, doubt: &Doubt) -> (Losses, GoneFlows) {
        let losses = Losses::of(&self.tally, flows, &self.ledger);
        let gone = self.gone(flows, &losses);
        if !self.adopt_gone(flows, &losses, &gone, doubt) {
            return (losses, gone);
        }
        let losses = Losses::of(&self.tally, flows, &self.ledger);
        let gone = self.gone(flows, &losses);
        (losses, gone)
    }

    /// Counts such flows as lost if the missing numbers of the SA equal all its packets without counterpart. True if any was counted.
    fn adopt_gone(&mut self, flows: &mut Flows, losses: &Losses, gone: &GoneFlows, doubt: &Doubt) -> bool {
        /// Fewer packets may be as many as the missing numbers by chance.
        const ENOUGH: u64 = 8;
        let mut adopted = false;
        let is_counted = |(at, own): &(&u32, &GonePackets)| {
            own.all >= ENOUGH && self.missing(**at, doubt) == (own.all + losses.missed_of(**at), false)
        };
        let counted: BTreeSet<u32> = gone.packets.iter().filter(is_counted).map(|(at, _)| *at).collect();
        for (id, sas) in &gone.flows {
            let ([at], Some(flow)) = (sas.as_slice(), flows.get_mut(*id)) else { continue };
            if counted.contains(at) {
                flow.adopted = true;
                adopted = true;
                self.tally.flow_sa.insert(*id, *at);
                self.tally.turns.note(*id, None, *at);
            }
        }
        adopted
    }
}
