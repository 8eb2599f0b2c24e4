//! Made-up benches.

use serde_json::Value;

use crate::bench::{Bench, Carrier, Load};
use crate::support::{items, number, write_file};
use crate::{agree, json, near, reason};

fn load(at: f64, fps: f64, seconds: f64, size: usize) -> Load {
    Load { at, fps, seconds, size }
}

/// Three loads around 1,000 packets a second, the highest with loss.
fn steps(size: usize) -> Vec<Load> {
    vec![load(0.0, 500.0, 1.2, size), load(2.5, 900.0, 1.2, size), load(5.0, 1_250.0, 1.2, size)]
}

#[track_caller]
fn measured(bench: &Bench, name: &str) {
    let made = bench.make(name);
    let report = json(&made.all(), &["--link-rate", "100M"]);
    agree(&report, if bench.reverse { "rev" } else { "fwd" }, &made.truth);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        if truth.received == truth.sent {
            near("latency_p50_ns", &trial["latency_p50_ns"], truth.p50, 0.01);
            near("latency_max_ns", &trial["latency_max_ns"], truth.max, 0.01);
            assert_eq!(trial["state"], "equal", "{trial}");
        } else {
            near("latency_p50_ns", &trial["latency_p50_ns"], truth.p50, 0.06);
            assert_eq!(trial["state"], "overloaded", "{trial}");
        }
        assert_eq!(trial["tunnelled"], truth.tunnelled, "{trial}");
    }
    let row = &report["throughput"][0];
    near("equilibrium", &row["equilibrium"]["fps"], 900.0, 0.003);
    near("above", &row["equilibrium_bracket_fps"][1], 1_250.0, 0.003);
    near("service", &row["service_fps"], 1e9 / (bench.per_packet + bench.per_octet * 512) as f64, 0.005);
    near("buffer", &row["buffer_frames"], bench.room as f64, 0.08);
}

#[test]
fn esp_whose_packets_are_all_the_same() {
    measured(&Bench { loads: steps(512), constant: true, ..Bench::default() }, "trials-constant");
}

#[test]
fn ipv6_in_ipv6() {
    measured(&Bench { loads: steps(512), carrier: Carrier::Esp6, ..Bench::default() }, "trials-ipv6");
}

#[test]
fn ah_around_esp() {
    measured(
        &Bench { loads: steps(512), carrier: Carrier::AhEsp, constant: true, ..Bench::default() },
        "trials-ah-esp",
    );
}

#[test]
fn ah_shows_what_is_inside() {
    measured(&Bench { loads: steps(512), carrier: Carrier::Ah, ..Bench::default() }, "trials-ah");
}

/// Without a silence between loads the queue of one comes out in the next.
#[test]
fn loads_without_a_pause_share_a_queue() {
    let loads = vec![load(0.0, 600.0, 1.5, 512), load(1.5, 1_100.0, 1.5, 512), load(3.0, 400.0, 1.5, 512)];
    let bench = Bench { loads, constant: true, room: 200, ..Bench::default() };
    let made = bench.make("trials-gapless");
    let report = json(&made.all(), &[]);
    let lost: Vec<u64> = items(&report, "trials").iter().filter_map(|trial| trial["lost"].as_u64()).collect();
    // 100 packets a second more than the device forwards, for 1.5 s: 150 wait, none is lost.
    assert_eq!(lost, [0, 0, 0], "{:#?}", report["trials"]);
}

#[test]
fn esp_in_udp() {
    measured(&Bench { loads: steps(512), carrier: Carrier::NatT, constant: true, ..Bench::default() }, "trials-nat-t");
}

#[test]
fn microseconds_and_background() {
    let bench = Bench { loads: steps(512), micro: true, background: true, ..Bench::default() };
    measured(&bench, "trials-background");
}

#[test]
fn out_of_the_tunnel_at_the_plain_tap() {
    measured(&Bench { loads: steps(512), reverse: true, ..Bench::default() }, "trials-reverse");
}

#[test]
fn encrypted_packets_that_come_in_have_the_lengths_of_the_plain_side() {
    let bench = Bench { loads: steps(512), reverse: true, constant: true, link_loss: Some(50), ..Bench::default() };
    let made = bench.make("trials-reverse-near");
    let report = json(&made.near(), &[]);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        assert_eq!((trial["direction"].as_str(), trial["size_class"].as_str()), (Some("rev"), Some("512")));
        assert_eq!((&trial["sent"], &trial["received"]), (&truth.tunnelled.into(), &truth.received.into()));
        assert!(trial["sequence_lost"].as_u64() > Some(0), "{trial}");
    }
}

#[test]
fn tags_of_a_vlan_are_on_the_wire() {
    let bench = Bench { loads: steps(512), vlan: true, ..Bench::default() };
    measured(&bench, "trials-vlan");
    let report = json(&bench.make("trials-vlan-l1").all(), &[]);
    let trial = &report["trials"][0];
    near("l1", &trial["offered_l1_bps"], 500.0 * 8.0 * (512.0 + 18.0 + 24.0), 0.003);
    near("circuit", &trial["tunnel_l1_bps"], 500.0 * 8.0 * (584.0 + 18.0 + 24.0), 0.003);
    near("l4", &trial["offered_l4_bps"], 500.0 * 8.0 * 484.0, 0.003);
}

