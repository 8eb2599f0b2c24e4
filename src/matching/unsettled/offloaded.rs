//! Plaintext packets that were never on the wire as the capture shows them: a network card divides what its host sends, or joins what it receives.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::Matcher;
use crate::matching::content::identity;
use crate::matching::measure::tally::StrangerSum;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::Ledger;

/// Octets of the headers that each part repeats: of IP and of TCP, with their options.
const HEADERS: std::ops::RangeInclusive<u64> = 40..=140;

/// Plaintext packets between two addresses that are longer than any in the tunnel, and have no counterpart.
#[derive(Default)]
struct JoinedPackets {
    packets: u64,
    bytes: u64,
    of: BTreeSet<(FlowId, u32)>,
}

impl JoinedPackets {
    /// Whether packets in the tunnel are the parts of these: as many octets, and headers once more for each part.
    fn is_divided_into(&self, parts: &StrangerSum) -> bool {
        let (more, bytes) = (parts.packets.checked_sub(self.packets), parts.bytes.checked_sub(self.bytes));
        let Some((more, bytes)) = more.zip(bytes).filter(|(more, _)| *more > 0) else { return false };
        bytes % more == 0 && HEADERS.contains(&(bytes / more))
    }
}

impl Matcher {
    /// Nothing more comes: what is left over is looked at once more.
    pub(in crate::matching) fn settle_left_over(&mut self) {
        self.tally.settle();
        self.ledger.judge_edges();
        self.adopt_refused();
        self.divide();
    }

    /// Takes plaintext packets that the tunnel shows in parts out of what is missing, and the parts out of what has no counterpart. Parts may be in
    /// several SAs: one takes over from another.
    fn divide(&mut self) {
        let mut parts: BTreeMap<u64, (StrangerSum, Vec<u32>)> = BTreeMap::new();
        for ((sa, ends), own) in &self.tally.strangers.0 {
            let sizes = self.tally.sas.get(*sa as usize).into_iter().flat_map(|sa| sa.sizes.iter());
            let longest = sizes.map(|(bytes, _)| bytes).fold(own.longest, u32::max);
            let (sum, sas) = parts.entry(*ends).or_default();
            sum.packets += own.packets;
            sum.bytes += own.bytes;
            sum.longest = sum.longest.max(longest);
            sas.push(*sa);
        }
        let mut joined: BTreeMap<u64, JoinedPackets> = BTreeMap::new();
        for ((flow, bytes), count) in &self.ledger.missed {
            let Some(key) = self.ledger.flows.key(*flow) else { continue };
            let ends = identity::ends(key.src, key.dst);
            if parts.get(&ends).is_some_and(|(parts, _)| 0 < parts.longest && parts.longest < *bytes) {
                let own = joined.entry(ends).or_default();
                own.packets += count;
                own.bytes += u64::from(*bytes) * count;
                own.of.insert((*flow, *bytes));
            }
        }
        for (ends, own) in joined {
            let Some((parts, sas)) = parts.get(&ends) else { continue };
            if !own.is_divided_into(parts) {
                sas.iter().for_each(|sa| *self.ledger.offloaded.entry(*sa).or_default() += own.packets);
                continue;
            }
            self.ledger.divided += own.packets;
            self.ledger.were_divided(&own.of);
            for sa in sas {
                let parts = self.tally.strangers.0.remove(&(*sa, ends)).map_or(0, |parts| parts.packets);
                if let Some(sa) = self.tally.sas.get_mut(*sa as usize) {
                    sa.alone = sa.alone.saturating_sub(parts);
                }
            }
        }
    }
}

impl Ledger {
    /// Plaintext packets of these flows and lengths were in the tunnel in parts.
    fn were_divided(&mut self, whole: &BTreeSet<(FlowId, u32)>) {
        for (flow, bytes) in whole {
            let count = self.missed.remove(&(*flow, *bytes)).unwrap_or(0);
            if let Some(own) = self.flows.get_mut(*flow) {
                own.unmatched = own.unmatched.saturating_sub(count);
            }
        }
        self.lost.retain(|lost| !whole.contains(&(lost.flow, lost.bytes)));
    }
}
