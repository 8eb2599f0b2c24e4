//! A short way for the stream that captures of IPsec are made of: opaque ESP, number after number.
//!
//! Each SA in full flow has a lane that knows the numbers (of SA, stack, direction) a frame of it stands for. A frame
//! that is exactly the next of its lane is counted in the lane; the sums reach the accumulators when anything about the
//! stream changes. What is added then is what frame-by-frame observation would have added: merge and finish never see a
//! difference, and the test of the merge law holds both together on every capture.

use super::intern::NONE;
use super::observation::{Observation, SaSight};
use super::partial::Parts;
use super::rates::Sums;
use super::seen::Seen;
use super::sequence::Edge;
use super::sizes::OpaqueKey;
use crate::capture::Frame;
use crate::dissect::Glance;
use crate::model::{Address, FramePos, Protocol, SaKey, Timestamp};
use crate::transform::ethernet;

/// Lanes to begin with, and at the most.
const FEWEST: usize = 64;
const MOST: usize = 1 << 15;

/// The lanes of a span, each SA's at one place.
#[derive(Clone, Debug)]
pub(super) struct Express {
    lanes: Vec<Lane>,
    /// Lanes in use that another SA took the place of.
    displaced: usize,
}

/// One SA in flow.
#[derive(Clone, Debug)]
struct Lane {
    /// What each frame of the lane has in common.
    macs: [u8; 12],
    addresses: [u8; 8],
    spi: [u8; 4],
    cut: bool,
    null_checked: bool,
    /// The number of the SA; [`NONE`] for a lane not in use.
    sa: u32,
    direction: u32,
    place: u32,
    stack: u32,
    /// The last sequence number, sent and unwrapped.
    raw: u32,
    unwrapped: i64,
    /// Nanoseconds of the time bin.
    bin: (i64, i64),
    pending: Pending,
    /// Frames of one size among the pending.
    outer_bytes: u16,
    sized: Run,
    sized_l1_bytes: u64,
}

/// Frames counted and not yet added.
#[derive(Clone, Copy, Debug)]
struct Pending {
    run: Run,
    captured_bytes: u64,
    wire_bytes: u64,
    l2_bytes: u64,
    l3_bytes: u64,
}

/// How many frames, the first and the last of them.
#[derive(Clone, Copy, Debug)]
struct Run {
    count: u64,
    first: (FramePos, Timestamp),
    last: (FramePos, Timestamp),
}

const NO_RUN: Run =
    Run { count: 0, first: (FramePos::new(0, 0), Timestamp::UNKNOWN), last: (FramePos::new(0, 0), Timestamp::UNKNOWN) };
const NOTHING: Pending = Pending { run: NO_RUN, captured_bytes: 0, wire_bytes: 0, l2_bytes: 0, l3_bytes: 0 };
const VACANT: Lane = Lane {
    macs: [0; 12],
    addresses: [0; 8],
    spi: [0; 4],
    cut: false,
    null_checked: false,
    sa: NONE,
    direction: NONE,
    place: NONE,
    stack: NONE,
    raw: 0,
    unwrapped: 0,
    bin: (0, 0),
    pending: NOTHING,
    outer_bytes: 0,
    sized: NO_RUN,
    sized_l1_bytes: 0,
};

impl Default for Express {
    fn default() -> Self {
        Self { lanes: vec![VACANT; FEWEST], displaced: 0 }
    }
}

