//! What pairs that are proved, and numbers, say of a loss although other pairs are guesses.

use super::are_more_than_few;
use crate::matching::Matcher;
use crate::matching::measure::doubt;
use crate::matching::measure::silence::Silences;
use crate::matching::measure::tally::SaTally;
use crate::matching::order::shifts::Proof;
use crate::model::pairs::Undetermined;

impl Matcher {
    /// Whether as many plaintext packets have no counterpart as numbers are missing, and nothing else is left over.
    pub(super) fn is_closed(&self, sa: &SaTally, missing: u64, missed: u64) -> bool {
        let is_alone = sa.encapsulated == Some(true) && sa.alone == 0;
        sa.is_by_order() && is_alone && missing > 0 && missed == missing && self.has_no_hole()
    }

    /// Whether both taps were recording throughout.
    fn has_no_hole(&self) -> bool {
        !self.ledger.silences.iter().any(Silences::has_long)
    }

    fn proof(&self, at: u32) -> Option<Proof> {
        self.order.lane(at).and_then(|lane| self.proofs.get(lane).copied())
    }

    /// Whether packets without counterpart are all of the side that was passed first, and both taps were recording throughout: beside a hole pairs may
    /// be others, or the packets that it swallowed.
    fn is_one_sided(&self, sa: &SaTally, missed: u64) -> bool {
        let is_alone = match sa.encapsulated {
            Some(true) => sa.alone == 0,
            Some(false) => missed == 0,
            None => false,
        };
        is_alone && self.has_no_hole()
    }

    /// Whether packets of one side alone have no counterpart, and guesses are between pairs that are proved: as many were lost whichever they are.
    pub(super) fn is_within(&self, at: u32, sa: &SaTally, missed: u64) -> bool {
        let is_bound = |proof: Proof| proof.pairs > 0 && proof.open + proof.strays > 0 && proof.doubtful(true) == 0;
        self.is_one_sided(sa, missed) && self.proof(at).is_some_and(|proof| is_bound(proof) && !proof.is_open_within())
    }

    /// Why a loss of `lost` packets is not known where pairs by order are not proved.
    pub(super) fn unproved(&self, at: u32, sa: &SaTally, (missed, lost): (u64, u64)) -> Option<Undetermined> {
        let proof = self.proof(at).filter(|_| sa.is_by_order())?;
        let one_sided = self.is_one_sided(sa, missed);
        if if one_sided { proof.is_open_within() } else { proof.is_open() } {
            return Some(doubt::unproved(proof.open, proof.pairs));
        }
        // As many packets may be taken for lost, or lost ones for found, as there are pairs that may be others.
        let doubtful = proof.doubtful(one_sided);
        (lost > 0 && are_more_than_few(doubtful, lost)).then(|| doubt::guessed(doubtful, proof.pairs))
    }
}
