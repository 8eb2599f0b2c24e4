//! The acceptance set and the captures of real kernels, where they are there.

use std::path::Path;
use std::process::Command;

use crate::support::{items, read_json, shared, spiglass, write_file};

#[test]
fn the_acceptance_set() {
    let Some(folder) = shared("trials") else { return };
    let out = Command::new("python3")
        .arg(folder.join("run_trials.py"))
        .arg(env!("CARGO_BIN_EXE_spiglass"))
        .output()
        .expect("python3");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
}

fn lab(folder: &Path, more: &[&str]) -> serde_json::Value {
    let name = |file: &str| folder.join(file).to_str().expect("text").to_owned();
    let (plain, tunnel, exit) = (name("plain-a.pcap"), name("tunnel.pcap"), name("plain-b.pcap"));
    let mut args =
        vec!["trials", "--format", "json", "--one-clock", "--plain", &plain, "--tunnel", &tunnel, "--exit", &exit];
    args.extend(more);
    spiglass(&args).expect(0).json()
}

/// The plateaus that a kernel's generator sent are found where they have frames enough; else they are given by their times.
#[test]
fn load_steps_of_a_kernel() {
    for name in ["steps-long-aes128-sha1-1024", "steps-512-after-tap", "steps-512-before-tap", "steps-ah-1024"] {
        let Some(folder) = shared(&format!("lab/{name}")) else { return };
        let truth = read_json(&folder.join("truth.json"));
        let steps = items(&truth["injected"], "steps");
        let found = name.starts_with("steps-long");
        let report = if found {
            lab(&folder, &[])
        } else {
            let row = |step: &serde_json::Value| {
                let ns = |key: &str| (step[key].as_f64().expect("a time") * 1e9) as i64;
                format!("{},{}\n", ns("t_start") - 2_000_000, ns("t_end") - 2_000_000)
            };
            let table = format!("start_ns,end_ns\n{}", steps.iter().map(row).collect::<String>());
            let dir = crate::support::scratch(&format!("trials-{name}"));
            let file = write_file(&dir, "steps.csv", table.as_bytes());
            lab(&folder, &["--trials", file.to_str().expect("text")])
        };
        let trials: Vec<_> = items(&report, "trials").iter().filter(|trial| trial["direction"] == "fwd").collect();
        let sent: u64 = steps.iter().filter_map(|step| step["packets"].as_u64()).sum();
        if found {
            assert_eq!(trials.len(), steps.len(), "{name}");
            for (trial, step) in trials.iter().zip(steps) {
                let (got, want) = (trial["offered_fps"].as_f64(), step["offered_pps"].as_f64());
                assert!(got.zip(want).is_some_and(|(got, want)| (got / want - 1.0).abs() < 0.02), "{name}: {trial}");
                let capacity = step["bottleneck_pps"].as_f64().expect("a rate");
                let forwarded = trial["forwarded_fps"].as_f64().expect("a rate");
                assert!(forwarded < 1.01 * capacity, "{name}: {trial}");
            }
            let all: u64 = trials.iter().filter_map(|trial| trial["sent"].as_u64()).sum();
            assert_eq!(all, sent, "{name}");
        } else {
            assert!(!trials.is_empty(), "{name}: {report:#}");
            for trial in trials {
                let step = steps.iter().min_by_key(|step| {
                    let ns = step["t_start"].as_f64().expect("a time") * 1e9;
                    (ns as i64 - trial["start_ns"].as_i64().expect("a time")).abs()
                });
                let step = step.expect("a step");
                let bytes = trial["inner_bytes"].as_f64().expect("a length");
                let want = step["offered_inner_kbit_s"].as_f64().map(|kbit| kbit * 1e3 / (8.0 * bytes));
                let got = trial["offered_fps"].as_f64();
                assert_eq!(trial["sent"], step["packets"], "{name}");
                assert!(
                    got.zip(want).is_some_and(|(got, want)| (got / want - 1.0).abs() < 0.1),
                    "{name}: {trial} {step}"
                );
            }
        }
    }
}

