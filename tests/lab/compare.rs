//! One capture: what the binary says of it against what the second opinion counts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use serde_json::Value;

use crate::support::oracle::{self, CaptureFile, Packet, SaCount, SaId, SizeCount, SizeKey};
use crate::support::{self, Checks, at, items, number, text};

/// A capture and what the second opinion makes of it.
pub struct Known {
    pub file: CaptureFile,
    pub packets: Vec<Packet>,
    pub sas: BTreeMap<SaId, SaCount>,
    pub sizes: BTreeMap<SizeKey, SizeCount>,
    /// Octets of the ICV of each SA, where the configuration says.
    pub icv_bytes: BTreeMap<SaId, u64>,
}

impl Known {
    pub fn of(path: &Path, null_icv: Option<usize>) -> Self {
        let file = oracle::read_capture(path);
        let packets = oracle::dissect_all(&file, null_icv);
        let sas = oracle::count_sas(&packets);
        let sizes = oracle::count_sizes(&packets);
        Self { file, packets, sas, sizes, icv_bytes: BTreeMap::new() }
    }

    /// Frames whose AH carries octets behind an ICV of the configured length, and of these the ones that are not zero.
    pub fn ah_padding(&self, id: &SaId) -> (u64, u64) {
        let Some(icv) = self.icv_bytes.get(id).filter(|_| id.proto == "ah") else { return (0, 0) };
        let pads: Vec<&[u8]> = self
            .packets
            .iter()
            .filter(|packet| packet.outer.is_some_and(|ip| (ip.src, ip.dst) == (id.src, id.dst)))
            .filter(|packet| packet.sas.iter().any(|sa| sa.proto == "ah" && sa.spi == id.spi))
            .filter_map(|packet| packet.ah_icv.get(usize::try_from(*icv).expect("small")..))
            .filter(|pad| !pad.is_empty())
            .collect();
        (pads.len() as u64, pads.iter().filter(|pad| pad.iter().any(|octet| *octet != 0)).count() as u64)
    }
}

/// Compares the whole report of one capture, findings apart.
pub fn check_report(checks: &mut Checks, report: &Value, tap: &str, known: &Known) {
    check_capture(checks, report, tap, known);
    check_totals(checks, report, known);
    check_layers(checks, report, known);
    check_sas(checks, report, tap, known);
    check_sizes(checks, report, known);
    check_outer_sizes(checks, report, known);
    check_tunnels(checks, report, known);
    check_padding(checks, report, known);
    check_rates(checks, report, known);
    check_events(checks, report, known);
    check_references(checks, report);
}

fn check_capture(checks: &mut Checks, report: &Value, tap: &str, known: &Known) {
    checks.eq("schema", text(report, "schema"), "spiglass.report/1");
    checks.eq("exactness", text(report, "exactness"), "exact");
    checks.eq("captures", items(report, "captures").len(), 1);
    checks.eq("taps", items(report, "taps").len(), 1);
    let capture = at(report, "captures.0");
    checks.eq("captures.tap", text(capture, "tap"), tap);
    checks.eq("taps.name", text(report, "taps.0.name"), tap);
    checks.eq("captures.format", text(capture, "format"), known.file.format);
    checks.eq("captures.compression", at(capture, "compression").as_str(), known.file.compression);
    checks.eq("captures.frames", number(capture, "frames"), known.packets.len() as u64);
    checks.eq("captures.complete", at(capture, "complete"), &Value::Bool(known.file.complete));
    checks.eq("captures.damage is there", at(capture, "damage").is_null(), known.file.complete);
    let names: Vec<Option<&str>> = items(capture, "interfaces").iter().map(|each| at(each, "name").as_str()).collect();
    checks.eq(
        "captures.interfaces",
        names,
        known.file.interface_names.iter().map(Option::as_deref).collect::<Vec<_>>(),
    );
    let times = || known.packets.iter().map(|packet| packet.time_ns);
    for (name, want) in [("first", times().min()), ("last", times().max())] {
        checks.eq(&format!("captures.{name}_ns"), at(capture, &format!("{name}_ns")).as_i64(), want);
        checks.eq(&format!("captures.{name}"), at(capture, name).as_str(), want.map(support::rfc3339).as_deref());
    }
    // A role is clear where all IP is tunnelled, or none of it.
    let hidden = known.packets.iter().filter(|packet| packet.outer.is_some() && !packet.clear()).count();
    let role = match (hidden, known.packets.len()) {
        (_, 0) => Some("unknown"),
        (0, _) => Some("plain"),
        (all, frames) if all == frames => Some("tunnel"),
        _ => None,
    };
    if let Some(role) = role {
        checks.eq("taps.role", text(report, "taps.0.role"), role);
    }
}

