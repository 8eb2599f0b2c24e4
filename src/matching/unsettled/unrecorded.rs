//! Losses where the tunnel's capture misses frames, as packets that came out of the tunnel show.

use std::collections::BTreeMap;

use super::are_more_than_few;
use crate::matching::Matcher;
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::model::pairs::Undetermined;

impl Matcher {
    /// Why plaintext packets that the tunnel's tap did not show may not be lost: packets that came out of the same tunnel were not seen there either, so
    /// that its capture misses frames.
    pub(super) fn unshown(&self, at: u32, sa: &SaTally, (lost, losses): (u64, &Losses)) -> Option<Undetermined> {
        let unseen =
            self.missed_beside_tap(at, (sa.matched, lost), losses).filter(|_| sa.encapsulated == Some(true))?;
        Some(doubt::unshown(unseen, lost))
    }

    /// How many packets that came out of the same tunnel its tap did not show, where that is as large a share of them as `lost` is of the `packets` of an
    /// SA into it.
    pub(super) fn missed_beside_tap(&self, at: u32, (packets, lost): (u64, u64), losses: &Losses) -> Option<u64> {
        let (src, dst) = self.tunnel_of(at).filter(|_| lost > 0)?;
        let (mut unseen, mut pairs) = (0, 0);
        for (other, own) in (0..).zip(&self.tally.sas) {
            if own.encapsulated == Some(false) && self.tunnel_of(other) == Some((dst, src)) {
                // By order these may be the packets in the tunnel without counterpart; those that repeat others need not have been there.
                let of = |counts: &BTreeMap<u32, u64>| counts.get(&other).copied().unwrap_or(0);
                unseen += of(&losses.missed).saturating_sub(of(&losses.repeated)).saturating_sub(own.alone);
                pairs += own.matched;
            }
        }
        let expected = (unseen.saturating_mul(packets) / pairs.max(1)).max(unseen.min(1));
        (expected * 2 >= lost || are_more_than_few(expected, lost)).then_some(unseen)
    }

    /// Why it is not known how many packets were lost before they came out of the tunnel: its tap did not see some that did. And whether it is
    /// not; `unseen`: for another reason.
    pub(in crate::matching) fn missed_by_tap(
        &self,
        at: u32,
        sa: &SaTally,
        (missing, unseen): (u64, bool),
        losses: &Losses,
    ) -> (Option<Undetermined>, bool) {
        let came_out = losses.missed.get(&at).copied().filter(|_| sa.encapsulated == Some(false)).unwrap_or(0);
        let missed = (came_out.min(missing) > 0).then(|| doubt::missed_numbers(missing, came_out));
        let unseen = unseen || missed.is_some();
        (missed, unseen)
    }
}
