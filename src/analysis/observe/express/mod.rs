//! A short way for the stream that captures of IPsec are made of: opaque ESP, number after number.
//!
//! Each SA that sends number after number has a lane, which holds the table numbers of its SA, stack and direction. A frame
//! that is exactly the next of its lane is counted in the lane; the sums reach the accumulators when anything about the
//! stream changes. What is added then is what frame-by-frame observation would have added: merge and finish never see a
//! difference, and the test of the merge law holds both together on every capture.

mod batch;
mod directions;
mod lane;
mod outlined;
mod shown;

pub(in crate::analysis) use batch::{BATCH, Brief};

use self::directions::DirectionSums;
use self::lane::{EspLane, LAST, LaneRest, NOTHING};
use self::shown::{BinStarts, ShownLanes};
use super::observation::{Observation, SaSight};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::span::Passage;
use crate::analysis::state::stream::StreamState;
use crate::capture::Frame;
use crate::dissect::{Glance, ipv6_ends, tos};
use crate::model::{FramePos, SaKey, Timestamp};

/// Lanes at the most. With all of them taken, all are given up and the SAs in flow open theirs anew.
const MOST: usize = 1 << 17;
/// Index slots per lane. With four, a lane is nearly always found within [`PROBES`] slots.
const SPREAD: usize = 4;
/// Places looked at for a lane. Crafted SPIs that crowd them cost their SAs the lane, nothing more.
const PROBES: usize = 8;

const NOWHERE: (FramePos, Timestamp) = (FramePos::new(0, 0), Timestamp::UNKNOWN);

/// The lanes of a span.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Express {
    /// Numbers of lanes, by address pair and SPI; [`NONE`] where vacant.
    index: Vec<u32>,
    lanes: Vec<EspLane>,
    /// What of each lane only some frames touch.
    rests: Vec<LaneRest>,
    /// Numbers of lanes, by SA; [`NONE`] without one.
    by_sa: Vec<u32>,
    /// Source and destination of the lanes of IPv6, by the same numbers, as they stand in the frame.
    ipv6_ends: Vec<Ipv6Ends>,
    /// The lanes of frames that show what is in them.
    shown: ShownLanes,
    directions: DirectionSums,
    /// First and end of the time bin that everything of the directions lies in, in nanoseconds.
    bin: (i64, i64),
    /// The same of the bin of SAs that everything in the lanes lies in.
    sa_bin: (i64, i64),
    /// Lanes that have counted frames in it.
    counting: Vec<u32>,
    /// Times that are wanted, and their end.
    limits: (i64, i64),
    /// The frames that were counted since the accumulators that look at neighbours were told of them.
    passage: Passage,
    /// The interface that they were captured on.
    interface: u32,
    /// Times from here on are no part of the passage; the least of all times, where there is none.
    end: i64,
    /// Whether frames of the passage can be copies of an earlier span's: each is kept in the head of the window of copies.
    in_head: bool,
    /// Changes when a lane becomes another SA's or changes its stations: what was found before is void.
    generation: u32,
}

impl Express {
    pub(in crate::analysis) fn new(settings: &Settings) -> Self {
        let limit = |time: Option<Timestamp>, none: i64| time.map_or(none, Timestamp::raw);
        Self {
            index: vec![NONE; 64],
            lanes: Vec::new(),
            rests: Vec::new(),
            by_sa: Vec::new(),
            ipv6_ends: Vec::new(),
            shown: ShownLanes::default(),
            directions: DirectionSums::default(),
            // An empty bin: the first frame of a lane asks for the real one.
            bin: (0, 0),
            sa_bin: (0, 0),
            counting: Vec::new(),
            limits: (limit(settings.from, i64::MIN), limit(settings.to, i64::MAX)),
            passage: Passage::default(),
            interface: 0,
            end: i64::MIN,
            in_head: false,
            generation: 0,
        }
    }

    pub(in crate::analysis) const fn generation(&self) -> u32 {
        self.generation
    }

