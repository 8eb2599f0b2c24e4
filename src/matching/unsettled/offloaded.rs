//! Plaintext packets that were never on the wire as the capture shows them: a network card divides what its host sends, or joins what it receives.

use std::collections::BTreeMap;

use crate::matching::Matcher;
use crate::matching::content::identity;
use crate::matching::measure::tally::StrangerSum;
use crate::matching::packets::flows::FlowId;

/// Octets of the headers that each part repeats: of IP and of TCP, with their options.
const HEADERS: std::ops::RangeInclusive<u64> = 40..=140;

/// Plaintext packets between two addresses that are longer than any in the tunnel, and have no counterpart.
#[derive(Default)]
struct JoinedPackets {
    packets: u64,
    bytes: u64,
    of: Vec<(FlowId, u32)>,
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

    /// Takes plaintext packets that the tunnel shows in parts out of what is missing, and the parts out of what has no counterpart.
    fn divide(&mut self) {
        let mut longest: BTreeMap<u32, u32> = BTreeMap::new();
        for ((sa, _), own) in &self.tally.strangers.0 {
            let all = longest.entry(*sa).or_default();
            *all = (*all).max(own.longest);
        }
        for (sa, all) in &mut longest {
            let sizes = self.tally.sas.get(*sa as usize).into_iter().flat_map(|sa| sa.sizes.iter());
            *all = sizes.map(|(bytes, _)| bytes).fold(*all, u32::max);
        }
        let mut joined: BTreeMap<(u32, u64), JoinedPackets> = BTreeMap::new();
        for ((flow, bytes), count) in &self.ledger.missed {
            let Some(key) = self.ledger.flows.key(*flow) else { continue };
            let ends = identity::ends(key.src, key.dst);
            for (sa, longest) in longest.iter().filter(|(_, longest)| bytes > longest) {
                if self.tally.strangers.0.contains_key(&(*sa, ends)) && *longest > 0 {
                    let own = joined.entry((*sa, ends)).or_default();
                    own.packets += count;
                    own.bytes += u64::from(*bytes) * count;
                    own.of.push((*flow, *bytes));
                }
            }
        }
        for ((sa, ends), own) in joined {
            let parts = self.tally.strangers.0.get(&(sa, ends)).copied().unwrap_or_default();
            if !own.is_divided_into(&parts) {
                *self.ledger.offloaded.entry(sa).or_default() += own.packets;
                continue;
            }
            self.ledger.divided += own.packets;
            own.of.iter().for_each(|missed| self.was_divided(*missed));
            if let Some(sa) = self.tally.sas.get_mut(sa as usize) {
                sa.alone = sa.alone.saturating_sub(parts.packets);
            }
            self.tally.strangers.0.remove(&(sa, ends));
        }
    }

    /// Plaintext packets of a flow and of one length were in the tunnel in parts.
    fn was_divided(&mut self, (flow, bytes): (FlowId, u32)) {
        let count = self.ledger.missed.remove(&(flow, bytes)).unwrap_or(0);
        if let Some(own) = self.ledger.flows.get_mut(flow) {
            own.unmatched = own.unmatched.saturating_sub(count);
        }
        self.ledger.lost.retain(|lost| (lost.flow, lost.bytes) != (flow, bytes));
    }
}
