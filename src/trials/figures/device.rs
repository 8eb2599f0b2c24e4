//! The time to the tunnel's tap.

use super::fit::rank;
use super::measure::Sample;
use crate::model::trials::Reason;
use crate::trials::association::MISSING;
use crate::trials::limits::TAPS_APART;

/// Median time from the first tap to the tunnel's, of packets from one on.
///
/// Where all came out, what left first was first in the tunnel; packets that overtake each other behind it were there in the order in which
/// they came. No packet leaves the tunnel tap before it came in or after it went out: the order that times contradict is the wrong one.
pub(crate) fn median_through(sample: &Sample<'_>, from: usize) -> Result<i64, Reason> {
    let mut reason = Reason::NothingForwarded;
    for device in [as_they_left(sample), as_they_were_found(sample), as_they_came(sample)] {
        let own = || device.iter().filter(|(i, _)| *i >= from);
        let contradicted = own().filter(|(i, t)| !is_between(sample, *i, *t)).count();
        let mut late: Vec<i64> = own().filter_map(|(i, t)| Some(t - sample.t.get(*i)?)).collect();
        late.sort_unstable();
        match rank(&late, 0.5) {
            Some(p50) if p50 >= -sample.sooner && contradicted * CONTRADICTED_OF <= late.len() => return Ok(p50),
            Some(_) => reason = Reason::AssociationUnclear,
            None => {}
        }
    }
    Err(reason)
}

/// Whether the tunnel tap's clock contradicts those of the taps around it: whatever is lost, as many packets came in at any time as were in the
/// tunnel, and as many were in the tunnel as came out.
pub(crate) fn is_contradicted(sample: &Sample<'_>) -> bool {
    if !sample.middle || sample.thin.is_some() {
        return false;
    }
    let apart = sample.sooner.max(SET_NS);
    let sorted = |times: &mut dyn Iterator<Item = i64>| {
        let mut times: Vec<i64> = times.filter(|t| *t != MISSING).collect();
        times.sort_unstable();
        times
    };
    let came = sorted(&mut sample.t.iter().copied());
    let inside = sorted(&mut sample.tunnel.iter().map(|(t, _)| *t));
    let left = sorted(&mut sample.out.iter().copied());
    let early = |one: &[i64], next: &[i64]| one.iter().zip(next).filter(|(t, d)| **d < **t - apart).count();
    (early(&came, &inside) + early(&inside, &left)) * CONTRADICTED_OF > inside.len()
}

/// By how much times contradict each other where a clock was set, at least, in nanoseconds.
const SET_NS: i64 = 5_000_000;

/// The time of each packet at the tunnel tap, as it was found there.
fn as_they_were_found(sample: &Sample<'_>) -> Vec<(usize, i64)> {
    let seen = sample.tunnel.iter().enumerate().filter(|(_, (t, _))| *t != MISSING);
    seen.map(|(i, (t, _))| (i, *t)).collect()
}

/// The same where all passed the tunnel, in the order in which they came.
fn as_they_came(sample: &Sample<'_>) -> Vec<(usize, i64)> {
    let mut times: Vec<i64> = as_they_were_found(sample).into_iter().map(|(_, t)| t).collect();
    times.sort_unstable();
    if times.len() == sample.t.len() { times.into_iter().enumerate().collect() } else { Vec::new() }
}

/// Of so many packets one may contradict its time at the tunnel tap.
const CONTRADICTED_OF: usize = 50;

/// The time of each packet at the tunnel tap. Where every packet of the tunnel reached the end, what left first was first in the tunnel.
fn as_they_left(sample: &Sample<'_>) -> Vec<(usize, i64)> {
    let seen = || sample.tunnel.iter().enumerate().filter(|(_, (t, _))| *t != MISSING).map(|(i, (t, _))| (i, *t));
    let mut leaving: Vec<(i64, usize)> =
        sample.out.iter().enumerate().filter(|(_, d)| **d != MISSING).map(|(i, d)| (*d, i)).collect();
    if leaving.len() != seen().count() {
        return seen().collect();
    }
    leaving.sort_unstable();
    let mut times: Vec<i64> = seen().map(|(_, t)| t).collect();
    times.sort_unstable();
    leaving.into_iter().zip(times).map(|((_, i), t)| (i, t)).collect()
}

/// Whether a packet was at the tunnel tap between both ends.
fn is_between(sample: &Sample<'_>, i: usize, tunnel: i64) -> bool {
    let came = sample.t.get(i).is_none_or(|came| tunnel >= came - TAPS_APART);
    came && sample.out.get(i).is_none_or(|left| *left == MISSING || tunnel <= left + TAPS_APART)
}
