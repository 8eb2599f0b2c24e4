//! What scripts rely on: names, header rows, exit statuses.

use serde_json::Value;

use crate::support::{at, fixture, items, scratch, spiglass, spiglass_with_input, write_file};
use crate::{HEADER, bundled, json, run, word};

/// Every name of the report, a path each; of arrays the first row.
const NAMES: &[&str] = &[
    "schema",
    "plain.captures",
    "plain.frames",
    "plain.first_ns",
    "plain.last_ns",
    "tunnel.captures",
    "tunnel.frames",
    "tunnel.first_ns",
    "tunnel.last_ns",
    "pairs.matched",
    "pairs.ambiguous",
    "pairs.unmatched_plain",
    "pairs.unmatched_tunnel",
    "pairs.by_basis.content",
    "pairs.by_basis.decrypted",
    "pairs.by_basis.order",
    "directions.0.sa",
    "directions.0.src",
    "directions.0.dst",
    "directions.0.inner_src",
    "directions.0.inner_dst",
    "directions.0.matched",
    "directions.0.unmatched_plain",
    "directions.0.unmatched_tunnel",
    "directions.0.loss_pct",
    "directions.0.confidence",
    "directions.0.transform.basis",
    "directions.0.transform.name",
    "directions.0.transform.candidates",
    "directions.0.clock.offset_ns",
    "directions.0.clock.drift_ppm",
    "directions.0.clock.uncertainty_ns",
    "directions.0.clock.basis",
    "directions.0.latency_ns.definition",
    "directions.0.latency_ns.depends_on_offset",
    "directions.0.latency_ns.min",
    "directions.0.latency_ns.p50",
    "directions.0.latency_ns.p90",
    "directions.0.latency_ns.p99",
    "directions.0.latency_ns.max",
    "directions.0.latency_ns.mean",
    "sizes.0.sa",
    "sizes.0.inner_bytes",
    "sizes.0.frames",
    "sizes.0.outer_bytes_min",
    "sizes.0.outer_bytes_max",
    "sizes.0.overhead_min_bytes",
    "sizes.0.overhead_max_bytes",
    "sizes.0.overhead_of_inner_pct",
    "sizes.0.parts",
    "sizes.0.predicted_bytes",
    "sizes.0.difference_bytes",
    "sizes.0.latency_ns.min",
    "sizes.0.latency_ns.p50",
    "sizes.0.latency_ns.p99",
    "sizes.0.latency_ns.max",
    "sizes.0.loss_pct",
    "sizes.0.basis",
    "padding.plain_ethernet",
    "padding.tunnel_ethernet",
    "padding.exit_ethernet",
    "padding.carried_into_tunnel",
    "padding.rewritten",
    "padding.examples",
    "findings",
];

#[test]
fn the_json_report_has_the_published_names() {
    let (plain, tunnel) = bundled("ah-sha256");
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(at(&report, "schema"), "spiglass.match/1");
    for name in NAMES {
        at(&report, name);
    }
    assert!(at(&report, "padding.exit_ethernet").is_null());
    let with_exit = json(&plain, &tunnel, &["--exit", word(&plain)]);
    assert!(at(&with_exit, "padding.exit_ethernet").is_object());
}

#[test]
fn rows_of_pairs_come_in_the_order_of_the_tunnel() {
    let (plain, tunnel) = bundled("loss-before-tap");
    let rows = run(&plain, &tunnel, &["--format", "csv", "--table", "pairs"]).expect(0).csv(HEADER);
    let frames: Vec<u64> = rows.iter().map(|row| row.get("tunnel_frame").parse().expect("a frame")).collect();
    assert!(frames.is_sorted() && frames.len() == 1250);
    for row in &rows {
        assert_eq!((row.get("plain_capture"), row.get("tunnel_capture")), (word(&plain), word(&tunnel)));
        assert_eq!((row.get("inner_bytes"), row.get("outer_bytes"), row.get("overhead_bytes")), ("64", "136", "72"));
        assert_eq!(row.get("basis"), "order");
        let confidence: f64 = row.get("confidence").parse().expect("a confidence");
        assert!((0.0..=1.0).contains(&confidence));
    }
}

