//! A gateway's own capture: packets that came in with IPsec are shown again, decapsulated.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Order, Out, Step, pcap, plain_pcap};
use crate::support::{self, at, items, number, text};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// What the packets of a tunnel without IPsec are: IP protocol, and what follows the IP header.
type Tunnel = fn(&[u8]) -> (u8, Vec<u8>);

fn gre(inner: &[u8]) -> (u8, Vec<u8>) {
    (47, [&[0, 0, 0x08, 0], inner].concat())
}

fn ipip(inner: &[u8]) -> (u8, Vec<u8>) {
    (4, inner.to_vec())
}

fn l2tp(inner: &[u8]) -> (u8, Vec<u8>) {
    let ppp = [&[0x40, 2, 0, 0, 0, 1, 0, 1, 0xff, 3, 0, 0x21][..], inner].concat();
    (17, build::udp(R2, R1, (1701, 1701), 0, &ppp)[34..].to_vec())
}

/// What protects a packet: IP protocol, and what follows the IP header.
type Protect = fn(&mut Noise, u32, u8, &[u8]) -> (u8, Vec<u8>);

fn sealed(noise: &mut Noise, number: u32, _: u8, payload: &[u8]) -> (u8, Vec<u8>) {
    let ciphertext = noise.bytes(8 + (payload.len() + 2).next_multiple_of(4) + 16);
    (50, [&7_u32.to_be_bytes()[..], &number.to_be_bytes(), &ciphertext].concat())
}

fn null(noise: &mut Noise, number: u32, protocol: u8, payload: &[u8]) -> (u8, Vec<u8>) {
    let pad = (4 - (payload.len() + 2) % 4) % 4;
    let padding: Vec<u8> = (1..=pad as u8).collect();
    let head = [7_u32.to_be_bytes(), number.to_be_bytes()].concat();
    (50, [&head, payload, &padding, &[pad as u8, protocol], &noise.bytes(12)].concat())
}

fn in_udp(noise: &mut Noise, number: u32, protocol: u8, payload: &[u8]) -> (u8, Vec<u8>) {
    let (_, esp) = sealed(noise, number, protocol, payload);
    (17, build::udp(R2, R1, (4500, 4500), 0, &esp)[34..].to_vec())
}

fn ah(noise: &mut Noise, number: u32, protocol: u8, payload: &[u8]) -> (u8, Vec<u8>) {
    let head = [&[protocol, 4, 0, 0][..], &7_u32.to_be_bytes(), &number.to_be_bytes()].concat();
    (51, [&head, &noise.bytes(12), payload].concat())
}

/// A packet of a user, of so many bytes.
fn inner(n: u32, bytes: usize) -> Vec<u8> {
    build::udp([10, 2, 0, 9].into(), [10, 1, 0, 5].into(), (9, 9), n as u16, &vec![n as u8; bytes - 28])[14..].to_vec()
}

/// Each packet in turn with IPsec and without, some time later.
fn shown_twice(lengths: &[usize], tunnel: Tunnel, protect: Protect) -> Vec<Out> {
    let mut noise = Noise(3);
    let packets = (1..=300_u32).zip(lengths.iter().cycle()).flat_map(|(n, &bytes)| {
        let (protocol, payload) = tunnel(&inner(n, bytes));
        let (outer, body) = protect(&mut noise, n, protocol, &payload);
        let time = START + u64::from(n) * 3 * MS;
        let frame = |protocol, body: &[u8]| build::ipv4(R2, R1, protocol, n as u16, body);
        [Out::whole(time, frame(outer, &body)), Out::whole(time + 20 * US, frame(protocol, &payload))]
    });
    packets.collect()
}

fn report(test: &str, file: &[u8]) -> Value {
    let path = support::write_file(&support::scratch("gateway"), &format!("{test}.pcap"), file);
    support::report(&[&path]).json()
}

fn said(report: &Value) -> Vec<&str> {
    items(report, "findings")
        .iter()
        .filter(|f| text(f, "code") == "gateway-view")
        .map(|f| text(f, "evidence"))
        .collect()
}

/// Bytes that a rate of a direction makes in its time.
fn bytes(direction: &Value, rate: &str) -> Option<f64> {
    Some(at(direction, rate).as_f64()? * at(direction, "seconds").as_f64()? / 8.0)
}

const LENGTHS: &[usize] = &[60, 90, 128, 333, 512, 777, 1_024, 1_300];

