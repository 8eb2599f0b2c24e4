//! What the tunnel tap says of a trial.

use super::device::{is_contradicted, median_through};
use super::measure::Sample;
use super::tally::Wire;
use crate::model::trials::{Figure, Reason, Trial};

/// Where not all records are kept, a count may be off by one packet in so many.
const THINNED_OF: u64 = 500;

/// What the tunnel tap says of the trial.
pub(super) fn through_tunnel(
    trial: &mut Trial,
    sample: &Sample<'_>,
    from: usize,
    wire: Wire,
    because: &mut impl FnMut(Figure, Reason),
) {
    if sample.tunnel.is_empty() {
        for figure in [Figure::Tunnel, Figure::Tunnelled, Figure::SequenceLost, Figure::DeviceLatency] {
            because(figure, Reason::NoMiddleTap);
        }
        return;
    }
    let Wire { seen, fps, octets, frames } = wire;
    // What came out was in the tunnel: a tap that shows less of it missed frames, and one that shows far less shows others.
    let about = if sample.thin.is_some() { 2 + trial.received / THINNED_OF } else { 0 };
    let missed = !sample.out.is_empty() && seen + about < trial.received;
    let others = (missed && seen * 2 < trial.received).then_some(Reason::AssociationUnclear);
    if let Some(reason) = sample.no_tunnel.or(others) {
        return without_tunnel(trial, reason, because);
    }
    trial.tunnelled = Some(seen);
    let before = trial.sent.saturating_sub(seen);
    // A packet that came out was in the tunnel, whether the tap saw it there or not.
    let before = if sample.out.is_empty() { before } else { before.min(trial.lost) };
    trial.lost_before_tunnel = Some(before);
    trial.lost_behind_tunnel = if sample.out.is_empty() { None } else { Some(trial.lost.saturating_sub(before)) };
    // A number that is missing is of a packet that is lost, or that the tap missed.
    if missed && trial.sequence_lost.is_some_and(|missing| missing > trial.lost) {
        trial.sequence_lost = None;
        because(Figure::SequenceLost, Reason::AssociationUnclear);
    }
    if sample.ipsec && missed {
        because(Figure::Tunnel, Reason::AssociationUnclear);
    } else if sample.ipsec && is_contradicted(sample) {
        because(Figure::Tunnel, Reason::ClockStep);
    } else if sample.ipsec {
        trial.tunnel_fps = fps;
        trial.tunnel_l1_bps = fps.map(|fps| fps * 8.0 * octets / frames);
        if trial.tunnel_fps.is_none() {
            because(Figure::Tunnel, if seen == 0 { Reason::NothingForwarded } else { Reason::TooFewFrames });
        }
    } else {
        because(Figure::Tunnel, Reason::NoIpsec);
    }
    if sample.sequence_lost.is_none() {
        because(Figure::SequenceLost, if sample.ipsec { Reason::NoSequence } else { Reason::NoIpsec });
    }
    through_device(trial, sample, from, because);
}

/// The time to the tunnel's tap.
fn through_device(trial: &mut Trial, sample: &Sample<'_>, from: usize, because: &mut impl FnMut(Figure, Reason)) {
    if !sample.middle {
        because(Figure::DeviceLatency, Reason::NoMiddleTap);
    } else if let Some(reason) = sample.no_device.filter(|_| sample.no_latency.is_none()) {
        because(Figure::DeviceLatency, reason);
    } else if sample.no_latency.is_none() {
        match median_through(sample, from) {
            Ok(p50) => trial.device_latency_p50_ns = Some(p50),
            Err(reason) => because(Figure::DeviceLatency, reason),
        }
    } else {
        because(Figure::DeviceLatency, sample.no_latency.unwrap_or(Reason::NoAnchor));
    }
}

/// The tunnel tap does not say which frames are the trial's.
fn without_tunnel(trial: &mut Trial, reason: Reason, because: &mut impl FnMut(Figure, Reason)) {
    for figure in [Figure::Tunnel, Figure::Tunnelled, Figure::DeviceLatency] {
        because(figure, reason);
    }
    if matches!(reason, Reason::CaptureCut | Reason::TunnelUnclear) {
        trial.sequence_lost = None;
        because(Figure::SequenceLost, reason);
    }
}
