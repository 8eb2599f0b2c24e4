//! Where the capture leaves more than one explanation: the report says so, or says nothing.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START, one_hop_further};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A report of frames with their times after the first, in nanoseconds, which are put in order.
fn report(test: &str, mut frames: Vec<(u64, Vec<u8>)>) -> Value {
    frames.sort_by_key(|(after, _)| *after);
    report_as_captured(test, frames)
}

/// The same of frames in the order of the capture.
fn report_as_captured(test: &str, frames: Vec<(u64, Vec<u8>)>) -> Value {
    let out: Vec<Out> = frames.into_iter().map(|(after, data)| Out::whole(START + after, data)).collect();
    let path = support::write_file(&support::scratch("doubts"), &format!("{test}.pcap"), &plain_pcap(&out));
    support::report(&[&path]).json()
}

fn finding<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

fn evidence<'r>(report: &'r Value, code: &str) -> &'r str {
    text(finding(report, code).unwrap_or_else(|| panic!("no {code}: {}", at(report, "findings"))), "evidence")
}

/// ESP around a packet of so many octets, in AES-CBC with SHA-1.
fn cbc(noise: &mut Noise, spi: u32, number: u32, inner: usize, forth: bool) -> Vec<u8> {
    let (src, dst) = if forth { (R1, R2) } else { (R2, R1) };
    build::esp(src, dst, spi, number, &noise.bytes(16 + (inner + 2).next_multiple_of(16) + 12))
}

/// A generator sends one packet in bursts, and each burst every five milliseconds.
#[test]
fn bursts_of_one_packet_are_no_copies() {
    let packet = build::udp(R1, R2, (5_000, 5_001), 0, &[7; 200]);
    for sizes in [&[5_u64][..], &[8], &[5, 6, 7, 8], &[3], &[1, 2, 3], &[2, 2, 2, 3], &[1, 2]] {
        let mut frames = Vec::new();
        for burst in 0..300_u64 {
            let size = sizes[(burst % sizes.len() as u64) as usize];
            frames.extend((0..size).map(|n| (burst * 5 * MS + n * 12 * US, packet.clone())));
        }
        let sent = frames.len() as u64;
        let report = report("bursts", frames);
        assert!(finding(&report, "tap-copies").is_none(), "{sizes:?}: {}", at(&report, "findings"));
        assert_eq!(number(&report, "rates.directions.0.frames"), sent, "{sizes:?}");
    }
    // Each packet twice, at a fixed short distance, is what a SPAN port does, also to a generator's packets.
    let pairs = (0..600_u64).map(|n| (n / 2 * 5 * MS + n % 2 * 12 * US, packet.clone())).collect();
    let report = self::report("pairs", pairs);
    assert_eq!(number(finding(&report, "tap-copies").expect("it is said"), "count"), 300);
}

/// A few frames of a generator: in turn, in bursts, or one packet after the other.
#[test]
fn few_equal_packets_are_no_copies() {
    let packet = |n: u64| build::udp(R1, R2, (5_000 + n as u16, 7_000), 0, &[n as u8; 60]);
    let mut noise = Noise(29);
    for (frames, contents, burst) in [(6, 2, 1), (12, 2, 8), (12, 1, 4), (15, 3, 1), (24, 8, 8), (40, 5, 4)] {
        for in_turn in [true, false] {
            let what = format!("{frames} frames of {contents} packets, {burst} at once, in turn: {in_turn}");
            let which = |n: u64| if in_turn { n % contents } else { n * contents / frames };
            let time = |n: u64| (n / burst) * 3 * MS + (n % burst) * 6 * US;
            let mut sent: Vec<_> = (0..frames).map(|n| (time(n), packet(which(n)))).collect();
            let alone = report("few", sent.clone());
            assert!(finding(&alone, "tap-copies").is_none(), "{what}: {}", at(&alone, "findings"));
            assert_eq!(number(&alone, "rates.directions.0.frames"), frames, "{what}");
            // A TAP would have copied the packets of an SA, too.
            sent.extend((1..=4).map(|n| (u64::from(n) * 4 * MS, cbc(&mut noise, 7, n, 100, true))));
            let beside = report("few-beside", sent);
            assert!(finding(&beside, "tap-copies").is_none(), "{what}: {}", at(&beside, "findings"));
        }
    }
}

