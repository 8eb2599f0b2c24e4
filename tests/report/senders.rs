//! One SPI and several senders: members of a group, nodes of a cluster, and networks that use the same addresses.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Order, Out, pcapng_of_interfaces, plain_pcap};
use crate::support::{self, at, items, number, text};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A report of frames with their times after the first.
fn report(test: &str, mut frames: Vec<(u64, Vec<u8>)>) -> Value {
    frames.sort_by_key(|(after, _)| *after);
    let out: Vec<Out> = frames.into_iter().map(|(after, data)| Out::whole(START + after, data)).collect();
    let path = support::write_file(&support::scratch("senders"), &format!("{test}.pcap"), &plain_pcap(&out));
    support::report(&[&path]).json()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

fn no_loss(report: &Value, what: &str) {
    let of_numbers = |code: &&str| ["sequence-gap", "sequence-duplicate", "sequence-late"].contains(code);
    assert!(!codes(report).iter().any(of_numbers), "{what}: {}", at(report, "findings"));
}

/// Router of a site, by which its hosts' packets leave and come.
fn router(site: u64) -> Ipv4Addr {
    Ipv4Addr::new(172, 16, 0, 1 + site as u8)
}

/// Three members of a group, each with a counter over all its pairs of hosts, so that most pairs show a few packets.
#[test]
fn members_of_a_group_fill_the_gaps_of_their_pairs() {
    for (members, hosts, packets, first) in [(3, 3, 100, 0), (3, 10, 600, 0), (3, 10, 600, 50_000), (4, 6, 300, 0)] {
        let mut noise = Noise(packets);
        let mut counters: Vec<u32> = (0..members).map(|site| first * site as u32).collect();
        let mut frames = Vec::new();
        for n in 0..packets {
            let site = noise.below(members);
            let far = (site + 1 + noise.below(members - 1)) % members;
            let mut host = |site: u64| Ipv4Addr::new(10, 1 + site as u8, 0, 1 + noise.below(hosts) as u8);
            let (src, dst) = (host(site), host(far));
            counters[site as usize] += 1;
            let esp = build::esp(src, dst, 0x77_1234, counters[site as usize], &noise.bytes(100));
            frames.push((n * 2 * MS, build::on_link(&esp, router(site), router(far))));
        }
        no_loss(&report("members", frames), &format!("{members} members, {hosts} hosts, {packets} packets"));
    }
    // Ten packets of each of two senders, to several groups of receivers.
    let mut noise = Noise(7);
    let (mut frames, mut counters) = (Vec::new(), [0_u32, 40_000]);
    for n in 0..20_u64 {
        let sender = (n % 2) as usize;
        counters[sender] += 1;
        let (src, dst) =
            (Ipv4Addr::new(10, 9, 0, 1 + sender as u8), Ipv4Addr::new(239, 1, 1, 1 + noise.below(4) as u8));
        frames.push((n * 5 * MS, build::esp(src, dst, 0x77_1234, counters[sender], &noise.bytes(100))));
    }
    no_loss(&report("multicast", frames), "multicast");
}

/// Peers of one sender with one SPI by hand, each with a counter of its own: what is lost is lost.
#[test]
fn peers_with_counters_of_their_own_lose_what_they_lose() {
    let mut noise = Noise(8);
    let mut frames = Vec::new();
    for peer in 1..=3_u8 {
        for n in (1..=5_u32).filter(|n| *n != 3) {
            let esp = build::esp(R1, Ipv4Addr::new(10, 2, 0, peer), 1_000, n, &noise.bytes(100));
            frames.push((u64::from(n) * 5 * MS + u64::from(peer) * US, esp));
        }
    }
    let report = report("peers", frames);
    let lost: Vec<u64> = items(&report, "sas").iter().map(|sa| number(sa, "sequence.lost")).collect();
    assert_eq!((lost, codes(&report).contains(&"spi-group")), (vec![1, 1, 1], false));
}

/// Two nodes of a cluster that both send with one SA from number 1: each number comes twice, with other packets.
#[test]
fn one_number_of_two_packets_is_no_duplicate() {
    for (packets, one_mac) in [(10, true), (10, false), (300, true), (300, false)] {
        let mut noise = Noise(packets);
        let mut frames = Vec::new();
        for n in 1..=packets {
            for node in 0..2 {
                // One IV of a counter mode may be the same for both.
                let payload = [&n.to_be_bytes()[..], &noise.bytes(96)].concat();
                let esp = build::esp(R1, R2, 7, n as u32, &payload);
                let mac = if one_mac { R1 } else { router(node) };
                frames.push((n * 4 * MS + node * 900 * US, build::on_link(&esp, mac, R2)));
            }
        }
        let report = report("cluster", frames);
        let what = format!("{packets} packets, one MAC: {one_mac}");
        no_loss(&report, &what);
        assert!(at(&report, "sas.0.sequence").is_null(), "{what}");
        assert!(codes(&report).contains(&"sequence-interleaved"), "{what}: {}", at(&report, "findings"));
    }
}

/// One packet of another content among replays: these are replays all the same.
#[test]
fn one_forged_packet_hides_no_replays() {
    let mut noise = Noise(12);
    let mut frames = Vec::new();
    for n in 1..=400_u32 {
        let packet = build::esp(R1, R2, 7, n, &noise.bytes(100));
        frames.push((u64::from(n) * 2 * MS, packet.clone()));
        if n == 3 {
            frames.push((u64::from(n) * 2 * MS + 300 * US, build::esp(R1, R2, 7, n, &noise.bytes(100))));
        }
        if n % 5 == 0 {
            frames.push((u64::from(n) * 2 * MS + SECOND, packet));
        }
    }
    let report = report("forged", frames);
    assert_eq!(number(&report, "sas.0.sequence.duplicate"), 81);
    assert!(codes(&report).contains(&"sequence-duplicate"), "{}", at(&report, "findings"));
}

/// Two routers of one gateway on paths of their own: packets come out of order, none of them twice. Replays are repeats, wherever they come from.
#[test]
fn parallel_paths_are_one_count_and_replays_are_replays() {
    let mut noise = Noise(10);
    let mut frames = Vec::new();
    for n in 1..=400_u64 {
        let esp = build::esp(R1, R2, 7, n as u32, &noise.bytes(100));
        frames.push((n * MS + (n % 2) * 5 * MS, build::on_link(&esp, router(n % 2), R2)));
    }
    let report = report("paths", frames.clone());
    assert!(number(&report, "sas.0.sequence.late") > 100 && codes(&report).contains(&"sequence-late"));
    let again: Vec<_> = frames.iter().take(40).map(|(time, frame)| (time + SECOND, frame.clone())).collect();
    let replayed = self::report("replayed", frames.into_iter().chain(again).collect());
    assert_eq!(number(&replayed, "sas.0.sequence.duplicate"), 40);
    assert!(codes(&replayed).contains(&"sequence-duplicate"));
}

/// A counter that begins anew after a pause bears its numbers with other packets.
#[test]
fn a_restart_after_few_packets_is_a_restart() {
    for first in [1, 3] {
        let mut noise = Noise(11);
        let mut packet =
            |n: u32, after: u64| (after + u64::from(n) * 20 * MS, build::esp(R1, R2, 7, n, &noise.bytes(100)));
        let mut frames: Vec<_> = (1..=first).map(|n| packet(n, 0)).collect();
        frames.extend((1..=8).map(|n| packet(n, 60 * SECOND)));
        let report = report("restart", frames);
        // After a single packet the number does not fall.
        assert_eq!(codes(&report).contains(&"sequence-restart"), first > 1, "{first}");
        assert!(!codes(&report).contains(&"sequence-interleaved"), "{first}: {}", at(&report, "findings"));
    }
}

/// A mirror of a second port that carries a tenth of the packets, one router further: no network sent them twice.
#[test]
fn copies_at_another_place_are_no_replays() {
    for share in [5, 10, 18] {
        let mut noise = Noise(share);
        let mut frames = Vec::new();
        for n in 1..=600_u64 {
            let packet = build::on_link(&build::esp(R1, R2, 7, n as u32, &noise.bytes(100)), R1, R2);
            if noise.below(100) < share {
                let further = build::on_link(&build::one_hop_further(&packet), router(1), router(2));
                frames.push((n * 2 * MS + 30 * US, further));
            }
            frames.push((n * 2 * MS, packet));
        }
        let report = report("places", frames);
        let repeats = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-duplicate");
        let repeats = repeats.unwrap_or_else(|| panic!("{share}: {}", at(&report, "findings")));
        assert_eq!(text(repeats, "severity"), "note", "{share}: {repeats}");
        assert!(text(repeats, "evidence").contains("at two places of their way"), "{share}: {repeats}");
    }
    // On one link, the network or the mirror repeats them.
    let mut noise = Noise(20);
    let frames = (1..=600_u64).flat_map(|n| {
        let packet = build::esp(R1, R2, 7, n as u32, &noise.bytes(100));
        (0..if n % 10 == 0 { 2 } else { 1 }).map(move |again| (n * 2 * MS + again * 30 * US, packet.clone()))
    });
    let report = report("link", frames.collect());
    let repeats = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-duplicate");
    assert_eq!(repeats.map(|finding| text(finding, "severity")), Some("warning"), "{}", at(&report, "findings"));
}

/// A mirror that shows every packet before a router and behind it: what is replayed is a replay all the same.
#[test]
fn replays_that_a_mirror_shows_at_two_places_are_replays() {
    let replayed = |again: std::ops::RangeInclusive<u64>, later: u64| {
        let mut noise = Noise(later);
        let mut frames = Vec::new();
        for n in 1..=300_u64 {
            let packet = build::on_link(&build::esp(R1, R2, 7, n as u32, &noise.bytes(100)), R1, R2);
            let further = build::on_link(&build::one_hop_further(&packet), router(1), router(2));
            let mut show = |at: u64| frames.extend([(at, packet.clone()), (at + 20 * US, further.clone())]);
            show(n * 10 * MS);
            if again.contains(&n) {
                show(n * 10 * MS + later);
            }
        }
        frames.sort_by_key(|(at, _)| *at);
        report("replayed", frames)
    };
    for (again, later, count) in [(51..=90, 5 * SECOND, 40), (51..=55, 500 * MS, 5), (1..=300, 50 * MS, 300)] {
        let report = replayed(again, later);
        let repeats = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-duplicate");
        let repeats = repeats.unwrap_or_else(|| panic!("{later}: {}", at(&report, "findings")));
        assert_eq!((text(repeats, "severity"), number(repeats, "count")), ("warning", count), "{later}: {repeats}");
        assert!(codes(&report).contains(&"tap-copies"), "{later}: {}", at(&report, "findings"));
    }
}

/// Two interfaces of one file, both of which see every packet, by clocks that are apart.
#[test]
fn packets_of_two_interfaces_are_no_replays() {
    for apart in [20 * MS, 200 * MS] {
        let mut noise = Noise(apart);
        let mut frames = Vec::new();
        for n in 1..=300_u64 {
            let packet = build::esp(R1, R2, 0x1007, n as u32, &noise.bytes(100));
            frames.extend([(n * 3 * MS, 0, packet.clone()), (n * 3 * MS + apart, 1, packet)]);
        }
        frames.sort_by_key(|(after, ..)| *after);
        let out: Vec<(u32, Out)> =
            frames.into_iter().map(|(after, interface, data)| (interface, Out::whole(START + after, data))).collect();
        let file = pcapng_of_interfaces(out.iter().map(|(interface, out)| (*interface, out)), 2, Order::Little);
        let path = support::write_file(&support::scratch("senders"), "interfaces.pcapng", &file);
        let report = support::report(&[&path]).json();
        let warnings = items(&report, "findings").iter().filter(|finding| text(finding, "severity") == "warning");
        assert_eq!(warnings.count(), 0, "{apart}: {}", at(&report, "findings"));
        let repeats = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-duplicate");
        let said = repeats.map(|finding| text(finding, "evidence")).unwrap_or_default();
        assert!(said.contains("each of them may show every packet"), "{apart}: {}", at(&report, "findings"));
        let rates = ["rates.directions.0.frames_per_s", "rates.directions.0.l1_bps", "sas.0.rate.frames_per_s"];
        assert!(rates.iter().all(|rate| at(&report, rate).is_null()), "{apart}: {}", at(&report, "rates"));
    }
}

/// Numbers in stretches, a packet each ten milliseconds, as a report.
fn stretches(test: &str, all: &[std::ops::RangeInclusive<u32>]) -> Value {
    let mut noise = Noise(17);
    let numbers = all.iter().cloned().flatten();
    let frames = (0..).zip(numbers).map(|(at, n)| (at * 10 * MS, build::esp(R1, R2, 0x1001, n, &noise.bytes(100))));
    report(test, frames.collect())
}

/// A count below all numbers before it, which never go on, may be a new one or may be late: neither loss nor order is known.
#[test]
fn a_count_that_falls_by_little_and_stays_there_has_no_figures() {
    let fallen: [&[_]; 4] =
        [&[300..=499, 1..=200], &[3_000..=3_499, 1..=500], &[300..=499, 1..=900], &[80..=99, 1..=16]];
    for (at, all) in fallen.iter().enumerate() {
        let report = stretches("fallen", all);
        no_loss(&report, &format!("{all:?}"));
        let restart = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-restart");
        let restart = restart.expect("it fell");
        assert_eq!(text(restart, "severity"), "note");
        assert!(text(restart, "evidence").contains("not determined"), "{restart}");
        assert!(at_sequence(&report, "lost").is_null(), "{at}");
    }
    // What fills a hole is late, what the old count follows is late, and so is a short stretch.
    let late: [&[_]; 4] = [
        &[1..=299, 500..=699, 300..=499],
        &[300..=499, 1..=200, 500..=600],
        &[300..=499, 1..=10],
        &[70..=120, 57..=69, 121..=140],
    ];
    for all in late {
        let report = stretches("late", all);
        assert!(codes(&report).contains(&"sequence-late") && !codes(&report).contains(&"sequence-restart"), "{all:?}");
        assert!(at_sequence(&report, "late").is_number(), "{all:?}");
    }
}

fn at_sequence<'r>(report: &'r Value, name: &str) -> &'r Value {
    report.pointer(&format!("/sas/0/sequence/{name}")).unwrap_or(&Value::Null)
}

/// A network card segments what was captured whole: each packet takes the numbers of its segments.
#[test]
fn packets_that_are_segmented_behind_the_capture_lose_nothing() {
    let mut noise = Noise(3);
    let mut number = 1;
    let frames = (0..300_u64).map(|at| {
        let segments = [1, 1, 5, 21][noise.below(4) as usize];
        let packet = build::esp(R1, R2, 0x1001, number, &noise.bytes(1_400 * segments as usize));
        number += segments;
        (at * MS, packet)
    });
    let report = report("segmented", frames.collect());
    let gap = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-gap");
    let gap = gap.expect("numbers are missing");
    assert_eq!(text(gap, "severity"), "note");
    assert!(text(gap, "evidence").contains("not determined"), "{gap}");
    assert!(at_sequence(&report, "lost").is_null());
}
