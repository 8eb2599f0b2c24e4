//! Three taps, one of which misses frames, begins late, or shows numbers that come again: what the others prove of it.

mod equal;
mod exit;

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::oracle::read_capture;
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{items, number, scratch, text, write_file};
use crate::{json, word};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 10);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 20);
/// A host behind a third gateway, and that gateway.
const FARTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 30);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 50);
const OTHER_FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 50);
const R3: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 3);
const PACKETS: u32 = 600;
const GAP: u64 = 3_000_000;
/// Taps in the order of the way there.
const PLAIN: usize = 0;
const TUNNEL: usize = 1;
const EXIT: usize = 2;

/// A packet, and which taps show it.
struct Trip {
    there: bool,
    at: u32,
    ns: u64,
    frame: Vec<u8>,
    shown: [bool; 3],
    spi: u32,
    number: u32,
}

/// Packets both ways that all taps show.
fn trips(seed: u64) -> Vec<Trip> {
    trips_of(PACKETS, seed)
}

fn trips_of(packets: u32, seed: u64) -> Vec<Trip> {
    let mut noise = Noise(seed);
    let mut all = Vec::new();
    for at in 0..packets {
        for there in [true, false] {
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let bytes = 40 + noise.below(900) as usize;
            let frame = build::udp(src, dst, (20_001, 20_002), at as u16, &noise.bytes(bytes));
            let ns = START + u64::from(at) * GAP + noise.below(GAP / 2) + if there { 0 } else { GAP / 2 };
            let spi = if there { 0x1001 } else { 0x2001 };
            all.push(Trip { there, at, ns, frame, shown: [true; 3], spi, number: at + 1 });
        }
    }
    all
}

/// A heartbeat: a packet that is equal to others.
fn beat() -> Vec<u8> {
    build::udp(NEAR, FAR, (20_003, 20_004), 1, &[0; 100])
}

/// Packets both ways, and every so many of them one to the far side that is equal to the others of its kind.
fn with_beats(packets: u32, every: u32, seed: u64) -> Vec<Trip> {
    let mut trips = trips_of(packets, seed);
    for at in (0..packets).step_by(every as usize) {
        let ns = START + u64::from(at) * GAP + GAP / 3;
        trips.push(Trip { there: true, at, ns, frame: beat(), shown: [true; 3], spi: 0x1001, number: 0 });
    }
    trips.sort_by_key(|trip| trip.ns);
    (1..).zip(trips.iter_mut().filter(|trip| trip.there)).for_each(|(number, trip)| trip.number = number);
    trips
}

/// The report on what the taps show, each packet 100 us further on at each of them. Packets of the tunnel that were `sent_again`: from the first
/// one, and how many nanoseconds later.
fn report(name: &str, trips: &[Trip], sent_again: Option<(usize, u64)>) -> Value {
    report_later(name, trips, sent_again, |_| 0)
}

/// The same, where packets come to the last tap so many nanoseconds later.
fn report_later(name: &str, trips: &[Trip], sent_again: Option<(usize, u64)>, later: impl Fn(&Trip) -> u64) -> Value {
    let mut noise = Noise(7);
    let mut captures: [Vec<Out>; 3] = Default::default();
    for (at, trip) in trips.iter().enumerate() {
        let further = build::one_hop_further(&trip.frame);
        let further = build::one_hop_further(&further);
        for tap in [PLAIN, TUNNEL, EXIT] {
            let place = if trip.there { tap } else { EXIT - tap };
            let ns = trip.ns + place as u64 * 100_000 + if place == EXIT { later(trip) } else { 0 };
            let frame = match (tap, place) {
                (TUNNEL, _) => {
                    let far = if trip.spi == 0x3001 { R3 } else { R2 };
                    let (from, to) = if trip.there { (R1, far) } else { (far, R1) };
                    let body = noise.bytes(16 + (trip.frame.len() - 14 + 2).next_multiple_of(16) + 12);
                    build::esp(from, to, trip.spi, trip.number, &body)
                }
                (_, 0) => trip.frame.clone(),
                _ => further.clone(),
            };
            if trip.shown[tap] {
                captures[tap].push(Out::whole(ns, frame.clone()));
            }
            if let Some((first, later)) = sent_again
                && (first..first + 120).contains(&at)
                && tap == TUNNEL
                && !trip.there
            {
                captures[tap].push(Out::whole(ns + later, frame));
            }
        }
    }
    let dir = scratch("match-three-taps");
    let files = [PLAIN, TUNNEL, EXIT].map(|tap| {
        captures[tap].sort_by_key(|frame| frame.time_ns);
        let bytes = pcap(&captures[tap], ETHERNET, Order::Little, Step::Nano);
        write_file(&dir, &format!("{name}-{tap}.pcap"), &bytes)
    });
    json(&files[PLAIN], &files[TUNNEL], &["--exit", word(&files[EXIT])])
}

