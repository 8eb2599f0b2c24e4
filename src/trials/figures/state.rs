//! What the device did with each load.

use std::collections::{BTreeMap, BTreeSet};

use super::Measured;
use super::fit::rank;
use super::stamps::without_waiting;
use crate::model::trials::{Direction, Figure, Kind, OpenFigure, Reason, State, Trial, Ways};
use crate::trials::limits::{CLOCKS_APART, FORWARD_NS, STAMPS_NS, WAITING, WAYS};

/// What trials must share to be compared.
pub(crate) type Group = (Direction, Ways, String);

/// The group of a trial.
pub(crate) fn group(trial: &Trial) -> Group {
    (trial.direction, trial.ways, trial.size_class.clone())
}

/// Judges all trials of a run. `equal`: by which share the forwarded rate may be below the offered one.
pub(crate) fn judge(mut rows: Vec<Measured>, equal: f64) -> Vec<Trial> {
    shifted(&mut rows);
    let mut least: BTreeMap<(Direction, String), i64> = BTreeMap::new();
    for row in &rows {
        if let Some(min) = row.trial.latency_min_ns {
            let own = least.entry((row.trial.direction, row.trial.size_class.clone())).or_insert(min);
            *own = (*own).min(min);
        }
    }
    // Where every trial of a size began with a queue, its least latency is not that of an idle device.
    let met_idle: BTreeSet<(Direction, String)> = rows
        .iter()
        .filter(|row| (row.inside as f64) < WAITING && row.trial.latency_min_ns.is_some())
        .map(|row| (row.trial.direction, row.trial.size_class.clone()))
        .collect();
    let ways: Vec<Ways> = rows.iter().map(|row| ways(row, &rows)).collect();
    let open: Vec<([bool; 2], [f64; 2])> = rows.iter().map(|row| (row.open_queue, row.adrift)).collect();
    let mut trials: Vec<Trial> = Vec::with_capacity(rows.len());
    for (row, ways) in rows.into_iter().zip(ways) {
        let key = (row.trial.direction, row.trial.size_class.clone());
        let least = least.get(&key).copied();
        trials.push(alone(row, ways, (least, met_idle.contains(&key)), equal));
    }
    together(&mut trials);
    for (trial, (open, adrift)) in trials.iter_mut().zip(open) {
        if trial.state != State::Overloaded {
            trial.buffer_frames = None;
        }
        let reason = if open[0] { Reason::QueueUnclear } else { Reason::NotOverloaded };
        without_queue(trial, open);
        if trial.buffer_frames.is_none() {
            trial.undetermined.push(OpenFigure { figure: Figure::Buffer, reason });
        }
        if trial.state == State::Undetermined {
            let reason = undecided(trial);
            trial.undetermined.push(OpenFigure { figure: Figure::State, reason });
        }
        without_times(trial, adrift);
    }
    trials
}

/// Takes away times that a drift may make wrong. By how much they grow within a trial is far more than any drift.
fn without_times(trial: &mut Trial, [ends, device]: [f64; 2]) {
    let reason = Reason::DependsOnOffset;
    // What may be wrong by half of it says nothing.
    let is_wrong = |by: f64, late: i64| by > (CLOCKS_APART as f64).max(late as f64 / 2.0);
    // Nor does what is less than no time by more than the clocks may be wrong.
    let is_negative = |by: f64, late: Option<i64>| by > 0.0 && late.is_some_and(|late| (late as f64) < -by - STAMPS_NS);
    if trial.device_latency_p50_ns.is_some_and(|late| is_wrong(device, late) || is_negative(device, Some(late)))
        && trial.device_latency_p50_ns.take().is_some()
    {
        trial.undetermined.push(OpenFigure { figure: Figure::DeviceLatency, reason });
    }
    let negative = is_negative(ends, trial.latency_min_ns);
    if !negative && trial.latency_p50_ns.or(trial.latency_min_ns).is_none_or(|late| !is_wrong(ends, late)) {
        return;
    }
    without_waiting(trial);
    (trial.latency_min_ns, trial.waiting_frames, trial.waited_frames) = (None, None, None);
    trial.latency_modelled = false;
    trial.undetermined.retain(|open| open.figure != Figure::Latency);
    trial.undetermined.push(OpenFigure { figure: Figure::Latency, reason });
}

/// Takes away what a full queue would make of the losses, where it is in doubt that one did: which packets waited how long. What was lost,
/// how long the device sent on behind the load and the first packet's time on the way are known without.
fn without_queue(trial: &mut Trial, [open, device]: [bool; 2]) {
    if device && trial.device_latency_p50_ns.take().is_some() {
        trial.undetermined.push(OpenFigure { figure: Figure::DeviceLatency, reason: Reason::QueueUnclear });
    }
    if !open || trial.latency_max_ns.is_none() {
        return;
    }
    without_waiting(trial);
    (trial.latency_slope_ppm, trial.slope_error_ppm) = (None, None);
    (trial.waiting_frames, trial.waited_frames, trial.buffer_frames) = (None, None, None);
    (trial.ratio, trial.backlog_max_frames, trial.latency_modelled) = (None, None, false);
    let figures = [Figure::Latency, Figure::Ratio, Figure::Backlog];
    trial.undetermined.extend(figures.into_iter().map(|figure| OpenFigure { figure, reason: Reason::QueueUnclear }));
    // A queue that may have been longer is no bad link.
    if trial.state == State::Lossy {
        trial.state = State::Undetermined;
    }
}

