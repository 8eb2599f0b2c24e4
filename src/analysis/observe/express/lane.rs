//! One SA in flow.

use super::NOWHERE;
use super::batch::Brief;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::sa::bins::SaBinSums;
use crate::analysis::state::sa::sas::Flowing;
use crate::analysis::state::sa::sizes::OpaqueKey;
use crate::analysis::state::stream::StreamState;
use crate::analysis::state::traffic::totals;
use crate::dissect::{Form, Glance, behind_esp};
use crate::model::{FramePos, Timestamp};
use crate::transform::size::ethernet;

/// After this many frames the sums of a lane are added to the accumulators, and the lane checks whether its sequence numbers come near 2^32.
pub(super) const FULL: u32 = 1 << 15;
/// Numbers behind this one have no lane: before a lane is asked again, it cannot come to the end of the numbers.
pub(super) const LAST: u32 = u32::MAX - 4 * FULL;
/// Marks of a lane's form, which no sound form of a frame bears: closed, waiting for IVs, of frames that Ethernet pads, and without a first
/// frame of their size. The frames of such lanes are looked at one by one.
const CLOSED: u64 = 1 << 63;
const YOUNG: u64 = 1 << 62;
const SHORT: u64 = 1 << 61;
const FRESH: u64 = 1 << 60;

/// The mark that a lane of frames of this form has.
const fn mark(form: Form) -> u64 {
    if form.wire_bytes() < ethernet::MINIMUM_WITHOUT_FCS { SHORT } else { 0 }
}

/// What every frame of an SA touches: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct EspLane {
    pub(super) addresses: u64,
    pub(super) macs: u64,
    pub(super) macs_end: u32,
    pub(super) ports: u32,
    pub(super) spi: u32,
    /// The lengths of the last frame, as [`Form::word`], with marks: one comparison tells that a frame is like the last one, and that
    /// the lane is open.
    pub(super) form: u64,
    /// The last sequence number.
    pub(super) raw: u32,
    /// The direction it goes.
    pub(super) direction: u32,
    /// Frames of one size that are not yet among the pending.
    pub(super) sized: u32,
    pub(super) last: (FramePos, Timestamp),
}

/// What of a lane only some of its frames touch.
#[derive(Clone, Debug)]
pub(super) struct LaneRest {
    /// Numbers of the SA and the stack.
    pub(super) sa: u32,
    pub(super) stack: u32,
    /// Frames whose IV is still wanted.
    pub(super) young: u8,
    /// The place in the head of the window of copies of the frame that opened the lane, if that one is there.
    pub(super) kept: Option<usize>,
    /// The first of the frames of one size.
    pub(super) sized_first: (FramePos, Timestamp),
    /// Whether the lane is among those that count frames in the time bin of SAs.
    pub(super) noted: bool,
    pub(super) pending: Pending,
}

/// Frames counted and not yet added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    count: u32,
    captured_bytes: u64,
    l2_bytes: u64,
    l3_bytes: u64,
    first: (FramePos, Timestamp),
}

pub(super) const NOTHING: Pending = Pending { count: 0, captured_bytes: 0, l2_bytes: 0, l3_bytes: 0, first: NOWHERE };

impl LaneRest {
    /// Whether a frame differs from the one that opened the lane, which the head of the window of copies has, in nothing but what tells
    /// packets of an SA apart.
    pub(super) fn is_kept_in_head(&self, lane: &EspLane, brief: &Brief<'_>) -> bool {
        self.kept.is_some() && Form::of_word(lane.form) == brief.form
    }
}

impl EspLane {
    /// The lane behind a frame.
    pub(super) const fn behind(glance: &Glance, direction: u32, young: u8) -> Self {
        Self {
            addresses: glance.addresses,
            macs: glance.macs,
            macs_end: glance.macs_end,
            ports: glance.ports,
            spi: glance.spi,
            form: glance.form.word() | mark(glance.form) | FRESH | if young > 0 { YOUNG } else { 0 },
            raw: glance.sequence,
            direction,
            sized: 0,
            last: NOWHERE,
        }
    }

    /// Whether a frame is of its SA, as far as a glance tells, and goes between the same stations and ports.
    #[inline(always)]
    pub(super) const fn is_of(&self, glance: &Glance) -> bool {
        let differs = (self.addresses ^ glance.addresses)
            | (self.spi ^ glance.spi) as u64
            | (self.macs ^ glance.macs)
            | (self.macs_end ^ glance.macs_end) as u64
            | (self.ports ^ glance.ports) as u64;
        differs == 0
    }

    /// Whether its frames are IPv6. [`Self::addresses`] is then a digest of the addresses, which must be compared as well.
    #[inline(always)]
    pub(super) const fn is_ipv6(&self) -> bool {
        Form::of_word(self.form).is_ipv6()
    }

    /// Whether a frame goes on from the last one and is like it, and there is room for it.
    #[inline(always)]
    pub(super) fn goes_on_with(&self, brief: &Brief<'_>) -> bool {
        self.differs(brief) & !FRESH == 0 && self.sized < FULL
    }