    /// The lane that is noted in a place of the index, with its number.
    #[inline(always)]
    fn noted(&self, place: usize) -> Option<(u32, &EspLane)> {
        let id = *self.index.get(place & self.index.len().wrapping_sub(1))?;
        // A vacant place is beyond all lanes.
        self.lanes.get(id as usize).map(|lane| (id, lane))
    }

    /// The number of the lane that a frame with these octets is in; [`NONE`] without one.
    #[inline(always)]
    fn find(&self, glance: &Glance, data: &[u8]) -> u32 {
        match self.noted(hash(glance.addresses, glance.spi)) {
            Some((id, lane)) if lane.is_of(glance) && !glance.form.is_ipv6() => id,
            // A copy: what is handed on by reference would be kept in memory for all.
            Some(_) => self.find_further(&{ *glance }, data),
            None => NONE,
        }
    }

    /// The same of a frame of IPv6.
    #[inline(always)]
    fn find_ipv6(&self, glance: &Glance, data: &[u8]) -> u32 {
        match self.noted(hash(glance.addresses, glance.spi)) {
            Some((id, lane)) if lane.is_of(glance) && self.has_ends(id, lane, ipv6_ends(data, glance.form)) => id,
            Some(_) => self.find_further(&{ *glance }, data),
            None => NONE,
        }
    }

    #[inline(never)]
    fn find_further(&self, glance: &Glance, data: &[u8]) -> u32 {
        let ends = if glance.form.is_ipv6() { ipv6_ends(data, glance.form) } else { None };
        let first = hash(glance.addresses, glance.spi);
        let mut noted = (first..first + PROBES).map_while(|place| self.noted(place));
        let found = noted.find(|&(id, lane)| lane.is_of(glance) && self.has_ends(id, lane, ends));
        found.map_or(NONE, |(id, _)| id)
    }

    /// The place of an SA's lane; beyond all of them, if it has none.
    fn place_of(&self, sa: u32) -> usize {
        self.by_sa.get(sa as usize).copied().unwrap_or(NONE) as usize
    }

    /// Whether a lane is of IPv6 with these ends, or of IPv4 where there are none.
    #[inline(always)]
    fn has_ends(&self, id: u32, lane: &EspLane, ends: Option<&Ipv6Ends>) -> bool {
        match ends {
            Some(ends) => lane.is_ipv6() && self.ipv6_ends.get(id as usize) == Some(ends),
            None => !lane.is_ipv6(),
        }
    }

