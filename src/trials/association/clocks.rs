//! The clocks of all taps against that of the first.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::clock::{Anchor, Clock, MetPacket, anchors, by_fastest, compare, compare_at, settings, vote};
use super::row::{At, FrameRow, MISSING};
use crate::trials::limits::{ANCHOR_NS, USUAL_DRIFT};
use crate::trials::read::tap::ContentDigest;
use crate::trials::read::{Place, Taps};

/// Clocks by tap; `None` where nothing compares one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Clocks {
    pub(crate) clock: [Option<Clock>; 3],
    /// Whether only one direction compares them: the least latency is taken for zero.
    pub(crate) depends_on_offset: bool,
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

/// Least time between two taps of the packets of a row.
fn least(row: &FrameRow, from: Option<Place>, to: Option<Place>) -> Option<i64> {
    paired(row, (from, to), false).iter().map(|(a, b, _)| b - a).min()
}

/// By how much the clock of a tap is ahead of that of the reference, where contents tell packets apart and hardly any of them agrees with
/// what the clocks are taken for, and when it is.
fn told(both: &Both, [reference, place]: [Place; 2], clock: &Clock) -> Option<(i64, i64)> {
    let [fwd, rev] = both;
    // Of packets that came in at the other tap, the time on the way is subtracted.
    let ways = [(fwd, reference, place, 1), (rev, place, reference, -1)];
    ways.into_iter().find_map(|(seen, from, to, sign)| {
        let met = by_content(seen, from, to)?;
        let time = |(t, d, _): &MetPacket| if sign > 0 { (*t, *d) } else { (*d, *t) };
        let agrees = |own: &&MetPacket| {
            let (near, other) = time(own);
            (clock.map(other) - near).abs() < ANCHOR_NS
        };
        if met.iter().filter(agrees).count() * AGREE_OF > met.len() {
            return None;
        }
        let mut late: Vec<(i64, i64)> = met.iter().map(|own| (own.1 - own.0, time(own).0)).collect();
        late.sort_unstable();
        // What a few packets share that are another's is no offset.
        let shared = |at: &usize| {
            late.get(at + late.len() / AGREE_OF)
                .zip(late.get(*at))
                .is_some_and(|((more, _), (least, _))| more - least < ANCHOR_NS)
        };
        let at = (0..late.len()).find(shared)?;
        late.get(at).map(|(late, at)| (sign * late, *at))
    })
}

/// The clock of a tap against that of the reference, where contents tell packets apart and show that it drifts.
fn drifting(both: &Both, [reference, place]: [Place; 2], gap: i64) -> Option<Clock> {
    let [fwd, rev] = both;
    let sorted = |seen: &[(Place, At)], from: Place, to: Place| {
        let mut met = by_content(seen, from, to)?;
        met.sort_unstable();
        Some(met)
    };
    if let Some(met) = sorted(fwd, reference, place) {
        return by_fastest(&met, gap);
    }
    Some(by_fastest(&sorted(rev, place, reference)?, gap)?.turned())
}

/// Of so many packets one is as fast as those that meet an idle device.
const AGREE_OF: usize = 100;

/// Packets that two taps both show, paired by their content.
fn by_content(seen: &[(Place, At)], from: Place, to: Place) -> Option<Vec<MetPacket>> {
    let at = |place: Place| seen.iter().find(|(own, _)| *own == place).map(|(_, at)| at);
    let (here, there) = (at(from)?, at(to)?);
    let mut known: HashMap<ContentDigest, Option<(i64, u16)>, FixedState> = HashMap::default();
    for frame in here.frames.iter().filter(|frame| frame.key != ContentDigest::NONE) {
        known.entry(frame.key).and_modify(|time| *time = None).or_insert(Some((frame.t, frame.size)));
    }
    let met = there.frames.iter().filter_map(|frame| {
        let (t, size) = known.get(&frame.key).copied()??;
        Some((t, frame.t, size))
    });
    let met: Vec<MetPacket> = met.collect();
    (met.len() * 2 > here.frames.len().min(there.frames.len())).then_some(met)
}

/// Which frames of a tap show its silences.
#[derive(Clone, Copy)]
enum AnchorFrames {
    /// Those that may be of the load.
    All,
    /// Those of the load.
    Load,
    /// What is beside it, too.
    AndOthers,
}

impl AnchorFrames {
    /// Their times and lengths, in order.
    fn of(self, at: &At) -> Vec<Anchor> {
        let own = at.frames.iter().filter(|own| own.test || !matches!(self, Self::Load));
        let others = at.others.iter().filter(|_| matches!(self, Self::AndOthers));
        let mut all: Vec<Anchor> = own.chain(others).map(|own| (own.t, own.size)).collect();
        all.sort_by_key(|(t, _)| *t);
        all
    }
}

/// Frames of both directions at each tap.
pub(crate) type Both = [Vec<(Place, At)>; 2];

