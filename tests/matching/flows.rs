//! Flows of which nothing is recognized in the tunnel: what they were is not known, and they are not taken for what they were not.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;

use crate::json;
use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{items, number, scratch, text, write_file};

/// What is before the gateway.
const SWITCH: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 254);
/// Octets of content of the packets of a download.
const LONG: u64 = 1_372;

/// A packet: when it passed the first tap, whether it goes out of the tunnel, its hosts, its octets of content.
#[derive(Clone, Copy)]
struct Packet {
    ns: u64,
    out: bool,
    hosts: (u8, u8),
    bytes: u64,
}

/// What becomes of it behind the first tap.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It passes the other tap so much later, in nanoseconds.
    Arrives(u64),
    /// Lost before the gateway gives it a number, or behind.
    Unnumbered,
    Numbered,
}

/// Frames of both captures.
fn frames(mut packets: Vec<Packet>, mut fate: impl FnMut(&Packet) -> Fate) -> [Vec<Out>; 2] {
    let mut noise = Noise(77);
    packets.sort_by_key(|packet| packet.ns);
    let (mut plain, mut tunnel, mut numbers) = (Vec::new(), Vec::new(), [0; 2]);
    for packet in &packets {
        let (near, far) = (Ipv4Addr::new(10, 0, 1, packet.hosts.0), Ipv4Addr::new(10, 0, 2, packet.hosts.1));
        let fate = fate(packet);
        let (from, to) = if packet.out { (far, near) } else { (near, far) };
        let clear = build::udp(from, to, (5_000, 5_001), 0, &noise.bytes(packet.bytes as usize));
        let inner = clear.len() - 14;
        let number = &mut numbers[usize::from(packet.out)];
        *number += u32::from(fate != Fate::Unnumbered);
        let later = if let Fate::Arrives(ns) = fate { Some(packet.ns + ns) } else { None };
        let [plain_ns, tunnel_ns] = if packet.out { [later, Some(packet.ns)] } else { [Some(packet.ns), later] };
        let (here, next) = if packet.out { (R1, SWITCH) } else { (SWITCH, R1) };
        plain.extend(plain_ns.map(|ns| Out::whole(ns, build::on_link(&clear, here, next))));
        let (src, dst, spi) = if packet.out { (R2, R1, 0x2002) } else { (R1, R2, 0x1001) };
        let esp = noise.bytes(16 + (inner + 2).next_multiple_of(16) + 12);
        tunnel.extend(
            tunnel_ns.map(|ns| Out::whole(ns, build::on_link(&build::esp(src, dst, spi, *number, &esp), src, dst))),
        );
    }
    [plain, tunnel].map(|mut frames| {
        frames.sort_by_key(|frame| frame.time_ns);
        frames
    })
}

fn captures(name: &str, packets: Vec<Packet>, fate: impl FnMut(&Packet) -> Fate) -> [PathBuf; 2] {
    let [plain, tunnel] = frames(packets, fate);
    [write(name, "plain", &plain), write(name, "tunnel", &tunnel)]
}

fn write(name: &str, side: &str, frames: &[Out]) -> PathBuf {
    let bytes = pcap(frames, ETHERNET, Order::Little, Step::Nano);
    write_file(&scratch("match-flows"), &format!("{name}-{side}.pcap"), &bytes)
}

/// Packets of any size both ways; `hosts`: of each.
fn conversation(noise: &mut Noise, count: u64, hosts: impl Fn(&mut Noise) -> (u8, u8)) -> Vec<Packet> {
    let mut ns = START;
    let packet = |_| {
        ns += noise.below(16_000_000) + 1;
        let bytes = if noise.below(24) == 0 { LONG } else { 20 + noise.below(1_200) };
        Packet { ns, out: noise.below(2) == 0, hosts: hosts(noise), bytes }
    };
    (0..count).map(packet).collect()
}

fn direction(report: &Value, way: &str) -> Value {
    let own = items(report, "directions").iter().find(|own| text(own, "way") == way);
    own.unwrap_or_else(|| panic!("{way}: {report:#}")).clone()
}

fn finding<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

