//! The answer in one paragraph.

use std::collections::BTreeMap;

use super::{size_of, way};
use crate::model::trials::{Bound, Figure, Kind, Reason, State, Throughput, Trial, TrialsReport, Ways};
use crate::report::words::number::{count as counted, decimal};

pub(super) fn sentences(report: &TrialsReport) -> Vec<String> {
    let mut sentences = Vec::new();
    let answers: Vec<String> = report.throughput.iter().map(of).collect();
    if !answers.is_empty() {
        sentences.push(format!("{}.", answers.join("; ")));
    }
    let transfers: Vec<String> = report
        .transfers
        .iter()
        .take(3)
        .filter_map(|transfer| {
            let rate = decimal(transfer.goodput_l4_bps? / 1e6, 3);
            Some(format!(
                "TCP transfer of {} bytes in {} s: {rate} Mbit/s",
                transfer.payload_bytes,
                decimal(transfer.seconds?, 3)
            ))
        })
        .collect();
    if !transfers.is_empty() {
        sentences.push(format!("{}.", transfers.join("; ")));
    }
    if answers.is_empty() && transfers.is_empty() {
        let why = if report.trials.is_empty() { "No trial was found.".to_owned() } else { no_throughput(report) };
        sentences.push(why);
    }
    sentences
}

/// Why no trial tells a throughput: `No throughput: shorter than --min-seconds (bursts): 3 loads; stalled: 1 load.`
fn no_throughput(report: &TrialsReport) -> String {
    let open =
        |trial: &Trial, figure| trial.undetermined.iter().find(|open| open.figure == figure).map(|own| own.reason);
    let why = |trial: &Trial| match trial.state {
        _ if trial.kind == Kind::Burst => "shorter than --min-seconds (bursts)",
        State::Stalled => "stalled",
        State::Silent => "forwarded nothing",
        _ if open(trial, Figure::Forwarded) == Some(Reason::AssociationUnclear) => "more packets out than in",
        _ if trial.ways == Ways::BothUnequal => "different loads in both directions",
        _ if trial.pause_seconds.is_some() => "pauses within the load",
        _ => "no rate",
    };
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    report.trials.iter().for_each(|trial| *reasons.entry(why(trial)).or_default() += 1);
    let all: Vec<String> =
        reasons.into_iter().map(|(why, number)| format!("{why}: {}", counted(number, "load"))).collect();
    format!("No throughput: {}.", all.join("; "))
}

/// `512-byte packets: 1 180/s without loss (equilibrium, between 1 180 and 1 200 offered)`.
fn of(row: &Throughput) -> String {
    let size = format!("{}{}", size_of(&row.size_class), way(row.direction, row.ways));
    let [low, high] = row.equilibrium_bracket_fps;
    let fps = |fps: f64| decimal(fps, if fps < 1_000.0 { 1 } else { 0 });
    match (row.equilibrium, low, high) {
        (Some(rate), Some(low), Some(high)) => format!(
            "{size}: {}/s without loss (equilibrium, between {} and {} offered)",
            fps(rate.fps),
            fps(low),
            fps(high)
        ),
        (Some(rate), _, _) => {
            format!("{size}: at least {}/s without loss (equilibrium, no higher load failed)", fps(rate.fps))
        }
        (None, _, Some(high)) if row.equilibrium_basis == Bound::AtMost => {
            let estimate = row
                .service_fps
                .map_or_else(String::new, |rate| format!("; overloaded, the device served {}/s", fps(rate)));
            format!("{size}: no load was forwarded whole, the lowest was {}/s{estimate}", fps(high))
        }
        _ => match row.rfc1242 {
            Some(rate) => {
                format!("{size}: {}/s without loss; whether a queue grew is not determined", fps(rate.fps))
            }
            None => format!("{size}: throughput not determined"),
        },
    }
}
