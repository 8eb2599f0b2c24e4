//! Sums of a trial of which every record was kept.

use super::fit::per_second;
use super::late::backlog;
use super::load::{Headers, Load};
use crate::trials::association::MISSING;
use crate::trials::limits::BEFORE_DRAIN;

/// Sums of a trial.
#[derive(Debug)]
pub(crate) struct TrialTally {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) offered_fps: Option<f64>,
    /// Octets of the steady part, and of what came out of it.
    pub(crate) load: Load,
    pub(crate) passed: Load,
    pub(crate) forwarded_fps: Option<f64>,
    pub(crate) with_drain: bool,
    /// Delivered of sent, in the steady part.
    pub(crate) steady_share: f64,
    pub(crate) backlog: u64,
    /// When the last packet came out.
    pub(crate) drained: Option<i64>,
    /// Time in of the first lost packet.
    pub(crate) lost_at: Option<i64>,
    pub(crate) wire: Wire,
    /// Number, time in and time out of the packets of the steady part that came out and whose times are known.
    pub(crate) good: Vec<(usize, i64, i64)>,
    /// Packets that each record stands for; empty for one each.
    pub(crate) sizes: Vec<f64>,
}

/// What the tunnel tap saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) seen: u64,
    pub(crate) fps: Option<f64>,
    /// Octets at layer 1 of the frames of the steady part, and these.
    pub(crate) octets: f64,
    pub(crate) frames: f64,
}

/// The sums. `from`: the first packet of the steady part.
pub(crate) fn tally(
    t: &[i64],
    size: &[u16],
    out: &[i64],
    tunnel: &[(i64, u16)],
    headers: &dyn Fn(usize) -> Headers,
    from: usize,
) -> TrialTally {
    let n = t.len();
    let end = t.last().copied().unwrap_or(0);
    let left = |i: usize| out.get(i).copied().filter(|d| *d != MISSING);
    let got: Vec<(i64, i64)> = t.iter().enumerate().filter_map(|(i, t)| Some((*t, left(i)?))).collect();
    let good: Vec<(usize, i64, i64)> = (from..n).filter_map(|i| Some((i, *t.get(i)?, left(i)?))).collect();
    let (mut load, mut passed) = (Load::default(), Load::default());
    let add = |load: &mut Load, i: usize| load.add(headers(i), size.get(i).copied().unwrap_or(0));
    (from..n).for_each(|i| add(&mut load, i));
    good.iter().for_each(|(i, _, _)| add(&mut passed, *i));
    let has_out = !out.is_empty();
    let mut leaving: Vec<i64> = good.iter().map(|(_, _, d)| *d).collect();
    leaving.sort_unstable();
    let during = leaving.get(..leaving.partition_point(|d| *d <= end)).unwrap_or_default();
    let with_drain = has_out && during.len() < BEFORE_DRAIN;
    let mut outs: Vec<i64> = got.iter().map(|(_, d)| *d).collect();
    outs.sort_unstable();
    TrialTally {
        sent: n as u64,
        received: if has_out { got.len() as u64 } else { n as u64 },
        offered_fps: per_second(t.get(from..).unwrap_or_default()),
        load,
        passed,
        forwarded_fps: if has_out { per_second(if with_drain { &leaving } else { during }) } else { None },
        with_drain,
        steady_share: good.len() as f64 / n.saturating_sub(from).max(1) as f64,
        backlog: backlog(&got, &outs),
        drained: outs.last().copied(),
        lost_at: t.iter().enumerate().find(|(i, _)| has_out && left(*i).is_none()).map(|(_, t)| *t),
        wire: wire(tunnel, from, end),
        good,
        sizes: Vec::new(),
    }
}

fn wire(tunnel: &[(i64, u16)], from: usize, end: i64) -> Wire {
    let seen = tunnel.iter().filter(|(t, _)| *t != MISSING).count() as u64;
    let steady: Vec<(i64, u16)> = tunnel.iter().skip(from).copied().filter(|(t, _)| *t != MISSING).collect();
    let mut times: Vec<i64> = steady.iter().map(|(t, _)| *t).collect();
    times.sort_unstable();
    let inside = times.get(..times.partition_point(|t| *t <= end)).unwrap_or_default();
    let octets: u64 = steady.iter().map(|(_, l1)| u64::from(*l1)).sum();
    Wire {
        seen,
        fps: per_second(if inside.len() < BEFORE_DRAIN { &times } else { inside }),
        octets: octets as f64,
        frames: steady.len().max(1) as f64,
    }
}
