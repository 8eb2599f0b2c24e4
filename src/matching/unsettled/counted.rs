//! What the counts of both sides say of missing numbers, where packets cannot be paired.

use crate::matching::Matcher;
use crate::matching::measure::silence::Silences;
use crate::matching::measure::tally::SaTally;

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

    /// Whether `seen` packets are as many as the plaintext packets of their direction, as near as it takes to tell `missing` ones.
    fn are_as_many(&self, at: usize, seen: u64, missing: u64) -> bool {
        /// Packets that may be on their way at either end.
        const ON_THEIR_WAY: i64 = 2;
        /// And as a share of what is missing, as 1 in N.
        const OF_MISSING: u64 = 10;
        let [(from, to), (begin, end)] = self.ledger.recorded;
        let packets = i64::try_from(seen).unwrap_or(i64::MAX).max(1);
        let on_their_way = (to.saturating_sub(from) / packets).saturating_mul(ON_THEIR_WAY);
        let same_time = from.abs_diff(begin).max(to.abs_diff(end)) <= on_their_way.unsigned_abs();
        // What is not counted must be little beside what is missing.
        let most = ON_THEIR_WAY.unsigned_abs().min(missing / OF_MISSING);
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
