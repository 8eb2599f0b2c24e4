//! What passes beside the load or twice, and taps that leave open which way it goes: no packet is taken for another one.

use std::collections::VecDeque;

use crate::bench::{Bench, Load, Made, ipv4, since};
use crate::device::{Device, Rule};
use crate::support::build::{Noise, START};
use crate::support::items;
use crate::support::writer::Out;
use crate::{agree, json, near, reason};

const fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 64 }
}

/// Loads of 64 octets, and a packet of 76 octets from time to time, which is as long in the tunnel: in one queue and one SA. Sent, received
/// and greatest latency of each load.
fn with_others(bench: &Bench, (every, from, until): (f64, f64, f64), name: &str) -> (Made, Vec<(u64, u64, f64)>) {
    let loads = &bench.loads;
    let mut noise = Noise(5);
    let mut packets: Vec<(u64, Option<usize>)> = Vec::new();
    for (k, own) in loads.iter().enumerate() {
        let n = (own.fps * own.seconds) as u64;
        packets.extend((0..n).map(|i| (since(own.at) + (i as f64 * 1e9 / own.fps) as u64, Some(k))));
    }
    let mut t = from;
    while t < until {
        packets.push((since(t), None));
        t += every;
    }
    packets.sort_unstable();
    let mut taps = [const { Vec::new() }; 3];
    let mut truth = vec![(0, 0, 0.0_f64); loads.len()];
    let (mut free, mut inside, mut number) = (0, VecDeque::new(), 0);
    for (t, of) in packets {
        let packet = match of {
            Some(_) => bench.packet(0, 64, &mut noise),
            None => ipv4([10, 0, 1, 9], [10, 0, 2, 9], 17, 7, &[0; 56]),
        };
        taps[0].push(Out::whole(t, bench.frame(&packet, 1)));
        while inside.front().is_some_and(|gone| *gone <= t) {
            inside.pop_front();
        }
        if let Some(own) = of {
            truth[own].0 += 1;
        }
        if inside.len() >= 30 {
            continue;
        }
        free = t.max(free) + 1_000_000;
        inside.push_back(free);
        number += 1;
        for octets in bench.outer(&packet, (0x1001, number), &mut noise) {
            taps[1].push(Out::whole(free, bench.frame(&octets, 2)));
        }
        taps[2].push(Out::whole(free + 200_000, bench.frame(&packet, 3)));
        if let Some(own) = of {
            truth[own].1 += 1;
            truth[own].2 = truth[own].2.max((free - t) as f64);
        }
    }
    (bench.written(name, taps, Vec::new()), truth)
}

/// Packets beside the load that are as long in the tunnel are none of its own: the first tap shows when they come.
#[test]
fn packets_beside_the_load_that_are_as_long_in_the_tunnel() {
    for (every, from) in [(0.7, 0.1), (2.5, 0.3), (16.0, 3.8)] {
        let loads = vec![load(0.5, 500.0, 1.2), load(3.2, 900.0, 1.2), load(5.9, 1_250.0, 1.2)];
        let bench = Bench { loads, constant: true, ..Bench::default() };
        let (made, truth) = with_others(&bench, (every, from, 9.0), &format!("trials-beside-{every}"));
        let report = json(&made.near(), &[]);
        let trials = items(&report, "trials");
        assert_eq!(trials.len(), truth.len(), "{every}: {trials:#?}");
        for (trial, (sent, received, max)) in trials.iter().zip(&truth) {
            let got = trial["received"].as_u64().unwrap_or(0);
            assert!(trial["sent"] == *sent && got.abs_diff(*received) <= 1, "{every}: not {received}: {trial}");
            near("latency_max_ns", &trial["latency_max_ns"], *max, 0.06);
        }
        near("equilibrium", &report["throughput"][0]["equilibrium"]["fps"], 900.0, 0.003);
        for trial in items(&json(&made.all(), &[]), "trials") {
            // Which of the packets beside it a full queue dropped, nobody knows.
            let of = |figure: &str| trial[figure].as_u64().unwrap_or(u64::MAX / 2);
            assert!(of("tunnelled").abs_diff(of("received")) <= 1 && of("lost_behind_tunnel") <= 1, "{trial}");
        }
    }
}

