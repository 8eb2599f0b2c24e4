//! What looks like something else: no figure follows from the wrong one of two readings.

use serde_json::Value;

use crate::bench::{Bench, Load, Made, ipv4, since};
use crate::device::{Device, Rule, Waited};
use crate::support::build::START;
use crate::support::items;
use crate::support::writer::Out;
use crate::{agree, json, near, reason};

const fn load(at: f64, fps: f64, seconds: f64, size: usize) -> Load {
    Load { at, fps, seconds, size }
}

/// A device that has room for hardly any packet, and equal loads of both directions: as many are lost in each, so that the wrong direction of the
/// tunnel would have lost none.
#[test]
fn equal_loads_of_both_directions_and_hardly_any_room() {
    for (service, room) in [(1_000_000, 1), (700_000, 1), (1_000_000, 3)] {
        let loads = [load(0.2, 700.0, 1.2, 128), load(3.0, 900.0, 1.2, 128), load(6.0, 1_300.0, 1.2, 128)];
        let device = Device { service, wobble: 2, room, rule: Rule::Rings, delay: 200_000, told: false, seed: 3 };
        let (made, truth) = device.make([&loads, &loads], 0, &format!("trials-no-room-{service}-{room}"));
        let report = json(&made.near(), &[]);
        for trial in items(&report, "trials") {
            let start = trial["start_ns"].as_f64().expect("a time") / 1e9 - START as f64 / 1e9;
            let reverse = trial["direction"] == "rev";
            let is_this = |own: &&Waited| own.reverse == reverse && (own.at - start).abs() < 0.1;
            let own = truth.iter().find(is_this).expect("a load");
            let received = trial["received"].as_u64().unwrap_or(0);
            assert!(received.abs_diff(own.received) <= 2, "{service} {room}: not {}: {trial}", own.received);
        }
    }
}

/// Loads of both directions, and taps in the tunnel and behind it: which way each goes is told by the times through the gateway between them, and
/// not by which begins first.
#[test]
fn loads_of_both_directions_without_the_near_end() {
    for (sizes, later) in [([128, 128], 0.003), ([128, 128], 0.012), ([512, 256], 0.003), ([256, 512], -0.0021)] {
        let own = |late: f64, size: usize| {
            [(0.2, 400.0), (3.0, 900.0), (6.0, 1_500.0)].map(|(at, fps)| load(at + late, fps, 1.5, size))
        };
        let rule = Rule::Rings;
        for told in [false, true] {
            let device = Device { service: 500_000, wobble: 3, room: 60, rule, delay: 200_000, told, seed: 3 };
            let name = format!("trials-far-end-{}-{later}-{told}", sizes[0]);
            let (made, truth) = device.make([&own(0.0, sizes[0]), &own(later, sizes[1])], 0, &name);
            for clocks in [&["--one-clock"][..], &[]] {
                let report = json(&far(&made), clocks);
                let flow = &report["bench"]["flows"][0];
                assert_eq!(
                    (&flow["direction"], &flow["src"]),
                    (&"rev".into(), &"10.0.2.1".into()),
                    "{name}: {report:#}"
                );
                for own in truth.iter().filter(|own| own.reverse) {
                    let start = |trial: &Value| trial["start_ns"].as_f64().map(|ns| ns / 1e9 - START as f64 / 1e9);
                    let is_this = |trial: &&Value| start(trial).is_some_and(|start| (start - own.at).abs() < 0.0001);
                    let trial = items(&report, "trials").iter().find(is_this).expect("the load into the tunnel");
                    assert_eq!(
                        (&trial["direction"], &trial["sent"]),
                        (&"rev".into(), &own.sent.into()),
                        "{name}: {trial}"
                    );
                }
                for trial in items(&report, "trials") {
                    assert_eq!(trial["lost"], 0, "{name}: {trial}");
                    near("latency_p50_ns", &trial["latency_p50_ns"], 200_000.0, 0.05);
                }
            }
        }
    }
}