impl Clocks {
    /// Clocks against that of the first tap that there is.
    pub(crate) fn of(taps: &Taps, both: &Both, gap: i64, one_clock: bool) -> Self {
        let mut clocks = Self { clock: [const { None }; 3], depends_on_offset: false };
        let [fwd, _] = both;
        let Some((reference, _)) = fwd.first() else { return clocks };
        let same = Clock { drift_known: true, ..Clock::default() };
        clocks.put(*reference, Some(same.clone()));
        let moments = |place: Place| taps.place(place).steps.iter().map(|step| step.at);
        for (place, _) in fwd.iter().skip(1) {
            let starts = |way: usize, place: Place, which: AnchorFrames| -> Vec<Anchor> {
                let at = both.get(way).and_then(|seen| seen.iter().find(|(own, _)| *own == place)).map(|(_, at)| at);
                anchors(at.map_or_else(Vec::new, |at| which.of(at)).into_iter(), gap)
            };
            // Background in clear that does not pass the tunnel hides silences of the load; what passes it hides them there.
            let votes = |which: &AnchorFrames| {
                let met = |way: usize, here: Place, there: Place| {
                    vote(&starts(way, here, *which), &starts(way, there, *which)).map_or(0, |(met, _)| met.len())
                };
                met(0, *reference, *place) + met(1, *place, *reference)
            };
            let all = [AnchorFrames::AndOthers, AnchorFrames::Load, AnchorFrames::All]
                .into_iter()
                .max_by_key(votes)
                .unwrap_or(AnchorFrames::All);
            let into = (starts(0, *reference, all), starts(0, *place, all));
            let out = (starts(1, *place, all), starts(1, *reference, all));
            let mut clock =
                if one_clock { Some(same.clone()) } else { Self::by(&into, &out, (both, [*reference, *place])) };
            if let Some(clock) = clock.as_mut().filter(|_| !one_clock)
                && let Some((offset, origin)) = told(both, [*reference, *place], clock)
            {
                // Captures that begin within a load at different times share no first frame, and loads that come one like the other may be
                // taken for each other: contents tell.
                *clock = compare_at(&into.0, &into.1, offset).unwrap_or(Clock { offset, origin, ..Clock::default() });
            }
            let is_set = [*reference, *place].iter().any(|place| !taps.place(*place).steps.is_empty());
            if let Some(clock) = clock.as_mut().filter(|_| !one_clock && !is_set)
                && let Some(found) = drifting(both, [*reference, *place], gap)
            {
                *clock = found;
            }
            if let Some(clock) = &mut clock {
                clocks.depends_on_offset |= !one_clock;
                let mut set: Vec<i64> = moments(*reference).chain(moments(*place).map(|t| clock.map(t))).collect();
                set.sort_unstable();
                settings(clock, &into.0, &into.1, &set);
            }
            clocks.put(*place, clock);
        }
        clocks
    }

    /// Drifts by the fastest packets of each load that lost none: there are more of them than first ones. Whether any clock is told better.
    pub(crate) fn refine(&mut self, rows: &[FrameRow], gap: i64) -> bool {
        let [Some(fwd), Some(rev)] = [rows.first(), rows.get(1)] else { return false };
        let mut told = false;
        for place in fwd.places.iter().copied().skip(1) {
            let Some(clock) = self.clock.get_mut(place as usize).and_then(Option::as_mut) else { continue };
            if !clock.set.is_empty() || [fwd, rev].iter().any(|row| row.thin.is_some()) {
                continue;
            }
            let (reference, other) = (fwd.first(), Some(place));
            let found = by_fastest(&paired(fwd, (reference, other), true), gap)
                .or_else(|| Some(by_fastest(&paired(rev, (other, reference), true), gap)?.turned()));
            if let Some(found) = found {
                *clock = clock.with(&found);
                told = true;
            }
        }
        told
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
            let more = match ways {
                (Some(there), Some(back)) => (there - back) / 2,
                (Some(there), None) if near(there) => there,
                (None, Some(back)) if near(back) => -back,
                _ => 0,
            };
            clock.offset = clock.offset.saturating_add(more);
            changed |= more != 0;
        }
        changed
    }

    /// By the packets into the tunnel, or, where there are none, by those out of it.
    fn by(
        into: &(Vec<Anchor>, Vec<Anchor>),
        out: &(Vec<Anchor>, Vec<Anchor>),
        (both, [reference, place]): (&Both, [Place; 2]),
    ) -> Option<Clock> {
        let [fwd, rev] = both;
        let times = |seen: &[(Place, At)], place: Place| -> Vec<i64> {
            let at = seen.iter().find(|(own, _)| *own == place).map(|(_, at)| at);
            at.into_iter().flat_map(|at| AnchorFrames::AndOthers.of(at)).map(|(t, _)| t).collect()
        };
        compare(&into.0, &into.1, [&times(fwd, reference), &times(fwd, place)]).or_else(|| {
            let frames = [times(rev, place), times(rev, reference)];
            Some(compare(&out.0, &out.1, [&frames[0], &frames[1]])?.turned())
        })
    }

    fn put(&mut self, place: Place, clock: Option<Clock>) {
        if let Some(own) = self.clock.get_mut(place as usize) {
            *own = clock;
        }
    }

    /// By how much a drift that nothing tells may make times of a trial between two taps wrong, in nanoseconds.
    pub(crate) fn adrift(&self, places: [Place; 2], (begin, end): (i64, i64)) -> f64 {
        let far = |clock: &Clock| begin.abs_diff(clock.origin).max(end.abs_diff(clock.origin)) as f64;
        let most =
            |clock: &Clock| Some(clock.drift_most).filter(|most| *most > 0.0).unwrap_or(USUAL_DRIFT).min(USUAL_DRIFT);
        let clocks = places.into_iter().filter_map(|place| self.get(place));
        clocks.filter(|clock| !clock.drift_known).map(|clock| far(clock) * most(clock)).fold(0.0, f64::max)
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Clock> {
        self.clock.get(place as usize)?.as_ref()
    }

    /// A time of a tap on the clock of the first.
    pub(crate) fn map(&self, place: Place, t: i64) -> i64 {
        self.get(place).map_or(t, |clock| clock.map(t))
    }
}
