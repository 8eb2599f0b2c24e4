//! Bins of time, latency buckets and times of pairs.

use serde_json::Value;

use crate::support::build::{self, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{items, number, scratch, write_file};
use crate::{HEADER, bundled, json, run};

/// What must hold of the bins of every report.
pub fn check(report: &Value) {
    let width = report["bin_ns"].as_i64();
    let directions = items(report, "directions");
    let bins = items(report, "bins");
    assert_eq!(width.is_some(), !bins.is_empty());
    assert!(bins.len() <= 2_048, "{} bins", bins.len());
    for (at, direction) in directions.iter().enumerate() {
        let own: Vec<&Value> = bins.iter().filter(|bin| bin["direction"] == at).collect();
        let starts: Vec<i64> = own.iter().map(|bin| bin["start_ns"].as_i64().expect("a time")).collect();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{direction:#}");
        assert!(starts.iter().all(|start| start % width.expect("a width") == 0), "{direction:#}");
        if own.is_empty() {
            assert!(direction["bins_why"].is_string(), "{direction:#}");
            continue;
        }
        let sum = |name: &str| own.iter().map(|bin| number(bin, name)).sum::<u64>();
        assert_eq!(sum("carried_frames"), number(direction, "matched"), "{direction:#}");
        if direction["bins_why"].is_string() {
            assert!(own.iter().all(|bin| bin["offered_frames"].is_null() && bin["lost_frames"].is_null()));
        } else {
            let decapsulated = direction["way"] == "decapsulated";
            let lost = if decapsulated { "lost_behind_tunnel" } else { "lost_before_tunnel" };
            assert_eq!(sum("lost_frames"), number(direction, lost), "{direction:#}");
            for bin in &own {
                let [offered, carried, lost] =
                    ["offered_frames", "carried_frames", "lost_frames"].map(|name| number(bin, name));
                assert_eq!(offered, carried + lost, "{bin:#}");
            }
        }
        let longest = own.iter().filter_map(|bin| bin["latency_max_ns"].as_i64()).max();
        assert_eq!(longest, direction["latency_ns"]["max"].as_i64(), "{direction:#}");
        let Some(buckets) = direction["latency_buckets"].as_array() else {
            assert_eq!(longest, None);
            continue;
        };
        let edge = |bucket: &Value, name: &str| bucket[name].as_i64().expect("a time");
        assert!(buckets.windows(2).all(|pair| edge(&pair[0], "to_ns") <= edge(&pair[1], "from_ns")), "{direction:#}");
        let (first, last) = (buckets.first().expect("one"), buckets.last().expect("one"));
        let [least, most] = ["min", "max"].map(|name| direction["latency_ns"][name].as_i64().expect("a time"));
        assert!(edge(first, "from_ns") <= least && least < edge(first, "to_ns"), "{direction:#}");
        assert!(edge(last, "from_ns") <= most && most < edge(last, "to_ns"), "{direction:#}");
        let timed: u64 = buckets.iter().map(|bucket| number(bucket, "count")).sum();
        assert!(timed <= number(direction, "matched") && timed > 0, "{direction:#}");
    }
}

#[test]
fn bins_hold_what_was_offered_carried_and_lost() {
    for name in ["loss-before-tap", "ah-sha256", "wrong-auth-key"] {
        let (plain, tunnel) = bundled(name);
        check(&json(&plain, &tunnel, &[]));
    }
    let (plain, tunnel) = bundled("loss-before-tap");
    let report = json(&plain, &tunnel, &[]);
    let (width, bins) = (report["bin_ns"].as_i64().expect("a width"), items(&report, "bins"));
    // Each packet of the list is in the bin of its time.
    for lost in items(&report, "lost") {
        let frame = number(lost, "frame.frame");
        let finding = items(&report, "findings").iter().find(|one| one["code"] == "match-loss").expect("a loss");
        let named = items(finding, "occurrences").iter().find(|one| one["frame"] == frame).expect("an occurrence");
        let ns = named["time_ns"].as_i64().expect("a time");
        let bin = bins
            .iter()
            .find(|bin| bin["start_ns"].as_i64() == Some(ns - ns.rem_euclid(width)) && bin["lost_frames"] != 0);
        assert!(bin.is_some(), "no bin for frame {frame}");
    }
    let offered: u64 = bins.iter().map(|bin| number(bin, "offered_frames")).sum();
    assert_eq!(offered, 1_260);
    let rows = run(&plain, &tunnel, &["--format", "csv", "--table", "bins"]).expect(0);
    assert_eq!(rows.text().lines().count(), bins.len() + 1);
}

/// Times of pairs are those of their frames; the delay is what lies between them once the clocks are compared.
#[test]
fn pairs_have_the_times_of_their_frames() {
    let (plain, tunnel) = bundled("ah-sha256");
    let rows = run(&plain, &tunnel, &["--one-clock", "--format", "csv"]).expect(0).csv(HEADER);
    for row in &rows {
        let [plain, tunnel, delay] =
            ["plain_time_ns", "tunnel_time_ns", "delay_ns"].map(|name| row.get(name).parse::<i64>().expect("a time"));
        assert_eq!((tunnel - plain).abs(), delay.abs());
    }
    assert!(rows.len() > 100);
}

fn plaintext(n: u32) -> Vec<u8> {
    build::udp([10, 0, 1, 7].into(), [10, 0, 2, 7].into(), (9, 9), n as u16, &n.to_be_bytes().repeat(20))
}

fn in_ip(n: u32) -> Vec<u8> {
    build::ipv4(build::R1, build::R2, 4, n as u16, &build::one_hop_further(&plaintext(n))[14..])
}

fn capture(name: &str, at_us: u64, every_ms: u64, frames: impl Iterator<Item = (u32, Vec<u8>)>) -> std::path::PathBuf {
    let out: Vec<Out> = frames
        .map(|(n, frame)| Out::whole(START + u64::from(n) * every_ms * 1_000_000 + at_us * 1_000, frame))
        .collect();
    write_file(&scratch("matching-bins"), name, &plain_pcap(&out))
}

/// Hours of packets make bins of a minute or more, and no more than there is room for.
#[test]
fn long_captures_have_wide_bins() {
    let plain = capture("long-plain.pcap", 0, 10_000, (1..=3_000).map(|n| (n, plaintext(n))));
    let lost = |n: &u32| n % 30 == 7;
    let tunnel = capture("long-tunnel.pcap", 200, 10_000, (1..=3_000).filter(|n| !lost(n)).map(|n| (n, in_ip(n))));
    let report = json(&plain, &tunnel, &["--one-clock"]);
    check(&report);
    assert_eq!(report["bin_ns"], 600_000_000_000_u64, "30,000 s");
    let bins = items(&report, "bins");
    let lost: u64 = bins.iter().map(|bin| number(bin, "lost_frames")).sum();
    assert_eq!((lost, bins.len()), (100, 51));
}

/// Packets of other networks in the tunnel are not those that were lost: their content is seen.
#[test]
fn strangers_in_the_tunnel_hide_no_loss() {
    let plain = capture("strangers-plain.pcap", 0, 1, (1..=200).map(|n| (n, plaintext(n))));
    let within = (1..=205).filter(|n| !(50..55).contains(n)).map(|n| (if n > 200 { n - 100 } else { n }, in_ip(n)));
    let mut within: Vec<(u32, Vec<u8>)> = within.collect();
    within.sort_by_key(|(n, _)| *n);
    let tunnel = capture("strangers-tunnel.pcap", 200, 1, within.into_iter());
    let report = json(&plain, &tunnel, &["--one-clock"]);
    check(&report);
    let direction = &items(&report, "directions")[0];
    let count = |name: &str| number(direction, name);
    assert_eq!((count("lost_before_tunnel"), count("unmatched_tunnel")), (5, 5), "{direction:#}");
}

/// Equal packets and two clocks: how many were lost is not known.
#[test]
fn what_is_not_known_is_null_with_its_reason() {
    let plain = capture("open-plain.pcap", 0, 1, (1..=200).map(|n| (n, plaintext(7))));
    let within = (1..=200).filter(|n| !(50..55).contains(n)).map(|n| (n, in_ip(7)));
    let tunnel = capture("open-tunnel.pcap", 200, 1, within);
    let report = json(&plain, &tunnel, &[]);
    check(&report);
    let direction = &items(&report, "directions")[0];
    assert!(direction["loss_pct"].is_null() && direction["bins_why"].is_string(), "{direction:#}");
}
