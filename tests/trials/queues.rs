//! Queues that outlive their load, losses without a queue, testers that send in groups, and captures that miss a whole load.

use crate::bench::{Bench, Carrier, Load};
use crate::support::items;
use crate::{agree, json, near, reason};

const fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 512 }
}

fn codes(report: &serde_json::Value) -> Vec<&str> {
    let codes = items(report, "findings").iter().filter_map(|finding| finding["code"].as_str());
    codes.filter(|code| *code != "trial-short").collect()
}

/// Groups of packets further apart than a stall is long: the tester pauses, not the device.
#[test]
fn a_tester_that_sends_in_groups_stalls_no_device() {
    for constant in [false, true] {
        let loads = vec![load(0.0, 250.0, 3.0), load(5.0, 210.0, 3.0)];
        let bench = Bench { loads, constant, groups: 32, wobble: 30, room: 100, ..Bench::default() };
        let made = bench.make(&format!("trials-groups-{constant}"));
        let report = json(&made.all(), &[]);
        assert!(codes(&report).is_empty(), "{:?}", codes(&report));
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            assert_eq!((&trial["sent"], &trial["lost"]), (&truth.sent.into(), &0.into()), "{trial}");
            assert_eq!(trial["stall_seconds"], 0.0, "{trial}");
        }
    }
}

/// The last tap shows nothing of a load, nor later or before: its capture does not reach so far.
#[test]
fn an_exit_whose_capture_misses_a_whole_load() {
    for (name, captured, why) in
        [("ended", (0.0, 5.0), "may have ended"), ("begun", (2.0, 99.0), "may have begun later")]
    {
        for constant in [false, true] {
            let loads = vec![load(0.0, 500.0, 1.5), load(3.0, 900.0, 1.5), load(6.0, 700.0, 1.5)];
            let bench = Bench { loads, constant, captured: [None, None, Some(captured)], ..Bench::default() };
            let made = bench.make(&format!("trials-whole-{name}-{constant}"));
            let report = json(&made.all(), &[]);
            assert!(items(&report, "trials").iter().all(|trial| trial["lost"] == 0), "{:#}", report["trials"]);
            assert_eq!((items(&report, "trials").len(), items(&report, "segments").len()), (2, 1), "{name}");
            let said = report["segments"][0]["why"].as_str().unwrap_or_default();
            assert!(said.contains(why), "{said}");
        }
    }
}

/// Where the tunnel tap was recording and shows that nothing got so far, the device let nothing through. Where it shows nothing from then on
/// either, both captures may have ended.
#[test]
fn a_device_that_dies_during_a_load() {
    for constant in [false, true] {
        let dead = |loads: Vec<Load>, name: &str| {
            let bench = Bench { loads, constant, outage: Some((2.5, 5.5)), ..Bench::default() };
            json(&bench.make(&format!("trials-{name}-{constant}")).all(), &[])
        };
        let report = dead(vec![load(0.0, 500.0, 1.5), load(3.0, 900.0, 1.5), load(6.0, 700.0, 1.5)], "dead");
        let own = &report["trials"][1];
        assert_eq!((own["state"].as_str(), &own["lost"]), (Some("silent"), &own["sent"]), "{own}");
        let report = dead(vec![load(0.0, 500.0, 1.5), load(3.0, 900.0, 1.5)], "dead-last");
        assert_eq!((items(&report, "trials").len(), items(&report, "segments").len()), (1, 1));
        let said = report["segments"][0]["why"].as_str().unwrap_or_default();
        assert!(said.contains("may have ended"), "{said}");
    }
}

/// AH whose payload the capture cut off is no packet in transport mode.
#[test]
fn headers_behind_ah_that_were_cut_off() {
    for carrier in [Carrier::Ah, Carrier::AhEsp, Carrier::Esp6] {
        let loads = vec![load(0.0, 500.0, 1.5), load(3.0, 900.0, 1.5)];
        let bench = Bench { loads, carrier, constant: true, snap: Some(60), ..Bench::default() };
        let made = bench.make(&format!("trials-cut-{carrier:?}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            for trial in items(&report, "trials") {
                assert_eq!((&trial["tunnelled"], &trial["lost"]), (&trial["sent"], &0.into()), "{trial}");
            }
        }
    }
}

/// What one load left inside comes out while the next one comes in.
#[test]
fn a_queue_that_drains_into_the_next_load() {
    for constant in [false, true] {
        let loads = vec![load(0.0, 1_900.0, 1.5), load(2.1, 500.0, 3.0), load(7.0, 500.0, 1.5)];
        let bench = Bench { loads, constant, room: 1_000, wobble: 20, ..Bench::default() };
        let made = bench.make(&format!("trials-drains-{constant}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
                assert_eq!(trial["tunnelled"], truth.tunnelled, "{trial}");
                let (found, want) = (trial["latency_p50_ns"].as_f64(), truth.p50);
                assert!(found.is_none_or(|found| (found - want).abs() <= 0.06 * want + 3e6), "{want} {trial}");
            }
        }
    }
}