/// A first tap that ends with the last load: packets beside it in the tunnel are none of its own that went on.
#[test]
fn packets_beside_a_load_with_which_the_first_tap_ends() {
    let loads = vec![load(0.5, 300.0, 1.2), load(3.2, 300.0, 9.0)];
    let captured = [Some((0.0, 12.25)), None, None];
    let bench = Bench { loads, constant: true, captured, ..Bench::default() };
    let (made, truth) = with_others(&bench, (0.35, 0.1, 16.0), "trials-beside-ends");
    let report = json(&made.near(), &[]);
    let trials = items(&report, "trials");
    assert_eq!(trials.len(), truth.len(), "{report:#}");
    for (trial, (sent, ..)) in trials.iter().zip(&truth) {
        assert_eq!(trial["sent"], *sent, "{trial}");
    }
}

/// Pauses in which other packets pass the tunnel, and several clocks: silences are compared of all that passes both taps.
#[test]
fn packets_beside_the_load_that_fill_its_pauses() {
    let loads = vec![load(0.5, 250.0, 1.2), load(2.4, 400.0, 1.2), load(4.3, 600.0, 1.2), load(6.2, 300.0, 1.2)];
    let bench = Bench { loads, constant: true, offsets: [1_217_000_000, 0], ..Bench::default() };
    let (made, truth) = with_others(&bench, (0.8, 0.3, 9.0), "trials-beside-pauses");
    let args: Vec<String> = made.near().into_iter().filter(|own| own != "--one-clock").collect();
    let report = json(&args, &[]);
    let trials = items(&report, "trials");
    assert_eq!(trials.len(), truth.len(), "{report:#}");
    for (trial, (sent, received, _)) in trials.iter().zip(&truth) {
        let got = trial["received"].as_u64().unwrap_or(0);
        assert!(trial["sent"] == *sent && got.abs_diff(*received) <= 2, "{trial}");
    }
}

/// Equal loads of both directions through one device: which direction of the tunnel is which follows from the times, or is left open.
#[test]
fn equal_loads_of_both_directions() {
    for (late, told) in [(0.0, false), (0.0005, false), (0.05, true)] {
        let own =
            |late: f64| [load(0.2 + late, 300.0, 1.2), load(3.0 + late, 900.0, 2.0), load(7.0 + late, 700.0, 2.0)];
        let device =
            Device { service: 1_000_000, wobble: 3, room: 40, rule: Rule::Rings, delay: 200_000, told: false, seed: 3 };
        let (made, truth) = device.make([&own(0.0), &own(late)], 0, &format!("trials-either-way-{late}"));
        let report = json(&made.near(), &[]);
        let mut known = 0;
        for own in &truth {
            let begin = START as f64 / 1e9 + own.at;
            let is_this = |row: &&serde_json::Value| {
                (row["direction"] == "rev") == own.reverse
                    && row["start_ns"].as_f64().is_some_and(|start| (start / 1e9 - begin).abs() < 0.04)
            };
            match items(&report, "trials").iter().find(is_this) {
                Some(trial) => {
                    known += 1;
                    assert_eq!(
                        (&trial["sent"], &trial["received"]),
                        (&own.sent.into(), &own.received.into()),
                        "{trial}"
                    );
                    let open = reason(trial, "latency") == Some("tunnel-unclear");
                    let close = trial["latency_p50_ns"].as_f64().is_some_and(|p50| (p50 - own.p50).abs() <= 4e6);
                    assert!(open || close || reason(trial, "latency").is_some(), "{trial}");
                }
                None => {
                    let why = items(&report, "segments").iter().find(is_this).map(|own| own["why"].to_string());
                    assert!(why.is_some_and(|why| why.contains("which direction of the tunnel")), "{own:?} {report:#}");
                }
            }
        }
        assert!(!told || known == truth.len(), "{late}");
        // With the exit, what comes out there is as uneven as what passed the tunnel's tap.
        for trial in items(&json(&made.all(), &[]), "trials") {
            let passed = if trial["direction"] == "fwd" { &trial["received"] } else { &trial["sent"] };
            assert_eq!(&trial["tunnelled"], passed, "{late}: {trial}");
        }
    }
}

