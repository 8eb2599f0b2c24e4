//! A short way for the stream that captures of IPsec are made of: opaque ESP, number after number.
//!
//! Each SA in full flow has a lane that knows the numbers (of SA, stack, direction) a frame of it stands for. A frame
//! that is exactly the next of its lane is counted in the lane; the sums reach the accumulators when anything about the
//! stream changes. What is added then is what frame-by-frame observation would have added: merge and finish never see a
//! difference, and the test of the merge law holds both together on every capture.

use super::observation::{Observation, SaSight};
use crate::analysis::partial::Parts;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::sa::sizes::OpaqueKey;
use crate::analysis::state::traffic::rates::Sums;
use crate::capture::Frame;
use crate::dissect::{Glance, behind_esp};
use crate::model::{Address, FramePos, Protocol, SaKey, Timestamp};
use crate::transform::size::ethernet;

/// Lanes at the most. With all of them taken, all are given up and the SAs in flow open theirs anew.
const MOST: usize = 1 << 17;
/// Places of the index for each lane: so many that a lane is found within [`PROBES`].
const SPREAD: usize = 4;
/// Places looked at for a lane. Crafted SPIs that crowd them cost their SAs the lane, nothing more.
const PROBES: usize = 8;
/// From so many pending frames on, a lane's are added: its sums have 32 bits, and a packet fewer than 2^16 octets.
const FULL: u32 = 1 << 15;

/// The lanes of a span.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Express {
    /// Numbers of lanes, by address pair and SPI; [`NONE`] where vacant.
    index: Vec<u32>,
    lanes: Vec<Lane>,
    /// First and end of the time bin that everything pending lies in, in nanoseconds.
    bin: (i64, i64),
    /// Lanes that had something pending in this bin.
    busy: Vec<u32>,
}

/// One SA in flow. What every frame of it touches comes first and fits a cache line.
#[derive(Clone, Debug)]
struct Lane {
    addresses: [u8; 8],
    spi: [u8; 4],
    /// The last sequence number.
    raw: u32,
    macs: [u8; 12],
    outer_bytes: u16,
    cut: bool,
    null_checked: bool,
    /// Frames whose IV is still wanted.
    young: u8,
    /// Whether it is among the busy ones.
    busy: bool,
    captured_bytes: u32,
    /// Frames of one size that are not yet among the pending.
    sized: u32,
    last: (FramePos, Timestamp),
    /// The number of the SA; [`NONE`] for a lane that is closed.
    sa: u32,
    place: u32,
    direction: u32,
    stack: u32,
    sized_first: (FramePos, Timestamp),
    pending: Pending,
}

/// Frames counted and not yet added.
#[derive(Clone, Copy, Debug)]
struct Pending {
    count: u32,
    captured_bytes: u32,
    l2_bytes: u32,
    l3_bytes: u32,
    first: (FramePos, Timestamp),
}

const NOWHERE: (FramePos, Timestamp) = (FramePos::new(0, 0), Timestamp::UNKNOWN);
const NOTHING: Pending = Pending { count: 0, captured_bytes: 0, l2_bytes: 0, l3_bytes: 0, first: NOWHERE };

impl Default for Express {
    fn default() -> Self {
        // An empty bin: the first frame of a lane asks for the real one.
        Self { index: vec![NONE; 64], lanes: Vec::new(), bin: (0, 0), busy: Vec::new() }
    }
}

impl Express {
    /// The places where the lane of an SA may be noted.
    #[inline]
    fn places(&self, addresses: [u8; 8], spi: [u8; 4]) -> impl Iterator<Item = usize> + use<> {
        let word = u64::from_le_bytes(addresses) ^ u64::from(u32::from_be_bytes(spi)).rotate_left(20);
        let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (first, mask) = ((hash >> 36) as usize, self.index.len() - 1);
        (0..PROBES).map(move |step| (first + step) & mask)
    }

    /// The lane of an SA, open or closed.
    #[inline(always)]
    fn lane(&mut self, addresses: [u8; 8], spi: [u8; 4]) -> Option<&mut Lane> {
        let id = self.find(addresses, spi)?;
        self.lanes.get_mut(id as usize)
    }

    /// The number of an SA's lane.
    #[inline(always)]
    fn find(&self, addresses: [u8; 8], spi: [u8; 4]) -> Option<u32> {
        for place in self.places(addresses, spi) {
            let id = *self.index.get(place)?;
            // A vacant place is beyond all lanes.
            let lane = self.lanes.get(id as usize)?;
            if lane.addresses == addresses && lane.spi == spi {
                return Some(id);
            }
        }
        None
    }

