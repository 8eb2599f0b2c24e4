//! Benches of other kinds: what the tool says of each is true.

use serde_json::Value;

use crate::bench::{Bench, Load, Made};
use crate::support::items;
use crate::{agree, json, near, reason};

fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 512 }
}

/// Three loads around 1,000 packets a second, the highest with loss.
fn steps() -> Vec<Load> {
    vec![load(0.0, 500.0, 1.5), load(3.0, 900.0, 1.5), load(6.0, 1_250.0, 1.5)]
}

/// Findings besides that of short trials.
fn codes(report: &Value) -> Vec<&str> {
    let codes = items(report, "findings").iter().filter_map(|finding| finding["code"].as_str());
    codes.filter(|code| *code != "trial-short").collect()
}

fn states(report: &Value) -> Vec<&str> {
    items(report, "trials").iter().filter_map(|trial| trial["state"].as_str()).collect()
}

/// Latencies of the trials without loss are true, and those with it near.
#[track_caller]
fn latencies(report: &Value, made: &Made) {
    for (trial, truth) in items(report, "trials").iter().zip(&made.truth) {
        let share = if truth.received == truth.sent { 0.001 } else { 0.06 };
        near("p50", &trial["latency_p50_ns"], truth.p50, share);
        near("max", &trial["latency_max_ns"], truth.max, share);
    }
}

/// Everything of the three loads is as it was.
#[track_caller]
fn as_it_was(bench: &Bench, name: &str) -> Value {
    let made = bench.make(name);
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    latencies(&report, &made);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        assert_eq!(trial["tunnelled"], truth.tunnelled, "{trial}");
        assert_eq!(trial["lost_behind_tunnel"], 0, "{trial}");
    }
    assert_eq!(states(&report), ["equal", "equal", "overloaded"]);
    assert!(codes(&report).is_empty(), "{:?}", codes(&report));
    report
}

#[test]
fn a_load_that_rises_all_the_time_is_no_trial() {
    let bench = Bench { loads: vec![load(0.0, 1_500.0, 20.0)], ramp: Some(0.07), ..Bench::default() };
    let made = bench.make("trials-ramp");
    let report = json(&made.all(), &[]);
    assert!(items(&report, "trials").is_empty(), "{:#}", report["trials"]);
    let segment = &report["segments"][0];
    assert_eq!((segment["kind"].as_str(), &segment["frames"]), (Some("ramp"), &made.truth[0].sent.into()));
    assert!(segment["why"].as_str().is_some_and(|why| why.contains("Rate not steady")), "{segment}");
    assert_eq!(codes(&report), ["trials-none"]);
}

#[test]
fn loads_that_rise_in_steps_are_trials() {
    let loads: Vec<Load> = (0..12).map(|k| load(f64::from(k), 500.0 + 60.0 * f64::from(k), 1.0)).collect();
    for constant in [false, true] {
        let made =
            Bench { loads: loads.clone(), constant, ..Bench::default() }.make(&format!("trials-stairs-{constant}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        for trial in items(&report, "trials") {
            assert_eq!(trial["lost_behind_tunnel"], 0, "{trial}");
            assert!(trial["device_latency_p50_ns"].is_number(), "{trial}");
        }
    }
}

#[test]
fn a_slow_beginning_without_a_pause_is_left_out_of_the_rates() {
    let mut loads = Vec::new();
    for (k, fps) in [500.0, 900.0, 1_250.0].into_iter().enumerate() {
        let at = 4.0 * k as f64;
        loads.extend([load(at, 100.0, 0.3), load(at + 0.3, fps, 1.5)]);
    }
    let report = json(&Bench { loads, constant: true, ..Bench::default() }.make("trials-warm").all(), &[]);
    let offered: Vec<f64> = items(&report, "trials").iter().filter_map(|trial| trial["offered_fps"].as_f64()).collect();
    assert_eq!(offered.iter().map(|fps| fps.round()).collect::<Vec<_>>(), [500.0, 900.0, 1_250.0]);
}

/// What the exit's tap did not see may have been lost on the way to it. The finding says where.
#[test]
fn an_exit_tap_that_misses_frames() {
    for constant in [false, true] {
        let missed = [None, None, Some(97)];
        let made = Bench { loads: steps(), constant, missed, ..Bench::default() }
            .make(&format!("trials-exit-misses-{constant}"));
        let report = json(&made.all(), &[]);
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            assert_eq!(trial["tunnelled"], truth.tunnelled, "{trial}");
            assert_eq!(trial["lost_before_tunnel"], truth.sent - truth.tunnelled, "{trial}");
        }
        latencies(&report, &made);
        let lossy = items(&report, "findings").iter().find(|finding| finding["code"] == "trial-lossy");
        let said = lossy.and_then(|finding| finding["evidence"].as_str()).unwrap_or_default();
        assert!(said.contains("all of them behind the tunnel's tap"), "{said}");
    }
}