    /// Whether that is so, and the lane has counted others like it: it knows which was the first.
    #[inline(always)]
    pub(super) const fn simply_goes_on_with(&self, brief: &Brief<'_>) -> bool {
        self.differs(brief) == 0 && self.sized < FULL
    }

    #[inline(always)]
    const fn differs(&self, brief: &Brief<'_>) -> u64 {
        (self.form ^ brief.form.word()) | (self.raw.wrapping_add(1) ^ brief.sequence) as u64
    }

    /// Makes the lane ready for a frame that is not quite like the one before it; false where it cannot be.
    #[inline(never)]
    pub(super) fn adapt(&mut self, rest: &mut LaneRest, brief: &Brief<'_>, bin: i64, state: &mut StreamState) -> bool {
        if self.form & CLOSED != 0 || brief.sequence != self.raw.wrapping_add(1) || brief.sequence > LAST {
            return false;
        }
        let (own, form) = (Form::of_word(self.form), brief.form);
        let is_listed = form.is_cut() && state.totals.snaplen.wants();
        if !form.is_sound() || !own.is_headed_as(form) || is_listed {
            return false;
        }
        if own.is_cut() != form.is_cut() || own.is_null_checked() != form.is_null_checked() {
            self.add(rest, bin, state);
        } else if own != form {
            self.add_sized(rest, state);
        }
        self.form = form.word() | mark(form) | (self.form & (YOUNG | FRESH));
        if rest.young > 0 {
            let bytes = form.total_bytes().saturating_sub(form.outer_bytes());
            state.sas.add_iv(rest.sa, brief.sequence, behind_esp(brief.data, form), bytes);
            rest.young -= 1;
            if rest.young == 0 {
                self.form &= !YOUNG;
            }
        }
        if self.sized + rest.pending.count >= FULL {
            self.add(rest, bin, state);
        }
        true
    }

    /// Notes the first frame of its size, which is counted next.
    pub(super) const fn begin_size(&mut self) {
        self.form &= !FRESH;
    }

    /// Adds what is pending; frames of its SA go another way until it is opened again.
    pub(super) fn close(&mut self, rest: &mut LaneRest, bin: i64, state: &mut StreamState) {
        self.add(rest, bin, state);
        self.form |= CLOSED;
    }

    /// Adds the pending frames to the accumulators; their times lie in the time bin of SAs that begins at `bin`.
    pub(super) fn add(&mut self, rest: &mut LaneRest, bin: i64, state: &mut StreamState) {
        if self.sized + rest.pending.count == 0 {
            return;
        }
        self.add_sized(rest, state);
        let Pending { count, captured_bytes, l2_bytes, l3_bytes, first } =
            std::mem::replace(&mut rest.pending, NOTHING);
        let form = Form::of_word(self.form);
        let (count, seen) = (u64::from(count), Seen::between(count.into(), first, self.last));
        let l1_bytes = l2_bytes + count * ethernet::PREAMBLE_AND_IFG;
        state.sa_bins.add(rest.sa, bin, &SaBinSums { frames: count, l1_bytes, l3_bytes });
        let flowing = Flowing {
            seen,
            last: self.last,
            number: self.raw,
            outer_bytes: l3_bytes,
            l1_bytes,
            in_udp: form.is_in_udp(),
            null_checked: form.is_null_checked(),
        };
        state.sas.add_many(rest.sa, &flowing);
        let sums = totals::Sums {
            frames: count,
            captured_bytes,
            // Behind a tag or not, all frames of a lane are alike.
            wire_bytes: l3_bytes + count * u64::from(form.link_bytes()),
            l1_bytes,
            ip_frames: count,
            ipsec_frames: count,
            control_frames: 0,
            fragments: 0,
        };
        state.totals.add_many(&seen, &sums, rest.stack, form.is_cut());
    }

    /// Moves the frames of one size to the pending, and adds them to their size.
    fn add_sized(&mut self, rest: &mut LaneRest, state: &mut StreamState) {
        if self.sized == 0 {
            return;
        }
        let count = std::mem::replace(&mut self.sized, 0);
        self.form |= FRESH;
        let form = Form::of_word(self.form);
        let l3_bytes = form.total_bytes();
        // A glance is only of frames that end where their IP packet ends.
        let l2_bytes = u64::from(form.wire_bytes().max(ethernet::MINIMUM_WITHOUT_FCS) + ethernet::FCS);
        let frames = u64::from(count);
        let seen = Seen::between(frames, rest.sized_first, self.last);
        let key = OpaqueKey { sa: rest.sa, outer_bytes: l3_bytes, fragments: 1 };
        state.sizes.opaque.add_many(key, &seen, frames * (l2_bytes + ethernet::PREAMBLE_AND_IFG));
        let pending = &mut rest.pending;
        if pending.count == 0 {
            pending.first = rest.sized_first;
        }
        pending.count += count;
        pending.captured_bytes += frames * u64::from(form.captured_bytes());
        pending.l2_bytes += frames * l2_bytes;
        pending.l3_bytes += frames * u64::from(l3_bytes);
    }
}