fn direction<'r>(report: &'r Value, end: &str) -> &'r Value {
    items(report, "directions").iter().find(|own| text(own, "sa").ends_with(end)).expect("a direction")
}

/// Packets lost before the tunnel's tap, behind it, and from end to end.
fn lost(report: &Value, end: &str) -> [Option<u64>; 3] {
    let own = direction(report, end);
    ["lost_before_tunnel", "lost_behind_tunnel", "lost_end_to_end"].map(|member| own[member].as_u64())
}

fn warnings(report: &Value) -> Vec<&str> {
    let findings = items(report, "findings").iter();
    findings.filter(|finding| text(finding, "severity") != "note").map(|finding| text(finding, "evidence")).collect()
}

/// A capture that misses frames does so both ways; one of them shows that it does.
#[test]
fn a_tap_that_misses_frames_accuses_nobody() {
    for (name, tap, end) in [("plain", PLAIN, "00002001"), ("exit", EXIT, "00001001")] {
        let (mut trips, mut noise) = (trips(1), Noise(2));
        trips.iter_mut().for_each(|trip| trip.shown[tap] = noise.below(20) > 0);
        let report = report(&format!("misses-{name}"), &trips, None);
        assert_eq!(warnings(&report), Vec::<&str>::new(), "{name}");
        let [_, behind, end_to_end] = lost(&report, end);
        assert_eq!((behind, end_to_end), (None, None), "{name}");
        let open = items(&report, "ends").iter().filter(|own| own["loss_pct"].is_null()).count();
        assert_eq!(open, 1, "{name}: {:#}", report["ends"]);
    }
}

/// A conversation that lasts no longer than a hole of the exit's capture: that capture says nothing of it.
#[test]
fn flows_that_lie_in_a_hole_of_the_exit_are_not_lost() {
    let mut trips = trips(11);
    let mut noise = Noise(12);
    let hole = 240..460;
    for at in (250..450).step_by(2) {
        let frame =
            build::udp(Ipv4Addr::new(10, 0, 1, 77), FAR, (5_060, 5_060), at as u16, &noise.bytes(60 + at as usize));
        let ns = START + u64::from(at) * GAP + GAP / 3;
        trips.push(Trip { there: true, at, ns, frame, shown: [true; 3], spi: 0x1001, number: 0 });
    }
    trips.sort_by_key(|trip| trip.ns);
    let mut next = 0;
    for trip in &mut trips {
        trip.shown[EXIT] = !hole.contains(&trip.at);
        if trip.there {
            next += 1;
            trip.number = next;
        }
    }
    let report = report("short-flows", &trips, None);
    assert_eq!(warnings(&report), Vec::<&str>::new(), "{:#}", report["ends"]);
    assert_eq!(lost(&report, "00001001")[2], Some(0));
}

