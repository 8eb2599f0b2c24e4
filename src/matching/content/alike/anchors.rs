//! SAs of packets that are equal to others, while too few pairs without equals tell how far apart the clocks are.

use std::collections::{BTreeMap, BTreeSet};

use super::{ALIKE, ANCHORS};
use crate::matching::Matcher;
use crate::matching::order::delay::median;
use crate::matching::packets::ledger::{PairBasis, Tunnelled, TunnelledFate};

impl Matcher {
    /// SAs whose packets mostly have equals, by two clocks, while the few that seem to have none do not agree how far apart the clocks are: the
    /// equals of these may have passed where no tap saw them.
    pub(super) fn unfounded(&self, held: &[Tunnelled]) -> BTreeSet<u32> {
        /// Nanoseconds within which pairs agree.
        const AGREE: u64 = 1_000_000;
        if self.settings.one_clock {
            return BTreeSet::new();
        }
        let mut by_sa: BTreeMap<u32, (u64, Vec<i64>)> = BTreeMap::new();
        for packet in held {
            let TunnelledFate::Paired(pairing) = packet.fate else { continue };
            let Some((plain, own)) = pairing.plain.time.ns().zip(packet.time.ns()) else { continue };
            if pairing.basis != PairBasis::Order {
                let (equal, sure) = by_sa.entry(packet.sa).or_default();
                if pairing.confidence > ALIKE { sure.push(own.saturating_sub(plain)) } else { *equal += 1 }
            }
        }
        let is_unfounded = |(sa, (equal, sure)): (u32, (u64, Vec<i64>))| {
            let middle = median(sure.clone())?;
            let agree = sure.iter().filter(|own| own.abs_diff(middle) <= AGREE).count() as u64;
            let mostly_equal = equal > sure.len() as u64;
            // Pairs that were counted before these.
            let others =
                self.usual.get(sa as usize).copied().flatten().is_some_and(|own| own.anchors as usize > sure.len());
            (mostly_equal && agree < u64::from(ANCHORS) && !others).then_some(sa)
        };
        by_sa.into_iter().filter_map(is_unfounded).collect()
    }

    /// SAs of packets that are equal to others and of which some have no counterpart, while no pair without equals tells the usual time: one
    /// lost packet among those that wait may be any of them, and each pair after it another.
    pub(super) fn unanchored(&self, held: &[Tunnelled]) -> BTreeSet<u32> {
        let mut left = BTreeSet::new();
        for packet in held {
            let is_left = match packet.fate {
                TunnelledFate::Alone => true,
                TunnelledFate::Paired(pairing) => {
                    let flow = self.ledger.flows.get(pairing.plain.flow);
                    flow.unmatched + flow.uncovered > 0
                }
                _ => false,
            };
            let usual = self.usual.get(packet.sa as usize).copied().flatten();
            if is_left && usual.is_none_or(|usual| usual.anchors < ANCHORS) {
                left.insert(packet.sa);
            }
        }
        left
    }
}
