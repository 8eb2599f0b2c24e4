//! What one load leaves behind, or a rate of its own, is no figure of another load.

use serde_json::Value;

use crate::bench::{Bench, Load};
use crate::support::items;
use crate::{agree, json, near, reason};

const fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 256 }
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().filter_map(|own| own["code"].as_str()).collect()
}

/// Bursts of rates in small steps: what neighbours have in common, the first and the last do not.
#[test]
fn bursts_of_rates_in_small_steps() {
    let rates = (0..10_u32).map(|k| (f64::from(k) * 2.0, 2_000.0 * 1.04_f64.powi(k as i32)));
    let loads = rates.map(|(at, fps)| load(at, fps, 140.0 / fps)).collect();
    let report = json(&Bench { loads, room: 100, ..Bench::default() }.make("trials-burst-steps").all(), &[]);
    let rows: Vec<&serde_json::Value> = items(&report, "back_to_back").iter().map(|row| &row["bursts"]).collect();
    assert_eq!(rows, [2; 5]);
}

/// How many packets a queue takes depends on how fast they come: bursts of two rates are two rows.
#[test]
fn bursts_of_two_rates() {
    let burst = |at: f64, fps: f64, packets: f64| load(at, fps, packets / fps);
    let mut loads = vec![load(0.0, 900.0, 1.2), load(3.0, 1_500.0, 1.2)];
    let rates = [(2_000.0, [150.0, 190.0, 230.0]), (20_000.0, [60.0, 100.0, 130.0])];
    let bursts = rates.iter().flat_map(|(fps, sizes)| sizes.map(|packets| (*fps, packets)));
    loads.extend(bursts.zip(3_u32..).map(|((fps, packets), k)| burst(f64::from(k) * 2.0, fps, packets)));
    let bench = Bench { loads, room: 100, ..Bench::default() };
    let report = json(&bench.make("trials-two-burst-rates").all(), &[]);
    let rows = items(&report, "back_to_back");
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for (row, (fps, clean, lossy)) in rows.iter().zip([(2_000.0, 190, 230), (20_000.0, 100, 130)]) {
        near("burst_fps", &row["burst_fps"], fps, 0.01);
        let frames = (&row["bursts"], &row["longest_lossless_frames"], &row["shortest_lossy_frames"]);
        assert_eq!(frames, (&3.into(), &clean.into(), &lossy.into()), "{row}");
        near("buffer_frames", &row["buffer_frames"], 95.0, 0.02);
    }
}

/// A load that begins while a long queue drains is forwarded at its own rate, whatever else the device sends meanwhile.
#[test]
fn a_load_that_begins_while_a_queue_drains() {
    for constant in [false, true] {
        let loads = vec![load(0.0, 300.0, 2.0), load(3.0, 1_500.0, 2.0), load(5.7, 600.0, 2.0)];
        let bench = Bench { loads, constant, room: 1_500, ..Bench::default() };
        let report = json(&bench.make(&format!("trials-still-draining-{constant}")).all(), &[]);
        let row = &report["throughput"][0];
        near("equilibrium", &row["equilibrium"]["fps"], 600.0, 0.003);
        near("mfr", &row["mfr"]["fps"], 1_000.0, 0.003);
    }
}

/// Packets that are lost because the load before filled the queue are no loss of the lower load behind it.
#[test]
fn losses_behind_a_queue_that_another_load_filled() {
    let loads = vec![load(0.0, 900.0, 3.0), load(4.0, 1_200.0, 3.0), load(7.0, 980.0, 3.0), load(12.0, 990.0, 3.0)];
    let bench = Bench { loads, room: 60, wobble: 40, ..Bench::default() };
    let made = bench.make("trials-behind-others");
    let report = json(&made.all(), &[]);
    let carried = &made.truth[2];
    assert!(carried.sent > carried.received, "{carried:?}");
    let found: Vec<&str> = codes(&report);
    assert!(!found.contains(&"loss-not-monotone") && !found.contains(&"trial-lossy"), "{found:?}");
    near("rfc1242", &report["throughput"][0]["rfc1242"]["fps"], 990.0, 0.003);
    near("fails", &report["throughput"][0]["rfc1242_bracket_fps"][1], 1_200.0, 0.003);
}

