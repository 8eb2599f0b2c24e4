//! The laboratory captures, every scenario on every tap: real Linux IPsec with what was configured and injected written
//! down (`truth.json`), and what an independent reading of the files found (`observed.json`).
//!
//! They are kept beside the repository; without them these tests say that they checked nothing (and fail in CI).

#[path = "../support/mod.rs"]
mod support;

mod compare;
mod scenarios;
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use compare::{Known, rank};
use scenarios::{ANY, SCENARIOS, Scenario};
use support::{Checks, at, items, number, shared, text};

/// One test for each scenario, named after it.
macro_rules! scenarios {
    ($($name:ident => $dir:literal,)*) => {
        $(#[test] fn $name() { check_scenario($dir); })*

        /// The scenarios that have a test.
        const TESTED: &[&str] = &[$($dir),*];
    };
}

scenarios! {
    ah_md5 => "ah-md5",
    ah_md5_around_esp_des => "ah-md5+esp-des",
    ah_md5_around_esp_des_md5 => "ah-md5+esp-des-md5",
    ah_sha1 => "ah-sha1",
    ah_sha256 => "ah-sha256",
    ah_sha256_align4 => "ah-sha256-align4",
    ah_sha512 => "ah-sha512",
    ah6in6_sha1 => "ah6in6-sha1",
    clear => "clear",
    corrupt_before_tap => "corrupt-before-tap",
    delay_20ms => "delay-20ms",
    duplicate_after_tap => "duplicate-after-tap",
    equal_size_loss => "equal-size-loss",
    esn_hi => "esn-hi",
    esn_wrap => "esn-wrap-aes128-sha256",
    esp_3des_sha1 => "esp-3des-sha1",
    esp_aes_ctr_sha256 => "esp-aes-ctr-sha256",
    esp_aes128_cbc_sha1 => "esp-aes128-cbc-sha1",
    esp_aes128_cbc_sha512 => "esp-aes128-cbc-sha512",
    esp_aes128_gcm16 => "esp-aes128-gcm16",
    esp_aes256_gcm16 => "esp-aes256-gcm16",
    esp_des_md5 => "esp-des-md5",
    esp_des_noauth => "esp-des-noauth",
    esp_null_md5 => "esp-null-md5",
    esp_null_sha256 => "esp-null-sha256",
    esp_over_ah => "esp-over-ah",
    esp_tfc_gcm => "esp-tfc-gcm",
    esp6in4_aes128_sha1 => "esp6in4-aes128-sha1",
    frag_inner => "frag-inner",
    frag_outer_1500 => "frag-outer-1500",
    frag_outer_nopmtudisc => "frag-outer-nopmtudisc",
    gateway_tap => "gateway-tap",
    gre_over_esp_transport => "gre-over-esp-transport",
    gre_plain => "gre-plain",
    header_copy => "header-copy",
    icmp_fragneeded => "icmp-fragneeded",
    idle => "idle",
    imix_udp => "imix-udp",
    ip6tnl_4in6 => "ip6tnl-4in6",
    ip6tnl_4in6_noelim => "ip6tnl-4in6-noelim",
    ipcomp => "ipcomp",
    ipip_over_esp_transport => "ipip-over-esp-transport",
    loss_after_tap => "loss-after-tap",
    loss_before_tap => "loss-before-tap",
    nat_t => "nat-t-aes128-sha1",
    random_aes128_sha1 => "random-aes128-sha1",
    random_null_sha256 => "random-null-sha256",
    random_two_tunnels => "random-two-tunnels",
    rekey => "rekey",
    reorder_after_tap => "reorder-after-tap",
    reorder_before_tap => "reorder-before-tap",
    reorder_esn128 => "reorder-esn128",
    replay => "replay",
    restart_same_spi => "restart-same-spi-esp",
    restart_short => "restart-short",
    seqwrap_noesn_maywrap => "seqwrap-noesn-maywrap",
    seqwrap_noesn_stops => "seqwrap-noesn-stops",
    sit_6in4 => "sit-6in4",
    spi_mismatch_oneway => "spi-mismatch-oneway",
    spi_zero => "spi-zero",
    steps_512_after_tap => "steps-512-after-tap",
    steps_512_before_tap => "steps-512-before-tap",
    steps_ah_1024 => "steps-ah-1024",
    steps_long => "steps-long-aes128-sha1-1024",
    tcp_transfer => "tcp-transfer",
    transport_bump_in_the_wire => "transport-bitw-aes-sha1",
    transport_host => "transport-host-aes-sha1",
    two_clocks => "two-clocks",
    vlan_esp => "vlan-esp-aes128-sha1",
    wrong_auth_key => "wrong-auth-key",
}

/// Directories whose tests have a shape of their own.
const SPECIAL: &[&str] = &["format-variants"];

#[test]
fn every_scenario_of_the_laboratory_has_a_test() {
    let Some(lab) = shared("lab") else { return };
    let there: BTreeSet<String> = std::fs::read_dir(lab)
        .expect("the laboratory can be listed")
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let tested: BTreeSet<String> = TESTED.iter().chain(SPECIAL).map(|dir| (*dir).to_owned()).collect();
    assert_eq!(there, tested);
    let listed: BTreeSet<&str> = SCENARIOS.iter().map(|scenario| scenario.dir).collect();
    assert_eq!(listed, TESTED.iter().copied().collect());
}

/// A capture of a scenario with what is known of it.
struct Tap {
    stem: String,
    path: PathBuf,
    known: Known,
}

fn check_scenario(dir: &str) {
    let Some(lab) = shared("lab") else { return };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.dir == dir).expect("every scenario is listed");
    let home = lab.join(dir);
    let truth = support::read_json(&home.join("truth.json"));
    let observed = support::read_json(&home.join("observed.json"));
    let taps: Vec<Tap> = captures_of(&home)
        .into_iter()
        .map(|path| {
            let stem = path.file_stem().expect("a stem").to_string_lossy().into_owned();
            let mut known = Known::of(&path, scenario.null_icv.filter(|_| !stem.starts_with("plain")));
            known.icv_bytes = truth::icv_bytes(&truth, &known);
            Tap { stem, path, known }
        })
        .collect();
    assert!(taps.len() >= 3, "{dir} has three taps");

    // First the second opinion must agree with what was configured, injected and observed: else it is no yardstick.
    let mut checks = Checks::new(dir);
    for tap in &taps {
        checks.about(format!("{dir}/{} (second opinion)", tap.stem));
        truth::check_frames(&mut checks, &truth, &observed, &tap.stem, &tap.known);
        if tap.stem == "tunnel" {
            truth::check_tunnel(&mut checks, &truth, &observed, scenario, &tap.known);
        }
    }

    checks.finish();

    let mut checks = Checks::new(dir);
    let mut alone = BTreeMap::new();
    for tap in &taps {
        checks.about(format!("{dir}/{}", tap.stem));
        let report = support::report(&[&tap.path]).expect(0).json();
        compare::check_report(&mut checks, &report, &tap.stem, &tap.known);
        check_findings(&mut checks, scenario, &tap.stem, &report, &tap.known);
        compare::check_frames(&mut checks, &support::frames(&tap.path), &tap.known);
        if tap.stem == "tunnel" {
            truth::check_report(&mut checks, &truth, &observed, &report);
        }
        let worst = items(&report, "findings").iter().map(|finding| rank(text(finding, "severity"))).max();
        let checked = support::spiglass(&["check", "--format", "json", tap.path.to_str().expect("UTF-8")]);
        checks.eq("exit status of check", checked.status, i32::from(worst >= Some(rank("warning"))));
        // A check says besides that it saw no IPsec; a report shows it.
        let checked = checked.json();
        let told = items(&checked, "findings").iter().filter(|finding| text(finding, "code") != "no-ipsec");
        checks.eq("findings of check", told.collect::<Vec<_>>(), items(&report, "findings").iter().collect::<Vec<_>>());
        alone.insert(tap.stem.as_str(), report);
    }
    check_taps_together(&mut checks, dir, &taps, &alone);
    checks.finish();
}

