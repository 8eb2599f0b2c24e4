//! More packets on their way at once than times can tell apart.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::{json, pairs};
use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{items, number, scratch, text, write_file};

const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 1)];
/// Hosts behind a second pair of gateways.
const OTHER_HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 3, 1), Ipv4Addr::new(10, 0, 4, 1)];
const OTHER_GATEWAYS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 168, 1, 3), Ipv4Addr::new(192, 168, 1, 4)];

/// Packets of random sizes both ways, one every `gap` nanoseconds, that the gateway holds for 20 to 60 us and hands on in their order. `stranger`:
/// what the tunnel carries away from the gateway never passed the plain tap, which shows packets of other lengths instead.
/// The frames of the plain tap, those of the tunnel, and which plaintext frame each of the latter was, by number from 1.
fn load(packets: u64, gap: u64, stranger: bool) -> (Vec<Out>, Vec<Out>, BTreeMap<u64, u64>) {
    between(HOSTS, [R1, R2], packets, gap, stranger)
}

/// The same between these hosts, through a tunnel of these gateways.
fn between(
    hosts: [Ipv4Addr; 2],
    gateways: [Ipv4Addr; 2],
    packets: u64,
    gap: u64,
    stranger: bool,
) -> (Vec<Out>, Vec<Out>, BTreeMap<u64, u64>) {
    let mut noise = Noise(7);
    let (mut sequences, mut last) = ([0_u32; 2], [0_u64; 2]);
    // Frames with the number of their packet.
    let [mut plain, mut tunnel]: [Vec<(Out, u64)>; 2] = Default::default();
    for packet in 0..packets {
        let sent = START + packet * gap;
        let way = usize::from(noise.word() & 1 == 1);
        let mut bytes = || 36 + noise.below(65) as usize;
        let (inner, shown) = (bytes(), bytes());
        let shown = if stranger && way == 0 { shown } else { inner };
        sequences[way] += 1;
        last[way] = (last[way] + 1).max(sent + 20_000 + noise.below(40_000));
        let content = noise.bytes(shown);
        let clear = build::udp(hosts[way], hosts[1 - way], (5_001, 5_201), packet as u16, &content);
        // IV, the packet with its trailer in blocks of 16, and an ICV of 12.
        let hidden = noise.bytes(16 + (28 + inner + 2).next_multiple_of(16) + 12);
        let around = build::esp(gateways[way], gateways[1 - way], 0x1001 + way as u32, sequences[way], &hidden);
        let (clear, near, far) =
            if way == 0 { (clear, sent, last[way]) } else { (build::one_hop_further(&clear), last[way], sent) };
        plain.push((Out::whole(near, clear), packet));
        tunnel.push((Out::whole(far, around), packet));
    }
    plain.sort_by_key(|(frame, packet)| (frame.time_ns, *packet));
    tunnel.sort_by_key(|(frame, packet)| (frame.time_ns, *packet));
    let places: BTreeMap<u64, u64> = plain.iter().zip(1..).map(|((_, packet), place)| (*packet, place)).collect();
    let truth = tunnel.iter().zip(1..).map(|((_, packet), place)| (place, places[packet])).collect();
    let frames = |all: Vec<(Out, u64)>| all.into_iter().map(|(frame, _)| frame).collect();
    (frames(plain), frames(tunnel), truth)
}

#[test]
fn lengths_in_a_row_tell_what_times_do_not() {
    let dir = scratch("matching-rates");
    for packets in [12_000, 40_000] {
        let (plain, tunnel, truth) = load(packets, 2_000, false);
        let file = |name: &str, frames| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
        let (plain, tunnel) = (file("plain.pcap", &plain), file("tunnel.pcap", &tunnel));
        let rows = pairs(&plain, &tunnel, &[]);
        let wrong = rows.iter().filter(|(tunnel, plain, _)| truth[tunnel] != *plain);
        assert!(wrong.filter(|(.., confidence)| *confidence > 0.9).count() * 500 < rows.len(), "of {packets}");
        assert_eq!(rows.len() as u64, packets);
        let report = json(&plain, &tunnel, &[]);
        for figure in ["unmatched_plain", "unmatched_tunnel", "outside_plain", "undetermined_plain"] {
            assert_eq!(number(&report, &format!("pairs.{figure}")), 0, "{figure} of {packets}");
        }
    }
}