/// The exit's tap shows one network of several behind the far gateway, or one way only: what it never shows is not lost.
#[test]
fn what_the_exit_does_not_look_at_is_not_lost() {
    let elsewhere = Ipv4Addr::new(10, 0, 3, 20);
    let mut trips = trips(21);
    let mut noise = Noise(22);
    for trip in trips.iter_mut().filter(|trip| trip.at % 3 == 1) {
        let (src, dst) = if trip.there { (NEAR, elsewhere) } else { (elsewhere, NEAR) };
        let bytes = 40 + noise.below(900) as usize;
        trip.frame = build::udp(src, dst, (20_001, 20_002), trip.at as u16, &noise.bytes(bytes));
        trip.shown[EXIT] = false;
    }
    let report = report("other-network", &trips, None);
    assert_eq!(warnings(&report), Vec::<&str>::new(), "{:#}", report["ends"]);
    let [_, behind, end_to_end] = lost(&report, "00001001");
    assert_eq!((behind, end_to_end), (None, None));
    let there = items(&report, "ends").iter().find(|own| text(own, "way") == "plain-to-exit").expect("a way");
    assert!(there["loss_pct"].is_null(), "{there:#}");
    assert_eq!(lost(&report, "00002001")[2], Some(0), "what arrived was not lost");

    let mut trips = self::trips(23);
    trips.iter_mut().filter(|trip| trip.there).for_each(|trip| trip.shown[EXIT] = false);
    let report = self::report("exit-one-way", &trips, None);
    assert_eq!(warnings(&report), Vec::<&str>::new(), "{:#}", report["ends"]);
    // But a host that the exit shows got less than was sent to it.
    let mut trips = self::trips(24);
    trips.iter_mut().filter(|trip| trip.there && trip.at % 4 == 2).for_each(|trip| trip.shown[EXIT] = false);
    assert_eq!(lost(&self::report("exit-loses", &trips, None), "00001001"), [Some(0), Some(150), Some(150)]);
}

/// What was lost before the exit was recording says nothing of what was lost behind the tunnel's tap later.
#[test]
fn losses_of_different_times_are_not_subtracted() {
    let mut trips = trips(3);
    for trip in &mut trips {
        let is_early = trip.at < PACKETS / 2;
        trip.shown[EXIT] = !is_early;
        if trip.there && is_early && trip.at % 10 == 5 {
            trip.shown = [true, false, false];
        }
        if trip.there && !is_early && trip.at % 30 == 17 {
            trip.shown = [true, true, false];
        }
    }
    assert_eq!(lost(&report("windows", &trips, None), "00001001"), [Some(30), Some(10), Some(10)]);
}

/// Losses are of the SA that took the packets at that time.
#[test]
fn losses_from_end_to_end_are_of_the_sa_of_that_time() {
    let mut trips = trips(4);
    for trip in trips.iter_mut().filter(|trip| trip.there) {
        if trip.at >= PACKETS / 2 {
            (trip.spi, trip.number) = (0x1002, trip.at + 1 - PACKETS / 2);
        } else if trip.at % 20 == 7 {
            trip.shown = [true, false, false];
        }
    }
    let report = report("rekeyed", &trips, None);
    assert_eq!(lost(&report, "00001001"), [Some(15), Some(0), Some(15)]);
    assert_eq!(lost(&report, "00001002"), [Some(0), Some(0), Some(0)]);
}

/// A counter that begins anew, and one that was set ahead, lose nothing.
#[test]
fn counters_that_change_lose_nothing() {
    let mut anew = trips(5);
    anew.iter_mut().filter(|trip| trip.there && trip.at >= 300).for_each(|trip| trip.number = trip.at - 299);
    let report = report("anew", &anew, None);
    assert_eq!(warnings(&report), Vec::<&str>::new(), "{:#}", report["directions"]);
    assert_ne!(lost(&report, "00001001")[0].unwrap_or(0), 300);

    let mut ahead = trips(6);
    ahead.iter_mut().filter(|trip| !trip.there && trip.at >= 300).for_each(|trip| trip.number += 10_000);
    let report = self::report("ahead", &ahead, None);
    assert_eq!(lost(&report, "00002001"), [None, Some(0), Some(0)], "{:#}", report["directions"]);
    assert!(text(direction(&report, "00002001"), "undetermined.reason").contains("skips numbers"));
}

