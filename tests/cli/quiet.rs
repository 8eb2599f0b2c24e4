//! Nights that are quiet when nothing changed, and loud when something did: baselines, thresholds, reports compared.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, fixture, items, scratch, spiglass, text};

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What one night captured: files of the same names every night, in a folder of its own.
fn night(dir: &Path, name: &str, captures: &[&str]) -> Vec<PathBuf> {
    let folder = dir.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let copy = |(at, capture): (usize, &&str)| {
        let to = folder.join(format!("tap{at}.pcap"));
        fs::copy(fixture(capture), &to).expect("a copy");
        to
    };
    captures.iter().enumerate().map(copy).collect()
}

fn check(words: &[&str], captures: &[PathBuf]) -> Run {
    let mut args = vec!["check"];
    args.extend(words);
    args.extend(captures.iter().map(|capture| path(capture)));
    spiglass(&args)
}

const CALM: &str = "lab/ah-sha256-tunnel.pcap";
const LOSS: &str = "lab/loss-before-tap-tunnel.pcap";
const ZERO: &str = "seeds/test06-esp-null-broken.pcap";

/// Acceptance: two nights with one changed scenario.
#[test]
fn a_night_like_the_baseline_is_quiet_and_a_changed_one_names_exactly_what_is_new() {
    let dir = scratch("quiet-baseline");
    let first = night(&dir, "monday", &[LOSS, CALM]);
    let known = dir.join("known.toml");
    check(&["--write-baseline", path(&known)], &first).expect(1);
    let same = night(&dir, "tuesday", &[LOSS, CALM]);
    let run = check(&["--baseline", path(&known)], &same).expect(0);
    assert!(run.text().contains("Known to "), "{run}");
    let report = check(&["--format", "json", "--baseline", path(&known)], &same).expect(0).json();
    assert_eq!((&report["baseline"]["new"], &report["run"]["findings_warning"]), (&0.into(), &0.into()));
    assert!(items(&report, "findings").iter().all(|finding| finding["accepted"]["by"] == "baseline"));

    let other = night(&dir, "wednesday", &[LOSS, ZERO]);
    let report = check(&["--format", "json", "--baseline", path(&known)], &other).expect(1).json();
    let news: Vec<&str> = items(&report, "findings")
        .iter()
        .filter(|finding| finding["accepted"].is_null() && finding["severity"] != "note")
        .map(|finding| text(finding, "code"))
        .collect();
    assert_eq!(news, ["spi-zero"]);
    // The night without the trouble says what is gone; a reason that was written stays in the next baseline.
    let text = fs::read_to_string(&known).expect("a baseline").replacen("reason = \"\"", "reason = \"old line\"", 1);
    fs::write(&known, text).expect("a baseline");
    let calm = night(&dir, "thursday", &[CALM]);
    let run = check(&["--baseline", path(&known)], &calm).expect(0);
    assert!(run.text().contains("Gone since the baseline: sequence-gap"), "{run}");
    let next = dir.join("next.toml");
    check(&["--baseline", path(&known), "--write-baseline", path(&next)], &same).expect(0);
    assert!(fs::read_to_string(&next).expect("a baseline").contains("old line"));
    // A baseline that is none, and a code that is none, are wrong command lines or inputs.
    let wrong = dir.join("wrong.toml");
    fs::write(&wrong, "known = 7").expect("a file");
    assert!(check(&["--baseline", path(&wrong)], &calm).expect(2).stderr.contains("wrong.toml"));
    check(&["--ignore", "no-code"], &calm).expect(2);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn thresholds_and_ignored_codes_do_not_raise_the_exit_status() {
    let captures = [fixture(LOSS)];
    check(&[], &captures).expect(1);
    check(&["--ignore", "sequence-gap"], &captures).expect(0);
    check(&["--ignore", "sequence-gap@0x1"], &captures).expect(1);
    check(&["--threshold", "sequence-gap=100%"], &captures).expect(0);
    let run = check(&["--threshold", "sequence-gap=1"], &captures).expect(1);
    assert!(run.text().contains("sequence-gap"), "{run}");
    // Reports of merged states are judged in the same way.
    let dir = scratch("quiet-merge");
    let state = dir.join("a.state");
    spiglass(&["partial", "-o", path(&state), path(&captures[0])]).expect(0);
    spiglass(&["merge", "--fail-on", "warning", path(&state)]).expect(1);
    spiglass(&["merge", "--fail-on", "warning", "--ignore", "sequence-gap", path(&state)]).expect(0);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

fn json_of(words: &[&str], dir: &Path, name: &str) -> PathBuf {
    let to = dir.join(name);
    let mut args = words.to_vec();
    args.extend(["--format", "json", "-o", path(&to)]);
    spiglass(&args);
    to
}

#[test]
fn reports_of_two_nights_are_compared() {
    let dir = scratch("quiet-diff");
    let (loss, calm, zero) = (fixture(LOSS), fixture(CALM), fixture(ZERO));
    let old = json_of(&["report", path(&loss), path(&calm)], &dir, "old.json");
    let same = json_of(&["report", path(&loss), path(&calm)], &dir, "same.json");
    let new = json_of(&["report", path(&zero), path(&calm)], &dir, "new.json");
    let run = spiglass(&["diff", path(&old), path(&same)]).expect(0);
    assert!(run.text().contains("Nothing changed"), "{run}");
    let diff = spiglass(&["diff", "--format", "json", path(&old), path(&new)]).expect(1).json();
    let of = |change: &str| -> Vec<&str> {
        let findings = items(&diff, "findings").iter().filter(|finding| finding["change"] == change);
        findings.map(|finding| text(finding, "code")).collect()
    };
    assert!(of("begun").contains(&"spi-zero") && of("ended").contains(&"sequence-gap"), "{diff}");
    assert!(items(&diff, "sas").iter().any(|sa| sa["change"] == "gone"), "{diff}");
    spiglass(&["diff", "--fail-on", "never", path(&old), path(&new)]).expect(0);
    // What is gone is no reason for 1.
    spiglass(&["diff", "--fail-on", "error", path(&new), path(&old)]).expect(0);
    for format in ["text", "markdown", "html"] {
        let run = spiglass(&["diff", "--format", format, path(&old), path(&new)]).expect(1);
        assert!(run.text().contains("spi-zero"), "{format}: {run}");
    }
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn reports_that_say_other_things_are_not_compared() {
    let dir = scratch("quiet-refused");
    let loss = fixture(LOSS);
    let plain = fixture("lab/loss-before-tap-plain-a.pcap");
    let usual = json_of(&["report", path(&loss)], &dir, "usual.json");
    let bins = json_of(&["report", "--bin", "100ms", path(&loss)], &dir, "bins.json");
    let filtered = json_of(&["report", "--spi", "0x3e9", path(&loss)], &dir, "filtered.json");
    let pairs = json_of(&["match", "--plain", path(&plain), "--tunnel", path(&loss)], &dir, "pairs.json");
    for (other, says) in [(&bins, "--bin"), (&filtered, "--spi"), (&pairs, "spiglass.match/1")] {
        let run = spiglass(&["diff", path(&usual), path(other)]).expect(2);
        assert!(run.stderr.contains(says), "{run}");
    }
    let diff = spiglass(&["diff", "--format", "json", path(&pairs), path(&pairs)]).expect(0).json();
    assert!(items(&diff, "figures").iter().any(|figure| figure["figure"] == "latency_p50_ns"), "{diff}");
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// The file appears whole, with what the run found; an old one is replaced.
#[test]
fn gauges_for_prometheus_are_written_beside_the_report() {
    let dir = scratch("quiet-metrics");
    let file = dir.join("spiglass.prom");
    fs::write(&file, "old").expect("a file");
    let cut = dir.join("cut.pcap");
    let octets = fs::read(fixture(LOSS)).expect("a fixture");
    fs::write(&cut, &octets[..octets.len() - 9]).expect("a capture");
    let run = spiglass(&["report", "--metrics", path(&file), path(&cut), path(&dir.join("missing.pcap"))]).expect(2);
    let text = fs::read_to_string(&file).expect("gauges");
    for sample in [
        "spiglass_inputs{outcome=\"cut\"} 1",
        "spiglass_inputs{outcome=\"unreadable\"} 1",
        "spiglass_exit_status 2",
        "spiglass_report_exact 0",
        "spiglass_findings{code=\"sequence-gap\",severity=\"warning\",accepted=\"false\"}",
        "spiglass_tunnel_loss_ratio{tap=\"cut\",src=",
    ] {
        assert!(text.contains(sample), "{sample}\n{text}\n{run}");
    }
    assert!(!text.contains("spiglass_sa_"));
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}