/// More frames in the tunnel than in clear: the load comes out of it, whatever the clocks are.
#[test]
fn a_load_out_of_the_tunnel_without_a_common_clock() {
    let loads = vec![load(0.0, 500.0, 1.2), load(2.5, 900.0, 1.2)];
    let bench = Bench {
        loads,
        constant: true,
        reverse: true,
        loss: [0, 30_000],
        offsets: [1_300_000_000, 0],
        ..Bench::default()
    };
    let made = bench.make("trials-out-of-the-tunnel");
    let args: Vec<String> = made.near().into_iter().filter(|own| own != "--one-clock").collect();
    let report = json(&args, &[]);
    assert_eq!(items(&report, "trials").len(), 2);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth) {
        assert_eq!(trial["direction"], "rev", "{trial}");
        assert_eq!((&trial["sent"], &trial["received"]), (&truth.tunnelled.into(), &truth.received.into()), "{trial}");
    }
}

/// Taps that show equal packets twice: the numbers in the tunnel tell, and where there are none, the link's rate.
#[test]
fn taps_that_show_equal_packets_twice() {
    let loads = || vec![load(0.0, 500.0, 1.2), load(2.5, 900.0, 1.2), load(5.0, 1_250.0, 1.2)];
    for twice in [[false, false, true], [true, false, true], [true; 3]] {
        for link in [&["--link-rate", "100M"][..], &[]] {
            let bench = Bench { loads: loads(), constant: true, twice, ..Bench::default() };
            let report = json(&bench.make(&format!("trials-twice-{twice:?}")).all(), link);
            agree(&report, "fwd", &bench.make("trials-twice-truth").truth);
            let swapped = |own: &&serde_json::Value| own["code"] == "taps-swapped";
            assert!(items(&report, "findings").iter().find(swapped).is_none(), "{report:#}");
        }
    }
}

/// A flow that goes on at its pace where the load pauses is none of it, even if each flow of the load is as small.
#[test]
fn a_flow_that_goes_on_through_the_pauses() {
    let loads = vec![load(0.0, 500.0, 1.5), load(3.5, 800.0, 1.5), load(7.0, 950.0, 1.5)];
    let bench = Bench { loads, ports: 64, ..Bench::default() };
    let beside = Bench { loads: vec![load(0.31, 1.0, 8.0)], protocol: 1, rekey: Some(0.0), ..Bench::default() };
    let (made, _) = bench.with(&beside, "trials-goes-on");
    agree(&json(&made.all(), &[]), "fwd", &made.truth);
}

/// What an overload lost says nothing of the loads behind it, where the device fell silent in between.
#[test]
fn loads_behind_short_pauses() {
    let loads = vec![load(0.0, 2_000.0, 1.5), load(1.7, 1_500.0, 1.5), load(3.4, 900.0, 1.5), load(5.1, 600.0, 1.5)];
    let bench = Bench { loads, constant: true, wobble: 2, ..Bench::default() };
    let made = bench.make("trials-short-pauses");
    let report = json(&made.all(), &[]);
    agree(&report, "fwd", &made.truth);
    for (trial, truth) in items(&report, "trials").iter().zip(&made.truth).skip(2) {
        near("latency_p50_ns", &trial["latency_p50_ns"], truth.p50, 0.01);
        near("latency_max_ns", &trial["latency_max_ns"], truth.max, 0.01);
    }
}
