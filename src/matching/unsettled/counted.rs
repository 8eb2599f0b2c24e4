//! What the counts of both sides say of missing numbers, where packets cannot be paired.

use crate::matching::Matcher;
use crate::matching::measure::silence::Silences;
use crate::matching::measure::tally::SaTally;

/// Packets that may be on their way at either end.
const ON_THEIR_WAY: i64 = 2;

/// By how many packets two counts may differ that are the same: what is not counted must be little beside what is missing.
fn allowance(missing: u64) -> u64 {
    /// The share of what is missing, as 1 in N.
    const OF_MISSING: u64 = 10;
    ON_THEIR_WAY.unsigned_abs().min(missing / OF_MISSING)
}

impl Matcher {
    /// Whether as many plaintext packets were sent as the tunnel shows and misses, by one clock: then the missing numbers are all that was
    /// lost, whichever packets they are.
    pub(in crate::matching) fn is_counted(&self, at: usize, sa: &SaTally, missing: u64) -> bool {
        missing > 0 && self.are_as_many(at, sa.alone + sa.uncovered + missing, missing)
    }

    /// Whether as many plaintext packets were seen as the tunnel shows, without the numbers that it misses, by one clock: what these numbers bore was lost
    /// before both taps, as on its way to the gateway.
    pub(super) fn is_lost_before(&self, at: usize, sa: &SaTally, missing: u64) -> bool {
        missing > 0 && self.are_as_many(at, sa.alone + sa.uncovered, missing)
    }

    /// Whether the missing numbers of an SA without pairs were lost between the taps, or on their way to both; `None` where it is not known which tap its
    /// packets passed first.
    pub(super) fn is_lost_between(&self, at: u32, sa: &SaTally, missing: u64) -> Option<bool> {
        if self.is_lost_before(at as usize, sa, missing) {
            return Some(false);
        }
        let (src, dst) = self.tunnel_of(at)?;
        for (other, own) in (0..).zip(&self.tally.sas).filter(|(_, own)| own.matched > 0) {
            let Some(way) = own.encapsulated.filter(|_| !self.order.is_way_guessed(other)) else { continue };
            match self.tunnel_of(other) {
                Some(ends) if ends == (src, dst) => return Some(way),
                Some(ends) if ends == (dst, src) => return Some(!way),
                _ => {}
            }
        }
        let (ways, is_fresh) = self.order.unpaired()?;
        let seen = sa.alone + sa.uncovered;
        let most = allowance(missing);
        let is_one_of = |packets: u64| ways.iter().any(|way| way.abs_diff(packets) <= most);
        match (is_one_of(seen + missing), is_one_of(seen)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => is_fresh.then_some(true),
        }
    }

    /// Whether `seen` packets are as many as the plaintext packets of their direction, as near as it takes to tell `missing` ones.
    fn are_as_many(&self, at: usize, seen: u64, missing: u64) -> bool {
        let [(from, to), (begin, end)] = self.ledger.recorded;
        let packets = i64::try_from(seen).unwrap_or(i64::MAX).max(1);
        let on_their_way = (to.saturating_sub(from) / packets).saturating_mul(ON_THEIR_WAY);
        let same_time = from.abs_diff(begin).max(to.abs_diff(end)) <= on_their_way.unsigned_abs();
        let most = allowance(missing);
        // As many may be missing in a hole of one capture as the other one shows before it or after it.
        let recorded = !self.ledger.silences.iter().any(Silences::has_long);
        recorded
            && same_time
            && self.order.aside_of(at as u32).is_some_and(|(sent, answers)| {
                // If the two ways were taken for each other, these would be the answers, some of which were lost.
                let may_be_answers = answers.abs_diff(seen) > most && answers < seen && answers * 2 > seen;
                sent.abs_diff(seen) <= most && !may_be_answers
            })
    }
}
