//! Copies that a mirror makes of packets of which little shows: behind other tags under a small snapshot length, and fragments.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Tags in front of the EtherType of a copy.
const TAGS: [&[u8]; 4] = [&[], &[0x81, 0, 0, 7], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9], &[0x88, 0x47, 0, 1, 1, 64]];

/// A frame with tags; of MPLS, the EtherType is in the place of that of IP.
fn tagged(frame: &[u8], tags: &[u8]) -> Vec<u8> {
    match tags {
        [0x88, 0x47, ..] => [&frame[..12], tags, &frame[14..]].concat(),
        _ => [&frame[..12], tags, &frame[12..]].concat(),
    }
}

/// The report on frames ten milliseconds apart, each with a copy shortly behind, of which no more than so many octets were captured.
fn report(test: &str, frames: &[Vec<u8>], tags: &[u8], snaplen: usize) -> Value {
    report_of(test, frames, tags, snaplen, 262_144)
}

/// The same of a capture that states its snapshot length.
fn report_of(test: &str, frames: &[Vec<u8>], tags: &[u8], snaplen: usize, stated: u32) -> Value {
    let cut = |time_ns: u64, mut data: Vec<u8>| {
        let wire_bytes = data.len() as u32;
        data.truncate(snaplen);
        Out { time_ns, data, wire_bytes }
    };
    // All fragments of a packet come before their copies do.
    let mut out: Vec<Out> = (0..)
        .zip(frames)
        .flat_map(|(n, frame)| {
            let at = START + n / 2 * 10 * MS + n % 2 * 5 * US;
            [cut(at, frame.clone()), cut(at + 20 * US, tagged(frame, tags))]
        })
        .collect();
    out.sort_by_key(|frame| frame.time_ns);
    let mut file = plain_pcap(&out);
    file[16..20].copy_from_slice(&stated.to_le_bytes());
    let path = support::write_file(&support::scratch("mirrored"), &format!("{test}.pcap"), &file);
    support::report(&[&path]).json()
}

fn said<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

/// ESP in IPv4 or IPv6, in UDP or not.
fn esp(noise: &mut Noise, number: u32, v6: bool, in_udp: bool) -> Vec<u8> {
    let esp = [&0x1001_u32.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(400)].concat();
    let datagram = [&[0x11, 0x94, 0x11, 0x94][..], &(8 + esp.len() as u16).to_be_bytes(), &[0, 0], &esp].concat();
    let (protocol, payload) = if in_udp { (17, datagram) } else { (50, esp) };
    if v6 { build::ipv6(R1, R2, protocol, &payload) } else { build::ipv4(R1, R2, protocol, number as u16, &payload) }
}

/// Of a copy behind a tag fewer octets were captured. The numbers are there all the same, and nothing was sent twice.
#[test]
fn copies_behind_tags_are_copies_under_any_snapshot_length_that_shows_the_number() {
    for (v6, in_udp) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut noise = Noise(3);
        let frames: Vec<Vec<u8>> = (1..=200).map(|number| esp(&mut noise, number, v6, in_udp)).collect();
        let shows_number = 14 + if v6 { 40 } else { 20 } + if in_udp { 8 } else { 0 } + 8;
        for tags in TAGS {
            for more in [0, 2, 4, 8, 12, 16, 20, 24, 28, 40] {
                let snaplen = shows_number + tags.len() + more;
                let what = format!("IPv6 {v6}, UDP {in_udp}, {tags:x?}, {snaplen}");
                let report = report("tagged", &frames, tags, snaplen);
                assert_eq!(number(&report, "sas.0.copies_removed"), 200, "{what}");
                assert!(said(&report, "sequence-duplicate").is_none(), "{what}");
            }
        }
    }
}

/// Later fragments of ESP in UDP show nothing but addresses, and so do the copies of them: neither are in clear.
#[test]
fn copies_of_fragments_of_esp_in_udp_are_not_in_clear() {
    let mut noise = Noise(4);
    let packet = |number: u32| {
        let esp = [&0x1001_u32.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(1_480)].concat();
        build::in_fragments(&build::udp(R1, R2, (4_500, 4_500), number as u16, &esp), 1_200)
    };
    let mut frames: Vec<Vec<u8>> = (1..=200).flat_map(packet).collect();
    for tags in &TAGS[..2] {
        let report = report("fragments", &frames, tags, 2_000);
        assert!(said(&report, "clear-traffic").is_none(), "{}", at(&report, "findings"));
        assert_eq!(text(&report, "taps.0.role"), "tunnel");
    }
    // What users send in fragments beside it is.
    for number in 0..100 {
        let datagram = build::udp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), (7, 7), number, &[7; 1_400]);
        frames.extend(build::in_fragments(&datagram, 800));
    }
    let report = report("fragments-beside", &frames, TAGS[0], 2_000);
    let clear = said(&report, "clear-traffic").expect("it is said");
    assert_eq!(number(clear, "count"), 400, "{clear:#}");
    assert!(!text(clear, "evidence").contains("192.168"), "{clear:#}");
}

