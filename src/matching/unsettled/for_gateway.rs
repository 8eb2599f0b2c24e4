//! Packets out of the tunnel that may be for the gateway itself.

use std::collections::BTreeSet;

use super::are_more_than_few;
use crate::matching::Matcher;
use crate::matching::measure::doubt;
use crate::matching::measure::tally::SaTally;
use crate::model::pairs::Undetermined;

impl Matcher {
    /// Why packets out of the tunnel that the plain tap did not show may not be lost: they have lengths of which none is found there, as what is sent
    /// to the gateway itself has (traps, logs, polls). What an exit shows was sent to hosts.
    pub(super) fn for_gateway(&self, sa: &SaTally, lost: u64) -> Option<Undetermined> {
        /// Packets of one length of which none is found by no chance.
        const SEVERAL: u64 = 3;
        if self.ends.is_some() || sa.encapsulated != Some(false) || !sa.is_by_order() {
            return None;
        }
        let mapping = sa.mapping?;
        let found: BTreeSet<u32> = sa.sizes.iter().filter_map(|(bytes, _)| mapping.esp(bytes)).collect();
        let is_apart = |(esp, count): &(&u32, &u64)| **count >= SEVERAL && !found.contains(esp);
        let apart: u64 = sa.alone_frames.lengths.iter().filter(is_apart).map(|(_, count)| count).sum();
        // Of others, of lengths that are found, enough are lost.
        (apart.saturating_mul(2) >= lost && are_more_than_few(apart, 0)).then(|| doubt::for_gateway(apart, lost))
    }
}
