//! What is no trial, and what the report must say beside the trials.

mod ends;

use std::collections::HashSet;

use ends::at_ends;
pub(super) use ends::stopped_first;

use super::association::row::{At, Sighted};
use super::association::{Clocks, FrameRow, MISSING};
use super::begins::never_left;
use super::changed::changed;
use super::finish::Found;
use super::limits::{APART_NS, FEWEST, MAX_LISTED, STALL_FRAMES, STALL_NS};
use super::read::tap::ContentDigest;
use super::read::{Place, Taps};
use crate::analysis::finish::findings::plural;
use crate::model::report::Rfc3339;
use crate::model::trials::{Direction, Flow, Kind, Segment};

/// Flows that are listed of each direction.
const LISTED_FLOWS: usize = 16;

/// Stretches that are no trial, and why.
pub(super) fn segments(
    taps: &Taps,
    rows: &[FrameRow],
    left: &[Found],
    is_cut: impl Fn(&Found) -> Option<String>,
) -> Vec<Segment> {
    let mut segments: Vec<Segment> = left
        .iter()
        .filter_map(|found| {
            let row = rows.get(found.way)?;
            let frames = row.count(found.stretch.from, found.stretch.to);
            let why = match found.stretch.kind {
                Kind::Stray => format!("{}: fewer than {FEWEST} are learning frames.", plural(frames, "frame")),
                Kind::Ramp => ramp(row, found),
                Kind::Trial | Kind::Burst => is_cut(found)?,
            };
            let start = row.first().map_or(found.begin, |first| taps.place(first).raw(found.begin));
            Some(Segment {
                direction: row.direction,
                kind: found.stretch.kind,
                start: Rfc3339(start),
                start_ns: start,
                seconds: (found.end - found.begin) as f64 / 1e9,
                frames,
                why,
            })
        })
        .collect();
    segments.sort_by_key(|segment| segment.start_ns);
    segments.truncate(MAX_LISTED);
    segments
}

/// From when on trials are not used: a capture that was cut ends before its last trial does.
pub(super) fn cut_at(taps: &Taps, clocks: &Clocks, cut: [bool; 3], gap: i64) -> Option<i64> {
    let all = [Place::Near, Place::Middle, Place::Far];
    let ends = all.into_iter().zip(cut).filter(|(_, cut)| *cut).filter_map(|(place, _)| {
        let latest = taps.place(place).latest?;
        Some(clocks.map(place, latest).saturating_sub(gap))
    });
    ends.min()
}

/// Why a trial is not used: captures that do not reach over it, or packets that are others where they come out.
pub(super) fn unused(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    uncovered(taps, clocks, row.last()?, row, found)
        .or_else(|| at_ends(taps, clocks, row, found))
        .or_else(|| changed(taps, clocks, row, found))
}

/// Why a trial is not used where the capture at a tap, the last one, does not reach over it: frames that are not in a capture are not lost.
pub(super) fn uncovered(taps: &Taps, clocks: &Clocks, place: Place, row: &FrameRow, found: &Found) -> Option<String> {
    let tap = taps.place(place);
    let (Some(earliest), Some(latest)) = (tap.earliest, tap.latest) else {
        return unseen(taps, clocks, place, row, found);
    };
    let (first, last) = (clocks.map(place, earliest), clocks.map(place, latest));
    let t = row.t.get(found.stretch.from..found.stretch.to)?;
    let frames = |from: usize, to: usize| row.count(found.stretch.from + from, found.stretch.from + to);
    // Of a device that lets nothing through its silence is seen.
    let out = row.out.get(found.stretch.from..found.stretch.to).unwrap_or_default();
    let some = out.iter().any(|d| *d != MISSING);
    let between = watched(taps, clocks, row, found);
    if !some && let Some(why) = elsewhere((first, last), (place, between), row, found) {
        return Some(why);
    }
    let before = t.partition_point(|t| *t < first.saturating_sub(STALL_NS));
    let never = never_left(taps, clocks, row, found, first);
    if some && frames(0, before) >= (STALL_FRAMES + never) as u64 {
        let seconds = (first - found.begin) as f64 / 1e9;
        return Some(format!(
            "The last tap shows no frame at all in the first {seconds:.3} s of it: its capture may have begun later."
        ));
    }
    // Also of fewer packets, where nothing else was lost: before its first frame the tap may not have been recording.
    if some && row.last() == Some(place) && row.thin.is_none() {
        let lost = out.iter().filter(|d| **d == MISSING).count();
        let unseen = t.iter().zip(out).filter(|(t, d)| **d == MISSING && **t < first).count();
        if lost > 0 && lost == unseen && unseen > never {
            let seconds = (first - found.begin) as f64 / 1e9;
            return Some(format!(
                "The last tap shows no frame at all in the first {seconds:.3} s of it, and no later packet is missing: its capture may have begun later."
            ));
        }
    }
    let behind = t.partition_point(|t| *t <= last.saturating_add(STALL_NS));
    let seconds = (found.end - last.max(found.begin)) as f64 / 1e9;
    (some && frames(behind, t.len()) >= STALL_FRAMES as u64).then(|| {
        format!(
            "The last tap shows no frame at all in the last {seconds:.3} s of it, nor later: its capture may have ended."
        )
    })
}