    /// A frame with the lane that it is in.
    #[inline]
    pub(in crate::analysis) fn brief<'a>(&self, frame: &Frame<'a>, glance: &Glance) -> Brief<'a> {
        Brief::new(frame, glance, self.find(glance, frame.data))
    }

    /// Declares the interface of the next frames.
    #[inline]
    pub(in crate::analysis) fn turn_to(&mut self, interface: u32, state: &mut StreamState) {
        if interface != self.interface {
            self.tell(state);
            self.interface = interface;
        }
    }

    /// Counts a frame that is the next of its lane; false if it is not, and nothing was done.
    #[inline(never)]
    pub(in crate::analysis) fn take(&mut self, brief: &Brief<'_>, state: &mut StreamState) -> bool {
        let (here, at) = (brief.here(), brief.lane as usize);
        if at >= self.lanes.len() || !(self.goes_on_at(here) || self.ask(here, state)) {
            return false;
        }
        let (Some(lane), Some(rest)) = (self.lanes.get_mut(at), self.rests.get_mut(at)) else { return false };
        if self.in_head && !rest.is_kept_in_head(lane, brief) {
            return false;
        }
        if !lane.goes_on_with(brief) && !lane.adapt(rest, brief, self.sa_bin.0, state) {
            return false;
        }
        if lane.sized == 0 {
            lane.begin_size();
            rest.sized_first = here;
            if !rest.noted {
                rest.noted = true;
                self.counting.push(brief.lane);
            }
        }
        self.directions.add(lane.direction, brief.lane, brief.form, here);
        lane.count(brief);
        self.passage.go_on_at(brief.time.raw());
        self.passage.frames += 1;
        state.copies.pass(brief.digest, brief.time.raw());
        if self.in_head {
            let told = (brief.digest, tos(brief.data, brief.form), brief.sequence);
            state.copies.keep_like(rest.kept, here, told);
        }
        true
    }

    /// Whether the passage goes on at a frame's position and time.
    #[inline]
    fn goes_on_at(&self, (pos, time): (FramePos, Timestamp)) -> bool {
        self.passage.last <= time.raw() && time.raw() < self.end && self.passage.capture == pos.capture()
    }

    /// Whether lanes may take a frame of this time; then a passage begins with it.
    #[cold]
    fn ask(&mut self, here: (FramePos, Timestamp), state: &mut StreamState) -> bool {
        self.tell(state);
        let time = here.1.raw();
        let (from, to) = self.limits;
        if !(from..to).contains(&time)
            || !state.interfaces.admits(here.1, self.interface)
            || !state.span.admits(here.0)
            || !state.copies.admits(time)
        {
            return false;
        }
        if !(self.bin.0..self.bin.1).contains(&time) || !(self.sa_bin.0..self.sa_bin.1).contains(&time) {
            self.shown.end_bins(self.bins(), state);
        }
        if !(self.bin.0..self.bin.1).contains(&time) {
            self.directions.add_bin(self.bin.0, state);
            self.bin = state.rates.bin_of(time);
        }
        if !(self.sa_bin.0..self.sa_bin.1).contains(&time) {
            self.end_sa_bin(state);
            self.sa_bin = state.sa_bins.bin_of(time);
        }
        // Without fractions of a second so far, each other time is looked at.
        let end = if state.span.has_fractions() { self.bin.1 } else { time.saturating_add(1) };
        let head_end = state.copies.head_end(time);
        self.in_head = head_end.is_some();
        self.end = end.min(to).min(self.sa_bin.1).min(head_end.unwrap_or(i64::MAX));
        self.passage = Passage::begin(here);
        true
    }

    /// The first moments of the time bins.
    const fn bins(&self) -> BinStarts {
        (self.bin.0, self.sa_bin.0)
    }

    /// Adds what the lanes had in the time bin of SAs, which ends.
    fn end_sa_bin(&mut self, state: &mut StreamState) {
        for id in self.counting.drain(..) {
            if let (Some(lane), Some(rest)) = (self.lanes.get_mut(id as usize), self.rests.get_mut(id as usize)) {
                rest.noted = false;
                lane.add(rest, self.sa_bin.0, state);
            }
        }
    }

    /// Ends the passage: tells the accumulators that look at neighbours what was counted.
    #[inline]
    pub(in crate::analysis) fn tell(&mut self, state: &mut StreamState) {
        self.end = i64::MIN;
        if self.passage.frames > 0 {
            state.span.pass(&self.passage);
            state.interfaces.pass(&self.passage, self.interface);
            state.copies.passed(self.passage.last);
            self.directions.tell((&self.lanes, &self.rests, &self.shown), self.interface, state);
            self.passage.frames = 0;
        }
    }

    /// Adds what is pending of an SA, before a frame of it goes the long way, and closes its lanes.
    pub(in crate::analysis) fn give_way(&mut self, state: &mut StreamState, sa: u32) {
        self.shown.give_way(sa, self.bins(), state);
        let at = self.place_of(sa);
        if let (Some(lane), Some(rest)) = (self.lanes.get_mut(at), self.rests.get_mut(at)) {
            lane.close(rest, self.sa_bin.0, state);
        }
    }

    /// Opens the lane of an SA behind a frame of it that went the long way.
    pub(in crate::analysis) fn open(
        &mut self,
        glance: &Glance,
        o: &Observation,
        sight: &SaSight,
        state: &mut StreamState,
    ) {
        if o.time.ns().is_none() || sight.sa == NONE || o.direction == NONE || o.stack == NONE {
            return;
        }
        let Some(known) = state.sas.get(sight.sa) else { return };
        let last = known.sequence.extendable(o.time);
        let young = known.evidence.wanted();
        if last != Some(glance.sequence)
            || glance.sequence > LAST
            || known.wants_listing()
            || glance.form.is_cut() && state.totals.snaplen.wants()
        {
            return;
        }
        self.directions.open(o.direction, o.lane);
        let lane = EspLane::behind(glance, o.direction, young);
        let (sa, stack, kept) = (sight.sa, o.stack, state.copies.place_in_head(o.pos));
        let mut rest = LaneRest { sa, stack, young, kept, sized_first: NOWHERE, noted: false, pending: NOTHING };
        let at = self.place_of(sa);
        if let (Some(own), Some(own_rest)) = (self.lanes.get_mut(at), self.rests.get_mut(at)) {
            own.add(own_rest, self.sa_bin.0, state);
            rest.noted = own_rest.noted;
            self.generation = self.generation.wrapping_add(u32::from(!own.is_of(glance)));
            (*own, *own_rest) = (lane, rest);
        } else {
            self.insert(lane, rest, state);
        }
    }

    fn insert(&mut self, lane: EspLane, rest: LaneRest, state: &mut StreamState) {
        if self.lanes.len() >= MOST {
            self.flush(state);
            self.generation = self.generation.wrapping_add(1);
            self.lanes.clear();
            self.rests.clear();
            self.by_sa.clear();
            self.ipv6_ends.clear();
            self.index.fill(NONE);
        } else if self.lanes.len() * SPREAD >= self.index.len() {
            self.grow();
        }
        if self.note(lane.addresses, lane.spi, self.lanes.len() as u32) {
            let (at, sa) = (self.lanes.len(), rest.sa as usize);
            self.by_sa.resize(self.by_sa.len().max(sa + 1), NONE);
            if let Some(place) = self.by_sa.get_mut(sa) {
                *place = at as u32;
            }
            if let Some(ends) = state.tables.sas.get(rest.sa).and_then(ipv6_ends_of) {
                // As long as no lane is of IPv6, there are none.
                self.ipv6_ends.resize(at, [0; 32]);
                self.ipv6_ends.push(ends);
            }
            self.lanes.push(lane);
            self.rests.push(rest);
        }
    }

    /// Notes a lane's number in the index; false where there is no place for it.
    fn note(&mut self, addresses: u64, spi: u32, id: u32) -> bool {
        note(&mut self.index, hash(addresses, spi), id)
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
    pub(in crate::analysis) fn flush(&mut self, state: &mut StreamState) {
        self.tell(state);
        for (lane, rest) in self.lanes.iter_mut().zip(&mut self.rests) {
            lane.close(rest, self.sa_bin.0, state);
            rest.noted = false;
        }
        self.counting.clear();
        self.shown.flush(self.bins(), state);
        self.directions.add_bin(self.bin.0, state);
    }
}

