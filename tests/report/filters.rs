//! The display filters of findings, run through tshark on the capture: they show the frames of the occurrences.
//!
//! Where tshark is not installed this test checks nothing and says so, except in CI, where it fails.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::build::{R1, R2, START, esp, in_fragments};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, text};

/// Findings whose filter shows other frames besides, or does not show all, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("sequence-gap", "the frame before each gap is shown too, and what else bears the numbers beside it"),
    ("sequence-late", "all packets with these numbers are shown, repeated ones too"),
    ("sequence-duplicate", "the first packet with the number is shown too"),
    ("sequence-restart", "an earlier packet with the same number is shown too"),
    ("sequence-jump", "the packet before the jump is shown too"),
    ("sequence-wrap", "an earlier packet with the same number is shown too"),
    ("clear-traffic", "all IP in clear is shown; what gateways send on their own account is no finding"),
    ("pmtu-icmp", "all errors of the router are shown, whichever packet they quote"),
];

/// Captures in which tshark reads frames otherwise than spiglass does, and why.
const OTHERWISE: &[(&str, &str)] = &[];

/// The numbers of the frames that a filter shows, with IP fragments reassembled or not.
fn shown(capture: &Path, filter: &str, reassembly: bool) -> Result<BTreeSet<u64>, String> {
    let wanted = if reassembly { "TRUE" } else { "FALSE" };
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(capture)
        .args(["-o", &format!("ip.defragment:{wanted}"), "-o", &format!("ipv6.defragment:{wanted}")])
        .args(["-Y", filter, "-T", "fields", "-e", "frame.number"])
        .output()
        .expect("tshark runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // A capture that ends in the middle of a packet is shown up to there.
    if !output.status.success() && !errors.contains("cut short") && !errors.contains("damaged") {
        return Err(errors);
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.trim().parse().ok()).collect())
}

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "pcap" || kind == "pcapng" || kind == "cap") {
            found.push(path);
        }
    }
}

/// What is wrong with the filters of a capture's findings; the codes that were compared.
fn check(capture: &Path, compared: &mut BTreeMap<String, u64>, wrong: &mut Vec<String>) {
    let name = capture.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let run = support::spiglass(&["check", "--format", "json", "-q", capture.to_str().expect("UTF-8")]);
    if run.status > 1 {
        return;
    }
    let report = run.json();
    let mut known: BTreeMap<(String, bool), Result<BTreeSet<u64>, String>> = BTreeMap::new();
    // Where no packet is in fragments, reassembly changes nothing.
    let ways = if number(&report, "totals.fragments") > 0 { &[true, false][..] } else { &[true] };
    let both = items(&report, "findings").iter().flat_map(|finding| ways.iter().map(move |way| (finding, *way)));
    for (finding, reassembly) in both {
        let (code, occurrences) = (text(finding, "code"), items(finding, "occurrences"));
        let Some(filter) = at(finding, "filter").as_str() else {
            if !occurrences.is_empty() {
                wrong.push(format!("{name} {code}: occurrences and no filter"));
            }
            continue;
        };
        let frames: BTreeSet<u64> = occurrences.iter().map(|one| number(one, "frame")).collect();
        let shown = known.entry((filter.to_owned(), reassembly));
        let shown = shown.or_insert_with(|| self::shown(capture, filter, reassembly));
        match shown {
            Err(error) => wrong.push(format!("{name} {code}: tshark refuses {filter}: {error}")),
            Ok(shown) => {
                *compared.entry(code.to_owned()).or_default() += 1;
                if OTHERWISE.iter().any(|(file, _)| *file == name) {
                    continue;
                }
                let missing: Vec<&u64> = frames.difference(shown).collect();
                let besides = shown.difference(&frames).count();
                let whole = at(finding, "occurrences_total") == &Value::from(frames.len());
                let said = DIFFERENCES.iter().any(|(of, _)| *of == code);
                if !missing.is_empty() {
                    wrong.push(format!("{name} {code}: {filter} does not show {missing:?} (reassembly {reassembly})"));
                } else if whole && besides > 0 && !said {
                    let more = format!("{besides} frames besides {frames:?} (reassembly {reassembly})");
                    wrong.push(format!("{name} {code}: {filter} shows {more}"));
                }
            }
        }
    }
}