/// Loads of both directions that begin closer to each other than a packet takes through the gateway: read the wrong way round, it would be through
/// sooner, and nothing would be lost. No figure follows from that; where nothing else tells, the loads are not used.
#[test]
fn loads_of_both_directions_that_begin_close_to_each_other() {
    let loads =
        |shift: f64| [(0.5, 300.0), (3.5, 700.0), (6.5, 1_300.0)].map(|(at, fps)| load(at + shift, fps, 1.5, 512));
    for (is_near, shift, [per_packet, back]) in
        [(true, -0.0003, [1_000_000, 1_000]), (false, 0.0003, [1_000, 1_000_000])]
    {
        let bench = Bench { loads: loads(0.0).to_vec(), wobble: 2, room: 60, delay: 1_000_000, ..Bench::default() };
        let there = Bench { per_packet, ..bench.clone() };
        let back = Bench { loads: loads(shift).to_vec(), per_packet: back, reverse: true, rekey: Some(0.0), ..bench };
        let (made, others) = there.with(&back, &format!("trials-close-{is_near}"));
        let args = if is_near { made.near() } else { [far(&made), vec!["--one-clock".to_owned()]].concat() };
        for args in [args.clone(), args.into_iter().filter(|own| own != "--one-clock").collect()] {
            let report = json(&args, &[]);
            let mut used = 0;
            for trial in items(&report, "trials") {
                let start = trial["start_ns"].as_f64().expect("a time") / 1e9 - START as f64 / 1e9;
                let at = ((start - 0.5) / 3.0).round() as usize;
                let reverse = trial["direction"] == "rev";
                let truth = if reverse { &others[at] } else { &made.truth[at] };
                // What the device dropped before the tunnel's tap, the other tap shows of one direction.
                let sent = if reverse == is_near { truth.tunnelled } else { truth.sent };
                assert_eq!((&trial["sent"], &trial["received"]), (&sent.into(), &truth.received.into()), "{trial}");
                let late = trial["latency_p50_ns"].as_f64();
                assert!(late.is_none_or(|late| (late - 1e6).abs() < 1e5 || late > 1e7), "{trial}");
                used += 1;
            }
            let said = report["degraded_why"].to_string();
            let end = if is_near { "at the exit" } else { "at the plain side" };
            for left in items(&report, "segments") {
                assert!(left["why"].as_str().is_some_and(|why| why.contains(end)), "{left}");
                assert!(said.contains("may be exchanged"), "{said}");
            }
            assert_eq!(used + items(&report, "segments").len(), 6, "{report:#}");
        }
    }
}

/// Arguments for the tap in the tunnel and the one behind it.
fn far(made: &Made) -> Vec<String> {
    let name = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let args = ["trials", "--format", "json", "--tunnel", &name(&made.tunnel), "--exit", &name(&made.exit)];
    args.map(str::to_owned).to_vec()
}

/// A few packets of the other direction all along: which direction of the tunnel carries the load is plain.
#[test]
fn a_load_and_a_few_packets_of_the_other_direction() {
    let loads = vec![load(0.5, 400.0, 1.5, 128), load(3.0, 800.0, 1.5, 128), load(5.5, 1_300.0, 1.5, 128)];
    let bench = Bench { loads, constant: true, ..Bench::default() };
    let back = Bench { loads: vec![load(0.1, 5.0, 8.0, 96)], reverse: true, rekey: Some(0.0), ..bench.clone() };
    let (made, _) = bench.with(&back, "trials-few-back");
    agree(&json(&made.near(), &[]), "fwd", &made.truth);
}

/// Loads that come one like the other, and a queue that bridges the last pause: with several clocks, no load is taken for the next one.
#[test]
fn loads_that_come_one_like_the_other() {
    let rates = [140.0, 90.0, 145.0, 320.0, 140.0];
    let loads: Vec<Load> = rates.iter().zip(0_u32..).map(|(fps, k)| load(f64::from(k) * 1.5, *fps, 0.8, 512)).collect();
    for constant in [false, true] {
        for offsets in [[2_400_000_000, -3_100_000_000], [-2_400_000_000, 3_100_000_000]] {
            let bench =
                Bench { loads: loads.clone(), constant, per_packet: 4_200_000, room: 300, offsets, ..Bench::default() };
            let made = bench.make(&format!("trials-alike-{constant}-{}", offsets[0]));
            let report = json(&made.clocks(), &[]);
            agree(&report, "fwd", &made.truth);
            for trial in items(&report, "trials").iter().take(3) {
                assert!(trial["latency_p50_ns"].as_f64().is_some_and(|p50| p50.abs() < 30e6), "{constant}: {trial}");
                assert!(trial["backlog_max_frames"].as_u64().is_some_and(|most| most < 10), "{constant}: {trial}");
            }
        }
    }
}

