//! What was configured (`truth.json`) and found by others (`observed.json`), against the second opinion and against a report.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use serde_json::Value;

use crate::compare::Known;
use crate::scenarios::Scenario;
use crate::support::oracle::{SaCount, SaId};
use crate::support::{Checks, at, items, number, text};

/// ICV octets of each SA, as configured.
pub fn icv_bytes(truth: &Value, known: &Known) -> BTreeMap<SaId, u64> {
    let configured = configured(truth);
    known.sas.keys().filter_map(|id| configured.get(id).map(|icv| (*id, *icv))).collect()
}

/// Every configured AH and ESP association with its ICV octets.
fn configured(truth: &Value) -> BTreeMap<SaId, u64> {
    items(truth, "sas")
        .iter()
        .filter_map(|sa| {
            let proto = match text(sa, "proto") {
                "ah" => "ah",
                "esp" => "esp",
                _ => return None,
            };
            let hex = text(sa, "spi").trim_start_matches("0x");
            let id = SaId {
                proto,
                src: text(sa, "src").parse().expect("an address"),
                dst: text(sa, "dst").parse().expect("an address"),
                spi: u32::from_str_radix(hex, 16).expect("an SPI"),
            };
            let bits = sa.get("icv_bits").and_then(Value::as_u64).unwrap_or_default();
            Some((id, bits / 8))
        })
        .collect()
}

/// Frames on each tap: as captured, and as observed.
pub fn check_frames(checks: &mut Checks, truth: &Value, observed: &Value, stem: &str, known: &Known) {
    let frames = known.packets.len() as u64;
    if let Some(tap) = truth.get("taps").and_then(|taps| taps.get(format!("{stem}.pcap"))) {
        // A scenario that was crafted from another names that one's count, and says so.
        if truth.get("crafted").is_none() {
            checks.eq("frames captured", frames, number(tap, "captured"));
        }
    }
    if let Some(count) = at(observed, "frames").get(stem) {
        checks.eq("frames observed", Some(frames), count.as_u64());
    }
    let mut icmp: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, code, mtu) in known.packets.iter().filter_map(|packet| packet.icmp) {
        let words = if kind == 3 && code == 4 { format!(" next-hop mtu {mtu}") } else { String::new() };
        *icmp.entry(format!("icmp type {kind} code {code}{words}")).or_default() += 1;
    }
    let listed: BTreeMap<String, u64> = at(observed, "icmp")
        .get(stem)
        .and_then(Value::as_object)
        .map(|map| map.iter().map(|(words, count)| (words.clone(), count.as_u64().expect("a count"))).collect())
        .unwrap_or_default();
    if matches!(stem, "plain-a" | "tunnel" | "plain-b") {
        checks.eq("ICMP messages", icmp, listed);
    }
}

/// The tunnel's associations, sequence numbers and sizes.
pub fn check_tunnel(checks: &mut Checks, truth: &Value, observed: &Value, scenario: &Scenario, known: &Known) {
    let protected = || known.sas.iter().filter(|(id, _)| id.proto != "ipcomp");
    if truth.get("crafted").is_none() {
        let configured: BTreeSet<SaId> = configured(truth).into_keys().collect();
        for (id, _) in protected() {
            checks.ok(configured.contains(id), || format!("{id} was not configured"));
        }
    }
    // Where AH carries ESP the list names the outer one.
    for (name, listed) in at(observed, "sequence").as_object().expect("sequence is an object") {
        let found = protected().find(|(id, _)| {
            format!("{} 0x{:08x}", id.proto, id.spi) == *name && id.src == address(text(listed, "src"))
        });
        match found {
            Some((_, count)) => check_numbers(checks, name, listed, count, scenario),
            None => checks.ok(false, || format!("{name} was observed and is not found")),
        }
    }
    let sizes = size_pairs(observed);
    let complete = observed.get("order_match_note").is_none();
    if let Some(trains) = observed.get("outer_fragments_by_inner_size") {
        checks.eq("outer sizes, fragments summed", outer_histogram(known), histogram(&pairs_of(trains)));
    } else if complete
        && !known.packets.is_empty()
        && !known.sas.is_empty()
        && known.sas.keys().all(|id| id.proto != "ipcomp")
    {
        checks.eq("outer sizes", outer_histogram(known), histogram(&sizes));
    }
    if complete && !known.sizes.is_empty() && known.sas.keys().all(|id| id.proto != "ipcomp") {
        let mut visible: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (key, size) in &known.sizes {
            *visible.entry((key.4, size.outer_min)).or_default() += size.frames;
        }
        checks.eq("sizes of visible packets", visible, sizes);
    }
}

