//! A device whose one queue holds packets of both directions: which of them left it, and what its room says of the rules of the queue.

use std::collections::BTreeMap;

use super::at_device::AtDevice;
use super::queue::{OneQueue, Passing, QueueRoom, one_queue};
use super::row::{FrameRow, MISSING};
use super::undrained::undrained;
use crate::model::trials::Basis;
use crate::trials::read::Place;

/// Packets of a row at a tap where equal ones were found by their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedSpan {
    pub(crate) place: Place,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Which of them left follows from a rule, and neither from content nor from numbers.
    pub(crate) guessed: bool,
    /// Whether that rule is in doubt.
    pub(crate) open: bool,
    /// Whether packets of the other direction wait in the same queue.
    pub(crate) shared: bool,
    /// Whether packets of the other direction came and left at the same time.
    pub(crate) beside: bool,
    /// What the queue held.
    pub(crate) room: Option<QueueRoom>,
}

impl FrameRow {
    /// Whether it is in doubt which packets left a queue: one that the figures between both ends depend on, and one before the tap in the middle.
    /// Where content shows at both ends which packet is which, a doubt at the tap between changes nothing.
    pub(crate) fn open_queue(&self, basis: Basis, (from, to): (usize, usize)) -> [bool; 2] {
        let told = matches!(basis, Basis::Content | Basis::Decrypted);
        [self.last().filter(|_| told), Some(Place::Middle)].map(|place| {
            let here =
                |own: &&QueuedSpan| place.is_none_or(|place| own.place == place) && own.from < to && from < own.to;
            self.queued.iter().filter(here).any(|own| own.open)
        })
    }

    /// Whether packets of the other direction waited in the same queue.
    pub(crate) fn is_queue_shared(&self, (from, to): (usize, usize)) -> bool {
        self.queued.iter().any(|own| own.shared && own.from < to && from < own.to)
    }

    /// Times of packets at one of its taps.
    pub(super) fn times(&self, stage: usize, i: usize) -> i64 {
        let own = if stage == 0 {
            self.t.get(i).copied()
        } else if stage + 1 == self.places.len() {
            self.out.get(i).copied()
        } else {
            self.middle.get(i).map(|(t, _)| *t)
        };
        own.unwrap_or(MISSING)
    }
}

/// Packets of both directions that were in a device at the same time: of each row some neighbouring spans.
type Together = [Option<(usize, usize)>; 2];

/// Finds which packets left a device that one queue of both directions filled, and where a queue is in doubt. `apart`: by how much times of
/// different taps may be wrong, in nanoseconds.
pub(crate) fn both_ways(rows: &mut [FrameRow], apart: i64) {
    if let [one, other] = rows {
        for both in together(one, other) {
            if let [Some(own), Some(others)] = both {
                [(&mut *one, own), (&mut *other, others)].into_iter().for_each(|(row, span)| beside(row, span));
            }
        }
    }
    if let [one, other] = rows
        && one.places.len() == other.places.len()
        && one.places.iter().eq(other.places.iter().rev())
    {
        for stage in 0..one.places.len().saturating_sub(1) {
            let back = one.places.len().saturating_sub(stage + 2);
            let mut refuted: Vec<[(usize, usize); 2]> = Vec::new();
            let mut shares = false;
            for both in together(one, other) {
                let [Some(own), Some(others)] = both else { continue };
                match at_device((one, stage, own), (other, back, others), apart) {
                    Some(true) => shares = true,
                    Some(false) => refuted.push([own, others]),
                    None => {}
                }
            }
            // A queue that is shared in one load is in others, too, whatever it drops there.
            for [own, others] in refuted.into_iter().filter(|_| shares) {
                doubt(one, one.places.get(stage + 1).copied(), own);
                doubt(other, other.places.get(back + 1).copied(), others);
            }
        }
    }
    rows.iter_mut().for_each(|row| of_other_rooms(row, apart));
}

/// Spans of both directions that overlap, from the first packet in to the last one out.
fn together(one: &FrameRow, other: &FrameRow) -> Vec<Together> {
    let mut all: Vec<(i64, i64, usize, (usize, usize))> = Vec::new();
    for (way, row) in [one, other].into_iter().enumerate() {
        all.extend(row.spans.iter().filter_map(|span| {
            let out = row.out.get(span.from..span.to).unwrap_or_default().iter().copied().max();
            let end = row.t.get(span.to.checked_sub(1)?).copied()?.max(out.unwrap_or(MISSING));
            Some((span.begin, end, way, (span.from, span.to)))
        }));
    }
    all.sort_unstable();
    let mut found: Vec<(i64, Together)> = Vec::new();
    for (begin, end, way, (from, to)) in all {
        if found.last().is_none_or(|(last, _)| begin > *last) {
            found.push((end, [None; 2]));
        }
        let Some((last, both)) = found.last_mut() else { continue };
        *last = end.max(*last);
        if let Some(own) = both.get_mut(way) {
            *own = Some(own.map_or((from, to), |(first, _)| (first, to)));
        }
    }
    found.into_iter().map(|(_, both)| both).collect()
}