/// Captures of a directory, sorted by name.
fn captures_of(home: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(home)
        .expect("a scenario can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "sent"))
        .collect();
    paths.sort();
    paths
}

/// Notes that say how something is built or captured, true of any capture they may be said of.
const HARMLESS: &[&str] = &["weak-transform"];

/// Findings of one capture: exactly what the scenario lists, what its padding leaks, and no other finding above note.
fn check_findings(checks: &mut Checks, scenario: &Scenario, stem: &str, report: &Value, known: &Known) {
    let own = scenario.findings.iter().any(|expected| expected.file == "combined");
    let applies = |file: &str| file == stem || stem == "combined" && !own && matches!(file, "plain-a" | "tunnel");
    // Code, severity and (for SAs) SPI, with the sum of the counts.
    let mut want: BTreeMap<(&str, &str, Option<u32>), u64> = BTreeMap::new();
    for expected in scenario.findings.iter().filter(|expected| applies(expected.file)) {
        let count = want.entry((expected.code, expected.severity, expected.spi)).or_default();
        *count = count.saturating_add(expected.count);
    }
    for ((_, pattern), (frames, _, _)) in support::oracle::count_padding(&known.packets) {
        if pattern.name() != "zero" {
            // What rests on a single frame is a note.
            let severity = if frames > 1 { "warning" } else { "note" };
            *want.entry(("ethernet-padding-leak", severity, None)).or_default() += frames;
        }
    }
    let listed: BTreeSet<(&str, bool)> = want.keys().map(|(code, _, spi)| (*code, spi.is_some())).collect();
    let one_way =
        known.packets.iter().filter_map(|packet| packet.outer.map(|ip| ip.src)).collect::<BTreeSet<_>>().len() == 1;
    let mut got: BTreeMap<(&str, &str, Option<u32>), u64> = BTreeMap::new();
    for finding in items(report, "findings") {
        let (code, severity) = (text(finding, "code"), text(finding, "severity"));
        let expected = listed.iter().any(|(listed, _)| *listed == code);
        let may = HARMLESS.contains(&code) && !known.sas.is_empty()
            || scenario.may.iter().any(|(file, listed)| *listed == code && (*file == stem || applies(file)))
            // A plain tap of one-way traffic may say so; two taps in one file look like a gateway or like clear traffic.
            || code == "capture-one-direction" && one_way && known.sas.is_empty()
            || stem == "combined" && matches!(code, "clear-traffic" | "gateway-view");
        if !expected && may {
            checks.ok(severity == "note", || format!("{code} is a note: {finding}"));
            continue;
        }
        let spi = listed.contains(&(code, true)).then(|| at(finding, "sa").as_str().and_then(spi_of)).flatten();
        *got.entry((code, severity, spi)).or_default() += number(finding, "count");
    }
    for (key, count) in &mut got {
        if want.get(key) == Some(&ANY) {
            *count = ANY;
        }
    }
    checks.eq("findings (code, severity, SPI: count)", &got, &want);
    if scenario.dir.starts_with("frag-outer-1500") && stem == "tunnel" {
        check_fragmentation_cost(checks, report, known);
    }
}

/// Outer fragmentation is told with what it costs: one more IP header for each later fragment.
fn check_fragmentation_cost(checks: &mut Checks, report: &Value, known: &Known) {
    for (id, count) in &known.sas {
        let cost = (20 * count.fragments).to_string();
        let told = items(report, "findings").iter().any(|finding| {
            text(finding, "code") == "outer-fragmentation"
                && at(finding, "sa").as_str() == Some(id.to_string().as_str())
                && text(finding, "evidence").split(|c: char| !c.is_ascii_digit()).any(|word| word == cost)
        });
        checks.ok(told, || format!("outer-fragmentation of {id} does not name the {cost} bytes it costs"));
    }
}

/// The SPI at the end of an SA's id.
fn spi_of(id: &str) -> Option<u32> {
    u32::from_str_radix(id.rsplit_once("/0x")?.1, 16).ok()
}

/// Captures that overlap in time are taps of their own: together they say of each what it says alone, and double nothing.
fn check_taps_together(checks: &mut Checks, dir: &str, taps: &[Tap], alone: &BTreeMap<&str, Value>) {
    let parts: Vec<&Tap> = taps
        .iter()
        .filter(|tap| matches!(tap.stem.as_str(), "plain-a" | "tunnel" | "plain-b") && !tap.known.packets.is_empty())
        .collect();
    // Two clocks two hours apart do not overlap, so their taps must be named.
    let named = dir == "two-clocks";
    let mut args: Vec<String> = vec!["report".into(), "--format".into(), "json".into()];
    for tap in &parts {
        let path = tap.path.to_str().expect("UTF-8");
        args.extend(if named { vec!["--tap".into(), format!("{}={path}", tap.stem)] } else { vec![path.to_owned()] });
    }
    if parts.len() < 2 {
        return;
    }
    let together = support::spiglass(&args).expect(0).json();
    checks.about(format!("{dir}/{}", parts.iter().map(|tap| tap.stem.as_str()).collect::<Vec<_>>().join(" with ")));
    let names: Vec<&str> = items(&together, "taps").iter().map(|tap| text(tap, "name")).collect();
    // Captures, and taps with them, are listed by time: the order in which they were given leaves no trace.
    let mut by_time: Vec<(Option<i64>, &str)> = items(&together, "captures")
        .iter()
        .map(|capture| (at(capture, "first_ns").as_i64(), text(capture, "tap")))
        .collect();
    checks.eq("taps in order of time", &names, &by_time.iter().map(|(_, name)| *name).collect::<Vec<_>>());
    let timed = by_time.iter().filter(|(first, _)| first.is_some()).count();
    checks.ok(by_time[..timed].is_sorted_by_key(|(first, _)| *first), || "captures are not in time order".to_owned());
    by_time.sort_unstable_by_key(|(_, name)| *name);
    let mut stems: Vec<&str> = parts.iter().map(|tap| tap.stem.as_str()).collect();
    stems.sort_unstable();
    checks.eq("taps", by_time.iter().map(|(_, name)| *name).collect::<Vec<_>>(), stems);
    let frames: usize = parts.iter().map(|tap| tap.known.packets.len()).sum();
    checks.eq("frames of all taps", number(&together, "totals.frames"), frames as u64);
    for tap in &parts {
        for table in [
            "layers",
            "sas",
            "tunnels",
            "sizes",
            "outer_sizes",
            "padding.ethernet",
            "padding.ah",
            "padding.esp",
            "rates.directions",
            "events",
            "findings",
        ] {
            let got = rows_of(&together, table, &tap.stem);
            let want = rows_of(&alone[tap.stem.as_str()], table, &tap.stem);
            checks.eq(&format!("{table} of {} beside other taps", tap.stem), got, want);
        }
    }
}

/// Rows of one tap, with the index of their capture left out: it depends on what else is there.
fn rows_of(report: &Value, table: &str, tap: &str) -> Vec<Value> {
    let mut rows: Vec<Value> = items(report, table).iter().filter(|row| text(row, "tap") == tap).cloned().collect();
    rows.iter_mut().for_each(forget_capture_index);
    rows
}

/// Replaces the capture index of frame references by nothing.
fn forget_capture_index(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(forget_capture_index),
        Value::Object(fields) => {
            fields.remove("capture");
            fields.values_mut().for_each(forget_capture_index);
        }
        _ => {}
    }
}

