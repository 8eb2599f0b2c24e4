//! Figures that the data do not determine are null, with the reason.

use crate::bench::{Bench, Carrier, Load, Made};
use crate::support::build::START;
use crate::support::writer::{Order, Out, Step, pcap};
use crate::support::{items, scratch, write_file};
use crate::{json, reason};

fn bench(loads: &[(f64, f64, f64)]) -> Bench {
    let loads = loads.iter().map(|(at, fps, seconds)| Load { at: *at, fps: *fps, seconds: *seconds, size: 512 });
    Bench { loads: loads.collect(), ..Bench::default() }
}

fn open(report: &serde_json::Value, table: &str, figure: &str) -> String {
    let row = &report[table][0];
    reason(row, figure).unwrap_or_else(|| panic!("{figure} of {table} has no reason: {row:#}")).to_owned()
}

#[test]
fn without_an_overload() {
    let report = json(&bench(&[(0.0, 500.0, 1.0)]).make("trials-open-clean").all(), &[]);
    assert_eq!(open(&report, "throughput", "service_fps"), "no-overload");
    assert_eq!(open(&report, "throughput", "limit"), "no-overload");
    assert_eq!(open(&report, "throughput", "equilibrium_above"), "no-failing-trial");
    assert_eq!(open(&report, "throughput", "rfc1242_above"), "no-failing-trial");
    assert_eq!(open(&report, "throughput", "buffer_frames"), "not-overloaded");
    assert_eq!(open(&report, "trials", "buffer_frames"), "not-overloaded");
    assert_eq!(open(&report, "trials", "latency_sf"), "no-link-rate");
    assert_eq!(open(&report, "trials", "load_pct"), "no-link-rate");
    assert_eq!(open(&report, "buffers", "unit"), "not-overloaded");
    assert!(report["throughput"][0]["service_fps"].is_null() && report["trials"][0]["latency_sf_p50_ns"].is_null());
    assert!(items(&report, "model").is_empty() && items(&report, "loss").is_empty());
}

#[test]
fn with_an_overload_alone() {
    let report = json(&bench(&[(0.0, 1_600.0, 1.0)]).make("trials-open-over").all(), &[]);
    assert_eq!(open(&report, "throughput", "equilibrium"), "no-equal-trial");
    assert_eq!(open(&report, "throughput", "rfc1242"), "no-lossless-trial");
    assert_eq!(open(&report, "throughput", "mfrzl"), "no-lossless-trial");
    let row = &report["throughput"][0];
    assert_eq!(
        (&row["equilibrium_basis"], &row["equilibrium_bracket_fps"][0]),
        (&"at-most".into(), &serde_json::Value::Null)
    );
    assert_eq!(open(&report, "buffers", "unit"), "sizes-too-close");
}

#[test]
fn without_an_exit() {
    let made = bench(&[(0.0, 500.0, 1.0)]).make("trials-open-near");
    let report = json(&made.near(), &[]);
    assert_eq!(open(&report, "trials", "device_latency"), "no-middle-tap");
}

#[test]
fn where_nothing_comes_out() {
    let made =
        Bench { policer: Some((1.0, 1)), background: true, ..bench(&[(0.0, 500.0, 2.5)]) }.make("trials-open-silent");
    let report = json(&made.all(), &[]);
    assert_eq!(
        (report["trials"][0]["state"].as_str(), report["trials"][0]["basis"].as_str()),
        (Some("silent"), Some("none"))
    );
    assert_eq!(open(&report, "trials", "latency"), "nothing-forwarded");
    assert_eq!(open(&report, "trials", "forwarded"), "nothing-forwarded");
    assert_eq!(open(&report, "trials", "ratio"), "nothing-forwarded");
    assert_eq!(open(&report, "trials", "tunnel"), "no-ipsec");
    assert!(report["trials"][0]["ratio"].is_null() && report["trials"][0]["forwarded_fps"].is_null());
}