/// Few packets that a TAP copies: each is there just twice, or they bear sequence numbers.
#[test]
fn few_packets_may_have_copies() {
    let mut noise = Noise(31);
    let users: Vec<_> = (0..8_u64).map(|n| build::udp(R1, R2, (53, 53), n as u16, &noise.bytes(70))).collect();
    let twice =
        users.iter().zip(0..).flat_map(|(frame, n)| [0, 9 * US].map(|later| (n * 40 * MS + later, frame.clone())));
    let twice = report("few-twice", twice.collect());
    assert_eq!(number(finding(&twice, "tap-copies").expect("it is said"), "count"), 8);
    for packets in [1_u64, 2, 5] {
        let numbered = (1..=packets).flat_map(|n| {
            let frame = cbc(&mut noise, 7, n as u32, 100, true);
            [0, 9 * US, 30 * US].map(|later| (n * 40 * MS + later, frame.clone()))
        });
        let report = self::report("few-numbered", numbered.collect());
        assert_eq!(number(finding(&report, "tap-copies").expect("it is said"), "count"), 2 * packets);
        assert!(finding(&report, "sequence-duplicate").is_none());
    }
}

/// Packets of one identification that a generator numbers at their end.
#[test]
fn packets_that_differ_behind_their_beginning_are_no_copies() {
    let frames = (0..800_u32).map(|n| {
        let payload = [&[0; 180][..], &n.to_be_bytes()].concat();
        (u64::from(n / 2) * 2 * MS + u64::from(n % 2) * 20 * US, build::udp(R1, R2, (5_000, 5_001), 0, &payload))
    });
    let report = report("numbered", frames.collect());
    assert!(finding(&report, "tap-copies").is_none());
    assert_eq!(number(&report, "rates.directions.0.frames"), 800);
}

/// A SPAN session on both sides of a router that marks the packets.
#[test]
fn copies_may_have_another_class_of_service() {
    let mut noise = Noise(3);
    let frames = (1..400_u32).flat_map(|n| {
        let frame = cbc(&mut noise, 7, n, 60 + n as usize * 37 % 1_200, true);
        let mut marked = frame.clone();
        marked[15] = 0xb8;
        marked[0] = 6;
        [(u64::from(n) * MS, frame), (u64::from(n) * MS + 30 * US, one_hop_further(&marked))]
    });
    let report = report("marked", frames.collect());
    assert_eq!(number(finding(&report, "tap-copies").expect("it is said"), "count"), 399);
    assert_eq!((number(&report, "sas.0.frames"), number(&report, "sas.0.copies_removed")), (399, 399));
    assert!(finding(&report, "sequence-duplicate").is_none());
    // Two streams of a generator that differ in their class are two streams.
    let of = |tos: u8| {
        let mut frame = build::udp(R1, R2, (5_000, 5_001), 0, &[7; 200]);
        frame[15] = tos;
        frame
    };
    let frames = (0..600_u64).map(|n| (n / 2 * 5 * MS + n % 2 * 12 * US, of(if n % 2 == 0 { 0 } else { 0xb8 })));
    let report = self::report("classes", frames.collect());
    assert!(finding(&report, "tap-copies").is_none());
}