/// More packets come out than were seen to come in: no latency of another packet is taken for one.
#[test]
fn a_plain_tap_that_misses_frames() {
    for constant in [false, true] {
        let missed = [Some(97), None, None];
        let made = Bench { loads: steps(), constant, missed, ..Bench::default() }
            .make(&format!("trials-plain-misses-{constant}"));
        let report = json(&made.all(), &[]);
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            let lossless = truth.received == truth.sent;
            assert!(trial["lost"] == 0 || !lossless, "{trial}");
            assert!(trial["lost_behind_tunnel"] == 0 || trial["lost_behind_tunnel"].is_null(), "{trial}");
            match reason(trial, "latency") {
                Some(why) => assert_eq!(why, "association-unclear", "{trial}"),
                None => near("p50", &trial["latency_p50_ns"], truth.p50, if lossless { 0.001 } else { 0.06 }),
            }
        }
        assert!(!codes(&report).contains(&"trial-lossy"), "{:?}", codes(&report));
    }
}

/// Numbers in the tunnel tell which packet overtook which, and what was overtaken there comes out in that order.
#[test]
fn packets_that_overtake_in_the_device() {
    let bench = Bench { constant: true, late: Some((7, 3_500_000)), ..Bench::default() };
    let made = Bench { loads: steps()[..2].to_vec(), ..bench }.make("trials-overtaken");
    let report = json(&made.all(), &[]);
    latencies(&report, &made);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        near("p99", &trial["latency_p99_ns"], truth.max, 0.001);
    }
}

/// A clock that is set while nothing is sent: no figure of later trials is that much too great, nothing stalled, nothing was lost.
#[test]
fn clocks_that_are_set_between_loads() {
    let ms = 1_000_000;
    for (name, forward, forward_in) in [
        ("exit", Some((2.2, 300 * ms)), None),
        ("exit-far", Some((2.2, 2_000 * ms)), None),
        ("plain", None, Some((2.2, 300 * ms))),
        ("plain-far", None, Some((2.2, 2_000 * ms))),
    ] {
        for constant in [false, true] {
            let made = Bench { loads: steps(), constant, forward, forward_in, ..Bench::default() }
                .make(&format!("trials-between-{name}-{constant}"));
            let report = json(&made.all(), &[]);
            agree(&report, "fwd", &made.truth);
            assert!(codes(&report).is_empty(), "{name}: {:?}", codes(&report));
            for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
                match reason(trial, "latency") {
                    Some(why) => assert!(["clock-step", "no-idle-packet"].contains(&why), "{name}: {trial}"),
                    None => near("p50", &trial["latency_p50_ns"], truth.p50, 0.06),
                }
            }
            // What was lost was not forwarded, whatever the clocks say.
            let row = &report["throughput"][0];
            near("above", &row["equilibrium_bracket_fps"][1], 1_250.0, 0.003);
            let buffer = row["buffer_frames"].as_f64();
            assert!(buffer.is_none_or(|frames| (frames - 30.0).abs() < 3.0), "{name}: {buffer:?}");
        }
    }
}