#[test]
fn a_rekey_names_the_sa_that_it_follows() {
    let Some(lab) = shared("lab") else { return };
    let report = support::report(&[&lab.join("rekey/tunnel.pcap")]).expect(0).json();
    let rekeys: Vec<(&str, Option<&str>, u64)> = items(&report, "events")
        .iter()
        .filter(|event| text(event, "what") == "rekey")
        .map(|event| (text(event, "sa"), at(event, "from_sa").as_str(), number(event, "frame.frame")))
        .collect();
    let first_frame = |id: &str| {
        let sa = items(&report, "sas").iter().find(|sa| text(sa, "id") == id);
        sa.map_or(0, |sa| number(sa, "first_frame.frame"))
    };
    let (fwd, rev) = ("esp/192.168.1.1/192.168.1.2/0x000007d1", "esp/192.168.1.2/192.168.1.1/0x000007d2");
    assert_eq!(
        rekeys,
        [
            (fwd, Some("esp/192.168.1.1/192.168.1.2/0x000003e9"), first_frame(fwd)),
            (rev, Some("esp/192.168.1.2/192.168.1.1/0x000003ea"), first_frame(rev)),
        ]
    );
}

#[test]
fn two_tunnels_side_by_side_are_no_rekey() {
    let Some(lab) = shared("lab") else { return };
    let report = support::report(&[&lab.join("random-two-tunnels/tunnel.pcap")]).expect(0).json();
    assert_eq!(items(&report, "sas").len(), 4);
    assert!(items(&report, "events").iter().all(|event| text(event, "what") != "rekey"), "{}", at(&report, "events"));
}