/// A packet is at the tunnel tap after it came in and before it went out: a copy of an old packet in the tunnel, which a replay is, makes
/// no time of it.
#[test]
fn the_time_in_the_device_lies_within_the_latency() {
    let Some(folder) = shared("lab") else { return };
    let (mut seen, mut behind) = (0, None);
    for entry in std::fs::read_dir(folder).expect("the lab can be listed") {
        let folder = entry.expect("an entry").path();
        if ["plain-a.pcap", "tunnel.pcap", "plain-b.pcap"].iter().any(|name| !folder.join(name).exists()) {
            continue;
        }
        for trial in items(&lab(&folder, &[]), "trials") {
            let Some(device) = trial["device_latency_p50_ns"].as_i64() else { continue };
            seen += 1;
            if folder.ends_with("reorder-after-tap") {
                behind = Some(device);
            }
            let most = trial["latency_max_ns"].as_i64().unwrap_or(i64::MAX);
            assert!((-100_000..=most.saturating_add(100_000)).contains(&device), "{}: {trial}", folder.display());
        }
    }
    // What overtakes behind the tap was there in the order in which it came: none waited in the device.
    assert!(seen > 50 && behind.is_some_and(|device| device < 100_000), "{seen} times in a device, {behind:?}");
}

/// 20 of the packets into the tunnel are longer than what fits, and were answered with ICMP: they are the ones that are missing before it.
#[test]
fn packets_that_do_not_fit_are_lost_before_the_tunnel() {
    let Some(folder) = shared("lab/frag-outer-nopmtudisc") else { return };
    let observed = read_json(&folder.join("observed.json"));
    let report = lab(&folder, &[]);
    for direction in ["fwd", "rev"] {
        let delivery = &observed["delivery"][direction];
        let of = |figure: &str| -> u64 {
            let all = items(&report, "trials").iter().filter(|trial| trial["direction"] == direction);
            all.filter_map(|trial| trial[figure].as_u64()).sum()
        };
        assert_eq!(Some(of("sent")), delivery["entered"].as_u64(), "{direction}");
        assert_eq!(Some(of("lost_before_tunnel")), delivery["missing"].as_u64(), "{direction}");
        assert_eq!((of("lost_behind_tunnel"), of("sequence_lost")), (0, 0), "{direction}");
    }
}

/// The sender's kernel counted its repetitions: eight segments that were too long for the path, and a last one.
#[test]
fn repeated_segments_are_those_of_the_kernel() {
    let Some(folder) = shared("lab/tcp-transfer") else { return };
    let truth = read_json(&folder.join("truth.json"));
    let transfer = &lab(&folder, &[])["transfers"][0];
    assert_eq!(transfer["retransmitted_segments"], truth["traffic"]["total_retrans"]);
    assert_eq!(transfer["payload_bytes"], truth["traffic"]["bytes"]);
}

/// Frames that were sent again in the tunnel say nothing of its clock.
#[test]
fn a_replay_moves_no_clock() {
    let Some(folder) = shared("lab/replay") else { return };
    let name = |file: &str| folder.join(file).to_str().expect("text").to_owned();
    let (plain, tunnel, exit) = (name("plain-a.pcap"), name("tunnel.pcap"), name("plain-b.pcap"));
    let args = ["trials", "--format", "json", "--plain", &plain, "--tunnel", &tunnel, "--exit", &exit];
    for one_clock in [true, false] {
        let mut args = args.to_vec();
        args.extend(one_clock.then_some("--one-clock"));
        let report = spiglass(&args).expect(0).json();
        for tap in items(&report, "taps") {
            assert!(tap["clock_offset_ns"].as_i64().is_some_and(|ns| ns.abs() < 1_000_000), "{tap}");
        }
        for trial in items(&report, "trials") {
            assert!(trial["device_latency_p50_ns"].as_i64().is_some_and(|ns| (0..100_000).contains(&ns)), "{trial}");
            assert_eq!(trial["tunnelled"], trial["sent"], "{trial}");
        }
    }
}