#[test]
fn a_direction_that_was_not_found_makes_nothing_outside() {
    let dir = scratch("matching-rates-unfound");
    let (plain, tunnel, _) = load(6_000, 20_000, true);
    let file = |name: &str, frames| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    let report = json(&file("plain.pcap", &plain), &file("tunnel.pcap", &tunnel), &[]);
    let directions = items(&report, "directions");
    let unfound: Vec<_> = directions.iter().filter(|direction| number(direction, "matched") == 0).collect();
    assert_eq!((directions.len(), unfound.len()), (2, 1), "{directions:#?}");
    assert!(!unfound[0]["undetermined"].is_null() && unfound[0]["loss_pct"].is_null());
    assert_eq!(number(&report, "pairs.outside_plain"), 0);
    assert_eq!(number(&report, "pairs.unmatched_tunnel"), 0);
    assert!(
        number(&report, "pairs.undetermined_plain") > 2_500 && number(&report, "pairs.undetermined_tunnel") > 2_500
    );
}

/// One direction, two clocks, and TTLs that a router lowered before the plain tap: it came out of the tunnel or goes into it. Numbers that are missing
/// were lost before the tunnel's tap in the one case and behind the plain one in the other.
#[test]
fn a_way_that_nothing_tells_has_no_loss() {
    let dir = scratch("matching-rates-way");
    let mut noise = Noise(11);
    let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
    let (mut sent, mut sequence) = (START, 0);
    for packet in 0..1_500_u32 {
        sent += 50_000 + noise.below(400_000);
        sequence += if packet % 100 == 50 { 3 } else { 1 };
        let inner = 36 + noise.below(900) as usize;
        let clear = build::udp(HOSTS[1], HOSTS[0], (5_001, 5_201), packet as u16, &noise.bytes(inner));
        let clear = (0..7).fold(clear, |frame, _| build::one_hop_further(&frame));
        let hidden = noise.bytes(16 + (28 + inner + 2).next_multiple_of(16) + 12);
        tunnel.push(Out::whole(sent + 3_000_000, build::esp(R2, R1, 0x1002, sequence, &hidden)));
        plain.push(Out::whole(sent + 40_000 + noise.below(9_000), clear));
    }
    let file = |name: &str, frames: &[Out]| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    let report = json(&file("plain.pcap", &plain), &file("tunnel.pcap", &tunnel), &[]);
    let direction = &items(&report, "directions")[0];
    assert!(number(direction, "matched") > 1_400, "{direction:#}");
    assert_eq!(direction["way"], "unknown", "{direction:#}");
    assert!(direction["loss_pct"].is_null() && direction["lost_before_tunnel"].is_null(), "{direction:#}");
    assert!(!direction["undetermined"].is_null() && items(&report, "lost").is_empty());
    let findings = items(&report, "findings");
    assert!(findings.iter().all(|finding| finding["code"] != "match-loss"), "{findings:#?}");
}

/// A tap that shows frames of both.
fn merged(one: Vec<Out>, other: Vec<Out>) -> Vec<Out> {
    let mut all = [one, other].concat();
    all.sort_by_key(|frame| frame.time_ns);
    all
}

/// Pairing by order follows one gateway; what goes through a tunnel between two others is in that tunnel all the same.
#[test]
fn flows_of_a_second_pair_of_gateways_are_not_outside() {
    let dir = scratch("matching-rates-gateways");
    let (plain, tunnel, _) = load(3_000, 400_000, false);
    let (beside, second, _) = between(OTHER_HOSTS, OTHER_GATEWAYS, 1_500, 790_000, false);
    let file = |name: &str, frames| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    let (plain, tunnel) = (file("plain.pcap", &merged(plain, beside)), file("tunnel.pcap", &merged(tunnel, second)));
    let report = json(&plain, &tunnel, &[]);
    assert_eq!(number(&report, "pairs.outside_plain"), 0, "{}", report["outside"]);
    assert!(number(&report, "pairs.matched") > 2_900, "{}", report["pairs"]);
    assert!(number(&report, "pairs.undetermined_plain") > 1_400, "{}", report["pairs"]);
    let others = items(&report, "directions").iter().filter(|own| number(own, "matched") == 0);
    let reasons: Vec<&str> = others.map(|own| text(own, "undetermined.reason")).collect();
    assert!(reasons.len() == 2 && reasons.iter().all(|reason| reason.contains("other gateways")), "{reasons:?}");
}

