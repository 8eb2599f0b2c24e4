//! Lanes of frames that show what is in them: AH and IP in IP.
//!
//! A lane is all that is known of frames with one [`Outline`]: what was observed of the first, which went the long way, holds for the
//! others, but for what tells packets apart. It counts them; the sums reach the accumulators at the end of a time bin, and before a frame of the same SA
//! goes the long way. AH has sequence numbers besides: an SA in flow is where its last frame left it, whichever lanes its frames are in.

use super::batch::Brief;
use super::{NOWHERE, PROBES, SPREAD, note};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::sa::bins::SaBinSums;
use crate::analysis::state::sa::sizes::VisibleKey;
use crate::analysis::state::stream::StreamState;
use crate::analysis::state::traffic::{rates, totals};
use crate::dissect::Outline;
use crate::model::{FramePos, Timestamp};

/// Lanes at the most. With all of them taken, all are given up.
const MOST: usize = 1 << 15;
/// Marks the numbers of these lanes among those of other lanes; [`NONE`] bears it too, and is no lane's.
pub(super) const SHOWN: u32 = 1 << 31;
/// Numbers behind this one go the long way: they come near 2^32.
const LAST: u32 = u32::MAX - (1 << 16);

/// The lanes of a span.
#[derive(Clone, Debug)]
pub(super) struct ShownLanes {
    /// Numbers of lanes, by outline; [`NONE`] where vacant.
    index: Vec<u32>,
    lanes: Vec<ShownLane>,
    rests: Vec<ShownRest>,
    /// Lanes that have counted frames.
    counting: Vec<u32>,
    /// The SAs, by number.
    flowing: Vec<AhFlow>,
}

/// What every frame of a lane touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownLane {
    words: [u64; 6],
    /// The number of its AH SA; [`NONE`] without.
    sa: u32,
    pub(super) direction: u32,
    /// Where flows look for the neighbours of its frames.
    place: u32,
    count: u64,
    first: (FramePos, Timestamp),
    last: (FramePos, Timestamp),
}

/// What was observed of the first frame.
#[derive(Clone, Copy, Debug)]
struct ShownRest {
    o: Observation,
    sight: Option<SaSight>,
}

/// An AH SA.
#[derive(Clone, Copy, Debug)]
struct AhFlow {
    /// The last sequence number.
    raw: u32,
    /// Numbers from here on go the long way; 0 where all do.
    end: u32,
    /// Frames that the sequence numbers do not know of.
    count: u64,
    last: (FramePos, Timestamp),
}

const STILL: AhFlow = AhFlow { raw: 0, end: 0, count: 0, last: NOWHERE };

/// The first moments of the time bins that everything in the lanes lies in: of directions and of SAs.
pub(super) type BinStarts = (i64, i64);

impl Default for ShownLanes {
    fn default() -> Self {
        Self { index: vec![NONE; 64], lanes: Vec::new(), rests: Vec::new(), counting: Vec::new(), flowing: Vec::new() }
    }
}

impl ShownLanes {
    #[inline(always)]
    fn noted(&self, place: usize) -> Option<(u32, &ShownLane)> {
        let id = *self.index.get(place & self.index.len().wrapping_sub(1))?;
        self.lanes.get(id as usize).map(|lane| (id, lane))
    }

    /// The number of the lane of an outline, unmarked.
    #[inline]
    fn find(&self, outline: &Outline) -> Option<u32> {
        let first = hash(&outline.words);
        for place in first..first + PROBES {
            let (id, lane) = self.noted(place)?;
            if is_same(&lane.words, &outline.words) {
                return Some(id);
            }
        }
        None
    }

    /// The number of the lane of an outline; [`NONE`] without one.
    #[inline]
    pub(super) fn lane_of(&self, outline: &Outline) -> u32 {
        self.find(outline).map_or(NONE, |id| id | SHOWN)
    }

