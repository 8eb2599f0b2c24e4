//! What is no trial, and what the report must say beside the trials.

use super::association::row::At;
use super::association::{Clocks, FrameRow, MISSING};
use super::finish::Found;
use super::limits::{FEWEST, MAX_LISTED};
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
            let frames = (found.stretch.to - found.stretch.from) as u64;
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
    let (came, out) = (came.frames.len() as u64, left.frames.len() as u64);
    (came >= FEWEST as u64 && out > came + came / 20 + 20).then_some((row.direction, came, out))
}

/// The busiest flows of the test load.
pub(super) fn flows(taps: &Taps, row: &FrameRow) -> Vec<Flow> {
    let mut counts = vec![0_u64; taps.flows.all.len()];
    for flow in &row.flow {
        if let Some(count) = counts.get_mut(usize::from(*flow)) {
            *count += 1;
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
    let refused: u64 = taps.tap.iter().map(|tap| tap.refused).sum();
    let mut why = Vec::new();
    if refused > 0 {
        why.push(format!("{refused} packets beyond the limit of records were dropped: trials after that are missing."));
    }
    if taps.flows.refused > 0 {
        why.push(format!("{} packets of flows beyond the limit share one flow.", taps.flows.refused));
    }
    if taps.connections.refused > 0 {
        why.push(format!(
            "{} segments of TCP connections beyond the limit were not counted.",
            taps.connections.refused
        ));
    }
    why
}