/// The tables that hold an analysis, as opposed to the description of files.
const ANALYSIS: &[&str] =
    &["layers", "sas", "tunnels", "sizes", "outer_sizes", "padding", "rates", "events", "findings"];

#[test]
fn every_container_of_one_capture_gives_one_analysis() {
    let Some(lab) = shared("lab") else { return };
    let source = report_as("t", &lab.join("esp-3des-sha1/tunnel.pcap"), 0);
    let mut checks = Checks::new("format-variants");
    for (name, format, compression) in [
        ("le-usec.pcap", "pcap", None),
        ("be-usec.pcap", "pcap", None),
        ("le-nsec.pcap", "pcap", None),
        ("be-nsec.pcap", "pcap", None),
        ("gzipped.pcap.gz", "pcap", Some("gzip")),
        ("one-interface.pcapng", "pcapng", None),
    ] {
        checks.about(format!("format-variants/{name}"));
        let report = report_as("t", &lab.join("format-variants").join(name), 0);
        checks.eq("format", text(&report, "captures.0.format"), format);
        checks.eq("compression", at(&report, "captures.0.compression").as_str(), compression);
        for table in ANALYSIS {
            checks.eq(table, at(&report, table), at(&source, table));
        }
        for field in ["frames", "first", "last", "first_ns", "last_ns", "complete"] {
            checks.eq(field, at(&report, &format!("captures.0.{field}")), at(&source, &format!("captures.0.{field}")));
        }
        checks.eq("totals", at(&report, "totals"), at(&source, "totals"));
    }
    checks.finish();
}

