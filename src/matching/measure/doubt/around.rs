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
}
