//! Captures that do not reach over the whole run, counters that begin anew, SAs that carry a small part of the load, paths that become
//! longer: nothing that was not lost is called lost, and no time that is not known is stated.

use serde_json::Value;

use crate::bench::{Bench, Load};
use crate::support::items;
use crate::{agree, json, near, reason};

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

/// 2,000 packets, a restart of the counter, 4,000 packets: at once or after a silence.
#[test]
fn a_counter_that_begins_anew() {
    let load = |at: f64, seconds: f64| Load { at, fps: 900.0, seconds, size: 512 };
    for (name, loads) in
        [("between", vec![load(0.0, 1.5), load(3.0, 3.0)]), ("within", vec![load(0.0, 1.5), load(1.6, 3.0)])]
    {
        for constant in [false, true] {
            let bench = Bench { loads: loads.clone(), constant, restart: Some(1.55), ..Bench::default() };
            let made = bench.make(&format!("trials-restart-{name}-{constant}"));
            for args in [made.all(), made.near()] {
                let report = json(&args, &[]);
                no_accusation(&report);
                assert!(!items(&report, "trials").is_empty(), "{name}");
                for trial in items(&report, "trials") {
                    assert_eq!(trial["lost"], 0, "{name}: {trial}");
                }
            }
        }
    }
}

/// One flow over two SAs, the second with a small part of it; and a new SA that begins while the old one still sends.
#[test]
fn an_sa_with_a_small_part_of_the_load() {
    let loads = vec![
        Load { at: 0.0, fps: 500.0, seconds: 3.0, size: 512 },
        Load { at: 6.0, fps: 900.0, seconds: 3.0, size: 512 },
    ];
    for (name, second_sa) in [("all-along", (0.0, 23)), ("at-the-end", (8.5, 23))] {
        for constant in [false, true] {
            let bench = Bench { loads: loads.clone(), constant, second_sa: Some(second_sa), ..Bench::default() };
            let made = bench.make(&format!("trials-second-sa-{name}-{constant}"));
            for args in [made.all(), made.near()] {
                let report = json(&args, &[]);
                no_accusation(&report);
                agree(&report, "fwd", &made.truth);
                for trial in items(&report, "trials") {
                    assert_eq!((&trial["lost"], &trial["tunnelled"]), (&0.into(), &trial["sent"]), "{name}: {trial}");
                }
            }
        }
    }
}

/// One clock stamps all taps and the way to the exit takes 600 ms more from the second load on: no latency is stated that hides it.
#[test]
fn a_path_that_becomes_longer_between_loads() {
    for constant in [false, true] {
        let bench =
            Bench { loads: steps()[..2].to_vec(), constant, forward: Some((2.2, 600_000_000)), ..Bench::default() };
        let made = bench.make(&format!("trials-longer-{constant}"));
        let report = json(&made.all(), &[]);
        no_accusation(&report);
        agree(&report, "fwd", &made.truth);
        let trials = items(&report, "trials");
        near("p50", &trials[0]["latency_p50_ns"], made.truth[0].p50, 0.001);
        let longer = &trials[1];
        let why = reason(longer, "latency").unwrap_or_default();
        assert!(["clock-step", "no-idle-packet"].contains(&why), "{longer}");
        assert!(longer["latency_p50_ns"].is_null() && longer["latency_max_ns"].is_null(), "{longer}");
    }
}

/// Equal packets, an overload, and captures that end with the load: how many of the missing packets still waited is open.
#[test]
fn captures_that_end_before_the_queue_drained() {
    let loads = vec![
        Load { at: 0.0, fps: 900.0, seconds: 1.5, size: 512 },
        Load { at: 3.0, fps: 1_900.0, seconds: 1.5, size: 512 },
    ];
    let bench = Bench { loads, constant: true, room: 100, captured: [Some((0.0, 4.4995)); 3], ..Bench::default() };
    let report = json(&bench.make("trials-undrained").all(), &[]);
    no_accusation(&report);
    assert_eq!(items(&report, "trials").len(), 1, "{:#}", report["trials"]);
    let why = report["segments"][0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("captures end"), "{why}");
}

/// Captures that end behind the last load, while the queue still drains: packets inside are not lost, and none of them behind the tunnel.
#[test]
fn captures_that_end_while_the_queue_drains() {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 1.5, size: 512 };
    let loads = vec![load(0.0, 900.0), load(3.0, 1_300.0), load(6.0, 1_600.0), load(9.0, 1_900.0)];
    let until = |end: f64| Some((0.0, end));
    // The last load ends at 10.5 s; what waits then comes out up to 10.6 s.
    let ends = [
        ("exit", [None, None, until(10.55)]),
        ("all", [until(10.55); 3]),
        ("one-by-one", [until(10.57), until(10.56), until(10.55)]),
    ];
    for (name, captured) in ends {
        for constant in [false, true] {
            let bench = Bench { loads: loads.clone(), constant, room: 100, captured, ..Bench::default() };
            let made = bench.make(&format!("trials-draining-{name}-{constant}"));
            let mut taps = vec![made.all()];
            // Without the exit, the tunnel's tap is the last one.
            taps.extend((name != "exit").then(|| made.near()));
            for args in taps {
                let report = json(&args, &[]);
                no_accusation(&report);
                assert_eq!(items(&report, "trials").len(), 3, "{name} {constant}: {:#}", report["trials"]);
                let why = report["segments"][0]["why"].as_str().unwrap_or_default();
                assert!(why.contains("before the queue drained"), "{name} {constant}: {why}");
                agree(&report, "fwd", &made.truth[..3]);
            }
        }
    }
}

/// The tunnel's capture alone ends while the queue drains: what it does not show was in the tunnel all the same.
#[test]
fn a_tunnel_tap_whose_capture_ends_while_the_queue_drains() {
    let loads = vec![
        Load { at: 0.0, fps: 900.0, seconds: 1.5, size: 512 },
        Load { at: 3.0, fps: 1_900.0, seconds: 1.5, size: 512 },
    ];
    for constant in [false, true] {
        let captured = [None, Some((0.0, 4.55)), None];
        let bench = Bench { loads: loads.clone(), constant, room: 100, captured, ..Bench::default() };
        let made = bench.make(&format!("trials-tunnel-draining-{constant}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        let trial = &report["trials"][1];
        assert!(trial["tunnelled"].is_null() && trial["lost_before_tunnel"].is_null(), "{trial}");
        assert_eq!(reason(trial, "tunnelled"), Some("capture-cut"), "{trial}");
    }
}