#[test]
fn tunnel_packets_that_come_out_of_ipsec_count_once() {
    let inside: usize = LENGTHS.iter().cycle().take(300).sum();
    let tunnels: [(&str, Tunnel); 3] = [("gre", gre), ("ipip", ipip), ("l2tp", l2tp)];
    let protections: [(&str, Protect); 4] = [("sealed", sealed), ("null", null), ("natt", in_udp), ("ah", ah)];
    for ((tunnel, make), (protection, protect)) in
        tunnels.iter().flat_map(|t| protections.iter().map(move |p| (*t, *p)))
    {
        let name = format!("{tunnel}-{protection}");
        let frames = shown_twice(LENGTHS, make, protect);
        let on_the_wire: usize = frames.iter().step_by(2).map(|frame| frame.data.len() - 14).sum();
        let report = report(&name, &plain_pcap(&frames));
        let [said] = said(&report)[..] else { panic!("{name}: {}", at(&report, "findings")) };
        assert!(said.starts_with("300 packets in a tunnel without IPsec directly follow"), "{name}: {said}");
        let direction = at(&report, "rates.directions.0");
        assert_eq!(number(direction, "frames"), 300, "{name}");
        let is = |rate: &str, expected: usize| {
            let found = bytes(direction, rate);
            assert!(found.is_none_or(|found| (found - expected as f64).abs() < 1.0), "{name}: {rate} {found:?}");
            found.is_some()
        };
        assert!(is("l3_bps", on_the_wire), "{name}");
        // UDP in ESP-NULL is not looked into: the packet inside is that of the carrier.
        let carried = if name == "l2tp-null" { inside + 300 * 40 } else { inside };
        assert_eq!(is("goodput_bps", carried), matches!(protection, "null" | "ah"), "{name}");
        let seconds = at(direction, "seconds").as_f64().expect("a time");
        let least = at(direction, "if_no_tfc").get("goodput_min_bps").and_then(Value::as_f64).unwrap_or_default();
        assert!(least * seconds / 8.0 <= inside as f64 + 1.0, "{name}: {least} bit/s of {inside} bytes");
        let bins: u64 = items(&report, "rates.bins").iter().filter_map(|bin| at(bin, "goodput_bytes").as_u64()).sum();
        assert!(bins == 0 || bins == inside as u64, "{name}: {bins} of {inside}");
    }
}

/// Captured on "any": the packet that comes out has the addresses of the one it came in, and passed no other wire.
#[test]
fn tunnel_packets_count_once_without_mac_addresses() {
    let inside: usize = LENGTHS.iter().cycle().take(300).sum();
    let frames = shown_twice(LENGTHS, gre, null).into_iter().map(|frame| {
        Out::whole(frame.time_ns, [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0], &frame.data[14..]].concat())
    });
    let frames: Vec<Out> = frames.collect();
    let report = report("cooked", &pcap(&frames, 113, Order::Little, Step::Micro));
    assert_eq!(said(&report).len(), 1, "{}", at(&report, "findings"));
    let goodput = bytes(at(&report, "rates.directions.0"), "goodput_bps");
    assert!(goodput.is_some_and(|bytes| (bytes - inside as f64).abs() < 1.0), "{goodput:?} of {inside}");
}

/// A tunnel without IPsec beside one with it, of the same routers: each has packets of its own.
#[test]
fn a_tunnel_beside_ipsec_is_not_what_comes_out_of_it() {
    for tunnel in [gre as Tunnel, ipip] {
        let mut noise = Noise(4);
        let mut inside = 0;
        let frames = (1..=400_u32).flat_map(|n| {
            let length = |noise: &mut Noise| LENGTHS[noise.below(LENGTHS.len() as u64) as usize];
            let (one, other) = (length(&mut noise), length(&mut noise));
            inside += one + other;
            let (protocol, payload) = tunnel(&inner(n, one));
            let (outer, body) = null(&mut noise, n, protocol, &payload);
            let (_, clear) = tunnel(&inner(n, other));
            let time = START + u64::from(n) * 3 * MS;
            let frame = |protocol, body: &[u8]| build::ipv4(R2, R1, protocol, n as u16, body);
            [Out::whole(time, frame(outer, &body)), Out::whole(time + 20 * US, frame(protocol, &clear))]
        });
        let frames: Vec<Out> = frames.collect();
        let report = report("beside", &plain_pcap(&frames));
        assert!(said(&report).is_empty(), "{:?}", said(&report));
        let goodput = bytes(at(&report, "rates.directions.0"), "goodput_bps");
        assert!(goodput.is_some_and(|bytes| (bytes - inside as f64).abs() < 1.0), "{goodput:?} of {inside}");
    }
}

