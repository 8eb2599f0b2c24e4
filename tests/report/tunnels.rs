//! Stacks of tunnels nobody recorded: what is one tunnel, what is the customer's traffic, what has no packet inside.

use crate::support;
use std::net::Ipv4Addr;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{self, Out};
use crate::support::{items, number, text};
use serde_json::Value;

const HOST_A: Ipv4Addr = Ipv4Addr::new(192, 168, 2, 2);
const HOST_B: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 2);
const ETHERNET: usize = 14;
const ESP: u8 = 50;
const AH: u8 = 51;

/// The report of twenty frames, a millisecond apart.
fn report_of(name: &str, mut frame: impl FnMut(u32) -> Vec<Vec<u8>>) -> Value {
    let frames: Vec<Out> = (1..=20)
        .flat_map(&mut frame)
        .enumerate()
        .map(|(n, data)| Out::whole(START + 1_000_000 * n as u64, data))
        .collect();
    let dir = support::scratch("tunnels");
    let path = support::write_file(&dir, &format!("{name}.pcap"), &writer::plain_pcap(&frames));
    support::report(&[&path]).json()
}

/// An IPv4 packet without its frame.
fn packet(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    build::ipv4(src, dst, protocol, 7, payload).split_off(ETHERNET)
}

/// A packet of 100 octets from host to host.
fn inner() -> Vec<u8> {
    packet(HOST_A, HOST_B, 254, &[0xff; 80])
}

/// ESP-NULL with an ICV of twelve octets.
fn null(spi: u32, sequence: u32, inner: &[u8], next_header: u8) -> Vec<u8> {
    let mut bytes = [spi.to_be_bytes(), sequence.to_be_bytes()].concat();
    bytes.extend(inner);
    let pad = (4 - (inner.len() + 2) % 4) % 4;
    bytes.extend((1..=pad).map(|octet| octet as u8));
    bytes.extend([pad as u8, next_header]);
    bytes.extend(Noise(u64::from(sequence)).bytes(12));
    bytes
}

fn ah(spi: u32, sequence: u32, next_header: u8, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![next_header, 4, 0, 0];
    bytes.extend(spi.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(Noise(u64::from(sequence)).bytes(12));
    bytes.extend(packet);
    bytes
}

fn gre(packet: &[u8]) -> Vec<u8> {
    [&[0, 0, 8, 0], packet].concat()
}

fn only<'a>(report: &'a Value, table: &str) -> &'a Value {
    let [row] = items(report, table) else { panic!("one row of {table}: {:#}", report[table]) };
    row
}

fn part(row: &Value, name: &str) -> f64 {
    row["parts"][name].as_f64().expect("a number")
}

#[test]
fn gre_over_transport_esp_null_is_one_tunnel() {
    let report = report_of("gre", |n| vec![build::ipv4(R1, R2, ESP, 7, &null(0x2006, n, &gre(&inner()), 47))]);
    let row = only(&report, "sizes");
    assert_eq!((number(row, "inner_bytes"), number(row, "outer_bytes_min")), (100, 148));
    assert_eq!(text(row, "encapsulation"), "ipv4/esp/gre");
    let parts = ["outer_ip", "gre", "esp_header", "esp_pad", "esp_trailer", "icv"].map(|name| part(row, name));
    assert_eq!(parts, [20.0, 4.0, 8.0, 2.0, 2.0, 12.0]);
    assert_eq!(text(only(&report, "sas"), "mode"), "transport");
    assert_eq!(text(only(&report, "layers"), "stack"), "eth/ipv4/esp/gre/ipv4");
}

#[test]
fn ah_in_esp_null_is_one_tunnel() {
    let report =
        report_of("esp-ah", |n| vec![build::ipv4(R1, R2, ESP, 7, &null(0x2004, n, &ah(0x2005, n, 4, &inner()), AH))]);
    let row = only(&report, "sizes");
    assert_eq!((number(row, "inner_bytes"), number(row, "overhead_min_bytes")), (100, 68));
    assert_eq!((part(row, "outer_ip"), part(row, "ah"), part(row, "icv")), (20.0, 24.0, 12.0));
    assert_eq!(items(&report, "sas").len(), 2, "both headers are SAs");
}

#[test]
fn ah_around_esp_null_hides_nothing() {
    let report =
        report_of("ah-esp", |n| vec![build::ipv4(R1, R2, AH, 7, &ah(0x2002, n, ESP, &null(0x2003, n, &inner(), 4)))]);
    assert_eq!(number(only(&report, "sizes"), "overhead_min_bytes"), 68);
    assert_eq!(items(&report, "outer_sizes").len(), 0);
}