/// The first packets of a trial are lost, or the last: the others are not late.
#[test]
fn bursts_that_are_lost_at_the_ends_of_a_trial() {
    for (name, outage) in [("start", (3.0, 3.02)), ("end", (4.48, 4.6))] {
        let bench = Bench { loads: steps(), constant: true, outage: Some(outage), ..Bench::default() };
        let made = bench.make(&format!("trials-lost-{name}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        latencies(&report, &made);
    }
}

/// Nobody tells which packets were lost where no other trial shows the latency.
#[test]
fn equal_packets_of_which_the_first_or_the_last_were_lost() {
    let loads = vec![load(0.0, 900.0, 1.5)];
    let bench = Bench { loads, constant: true, outage: Some((0.0, 0.02)), ..Bench::default() };
    let report = json(&bench.make("trials-lost-alone").all(), &[]);
    let trial = &report["trials"][0];
    assert_eq!((reason(trial, "latency"), &trial["lost"]), (Some("association-unclear"), &18.into()), "{trial}");
    assert!(trial["latency_max_ns"].is_null() && trial["state"] == "undetermined", "{trial}");
}

#[test]
fn two_clocks() {
    for constant in [false, true] {
        let bench = Bench { loads: steps(), constant, offsets: [123_000_000, -4_567_000_000], ..Bench::default() };
        let made = bench.make(&format!("trials-two-clocks-{constant}"));
        let mut args = made.all();
        args.retain(|arg| arg != "--one-clock");
        let report = json(&args, &[]);
        agree(&report, "fwd", &made.truth);
        assert_eq!(
            (&report["bench"]["depends_on_offset"], &report["trials"][0]["latency_min_ns"]),
            (&true.into(), &0.into())
        );
        assert_eq!(states(&report), ["equal", "equal", "overloaded"]);
    }
}

/// Captures that begin within a load, each at another time by another clock, have no first frame in common.
#[test]
fn two_clocks_and_captures_that_begin_within_the_only_load() {
    let captured = [Some((0.2, 9.0)), Some((0.1, 9.0)), Some((0.15, 9.0))];
    let bench =
        Bench { loads: vec![load(0.0, 500.0, 1.5)], captured, offsets: [5_000_000, 700_000_000], ..Bench::default() };
    let mut args = bench.make("trials-two-clocks-within").all();
    args.retain(|arg| arg != "--one-clock");
    let report = json(&args, &[]);
    let trial = &report["trials"][0];
    assert_eq!(
        (&trial["sent"], &trial["lost"], &trial["latency_min_ns"]),
        (&650.into(), &0.into(), &0.into()),
        "{trial}"
    );
}

#[test]
fn both_directions_at_once() {
    for (name, offsets) in [("one-clock", [0, 0]), ("two-clocks", [123_000_000, -4_567_000_000])] {
        let there = Bench { loads: steps(), constant: true, offsets, ..Bench::default() };
        let late: Vec<Load> = steps().iter().map(|own| Load { at: own.at + 0.05, ..*own }).collect();
        let back = Bench { loads: late, reverse: true, ..there.clone() };
        let (made, truth) = there.with(&back, &format!("trials-both-{name}"));
        let mut args = made.all();
        args.retain(|arg| arg != "--one-clock" || name == "one-clock");
        let report = json(&args, &[]);
        agree(&report, "fwd", &made.truth);
        agree(&report, "rev", &truth);
        for trial in items(&report, "trials") {
            assert_eq!(trial["ways"], "both", "{trial}");
            let truth = made.truth.iter().find(|own| own.sent == trial["sent"]).expect("a load");
            near("p50", &trial["latency_p50_ns"], truth.p50, 0.06);
        }
    }
}

#[test]
fn a_device_whose_rate_collapses() {
    let loads = vec![load(0.0, 900.0, 1.5), load(3.0, 1_050.0, 1.5), load(6.0, 1_250.0, 1.5), load(9.0, 2_000.0, 1.5)];
    let made = Bench { loads, constant: true, collapse: Some((20, 2)), ..Bench::default() }.make("trials-collapse");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let row = &report["throughput"][0];
    near("equilibrium", &row["equilibrium"]["fps"], 900.0, 0.003);
    near("above", &row["equilibrium_bracket_fps"][1], 1_050.0, 0.003);
    // The highest forwarded rate is not that of the highest load.
    near("mfr", &row["mfr"]["fps"], 900.0, 0.003);
    assert!(row["frmol_fps"].as_f64().is_some_and(|fps| fps < 520.0), "{row}");
}

#[test]
fn a_device_with_hardly_any_buffer() {
    for room in [1, 2] {
        let mut loads = steps();
        loads.extend([load(9.0, 1_900.0, 1.5), load(12.0, 500.0, 1.5)]);
        let made = Bench { loads, constant: true, room, ..Bench::default() }.make(&format!("trials-room-{room}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            near("max", &trial["latency_max_ns"], truth.max, 0.2);
        }
    }
}

#[test]
fn a_load_that_is_not_even() {
    as_it_was(&Bench { loads: steps(), constant: true, jitter: 60_000, ..Bench::default() }, "trials-jitter");
}

#[test]
fn an_sa_that_is_renewed_within_a_trial() {
    for constant in [false, true] {
        for (name, rekey) in [("clean", 3.7), ("overloaded", 6.7)] {
            let bench = Bench { loads: steps(), constant, rekey: Some(rekey), ..Bench::default() };
            let report = as_it_was(&bench, &format!("trials-rekey-{name}-{constant}"));
            assert!(items(&report, "trials").iter().all(|trial| trial["sequence_lost"] == 0), "{name}");
        }
    }
}

#[test]
fn another_sa_beside_the_load() {
    for constant in [false, true] {
        let bench = Bench { loads: steps(), constant, other_sa: Some(20.0), ..Bench::default() };
        as_it_was(&bench, &format!("trials-other-sa-{constant}"));
        let made = bench.make(&format!("trials-other-sa-near-{constant}"));
        let near_taps = json(&made.near(), &[]);
        agree(&near_taps, "fwd", &made.truth);
    }
}

/// Of an SA that is as busy as the load, and whose packets are as long, nobody tells which frames are the load's.
#[test]
fn another_sa_as_busy_as_the_load() {
    let made =
        Bench { loads: steps(), constant: true, other_sa: Some(400.0), ..Bench::default() }.make("trials-busy-sa");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    latencies(&report, &made);
    for trial in items(&report, "trials") {
        assert_eq!(
            (reason(trial, "tunnelled"), reason(trial, "tunnel")),
            (Some("association-unclear"), Some("association-unclear"))
        );
        assert!(trial["lost_behind_tunnel"].is_null() && trial["tunnel_fps"].is_null(), "{trial}");
    }
    let near_taps = json(&made.near(), &[]);
    for trial in items(&near_taps, "trials") {
        assert_eq!(
            (reason(trial, "latency"), reason(trial, "forwarded")),
            (Some("association-unclear"), Some("association-unclear"))
        );
        assert!(trial["latency_p50_ns"].is_null() && trial["forwarded_fps"].is_null(), "{trial}");
    }
    assert!(items(&near_taps, "throughput").is_empty(), "{:#}", near_taps["throughput"]);
}

#[test]
fn taps_that_show_every_frame_twice() {
    for (name, twice) in
        [("plain", [true, false, false]), ("tunnel", [false, true, false]), ("exit", [false, false, true])]
    {
        as_it_was(&Bench { loads: steps(), twice, ..Bench::default() }, &format!("trials-twice-{name}"));
    }
    as_it_was(
        &Bench { loads: steps(), constant: true, twice: [false, true, false], ..Bench::default() },
        "trials-twice-equal",
    );
    // Equal packets that come out twice as often as they came in, each right behind another one.
    let bench = Bench { loads: steps(), constant: true, twice: [false, false, true], ..Bench::default() };
    as_it_was(&bench, "trials-twice-out");
    // The same with others as well: what was forwarded is not known.
    let bench = Bench { missed: [Some(3), None, None], ..bench };
    let report = json(&bench.make("trials-twice-out-more").all(), &[]);
    assert_eq!(codes(&report), ["taps-swapped"]);
    for trial in items(&report, "trials") {
        assert_eq!(
            (reason(trial, "latency"), reason(trial, "forwarded")),
            (Some("association-unclear"), Some("association-unclear"))
        );
    }
    assert!(items(&report, "throughput").is_empty(), "{:#}", report["throughput"]);
}

#[test]
fn frames_of_which_only_the_headers_were_captured() {
    for (snap, constant) in [(42, true), (60, false), (60, true)] {
        let bench = Bench { loads: steps(), constant, snap: Some(snap), ..Bench::default() };
        as_it_was(&bench, &format!("trials-snap-{snap}-{constant}"));
    }
}

#[test]
fn equal_loads_that_are_repeated() {
    let fps = [900.0, 900.0, 1_250.0, 1_250.0, 900.0];
    let loads = fps.iter().enumerate().map(|(k, fps)| load(3.0 * k as f64, *fps, 1.5)).collect();
    let made = Bench { loads, constant: true, ..Bench::default() }.make("trials-repeated");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    assert_eq!(states(&report), ["equal", "equal", "overloaded", "overloaded", "equal"]);
    assert_eq!(report["throughput"][0]["trials"], 5);
    assert!(codes(&report).is_empty(), "{:?}", codes(&report));
}