/// Out of the tunnel a counter that begins anew makes no replays of the packets that are lost afterwards.
#[test]
fn losses_behind_a_counter_that_began_anew_are_not_denied() {
    // Where few packets wait for others, they are read before those that come again; where many do, together with them.
    for (name, packets) in [("anew-back", PACKETS), ("anew-back-late", 3 * PACKETS)] {
        let mut trips = trips_of(packets, 9);
        for trip in trips.iter_mut().filter(|trip| !trip.there && trip.at >= packets - 300) {
            trip.number -= 500.min(packets - 300);
            trip.shown[PLAIN] = trip.at % 10 != 4;
        }
        let behind = lost(&report(name, &trips, None), "00002001")[1];
        assert!(behind.is_none_or(|behind| behind == 30), "{name}: {behind:?}");
    }
}

/// Where the tunnel's tap shows one way only, nothing tells on which side of it packets of the other way were lost.
#[test]
fn losses_of_a_way_that_the_tunnel_does_not_show_have_no_place() {
    let mut trips = trips(10);
    for trip in trips.iter_mut().filter(|trip| !trip.there) {
        trip.shown = [trip.at % 20 != 3, false, true];
    }
    let report = report("one-way", &trips, None);
    let said = warnings(&report);
    assert!(said.iter().any(|said| said.starts_with("30 packets of 600 from the exit side")), "{said:?}");
    assert!(said.iter().all(|said| !said.contains("reach the tunnel tap.")), "{said:?}");
}

/// The gateway drops what was there before.
#[test]
fn packets_that_are_sent_again_are_not_lost() {
    let report = report("again", &trips(8), Some((400, 400_000_000)));
    assert_eq!(direction(&report, "00002001")["repeated_tunnel"], 60, "{:#}", report["directions"]);
    assert_eq!(lost(&report, "00002001"), [Some(0), Some(0), Some(0)]);
}

/// From one clock to another that was set while packets were on their way there are no times.
#[test]
fn a_clock_that_was_set_gives_no_times_from_end_to_end() {
    let times = |report: &Value| items(report, "ends").iter().filter(|own| !own["latency_ns"].is_null()).count();
    assert_eq!(times(&report("even", &trips(11), None)), 2);
    let dir = scratch("match-three-taps");
    let [plain, tunnel, exit] = [PLAIN, TUNNEL, EXIT].map(|tap| dir.join(format!("even-{tap}.pcap")));
    let mut frames = read_capture(&exit).records;
    let half = frames.len() / 2;
    frames.iter_mut().skip(half).for_each(|frame| frame.time_ns -= 1_500_000_000);
    let frames: Vec<Out> = frames.into_iter().map(|own| Out::whole(own.time_ns as u64, own.data)).collect();
    let exit = write_file(&dir, "set-2.pcap", &pcap(&frames, ETHERNET, Order::Little, Step::Nano));
    assert_eq!(times(&json(&plain, &tunnel, &["--exit", word(&exit)])), 0);
}

/// A switch before the exit tap that shows some packets twice: the second ones need not reach the tunnel.
#[test]
fn packets_that_the_exit_shows_twice_are_not_lost() {
    let mut trips = trips(23);
    let twice = |own: &Trip, later: u64| Trip {
        shown: [false, false, true],
        ns: own.ns + later,
        frame: own.frame.clone(),
        ..*own
    };
    let again: Vec<Trip> = trips
        .iter()
        .filter(|own| !own.there)
        .step_by(20)
        .enumerate()
        .map(|(at, own)| twice(own, 20_000 << (at % 8)))
        .collect();
    assert_eq!(again.len(), 30);
    trips.extend(again);
    let report = report("twice", &trips, None);
    assert!(warnings(&report).is_empty(), "{:#}", report["findings"]);
}

