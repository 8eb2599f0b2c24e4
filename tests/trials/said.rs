//! Loads that pause, packets of the gateway amid a load, packets that are duplicated, times that miss the load: what the report says of them.

use serde_json::Value;

use crate::bench::{Bench, Load, Made, since};
use crate::support::items;
use crate::support::write_file;
use crate::support::writer::{Order, Out, Step, pcap};
use crate::{json, near, run};

fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 512 }
}

fn three() -> Vec<Load> {
    vec![load(0.0, 500.0, 1.2), load(2.5, 900.0, 1.2), load(5.0, 1_250.0, 1.2)]
}

fn tunnel_alone(made: &Made) -> Vec<String> {
    ["trials", "--format", "json", "--tunnel", made.tunnel.to_str().expect("text")].map(str::to_owned).to_vec()
}

fn as_text(args: &[String]) -> Vec<String> {
    args.iter().filter(|arg| *arg != "--format" && *arg != "json").cloned().collect()
}

/// Pauses that are too short to end a load: the line through its packets is neither what was sent nor the mean, so that it is said, and no
/// throughput comes of it.
#[test]
fn a_load_with_short_pauses_says_so() {
    let paused = vec![load(0.0, 800.0, 2.0), load(2.2, 800.0, 2.0), load(4.65, 800.0, 2.0), load(9.0, 700.0, 2.0)];
    let report = json(&Bench { loads: paused, ..Bench::default() }.make("trials-load-paused").all(), &[]);
    let [paused, even] = items(&report, "trials") else { panic!("two trials: {:#}", report["trials"]) };
    assert_eq!((&paused["sent"], &paused["lost"], &paused["state"]), (&4_800.into(), &0.into(), &"equal".into()));
    near("pause", &paused["pause_seconds"], 0.45, 0.01);
    assert!(even["pause_seconds"].is_null(), "{even}");
    let row = &report["throughput"][0];
    near("equilibrium", &row["equilibrium"]["fps"], 700.0, 0.003);
    assert_eq!(row["left_out"], Value::from(vec![1]));
    // Bursts that come at one pace have a rate.
    let bursts = Bench { loads: vec![load(0.0, 400.0, 3.0)], groups: 60, room: 100, ..Bench::default() };
    let report = json(&bursts.make("trials-load-bursts").all(), &[]);
    assert!(report["trials"][0]["pause_seconds"].is_null(), "{:#}", report["trials"][0]);
}

/// Testers send their last packet again until they are answered: that is behind the load, and no pause of it.
#[test]
fn a_last_packet_that_is_sent_again_is_no_pause() {
    let again = |at: f64, fps: f64| [load(at, fps, 8.0), load(at + 8.25, 4.0, 0.25)];
    let loads = [again(0.0, 500.0), again(15.0, 800.0), again(30.0, 1_250.0)].concat();
    let report = json(&Bench { loads, room: 100, ..Bench::default() }.make("trials-sent-again").all(), &[]);
    for (trial, fps) in items(&report, "trials").iter().zip([500.0, 800.0, 1_250.0]) {
        assert!(trial["pause_seconds"].is_null(), "{trial}");
        near("offered", &trial["offered_fps"], fps, 0.003);
    }
    near("equilibrium", &report["throughput"][0]["equilibrium"]["fps"], 800.0, 0.003);
}

/// A policer lets nothing wait: bursts of which it drops a part show no buffer.
#[test]
fn bursts_through_a_policer_show_no_buffer() {
    let loads = [40.0, 60.0, 200.0, 400.0].into_iter().zip(0_u32..);
    let loads = loads.map(|(packets, k)| load(f64::from(k) * 2.0, 10_000.0, packets / 10_000.0)).collect();
    let bench = Bench { loads, per_packet: 20_000, policer: Some((5_000.0, 100)), ..Bench::default() };
    let report = json(&bench.make("trials-policed-bursts").all(), &[]);
    let row = &report["back_to_back"][0];
    assert!(row["shortest_lossy_frames"].is_u64() && row["buffer_frames"].is_null(), "{row:#}");
}

/// A few packets of another length that do not come out where the load does are none of it, however well they keep time with it.
#[test]
fn a_few_packets_of_another_length_behind_the_tunnel_are_no_loss_of_the_load() {
    let bench = Bench { loads: three(), black_hole: Some((60, 84)), ..Bench::default() };
    let made = bench.make("trials-few-others-exit");
    let mut args = tunnel_alone(&made);
    args.extend(["--exit", made.exit.to_str().expect("text")].map(str::to_owned));
    let report = json(&args, &["--one-clock"]);
    let trials = items(&report, "trials");
    assert_eq!(trials.len(), 3, "{:#}", report["trials"]);
    for trial in trials {
        assert_eq!((&trial["lost"], &trial["size_class"]), (&0.into(), &"512".into()), "{trial}");
    }
}

/// A packet of another length now and then amid the load ends none, and makes it no mix.
#[test]
fn a_few_packets_of_another_length_in_the_tunnel() {
    let bench = Bench { loads: three(), black_hole: Some((300, 84)), ..Bench::default() };
    let report = json(&tunnel_alone(&bench.make("trials-few-others")), &[]);
    let trials = items(&report, "trials");
    assert_eq!(trials.len(), 3, "{:#}", report["trials"]);
    for trial in trials {
        assert_eq!(trial["size_class"], "outer:584", "{trial}");
    }
}

