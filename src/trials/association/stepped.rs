//! Clocks that were set forward: all latencies from one packet on are longer or shorter by the silence that one tap alone shows.
//!
//! A device that pauses shows the same silence at its output, but its queue drains afterwards. A queue that drains during a pause of the
//! tester shows the same fall of latency, but not below the latency of an idle device. A clock that is set between two loads shifts the whole
//! of the second one at one tap; that it was a clock is certain where packets then leave before they came. Where loads would be taken for
//! each other it is undone as well, but a longer path looks the same: no latency from there on is known.

use super::clocks::Clocks;
use super::pair::{Span, is_exact};
use super::row::{At, FrameRow};
use crate::trials::limits::{FEWEST, FORWARD_NS, SETTLED, TAPS_APART};
use crate::trials::read::Place;
use crate::trials::segments::silences;

/// A clock was set forward at a tap: after this time of it, by so much; by nothing where that is not certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forward {
    pub(crate) place: Place,
    pub(crate) after: i64,
    pub(crate) by: i64,
    /// Whether a path that became longer explains it as well.
    pub(crate) doubtful: bool,
}

/// A packet at both taps: time there by the clock of the first tap, and the time that each tap states.
#[derive(Clone, Copy, Debug)]
struct Met {
    t: i64,
    d: i64,
    raw_in: i64,
    raw_out: i64,
}

impl Met {
    const fn late(&self) -> i64 {
        self.d - self.t
    }
}

/// The first such step that a direction shows. `raw_in`: times at the first tap as it states them.
pub(crate) fn forward(
    row: &FrameRow,
    raw_in: &[i64],
    (place, at): (Place, &At),
    clocks: &Clocks,
    spans: &[Span],
    rules: ShiftRules,
    silent: &dyn Fn(i64, i64) -> bool,
) -> Option<Forward> {
    let first = row.first()?;
    if let Some(found) = between_loads(row, raw_in, (place, at), clocks, rules) {
        return Some(found);
    }
    let all = if is_exact(row, at) {
        vec![by_content(row, raw_in, (place, at), clocks)]
    } else if row.thin.is_some() {
        // Records of one number may be of different packets.
        Vec::new()
    } else {
        spans.iter().filter_map(|span| by_order(row, raw_in, (place, at), clocks, span)).collect()
    };
    let mut open = None;
    for met in &all {
        let Some(LateStep { k, by, waited }) = step(met, rules.one_clock, silent) else { continue };
        let Some(before) = met.get(k) else { continue };
        let found = match (waited, by > 0) {
            // A pause of the device looks the same: times stay, and no latency is known.
            (true, _) => Forward { place, after: before.raw_out, by: 0, doubtful: false },
            (false, true) => Forward { place, after: before.raw_out, by, doubtful: false },
            (false, false) => Forward { place: first, after: before.raw_in, by: -by, doubtful: false },
        };
        if found.by != 0 {
            return Some(found);
        }
        open = open.or(Some(found));
    }
    open
}

/// A step of latencies: the packet before it, by how much they changed, and whether packets waited before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LateStep {
    k: usize,
    by: i64,
    waited: bool,
}

/// Whether a tap is silent from one time to another, and not before and after.
pub(crate) fn is_silent(place: Place, at: &At, clocks: &Clocks, (from, to): (i64, i64)) -> bool {
    let behind = |t: i64| at.frames.partition_point(|frame| clocks.map(place, frame.t) < t);
    let edge = (to - from) / 5;
    let (begin, end) = (behind(from.saturating_add(edge)), behind(to.saturating_sub(edge)));
    begin == end && begin > 0 && end < at.frames.len()
}

/// When a shift between two loads is that of a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShiftRules {
    /// A longer silence ends a load.
    pub(crate) gap: i64,
    /// Whether one clock stamps all taps, so that no packet leaves before it came.
    pub(crate) one_clock: bool,
}

/// Frames between two silences: number, and times of the first and the last one.
#[derive(Clone, Copy, Debug)]
struct Bunch {
    frames: usize,
    first: i64,
    last: i64,
}

impl Bunch {
    const fn is_load(&self) -> bool {
        self.frames >= FEWEST
    }
}

fn bunches(times: &[i64], gap: i64) -> Vec<Bunch> {
    let of = |(from, to): (usize, usize)| {
        Some(Bunch { frames: to - from, first: *times.get(from)?, last: *times.get(to.checked_sub(1)?)? })
    };
    silences(times, gap).into_iter().filter_map(of).collect()
}