/// After a lost heartbeat, equal to the others, each may be taken for the next: how far apart such pairs are says nothing of how long packets take, nor
/// of what the captures have in common.
#[test]
fn heartbeats_hide_no_losses() {
    let mut trips = trips(31);
    let beat = build::udp(NEAR, FAR, (20_003, 20_004), 1, &[0; 100]);
    for at in 0..PACKETS / 20 {
        let ns = START + u64::from(at) * 20 * GAP + GAP / 3;
        trips.push(Trip { there: true, at, ns, frame: beat.clone(), shown: [true; 3], spi: 0x1001, number: 0 });
    }
    trips.sort_by_key(|trip| trip.ns);
    let mut there: Vec<&mut Trip> = trips.iter_mut().filter(|trip| trip.there).collect();
    (1..).zip(&mut there).for_each(|(number, trip)| trip.number = number);
    there.iter_mut().skip(7).step_by(20).for_each(|trip| trip.shown[EXIT] = false);
    let gone = trips.iter().filter(|trip| !trip.shown[EXIT]).count() as u64;
    assert_eq!(lost(&report("heartbeats", &trips, None), "1001"), [Some(0), Some(gone), Some(gone)]);
}

/// What is equal waits for what was sent at that time: neither a hole of the exit's capture nor lost heartbeats make the others seem one later.
#[test]
fn heartbeats_are_taken_for_no_later_ones() {
    const PACKETS: u32 = 4_000;
    let is_beat = |trip: &Trip| trip.there && trip.frame == beat();
    for every in [2, 10, 50] {
        let mut hole = with_beats(PACKETS, every, 35);
        hole.iter_mut().filter(|trip| (1_500..1_700).contains(&trip.at)).for_each(|trip| trip.shown[EXIT] = false);
        let own = report(&format!("beats-hole-{every}"), &hole, None);
        let codes: Vec<&str> = items(&own, "findings").iter().map(|finding| text(finding, "code")).collect();
        assert!(!codes.contains(&"match-loss-behind"), "{every}: {:#}", own["findings"]);
        assert!(lost(&own, "1001")[2].is_none_or(|lost| lost == 0), "{every}: {:#}", own["directions"]);

        let mut gone = with_beats(PACKETS, every, 35);
        let beats = gone.iter_mut().filter(|trip| is_beat(trip) && trip.at >= 600);
        beats.take(5).for_each(|trip| trip.shown[EXIT] = false);
        let own = report(&format!("beats-lost-{every}"), &gone, None);
        assert_eq!(lost(&own, "1001"), [Some(0), Some(5), Some(5)], "{every}");
        gone.sort_by_key(|trip| trip.ns + if trip.there { 0 } else { 200_000 });
        for lost in items(&own, "lost") {
            let frame = number(lost, "frame.frame") as usize - 1;
            assert!(!gone[frame].shown[EXIT], "{every}: {lost:#}");
        }
    }
}

/// Hosts that reach the other site by another line, and lose packets there, are none of the tunnel's, of which each packet is known.
#[test]
fn another_line_hides_no_losses() {
    let (mut trips, mut noise) = (trips(36), Noise(37));
    for own in trips.iter_mut().skip(20) {
        own.shown[if own.there { EXIT } else { PLAIN }] = noise.below(20) > 0;
    }
    let lost_of = |trips: &[Trip], there: bool| {
        let own = trips.iter().filter(|trip| trip.there == there && trip.shown[TUNNEL]);
        Some(own.filter(|trip| !trip.shown[if there { EXIT } else { PLAIN }]).count() as u64)
    };
    let (there, back) = (lost_of(&trips, true), lost_of(&trips, false));
    for at in 0..PACKETS / 2 {
        for there in [true, false] {
            let (src, dst) = if there { (OTHER, OTHER_FAR) } else { (OTHER_FAR, OTHER) };
            let frame = build::udp(src, dst, (20_003, 20_004), at as u16, &noise.bytes(300));
            let ns = START + u64::from(at) * 2 * GAP + GAP / 3;
            let mut shown = [true, false, true];
            shown[if there { EXIT } else { PLAIN }] = at < 20 || noise.below(20) > 0;
            trips.push(Trip { there, at, ns, frame, shown, spi: 0x1001, number: 0 });
        }
    }
    let report = report("another-line", &trips, None);
    assert_eq!(lost(&report, "1001"), [Some(0), there, there]);
    assert_eq!(lost(&report, "2001"), [Some(0), back, back]);
}