    /// Takes in a frame that is the next of its lane; false if it is not, and nothing was done.
    #[inline(always)]
    pub(in crate::analysis) fn take(&mut self, frame: &Frame<'_>, glance: &Glance, parts: &mut Parts) -> bool {
        let time = frame.time.raw();
        if !parts.span.admits(frame.time) || !parts.copies.admits(time) {
            return false;
        }
        if time < self.bin.0 || time >= self.bin.1 {
            self.change_bin(time, parts);
        }
        let start = self.bin.0;
        let Some(id) = self.find(glance.addresses, glance.spi) else { return false };
        let Some(lane) = self.lanes.get_mut(id as usize) else { return false };
        let next = glance.sequence == lane.raw.wrapping_add(1)
            && glance.sequence != 0
            && lane.sa != NONE
            && lane.macs == glance.macs
            && lane.cut == glance.cut
            && lane.null_checked == glance.null_checked;
        if !next {
            return false;
        }
        let captured_bytes = frame.data.len() as u32;
        if lane.outer_bytes != glance.total_bytes || lane.captured_bytes != captured_bytes {
            lane.add_sized(parts);
            lane.outer_bytes = glance.total_bytes;
            lane.captured_bytes = captured_bytes;
        }
        let here = (frame.pos, frame.time);
        if lane.sized == 0 {
            lane.sized_first = here;
            if !lane.busy {
                lane.busy = true;
                self.busy.push(id);
            }
        }
        if lane.young > 0 {
            lane.young -= 1;
            parts.sas.add_iv(lane.sa, glance.sequence, behind_esp(frame.data));
        }
        lane.raw = glance.sequence;
        lane.sized += 1;
        lane.last = here;
        if lane.sized + lane.pending.count >= FULL {
            lane.add(parts, start);
        }
        parts.span.pass(frame.time);
        parts.flows.pass(lane.place, lane.sa, u32::from(glance.total_bytes), frame.pos, frame.time);
        parts.copies.pass(glance.digest, time);
        true
    }

    /// Adds what is pending of an SA, before a frame of it goes the long way, and closes its lane.
    pub(in crate::analysis) fn give_way(&mut self, parts: &mut Parts, addresses: [u8; 8], spi: [u8; 4]) {
        let start = self.bin.0;
        if let Some(lane) = self.lane(addresses, spi) {
            lane.add(parts, start);
            lane.sa = NONE;
        }
    }

    /// Opens the lane of an SA behind a frame of it that went the long way.
    pub(in crate::analysis) fn open(&mut self, glance: &Glance, o: &Observation, sight: &SaSight, parts: &mut Parts) {
        let (Some(time), true) = (o.time.ns(), sight.sa != NONE && o.direction != NONE && o.stack != NONE) else {
            return;
        };
        let Some(known) = parts.sas.get(sight.sa) else { return };
        let last = known.sequence.extendable(o.time);
        let young = known.evidence.wanted();
        if last != Some(glance.sequence) || !parts.copies.is_past_head(time) || known.wants_listing() {
            return;
        }
        let opened = Lane {
            addresses: glance.addresses,
            spi: glance.spi,
            raw: glance.sequence,
            macs: glance.macs,
            outer_bytes: glance.total_bytes,
            cut: glance.cut,
            null_checked: glance.null_checked,
            young,
            busy: false,
            captured_bytes: 0,
            sized: 0,
            last: NOWHERE,
            sa: sight.sa,
            place: o.lane,
            direction: o.direction,
            stack: o.stack,
            sized_first: NOWHERE,
            pending: NOTHING,
        };
        let start = self.bin.0;
        if let Some(lane) = self.lane(glance.addresses, glance.spi) {
            lane.add(parts, start);
            // An SA that leaves its lane and comes back is noted once.
            *lane = Lane { busy: lane.busy, ..opened };
        } else {
            self.insert(opened, parts);
        }
    }

    fn insert(&mut self, lane: Lane, parts: &mut Parts) {
        if self.lanes.len() >= MOST {
            self.flush(parts);
            self.lanes.clear();
            self.index.fill(NONE);
        } else if self.lanes.len() * SPREAD >= self.index.len() {
            self.grow();
        }
        if self.note(lane.addresses, lane.spi, self.lanes.len() as u32) {
            self.lanes.push(lane);
        }
    }

    /// Notes a lane's number in the index; false where there is no place for it.
    fn note(&mut self, addresses: [u8; 8], spi: [u8; 4], id: u32) -> bool {
        let vacant = self.places(addresses, spi).find(|&place| self.index.get(place) == Some(&NONE));
        let slot = vacant.and_then(|place| self.index.get_mut(place));
        slot.map(|slot| *slot = id).is_some()
    }

