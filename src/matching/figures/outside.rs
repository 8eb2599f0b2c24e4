//! Plaintext traffic that does not go through the tunnel.

use std::collections::{BTreeMap, BTreeSet};

use super::gone::GoneFlows;
use crate::matching::Matcher;
use crate::matching::content::identity;
use crate::matching::limits::MAX_OUTSIDE;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::flows::{Flow, FlowId, Flows};
use crate::matching::packets::prefix::Prefix;
use crate::model::Address;
use crate::model::pairs::{Outside, Undetermined};

impl Matcher {
    /// Takes out the tunnel's own packets that the plain tap shows, too, as a mirror of both ports of the gateway does: they are no plaintext.
    pub(super) fn without_own(&mut self, flows: &mut Flows) {
        let tunnels: BTreeSet<(Address, Address)> = self.tally.sas.iter().map(|sa| sa.key.ends()).collect();
        let is_own = |id: FlowId, flow: &Flow| {
            let has_ends = flows.key(id).is_some_and(|key| tunnels.contains(&(key.src, key.dst)));
            has_ends && flow.matched == 0 && flow.is_hidden()
        };
        let own: Vec<FlowId> = flows.iter().filter(|(id, flow)| is_own(*id, flow)).map(|(id, _)| id).collect();
        for flow in own.into_iter().filter_map(|id| Some(std::mem::take(flows.get_mut(id)?))) {
            self.plain.packets = self.plain.packets.saturating_sub(flow.packets());
            self.ledger.uncovered = self.ledger.uncovered.saturating_sub(flow.uncovered);
        }
    }

    /// The directions of tunnels that were never seen.
    pub(super) fn unseen_ways(&self, flows: &Flows, gone: &GoneFlows) -> UnseenFlows {
        let seen: BTreeSet<(Address, Address)> = self.tally.sas.iter().map(|sa| sa.key.ends()).collect();
        let answers = self.tally.flow_sa.iter().filter(|(flow, _)| flows.is_selected(**flow));
        let unseen = answers.filter_map(|(flow, sa)| {
            let (src, dst) = self.tally.sas.get(*sa as usize)?.key.ends();
            let key = flows.key(*flow).filter(|_| !seen.contains(&(dst, src)))?;
            Some((key.dst, key.src))
        });
        let turned = |sa: &&SaTally| {
            let (src, dst) = sa.key.ends();
            sa.matched > 0 && !seen.contains(&(dst, src))
        };
        let networks = self.tally.sas.iter().filter(turned).filter_map(|sa| sa.dst.zip(sa.src));
        let shown = self.tally.sas.iter().filter(|sa| sa.matched > 0).filter_map(|sa| sa.src.zip(sa.dst));
        UnseenFlows {
            pairs: unseen.collect(),
            networks: networks.collect(),
            shown: shown.collect(),
            gone: gone.ids().collect(),
        }
    }
}

/// Flows of which the tunnel's capture shows nothing although they may go through it: those of a direction of a tunnel which was never seen, as their
/// answers go through it, or others between the same networks (a tap that shows one direction only, and a tunnel that they do not take, look the
/// same); and those that a tunnel may have lost whole.
pub(super) struct UnseenFlows {
    pairs: BTreeSet<(Address, Address)>,
    networks: Vec<(Prefix, Prefix)>,
    /// Networks of the directions that were seen: what is between these, too, belongs to neither for sure.
    shown: Vec<(Prefix, Prefix)>,
    /// Flows that a tunnel may have lost whole.
    gone: BTreeSet<FlowId>,
}

impl UnseenFlows {
    fn has(&self, src: Address, dst: Address) -> bool {
        let is_between = |(from, to): &(Prefix, Prefix)| from.covers(src) && to.covers(dst);
        self.pairs.contains(&(src, dst)) || self.networks.iter().any(is_between) && !self.shown.iter().any(is_between)
    }
}

impl Matcher {
    /// Packets in the tunnel that were not found on the plain side: those of SAs of which none or hardly any were, or whose content is hidden from
    /// pairing by content. All are where nothing was paired, or the order of packets was lost.
    pub(super) fn unexplained(&self, order_lost: bool) -> Unexplained {
        let mut between = BTreeMap::new();
        for ((_, ends), own) in &self.tally.strangers.0 {
            *between.entry(*ends).or_default() += own.packets;
        }
        let fragments = self.ledger.torn.keys().copied().collect();
        if order_lost || !self.tally.has_pairs() {
            return Unexplained { any: u64::MAX, between, fragments };
        }
        let sas = (0..).zip(&self.tally.sas);
        // Of equal packets the times may have paired none.
        let alike = self.tunnel_index.has_repeats();
        let own = |(at, sa): (u32, &SaTally)| match () {
            () if sa.is_hardly_found() => sa.alone + sa.uncovered,
            () if sa.matched == 0 && (alike || self.order.is_unfound(at)) => sa.alone,
            () if !sa.is_by_order() => sa.unread,
            () => 0,
        };
        Unexplained { any: sas.map(own).sum(), between, fragments }
    }

