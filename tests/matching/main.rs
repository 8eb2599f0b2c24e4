//! `spiglass match` on the binary: pairs against what is in the frames, the figures that follow, and what scripts rely on.

#[path = "../support/mod.rs"]
mod support;

mod alike;
mod bins;
mod clocks;
mod contract;
mod copies;
mod flows;
mod hidden;
mod lab;
mod lossy;
mod padding;
mod random;
mod rates;
mod three_taps;
mod truth;
mod unequal;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::build::{self, START};
use support::writer::{Order, Out, Step, pcap, plain_pcap};
use support::{Run, fixture, items, number, scratch, spiglass, write_file};
use truth::Score;

/// The header row of the pairs.
pub const HEADER: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,\
delay_ns,basis,confidence,plain_time_ns,tunnel_time_ns";

pub fn word(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// One run on two captures.
pub fn run(plain: &Path, tunnel: &Path, more: &[&str]) -> Run {
    let words = ["match", "-q", "--plain", word(plain), "--tunnel", word(tunnel)];
    spiglass(&[&words, more].concat())
}

/// The report as JSON.
pub fn json(plain: &Path, tunnel: &Path, more: &[&str]) -> Value {
    run(plain, tunnel, &[more, &["--format", "json"]].concat()).expect(0).json()
}

/// `(tunnel frame, plaintext frame, confidence)` of every pair, in the order printed.
pub fn pairs(plain: &Path, tunnel: &Path, more: &[&str]) -> Vec<(u64, u64, f64)> {
    let rows = run(plain, tunnel, &[more, &["--format", "csv"]].concat()).expect(0).csv(HEADER);
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    rows.iter()
        .map(|row| {
            let confidence = row.get("confidence").parse().expect("a confidence");
            (number(row.get("tunnel_frame")), number(row.get("plain_frame")), confidence)
        })
        .collect()
}

/// A pair of captures of the repository.
pub fn bundled(name: &str) -> (PathBuf, PathBuf) {
    (fixture(&format!("lab/{name}-plain-a.pcap")), fixture(&format!("lab/{name}-tunnel.pcap")))
}

/// Packets in AH are visible: no keys are needed for the truth either.
#[test]
fn visible_packets_are_paired_by_content() {
    let (plain, tunnel) = bundled("ah-sha256");
    let (before, after) = (truth::plain(&plain, false), truth::tunnelled(&tunnel, None, false, "bundled-ah"));
    let score = Score::of(&pairs(&plain, &tunnel, &[]), &before, &after);
    assert_eq!((score.right, score.wrong.len(), score.unknown), (129, 0, 0), "{score:?}");
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(report["pairs"]["by_basis"]["content"], 129);
    assert_eq!((&report["exactness"], items(&report, "degraded_why").len()), (&"exact".into(), 0));
    for size in items(&report, "sizes") {
        assert_eq!((&size["overhead_min_bytes"], &size["overhead_max_bytes"]), (&52.into(), &52.into()));
    }
}

/// Without any key; the truth is known by the keys that the laboratory states.
#[test]
fn opaque_packets_are_paired_by_order() {
    let (plain, tunnel) = bundled("wrong-auth-key");
    let keys = fixture("policy/lab-wrong-auth-key.txt");
    let (before, after) = (truth::plain(&plain, false), truth::tunnelled(&tunnel, Some(&keys), false, "bundled-esp"));
    let score = Score::of(&pairs(&plain, &tunnel, &[]), &before, &after);
    assert_eq!((score.needed, score.right, score.wrong.len()), (129, 129, 0), "{score:?}");
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(report["pairs"]["by_basis"]["order"], 129);
    for direction in items(&report, "directions") {
        let candidates = items(direction, "transform.candidates");
        assert!(candidates.iter().any(|name| name == "AES-CBC/HMAC-SHA1-96"), "{direction:#}");
    }
}

/// Ten of 1,200 packets of one length were dropped before the tap: a hole in the numbers names each of them.
#[test]
fn lost_packets_are_the_lost_ones() {
    let (plain, tunnel) = bundled("loss-before-tap");
    let lost = run(&plain, &tunnel, &["--format", "csv", "--table", "lost"]).expect(0);
    let lost = lost.csv("plain_capture,plain_frame,time,inner_bytes,sa,sequence,confidence,verdict");
    let ids = truth::plain(&plain, false);
    let named: Vec<u32> = lost.iter().map(|row| ids[&row.get("plain_frame").parse().expect("a frame")].2).collect();
    assert_eq!(named, [332, 351, 422, 502, 594, 643, 796, 908, 1031, 1084]);
    for (row, id) in lost.iter().zip(named) {
        assert_eq!(row.get("sequence"), id.to_string(), "the number is that of the packet");
    }
    let report = json(&plain, &tunnel, &[]);
    assert_eq!((&report["pairs"]["matched"], &report["pairs"]["unmatched_plain"]), (&1250.into(), &10.into()));
}

/// The finding names the frames of the plain capture; that which says where packets went is the list of lost ones.
#[test]
fn findings_of_lost_packets_name_their_frames() {
    let (plain, tunnel) = bundled("loss-before-tap");
    let report = json(&plain, &tunnel, &[]);
    let findings = items(&report, "findings");
    let finding = findings.iter().find(|finding| finding["code"] == "match-loss").expect("packets were lost");
    let place = |one: &Value| (number(one, "capture"), number(one, "frame"));
    let named: Vec<(u64, u64)> = items(finding, "occurrences").iter().map(place).collect();
    let lost: Vec<(u64, u64)> = items(&report, "lost").iter().map(|lost| place(&lost["frame"])).collect();
    assert_eq!((named.len(), &named), (10, &lost));
    assert_eq!((&finding["occurrences_total"], &finding["count"]), (&10.into(), &10.into()));
    assert_eq!(place(&finding["first_frame"]), named[0]);
    assert_eq!(place(&finding["last_frame"]), named[9]);
    assert!(finding["filter"].as_str().is_some_and(|filter| filter.starts_with("frame.number in {")), "{finding:#}");
}

/// Packets that came out of the tunnel's tap and not out of the gateway: the frames are of the tunnel's capture.
#[test]
fn packets_lost_after_decapsulation_are_frames_of_the_tunnel() {
    let dir = scratch("matching-not-out");
    let inner =
        |n: u32| build::udp([10, 0, 2, 7].into(), [10, 0, 1, 7].into(), (9, 9), n as u16, &n.to_be_bytes().repeat(20));
    let outer = |n: u32| build::ipv4(build::R2, build::R1, 4, n as u16, &inner(n)[14..]);
    let at = |n: u32, us: u64| START + u64::from(n) * 1_000_000 + us * 1_000;
    let within: Vec<Out> = (1..=200).map(|n| Out::whole(at(n, 0), outer(n))).collect();
    let lost = [31, 32, 77];
    // One hop further: the packets went out of the tunnel.
    let out =
        (1..=200).filter(|n| !lost.contains(n)).map(|n| Out::whole(at(n, 300), build::one_hop_further(&inner(n))));
    let tunnel = write_file(&dir, "tunnel.pcap", &plain_pcap(&within));
    let plain = write_file(&dir, "plain.pcap", &plain_pcap(&out.collect::<Vec<_>>()));
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let findings = items(&report, "findings");
    let finding =
        findings.iter().find(|finding| finding["code"] == "match-loss").unwrap_or_else(|| panic!("{report:#}"));
    let frames: Vec<(u64, u64)> =
        items(finding, "occurrences").iter().map(|one| (number(one, "capture"), number(one, "frame"))).collect();
    // Captures are counted plain side first.
    assert_eq!(frames, lost.map(|n| (1, u64::from(n))), "{finding:#}");
    assert!(finding["evidence"].as_str().is_some_and(|text| text.contains("3 packets of 200")), "{finding:#}");
}

/// What decryption shows is what the RFCs say it costs: AES-CBC has an IV and blocks of sixteen octets (RFC 3602), HMAC-SHA-1-96 an ICV of twelve.
#[test]
fn decrypted_packets_have_their_overhead_part_by_part() {
    let (plain, tunnel) = bundled("wrong-auth-key");
    let keys = fixture("policy/lab-wrong-auth-key.txt");
    let report = json(&plain, &tunnel, &["--config", word(&keys)]);
    let sizes = items(&report, "sizes");
    assert_eq!(sizes.iter().map(|size| number(size, "frames")).sum::<u64>(), 129);
    for size in sizes {
        let inner = number(size, "inner_bytes");
        let pad = (16 - (inner + 2) % 16) % 16;
        let total = 20 + 8 + 16 + pad + 2 + 12;
        let parts = [
            ("outer_ip", 20),
            ("udp", 0),
            ("tcp", 0),
            ("link", 0),
            ("gre", 0),
            ("ah", 0),
            ("esp_header", 8),
            ("iv", 16),
            ("esp_pad", pad),
            ("esp_trailer", 2),
            ("icv", 12),
            ("fragmentation", 0),
        ];
        assert_eq!(size["parts"].as_object().map(serde_json::Map::len), Some(parts.len()), "{size:#}");
        for (part, octets) in parts {
            assert_eq!(size["parts"][part].as_f64(), Some(octets as f64), "{part} of {inner}: {size:#}");
        }
        assert_eq!((&size["overhead_min_bytes"], &size["overhead_max_bytes"]), (&total.into(), &total.into()));
        assert_eq!((&size["predicted_bytes"], &size["basis"]), (&total.into(), &"decrypted".into()));
    }
}

/// A fragment in clear on the tunnel's side is a packet outside the tunnel, the first one and the later ones.
#[test]
fn fragments_beside_the_tunnel_are_outside_it() {
    let (plain, tunnel) = bundled("ah-sha256");
    let mut frames = Vec::new();
    for (id, protocol) in [(1, 17), (2, 6), (3, 1)] {
        for (flags, size) in [(0x2000_u16, 1_480), (185, 400)] {
            let mut frame = build::ipv4([10, 9, 0, 1].into(), [10, 9, 0, 2].into(), protocol, id, &vec![0x61; size]);
            frame[20..22].copy_from_slice(&flags.to_be_bytes());
            frames.push(Out::whole(START + frames.len() as u64 * 1_000_000, frame));
        }
    }
    let beside = write_file(&scratch("pairing-fragments"), "beside.pcap", &plain_pcap(&frames));
    let report = json(&plain, &tunnel, &["--plain", word(&beside), "--tunnel", word(&beside)]);
    assert_eq!((number(&report, "pairs.matched"), number(&report, "pairs.unmatched_tunnel")), (129, 0));
    let mut outside: Vec<(u64, u64, u64)> = items(&report, "outside")
        .iter()
        .map(|flow| (number(flow, "protocol"), number(flow, "packets"), number(flow, "clear")))
        .collect();
    outside.sort_unstable();
    assert_eq!(outside, [(1, 2, 2), (6, 2, 2), (17, 2, 2)], "{:#}", report["outside"]);
}

/// Without Ethernet there are no MACs that tell the two ways apart; who talks to whom does.
#[test]
fn captures_without_ethernet_are_paired_as_well() {
    const RAW: u32 = 101;
    for name in ["wrong-auth-key", "ah-sha256", "loss-before-tap"] {
        let (plain, tunnel) = bundled(name);
        let raw = |capture: &Path, side: &str| {
            let records = support::oracle::read_capture(capture).records;
            let without = |data: &[u8]| (data[12..14] == [8, 0]).then(|| data[14..].to_vec());
            let frames: Vec<Out> = records
                .iter()
                .map(|record| Out::whole(record.time_ns as u64, without(&record.data).expect("IPv4")))
                .collect();
            let file = pcap(&frames, RAW, Order::Little, Step::Micro);
            write_file(&scratch("pairing-raw"), &format!("{name}-{side}.pcap"), &file)
        };
        let with = pairs(&plain, &tunnel, &[]);
        assert!(with.len() > 100, "{name}");
        assert_eq!(pairs(&raw(&plain, "plain"), &raw(&tunnel, "tunnel"), &[]), with, "{name}");
    }
}

/// Packets of 40 and of 52 octets, and ESP of one length: each statement makes it of other packets.
#[test]
fn a_stated_transform_decides_which_packets_are_meant() {
    let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    let (mut plain, mut tunnel, mut noise) = (Vec::new(), Vec::new(), build::Noise(1));
    // At an even pace each shift would fit as well: the gaps differ.
    let mut at = START;
    for n in 0..40_u32 {
        at += 6_000_000 + noise.below(8_000_000);
        for (late, bytes) in [(0, 40), (100_000, 52)] {
            let packet = build::ipv4(src, dst, 17, 2 * n as u16 + u16::from(late > 0), &noise.bytes(bytes - 20));
            plain.push(Out::whole(at + late, packet));
        }
        // SPI, number and 96 octets: 16 of IV, then 48 and an ICV of 32, or 64 and an ICV of 16.
        tunnel.push(Out::whole(at + 200_000, build::esp(build::R1, build::R2, 1001, n + 1, &noise.bytes(96))));
    }
    let dir = scratch("pairing-stated");
    let (plain, tunnel) =
        (write_file(&dir, "plain.pcap", &plain_pcap(&plain)), write_file(&dir, "tunnel.pcap", &plain_pcap(&tunnel)));
    for (transform, bytes) in [("esp-aes esp-sha512-hmac", 40), ("esp-aes esp-sha256-hmac", 52)] {
        let report = json(&plain, &tunnel, &["--transform", transform]);
        // The packets of the other size are of the same flow and were lost.
        let sizes: Vec<(u64, u64)> = items(&report, "sizes")
            .iter()
            .map(|size| (number(size, "inner_bytes"), number(size, "frames")))
            .filter(|(_, frames)| *frames > 0)
            .collect();
        assert_eq!(sizes, [(bytes, 40)], "{transform}: {:#}", report["pairs"]);
        let stated = &items(&report, "directions")[0]["transform"];
        let icv = if bytes == 40 { "HMAC-SHA2-512-256" } else { "HMAC-SHA2-256-128" };
        assert_eq!((&stated["basis"], &stated["candidates"]), (&"expected".into(), &serde_json::json!([])));
        assert!(stated["name"].as_str().is_some_and(|name| name.ends_with(icv)), "{stated:#}");
    }
}

/// ESP with NULL encryption lies in clear: the parts of its overhead are seen, whatever the ICV and the IV (RFC 4543) are.
#[test]
fn packets_in_clear_have_their_overhead_part_by_part() {
    let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    for (iv, icv) in [(0, 12), (8, 16)] {
        let (mut plain, mut tunnel, mut noise) = (Vec::new(), Vec::new(), build::Noise(2));
        for n in 0..30_u32 {
            let frame = build::ipv4(src, dst, 17, n as u16, &noise.bytes(31));
            let inner = build::one_hop_further(&frame)[14..].to_vec();
            // 51 octets, one of padding, pad length and next header.
            let esp = [&noise.bytes(iv)[..], &inner, &[1, 2, 3, 3, 4][..], &noise.bytes(icv)].concat();
            let at = START + u64::from(n) * 10_000_000;
            plain.push(Out::whole(at, frame));
            tunnel.push(Out::whole(at + 200_000, build::esp(build::R1, build::R2, 1001, n + 1, &esp)));
        }
        let dir = scratch(&format!("pairing-null-{iv}"));
        let (plain, tunnel) = (
            write_file(&dir, "plain.pcap", &plain_pcap(&plain)),
            write_file(&dir, "tunnel.pcap", &plain_pcap(&tunnel)),
        );
        let report = json(&plain, &tunnel, &[]);
        let [size] = items(&report, "sizes") else { panic!("{:#}", report["sizes"]) };
        assert_eq!((number(size, "frames"), number(size, "inner_bytes")), (30, 51), "{size:#}");
        let parts = [("outer_ip", 20), ("esp_header", 8), ("iv", iv), ("esp_pad", 3), ("esp_trailer", 2), ("icv", icv)];
        for (part, octets) in parts {
            assert_eq!(size["parts"][part].as_f64(), Some(octets as f64), "{part}: {size:#}");
        }
        let total = 33 + iv + icv;
        assert_eq!((&size["overhead_min_bytes"], &size["predicted_bytes"]), (&total.into(), &total.into()));
    }
}

/// What keys show of the packets is said here as it is in a report: a wrong key, and one that no check can be made with.
#[test]
fn keys_that_do_not_fit_the_packets_are_told() {
    let (plain, tunnel) = bundled("wrong-auth-key");
    let both = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let second = both.find("##### r2: ip -s xfrm state").expect("the second router");
    let short = both[..second].replace("0x34fe9909a47338a648a94bfb7c9f7552cde786e4", "0x34fe9909a47338a6");
    let cases = [
        (
            "both",
            both.as_str(),
            "icv-invalid",
            "None verifies under the key of r2: that is not the key of these packets",
        ),
        ("r2", &both[second..], "icv-invalid", "None of 80 packets verifies under the key of r2."),
        ("short", &short, "config-key-length", "The ICV of 80 packets on the wire was not checked."),
    ];
    for (name, config, code, said) in cases {
        let config = write_file(&scratch("pairing-keys"), &format!("{name}.txt"), config.as_bytes());
        let report = json(&plain, &tunnel, &["--config", word(&config)]);
        let [finding] = items(&report, "findings") else { panic!("{name}: {:#}", report["findings"]) };
        assert_eq!((&finding["code"], &finding["count"]), (&code.into(), &80.into()), "{name}");
        assert!(support::text(finding, "evidence").contains(said), "{name}: {finding:#}");
        assert!(!items(finding, "config").is_empty(), "{name}: the lines that say so");
    }
}

/// A gateway that fragments before it protects (RFC 4301 section 7) makes two packets of one: they are one pair, with the overhead of both.
#[test]
fn fragments_in_the_tunnel_of_one_packet_are_one_pair() {
    let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    let (mut plain, mut tunnel, mut noise) = (Vec::new(), Vec::new(), build::Noise(3));
    for n in 0..30_u16 {
        let at = START + u64::from(n) * 10_000_000;
        let payload = noise.bytes(1_380);
        plain.push(Out::whole(at, build::ipv4(src, dst, 17, 7_000 + n, &payload)));
        for (piece, flags, part) in [(0_u16, 0x2000_u16, &payload[..776]), (1, 97, &payload[776..])] {
            let mut inner = build::ipv4(src, dst, 17, 7_000 + n, part);
            inner[20..22].copy_from_slice(&flags.to_be_bytes());
            // AH around the packet, with an ICV of twelve octets.
            let mut ah = vec![4, 4, 0, 0];
            ah.extend(1002_u32.to_be_bytes());
            ah.extend(u32::from(2 * n + piece + 1).to_be_bytes());
            ah.extend([0xa5; 12]);
            ah.extend(&inner[14..]);
            let frame = build::ipv4(build::R1, build::R2, 51, 2 * n + piece, &ah);
            tunnel.push(Out::whole(at + 200_000 + u64::from(piece) * 10_000, frame));
        }
    }
    let dir = scratch("pairing-before");
    let (plain, tunnel) =
        (write_file(&dir, "plain.pcap", &plain_pcap(&plain)), write_file(&dir, "tunnel.pcap", &plain_pcap(&tunnel)));
    let report = json(&plain, &tunnel, &[]);
    assert_eq!((number(&report, "pairs.matched"), number(&report, "pairs.unmatched_plain")), (30, 0), "{report:#}");
    assert_eq!(number(&report, "pairs.unmatched_tunnel"), 0);
    let [size] = items(&report, "sizes") else { panic!("{:#}", report["sizes"]) };
    // Twice an outer header and AH, and a second inner header.
    let overhead = 2 * (20 + 24) + 20;
    assert_eq!((number(size, "inner_bytes"), number(size, "frames")), (1_400, 30), "{size:#}");
    assert_eq!((&size["overhead_min_bytes"], &size["overhead_max_bytes"]), (&overhead.into(), &overhead.into()));
    assert_eq!(number(size, "outer_bytes_min"), 1_400 + overhead);
}

/// In transport mode the outermost IP header is the packet's own: AH costs its 24 octets and nothing else.
#[test]
fn transport_mode_costs_no_ip_header() {
    let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    let (mut plain, mut tunnel, mut noise) = (Vec::new(), Vec::new(), build::Noise(4));
    for n in 0..30_u16 {
        let at = START + u64::from(n) * 10_000_000;
        let payload = noise.bytes(80);
        let mut ah = vec![17, 4, 0, 0];
        ah.extend(1002_u32.to_be_bytes());
        ah.extend(u32::from(n + 1).to_be_bytes());
        ah.extend([0xa5; 12]);
        ah.extend(&payload);
        plain.push(Out::whole(at, build::ipv4(src, dst, 17, n, &payload)));
        tunnel.push(Out::whole(at + 200_000, build::ipv4(src, dst, 51, n, &ah)));
    }
    let dir = scratch("pairing-transport");
    let (plain, tunnel) =
        (write_file(&dir, "plain.pcap", &plain_pcap(&plain)), write_file(&dir, "tunnel.pcap", &plain_pcap(&tunnel)));
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(report["directions"][0]["mode"], "transport");
    let [size] = items(&report, "sizes") else { panic!("{:#}", report["sizes"]) };
    assert_eq!((number(size, "frames"), number(size, "inner_bytes")), (30, 100), "{size:#}");
    assert_eq!((&size["overhead_min_bytes"], &size["predicted_bytes"]), (&24.into(), &24.into()), "{size:#}");
    assert_eq!((&size["parts"]["outer_ip"], &size["parts"]["ah"]), (&0.0.into(), &24.0.into()), "{size:#}");
    assert!(size["difference_why"].is_null(), "{size:#}");
}