fn check_numbers(checks: &mut Checks, name: &str, listed: &Value, count: &SaCount, scenario: &Scenario) {
    let sequence = &count.sequence;
    checks.eq(&format!("{name} frames"), count.frames, number(listed, "frames"));
    checks.eq(&format!("{name} first"), u64::from(sequence.first), number(listed, "first"));
    checks.eq(&format!("{name} last"), u64::from(sequence.last), number(listed, "last"));
    checks.eq(&format!("{name} wraps"), sequence.wraps > 0, at(listed, "wraps").as_bool().expect("a bool"));
    checks.eq(&format!("{name} missing"), sequence.lost, number(listed, "missing_count"));
    // The list counts by bare number, so it takes the second epoch of a restart for duplicates.
    if !scenario.dir.starts_with("restart-") {
        checks.eq(&format!("{name} duplicated"), sequence.duplicate, items(listed, "duplicated").len() as u64);
        checks.eq(&format!("{name} reordered"), sequence.late, number(listed, "reordered"));
    } else {
        checks.eq(&format!("{name} duplicated"), sequence.duplicate, 0);
        checks.eq(&format!("{name} restarts"), sequence.restarts, 1);
    }
}

/// An address as the lists write it: IPv4 in dots, IPv6 in 32 hexadecimal digits.
fn address(words: &str) -> IpAddr {
    words.parse().unwrap_or_else(|_| IpAddr::V6(Ipv6Addr::from(u128::from_str_radix(words, 16).expect("an address"))))
}

/// Outer sizes of the packets on the tunnel, each packet once although two SAs may share it.
fn outer_histogram(known: &Known) -> BTreeMap<u64, u64> {
    let bundled = known.sas.keys().any(|id| id.proto == "ah");
    let mut sum = BTreeMap::new();
    for (_, count) in known.sas.iter().filter(|(id, _)| !bundled || id.proto == "ah") {
        for (bytes, frames) in &count.outer_sizes {
            *sum.entry(*bytes).or_default() += frames;
        }
    }
    sum
}

/// `{inner: {outer: packets}}` as pairs; an outer size may be a sum such as `1500+32`.
fn pairs_of(map: &Value) -> BTreeMap<(u64, u64), u64> {
    let mut pairs = BTreeMap::new();
    for (inner, outers) in map.as_object().expect("sizes are an object") {
        for (outer, packets) in outers.as_object().expect("sizes are an object") {
            let outer: u64 = outer.split('+').map(|part| part.parse::<u64>().expect("a length")).sum();
            *pairs.entry((inner.parse().expect("a length"), outer)).or_default() += packets.as_u64().expect("a count");
        }
    }
    pairs
}

fn size_pairs(observed: &Value) -> BTreeMap<(u64, u64), u64> {
    pairs_of(at(observed, "order_match"))
}

fn histogram(pairs: &BTreeMap<(u64, u64), u64>) -> BTreeMap<u64, u64> {
    let mut sum = BTreeMap::new();
    for ((_, outer), packets) in pairs {
        *sum.entry(*outer).or_default() += packets;
    }
    sum
}

/// A report of the tunnel against the lists themselves, without the second opinion in between.
pub fn check_report(checks: &mut Checks, truth: &Value, observed: &Value, report: &Value) {
    let rows = items(report, "sas");
    for (name, listed) in at(observed, "sequence").as_object().expect("sequence is an object") {
        let Some(row) = rows.iter().find(|row| format!("{} {}", text(row, "proto"), text(row, "spi_hex")) == *name)
        else {
            checks.ok(false, || format!("{name} was observed and is not reported"));
            continue;
        };
        checks.eq(&format!("{name} frames as observed"), number(row, "frames"), number(listed, "frames"));
        checks.eq(&format!("{name} lost as observed"), number(row, "sequence.lost"), number(listed, "missing_count"));
    }
    // Sizes as configured: every row whose inner length the table of expected sizes names.
    let expected: BTreeMap<u64, u64> = truth
        .get("expected_sizes")
        .and_then(Value::as_array)
        .map(|rows| rows.iter().map(|row| (number(row, "inner"), number(row, "outer"))).collect())
        .unwrap_or_default();
    for row in items(report, "sizes") {
        if let Some(outer) = expected.get(&number(row, "inner_bytes")) {
            for field in ["outer_bytes_min", "outer_bytes_max"] {
                checks.eq(
                    &format!("{field} of {} bytes as configured", number(row, "inner_bytes")),
                    number(row, field),
                    *outer,
                );
            }
        }
    }
    let epochs = truth.get("injected").and_then(|injected| injected.get("expected_epochs"));
    for (direction, source) in [("fwd", "192.168.1.1"), ("rev", "192.168.1.2")] {
        let Some(epoch) = epochs.and_then(|epochs| epochs.get(direction)) else { continue };
        let row = rows.iter().find(|row| text(row, "src") == source).expect("both directions are there");
        let frames = number(epoch, "before.frames") + number(epoch, "after.frames");
        for (field, want) in [
            ("frames", frames),
            ("sequence.first", number(epoch, "before.first")),
            ("sequence.last", number(epoch, "after.last")),
            ("sequence.highest", number(epoch, "after.max")),
            ("sequence.lost", 0),
            ("sequence.duplicate", 0),
            ("sequence.late", 0),
            ("sequence.restarts", 1),
        ] {
            checks.eq(&format!("{direction} {field} over both epochs"), number(row, field), want);
        }
    }
}
