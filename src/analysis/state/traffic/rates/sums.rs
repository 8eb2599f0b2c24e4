//! What is summed over frames, in a direction and in a bin of time.

use serde::{Deserialize, Serialize};

use crate::analysis::observe::observation::Observation;
use crate::analysis::state::traffic::flows::Decapsulated;
use crate::transform::size::ethernet;

/// Sums over frames.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) frames: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) l2_bytes: u64,
    pub(crate) l3_bytes: u64,
    pub(crate) control_frames: u64,
    pub(crate) control_l1_bytes: u64,
    pub(crate) clear_bytes: u64,
}

/// Sums over frames in clear that directly follow the packet they may have come out of.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Again {
    frames: u64,
    l2_bytes: u64,
    l3_bytes: u64,
}

impl Again {
    pub(super) fn add(&mut self, frame: &Decapsulated) {
        self.frames += 1;
        self.l2_bytes += u64::from(frame.l2_bytes);
        self.l3_bytes += u64::from(frame.l3_bytes);
    }

    pub(super) fn join(&mut self, other: &Self) {
        let Self { frames, l2_bytes, l3_bytes } = *other;
        self.frames += frames;
        self.l2_bytes += l2_bytes;
        self.l3_bytes += l3_bytes;
    }

    /// The sums of the same frames, each shorter by `bytes`.
    pub(crate) fn without_trailer(mut self, bytes: u64) -> Self {
        self.l2_bytes = self.l2_bytes.saturating_sub(self.frames.saturating_mul(bytes));
        self
    }

    /// The same as sums of frames in clear.
    pub(crate) fn sums(&self) -> Sums {
        Sums {
            frames: self.frames,
            l1_bytes: self.l2_bytes + self.frames * ethernet::PREAMBLE_AND_IFG,
            l2_bytes: self.l2_bytes,
            l3_bytes: self.l3_bytes,
            clear_bytes: self.l3_bytes,
            ..Sums::default()
        }
    }
}

/// Sums over the frames of one bin, and of the copies among them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BinSums {
    pub(crate) all: Sums,
    pub(crate) goodput_bytes: u64,
    pub(crate) copies: Sums,
    pub(crate) copies_goodput_bytes: u64,
    pub(crate) again: Again,
}

impl Sums {
    #[inline]
    pub(super) fn add(&mut self, o: &Observation) {
        self.frames += 1;
        if o.class.control {
            self.control_frames += 1;
            self.control_l1_bytes += o.l1_bytes();
        } else {
            self.l1_bytes += o.l1_bytes();
            self.l2_bytes += u64::from(o.l2_bytes);
        }
        self.l3_bytes += u64::from(o.l3_bytes);
        if o.class.clear {
            self.clear_bytes += u64::from(o.l3_bytes);
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        let Self { frames, l1_bytes, l2_bytes, l3_bytes, control_frames, control_l1_bytes, clear_bytes } = *other;
        self.frames += frames;
        self.l1_bytes += l1_bytes;
        self.l2_bytes += l2_bytes;
        self.l3_bytes += l3_bytes;
        self.control_frames += control_frames;
        self.control_l1_bytes += control_l1_bytes;
        self.clear_bytes += clear_bytes;
    }

    /// The sums without those of `copies`.
    pub(crate) fn without(&self, copies: &Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(copies.frames),
            l1_bytes: self.l1_bytes.saturating_sub(copies.l1_bytes),
            l2_bytes: self.l2_bytes.saturating_sub(copies.l2_bytes),
            l3_bytes: self.l3_bytes.saturating_sub(copies.l3_bytes),
            control_frames: self.control_frames.saturating_sub(copies.control_frames),
            control_l1_bytes: self.control_l1_bytes.saturating_sub(copies.control_l1_bytes),
            clear_bytes: self.clear_bytes.saturating_sub(copies.clear_bytes),
        }
    }

    /// The sums of the same frames, each shorter by `bytes`.
    pub(crate) fn without_trailer(mut self, bytes: u64) -> Self {
        let octets = self.frames.saturating_sub(self.control_frames).saturating_mul(bytes);
        self.l1_bytes = self.l1_bytes.saturating_sub(octets);
        self.l2_bytes = self.l2_bytes.saturating_sub(octets);
        self
    }
}

impl BinSums {
    pub(crate) fn join(&mut self, other: &Self) {
        self.all.join(&other.all);
        self.goodput_bytes += other.goodput_bytes;
        self.copies.join(&other.copies);
        self.copies_goodput_bytes += other.copies_goodput_bytes;
        self.again.join(&other.again);
    }
}
