//! Padding behind the ICV of AH.

use serde::{Deserialize, Serialize};

/// The last four octets of AH ICV fields that may hold padding, frame after frame.
///
/// A MAC's octets change from packet to packet, padding does not: the evidence is equal neighbours. A frame with the number of the one
/// before it is the same packet again, and says nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AhTail {
    pub(crate) frames: u64,
    pub(crate) zero: u64,
    pub(crate) equal_neighbours: u64,
    /// Of the first and the last frame: sequence number and octets.
    first: Option<(Option<u32>, u32)>,
    last: Option<(Option<u32>, u32)>,
}

impl AhTail {
    pub(super) fn add(&mut self, sequence: Option<u32>, tail: u32) {
        let own = (sequence, tail);
        if sequence.is_some() && self.last == Some(own) {
            return;
        }
        self.frames += 1;
        self.zero += u64::from(tail == 0);
        self.equal_neighbours += u64::from(self.last.is_some_and(|last| last.1 == tail));
        self.first = self.first.or(Some(own));
        self.last = Some(own);
    }

    pub(super) fn merge(&mut self, later: Self) {
        let Self { mut frames, mut zero, equal_neighbours, first, last } = later;
        let mut border = 0;
        if let (Some(own), Some(first)) = (self.last, first) {
            if first.0.is_some() && own == first {
                frames = frames.saturating_sub(1);
                zero = zero.saturating_sub(u64::from(first.1 == 0));
            } else {
                border = u64::from(own.1 == first.1);
            }
        }
        self.frames += frames;
        self.zero += zero;
        self.equal_neighbours += equal_neighbours + border;
        self.first = self.first.or(first);
        self.last = last.or(self.last);
    }

    /// Whether the four octets are padding: several are zero, or equal to those of the neighbour, or all are zero.
    /// A 32-bit part of a MAC is so with a chance of 2^-32.
    pub(super) fn is_padding(&self) -> bool {
        /// Fewer such frames are chance, and so is a smaller share of all frames, as 1 in N.
        const LEAST: u64 = 2;
        const RARE: u64 = 1 << 16;
        let often = |frames: u64| frames >= LEAST && frames.saturating_mul(RARE) >= self.frames;
        self.frames > 0 && (self.zero == self.frames || often(self.zero) || often(self.equal_neighbours))
    }
}