    #[cold]
    fn grow(&mut self) {
        self.index = vec![NONE; self.index.len() * 2];
        for id in 0..self.lanes.len() {
            if let Some((addresses, spi)) = self.lanes.get(id).map(|lane| (lane.addresses, lane.spi)) {
                // The index has become sparser, so there is a place again; without one the lane would only stay unused.
                self.note(addresses, spi, id as u32);
            }
        }
    }

    /// Adds all that is pending and closes all lanes.
    pub(in crate::analysis) fn flush(&mut self, parts: &mut Parts) {
        for lane in &mut self.lanes {
            lane.add(parts, self.bin.0);
            lane.sa = NONE;
            lane.busy = false;
        }
        self.busy.clear();
    }

    /// Adds all that is pending, for the bin it lies in, and goes on in the bin of `time`.
    #[cold]
    fn change_bin(&mut self, time: i64, parts: &mut Parts) {
        for id in self.busy.drain(..) {
            if let Some(lane) = self.lanes.get_mut(id as usize) {
                lane.add(parts, self.bin.0);
                lane.busy = false;
            }
        }
        self.bin = parts.rates.bin_of(time);
    }
}

impl Lane {
    /// Adds the pending frames, which lie in the time bin that begins at `start`, to the accumulators.
    fn add(&mut self, parts: &mut Parts, start: i64) {
        if self.sized + self.pending.count == 0 {
            return;
        }
        self.add_sized(parts);
        let Pending { count, captured_bytes, l2_bytes, l3_bytes, first } =
            std::mem::replace(&mut self.pending, NOTHING);
        let seen = Seen::between(count.into(), first, self.last);
        let (count, l2_bytes, l3_bytes) = (u64::from(count), u64::from(l2_bytes), u64::from(l3_bytes));
        let l1_bytes = l2_bytes + count * ethernet::PREAMBLE_AND_IFG;
        parts.sas.add_many(self.sa, &seen, self.last, l3_bytes, l1_bytes, self.null_checked);
        let sums = Sums { frames: count, l1_bytes, l2_bytes, l3_bytes, ..Sums::default() };
        parts.rates.add_many(self.direction, &seen, &sums, start);
        let totals = crate::analysis::state::traffic::totals::Sums {
            frames: count,
            captured_bytes: captured_bytes.into(),
            wire_bytes: l3_bytes + count * u64::from(ethernet::HEADER),
            l1_bytes,
            ip_frames: count,
            ipsec_frames: count,
            control_frames: 0,
            fragments: 0,
        };
        parts.totals.add_many(&seen, &totals, self.stack, self.cut);
    }

    /// Moves the frames of one size to the pending, and adds them to their size.
    fn add_sized(&mut self, parts: &mut Parts) {
        if self.sized == 0 {
            return;
        }
        let count = std::mem::replace(&mut self.sized, 0);
        let l3_bytes = u32::from(self.outer_bytes);
        // A glance is only of frames that end where their IP packet ends.
        let l2_bytes = (l3_bytes + ethernet::HEADER).max(ethernet::MINIMUM_WITHOUT_FCS) + ethernet::FCS;
        let seen = Seen::between(count.into(), self.sized_first, self.last);
        let key = OpaqueKey { sa: self.sa, outer_bytes: l3_bytes, fragments: 1 };
        let l1_bytes = u64::from(count) * (u64::from(l2_bytes) + ethernet::PREAMBLE_AND_IFG);
        parts.sizes.opaque.add_many(key, &seen, l1_bytes);
        if self.pending.count == 0 {
            self.pending.first = self.sized_first;
        }
        self.pending.count += count;
        self.pending.captured_bytes += count * self.captured_bytes;
        self.pending.l2_bytes += count * l2_bytes;
        self.pending.l3_bytes += count * l3_bytes;
    }
}

/// Where the lane of an SA is looked for: addresses and SPI in wire order; `None` for what has no lane.
pub(in crate::analysis) fn lane_key(key: &SaKey) -> Option<([u8; 8], [u8; 4])> {
    let octets = |address: Address| u32::try_from(address.words().1 & 0xffff_ffff).unwrap_or(0).to_be_bytes();
    if key.protocol != Protocol::Esp || !key.src.is_v4() || !key.dst.is_v4() {
        return None;
    }
    let ([a, b, c, d], [e, f, g, h]) = (octets(key.src), octets(key.dst));
    Some(([a, b, c, d, e, f, g, h], key.spi.0.to_be_bytes()))
}
