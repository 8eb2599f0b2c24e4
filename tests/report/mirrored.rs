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

/// A mirror shows both sides of a router, whose second link carries what it copies: the frames of which no first sight was captured, because the mirror dropped
/// it or they are the router's own, are no rate of that link.
#[test]
fn a_link_that_shows_another_one_again_has_no_rates_of_the_rest() {
    let (near, far) = (Ipv4Addr::new(10, 9, 9, 8), Ipv4Addr::new(10, 9, 9, 9));
    // How many of ten packets are in clear, one in how many is missing on either side, and frames of the second side alone.
    for (clear, [first, second], own, says) in [
        (0, [0, 0], 0, " all packets are copies, so it has no rates."),
        (0, [0, 0], 150, " 2000 of 2150 frames are copies, so it has no rates."),
        (0, [20, 0], 0, " 1900 of 2000 frames are copies, so it has no rates."),
        (8, [40, 0], 0, " 1950 of 2000 frames are copies, so it has no rates."),
        (9, [33, 31], 0, " 1875 of 1935 frames are copies, so it has no rates."),
        (8, [7, 5], 0, " 1371 of 1600 frames are copies, so it has no rates."),
    ] {
        let mut noise = Noise(12);
        let mut out = Vec::new();
        for number in 1..=2_000_u32 {
            let time = START + u64::from(number) * 5 * MS;
            let there = match number % 10 < clear {
                true => build::on_link(&build::udp(far, near, (5_000, 443), number as u16, &noise.bytes(300)), R1, R2),
                false => esp(&mut noise, number, false, false),
            };
            let behind = build::on_link(&build::one_hop_further(&there), near, far);
            out.extend((first == 0 || number % first != 3).then(|| Out::whole(time, there)));
            out.extend((second == 0 || number % second != 1).then(|| Out::whole(time + 30 * US, behind)));
            if number * own / 2_000 != (number - 1) * own / 2_000 {
                let log = build::udp(near, far, (5_000, 514), number as u16, &[7; 300]);
                out.push(Out::whole(time + MS, build::on_link(&log, near, far)));
            }
        }
        let path = support::write_file(&support::scratch("mirrored"), "beside.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let rates = items(&report, "rates.directions");
        let has_rate = |from: &str| {
            let row = rates.iter().find(|row| text(row, "from").ends_with(from)).expect("the side is there");
            at(row, "frames_per_s").is_number()
        };
        let what = format!("{clear} {first} {second} {own}: {rates:#?}");
        assert_eq!([has_rate("c0:a8:01:01"), has_rate("09:09:08")], [true, false], "{what}");
        let copies = said(&report, "tap-copies").expect("it is said");
        assert!(text(copies, "evidence").contains(says), "{what} {copies:#}");
    }
}

/// Where each link is shown several times, and the mirror drops some of that, all of it is of that link.
#[test]
fn a_link_that_is_shown_several_times_has_rates() {
    for sights in 2..=8_u32 {
        let mut noise = Noise(13);
        let mut out = Vec::new();
        for number in 1..=1_000_u32 {
            let time = START + u64::from(number) * 5 * MS;
            let frame = esp(&mut noise, number, false, false);
            let seen = (0..sights).filter(|sight| (number * sights + sight) % 29 != 3);
            out.extend(seen.map(|sight| Out::whole(time + u64::from(sight) * 10 * US, frame.clone())));
        }
        let path = support::write_file(&support::scratch("mirrored"), "several.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let what = format!("{sights}: {}", at(&report, "findings"));
        assert!(at(&report, "rates.directions.0.frames_per_s").is_number(), "{what}");
        assert!(!text(said(&report, "tap-copies").expect("it is said"), "evidence").contains("no rates"), "{what}");
    }
}

/// A router with one port sends transit packets back between the same MAC addresses: the link carries each twice, the receiver gets it once.
#[test]
fn packets_that_leave_where_they_came_are_one_packet_of_their_sa() {
    let (neighbour, router) = (Ipv4Addr::new(10, 9, 9, 8), Ipv4Addr::new(10, 9, 9, 9));
    // With how many others both ways, how much later at the most, and one in how many the router drops.
    for (others, later, dropped) in [
        (0_u64, 40 * US, 0),
        (1_500, 40 * US, 0),
        (8_000, 40 * US, 10),
        (0, 20 * MS, 0),
        // Two of three are copies by their times.
        (0, 10 * MS + 10 * US, 0),
    ] {
        let mut noise = Noise(14);
        let mut out = Vec::new();
        for number in 1..=1_000_u32 {
            let time = START + u64::from(number) * 5 * MS;
            let first = build::on_link(&esp(&mut noise, number, false, false), neighbour, router);
            let second = build::on_link(&build::one_hop_further(&first), router, neighbour);
            out.push(Out::whole(time, first));
            let later = later - u64::from(number % 3) * 10 * US;
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

/// The sizes of such packets and the overhead of their SA hold each packet once where the packets inside are visible, too.
#[test]
fn sizes_of_packets_that_leave_where_they_came_hold_each_once() {
    let (neighbour, router) = (Ipv4Addr::new(10, 9, 9, 8), Ipv4Addr::new(10, 9, 9, 9));
    let (inside, outside) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    for protocol in [50, 51] {
        let mut noise = Noise(15);
        let mut out = Vec::new();
        for number in 1..=600_u32 {
            let time = START + u64::from(number) * 5 * MS;
            // 110 octets of IP: with two of the trailer no padding is needed.
            let inner = build::udp(inside, outside, (1_000, 2_000), number as u16, &noise.bytes(82))[14..].to_vec();
            let numbered = [&0x1001_u32.to_be_bytes()[..], &number.to_be_bytes()].concat();
            let payload = match protocol {
                50 => [numbered, inner, vec![0, 4], noise.bytes(12)].concat(),
                _ => [vec![4, 4, 0, 0], numbered, noise.bytes(12), inner].concat(),
            };
            let first = build::on_link(&build::ipv4(R1, R2, protocol, number as u16, &payload), neighbour, router);
            let second = build::on_link(&build::one_hop_further(&first), router, neighbour);
            out.extend([Out::whole(time, first), Out::whole(time + 40 * US, second)]);
        }
        let path = support::write_file(&support::scratch("mirrored"), "one-port-visible.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        let what = format!("{protocol}: {} {}", at(&report, "findings"), at(&report, "sizes"));
        assert!(said(&report, "sa-forwarded").is_some(), "{what}");
        let [of_sa, of_size] = ["sas.0.frames", "sizes.0.frames"].map(|field| number(&report, field));
        assert_eq!([of_sa, of_size], [600, 600], "{what}");
        let rate = at(&report, "sizes.0.frames_per_s").as_f64().expect("a rate");
        assert!((rate - 200.0).abs() < 1.0, "{what}");
        assert!(at(&report, "outer_sizes").as_array().is_none_or(Vec::is_empty), "nothing is hidden: {what}");
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
