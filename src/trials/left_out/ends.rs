//! Captures that begin or end within a trial, or end while what came in still comes out: frames that are in no capture are not lost.

use super::{Clocks, FrameRow, MISSING};
use crate::model::trials::Basis;
use crate::trials::begins::at_begin;
use crate::trials::finish::Found;
use crate::trials::limits::{STALL_FRAMES, STALL_NS};
use crate::trials::read::skipped::missing;
use crate::trials::read::{Place, Taps};

/// Why a trial is not used within which the captures begin or end.
pub(super) fn at_ends(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    at_end(taps, clocks, row, found)
        .or_else(|| before_drained(taps, clocks, row, found))
        .or_else(|| ended(taps, clocks, row, found))
        .or_else(|| duplicated(taps, clocks, row, found))
        .or_else(|| at_begin(row, found))
}

/// Why a trial is not used with which the capture of the first tap ends, while a later one shows that the load went on. What is beside the
/// load is in the tunnel as well, and goes on at a pace of its own.
fn ended(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    let first = row.first()?;
    let latest = clocks.map(first, taps.place(first).latest?);
    let (from, to) = (found.stretch.from, found.stretch.to);
    let during = |t: i64| (found.begin..found.following).contains(&t);
    let pause = STALL_NS.max((found.end - found.begin) / (to - from).max(1) as i64 * PERIODS);
    let mut before = found.begin;
    let went_on = |d: &&i64| {
        let pauses = **d > latest && **d - before > pause;
        before = **d;
        !pauses
    };
    let left = row.leaving.iter().filter(|d| during(**d)).take_while(went_on).count();
    let carried = row.out.iter().take(from).filter(|d| **d != MISSING && **d >= found.begin).count();
    let beside = row.beside.iter().filter(|own| during(own.t)).count();
    let sent = row.count(from, to) as usize + carried + beside;
    (row.thin.is_none() && latest < found.end + STALL_NS && left >= sent + STALL_FRAMES).then(|| {
        "More packets left than came in, and the first tap shows no frame after it: its capture ended while the load went on, or packets were \
         duplicated."
            .to_owned()
    })
}

/// Why a trial is not used of which more packets came out than were in the tunnel, where no number is missing: the tap between missed none.
/// Contents tell them apart.
fn duplicated(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    let (from, to) = (found.stretch.from, found.stretch.to);
    let told = matches!(found.basis, Basis::Content | Basis::Decrypted);
    let numbered = taps.is_tunnel(Place::Middle) && taps.place(Place::Middle).sas.iter().all(|sa| sa.key.is_some());
    if told || !numbered || row.places.get(1) != Some(&Place::Middle) || row.places.len() < 3 || row.thin.is_some() {
        return None;
    }
    let seen = |times: &mut dyn Iterator<Item = i64>| times.filter(|t| *t != MISSING).count();
    let inside = seen(&mut row.middle.get(from..to)?.iter().map(|(t, _)| *t));
    let out = seen(&mut row.out.get(from..to)?.iter().copied());
    let uncovered = || {
        stopped_first(taps, clocks, Place::Middle, row, found)
            || super::uncovered(taps, clocks, Place::Middle, row, found).is_some()
    };
    let is_known = row.unclear(Place::Middle, (from, to)).is_none_or(|own| own.queued);
    let missing = missing(&row.skips, found.begin, found.following);
    let more = out > inside + FEW + inside / MORE_OF && inside > 0 && missing == 0 && is_known;
    (more && !uncovered()).then(|| {
        "More packets left than were in the tunnel, where no sequence number is missing: packets were duplicated behind its tap."
            .to_owned()
    })
}

/// Of so many packets one more may be of the load before or behind.
const MORE_OF: usize = 200;

/// A load does not fall silent for so many of its periods.
const PERIODS: i64 = 8;

/// So many packets in a row are hardly lost one by one.
const MANY: usize = 8;

/// Why a trial is not used at whose end the captures end: packets that had not come out by then may have been inside.
fn at_end(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    let last = row.last()?;
    let (from, to) = (found.stretch.from, found.stretch.to);
    let (t, out) = (row.t.get(from..to)?, row.out.get(from..to)?);
    let late = || t.iter().zip(out).filter(|(_, d)| **d != MISSING).map(|(t, d)| d - t);
    let most = late().max()?;
    // In a load that begins with a full queue no packet is as fast as in others.
    let size = row.size.get(from)?;
    let others = row.t.iter().zip(&row.out).zip(&row.size).filter(|((t, d), own)| *own == size && d >= t);
    let least = others.map(|((t, d), _)| d - t).min().into_iter().chain(late().min()).min()?;
    let end = clocks.map(last, taps.place(last).latest?);
    let lost = out.iter().filter(|d| **d == MISSING).count();
    // Which packets a queue let through may be open: that some were inside at the end is not.
    let is_open = row.unclear(last, (from, to)).is_some_and(|own| !own.queued);
    if lost == 0 || end >= found.end.saturating_add(least) || is_open {
        return None;
    }
    let LastOnes { missing, in_time } = LastOnes::of(t, out, end);
    // Packets that came in too late to have come out.
    let too_late = t.len() - t.partition_point(|t| t.saturating_add(least) <= end);
    let told = matches!(found.basis, Basis::Content | Basis::Decrypted);
    let inside = if told { in_time && (missing == lost || missing >= MANY) } else { lost <= too_late + 1 };
    if inside {
        let why = "The captures end when it does: packets that had not come out by then may have been inside.";
        return Some(why.to_owned());
    }
    // Where all are as late, none waited. How many of those that are missing still waited is open, and with it every count.
    let period = (found.end - found.begin) / (t.len() as i64).max(1);
    (!told && most - least > period / 2).then(|| UNDRAINED.to_owned())
}