#[test]
fn sizes_that_make_no_difference() {
    let size = |at: f64, size: usize| Load { at, fps: 1_600.0, seconds: 1.0, size };
    let loads = |sizes: &[usize]| sizes.iter().enumerate().map(|(k, s)| size(2.5 * k as f64, *s)).collect();
    let report = |bench: Bench, name: &str| json(&bench.make(name).all(), &[]);
    let flat = report(Bench { loads: loads(&[64, 512, 1_024]), ..Bench::default() }, "trials-open-flat");
    assert_eq!(open(&flat, "model", "r_alg"), "size-makes-no-difference");
    assert!(flat["model"][0]["r_alg_bps"].is_null() && flat["model"][0]["r_alg_at_least_bps"].as_f64() > Some(1e7));
    assert_eq!(flat["model"][0]["t_fix_basis"], "per-packet");
    let near =
        report(Bench { loads: loads(&[800, 1_024]), per_octet: 500, ..Bench::default() }, "trials-open-near-sizes");
    assert_eq!(open(&near, "model", "r_alg"), "sizes-too-close");
    let octets = Bench { loads: loads(&[256, 512, 1_024]), per_packet: 10_000, per_octet: 3_000, ..Bench::default() };
    let octets = report(octets, "trials-open-octets");
    assert_eq!(open(&octets, "model", "t_fix"), "zero-fits");
    assert!(octets["model"][0]["t_fix_ns"].is_null() && octets["model"][0]["t_fix_at_most_ns"].as_f64() > Some(0.0));
}

#[test]
fn bursts_of_one_kind() {
    let burst = |at: f64, seconds: f64| (at, 4_000.0, seconds);
    let clean = json(&bench(&[burst(0.0, 0.007), burst(2.0, 0.006)]).make("trials-open-burst").all(), &[]);
    let row = &clean["back_to_back"][0];
    assert_eq!(
        (reason(row, "shortest_lossy_frames"), reason(row, "buffer_frames")),
        (Some("no-lossy-burst"), Some("no-overload"))
    );
    let lossy = json(&bench(&[burst(0.0, 0.3)]).make("trials-open-lossy-burst").all(), &[]);
    assert_eq!(open(&lossy, "back_to_back", "longest_lossless_frames"), "no-lossless-burst");
}

#[test]
fn clocks_that_nothing_compares() {
    let made: Made = bench(&[(0.0, 500.0, 1.0)]).make("trials-open-clock");
    let mut args = made.all();
    args.retain(|arg| arg != "--one-clock");
    let report = json(&args, &[]);
    assert_eq!(report["bench"]["depends_on_offset"], true);
    let trial = &report["trials"][0];
    assert_eq!(trial["latency_min_ns"], 0, "the least latency is taken for zero: {trial}");
}

/// Where not one packet was seen at the exit, nothing compares its clock.
#[test]
fn clocks_without_any_packet() {
    let made =
        Bench { policer: Some((1.0, 1)), background: true, ..bench(&[(0.0, 500.0, 2.5)]) }.make("trials-open-anchor");
    let mut args = made.all();
    args.retain(|arg| arg != "--one-clock");
    let report = json(&args, &[]);
    assert_eq!(open(&report, "trials", "latency"), "no-anchor");
    assert_eq!(open(&report, "trials", "ratio"), "no-anchor");
    let trial = &report["trials"][0];
    assert!(trial["latency_p50_ns"].is_null() && trial["ratio"].is_null() && trial["received"] == 0, "{trial}");
}

#[test]
fn a_tunnel_without_numbers() {
    let made = Bench { carrier: Carrier::Ipip, ..bench(&[(0.0, 500.0, 1.0)]) }.make("trials-open-numbers");
    let report = json(&made.all(), &[]);
    assert_eq!(open(&report, "trials", "sequence_lost"), "no-sequence");
    let trial = &report["trials"][0];
    assert!(
        trial["sequence_lost"].is_null() && trial["tunnelled"] == 500 && trial["tunnel_fps"].is_number(),
        "{trial}"
    );
}

#[test]
fn packets_without_ports() {
    let report = json(&Bench { protocol: 1, ..bench(&[(0.0, 500.0, 1.0)]) }.make("trials-open-l4").all(), &[]);
    assert_eq!(open(&report, "trials", "l4"), "no-transport");
    let trial = &report["trials"][0];
    assert!(
        trial["offered_l4_bps"].is_null() && trial["forwarded_l4_bps"].is_null() && trial["offered_l3_bps"].is_number()
    );
}

