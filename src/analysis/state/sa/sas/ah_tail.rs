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
    /// Neighbours of which the later one is a little more, as a counter's.
    counting: u64,
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
        self.counting += u64::from(self.last.is_some_and(|last| counts(last.1, tail)));
        self.first = self.first.or(Some(own));
        self.last = Some(own);
    }

    pub(super) fn merge(&mut self, later: Self) {
        let Self { mut frames, mut zero, equal_neighbours, counting, first, last } = later;
        let (mut border, mut counts_on) = (0, 0);
        if let (Some(own), Some(first)) = (self.last, first) {
            if first.0.is_some() && own == first {
                frames = frames.saturating_sub(1);
                zero = zero.saturating_sub(u64::from(first.1 == 0));
            } else {
                border = u64::from(own.1 == first.1);
                counts_on = u64::from(counts(own.1, first.1));
            }
        }
        self.frames += frames;
        self.zero += zero;
        self.equal_neighbours += equal_neighbours + border;
        self.counting += counting + counts_on;
        self.first = self.first.or(first);
        self.last = last.or(self.last);
    }

    /// Whether the four octets are padding: several are zero, or equal to those of the neighbour, or count, or all are zero.
    /// A 32-bit part of a MAC is so with a chance of 2^-32, and counts with one of 2^-25.
    pub(super) fn is_padding(&self) -> bool {
        /// Fewer such frames are chance, and so is a smaller share of all frames, as 1 in N.
        const LEAST: u64 = 2;
        const RARE: u64 = 1 << 16;
        let often = |frames: u64| frames >= LEAST && frames.saturating_mul(RARE) >= self.frames;
        self.frames > 0
            && (self.zero == self.frames || [self.zero, self.equal_neighbours, self.counting].into_iter().any(often))
    }
}

/// Whether four octets are a little more than those of the packet before, in either order of them: what was left in memory of a counter.
const fn counts(before: u32, after: u32) -> bool {
    /// Packets that may lie between.
    const STEPS: u32 = 64;
    let step = after.wrapping_sub(before);
    let swapped = after.swap_bytes().wrapping_sub(before.swap_bytes());
    (step != 0 && step <= STEPS) || (swapped != 0 && swapped <= STEPS)
}
