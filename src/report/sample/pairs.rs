//! Reports of pairs made by hand.

use super::{A, B, START, capture, finding, sa_id};
use crate::model::Protocol;
use crate::model::pairs::*;
use crate::model::report::{
    Exactness, FrameRef, Parts, Pattern, Rfc3339, RunSummary, SaMode, Tool, TransformBasis, TransformReport,
};

fn side(path: &str, frames: u64) -> Side {
    Side {
        captures: vec![capture(path, "", frames)],
        frames,
        packets: frames - 1,
        tunnelled: 0,
        copies: 0,
        first_ns: Some(START),
        last_ns: Some(START + 15_020_000_000),
        timestamp_step_ns: Some(1_000.0),
    }
}

fn times(least: i64) -> Times {
    Times { min: least, p50: 24_000, p90: 46_464, p99: 105_728, max: 1_786_939, mean: 31_583.5 }
}

/// A direction of the ESP SA with this SPI.
pub(crate) fn direction(spi: u32, way: TunnelWay) -> Direction {
    Direction {
        sa: sa_id(Protocol::Esp, spi),
        src: A.into(),
        dst: B.into(),
        inner_src: Some("192.168.2.0/24".into()),
        inner_dst: Some("192.168.3.2".into()),
        way,
        matched: 1190,
        ambiguous: 3,
        unmatched_plain: 10,
        unmatched_tunnel: 2,
        repeated_tunnel: 4,
        uncovered_plain: 1,
        uncovered_tunnel: 7,
        lost_before_tunnel: Some(10),
        lost_behind_tunnel: Some(1),
        lost_end_to_end: Some(11),
        undetermined: None,
        loss_pct: Some(10.0 / 12.0),
        reordered: 5,
        confidence: Some(0.9876),
        basis: Some(PairBasis::Order),
        transform: TransformReport {
            basis: TransformBasis::Inferred,
            name: None,
            candidates: ["AES-CBC/HMAC-SHA1-96", "AES-CBC/HMAC-MD5-96"].map(Into::into).into(),
            evidence: Some(
                "2 combinations of block, IV and ICV fit the ESP lengths of all 5 packet sizes, in tunnel mode.".into(),
            ),
            ..TransformReport::default()
        },
        mode: SaMode::Tunnel,
        clock: Clock {
            offset_ns: Some(-4_683),
            drift_ppm: Some(9.49),
            uncertainty_ns: Some(10_413),
            drift_uncertainty_ppm: Some(7.6),
            basis: ClockBasis::BothDirections,
        },
        latency_ns: Latency {
            definition: "last bit to last bit, from the plain tap to the tunnel tap, timestamps in steps of 1 us"
                .into(),
            depends_on_offset: true,
            times: Some(times(10_413)),
            cut_through: Some(times(-1_200)),
        },
        latency_sf_ns: Some(times(-4_900)),
        latency_ct_ns: Some(times(-1_200)),
        latency_buckets: Some(vec![LatencyBucket { from_ns: 9_728, to_ns: 10_240, count: 1190 }]),
        bins_why: None,
        latency_why: None,
        header: HeaderCopy {
            dscp_same: 1190,
            dscp_marked: 12,
            dscp_marked_same: 12,
            ecn_same: 1190,
            df_unset: 1190,
            ttl_own: 1190,
            outer_ttl_min: Some(64),
            outer_ttl_max: Some(64),
            ..HeaderCopy::default()
        },
    }
}

/// Overhead of one size.
pub(crate) fn size(inner: u64, overhead: u64) -> Size {
    Size {
        sa: sa_id(Protocol::Esp, 1001),
        inner_bytes: inner,
        frames: 165,
        outer_bytes_min: Some(inner + overhead),
        outer_bytes_max: Some(inner + overhead),
        overhead_min_bytes: Some(overhead as i64),
        overhead_max_bytes: Some(overhead as i64),
        overhead_of_inner_pct: Some(overhead as f64 / inner as f64 * 100.0),
        l1_plain_bytes: Some((inner + 14).max(60) + 24),
        l1_tunnel_bytes: None,
        circuit_share_pct: None,
        parts: Some(Parts { outer_ip: 20.0, esp_header: 8.0, iv: 16.0, icv: 12.0, ..Parts::default() }),
        predicted_bytes: Some(overhead as i64),
        difference_bytes: Some(0.0),
        difference_why: None,
        latency_ns: Some(times(10_413)),
        lost_before_tunnel: None,
        lost_behind_tunnel: None,
        lost_end_to_end: None,
        icmp_mtu_bytes: None,
        loss_pct: Some(1.0),
        basis: PairBasis::Order,
    }
}

/// Nothing was paired.
pub(crate) fn empty() -> MatchReport {
    MatchReport {
        schema: MatchSchema::V1,
        tool: Tool { name: "spiglass".into(), version: "0.0.0".into() },
        exactness: Exactness::Exact,
        degraded_why: Vec::new(),
        plain: side("plain.pcap", 120),
        tunnel: side("tunnel.pcap", 60),
        exit: None,
        pairs: Pairs::default(),
        directions: Vec::new(),
        outside: Vec::new(),
        bin_ns: None,
        bins: Vec::new(),
        sizes: Vec::new(),
        padding: Padding::default(),
        ends: Vec::new(),
        lost: Vec::new(),
        findings: Vec::new(),
        run: RunSummary::default(),
        exit_status: 0,
    }
}