/// A SPAN session with a snapshot length, of a port with a VLAN tag and one without: of a copy there is less to see by the tag.
#[test]
fn cut_copies_may_have_another_vlan_tag() {
    let mut noise = Noise(19);
    for snaplen in [68, 96, 128, 200] {
        let out: Vec<Out> = (1..400_u64)
            .flat_map(|n| {
                let frame = build::udp(R1, R2, (5_000, 5_001), n as u16, &noise.bytes(300 + n as usize));
                let tagged = [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat();
                let cut = move |after: u64, data: Vec<u8>| Out {
                    time_ns: START + after,
                    wire_bytes: data.len() as u32,
                    data: data[..snaplen].to_vec(),
                };
                [cut(n * MS, frame), cut(n * MS + 30 * US, tagged)]
            })
            .collect();
        let path = support::write_file(&support::scratch("doubts"), "cut-tags.pcap", &plain_pcap(&out));
        let report = support::report(&[&path]).json();
        assert_eq!(number(finding(&report, "tap-copies").expect("it is said"), "count"), 399, "{snaplen}");
    }
}

/// A host without a clock of its own begins in 1970, and NTP sets its clock after five seconds.
#[test]
fn a_clock_that_is_set_for_the_first_time_leaves_no_rates() {
    let mut noise = Noise(23);
    let out: Vec<Out> = (0..10_000_u64)
        .map(|n| {
            let begun = if n < 5_000 { 17 * SECOND } else { START };
            Out::whole(begun + n * MS, cbc(&mut noise, 7, n as u32 + 1, 200, true))
        })
        .collect();
    let path = support::write_file(&support::scratch("doubts"), "set.pcap", &plain_pcap(&out));
    let report = support::report(&[&path]).json();
    assert!(evidence(&report, "capture-clock-set").contains("1970-01-01"));
    let row = at(&report, "rates.directions.0");
    assert!(at(row, "frames_per_s").is_null() && at(row, "l1_bps").is_null(), "{row}");
    assert!(at(&report, "sas.0.rate.frames_per_s").is_null());
    assert_eq!(number(&report, "sas.0.sequence.lost"), 0);
}

/// One of two interfaces stamps whole seconds.
#[test]
fn whole_seconds_of_one_direction_leave_it_without_rates() {
    let mut noise = Noise(4);
    let frames = (0..2_000_u32).flat_map(|n| {
        let time = u64::from(n) * 5 * MS + MS;
        let back = time / SECOND * SECOND;
        [(time, cbc(&mut noise, 7, n + 1, 100, true)), (back, cbc(&mut noise, 8, n + 1, 100, false))]
    });
    let report = report_as_captured("seconds", frames.collect());
    let (forth, back) = (at(&report, "sas.0"), at(&report, "sas.1"));
    assert!(at(forth, "rate.frames_per_s").is_number(), "{forth}");
    assert!(at(back, "rate.frames_per_s").is_null() && at(back, "rate.l1_bps").is_null(), "{back}");
    assert!(evidence(&report, "capture-clock-back").contains("stamps no fractions"));
    let rows = items(&report, "rates.directions");
    assert!(rows.iter().any(|row| at(row, "l1_bps").is_number()), "{rows:?}");
    assert!(rows.iter().any(|row| at(row, "l1_bps").is_null() && at(row, "peak").is_null()), "{rows:?}");
}

/// An IPv4 packet inside the tunnel.
fn inner(src: [u8; 4], dst: [u8; 4], n: u32, bytes: usize) -> Vec<u8> {
    build::udp(src.into(), dst.into(), (1_000, 2_000), n as u16, &vec![5; bytes])[14..].to_vec()
}

/// ESP-NULL around it.
fn null(packet: &[u8], noise: &mut Noise) -> Vec<u8> {
    let pad = (4 - (packet.len() + 2) % 4) % 4;
    let padding: Vec<u8> = (1..=pad as u8).collect();
    [packet, &padding, &[pad as u8, 4], &noise.bytes(12)].concat()
}

#[test]
fn routers_that_both_decrypt_are_not_said_to_encrypt_only() {
    let mut noise = Noise(5);
    let mut both = Vec::new();
    for n in 1..200_u32 {
        let time = u64::from(n) * MS;
        let (there, back) = (inner([10, 1, 0, 1], [10, 2, 0, 1], n, 100), inner([10, 2, 0, 9], [10, 1, 0, 9], n, 100));
        both.push((time, build::esp(R1, R2, 7, n, &null(&there, &mut noise))));
        both.push((time + 300 * US, build::esp(R2, R1, 8, n, &null(&back, &mut noise))));
    }
    let report = report("both", both);
    let said = evidence(&report, "inner-one-way");
    assert!(!said.contains("never decrypts") && said.contains("SAs carry packets both ways"), "{said}");
}

/// Logs are not answered: where others are answered through the same SAs, the tunnel works both ways.
#[test]
fn logs_beside_what_is_answered_are_no_fault() {
    let mut noise = Noise(5);
    let mut both = Vec::new();
    for n in 1..200_u32 {
        let time = u64::from(n) * MS;
        let own = [10, 1, 0, if n % 4 == 0 { 7 } else { 1 }];
        let (there, back) = (inner(own, [10, 2, 0, 1], n, 100), inner([10, 2, 0, 1], [10, 1, 0, 1], n, 100));
        both.push((time, build::esp(R1, R2, 7, n, &null(&there, &mut noise))));
        both.push((time + 300 * US, build::esp(R2, R1, 8, n, &null(&back, &mut noise))));
    }
    let report = report("logs", both);
    let own = finding(&report, "inner-one-way").expect("it is said");
    assert_eq!((text(own, "severity"), number(own, "count")), ("note", 49), "{own}");
    assert!(text(own, "evidence").contains("Other hosts are answered"), "{own}");
}

/// A hub with two tunnels: through one hosts are answered, which does not show that the other needs no answers. Nor does TCP go without them.
#[test]
fn answers_in_another_tunnel_excuse_nothing() {
    let r3 = Ipv4Addr::new(203, 0, 113, 9);
    for (far, in_tcp) in [(r3, false), (R2, true)] {
        let mut noise = Noise(6);
        let mut frames = Vec::new();
        for n in 1..200_u32 {
            let time = u64::from(n) * MS;
            let (there, back) =
                (inner([10, 1, 0, 1], [10, 2, 0, 1], n, 100), inner([10, 2, 0, 1], [10, 1, 0, 1], n, 100));
            frames.push((time, build::esp(R1, R2, 7, n, &null(&there, &mut noise))));
            frames.push((time + 300 * US, build::esp(R2, R1, 8, n, &null(&back, &mut noise))));
            let ends = ([10, 1, 0, 1], [10, 3, 0, 1]);
            let asked = if in_tcp { syn(ends.0, ends.1, n) } else { inner(ends.0, ends.1, n, 100) };
            frames.push((time + 500 * US, build::esp(R1, far, 9, n, &null(&asked, &mut noise))));
        }
        let report = report("two-tunnels", frames);
        let own = finding(&report, "inner-one-way").expect("it is said");
        assert_eq!((text(own, "severity"), number(own, "count")), ("warning", 199), "TCP {in_tcp}: {own}");
        assert!(!text(own, "evidence").contains("Other hosts are answered"), "{own}");
    }
}

/// A hub with two links, one of them with a TAP: packets of a site come on it, and nothing on it goes to the site. IKE to the site shows that the answers
/// would pass; IKE from it does not.
#[test]
fn answers_that_may_take_another_link_are_not_missing() {
    let (hub, site) = (R1, Ipv4Addr::new(203, 0, 113, 9));
    let ike = |src, dst, n: u32| {
        let head = [&[7; 16][..], &[46, 0x20, 37, 8], &n.to_be_bytes(), &60_u32.to_be_bytes()].concat();
        build::udp(src, dst, (500, 500), n as u16, &[&head[..], &Noise(u64::from(n)).bytes(32)].concat())
    };
    for (spoken, severity) in [(None, "note"), (Some((site, hub)), "note"), (Some((hub, site)), "warning")] {
        let mut noise = Noise(6);
        let mut frames = Vec::new();
        for n in 1..200_u32 {
            let time = u64::from(n) * MS;
            let (there, back) =
                (inner([10, 2, 0, 1], [10, 1, 0, 1], n, 100), inner([10, 1, 0, 1], [10, 2, 0, 1], n, 100));
            frames.push((time, build::esp(R2, hub, 7, n, &null(&there, &mut noise))));
            frames.push((time + 300 * US, build::esp(hub, R2, 8, n, &null(&back, &mut noise))));
            let asked = syn([10, 3, 0, 1], [10, 1, 0, 1], n);
            frames.push((time + 500 * US, build::esp(site, hub, 9, n, &null(&asked, &mut noise))));
            if let Some((src, dst)) = spoken.filter(|_| n % 50 == 0) {
                frames.push((time + 700 * US, ike(src, dst, n)));
            }
        }
        let report = report("two-links", frames);
        let own = finding(&report, "inner-one-way").expect("it is said");
        assert_eq!((text(own, "severity"), number(own, "count")), (severity, 199), "{spoken:?}: {own}");
        let elsewhere = text(own, "evidence").contains("the answers may take another way");
        assert_eq!(elsewhere, severity == "note", "{spoken:?}: {own}");
    }
}

/// One side encrypts, never decrypts: packets of a tunnel, and of the way back all that the link shows is by MAC addresses. A gateway that is asked for its
/// own sends an answer, and traffic in clear goes through the gateway to other hosts. A router on the way that a mirror shows on both sides is no way back.
#[test]
fn a_gateway_that_frames_are_sent_to_would_get_the_answers() {
    let (router, beyond) = (Ipv4Addr::new(10, 9, 9, 9), Ipv4Addr::new(10, 9, 9, 8));
    let (outside, host) = (Ipv4Addr::new(203, 0, 113, 9), Ipv4Addr::new(192, 0, 2, 130));
    let others = |n: u32| build::udp(outside, outside, (7, 7), n as u16, &[3; 60]);
    let arp = |n: u32| {
        let mut frame = build::on_link(&others(n), R2, R1);
        frame[12..14].copy_from_slice(&[8, 6]);
        frame
    };
    let in_clear = |n: u32| build::on_link(&build::udp(outside, host, (53, 53), n as u16, &[3; 60]), R2, R1);
    // An Ethernet loopback test goes to its own sender.
    let own = |n: u32| {
        let mut frame = build::on_link(&others(n), R1, R1);
        frame[12..14].copy_from_slice(&[0x90, 0]);
        frame
    };
    // The packets come from a router in between, which sends those of others, too.
    let between = |n: u32| if n.is_multiple_of(4) { in_clear(n) } else { build::on_link(&others(n), R1, R2) };
    type Frame<'f> = &'f dyn Fn(u32) -> Vec<u8>;
    let cases: [(&str, Frame<'_>, bool, &str); 6] = [
        ("between", &between, false, "note"),
        ("arp", &arp, false, "warning"),
        ("clear", &in_clear, false, "warning"),
        ("loopback", &own, false, "note"),
        ("mirrored", &own, true, "note"),
        ("mirrored-clear", &in_clear, true, "warning"),
    ];
    for (name, other, mirrored, severity) in cases {
        let mut noise = Noise(6);
        let mut frames = Vec::new();
        for n in 1..200_u32 {
            let time = u64::from(n) * MS;
            let asked = build::esp(R1, R2, 9, n, &null(&syn([10, 3, 0, 1], [10, 1, 0, 1], n), &mut noise));
            if mirrored {
                frames.push((time + 30 * US, build::on_link(&one_hop_further(&asked), R2, router)));
            }
            frames.push((time, asked));
            frames.push((time + 300 * US, other(n)));
            // So that traffic runs both ways somewhere.
            let (src, dst) = if n % 2 == 0 { (router, beyond) } else { (beyond, router) };
            frames.push((time + 500 * US, build::udp(src, dst, (7, 7), n as u16, &[3; 60])));
        }
        let report = report(&format!("to-mac-{name}"), frames);
        let own = finding(&report, "inner-one-way").expect("it is said");
        assert_eq!(
            (text(own, "severity"), number(own, "count")),
            (severity, if mirrored { 398 } else { 199 }),
            "{name}: {own}"
        );
        let says = ["the answers may take another way", "one side encrypts, never decrypts"];
        let said = says.map(|says| text(own, "evidence").contains(says));
        assert_eq!(said, [severity == "note", severity == "warning"], "{name}: {own}");
    }
}

/// A TCP segment with SYN (RFC 9293 section 3.1).
fn syn(src: [u8; 4], dst: [u8; 4], n: u32) -> Vec<u8> {
    let header = [&[0xc0, n as u8, 0, 80][..], &n.to_be_bytes(), &[0; 4], &[0x50, 2, 0xff, 0xff, 0, 0, 0, 0]].concat();
    build::ipv4(src.into(), dst.into(), 6, n as u16, &header)[14..].to_vec()
}

/// What gateways send to the next one on their link, and errors about packets of the tunnel, are no traffic that was left unprotected.
#[test]
fn signalling_of_the_link_is_no_traffic_in_clear() {
    let v6 = |kind: u8, link_local: bool| {
        let mut frame = build::ipv6(R1, R2, 58, &[&[kind, 0, 0, 0][..], &[7; 20]].concat());
        frame[21] = 255;
        if link_local {
            [22, 38].into_iter().for_each(|at| frame[at..at + 2].copy_from_slice(&[0xfe, 0x80]));
        }
        frame
    };
    let quoted = build::esp(R1, R2, 7, 1, &[9; 40])[14..].to_vec();
    let error = build::ipv4(R2, R1, 1, 9, &[&[3, 13, 0, 0, 0, 0, 0, 0][..], &quoted].concat());
    let bfd = |ttl: u8| {
        let mut frame = build::udp(R1, R2, (49_152, 3_784), 9, &[7; 24]);
        frame[22] = ttl;
        frame
    };
    for (frame, is_clear, what) in [
        (v6(135, false), false, "a neighbour solicitation"),
        (v6(136, true), false, "an advertisement between link-local addresses"),
        (error, false, "an error that quotes ESP"),
        (bfd(255), false, "BFD"),
        (bfd(64), true, "UDP of hosts"),
        (v6(128, false), true, "an echo request"),
    ] {
        let mut noise = Noise(4);
        let mut frames: Vec<(u64, Vec<u8>)> =
            (1..100).map(|n| (u64::from(n) * MS, cbc(&mut noise, 7, n, 200, true))).collect();
        frames.extend((0..5).map(|n| (n * 10 * MS + 3, frame.clone())));
        let report = report("signalling", frames);
        assert_eq!(finding(&report, "clear-traffic").is_some(), is_clear, "{what}");
    }
}

/// A load in clear, each packet of it behind one of the tunnel, all of one length: what a gateway's own capture shows looks the same.
#[test]
fn of_one_length_a_gateway_and_a_leak_look_the_same() {
    let mut noise = Noise(6);
    let frames = (1..400_u32).flat_map(|n| {
        let tunnelled = cbc(&mut noise, 7, n, 200, true);
        let mut clear = build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (9, 9), n as u16, &[3; 172]);
        clear[..12].copy_from_slice(&tunnelled[..12]);
        [(u64::from(n) * MS, tunnelled), (u64::from(n) * MS + 20 * US, clear)]
    });
    let report = report("leak", frames.collect());
    let said = evidence(&report, "gateway-view");
    assert!(!said.contains("not on the wire in clear") && said.contains("do not show which"), "{said}");
    assert!(finding(&report, "clear-traffic").is_some());
    let rate = at(&report, "rates.directions.0");
    assert!(at(rate, "l1_bps").is_null() && at(rate, "frames_per_s").is_null() && at(rate, "clear_bps").is_null());
    assert!(items(&report, "rates.bins").iter().all(|bin| at(bin, "goodput_bytes").is_null()));
}

/// Group encryption with preserved headers: one SPI and one counter of the sender, whoever receives the packets.
#[test]
fn the_pairs_of_a_group_lose_nothing() {
    let mut noise = Noise(7);
    for (sources, lost) in [(1_u64, 0), (5, 0), (5, 40)] {
        let mut frames = Vec::new();
        for n in (1..2_000_u32).filter(|n| lost == 0 || n % 50 != 25) {
            let src = Ipv4Addr::new(10, 1, 0, 1 + noise.below(sources) as u8);
            let dst = Ipv4Addr::new(10, 2, 0, 1 + noise.below(20) as u8);
            frames.push((u64::from(n) * MS, build::on_link(&build::esp(src, dst, 7, n, &noise.bytes(100)), R1, R2)));
        }
        let report = report("group", frames);
        assert!(items(&report, "findings").iter().all(|finding| !text(finding, "code").starts_with("sequence-")));
        assert!(items(&report, "sas").iter().all(|sa| at(sa, "sequence").is_null()), "{}", at(&report, "sas.0"));
        let said = evidence(&report, "spi-group");
        assert!(said.contains(&format!("{lost} of 1999 numbers never seen")), "{said}");
        let severity = text(finding(&report, "spi-group").expect("it is said"), "severity");
        assert_eq!(severity, if lost == 0 { "note" } else { "warning" });
    }
    // Members at three other sites, each with a counter of its own, whatever host the packets are of.
    let (mut frames, mut counters) = (Vec::new(), [0_u32; 4]);
    for n in 0..6_000_u64 {
        let site = noise.below(4);
        let (here, there) = (Ipv4Addr::new(10, 1, 0, 1 + noise.below(5) as u8), 1 + noise.below(5) as u8);
        let counter = &mut counters[site as usize];
        *counter += 1;
        let frame = if site == 0 {
            let far = Ipv4Addr::new(10, 2 + noise.below(3) as u8, 0, there);
            build::on_link(&build::esp(here, far, 7, *counter, &noise.bytes(100)), R1, R2)
        } else {
            let far = Ipv4Addr::new(10, 1 + site as u8, 0, there);
            build::on_link(&build::esp(far, here, 7, *counter, &noise.bytes(100)), R2, R1)
        };
        frames.push((n * MS, frame));
    }
    let sites = report("sites", frames);
    let said: Vec<&str> = items(&sites, "findings").iter().map(|finding| text(finding, "code")).collect();
    assert!(said.iter().all(|code| !code.starts_with("sequence-")), "{}", at(&sites, "findings"));
    assert!(items(&sites, "sas").iter().all(|sa| at(sa, "sequence").is_null()), "{}", at(&sites, "sas.0"));
    let counted = items(&sites, "findings").iter().filter(|finding| text(finding, "evidence").contains("0 of 1"));
    assert_eq!(counted.count(), 1, "{}", at(&sites, "findings"));
    // Two peers with one SPI and a counter each lose what they lose.
    let mut frames = Vec::new();
    for n in (1..2_000_u32).filter(|n| n % 3 != 0) {
        for peer in [1, 2] {
            let frame = build::esp(R1, [10, 2, 0, peer].into(), 7, n, &noise.bytes(100));
            frames.push((u64::from(n) * MS + u64::from(peer) * US, frame));
        }
    }
    let report = report("peers", frames);
    assert!(finding(&report, "spi-group").is_none());
    assert_eq!((number(&report, "sas.0.sequence.lost"), number(&report, "sas.1.sequence.lost")), (666, 666));
}

/// An end that moves to another address for a while, as over MOBIKE, and back: its numbers were seen there.
#[test]
fn an_end_that_moves_loses_nothing() {
    let mut noise = Noise(17);
    for (from, to, lost) in [(900, 940, 0_u32), (900, 1_700, 0), (1_200, 1_260, 20)] {
        let moved = Ipv4Addr::new(10, 9, 9, 9);
        let kept = (1..2_001_u32).filter(|n| !(1_500..1_500 + lost).contains(n));
        let frames: Vec<_> = kept
            .map(|n| {
                let src = if (from..to).contains(&n) { moved } else { R1 };
                (u64::from(n) * MS, build::on_link(&build::esp(src, R2, 7, n, &noise.bytes(100)), R1, R2))
            })
            .collect();
        let report = report("moved", frames);
        assert!(finding(&report, "sequence-gap").is_none(), "{}", at(&report, "findings"));
        assert!(evidence(&report, "spi-group").contains(&format!("{lost} of 2000 numbers never seen")));
    }
    // Another sender with the same SPI fills nothing: its numbers are there already.
    let mut frames: Vec<_> = (1..2_001_u32)
        .filter(|n| n % 40 != 7)
        .map(|n| (u64::from(n) * MS, build::on_link(&build::esp(R1, R2, 7, n, &noise.bytes(100)), R1, R2)))
        .collect();
    let other = Ipv4Addr::new(10, 9, 9, 9);
    frames.extend((1..1_200_u32).map(|n| {
        (u64::from(n) * MS + 300 * US, build::on_link(&build::esp(other, R2, 7, n, &noise.bytes(100)), R1, R2))
    }));
    let report = report("two-senders", frames);
    assert!(finding(&report, "spi-group").is_none());
    assert_eq!(number(finding(&report, "sequence-gap").expect("it is said"), "count"), 50);
}

/// A word that both ends use, and a counter behind it, in whole words: many protocols look so.
#[test]
fn one_identifier_both_ways_is_no_spi() {
    for first in [0_u32, 1, 5_000] {
        let mut noise = Noise(u64::from(first));
        let frames = (0..400_u32).map(|n| {
            let payload = [
                &0x8d3f_1c77_u32.to_be_bytes()[..],
                &(n / 2 + first).to_be_bytes(),
                &noise.bytes(64 + 4 * (n as usize % 9)),
            ];
            let (src, dst, ports) = if n % 2 == 0 { (R1, R2, (30_000, 40_000)) } else { (R2, R1, (40_000, 30_000)) };
            (u64::from(n) * MS, build::udp(src, dst, ports, n as u16, &payload.concat()))
        });
        let report = report("identifier", frames.collect());
        assert!(items(&report, "sas").is_empty(), "{first}: {}", at(&report, "sas"));
    }
    // A counter from 0, one way.
    let mut noise = Noise(9);
    let frames = (0..400_u32).map(|n| {
        let payload = [&0x8d3f_1c77_u32.to_be_bytes()[..], &n.to_be_bytes(), &noise.bytes(64)].concat();
        (u64::from(n) * MS, build::udp(R1, R2, (30_000, 40_000), n as u16, &payload))
    });
    assert!(items(&report("from-zero", frames.collect()), "sas").is_empty());
}

#[test]
fn esp_on_a_port_of_its_own_has_a_filter_and_a_course() {
    let mut noise = Noise(10);
    let frames = (1..400_u32).filter(|n| n % 40 != 7).map(|n| {
        let payload = [&0xc0de_0001_u32.to_be_bytes()[..], &n.to_be_bytes(), &noise.bytes(88)].concat();
        (u64::from(n) * MS, build::udp(R1, R2, (14_500, 33_000), n as u16, &payload))
    });
    let report = report("filter", frames.collect());
    let gap = finding(&report, "sequence-gap").expect("it is said");
    assert!(text(gap, "filter").contains("frame.number"), "{gap}");
    // Its traffic over time is that of its packets.
    let frames: u64 = items(&report, "rates.sa_bins").iter().map(|bin| number(bin, "frames")).sum();
    assert_eq!(frames, number(&report, "sas.0.frames"));
    let l1: u64 = items(&report, "rates.bins").iter().map(|bin| number(bin, "l1_bytes")).sum();
    assert_eq!(l1, items(&report, "rates.sa_bins").iter().map(|bin| number(bin, "l1_bytes")).sum::<u64>());
}

/// AH in tunnel mode around a packet of so many octets, in fragments of 1480 octets.
fn ah_fragments(noise: &mut Noise, n: u32, id: u16, bytes: usize) -> Vec<Vec<u8>> {
    let header = [&[4, 4, 0, 0][..], &7_u32.to_be_bytes(), &n.to_be_bytes(), &noise.bytes(12)].concat();
    let packet = [header, inner([10, 1, 0, 1], [10, 2, 0, 1], n, bytes - 28)].concat();
    let whole = build::ipv4(R1, R2, 51, id, &packet);
    if packet.len() <= 1_480 { vec![whole] } else { build::in_fragments(&whole, 1_480).to_vec() }
}

/// Fragments that come last first, of packets that share a few identifications: what is one packet is not certain, and no size is said.
#[test]
fn fragments_of_recurring_identifications_that_do_not_fit_have_no_size() {
    for (ids, reverse, apart) in [(1, true, 1), (8, true, 1), (64, true, 1), (1, false, 2), (1, true, 2)] {
        let mut noise = Noise(11);
        let mut frames = Vec::new();
        let packets: Vec<Vec<Vec<u8>>> = (0..300_u32)
            .map(|n| {
                let bytes = [1_600, 1_800, 2_200, 2_600][noise.below(4) as usize];
                let mut pieces = ah_fragments(&mut noise, n + 1, (n % ids) as u16, bytes);
                if reverse {
                    pieces.reverse();
                }
                pieces
            })
            .collect();
        // Packets in turns, fragment by fragment, where two are under way at once.
        for (n, group) in packets.chunks(apart).enumerate() {
            for at in 0..2 {
                for (place, pieces) in group.iter().enumerate() {
                    let time = (at * apart + place) as u64 * 10 * US;
                    frames.push((n as u64 * MS + time, pieces[at].clone()));
                }
            }
        }
        let bytes: u64 = frames.iter().map(|(_, data)| data.len() as u64 - 14).sum();
        let report = report("recurring", frames);
        let what = format!("{ids} {reverse} {apart}");
        assert!(items(&report, "sizes").is_empty(), "{what}: {}", at(&report, "sizes"));
        let sa = at(&report, "sas.0");
        assert_eq!((number(sa, "fragments_uncertain"), number(sa, "frames")), (300, 300), "{what}");
        assert!(
            number(sa, "outer_bytes") <= bytes && at(&report, "rates.directions.0.goodput_bps").is_null(),
            "{what}"
        );
        let said = evidence(&report, "outer-fragmentation");
        assert!(!said.contains("not seen") && said.starts_with("300 of 300 packets"), "{what}: {said}");
    }
    // In order they are certain.
    let mut noise = Noise(12);
    let frames = (0..300_u32).flat_map(|n| {
        let pieces = ah_fragments(&mut noise, n + 1, 0, 1_600 + 100 * (n as usize % 4));
        pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
    });
    let report = report("in-order", frames.collect());
    assert_eq!((number(&report, "sas.0.fragments_uncertain"), items(&report, "sizes").len()), (0, 4));
}

/// A capture card appends a time to each frame: what it adds was not on the wire, whoever asks.
#[test]
fn trailers_are_in_no_rate() {
    let mut noise = Noise(13);
    let frames = (1..400_u32).map(|n| {
        let mut frame = cbc(&mut noise, 7, n, 100 + n as usize * 37 % 1_200, true);
        frame.extend(noise.bytes(12));
        (u64::from(n) * MS, frame)
    });
    let report = report("trailers", frames.collect());
    let (sa, direction) = (at(&report, "sas.0.rate.l1_bps"), at(&report, "rates.directions.0.l1_bps"));
    assert!(direction.is_number() && sa == direction, "{sa} {direction}");
    assert_eq!(at(&report, "rates.sa_bins.0.l1_bytes"), at(&report, "rates.bins.0.l1_bytes"));
}

/// The later fragments of an SA's packets were on the wire, too.
#[test]
fn later_fragments_are_in_the_rate_of_their_association() {
    let mut noise = Noise(14);
    let frames = (0..300_u32).flat_map(|n| {
        let pieces = ah_fragments(&mut noise, n + 1, n as u16, 1_600 + 100 * (n as usize % 4));
        pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
    });
    let report = report("later", frames.collect());
    let rate = |path: &str| at(&report, path).as_f64().unwrap_or_else(|| panic!("{path}"));
    let (sa, direction) = (rate("sas.0.rate.l1_bps"), rate("rates.directions.0.l1_bps"));
    assert!((sa / direction - 1.0).abs() < 0.001, "{sa} {direction}");
}
