//! Reports made by hand, for the tests of the renderers.

pub(crate) mod pairs;
mod rates;

use std::collections::BTreeMap;

use crate::analysis::Settings;
use crate::analysis::finish::finish;
use crate::model::report::*;
use crate::model::{Address, Encapsulation, Protocol, Spi, Timestamp};
use rates::rate;

const START: i64 = 1_795_236_062_000_000_000;
const A: &str = "192.168.1.1";
const B: &str = "192.168.1.2";

fn direction(from: &str, to: &str) -> String {
    format!("{from} > {to}")
}

fn time(ns: i64) -> Option<String> {
    jiff::Timestamp::from_nanosecond(ns.into()).ok().map(|time| format!("{time:.9}"))
}

/// A capture of one tap.
pub(crate) fn capture(path: &str, tap: &str, frames: u64) -> Capture {
    Capture {
        tap: tap.into(),
        format: "pcap".into(),
        link_types: vec!["ETHERNET".into()],
        interfaces: vec![Interface { name: None, link_type: "ETHERNET".into(), snaplen: Some(262_144), drops: None }],
        frames,
        bytes: frames * 150,
        first: time(START),
        last: time(START + 15_020_000_000),
        first_ns: Some(START),
        last_ns: Some(START + 15_020_000_000),
        complete: true,
        error: None,
        digest: Some(CaptureDigest {
            algorithm: DigestAlgorithm::Xxh3128,
            hex: "99aa06d3014798d86001c324468d497f".into(),
        }),
        digest_missing: None,
        ..Capture::unread(path.into(), String::new())
    }
}

/// A row of exact overhead.
pub(crate) fn size(inner: u64, overhead: u64) -> Size {
    let plain = (14 + inner).max(60) + 24;
    let tunnel = (14 + inner + overhead).max(60) + 24;
    Size {
        tap: "tunnel".into(),
        direction: direction(A, B),
        sa: Some(sa_id(Protocol::Esp, 1002)),
        encapsulation: "ipv4/esp".into(),
        inner_bytes: inner,
        outer_bytes_min: inner + overhead,
        outer_bytes_max: inner + overhead,
        outer_bytes_mean: (inner + overhead) as f64,
        frames: 8490,
        frames_per_s: Some(8490.0),
        overhead_min_bytes: overhead as i64,
        overhead_max_bytes: overhead as i64,
        overhead_mean_bytes: overhead as f64,
        overhead_of_inner_pct: overhead as f64 / inner as f64 * 100.0,
        overhead_of_l1_pct: overhead as f64 / tunnel as f64 * 100.0,
        circuit_share_pct: plain as f64 / tunnel as f64 * 100.0,
        l1_plain_bytes: plain,
        l1_tunnel_bytes: tunnel as f64,
        l1_plain_bps: Some(8490.0 * plain as f64 * 8.0),
        l1_tunnel_bps: Some(8490.0 * tunnel as f64 * 8.0),
        parts: Parts {
            outer_ip: 20.0,
            esp_header: 8.0,
            iv: 8.0,
            esp_pad: 6.0,
            esp_trailer: 2.0,
            icv: 12.0,
            ..Parts::default()
        },
        basis: OverheadBasis::Decrypted,
    }
}

fn shown(address: &str) -> Shown<Address> {
    Shown(Address::from(address.parse::<std::net::IpAddr>().expect("an address")))
}

fn sa_id(proto: Protocol, spi: u32) -> Name {
    format!("{proto}/{A}/{B}/0x{spi:08x}").into()
}

/// An SA from A to B.
pub(crate) fn sa(proto: Protocol, spi: u32, lost: u64) -> Sa {
    Sa {
        id: sa_id(proto, spi),
        tap: "tunnel".into(),
        proto,
        spi,
        spi_hex: Shown(Spi(spi)),
        src: shown(A),
        dst: shown(B),
        encapsulation: Encapsulation::Native,
        mode: SaMode::Tunnel,
        frames: 1485,
        fragments: 0,
        fragments_uncertain: 0,
        outer_bytes: 200_000,
        copies_removed: 0,
        first: Some(Rfc3339(START)),
        last: Some(Rfc3339(START + 15_020_000_000)),
        first_ns: Some(START),
        last_ns: Some(START + 15_020_000_000),
        first_frame: FrameRef { capture: 0, frame: 1 },
        last_frame: FrameRef { capture: 0, frame: 1545 },
        sequence: Some(Sequence {
            first: 1,
            last: 1500,
            highest: 1500,
            lost,
            gaps: lost,
            longest_gap: 1,
            duplicate: 0,
            late: 3,
            restarts: 0,
            wraps: 0,
            replay_window: vec![ReplayWindow { size: 32, would_drop: 3 }, ReplayWindow { size: 64, would_drop: 1 }],
        }),
        transform: TransformReport {
            basis: TransformBasis::Inferred,
            name: None,
            candidates: ["AES-CBC, 96-bit ICV", "AES-GCM-16", "AES-CTR, 96-bit ICV"].map(Name::from).into(),
            evidence: None,
            ..TransformReport::default()
        },
        icv_bytes: Some(12),
        icv_checks: None,
        rate: SaRate { frames_per_s: Some(98.9), l1_bps: Some(1.2e5) },
        protection_bytes: Some(MinMax { min: 38, max: 53 }),
        overhead: Overhead {
            basis: OverheadBasis::Modelled,
            min_bytes: Some(58),
            max_bytes: Some(73),
            mean_bytes: None,
        },
    }
}

