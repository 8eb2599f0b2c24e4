//! All figures of one trial.

use super::inside::through_tunnel;
use super::late::{Spread, growth, stall};
use super::load::{Headers, Load, size_class};
use super::pauses::pause;
use super::stamps::coarse;
use super::tally::{TrialTally, tally};
use crate::model::report::Rfc3339;
use crate::model::trials::{Basis, Direction, Figure, Kind, OpenFigure, Reason, State, Trial, Ways};
use crate::trials::association::MISSING;
use crate::trials::limits::CLOCKS_APART;
use crate::trials::thinned::{self, ThinSample};

/// Octets of a packet, by its number.
pub(crate) type Octets<'s> = dyn Fn(usize) -> u32 + 's;

/// A trial's packets and what is known beside them.
pub(crate) struct Sample<'s> {
    pub(crate) number: u64,
    pub(crate) direction: Direction,
    pub(crate) kind: Kind,
    /// Time of the first frame, as the capture states it.
    pub(crate) start_ns: i64,
    /// Times in.
    pub(crate) t: &'s [i64],
    pub(crate) size: &'s [u16],
    /// Headers of each packet; those of the test load where none are known.
    pub(crate) headers: &'s dyn Fn(usize) -> Headers,
    /// Times out; empty without a last tap.
    pub(crate) out: &'s [i64],
    /// Time and octets at layer 1 at the tunnel tap; empty without one.
    pub(crate) tunnel: &'s [(i64, u16)],
    /// Octets at layer 2 of the frames in and out, where the tap is the tunnel's.
    pub(crate) outer_l2: (Option<&'s Octets<'s>>, Option<&'s Octets<'s>>),
    /// Three taps: the one in the middle has times of its own.
    pub(crate) middle: bool,
    /// Whether the tunnel tap shows IPsec.
    pub(crate) ipsec: bool,
    pub(crate) steady: i64,
    pub(crate) basis: Basis,
    /// Sequence numbers missing, null where there are none.
    pub(crate) sequence_lost: Option<u64>,
    /// Control frames during the trial, and their octets at layer 1.
    pub(crate) control: (u64, u64),
    pub(crate) link_rate: Option<u64>,
    /// From one time stamp to the next, where that is a millisecond or more.
    pub(crate) grain: i64,
    /// Sequence numbers that are missing at the tunnel tap between two times.
    pub(crate) lost_behind: &'s dyn Fn(i64, i64) -> u64,
    /// Why there is no latency.
    pub(crate) no_latency: Option<Reason>,
    /// Whether latencies are as wrong as the offset between clocks is.
    pub(crate) depends_on_offset: bool,
    /// Packets of loads before that were inside when the trial began.
    pub(crate) inside: usize,
    /// Whether packets of the other direction waited in the same queue: the first one may have, too.
    pub(crate) shared: bool,
    /// By how much departures may seem to precede arrivals.
    pub(crate) sooner: i64,
    /// More frames came out than packets came in: which of them are the trial's is not known.
    pub(crate) more_out: bool,
    /// Why the tunnel tap says nothing.
    pub(crate) no_tunnel: Option<Reason>,
    /// Why the time to the tunnel tap is not known.
    pub(crate) no_device: Option<Reason>,
    /// Whether it is in doubt which packets left a queue: one that the figures between both ends depend on, and one before the tap in the middle.
    pub(crate) open_queue: [bool; 2],
    /// Lengths inside are not known.
    pub(crate) opaque: bool,
    /// From which size on one stands for others, too, that nobody saw in clear.
    pub(crate) least: &'s dyn Fn(u16) -> Option<u16>,
    /// What the records stand for, where not all were kept.
    pub(crate) thin: Option<ThinSample<'s>>,
}

/// Of so many packets one may seem to leave before it came.
const IMPOSSIBLE_OF: usize = 1_000;