type OfRow<'r> = (&'r mut FrameRow, usize, (usize, usize));

/// Finds what left one device in both directions. Whether they share its queue; `None` where nothing tells.
fn at_device((one, stage, own): OfRow<'_>, (other, back, others): OfRow<'_>, apart: i64) -> Option<bool> {
    let behind = [one.places.get(stage + 1).copied(), other.places.get(back + 1).copied()];
    let guessed = |row: &FrameRow, place: Option<Place>, (from, to): (usize, usize)| {
        row.queued.iter().any(|q| Some(q.place) == place && q.guessed && q.from < to && from < q.to)
    };
    if !guessed(one, behind[0], own) && !guessed(other, behind[1], others) {
        return None;
    }
    if one.thin.is_some() {
        // Of a part of the packets it is not known in which order they left.
        [(one, own), (other, others)].into_iter().for_each(|(row, span)| doubt_all(row, span));
        return None;
    }
    let (into, out_of) = (AtDevice::of(one, stage, own)?, AtDevice::of(other, back, others)?);
    let mut best = OneQueue::Untold;
    let shifts = shifts(&into, &out_of, one.places.len() == 2, apart);
    let exact = shifts.len() == 1;
    let tries = 1 + MAX_TRIED / (into.came.len() + out_of.came.len()).max(1);
    for shift in shifts.into_iter().take(tries) {
        let own = fit(&into, &out_of, shift);
        if worth(&own) < worth(&best) {
            best = own;
        }
        if matches!(best, OneQueue::Explains(..)) {
            break;
        }
    }
    // Where times at the device are not known, that none of those that were tried fits refutes nothing. A queue that is shared loses packets of
    // both directions.
    let refutes = exact || !is_lossy(&into) || !is_lossy(&out_of);
    match best {
        OneQueue::Explains([chosen, back_chosen], room) => {
            into.put(one, stage, own, &chosen);
            out_of.put(other, back, others, &back_chosen);
            known(one, behind[0], own, room);
            known(other, behind[1], others, room);
            Some(true)
        }
        OneQueue::Refuted if refutes => Some(false),
        OneQueue::Open | OneQueue::Refuted => {
            doubt(one, behind[0], own);
            doubt(other, behind[1], others);
            exact.then_some(true)
        }
        OneQueue::Untold => None,
    }
}

/// Notes that the other direction sends, too.
fn beside(row: &mut FrameRow, (from, to): (usize, usize)) {
    row.queued.iter_mut().filter(|own| own.from < to && from < own.to).for_each(|own| own.beside = true);
}

fn is_lossy(own: &AtDevice) -> bool {
    own.left.len() < own.came.len()
}

/// The order of verdicts: where times are shifted, the one that explains most counts.
const fn worth(verdict: &OneQueue) -> u8 {
    match verdict {
        OneQueue::Explains(..) => 0,
        OneQueue::Open => 1,
        OneQueue::Refuted => 2,
        OneQueue::Untold => 3,
    }
}

/// By how much times at the taps differ from those at the device: of what comes one way and leaves, and of what comes the other way and leaves.
type Shift = [i64; 4];

/// `ends`: with no tap between the ends. What may be, and by how much times may still be wrong: the device is at one of its taps, or at the other, and the clock of one of them is a
/// little wrong.
fn shifts(into: &AtDevice, out_of: &AtDevice, ends: bool, apart: i64) -> Vec<(Shift, i64)> {
    let mut left: Vec<i64> = into.left.iter().chain(&out_of.left).map(|own| own.t).collect();
    left.sort_unstable();
    let pace = median_gap(&left);
    let (there, back) = (into.least - pace, out_of.least - pace);
    let mut all = vec![([0; 4], 0)];
    // Taps are not at the device: how long the ways are is known to a part of the time that it takes for a packet. A way from a tap to the device
    // delays packets of both directions.
    if ends || there.min(back) * NEAR_OF > pace {
        for less in [0, -1, 1, -2, 2] {
            for more in [0, -1, 1, -2, 2] {
                let (x, y) = (there.max(0) + less * pace / STEPS_OF, back.max(0) + more * pace / STEPS_OF);
                all.extend([([0, -x, y, 0], pace / STEPS_OF), ([x, 0, 0, -y], pace / STEPS_OF)]);
            }
        }
    }
    if apart > 0 {
        let step = (pace / STEPS_OF).max(apart / MAX_STEPS).max(1);
        let wrong = (0..=apart / step).flat_map(|k| [k * step, -k * step]);
        all.extend(wrong.flat_map(|wrong| [([0, wrong, wrong, 0], step), ([wrong, 0, 0, wrong], step)]));
    }
    all
}

/// Packets that are looked at with other times, at most.
const MAX_TRIED: usize = 1 << 21;
/// A tap is at the device if packets pass it within this part of the time that the device takes for one.
const NEAR_OF: i64 = 32;
/// Parts of that time in which times are tried.
const STEPS_OF: i64 = 16;
/// Steps on either side in which times of different clocks are tried.
const MAX_STEPS: i64 = 32;

