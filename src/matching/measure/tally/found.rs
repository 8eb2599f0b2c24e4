//! What the pairs of an SA are worth, by how many packets have none.

use std::collections::BTreeMap;

use super::SaTally;
use crate::matching::limits::MAX_FLOWS;
use crate::matching::packets::ledger::Tunnelled;

/// Packets in the tunnel without counterpart, by SA and by what those between the addresses inside share, where these are visible.
#[derive(Default, Debug)]
pub(in crate::matching) struct Strangers(pub(in crate::matching) BTreeMap<(u32, u64), StrangerSum>);

/// Packets in the tunnel that are visible.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct StrangerSum {
    pub(in crate::matching) packets: u64,
    /// Octets of all of them, from their IP header on, and of the longest.
    pub(in crate::matching) bytes: u64,
    pub(in crate::matching) longest: u32,
}

impl Strangers {
    pub(super) fn add(&mut self, packet: &Tunnelled) {
        let Some(inner) = packet.inner else { return };
        let key = (packet.sa, inner.ends);
        if self.0.len() < MAX_FLOWS || self.0.contains_key(&key) {
            let own = self.0.entry(key).or_default();
            own.packets += 1;
            own.bytes += u64::from(inner.bytes);
            own.longest = own.longest.max(inner.bytes);
        }
    }
}

impl SaTally {
    /// Whether no pair is longer than an MTU: it may be that of the tunnel.
    pub(in crate::matching) fn fits(&self, mtu: u32) -> bool {
        self.sizes.iter().all(|(bytes, _)| bytes <= mtu)
    }

    /// Whether so few of its packets were found, by order, by guesses among equal ones or of those whose content is hidden, that these say nothing
    /// of the others.
    pub(in crate::matching) const fn is_hardly_found(&self) -> bool {
        const FEW: u64 = 8;
        const OF: u64 = 10;
        // By content those count whose content is hidden.
        let hidden = if self.is_by_order() {
            self.alone + self.uncovered
        } else if self.is_guessed() {
            self.alone
        } else {
            self.unread
        };
        self.matched > 0 && (self.matched < FEW || self.is_guessed()) && hidden > self.matched * OF
    }

    /// Whether packets that the tunnel's tap showed and the exit did not may all be ones that were lost before: no more than pairs by order that are
    /// guesses.
    pub(in crate::matching) const fn may_be_before(&self, behind: u64) -> bool {
        self.is_by_order() && behind > 0 && behind <= self.guessed
    }

    /// Whether most pairs are guesses.
    pub(in crate::matching) const fn is_guessed(&self) -> bool {
        self.guessed.saturating_mul(2) > self.matched
    }

    /// Whether its mapping of lengths has only pairs behind it that the mapping itself chose, by order: guesses, a few of many packets, or such as
    /// leave packets of both sides over, as a mapping does that makes some of the lengths. `missed`: plaintext packets without counterpart.
    pub(in crate::matching) fn is_chosen_by_mapping(&self, missed: u64) -> bool {
        const FEW: u64 = 32;
        /// With fewer, packets beyond the other capture count as not found, too.
        const VERY_FEW: u64 = 4;
        /// Packets of both sides that are left over, as 1 in N pairs.
        const OF: u64 = 8;
        let unfound = self.alone + if self.matched < VERY_FEW { self.uncovered } else { 0 };
        let is_crossed = self.alone.min(missed).saturating_mul(OF) > self.matched;
        // Packets of one length have that one, whichever they are.
        let has_several = self.sizes.iter().nth(1).is_some();
        let is_few = self.matched < FEW && (self.is_guessed() || unfound > self.matched);
        self.is_by_order() && (is_few || has_several && (self.is_guessed() || is_crossed))
    }
}