/// Notes the number of a lane in an index, behind the place of its hash; false where all places that are looked at are taken.
fn note(index: &mut [u32], first: usize, id: u32) -> bool {
    let mask = index.len().wrapping_sub(1);
    let mut places = (0..PROBES).map(|step| first.wrapping_add(step) & mask);
    let vacant = places.find(|&place| index.get(place) == Some(&NONE));
    let slot = vacant.and_then(|place| index.get_mut(place));
    slot.map(|slot| *slot = id).is_some()
}

/// Source and destination of an IPv6 packet as they stand in the frame.
type Ipv6Ends = [u8; 32];

/// The ends of an SA of IPv6; `None` of IPv4.
fn ipv6_ends_of(key: &SaKey) -> Option<Ipv6Ends> {
    let (src, dst) = (key.src.words(), key.dst.words());
    let mut ends = [0; 32];
    for (place, word) in ends.as_chunks_mut().0.iter_mut().zip([src.0, src.1, dst.0, dst.1]) {
        *place = word.to_be_bytes();
    }
    (!key.src.is_v4()).then_some(ends)
}

/// Where in the index the lane of an SA is looked for first.
#[inline(always)]
fn hash(addresses: u64, spi: u32) -> usize {
    let word = addresses ^ u64::from(spi.swap_bytes()).rotate_left(20);
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36) as usize
}
