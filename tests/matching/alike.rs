//! Loads that are alike both ways, as a generator of traffic sends them: which direction of the plain side is which of the tunnel is said where something
//! tells it, and nowhere else.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{items, number, scratch, text, write_file};
use crate::{json, pairs};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
/// Packets each way, and the time from one to the next.
const PACKETS: u64 = 600;
const PACE: u64 = 1_000_000;

/// How a load is sent both ways.
#[derive(Clone, Copy)]
struct Sent {
    /// Octets of content of a packet, by its number: the same both ways.
    bytes: fn(u64) -> u64,
    /// By how many packets the succession of the other way is ahead: with none, they are alike.
    apart: u64,
    /// From a packet to the next by its number, by how much less or more, and the longest that the gateway takes beyond its usual time, in nanoseconds.
    gap: fn(u64) -> u64,
    uneven: u64,
    jitter: u64,
    /// One packet in so many is lost behind the gateway that gave it its number; `u64::MAX`: none.
    lost: u64,
    /// By how much the tunnel's clock is ahead.
    ahead: u64,
}

/// The captures of both ways, and the plaintext frame of each frame in the tunnel.
struct Load {
    plain: PathBuf,
    tunnel: PathBuf,
    partners: Vec<u64>,
    lost: u64,
}

impl Load {
    fn new(name: &str, sent: Sent) -> Self {
        let mut noise =
            Noise(name.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))));
        // Frames of both taps, each with the direction and the number of its packet.
        let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
        let mut lost = 0;
        for there in [true, false] {
            let (mut even, mut before) = (START + noise.below(PACE), 0);
            for packet in 0..PACKETS {
                even += (sent.gap)(packet);
                let ns = even + noise.below(sent.uneven + 1);
                let at = before.max(ns + 190_000 + noise.below(sent.jitter + 1));
                before = at + 1_000;
                let (src, dst, from, to, spi) =
                    if there { (NEAR, FAR, R1, R2, 0x1001) } else { (FAR, NEAR, R2, R1, 0x2001) };
                let clear = build::udp(
                    src,
                    dst,
                    (5_000, 5_001),
                    packet as u16,
                    &noise.bytes((sent.bytes)(packet + if there { 0 } else { sent.apart }) as usize),
                );
                let esp = noise.bytes(16 + (clear.len() - 14 + 2).next_multiple_of(16) + 12);
                let clear = if there { clear } else { build::one_hop_further(&clear) };
                let esp = build::esp(from, to, spi, packet as u32 + 1, &esp);
                let is_lost = packet > 0 && packet + 1 < PACKETS && noise.below(sent.lost) == 0;
                let (plain_ns, tunnel_ns) = if there { (ns, at) } else { (at, ns) };
                lost += u64::from(is_lost && there);
                if !is_lost {
                    tunnel.push((Out::whole(tunnel_ns + sent.ahead, esp), there, packet));
                }
                // What is lost on its way to the gateway reaches neither tap.
                if there || !is_lost {
                    plain.push((Out::whole(plain_ns, clear), there, packet));
                }
            }
        }
        plain.sort_by_key(|(frame, ..)| frame.time_ns);
        tunnel.sort_by_key(|(frame, ..)| frame.time_ns);
        let frame = |(_, there, packet): &(Out, bool, u64)| {
            let at = plain.iter().position(|(_, way, own)| (way, own) == (there, packet)).unwrap();
            at as u64 + 1
        };
        let partners = tunnel.iter().map(frame).collect();
        let file = |side: &str, frames: Vec<(Out, bool, u64)>| {
            let frames: Vec<Out> = frames.into_iter().map(|(frame, ..)| frame).collect();
            let bytes = pcap(&frames, ETHERNET, Order::Little, Step::Nano);
            write_file(&scratch("match-alike"), &format!("{name}-{side}.pcap"), &bytes)
        };
        Self { partners, lost, plain: file("plain", plain), tunnel: file("tunnel", tunnel) }
    }

    fn report(&self, more: &[&str]) -> Value {
        json(&self.plain, &self.tunnel, more)
    }

    /// Pairs that are surer than a guess, and how many of them are wrong.
    fn sure(&self, more: &[&str]) -> (usize, usize) {
        let sure: Vec<(u64, u64, f64)> =
            pairs(&self.plain, &self.tunnel, more).into_iter().filter(|(.., confidence)| *confidence > 0.5).collect();
        let is_wrong = |(tunnelled, plain, _): &&(u64, u64, f64)| self.partners[*tunnelled as usize - 1] != *plain;
        (sure.len(), sure.iter().filter(is_wrong).count())
    }
}

/// The way of each SA, and its loss.
fn ways(report: &Value) -> Vec<(bool, String, Option<u64>)> {
    let way = |own: &Value| {
        let there = text(own, "sa").ends_with("1001");
        (there, text(own, "way").to_owned(), own["lost_before_tunnel"].as_u64())
    };
    items(report, "directions").iter().map(way).collect()
}

/// Lengths that grow packet by packet, and some that look like chance: of both, there is one succession.
const GROWING: fn(u64) -> u64 = |packet| 36 + packet * 2;
const MIXED: fn(u64) -> u64 = |packet| [36, 100, 172, 484, 972, 1_272][(packet * packet * 7 / 3 % 31 % 6) as usize];

