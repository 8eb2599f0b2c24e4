//! AH whose ICV field is longer than an ICV: padding, and what it leaks.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;

/// The four octets behind an ICV.
type Tail = fn(&mut Noise, u64) -> [u8; 4];

const STALE: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

fn random(noise: &mut Noise, _: u64) -> [u8; 4] {
    (noise.word() as u32 | 1).to_be_bytes()
}

fn at_times_random(noise: &mut Noise, n: u64) -> [u8; 4] {
    if n.is_multiple_of(2) { [0; 4] } else { random(noise, n) }
}

fn at_times_stale(_: &mut Noise, n: u64) -> [u8; 4] {
    if n.is_multiple_of(2) { [0; 4] } else { STALE }
}

fn seldom_zero(noise: &mut Noise, n: u64) -> [u8; 4] {
    if n.is_multiple_of(20) { [0; 4] } else { random(noise, n) }
}

/// AH with an ICV of so many octets and four more, around packets of a user.
fn report(test: &str, icv: usize, tail: Tail) -> Value {
    let mut noise = Noise(icv as u64);
    let frames: Vec<Out> = (0..60)
        .map(|n| {
            let inner = build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (9, 9), n as u16, &noise.bytes(80));
            let words = (12 + icv + 4) / 4 - 2;
            let head = [&[4, words as u8, 0, 0][..], &1_002_u32.to_be_bytes(), &(n as u32 + 1).to_be_bytes()].concat();
            let field = [noise.bytes(icv), tail(&mut noise, n).to_vec()].concat();
            let frame = build::ipv4(R1, R2, 51, n as u16, &[&head, &field, &inner[14..]].concat());
            Out::whole(START + n * 5 * MS, frame)
        })
        .collect();
    let path = support::write_file(&support::scratch("ah"), &format!("{test}.pcap"), &plain_pcap(&frames));
    support::report(&[&path]).json()
}

fn leaks(report: &Value) -> Option<u64> {
    let findings = items(report, "findings").iter();
    findings.filter(|finding| text(finding, "code") == "ah-padding-leak").map(|finding| number(finding, "count")).next()
}

#[test]
fn padding_that_leaks_at_times_is_no_icv() {
    for icv in [16, 24, 32] {
        let cases: [(&str, Tail, Option<u64>); 5] = [
            ("zero", |_, _| [0; 4], None),
            ("stale", |_, _| STALE, Some(60)),
            ("random at times", at_times_random, Some(30)),
            ("stale at times", at_times_stale, Some(30)),
            ("seldom zero", seldom_zero, Some(57)),
        ];
        for (what, tail, count) in cases {
            let report = report("at-times", icv, tail);
            assert_eq!(number(&report, "sas.0.icv_bytes"), icv as u64, "{what}");
            assert_eq!(leaks(&report), count, "{what} behind {icv}: {}", at(&report, "findings"));
        }
    }
}

/// Random octets behind 16 may be those of an ICV of 20, as HMAC-SHA1-160 makes, or padding: both are named. No ICV has 28 or 36.
#[test]
fn random_octets_are_padding_only_where_no_icv_is_as_long() {
    for (icv, known, count) in [(16, None, None), (24, Some(24), Some(60)), (32, Some(32), Some(60))] {
        let report = report("random", icv, random);
        assert_eq!((at(&report, "sas.0.icv_bytes").as_u64(), leaks(&report)), (known, count), "{icv}");
        if icv == 16 {
            assert!(at(&report, "sas.0.transform.name").is_null());
            let named: Vec<&str> =
                items(&report, "sas.0.transform.candidates").iter().filter_map(Value::as_str).collect();
            assert!(named.contains(&"HMAC-SHA1-160") && named.contains(&"HMAC-SHA2-256-128"), "{named:?}");
            assert!(text(&report, "sas.0.transform.evidence").contains("160 bits"));
        }
    }
}

/// Octets that count are none of a MAC: a sender left a number of its own there.
#[test]
fn octets_that_count_are_padding() {
    for icv in [16, 24, 32] {
        let tails: [Tail; 3] = [
            |_, n| (n as u32 + 1).to_be_bytes(),
            |_, n| (n as u32 * 3 + 77).to_le_bytes(),
            |noise, n| if n % 10 < 4 { (n as u32 + 1).to_be_bytes() } else { random(noise, n) },
        ];
        for tail in tails {
            let report = report("counting", icv, tail);
            assert_eq!((number(&report, "sas.0.icv_bytes"), leaks(&report)), (icv as u64, Some(60)), "{icv}");
        }
    }
}

/// The snapshot length ends within the field: no algorithm has an ICV of 28 or 36 octets, so the last four are padding.
#[test]
fn a_field_that_was_cut_off_holds_the_icv_of_an_algorithm() {
    for (field, icv) in [(28, 24), (36, 32), (24, 24), (16, 16)] {
        let mut noise = Noise(field as u64);
        let frames: Vec<Out> = (1..=40_u32)
            .map(|n| {
                let head =
                    [&[41, (field / 4 + 1) as u8, 0, 0][..], &1_002_u32.to_be_bytes(), &n.to_be_bytes()].concat();
                let mut frame = Out::whole(
                    START + u64::from(n) * 5 * MS,
                    build::ipv6(R1, R2, 51, &[&head[..], &noise.bytes(field + 120)].concat()),
                );
                frame.data.truncate(14 + 40 + 12 + 12);
                frame
            })
            .collect();
        let path = support::write_file(&support::scratch("ah"), &format!("cut-{field}.pcap"), &plain_pcap(&frames));
        assert_eq!(number(&support::report(&[&path]).json(), "sas.0.icv_bytes"), icv, "{field}");
    }
}
