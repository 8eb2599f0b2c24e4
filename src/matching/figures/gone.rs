//! Flows that a tunnel may have lost whole.

use std::collections::BTreeMap;

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
pub(super) struct GoneFlows(BTreeMap<FlowId, GoneFlow>);

struct GoneFlow {
    /// The SAs that may have lost it.
    sas: Vec<u32>,
    packets: u64,
    /// Whether it began when the SAs still carried others.
    in_time: bool,
}

impl GoneFlows {
    pub(super) fn ids(&self) -> impl Iterator<Item = FlowId> {
        self.0.keys().copied()
    }

    /// The flows that an SA may have lost so.
    fn of(&self, sa: u32) -> impl Iterator<Item = &GoneFlow> {
        self.0.values().filter(move |flow| flow.sas.contains(&sa))
    }

    /// Why they leave open how many packets an SA lost, of which `missed` are known. When it carries nothing any more, what is known is lost for sure.
    pub(super) fn doubt(&self, sa: u32, missed: u64) -> Option<Undetermined> {
        /// So few say nothing: a number, and a share of the lost ones as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 5;
        let count: u64 = self.of(sa).filter(|flow| flow.in_time).map(|flow| flow.packets).sum();
        (count > FEW.max(missed / OF)).then(|| doubt::gone(count))
    }
}

impl Matcher {
    /// Flows all of whose packets may have been lost: those that began behind the last pair, as these SAs carry nothing any more, and those of few
    /// packets.
    fn gone(&self, flows: &Flows, losses: &Losses) -> GoneFlows {
        /// Flows that are lost whole, at the least, so that one may be; and how many more than expected are none.
        const EXPECTED: f64 = 0.01;
        const FEW: f64 = 2.0;
        const TIMES: f64 = 3.0;
        let into = (0..).zip(&self.tally.sas).filter(|(_, sa)| sa.encapsulated == Some(true));
        let carried = into.filter_map(|(at, sa)| {
            let lost = losses.missed.get(&at).copied().unwrap_or(0);
            let told = self.told(at, flows);
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
        let gone = |id: FlowId, flow: &Flow| {
            let key = flows.key(id)?;
            let covers = |own: &&Carried| own.networks.0.covers(key.src) && own.networks.1.covers(key.dst);
            let between: Vec<&Carried> = sas.iter().filter(covers).collect();
            let has_ended = between.iter().map(|own| own.last).max().is_some_and(|last| flow.first > Some(last));
            let by = between.into_iter().filter(|own| may_have_lost(own, flow, has_ended));
            let by: Vec<u32> = by.map(|own| own.sa).collect();
            (!by.is_empty()).then_some(GoneFlow { sas: by, packets: flow.unmatched, in_time: !has_ended })
        };
        let unknown = flows.iter().filter(|(id, flow)| is_unknown(*id, flow));
        GoneFlows(unknown.filter_map(|(id, flow)| Some((id, gone(id, &flow)?))).collect())
    }

    /// Packets of the flows of an SA that have several: lost ones, and all.
    fn told(&self, at: u32, flows: &Flows) -> (u64, u64) {
        let own = self.tally.flow_sa.iter().filter(|(flow, sa)| **sa == at && flows.is_selected(**flow));
        let several = own.map(|(flow, _)| flows.get(*flow)).filter(|flow| flow.matched + flow.unmatched > FEWEST);
        several.fold((0, 0), |(lost, all), flow| (lost + flow.unmatched, all + flow.matched + flow.unmatched))
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

    /// Takes such flows for lost where exactly as many numbers are missing as they and the others have packets without counterpart: each number was a
    /// plaintext packet. Whether any was.
    fn adopt_gone(&mut self, flows: &mut Flows, losses: &Losses, gone: &GoneFlows, doubt: &Doubt) -> bool {
        let mut adopted = false;
        for at in 0..self.tally.sas.len() as u32 {
            let own: u64 = gone.of(at).map(|flow| flow.packets).sum();
            let (missing, is_hidden) = self.missing(at, doubt);
            if own == 0 || is_hidden || missing != own + losses.missed_of(at) {
                continue;
            }
            let of_one = gone.0.iter().filter(|(_, flow)| flow.sas == [at]);
            for (id, _) in of_one {
                self.tally.flow_sa.insert(*id, at);
                self.tally.turns.note(*id, None, at);
                if let Some(flow) = flows.get_mut(*id) {
                    flow.adopted = true;
                    adopted = true;
                }
            }
        }
        adopted
    }
}
