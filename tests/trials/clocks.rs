//! Clocks that contradict each other, coarse time stamps, pauses and holes: what the captures do not show is neither lost nor stalled.

use serde_json::Value;

use crate::bench::{Bench, Load};
use crate::support::items;
use crate::{agree, json, near, reason, run};

fn load(at: f64, fps: f64) -> Load {
    Load { at, fps, seconds: 1.5, size: 512 }
}

fn steps() -> Vec<Load> {
    vec![load(0.0, 400.0), load(3.0, 800.0), load(6.0, 900.0)]
}

fn codes(report: &Value) -> Vec<&str> {
    let codes = items(report, "findings").iter().filter_map(|own| own["code"].as_str());
    codes.filter(|code| *code != "trial-short").collect()
}

/// The clock of the exit is set between the first load and the others, which outvote it: packets of the first one leave before they came.
#[test]
fn a_load_that_leaves_before_it_came_is_not_lost() {
    for (constant, by) in [(false, 35), (false, 100), (false, 400), (true, 35), (true, 100), (true, 400)] {
        let forward = Some((2.2, by * 1_000_000));
        let made = Bench { loads: steps(), constant, forward, ..Bench::default() }
            .make(&format!("trials-contradiction-{constant}-{by}"));
        let report = json(&made.clocks(), &[]);
        agree(&report, "fwd", &made.truth);
        assert_eq!(codes(&report), Vec::<&str>::new(), "{constant} {by}");
        let trials = items(&report, "trials");
        assert!(trials.iter().all(|trial| trial["lost"] == 0), "{constant} {by}: {trials:#?}");
        let why = if constant { "association-unclear" } else { "clock-step" };
        assert_eq!(reason(&trials[0], "latency"), Some(why), "{constant} {by}");
        assert_eq!((&trials[0]["state"], reason(&trials[0], "state")), (&"undetermined".into(), Some(why)));
        assert_eq!((&trials[1]["state"], &trials[2]["state"]), (&"equal".into(), &"equal".into()));
    }
}

/// The same clocks, and packets that were lost: they are.
#[test]
fn losses_stand_whatever_the_clocks_say() {
    let made = Bench { loads: steps(), forward: Some((2.2, 100_000_000)), loss: [20_000, 0], ..Bench::default() }
        .make("trials-contradiction-loss");
    let report = json(&made.clocks(), &[]);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        assert_eq!((&trial["sent"], &trial["received"]), (&truth.sent.into(), &truth.received.into()));
        assert!(truth.received < truth.sent);
    }
}

#[test]
fn hosts_behind_one_station_go_one_way() {
    for hosts in [2, 4, 8] {
        let made = Bench { loads: steps(), hosts, ..Bench::default() }.make(&format!("trials-hosts-{hosts}"));
        let report = json(&made.near(), &[]);
        agree(&report, "fwd", &made.truth);
        assert_eq!(items(&report, "trials").len(), 3);
        assert_eq!(codes(&report), Vec::<&str>::new(), "{hosts}");
    }
}

#[test]
fn time_stamps_that_are_coarser_than_latencies() {
    for grain in [1_000_000, 10_000_000, 100_000_000] {
        let per_packet = 300_000;
        let made =
            Bench { loads: steps(), grain, per_packet, ..Bench::default() }.make(&format!("trials-coarse-{grain}"));
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        assert_eq!(codes(&report), Vec::<&str>::new(), "{grain}");
        for trial in items(&report, "trials") {
            // Whether a queue grew is within the error of the stamps where no higher load says otherwise.
            let state = trial["state"].as_str().unwrap_or_default();
            assert!(trial["lost"] == 0 && ["equal", "undetermined"].contains(&state), "{grain}: {trial}");
            assert_eq!(reason(trial, "latency"), Some("coarse-timestamps"), "{grain}");
            assert!(trial["latency_min_ns"].is_null() && trial["latency_p50_ns"].is_null(), "{grain}");
        }
    }
    // A queue that makes packets wait for far longer shows all the same.
    let loads = vec![load(0.0, 400.0), load(3.0, 1_310.0)];
    let made = Bench { loads, grain: 1_000_000, room: 100, ..Bench::default() }.make("trials-coarse-overload");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let trial = &items(&report, "trials")[1];
    near("p50", &trial["latency_p50_ns"], made.truth[1].p50, 0.03);
    assert!(trial["lost"].as_u64() > Some(100) && trial["latency_min_ns"].is_null(), "{trial}");
}

