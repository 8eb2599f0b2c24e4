//! What became of packets that travelled in fragments, in sums.

use serde::{Deserialize, Serialize};

use super::fragments::FragmentKey;
use super::trains::Train;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::seen::Seen;
use crate::model::{Shift, all_bits};

/// Fragmented packets of one SA, or ([`NONE`]) of none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FragmentSums {
    /// Packets of which every fragment was seen.
    pub(crate) complete: u64,
    /// Of these, packets whose inner packet nothing shows.
    pub(crate) unsized_packets: u64,
    /// Packets with fragments missing.
    pub(crate) incomplete: u64,
    /// Packets whose fragments fit together in more than one way.
    pub(crate) uncertain: u64,
    /// Where they were seen, each as one.
    pub(crate) seen: Seen,
    /// The frames of their fragments, without copies.
    pub(crate) frames: Listed,
    /// Fragments other than the first, without copies.
    pub(crate) later: u64,
    /// IP octets of these, and their octets on the wire.
    pub(crate) later_bytes: u64,
    pub(crate) later_l1_bytes: u64,
    /// Packets whose first fragment was seen.
    pub(crate) begun: u64,
    /// Of the fragments other than the first, copies of a TAP that were taken for what a packet lacked, with their octets of IP and on the wire.
    pub(crate) filled: (u64, u64, u64),
    /// What identified the packets.
    pub(crate) marks: Marked,
    /// Octets that further IP headers cost in complete packets.
    pub(crate) extra_header_bytes: u64,
}

/// A set of identifications, hashed: which ones are in it is not known, about how many is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Marked {
    #[serde(serialize_with = "all_bits")]
    bits: [u64; Self::WORDS],
}

impl Marked {
    const WORDS: usize = 16;
    /// With more bits set, how many there are can no longer be said.
    const FULL: u32 = 900;

    fn add(&mut self, mark: u64) {
        if let Some(word) = self.bits.get_mut((mark >> 6) as usize % Self::WORDS) {
            *word |= 1 << (mark & 63);
        }
    }

    fn merge(&mut self, later: Self) {
        let Self { bits } = later;
        self.bits.iter_mut().zip(bits).for_each(|(own, later)| *own |= later);
    }

    /// Whether packets are half as many again as identifications.
    fn recur(&self, packets: u64) -> bool {
        let set: u32 = self.bits.iter().map(|word| word.count_ones()).sum();
        let all = f64::from(u64::BITS) * Self::WORDS as f64;
        // Linear counting: how many different values set this share of the bits.
        let distinct = -all * (1.0 - f64::from(set) / all).ln();
        set <= Self::FULL && packets as f64 > 1.5 * distinct + 1.0
    }
}

impl FragmentSums {
    pub(super) fn add(&mut self, train: &Train<'_>, key: &FragmentKey, size: Option<bool>, counts: bool) {
        /// The first fragment of IPv6 has a fragment header too (RFC 8200 section 4.5).
        const FRAGMENT_HEADER: u64 = 8;
        self.marks.add(key.mark());
        self.begun += u64::from(train.first().is_some());
        match (size, train.uncertain) {
            _ if !counts => {}
            (Some(shown), _) => {
                self.complete += 1;
                self.unsized_packets += u64::from(!shown);
                let header = train.pieces.first().map_or(0, |piece| piece.header_bytes);
                let further = (train.pieces.len() as u64).saturating_sub(1);
                let own = if key.is_v4() { 0 } else { FRAGMENT_HEADER };
                self.extra_header_bytes += further * u64::from(header) + own;
            }
            (None, true) => self.uncertain += 1,
            (None, false) => self.incomplete += 1,
        }
        self.seen.join(&train.seen());
        self.frames.join(&train.frames());
        let pieces = train.pieces.iter().chain(&train.again);
        for piece in pieces.filter(|piece| piece.first.is_none()) {
            self.later += 1;
            self.later_bytes += u64::from(piece.ip_bytes);
            self.later_l1_bytes += piece.l1_bytes;
            if piece.copy {
                let (fragments, octets, on_the_wire) = self.filled;
                self.filled = (fragments + 1, octets + u64::from(piece.ip_bytes), on_the_wire + piece.l1_bytes);
            }
        }
    }

    /// Takes back what packets are, where their identifications recur so soon that fragments of one may have been taken for another's: some
    /// did not fit. True if that is so.
    pub(crate) fn withdraw(&mut self) -> bool {
        let torn = self.incomplete + self.uncertain > 0 && self.marks.recur(self.packets());
        if torn {
            (self.uncertain, self.complete, self.incomplete) = (self.begun, 0, 0);
            (self.unsized_packets, self.extra_header_bytes) = (0, 0);
            let (fragments, octets, on_the_wire) = std::mem::take(&mut self.filled);
            self.later = self.later.saturating_sub(fragments);
            self.later_bytes = self.later_bytes.saturating_sub(octets);
            self.later_l1_bytes = self.later_l1_bytes.saturating_sub(on_the_wire);
        }
        torn
    }

    /// Packets that travelled in fragments.
    pub(crate) fn packets(&self) -> u64 {
        self.complete + self.incomplete + self.uncertain
    }

    pub(super) fn merge(&mut self, later: Self, shift: Shift) {
        let Self {
            complete,
            unsized_packets,
            incomplete,
            uncertain,
            seen,
            frames,
            later: more,
            later_bytes,
            later_l1_bytes,
            begun,
            filled,
            marks,
            extra_header_bytes,
        } = later;
        self.complete += complete;
        self.unsized_packets += unsized_packets;
        self.incomplete += incomplete;
        self.uncertain += uncertain;
        let mut shifted = Seen::default();
        shifted.merge(seen, shift);
        self.seen.join(&shifted);
        self.frames.join(&frames.shifted(shift));
        self.later += more;
        self.later_bytes += later_bytes;
        self.later_l1_bytes += later_l1_bytes;
        self.begun += begun;
        self.filled = (self.filled.0 + filled.0, self.filled.1 + filled.1, self.filled.2 + filled.2);
        self.marks.merge(marks);
        self.extra_header_bytes += extra_header_bytes;
    }
}
