//! The display filters of findings, run through tshark on the capture: they show the frames of the occurrences.
//!
//! Where tshark is not installed this test checks nothing and says so, except in CI, where it fails.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

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

fn tshark() -> bool {
    let here = Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(here || !in_ci, "CI is set and tshark is not installed: the filters must not go untested");
    if !here {
        eprintln!("tshark is not installed: THE FILTERS OF FINDINGS ARE NOT TESTED");
    }
    here
}

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
    let both = items(&report, "findings").iter().flat_map(|finding| [(finding, true), (finding, false)]);
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

#[test]
fn filters_show_the_frames_of_their_findings_in_tshark() {
    if !tshark() {
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