/// A clock that was set in the silence between two loads: as many loads came out as came in, and one is shifted as a whole.
fn between_loads(
    row: &FrameRow,
    raw_in: &[i64],
    (place, at): (Place, &At),
    clocks: &Clocks,
    rules: ShiftRules,
) -> Option<Forward> {
    if !row.t.is_sorted() || row.thin.is_some() {
        return None;
    }
    let raw_out: Vec<i64> = at.frames.iter().filter(|frame| frame.test).map(|frame| frame.t).collect();
    let (came, left) = (bunches(&row.t, rules.gap), bunches(&raw_out, rules.gap));
    // Few frames in the place of a load are others.
    let fits = |(came, left): (&Bunch, &Bunch)| {
        left.frames <= came.frames + came.frames / 50 + 2 && left.frames * FEW_OF >= came.frames
    };
    if came.len() != left.len() || !came.iter().zip(&left).all(fits) {
        return None;
    }
    let shift = |k: usize, time: fn(&Bunch) -> i64| {
        let late = |k: usize| Some(clocks.map(place, time(left.get(k)?)) - time(came.get(k)?));
        Some((late(k + 1)? - late(k)?, late(k + 1)?))
    };
    (0..came.len().saturating_sub(1)).find_map(|k| {
        let ((by, late), (end, _)) = (shift(k, |own| own.first)?, shift(k, |own| own.last)?);
        // A packet of its own may wait behind a load of the other direction.
        let loads = [&came, &left].iter().all(|own| [k, k + 1].iter().all(|k| own.get(*k).is_some_and(Bunch::is_load)));
        let whole =
            loads && by.abs() >= FORWARD_NS && end.signum() == by.signum() && end.abs() >= by.abs() - by.abs() / 5;
        let impossible = rules.one_clock && late < -TAPS_APART;
        if !whole || !(impossible || by.abs() > rules.gap) {
            return None;
        }
        let doubtful = !impossible;
        // Somewhere in the silence: what passed then is of neither load.
        let middle = |last: i64, next: i64| last.midpoint(next.saturating_sub(by.abs()).max(last));
        Some(if by > 0 {
            Forward { place, after: middle(left.get(k)?.last, left.get(k + 1)?.first), by, doubtful }
        } else {
            let raw = |t: i64| row.t.binary_search(&t).ok().and_then(|i| raw_in.get(i)).copied();
            Forward {
                place: row.first()?,
                after: middle(raw(came.get(k)?.last)?, raw(came.get(k + 1)?.first)?),
                by: -by,
                doubtful,
            }
        })
    })
}

/// Of a load that is met, one of so many frames comes out.
const FEW_OF: usize = 20;

/// Pairs of packets with the same content; times are not compared.
fn by_content(row: &FrameRow, raw_in: &[i64], (place, at): (Place, &At), clocks: &Clocks) -> Vec<Met> {
    let mut known: Vec<_> = row.key.iter().copied().zip(0_usize..).collect();
    known.sort_unstable();
    let mut met: Vec<Met> = at
        .frames
        .iter()
        .filter_map(|frame| {
            let from = known.partition_point(|(key, _)| *key < frame.key);
            let (key, i) = known.get(from)?;
            let alone = known.get(from + 1).is_none_or(|(next, _)| next != key);
            if *key != frame.key || !alone {
                return None;
            }
            let (t, raw_in) = (*row.t.get(*i)?, *raw_in.get(*i)?);
            Some(Met { t, d: clocks.map(place, frame.t), raw_in, raw_out: frame.t })
        })
        .collect();
    met.sort_by_key(|met| met.t);
    met
}

/// Packets of a trial that lost none, in order.
fn by_order(
    row: &FrameRow,
    raw_in: &[i64],
    (place, at): (Place, &At),
    clocks: &Clocks,
    span: &Span,
) -> Option<Vec<Met>> {
    let time = |frame: &super::row::Sighted| clocks.map(place, frame.t);
    let from = at.frames.partition_point(|frame| time(frame) < span.begin.saturating_sub(FORWARD_NS));
    let to = at.frames.partition_point(|frame| time(frame) < span.following.saturating_sub(FORWARD_NS)).max(from);
    let out = at.frames.get(from..to)?;
    if out.len() != span.to - span.from {
        return None;
    }
    let of = |(i, frame): (usize, &super::row::Sighted)| {
        Some(Met { t: *row.t.get(i)?, d: time(frame), raw_in: *raw_in.get(i)?, raw_out: frame.t })
    };
    (span.from..span.to).zip(out).map(of).collect()
}

/// The first step of latencies that a clock explains; one before which packets waited only where there is no other. `silent`: whether another
/// tap behind the device is silent as well.
fn step(met: &[Met], one_clock: bool, silent: &dyn Fn(i64, i64) -> bool) -> Option<LateStep> {
    let mut open = None;
    let n = met.len();
    // Least latency of all packets from each on.
    let mut least_after = vec![i64::MAX; n + 1];
    for (i, own) in met.iter().enumerate().rev() {
        let least = own.late().min(least_after.get(i + 1).copied().unwrap_or(i64::MAX));
        if let Some(slot) = least_after.get_mut(i) {
            *slot = least;
        }
    }
    let mut least_before = i64::MAX;
    for (k, pair) in met.windows(2).enumerate() {
        let [a, b] = pair else { continue };
        least_before = least_before.min(a.late());
        let by = b.late() - a.late();
        if by.abs() < FORWARD_NS || k + 1 < SETTLED || n - (k + 1) < SETTLED {
            continue;
        }
        let after = least_after.get(k + 1).copied().unwrap_or(i64::MAX);
        // A slow device makes every packet later by the time that it takes for one.
        if by.abs() < PERIODS * usual(met, k) {
            continue;
        }
        let found = if by > 0 {
            let silent = b.d - a.d >= by - by / 10 && b.t - a.t <= by / 4;
            silent && after - least_before >= by - by / 5 && !drains(met, k + 1)
        } else {
            let silent = b.t - a.t >= -by + by / 10 && b.d - a.d <= -by / 4;
            let next = met.get(k + 1..k + 1 + SETTLED).unwrap_or_default();
            silent && after < least_before + by - by / 5 && next.iter().all(|own| own.late() < least_before)
        };
        if !found || by > 0 && silent(a.d, b.d) {
            continue;
        }
        // A device that had packets to send and sent none paused: one clock for all taps says no more.
        let waited = by > 0 && a.late() - least_before >= 2 * usual(met, k);
        if !waited {
            return Some(LateStep { k, by, waited });
        }
        open = open.or((!one_clock).then_some(LateStep { k, by, waited }));
    }
    open
}

