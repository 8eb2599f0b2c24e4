//! `spiglass match` on the binary: pairs against what is in the frames, the figures that follow, and what scripts rely on.

#[path = "../support/mod.rs"]
mod support;

mod clocks;
mod contract;
mod lab;
mod padding;
mod truth;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Run, fixture, spiglass};
use truth::Score;

/// The header row of the pairs.
pub const HEADER: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,\
delay_ns,basis,confidence";

pub fn word(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// One run on two captures.
pub fn run(plain: &Path, tunnel: &Path, more: &[&str]) -> Run {
    let words = ["match", "-q", "--plain", word(plain), "--tunnel", word(tunnel)];
    spiglass(&[&words, more].concat())
}

/// The report as JSON.
pub fn json(plain: &Path, tunnel: &Path, more: &[&str]) -> Value {
    run(plain, tunnel, &[more, &["--format", "json"]].concat()).expect(0).json()
}

/// `(tunnel frame, plaintext frame, confidence)` of every pair, in the order printed.
pub fn pairs(plain: &Path, tunnel: &Path, more: &[&str]) -> Vec<(u64, u64, f64)> {
    let rows = run(plain, tunnel, &[more, &["--format", "csv"]].concat()).expect(0).csv(HEADER);
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    rows.iter()
        .map(|row| {
            let confidence = row.get("confidence").parse().expect("a confidence");
            (number(row.get("tunnel_frame")), number(row.get("plain_frame")), confidence)
        })
        .collect()
}

/// A pair of captures of the repository.
pub fn bundled(name: &str) -> (PathBuf, PathBuf) {
    (fixture(&format!("lab/{name}-plain-a.pcap")), fixture(&format!("lab/{name}-tunnel.pcap")))
}

/// Packets in AH are visible: no keys are needed for the truth either.
#[test]
fn visible_packets_are_paired_by_content() {
    let (plain, tunnel) = bundled("ah-sha256");
    let (before, after) = (truth::plain(&plain, false), truth::tunnelled(&tunnel, None, false, "bundled-ah"));
    let score = Score::of(&pairs(&plain, &tunnel, &[]), &before, &after);
    assert_eq!((score.right, score.wrong.len(), score.unknown), (129, 0, 0), "{score:?}");
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(report["pairs"]["by_basis"]["content"], 129);
    for size in support::items(&report, "sizes") {
        assert_eq!((&size["overhead_min_bytes"], &size["overhead_max_bytes"]), (&52.into(), &52.into()));
    }
}

/// Without any key; the truth is known by the keys that the laboratory states.
#[test]
fn opaque_packets_are_paired_by_order() {
    let (plain, tunnel) = bundled("wrong-auth-key");
    let keys = fixture("policy/lab-wrong-auth-key.txt");
    let (before, after) = (truth::plain(&plain, false), truth::tunnelled(&tunnel, Some(&keys), false, "bundled-esp"));
    let score = Score::of(&pairs(&plain, &tunnel, &[]), &before, &after);
    assert_eq!((score.needed, score.right, score.wrong.len()), (129, 129, 0), "{score:?}");
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(report["pairs"]["by_basis"]["order"], 129);
    for direction in support::items(&report, "directions") {
        let candidates = support::items(direction, "transform.candidates");
        assert!(candidates.iter().any(|name| name == "AES-CBC/HMAC-SHA1-96"), "{direction:#}");
    }
}

/// Ten of 1,200 packets of one length were dropped before the tap: a hole in the numbers names each of them.
#[test]
fn lost_packets_are_the_lost_ones() {
    let (plain, tunnel) = bundled("loss-before-tap");
    let lost = run(&plain, &tunnel, &["--format", "csv", "--table", "lost"]).expect(0);
    let lost = lost.csv("plain_capture,plain_frame,time,inner_bytes,sa,sequence,confidence");
    let ids = truth::plain(&plain, false);
    let named: Vec<u32> = lost.iter().map(|row| ids[&row.get("plain_frame").parse().expect("a frame")].2).collect();
    assert_eq!(named, [332, 351, 422, 502, 594, 643, 796, 908, 1031, 1084]);
    for (row, id) in lost.iter().zip(named) {
        assert_eq!(row.get("sequence"), id.to_string(), "the number is that of the packet");
    }
    let report = json(&plain, &tunnel, &[]);
    assert_eq!((&report["pairs"]["matched"], &report["pairs"]["unmatched_plain"]), (&1250.into(), &10.into()));
}