impl Sample<'_> {
    /// By how much departures may seem to precede arrivals, now that clocks are compared.
    fn sooner(&self) -> i64 {
        if self.depends_on_offset { self.sooner.min(CLOCKS_APART + self.grain) } else { self.sooner }
    }

    /// Whether the mean length is known to a part of what rates are exact to only.
    fn is_vague(&self, from: usize) -> bool {
        let sizes = self.size.get(from..).unwrap_or_default();
        let open = |size: &u16| (self.least)(*size).map_or(0, |least| u64::from(size.saturating_sub(least)));
        sizes.iter().map(open).sum::<u64>() * VAGUE_OF > sizes.iter().map(|size| u64::from(*size)).sum()
    }
}

/// Of so many octets one may be in doubt.
const VAGUE_OF: u64 = 1_000;

/// A trial with what is needed to judge it.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) trial: Trial,
    /// Time in and latency of the packets of the steady part that came out.
    pub(crate) late: Vec<(i64, i64)>,
    /// Time in of the first lost packet.
    pub(crate) lost_at: Option<i64>,
    /// Least latency of all packets of a trial that met an idle device.
    pub(crate) idle: Option<i64>,
    /// Packets of loads before that were inside when the trial began.
    pub(crate) inside: usize,
    /// Whether it is in doubt which packets left a queue: one that the figures between both ends depend on, and one before the tap in the middle.
    pub(crate) open_queue: [bool; 2],
    /// Whether a full queue explains the losses that holds packets of the other direction, too: few of its own may wait.
    pub(crate) shared: bool,
    /// Which ways are loaded, where the load of the other direction is not used.
    pub(crate) mate: Option<Ways>,
    /// By how much a drift that nothing tells may make times wrong, in nanoseconds: those between both ends, and those up to the tap in the middle.
    pub(crate) adrift: [f64; 2],
}

impl Measured {
    /// Takes away every figure that rests on latencies.
    pub(crate) fn without_latency(&mut self, reason: Reason) {
        self.late.clear();
        let trial = &mut self.trial;
        trial.latency_modelled = false;
        for latency in [
            &mut trial.latency_min_ns,
            &mut trial.latency_p50_ns,
            &mut trial.latency_p99_ns,
            &mut trial.latency_max_ns,
            &mut trial.latency_sf_min_ns,
            &mut trial.latency_sf_p50_ns,
            &mut trial.latency_sf_max_ns,
            &mut trial.latency_ct_min_ns,
            &mut trial.latency_ct_p50_ns,
            &mut trial.latency_ct_max_ns,
            &mut trial.device_latency_p50_ns,
        ] {
            *latency = None;
        }
        (trial.latency_mean_ns, trial.latency_slope_ppm, trial.slope_error_ppm) = (None, None, None);
        (trial.ratio, trial.backlog_max_frames, trial.drain_seconds, trial.stall_seconds) = (None, None, None, None);
        let figures = [Figure::Latency, Figure::Ratio, Figure::DeviceLatency];
        trial.undetermined.retain(|open| !figures.contains(&open.figure));
        trial.undetermined.extend(figures.map(|figure| OpenFigure { figure, reason }));
    }

    /// Takes away every time that a packet was on its way, but not how it changes.
    pub(crate) fn without_times(&mut self, reason: Reason) {
        let (ratio, slope) = (self.trial.ratio, self.trial.latency_slope_ppm);
        let (error, stall) = (self.trial.slope_error_ppm, self.trial.stall_seconds);
        self.without_latency(reason);
        let trial = &mut self.trial;
        (trial.ratio, trial.latency_slope_ppm) = (ratio, slope);
        (trial.slope_error_ppm, trial.stall_seconds) = (error, stall);
        trial.undetermined.retain(|open| open.figure != Figure::Ratio || ratio.is_none());
        trial.undetermined.push(OpenFigure { figure: Figure::Backlog, reason });
        self.idle = None;
    }
}

