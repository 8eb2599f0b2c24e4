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

/// Sums over frames without IPsec that directly follow the packet they may have come out of.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Again {
    pub(crate) in_clear: ShownSums,
    pub(crate) in_tunnels: ShownSums,
}

/// Such frames of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ShownSums {
    pub(crate) frames: u64,
    l2_bytes: u64,
    pub(crate) l3_bytes: u64,
    /// Packets that their tunnels carry.
    pub(crate) inner_bytes: u64,
}

impl Again {
    pub(super) fn add(&mut self, frame: &Decapsulated) {
        let own = if frame.inner_bytes == 0 { &mut self.in_clear } else { &mut self.in_tunnels };
        own.join(&ShownSums {
            frames: 1,
            l2_bytes: frame.l2_bytes.into(),
            l3_bytes: frame.l3_bytes.into(),
            inner_bytes: frame.inner_bytes.into(),
        });
    }

    pub(crate) fn join(&mut self, other: &Self) {
        let Self { in_clear, in_tunnels } = other;
        self.in_clear.join(in_clear);
        self.in_tunnels.join(in_tunnels);
    }

    /// The sums of the same frames, each shorter by `bytes`.
    pub(crate) fn without_trailer(self, bytes: u64) -> Self {
        let shorter = |shown: ShownSums| ShownSums {
            l2_bytes: shown.l2_bytes.saturating_sub(shown.frames.saturating_mul(bytes)),
            ..shown
        };
        Self { in_clear: shorter(self.in_clear), in_tunnels: shorter(self.in_tunnels) }
    }

    /// The same as sums of frames.
    pub(crate) fn sums(&self) -> Sums {
        let mut all = self.in_clear;
        all.join(&self.in_tunnels);
        Sums {
            frames: all.frames,
            l1_bytes: all.l2_bytes + all.frames * ethernet::PREAMBLE_AND_IFG,
            l2_bytes: all.l2_bytes,
            l3_bytes: all.l3_bytes,
            clear_bytes: self.in_clear.l3_bytes,
            ..Sums::default()
        }
    }
}

impl ShownSums {
    fn join(&mut self, other: &Self) {
        let Self { frames, l2_bytes, l3_bytes, inner_bytes } = *other;
        self.frames += frames;
        self.l2_bytes += l2_bytes;
        self.l3_bytes += l3_bytes;
        self.inner_bytes += inner_bytes;
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
    pub(crate) fn without_trailer(self, bytes: u64) -> Self {
        self.shortened(self.frames.saturating_sub(self.control_frames).saturating_mul(bytes))
    }

    /// The sums of these frames without `octets` of theirs, counted over all of them.
    pub(crate) fn shortened(mut self, octets: u64) -> Self {
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