/// The line fails when the exit's capture has ended: what it does not cover says nothing against losses there.
#[test]
fn losses_after_the_end_of_the_exit_are_not_denied() {
    let mut trips = trips_of(2_000, 38);
    for own in &mut trips {
        own.shown[EXIT] = own.at < 1_890;
        own.shown[PLAIN] = own.there || !(1_880..1_980).contains(&own.at) || own.at % 2 == 0;
    }
    let gone = trips.iter().filter(|trip| !trip.shown[PLAIN]).count() as u64;
    let report = report("after-the-exit", &trips, None);
    assert_eq!(lost(&report, "2001")[1], Some(gone), "{:#}", direction(&report, "2001")["undetermined"]);
}

/// An exit that shows one way says nothing of the other, for none of the SAs that carried it.
#[test]
fn an_exit_of_one_way_says_nothing_of_either_sa() {
    let mut trips = trips(32);
    for trip in &mut trips {
        trip.shown[EXIT] = !trip.there;
        if trip.at >= PACKETS / 2 {
            (trip.spi, trip.number) = (trip.spi + 1, trip.number - PACKETS / 2);
        }
    }
    let report = report("one-way", &trips, None);
    for spi in ["1001", "1002"] {
        assert_eq!(lost(&report, spi), [Some(0), None, None], "{spi}");
    }
}

/// Where several SAs carry a flow at a time, nothing tells which of them a packet that did not arrive would have gone through.
#[test]
fn losses_of_parallel_sas_are_of_none_of_them() {
    let mut trips = trips(33);
    let mut numbers = [0_u32; 2];
    for trip in trips.iter_mut().filter(|trip| trip.there) {
        let sa = usize::from(trip.at % 3 == 0);
        numbers[sa] += 1;
        (trip.spi, trip.number) = (0x1001 + sa as u32, numbers[sa]);
        trip.shown[EXIT] = trip.at % 25 != 3;
    }
    let report = report("parallel", &trips, None);
    for spi in ["1001", "1002"] {
        assert_eq!(lost(&report, spi)[2], None, "{spi}");
    }
    assert_eq!(items(&report, "ends").iter().map(|end| end["lost"].as_u64()).max(), Some(Some(24)));
    assert!(items(&report, "lost").iter().all(|lost| lost["sa"].is_null()), "{:#}", report["lost"]);
    let said = warnings(&report);
    assert!(said.len() == 1 && said[0].starts_with("24 packets of 600 from the plain side"), "{said:?}");
}

/// An exit at one site says nothing of what comes from another.
#[test]
fn an_exit_at_one_site_says_nothing_of_another() {
    let mut trips = trips(34);
    let mut noise = Noise(35);
    for at in 0..PACKETS {
        let bytes = 40 + noise.below(900) as usize;
        let frame = build::udp(FARTHER, NEAR, (20_005, 20_006), at as u16, &noise.bytes(bytes));
        let ns = START + u64::from(at) * GAP + noise.below(GAP / 4) + GAP / 5;
        // Some are lost on their way to the gateway, and their numbers with them.
        let arrives = at % 40 != 7;
        trips.push(Trip { there: false, at, ns, frame, shown: [arrives, arrives, false], spi: 0x3001, number: at + 1 });
    }
    trips.sort_by_key(|trip| trip.ns);
    let report = report("another-site", &trips, None);
    assert_eq!(lost(&report, "2001"), [Some(0), Some(0), Some(0)]);
    assert_eq!(lost(&report, "3001"), [Some(15), Some(0), None]);
}
