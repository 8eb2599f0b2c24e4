//! Captures and taps: rotation, overlap, two monitor ports, standard input, inputs that fail.

use crate::support;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::oracle::{self, Record};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{Checks, at, fixture, items, number, text};

/// Writes some records of a capture as a capture of its own.
fn part<'a>(dir: &Path, name: &str, records: impl IntoIterator<Item = &'a Record>) -> PathBuf {
    let frames: Vec<Out> = records
        .into_iter()
        .map(|record| Out {
            time_ns: record.time_ns.unsigned_abs(),
            data: record.data.clone(),
            wire_bytes: u32::try_from(record.wire_bytes).expect("32 bits"),
        })
        .collect();
    support::write_file(dir, name, &plain_pcap(&frames))
}

/// A report without its captures and without what refers to a frame by number: what rotation may change.
fn analysis(mut report: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(fields) => {
                for name in ["captures", "run", "first_frame", "last_frame", "frame", "examples", "evidence"] {
                    fields.remove(name);
                }
                // Occurrences and gaps: what is in words names frames too.
                let occurrence = fields.contains_key("count") && fields.contains_key("time_ns");
                for name in ["capture", "frame_before", "frame_after", "what"] {
                    if occurrence || fields.contains_key("time_before_ns") {
                        fields.remove(name);
                    }
                }
                // By frames, a filter holds for one capture only.
                fields.retain(|name, value| {
                    let by_frames = value.as_str().is_none_or(|filter| filter.starts_with("frame.number"));
                    name != "filter" || !by_frames
                });
                fields.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    strip(&mut report);
    report
}

fn report(args: &[&str]) -> Value {
    let mut all = vec!["report", "--format", "json"];
    all.extend(args);
    support::spiglass(&all).expect(0).json()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_capture_split_into_files_is_one_tap_in_rotation() {
    let source = fixture("lab/loss-before-tap-tunnel.pcap");
    let records = oracle::read_capture(&source).records;
    let whole = analysis(report(&["--tap", &format!("t={}", path(&source))]));
    let dir = support::scratch("rotation");
    let mut checks = Checks::new("");
    for cuts in [vec![1], vec![625], vec![records.len() - 1], vec![300, 301, 900]] {
        checks.about(format!("cut at {cuts:?}"));
        let mut files = Vec::new();
        for (n, end) in cuts.iter().chain([&records.len()]).enumerate() {
            let start = if n == 0 { 0 } else { cuts[n - 1] };
            // Names that sort the other way round: order is by time, not by name.
            files.push(part(&dir, &format!("{}-{}.pcap", cuts.len(), 9 - n), &records[start..*end]));
        }
        let mut names: Vec<&str> = files.iter().map(|file| path(file)).collect();
        let joined = format!("t={}", names.join(","));
        checks.eq("named", &analysis(report(&["--tap", &joined])), &whole);

        let rotated = report(&names);
        checks.eq("taps", items(&rotated, "taps").len(), 1);
        checks.eq("captures", items(&rotated, "captures").len(), files.len());
        checks.eq("captures of the tap", items(&rotated, "taps.0.captures").len(), files.len());
        checks.eq(
            "name",
            text(&rotated, "taps.0.name"),
            files[0].file_stem().expect("a stem").to_str().expect("UTF-8"),
        );
        checks.eq("frames", number(&rotated, "totals.frames"), records.len() as u64);
        checks.eq("lost", number(&rotated, "sas.0.sequence.lost"), 10);
        let first = number(&rotated, "sas.0.first_frame.capture");
        let begins = items(&rotated, "captures").iter().map(|capture| number(capture, "first_ns")).collect::<Vec<_>>();
        checks.eq("the first frame is in the earliest capture", Some(&begins[first as usize]), begins.iter().min());

        names.reverse();
        checks.eq("in another order", analysis(report(&names)), analysis(rotated));
    }
    checks.finish();
}

#[test]
fn captures_that_overlap_are_taps_of_their_own_and_double_nothing() {
    let (plain, tunnel) = (fixture("lab/ah-sha256-plain-a.pcap"), fixture("lab/ah-sha256-tunnel.pcap"));
    let both = report(&[path(&plain), path(&tunnel)]);
    // Listed by time, not in the order they were given.
    let mut taps: Vec<(&str, &str)> =
        items(&both, "taps").iter().map(|tap| (text(tap, "name"), text(tap, "role"))).collect();
    taps.sort_unstable();
    assert_eq!(taps, [("ah-sha256-plain-a", "plain"), ("ah-sha256-tunnel", "tunnel")]);
    assert_eq!(number(&both, "totals.frames"), 258);
    let mut checks = Checks::new("");
    for (tap, file) in [("ah-sha256-plain-a", &plain), ("ah-sha256-tunnel", &tunnel)] {
        let alone = report(&[path(file)]);
        for table in ["sas", "sizes", "rates.directions", "findings"] {
            let of_tap: Vec<Value> =
                items(&both, table).iter().filter(|row| text(row, "tap") == tap).cloned().map(analysis).collect();
            let want: Vec<Value> = items(&alone, table).iter().cloned().map(analysis).collect();
            checks.about(format!("{table} of {tap}")).eq("beside the other", of_tap, want);
        }
    }
    checks.finish();
}

#[test]
fn the_two_monitor_ports_of_a_tap_are_merged_by_time() {
    let source = fixture("lab/ah-sha256-tunnel.pcap");
    let records = oracle::read_capture(&source).records;
    let dir = support::scratch("monitor-ports");
    let port = |name: &str, sender: u8| part(&dir, name, records.iter().filter(|record| record.data[11] == sender));
    let (from_r1, from_r2) = (port("from-r1.pcap", 0x01), port("from-r2.pcap", 0x02));
    let merged = report(&["--tap", &format!("t={},{}", path(&from_r1), path(&from_r2))]);
    assert_eq!(number(&merged, "totals.frames"), records.len() as u64);
    assert_eq!(items(&merged, "taps").len(), 1);
    let whole = report(&["--tap", &format!("t={}", path(&source))]);
    assert_eq!(analysis(merged), analysis(whole));
    // Without a name they are two taps, each of one direction.
    assert_eq!(items(&report(&[path(&from_r1), path(&from_r2)]), "taps").len(), 2);
}

#[test]
fn standard_input_is_a_capture() {
    let mut checks = Checks::new("");
    for name in [
        "seeds/test06-esp-null-fixed.pcap",
        "seeds/test06-esp-null-fixed.pcapng",
        "seeds/test06-esp-null-fixed.pcap.gz",
    ] {
        let file = fixture(name);
        let bytes = std::fs::read(&file).expect("a fixture");
        let piped = support::spiglass_with_input(&["report", "--format", "json", "--tap", "t=-"], Some(&bytes))
            .expect(0)
            .json();
        checks.about(name).eq("piped", analysis(piped), analysis(report(&["--tap", &format!("t={}", path(&file))])));
        let bare = support::spiglass_with_input(&["report", "--format", "json", "-"], Some(&bytes)).expect(0).json();
        checks.eq("frames of -", number(&bare, "totals.frames"), 2);
    }
    checks.finish();
}

#[test]
fn one_bad_input_does_not_stop_the_others() {
    let good = fixture("seeds/test05-ah-md5.pcap");
    let dir = support::scratch("bad-input");
    let text_file = support::write_file(&dir, "notes.pcap", b"this is no capture, whatever its name says\n");
    let missing = dir.join("missing.pcap");
    for bad in [&text_file, &missing] {
        let run = support::spiglass(&["report", "--format", "json", path(bad), path(&good)]).expect(2);
        let report = run.json();
        assert_eq!(number(&report, "totals.frames"), 1);
        assert_eq!(number(&report, "exit_status"), 2);
        assert_eq!(text(&report, "sas.0.id"), "ah/192.168.1.1/192.168.1.2/0x000003ea");
        let name = bad.file_name().expect("a name").to_str().expect("UTF-8");
        assert!(run.stderr.contains(name), "standard error names {name}: {}", run.stderr);
    }
}

#[test]
fn every_cut_of_a_capture_is_reported_up_to_the_cut() {
    let bytes = std::fs::read(fixture("seeds/test06-esp-null-fixed.pcap")).expect("a fixture");
    let dir = support::scratch("every-cut");
    // Two records of 16 + 122 octets behind a header of 24.
    for length in 1..bytes.len() {
        let cut = support::write_file(&dir, "cut.pcap", &bytes[..length]);
        let whole_records = length.saturating_sub(24) / 138;
        let status = if length >= 24 && (length - 24) % 138 == 0 { 0 } else { 2 };
        let run = support::report(&[&cut]).expect(status);
        let report = run.json();
        assert_eq!(number(&report, "totals.frames"), whole_records as u64, "cut at {length}");
        if length > 24 && status == 2 {
            assert_eq!(number(&report, "captures.0.damage.offset"), 24 + 138 * whole_records as u64, "cut at {length}");
            assert_eq!(number(&report, "captures.0.damage.frame"), 1 + whole_records as u64, "cut at {length}");
            let codes: Vec<&str> = items(&report, "findings").iter().map(|finding| text(finding, "code")).collect();
            assert!(codes.contains(&"capture-cut"), "cut at {length}: {codes:?}");
            // The frame to look at is the last one that is whole.
            let cut = items(&report, "findings").iter().find(|finding| text(finding, "code") == "capture-cut");
            let frame = &cut.expect("just seen")["last_frame"];
            assert_eq!(frame["frame"].as_u64(), (whole_records > 0).then_some(whole_records as u64), "cut at {length}");
        }
    }
}

#[test]
fn reports_do_not_depend_on_the_number_of_workers() {
    let file = fixture("lab/loss-before-tap-tunnel.pcap");
    let run =
        |jobs: &str| support::spiglass(&["report", "--format", "json", "--jobs", jobs, path(&file)]).expect(0).stdout;
    let one = run("1");
    for jobs in ["2", "3", "8"] {
        assert!(run(jobs) == one, "--jobs {jobs} prints other bytes than --jobs 1");
    }
}

#[test]
fn the_exit_status_in_the_report_is_the_exit_status() {
    let broken = fixture("seeds/test06-esp-null-broken.pcap");
    for (options, status) in [(&[][..], 0), (&["--fail-on", "error"], 1), (&["--fail-on", "never"], 0)] {
        let mut args = vec!["report", "--format", "json"];
        args.extend(options);
        args.push(path(&broken));
        let run = support::spiglass(&args).expect(status);
        assert_eq!(at(&run.json(), "exit_status").as_i64(), Some(i64::from(status)));
        let last = run.stderr.lines().last().unwrap_or_default();
        assert!(
            status == 0 || last.contains(&status.to_string()),
            "the last line of standard error says {status}: {last}"
        );
    }
}