/// Something in every section.
pub(crate) fn report() -> MatchReport {
    let frame = |frame| FrameRef { capture: 0, frame };
    let pad = EthernetPad { frames: 8, pad_bytes_min: 6, pad_bytes_max: 20, ..EthernetPad::default() };
    MatchReport {
        exactness: Exactness::Degraded,
        degraded_why: vec!["More packets waited than there is room for.".into()],
        exit: Some(side("exit.pcap", 119)),
        pairs: Pairs {
            matched: 1250,
            ambiguous: 6,
            unmatched_plain: 10,
            unmatched_tunnel: 2,
            repeated_tunnel: 4,
            outside_plain: 33,
            uncovered_plain: 1,
            uncovered_tunnel: 7,
            uncovered_exit: Some(2),
            undetermined_plain: 0,
            undetermined_tunnel: 0,
            by_basis: ByBasis { content: 60, decrypted: 90, order: 1100 },
        },
        directions: vec![direction(1001, TunnelWay::Encapsulated), direction(1002, TunnelWay::Decapsulated)],
        outside: vec![Outside {
            src: "192.168.2.9".into(),
            dst: "192.0.2.7".into(),
            protocol: 17,
            packets: 33,
            clear: 30,
        }],
        sizes: vec![
            size(64, 72),
            size(128, 72),
            Size { difference_bytes: Some(8.0), difference_why: Some("padded by the device".into()), ..size(1420, 68) },
        ],
        padding: Padding {
            plain_ethernet: EthernetPad { ff: 8, ..pad },
            tunnel_ethernet: EthernetPad::default(),
            exit_ethernet: Some(EthernetPad { zero: 8, ..pad }),
            carried_into_tunnel: false,
            carried_known: 8,
            rewritten: true,
            examples: vec![PaddingExample {
                plain: frame(1),
                plain_pattern: Some(Pattern::Ff),
                tunnel: Some(frame(1)),
                carried: Some(false),
                exit: Some(frame(2)),
                exit_pattern: Some(Pattern::Zero),
            }],
        },
        ends: vec![Ends {
            src: "192.168.2.2".into(),
            dst: "192.168.3.2".into(),
            way: EndsWay::PlainToExit,
            matched: 1190,
            lost: 11,
            loss_pct: Some(0.92),
            latency_ns: Some(times(26_851)),
            depends_on_offset: true,
        }],
        lost: (0..12)
            .map(|n| Lost {
                frame: frame(348 + n),
                time: Some(Rfc3339(START + 388_273_000)),
                inner_bytes: 64,
                sa: Some(sa_id(Protocol::Esp, 1001)),
                sequence: Some(332),
                confidence: 0.99,
                verdict: LossPlace::BeforeTunnel,
            })
            .collect(),
        findings: vec![finding("icv-invalid", 1001), finding("sequence-gap", 1001)],
        ..empty()
    }
}

/// IPv6 endpoints, several captures a side, and more sizes than rows.
pub(crate) fn long() -> MatchReport {
    let mut report = report();
    let (a, b) = ("2001:db8:1111:2222:3333:4444:5555:6666", "2001:db8:1111:2222:3333:4444:5555:7777");
    report
        .plain
        .captures
        .extend((0..20).map(|n| capture(&format!("far-side-with-a-rather-long-name-{n}.pcapng"), "", 9)));
    let sa: crate::model::report::Name = format!("esp/{a}/{b}/0xc0ffee00").into();
    report.directions.push(Direction {
        sa: sa.clone(),
        src: a.into(),
        dst: b.into(),
        ..direction(7, TunnelWay::Unknown)
    });
    report.directions.push(Direction { sa: format!("gre/{a}/{b}").into(), ..direction(8, TunnelWay::Encapsulated) });
    report.sizes.extend((100..160).map(|inner| Size { sa: sa.clone(), ..size(inner, 61) }));
    report.outside.push(Outside { src: a.into(), dst: b.into(), protocol: 254, packets: 1_000_000, clear: 0 });
    report.ends.push(Ends {
        src: a.into(),
        dst: b.into(),
        way: EndsWay::Unknown,
        latency_ns: None,
        ..report.ends[0].clone()
    });
    report
}

/// Names that try to reach the terminal.
pub(crate) fn hostile() -> MatchReport {
    let mut report = long();
    let evil = "=cmd|'/C calc'!A0\x1b]0;owned\x07\n\u{202e}";
    for side in [&mut report.plain, &mut report.tunnel] {
        for capture in &mut side.captures {
            capture.path = evil.into();
            capture.link_types = vec![evil.into()];
        }
    }
    for direction in &mut report.directions {
        direction.sa = evil.into();
        (direction.src, direction.dst) = (evil.into(), evil.into());
        (direction.inner_src, direction.inner_dst) = (Some(evil.into()), Some(evil.into()));
        direction.transform.name = Some(evil.into());
        direction.transform.evidence = Some(evil.into());
        direction.latency_ns.definition = evil.into();
    }
    report.sizes.iter_mut().for_each(|size| size.sa = evil.into());
    report.outside.iter_mut().for_each(|flow| flow.src = evil.into());
    report.ends.iter_mut().for_each(|end| end.dst = evil.into());
    report.lost.iter_mut().for_each(|lost| lost.sa = Some(evil.into()));
    report.findings.iter_mut().for_each(|finding| finding.evidence = evil.into());
    report
}