/// A number that looks like chance.
fn mixed(at: u64) -> u64 {
    let word = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

const CHANCE: fn(u64) -> u64 = |packet| [36, 100, 172, 484, 972, 1_272][(mixed(packet) % 6) as usize];

/// A constant rate, and one that doubles at times, with pauses.
const EVEN: fn(u64) -> u64 = |_| PACE;
const STEPS: fn(u64) -> u64 =
    |packet| ((4 * PACE) >> (packet / 100 % 3)) + if packet % 150 == 149 { 200 * PACE } else { 0 };

/// Two loads at one even pace keep their distance: that a packet of the other direction is always as far away proves nothing.
#[test]
fn directions_at_one_even_pace_are_not_taken_for_each_other() {
    let loads = [
        ("growing", GROWING, EVEN, 0, 600_000),
        ("mixed", MIXED, EVEN, 0, 600_000),
        ("shaken", CHANCE, EVEN, PACE * 4 / 5, 3 * PACE),
        ("steps", CHANCE, STEPS, 0, 800_000),
    ];
    for (kind, bytes, gap, uneven, jitter) in loads {
        for (seed, lost) in [(1, u64::MAX), (2, u64::MAX), (3, 50), (4, 50)] {
            for (clock, ahead, more) in [("one", 0, ["--one-clock"].as_slice()), ("two", 300_000_000, &[])] {
                let name = format!("even-{kind}-{seed}-{clock}");
                let load = Load::new(&name, Sent { bytes, apart: 0, gap, uneven, jitter, lost, ahead });
                assert_eq!(load.sure(more).1, 0, "{name}");
                let report = load.report(more);
                for (there, way, lost) in ways(&report) {
                    let right = if there { "encapsulated" } else { "decapsulated" };
                    assert!(way == right || way == "unknown", "{name}: {way} {report:#}");
                    let true_loss = if there { load.lost } else { 0 };
                    assert!(lost.is_none_or(|lost| lost == true_loss), "{name}: {lost:?} of {true_loss}");
                }
            }
        }
    }
}

/// Uneven gaps tell which is which, whatever the gateway adds to them.
#[test]
fn gaps_that_go_together_tell_directions_of_one_sequence_apart() {
    for (seed, lost) in [(1, u64::MAX), (2, 50)] {
        let sent = Sent {
            bytes: MIXED,
            apart: 0,
            gap: EVEN,
            uneven: PACE * 9 / 10,
            jitter: 300_000,
            lost,
            ahead: 300_000_000,
        };
        let load = Load::new(&format!("uneven-{seed}"), sent);
        let (sure, wrong) = load.sure(&[]);
        assert!(sure > 1_000 && wrong == 0, "{sure} {wrong}");
        let told = ways(&load.report(&[]));
        assert!(
            told.iter().all(|(there, way, _)| way == if *there { "encapsulated" } else { "decapsulated" }),
            "{told:?}"
        );
    }
}

/// Numbers that are missing in a direction of which no packet could be paired were lost on their way to the gateway where the other direction shows that
/// the plain tap is behind it, and nothing says so where neither does.
#[test]
fn missing_numbers_are_a_loss_where_the_way_is_known() {
    let one_size = |_: u64| 400;
    let load = Load::new(
        "numbers",
        Sent { bytes: one_size, apart: 0, gap: EVEN, uneven: 0, jitter: 100_000, lost: 30, ahead: 300_000_000 },
    );
    let report = load.report(&[]);
    assert_eq!(number(&report, "pairs.matched"), 0, "{:#}", report["pairs"]);
    let findings = items(&report, "findings");
    assert!(findings.iter().any(|own| text(own, "code") == "match-loss"), "{findings:#?}");
    for own in findings.iter().filter(|own| text(own, "code") == "match-loss") {
        assert!(text(own, "sa").ends_with("1001") && number(own, "count") == load.lost, "{own:#}");
    }
    let reasons: Vec<&str> = items(&report, "directions").iter().map(|own| text(own, "undetermined.reason")).collect();
    assert!(reasons.iter().any(|reason| reason.contains("sequence numbers are missing")), "{reasons:?}");
}

/// Loads of few sizes at an even pace that are not alike are paired by their sizes.
#[test]
fn unlike_loads_at_an_even_pace_are_paired() {
    let two: fn(u64) -> u64 = |packet| if mixed(packet).is_multiple_of(2) { 100 } else { 1_200 };
    let blocks: fn(u64) -> u64 = |packet| [36, 172, 484, 1_272][(mixed(packet / 12) % 4) as usize];
    for (kind, bytes) in [("two", two), ("blocks", blocks)] {
        let sent = Sent { bytes, apart: 5_000, gap: EVEN, uneven: 0, jitter: 20_000, lost: u64::MAX, ahead: 0 };
        let load = Load::new(&format!("unlike-{kind}"), sent);
        let (sure, wrong) = load.sure(&["--one-clock"]);
        assert!(sure > 1_000 && wrong == 0, "{kind}: {sure} {wrong}");
    }
}
