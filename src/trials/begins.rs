//! Captures that begin within a load, and packets that were lost before a tap shows the first one.

use std::collections::BTreeSet;

use super::association::row::At;
use super::association::{Clocks, FrameRow, MISSING};
use super::figures::fit::rank;
use super::finish::Found;
use super::limits::FORWARD_NS;
use super::read::{Place, Taps};
use crate::model::trials::Basis;

/// How far before the first packet that came in frames of the load may have left, in nanoseconds.
const BEFORE_NS: i64 = 500_000_000;
/// Departures are further apart than arrivals by this share where a queue grows.
const SLOWER: f64 = 1.01;

/// Times at the last tap of all frames that may be the load's, in order.
pub(super) fn leaving(row: &FrameRow, seen: &[(Place, At)], clocks: &Clocks) -> Vec<i64> {
    let Some((place, at)) = seen.last().filter(|_| seen.len() > 1) else { return Vec::new() };
    let sizes: BTreeSet<u16> = row.size.iter().copied().collect();
    let made: BTreeSet<u16> = sizes.into_iter().filter_map(|size| row.lengths.outer_of(size)).collect();
    let hidden = at.tunnel && !at.visible && !row.lengths.open && !made.is_empty();
    let test = at.frames.iter().filter(|frame| frame.test && (!hidden || made.contains(&frame.size)));
    let mut times: Vec<i64> = test.map(|frame| clocks.map(*place, frame.t)).collect();
    times.sort_unstable();
    times
}

/// Packets that were inside when the captures began: frames of the load that left before any packet that came in can have.
pub(super) fn carried(row: &FrameRow, found: &Found) -> usize {
    let (from, to) = (found.stretch.from, found.stretch.to);
    // A tap that was recording long before the load would have shown what was inside as it came.
    let recording = row.recording.is_some_and(|first| first <= found.begin - 2 * BEFORE_NS);
    if from > 0 || recording || row.slack > 0 || row.thin.is_some() {
        return 0;
    }
    let out = row.out.get(from..to).unwrap_or_default();
    let until = if is_told(found) {
        out.iter().copied().filter(|d| *d != MISSING).min()
    } else {
        least(row, found).map(|least| found.begin + least - least / 20)
    };
    let Some(until) = until else { return 0 };
    let before = |t: i64| row.leaving.partition_point(|d| *d < t);
    before(until).saturating_sub(before(found.begin - BEFORE_NS))
}

/// The least time on the way of a load that a device cannot keep up with: what it takes for a packet, or what loads that follow show.
fn least(row: &FrameRow, found: &Found) -> Option<i64> {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let (size, last) = (row.size.get(from)?, row.last()?);
    let during = |t: &&i64| (found.begin..=found.end).contains(*t);
    let left: Vec<i64> = row.leaving.iter().filter(during).copied().collect();
    let (period, pace) = (rank(&gaps(row.t.get(from..to)?), 0.5)?, rank(&gaps(&left), 0.5)?);
    let late = (to..row.t.len()).filter(|i| row.size.get(*i) == Some(size)).filter_map(|i| {
        let (t, d) = (row.t.get(i)?, row.out.get(i)?);
        (*d != MISSING && row.unclear(last, (i, i + 1)).is_none()).then(|| d - t)
    });
    // One that is far longer is that of a clock that was set.
    let idle = late.min().filter(|idle| *idle < pace.saturating_add(FORWARD_NS));
    let quickest = rank(&gaps(&left), 0.02)?;
    (pace as f64 >= SLOWER * period as f64).then(|| idle.unwrap_or(quickest))
}

/// How far times are apart, in order.
fn gaps(times: &[i64]) -> Vec<i64> {
    let mut gaps: Vec<i64> = times.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
    gaps.sort_unstable();
    gaps
}

fn is_told(found: &Found) -> bool {
    matches!(found.basis, Basis::Content | Basis::Decrypted)
}

/// Why a trial is not used within which the captures begin: of equal packets, those that were inside cannot be told from its own.
pub(super) fn at_begin(row: &FrameRow, found: &Found) -> Option<String> {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let last = row.last().filter(|_| !is_told(found))?;
    let lost = row.out.get(from..to)?.contains(&MISSING) || row.unclear(last, (from, to)).is_some();
    (lost && carried(row, found) > 0).then(|| {
        "The captures begin within it: packets that were inside cannot be told from its own, nor from lost ones."
            .to_owned()
    })
}

/// How many packets that came in before a time never left: the tunnel's tap was recording and does not show them, or the first frame that
/// it shows bears the number 1.
pub(super) fn never_left(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found, until: i64) -> usize {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let passes = row.places.iter().skip(1).any(|place| *place == Place::Middle);
    if !passes || row.thin.is_some() || row.unclear(Place::Middle, (from, to)).is_some() {
        return 0;
    }
    let tap = taps.place(Place::Middle);
    let recording = tap.earliest.is_some_and(|first| clocks.map(Place::Middle, first) <= found.begin);
    let first = tap.tunnelled.records.first();
    let numbered = first.is_some_and(|own| {
        let t = clocks.map(Place::Middle, own.t);
        own.detail.sequence == 1 && (found.begin..=found.end).contains(&t)
    });
    let inside = row.middle.get(from..to).unwrap_or_default();
    let never = |i: &usize| inside.get(*i).is_none_or(|(t, _)| *t == MISSING);
    let early = row.t.get(from..to).map_or(0, |own| own.partition_point(|t| *t < until));
    if recording || numbered { (0..early).filter(never).count() } else { 0 }
}

/// What the report says of packets that the first tap missed, where gaps of equal packets show it.
pub(super) fn missed(row: &FrameRow) -> Option<String> {
    (row.missed > 0).then(|| {
        format!(
            "{} frames left when packets of the load should have that came in where the capture of the first tap has a gap ({}): it seems to \
             have missed them. The counts of sent packets and the offered rates are too low.",
            row.missed,
            row.direction.name()
        )
    })
}
