//! The digest of each capture: of the octets as they are stored, or why there is none.

use crate::support;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

use crate::support::build::{R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, fixture, scratch, spiglass, text, write_file};

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn report(args: &[&str], file: &Path) -> Value {
    spiglass(&[&["report", "--format", "json", "-q"], args, &[path(file)]].concat()).json()
}

fn xxh3(octets: &[u8]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(octets))
}

fn sha256(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Algorithm and digest of the first capture.
fn digest(report: &Value) -> (&str, &str) {
    assert!(at(report, "captures.0.digest_missing").is_null());
    (text(report, "captures.0.digest.algorithm"), text(report, "captures.0.digest.hex"))
}

/// Why the first capture has none.
fn missing(report: &Value) -> &str {
    assert!(at(report, "captures.0.digest").is_null());
    text(report, "captures.0.digest_missing")
}

fn frames(count: u32) -> Vec<u8> {
    let frame = |n: u32| Out::whole(START + u64::from(n) * 1_000, esp(R1, R2, 0x3e9, n, &[n as u8; 200]));
    plain_pcap(&(1..=count).map(frame).collect::<Vec<_>>())
}

#[test]
fn a_digest_is_of_the_octets_as_they_are_stored() {
    // Plain in both formats, compressed, and longer than one read.
    let long = write_file(&scratch("digests"), "long.pcap", &frames(5_000));
    let seed = |name: &str| fixture(&format!("seeds/{name}"));
    let files = [
        seed("test06-esp-null-fixed.pcap"),
        seed("test06-esp-null-fixed.pcapng"),
        seed("test06-esp-null-fixed.pcap.gz"),
        long,
    ];
    for file in &files {
        let octets = std::fs::read(file).unwrap();
        assert_eq!(digest(&report(&[], file)), ("xxh3-128", &*xxh3(&octets)), "{}", file.display());
        for jobs in ["1", "4"] {
            let strong = report(&["--digest", "sha256", "--jobs", jobs], file);
            assert_eq!(digest(&strong), ("sha256", &*sha256(&octets)), "{}", file.display());
        }
        assert_eq!(missing(&report(&["--digest", "none"], file)), "none was asked for");
    }
}

#[test]
fn every_compression_is_read_to_the_end_of_the_file() {
    let dir = scratch("digests-packed");
    for (tool, end) in [("gzip", "gz"), ("zstd", "zst"), ("lz4", "lz4"), ("xz", "xz"), ("bzip2", "bz2")] {
        let plain = write_file(&dir, &format!("{tool}.pcap"), &frames(3_000));
        let packed = dir.join(format!("{tool}.pcap.{end}"));
        let run = std::process::Command::new(tool).args(["-c", path(&plain)]).output();
        // A machine without the tool checks the others.
        let Ok(run) = run.map(|run| run.stdout) else { continue };
        std::fs::write(&packed, &run).unwrap();
        assert_eq!(digest(&report(&[], &packed)), ("xxh3-128", &*xxh3(&run)), "{tool}");
    }
}

#[test]
fn standard_input_has_one_too() {
    let octets = frames(4_000);
    let run = support::spiglass_with_input(&["report", "--format", "json", "-q", "-"], Some(&octets));
    assert_eq!(digest(&run.json()), ("xxh3-128", &*xxh3(&octets)));
}

#[test]
fn states_keep_it_and_merged_ones_agree_with_one_run() {
    let dir = scratch("digests-states");
    let (one, two) = (write_file(&dir, "a.pcap", &frames(50)), write_file(&dir, "b.pcap", &frames(60)));
    let state = |file: &PathBuf, name: &str| {
        let state = dir.join(name);
        spiglass(&["partial", "-o", path(&state), path(file)]).expect(0);
        state
    };
    let states = [state(&one, "a.state"), state(&two, "b.state")];
    let merged = spiglass(&["merge", "--format", "json", "-q", path(&states[0]), path(&states[1])]).json();
    for (n, file) in [&one, &two].into_iter().enumerate() {
        assert_eq!(text(&merged, &format!("captures.{n}.digest.hex")), xxh3(&std::fs::read(file).unwrap()));
    }
}

#[test]
fn what_was_not_read_to_its_end_has_none() {
    let dir = scratch("digests-damaged");
    // A record that cannot be, far from both ends: pcap stops there.
    let mut octets = frames(20_000);
    let middle = 24 + 10_000 * (octets.len() - 24) / 20_000;
    octets[middle + 8..middle + 16].fill(0xff);
    let damaged = write_file(&dir, "damaged.pcap", &octets);
    for jobs in ["1", "4"] {
        assert_eq!(missing(&report(&["--jobs", jobs], &damaged)), "only a part was read: it is damaged");
    }
    // One that is cut was read to its end.
    let mut octets = frames(500);
    octets.truncate(octets.len() - 10);
    let cut = write_file(&dir, "cut.pcap", &octets);
    assert_eq!(digest(&report(&["--accept-cut"], &cut)), ("xxh3-128", &*xxh3(&octets)));
    // So was one of which times were left out.
    let whole = write_file(&dir, "whole.pcap", &frames(500));
    assert_eq!(digest(&report(&["--to", "+10us"], &whole)).1, xxh3(&frames(500)));
}

#[test]
fn people_read_it_where_all_is_shown() {
    let file = write_file(&scratch("digests"), "shown.pcap", &frames(20));
    let hex = xxh3(&frames(20));
    let shown = |args: &[&str]| spiglass(&[&["report", "-q"], args, &[path(&file)]].concat()).text().to_owned();
    for format in ["text", "markdown"] {
        assert!(shown(&["--format", format, "--all"]).replace('\n', "").contains(&hex), "{format}");
        assert!(!shown(&["--format", format]).contains(&hex), "{format}");
    }
    let page = shown(&["--format", "html"]);
    assert!(page.contains(&format!("xxh3-128 {hex}  ")), "{page}");
}