/// A finding about an SA.
pub(crate) fn finding(code: &'static str, spi: u32) -> Finding {
    let entry = crate::catalogue::lookup(code).unwrap();
    Finding {
        code: code.into(),
        severity: entry.severity,
        title: entry.title.into(),
        tap: "tunnel".into(),
        sa: Some(sa_id(Protocol::Esp, spi)),
        count: 15,
        first_frame: Some(FrameRef { capture: 0, frame: 38 }),
        last_frame: Some(FrameRef { capture: 0, frame: 1400 }),
        first: time(START + 400_000_000),
        last: time(START + 14_000_000_000),
        first_ns: Some(START + 400_000_000),
        last_ns: Some(START + 14_000_000_000),
        evidence: "15 of 1 500 numbers never seen at this TAP (1.0 %), 15 gaps, longest 1.".into(),
        cause: entry.cause().into(),
        remedy: entry.remedy_text(),
        occurrences: vec![Occurrence {
            capture: 0,
            frame: 348,
            time_ns: Some(START + 401_000_000),
            count: 3,
            what: "numbers 331-333 missing, between frames 347 and 348".into(),
        }],
        occurrences_total: Some(15),
        filter: Some("esp.spi == 0x000003e9 && esp.sequence >= 330 && esp.sequence <= 334".into()),
        accepted: None,
        config: Vec::new(),
        fix: Vec::new(),
    }
}

/// An empty report: 120 frames without IPsec.
pub(crate) fn empty() -> Report {
    Report {
        tool: Tool { name: "spiglass".into(), version: "0.0.0".into() },
        captures: vec![capture("plain.pcap", "plain", 120)],
        taps: vec![Tap { name: "plain".into(), captures: vec![0], role: TapRole::Plain }],
        totals: Totals { frames: 120, ip_frames: 120, ..Totals::default() },
        rates: Rates::default(),
        ..finish(&[], &[], &Settings::default())
    }
}

/// Three numbers that were skipped.
fn gap() -> Gap {
    Gap {
        tap: "tunnel".into(),
        sa: sa_id(Protocol::Esp, 1001),
        first_missing: 331,
        last_missing: 333,
        count: 3,
        frame_before: FrameRef { capture: 0, frame: 347 },
        frame_after: FrameRef { capture: 0, frame: 348 },
        time_before_ns: Some(START + 400_000_000),
        time_after_ns: Some(START + 401_000_000),
        filled_late: Some(0),
    }
}