    /// Counts a frame if it is the next of its lane; the direction that must be told of it, [`NONE`] for none. `None` where it was not counted.
    #[inline(always)]
    pub(super) fn take(&mut self, brief: &Brief<'_>, state: &mut StreamState) -> Option<u32> {
        let id = brief.lane & !SHOWN;
        let lane = self.lanes.get_mut(id as usize)?;
        let (here, time) = (brief.here(), brief.time.raw());
        let told = if lane.sa == NONE {
            if state.flows.may_decapsulate(lane.place) || !state.copies.pass_unlike(brief.digest, time) {
                return None;
            }
            NONE
        } else {
            let flow = self.flowing.get_mut(lane.sa as usize)?;
            if brief.sequence != flow.raw.wrapping_add(1) || brief.sequence >= flow.end {
                return None;
            }
            flow.raw = brief.sequence;
            flow.count += 1;
            flow.last = here;
            state.copies.pass(brief.digest, time);
            lane.direction
        };
        if lane.count == 0 {
            lane.first = here;
            self.counting.push(id);
        }
        lane.count += 1;
        lane.last = here;
        Some(told)
    }

    /// The last frame of a lane, as flows count it: its SA, the length of its packet in octets, and its position.
    pub(super) fn last_of(&self, id: u32) -> Option<(u32, u32, (FramePos, Timestamp))> {
        let at = (id & !SHOWN) as usize;
        let (lane, rest) = (self.lanes.get(at)?, self.rests.get(at)?);
        Some((lane.sa, rest.o.l3_bytes, lane.last))
    }

    /// Adds what is pending of an SA before a frame of it goes the long way, and all further ones until it is opened again.
    pub(super) fn give_way(&mut self, sa: u32, bins: BinStarts, state: &mut StreamState) {
        let Some(flow) = self.flowing.get_mut(sa as usize) else { return };
        flow.close(sa, state);
        let Self { lanes, rests, counting, .. } = self;
        counting.retain(|&id| match (lanes.get_mut(id as usize), rests.get(id as usize)) {
            (Some(lane), Some(rest)) if lane.sa == sa => {
                rest.add(lane, bins, state);
                false
            }
            _ => true,
        });
    }

    /// Opens the lane of an outline behind a frame that went the long way. Answers whether all other lanes were given up for it.
    pub(super) fn open(
        &mut self,
        outline: &Outline,
        (o, sight): (&Observation, Option<&SaSight>),
        bins: BinStarts,
        state: &mut StreamState,
    ) -> bool {
        let sa = sight.map_or(NONE, |sight| sight.sa);
        if sa != NONE {
            let at = sa as usize;
            if at >= self.flowing.len() {
                self.flowing.resize(at + 1, STILL);
            }
            if let Some(flow) = self.flowing.get_mut(at) {
                *flow = AhFlow { raw: outline.sequence, end: LAST, ..STILL };
            }
        }
        if self.find(outline).is_some() {
            return false;
        }
        let full = self.lanes.len() >= MOST;
        if full {
            self.end_bins(bins, state);
            self.lanes.clear();
            self.rests.clear();
            self.index.fill(NONE);
        } else if self.lanes.len() * SPREAD >= self.index.len() {
            self.grow();
        }
        if self.note(&outline.words, self.lanes.len() as u32) {
            let (direction, place) = (o.direction, o.lane);
            let (count, first, last) = (0, NOWHERE, NOWHERE);
            self.lanes.push(ShownLane { words: outline.words, sa, direction, place, count, first, last });
            self.rests.push(ShownRest { o: *o, sight: sight.copied() });
        }
        full
    }

    /// Notes a lane's number in the index; false where there is no place for it.
    fn note(&mut self, words: &[u64; 6], id: u32) -> bool {
        note(&mut self.index, hash(words), id)
    }

    #[cold]
    fn grow(&mut self) {
        self.index = vec![NONE; self.index.len() * 2];
        for id in 0..self.lanes.len() {
            if let Some(words) = self.lanes.get(id).map(|lane| lane.words) {
                self.note(&words, id as u32);
            }
        }
    }

