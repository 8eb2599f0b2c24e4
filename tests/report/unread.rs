//! ESP-NULL in transport mode around protocols that are not read: routing, and tunnels of Ethernet.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;

/// A packet of a protocol behind its IP header, so many octets longer than its least.
type Make = fn(&mut Noise, usize) -> Vec<u8>;

/// Protocols with their numbers.
const PROTOCOLS: [(u8, Make); 4] = [(46, rsvp), (88, eigrp), (97, etherip), (115, l2tp)];

fn rsvp(noise: &mut Noise, more: usize) -> Vec<u8> {
    [&[0x10, 1, 0, 0, 255, 0, 0, 60][..], &noise.bytes(52 + more)].concat()
}

fn eigrp(noise: &mut Noise, more: usize) -> Vec<u8> {
    [&[2, 5, 0, 0, 0, 0, 0, 0][..], &noise.bytes(32 + more)].concat()
}

fn etherip(noise: &mut Noise, more: usize) -> Vec<u8> {
    let frame = build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (9, 9), 1, &noise.bytes(20 + more));
    [&[0x30, 0], &frame[..]].concat()
}

fn l2tp(noise: &mut Noise, more: usize) -> Vec<u8> {
    [&[0, 0, 0, 77][..], &noise.bytes(60 + more)].concat()
}

/// ESP-NULL with HMAC-SHA1-96.
fn null(noise: &mut Noise, number: u32, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let pad = (4 - (payload.len() + 2) % 4) % 4;
    let padding: Vec<u8> = (1..=pad as u8).collect();
    let head = [0x51c2_9a07_u32.to_be_bytes(), number.to_be_bytes()].concat();
    [&head, payload, &padding, &[pad as u8, protocol], &noise.bytes(12)].concat()
}

/// Packets of ESP-NULL, in UDP on these ports or directly in IP.
fn report(test: &str, ports: Option<(u16, u16)>, packets: impl Iterator<Item = Vec<u8>>) -> Value {
    let frames: Vec<Out> = (1_u16..)
        .zip(packets)
        .map(|(n, esp)| {
            let frame = match ports {
                Some(ports) => build::udp(R1, R2, ports, n, &esp),
                None => build::ipv4(R1, R2, 50, n, &esp),
            };
            Out::whole(START + u64::from(n) * 5 * MS, frame)
        })
        .collect();
    let path = support::write_file(&support::scratch("unread"), &format!("{test}.pcap"), &plain_pcap(&frames));
    support::report(&[&path]).json()
}

#[test]
fn esp_null_around_protocols_that_are_not_read_is_esp_of_no_cipher() {
    for (protocol, make) in PROTOCOLS {
        for ports in [Some((4500, 4500)), Some((14_500, 33_000)), None] {
            // Few lengths agree modulo 8, or 16, by chance.
            for lengths in [&[8, 16, 64, 40, 24][..], &[1, 5, 7, 30, 200, 18, 300], &[0]] {
                let mut noise = Noise(u64::from(protocol));
                let all = lengths.iter().cycle().take(40);
                let packets: Vec<_> = (1..)
                    .zip(all)
                    .map(|(n, more)| {
                        let payload = make(&mut noise, *more);
                        null(&mut noise, n, protocol, &payload)
                    })
                    .collect();
                let what = format!("protocol {protocol}, {ports:?}, {lengths:?}");
                let report = report("null", ports, packets.into_iter());
                assert_eq!(items(&report, "sas").len(), 1, "{what}: {}", at(&report, "findings"));
                assert_eq!(number(&report, "sas.0.frames"), 40, "{what}");
                let basis = text(&report, "sas.0.transform.basis");
                assert!(matches!(basis, "unknown" | "visible"), "{what}: {}", at(&report, "sas.0.transform"));
                assert!(items(&report, "findings").iter().all(|f| text(f, "code") != "weak-transform"), "{what}");
                let direction = at(&report, "rates.directions.0");
                assert!(!at(direction, "goodput_bps").as_f64().is_some_and(|rate| rate == 0.0), "{what}");
                assert!(at(direction, "clear_bps").as_f64().is_none_or(|rate| rate == 0.0), "{what}");
            }
        }
    }
}

/// A protocol with a constant word behind its counter is no ESP, though all its packets end alike.
#[test]
fn a_constant_in_front_and_at_the_end_is_no_esp() {
    for last in [0_u8, 1, 46, 88, 97] {
        let mut noise = Noise(7);
        let packets = (1..=60_u32).map(|n| {
            let head = [&0x51c2_9a07_u32.to_be_bytes()[..], &n.to_be_bytes(), &[3, 1, 0, 0]].concat();
            [&head, &noise.bytes(60)[..], &[0, 0, 0, last]].concat()
        });
        let report = report("other", Some((4500, 4500)), packets.collect::<Vec<_>>().into_iter());
        assert!(items(&report, "sas").is_empty(), "{last}: {}", at(&report, "sas"));
    }
}
