//! The clocks of all taps against that of the first.

mod anchors;
mod clock;
mod contents;
mod drift;
mod loads;
mod paces;
mod settle;

use anchors::FirstPackets;
pub(crate) use clock::vote;
use clock::{Clock, compare_at, settings};
use contents::told;
use drift::{Drift, DriftInterval};
use loads::{MetPacket, Traffic};
use settle::{contents_of, settle};

use super::row::{At, FrameRow, MISSING};
use crate::model::trials::Reason;
use crate::trials::limits::{ANCHOR_NS, STAMPS_NS, USUAL_DRIFT};
use crate::trials::read::{Place, Taps};

/// What is stated of the clock of a tap against that of the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ClockFigures {
    /// By how much it is ahead when the load begins.
    pub(crate) offset_ns: i64,
    pub(crate) drift: Option<f64>,
    /// By how much the drift may be wrong.
    pub(crate) drift_error: Option<f64>,
    /// By how much times of trials may be.
    pub(crate) uncertainty_ns: Option<i64>,
    /// Why there is no drift.
    pub(crate) open: Option<Reason>,
}

/// Clocks by tap; `None` where nothing compares one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Clocks {
    pub(crate) clock: [Option<Clock>; 3],
    /// Whether only one direction compares them: the least latency is taken for zero.
    pub(crate) depends_on_offset: bool,
    /// What the first packets after silences say of their drift.
    first: [Option<DriftInterval>; 3],
    /// The load at the first tap.
    traffic: Traffic,
}

/// Packets of a row at two taps, in order of time, where it is known which they are. `sure`: without those that a rule of queues tells.
fn paired(row: &FrameRow, (from, to): (Option<Place>, Option<Place>), sure: bool) -> Vec<MetPacket> {
    let time = |i: usize, place: Option<Place>| {
        if place == row.first() {
            row.t.get(i).copied()
        } else if place == row.last() {
            row.out.get(i).copied()
        } else {
            row.middle.get(i).map(|(t, _)| *t)
        }
    };
    // Which of several frames a packet is says nothing of the clocks.
    let is_clear = |i: &usize| {
        let either = |place: Place| Some(place) == from || Some(place) == to;
        row.unclear.iter().all(|own| !either(own.place) || !(own.from..own.to).contains(i))
            && (!sure
                || row.queued.iter().all(|own| !either(own.place) || !own.guessed || !(own.from..own.to).contains(i)))
    };
    let both = |i: usize| Some((time(i, from)?, time(i, to)?, *row.size.get(i)?));
    let met = (0..row.t.len()).filter(is_clear).filter_map(both).filter(|(a, b, _)| *a != MISSING && *b != MISSING);
    // A clock that was set makes times impossible; it says nothing of the others.
    met.filter(|(a, b, _)| b.saturating_sub(*a) >= -ANCHOR_NS).collect()
}

/// Least time between two taps of the packets of a row, and when that packet comes in.
fn least(row: &FrameRow, from: Option<Place>, to: Option<Place>) -> Option<(i64, i64)> {
    paired(row, (from, to), false).iter().map(|(a, b, _)| (b - a, *a)).min()
}

/// Frames of a direction at a tap.
fn seen(both: &Both, way: usize, place: Place) -> Option<&At> {
    both.get(way)?.iter().find(|(own, _)| *own == place).map(|(_, at)| at)
}

/// Frames of both directions at each tap.
pub(crate) type Both = [Vec<(Place, At)>; 2];

impl Clocks {
    /// Clocks against that of the first tap that there is.
    pub(crate) fn of(taps: &Taps, both: &Both, gap: i64, one_clock: bool) -> Self {
        let [fwd, _] = both;
        let mut clocks = Self::default();
        let Some((reference, _)) = fwd.first() else { return clocks };
        let load = |way: usize| {
            let frames = seen(both, way, *reference).into_iter().flat_map(|at| &at.frames);
            frames.map(|own| (own.t, own.frames)).collect()
        };
        clocks.traffic = Traffic::of([load(0), load(1)]);
        let same = Clock { drift: Drift::NONE, ..Clock::default() };
        clocks.put(*reference, Some(same.clone()));
        let moments = |place: Place| taps.place(place).steps.iter().map(|step| step.at);
        for (place, _) in fwd.iter().skip(1) {
            let anchors = FirstPackets::of(both, [*reference, *place], gap);
            let mut clock = if one_clock { Some(same.clone()) } else { anchors.clock(both, [*reference, *place]) };
            if let Some(clock) = clock.as_mut().filter(|_| !one_clock)
                && let Some((offset, origin)) = told(both, [*reference, *place], clock)
            {
                // Captures that begin within a load at different times share no first frame, and loads that come one like the other may be
                // taken for each other: contents tell.
                *clock = compare_at(&anchors.into.0, &anchors.into.1, offset).unwrap_or(Clock {
                    offset,
                    origin,
                    ..Clock::default()
                });
            }
            let is_set = [*reference, *place].iter().any(|place| !taps.place(*place).steps.is_empty());
            if let Some(clock) = clock.as_mut().filter(|_| !one_clock && !is_set) {
                let first = anchors.drift(both, [*reference, *place], clock, gap);
                let ways = contents_of(both, [*reference, *place], clock);
                settle(clock, first, &ways, (gap, &clocks.traffic));
                if let Some(own) = clocks.first.get_mut(*place as usize) {
                    *own = first;
                }
            }
            if let Some(clock) = &mut clock {
                clocks.depends_on_offset |= !one_clock;
                let mut set: Vec<i64> = moments(*reference).chain(moments(*place).map(|t| clock.map(t))).collect();
                set.sort_unstable();
                settings(clock, &anchors.into.0, &anchors.into.1, &set);
            }
            clocks.put(*place, clock);
        }
        clocks
    }

