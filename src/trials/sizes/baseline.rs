//! Latency against a run in clear. The documents call a share of 974.9 % an increase; both are given, by name.

use crate::model::trials::{Baseline, Figure, OpenFigure, Reason, Trial};
use crate::model::trials::{Direction, Kind, Ways};
use crate::trials::limits::SAME_LOAD;

/// What is known of a trial of the other run.
#[derive(Clone, PartialEq, Debug)]
pub struct ClearTrial {
    /// Its number.
    pub trial: u64,
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// Its size.
    pub size_class: String,
    /// Offered rate.
    pub offered_fps: f64,
    /// Packets lost.
    pub lost: u64,
    /// Mean latency.
    pub latency_mean_ns: Option<f64>,
    /// Median latency.
    pub latency_p50_ns: Option<i64>,
    /// Whether its latencies are as wrong as the offset between clocks is.
    pub depends_on_offset: bool,
}

/// A row for each trial that has one of the same size and load in clear. `depends_on_offset`: whether latencies are as wrong as the offset between
/// clocks is; a part of one that was taken for zero has no share of it.
pub(crate) fn compare(trials: &[Trial], clear: &[ClearTrial], depends_on_offset: bool) -> Vec<Baseline> {
    let of = |t: &Trial| {
        let offered = t.offered_fps.filter(|_| t.kind == Kind::Trial)?;
        let same = clear.iter().find(|c| {
            (c.direction, c.ways) == (t.direction, t.ways)
                && c.size_class == t.size_class
                && (c.offered_fps / offered - 1.0).abs() <= SAME_LOAD
        })?;
        let means = t.latency_mean_ns.zip(same.latency_mean_ns).filter(|(_, clear)| *clear != 0.0);
        let guessed = depends_on_offset || same.depends_on_offset;
        let reason = if guessed && means.is_some() { Reason::DependsOnOffset } else { Reason::NoLatency };
        let means = means.filter(|_| !guessed);
        let because = OpenFigure { figure: Figure::Increase, reason };
        Some(Baseline {
            direction: t.direction,
            size_class: t.size_class.clone(),
            trial: t.trial,
            baseline_trial: same.trial,
            offered_fps: t.offered_fps,
            baseline_mean_ns: same.latency_mean_ns,
            latency_mean_ns: t.latency_mean_ns,
            baseline_p50_ns: same.latency_p50_ns,
            latency_p50_ns: t.latency_p50_ns,
            increase_pct: means.map(|(own, clear)| 100.0 * (own - clear) / clear),
            of_baseline_pct: means.map(|(own, clear)| 100.0 * own / clear),
            comparable: t.lost == 0 && same.lost == 0 && !guessed,
            undetermined: if means.is_some() { Vec::new() } else { vec![because] },
        })
    };
    trials.iter().filter_map(of).collect()
}
