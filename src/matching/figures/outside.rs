//! Plaintext traffic that does not go through the tunnel.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::limits::MAX_OUTSIDE;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::flows::{Flow, FlowId, Flows};
use crate::matching::packets::prefix::Prefix;
use crate::matching::{Matcher, TunnelKey};
use crate::model::pairs::{Outside, Undetermined};
use crate::model::{Address, FramePos};

impl Matcher {
    /// The directions of tunnels that were never seen.
    pub(super) fn unseen_ways(&self, flows: &Flows, losses: &Losses) -> UnseenWays {
        let seen: BTreeSet<(Address, Address)> = self.tally.sas.iter().map(ends).collect();
        let answers = self.tally.flow_sa.iter().filter(|(flow, _)| flows.is_selected(**flow));
        let unseen = answers.filter_map(|(flow, sa)| {
            let (src, dst) = self.tally.sas.get(*sa as usize).map(ends)?;
            let key = flows.key(*flow).filter(|_| !seen.contains(&(dst, src)))?;
            Some((key.dst, key.src))
        });
        let turned = |sa: &&SaTally| {
            let (src, dst) = ends(sa);
            sa.matched > 0 && !seen.contains(&(dst, src))
        };
        let networks = self.tally.sas.iter().filter(turned).filter_map(|sa| sa.dst.zip(sa.src));
        let shown = self.tally.sas.iter().filter(|sa| sa.matched > 0).filter_map(|sa| sa.src.zip(sa.dst));
        UnseenWays {
            pairs: unseen.collect(),
            networks: networks.collect(),
            shown: shown.collect(),
            late: self.late(flows, losses),
        }
    }
}

/// Tunnel endpoints of an SA.
fn ends(sa: &SaTally) -> (Address, Address) {
    match sa.key {
        TunnelKey::Sa(key) => (key.src, key.dst),
        TunnelKey::Bare(_, src, dst) => (src, dst),
    }
}

/// A tunnel that carried its last packet before others for it were lost.
#[derive(Default)]
struct DeadTunnel {
    networks: Vec<(Prefix, Prefix)>,
    /// Where the plaintext packet of its last pair is.
    last: Option<FramePos>,
    lost: u64,
}

/// Addresses of packets that belong to a direction of a tunnel which was never seen, as their answers go through it, or others between the same
/// networks: a tap that shows one direction only, and a tunnel that they do not take, look the same.
pub(super) struct UnseenWays {
    pairs: BTreeSet<(Address, Address)>,
    networks: Vec<(Prefix, Prefix)>,
    /// Networks of the directions that were seen: what is between these, too, belongs to neither for sure.
    shown: Vec<(Prefix, Prefix)>,
    /// Flows that began when nothing went through their tunnel any more.
    late: BTreeSet<FlowId>,
}

impl UnseenWays {
    fn has(&self, src: Address, dst: Address) -> bool {
        let is_between = |(from, to): &(Prefix, Prefix)| from.covers(src) && to.covers(dst);
        self.pairs.contains(&(src, dst)) || self.networks.iter().any(is_between) && !self.shown.iter().any(is_between)
    }
}

impl Matcher {
    /// Flows that began behind the last pair of all SAs between two gateways, of which packets were lost since: what is between their networks goes nowhere
    /// any more.
    fn late(&self, flows: &Flows, losses: &Losses) -> BTreeSet<FlowId> {
        let mut tunnels: BTreeMap<(Address, Address), DeadTunnel> = BTreeMap::new();
        for (at, sa) in (0..).zip(&self.tally.sas).filter(|(_, sa)| sa.encapsulated == Some(true)) {
            let (Some(networks), Some(furthest)) = (sa.src.zip(sa.dst), sa.furthest) else { continue };
            let own = tunnels.entry(ends(sa)).or_default();
            own.networks.push(networks);
            own.last = own.last.max(Some(furthest));
            own.lost += losses.missed.get(&at).copied().unwrap_or(0);
        }
        tunnels.retain(|_, own| own.lost > 0);
        let is_unknown = |flow: &Flow| flow.matched == 0 && flow.clear == 0 && flow.refused == 0;
        let is_late = |id: FlowId, flow: &Flow| {
            let Some(key) = flows.key(id) else { return false };
            let is_between =
                |own: &&DeadTunnel| own.networks.iter().any(|(a, b)| a.covers(key.src) && b.covers(key.dst));
            let last = tunnels.values().filter(is_between).map(|own| own.last).max();
            last.is_some_and(|last| flow.first > last)
        };
        let unknown = flows.iter().filter(|(id, flow)| !flows.is_selected(*id) && is_unknown(flow));
        unknown.filter(|(id, flow)| is_late(*id, flow)).map(|(id, _)| id).collect()
    }