/// More packets leave than were in the tunnel, and no number is missing there: a network duplicated them, and counts behind it are no one's.
#[test]
fn packets_that_are_duplicated_behind_the_tunnel() {
    let bench = Bench { loads: three(), constant: true, ..Bench::default() };
    let (mut taps, truth) = bench.passed();
    let again: Vec<Out> = taps[2]
        .iter()
        .enumerate()
        .filter(|(k, _)| k % 50 == 0)
        .map(|(_, frame)| Out { time_ns: frame.time_ns + 5_000, ..frame.clone() })
        .collect();
    taps[2].extend(again);
    let report = json(&bench.written("trials-duplicated", taps, truth).all(), &[]);
    for trial in items(&report, "trials") {
        let count = |name: &str| trial[name].as_u64().unwrap_or(0);
        assert!(count("received") <= count("tunnelled"), "{trial}");
    }
    let why: Vec<&str> = items(&report, "segments").iter().filter_map(|own| own["why"].as_str()).collect();
    assert!(why.iter().any(|why| why.contains("duplicated")), "{why:?}");
}

/// Why there is no throughput: loads shorter than the user says a trial is.
#[test]
fn loads_that_are_shorter_than_trials() {
    let made = Bench { loads: three(), ..Bench::default() }.make("trials-all-bursts");
    let text = run(&as_text(&made.all()), &["--min-seconds", "5s"]).expect(0);
    assert!(text.text().starts_with("No throughput: shorter than --min-seconds (bursts): 3 loads."), "{text}");
    let report = json(&made.all(), &["--skip-start", "4s"]);
    let why: Vec<&str> = items(&report, "segments").iter().filter_map(|own| own["why"].as_str()).collect();
    assert_eq!(why, ["--skip-start leaves nothing of it."; 3]);
}

/// Times of trials that no packet came in at: seconds instead of nanoseconds, or another direction; and tables that count packets twice.
#[test]
fn times_that_miss_the_load() {
    let made = Bench { loads: three(), ..Bench::default() }.make("trials-times");
    let start = since(0.0);
    let with = |table: &str| {
        let file = write_file(&made.dir, "trials.csv", table.as_bytes());
        run(&made.all(), &["--trials", file.to_str().expect("text")])
    };
    let evidence = |table: &str| -> String {
        let report: Value = with(table).expect(0).json();
        let none = items(&report, "findings").iter().find(|own| own["code"] == "trials-none").expect("a finding");
        none["evidence"].as_str().expect("text").to_owned()
    };
    assert!(
        evidence(&format!("start_ns,seconds\n{},1\n", start / 1_000_000_000)).contains("nanoseconds since the epoch")
    );
    assert!(evidence(&format!("start_ns,seconds,direction\n{start},1,rev\n")).contains("in that direction"));
    let marked = with(&format!("\u{feff}start_ns,seconds\r\n{start},1\r\n")).expect(0).json();
    assert_eq!(marked["trials"][0]["sent"], 501, "{:#}", marked["trials"]);
    let twice = with(&format!("start_ns,seconds\n{start},1\n{},1\n", start + 500_000_000));
    assert!(twice.stderr.contains("line 3: the trial begins before"), "{twice}");
    twice.expect(2);
    // One that begins when another ends.
    let next = with(&format!("start_ns,seconds\n{start},0.5\n{},0.5\n", start + 500_000_000)).expect(0).json();
    let sent: Vec<u64> = items(&next, "trials").iter().filter_map(|own| own["sent"].as_u64()).collect();
    assert_eq!(sent, [250, 251]);
}

/// Captures without Ethernet headers: lengths at layers 1 and 2 are assumed, and that is said.
#[test]
fn lengths_on_a_link_that_is_not_ethernet() {
    const RAW: u32 = 101;
    let bench = Bench { loads: three(), ..Bench::default() };
    let ([mut plain, ..], _) = bench.passed();
    let made = bench.make("trials-raw");
    plain.sort_by_key(|frame| frame.time_ns);
    let bare: Vec<Out> = plain.iter().map(|frame| Out::whole(frame.time_ns, frame.data[14..].to_vec())).collect();
    let file = write_file(&made.dir, "plain.pcap", &pcap(&bare, RAW, Order::Little, Step::Nano));
    let report = json(&made.all(), &[]);
    let basis: Vec<&Value> = items(&report, "taps").iter().map(|tap| &tap["l1_basis"]).collect();
    assert_eq!(basis, ["assumed", "measured", "measured"], "{}", file.display());
    let text = run(&as_text(&made.all()), &[]).expect(0);
    assert!(text.text().contains("Lengths at layers 1 and 2 are assumed (plain)"), "{text}");
}

/// Bursts alone: those that lost packets were forwarded at the rate of the device.
#[test]
fn a_buffer_that_bursts_alone_show() {
    let burst = |(k, frames): (u32, u32)| load(f64::from(k) * 3.0, 20_000.0, f64::from(frames) / 20_000.0);
    let loads = [60, 90, 120, 150, 200, 300].into_iter().zip(0_u32..).map(|(frames, k)| burst((k, frames))).collect();
    let bench = Bench { loads, per_packet: 200_000, room: 100, ..Bench::default() };
    let report = json(&bench.make("trials-bursts-alone").all(), &[]);
    let row = &report["back_to_back"][0];
    assert_eq!((&row["longest_lossless_frames"], &row["shortest_lossy_frames"]), (&120.into(), &150.into()), "{row}");
    // RFC 9004: between 120 x (1 - 5000 / 20000) and 150 x the same.
    near("buffer", &row["buffer_frames"], 90.0, 0.02);
}
