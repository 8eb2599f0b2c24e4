//! Plaintext traffic that does not go through the tunnel.

use std::collections::BTreeSet;

use crate::matching::limits::MAX_OUTSIDE;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::flows::{Flow, FlowId, Flows};
use crate::matching::{Matcher, TunnelKey};
use crate::model::Address;
use crate::model::pairs::Outside;

impl Matcher {
    /// Addresses of packets whose answers go through a tunnel of which this direction was never seen: a tap that shows one direction only, and a
    /// tunnel that they do not take, look the same.
    pub(super) fn unseen_ways(&self, flows: &Flows) -> BTreeSet<(Address, Address)> {
        let ends = |sa: &SaTally| match sa.key {
            TunnelKey::Sa(key) => (key.src, key.dst),
            TunnelKey::Bare(_, src, dst) => (src, dst),
        };
        let seen: BTreeSet<(Address, Address)> = self.tally.sas.iter().map(ends).collect();
        let answers = self.tally.flow_sa.iter().filter(|(flow, _)| flows.is_selected(**flow));
        let unseen = answers.filter_map(|(flow, sa)| {
            let (src, dst) = self.tally.sas.get(*sa as usize).map(ends)?;
            let key = flows.key(*flow).filter(|_| !seen.contains(&(dst, src)))?;
            Some((key.dst, key.src))
        });
        unseen.collect()
    }
}

/// Whether a flow belongs to a direction of a tunnel that was never seen, and nothing else says where it went.
pub(super) fn is_unseen(flows: &Flows, id: FlowId, flow: &Flow, unseen: &BTreeSet<(Address, Address)>) -> bool {
    let is_known = flow.matched > 0 || flow.clear > 0;
    !is_known && flows.key(id).is_some_and(|key| unseen.contains(&(key.src, key.dst)))
}

/// Rows of flows outside the tunnel, how many packets there are outside, and how many flows are in no row. `unexplained`: packets in the tunnel
/// that flows without any pair may be in; `unseen`: addresses of directions that were never seen.
pub(super) fn outside(
    flows: &Flows,
    unexplained: u64,
    unseen: &BTreeSet<(Address, Address)>,
) -> (Vec<Outside>, u64, u64) {
    let mut rows: Vec<Outside> = Vec::new();
    let mut all = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !flows.is_selected(*id)) {
        // What cannot be paired is not known to be outside.
        let is_sparse = flows.is_sparse(id);
        let is_open = is_sparse || flow.aside > 0 || flow.may_be_in(unexplained) || is_unseen(flows, id, &flow, unseen);
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