fn check_totals(checks: &mut Checks, report: &Value, known: &Known) {
    let sum = |value: fn(&Packet) -> u64| known.packets.iter().map(value).sum::<u64>();
    let count = |test: fn(&Packet) -> bool| known.packets.iter().filter(|packet| test(packet)).count() as u64;
    for (name, want) in [
        ("frames", known.packets.len() as u64),
        ("captured_bytes", sum(|packet| packet.captured_bytes)),
        ("wire_bytes", sum(|packet| packet.wire_bytes)),
        ("l1_bytes", sum(Packet::l1_bytes)),
        ("ip_frames", count(|packet| packet.outer.is_some())),
        ("ipsec_frames", count(|packet| !packet.sas.is_empty())),
        ("control_frames", count(|packet| packet.control)),
        ("fragments", count(Packet::is_fragment)),
        ("truncated_by_snaplen", count(|packet| packet.captured_bytes < packet.wire_bytes)),
        ("offloaded", 0),
        ("undissected", 0),
    ] {
        checks.eq(&format!("totals.{name}"), number(report, &format!("totals.{name}")), want);
    }
}

fn check_layers(checks: &mut Checks, report: &Value, known: &Known) {
    let rows = items(report, "layers");
    let frames: u64 = rows.iter().map(|row| number(row, "frames")).sum();
    let bytes: u64 = rows.iter().map(|row| number(row, "wire_bytes")).sum();
    checks.eq("layers add up to all frames", frames, known.packets.len() as u64);
    checks.eq("layers add up to all bytes", bytes, known.packets.iter().map(|packet| packet.wire_bytes).sum::<u64>());
    for packet in &known.packets {
        let want = packet.stack.join("/");
        let found = rows.iter().any(|row| same_stack(text(row, "stack"), &want, packet));
        checks.ok(found, || format!("layers have no stack for frame {} ({want})", packet.frame));
    }
}

/// Whether a stack tells what the second opinion sees: it may go on where that stops, but not behind an ICMP header.
fn same_stack(got: &str, want: &str, packet: &Packet) -> bool {
    got == want || packet.icmp.is_none() && got.strip_prefix(want).is_some_and(|rest| rest.starts_with('/'))
}

fn check_sas(checks: &mut Checks, report: &Value, tap: &str, known: &Known) {
    let rows = by_id(items(report, "sas"));
    let got: BTreeSet<&str> = rows.keys().copied().collect();
    let ids: Vec<String> = known.sas.keys().map(SaId::to_string).collect();
    checks.eq("sas", got, ids.iter().map(String::as_str).collect::<BTreeSet<_>>());
    for (id, want) in &known.sas {
        let name = id.to_string();
        let Some(row) = rows.get(name.as_str()) else { continue };
        let about = |field: &str| format!("sa {name} {field}");
        for (field, got, want) in [
            ("proto", text(row, "proto"), id.proto.to_owned()),
            ("spi_hex", text(row, "spi_hex"), format!("0x{:08x}", id.spi)),
            ("src", text(row, "src"), id.src.to_string()),
            ("dst", text(row, "dst"), id.dst.to_string()),
            ("encapsulation", text(row, "encapsulation"), want.encapsulation.clone()),
            ("first", text(row, "first"), support::rfc3339(want.first_ns)),
            ("last", text(row, "last"), support::rfc3339(want.last_ns)),
        ] {
            checks.eq(&about(field), got, want.as_str());
        }
        for (field, want) in [
            ("spi", u64::from(id.spi)),
            ("frames", want.frames),
            ("fragments", want.fragments),
            ("outer_bytes", want.outer_bytes),
            ("copies_removed", want.copies_removed),
            ("first_ns", want.first_ns.unsigned_abs()),
            ("last_ns", want.last_ns.unsigned_abs()),
            ("first_frame.frame", want.first_frame),
            ("last_frame.frame", want.last_frame),
        ] {
            checks.eq(&about(field), number(row, field), want);
        }
        // No other capture holds both sides of a gateway.
        let shown_twice = if tap == "combined" { shown_twice(report, &name) } else { 0 };
        check_sequence(checks, &name, at(row, "sequence"), (want, shown_twice), id.proto != "ipcomp");
        check_sa_overhead(checks, &name, row, id, want, known);
        if want.fragments == 0 && want.copies_removed == 0 {
            match seconds(want.first_ns, want.last_ns) {
                Some(seconds) => checks.close(
                    &about("rate.frames_per_s"),
                    at(row, "rate.frames_per_s"),
                    want.frames as f64 / seconds,
                ),
                None => checks.ok(at(row, "rate.frames_per_s").is_null(), || about("has a rate without time")),
            }
        }
    }
}