#[test]
fn fragments_of_an_outer_packet_are_one_packet_and_two_frames() {
    let bench = Bench { loads: vec![load(0.0, 400.0, 1.5, 1_480)], constant: true, mtu: 1_500, ..Bench::default() };
    let made = bench.make("trials-fragments");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let trial = &report["trials"][0];
    assert_eq!(trial["tunnelled"], 600);
    // 1,544 octets outside: 1,500 and 64.
    near("circuit", &trial["tunnel_l1_bps"], 400.0 * 8.0 * (1_538.0 + 102.0), 0.003);
}

#[test]
fn the_tunnel_tap_alone_counts_missing_numbers() {
    let bench = Bench { loads: vec![load(0.0, 700.0, 1.5, 512)], link_loss: Some(20), ..Bench::default() };
    let made = bench.make("trials-tunnel-alone");
    let args = ["trials", "--format", "json", "--tunnel", made.tunnel.to_str().expect("text")].map(str::to_owned);
    let report = json(&args, &[]);
    let trial = &report["trials"][0];
    assert_eq!(trial["basis"], "sequence");
    // A number that is missing at the end shows nowhere.
    assert!((trial["lost"].as_i64().expect("a count") - 52).abs() <= 1, "{trial}");
    near("offered", &trial["offered_fps"], 700.0, 0.004);
    assert_eq!((reason(trial, "latency"), reason(trial, "inner_bytes")), (Some("no-out-tap"), Some("opaque")));
    assert!(trial["latency_p50_ns"].is_null() && trial["offered_l3_bps"].is_null());
}

#[test]
fn trials_by_their_times() {
    let bench = Bench { loads: vec![load(0.0, 800.0, 4.0, 512)], ..Bench::default() };
    let made = bench.make("trials-given");
    let start = crate::support::build::START;
    let table = format!("start_ns,seconds,direction\n{start},1.0,fwd\n{},1.5,\n", start + 2_000_000_000);
    let file = write_file(&made.dir, "trials.csv", table.as_bytes());
    let report = json(&made.all(), &["--trials", file.to_str().expect("text")]);
    let sent: Vec<u64> = items(&report, "trials").iter().filter_map(|trial| trial["sent"].as_u64()).collect();
    assert_eq!(sent, [801, 1_201]);
    near("offered", &report["trials"][1]["offered_fps"], 800.0, 0.001);
}

#[test]
fn a_clock_that_is_set_voids_the_latency_of_its_trial_alone() {
    let bench = Bench { loads: steps(512), step: Some((3.1, 700_000_000)), ..Bench::default() };
    let made = bench.make("trials-step");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let trials = items(&report, "trials");
    assert_eq!(reason(&trials[1], "latency"), Some("clock-step"), "{}", trials[1]);
    assert!(trials[1]["latency_p50_ns"].is_null() && trials[1]["lost"] == 0);
    near("before", &trials[0]["latency_p50_ns"], made.truth[0].p50, 0.01);
    near("after", &trials[2]["latency_p50_ns"], made.truth[2].p50, 0.06);
}

#[test]
fn ten_gigabit_with_nanoseconds() {
    let loads = vec![load(0.0, 60_000.0, 0.6, 64), load(1.5, 120_000.0, 0.6, 64)];
    let bench = Bench { loads, per_packet: 10_000, delay: 3_000, room: 200, constant: true, ..Bench::default() };
    let made = bench.make("trials-10g");
    let report = json(&made.all(), &["--link-rate", "10G"]);
    agree(&report, "fwd", &made.truth);
    let trial = &report["trials"][0];
    near("p50", &trial["latency_p50_ns"], 13_000.0, 0.001);
    // 82 octets of layer 2 take 66 ns.
    near("sf", &trial["latency_sf_p50_ns"], 13_000.0 - 65.6, 0.001);
    near("ct", &trial["latency_ct_p50_ns"], 13_000.0, 0.001);
    near("service", &report["throughput"][0]["service_fps"], 100_000.0, 0.005);
}