/// A lower load that a busy device did not keep up with: what it forwards of that is not the rate at its limit, which a higher load shows.
#[test]
fn a_lower_load_that_the_device_does_not_forward() {
    let loads = vec![load(0.0, 500.0, 1.5), load(3.0, 980.0, 1.5), load(6.0, 1_500.0, 1.5)];
    let bench = Bench { loads, room: 20, ..Bench::default() };
    let busy = Bench { loads: vec![load(9.0, 700.0, 1.5)], per_packet: 2_000_000, room: 900, ..bench.clone() };
    let busy = Bench { rekey: Some(0.0), ..busy };
    let (made, _) = bench.with(&busy, "trials-lower-disturbed");
    let report = json(&made.all(), &[]);
    assert_eq!(report["trials"][3]["state"], "overloaded");
    let row = &report["throughput"][0];
    near("equilibrium", &row["equilibrium"]["fps"], 980.0, 0.003);
    near("service", &row["service_fps"], 1_000.0, 0.005);
}

/// A queue that takes longer to drain behind the last load than most do: what comes out of it was not lost.
#[test]
fn a_queue_that_drains_for_seconds() {
    for constant in [false, true] {
        let loads = vec![load(0.0, 90.0, 2.0), load(3.0, 300.0, 2.0)];
        let bench = Bench { loads, constant, per_packet: 10_000_000, room: 1_000, ..Bench::default() };
        let made = bench.make(&format!("trials-long-drain-{constant}"));
        for args in [made.all(), made.near()] {
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            let trial = &report["trials"][1];
            assert_eq!((&trial["lost"], &trial["tunnelled"]), (&0.into(), &trial["sent"]), "{trial}");
            near("latency_max_ns", &trial["latency_max_ns"], made.truth[1].max, 0.01);
            near("rfc1242", &report["throughput"][0]["rfc1242"]["fps"], 300.0, 0.003);
        }
    }
}

/// Clocks that tick every so many milliseconds, no power of ten: latencies below a tick are not known.
#[test]
fn clocks_that_tick() {
    for grain in [15_625_000, 4_000_000] {
        for constant in [false, true] {
            let loads = vec![load(0.0, 300.0, 2.0), load(4.0, 1_700.0, 2.0)];
            let bench = Bench { loads, constant, grain, per_packet: 200_000, ..Bench::default() };
            let report = json(&bench.make(&format!("trials-tick-{grain}-{constant}")).all(), &[]);
            for trial in items(&report, "trials") {
                assert_eq!(reason(trial, "latency"), Some("coarse-timestamps"), "{grain}: {trial}");
                assert!(trial["latency_p50_ns"].is_null() && trial["latency_max_ns"].is_null(), "{grain}: {trial}");
            }
        }
    }
}

/// Several clocks: a latency that is counted from a guess has no share of another one, and no part of it is that of the link.
#[test]
fn latencies_that_depend_on_an_offset() {
    let bench = Bench { loads: vec![load(0.0, 500.0, 1.2)], wobble: 10, ..Bench::default() };
    let made = bench.make("trials-offset-share");
    let run = |args: &[String], more: &[&str]| json(args, &[more, &["--link-rate", "100M"]].concat());
    for (clear, args) in [(made.all(), made.clocks()), (made.clocks(), made.all()), (made.clocks(), made.clocks())] {
        let file = crate::support::write_file(&made.dir, "clear.json", run(&clear, &[]).to_string().as_bytes());
        let report = run(&args, &["--baseline", file.to_str().expect("text")]);
        let row = &report["baseline"][0];
        assert_eq!(reason(row, "increase_pct"), Some("depends-on-offset"), "{row}");
        assert!(
            row["increase_pct"].is_null() && row["of_baseline_pct"].is_null() && row["comparable"] == false,
            "{row}"
        );
    }
    let trial = &run(&made.clocks(), &[])["trials"][0];
    assert_eq!(reason(trial, "latency_sf"), Some("depends-on-offset"), "{trial}");
    assert!(trial["latency_sf_p50_ns"].is_null() && trial["latency_ct_min_ns"].is_null(), "{trial}");
    assert!(run(&made.all(), &[])["trials"][0]["latency_sf_p50_ns"].is_number());
}