/// What AH and ESP-NULL in transport mode add to a datagram is what their parts are: the AH is no part of the packet inside.
#[test]
fn ah_around_transport_esp_null_is_overhead() {
    let datagram = |n| build::udp(R1, R2, (5_000, 5_001), 7, &Noise(u64::from(n)).bytes(72)).split_off(ETHERNET + 20);
    let report = report_of("ah-esp-transport", |n| {
        vec![build::ipv4(R1, R2, AH, 7, &ah(0x2002, n, ESP, &null(0x2003, n, &datagram(n), 17)))]
    });
    let row = only(&report, "sizes");
    assert_eq!((number(row, "inner_bytes"), number(row, "overhead_min_bytes")), (100, 48));
    let parts = ["outer_ip", "ah", "esp_header", "esp_pad", "esp_trailer", "icv"].map(|name| part(row, name));
    assert_eq!(parts, [0.0, 24.0, 8.0, 2.0, 2.0, 12.0]);
}

/// The packet inside is the innermost one, in IPv6 as in IPv4: a GRE tunnel or IPv4 in IPv6 between the gateways is part of the tunnel.
#[test]
fn tunnels_between_the_ends_of_esp_null_are_part_of_it() {
    let around = |next_header, payload: &[u8]| build::ipv6(R1, R2, next_header, payload).split_off(ETHERNET);
    for (name, next_header, carried, more) in [("gre", 47, gre(&inner()), 4), ("4in6", 4, inner(), 0)] {
        let report = report_of(&format!("null-v6-{name}"), |n| {
            vec![build::ipv6(R1, R2, ESP, &null(0x2009, n, &around(next_header, &carried), 41))]
        });
        let row = only(&report, "sizes");
        // Two IPv6 headers, GRE, and ESP with its trailer, padding and ICV.
        assert_eq!(number(row, "inner_bytes"), 100, "{name}: {row:#}");
        assert_eq!(part(row, "outer_ip") + part(row, "gre"), f64::from(80 + more), "{name}: {row:#}");
    }
}

#[test]
fn a_tunnel_of_others_inside_a_tunnel_is_its_traffic() {
    let others = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let customer = |n| packet(others.0, others.1, ESP, &null(0x2008, n, &inner(), 4));
    let in_esp = report_of("nested-esp", |n| vec![build::ipv4(R1, R2, ESP, 7, &null(0x2007, n, &customer(n), 4))]);
    let in_ah = report_of("nested-ah", |n| vec![build::ipv4(R1, R2, AH, 7, &ah(0x2007, n, 4, &customer(n)))]);
    for report in [in_esp, in_ah] {
        let row = only(&report, "sizes");
        assert_eq!((number(row, "inner_bytes"), number(row, "overhead_max_bytes")), (144, 44), "{row:#}");
        assert!(text(row, "sa").ends_with("0x00002007"), "{row:#}");
        // Goodput counts the customer's packet once.
        let rate = only(&report["rates"], "directions");
        let goodput = rate["goodput_bps"].as_f64().expect("all is visible");
        assert!((goodput - 20.0 * 144.0 * 8.0 / 0.019).abs() < 1.0, "{rate:#}");
    }
}

/// A mirror shows packets before a router and, in a GRE tunnel, behind it, later than copies come: no network duplicated them. The same twice between the
/// same MACs is another matter.
#[test]
fn packets_at_two_places_are_no_duplicates_of_the_network() {
    let esp = |n: u32| build::esp(R1, R2, 0x4242, n, &Noise(u64::from(n)).bytes(88));
    let severity = |name: &str, again: &dyn Fn(u32) -> Vec<u8>| {
        const LATER: u32 = 12;
        let report = report_of(name, |n| match n {
            ..=LATER => vec![esp(n)],
            20 => std::iter::once(esp(n)).chain((n - LATER..=n).map(again)).collect(),
            _ => vec![esp(n), again(n - LATER)],
        });
        let found = items(&report, "findings").iter().find(|own| text(own, "code") == "sequence-duplicate");
        let found = found.expect("the numbers came again");
        (text(found, "severity").to_owned(), text(found, "evidence").contains("two places"))
    };
    let (left, right) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
    let wrapped = |n: u32| build::ipv4(left, right, 47, n as u16, &gre(&esp(n)[ETHERNET..]));
    assert_eq!(severity("two-places", &wrapped), ("note".to_owned(), true));
    let inside = |n: u32| build::on_link(&wrapped(n), R1, R2);
    assert_eq!(severity("one-place", &inside), ("warning".to_owned(), false));
}

#[test]
fn dummy_packets_have_no_size() {
    let report = report_of("dummy", |n| {
        let (payload, next_header) = if n % 2 == 0 { (inner(), 4) } else { (Noise(9).bytes(80), 59) };
        vec![build::ipv4(R1, R2, ESP, 7, &null(0x100b, n, &payload, next_header))]
    });
    let row = only(&report, "sizes");
    assert_eq!((number(row, "frames"), number(row, "overhead_max_bytes")), (10, 44));
    let sa = only(&report, "sas");
    assert_eq!((number(sa, "frames"), number(sa, "overhead.min_bytes")), (20, 44));
}

#[test]
fn an_ah_of_impossible_length_has_no_overhead() {
    let report = report_of("ah-length", |n| {
        let mut bytes = ah(0x200e, n, 4, &inner());
        bytes[1] = 0;
        vec![build::ipv4(R1, R2, AH, 7, &bytes)]
    });
    assert_eq!(text(only(&report, "sas"), "overhead.basis"), "unknown");
    assert_eq!(items(&report, "sizes").len(), 0);
}