/// A report with something in every section.
pub(crate) fn report() -> Report {
    let cut = DamageReport {
        offset: 231_750,
        frame: 1546,
        what: "the record claims 134 bytes, 20 are left".into(),
        kind: "cut".into(),
    };
    Report {
        captures: vec![Capture { complete: false, damage: Some(cut), ..capture("tunnel.pcap", "tunnel", 1545) }],
        filters: Vec::new(),
        settings: Vec::new(),
        taps: vec![Tap { name: "tunnel".into(), captures: vec![0], role: TapRole::Tunnel }],
        totals: Totals { frames: 1545, ipsec_frames: 1485, ip_frames: 1500, control_frames: 45, ..Totals::default() },
        layers: vec![Layer { tap: "tunnel".into(), stack: "eth/ipv4/esp".into(), frames: 1485, wire_bytes: 200_000 }],
        sas: vec![sa(Protocol::Esp, 0, 0), sa(Protocol::Esp, 1001, 15), sa(Protocol::Ah, 1002, 0)],
        tunnels: vec![Tunnel {
            tap: "tunnel".into(),
            a: A.into(),
            b: B.into(),
            sas_a_to_b: vec![sa_id(Protocol::Esp, 1001)],
            sas_b_to_a: Vec::new(),
            first_ns: Some(START),
            last_ns: Some(START + 15_020_000_000),
        }],
        gaps: vec![gap()],
        sizes: [64, 128, 1420].map(|inner| size(inner, 56)).to_vec(),
        outer_sizes: [104, 168, 296]
            .map(|outer_bytes| OuterSize {
                tap: "tunnel".into(),
                sa: sa_id(Protocol::Esp, 1001),
                outer_bytes,
                frames: 165,
            })
            .to_vec(),
        padding: Padding {
            ethernet: vec![EthernetPadding {
                tap: "tunnel".into(),
                direction: direction("50:57:a8:bb:55:6d", "e0:5f:b9:90:ac:43"),
                frames: 60,
                pad_bytes_min: 6,
                pad_bytes_max: 18,
                pattern: Pattern::Ff,
                examples: vec![FrameRef { capture: 0, frame: 7 }],
            }],
            esp: vec![EspPadding {
                tap: "tunnel".into(),
                sa: sa_id(Protocol::Esp, 1001),
                basis: OverheadBasis::Visible,
                pad_lengths: BTreeMap::from([(0, 100), (2, 1385)]),
                monotonic: 1485,
                other: 0,
                longer_than_needed: 0,
            }],
            ah: vec![AhPadding { tap: "tunnel".into(), sa: sa_id(Protocol::Ah, 1002), frames: 60, nonzero: 60 }],
        },
        rates: Rates {
            bin_ns: 1_000_000_000,
            directions: vec![
                rate("50:57:a8:bb:55:6d", "e0:5f:b9:90:ac:43"),
                rate("e0:5f:b9:90:ac:43", "50:57:a8:bb:55:6d"),
            ],
            pause: vec![PauseRate {
                tap: "tunnel".into(),
                direction: direction("e0:5f:b9:90:ac:43", "01:80:c2:00:00:01"),
                class: None,
                frames: 45,
                quanta: 2_949_075,
                stopped_ns: None,
            }],
            bins: vec![Bin {
                direction: 0,
                start_ns: START,
                frames: 8700,
                l1_bytes: 1_375_000,
                l2_bytes: 1_200_000,
                l3_bytes: 1_044_000,
                goodput_bytes: Some(556_800),
                control_frames: 3,
            }],
            sa_bins: vec![SaTimeBin {
                sa: 0,
                start_ns: START,
                bin_ns: 1_000_000_000,
                frames: 100,
                l1_bytes: 15_800,
                l3_bytes: 12_000,
            }],
        },
        events: vec![Event {
            when: When(Timestamp::from_ns(START)),
            tap: "tunnel".into(),
            what: EventKind::Rekey,
            sa: sa_id(Protocol::Esp, 1001),
            from_sa: Some(sa_id(Protocol::Esp, 0)),
            frame: FrameRef { capture: 0, frame: 9 },
        }],
        findings: vec![finding("spi-zero", 0), finding("sequence-gap", 1001)],
        ..empty()
    }
}

/// Two taps, IPv6 endpoints, a UDP-encapsulated SA and more sizes than rows.
pub(crate) fn two_taps() -> Report {
    let mut report = report();
    report.captures.push(capture("far-side-with-a-rather-long-name-2026-11-21.pcapng", "far", 1_000_000));
    report.taps.push(Tap { name: "far".into(), captures: vec![1], role: TapRole::Tunnel });
    let (a, b) = ("2001:db8:1111:2222:3333:4444:5555:6666", "2001:db8:1111:2222:3333:4444:5555:7777");
    report.sas.push(Sa {
        id: format!("esp/{a}/{b}/0xc0ffee00").into(),
        tap: "far".into(),
        src: shown(a),
        dst: shown(b),
        encapsulation: Encapsulation::Udp,
        copies_removed: 2,
        overhead: Overhead { basis: OverheadBasis::Unknown, min_bytes: None, max_bytes: None, mean_bytes: None },
        ..sa(Protocol::Esp, 0xc0ff_ee00, 4)
    });
    report.sizes.extend((100..160).map(|inner| Size {
        tap: "far".into(),
        direction: direction(a, b),
        sa: Some(format!("esp/{a}/{b}/0xc0ffee00").into()),
        ..size(inner, 61)
    }));
    report.findings.extend((0..9).map(|n| Finding {
        sa: Some(format!("esp/{a}/{b}/0xc0ffee{n:02x}").into()),
        tap: "far".into(),
        ..finding("sa-one-way", n)
    }));
    report
}

/// Names that try to reach the terminal or a spreadsheet.
pub(crate) fn hostile() -> Report {
    let mut report = report();
    let evil = "=cmd|'/C calc'!A0\x1b]0;owned\x07\n\u{202e}";
    for capture in &mut report.captures {
        capture.path = evil.into();
        capture.tap = evil.into();
        capture.link_types = vec![evil.into()];
        for interface in &mut capture.interfaces {
            interface.name = Some(evil.into());
        }
    }
    report.taps.iter_mut().for_each(|tap| tap.name = evil.into());
    for sa in &mut report.sas {
        sa.tap = evil.into();
        sa.transform.name = Some(evil.into());
    }
    for finding in &mut report.findings {
        finding.evidence = evil.into();
        finding.sa = Some(evil.into());
    }
    for size in &mut report.sizes {
        size.tap = evil.into();
        size.direction = evil.into();
    }
    report
}