/// A gateway whose link behind the taps is slow: downloads come in at once and wait for each other for milliseconds.
fn downloads(lost_of: u64) -> ([PathBuf; 2], u64) {
    let mut noise = Noise(12);
    let mut packets = conversation(&mut noise, 800, |_| (9, 9));
    for host in 0..8 {
        let begin = START + 500_000_000 + u64::from(host) * 700_000_000;
        packets.extend((0..24).map(|at| Packet {
            ns: begin + at * 12_000,
            out: true,
            hosts: (20 + host, 40 + host),
            bytes: if at == 0 { 24 } else { LONG },
        }));
    }
    let (mut free, mut lost) = (0, 0);
    let paths = captures(&format!("downloads-{lost_of}"), packets, |packet| {
        if !packet.out {
            return Fate::Arrives(120_000 + noise.below(30_000));
        }
        // The last packets show what both captures cover.
        let is_covered = packet.ns < START + 5_000_000_000;
        if lost_of > 0 && packet.hosts.0 == 9 && is_covered && noise.below(lost_of) == 0 {
            lost += 1;
            return Fate::Numbered;
        }
        let begins = (packet.ns + 100_000).max(free);
        // 50 Mbit/s; without loss to tell, a quick link.
        free = begins + packet.bytes * if lost_of > 0 { 8 } else { 160 };
        Fate::Arrives(free - packet.ns + noise.below(20_000))
    });
    (paths, lost)
}

#[test]
fn packets_of_flows_that_a_queue_hides_are_not_lost() {
    let ([plain, tunnel], _) = downloads(0);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, "decapsulated");
    assert!(finding(&report, "match-loss").is_none(), "{:#}", report["findings"]);
    assert!(own["loss_pct"].is_null() || own["loss_pct"] == 0.0, "{own:#}");
}

#[test]
fn packets_that_are_lost_beside_downloads_are_told() {
    let ([plain, tunnel], lost) = downloads(12);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = finding(&report, "match-loss").unwrap_or_else(|| panic!("{:#}", report["directions"]));
    assert_eq!(number(own, "count"), lost);
}

/// Questions of many hosts, one packet for each two, beside a few others: one in sixteen is lost.
fn questions(name: &str, fate: Fate) -> (Value, u64) {
    let mut noise = Noise(5);
    let mut packets = conversation(&mut noise, 80, |_| (9, 9));
    packets.extend((0..160_u8).map(|at| Packet {
        ns: START + u64::from(at) * 3_700_000,
        out: false,
        hosts: (20 + at, 30 + at),
        bytes: 30 + u64::from(at) % 37,
    }));
    let mut lost = 0;
    let [plain, tunnel] = captures(name, packets, |packet| {
        if packet.hosts.0 % 16 == 5 {
            lost += 1;
            return fate;
        }
        Fate::Arrives(120_000 + noise.below(30_000))
    });
    (json(&plain, &tunnel, &["--one-clock"]), lost)
}

#[test]
fn questions_of_which_nothing_is_found_leave_the_loss_open() {
    let (report, lost) = questions("questions", Fate::Unnumbered);
    let own = direction(&report, "encapsulated");
    assert!(own["loss_pct"].is_null(), "{own:#}");
    assert!(text(&own["undetermined"], "reason").contains(&format!("{lost} plaintext packets")), "{own:#}");
    assert_eq!(number(&report["pairs"], "outside_plain"), 0, "{:#}", report["pairs"]);
}

#[test]
fn questions_are_lost_where_as_many_numbers_are_missing() {
    let (report, lost) = questions("numbered", Fate::Numbered);
    let own = direction(&report, "encapsulated");
    assert_eq!(number(&own, "lost_before_tunnel"), lost, "{own:#}");
}

/// A mirror of both ports of the gateway, or a capture of all its interfaces: what it sends into the tunnel is no plaintext.
#[test]
fn a_plain_capture_may_show_the_tunnel_too() {
    let mut noise = Noise(4);
    let packets = conversation(&mut noise, 600, |_| (9, 9));
    let [plain, tunnel] = frames(packets, |_| Fate::Arrives(120_000 + noise.below(30_000)));
    let mut both = [plain.clone(), tunnel.clone()].concat();
    both.sort_by_key(|frame| frame.time_ns);
    let [plain, tunnel, both] =
        [("plain", plain), ("tunnel", tunnel), ("both", both)].map(|(side, frames)| write("mirror", side, &frames));
    let alone = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(&alone["pairs"], "matched"), 600, "{:#}", alone["pairs"]);
    let report = json(&both, &tunnel, &["--one-clock"]);
    for field in ["matched", "outside_plain", "undetermined_plain", "unmatched_tunnel"] {
        assert_eq!(report["pairs"][field], alone["pairs"][field], "{field}");
    }
    assert!(finding(&report, "match-nothing").is_none());
}