/// The clock of the tunnel's tap is set within a load: no rate in the tunnel follows from its times.
#[test]
fn a_clock_of_the_tunnel_that_is_set_within_a_load() {
    let loads = vec![load(0.0, 400.0, 1.5, 512), load(3.0, 800.0, 1.5, 512), load(6.0, 900.0, 1.5, 512)];
    for (constant, by) in [(false, 50), (true, 50), (true, 200)] {
        let bench =
            Bench { loads: loads.clone(), constant, forward_tunnel: Some((3.8, by * 1_000_000)), ..Bench::default() };
        let made = bench.make(&format!("trials-tunnel-set-{constant}-{by}"));
        for args in [made.all(), made.clocks()] {
            let report = json(&args, &[]);
            agree(&report, "fwd", &made.truth);
            for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
                assert_eq!(trial["lost"], 0, "{trial}");
                match reason(trial, "tunnel") {
                    Some(_) => assert!(trial["tunnel_fps"].is_null(), "{trial}"),
                    None => near("tunnel_fps", &trial["tunnel_fps"], truth.fps, 0.005),
                }
            }
        }
    }
}

/// Packets to the same host from another one, as long as those of the load, that only the last tap shows: what the load lost is lost.
#[test]
fn others_to_the_same_host() {
    let loads = vec![load(0.0, 400.0, 1.5, 256), load(3.0, 800.0, 1.5, 256), load(6.0, 1_400.0, 1.5, 256)];
    for constant in [false, true] {
        let bench = Bench { loads: loads.clone(), constant, ..Bench::default() };
        let (mut taps, truth) = bench.passed();
        for k in 0..2_000_u64 {
            let packet = ipv4([10, 0, 1, 77], [10, 0, 2, 1], 17, k as u16, &[3; 236]);
            taps[2].push(Out::whole(since(0.0) + k * 4_000_000, bench.frame(&packet, 3)));
        }
        let made = bench.written(&format!("trials-others-{constant}"), taps, truth);
        let report = json(&made.all(), &[]);
        agree(&report, "fwd", &made.truth);
        assert!(items(&report, "trials").last().is_some_and(|trial: &Value| trial["lost"].as_u64() > Some(500)));
    }
}

/// Captures that stamp what they fetch together, packets that are all the same, and the link's rate: frames are closer than they pass, and yet
/// no copies.
#[test]
fn frames_that_are_stamped_together() {
    let loads = vec![load(0.0, 2_400.0, 1.2, 256), load(3.0, 3_600.0, 1.2, 256), load(6.0, 4_200.0, 1.2, 256)];
    for fetched in [600_000, 1_000_000] {
        let fetched = Some(fetched);
        let bench = Bench { loads: loads.clone(), constant: true, fetched, per_packet: 250_000, ..Bench::default() };
        let made = bench.make("trials-fetched");
        for args in [made.all(), made.near()] {
            agree(&json(&args, &["--link-rate", "10M"]), "fwd", &made.truth);
        }
        let ends: Vec<String> = ["trials", "--format", "json", "--one-clock", "--in"].map(str::to_owned).to_vec();
        let name = |path: &std::path::Path| path.to_str().expect("text").to_owned();
        let ends = [ends, vec![name(&made.plain), "--out".to_owned(), name(&made.exit)]].concat();
        agree(&json(&ends, &["--link-rate", "10M"]), "fwd", &made.truth);
    }
}

