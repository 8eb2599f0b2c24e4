//! What makes the two sides unequal although all is in order: hosts that begin late, packets that the gateway refuses, that overtake each other, that a
//! network card divides, that a snapshot length cuts, and timestamps coarser than the gateway is slow.

mod readings;

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::json;
use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{fixture, items, number, scratch, text, write_file};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 10);
const LATE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 11);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 20);
/// The gateway on the plaintext link.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
/// Through the gateway.
const WAY: u64 = 100_000;
const PACKETS: u64 = 500;
const GAP: u64 = 2_000_000;

/// A packet that one or both taps show.
#[derive(Clone)]
struct Shown {
    there: bool,
    plain_ns: Option<u64>,
    tunnel_ns: Option<u64>,
    /// The frame before the gateway.
    frame: Vec<u8>,
}

/// A datagram between a host and the far one.
fn datagram(there: bool, ns: u64, host: Ipv4Addr, id: u16, payload: &[u8]) -> Shown {
    let (src, dst) = if there { (host, FAR) } else { (FAR, host) };
    let frame = build::udp(src, dst, (20_001, 20_002), id, payload);
    let (plain_ns, tunnel_ns) = if there { (ns, ns + WAY) } else { (ns + WAY, ns) };
    Shown { there, plain_ns: Some(plain_ns), tunnel_ns: Some(tunnel_ns), frame }
}

/// Datagrams both ways.
fn load(seed: u64, sizes: &[usize]) -> Vec<Shown> {
    let mut noise = Noise(seed);
    let mut all = Vec::new();
    for packet in 0..PACKETS {
        for there in [true, false] {
            let ns = START + packet * GAP + noise.below(GAP / 2) + if there { 0 } else { GAP / 2 };
            let bytes = match sizes {
                [] => 40 + noise.below(900) as usize,
                sizes => sizes[noise.below(sizes.len() as u64) as usize],
            };
            all.push(datagram(there, ns, NEAR, packet as u16, &noise.bytes(bytes)));
        }
    }
    all
}

/// What is behind SPI and number, by the packet inside.
type Body = fn(&mut Noise, &[u8]) -> Vec<u8>;

/// AES-CBC with SHA1 in tunnel mode.
fn opaque(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    noise.bytes(16 + (inner.len() + 2).next_multiple_of(16) + 12)
}

/// The same of GRE in transport mode.
fn opaque_gre(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    noise.bytes(16 + (inner.len() + 4 + 2).next_multiple_of(16) + 12)
}

/// ESP-NULL with SHA1.
fn null(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    let pad = (4 - (inner.len() + 2) % 4) % 4;
    let pads: Vec<u8> = (1..=pad as u8).collect();
    [inner, &pads, &[pad as u8, 4], &noise.bytes(12)].concat()
}

/// ESP-NULL around IPv6.
fn null_v6(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    let mut body = null(noise, inner);
    let next_header = body.len() - 13;
    body[next_header] = 41;
    body
}

/// The same of GRE in transport mode.
fn null_gre(noise: &mut Noise, inner: &[u8]) -> Vec<u8> {
    let pad = (4 - (inner.len() + 4 + 2) % 4) % 4;
    let pads: Vec<u8> = (1..=pad as u8).collect();
    [&[0, 0, 8, 0], inner, &pads, &[pad as u8, 47], &noise.bytes(12)].concat()
}

/// How the captures are made.
struct Taps {
    body: Body,
    /// Of timestamps, in nanoseconds.
    step: u64,
    snaplen: usize,
    /// When another SA takes over, both ways.
    rekeyed_ns: u64,
    /// The tunnel's capture is the gateway's own: it shows what comes out of the tunnel once more, in clear.
    at_gateway: bool,
}

const TAPS: Taps = Taps { body: opaque, step: 1, snaplen: usize::MAX, rekeyed_ns: u64::MAX, at_gateway: false };