#[test]
fn a_policer_is_no_overload() {
    let bench = Bench { loads: steps(512), per_packet: 100_000, policer: Some((800.0, 10)), ..Bench::default() };
    let made = bench.make("trials-policer");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    let states: Vec<&str> = items(&report, "trials").iter().filter_map(|trial| trial["state"].as_str()).collect();
    assert_eq!(states, ["equal", "lossy", "lossy"]);
    // The content of packets says which were lost: every tenth one of the two faster loads, by their frames at the plain tap.
    let lossy: Vec<&Value> = items(&report, "findings").iter().filter(|own| own["code"] == "trial-lossy").collect();
    let mut before = made.truth[0].sent;
    for (load, truth) in made.truth.iter().enumerate().skip(1) {
        let lost: Vec<u64> = (1..=truth.sent / 10).map(|n| before + 10 * n).collect();
        let listed: Vec<u64> = lost.iter().take(100).chain(lost.last().filter(|_| lost.len() > 100)).copied().collect();
        let is_it = |own: &&&Value| own["first_ns"] == report["trials"][load]["start_ns"];
        let own = lossy.iter().find(is_it).expect("it is said");
        let frames = items(own, "occurrences").iter().map(|one| (number(one, "capture"), number(one, "frame")));
        assert_eq!(frames.collect::<Vec<_>>(), listed.iter().map(|frame| (0, *frame)).collect::<Vec<_>>());
        assert_eq!(number(own, "occurrences_total"), lost.len() as u64);
        before += truth.sent;
    }
}

#[track_caller]
fn begins(report: &Value, code: &str, frames: &[u64]) {
    let own = items(report, "findings").iter().find(|own| own["code"] == code).expect(code);
    let shown: Vec<u64> = items(own, "occurrences").iter().map(|one| number(one, "frame")).collect();
    assert_eq!(shown, frames, "{own}");
    assert_eq!(number(own, "occurrences_total"), frames.len() as u64);
}

#[test]
fn loss_of_a_lower_load_is_said_with_its_trial() {
    let bench = Bench { loads: steps(512), outage: Some((0.5, 0.53)), ..Bench::default() };
    let made = bench.make("trials-outage-low");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    assert!(made.truth[0].received < made.truth[0].sent && made.truth[1].received == made.truth[1].sent);
    assert_eq!(report["throughput"][0]["monotone"], false);
    begins(&report, "loss-not-monotone", &[1]);
}

#[test]
fn a_queue_that_has_not_drained_is_said_with_the_trial_that_it_delays() {
    let loads = vec![load(0.0, 1_400.0, 1.2, 512), load(1.5, 700.0, 1.2, 512), load(4.0, 600.0, 1.2, 512)];
    let made = Bench { loads, room: 600, ..Bench::default() }.make("trials-carried-in");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    begins(&report, "trial-carried-in", &[1 + made.truth[0].sent]);
}

/// Packets without content of their own may each be the lost one: the finding leads to where the trial begins.
#[test]
fn packets_that_are_all_the_same_are_not_named_as_lost() {
    let bench = Bench {
        loads: steps(512),
        constant: true,
        per_packet: 100_000,
        policer: Some((800.0, 10)),
        ..Bench::default()
    };
    let made = bench.make("trials-constant-lost");
    let report = json(&made.all(), &[]);
    let mut begins = vec![1];
    made.truth.iter().for_each(|truth| begins.push(begins[begins.len() - 1] + truth.sent));
    let lossy: Vec<&Value> = items(&report, "findings").iter().filter(|own| own["code"] == "trial-lossy").collect();
    assert!(!lossy.is_empty());
    for own in lossy {
        let frames: Vec<u64> = items(own, "occurrences").iter().map(|one| number(one, "frame")).collect();
        assert!(frames.len() == 1 && begins.contains(&frames[0]), "{own}");
    }
    let short = items(&report, "findings").iter().find(|own| own["code"] == "trial-short").expect("they are");
    let frames: Vec<u64> = items(short, "occurrences").iter().map(|one| number(one, "frame")).collect();
    assert_eq!(frames, begins[..made.truth.len()]);
}

#[test]
fn any_device_between_two_ports() {
    let bench = Bench { loads: steps(512), ..Bench::default() };
    let made = bench.make("trials-ports");
    let path = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let args = [
        "trials".to_owned(),
        "--format".to_owned(),
        "json".to_owned(),
        "--one-clock".to_owned(),
        "--in".to_owned(),
        path(&made.plain),
        "--out".to_owned(),
        path(&made.exit),
    ];
    let report = json(&args, &[]);
    agree(&report, "fwd", &made.truth);
    assert!(items(&report, "findings").iter().all(|finding| finding["code"] != "taps-swapped"));
    assert_eq!(reason(&report["trials"][0], "tunnel"), Some("no-middle-tap"));
}

#[test]
fn two_sizes_make_a_model() {
    let loads = vec![load(0.0, 1_500.0, 1.2, 128), load(2.5, 1_500.0, 1.2, 512), load(5.0, 1_500.0, 1.2, 1_024)];
    let bench = Bench { loads, per_packet: 500_000, per_octet: 1_000, ..Bench::default() };
    let report = json(&bench.make("trials-model").all(), &[]);
    let model = &report["model"][0];
    near("t_fix", &model["t_fix_ns"], 500_000.0, 0.02);
    near("r_alg", &model["r_alg_bps"], 8e6, 0.02);
    assert_eq!((&model["r_alg_basis"], &model["t_fix_basis"]), (&"determined".into(), &"determined".into()));
    assert_eq!(report["buffers"][0]["unit"], "frames");
}