impl Express {
    #[inline]
    fn place(&self, addresses: [u8; 8], spi: [u8; 4]) -> usize {
        let word = u64::from_le_bytes(addresses) ^ u64::from(u32::from_be_bytes(spi)).rotate_left(20);
        let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 40) as usize & (self.lanes.len() - 1)
    }

    /// Takes in a frame that is the next of its lane; false if it is not, and nothing was done.
    #[inline]
    pub(super) fn take(&mut self, frame: &Frame<'_>, glance: &Glance, parts: &mut Parts) -> bool {
        let at = self.place(glance.addresses, glance.spi);
        let Some(lane) = self.lanes.get_mut(at) else { return false };
        let time = frame.time.raw();
        let next = lane.sa != NONE
            && glance.sequence == lane.raw.wrapping_add(1)
            && glance.sequence != 0
            && lane.addresses == glance.addresses
            && lane.spi == glance.spi
            && lane.macs == glance.macs
            && lane.cut == glance.cut
            && lane.null_checked == glance.null_checked
            && time >= lane.bin.0
            && time < lane.bin.1
            && parts.span.admits(frame.time);
        if !next {
            return false;
        }
        if lane.outer_bytes != glance.total_bytes {
            lane.add_sized(parts);
            lane.outer_bytes = glance.total_bytes;
        }
        let here = (frame.pos, frame.time);
        let l2_bytes = u64::from(frame.wire_bytes.max(ethernet::MINIMUM_WITHOUT_FCS) + ethernet::FCS);
        lane.raw = glance.sequence;
        lane.unwrapped += 1;
        lane.sized.add(here);
        lane.sized_l1_bytes += l2_bytes + ethernet::PREAMBLE_AND_IFG;
        let pending = &mut lane.pending;
        pending.run.add(here);
        pending.captured_bytes += frame.data.len() as u64;
        pending.wire_bytes += u64::from(frame.wire_bytes);
        pending.l2_bytes += l2_bytes;
        pending.l3_bytes += u64::from(glance.total_bytes);
        parts.span.pass(frame.time);
        parts.flows.pass(lane.place, lane.sa, u32::from(glance.total_bytes), frame.pos, frame.time);
        parts.copies.pass(glance.digest, time);
        true
    }

    /// Adds what is pending of the SAs of a frame that goes the long way, before it does.
    pub(super) fn give_way(&mut self, parts: &mut Parts, addresses: [u8; 8], spi: [u8; 4]) {
        let at = self.place(addresses, spi);
        if let Some(lane) = self.lanes.get_mut(at)
            && lane.addresses == addresses
            && lane.spi == spi
        {
            lane.add(parts);
            lane.sa = NONE;
        }
    }

    /// Opens the lane of an SA behind a frame of it that went the long way.
    pub(super) fn open(&mut self, glance: &Glance, o: &Observation, sight: &SaSight, parts: &mut Parts) {
        let (Some(time), true) = (o.time.ns(), sight.sa != NONE && o.direction != NONE && o.stack != NONE) else {
            return;
        };
        let Some((raw, unwrapped)) =
            parts.sas.get(sight.sa).filter(|s| s.evidence.is_full()).and_then(|s| s.sequence.extendable(o.time))
        else {
            return;
        };
        if raw != glance.sequence || !parts.copies.is_past_head(time) {
            return;
        }
        let at = self.place(glance.addresses, glance.spi);
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let displaces = lane.sa != NONE;
        lane.add(parts);
        *lane = Lane {
            macs: glance.macs,
            addresses: glance.addresses,
            spi: glance.spi,
            cut: glance.cut,
            null_checked: glance.null_checked,
            sa: sight.sa,
            direction: o.direction,
            place: o.lane,
            stack: o.stack,
            raw,
            unwrapped,
            bin: parts.rates.bin_of(time),
            outer_bytes: glance.total_bytes,
            ..VACANT
        };
        if displaces {
            self.displaced += 1;
            if self.displaced > self.lanes.len() && self.lanes.len() < MOST {
                self.grow(parts);
            }
        }
    }

    /// Adds all that is pending.
    pub(super) fn flush(&mut self, parts: &mut Parts) {
        for lane in &mut self.lanes {
            lane.add(parts);
            lane.sa = NONE;
        }
    }

    #[cold]
    fn grow(&mut self, parts: &mut Parts) {
        self.flush(parts);
        self.lanes = vec![VACANT; self.lanes.len() * 2];
        self.displaced = 0;
    }
}

impl Lane {
    /// Adds the pending frames to the accumulators.
    fn add(&mut self, parts: &mut Parts) {
        if self.sa == NONE || self.pending.run.count == 0 {
            return;
        }
        self.add_sized(parts);
        let pending = std::mem::replace(&mut self.pending, NOTHING);
        let Run { count, last, .. } = pending.run;
        let seen = pending.run.seen();
        let l1_bytes = pending.l2_bytes + count * ethernet::PREAMBLE_AND_IFG;
        let edge = Edge { pos: last.0, time: last.1, raw: self.raw, unwrapped: self.unwrapped };
        parts.sas.add_many(self.sa, &seen, edge, pending.l3_bytes, l1_bytes, self.null_checked);
        let sums =
            Sums { frames: count, l1_bytes, l2_bytes: pending.l2_bytes, l3_bytes: pending.l3_bytes, ..Sums::default() };
        parts.rates.add_many(self.direction, &seen, &sums, self.bin.0);
        parts.totals.add_many(&seen, &pending.totals(l1_bytes), self.stack, self.cut);
    }

    /// Adds the pending frames of one size.
    fn add_sized(&mut self, parts: &mut Parts) {
        if self.sized.count > 0 {
            let key = OpaqueKey { sa: self.sa, outer_bytes: u32::from(self.outer_bytes), fragments: 1 };
            parts.sizes.opaque.add_many(key, &self.sized.seen(), self.sized_l1_bytes);
            self.sized = NO_RUN;
            self.sized_l1_bytes = 0;
        }
    }
}

impl Pending {
    fn totals(&self, l1_bytes: u64) -> super::totals::Sums {
        super::totals::Sums {
            frames: self.run.count,
            captured_bytes: self.captured_bytes,
            wire_bytes: self.wire_bytes,
            l1_bytes,
            ip_frames: self.run.count,
            ipsec_frames: self.run.count,
            control_frames: 0,
            fragments: 0,
        }
    }
}

impl Run {
    #[inline]
    fn add(&mut self, here: (FramePos, Timestamp)) {
        if self.count == 0 {
            self.first = here;
        }
        self.count += 1;
        self.last = here;
    }

    fn seen(&self) -> Seen {
        Seen::between(self.count, self.first, self.last)
    }
}

/// Where the lane of an SA is looked for: addresses and SPI in wire order; `None` for what has no lane.
pub(super) fn lane_key(key: &SaKey) -> Option<([u8; 8], [u8; 4])> {
    let octets = |address: Address| u32::try_from(address.words().1 & 0xffff_ffff).unwrap_or(0).to_be_bytes();
    if key.protocol != Protocol::Esp || !key.src.is_v4() || !key.dst.is_v4() {
        return None;
    }
    let ([a, b, c, d], [e, f, g, h]) = (octets(key.src), octets(key.dst));
    Some(([a, b, c, d, e, f, g, h], key.spi.0.to_be_bytes()))
}
