//! A clock that is set wrong or runs fast changes offset and drift by just that, and no latency.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::oracle::read_capture;
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{at, items, scratch, shared, write_file};
use crate::{bundled, json};

/// The capture by another clock: ahead by `shift_ns`, fast by `ppm` from its first frame on. Nanoseconds, so that nothing is rounded away.
fn by_another_clock(capture: &Path, name: &str, shift_ns: i64, ppm: f64) -> PathBuf {
    let records = read_capture(capture).records;
    let first = records.first().expect("a frame").time_ns;
    let frames: Vec<Out> = records
        .into_iter()
        .map(|record| {
            let gained = ((record.time_ns - first) as f64 * ppm / 1e6).round() as i64;
            Out::whole(u64::try_from(record.time_ns + gained + shift_ns).expect("after 1970"), record.data)
        })
        .collect();
    write_file(&scratch("pairing-clocks"), name, &pcap(&frames, ETHERNET, Order::Little, Step::Nano))
}

fn ns(value: &Value, path: &str) -> i64 {
    at(value, path).as_i64().unwrap_or_else(|| panic!("{path} of {value:#} is a number"))
}

/// Everything but offset and drift must be the same to within the steps of the timestamps.
fn compare(before: &Value, after: &Value, shift_ns: i64, ppm: f64, context: &str) {
    assert_eq!(before["pairs"], after["pairs"], "{context}");
    for (before, after) in items(before, "directions").iter().zip(items(after, "directions")) {
        let sa = &before["sa"];
        let moved = ns(after, "clock.offset_ns") - ns(before, "clock.offset_ns");
        assert!((moved - shift_ns).abs() <= 5_000, "{context} {sa}: the offset moved by {moved}, not {shift_ns}");
        // A long way over a short time leaves the drift open.
        let drift = |report: &Value| at(report, "clock.drift_ppm").as_f64();
        assert_eq!(drift(before).is_some(), drift(after).is_some(), "{context} {sa}");
        if let (Some(was), Some(is)) = (drift(before), drift(after)) {
            let gained = is - was;
            assert!((gained - ppm).abs() <= 1.0, "{context} {sa}: the drift grew by {gained} ppm, not {ppm}");
        }
        for figure in ["min", "p50", "p90", "p99", "max"] {
            let (was, is) = (ns(before, &format!("latency_ns.{figure}")), ns(after, &format!("latency_ns.{figure}")));
            // Quantiles are of classes 0.4 % wide.
            let noise = 3_000 + was / 100;
            assert!((is - was).abs() <= noise, "{context} {sa}: {figure} was {was} and is {is}");
        }
    }
}

#[test]
fn a_shifted_and_drifting_clock_changes_nothing_else() {
    let hours = 3 * 3_600 * 1_000_000_000_i64;
    let (plain, tunnel) = bundled("loss-before-tap");
    let before = json(&plain, &tunnel, &[]);
    for (name, shift_ns, ppm) in [
        ("ahead", hours, 0.0),
        ("behind", -5 * hours, 0.0),
        ("fast", 0, 50.0),
        ("both", hours, 50.0),
        ("slow", -hours, -50.0),
    ] {
        let moved = by_another_clock(&tunnel, &format!("{name}.pcap"), shift_ns, ppm);
        compare(&before, &json(&plain, &moved, &[]), shift_ns, ppm, name);
    }
}

#[test]
fn clocks_of_the_laboratory_shift_and_drift_alike() {
    let Some(lab) = shared("lab") else { return };
    for scenario in ["rekey", "imix-udp", "random-aes128-sha1", "equal-size-loss", "ah-md5", "delay-20ms"] {
        let (plain, tunnel) = (lab.join(scenario).join("plain-a.pcap"), lab.join(scenario).join("tunnel.pcap"));
        let before = json(&plain, &tunnel, &[]);
        let (shift_ns, ppm) = (-7 * 3_600 * 1_000_000_000_i64, 50.0);
        let moved = by_another_clock(&tunnel, &format!("{scenario}.pcap"), shift_ns, ppm);
        compare(&before, &json(&plain, &moved, &[]), shift_ns, ppm, scenario);
    }
}

/// One capture that holds both sides has one clock.
fn check_one_clock(report: &Value, pairs: Option<u64>, context: &str) {
    if let Some(pairs) = pairs {
        assert_eq!(report["pairs"]["matched"], pairs, "{context}");
    }
    let matched = items(report, "directions").iter().filter(|direction| direction["matched"] != 0);
    for direction in matched {
        let clock = &direction["clock"];
        assert_eq!(
            (&clock["basis"], &clock["offset_ns"]),
            (&"one-clock".into(), &0.into()),
            "{context}: {direction:#}"
        );
        assert_eq!(at(direction, "latency_ns.depends_on_offset"), false, "{context}");
    }
}

/// By one clock, packets of one direction would arrive before they were sent: those of the other take as much less than it seems.
#[test]
fn clocks_that_are_apart_are_not_one() {
    // Late by order, the other direction has no pairs that could say so.
    for (fixture, name, shift_ns) in
        [("loss-before-tap", "early", -3_000_000), ("ah-sha256", "early", -3_000_000), ("ah-sha256", "late", 3_000_000)]
    {
        let (plain, tunnel) = bundled(fixture);
        let moved = by_another_clock(&tunnel, &format!("{fixture}-{name}.pcap"), shift_ns, 0.0);
        let report = json(&plain, &moved, &["--one-clock"]);
        for direction in items(&report, "directions") {
            assert!(direction["latency_ns"].get("p50").is_none(), "{fixture} {name}: {direction:#}");
        }
    }
}

#[test]
fn one_capture_for_both_sides_has_one_clock() {
    let (plain, tunnel) = bundled("ah-sha256");
    let mut records = [read_capture(&plain).records, read_capture(&tunnel).records].concat();
    records.sort_by_key(|record| record.time_ns);
    let frames: Vec<Out> = records
        .into_iter()
        .map(|record| Out::whole(u64::try_from(record.time_ns).expect("after 1970"), record.data))
        .collect();
    let bytes = pcap(&frames, ETHERNET, Order::Little, Step::Micro);
    let both = write_file(&scratch("pairing-clocks"), "combined.pcap", &bytes);
    check_one_clock(&json(&both, &both, &[]), Some(129), "both sides in one file");
    check_one_clock(&json(&plain, &tunnel, &["--one-clock"]), Some(129), "--one-clock");

    let Some(lab) = shared("lab") else { return };
    for scenario in ["esp-3des-sha1", "esp-aes128-gcm16", "ah-sha1", "esp-null-md5", "gre-plain", "nat-t-aes128-sha1"] {
        let both = lab.join(scenario).join("combined.pcapng");
        let apart = json(&lab.join(scenario).join("plain-a.pcap"), &lab.join(scenario).join("tunnel.pcap"), &[]);
        check_one_clock(&json(&both, &both, &[]), apart["pairs"]["matched"].as_u64(), scenario);
    }
}