#[test]
fn without_a_tunnel_between_the_ends() {
    let made = bench(&[(0.0, 500.0, 1.0)]).make("trials-open-ends");
    let path = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let ends = ["trials", "--format", "json", "--one-clock", "--in", &path(&made.plain), "--out", &path(&made.exit)];
    let report = json(&ends.map(str::to_owned), &[]);
    for figure in ["tunnel", "tunnelled", "sequence_lost", "device_latency"] {
        assert_eq!(open(&report, "trials", figure), "no-middle-tap", "{figure}");
    }
    assert!(report["trials"][0]["tunnelled"].is_null() && report["trials"][0]["sequence_lost"].is_null());
    // A tap between the ends where packets are in clear.
    let between = path(&made.exit);
    let sides = ["--plain", &path(&made.plain), "--tunnel", &between, "--exit", &between];
    let clear: Vec<String> =
        ["trials", "--format", "json", "--one-clock"].iter().chain(&sides).map(|word| (*word).to_owned()).collect();
    let report = json(&clear, &[]);
    assert_eq!(
        (open(&report, "trials", "tunnel"), open(&report, "trials", "sequence_lost")),
        ("no-ipsec".into(), "no-ipsec".into())
    );
    assert!(report["trials"][0]["tunnel_fps"].is_null());
}

/// Frames that a coarse clock stamped alike make no rate.
#[test]
fn packets_of_one_moment() {
    let loads = vec![Load { at: 0.0, fps: 1e12, seconds: 25e-12, size: 512 }];
    let report = json(&Bench { loads, per_packet: 1, ..Bench::default() }.make("trials-open-moment").all(), &[]);
    assert_eq!(open(&report, "trials", "offered"), "too-few-frames");
    assert!(report["trials"][0]["offered_fps"].is_null() && report["trials"][0]["offered_l1_bps"].is_null());
}

#[test]
fn a_run_in_clear_without_latency() {
    let made = bench(&[(0.0, 500.0, 1.0)]).make("trials-open-increase");
    let mut clear = json(&made.all(), &[]);
    for figure in ["latency_mean_ns", "latency_p50_ns"] {
        clear["trials"][0][figure] = serde_json::Value::Null;
    }
    let file = write_file(&made.dir, "clear.json", clear.to_string().as_bytes());
    let report = json(&made.all(), &["--baseline", file.to_str().expect("text")]);
    assert_eq!(open(&report, "baseline", "increase_pct"), "no-latency");
    assert!(report["baseline"][0]["increase_pct"].is_null() && report["baseline"][0]["of_baseline_pct"].is_null());
}

/// A transfer of which neither the beginning nor the last acknowledgement was captured.
#[test]
fn a_transfer_that_was_cut() {
    let frames: Vec<Out> = (0..40_u32)
        .map(|i| {
            let mut tcp = vec![0x13, 0x88, 0, 22];
            tcp.extend((1_000 + 1_000 * i).to_be_bytes());
            tcp.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
            tcp.extend([7; 1_000]);
            let mut frame = vec![2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 8, 0];
            frame.extend(crate::bench::ipv4([10, 0, 1, 1], [10, 0, 2, 1], 6, i as u16, &tcp));
            Out::whole(START + 1_000_000 * u64::from(i), frame)
        })
        .collect();
    let dir = scratch("trials-open-transfer");
    let file = write_file(&dir, "plain.pcap", &pcap(&frames, 1, Order::Little, Step::Nano));
    let name = file.to_str().expect("text");
    let report = json(&["trials", "--format", "json", "--plain", name, "--tunnel", name].map(str::to_owned), &[]);
    assert_eq!(open(&report, "transfers", "seconds"), "not-acknowledged");
    assert_eq!(open(&report, "transfers", "elapsed"), "connection-cut");
    let row = &report["transfers"][0];
    assert!(row["seconds"].is_null() && row["elapsed_l4_bps"].is_null() && row["payload_bytes"] == 40_000, "{row}");
}