#[test]
fn messages_of_one_tcp_segment_share_its_packet() {
    let report = report_of("tcp", |n| {
        let message = |sequence| {
            let esp = null(0x4007, sequence, &inner(), 4);
            [&(esp.len() as u16 + 2).to_be_bytes()[..], &esp].concat()
        };
        let mut segment = vec![0x11, 0x94, 0x82, 0x35, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0];
        segment.extend(message(2 * n - 1));
        segment.extend(message(2 * n));
        vec![build::ipv4(R1, R2, 6, 7, &segment)]
    });
    let sa = only(&report, "sas");
    // IP 20, TCP 20, and twice a length of 2 and ESP around 100 octets.
    assert_eq!((number(sa, "frames"), number(sa, "outer_bytes")), (40, 20 * (40 + 2 * (2 + 124))));
    assert_eq!((number(sa, "overhead.min_bytes"), number(sa, "overhead.max_bytes")), (26, 66));
    let row = only(&report, "sizes");
    assert_eq!((part(row, "outer_ip"), part(row, "tcp"), part(row, "udp")), (10.0, 10.0, 2.0));
}

#[test]
fn what_turns_out_to_be_esp_in_udp_is_no_clear_traffic() {
    let opaque = |n: u32, bytes| {
        let noise = Noise(u64::from(n)).bytes(bytes);
        [&0x4001u32.to_be_bytes()[..], &n.to_be_bytes(), &noise].concat()
    };
    let by_evidence = report_of("udp", |n| vec![build::udp(R1, R2, (12345, 10000), 7, &opaque(n, 92))]);
    assert_eq!(number(&by_evidence, "totals.ipsec_frames"), 20);
    let in_pieces = report_of("pieces", |n| {
        let whole = build::udp(R1, R2, (4500, 4500), n as u16, &opaque(n, 1600));
        let (header, payload) = whole.split_at(ETHERNET + 20);
        let piece = |payload: &[u8], offset: u16| {
            let mut frame = build::ipv4(R1, R2, 17, n as u16, payload);
            frame[20..22].copy_from_slice(&offset.to_be_bytes());
            assert_eq!(frame.len() - payload.len(), header.len());
            frame
        };
        vec![piece(&payload[..1480], 0x2000), piece(&payload[1480..], 1480 / 8)]
    });
    assert_eq!(number(only(&in_pieces, "sas"), "fragments"), 20);
    for report in [by_evidence, in_pieces] {
        let codes: Vec<&str> = items(&report, "findings").iter().map(|f| text(f, "code")).collect();
        assert!(!codes.contains(&"clear-traffic"), "{codes:?}");
        assert_eq!(text(only(&report, "taps"), "role"), "tunnel");
        assert_eq!(only(&report["rates"], "directions")["clear_bps"].as_f64(), Some(0.0));
    }
}

/// A direction of MAC addresses says which SAs it carries, by the ids of `sas`, and between which addresses.
#[test]
fn directions_name_their_sas_and_endpoints() {
    use crate::support::build::{R1, R2, START, esp, ipv4, udp};
    use crate::support::writer::{Out, plain_pcap};
    let there = (1..=30).map(|n| esp(R1, R2, 1001, n, &[0xa5; 76]));
    let more = (1..=50).map(|n| esp(R1, R2, 2002, n, &[0xa5; 76]));
    let back = (1..=20)
        .map(|n| ipv4(R2, R1, 4, n, &udp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), (9, 9), n, &[0; 30])[14..]));
    let frames: Vec<Out> =
        (0..).zip(there.chain(more).chain(back)).map(|(at, frame)| Out::whole(START + at * 1_000_000, frame)).collect();
    let path = support::write_file(&support::scratch("report-endpoints"), "two.pcap", &plain_pcap(&frames));
    let report = support::report(&[&path]).json();
    let ids: Vec<&str> = items(&report, "sas").iter().map(|sa| text(sa, "id")).collect();
    for direction in items(&report, "rates.directions") {
        let own: Vec<&str> = items(direction, "sas").iter().filter_map(|sa| sa.as_str()).collect();
        assert!(own.iter().all(|sa| ids.contains(sa)), "{direction:#}");
        assert_eq!(direction["sas_total"], own.len());
        if text(direction, "from") == "02:00:c0:a8:01:01" {
            assert_eq!(own, ["esp/192.168.1.1/192.168.1.2/0x000007d2", "esp/192.168.1.1/192.168.1.2/0x000003e9"]);
            assert_eq!(items(direction, "endpoints"), ["192.168.1.1 > 192.168.1.2"]);
        } else {
            assert!(own.is_empty());
            assert_eq!(items(direction, "endpoints"), ["192.168.1.2 > 192.168.1.1"]);
        }
    }
    let shown = support::spiglass(&["report", path.to_str().expect("text")]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("192.168.1.2 > 192.168.1.1"), "{shown}");
}
