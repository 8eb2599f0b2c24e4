//! Sums of a trial of which not every record was kept.

use super::{Share, between};
use crate::trials::association::MISSING;
use crate::trials::figures::load::{Headers, Load};
use crate::trials::figures::silence;
use crate::trials::figures::tally::{TrialTally, Wire};
use crate::trials::limits::{BEFORE_DRAIN, STALL_FRAMES, STALL_NS};

/// What the records of a trial stand for. Sums are of the whole row; the trial begins at record `from`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThinSample<'s> {
    pub(crate) from: usize,
    pub(crate) share: &'s [Share],
    pub(crate) sent: &'s [f64],
    pub(crate) tunnelled: &'s [f64],
    pub(crate) received: &'s [f64],
    /// Records at the last tap, in order: when, and what they stand for.
    pub(crate) exits: &'s [(i64, Share)],
    /// Whether these are packets in clear.
    pub(crate) in_clear: bool,
    /// The same at the tunnel tap.
    pub(crate) wires: &'s [(i64, Share)],
    /// Records further apart are all kept.
    pub(crate) apart: i64,
}

/// Slope of the least-squares line through times and numbers, per second.
fn slope(points: &[(i64, f64)]) -> Option<f64> {
    let first = points.first()?.0;
    if points.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let seconds = |t: i64| (t - first) as f64 / 1e9;
    let mx = points.iter().map(|(t, _)| seconds(*t)).sum::<f64>() / n;
    let my = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for (t, y) in points {
        let x = seconds(*t) - mx;
        sxx += x * x;
        sxy += x * (y - my);
    }
    (sxx > 0.0).then(|| sxy / sxx)
}

/// A slope before the drain, if enough points are.
fn rate(mut points: Vec<(i64, f64)>, end: i64) -> (Option<f64>, bool) {
    points.sort_unstable_by_key(|(t, _)| *t);
    let inside = points.get(..points.partition_point(|(t, _)| *t <= end)).unwrap_or_default();
    let drained = inside.len() < BEFORE_DRAIN;
    (slope(if drained { &points } else { inside }), drained)
}

/// The sums. `from`: the first record of the steady part.
pub(crate) fn tally(
    thin: &ThinSample<'_>,
    t: &[i64],
    out: &[i64],
    tunnel: &[(i64, u16)],
    headers: &dyn Fn(usize) -> Headers,
    from: usize,
) -> TrialTally {
    let (n, begin) = (t.len(), thin.from);
    let end = t.last().copied().unwrap_or(0);
    let all = |sums: &[f64], from: usize, to: usize| between(sums, begin + from, begin + to);
    let left = |i: usize| out.get(i).copied().filter(|d| *d != MISSING);
    let has_out = !out.is_empty();
    let share = |i: usize| thin.share.get(begin + i).copied().unwrap_or_default();
    let (mut load, mut passed) = (Load::default(), Load::default());
    for i in from..n {
        load.add_share(headers(i), share(i), 1.0);
        let sent = all(thin.sent, i, i + 1);
        let part = if sent > 0.0 { (all(thin.received, i, i + 1) / sent).clamp(0.0, 1.0) } else { 0.0 };
        passed.add_share(headers(i), share(i), part);
    }
    let sums = |sums: &[f64], i: usize| all(sums, 0, i + 1);
    let offered: Vec<(i64, f64)> = (from..n).filter_map(|i| Some((*t.get(i)?, sums(thin.sent, i)))).collect();
    let good: Vec<(usize, i64, i64)> = (from..n).filter_map(|i| Some((i, *t.get(i)?, left(i)?))).collect();
    let leaving: Vec<(i64, f64)> = good.iter().map(|(i, _, d)| (*d, sums(thin.received, *i))).collect();
    let (forwarded_fps, with_drain) = rate(leaving, end);
    let mut outs: Vec<(i64, f64)> = (0..n).filter_map(|i| Some((left(i)?, sums(thin.received, i)))).collect();
    outs.sort_unstable_by_key(|(d, _)| *d);
    if let Some(all) = passed_of_one(thin, (from..n).map(headers), &good) {
        passed = all;
    }
    let received = all(thin.received, 0, n).round();
    let sent = all(thin.sent, 0, n).round();
    let behind = |i: &usize| sums(thin.sent, *i) - sums(thin.received, *i) >= 1.5;
    TrialTally {
        sent: sent as u64,
        received: if has_out { received.min(sent) as u64 } else { sent as u64 },
        offered_fps: slope(&offered),
        load,
        passed,
        forwarded_fps: if has_out { forwarded_fps } else { None },
        with_drain: has_out && with_drain,
        steady_share: all(thin.received, from, n) / all(thin.sent, from, n).max(1.0),
        backlog: backlog(t, thin, &outs, &left),
        drained: outs.last().map(|(d, _)| *d),
        lost_at: (0..n).find(|i| has_out && received < sent && behind(i)).and_then(|i| t.get(i).copied()),
        wire: wire(thin, tunnel, from, end),
        good,
        sizes: (0..n).map(|i| f64::from(share(i).frames)).collect(),
    }
}