/// The report on captures by one clock.
fn report(name: &str, shown: &[Shown], taps: &Taps, more: &[&str]) -> Value {
    let mut noise = Noise(99);
    let out = |ns: u64, frame: &[u8]| {
        let mut out = Out::whole(ns / taps.step * taps.step, frame.to_vec());
        out.data.truncate(taps.snaplen);
        out
    };
    let plain = shown.iter().filter_map(|own| {
        let clear = if own.there { own.frame.clone() } else { build::one_hop_further(&own.frame) };
        Some(out(own.plain_ns?, &clear))
    });
    let mut plain: Vec<Out> = plain.collect();
    let mut inside: Vec<(u64, &Shown)> = shown.iter().filter_map(|own| Some((own.tunnel_ns?, own))).collect();
    inside.sort_by_key(|(ns, _)| *ns);
    let mut numbers = [[0_u32; 2]; 2];
    let mut tunnel = Vec::new();
    for (ns, own) in inside {
        let clear = if own.there { build::one_hop_further(&own.frame) } else { own.frame.clone() };
        let (from, to, spi) = if own.there { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
        let is_second = ns >= taps.rekeyed_ns;
        let spi = if is_second { spi + 0x100 } else { spi };
        let next = &mut numbers[usize::from(is_second)][usize::from(own.there)];
        *next += 1;
        tunnel.push(out(ns, &build::esp(from, to, spi, *next, &(taps.body)(&mut noise, &clear[14..]))));
        if taps.at_gateway && !own.there {
            tunnel.push(out(ns + 3_000, &build::on_link(&clear, from, to)));
        }
    }
    plain.sort_by_key(|frame| frame.time_ns);
    let file = |side: &str, frames: &[Out]| {
        let bytes = pcap(frames, ETHERNET, Order::Little, Step::Nano);
        write_file(&scratch("match-unequal"), &format!("{name}-{side}.pcap"), &bytes)
    };
    json(&file("plain", &plain), &file("tunnel", &tunnel), more)
}

/// The direction into the tunnel, or out of it.
fn direction(report: &Value, there: bool) -> &Value {
    let end = if there { "00001001" } else { "00002001" };
    items(report, "directions").iter().find(|own| text(own, "sa").ends_with(end)).expect("a direction")
}

fn losses(report: &Value) -> [Option<u64>; 2] {
    let lost = |there, member| direction(report, there)[member].as_u64();
    [lost(true, "lost_before_tunnel"), lost(false, "lost_behind_tunnel")]
}

/// A host on the plaintext link that begins to send when all others are known.
#[test]
fn hosts_that_begin_late_are_not_passed_over() {
    let mut shown = load(1, &[]);
    let mut noise = Noise(11);
    let mut lost = 0;
    for packet in 0..40_u64 {
        let ns = START + (PACKETS + packet * 10) * GAP;
        let mut own = datagram(true, ns, LATE, packet as u16, &noise.bytes(100 + packet as usize * 9));
        if packet % 2 == 1 {
            own.tunnel_ns = None;
            lost += 1;
        }
        shown.push(own);
    }
    for packet in 0..400 {
        let (ns, bytes) = (START + (PACKETS + packet) * GAP + GAP / 3, 40 + noise.below(900) as usize);
        shown.push(datagram(packet % 2 == 0, ns, NEAR, 7_000 + packet as u16, &noise.bytes(bytes)));
    }
    shown.iter_mut().for_each(|own| {
        let host = if own.frame[29] == LATE.octets()[3] { LATE } else { NEAR };
        let (from, to) = if own.there { (host, GATEWAY) } else { (GATEWAY, host) };
        own.frame = build::on_link(&own.frame, from, to);
    });
    let report = report("late", &shown, &TAPS, &["--one-clock"]);
    assert_eq!(losses(&report), [Some(lost), Some(0)], "{:#}", report["directions"]);
}

/// The packet of an ICMP error that says that one was too big, back to its sender.
fn refusal(own: &Shown, mtu: u16) -> Shown {
    let quoted = &own.frame[14..42];
    let mut icmp = vec![3, 4, 0, 0, 0, 0];
    icmp.extend(mtu.to_be_bytes());
    icmp.extend(quoted);
    let frame = build::ipv4(GATEWAY, NEAR, 1, 1, &icmp);
    Shown { there: false, plain_ns: own.plain_ns.map(|ns| ns + WAY), tunnel_ns: None, frame }
}

/// The gateway says of each packet that it is too big: these are lost, and nothing else is in doubt. `id`: of the first of them.
fn refused(dst: Ipv4Addr) -> Value {
    let mut shown = load(2, &[]);
    let mut noise = Noise(12);
    for packet in 0..8_u16 {
        let ns = START + (50 + u64::from(packet) * 40) * GAP + GAP / 4;
        let mut own = datagram(true, ns, NEAR, 0, &[]);
        own.frame = build::ipv4(NEAR, dst, 47, 500 + packet, &noise.bytes(1_480));
        own.tunnel_ns = None;
        shown.push(refusal(&own, 1_400));
        shown.push(own);
    }
    report(&format!("refused-{dst}"), &shown, &TAPS, &["--one-clock"])
}

#[test]
fn packets_that_the_gateway_refused_are_lost() {
    let report = refused(FAR);
    assert_eq!(losses(&report), [Some(8), Some(0)], "{:#}", report["directions"]);
    let named = items(&report, "lost");
    assert_eq!(named.len(), 8);
    assert!(named.iter().all(|lost| lost["verdict"] == "before-tunnel" && number(lost, "inner_bytes") == 1_500));
    // Nothing tells where other hosts are.
    let elsewhere = self::refused(Ipv4Addr::new(10, 0, 9, 9));
    assert_eq!(losses(&elsewhere), [None, Some(0)], "{:#}", elsewhere["directions"]);
    let reason = text(direction(&elsewhere, true), "undetermined.reason");
    assert!(reason.starts_with("8 packets of flows") && reason.contains("MTU of 1400 B"), "{reason}");
}

/// No packet leaves before it came, whatever the step of the timestamps makes of it.
#[test]
fn no_latency_is_below_zero() {
    let report = report("coarse", &load(3, &[]), &Taps { step: 1_000_000, ..TAPS }, &[]);
    for there in [true, false] {
        let own = direction(&report, there);
        assert!(number(own, "matched") > 400, "{own:#}");
        assert!(own["latency_ns"]["min"].as_i64().is_none_or(|least| least >= 0), "{own:#}");
    }
}

/// A gateway with several queues hands over some packets later than those behind them, before it counts them and after.
#[test]
fn packets_that_others_overtake_are_not_lost() {
    let mut shown = load(4, &[20, 548, 1_372]);
    for own in shown.iter_mut().skip(5).step_by(23) {
        let late = if own.there { &mut own.tunnel_ns } else { &mut own.plain_ns };
        *late = late.map(|ns| ns + 2 * GAP);
    }
    let report = report("overtaken", &shown, &TAPS, &["--one-clock"]);
    assert_eq!(losses(&report), [Some(0), Some(0)], "{:#}", report["directions"]);
}

/// Lengths of three sizes fit tunnel mode as well as GRE; a few others fit GRE alone.
#[test]
fn few_packets_tell_gre_from_tunnel_mode() {
    let mut shown = load(5, &[36, 548, 1_372]);
    let mut noise = Noise(15);
    for packet in 0..60_u64 {
        let (ns, bytes) = (START + (packet * 8 + 3) * GAP + GAP / 4, 28 + noise.below(40) as usize);
        shown.push(datagram(true, ns, NEAR, 9_000 + packet as u16, &noise.bytes(bytes)));
    }
    let report = report("gre", &shown, &Taps { body: opaque_gre, ..TAPS }, &[]);
    for there in [true, false] {
        let own = direction(&report, there);
        assert_eq!(own["loss_pct"].as_f64(), Some(0.0), "{own:#}");
        assert_ne!(own["mode"], "tunnel", "{own:#}");
    }
    let report = self::report("null-gre", &load(6, &[]), &Taps { body: null_gre, ..TAPS }, &[]);
    for there in [true, false] {
        assert_eq!(direction(&report, there)["mode"], "transport");
    }
}

/// ESP-NULL is found by its content where a snapshot length cut the ends of long packets.
#[test]
fn cut_packets_in_clear_are_read_like_whole_ones() {
    let mut shown = load(7, &[20, 548, 1_372]);
    let mut lost = [0; 2];
    for own in shown.iter_mut().skip(9).step_by(41) {
        *if own.there { &mut own.tunnel_ns } else { &mut own.plain_ns } = None;
        lost[usize::from(!own.there)] += 1;
    }
    let report = report("cut", &shown, &Taps { body: null, snaplen: 128, ..TAPS }, &[]);
    assert_eq!(losses(&report), lost.map(Some), "{:#}", report["directions"]);
    assert_eq!(number(&report, "pairs.by_basis.order"), 0);
    assert_eq!(direction(&report, true)["mode"], "tunnel");
    // Of 60 octets too little of the content is there, and lengths do not tell it from ciphertext.
    let report = self::report("cut-60", &load(8, &[]), &Taps { body: null, snaplen: 60, ..TAPS }, &[]);
    assert!(text(direction(&report, true), "transform.evidence").contains("ESP-NULL"), "{:#}", report["directions"]);
}

/// IPv6 has no checksum: of packets whose ends were cut one does not tell that the SA does not encrypt, but several do, and the first ones are no loss.
#[test]
fn the_first_cut_packets_in_clear_are_not_lost() {
    let mut shown = load(24, &[]);
    for own in &mut shown {
        let (src, dst) = if own.there { (NEAR, FAR) } else { (FAR, NEAR) };
        own.frame = build::ipv6(src, dst, 17, &own.frame[34..]);
    }
    for rekeyed_ns in [u64::MAX, START + PACKETS / 2 * GAP] {
        let taps = Taps { body: null_v6, snaplen: 128, rekeyed_ns, ..TAPS };
        let report = report("cut-v6", &shown, &taps, &["--one-clock"]);
        assert_eq!(losses(&report), [Some(0), Some(0)], "{:#}", report["directions"]);
        assert!(
            items(&report, "findings").iter().all(|own| text(own, "code") != "match-loss"),
            "{:#}",
            report["findings"]
        );
    }
}

/// After a rekey nothing comes out of the new SA: it is not passed over in silence.
#[test]
fn an_sa_of_which_no_packet_is_found_is_said() {
    for (name, body) in [("dead-null", null as Body), ("dead-opaque", opaque)] {
        let rekeyed_ns = START + PACKETS * 3 / 4 * GAP;
        let mut shown = load(23, &[]);
        for own in shown.iter_mut().filter(|own| !own.there && own.tunnel_ns.is_some_and(|ns| ns >= rekeyed_ns)) {
            own.plain_ns = None;
        }
        let report = report(name, &shown, &Taps { body, rekeyed_ns, ..TAPS }, &["--one-clock"]);
        let new = items(&report, "directions").iter().find(|own| text(own, "sa").ends_with("00002101"));
        let new = new.expect("the new SA has a row");
        let reason = text(new, "undetermined.reason");
        assert!(reason.contains("none of its") && new["loss_pct"].is_null(), "{name}: {new:#}");
        let said = items(&report, "findings").iter().any(|own| text(own, "code") == "match-undetermined");
        assert!(said, "{name}: {:#}", report["findings"]);
    }
}

/// A download at an even pace, whose pairs may be shifted, and the answers to pings beside it, which are on their way for less time.
#[test]
fn answers_beside_a_download_are_not_lost() {
    let [plain, tunnel] =
        ["plain", "tunnel"].map(|side| fixture(&format!("situations/download-and-ping-{side}.pcap.gz")));
    let report = json(&plain, &tunnel, &[]);
    let back = items(&report, "directions").iter().find(|own| text(own, "way") == "decapsulated").expect("a direction");
    assert!(back["lost_behind_tunnel"].as_u64().is_none_or(|lost| lost == 0), "{back:#}");
    assert!(text(back, "undetermined.reason").contains("fit, by length and time"), "{back:#}");
    assert!(items(&report, "outside").is_empty(), "{:#}", report["outside"]);
}

/// A gateway that fragments before it encrypts, at the beginning of a capture with many packets behind it.
#[test]
fn fragments_inside_are_found_wherever_they_are() {
    let mut noise = Noise(21);
    let mut shown = Vec::new();
    for packet in 0..6_000_u64 {
        for there in [true, false] {
            let ns = START + packet * GAP / 8 + if there { 0 } else { GAP / 16 };
            shown.push(datagram(there, ns, NEAR, packet as u16, &noise.bytes(40 + packet as usize % 200)));
        }
    }
    for packet in 0..60_u64 {
        let there = packet % 2 == 0;
        let own =
            datagram(there, START + packet * 11 * GAP + GAP / 40, NEAR, 50_000 + packet as u16, &noise.bytes(1_400));
        for (part, frame) in (0..).zip(build::in_fragments(&own.frame, 1_200)) {
            let tunnel_ns = own.tunnel_ns.map(|ns| ns + part * 4_000);
            shown.push(Shown { there, plain_ns: None, tunnel_ns, frame });
        }
        shown.push(Shown { tunnel_ns: None, ..own });
    }
    let report = report("pre-fragmented", &shown, &Taps { body: null, ..TAPS }, &["--one-clock"]);
    assert_eq!(losses(&report), [Some(0), Some(0)], "{:#}", report["directions"]);
    for there in [true, false] {
        assert_eq!(number(direction(&report, there), "matched"), 6_030);
    }
}

/// A capture on the gateway's own link shows each packet that comes out of the tunnel once more, in clear: that one did not bypass the tunnel.
#[test]
fn what_a_gateway_shows_twice_is_not_beside_the_tunnel() {
    for (name, body) in [("own-null", null as Body), ("own-opaque", opaque)] {
        let mut shown = load(9, &[]);
        let mut lost = [0; 2];
        for own in shown.iter_mut().skip(9).step_by(41) {
            *if own.there { &mut own.tunnel_ns } else { &mut own.plain_ns } = None;
            lost[usize::from(!own.there)] += 1;
        }
        let report = report(name, &shown, &Taps { body, at_gateway: true, ..TAPS }, &["--one-clock"]);
        assert_eq!(losses(&report), lost.map(Some), "{name}: {:#}", report["directions"]);
        assert_eq!(items(&report, "outside").len(), 0, "{name}: {:#}", report["outside"]);
    }
}

/// A TCP segment with so many octets behind a header of 20.
fn segment(there: bool, ns: u64, id: u16, number: u32, flags: u8, content: &[u8]) -> Shown {
    let mut tcp = vec![0x9c, 0x40, 0x01, 0xbb];
    tcp.extend(number.to_be_bytes());
    tcp.extend([0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    tcp.extend(content);
    let mut own = datagram(there, ns, NEAR, 0, &[]);
    let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
    own.frame = build::ipv4(src, dst, 6, id, &tcp);
    own
}

/// Segments that the network card of the sender made of longer ones, and the maximum segment size that the gateway lowered.
#[test]
fn what_is_divided_or_rewritten_on_the_way_is_not_lost() {
    let mut shown = load(8, &[]);
    let mut noise = Noise(18);
    for packet in 0..100_u32 {
        let ns = START + u64::from(packet) * 4 * GAP + GAP / 3;
        let content = noise.bytes(1_000 * (1 + packet as usize % 4));
        let first = 1_000_000 * packet;
        let mut joined = segment(true, ns, packet as u16 * 8, first, 0x10, &content);
        if content.len() > 1_000 {
            for (part, octets) in content.chunks(1_000).enumerate() {
                let part = part as u32;
                let ns = ns + u64::from(part) * 12_000;
                let mut own = segment(true, ns, (packet * 8 + part) as u16, first + part * 1_000, 0x10, octets);
                own.plain_ns = None;
                shown.push(own);
            }
            joined.tunnel_ns = None;
        }
        shown.push(joined);
    }
    for packet in 0..12_u16 {
        let ns = START + u64::from(packet) * 30 * GAP + GAP / 5;
        let own = segment(true, ns, 40_000 + packet, 77 * u32::from(packet), 2, &[2, 4, 5, 0xb4]);
        let mut lowered = Shown { plain_ns: None, ..own.clone() };
        lowered.frame[56..58].copy_from_slice(&[5, 0]);
        shown.extend([Shown { tunnel_ns: None, ..own }, lowered]);
    }
    for (name, rekeyed_ns) in [("divided", u64::MAX), ("divided-rekeyed", START + PACKETS / 2 * GAP)] {
        let report = report(name, &shown, &Taps { body: null, rekeyed_ns, ..TAPS }, &["--one-clock"]);
        let lost = |own: &Value| [own["lost_before_tunnel"].as_u64(), own["lost_behind_tunnel"].as_u64()];
        let all: Vec<_> = items(&report, "directions").iter().map(lost).collect();
        assert!(all.iter().all(|lost| lost.contains(&Some(0))), "{name}: {:#}", report["directions"]);
        let divided = items(&report, "degraded_why").iter().any(|why| why.to_string().contains("segmentation offload"));
        assert!(divided, "{name}: {:#}", report["degraded_why"]);
    }
}