/// Equal packets, uneven times, and losses at random: no queue was full, and no latency of one is stated.
#[test]
fn losses_at_random_are_no_full_queue() {
    for (name, loss) in [("before", [20_000, 0]), ("behind", [0, 20_000])] {
        let loads = vec![load(0.0, 500.0, 3.0), load(5.0, 700.0, 3.0)];
        let bench = Bench { loads, constant: true, jitter: 1_900_000, wobble: 30, room: 200, loss, ..Bench::default() };
        let made = bench.make(&format!("trials-at-random-{name}"));
        let report = json(&made.all(), &[]);
        for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
            assert_eq!((&trial["sent"], &trial["received"]), (&truth.sent.into(), &truth.received.into()), "{trial}");
            assert_ne!(trial["state"], "overloaded", "{name}: {trial}");
            match reason(trial, "latency") {
                Some(why) => assert_eq!(why, "association-unclear", "{trial}"),
                None => {
                    near("p50", &trial["latency_p50_ns"], truth.p50, 0.06);
                    near("max", &trial["latency_max_ns"], truth.max, 0.06);
                }
            }
        }
    }
}

/// A load that begins with a full queue never meets an idle device: that it hardly waits longer says nothing of bad links.
#[test]
fn another_size_that_begins_with_a_full_queue() {
    for constant in [false, true] {
        let loads = vec![Load { size: 128, ..load(0.0, 1_250.0, 3.0) }, Load { at: 3.0, ..load(0.0, 1_300.0, 3.0) }];
        let made = Bench { loads, constant, wobble: 20, ..Bench::default() }.make(&format!("trials-full-{constant}"));
        let report = json(&made.all(), &[]);
        assert_eq!(items(&report, "trials").len(), 2);
        assert!(!codes(&report).contains(&"trial-lossy"), "{:#}", report["findings"]);
    }
}

/// A tester that spreads its load over so many flows that each is as slow as a background flow.
#[test]
fn a_load_of_a_thousand_flows_beside_background() {
    for constant in [false, true] {
        let loads = vec![load(0.0, 500.0, 2.5), load(4.0, 900.0, 2.5)];
        let bench = Bench { loads, constant, ports: 1_000, background: true, ..Bench::default() };
        let made = bench.make(&format!("trials-thousand-{constant}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        assert!(items(&report, "trials").iter().all(|trial| trial["lost"] == 0), "{:#}", report["trials"]);
    }
}

/// Background that reaches the exit past the tunnel hides the silences of the load there: clocks are compared by the load alone.
#[test]
fn two_clocks_and_background_past_the_tunnel() {
    let loads = vec![load(0.2, 500.0, 4.0), load(5.1, 900.0, 1.5), load(7.9, 700.0, 1.5)];
    let offsets = [-1_724_000_000, 1_456_000_000];
    let made =
        Bench { loads, constant: true, background: true, offsets, ..Bench::default() }.make("trials-past-the-tunnel");
    let taps = ["--tunnel", &made.tunnel.display().to_string(), "--exit", &made.exit.display().to_string()];
    let args: Vec<String> = ["trials", "--format", "json"].into_iter().chain(taps).map(str::to_owned).collect();
    let report = json(&args, &[]);
    agree(&report, "fwd", &made.truth);
    assert!(items(&report, "trials").iter().all(|trial| trial["lost"] == 0), "{:#}", report["trials"]);
}

/// All captures end when the load does, and the queue is full: besides what was lost on the wire, packets were still inside.
#[test]
fn captures_that_end_with_a_full_queue_and_losses_on_the_wire() {
    for link_loss in [None, Some(23), Some(97)] {
        let loads = vec![load(0.0, 500.0, 1.5), load(3.0, 1_300.0, 1.5)];
        let bench = Bench {
            loads,
            constant: true,
            room: 100,
            link_loss,
            captured: [Some((0.0, 4.4995)); 3],
            ..Bench::default()
        };
        let report = json(&bench.make(&format!("trials-end-full-{link_loss:?}")).all(), &[]);
        assert_eq!(
            (items(&report, "trials").len(), items(&report, "segments").len()),
            (1, 1),
            "{:#}",
            report["trials"]
        );
        let said = report["segments"][0]["why"].as_str().unwrap_or_default();
        assert!(said.contains("The captures end"), "{said}");
    }
}