/// A tunnel between others than the ends of the SA does not come out of it, however closely it follows.
#[test]
fn a_tunnel_between_others_is_not_what_comes_out_of_ipsec() {
    let mut frames = shown_twice(LENGTHS, gre, ah);
    for frame in frames.iter_mut().skip(1).step_by(2) {
        let others = build::ipv4([172, 16, 0, 2].into(), [172, 16, 0, 1].into(), 47, 1, &frame.data[34..]);
        frame.data = [&frame.data[..12], &others[12..]].concat();
    }
    let report = report("others", &plain_pcap(&frames));
    assert!(said(&report).is_empty(), "{:?}", said(&report));
    assert_eq!(number(at(&report, "rates.directions.0"), "frames"), 600);
}

/// Of one length, a tunnel beside the other in lock-step looks like what comes out of it.
#[test]
fn of_one_length_it_is_not_known_whether_a_tunnel_comes_out_of_ipsec() {
    let report = report("one-length", &plain_pcap(&shown_twice(&[200], gre, sealed)));
    let [said] = said(&report)[..] else { panic!("{}", at(&report, "findings")) };
    assert!(said.contains("do not show which"), "{said}");
    let direction = at(&report, "rates.directions.0");
    assert!(at(direction, "goodput_bps").is_null() && at(direction, "l1_bps").is_null(), "{direction}");
}

/// A TAP at the only port of a gateway, under a load whose packets all come back as long as they went: each passes encapsulated and in clear, and the
/// answer in clear follows the request in ESP in its direction.
#[test]
fn answers_at_the_only_port_of_a_gateway_were_on_the_wire() {
    let (near, far): (std::net::Ipv4Addr, std::net::Ipv4Addr) = ([10, 1, 0, 5].into(), [10, 2, 0, 9].into());
    let (mut noise, mut frames) = (Noise(8), Vec::new());
    for n in 1..=300_u32 {
        let bytes = 60 + noise.below(1_200) as usize;
        let esp = |noise: &mut Noise| noise.bytes(16 + (bytes + 2).next_multiple_of(16) + 12);
        let clear = |src, dst, from, to| {
            build::on_link(&build::udp(src, dst, (9, 9), n as u16, &vec![7; bytes - 28]), from, to)
        };
        let request = build::esp(R1, R2, 0x1001, n, &esp(&mut noise));
        let answer = build::esp(R2, R1, 0x2002, n, &esp(&mut noise));
        let steps = [(0, request), (40, clear(near, far, R2, R1)), (400, clear(far, near, R1, R2)), (440, answer)];
        frames.extend(steps.map(|(after, frame)| Out::whole(START + u64::from(n) * MS + after * US, frame)));
    }
    let path = support::write_file(&support::scratch("gateway-one-armed"), "one-armed.pcap", &plain_pcap(&frames));
    let report = support::report(&[&path]).json();
    let told = items(&report, "findings").iter().find(|finding| text(finding, "code") == "gateway-view");
    let told = text(told.expect("they follow"), "evidence");
    assert!(told.contains("It does not show which") && !told.contains("were not on"), "{told}");
    for direction in items(&report, "rates.directions") {
        assert!(at(direction, "frames_per_s").is_null() || number(direction, "frames") == 600, "{direction}");
    }
}

/// Without MAC addresses nothing is taken out of the rates of a gateway's own capture, and nothing says so.
#[test]
fn a_capture_without_macs_has_no_rates_by_mac() {
    let (mut noise, mut frames) = (Noise(9), Vec::new());
    for n in 1..=60_u32 {
        let bytes = 60 + noise.below(1_000) as usize;
        let esp = build::esp(R2, R1, 7, n, &noise.bytes(16 + (bytes + 2).next_multiple_of(16) + 12));
        let clear = build::ipv4([10, 2, 0, 9].into(), [10, 1, 0, 5].into(), 17, n as u16, &inner(n, bytes)[20..]);
        let time = START + u64::from(n) * MS;
        let steps = [(0, esp), (20, clear.clone()), (30, build::one_hop_further(&clear))];
        frames.extend(steps.map(|(after, frame)| Out::whole(time + after * US, frame[14..].to_vec())));
    }
    let file = pcap(&frames, 101, Order::Little, Step::Nano);
    let path = support::write_file(&support::scratch("gateway-raw"), "raw.pcap", &file);
    let report = support::report(&[&path]).json();
    let told = items(&report, "findings").iter().find(|finding| text(finding, "code") == "gateway-view");
    let told = text(told.expect("they follow"), "evidence");
    assert!(told.contains("Rates by address count them") && !told.contains("MAC"), "{told}");
}
