//! Sums over all frames of a span, whatever they are.

use serde::{Deserialize, Serialize};

use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::Remap;
use crate::model::Shift;

/// Sums over all frames of the span.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) sums: Sums,
    /// Frames and wire octets per stack number.
    pub(crate) stacks: Vec<(u64, u64)>,
    pub(crate) snaplen: Listed,
    pub(crate) offloaded: Seen,
    pub(crate) undissected: Seen,
}

/// Plain sums.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) frames: u64,
    pub(crate) captured_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) l1_bytes: u64,
    pub(crate) ip_frames: u64,
    pub(crate) ipsec_frames: u64,
    pub(crate) control_frames: u64,
    pub(crate) fragments: u64,
}

impl Totals {
    #[inline]
    pub(in crate::analysis) fn observe(&mut self, o: &Observation) {
        let sums = &mut self.sums;
        sums.frames += 1;
        sums.captured_bytes += u64::from(o.captured_bytes);
        sums.wire_bytes += u64::from(o.wire_bytes);
        sums.l1_bytes += o.l1_bytes();
        sums.ip_frames += u64::from(o.class.ip);
        sums.ipsec_frames += u64::from(o.class.ipsec);
        sums.control_frames += u64::from(o.class.control);
        sums.fragments += u64::from(o.class.fragment);
        if o.class.cut_by_snaplen {
            self.snaplen.add(o.pos, o.time);
        }
        if o.class.offloaded {
            self.offloaded.add(o.pos, o.time);
        }
        if o.class.undissected {
            self.undissected.add(o.pos, o.time);
        }
        if o.stack != NONE {
            let at = o.stack as usize;
            if at >= self.stacks.len() {
                self.stacks.resize(at + 1, (0, 0));
            }
            if let Some((frames, bytes)) = self.stacks.get_mut(at) {
                *frames += 1;
                *bytes += u64::from(o.wire_bytes);
            }
        }
    }

    /// Adds IP frames with ESP of one stack.
    pub(in crate::analysis) fn add_many(&mut self, seen: &Seen, sums: &Sums, stack: u32, cut: bool) {
        self.sums.add(sums);
        if cut {
            self.snaplen.pass(seen);
        }
        if let Some((frames, bytes)) = self.stacks.get_mut(stack as usize) {
            *frames += sums.frames;
            *bytes += sums.wire_bytes;
        }
    }

    pub(in crate::analysis) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        let Self { sums, stacks, snaplen, offloaded, undissected } = later;
        self.sums.add(&sums);
        for ((frames, bytes), &id) in stacks.into_iter().zip(&map.stacks) {
            if id == NONE {
                continue;
            }
            let at = id as usize;
            if at >= self.stacks.len() {
                self.stacks.resize(at + 1, (0, 0));
            }
            if let Some(own) = self.stacks.get_mut(at) {
                own.0 += frames;
                own.1 += bytes;
            }
        }
        self.snaplen.merge(snaplen, shift);
        self.offloaded.merge(offloaded, shift);
        self.undissected.merge(undissected, shift);
    }
}

impl Sums {
    fn add(&mut self, later: &Self) {
        let Self { frames, captured_bytes, wire_bytes, l1_bytes, ip_frames, ipsec_frames, control_frames, fragments } =
            *later;
        self.frames += frames;
        self.captured_bytes += captured_bytes;
        self.wire_bytes += wire_bytes;
        self.l1_bytes += l1_bytes;
        self.ip_frames += ip_frames;
        self.ipsec_frames += ipsec_frames;
        self.control_frames += control_frames;
        self.fragments += fragments;
    }
}