    /// By SA that encapsulates, packets of flows of which it shows none, although their answers come out of the tunnel between its ends.
    pub(super) fn blocked(&self, flows: &Flows) -> BTreeMap<u32, u64> {
        let ends = |sa: u32| match self.tally.sas.get(sa as usize)?.key {
            TunnelKey::Sa(key) => Some((key.src, key.dst)),
            TunnelKey::Bare(_, src, dst) => Some((src, dst)),
        };
        let answered = answered(flows);
        let mut blocked = BTreeMap::new();
        for (_, flow, back) in answered {
            let Some((src, dst)) = self.tally.flow_sa.get(&back).and_then(|sa| ends(*sa)) else { continue };
            let forth = (0..).zip(&self.tally.sas).filter(|(_, sa)| sa.encapsulated == Some(true));
            for (at, _) in forth.filter(|(at, _)| ends(*at) == Some((dst, src))) {
                *blocked.entry(at).or_default() += flow.unmatched;
            }
        }
        blocked
    }
}

/// Packets of flows that are not in the tunnel, although their answers are.
pub(super) fn open_by_answers(plain: u64) -> Undetermined {
    Undetermined {
        alignments: 1,
        reason: format!(
            "{plain} plaintext packets are of flows that are not in the tunnel, although what comes back between the same addresses comes out of \
             it: they were lost before it, or leave another way"
        )
        .into(),
        decide: "the gateway's policy and its counters for these addresses, or a tap on its other links".into(),
        missing_numbers: 0,
    }
}

/// Flows of which nothing is known but that they are not in the tunnel, each with the flow of its answers, which is.
fn answered(flows: &Flows) -> Vec<(FlowId, Flow, FlowId)> {
    /// Packets that make a flow.
    const ENOUGH: u64 = 6;
    let by_key = |id: FlowId| flows.key(id).map(|key| (key.src, key.dst, key.protocol));
    let selected: BTreeMap<_, FlowId> =
        flows.iter().filter(|(id, _)| flows.is_selected(*id)).filter_map(|(id, _)| Some((by_key(id)?, id))).collect();
    let lost = flows.iter().filter(|(id, flow)| {
        !flows.is_selected(*id) && flow.unmatched >= ENOUGH && flow.clear == 0 && flow.refused == 0
    });
    lost.filter_map(|(id, flow)| {
        let (src, dst, protocol) = by_key(id)?;
        Some((id, flow, *selected.get(&(dst, src, protocol))?))
    })
    .collect()
}

/// Whether a flow belongs to a direction of a tunnel that was never seen, and nothing else says where it went.
fn is_unseen(flows: &Flows, id: FlowId, flow: &Flow, unseen: &UnseenWays) -> bool {
    let is_known = flow.matched > 0 || flow.clear > 0;
    unseen.late.contains(&id) || !is_known && flows.key(id).is_some_and(|key| unseen.has(key.src, key.dst))
}

/// Packets of flows of which is not known whether they are in the tunnel: `unexplained` packets in it may be theirs, their direction was never
/// seen, few of them were found, or their answers come out of it.
pub(super) fn undetermined(flows: &Flows, unexplained: u64, unseen: &UnseenWays) -> u64 {
    let answered: BTreeSet<FlowId> = answered(flows).into_iter().map(|(id, ..)| id).collect();
    let is_open = |id: FlowId, flow: &Flow| {
        answered.contains(&id)
            || flow.may_be_in(unexplained)
            || is_unseen(flows, id, flow, unseen)
            || flows.is_sparse(id)
    };
    let unknown = flows.iter().filter(|(id, flow)| flow.aside == 0 && !flows.is_selected(*id) && is_open(*id, flow));
    unknown.map(|(_, flow)| flow.unmatched).sum()
}

/// Rows of flows outside the tunnel, how many packets there are outside, and how many flows are in no row. `unexplained`: packets in the tunnel
/// that flows without any pair may be in; `unseen`: addresses of directions that were never seen.
pub(super) fn outside(flows: &Flows, unexplained: u64, unseen: &UnseenWays) -> (Vec<Outside>, u64, u64) {
    let mut rows: Vec<Outside> = Vec::new();
    let answered: BTreeSet<FlowId> = answered(flows).into_iter().map(|(id, ..)| id).collect();
    let mut all = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !flows.is_selected(*id)) {
        // What cannot be paired is not known to be outside.
        let is_sparse = flows.is_sparse(id);
        let is_open = answered.contains(&id)
            || is_sparse
            || flow.aside > 0
            || flow.may_be_in(unexplained)
            || is_unseen(flows, id, &flow, unseen);
        let known = if is_open { flow.clear } else { flow.unmatched + flow.clear };
        let guessed = if is_open || unexplained == u64::MAX { 0 } else { flow.matched };
        let packets = known + guessed;
        all += known;
        if let Some(key) = flows.key(id).filter(|_| packets > 0) {
            rows.push(Outside {
                src: key.src.to_string(),
                dst: key.dst.to_string(),
                protocol: key.protocol,
                packets,
                clear: flow.clear,
            });
        }
    }
    for (_, flow) in flows.iter().filter(|(id, _)| flows.is_selected(*id)) {
        all += flow.clear;
    }
    rows.sort_by(|a, b| {
        b.packets.cmp(&a.packets).then_with(|| (&a.src, &a.dst, a.protocol).cmp(&(&b.src, &b.dst, b.protocol)))
    });
    let more = rows.len().saturating_sub(MAX_OUTSIDE) as u64;
    rows.truncate(MAX_OUTSIDE);
    (rows, all, more)
}