/// The figures.
pub(crate) fn measure(sample: &Sample<'_>) -> Option<Measured> {
    let (begin, end) = (*sample.t.first()?, *sample.t.last()?);
    let from = sample.t.partition_point(|t| *t < sample.steady - 2_000);
    let steady = sample.t.get(from..).filter(|steady| !steady.is_empty())?;
    let tally = match &sample.thin {
        Some(thin) => thinned::tally(thin, sample.t, sample.out, sample.tunnel, sample.headers, from),
        None => tally(sample.t, sample.size, sample.out, sample.tunnel, sample.headers, from),
    };
    let TrialTally { sent, received, load, passed, with_drain, offered_fps, .. } = &tally;
    // A packet that left before it came says nothing of latency.
    let sooner = sample.sooner();
    let possible = |(_, t, d): &&(usize, i64, i64)| *d >= t - sooner || sample.thin.is_some();
    let good: Vec<(usize, i64, i64)> = tally.good.iter().filter(possible).copied().collect();
    let good = good.as_slice();
    let (sent, received, with_drain, offered_fps) = (*sent, *received, *with_drain, *offered_fps);
    let mut why = Vec::new();
    let mut because = |figure, reason| why.push(OpenFigure { figure, reason });
    let has_out = !sample.out.is_empty();
    let known = |load: &Load| (!sample.opaque).then_some(*load);
    let vague = sample.is_vague(from);
    let offered = known(load).filter(|_| !vague).and_then(|load| load.rates(offered_fps));
    let forwarded_fps = if has_out { tally.forwarded_fps.filter(|_| !sample.more_out) } else { offered_fps };
    let forwarded = known(if has_out { passed } else { load }).and_then(|load| load.rates(forwarded_fps));
    let seconds = (end - begin) as f64 / 1e9;
    let late: Vec<i64> = good.iter().map(|(_, t, d)| d - t).collect();
    let no_latency = no_latency(sample, &late, tally.good.len());
    let spread = if no_latency.is_none() { Spread::of(late) } else { None };
    let lost = sent - received;
    let mut trial = Trial {
        trial: sample.number,
        direction: sample.direction,
        ways: Ways::One,
        kind: sample.kind,
        // Of packets that nobody saw in clear only the outer length is known.
        size_class: format!(
            "{}{}",
            if sample.opaque { "outer:" } else { "" },
            size_class(sample.size, &tally.sizes, sample.least)
        ),
        state: State::Silent,
        basis: sample.basis,
        start: Rfc3339(sample.start_ns),
        start_ns: sample.start_ns,
        seconds,
        pause_seconds: if sample.thin.is_none() { pause(steady, offered_fps) } else { None },
        ramp_seconds: (sample.steady - begin).max(0) as f64 / 1e9,
        inner_bytes: load.mean().filter(|_| !sample.opaque && !vague),
        sent,
        received,
        lost,
        loss_pct: 100.0 * lost as f64 / sent as f64,
        lost_error: 0,
        tunnelled: None,
        lost_before_tunnel: None,
        lost_behind_tunnel: None,
        sequence_lost: sample.sequence_lost,
        offered_fps,
        offered_l1_bps: offered.map(|r| r.l1_bps),
        offered_l2_bps: offered.map(|r| r.l2_bps),
        offered_l3_bps: offered.map(|r| r.l3_bps),
        offered_l4_bps: offered.and_then(|r| r.l4_bps),
        load_pct: offered.zip(sample.link_rate).map(|(r, link)| 100.0 * r.l1_bps / link as f64),
        forwarded_fps,
        forwarded_with_drain: with_drain,
        forwarded_l1_bps: forwarded.map(|r| r.l1_bps),
        forwarded_l2_bps: forwarded.map(|r| r.l2_bps),
        forwarded_l3_bps: forwarded.map(|r| r.l3_bps),
        forwarded_l4_bps: forwarded.and_then(|r| r.l4_bps),
        tunnel_fps: None,
        tunnel_l1_bps: None,
        control_frames: sample.control.0,
        control_l1_bps: if seconds > 0.0 { 8.0 * sample.control.1 as f64 / seconds } else { 0.0 },
        latency_modelled: sample.basis == Basis::TailDrop && spread.is_some(),
        latency_min_ns: spread.map(|s| s.min),
        latency_p50_ns: spread.map(|s| s.p50),
        latency_p99_ns: spread.map(|s| s.p99),
        latency_max_ns: spread.map(|s| s.max),
        latency_mean_ns: spread.map(|s| s.mean),
        latency_sf_min_ns: None,
        latency_sf_p50_ns: None,
        latency_sf_max_ns: None,
        latency_ct_min_ns: None,
        latency_ct_p50_ns: None,
        latency_ct_max_ns: None,
        device_latency_p50_ns: None,
        latency_slope_ppm: None,
        slope_error_ppm: None,
        ratio: None,
        backlog_max_frames: None,
        drain_seconds: None,
        stall_seconds: None,
        waiting_frames: None,
        waited_frames: None,
        buffer_frames: None,
        undetermined: Vec::new(),
    };
    if let Some(reason) = no_latency {
        because(Figure::Latency, reason);
        because(Figure::Ratio, reason);
    }
    let counted = |trial: &mut Trial| store_and_forward(trial, sample, good);
    of_link(&mut trial, sample, spread.is_some().then_some(&counted as _), &mut because);
    if sample.opaque || vague {
        because(Figure::Inner, Reason::Opaque);
    } else if offered.is_some_and(|r| r.l4_bps.is_none()) {
        because(Figure::L4, Reason::NoTransport);
    }
    if offered_fps.is_none() {
        because(Figure::Offered, Reason::TooFewFrames);
    }
    if forwarded_fps.is_none() {
        because(Figure::Forwarded, no_forwarded(sample, received));
    }
    through_tunnel(&mut trial, sample, from, tally.wire, &mut because);
    if spread.is_some() {
        let at: Vec<(i64, i64)> = good.iter().map(|(_, t, d)| (*t, *d)).collect();
        let start = steady.first().copied().unwrap_or(begin);
        let (slope, error) = growth(&at, start, end);
        let error = error.max(sample.grain as f64 / (end - start).max(1) as f64);
        trial.latency_slope_ppm = Some(1e6 * slope);
        trial.slope_error_ppm = Some(1e6 * error);
        trial.ratio = Some(tally.steady_share / (1.0 + slope));
        trial.backlog_max_frames = Some(tally.backlog);
        trial.drain_seconds = tally.drained.map(|last| (last - end).max(0) as f64 / 1e9);
        let least = spread.map_or(0, |s| s.min);
        let stalled = match &sample.thin {
            Some(thin) => thinned::stall(thin, sample.t, end, tally.drained.unwrap_or(end), least),
            None => {
                let pairs = sample.out.iter().copied().zip(sample.t.iter().copied());
                let mut outs: Vec<(i64, i64)> = pairs.filter(|(out, _)| *out != MISSING).collect();
                outs.sort_unstable();
                stall(sample.t, &outs, end, least, &|from, to| went_on(sample, least, (from, to)))
            }
        };
        let seen = stalled >= 2 * sample.grain;
        trial.stall_seconds = Some(if seen { stalled as f64 / 1e9 } else { 0.0 });
        coarse(&mut trial, sample.grain, &mut because);
    }
    let lost_at = tally.lost_at;
    let late = good.iter().map(|(_, t, d)| (*t, d - t)).filter(|_| spread.is_some()).collect();
    trial.undetermined = why;
    let late_of = || sample.t.iter().zip(sample.out).filter(|(_, d)| **d != MISSING).map(|(t, d)| d - t);
    let least = || late_of().filter(|late| *late >= -sample.sooner).min();
    let idle = spread.and_then(|_| least()).filter(|_| sample.inside == 0 && !sample.shared);
    let (inside, open_queue, shared) = (sample.inside, sample.open_queue, sample.shared);
    Some(Measured { trial, late, lost_at, idle, inside, open_queue, shared, mate: None, adrift: [0.0; 2] })
}

