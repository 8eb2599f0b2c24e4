//! Captures that do not reach over the whole run: frames that are not in a capture are not lost.

use serde_json::Value;

use crate::bench::{Bench, Load};
use crate::support::items;
use crate::{json, near, reason};

type Windows = [Option<(f64, f64)>; 3];

fn steps() -> Vec<Load> {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 1.5, size: 512 };
    vec![load(0.0, 500.0), load(3.0, 900.0), load(6.0, 1_250.0)]
}

fn report(name: &str, constant: bool, captured: Windows) -> Value {
    let bench = Bench { loads: steps(), constant, captured, ..Bench::default() };
    json(&bench.make(&format!("trials-captured-{name}-{constant}")).all(), &[])
}

#[track_caller]
fn no_accusation(report: &Value) {
    let accused: Vec<&str> = items(report, "findings").iter().filter_map(|own| own["code"].as_str()).collect();
    assert_eq!(accused, ["trial-short"]);
}

#[test]
fn an_exit_whose_capture_begins_later() {
    for constant in [false, true] {
        let report = report("exit-late", constant, [None, None, Some((0.7, 99.0))]);
        no_accusation(&report);
        let sent: Vec<u64> = items(&report, "trials").iter().filter_map(|trial| trial["sent"].as_u64()).collect();
        assert_eq!(sent, [1_350, 1_875]);
        let why = report["segments"][0]["why"].as_str().unwrap_or_default();
        assert!(why.contains("may have begun later"), "{why}");
    }
}

#[test]
fn an_exit_whose_capture_ends_earlier() {
    for constant in [false, true] {
        let report = report("exit-ends", constant, [None, None, Some((0.0, 6.9))]);
        no_accusation(&report);
        assert_eq!(items(&report, "trials").len(), 2);
        let why = report["segments"][0]["why"].as_str().unwrap_or_default();
        assert!(why.contains("may have ended"), "{why}");
    }
}

#[test]
fn a_plain_tap_whose_capture_ends_earlier() {
    for constant in [false, true] {
        let report = report("plain-ends", constant, [Some((0.0, 6.9)), None, None]);
        no_accusation(&report);
        assert_eq!(report["trials"][1]["state"], "equal");
    }
}

#[test]
fn a_tunnel_tap_whose_capture_begins_later() {
    for constant in [false, true] {
        let report = report("tunnel-late", constant, [None, Some((3.7, 99.0)), None]);
        no_accusation(&report);
        for (trial, cut) in items(&report, "trials").iter().zip([true, true, false]) {
            let why = ["tunnel", "tunnelled", "sequence_lost", "device_latency"].map(|figure| reason(trial, figure));
            assert_eq!(why, [cut.then_some("capture-cut"); 4], "{trial}");
            assert_eq!(trial["tunnelled"].is_null(), cut, "{trial}");
        }
    }
}

/// All captures begin or end within a trial: what can be said of the rest of it is.
#[test]
fn captures_that_begin_and_end_within_trials() {
    for constant in [false, true] {
        let begun = report("begun", constant, [Some((0.7, 99.0)); 3]);
        no_accusation(&begun);
        near("offered", &begun["trials"][0]["offered_fps"], 500.0, 0.003);
        let ended = report("ended", constant, [Some((0.0, 6.9)); 3]);
        no_accusation(&ended);
        assert_eq!(items(&ended, "trials").iter().filter(|trial| trial["state"] == "equal").count(), 2);
        let clean = report("ended-clean", constant, [Some((0.0, 3.9)); 3]);
        no_accusation(&clean);
    }
}
