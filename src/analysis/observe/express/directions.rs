//! The directions that lanes go, and what their frames sum up to in a time bin.

use super::NOWHERE;
use super::lane::{EspLane, LaneRest};
use super::shown::ShownLanes;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::stream::StreamState;
use crate::analysis::state::traffic::flows::Passed;
use crate::analysis::state::traffic::rates::Sums;
use crate::dissect::Form;
use crate::model::{FramePos, Timestamp};
use crate::transform::size::ethernet;

/// All directions, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionSums {
    sums: Vec<DirectionSum>,
    /// Those with frames that the flows have not been told of.
    awake: Vec<u32>,
    /// Those with frames in the time bin.
    busy: Vec<u32>,
}

/// Frames whose lengths add up to less than 2^32 octets.
const ROOM: u32 = 1 << 16;

/// The frames of one direction in the time bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectionSum {
    /// Where its neighbours are looked for.
    place: u32,
    /// Whether the flows have not been told of the last frame, and its lane.
    awake: bool,
    lane: u32,
    /// Frames that [`DirectionSum::go_on`] may still add, of how many it might: both are 0 where it may not. [`DirectionSum::gather`] moves the sums
    /// of those it added to the ones below.
    room: u32,
    given: u32,
    /// [`Form::halves`] of them, added up.
    halves: u64,
    /// Frames of opaque ESP; those of other lanes are counted there.
    frames: u64,
    l3_bytes: u64,
    /// Octets of Ethernet headers and of the padding that short frames need.
    around_bytes: u64,
    first: (FramePos, Timestamp),
    last: (FramePos, Timestamp),
}

const IDLE: DirectionSum = DirectionSum {
    place: 0,
    awake: false,
    lane: 0,
    room: 0,
    given: 0,
    halves: 0,
    frames: 0,
    l3_bytes: 0,
    around_bytes: 0,
    first: NOWHERE,
    last: NOWHERE,
};

impl DirectionSum {
    /// Adds a frame that Ethernet does not pad; false where it is the first since the flows were told, and nothing was done.
    #[inline(always)]
    pub(super) fn go_on(&mut self, lane: u32, form: Form) -> bool {
        if self.room == 0 {
            return false;
        }
        self.room -= 1;
        self.halves += form.halves();
        self.lane = lane;
        true
    }

    /// Gathers what [`DirectionSum::go_on`] has added, which may add no more frames.
    fn gather(&mut self) {
        self.frames += u64::from(self.given - self.room);
        self.l3_bytes += self.halves & u64::from(u32::MAX);
        self.around_bytes += self.halves >> 32;
        (self.room, self.given, self.halves) = (0, 0, 0);
    }
}

impl DirectionSums {
    #[inline(always)]
    pub(super) fn get_mut(&mut self, direction: u32) -> Option<&mut DirectionSum> {
        self.sums.get_mut(direction as usize)
    }

    /// Makes room for a direction, whose neighbours are looked for in `place`.
    pub(super) fn open(&mut self, direction: u32, place: u32) {
        let at = direction as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, IDLE);
        }
        if let Some(sum) = self.sums.get_mut(at) {
            sum.place = place;
        }
    }

    /// Adds any frame of a lane.
    #[inline]
    pub(super) fn add(&mut self, direction: u32, lane: u32, form: Form, here: (FramePos, Timestamp)) {
        let Some(sum) = self.sums.get_mut(direction as usize) else { return };
        sum.gather();
        if !sum.awake {
            sum.awake = true;
            self.awake.push(direction);
        }
        if sum.frames == 0 {
            sum.first = here;
            self.busy.push(direction);
        }
        sum.frames += 1;
        sum.l3_bytes += u64::from(form.total_bytes());
        let padding = ethernet::MINIMUM_WITHOUT_FCS.saturating_sub(form.wire_bytes());
        sum.around_bytes += u64::from(form.link_bytes() + padding);
        sum.lane = lane;
        (sum.room, sum.given) = (ROOM, ROOM);
    }

    /// Notes a frame that another lane counts; nothing for [`NONE`](crate::analysis::state::base::intern::NONE).
    #[inline]
    pub(super) fn note(&mut self, direction: u32, lane: u32) {
        let Some(sum) = self.sums.get_mut(direction as usize) else { return };
        if !sum.awake {
            sum.awake = true;
            self.awake.push(direction);
        }
        sum.lane = lane;
    }

    /// Tells the flows of the last frame of each direction, all captured on one interface.
    pub(super) fn tell(
        &mut self,
        (lanes, rests, shown): (&[EspLane], &[LaneRest], &ShownLanes),
        interface: u32,
        state: &mut StreamState,
    ) {
        for direction in self.awake.drain(..) {
            let Some(sum) = self.sums.get_mut(direction as usize) else { continue };
            sum.awake = false;
            sum.gather();
            state.interfaces.see(direction, interface);
            let at = sum.lane as usize;
            let last = match (lanes.get(at), rests.get(at)) {
                (Some(lane), Some(rest)) => Some((rest.sa, Form::of_word(lane.form).total_bytes(), lane.last)),
                _ => shown.last_of(sum.lane),
            };
            if let Some((sa, l3_bytes, last)) = last {
                sum.last = last;
                let (pos, time) = last;
                state.flows.pass(sum.place, Passed { sa, direction, bytes: l3_bytes, time, pos });
            }
        }
    }

    /// Adds what the directions had in the time bin that begins at `start`; the flows have been told of it.
    pub(super) fn add_bin(&mut self, start: i64, state: &mut StreamState) {
        for direction in self.busy.drain(..) {
            let Some(sum) = self.sums.get_mut(direction as usize) else { continue };
            sum.gather();
            let DirectionSum { frames, l3_bytes, around_bytes, first, last, .. } = *sum;
            *sum = DirectionSum { place: sum.place, awake: sum.awake, lane: sum.lane, ..IDLE };
            let seen = Seen::between(frames, first, last);
            let l2_bytes = l3_bytes + around_bytes + frames * u64::from(ethernet::FCS);
            let l1_bytes = l2_bytes + frames * ethernet::PREAMBLE_AND_IFG;
            let sums = Sums { frames, l1_bytes, l2_bytes, l3_bytes, ..Sums::default() };
            state.rates.add_many(direction, &seen, &sums, 0, start);
        }
    }
}