/// Whether a tap between was recording: it shows frames during the trial, or before and after it.
fn watched(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> bool {
    let recording = |own: &Place| {
        let ends = taps.place(*own).earliest.zip(taps.place(*own).latest);
        ends.is_some_and(|(from, to)| clocks.map(*own, from) <= found.end && clocks.map(*own, to) >= found.begin)
    };
    row.places.get(1).filter(|own| row.places.len() == 3 && recording(own)).is_some()
}

/// Nothing at all was read of the last tap: no capture of it could be read, or it has no frame. That is no silence which was seen, but
/// where a tap between shows that nothing got so far.
fn unseen(taps: &Taps, clocks: &Clocks, place: Place, row: &FrameRow, found: &Found) -> Option<String> {
    let passed = row.middle.get(found.stretch.from..found.stretch.to).unwrap_or_default();
    let stopped = watched(taps, clocks, row, found) && passed.iter().all(|(t, _)| *t == MISSING);
    (row.last() == Some(place) && !stopped)
        .then(|| "Nothing was read of the last tap, so that what came out is not known.".to_owned())
}

/// Nothing of a trial came out, and the capture at the last tap, which shows other frames, shows none from before it on, or none until
/// after it. Where a tap `between`, which was recording, shows that nothing got so far, the device let nothing through.
fn elsewhere(
    (first, last): (i64, i64),
    (place, between): (Place, bool),
    row: &FrameRow,
    found: &Found,
) -> Option<String> {
    let passed = row.middle.get(found.stretch.from..found.stretch.to).unwrap_or_default();
    let stopped = between && passed.iter().all(|(t, _)| *t == MISSING);
    if row.last() != Some(place) || stopped {
        return None;
    }
    if last < found.begin {
        let seconds = (found.begin - last) as f64 / 1e9;
        return Some(format!(
            "The last tap shows no frame at all since {seconds:.3} s before the load: its capture may have ended."
        ));
    }
    (first > found.end).then(|| {
        let seconds = (first - found.end) as f64 / 1e9;
        format!(
            "The last tap shows no frame at all until {seconds:.3} s after the load: its capture may have begun later."
        )
    })
}

/// What makes a stretch a ramp.
fn ramp(row: &FrameRow, found: &Found) -> String {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let third = (to - from) / 3;
    let rate = |from: usize, to: usize| {
        let time = |i: usize| row.t.get(i).copied().unwrap_or(0);
        let seconds = (time(to - 1) - time(from)) as f64 / 1e9;
        row.count(from, to).saturating_sub(1) as f64 / seconds.max(1e-9)
    };
    format!(
        "Rate not steady: {} packets/s in the first third, {} packets/s in the last third. A trial needs a steady load.",
        grouped(rate(from, from + third.max(2))),
        grouped(rate(to - third.max(2), to))
    )
}

/// A rate with one decimal and commas between thousands.
fn grouped(rate: f64) -> String {
    let text = format!("{rate:.1}");
    let whole = text.len().saturating_sub(2);
    let mut out = String::with_capacity(text.len() + whole / 3);
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// More packets out than in: the direction, in, out. Only where both are in clear: a tunnel carries other packets, too, and packets may be
/// replayed in it.
pub(super) fn swapped(row: &FrameRow, seen: &[(Place, At)], clocks: &Clocks) -> Option<(Direction, u64, u64)> {
    let (_, came) = seen.first().filter(|(_, at)| !at.tunnel)?;
    let (place, left) = seen.last().filter(|(_, at)| seen.len() > 1 && !at.tunnel)?;
    let sum = |at: &At| at.frames.iter().map(|frame| u64::from(frame.frames)).sum();
    let (mut came_in, mut out): (u64, u64) = (sum(came), sum(left));
    // A capture that begins later or ends earlier shows fewer.
    if let (Some(first), Some(last)) = (row.t.first(), row.t.last()) {
        let within = |frame: &&Sighted| (*first..=*last).contains(&clocks.map(*place, frame.t));
        out = left.frames.iter().filter(within).map(|frame| u64::from(frame.frames)).sum();
    }
    // A tap that shows each packet twice shows no more packets.
    if let (Some(once), Some(left)) = (distinct(came), distinct(left)) {
        (came_in, out) = (once, out.min(left));
    }
    let came = came_in;
    (came >= FEWEST as u64 && out > came + came / 20 + 20).then_some((row.direction, came, out))
}

/// Packets of different content, where content tells almost all of them apart that are not there twice.
fn distinct(at: &At) -> Option<u64> {
    let mut keys: Vec<ContentDigest> =
        at.frames.iter().map(|frame| frame.key).filter(|key| *key != ContentDigest::NONE).collect();
    keys.sort_unstable();
    keys.dedup();
    (keys.len() * 100 >= at.frames.len() * 49 && at.frames.iter().all(|frame| frame.frames == 1))
        .then_some(keys.len() as u64)
}

/// What the report says of packets that the last tap shows, during the loads, and the first one does not, where contents tell packets apart.
pub(super) fn never_came(row: &FrameRow, seen: &[(Place, At)], clocks: &Clocks) -> Option<String> {
    let (_, came) = seen.first().filter(|(_, at)| !at.tunnel)?;
    let (place, left) = seen.last().filter(|(_, at)| seen.len() > 1 && at.visible)?;
    let (begin, end) = (row.t.first()?, row.t.last()?);
    let known: HashSet<ContentDigest> = row.key.iter().copied().collect();
    if row.thin.is_some() || distinct(came)? * 100 < 99 * came.frames.len() as u64 {
        return None;
    }
    let own = left.frames.iter().filter(|frame| frame.test && frame.key != ContentDigest::NONE);
    let during = own.filter(|frame| (*begin..=*end).contains(&clocks.map(*place, frame.t)));
    let (mut met, mut unknown) = (0_usize, 0_usize);
    for frame in during {
        *(if known.contains(&frame.key) { &mut met } else { &mut unknown }) += 1;
    }
    // Where a device changes packets, contents tell nothing.
    (unknown >= STALL_FRAMES && met > unknown).then(|| {
        format!(
            "{unknown} packets of the load left at the last tap ({}) and are not in the capture of the first tap, which seems to have missed \
             them: the counts of sent packets and the offered rates are too low.",
            row.direction.name()
        )
    })
}

/// The busiest flows of the test load.
pub(super) fn flows(taps: &Taps, row: &FrameRow) -> Vec<Flow> {
    let mut counts = vec![0_u64; taps.flows.all.len()];
    let frames = |i: usize| match &row.thin {
        Some(thin) => thin.share.get(i).map_or(0, |share| u64::from(share.frames)),
        None => 1,
    };
    for (i, flow) in row.flow.iter().enumerate() {
        if let Some(count) = counts.get_mut(usize::from(*flow)) {
            *count += frames(i);
        }
    }
    let mut flows: Vec<(u64, usize)> =
        counts.into_iter().enumerate().filter(|(_, n)| *n > 0).map(|(i, n)| (n, i)).collect();
    flows.sort_by_key(|(n, i)| (std::cmp::Reverse(*n), *i));
    flows.truncate(LISTED_FLOWS);
    let of = |(packets, at): (u64, usize)| {
        let key = taps.flows.all.get(at)?.key;
        let (src, dst) = (key.src.to_string(), key.dst.to_string());
        Some(Flow { direction: row.direction, src, dst, protocol: key.protocol, packets })
    };
    flows.into_iter().filter_map(of).collect()
}

/// Trials, with their direction, in which frames of the trial before were still inside when they began.
pub(super) fn carried_in(rows: &[FrameRow], found: &[Found]) -> Vec<(u64, Direction)> {
    let mut carried = Vec::new();
    for own in found {
        let before =
            found.iter().filter(|other| other.way == own.way && other.begin < own.begin).max_by_key(|f| f.begin);
        let (Some(before), Some(row)) = (before, rows.get(own.way)) else { continue };
        let out = row.out.get(before.stretch.from..before.stretch.to).unwrap_or_default();
        let last = out.iter().copied().filter(|d| *d != MISSING).max();
        if last.is_some_and(|last| last > own.begin) {
            carried.push((own.number, row.direction));
        }
    }
    carried
}

/// Limits that were hit.
pub(super) fn degraded(taps: &Taps) -> Vec<String> {
    let mut why = Vec::new();
    if taps.is_thinned() {
        why.push(
            "Of more packets than are kept, a part was: counts are of all packets, latencies of those that were kept; least and greatest \
             ones may be beyond them."
                .to_owned(),
        );
    }
    if taps.apart() > APART_NS {
        let ms = taps.apart() / 1_000_000;
        why.push(format!(
            "Pauses of less than {} ms may be missed: too many slow flows for the packets that are kept.",
            2 * ms
        ));
    }
    if taps.flows.refused > 0 {
        why.push(format!(
            "{} packets of flows beyond the limit count as one flow of their addresses.",
            taps.flows.refused
        ));
    }
    if taps.connections.refused > 0 {
        why.push(format!(
            "{} segments of TCP connections beyond the limit were not counted.",
            taps.connections.refused
        ));
    }
    why
}
