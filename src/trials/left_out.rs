//! What is no trial, and what the report must say beside the trials.

use super::association::row::At;
use super::association::{Clocks, FrameRow, MISSING};
use super::finish::Found;
use super::limits::{APART_NS, FEWEST, MAX_LISTED};
use super::read::tap::ContentDigest;
use super::read::{Place, Taps};
use crate::model::report::Rfc3339;
use crate::model::trials::{Direction, Flow, Kind, Segment};

/// Flows that are listed of each direction.
const LISTED_FLOWS: usize = 16;

/// Stretches that are no trial, and why.
pub(super) fn segments(
    taps: &Taps,
    rows: &[FrameRow],
    left: &[Found],
    is_cut: impl Fn(&Found) -> bool,
) -> Vec<Segment> {
    let mut segments: Vec<Segment> = left
        .iter()
        .filter_map(|found| {
            let row = rows.get(found.way)?;
            let frames = row.count(found.stretch.from, found.stretch.to);
            let why = if is_cut(found) && found.stretch.kind != Kind::Stray {
                "The capture ends in the middle of a record during or right after it.".to_owned()
            } else {
                format!("{frames} frames: fewer than {FEWEST} are learning frames.")
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

/// More packets out than in: the direction, in, out. Only where both are in clear: a tunnel carries other packets, too, and packets may be
/// replayed in it.
pub(super) fn swapped(row: &FrameRow, seen: &[(Place, At)]) -> Option<(Direction, u64, u64)> {
    let (_, came) = seen.first().filter(|(_, at)| !at.tunnel)?;
    let (_, left) = seen.last().filter(|(_, at)| seen.len() > 1 && !at.tunnel)?;
    let sum = |at: &At| at.frames.iter().map(|frame| u64::from(frame.frames)).sum();
    let (mut came_in, mut out): (u64, u64) = (sum(came), sum(left));
    // A tap that shows each packet twice shows no more packets.
    if let (Some(once), Some(left)) = (distinct(came), distinct(left)) {
        (came_in, out) = (once, left);
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

/// Trials in which frames of the trial before were still inside when they began.
pub(super) fn carried_in(rows: &[FrameRow], found: &[Found]) -> Vec<u64> {
    let mut carried = Vec::new();
    for own in found {
        let before =
            found.iter().filter(|other| other.way == own.way && other.begin < own.begin).max_by_key(|f| f.begin);
        let (Some(before), Some(row)) = (before, rows.get(own.way)) else { continue };
        let out = row.out.get(before.stretch.from..before.stretch.to).unwrap_or_default();
        let last = out.iter().copied().filter(|d| *d != MISSING).max();
        if last.is_some_and(|last| last > own.begin) {
            carried.push(own.number);
        }
    }
    carried.dedup();
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