/// The octets of what came out, where all packets have headers of one length: those of the packets between the records, too.
fn passed_of_one(
    thin: &ThinSample<'_>,
    mut headers: impl Iterator<Item = Headers>,
    good: &[(usize, i64, i64)],
) -> Option<Load> {
    let own = headers.next()?;
    let left = good.iter().map(|(_, _, d)| *d);
    let during = left.clone().min()?..left.max()? + 1;
    (thin.in_clear && headers.all(|other| other == own)).then(|| {
        let mut passed = Load::default();
        let shares = thin.exits.iter().filter(|(d, _)| during.contains(d));
        shares.for_each(|(_, share)| passed.add_share(own, *share, 1.0));
        passed
    })
}

/// Most packets inside at once.
fn backlog(t: &[i64], thin: &ThinSample<'_>, outs: &[(i64, f64)], left: &dyn Fn(usize) -> Option<i64>) -> u64 {
    let (mut gone, mut most) = (0, 0.0_f64);
    for (i, own) in t.iter().enumerate() {
        while outs.get(gone).is_some_and(|(d, _)| d <= own) {
            gone += 1;
        }
        if left(i).is_none() {
            continue;
        }
        let before = gone.checked_sub(1).and_then(|at| outs.get(at)).copied();
        let (from, low) = before.unwrap_or((*own, 0.0));
        let there = match outs.get(gone).filter(|_| before.is_some()) {
            Some((to, high)) => low + (high - low) * (own - from) as f64 / (to - from).max(1) as f64,
            None => low,
        };
        most = most.max(between(thin.received, thin.from, thin.from + i + 1) - there);
    }
    most.round() as u64
}

fn wire(thin: &ThinSample<'_>, tunnel: &[(i64, u16)], from: usize, end: i64) -> Wire {
    let (begin, n) = (thin.from, tunnel.len());
    let sums = if thin.tunnelled.is_empty() { thin.sent } else { thin.tunnelled };
    let seen: Vec<(i64, f64, f64, f64)> = (from..n)
        .filter_map(|i| {
            let (t, l1) = *tunnel.get(i).filter(|(t, _)| *t != MISSING)?;
            let own = between(sums, begin + i, begin + i + 1);
            Some((t, between(sums, begin, begin + i + 1), own, f64::from(l1)))
        })
        .collect();
    // What the records between stand for, too; a row that begins in the tunnel has no others.
    let during = seen.first().zip(seen.last()).map_or(0..0, |((first, ..), (last, ..))| *first..*last + 1);
    let all = || thin.wires.iter().filter(|(t, _)| during.contains(t)).map(|(_, share)| share);
    let (frames, octets) = if thin.wires.is_empty() {
        seen.iter().fold((0.0, 0.0), |(frames, octets), (_, _, own, l1)| (frames + own, octets + own * l1))
    } else {
        all().fold((0.0, 0.0), |(n, sum), own| (n + f64::from(own.frames), sum + f64::from(own.octets)))
    };
    let (fps, _) = rate(seen.iter().map(|(t, n, _, _)| (*t, *n)).collect(), end);
    Wire { seen: between(sums, begin, begin + n).round() as u64, fps, octets, frames: frames.max(1.0) }
}

/// The longest silence of the output while packets came in.
pub(crate) fn stall(thin: &ThinSample<'_>, t: &[i64], end: i64, drained: i64, least: i64) -> i64 {
    let mut longest = 0;
    let begin = t.first().copied().unwrap_or(0);
    let from = thin.exits.partition_point(|(d, _)| *d < begin);
    let to = thin.exits.partition_point(|(d, _)| *d <= drained).max(from);
    for pair in thin.exits.get(from..to).unwrap_or_default().windows(2) {
        let [(x, _), (y, _)] = pair else { continue };
        if y - x > STALL_NS.max(thin.apart.saturating_mul(2)).max(longest) && *x <= end {
            let (a, b) = (t.partition_point(|t| t + least <= *x), t.partition_point(|t| t + least < *y));
            // The packets on both sides of a pause are kept. Any other record counts all packets since the record before it.
            let paused = a.checked_sub(1).and_then(|before| t.get(before)).zip(t.get(a));
            let first = paused.filter(|(last, first)| **first - **last > thin.apart).map_or(*x, |(_, t)| t + least);
            if between(thin.sent, thin.from + a, thin.from + b) >= STALL_FRAMES as f64 {
                longest = longest.max(silence((*x, *y), first.min(*y)));
            }
        }
    }
    longest
}
