//! Evidence for ESP-NULL: which layout the packets of an SA would have.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::pads::{SeenTrailer, Trailers};
use super::sas::SaState;
use crate::analysis::state::base::listed::At;
use crate::dissect::NullSupport;
use crate::model::Shift;

/// An ESP-NULL layout.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct NullCandidate {
    pub(crate) icv_bytes: u8,
    pub(crate) iv_bytes: u8,
}

/// Evidence for one ESP-NULL layout.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NullVotes {
    /// Frames consistent with it.
    pub(crate) frames: u64,
    /// Sum of their bits.
    pub(crate) bits: u64,
    /// Of these, frames with next header 4 or 41.
    pub(crate) tunnel: u64,
    pub(crate) trailers: Trailers,
}

/// Bits a candidate loses with each frame that contradicts it.
pub(crate) const NULL_PENALTY_BITS: u64 = 8;
/// Bits, net, that make a verdict.
pub(crate) const NULL_VERDICT_BITS: i64 = 40;

impl NullVotes {
    pub(crate) fn add(&mut self, support: &NullSupport, at: At) {
        self.frames += 1;
        self.bits += u64::from(support.bits);
        self.tunnel += u64::from(matches!(support.next_header, 4 | 41));
        let has_tfc = support.tfc_bytes > 0;
        let trailer = SeenTrailer {
            next_header: support.next_header,
            pad_bytes: support.pad_bytes,
            is_counting: support.pad_monotonic,
            // RFC 4303 section 2.4 asks for alignment to 32 bits.
            is_longer: support.pad_bytes.is_some_and(|pad| pad > 3) || has_tfc,
            has_tfc,
        };
        self.trailers.add(at, trailer);
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { frames, bits, tunnel, trailers } = later;
        self.frames += frames;
        self.bits += bits;
        self.tunnel += tunnel;
        self.trailers.merge(trailers, shift);
    }

    const NOTHING: Self = Self { frames: 0, bits: 0, tunnel: 0, trailers: Trailers::NONE };
}

/// Bits for a layout, less those lost to the `checked` packets of which only `frames` support it.
fn net_bits(frames: u64, bits: u64, checked: u64) -> i64 {
    let against = checked.saturating_sub(frames).saturating_mul(NULL_PENALTY_BITS);
    i64::try_from(bits).unwrap_or(i64::MAX).saturating_sub(i64::try_from(against).unwrap_or(i64::MAX))
}

/// Evidence for ESP-NULL in packets that travelled in fragments.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrainVotes {
    /// Packets of which every fragment was seen.
    pub(crate) packets: u64,
    /// Packets consistent with a layout, and their bits.
    pub(crate) by: BTreeMap<NullCandidate, (u64, u64)>,
}

impl SaState {
    /// The ESP-NULL layout the evidence decides for, if it decides: that of whole packets, and of those in fragments.
    pub(crate) fn null_verdict(&self, trains: Option<&TrainVotes>) -> Option<(NullCandidate, &NullVotes)> {
        static NOTHING: NullVotes = NullVotes::NOTHING;
        let checked = self.null_checked + trains.map_or(0, |trains| trains.packets);
        let of_trains = |candidate: &NullCandidate| trains.and_then(|trains| trains.by.get(candidate)).copied();
        // A copy is no further evidence.
        let (seen, copies) = (i128::from(self.seen.count.max(1)), i128::from(self.copies.get().frames));
        let net = |candidate: &NullCandidate, votes: &NullVotes| {
            let (frames, bits) = of_trains(candidate).unwrap_or_default();
            let all = net_bits(votes.frames + frames, votes.bits + bits, checked);
            i64::try_from(i128::from(all) * (seen - copies).max(1) / seen).unwrap_or(all)
        };
        let unknown =
            trains.into_iter().flat_map(|trains| trains.by.keys()).filter(|key| !self.null.contains_key(*key));
        self.null
            .iter()
            .map(|(candidate, votes)| (*candidate, votes))
            .chain(unknown.map(|candidate| (*candidate, &NOTHING)))
            .map(|(candidate, votes)| (candidate, votes, net(&candidate, votes)))
            .filter(|(_, _, net)| *net >= NULL_VERDICT_BITS)
            .max_by_key(|(candidate, _, net)| (*net, std::cmp::Reverse(*candidate)))
            .map(|(candidate, votes, _)| (candidate, votes))
            .filter(|(candidate, votes)| !self.is_disputed(*candidate, votes, checked))
    }

    /// Whether many packets are as sure of another layout, and all of both were cut. Their layout follows from the least padding: where the
    /// sender adds more, each has its own, and none is known.
    fn is_disputed(&self, candidate: NullCandidate, votes: &NullVotes, checked: u64) -> bool {
        /// Bits of one packet that leave little doubt about it.
        const SURE: u64 = 32;
        let is_cut = |votes: &NullVotes| votes.trailers.sized() == 0;
        let others = self.null.iter().filter(|(own, other)| **own != candidate && other.frames > 0 && is_cut(other));
        let sure = others.map(|(_, other)| other).filter(|other| other.bits >= other.frames.saturating_mul(SURE));
        let most = sure.map(|other| other.frames).max().unwrap_or(0);
        // Of packets that were cut early, none is among those that were checked.
        let all = checked.max(votes.frames.saturating_add(most));
        is_cut(votes)
            && votes.frames.saturating_mul(10) < all.saturating_mul(9)
            && most.saturating_mul(4) >= votes.frames.max(1)
    }
}