fn write(name: &str, frames: impl IntoIterator<Item = Vec<u8>>) -> PathBuf {
    let out: Vec<Out> = (0..).zip(frames).map(|(at, frame)| Out::whole(START + at * 1_000_000, frame)).collect();
    support::write_file(&support::scratch("filters-made"), name, &plain_pcap(&out))
}

fn packet(sequence: u64, bytes: usize) -> Vec<u8> {
    // Packets of an SA with extended numbers bear the lower half (RFC 4303 section 2.2.1).
    esp(R1, R2, 1001, sequence as u32, &vec![0xa5; bytes])
}

/// Extended sequence numbers: gaps, late and repeated packets where the lower half of the number passes 2^32.
#[test]
fn filters_of_extended_numbers_show_their_frames() {
    if !support::installed("tshark", "filters of extended sequence numbers") {
        return;
    }
    let border = 1_u64 << 32;
    let around = || (border - 20..border + 20).map(|n| packet(n, 76));
    let missing = |from: u64, to: u64| {
        let numbers = (border - 20..border + 20).filter(move |n| !(from..=to).contains(n));
        numbers.map(|n| packet(n, 76)).collect::<Vec<_>>()
    };
    let late = |number: u64| missing(number, number).into_iter().chain([packet(number, 76), packet(border + 20, 76)]);
    let (mut compared, mut wrong) = (BTreeMap::new(), Vec::new());
    for (name, frames) in [
        ("across.pcap", missing(border - 3, border + 2)),
        ("before.pcap", missing(border - 4, border - 1)),
        ("after.pcap", missing(border, border + 3)),
        ("zero.pcap", missing(border, border)),
        ("late.pcap", late(border - 2).collect()),
        ("again.pcap", around().chain([packet(border - 1, 76), packet(border, 76)]).collect()),
    ] {
        check(&write(name, frames), &mut compared, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for code in ["sequence-gap", "sequence-late", "sequence-duplicate"] {
        assert!(compared.contains_key(code), "{compared:?}");
    }
}

/// Packets in fragments: Wireshark shows a packet at its first fragment, or once it is reassembled at its last one.
#[test]
fn filters_of_packets_in_fragments_show_their_frames() {
    if !support::installed("tshark", "filters of packets in fragments") {
        return;
    }
    let numbers = (1..=30).filter(|n| !(11..=13).contains(n)).map(|n| packet(n, 1_480));
    let frames: Vec<Vec<u8>> = numbers.flat_map(|frame| in_fragments(&frame, 1_400)).collect();
    let path = write("fragments.pcap", frames);
    let report = support::spiglass(&["check", "--format", "json", "-q", path.to_str().expect("text")]).json();
    let gap = items(&report, "findings").iter().find(|one| text(one, "code") == "sequence-gap").expect("a gap");
    let filter = at(gap, "filter").as_str().expect("a filter");
    let first: Vec<u64> = items(gap, "occurrences").iter().map(|one| number(one, "frame")).collect();
    assert_eq!(first, [21], "number 14 begins at frame 21");
    assert_eq!(shown(&path, filter, false).expect("a filter"), BTreeSet::from([19, 21]));
    assert_eq!(shown(&path, filter, true).expect("a filter"), BTreeSet::from([20, 22]));
}

#[test]
fn filters_show_the_frames_of_their_findings_in_tshark() {
    if !support::installed("tshark", "the filters of findings") {
        return;
    }
    let mut files = Vec::new();
    captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut files);
    if let Some(lab) = support::shared("lab") {
        captures(&lab, &mut files);
    }
    files.sort();
    files.retain(|file| !file.to_string_lossy().contains("crashes"));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (mut compared, mut wrong) = (BTreeMap::new(), Vec::new());
    let parts = std::thread::scope(|scope| {
        let part = |files: &[PathBuf]| {
            let (mut compared, mut wrong) = (BTreeMap::new(), Vec::new());
            files.iter().for_each(|file| check(file, &mut compared, &mut wrong));
            (compared, wrong)
        };
        let running: Vec<_> =
            files.chunks(files.len().div_ceil(threads).max(1)).map(|files| scope.spawn(move || part(files))).collect();
        running.into_iter().map(|one| one.join().expect("no check panics")).collect::<Vec<_>>()
    });
    for (codes, faults) in parts {
        for (code, count) in codes {
            *compared.entry(code).or_insert(0) += count;
        }
        wrong.extend(faults);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    for code in ["spi-zero", "sequence-gap", "sequence-late"] {
        assert!(compared.contains_key(code), "{code} is in no capture: {compared:?}");
    }
}
