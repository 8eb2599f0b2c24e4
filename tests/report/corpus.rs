//! The binary on every public capture: no panic, no hang, damage told and counted, the same report for any number of
//! workers, and no octet of a capture that reaches the terminal raw.
//!
//! The captures are other projects' files and lie beside this repository, not in it. Without them this test checks
//! nothing and says so; where `CI` is set they must be there.

use crate::support;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::threads::each;
use crate::support::{Checks, at, items, number, shared, text};

/// Paths of `INDEX.csv`, and the packets it counts.
fn captures(corpus: &Path) -> Vec<(String, PathBuf)> {
    let mut index = csv::Reader::from_path(corpus.join("INDEX.csv")).expect("the corpus has an index");
    let rows: Vec<csv::StringRecord> = index.records().map(|row| row.expect("a row")).collect();
    rows.iter().map(|row| (row[0].to_owned(), corpus.join(&row[0]))).collect()
}

#[test]
fn every_public_capture_is_reported_without_panic_or_hang() {
    let Some(corpus) = shared("corpus") else { return };
    let captures = captures(&corpus);
    assert!(captures.len() > 300, "the index lists the corpus");
    let mut checks = Checks::new("");
    let mut codes = BTreeSet::new();
    let checked = each(&captures, |(name, path)| {
        let mut own = Checks::new(name.clone());
        let codes = check_capture(&mut own, path);
        (own, codes)
    });
    for (own, found) in checked {
        checks.add(own);
        codes.extend(found);
    }
    checks.about("codes of findings");
    for code in codes {
        let run = support::spiglass(&["explain", &code]);
        checks.ok(run.status == 0 && run.text().contains(&code), || format!("`explain {code}` does not explain it"));
    }
    checks.finish();
}

/// Every output of one capture; returns the codes of its findings.
fn check_capture(checks: &mut Checks, path: &Path) -> Vec<String> {
    let name = path.to_str().expect("UTF-8");
    let run = |args: &[&str]| support::spiglass(&[args, &[name]].concat());
    let one = run(&["report", "--format", "json", "--jobs", "1"]);
    checks.ok(!one.stderr.contains("panicked"), || format!("panics: {}", one.stderr));
    checks.ok(matches!(one.status, 0 | 2), || format!("ends with {}", one.status));
    if !matches!(one.status, 0 | 2) {
        return Vec::new();
    }
    let report = one.json();
    let complete = items(&report, "captures").iter().all(|capture| at(capture, "complete") == true);
    let read = !items(&report, "captures").is_empty();
    checks.eq("status", one.status, if complete && read { 0 } else { 2 });
    checks.ok(one.status == 0 || !one.stderr.is_empty(), || "fails without a word".to_owned());
    let frames = number(&report, "totals.frames");
    let of = |table: &str| items(&report, table).iter().map(|row| number(row, "frames")).sum::<u64>();
    checks.eq("layers add up", of("layers"), frames);
    checks.eq("captures add up", of("captures"), frames);

    let more = run(&["report", "--format", "json", "--jobs", "3"]);
    checks.ok(more.stdout == one.stdout, || "--jobs 3 prints other bytes than --jobs 1".to_owned());
    for args in [
        &["report", "--format", "text", "--color", "never"][..],
        &["report", "--format", "markdown"],
        &["report", "--format", "ndjson"],
        &["report", "--format", "csv", "--table", "findings"],
        &["frames", "--format", "csv"],
        &["frames", "--format", "ndjson"],
    ] {
        let other = run(args);
        let which = args.join(" ");
        checks.eq(&format!("status of {which}"), other.status, one.status);
        checks.ok(!other.stderr.contains("panicked"), || format!("{which} panics: {}", other.stderr));
        let raw =
            other.stdout.iter().chain(other.stderr.as_bytes()).find(|octet| matches!(octet, 0..=8 | 11..=31 | 127));
        checks.ok(raw.is_none(), || format!("{which} prints the control character {raw:?}"));
        if args == ["frames", "--format", "ndjson"] {
            checks.eq("rows of frames", other.text().lines().count() as u64, frames);
        } else if args == ["frames", "--format", "csv"] {
            checks.eq("rows of frames", other.csv(support::FRAMES_HEADER).len() as u64, frames);
        }
    }
    items(&report, "findings").iter().map(|finding| text(finding, "code").to_owned()).collect()
}
