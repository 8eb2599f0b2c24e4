//! `spiglass trials` on the binary: made-up benches with their truth, shared ones, real kernels, and bad input.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod bench;
mod beside;
mod both_ways;
mod carried;
mod clocks;
mod device;
mod documents;
mod doubts;
mod drifts;
mod flows;
mod forms;
mod made;
mod mistaken;
mod others;
mod queues;
mod quirks;
mod random;
mod said;
mod shared;
mod undetermined;

use bench::Truth;
use serde_json::Value;
use support::{Run, items, spiglass};

/// Runs with more arguments.
pub fn run(args: &[String], more: &[&str]) -> Run {
    let all: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    spiglass(&all)
}

/// The JSON of a run that succeeds.
pub fn json(args: &[String], more: &[&str]) -> Value {
    run(args, more).expect(0).json()
}

/// Whether a figure is what it should be, to a share of it.
#[track_caller]
pub fn near(what: &str, found: &Value, want: f64, share: f64) {
    let got = found.as_f64().unwrap_or_else(|| panic!("{what} is {found}, not about {want}"));
    assert!((got - want).abs() <= share * want.abs(), "{what} is {got}, not {want}");
}

/// Trials of a direction against the truth.
#[track_caller]
pub fn agree(report: &Value, direction: &str, truth: &[Truth]) {
    let trials: Vec<&Value> = items(report, "trials").iter().filter(|trial| trial["direction"] == direction).collect();
    assert_eq!(trials.len(), truth.len(), "{:#?}", report["trials"]);
    for (trial, truth) in trials.iter().zip(truth) {
        assert_eq!(trial["sent"], truth.sent, "{trial}");
        let (received, got) = (truth.received as f64, trial["received"].as_f64().unwrap_or(-1.0));
        assert!((got - received).abs() <= 2.0_f64.max(0.002 * received), "received {got}, not {received}: {trial}");
        near("offered_fps", &trial["offered_fps"], truth.fps, 0.003);
    }
}

/// The reason why a figure is null.
pub fn reason<'v>(row: &'v Value, figure: &str) -> Option<&'v str> {
    let reasons = row["undetermined"].as_array()?;
    reasons.iter().find(|open| open["figure"] == figure)?["reason"].as_str()
}