fn median_gap(times: &[i64]) -> i64 {
    let mut gaps: Vec<i64> = times.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(0)
}

fn fit(into: &AtDevice, out_of: &AtDevice, ([came, left, back, back_left], apart): (Shift, i64)) -> OneQueue {
    let of = |one: &mut dyn Iterator<Item = i64>, other: &mut dyn Iterator<Item = i64>| -> Vec<Passing> {
        let mut all: Vec<Passing> = one.map(|t| (t, false)).chain(other.map(|t| (t, true))).collect();
        all.sort_unstable();
        all
    };
    let came = of(&mut into.came.iter().map(|(t, _)| t + came), &mut out_of.came.iter().map(|(t, _)| t + back));
    let left = of(&mut into.left.iter().map(|own| own.t + left), &mut out_of.left.iter().map(|own| own.t + back_left));
    one_queue(&came, &left, apart)
}

/// What one queue of both directions explains is not in doubt.
fn known(row: &mut FrameRow, place: Option<Place>, (from, to): (usize, usize), room: usize) {
    row.unclear.retain(|own| own.from >= to || own.to <= from || own.more);
    row.queued.retain(|own| own.from >= to || own.to <= from);
    if let Some(place) = place {
        let room = QueueRoom { frames: room as f64, spread: 0.0, lost: true };
        row.queued.push(QueuedSpan {
            place,
            from,
            to,
            guessed: true,
            open: false,
            shared: true,
            beside: true,
            room: Some(room),
        });
    }
}

/// Puts in doubt what any tap shows of packets of which some were lost in a queue.
fn doubt_all(row: &mut FrameRow, (from, to): (usize, usize)) {
    let here = |own: &&mut QueuedSpan| own.from < to && from < own.to;
    let guessed = row.queued.iter_mut().filter(here).any(|own| own.guessed);
    row.queued.iter_mut().filter(here).for_each(|own| own.open |= guessed);
}

fn doubt(row: &mut FrameRow, place: Option<Place>, (from, to): (usize, usize)) {
    let own = row.queued.iter_mut().filter(|own| Some(own.place) == place && own.from < to && from < own.to);
    own.filter(|own| own.guessed).for_each(|own| own.open = true);
}

/// Puts in doubt what a queue lost that had another room in another load of the same length. Loads of one direction alone say nothing of a
/// queue that the other direction fills, too.
fn of_other_rooms(row: &mut FrameRow, apart: i64) {
    let size = |own: &QueuedSpan| row.size.get(own.from).copied();
    let rate = |own: &QueuedSpan| rate(row, own);
    // A load that lost few packets does not show by how much the room of the queue seems to vary.
    let varies = |place: Place| {
        let here = row.queued.iter().filter(|own| own.place == place).filter_map(|own| own.room);
        here.map(|room| room.spread).max_by(f64::total_cmp).unwrap_or(0.0)
    };
    let kind = |own: &QueuedSpan, beside: bool| (own.place as usize, size(own), beside);
    let undrained = undrained(row, apart);
    // Of each kind the least room of those that lost packets, the greatest of all, and the highest rate.
    let mut kinds: BTreeMap<RoomKind, (Option<QueueRoom>, QueueRoom, f64)> = BTreeMap::new();
    for own in row.queued.iter().filter(|own| undrained.is_none_or(|last| own.to <= last)) {
        let Some(room) = own.room else { continue };
        let known = kinds.entry(kind(own, own.beside)).or_insert((None, room, 0.0));
        let is_less = room.lost && known.0.is_none_or(|least| room.frames < least.frames);
        known.0 = if is_less { Some(room) } else { known.0 };
        known.1 = if room.frames > known.1.frames { room } else { known.1 };
        known.2 = known.2.max(rate(own));
    }
    let contradict = |place: Place, one: RoomKind, other: RoomKind| {
        let (Some((_, most, fps)), Some((Some(least), _, others))) = (kinds.get(&one), kinds.get(&other)) else {
            return false;
        };
        most.contradicts(least, varies(place) + fps.max(*others) * apart as f64 / 1e9)
    };
    let is_open = |own: &QueuedSpan| {
        let (own_kind, alone) = (kind(own, own.beside), kind(own, false));
        contradict(own.place, own_kind, own_kind)
            || own.beside && (contradict(own.place, own_kind, alone) || contradict(own.place, alone, own_kind))
    };
    let open: Vec<bool> = row.queued.iter().map(|own| own.guessed && is_open(own)).collect();
    row.queued.iter_mut().zip(open).for_each(|(own, open)| own.open |= open);
    row.undrained = undrained;
}

/// Packets of a span that came in a second.
pub(super) fn rate(row: &FrameRow, own: &QueuedSpan) -> f64 {
    let own = row.t.get(own.from..own.to).unwrap_or_default();
    own.len() as f64 * 1e9 / own.last().zip(own.first()).map_or(1, |(b, a)| (b - a).max(1)) as f64
}

/// Loads that fill one queue: the tap behind it, the length of their packets, and whether the other direction sends as well.
type RoomKind = (usize, Option<u16>, bool);