/// Whether the device worked on during a silence of the output: the packets that should have come out are lost, and passed the tunnel's tap
/// or have a number there.
fn went_on(sample: &Sample<'_>, least: i64, (from, to): (i64, i64)) -> bool {
    let place = |time: i64| sample.t.partition_point(|t| t + least <= time);
    let own = place(from)..place(to);
    let lost = |i: &usize| sample.out.get(*i).is_none_or(|d| *d == MISSING);
    let passed = |i: &usize| sample.tunnel.get(*i).is_some_and(|(t, _)| *t != MISSING);
    let worked = if sample.middle && sample.no_tunnel.is_none() && sample.no_device.is_none() {
        own.clone().filter(|i| lost(i) && passed(i)).count() as u64
    } else if sample.middle {
        0
    } else {
        (sample.lost_behind)(from, to).min(own.clone().filter(lost).count() as u64)
    };
    worked * 2 > own.len() as u64
}

/// Why there is no forwarded rate.
fn no_forwarded(sample: &Sample<'_>, received: u64) -> Reason {
    if sample.more_out {
        Reason::AssociationUnclear
    } else if !sample.out.is_empty() && received == 0 {
        Reason::NothingForwarded
    } else {
        Reason::TooFewFrames
    }
}

/// Why there is no latency. `late`: those that are possible, of how many.
fn no_latency(sample: &Sample<'_>, late: &[i64], all: usize) -> Option<Reason> {
    match sample.no_latency {
        None if sample.out.is_empty() => Some(Reason::NoOutTap),
        None if late.is_empty() => Some(Reason::NothingForwarded),
        // Whatever the clocks are, the fastest packet takes no time or longer: what contradicts it is another packet.
        None if all > late.len() + 1 + all / IMPOSSIBLE_OF => Some(Reason::AssociationUnclear),
        // Times between the records that were kept are not known well enough.
        None if late.iter().any(|late| *late < -sample.sooner) => Some(Reason::TooManyFrames),
        why => why,
    }
}

