//! Looks for a beginning of the two lanes, together or one after the other.

use std::collections::{BTreeMap, VecDeque};

use super::{Aside, Order, SAMPLE};
use crate::matching::limits::{MAX_WAITING, ON_ITS_WAY_NS};
use crate::matching::order::beginning::{BeginningTrial, PlainWays, Search, WayTold, directions, fresh};
use crate::matching::order::evidence::CERTAIN;
use crate::matching::order::lane::{Lane, PlainItem};
use crate::matching::order::settle::reread::Readings;
use crate::matching::packets::ledger::{Ledger, TunnelledFate};
use crate::model::Address;

/// The longest that a packet is taken to be on its way where the clocks are known, in nanoseconds.
const FARTHEST: i64 = 2 * ON_ITS_WAY_NS;

impl Order {
    /// Looks for a beginning in all that waits.
    pub(super) fn begin(&mut self, ledger: &mut Ledger, end: bool) {
        self.links.decide(&mut ledger.flows);
        let (mut lanes, mut plain) = self.waiting(ledger);
        let catalogue = self.catalogue.get_or_insert_default();
        let within = if self.one_clock { (-FARTHEST, FARTHEST) } else { (i64::MIN, i64::MAX) };
        let one_clock = self.one_clock;
        let search = Search { ledger, catalogue, sas: &self.sas, given: &self.given, within, one_clock, end };
        let [out, back] = &mut lanes;
        let [towards, away] = &plain;
        let straight = [search.begin(out, towards), search.begin(back, away)];
        let crosswise = [search.begin(out, away), search.begin(back, towards)];
        let weight = |trials: &[BeginningTrial; 2]| trials.iter().map(BeginningTrial::weight).sum::<f64>();
        let (there, across) = (weight(&straight), weight(&crosswise));
        let crossed = across > there;
        let (trials, others) = if crossed { (crosswise, straight) } else { (straight, crosswise) };
        // Packets that fit either direction as well belong to neither.
        let either = (across - there).abs() < CERTAIN;
        let [other, answers] = &others;
        let beside = [(other, answers), (answers, other)];
        let ways = PlainWays::of(&plain, either);
        let mut own =
            trials.into_iter().zip(beside).map(|(trial, (other, answers))| trial.unless(other, answers, ways));
        let trials = [own.next().unwrap_or(BeginningTrial::Nothing), own.next().unwrap_or(BeginningTrial::Nothing)];
        self.open = [0, 1].map(|lane: usize| trials.get(lane).map_or(0, BeginningTrial::open));
        if !trials.iter().any(|trial| matches!(trial, BeginningTrial::Begun(_))) {
            if end {
                let is_single =
                    plain.iter().any(VecDeque::is_empty) && lanes.iter().any(|lane| lane.tunnelled().is_empty());
                let is_fresh = is_single && fresh(plain.iter().flatten(), ledger) == Some(true);
                let [towards, away] = plain.map(|plain| plain.len() as u64);
                let ways = if crossed { [away, towards] } else { [towards, away] };
                self.aside = Some(Aside { ways, is_told: !either, is_fresh });
                self.leave_open(ledger);
            }
            return;
        }
        if crossed {
            // Lane 0 takes way 0: ways are renamed, not lanes.
            self.links.cross();
            plain.swap(0, 1);
        }
        for ((lane, trial), plain) in lanes.iter_mut().zip(trials).zip(plain) {
            (lane.shuffled, lane.plain) = (!plain.iter().is_sorted_by_key(|item| item.ns), plain);
            if let BeginningTrial::Begun(found) = trial {
                lane.take(*found, ledger);
            }
        }
        self.tell_ways(&mut lanes, ledger);
        for arrival in std::mem::take(&mut self.tunnelled) {
            if self.sas.get(arrival.sa as usize).and_then(|info| self.lane_of(info)).is_none() {
                ledger.leave(arrival.serial, TunnelledFate::Alone);
            }
        }
        self.plain.clear();
        self.lanes = Some(Box::new(lanes));
    }