/// A tester that sends in even time shows no coarse stamps.
#[test]
fn even_times_are_no_coarse_stamps() {
    let made = Bench { loads: vec![load(0.0, 500.0)], per_packet: 500_000, ..Bench::default() }.make("trials-even");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    near("p50", &report["trials"][0]["latency_p50_ns"], 700_000.0, 0.001);
}

#[test]
fn a_pause_while_packets_wait_is_the_device() {
    for (constant, pause) in [(false, 0.025), (false, 0.09), (true, 0.06)] {
        let loads = vec![load(0.0, 400.0), load(3.0, 800.0), load(6.0, 1_200.0)];
        let bench = Bench { loads, constant, room: 4_000, pause: Some((6.7, 6.7 + pause)), ..Bench::default() };
        let made = bench.make(&format!("trials-pause-{constant}-{pause}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            let trial = &items(&report, "trials")[2];
            assert_eq!(trial["state"], "overloaded", "{trial}");
            // One a millisecond, but for the pause, which weighs more in the middle of the load than at its ends.
            near("forwarded", &trial["forwarded_fps"], 1_000.0 * (1.0 - 1.25 * pause / 1.5), 0.02);
            assert!(trial["forwarded_fps"].as_f64() < Some(1_000.0 * (1.0 - pause / 1.5)), "{trial}");
        }
    }
}

/// A pause of the output of several clocks while packets wait may be one of a clock.
#[test]
fn a_pause_of_several_clocks_while_packets_wait_is_open() {
    let loads = vec![load(0.0, 400.0), load(3.0, 800.0), load(6.0, 1_200.0)];
    let made = Bench { loads, room: 4_000, forward: Some((6.7, 60_000_000)), ..Bench::default() }.make("trials-open");
    let report = json(&made.clocks(), &[]);
    let trial = &items(&report, "trials")[2];
    assert_eq!((reason(trial, "latency"), &trial["lost"]), (Some("clock-step"), &0.into()), "{trial}");
}

#[test]
fn a_capture_that_begins_a_little_later() {
    for constant in [false, true] {
        let captured = [None, Some((0.05, 99.0)), Some((0.05, 99.0))];
        let made = Bench { loads: steps(), constant, captured, ..Bench::default() }
            .make(&format!("trials-little-later-{constant}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            assert_eq!(codes(&report), Vec::<&str>::new());
            assert_eq!(items(&report, "trials").len(), 2);
            let why = report["segments"][0]["why"].as_str().unwrap_or_default();
            assert!(why.contains("may have begun later"), "{why}");
        }
    }
}

/// A tap that shows other frames before was recording.
#[test]
fn what_a_capture_that_was_there_does_not_show_is_lost() {
    let bench = Bench { loads: steps(), outage: Some((0.0, 0.05)), background: true, ..Bench::default() };
    let mut early = bench.clone();
    early.loads.iter_mut().for_each(|load| load.at += 1.0);
    early.outage = Some((1.0, 1.05));
    let made = early.make("trials-begins-lossy");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    assert!(codes(&report).contains(&"trial-lossy"), "{:?}", codes(&report));
}

#[test]
fn a_hole_at_the_last_tap_is_no_stalled_device() {
    for constant in [false, true] {
        let hole = Some((3.5, 3.62));
        let bench = |hole| Bench { loads: steps(), constant, hole, ..Bench::default() };
        let made = bench([None, None, hole]).make(&format!("trials-hole-exit-{constant}"));
        assert!(!codes(&json(&made.all(), &[])).contains(&"trial-stalled"), "{constant}");
        let made = bench([None, hole, None]).make(&format!("trials-hole-tunnel-{constant}"));
        let report = json(&made.near(), &[]);
        assert!(!codes(&report).contains(&"trial-stalled"), "{constant}");
        // Their numbers were given: these were not lost before encryption.
        let said = items(&report, "findings").iter().find(|own| own["code"] == "trial-lossy").expect("a finding");
        assert!(said["evidence"].as_str().is_some_and(|own| own.contains("sequence numbers are missing")), "{said}");
    }
}

/// Packets that the first tap missed were sent all the same.
#[test]
fn packets_that_the_first_tap_misses_are_said() {
    let hole = [Some((3.5, 3.6)), None, None];
    let made = Bench { loads: steps(), hole, ..Bench::default() }.make("trials-hole-first");
    let report = json(&made.all(), &[]);
    let said = items(&report, "degraded_why").iter().filter_map(Value::as_str).find(|why| why.contains("first tap"));
    assert!(said.is_some_and(|why| why.starts_with("80 packets")), "{}", report["degraded_why"]);
    let whole = Bench { loads: steps(), ..Bench::default() }.make("trials-hole-none");
    assert_eq!(items(&json(&whole.all(), &[]), "degraded_why").len(), 0);
}

/// Equal packets that the first tap shows twice, and packets that a tester sends in pairs.
#[test]
fn equal_packets_that_the_first_tap_shows_twice_are_not_lost() {
    let bench = |twice, groups| Bench { loads: steps(), constant: true, twice, groups, room: 100, ..Bench::default() };
    let made = bench([true, false, false], 1).make("trials-first-twice");
    for args in [made.all(), made.near()] {
        let report = json(&args, &[]);
        agree(&report, "fwd", &made.truth);
        assert!(items(&report, "trials").iter().all(|trial| trial["lost"] == 0));
    }
    let made = bench([false; 3], 2).make("trials-first-pairs");
    agree(&json(&made.all(), &[]), "fwd", &made.truth);
}

#[test]
fn a_device_that_stops_is_stalled() {
    for constant in [false, true] {
        let bench = Bench { loads: steps(), constant, outage: Some((3.5, 3.7)), ..Bench::default() };
        let made = bench.make(&format!("trials-stops-{constant}"));
        for args in [made.all(), made.near()] {
            assert!(codes(&json(&args, &[])).contains(&"trial-stalled"), "{constant}");
        }
    }
}

/// Clocks of which one may drift, and a size for each load: in each of them latencies grow at one pace, which no device does. That packets of one
/// load take longer than those of another is no drift.
#[test]
fn a_clock_that_drifts_and_loads_of_other_sizes() {
    let sizes = [128, 256, 512, 1_024, 1_400];
    let own = |(size, k): (usize, u32)| Load { at: f64::from(k) * 12.0, fps: 400.0, seconds: 1.5, size };
    let loads: Vec<Load> = sizes.into_iter().zip(0_u32..).map(own).collect();
    for (constant, drift, per_octet) in [false, true]
        .into_iter()
        .flat_map(|constant| [0, 40].map(|drift| (constant, drift)))
        .flat_map(|(constant, drift)| [0, 800].map(|per_octet| (constant, drift, per_octet)))
    {
        let bench =
            Bench { loads: loads.clone(), constant, offsets: [0, 70_000_000], drift, per_octet, ..Bench::default() };
        let made = bench.make(&format!("trials-drift-sizes-{constant}-{drift}-{per_octet}"));
        let report = json(&made.clocks(), &[]);
        agree(&report, "fwd", &made.truth);
        let told = report["taps"][2]["clock_drift_ppm"].as_f64().expect("a drift");
        assert!((told - drift as f64).abs() < 1.0, "{told} ppm of {drift}, {constant}, {per_octet}");
        for (trial, size) in items(&report, "trials").iter().zip(sizes) {
            let (p50, more) = (trial["latency_p50_ns"].as_f64().expect("a latency"), per_octet * (size as u64 - 128));
            assert!((p50 - more as f64).abs() < 100_000.0, "{constant}, {drift}, {per_octet}: {trial}");
        }
    }
    // Shorter and shorter packets take less, against the drift.
    let shorter =
        loads.iter().zip(sizes.iter().rev()).map(|(load, size)| Load { size: *size, fps: 100.0, ..*load }).collect();
    let bench = Bench { loads: shorter, constant: true, drift: 40, per_octet: 4_000, ..Bench::default() };
    let report = json(&bench.make("trials-drift-shorter").clocks(), &[]);
    let told = report["taps"][2]["clock_drift_ppm"].as_f64().expect("a drift");
    assert!((told - 40.0).abs() < 1.0, "{told}");
    // Two loads may differ for another reason.
    let bench = Bench { loads: loads[..2].to_vec(), constant: true, drift: 40, ..Bench::default() };
    let report = json(&bench.make("trials-drift-two").clocks(), &[]);
    assert!(report["taps"][2]["clock_drift_ppm"].is_null(), "{:#}", report["taps"][2]);
}

/// A device that takes longer for some packets than for others: the fastest of each load tell how fast a clock is, or no drift is stated.
#[test]
fn a_clock_that_drifts_behind_an_uneven_device() {
    for count in [3, 4, 6] {
        let own = |k: u32| Load { at: f64::from(k) * 7.0, fps: 300.0 + 40.0 * f64::from(k), seconds: 2.0, size: 512 };
        let bench = Bench { loads: (0..count).map(own).collect(), constant: true, drift: 20, ..Bench::default() };
        let made = Bench { wobble: 40, ..bench }.make(&format!("trials-drift-uneven-{count}"));
        let report = json(&made.clocks(), &[]);
        agree(&report, "fwd", &made.truth);
        let told = report["taps"][2]["clock_drift_ppm"].as_f64();
        assert!(told.is_none_or(|told| (told - 20.0).abs() < 3.0), "{count}: {told:?}");
    }
}

/// Both directions and two clocks: what one way takes of the time there and back, nothing tells.
#[test]
fn ways_of_different_lengths_between_two_clocks() {
    let loads = |shift: f64| [(0.0, 200.0), (3.0, 500.0)].map(|(at, fps)| load(at + shift, fps)).to_vec();
    let there = Bench { loads: loads(0.0), per_packet: 170_000, ..Bench::default() };
    let back = Bench { loads: loads(0.02), per_packet: 770_000, reverse: true, ..Bench::default() };
    let (made, truth) = there.with(&back, "trials-unequal-ways");
    let report = json(&made.clocks(), &["--link-rate", "100M"]);
    agree(&report, "fwd", &made.truth);
    agree(&report, "rev", &truth);
    assert_eq!(report["bench"]["depends_on_offset"], true);
    for trial in items(&report, "trials") {
        assert_eq!(reason(trial, "latency_sf"), Some("depends-on-offset"), "{trial}");
        assert!(trial["latency_sf_p50_ns"].is_null() && trial["latency_ct_min_ns"].is_null(), "{trial}");
    }
    let args: Vec<String> =
        made.clocks().into_iter().map(|own| if own == "json" { "text".to_owned() } else { own }).collect();
    let run = run(&args, &[]).expect(0);
    let text = run.text();
    assert!(text.contains("taken to be equal both ways"), "{text}");
}

/// One direction, two clocks, and a tap behind the far gateway: packets whose time to live no router has lowered come in there.
#[test]
fn a_load_that_comes_in_at_the_exit() {
    for (reverse, direction) in [(false, "fwd"), (true, "rev")] {
        let loads = [(0.0, 300.0), (4.0, 700.0)].map(|(at, fps)| load(at, fps)).to_vec();
        let bench = Bench { loads, reverse, wobble: 5, offsets: [1_000_000_000, 3_000_000_000], ..Bench::default() };
        let made = bench.make(&format!("trials-first-hop-{direction}"));
        let args: Vec<String> = made.far().into_iter().filter(|own| own != "--one-clock").collect();
        let directions: Vec<Value> =
            items(&json(&args, &[]), "trials").iter().map(|trial| trial["direction"].clone()).collect();
        assert_eq!(directions, [direction, direction]);
    }
}

/// Two loads, and nothing that tells how fast a clock is: times of the one that tells the offset hold, those of the other would run away.
#[test]
fn loads_far_apart_and_a_drift_that_nothing_tells() {
    let loads = vec![load(0.0, 400.0), load(20.0, 400.0)];
    let bench = Bench { loads, constant: true, offsets: [0, 70_000_000], drift: 40, ..Bench::default() };
    let report = json(&bench.make("trials-drift-far").clocks(), &[]);
    assert!(report["taps"][2]["clock_drift_ppm"].is_null(), "{:#}", report["taps"]);
    let [first, second] = items(&report, "trials") else { panic!("{report:#}") };
    assert!(first["latency_p50_ns"].as_f64().is_some_and(|p50| p50 < 100_000.0), "{first}");
    assert_eq!((reason(first, "latency"), reason(second, "latency")), (None, Some("depends-on-offset")));
    assert!(second["latency_min_ns"].is_null() && second["latency_p50_ns"].is_null(), "{second}");
    assert_eq!((&second["state"], &second["lost"]), (&"equal".into(), &0.into()), "{second}");
}

/// Packets in groups of which a few are lost behind the tunnel, with two clocks: no packet takes less than no time.
#[test]
fn losses_between_two_clocks() {
    for part in [1_000, 2_000, 3_000, 4_000, 6_000, 10_000] {
        let loads = [(0.0, 194.0), (3.2, 214.0), (6.4, 180.0)].map(|(at, fps)| load(at, fps));
        let bench = Bench { loads: loads.to_vec(), constant: true, groups: 5, loss: [0, part], ..Bench::default() };
        let bench = Bench { per_packet: 12_000, wobble: 50, delay: 1_000_000, drift: 23, ..bench };
        let made = bench.make(&format!("trials-two-clock-loss-{part}"));
        let name = |path: &std::path::Path| path.to_str().expect("text").to_owned();
        let args = ["trials", "--format", "json", "--tunnel", &name(&made.tunnel), "--exit", &name(&made.exit)];
        for trial in items(&json(&args.map(str::to_owned), &[]), "trials") {
            assert!(trial["latency_min_ns"].as_f64().is_none_or(|least| least > -600_000.0), "{part}: {trial}");
        }
    }
}