    /// By SA that encapsulates, packets of flows of which it shows none, although their answers come out of the tunnel between its ends.
    pub(super) fn blocked(&self, flows: &Flows, losses: &Losses) -> BTreeMap<u32, u64> {
        /// Packets of flows that are all too short to be sure: they count beside few lost ones, as 1 in N.
        const OF: u64 = 5;
        let ends = |sa: u32| Some(self.tally.sas.get(sa as usize)?.key.ends());
        let answered = answered(flows);
        let (mut blocked, mut sure) = (BTreeMap::new(), BTreeSet::new());
        for (_, flow, back) in answered {
            let Some((src, dst)) = self.tally.flow_sa.get(&back).and_then(|sa| ends(*sa)) else { continue };
            let forth = (0..).zip(&self.tally.sas).filter(|(_, sa)| sa.encapsulated == Some(true));
            for (at, _) in forth.filter(|(at, _)| ends(*at) == Some((dst, src))) {
                *blocked.entry(at).or_default() += flow.unmatched;
                sure.extend((flow.unmatched >= ENOUGH).then_some(at));
            }
        }
        blocked.retain(|at, packets| sure.contains(at) || *packets > losses.missed_of(*at) / OF);
        blocked
    }
}

/// Packets that are no stray, of one flow or of several.
const ENOUGH: u64 = 6;

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
    let by_key = |id: FlowId| flows.key(id).map(|key| (key.src, key.dst, key.protocol));
    let selected: BTreeMap<_, FlowId> =
        flows.iter().filter(|(id, _)| flows.is_selected(*id)).filter_map(|(id, _)| Some((by_key(id)?, id))).collect();
    let is_lost = |flow: &Flow| flow.unmatched > 0 && flow.clear == 0 && flow.refused == 0;
    let lost = flows.iter().filter(|(id, flow)| !flows.is_selected(*id) && is_lost(flow));
    let answered: Vec<_> = lost
        .filter_map(|(id, flow)| {
            let (src, dst, protocol) = by_key(id)?;
            Some((id, flow, *selected.get(&(dst, src, protocol))?))
        })
        .collect();
    let packets: u64 = answered.iter().map(|(_, flow, _)| flow.unmatched).sum();
    if packets < ENOUGH { Vec::new() } else { answered }
}

/// Whether a flow may go through a tunnel whose capture shows nothing of it, and nothing else says where it went.
fn is_unseen(flows: &Flows, id: FlowId, flow: &Flow, unseen: &UnseenFlows) -> bool {
    let is_known = flow.matched > 0 || flow.clear > 0;
    unseen.gone.contains(&id) || !is_known && flows.key(id).is_some_and(|key| unseen.has(key.src, key.dst))
}

/// Packets in the tunnel that flows without any pair may be in.
pub(super) struct Unexplained {
    /// Those that any flow may be in.
    any: u64,
    /// Those that are visible and have no counterpart, by what packets between two addresses share.
    between: BTreeMap<u64, u64>,
    /// Flows of fragments: of how many packets is not known.
    fragments: BTreeSet<FlowId>,
}

impl Unexplained {
    /// How many a flow may be in.
    fn of(&self, flows: &Flows, id: FlowId) -> u64 {
        let own = flows.key(id).and_then(|key| self.between.get(&identity::ends(key.src, key.dst)));
        match own.copied().unwrap_or(0) {
            own if own > 0 && self.fragments.contains(&id) => self.any.max(flows.get(id).unmatched),
            own => self.any.max(own),
        }
    }
}

/// Packets of flows of which is not known whether they are in the tunnel: `unexplained` packets in it may be theirs, their direction was never
/// seen, few of them were found, or their answers come out of it.
pub(super) fn undetermined(flows: &Flows, unexplained: &Unexplained, unseen: &UnseenFlows) -> u64 {
    let answered: BTreeSet<FlowId> = answered(flows).into_iter().map(|(id, ..)| id).collect();
    let is_open = |id: FlowId, flow: &Flow| {
        answered.contains(&id)
            || flow.may_be_in(unexplained.of(flows, id))
            || is_unseen(flows, id, flow, unseen)
            || flows.is_sparse(id)
    };
    let unknown = flows.iter().filter(|(id, flow)| flow.aside == 0 && !flows.is_selected(*id) && is_open(*id, flow));
    unknown.map(|(_, flow)| flow.unmatched).sum()
}

/// Rows of flows outside the tunnel, how many packets there are outside, and how many flows are in no row. `unexplained`: packets in the tunnel
/// that flows without any pair may be in; `unseen`: addresses of directions that were never seen.
pub(super) fn outside(flows: &Flows, unexplained: &Unexplained, unseen: &UnseenFlows) -> (Vec<Outside>, u64, u64) {
    let mut rows: Vec<Outside> = Vec::new();
    let answered: BTreeSet<FlowId> = answered(flows).into_iter().map(|(id, ..)| id).collect();
    let mut all = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !flows.is_selected(*id)) {
        // What cannot be paired is not known to be outside.
        let is_sparse = flows.is_sparse(id);
        let is_open = answered.contains(&id)
            || is_sparse
            || flow.aside > 0
            || flow.may_be_in(unexplained.of(flows, id))
            || is_unseen(flows, id, &flow, unseen);
        let known = if is_open { flow.clear } else { flow.unmatched + flow.clear };
        let guessed = if is_open || unexplained.any == u64::MAX { 0 } else { flow.matched };
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