/// A tap beside the tunnel may show the frames of one direction alone: that the other one goes elsewhere does not follow.
#[test]
fn a_tunnel_tap_that_shows_one_direction_makes_nothing_outside() {
    let dir = scratch("matching-rates-one-direction");
    let (plain, tunnel, _) = load(3_000, 400_000, false);
    let file = |name: &str, frames: &[Out]| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    let plain = file("plain.pcap", &plain);
    for gateway in [R1, R2] {
        let is_shown = |frame: &&Out| frame.data[26..30] == gateway.octets();
        let shown: Vec<Out> = tunnel.iter().filter(is_shown).cloned().collect();
        let report = json(&plain, &file("tunnel.pcap", &shown), &[]);
        assert!(number(&report, "pairs.matched") > 1_400, "{gateway}: {}", report["pairs"]);
        assert_eq!(number(&report, "pairs.outside_plain"), 0, "{gateway}: {}", report["outside"]);
        assert!(number(&report, "pairs.undetermined_plain") > 1_400, "{gateway}: {}", report["pairs"]);
    }
}

/// A gateway that drops what one host sends, whose answers come out of the tunnel (one-way audio): these packets do not go elsewhere for certain, and
/// that nothing was lost is not known.
#[test]
fn flows_whose_answers_come_out_of_the_tunnel_are_not_outside() {
    let dir = scratch("matching-rates-blocked");
    let (mut plain, tunnel, truth) = load(4_000, 400_000, false);
    let is_forth = |frame: &Out| frame.data[26..30] == HOSTS[0].octets();
    let mut blocked = std::collections::BTreeSet::new();
    for (frame, place) in plain.iter_mut().zip(1_u64..).filter(|(_, place)| place % 4 == 0) {
        let forth = is_forth(frame);
        let ends = if forth { OTHER_HOSTS } else { [OTHER_HOSTS[1], OTHER_HOSTS[0]] };
        frame.data[26..30].copy_from_slice(&ends[0].octets());
        frame.data[30..34].copy_from_slice(&ends[1].octets());
        if forth {
            blocked.insert(place);
        }
    }
    let mut number_forth = 0_u32;
    let mut passed = Vec::new();
    for (mut frame, place) in tunnel.into_iter().zip(1_u64..) {
        if blocked.contains(&truth[&place]) {
            continue;
        }
        if frame.data[26..30] == R1.octets() {
            number_forth += 1;
            frame.data[38..42].copy_from_slice(&number_forth.to_be_bytes());
        }
        passed.push(frame);
    }
    let file = |name: &str, frames: &[Out]| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    let report = json(&file("plain.pcap", &plain), &file("tunnel.pcap", &passed), &[]);
    assert!(number(&report, "pairs.matched") > 3_000, "{}", report["pairs"]);
    assert!(items(&report, "outside").is_empty(), "{}", report["outside"]);
    assert_eq!(number(&report, "pairs.undetermined_plain"), blocked.len() as u64, "{}", report["pairs"]);
    let forth =
        items(&report, "directions").iter().find(|own| text(own, "way") == "encapsulated").expect("it is there");
    assert!(forth["loss_pct"].is_null() && forth["lost_before_tunnel"].is_null(), "{forth:#}");
    assert!(text(forth, "undetermined.reason").contains("come"), "{forth:#}");
    let back = items(&report, "directions").iter().find(|own| text(own, "way") == "decapsulated").expect("it is there");
    assert_eq!(number(back, "lost_before_tunnel"), 0);
}
