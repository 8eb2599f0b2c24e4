//! What the pairs of one SA or tunnel add up to.

use std::collections::BTreeMap;

use super::headers::HeaderRuns;
use crate::analysis::limits::FIRST_LISTED;
use crate::matching::TunnelKey;
use crate::matching::limits::MAX_SIZES;
use crate::matching::measure::quantiles::Quantiles;
use crate::matching::measure::sizes::SizeTallies;
use crate::matching::packets::ledger::Tunnelled;
use crate::matching::packets::mapping::Mapping;
use crate::matching::packets::prefix::Prefix;
use crate::model::report::Name;
use crate::model::{FramePos, Timestamp};

/// Up to one pair of this many may have contradictory times before the clock is doubted instead of the pair.
pub(super) const STRAY: u64 = 16;

/// One SA or tunnel.
#[derive(Clone, Debug)]
pub(in crate::matching) struct SaTally {
    pub(in crate::matching) key: TunnelKey,
    pub(in crate::matching) name: Name,
    pub(in crate::matching) matched: u64,
    pub(in crate::matching) ambiguous: u64,
    /// Pairs that are no more than guesses.
    pub(in crate::matching) guessed: u64,
    /// Pairs by content that are far from the usual time, where others have equals.
    pub(in crate::matching) strays: u64,
    /// Pairs of packets that are alike and no more than guesses, much further apart than those that are sure.
    pub(in crate::matching) far_guesses: u64,
    /// Pairs of packets that are alike, nearer in time to another of these, while nothing tells whether their own counterpart was lost.
    pub(in crate::matching) shifted: u64,
    /// Packets of which not all that may be their counterpart were compared.
    pub(in crate::matching) unsearched: u64,
    /// Packets without counterpart beside an equal one, while copies of the plain side are left out.
    pub(in crate::matching) at_once: u64,
    pub(in crate::matching) alone: u64,
    /// Those of them that show nothing of their content.
    pub(in crate::matching) unread: u64,
    /// Which these are.
    pub(in crate::matching) alone_frames: Alone,
    pub(in crate::matching) uncovered: u64,
    pub(in crate::matching) repeated: u64,
    pub(in crate::matching) basis: [u64; 3],
    pub(in crate::matching) confidence: f64,
    /// Packets whose TTL says that the plain tap saw them first, less those that it saw last.
    pub(in crate::matching::measure) votes: i64,
    /// Difference of the timestamps of its first pair: the later direction of two has the greater one.
    pub(in crate::matching::measure) first_difference: Option<i64>,
    pub(in crate::matching) encapsulated: Option<bool>,
    /// The plaintext packet of a pair that is furthest on in its capture.
    pub(in crate::matching) furthest: Option<FramePos>,
    /// Pairs whose times contradict them.
    pub(in crate::matching::measure) backwards: u64,
    pub(in crate::matching) reordered: u64,
    pub(in crate::matching) src: Option<Prefix>,
    pub(in crate::matching) dst: Option<Prefix>,
    pub(in crate::matching) times: Quantiles,
    /// The same of pairs by order that are guesses.
    pub(in crate::matching) guesses: Quantiles,
    /// Of the pairs, those of packets that were left over of both sides, as others overtook them.
    pub(in crate::matching) overtaken: u64,
    /// The longest time of a sure pair.
    pub(in crate::matching) longest: i64,
    /// Of the times, those below 0 that count as 0.
    pub(in crate::matching) bounded: u64,
    pub(in crate::matching) cut_through: Quantiles,
    pub(in crate::matching) store_and_forward: Quantiles,
    pub(in crate::matching) header: HeaderRuns,
    pub(in crate::matching) sizes: SizeTallies,
    pub(in crate::matching) mapping: Option<Mapping>,
    pub(in crate::matching) ah_bytes: Option<u16>,
    pub(in crate::matching) transport: Option<bool>,
}

/// Packets of the tunnel that have no plaintext packet: the first ones and the last one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Alone {
    pub(crate) first: Vec<AloneFrame>,
    pub(crate) last: Option<AloneFrame>,
    /// How many are of each length, of opaque ESP, with those in what looks like a hole of the plain capture.
    pub(in crate::matching) lengths: BTreeMap<u32, u64>,
}

/// One of them: its frame, its time, its number.
pub(crate) type AloneFrame = (FramePos, Timestamp, Option<u32>);

impl Alone {
    pub(super) fn add(&mut self, packet: &Tunnelled) {
        let frame = (packet.pos, packet.time, packet.sequence);
        if self.first.len() < FIRST_LISTED {
            self.first.push(frame);
        } else {
            self.last = Some(frame);
        }
        self.measure(packet);
    }

    pub(super) fn measure(&mut self, packet: &Tunnelled) {
        if let Some(esp) = packet.esp
            && (self.lengths.len() < MAX_SIZES || self.lengths.contains_key(&esp))
        {
            *self.lengths.entry(esp).or_default() += 1;
        }
    }
}

impl SaTally {
    /// Whether most pairs are known by their order alone.
    pub(in crate::matching) const fn is_by_order(&self) -> bool {
        let [content, decrypted, order] = self.basis;
        order > content + decrypted
    }

    /// Whether holes in the numbers do not name the `missed` packets: nearly all pairs are guesses, times contradict more than a few, or packets of both
    /// sides are left over.
    pub(in crate::matching) fn has_unnamed_holes(&self, missed: u64) -> bool {
        /// Packets that are no stray, and the pairs that need not be guesses, as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 8;
        self.guessed * OF > self.matched * (OF - 1) || self.is_untimely() || self.alone.min(missed) > FEW
    }

    /// Whether most packets have equals.
    pub(in crate::matching) const fn is_alike(&self) -> bool {
        self.ambiguous.saturating_mul(2) > self.matched
    }

    /// Whether packets of the tunnel without counterpart may be the plaintext packets that have none: pairs are no proof, and no other network
    /// sends into the tunnel.
    pub(in crate::matching) const fn may_be_crossed(&self) -> bool {
        /// Strangers that other networks send, as 1 in N.
        const OF: u64 = 20;
        (self.is_by_order() || self.is_alike()) && self.alone * OF < self.matched
    }

    /// Whether pairs that are sure say how the clocks differ, where others of packets that are alike do not.
    pub(in crate::matching) const fn is_anchored(&self) -> bool {
        /// Pairs, and a share of all as 1 in N.
        const FEW: u64 = 8;
        const OF: u64 = 16;
        let sure = self.matched.saturating_sub(self.ambiguous);
        !self.is_alike() || self.is_by_order() || sure >= FEW || sure.saturating_mul(OF) >= self.matched && sure > 2
    }

    /// Whether more than a few pairs have times that contradict them.
    pub(in crate::matching) const fn is_untimely(&self) -> bool {
        self.backwards * STRAY > self.matched
    }
}