/// Single packets that wait behind a load of the other direction, in one queue: no clock was set, and the load keeps its rate.
#[test]
fn single_packets_that_wait_behind_a_load() {
    let fwd = [load(0.2, 1_900.0, 1.5, 128), load(3.6, 900.0, 1.5, 128), load(7.0, 1_900.0, 1.5, 128)];
    let rev = [0.1, 1.69, 3.3, 5.6, 8.49].map(|at| load(at, 1.0, 1.0, 96));
    let device =
        Device { service: 1_000_000, wobble: 3, room: 5_000, rule: Rule::Full, delay: 200_000, told: false, seed: 3 };
    let (made, truth) = device.make([&fwd, &rev], 0, "trials-single-behind");
    let report = json(&made.all(), &["--trial-gap", "300ms"]);
    let trials: Vec<&Value> = items(&report, "trials").iter().filter(|own| own["direction"] == "fwd").collect();
    assert_eq!(trials.len(), fwd.len(), "{report:#}");
    for (trial, (own, load)) in trials.iter().zip(truth.iter().zip(&fwd)) {
        assert_eq!((&trial["sent"], &trial["received"]), (&own.sent.into(), &own.received.into()), "{trial}");
        near("offered_fps", &trial["offered_fps"], load.fps, 0.003);
        assert_ne!(reason(trial, "latency"), Some("no-idle-packet"), "{trial}");
    }
}

/// A size of which no packet comes out, in an ICMP black hole: it is in the tunnel with the load, and lost. What goes on in the pauses is not.
#[test]
fn a_size_that_is_lost_whole() {
    let loads = vec![
        Load { at: 1.0, fps: 500.0, seconds: 1.5, size: 512 },
        Load { at: 4.0, fps: 800.0, seconds: 1.5, size: 512 },
        Load { at: 7.0, fps: 900.0, seconds: 1.5, size: 512 },
    ];
    for (name, reverse, every) in [("fwd", false, 10), ("rev", true, 10), ("rare", false, 60)] {
        let bench = Bench { loads: loads.clone(), reverse, black_hole: Some((every, 1_400)), ..Bench::default() };
        let made = bench.make(&format!("trials-lost-size-{name}"));
        let args = if reverse { made.near() } else { made.far() };
        let report = json(&args, &[]);
        let trials = items(&report, "trials");
        assert_eq!(trials.len(), 3, "{report:#}");
        for (trial, truth) in trials.iter().zip(&made.truth) {
            assert_eq!((&trial["sent"], &trial["received"]), (&truth.sent.into(), &truth.received.into()), "{trial}");
            near("offered", &trial["offered_fps"], truth.fps, 0.003);
            assert_eq!(trial["state"], "lossy", "{trial}");
            // Several paddings fit, so that the length is known to a range.
            let class = trial["size_class"].as_str().expect("a class");
            let range = class.strip_prefix("mix:512,").and_then(|range| range.split_once('-')).expect("a range");
            let range = [range.0, range.1].map(|own| own.parse::<u16>().expect("a length"));
            assert!(range[0] <= 1_400 && 1_400 <= range[1] && range[1] - range[0] < 40, "{class}");
            if every > 10 {
                near("inner_bytes", &trial["inner_bytes"], 512.0 + 888.0 / every as f64, 0.002);
                continue;
            }
            assert_eq!(reason(trial, "inner_bytes"), Some("opaque"), "{trial}");
            assert!(trial["offered_l1_bps"].is_null() && trial["forwarded_l1_bps"].is_number(), "{trial}");
        }
    }
    // A host that asks the gateway all the time, through the tunnel.
    let asks = Load { at: 0.3, fps: 4.0, seconds: 9.0, size: 900 };
    let asks =
        Bench { loads: vec![asks], outage: None, black_hole: Some((1, 900)), rekey: Some(0.0), ..Bench::default() };
    let (mut taps, truth) = Bench { loads, ..Bench::default() }.passed();
    let (beside, _) = asks.passed();
    taps[1].extend(beside[1].iter().cloned());
    let made = asks.written("trials-lost-size-beside", taps, truth);
    let report = json(&made.far(), &[]);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        assert_eq!((&trial["sent"], &trial["lost"]), (&truth.sent.into(), &0.into()), "{trial}");
    }
}