/// Why a trial is not used whose packets may still have been in the queue.
const UNDRAINED: &str = "The captures end before the queue drained: packets inside cannot be told from lost ones.";

/// The packets that came in after the last one that came out.
struct LastOnes {
    missing: usize,
    /// Whether they would have come out after the end of the capture if they were as late as that one.
    in_time: bool,
}

impl LastOnes {
    fn of(t: &[i64], out: &[i64], end: i64) -> Self {
        let missing = out.iter().rev().take_while(|d| **d == MISSING).count();
        let waiting = t.len().saturating_sub(missing);
        let late = waiting.checked_sub(1).and_then(|at| Some(out.get(at)? - t.get(at)?));
        let in_time = t.get(waiting).zip(late).is_some_and(|(first, late)| end - first <= late + late / 2);
        Self { missing, in_time }
    }
}

/// Why a trial is not used behind which the captures end while a queue still drains. A run whose last frame is the last that the device sent
/// looks like it, so that only what shows packets inside counts.
fn before_drained(taps: &Taps, clocks: &Clocks, row: &FrameRow, found: &Found) -> Option<String> {
    let last = row.last().filter(|_| row.thin.is_none())?;
    let (from, to) = (found.stretch.from, found.stretch.to);
    let (t, out) = (row.t.get(from..to)?, row.out.get(from..to)?);
    let end = clocks.map(last, taps.place(last).latest?);
    let told = matches!(found.basis, Basis::Content | Basis::Decrypted);
    let missing = out.contains(&MISSING);
    let is_inside = missing
        && (told && last_ones_missing(t, out, end)
            || still_in_tunnel(row, found, end)
            || row.undrained.is_some_and(|own| own >= from && own < to));
    is_inside.then(|| UNDRAINED.to_owned())
}

/// Whether none of the last packets came out, more than were ever lost in a row, and all of them would have come out behind the end of the
/// capture if they waited as long as those before.
fn last_ones_missing(t: &[i64], out: &[i64], end: i64) -> bool {
    let LastOnes { missing, in_time } = LastOnes::of(t, out, end);
    let before = out.get(..out.len() - missing).unwrap_or_default();
    let longest = before.split(|d| *d != MISSING).map(<[i64]>::len).max().unwrap_or(0);
    in_time && missing > 2 * longest.max(1)
}

/// Whether the tap between shows packets of a trial behind the end of the last tap's capture: more than the link behind it ever loses.
fn still_in_tunnel(row: &FrameRow, found: &Found, end: i64) -> bool {
    let (from, to) = (found.stretch.from, found.stretch.to);
    if row.unclear(Place::Middle, (from, to)).is_some_and(|own| !own.queued) {
        return false;
    }
    let inside = row.middle.get(from..to).unwrap_or_default();
    let (mut early, mut late) = (0_usize, 0_usize);
    for (t, _) in inside.iter().filter(|(t, _)| *t != MISSING) {
        *(if *t > end { &mut late } else { &mut early }) += 1;
    }
    let out = row.out.get(from..to).unwrap_or_default().iter().filter(|d| **d != MISSING).count();
    let lost = early.saturating_sub(out) as f64 / early.max(1) as f64;
    late as f64 > 2.0 + MANY_LOST * lost
}

/// Of so many packets in a row, by the share of those that are lost, hardly all are lost one by one.
const MANY_LOST: f64 = 20.0;

/// Whether the capture of a tap between ended while packets of a trial still came out: it shows fewer than came out, and as many came out behind
/// its end.
pub(in crate::trials) fn stopped_first(
    taps: &Taps,
    clocks: &Clocks,
    place: Place,
    row: &FrameRow,
    found: &Found,
) -> bool {
    let Some(latest) = taps.place(place).latest.filter(|_| row.thin.is_none()) else { return false };
    let (from, to) = (found.stretch.from, found.stretch.to);
    let out = row.out.get(from..to).unwrap_or_default();
    let inside = row.middle.get(from..to).unwrap_or_default();
    let way = inside.iter().zip(out).filter(|((t, _), d)| *t != MISSING && **d >= *t).map(|((t, _), d)| d - t);
    let until = clocks.map(place, latest) + way.min().unwrap_or(0);
    let seen = inside.iter().filter(|(t, _)| *t != MISSING).count();
    let came_out = || out.iter().filter(|d| **d != MISSING);
    let late = came_out().filter(|d| **d > until).count();
    late >= FEW && late * 2 > came_out().count().saturating_sub(seen) && seen < came_out().count()
}

/// Fewer frames behind the end of a capture may be late ones.
const FEW: usize = 3;