    /// Drifts by the packets of loads, where it is known which they are. Whether any clock was changed.
    pub(crate) fn refine(&mut self, rows: &[FrameRow], gap: i64) -> bool {
        let [Some(fwd), Some(rev)] = [rows.first(), rows.get(1)] else { return false };
        let mut changed = false;
        for place in fwd.places.iter().copied().skip(1) {
            let Some(clock) = self.clock.get_mut(place as usize).and_then(Option::as_mut) else { continue };
            if !clock.set.is_empty() || [fwd, rev].iter().any(|row| row.thin.is_some()) {
                continue;
            }
            let (reference, other) = (fwd.first(), Some(place));
            let ways = [paired(fwd, (reference, other), true), paired(rev, (other, reference), true)];
            let first = self.first.get(place as usize).copied().flatten();
            changed |= settle(clock, first, &ways, (gap, &self.traffic));
        }
        changed
    }

    /// Whether packets of both directions together take less than no time by more than clocks may be wrong, and of which taps.
    pub(crate) fn impossible(&self, rows: &[FrameRow]) -> Vec<Place> {
        let [Some(fwd), Some(rev)] = [rows.first(), rows.get(1)] else { return Vec::new() };
        let reference = fwd.first();
        let is_wrong = |place: &Place| {
            let (there, back) = (least(fwd, reference, Some(*place)), least(rev, Some(*place), reference));
            let Some(((there, t), (back, other))) = there.zip(back) else { return false };
            let error = self.get(*place).and_then(|clock| clock.drift.error).unwrap_or(USUAL_DRIFT);
            ((there + back) as f64) < -error * t.abs_diff(other) as f64 - 2.0 * STAMPS_NS
        };
        fwd.places.iter().copied().skip(1).filter(is_wrong).collect()
    }

    /// Nothing tells the drift of these taps: what tells it makes packets take less than no time.
    pub(crate) fn doubt(&mut self, places: &[Place]) {
        for place in places {
            if let Some(Some(clock)) = self.clock.get_mut(*place as usize) {
                clock.drift = Drift { error: None, known: false, contradicted: true, ..clock.drift };
            }
        }
    }

    /// By the packets that are paired: equal least latency each way where both directions are. Whether any clock was changed.
    pub(crate) fn balance(&mut self, rows: &[FrameRow]) -> bool {
        let [Some(fwd), Some(rev)] = [rows.first(), rows.get(1)] else { return false };
        let mut changed = false;
        let reference = fwd.first();
        for place in fwd.places.iter().copied().skip(1) {
            let ways = (least(fwd, reference, Some(place)), least(rev, Some(place), reference));
            let Some(clock) = self.clock.get_mut(place as usize).and_then(Option::as_mut) else { continue };
            // Of one direction, the least latency is zero: a packet in a trial may have waited less than those after a silence.
            let near = |least: i64| least < 0 && least > -ANCHOR_NS;
            let (more, at) = match ways {
                (Some((there, t)), Some((back, other))) => ((there - back) / 2, t / 2 + other / 2),
                (Some((there, t)), None) if near(there) => (there, t),
                (None, Some((back, t))) if near(back) => (-back, t),
                _ => continue,
            };
            if clock.set.is_empty() {
                *clock = clock.with((more, at), clock.drift);
            } else {
                clock.offset = clock.offset.saturating_add(more);
            }
            changed |= more != 0;
        }
        changed
    }

    fn put(&mut self, place: Place, clock: Option<Clock>) {
        if let Some(own) = self.clock.get_mut(place as usize) {
            *own = clock;
        }
    }

    /// By how much the drift may make times of a trial between two taps wrong, in nanoseconds.
    pub(crate) fn adrift(&self, places: [Place; 2], (begin, end): (i64, i64)) -> f64 {
        let far = |clock: &Clock| begin.abs_diff(clock.origin).max(end.abs_diff(clock.origin)) as f64;
        let most = |clock: &Clock| clock.drift.error.unwrap_or(USUAL_DRIFT).min(USUAL_DRIFT);
        let clocks = places.into_iter().filter_map(|place| self.get(place));
        clocks.map(|clock| far(clock) * most(clock)).fold(0.0, f64::max)
    }

    /// What is stated of the clock of a tap. `first`: when the load begins; `trials`: from when to when each is.
    pub(crate) fn figures(&self, place: Place, first: i64, trials: &[(i64, i64)]) -> Option<ClockFigures> {
        let clock = self.get(place)?;
        let Drift { slope, error, known, contradicted } = clock.drift;
        let far = trials.iter().map(|(begin, end)| begin.abs_diff(clock.origin).max(end.abs_diff(clock.origin))).max();
        Some(ClockFigures {
            offset_ns: clock.ahead(first),
            drift: Some(slope).filter(|_| known),
            drift_error: error.filter(|_| known),
            uncertainty_ns: error.map(|error| (error * far.unwrap_or(0) as f64).ceil() as i64),
            open: (!known).then_some(if contradicted { Reason::DriftContradicted } else { Reason::DriftUntold }),
        })
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Clock> {
        self.clock.get(place as usize)?.as_ref()
    }

    /// A time of a tap on the clock of the first.
    pub(crate) fn map(&self, place: Place, t: i64) -> i64 {
        self.get(place).map_or(t, |clock| clock.map(t))
    }
}
