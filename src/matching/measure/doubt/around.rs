//! What is left over of all SAs of a direction: packets that go through several are counted for one.

use std::collections::BTreeMap;

use crate::matching::Matcher;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;

impl Matcher {
    /// Plaintext packets without counterpart that may be those of an SA: out of the tunnel, also such as may be another's.
    pub(in crate::matching) fn left_around(&self, at: u32, sa: &SaTally, losses: &Losses) -> u64 {
        let is_out = sa.encapsulated == Some(false) && sa.is_by_order();
        let of = |counts: &BTreeMap<u32, u64>| counts.get(&at).copied().unwrap_or(0);
        of(&losses.missed) + if is_out { of(&losses.shared) } else { 0 }
    }

    /// Plaintext packets without counterpart of an SA and of all that its lane has: what goes through several is counted for the last one.
    pub(in crate::matching) fn missed_beside(&self, at: u32, losses: &Losses) -> u64 {
        let lane = self.order.lane(at);
        losses.missed.iter().filter(|(sa, _)| self.order.lane(**sa) == lane).map(|(_, missed)| missed).sum()
    }

    /// Plaintext packets of flows that are taken for others outside the tunnel, and packets of a tunnel's direction that have no counterpart, where these
    /// are as many: whole flows were not recognized.
    pub(in crate::matching) fn left_out(&self, at: u32, sa: &SaTally, losses: &Losses) -> Option<(u64, u64)> {
        /// Packets of the tunnel that no other network sends, and that are no stray.
        const FEW: u64 = 2;
        let plain = losses.left_out.get(&at).copied().filter(|_| sa.is_by_order() && sa.alone > FEW)?;
        let ends = sa.key.ends();
        let tunnelled: u64 = self.tally.sas.iter().filter(|own| own.key.ends() == ends).map(|own| own.alone).sum();
        (plain * 2 >= tunnelled && plain * 2 <= tunnelled * 3).then_some((plain, tunnelled))
    }

    /// Whether so many packets are left out that the others' times are not those of all: what waits longest is not recognized.
    pub(in crate::matching) fn is_half_found(&self, at: u32, sa: &SaTally, losses: &Losses) -> bool {
        /// A share of the pairs that does not change a median, as 1 in N.
        const OF: u64 = 8;
        self.left_out(at, sa, losses).is_some_and(|(_, tunnelled)| tunnelled * OF > sa.matched)
    }
}
