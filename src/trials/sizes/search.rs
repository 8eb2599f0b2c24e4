//! The search for the equilibrium throughput (Tisovsky, figure 10): steps of one length until the verdict changes, then halves.

use crate::model::trials::{Direction, Kind, Phase, Search, State, Trial, Ways};
use crate::transform::size::ethernet::PREAMBLE_AND_IFG;
use crate::trials::figures::load::Headers;
use crate::trials::settings::{RateLayer, SearchSettings};

/// A load of at most this share of the step is zero, which every device forwards whole.
const ZERO: f64 = 0.01;
/// First step of a search that begins at an estimate, as a share of the estimate.
const STEP: f64 = 0.02;

/// Where a search stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// Whether it has ended.
    pub done: bool,
    /// Iteration: the last one, or the next.
    pub iteration: u64,
    /// The load to try next.
    pub next: Option<f64>,
    /// The step.
    pub step: f64,
    /// Which part of the search it is in.
    pub phase: Phase,
    /// Loads that were tried, zero not counted.
    pub used: u64,
    /// Highest load that was forwarded whole.
    pub best: Option<f64>,
}

/// Follows a search. `measure` is asked for each load with its number, zero aside: the load as it was measured and whether it was
/// forwarded whole, or `None` where it was not tried yet.
pub fn follow(settings: &SearchSettings, mut measure: impl FnMut(u64, f64) -> Option<(f64, bool)>) -> Standing {
    let SearchSettings { start_bps, step_bps, tolerance, limit } = *settings;
    let (mut load, mut step) = (start_bps, step_bps);
    let (mut before, mut near): (Option<bool>, bool) = (None, false);
    let (mut best, mut used): (Option<f64>, u64) = (None, 0);
    let mut iteration = 0;
    while iteration < limit {
        iteration += 1;
        let fine;
        if load <= ZERO * step {
            (load, fine) = (0.0, true);
        } else if let Some(measured) = measure(used, load) {
            (load, fine) = measured;
            used += 1;
        } else {
            let phase = if near { Phase::Binary } else { Phase::Step };
            return Standing { done: false, iteration, next: Some(load), step, phase, used, best };
        }
        near = near || before.is_some_and(|before| before != fine);
        if near {
            step /= 2.0;
        }
        if fine && load > 0.0 {
            best = Some(best.unwrap_or(0.0).max(load));
        }
        load = if fine { load + step } else { load - step };
        before = Some(fine);
        if step < tolerance * load {
            break;
        }
    }
    Standing { done: true, iteration, next: None, step, phase: Phase::Done, used, best }
}

fn load_of(trial: &Trial, layer: RateLayer) -> Option<f64> {
    match layer {
        RateLayer::L1 => trial.offered_l1_bps,
        RateLayer::L2 => trial.offered_l2_bps,
        RateLayer::L3 => trial.offered_l3_bps,
        RateLayer::L4 => trial.offered_l4_bps,
    }
}

/// Octets of a packet at a layer.
fn octets(size: f64, layer: RateLayer, headers: Headers) -> f64 {
    let l2 = f64::from(headers.l2(size as u16));
    match layer {
        RateLayer::L1 => l2 + PREAMBLE_AND_IFG as f64,
        RateLayer::L2 => l2,
        RateLayer::L3 => size,
        RateLayer::L4 => size - f64::from(headers.head.unwrap_or(0)),
    }
}

/// The searches of all sizes, each over its trials in order of time. From the third single size on a search begins at the estimate
/// that the first two give (Tisovsky, equation 3), with steps of 2 %.
pub(crate) fn searches(
    trials: &[Trial],
    settings: &SearchSettings,
    layer: RateLayer,
    equal: f64,
    headers: Headers,
) -> Vec<Search> {
    let mut keys: Vec<(Direction, Ways, &str)> = Vec::new();
    for trial in trials.iter().filter(|t| t.kind == Kind::Trial) {
        let key = (trial.direction, trial.ways, trial.size_class.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut rows: Vec<Search> = Vec::new();
    for (direction, ways, class) in keys {
        let same = |t: &&Trial| (t.direction, t.ways, t.size_class.as_str()) == (direction, ways, class);
        // A stall says nothing of the load.
        let made: Vec<&Trial> =
            trials.iter().filter(|t| t.kind == Kind::Trial && t.state != State::Stalled).filter(same).collect();
        let per_packet = |load: f64, size: f64| octets(size, layer, headers) * 8.0 / load;
        let found: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| (row.direction, row.ways) == (direction, ways))
            .filter_map(|row| {
                let size: f64 = row.size_class.parse().ok()?;
                Some((size, per_packet(row.equilibrium_load?, size)))
            })
            .collect();
        let estimate = match (found.as_slice(), class.parse::<f64>()) {
            ([(x, tx), (y, ty), ..], Ok(size)) if (x - y).abs() > 0.0 => {
                let time = tx + (ty - tx) / (y - x) * (size - x);
                Some(octets(size, layer, headers) * 8.0 / time).filter(|load| load.is_finite() && *load > 0.0)
            }
            _ => None,
        };
        let own =
            estimate.map_or(*settings, |load| SearchSettings { start_bps: load, step_bps: STEP * load, ..*settings });
        let standing = follow(&own, |used, _| {
            let trial = made.get(usize::try_from(used).ok()?)?;
            let fine = trial.lost == 0 && trial.ratio.is_some_and(|ratio| ratio >= 1.0 - equal);
            Some((load_of(trial, layer)?, fine))
        });
        let last = usize::try_from(standing.used).ok().and_then(|used| made.get(used.checked_sub(1)?));
        let open = last.filter(|t| t.state == State::Undetermined && !standing.done);
        let mean = made.first().and_then(|t| t.inner_bytes);
        let exact = class.parse::<f64>().ok().or(mean);
        rows.push(Search {
            direction,
            ways,
            size_class: class.to_owned(),
            rate_layer: layer.name().into(),
            start_bps: own.start_bps,
            step_bps: own.step_bps,
            done: standing.done,
            iteration: standing.iteration,
            next_load: standing.next,
            next_fps: standing.next.zip(exact).map(|(load, size)| load / (8.0 * octets(size, layer, headers))),
            repeat_load: open.and_then(|t| load_of(t, layer)),
            step: standing.step,
            phase: standing.phase,
            trials_used: standing.used,
            equilibrium_load: standing.best,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations of a search on a device that forwards `actual` whole.
    fn iterations(start: f64, step: f64, actual: f64) -> u64 {
        let settings = SearchSettings { start_bps: start, step_bps: step, tolerance: 0.002, limit: 16 };
        follow(&settings, |_, load| Some((load, load <= actual))).iteration
    }

    #[test]
    fn a_search_that_begins_far_off_takes_more_iterations() {
        assert!(iterations(50e6, 25e6, 10e6) > iterations(10.1e6, 0.2e6, 10e6));
        let settings = SearchSettings { start_bps: 2.0, step_bps: 1.0, tolerance: 0.002, limit: 16 };
        let first = follow(&settings, |_, _| None);
        assert_eq!((first.done, first.iteration, first.next, first.phase), (false, 1, Some(2.0), Phase::Step));
    }
}