/// Least length of a clock step, in usual gaps between packets.
const PERIODS: i64 = 5;

/// The usual gap between packets around one, at the tap where it is longer.
fn usual(met: &[Met], k: usize) -> i64 {
    let around = met.get((k + 1).saturating_sub(SETTLED)..(k + 1 + SETTLED).min(met.len())).unwrap_or_default();
    let median = |time: fn(&Met) -> i64| {
        let mut gaps: Vec<i64> =
            around.windows(2).filter_map(|two| Some((time(two.last()?) - time(two.first()?)).abs())).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or(0)
    };
    median(|own| own.t).max(median(|own| own.d))
}

/// Whether packets leave faster than they came after a silence of the output.
fn drains(met: &[Met], from: usize) -> bool {
    let (Some(first), Some(last)) = (met.get(from), met.get(from + SETTLED - 1)) else { return false };
    let (came, left) = (last.t - first.t, last.d - first.d);
    left * 20 < came * 19
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met_us(lates: impl IntoIterator<Item = (i64, i64)>) -> Vec<Met> {
        let of = |(t, late): (i64, i64)| Met { t: t * 1_000, d: (t + late) * 1_000, raw_in: 0, raw_out: 0 };
        lates.into_iter().map(of).collect()
    }

    fn met(lates: impl IntoIterator<Item = (i64, i64)>) -> Vec<Met> {
        let ms = 1_000_000;
        lates.into_iter().map(|(t, late)| Met { t: t * ms, d: (t + late) * ms, raw_in: 0, raw_out: 0 }).collect()
    }

    fn step(met: &[Met]) -> Option<(usize, i64)> {
        super::step(met, true, &|_, _| false).map(|own| (own.k, own.by))
    }

    #[test]
    fn a_step_stays_and_a_stall_drains() {
        let set = met((0..200).map(|i| (2 * i, if i < 100 { 1 } else { 301 })));
        assert_eq!(step(&set), Some((99, 300_000_000)));
        // What waited during a pause of 300 ms leaves one a millisecond.
        let stalled = met((0..400).map(|i| (2 * i, if i < 100 { 1 } else { (301 - (i - 100)).max(1) })));
        assert_eq!(step(&stalled), None);
        // A device that takes 90 ms for a packet, and gets one each 75 ms.
        let slow = met((0..60).map(|i| (75 * i, 1 + 15 * i)));
        assert_eq!(step(&slow), None);
        let bursts = met((0..60).map(|i| (75 * i, 1 + 30 * (i / 2))));
        assert_eq!(step(&bursts), None);
        // A trial that ends before the queue has drained.
        let cut = met((0..160).map(|i| (2 * i, if i < 100 { 1 } else { 301 - (i - 100) })));
        assert_eq!(step(&cut), None);
    }

    #[test]
    fn a_pause_of_a_device_with_packets_inside_is_no_step() {
        // A queue that grows by a fifth of a millisecond with each packet, and 60 ms without output.
        let paused = met_us((0..400).map(|i| (2_000 * i, 1_000 + 200 * i + if i < 200 { 0 } else { 60_000 })));
        assert_eq!(super::step(&paused, true, &|_, _| false), None);
        // With several clocks either is possible.
        let open = super::step(&paused, false, &|_, _| false);
        assert_eq!(open, Some(LateStep { k: 199, by: 60_200_000, waited: true }));
        // Another tap behind the device was silent as well.
        let set = met((0..200).map(|i| (2 * i, if i < 100 { 1 } else { 301 })));
        assert_eq!(super::step(&set, false, &|_, _| true), None);
    }

    #[test]
    fn a_clock_of_the_input_makes_latencies_impossible() {
        let set = met((0..200).map(|i| if i < 100 { (2 * i, 1) } else { (2 * i + 300, -299) }));
        assert_eq!(step(&set), Some((99, -300_000_000)));
        // A pause of the tester lets a queue drain.
        let paused = met((0..200).map(|i| if i < 100 { (2 * i, 1 + 3 * i) } else { (2 * i + 300, 1) }));
        assert_eq!(step(&paused), None);
    }
}