    /// All that waits: the lanes of the tunnel, and the ways of the plain side.
    fn waiting(&mut self, ledger: &mut Ledger) -> ([Lane; 2], [VecDeque<PlainItem>; 2]) {
        let mut packets: BTreeMap<Address, u64> = BTreeMap::new();
        for arrival in &self.tunnelled {
            if let Some(info) = self.sas.get(arrival.sa as usize) {
                *packets.entry(info.src).or_default() += 1;
                *packets.entry(info.dst).or_default() += 1;
            }
        }
        self.centre =
            packets.iter().max_by_key(|(address, count)| (**count, std::cmp::Reverse(**address))).map(|(a, _)| *a);
        let mut lanes = [Lane::default(), Lane::default()];
        for arrival in &self.tunnelled {
            let lane = self.sas.get(arrival.sa as usize).and_then(|info| self.lane_of(info));
            if let Some(lane) = lane.and_then(|lane| lanes.get_mut(lane)) {
                lane.push(ledger, arrival.serial, arrival.ns, arrival.sa, arrival.raw);
            }
        }
        let mut plain = [VecDeque::new(), VecDeque::new()];
        for (link, item) in &self.plain {
            if let Some(own) = self.links.way(*link).and_then(|way| plain.get_mut(way)) {
                own.push_back(*item);
            }
        }
        (lanes, plain)
    }

    /// Decides which lane passed the plain tap first.
    fn tell_ways(&mut self, lanes: &mut [Lane; 2], ledger: &Ledger) {
        let told = directions(lanes, ledger, self.one_clock);
        self.told = told == WayTold::ByTtl;
        let known = lanes.iter().filter(|lane| lane.delay.is_some()).count();
        self.guessed = match told {
            WayTold::ByTtl => false,
            WayTold::ByTime => known == 1 && !self.one_clock,
            WayTold::Nothing => true,
        };
    }

    /// Nothing more comes, and what belongs together is not known.
    pub(super) fn leave_open(&mut self, ledger: &mut Ledger) {
        let open = self.open.iter().any(|alignments| *alignments > 0);
        self.tunnelled.drain(..).for_each(|arrival| ledger.leave(arrival.serial, TunnelledFate::Alone));
        for (_, item) in self.plain.drain(..).filter(|_| open) {
            ledger.set_aside(item.serial);
        }
    }

    /// One direction has begun; the other may begin later.
    pub(super) fn begin_other(&mut self, ledger: &mut Ledger, end: bool) {
        let Some(lanes) = &mut self.lanes else { return };
        let Some(known) = lanes.iter().find(|lane| lane.delay.is_some()) else { return };
        let delay = known.delay;
        let (base, slack) = delay.map_or((0, 0), |delay| (delay.base.unwrap_or(0.0) as i64, 8 * delay.spread as i64));
        let known = known.encapsulated;
        // The clocks are the same both ways, and no packet arrives before it was sent.
        let within = match (self.told || self.one_clock, known) {
            (true, true) => (base.saturating_sub(FARTHEST), base.saturating_add(slack)),
            (true, false) => (base.saturating_sub(slack), base.saturating_add(FARTHEST)),
            (false, _) => (base.saturating_sub(FARTHEST), base.saturating_add(FARTHEST)),
        };
        let catalogue = self.catalogue.get_or_insert_default();
        for (lane, open) in lanes.iter_mut().zip(&mut self.open).filter(|(lane, _)| lane.delay.is_none()) {
            while lane.plain.len() > MAX_WAITING {
                lane.plain.pop_front();
            }
            let waiting = lane.tunnelled().len();
            if waiting == 0 || (waiting < self.enough.max(SAMPLE) && !end) {
                continue;
            }
            self.enough = waiting * 4;
            let plain = std::mem::take(&mut lane.plain);
            // Where the TTLs of both directions look alike the gateways do not lower them, and they say nothing of the way.
            let one_clock = self.one_clock && fresh(plain.iter(), ledger) != Some(known);
            let search = Search { ledger, catalogue, sas: &self.sas, given: &self.given, within, one_clock, end };
            let trial = search.begin(lane, &plain);
            lane.plain = plain;
            lane.encapsulated = !known;
            *open = trial.open();
            if let BeginningTrial::Begun(found) = trial {
                let other = found.delay.base.unwrap_or(0.0) as i64;
                // The later direction of two has the greater difference.
                let is_tied = other.saturating_sub(base).saturating_abs() <= ledger.coarseness;
                self.guessed &= (other >= base) == known || is_tied;
                lane.take(*found, ledger);
                if end {
                    let readings = Readings { catalogue, sas: &self.sas, given: &self.given };
                    lane.advance(ledger, &readings, (i64::MAX, i64::MAX, true));
                }
            } else if waiting > MAX_WAITING / 2 {
                lane.leave_all(ledger);
            }
        }
    }
}
