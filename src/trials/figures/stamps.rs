//! Time stamps that are coarser than what they should measure.

use crate::model::trials::{Figure, Reason, Trial};

/// Takes away latencies that are not longer than what the time stamps tell apart.
pub(super) fn coarse(trial: &mut Trial, grain: i64, because: &mut impl FnMut(Figure, Reason)) {
    if grain == 0 || trial.latency_min_ns.is_none_or(|least| least > grain) {
        return;
    }
    because(Figure::Latency, Reason::CoarseTimestamps);
    let usual = trial.latency_p50_ns.is_some_and(|p50| p50 > grain);
    for latency in [&mut trial.latency_min_ns, &mut trial.latency_sf_min_ns, &mut trial.latency_ct_min_ns] {
        *latency = None;
    }
    if usual {
        return;
    }
    without_waiting(trial);
    if trial.device_latency_p50_ns.take().is_some() {
        because(Figure::DeviceLatency, Reason::CoarseTimestamps);
    }
}

/// Takes away latencies of packets that may have waited: all but the least.
pub(super) fn without_waiting(trial: &mut Trial) {
    for latency in [
        &mut trial.latency_p50_ns,
        &mut trial.latency_p99_ns,
        &mut trial.latency_max_ns,
        &mut trial.latency_sf_p50_ns,
        &mut trial.latency_sf_max_ns,
        &mut trial.latency_ct_p50_ns,
        &mut trial.latency_ct_max_ns,
    ] {
        *latency = None;
    }
    trial.latency_mean_ns = None;
}
