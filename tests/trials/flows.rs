//! Several flows, queues and directions at once, and loads without a pause between them: figures are those of each.

use serde_json::Value;

use crate::bench::{Bench, Load};
use crate::support::items;
use crate::{agree, json, near, reason};

const fn load(at: f64, fps: f64) -> Load {
    Load { at, fps, seconds: 1.5, size: 512 }
}

fn steps(fps: [f64; 3]) -> Vec<Load> {
    fps.iter().enumerate().map(|(k, fps)| load(3.0 * k as f64, *fps)).collect()
}

fn codes(report: &Value) -> Vec<&str> {
    let codes = items(report, "findings").iter().filter_map(|finding| finding["code"].as_str());
    codes.filter(|code| !["trial-short", "trial-carried-in"].contains(code)).collect()
}

/// Latencies of all trials as they were.
#[track_caller]
fn late(report: &Value, truth: &[crate::bench::Truth]) {
    for (trial, truth) in items(report, "trials").iter().zip(truth) {
        let share = if truth.sent > truth.received { 0.06 } else { 0.01 };
        near("p50", &trial["latency_p50_ns"], truth.p50, share);
        near("max", &trial["latency_max_ns"], truth.max, share);
    }
}

/// Of equal packets of two flows, one of which takes longer, each is late by its own way.
#[test]
fn flows_whose_ways_part_behind_the_queue() {
    for (name, ways, constant) in
        [("near", vec![0, 3_300_000], true), ("far", vec![0, 45_000_000], true), ("content", vec![0, 3_300_000], false)]
    {
        let loads = steps([400.0, 800.0, 1_250.0]);
        let bench = Bench { loads, constant, ports: 2, ways, wobble: 3, ..Bench::default() };
        let made = bench.make(&format!("trials-flows-{name}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        late(&report, &made.truth);
        for trial in &items(&report, "trials")[..2] {
            near("device", &trial["device_latency_p50_ns"], 1_000_000.0, 0.03);
        }
    }
}

/// A queue of each flow: packets of one overtake those of another.
#[test]
fn processors_with_queues_of_their_own() {
    let bench = Bench {
        loads: steps([1_500.0, 3_000.0, 4_600.0]),
        constant: true,
        ports: 4,
        cores: 4,
        wobble: 3,
        ..Bench::default()
    };
    let made = bench.make("trials-cores");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    late(&report, &made.truth);
    let states: Vec<&str> = items(&report, "trials").iter().filter_map(|own| own["state"].as_str()).collect();
    assert_eq!(states, ["equal", "equal", "overloaded"]);
}

/// Loads of both directions that begin at the same time: what passes the tunnel's tap is of the way whose times it follows.
#[test]
fn both_directions_that_begin_at_once() {
    for (name, one_clock) in [("one-clock", true), ("clocks", false)] {
        let bench = |reverse: bool, per_packet: u64, shift: f64, times: f64| {
            let mut loads = steps([300.0 * times, 450.0 * times, 700.0 * times]);
            loads.iter_mut().for_each(|own| own.at += shift);
            // The way back is longer behind the tap than the way there.
            let delay = if reverse { 2_000_000 } else { 200_000 };
            Bench { loads, constant: true, reverse, per_packet, delay, wobble: 4, ..Bench::default() }
        };
        for times in [1.0, 1.5] {
            let (there, back) = (bench(false, 1_200_000, 0.0, 1.0), bench(true, 250_000, 0.000_037, times));
            let (made, truth) = there.with(&back, &format!("trials-at-once-{name}-{times}"));
            let args = if one_clock { made.all() } else { made.clocks() };
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            agree(&report, "rev", &truth);
            for trial in items(&report, "trials") {
                let (own, device) =
                    if trial["direction"] == "fwd" { (&made.truth, 1_200_000.0) } else { (&truth, 250_000.0) };
                let own = own.iter().find(|own| own.sent == trial["sent"]).expect("a load");
                assert_eq!(trial["tunnelled"], own.tunnelled, "{trial}");
                near("tunnel", &trial["tunnel_fps"], own.fps, 0.003);
                if one_clock {
                    near("device", &trial["device_latency_p50_ns"], device, 0.05);
                }
            }
        }
    }
}

/// What is lost in one load is not lost in the next, which the queue joins to it.
#[test]
fn loads_without_a_pause_lose_their_own() {
    let orders = [
        [700.0, 950.0, 1_250.0, 600.0, 1_180.0, 500.0],
        [1_400.0, 700.0, 1_250.0, 950.0, 500.0, 1_180.0],
        [1_180.0, 950.0, 1_400.0, 500.0, 1_250.0, 700.0],
    ];
    for (k, order) in orders.into_iter().enumerate() {
        for (room, wobble, delay) in [(10, 0, 2_000_000), (40, 20, 2_000_000), (10, 10, 200_000), (90, 5, 50_000)] {
            let mut at = 0.0;
            let loads = order.map(|fps| {
                let own = Load { at, fps, seconds: 2.0, size: 512 };
                at += 2.0;
                own
            });
            let bench = Bench { loads: loads.to_vec(), constant: true, room, wobble, delay, ..Bench::default() };
            let made = bench.make(&format!("trials-border-{k}-{room}-{wobble}"));
            let report = json(&made.all(), &[]);
            assert!(codes(&report).is_empty(), "{room} {wobble}: {:?}", codes(&report));
            let trials = items(&report, "trials");
            assert_eq!(trials.len(), loads.len());
            for (trial, truth) in trials.iter().zip(&made.truth) {
                let (lost, may_be) = (trial["lost"].as_u64().unwrap(), trial["lost_error"].as_u64().unwrap_or(0));
                let clean = truth.sent == truth.received;
                assert!(!clean || lost <= may_be, "{room} {wobble}: {lost} of none lost, by up to {may_be}: {trial}");
                assert!(!clean || trial["state"] == "equal", "{room} {wobble}: {trial}");
            }
            assert_eq!(report["throughput"][0]["monotone"], true);
        }
    }
}

/// The last load of all begins with a full queue, and its last packets are dropped: the captures reach to where the queue is empty.
#[test]
fn a_last_load_that_begins_with_a_full_queue() {
    for tail in 0..6 {
        let seconds = 2.0 + f64::from(tail) / 1_180.0;
        let own = |at: f64, fps: f64, seconds: f64| Load { at, fps, seconds, size: 512 };
        let loads = vec![own(0.0, 600.0, 2.0), own(2.0, 1_400.0, 2.0), own(4.0, 1_180.0, seconds)];
        let made = Bench { loads, constant: true, room: 20, delay: 50_000, ..Bench::default() }
            .make(&format!("trials-last-full-{tail}"));
        let report = json(&made.all(), &[]);
        let trials = items(&report, "trials");
        assert_eq!(trials.len(), 3, "{:#?}", report["segments"]);
        assert_eq!(trials[2]["state"], "overloaded");
    }
}

/// A device that sends what is done every two milliseconds leaves holes between packets, and loses none there.
#[test]
fn a_device_that_sends_in_batches() {
    let loads = steps([400.0, 800.0, 1_250.0]);
    let bench = Bench { loads, constant: true, tick: 2_000_000, room: 100, wobble: 2, ..Bench::default() };
    let made = bench.make("trials-batches");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    late(&report, &made.truth);
    assert_eq!(items(&report, "trials")[2]["state"], "overloaded");
}

/// Captures that begin while a queue of equal packets is full: what was inside leaves as the load's own, so that nothing is known of its
/// losses; of a load that loses nothing, its own packets are known.
#[test]
fn captures_that_begin_within_a_load() {
    for (name, first, used) in [("full", 1_300.0, false), ("clean", 900.0, true)] {
        let mut loads = steps([first, 800.0, 1_200.0]);
        loads[0].seconds = 2.0;
        let captured = [Some((0.8, 99.0)); 3];
        for constant in [true, false] {
            let bench = Bench { loads: loads.clone(), constant, room: 100, captured, wobble: 2, ..Bench::default() };
            let report = json(&bench.make(&format!("trials-within-{name}-{constant}")).all(), &[]);
            let trials = items(&report, "trials");
            if used || !constant {
                let (own, sent) = (&trials[0], (first * 1.2) as u64);
                assert!(own["sent"].as_u64().is_some_and(|n| n.abs_diff(sent) <= 1), "{own}");
                let share = if used { 1.0 } else { 1_000.0 / first };
                near("received", &own["received"], sent as f64 * share, 0.01);
                assert_eq!(own["state"], if used { "equal" } else { "overloaded" }, "{own}");
                assert!(own["latency_p50_ns"].is_number(), "{own}");
            } else {
                let why = report["segments"][0]["why"].as_str().unwrap_or_default();
                assert!(why.contains("begin within it"), "{:#?}", report["segments"]);
            }
            assert_eq!(trials.len(), if used || !constant { 3 } else { 2 });
        }
    }
}

/// The tunnel's first frame bears the number 1: what came before it never got there, whatever the captures show.
#[test]
fn packets_that_are_lost_before_the_first_that_comes_out() {
    let mut loads = steps([900.0, 500.0, 700.0]);
    loads[0].at = 0.001;
    let bench = Bench { loads, outage: Some((0.0, 0.02)), ..Bench::default() };
    let made = bench.make("trials-lost-first");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let own = &items(&report, "trials")[0];
    assert_eq!(
        (&own["lost"], &own["lost_before_tunnel"], own["state"].as_str()),
        (&18.into(), &18.into(), Some("lossy"))
    );
}

/// Equal packets that passed the tunnel and are not in the first capture: its gaps show that it missed them.
#[test]
fn a_first_tap_that_misses_equal_packets() {
    let loads = steps([300.0, 500.0, 900.0]);
    for missed in [None, Some(97)] {
        let bench = Bench { loads: loads.clone(), constant: true, missed: [missed, None, None], ..Bench::default() };
        let made = bench.make(&format!("trials-missed-first-{}", missed.is_some()));
        let report = json(&made.near(), &[]);
        let why = report["degraded_why"].to_string();
        assert_eq!(why.contains("capture of the first tap"), missed.is_some(), "{why}");
        assert_eq!(report["exactness"], if missed.is_some() { "degraded" } else { "exact" });
    }
}

/// One packet that seems to leave before it came in: others have their latency all the same.
#[test]
fn one_impossible_packet_voids_no_others() {
    for constant in [false, true] {
        let loads = steps([500.0, 900.0, 1_250.0]);
        let bench = Bench { loads, constant, glitch: Some((200, 2_500_000)), ..Bench::default() };
        let made = bench.make(&format!("trials-impossible-{constant}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            assert_eq!(reason(trial, "latency"), None, "{trial}");
            near("p50", &trial["latency_p50_ns"], truth.p50, 0.06);
        }
    }
}