/// CSV without `--table` is the pairs; every other table has a header row even where it is empty.
#[test]
fn every_table_has_a_header() {
    let (plain, tunnel) = bundled("ah-sha256");
    for table in ["pairs", "directions", "sizes", "padding", "lost", "outside", "ends", "findings", "captures"] {
        let run = run(&plain, &tunnel, &["--format", "csv", "--table", table]).expect(0);
        assert!(run.text().lines().next().is_some_and(|line| line.contains(',')), "{table}");
    }
}

#[test]
fn lines_are_objects_that_say_what_they_are() {
    let (plain, tunnel) = bundled("ah-sha256");
    let run = run(&plain, &tunnel, &["--format", "ndjson"]).expect(0);
    let rows: Vec<Value> = run.text().lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(rows[0]["row"], "match");
    assert!(rows.iter().any(|row| row["row"] == "direction") && rows.iter().any(|row| row["row"] == "size"));
}

#[test]
fn markdown_is_tables() {
    let (plain, tunnel) = bundled("loss-before-tap");
    let run = run(&plain, &tunnel, &["--format", "markdown"]).expect(0);
    for said in ["## Pairs", "**1 250** matched", "## Latency", "## Overhead by packet size", "## Lost packets"] {
        assert!(run.text().contains(said), "{said} is not in\n{}", run.text());
    }
}

#[test]
fn exit_statuses() {
    let (plain, tunnel) = bundled("ah-sha256");
    let missing = scratch("pairing-contract").join("not-there.pcap");
    let usage = |words: &[&str]| {
        let run = spiglass(words).expect(2);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{run}");
    };
    run(&plain, &tunnel, &[]).expect(0);
    run(&plain, &tunnel, &["--fail-on", "error"]).expect(0);
    // What could be read is reported nevertheless.
    let half = run(&plain, &missing, &["--format", "json"]).expect(2);
    assert_eq!(at(&half.json(), "exit_status"), 2);
    usage(&["match"]);
    usage(&["match", "--plain", word(&plain)]);
    usage(&["match", "--plain", "-", "--tunnel", "-", "--exit", "-"]);
    usage(&["match", "--plain", "-", "--tunnel", word(&tunnel), "--exit", "-"]);
    usage(&["match", "--plain", word(&plain), "--tunnel", word(&tunnel), "--table", "pairs"]);

    let octets = std::fs::read(&tunnel).expect("a fixture");
    let cut = write_file(&scratch("pairing-contract"), "cut.pcap", &octets[..octets.len() - 7]);
    let report = run(&plain, &cut, &["--format", "json"]).expect(2).json();
    assert_eq!(at(&report, "tunnel.captures.0.complete"), false);
    assert_eq!(items(&report, "findings").iter().filter(|finding| finding["code"] == "capture-cut").count(), 1);
    run(&plain, &cut, &["--accept-cut"]).expect(0);
    run(&plain, &cut, &["--accept-cut", "--fail-on", "note"]).expect(1);
}

/// One side may come through a pipe, and both where they are one capture; not two different ones.
#[test]
fn standard_input_is_one_capture() {
    let (plain, tunnel) = bundled("ah-sha256");
    let octets = std::fs::read(&tunnel).expect("a fixture");
    let words = ["match", "-q", "--plain", word(&plain), "--tunnel", "-", "--format", "json"];
    let report = spiglass_with_input(&words, Some(&octets)).expect(0).json();
    assert_eq!(at(&report, "pairs.matched"), 129);
    let words = ["match", "-q", "--plain", word(&plain), "--tunnel", "-", "--tunnel", "-"];
    spiglass_with_input(&words, Some(&octets)).expect(2);
}

/// No line is wider than asked for, and nothing but text is printed.
#[test]
fn the_text_report_fits() {
    for name in ["ah-sha256", "wrong-auth-key", "loss-before-tap"] {
        let (plain, tunnel) = bundled(name);
        let text = run(&plain, &tunnel, &["--exit", word(&fixture("lab/ah-sha256-plain-a.pcap"))]).expect(0);
        for line in text.text().lines() {
            // Paths are words, and words are not cut.
            assert!(line.chars().count() <= 100 || line.contains(".pcap"), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}