/// Numbers of an SA that came again because the taps show its packets at two places, as the scenario's note says: no receiver got one twice.
fn shown_twice(report: &Value, name: &str) -> u64 {
    let is_note = |finding: &&Value| {
        text(finding, "code") == "sequence-duplicate" && text(finding, "severity") == "note" && finding["sa"] == name
    };
    let told = items(report, "findings").iter().find(is_note);
    told.filter(|finding| text(finding, "evidence").contains("at two places"))
        .map_or(0, |finding| number(finding, "count"))
}

fn check_sequence(
    checks: &mut Checks,
    name: &str,
    row: &Value,
    (want, shown_twice): (&SaCount, u64),
    has_numbers: bool,
) {
    if !has_numbers {
        checks.ok(row.is_null(), || format!("sa {name} has no sequence numbers"));
        return;
    }
    checks.ok(row.is_object(), || format!("sa {name} has sequence figures"));
    if !row.is_object() {
        return;
    }
    let want = &want.sequence;
    for (field, want) in [
        ("first", u64::from(want.first)),
        ("last", u64::from(want.last)),
        ("highest", want.highest),
        ("lost", want.lost),
        ("gaps", want.gaps),
        ("longest_gap", want.longest_gap),
        ("duplicate", want.duplicate),
        ("late", want.late),
        ("restarts", want.restarts),
        ("wraps", want.wraps),
    ] {
        checks.eq(&format!("sa {name} sequence.{field}"), number(row, field), want);
    }
    let windows: BTreeMap<u64, u64> =
        items(row, "replay_window").iter().map(|each| (number(each, "size"), number(each, "would_drop"))).collect();
    let dropped = want.would_drop.iter().map(|(window, dropped)| (*window, dropped.saturating_sub(shown_twice)));
    let dropped: BTreeMap<u64, u64> = dropped.filter(|(_, dropped)| *dropped > 0).collect();
    checks.eq(&format!("sa {name} sequence.replay_window"), &windows, &dropped);
}

fn check_sa_overhead(checks: &mut Checks, name: &str, row: &Value, id: &SaId, want: &SaCount, known: &Known) {
    let basis = text(row, "overhead.basis");
    if !want.visible {
        checks.ok(basis != "visible", || format!("sa {name}: overhead cannot be visible"));
        return;
    }
    let rows: Vec<(&SizeKey, &SizeCount)> = known.sizes.iter().filter(|(key, _)| key.2.as_ref() == Some(id)).collect();
    let overheads = |pick: fn(&SizeCount) -> u64| rows.iter().map(move |(key, size)| pick(size) - key.4);
    let frames: u64 = rows.iter().map(|(_, size)| size.frames).sum();
    let sum: u64 = rows.iter().map(|(key, size)| size.outer_sum - key.4 * size.frames).sum();
    checks.eq(&format!("sa {name} overhead.basis"), basis, "visible");
    checks.eq(&format!("sa {name} mode"), text(row, "mode"), "tunnel");
    checks.eq(
        &format!("sa {name} overhead.min_bytes"),
        Some(number(row, "overhead.min_bytes")),
        overheads(|size| size.outer_min).min(),
    );
    checks.eq(
        &format!("sa {name} overhead.max_bytes"),
        Some(number(row, "overhead.max_bytes")),
        overheads(|size| size.outer_max).max(),
    );
    checks.close(&format!("sa {name} overhead.mean_bytes"), at(row, "overhead.mean_bytes"), sum as f64 / frames as f64);
    if let Some(icv) = known.icv_bytes.get(id) {
        checks.eq(&format!("sa {name} icv_bytes"), number(row, "icv_bytes"), *icv);
    }
}

