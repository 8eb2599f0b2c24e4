//! Devices, testers and taps that are not as they should be: no figure is false, and nothing is said to be wrong that is not.

use crate::bench::{Bench, Left, Load};
use crate::support::items;
use crate::{agree, json, near, reason};

/// Three loads around 1,000 packets a second, the highest with loss.
fn steps() -> Vec<Load> {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 1.5, size: 512 };
    vec![load(0.0, 500.0), load(3.0, 900.0), load(6.0, 1_250.0)]
}

fn codes(report: &serde_json::Value) -> Vec<&str> {
    let codes = items(report, "findings").iter().filter_map(|finding| finding["code"].as_str());
    codes.filter(|code| *code != "trial-short").collect()
}

/// A clock that is set forward within a trial voids the latency of that trial alone; no device stalled, and nothing was lost.
#[test]
fn clocks_that_are_set_forward() {
    for (name, constant, exit, seconds) in [
        ("exit", false, true, 0.3),
        ("exit-constant", true, true, 0.3),
        ("exit-long", false, true, 0.9),
        ("plain", false, false, 0.3),
    ] {
        let step = Some((3.7, (seconds * 1e9) as u64));
        let (forward, forward_in) = if exit { (step, None) } else { (None, step) };
        let made = Bench { loads: steps(), constant, forward, forward_in, ..Bench::default() }
            .make(&format!("trials-forward-{name}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        assert!(codes(&report).is_empty(), "{name}: {:?}", codes(&report));
        let trials = items(&report, "trials");
        assert_eq!(reason(&trials[1], "latency"), Some("clock-step"), "{name}: {}", trials[1]);
        assert_eq!(reason(&trials[1], "ratio"), Some("clock-step"), "{name}");
        assert!(trials[1]["latency_p50_ns"].is_null() && trials[1]["lost"] == 0, "{name}");
        near("before", &trials[0]["latency_p50_ns"], made.truth[0].p50, 0.01);
        near("after", &trials[2]["latency_p50_ns"], made.truth[2].p50, 0.06);
    }
}

/// What came out was in the tunnel, whether the tap there saw it or not.
#[test]
fn a_tunnel_tap_that_misses_frames_loses_no_packets() {
    for constant in [false, true] {
        let bench = Bench { loads: steps(), constant, missed: [None, Some(97), None], ..Bench::default() };
        let made = bench.make(&format!("trials-missed-{constant}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        assert!(codes(&report).is_empty(), "{:?}", codes(&report));
        for trial in items(&report, "trials") {
            assert!(trial["tunnelled"].as_u64() < trial["received"].as_u64(), "{trial}");
            assert_eq!((&trial["lost_before_tunnel"], &trial["lost_behind_tunnel"]), (&trial["lost"], &0.into()));
            // A number that the tap missed is not lost.
            assert!(trial["sequence_lost"].as_u64().is_none_or(|own| Some(own) <= trial["lost"].as_u64()), "{trial}");
            // The rate there was another one.
            assert_eq!(reason(trial, "tunnel"), Some("association-unclear"), "{trial}");
        }
    }
}

/// A device that changes packets loses none, and what it makes of them is not known to be the same.
#[test]
fn packets_that_leave_as_others_are_not_lost() {
    for (left, word) in [(Left::Translated, "another address"), (Left::Fragments, "fragments")] {
        for constant in [false, true] {
            let bench = Bench { loads: steps(), left, constant, ..Bench::default() };
            let made = bench.make(&format!("trials-left-{word}-{constant}"));
            let report = json(&made.all(), &[]);
            assert!(items(&report, "trials").is_empty(), "{:#}", report["trials"]);
            assert_eq!(items(&report, "segments").len(), steps().len());
            for segment in items(&report, "segments") {
                assert!(segment["why"].as_str().is_some_and(|why| why.contains(word)), "{segment}");
            }
        }
    }
}

/// Of a load that goes on the first tap shows the beginning: how many packets were lost of it is not known.
#[test]
fn a_first_tap_that_ends_within_a_load() {
    for constant in [false, true] {
        let loads = steps();
        let last = loads.last().expect("a load");
        let until = (0.0, last.at + last.seconds / 2.0);
        let bench = Bench { loads: loads.clone(), constant, captured: [Some(until), None, None], ..Bench::default() };
        let made = bench.make(&format!("trials-first-ends-{constant}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            assert_eq!(items(&report, "trials").len(), loads.len() - 1, "{:#}", report["trials"]);
            let why = report["segments"][0]["why"].as_str().expect("why");
            assert!(why.contains("its capture ended"), "{why}");
        }
    }
}

#[test]
fn a_tap_that_shows_frames_twice_is_not_swapped() {
    let made = Bench { loads: steps(), twice: [false, false, true], ..Bench::default() }.make("trials-twice");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    assert!(codes(&report).is_empty(), "{:?}", codes(&report));
}

/// A device that numbers packets as it takes them and sends some later: numbers say which is which.
#[test]
fn packets_that_overtake_each_other() {
    let bench = Bench { loads: steps(), constant: true, late: Some((7, 3_500_000)), delay: 0, ..Bench::default() };
    let made = bench.make("trials-late");
    let report = json(&made.near(), &[]);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth).take(2) {
        near("p50", &trial["latency_p50_ns"], truth.p50, 0.001);
        near("max", &trial["latency_max_ns"], truth.max, 0.001);
    }
}

/// What is lost without a queue delays nothing.
#[test]
fn packets_that_are_lost_in_bursts() {
    let bench = Bench { loads: steps(), constant: true, outage: Some((3.5, 3.52)), ..Bench::default() };
    let made = bench.make("trials-outage");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let trial = &items(&report, "trials")[1];
    assert_eq!((trial["state"].as_str(), &trial["lost"]), (Some("lossy"), &18.into()));
    near("max", &trial["latency_max_ns"], made.truth[1].max, 0.001);
    assert_eq!(codes(&report), ["trial-lossy"]);
}

/// Ports at random are one load.
#[test]
fn more_flows_than_are_told_apart() {
    let loads = vec![Load { at: 0.0, fps: 3_000.0, seconds: 2.0, size: 128 }];
    let made = Bench { loads, ports: 6_000, per_packet: 100_000, ..Bench::default() }.make("trials-ports-many");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    assert_eq!(report["exactness"], "degraded");
}

/// Of more packets than are kept, counts and rates stay those of all.
#[test]
fn a_part_of_the_records() {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 2.0, size: 256 };
    let loads = || vec![load(0.0, 5_000.0), load(3.0, 9_000.0), load(6.0, 12_500.0)];
    for (name, constant) in [("content", false), ("order", true)] {
        let bench = Bench { loads: loads(), constant, per_packet: 100_000, room: 200, ..Bench::default() };
        let made = bench.make(&format!("trials-thinned-{name}"));
        let whole = json(&made.all(), &[]);
        let part = json(&made.all(), &["--records", "12000"]);
        assert_eq!((&whole["exactness"], &part["exactness"]), (&"exact".into(), &"degraded".into()));
        agree(&part, "fwd", &made.truth);
        for (own, all) in items(&part, "trials").iter().zip(items(&whole, "trials")) {
            for count in [
                "sent",
                "received",
                "lost",
                "tunnelled",
                "lost_before_tunnel",
                "sequence_lost",
                "state",
                "size_class",
                "basis",
            ] {
                assert_eq!(own[count], all[count], "{name}: {count}");
            }
            let figure = |figure: &str| all[figure].as_f64().expect("a figure");
            for rate in
                ["offered_fps", "forwarded_fps", "tunnel_fps", "offered_l1_bps", "forwarded_l4_bps", "tunnel_l1_bps"]
            {
                near(rate, &own[rate], figure(rate), 0.002);
            }
            for late in ["latency_p50_ns", "latency_mean_ns"] {
                near(late, &own[late], figure(late), 0.06);
            }
            near("seconds", &own["seconds"], figure("seconds"), 1e-9);
        }
        let buffer = |report: &serde_json::Value| report["throughput"][0]["buffer_frames"].as_f64().expect("a buffer");
        assert!((buffer(&part) - buffer(&whole)).abs() < 0.08 * buffer(&whole), "{name}");
    }
}