/// Why the state of a trial is open: it has no latency, the growth of its queue is within the error, or it lost packets and nothing tells a
/// full queue from a bad link.
fn undecided(trial: &Trial) -> Reason {
    match trial.undetermined.iter().find(|open| open.figure == Figure::Latency) {
        Some(open) => open.reason,
        None if trial.lost == 0 => Reason::TooFewFrames,
        None => Reason::NoIdlePacket,
    }
}

/// Takes away latencies that no idle device explains: of a trial that met one, not even the fastest packet was as fast as packets of
/// others were.
fn shifted(rows: &mut [Measured]) {
    let mut least: BTreeMap<(Direction, String), i64> = BTreeMap::new();
    let key = |trial: &Trial| (trial.direction, trial.size_class.clone());
    for row in rows.iter() {
        if let Some(idle) = row.idle {
            let own = least.entry(key(&row.trial)).or_insert(idle);
            *own = (*own).min(idle);
        }
    }
    for row in rows {
        let usual = least.get(&key(&row.trial)).copied();
        if row.idle.zip(usual).is_some_and(|(idle, usual)| idle - usual >= FORWARD_NS) {
            row.without_latency(Reason::NoIdlePacket);
        }
    }
}

/// Whether the other direction is loaded during a trial, too.
fn ways(row: &Measured, rows: &[Measured]) -> Ways {
    let own = &row.trial;
    let other = rows.iter().map(|row| &row.trial).find(|t| t.trial == own.trial && t.direction != own.direction);
    let Some(other) = other else { return row.mate.unwrap_or(Ways::One) };
    let near = own.offered_fps.zip(other.offered_fps).is_some_and(|(a, b)| (a / b - 1.0).abs() <= WAYS);
    if near && own.size_class == other.size_class { Ways::Both } else { Ways::BothUnequal }
}

/// A trial by its own figures. `least`: the least latency of its size, and whether that is one of an idle device.
fn alone(row: Measured, ways: Ways, (least, met_idle): (Option<i64>, bool), equal: f64) -> Trial {
    let Measured { mut trial, late, lost_at, shared, .. } = row;
    trial.ways = ways;
    let fps = trial.forwarded_fps.unwrap_or(0.0);
    let wait = |ns: Option<i64>| ns.zip(least).map(|(ns, least)| (ns - least) as f64 / 1e9 * fps);
    trial.waiting_frames = wait(trial.latency_p50_ns);
    trial.waited_frames = wait(trial.latency_max_ns);
    let (Some(ratio), Some(slope), Some(error)) = (trial.ratio, trial.latency_slope_ppm, trial.slope_error_ppm) else {
        // Without latency a queue that grows does not show.
        let silent = trial.received == 0 && trial.sent > 0;
        trial.state = if silent { State::Silent } else { State::Undetermined };
        return trial;
    };
    let (slope, error) = (slope / 1e6, error / 1e6);
    // What may be the loss of the load before or behind is no verdict on this one.
    let lost = if trial.lost <= trial.lost_error { 0 } else { trial.lost };
    trial.state = if trial.stall_seconds.unwrap_or(0.0) > 0.0 {
        State::Stalled
    } else if lost == 0 {
        if (ratio - (1.0 - equal)).abs() <= 3.0 * error {
            State::Undetermined
        } else if ratio >= 1.0 - equal {
            State::Equal
        } else {
            State::Overloaded
        }
    } else if trial.waiting_frames.is_none() && slope <= equal.max(3.0 * error) {
        // Whether packets waited, the time stamps do not tell.
        State::Undetermined
    } else if slope <= equal.max(3.0 * error) && trial.waiting_frames.unwrap_or(0.0) < WAITING && !shared {
        if met_idle { State::Lossy } else { State::Undetermined }
    } else {
        State::Overloaded
    };
    if let Some(lost_at) = lost_at.filter(|_| trial.kind == Kind::Trial) {
        let mut behind: Vec<i64> = late.iter().filter(|(t, _)| *t >= lost_at).map(|(_, late)| *late).collect();
        behind.sort_unstable();
        trial.buffer_frames = wait(rank(&behind, 0.99));
    }
    trial
}

/// What others must know of a trial: packets lost, offered and forwarded rate.
type Seen = (Group, Kind, State, u64, Option<f64>, Option<f64>);

/// Trials by others of their direction, ways and size.
fn together(trials: &mut [Trial]) {
    let seen: Vec<Seen> =
        trials.iter().map(|t| (group(t), t.kind, t.state, t.lost, t.offered_fps, t.forwarded_fps)).collect();
    for trial in trials.iter_mut().filter(|trial| trial.kind == Kind::Trial) {
        let own = group(trial);
        let others = || seen.iter().filter(|(group, kind, ..)| *group == own && *kind == Kind::Trial);
        let Some(offered) = trial.offered_fps else { continue };
        match trial.state {
            // Without latency it stays open.
            State::Undetermined if trial.ratio.is_some() && trial.lost <= trial.lost_error => {
                let more = |(_, _, state, _, _, forwarded): &&(_, _, State, _, _, Option<f64>)| {
                    *state != State::Stalled && forwarded.unwrap_or(0.0) >= 1.01 * offered
                };
                if others().any(|other| more(&other)) {
                    trial.state = State::Equal;
                }
            }
            State::Lossy => {
                let full = others().any(|(_, _, _, lost, other, forwarded)| {
                    let (Some(other), Some(forwarded), Some(own)) = (*other, *forwarded, trial.forwarded_fps) else {
                        return false;
                    };
                    let high_lost = if other > offered { *lost > 0 } else { true };
                    let apart = other.max(offered) >= 1.05 * other.min(offered);
                    high_lost && apart && forwarded > 0.0 && (own / forwarded - 1.0).abs() <= 0.01
                });
                if full {
                    trial.state = State::Overloaded;
                }
            }
            _ => {}
        }
    }
}