fn report_as(tap: &str, path: &Path, status: i32) -> Value {
    let named = format!("{tap}={}", path.display());
    support::spiglass(&["report", "--format", "json", "--tap", &named]).expect(status).json()
}

#[test]
fn a_capture_without_its_link_layer_gives_the_same_associations() {
    let Some(lab) = shared("lab") else { return };
    let source = report_as("t", &lab.join("esp-3des-sha1/tunnel.pcap"), 0);
    let path = lab.join("format-variants/raw-ip.pcap");
    let mut checks = Checks::new("format-variants/raw-ip.pcap");
    let raw = report_as("t", &path, 0);
    for table in ["sas", "tunnels", "sizes", "outer_sizes", "events"] {
        checks.eq(table, at(&raw, table), at(&source, table));
    }
    let known = Known::of(&path, None);
    compare::check_report(&mut checks, &support::report(&[&path]).expect(0).json(), "raw-ip", &known);
    compare::check_frames(&mut checks, &support::frames(&path), &known);
    checks.finish();
}

#[test]
fn interfaces_of_one_file_are_one_tap() {
    let Some(lab) = shared("lab") else { return };
    let source = report_as("t", &lab.join("esp-3des-sha1/tunnel.pcap"), 0);
    let mut checks = Checks::new("");
    for (name, interfaces) in [
        ("three-interfaces.pcapng", [None, None, None]),
        ("named-interfaces-nsec.pcapng", [Some("plain-a"), Some("tunnel"), Some("plain-b")]),
    ] {
        checks.about(format!("format-variants/{name}"));
        let path = lab.join("format-variants").join(name);
        let known = Known::of(&path, None);
        let report = support::report(&[&path]).expect(0).json();
        compare::check_report(&mut checks, &report, name.trim_end_matches(".pcapng"), &known);
        compare::check_frames(&mut checks, &support::frames(&path), &known);
        let names: Vec<Option<&str>> =
            items(&report, "captures.0.interfaces").iter().map(|each| at(each, "name").as_str()).collect();
        checks.eq("interface names", names, interfaces);
        // The tunnel's figures are those of the tunnel's own capture, frame numbers apart.
        for (got, want) in items(&report, "sas").iter().zip(items(&source, "sas")) {
            for field in
                ["id", "frames", "outer_bytes", "sequence", "first_ns", "last_ns", "transform", "overhead", "rate"]
            {
                checks.eq(&format!("sas.{field}"), at(got, field), at(want, field));
            }
        }
        // The testers' packets pass two of the three interfaces within microseconds: a tap that copies, and nothing worse.
        let copies = support::oracle::copies(&known.packets).len() as u64;
        let told: Vec<(&str, u64)> = items(&report, "findings")
            .iter()
            .filter(|finding| matches!(text(finding, "code"), "tap-copies" | "sequence-duplicate"))
            .map(|finding| (text(finding, "code"), number(finding, "count")))
            .collect();
        checks.eq("copies", told, vec![("tap-copies", copies)]);
    }
    checks.finish();
}