    /// Adds what all lanes had in time bins that end.
    pub(super) fn end_bins(&mut self, bins: BinStarts, state: &mut StreamState) {
        for id in self.counting.drain(..) {
            if let (Some(lane), Some(rest)) = (self.lanes.get_mut(id as usize), self.rests.get(id as usize)) {
                rest.add(lane, bins, state);
            }
        }
    }

    /// Adds all that is pending; all frames go the long way until their lanes are opened again.
    pub(super) fn flush(&mut self, bins: BinStarts, state: &mut StreamState) {
        self.end_bins(bins, state);
        for (sa, flow) in (0..).zip(&mut self.flowing) {
            flow.close(sa, state);
        }
    }
}

impl AhFlow {
    fn close(&mut self, sa: u32, state: &mut StreamState) {
        let Self { count, last, .. } = std::mem::replace(self, STILL);
        if count > 0 {
            state.sas.go_on(sa, count, last);
        }
    }
}

impl ShownRest {
    /// Adds the frames that a lane has counted.
    fn add(&self, lane: &mut ShownLane, bins: BinStarts, state: &mut StreamState) {
        let Self { o, sight } = self;
        let frames = std::mem::replace(&mut lane.count, 0);
        let seen = Seen::between(frames, lane.first, lane.last);
        let all = |bytes: u32| frames * u64::from(bytes);
        let l1_bytes = frames * o.l1_bytes();
        let l3_bytes = all(o.l3_bytes);
        let sums = totals::Sums {
            frames,
            captured_bytes: all(o.captured_bytes),
            wire_bytes: all(o.wire_bytes),
            l1_bytes,
            ip_frames: frames,
            ipsec_frames: if sight.is_some() { frames } else { 0 },
            control_frames: 0,
            fragments: 0,
        };
        state.totals.add_many(&seen, &sums, o.stack, o.class.cut_by_snaplen);
        state.sizes.visible.add_many(size_key(o), &seen, l1_bytes);
        state.flows.add_many(o, &seen);
        let sums = rates::Sums { frames, l1_bytes, l2_bytes: all(o.l2_bytes), l3_bytes, ..rates::Sums::default() };
        state.rates.add_many(o.direction, &seen, &sums, all(o.inner_bytes), bins.0);
        if let Some(sight) = sight {
            let outer_bytes = all(sight.outer_bytes);
            state.sa_bins.add(sight.sa, bins.1, &SaBinSums { frames, l1_bytes, l3_bytes: outer_bytes });
            state.sas.add_shown(sight, &seen, l1_bytes);
        }
    }
}

/// The size cell of a frame.
pub(super) const fn size_key(o: &Observation) -> VisibleKey {
    VisibleKey { path: o.path, inner_bytes: o.inner_bytes, outer_bytes: o.l3_bytes, fragments: 1 }
}

/// Where in the index the lane of an outline is looked for first.
#[inline(always)]
fn hash(words: &[u64; 6]) -> usize {
    let [a, b, c, d, e, f] = *words;
    // Products that do not wait for each other; the upper half of their sum depends on all bits.
    let one = (a ^ b.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let two = (c ^ d.rotate_left(24)).wrapping_mul(0x2d35_8dcc_aa6c_78a5);
    let three = (e ^ f.rotate_left(16)).wrapping_mul(0x8bb8_4b93_962e_acc9);
    (one.wrapping_add(two).wrapping_add(three) >> 36) as usize
}

/// Whether two outlines agree.
#[inline(always)]
const fn is_same(one: &[u64; 6], other: &[u64; 6]) -> bool {
    let ([a, b, c, d, e, f], [u, v, w, x, y, z]) = (*one, *other);
    (a ^ u) | (b ^ v) | (c ^ w) | (d ^ x) | (e ^ y) | (f ^ z) == 0
}
