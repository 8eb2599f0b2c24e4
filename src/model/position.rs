//! Where a frame stands in its stream.

use serde::{Deserialize, Serialize};

use super::all_bits;

/// Index of a capture within the run or within a merged state.
pub type CaptureId = u32;

/// The position of a frame: which capture of the span, and the frame's number in it, from 1 as Wireshark counts.
///
/// Positions in a state are relative to the state's span; merging a later span moves them with [`FramePos::shifted`].
/// Packed into one word (24 bits of capture, 40 bits of frame number) because every accumulator keeps several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FramePos(#[serde(serialize_with = "all_bits")] u64);

const FRAME_BITS: u32 = 40;
const FRAME_MASK: u64 = (1 << FRAME_BITS) - 1;

impl FramePos {
    /// The position of frame `number` (from 1) of capture `capture` of the span.
    /// Numbers beyond 2^40 - 1 and captures beyond 2^24 - 1 stick at the limit.
    #[inline]
    #[must_use]
    pub const fn new(capture: CaptureId, number: u64) -> Self {
        let capture = if capture > 0xff_ffff { 0xff_ffff } else { capture };
        let number = if number > FRAME_MASK { FRAME_MASK } else { number };
        Self((capture as u64) << FRAME_BITS | number)
    }

    /// Index of the capture within the span.
    #[inline]
    #[must_use]
    pub const fn capture(self) -> CaptureId {
        (self.0 >> FRAME_BITS) as CaptureId
    }

    /// Number of the frame within its capture, from 1.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0 & FRAME_MASK
    }

    /// The position of the next frame of its capture.
    #[inline]
    #[must_use]
    pub const fn following(self) -> Self {
        let next = self.0.wrapping_add(1);
        // The number that follows the last one has no bits.
        if next << (u64::BITS - FRAME_BITS) == 0 { self } else { Self(next) }
    }

    /// The same frame seen from a span that begins earlier by `shift`.
    #[must_use]
    pub const fn shifted(self, shift: Shift) -> Self {
        let number = if self.capture() == 0 { self.number() + shift.frames } else { self.number() };
        Self::new(self.capture().saturating_add(shift.captures), number)
    }
}

/// By how much the positions of a later span move when it is merged behind an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shift {
    /// Captures that lie wholly before the later span.
    pub captures: u32,
    /// Frames of the capture that both spans share and that lie before the later span; applies to its first capture only.
    pub frames: u64,
}