fn check_sizes(checks: &mut Checks, report: &Value, known: &Known) {
    let mut rows: BTreeMap<(String, Option<String>, String, u64), &Value> = BTreeMap::new();
    for row in items(report, "sizes") {
        let key = (
            text(row, "direction").to_owned(),
            at(row, "sa").as_str().map(str::to_owned),
            text(row, "encapsulation").to_owned(),
            number(row, "inner_bytes"),
        );
        checks.ok(rows.insert(key.clone(), row).is_none(), || format!("sizes has two rows for {key:?}"));
    }
    let wanted: BTreeMap<_, _> = known
        .sizes
        .iter()
        .map(|((src, dst, sa, encapsulation, inner), size)| {
            ((format!("{src} > {dst}"), sa.map(|id| id.to_string()), encapsulation.clone(), *inner), size)
        })
        .collect();
    checks.eq("sizes rows", rows.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (key, want) in &wanted {
        let Some(row) = rows.get(key) else { continue };
        let stream = || wanted.iter().filter(|(other, _)| (&other.0, &other.1, &other.2) == (&key.0, &key.1, &key.2));
        let first = stream().map(|(_, size)| size.first_ns).min().unwrap_or(0);
        let last = stream().map(|(_, size)| size.last_ns).max().unwrap_or(0);
        let frames: u64 = stream().map(|(_, size)| size.frames).sum();
        let period = seconds(first, last).map_or(0.0, |seconds| seconds / frames.saturating_sub(1).max(1) as f64);
        check_size_row(checks, &format!("{key:?}"), row, want, (key.3, &key.2), period);
    }
}

fn check_size_row(
    checks: &mut Checks,
    name: &str,
    row: &Value,
    want: &SizeCount,
    (inner, encapsulation): (u64, &str),
    period: f64,
) {
    let frames = want.frames as f64;
    let overhead_mean = (want.outer_sum - inner * want.frames) as f64 / frames;
    let l1_tunnel = want.l1_sum as f64 / frames;
    let l1_plain = (14 + inner).max(60) + 24;
    for (field, want) in [
        ("frames", want.frames),
        ("outer_bytes_min", want.outer_min),
        ("outer_bytes_max", want.outer_max),
        ("overhead_min_bytes", want.outer_min - inner),
        ("overhead_max_bytes", want.outer_max - inner),
        ("l1_plain_bytes", l1_plain),
    ] {
        checks.eq(&format!("sizes {name} {field}"), number(row, field), want);
    }
    checks.eq(&format!("sizes {name} basis"), text(row, "basis"), "visible");
    // A rate needs ten packets, and ten periods of the stream: of some packets in one burst there is none.
    let seconds = seconds(want.first_ns, want.last_ns).filter(|own| want.frames >= 10 && *own >= 10.0 * period);
    for (field, want) in [
        ("outer_bytes_mean", Some(want.outer_sum as f64 / frames)),
        ("overhead_mean_bytes", Some(overhead_mean)),
        ("overhead_of_inner_pct", Some(100.0 * overhead_mean / inner as f64)),
        ("overhead_of_l1_pct", Some(100.0 * overhead_mean / l1_tunnel)),
        ("circuit_share_pct", Some(100.0 * l1_plain as f64 / l1_tunnel)),
        ("l1_tunnel_bytes", Some(l1_tunnel)),
        ("frames_per_s", seconds.map(|seconds| frames / seconds)),
        ("l1_plain_bps", seconds.map(|seconds| 8.0 * l1_plain as f64 * frames / seconds)),
        ("l1_tunnel_bps", seconds.map(|seconds| 8.0 * want.l1_sum as f64 / seconds)),
    ] {
        match want {
            Some(want) => checks.close(&format!("sizes {name} {field}"), at(row, field), want),
            None => checks.ok(at(row, field).is_null(), || format!("sizes {name} {field}: a rate without time")),
        }
    }
    let parts = at(row, "parts").as_object().expect("parts is an object");
    let part = |part: &str| parts.get(part).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    checks.ok((sum - overhead_mean).abs() < 1e-6, || {
        format!("sizes {name}: the parts add up to {sum}, not to {overhead_mean}")
    });
    let outer_ip = if encapsulation.starts_with("ipv6/ipv6-opts") {
        48.0
    } else if encapsulation.starts_with("ipv6") {
        40.0
    } else {
        20.0
    };
    let mut expected = vec![("outer_ip", outer_ip)];
    if encapsulation.ends_with("/ah") {
        expected.push(("ah", overhead_mean - outer_ip));
    } else if encapsulation.ends_with("/gre") {
        expected.push(("gre", 4.0));
    } else if encapsulation.ends_with("/esp") {
        let pad = want.pad_sum as f64 / frames;
        expected.extend([("esp_header", 8.0), ("iv", 0.0), ("esp_pad", pad), ("esp_trailer", 2.0)]);
        expected.push(("icv", overhead_mean - outer_ip - 10.0 - pad));
    }
    for (field, want) in expected {
        checks.ok((part(field) - want).abs() < 1e-6, || {
            format!("sizes {name} parts.{field}: got {}, want {want}", part(field))
        });
    }
}

fn check_outer_sizes(checks: &mut Checks, report: &Value, known: &Known) {
    let mut rows: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    for row in items(report, "outer_sizes") {
        *rows.entry(text(row, "sa").to_owned()).or_default().entry(number(row, "outer_bytes")).or_default() +=
            number(row, "frames");
    }
    let opaque: BTreeMap<String, (&SaId, &SaCount)> =
        known.sas.iter().filter(|(_, count)| !count.visible).map(|(id, count)| (id.to_string(), (id, count))).collect();
    for (sa, histogram) in &rows {
        match opaque.get(sa) {
            Some((_, count)) => checks.eq(&format!("outer_sizes of {sa}"), histogram, &count.outer_sizes),
            None => checks.ok(false, || format!("outer_sizes lists {sa}, which is not an opaque SA of this capture")),
        }
    }
    for (sa, (id, _)) in &opaque {
        // AH around ESP is one packet: either SA may stand for the bundle.
        let bundle =
            opaque.values().filter(|(other, _)| (other.src, other.dst) == (id.src, id.dst) && other.proto != id.proto);
        let listed =
            rows.contains_key(sa) || bundle.into_iter().any(|(other, _)| rows.contains_key(&other.to_string()));
        checks.ok(listed, || format!("outer_sizes has nothing of {sa}"));
    }
}

fn check_tunnels(checks: &mut Checks, report: &Value, known: &Known) {
    let mut want: BTreeMap<(IpAddr, IpAddr), (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for id in known.sas.keys() {
        let forward = id.src <= id.dst;
        let pair = if forward { (id.src, id.dst) } else { (id.dst, id.src) };
        let entry = want.entry(pair).or_default();
        if forward { &mut entry.0 } else { &mut entry.1 }.insert(id.to_string());
    }
    let mut got = BTreeMap::new();
    for row in items(report, "tunnels") {
        let names =
            |field| items(row, field).iter().map(|id| id.as_str().expect("an id").to_owned()).collect::<BTreeSet<_>>();
        let address = |field| text(row, field).parse::<IpAddr>().expect("an address");
        let directions = (names("sas_a_to_b"), names("sas_b_to_a"));
        // Tunnels without IPsec may be listed; they have no SAs.
        if directions != Default::default() {
            got.insert((address("a"), address("b")), directions);
        }
    }
    checks.eq("tunnels", got, want);
}

fn check_padding(checks: &mut Checks, report: &Value, known: &Known) {
    let mut got: BTreeMap<(String, String), (u64, u64, u64)> = BTreeMap::new();
    for row in items(report, "padding.ethernet") {
        let from = text(row, "direction").split(" > ").next().unwrap_or_default().to_owned();
        let entry = got.entry((from, text(row, "pattern").to_owned())).or_insert((0, u64::MAX, 0));
        entry.0 += number(row, "frames");
        entry.1 = entry.1.min(number(row, "pad_bytes_min"));
        entry.2 = entry.2.max(number(row, "pad_bytes_max"));
    }
    let want: BTreeMap<_, _> = oracle::count_padding(&known.packets)
        .into_iter()
        .map(|((from, pattern), counts)| ((from, pattern.name().to_owned()), counts))
        .collect();
    checks.eq("padding.ethernet", got, want);

    let ah = items(report, "padding.ah");
    for id in known.sas.keys().filter(|id| id.proto == "ah") {
        let row = ah.iter().find(|row| text(row, "sa") == id.to_string());
        let got = row.map_or((0, 0), |row| (number(row, "frames"), number(row, "nonzero")));
        checks.eq(&format!("padding.ah of {id}"), got, known.ah_padding(id));
    }

    let esp = items(report, "padding.esp");
    for id in known.sas.keys().filter(|id| id.proto == "esp") {
        let row = esp.iter().find(|row| text(row, "sa") == id.to_string());
        let mut lengths: BTreeMap<String, u64> = BTreeMap::new();
        let mut ordered = 0;
        for packet in &known.packets {
            let mine = packet.outer.is_some_and(|ip| (ip.src, ip.dst) == (id.src, id.dst))
                && packet.sas.iter().any(|sa| sa.spi == id.spi);
            if let Some(null) = packet.esp_null.as_ref().filter(|_| mine) {
                *lengths.entry(null.pad.len().to_string()).or_default() += 1;
                ordered += u64::from(null.pad.iter().zip(1..).all(|(octet, n)| *octet == n));
            }
        }
        let Some(row) = row else {
            checks.ok(lengths.is_empty(), || format!("padding.esp has nothing of {id}"));
            continue;
        };
        let got: BTreeMap<String, u64> = at(row, "pad_lengths")
            .as_object()
            .expect("pad_lengths is an object")
            .iter()
            .map(|(length, frames)| (length.clone(), frames.as_u64().expect("a count")))
            .collect();
        let all: u64 = lengths.values().sum();
        checks.eq(&format!("padding.esp pad_lengths of {id}"), got, lengths);
        checks.eq(&format!("padding.esp monotonic of {id}"), number(row, "monotonic"), ordered);
        checks.eq(&format!("padding.esp other of {id}"), number(row, "other"), all - ordered);
        checks.eq(&format!("padding.esp longer_than_needed of {id}"), number(row, "longer_than_needed"), 0);
    }
}

fn check_rates(checks: &mut Checks, report: &Value, known: &Known) {
    let rows = items(report, "rates.directions");
    let width = number(report, "rates.bin_ns");
    // A gateway's own capture shows a packet that came in as ESP again, decapsulated. The line carried it once.
    let gateway = items(report, "findings").iter().any(|finding| text(finding, "code") == "gateway-view");
    let again = |at: usize, packet: &Packet| {
        let mut before = known.packets[..at].iter().rev().filter(|earlier| earlier.macs == packet.macs);
        packet.macs.is_some() && packet.clear() && before.next().is_some_and(|earlier| !earlier.sas.is_empty())
    };
    let on_the_line = known.packets.iter().enumerate().filter(|(at, packet)| !(gateway && again(*at, packet)));
    let on_the_line: Vec<Packet> = on_the_line.map(|(_, packet)| packet.clone()).collect();
    let wanted = oracle::count_directions(&on_the_line);
    let senders: BTreeSet<&str> = rows.iter().map(|row| text(row, "from")).collect();
    checks.eq("rates.directions.from", senders, wanted.keys().map(String::as_str).collect::<BTreeSet<_>>());
    for (from, want) in &wanted {
        let mine: Vec<(usize, &Value)> = rows.iter().enumerate().filter(|(_, row)| text(row, "from") == from).collect();
        let frames: u64 = mine.iter().map(|(_, row)| number(row, "frames")).sum();
        checks.eq(&format!("rates {from} frames"), frames, want.frames);
        let [(index, row)] = mine.as_slice() else { continue };
        if want.frames == 0 {
            continue;
        }
        let bins: Vec<&Value> =
            items(report, "rates.bins").iter().filter(|bin| number(bin, "direction") == *index as u64).collect();
        checks.eq(
            &format!("rates {from} bins add up"),
            bins.iter().map(|bin| number(bin, "frames")).sum::<u64>(),
            want.frames,
        );
        checks.eq(
            &format!("rates {from} bins l1_bytes add up"),
            bins.iter().map(|bin| number(bin, "l1_bytes")).sum::<u64>(),
            want.l1,
        );
        let aligned =
            bins.iter().all(|bin| at(bin, "start_ns").as_i64().is_some_and(|start| start.unsigned_abs() % width == 0));
        checks.ok(aligned, || format!("rates {from}: a bin does not start at a multiple of its width"));
        let Some(seconds) = seconds(want.first_ns, want.last_ns) else {
            checks.ok(at(row, "l1_bps").is_null(), || format!("rates {from}: a rate without time"));
            continue;
        };
        let bps = |bytes: u64| 8.0 * bytes as f64 / seconds;
        let mut figures = vec![
            ("seconds", seconds),
            ("frames_per_s", want.frames as f64 / seconds),
            ("l1_bps", bps(want.l1)),
            ("l1_with_control_bps", bps(want.l1 + want.control_l1)),
            ("control_l1_bps", bps(want.control_l1)),
        ];
        if !want.has_control {
            figures.extend([("l2_bps", bps(want.l2)), ("l3_bps", bps(want.l3))]);
        }
        // Whether key exchange counts as traffic in clear is for its own tests.
        if !want.has_ike {
            figures.push(("clear_bps", bps(want.clear_l3)));
        }
        if !want.has_opaque && want.inner_l3 > 0 {
            figures.push(("goodput_bps", bps(want.inner_l3)));
        }
        for (field, want) in figures {
            checks.close(&format!("rates {from} {field}"), at(row, field), want);
        }
        if want.has_opaque {
            checks.ok(at(row, "goodput_bps").is_null(), || {
                format!("rates {from}: the goodput of an opaque SA is not known")
            });
        }
        let basis = if known.packets.iter().any(|packet| packet.macs.is_none()) { "assumed" } else { "measured" };
        checks.eq(&format!("rates {from} l1_basis"), text(row, "l1_basis"), basis);
    }
}

fn check_events(checks: &mut Checks, report: &Value, known: &Known) {
    let count = |what: &str, sa: &str| {
        items(report, "events").iter().filter(|event| text(event, "what") == what && text(event, "sa") == sa).count()
            as u64
    };
    for (id, want) in &known.sas {
        let sa = id.to_string();
        checks.eq(&format!("restart events of {sa}"), count("restart", &sa), want.sequence.restarts);
        checks.eq(&format!("wrap events of {sa}"), count("wrap", &sa), want.sequence.wraps);
    }
    let times: Vec<Option<i64>> = items(report, "events").iter().map(|event| at(event, "time_ns").as_i64()).collect();
    checks.ok(times.is_sorted(), || "events are not in time order".to_owned());
}

/// Every SA and every frame that the report refers to must be one it knows.
fn check_references(checks: &mut Checks, report: &Value) {
    let sas: BTreeSet<&str> = items(report, "sas").iter().map(|row| text(row, "id")).collect();
    let captures: Vec<u64> = items(report, "captures").iter().map(|capture| number(capture, "frames")).collect();
    let known = |frame: &Value| {
        let index = usize::try_from(number(frame, "capture")).expect("small");
        (1..=captures.get(index).copied().unwrap_or_default()).contains(&number(frame, "frame"))
    };
    for event in items(report, "events") {
        checks.ok(sas.contains(text(event, "sa")), || format!("an event of an unknown SA: {event}"));
        checks.ok(known(at(event, "frame")), || format!("an event at an unknown frame: {event}"));
    }
    for finding in items(report, "findings") {
        for field in ["title", "evidence", "cause", "remedy"] {
            checks.ok(!text(finding, field).is_empty(), || format!("a finding without {field}: {finding}"));
        }
        for field in ["first_frame", "last_frame"] {
            let frame = at(finding, field);
            checks.ok(frame.is_null() || known(frame), || format!("a finding at an unknown frame: {finding}"));
        }
    }
    let severities: Vec<u8> = items(report, "findings").iter().map(|finding| rank(text(finding, "severity"))).collect();
    checks.ok(severities.is_sorted_by(|a, b| a >= b), || "findings are not most severe first".to_owned());
}

/// How much a severity matters.
pub fn rank(severity: &str) -> u8 {
    match severity {
        "note" => 0,
        "warning" => 1,
        "error" => 2,
        other => panic!("{other} is not a severity"),
    }
}

/// Compares `frames --format csv` row by row.
pub fn check_frames(checks: &mut Checks, rows: &[support::Row], known: &Known) {
    checks.eq("rows of frames", rows.len(), known.packets.len());
    for (row, packet) in rows.iter().zip(&known.packets) {
        let name = |field: &str| format!("frame {} {field}", packet.frame);
        let sa = |proto: &str| packet.sas.iter().find(|sa| sa.proto == proto);
        let outer = packet.outer;
        // Streaming knows no more of ESP-NULL than one frame tells; a header with a good checksum tells enough (IPv4).
        let inner = packet.inner;
        let show = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        for (field, want) in [
            ("frame", packet.frame.to_string()),
            ("time_ns", packet.time_ns.to_string()),
            ("wire_bytes", packet.wire_bytes.to_string()),
            ("captured_bytes", packet.captured_bytes.to_string()),
            ("outer_src", outer.map(|ip| ip.src.to_string()).unwrap_or_default()),
            ("outer_dst", outer.map(|ip| ip.dst.to_string()).unwrap_or_default()),
            ("outer_bytes", show(outer.map(|ip| ip.bytes))),
            ("ah_spi", show(sa("ah").map(|sa| u64::from(sa.spi)))),
            ("ah_sequence", show(sa("ah").map(|sa| u64::from(sa.sequence)))),
            ("ah_bytes", show(sa("ah").map(|sa| sa.ah_bytes as u64))),
            ("esp_spi", show(sa("esp").map(|sa| u64::from(sa.spi)))),
            ("esp_sequence", show(sa("esp").map(|sa| u64::from(sa.sequence)))),
            ("inner_src", inner.map(|ip| ip.src.to_string()).unwrap_or_default()),
            ("inner_dst", inner.map(|ip| ip.dst.to_string()).unwrap_or_default()),
            ("inner_bytes", show(inner.map(|ip| ip.bytes))),
            ("overhead_bytes", show(inner.zip(outer).map(|(inner, outer)| outer.bytes - inner.bytes))),
            ("esp_pad_bytes", show(packet.esp_null.as_ref().map(|null| null.pad.len() as u64))),
        ] {
            checks.eq(&name(field), row.get(field), want.as_str());
        }
        // No padding may be told by 0 or by nothing.
        let pad = row.get("ethernet_pad_bytes");
        checks.eq(
            &name("ethernet_pad_bytes"),
            if pad.is_empty() { "0" } else { pad },
            packet.trailer.len().to_string().as_str(),
        );
        checks.eq(&name("fragment is told"), !row.get("fragment").is_empty(), packet.is_fragment());
        let stack = packet.stack.join("/");
        checks.ok(same_stack(row.get("stack"), &stack, packet), || {
            format!("{}: got {}, want {stack}", name("stack"), row.get("stack"))
        });
    }
}

/// Rows by their id; an id may occur once.
fn by_id(rows: &[Value]) -> BTreeMap<&str, &Value> {
    let map: BTreeMap<&str, &Value> = rows.iter().map(|row| (text(row, "id"), row)).collect();
    assert_eq!(map.len(), rows.len(), "two rows with one id");
    map
}

/// Seconds between two moments, `None` where they are one.
fn seconds(first_ns: i64, last_ns: i64) -> Option<f64> {
    (last_ns > first_ns).then(|| (last_ns - first_ns) as f64 / 1e9)
}