/// What depends on the rate of the link. `counted`: takes the time of a frame on the wire off, where there are latencies.
fn of_link(
    trial: &mut Trial,
    sample: &Sample<'_>,
    counted: Option<&dyn Fn(&mut Trial)>,
    because: &mut impl FnMut(Figure, Reason),
) {
    if sample.link_rate.is_none() {
        because(Figure::Load, Reason::NoLinkRate);
        because(Figure::LatencySf, Reason::NoLinkRate);
    } else if sample.depends_on_offset && counted.is_some() {
        because(Figure::LatencySf, Reason::DependsOnOffset);
    } else if let Some(counted) = counted {
        counted(trial);
    }
}

/// Latencies of RFC 1242 section 3.8: the time a frame takes on the wire is taken off, or added.
fn store_and_forward(trial: &mut Trial, sample: &Sample<'_>, good: &[(usize, i64, i64)]) {
    let Some(rate) = sample.link_rate else { return };
    let wire = |octets: u32| (8.0 * f64::from(octets) * 1e9 / rate as f64).round() as i64;
    let inner = |i: usize| (sample.headers)(i).l2(sample.size.get(i).copied().unwrap_or(0));
    let (into, out) = sample.outer_l2;
    let l2_in = |i: usize| into.map_or_else(|| inner(i), |of| of(i));
    let l2_out = |i: usize| out.map_or_else(|| inner(i), |of| of(i));
    let sf: Vec<i64> = good.iter().map(|(i, t, d)| d - t - wire(l2_out(*i))).collect();
    let ct: Vec<i64> = good.iter().zip(&sf).map(|((i, _, _), sf)| sf + wire(l2_in(*i))).collect();
    if let (Some(sf), Some(ct)) = (Spread::of(sf), Spread::of(ct)) {
        (trial.latency_sf_min_ns, trial.latency_sf_p50_ns, trial.latency_sf_max_ns) =
            (Some(sf.min), Some(sf.p50), Some(sf.max));
        (trial.latency_ct_min_ns, trial.latency_ct_p50_ns, trial.latency_ct_max_ns) =
            (Some(ct.min), Some(ct.p50), Some(ct.max));
    }
}