#[test]
fn a_file_cut_in_the_middle_of_a_record_is_reported_up_to_there() {
    let Some(lab) = shared("lab") else { return };
    let path = lab.join("format-variants/cut-mid-record.pcap");
    let known = Known::of(&path, None);
    let run = support::report(&[&path]).expect(2);
    let report = run.json();
    let mut checks = Checks::new("format-variants/cut-mid-record.pcap");
    compare::check_report(&mut checks, &report, "cut-mid-record", &known);
    compare::check_frames(&mut checks, &support::frames(&path), &known);
    let whole: usize = known.file.records.iter().map(|record| 16 + record.data.len()).sum();
    checks.eq("damage.offset", number(&report, "captures.0.damage.offset"), 24 + whole as u64);
    checks.eq("damage.frame", number(&report, "captures.0.damage.frame"), known.packets.len() as u64 + 1);
    checks.eq("exit_status", number(&report, "exit_status"), 2);
    let cut: Vec<(&str, u64)> = items(&report, "findings")
        .iter()
        .filter(|finding| text(finding, "code").starts_with("capture-"))
        .map(|finding| (text(finding, "severity"), number(finding, "count")))
        .collect();
    checks.eq("capture-cut", cut, vec![("note", 1)]);
    checks.ok(run.stderr.contains("cut-mid-record.pcap"), || {
        format!("standard error does not name the file: {}", run.stderr)
    });
    let accepted = support::spiglass(&["report", "--format", "json", "--accept-cut", path.to_str().expect("UTF-8")]);
    checks.eq("exit status with --accept-cut", accepted.status, 0);
    checks.finish();
}

#[test]
fn a_snapped_capture_counts_with_its_original_lengths() {
    let Some(lab) = shared("lab") else { return };
    let path = lab.join("format-variants/snap64.pcap");
    let source = report_as("t", &lab.join("esp-3des-sha1/tunnel.pcap"), 0);
    let snapped = report_as("t", &path, 0);
    let known = Known::of(&path, None);
    let mut checks = Checks::new("format-variants/snap64.pcap");
    compare::check_report(&mut checks, &support::report(&[&path]).expect(0).json(), "snap64", &known);
    compare::check_frames(&mut checks, &support::frames(&path), &known);
    for table in ["layers", "outer_sizes", "tunnels", "rates", "events"] {
        checks.eq(table, at(&snapped, table), at(&source, table));
    }
    let notes: Vec<(&str, &str)> = items(&snapped, "findings")
        .iter()
        .filter(|finding| !HARMLESS.contains(&text(finding, "code")))
        .map(|finding| (text(finding, "code"), text(finding, "severity")))
        .collect();
    checks.eq("findings", notes, vec![("capture-snaplen", "note")]);
    checks.finish();
}