/// Datagrams that may be ESP on unusual ports, of about as many octets as are captured: a copy behind a tag is cut, and the packet was not.
#[test]
fn copies_that_only_their_tags_cut_are_copies() {
    for tags in TAGS {
        for wire in (86..=98).step_by(2) {
            let mut noise = Noise(5);
            let frames: Vec<Vec<u8>> = (1..=200_u32)
                .map(|number| {
                    let payload = noise.bytes(wire - 14 - 28 - 8);
                    let esp = [&0x1001_u32.to_be_bytes()[..], &number.to_be_bytes(), &payload].concat();
                    build::udp(R1, R2, (14_500, 14_500), number as u16, &esp)
                })
                .collect();
            let report = report_of("cut-by-tags", &frames, tags, 96, 96);
            let copies = said(&report, "tap-copies").map(|finding| number(finding, "count"));
            assert_eq!(copies, Some(200), "{tags:x?} {wire}");
            assert!(said(&report, "sequence-duplicate").is_none(), "{tags:x?} {wire}");
        }
    }
}

/// A mirror of both sides of a router that puts ESP into GRE or into another IP packet: no packet came twice, and none with other content.
#[test]
fn packets_before_and_behind_the_router_that_tunnels_them_are_copies() {
    let (near, far) = ([172, 16, 0, 1].into(), [172, 16, 0, 2].into());
    for (v6, in_udp, gre) in [(false, false, true), (false, true, true), (true, false, true), (false, false, false)] {
        let mut noise = Noise(8);
        let mut out = Vec::new();
        for number in 1..=200_u32 {
            let at = START + u64::from(number) * 10 * MS;
            let frame = build::one_hop_further(&esp(&mut noise, number, v6, in_udp));
            let header: &[u8] = if gre { &[0, 0, if v6 { 0x86 } else { 8 }, if v6 { 0xdd } else { 0 }] } else { &[] };
            let payload = [header, &frame[14..]].concat();
            let tunnelled = build::ipv4(near, far, if gre { 47 } else { 4 }, number as u16, &payload);
            out.extend([Out::whole(at, frame), Out::whole(at + 30 * US, tunnelled)]);
        }
        let path = support::write_file(&support::scratch("mirrored"), "gre.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let what = format!("IPv6 {v6}, UDP {in_udp}, GRE {gre}: {}", at(&report, "findings"));
        assert_eq!(number(&report, "sas.0.copies_removed"), 200, "{what}");
        assert!(said(&report, "sequence-duplicate").is_none(), "{what}");
        assert!(said(&report, "tap-copies").is_some(), "{what}");
    }
}

/// A firewall between the two ports of a mirror gives packets another identification (pf `scrub random-id`). The second link is no idle one.
#[test]
fn packets_with_another_identification_are_copies() {
    for in_udp in [false, true] {
        let mut noise = Noise(10);
        let mut out = Vec::new();
        for number in 1..=200_u32 {
            let time = START + u64::from(number) * 10 * MS;
            let first = esp(&mut noise, number, false, in_udp);
            let payload = first[34..].to_vec();
            let second = build::ipv4(R1, R2, first[23], 40_000_u16.wrapping_mul(number as u16 | 1), &payload);
            let second = build::on_link(&build::one_hop_further(&second), R2, Ipv4Addr::new(10, 9, 9, 9));
            out.extend([Out::whole(time, first), Out::whole(time + 30 * US, second)]);
        }
        let path = support::write_file(&support::scratch("mirrored"), "scrub.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        assert_eq!(number(&report, "sas.0.copies_removed"), 200, "{}", at(&report, "findings"));
        assert!(said(&report, "sequence-duplicate").is_none());
        let rates: Vec<bool> =
            items(&report, "rates.directions").iter().map(|row| at(row, "frames_per_s").is_null()).collect();
        assert_eq!(rates, [false, true], "{}", at(&report, "rates.directions"));
        let copies = said(&report, "tap-copies").expect("it is said");
        assert!(text(copies, "evidence").contains("so it has no rates"), "{copies}");
    }
}

/// The second side of a router has traffic of its own beside the copies, and a mirror port that drops frames of the first side leaves packets without copy.
#[test]
fn what_a_direction_carries_beside_copies_has_rates() {
    let (near, far) = (Ipv4Addr::new(10, 9, 9, 8), Ipv4Addr::new(10, 9, 9, 9));
    let log = |n: u32| build::on_link(&build::udp(near, far, (5_000, 514), n as u16, &[7; 300]), near, far);
    let hello = |n: u32| build::on_link(&build::ipv4(near, far, 89, n as u16, &[2; 44]), near, far);
    // One in so many packets is missing on the first side, and frames of the second side alone.
    type Beside<'f> = (u32, u32, &'f dyn Fn(u32) -> Vec<u8>, Option<u64>, &'f str);
    let cases: [Beside<'_>; 5] = [
        (0, 0, &log, None, " all packets are copies, so it has no rates."),
        (0, 150, &log, Some(150), " 2000 of 2150 frames are copies: its rates are those of the other 150."),
        (0, 10, &hello, None, " nearly all packets are copies, so it has no rates."),
        (20, 0, &log, None, " nearly all packets are copies, so it has no rates."),
        (200, 150, &log, Some(160), " 1990 of 2150 frames are copies: its rates are those of the other 160."),
    ];
    for (missing, others, other, frames, says) in cases {
        let mut noise = Noise(12);
        let mut out = Vec::new();
        for number in 1..=2_000_u32 {
            let time = START + u64::from(number) * 5 * MS;
            let first = esp(&mut noise, number, false, false);
            let second = build::on_link(&build::one_hop_further(&first), near, far);
            out.extend((missing == 0 || number % missing != 3).then(|| Out::whole(time, first)));
            out.push(Out::whole(time + 30 * US, second));
            if number * others / 2_000 != (number - 1) * others / 2_000 {
                out.push(Out::whole(time + MS, other(number)));
            }
        }
        let path = support::write_file(&support::scratch("mirrored"), "beside.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let row = items(&report, "rates.directions").iter().find(|row| text(row, "from").ends_with("09:09:08"));
        let row = row.expect("the second side");
        let what = format!("{missing} {others}: {row:#}");
        assert_eq!(at(row, "frames_per_s").is_number(), frames.is_some(), "{what}");
        assert!(frames.is_none_or(|frames| number(row, "frames") == frames), "{what}");
        let copies = said(&report, "tap-copies").expect("it is said");
        assert!(text(copies, "evidence").contains(says), "{what} {copies:#}");
    }
}

/// A router with one port sends transit packets back between the same MAC addresses: the link carries each twice, the receiver gets it once.
#[test]
fn packets_that_leave_where_they_came_are_one_packet_of_their_sa() {
    let (neighbour, router) = (Ipv4Addr::new(10, 9, 9, 8), Ipv4Addr::new(10, 9, 9, 9));
    // With how many others both ways, how much later, and one in how many the router drops.
    for (others, later, dropped) in [(0_u64, 40 * US, 0), (1_500, 40 * US, 0), (8_000, 40 * US, 10), (0, 20 * MS, 0)] {
        let mut noise = Noise(14);
        let mut out = Vec::new();
        for number in 1..=1_000_u32 {
            let time = START + u64::from(number) * 5 * MS;
            let first = build::on_link(&esp(&mut noise, number, false, false), neighbour, router);
            let second = build::on_link(&build::one_hop_further(&first), router, neighbour);
            out.push(Out::whole(time, first));
            out.extend((dropped == 0 || number % dropped != 3).then(|| Out::whole(time + later, second)));
        }
        for n in 0..others {
            let time = START + 5 * MS + n * 5_000 * MS / others.max(1);
            let (src, dst) = if n % 2 == 0 { (neighbour, router) } else { (router, neighbour) };
            out.push(Out::whole(time, build::udp(src, dst, (7, 7), n as u16, &noise.bytes(100))));
        }
        out.sort_by_key(|frame| frame.time_ns);
        let path = support::write_file(&support::scratch("mirrored"), "one-port.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let what = format!("{others} {later} {dropped}: {}", at(&report, "findings"));
        assert!(said(&report, "tap-copies").is_none(), "{what}");
        assert!(items(&report, "sas.0.sequence.replay_window").is_empty(), "no window is known to drop any: {what}");
        let frames: u64 = items(&report, "rates.directions").iter().map(|row| number(row, "frames")).sum();
        assert_eq!(frames, out.len() as u64, "the link carries all: {what}");
        // Where it takes longer than copies of a TAP do, another device may send them again.
        if later > 10 * MS {
            let finding = said(&report, "sequence-duplicate").expect("it is said");
            assert_eq!((text(finding, "severity"), number(finding, "count")), ("note", 1_000), "{what}");
            continue;
        }
        let sent_on = if dropped == 0 { 1_000 } else { 900 };
        let sa = at(&report, "sas.0");
        assert_eq!((number(sa, "frames"), number(sa, "copies_removed")), (1_000, sent_on), "{what}");
        assert_eq!(number(sa, "sequence.duplicate"), 0, "{what}");
        assert_eq!(number(&report, "outer_sizes.0.frames"), 1_000, "{what}");
        assert!(said(&report, "sequence-duplicate").is_none(), "{what}");
        let finding = said(&report, "sa-forwarded").expect("it is said");
        assert_eq!((text(finding, "severity"), number(finding, "count")), ("note", sent_on), "{what}");
    }
}

/// What a router sends on is on the wire twice: out of one tunnel into another one over the same link, which the receiver gets once, or over two tunnels at
/// once, which it gets twice.
#[test]
fn packets_that_leave_in_another_tunnel_are_no_copies() {
    let (hub, spokes) =
        (Ipv4Addr::new(203, 0, 113, 9), [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 5)]);
    for turned in [true, false] {
        let mut noise = Noise(9);
        let mut out = Vec::new();
        for number in 1..=200_u32 {
            let time = START + u64::from(number) * 10 * MS;
            let inside = esp(&mut noise, number, false, false);
            let tunnelled = |src, dst, inside: &[u8]| {
                build::ipv4(src, dst, 47, number as u16, &[&[0, 0, 8, 0], &inside[14..]].concat())
            };
            let first = tunnelled(spokes[0], hub, &inside);
            let mut second =
                tunnelled(if turned { hub } else { spokes[1] }, if turned { spokes[1] } else { hub }, &inside);
            if turned {
                second[..6].copy_from_slice(&first[6..12]);
                second[6..12].copy_from_slice(&first[..6]);
            }
            out.extend([Out::whole(time, first), Out::whole(time + 80 * US, second)]);
        }
        let path = support::write_file(&support::scratch("mirrored"), "forwarded.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        assert!(said(&report, "tap-copies").is_none(), "turned {turned}: {}", at(&report, "findings"));
        let forwarded = said(&report, "sa-forwarded").map(|own| number(own, "count"));
        assert_eq!(
            (number(&report, "sas.0.copies_removed"), forwarded),
            (if turned { 200 } else { 0 }, turned.then_some(200))
        );
        let frames: u64 = items(&report, "rates.directions").iter().map(|row| number(row, "frames")).sum();
        assert_eq!(frames, 400, "turned {turned}");
        let again = said(&report, "sequence-duplicate").map(|own| number(own, "count"));
        assert_eq!(again, (!turned).then_some(200), "turned {turned}");
    }
}

/// A keepalive of NAT is one octet, always the same. What a mirror shows of it twice was on the wire once.
#[test]
fn copies_of_keepalives_are_in_no_rate() {
    let mut noise = Noise(6);
    let mut out = Vec::new();
    for number in 1..=200_u32 {
        let at = START + u64::from(number) * 10 * MS;
        let mut frames = vec![(at, esp(&mut noise, number, false, true))];
        if number % 50 == 0 {
            let mut keepalive =
                build::udp(R1, R2, (4_500, 4_500), if number > 100 { 7 } else { number as u16 }, &[0xff]);
            keepalive.resize(60, 0);
            frames.push((at + 5 * MS, keepalive));
        }
        for (time, frame) in frames {
            out.extend([Out::whole(time, frame.clone()), Out::whole(time + 20 * US, frame)]);
        }
    }
    let path = support::write_file(&support::scratch("mirrored"), "keepalives.pcap", &plain_pcap(&out));
    let report = support::report(&[&path]).json();
    let row = at(&report, "rates.directions.0");
    let octets =
        |rate: &str| at(row, rate).as_f64().expect("a rate") * at(row, "seconds").as_f64().expect("a time") / 8.0;
    assert!((octets("control_l1_bps") - 4.0 * 84.0).abs() < 0.5, "{row:#}");
    assert_eq!(number(row, "frames"), 204, "{row:#}");
    let copies = said(&report, "tap-copies").expect("it is said");
    assert_eq!(number(copies, "count"), 204, "{copies:#}");
    assert!(!text(copies, "evidence").contains("recur"), "{copies:#}");
}
