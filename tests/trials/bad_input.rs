//! Input that is no bench, or not the one that was meant.

use crate::bench::{Bench, Load, Made};
use crate::support::writer::{Order, Out, Step, pcap};
use crate::support::{items, write_file};
use crate::{json, run};

fn made(name: &str) -> Made {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 1.0, size: 512 };
    Bench { loads: vec![load(0.0, 500.0), load(2.0, 700.0)], ..Bench::default() }.make(name)
}

fn codes(report: &serde_json::Value) -> Vec<&str> {
    items(report, "findings").iter().filter_map(|finding| finding["code"].as_str()).collect()
}

fn swap(args: &[String], a: &str, b: &str) -> Vec<String> {
    args.iter()
        .map(|arg| {
            if arg == a {
                b
            } else if arg == b {
                a
            } else {
                arg
            }
            .to_owned()
        })
        .collect()
}

#[test]
fn swapped_taps_are_said_to_be() {
    let made = made("trials-swapped");
    assert!(!codes(&json(&made.all(), &[])).contains(&"taps-swapped"));
    let tunnel = swap(&made.all(), "--plain", "--tunnel");
    assert!(codes(&json(&tunnel, &[])).contains(&"taps-swapped"));
    let path = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let ports = ["trials", "--format", "json", "--one-clock", "--in", &path(&made.exit), "--out", &path(&made.plain)];
    assert!(codes(&json(&ports.map(str::to_owned), &[])).contains(&"taps-swapped"));
}

#[test]
fn no_trial_is_an_answer() {
    let load = Load { at: 0.0, fps: 100.0, seconds: 0.1, size: 512 };
    let made = Bench { loads: vec![load], ..Bench::default() }.make("trials-none");
    let report = json(&made.all(), &[]);
    assert_eq!(codes(&report), ["trials-none"]);
    assert!(
        report["segments"][0]["why"].as_str().is_some_and(|why| why.contains("10 frames")),
        "{}",
        report["segments"]
    );
    let mut text = made.all();
    text.retain(|arg| arg != "--format" && arg != "json");
    assert!(run(&text, &[]).expect(0).text().starts_with("No trial was found."));
}

/// One capture of both links is one capture: its frames are those of both taps, and what is wrong with it is said once.
#[test]
fn one_capture_of_two_taps_is_told_once() {
    const PPI: u32 = 192;
    let dir = crate::support::scratch("trials-one-capture");
    let frames: Vec<Out> = (0..5).map(|at| Out::whole(1_000_000_000 + at, vec![0; 60])).collect();
    let file = write_file(&dir, "ppi.pcap", &pcap(&frames, PPI, Order::Little, Step::Nano));
    let file = file.to_str().expect("text");
    let args = ["trials", "--format", "json", "--plain", file, "--tunnel", file].map(str::to_owned);
    let report = json(&args, &[]);
    let unread: Vec<&str> = codes(&report).into_iter().filter(|code| *code == "capture-link-unread").collect();
    assert_eq!(unread.len(), 1, "{}", report["findings"]);
    for tap in items(&report, "taps") {
        assert_eq!(tap["captures"][0]["frames"], 5, "{tap}");
    }
}

#[test]
fn the_last_trial_of_a_cut_capture_is_not_used() {
    let made = made("trials-cut");
    let whole = std::fs::read(&made.plain).expect("a capture");
    let cut = write_file(&made.dir, "plain.pcap", &whole[..whole.len() - 100]);
    let args = made.all();
    let report = run(&args, &["--accept-cut"]).expect(0).json();
    assert_eq!(cut, made.plain);
    assert_eq!(items(&report, "trials").len(), 1, "{:#?}", report["trials"]);
    assert!(report["segments"][0]["why"].as_str().is_some_and(|why| why.contains("ends in the middle")));
    run(&args, &[]).expect(2);
}

#[test]
fn options_that_lack_something_are_refused() {
    let made = made("trials-usage");
    run(&made.all(), &["--next"]).expect(2);
    run(&made.all(), &["--in", "a.pcap"]).expect(2);
    run(&["trials".to_owned()], &[]).expect(2);
    run(&["trials".to_owned(), "--plain".to_owned(), "x.pcap".to_owned()], &[]).expect(2);
    let table = write_file(&made.dir, "wrong.csv", b"start_ns\n1\n");
    run(&made.all(), &["--trials", table.to_str().expect("text")]).expect(2);
    let gone = run(&swap(&made.all(), "--exit", "--exit"), &["--tunnel", "not-there.pcap"]);
    assert_eq!(gone.status, 2, "one of two captures of the tunnel is missing: {gone}");
}

#[test]
fn a_bench_in_clear_has_no_tunnel() {
    let made = made("trials-clear");
    std::fs::remove_file(&made.tunnel).expect("it was there");
    let run = run(&made.all(), &[]).expect(0);
    assert!(run.stderr.contains("without it"), "{run}");
    assert_eq!(items(&run.json(), "trials").len(), 2);
}

#[test]
fn a_baseline_of_another_bench_is_refused() {
    let made = made("trials-baseline");
    let clear = run(&made.all(), &["--link-rate", "10M"]).expect(0);
    let file = write_file(&made.dir, "clear.json", &clear.stdout);
    let file = file.to_str().expect("text");
    let same = json(&made.all(), &["--link-rate", "10M", "--baseline", file]);
    assert_eq!(items(&same, "baseline").len(), 2);
    assert_eq!(same["baseline"][0]["of_baseline_pct"], 100.0);
    let other = run(&made.all(), &["--link-rate", "100M", "--baseline", file]).expect(2);
    assert!(other.stderr.contains("another bench") && other.stderr.contains("10000000"), "{other}");
    let report = write_file(&made.dir, "report.json", b"{\"schema\":\"spiglass.report/1\"}");
    run(&made.all(), &["--baseline", report.to_str().expect("text")]).expect(2);
}

/// A tap of which nothing was read says nothing of what came out.
#[test]
fn a_last_tap_without_a_frame_is_no_loss() {
    let made = made("trials-unread-exit");
    let empty = write_file(&made.dir, "empty.pcap", &pcap(&[], 1, Order::Little, Step::Nano));
    let text = write_file(&made.dir, "text.pcap", b"hello\nhello\nhello\nhello\nhello\nhello\n");
    let name = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    for (exit, status) in [(&empty, 0), (&text, 2)] {
        let args: Vec<String> =
            made.all().into_iter().map(|arg| if arg == name(&made.exit) { name(exit) } else { arg }).collect();
        let report = run(&args, &[]).expect(status).json();
        assert_eq!(items(&report, "trials").len(), 0, "{}", report["trials"]);
        let whys = items(&report, "segments").iter().map(|one| one["why"].as_str().unwrap_or_default());
        assert_eq!(
            whys.filter(|why| why.contains("Nothing was read of the last tap")).count(),
            2,
            "{}",
            report["segments"]
        );
    }
    let args = ["trials", "--format", "json", "--one-clock", "--plain", &name(&made.plain), "--tunnel", &name(&empty)];
    let report = json(&args.map(str::to_owned), &[]);
    assert_eq!(items(&report, "trials").len(), 0, "{}", report["trials"]);
}

#[test]
fn a_tap_that_is_given_as_both_ends_is_refused() {
    let made = made("trials-same-tap");
    let name = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let args: Vec<String> =
        made.all().into_iter().map(|arg| if arg == name(&made.exit) { name(&made.plain) } else { arg }).collect();
    let refused = run(&args, &[]).expect(2);
    assert!(refused.stderr.contains("--plain") && refused.stderr.contains("--exit"), "{}", refused.stderr);
}
