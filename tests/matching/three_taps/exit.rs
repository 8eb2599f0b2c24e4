//! What the exit does not show, though it arrived, and what it proves although it shows a part.

use super::*;

fn says_lost_behind(report: &Value) -> bool {
    items(report, "findings").iter().any(|finding| text(finding, "code") == "match-loss-behind")
}

/// Of equal packets from before the exit's capture none is taken for one that it shows.
#[test]
fn an_exit_that_begins_later_loses_no_heartbeats() {
    for (every, from) in [(2, 100), (5, 500), (20, 500), (100, 700)] {
        let mut trips = with_beats(2_500, every, 51);
        trips.iter_mut().filter(|trip| trip.at < from).for_each(|trip| trip.shown[EXIT] = false);
        let own = report(&format!("beats-late-{every}"), &trips, None);
        assert_eq!(lost(&own, "1001"), [Some(0); 3], "{every}: {:#}", own["findings"]);
    }
}

/// A queue that fills delays by more than heartbeats are apart: none overtakes another.
#[test]
fn a_queue_that_fills_loses_no_heartbeats() {
    const SAW: u32 = 400;
    for (every, most) in [(2, 40_000_000), (7, 40_000_000), (30, 200_000_000)] {
        let trips = with_beats(2_500, every, 53);
        let later = |trip: &Trip| if trip.there { u64::from(trip.at % SAW) * (most / u64::from(SAW)) } else { 0 };
        let own = report_later(&format!("beats-queue-{every}"), &trips, None, later);
        assert_eq!(lost(&own, "1001"), [Some(0); 3], "{every}: {:#}", own["findings"]);
    }
}

/// Where heartbeats follow each other faster than delays differ, how many were lost is known by luck only.
#[test]
fn of_heartbeats_closer_than_delays_the_lost_ones_are_not_counted() {
    let mut trips = with_beats(2_500, 2, 55);
    let beats = trips.iter_mut().filter(|trip| trip.number > 0 && trip.frame.len() == 14 + 28 + 100 && trip.at > 900);
    beats.step_by(40).take(8).for_each(|trip| trip.shown[EXIT] = false);
    let later = |trip: &Trip| if trip.there { u64::from(trip.at % 400) * 100_000 } else { 0 };
    let own = report_later("beats-close", &trips, None, later);
    assert_eq!(lost(&own, "1001"), [Some(0), None, None], "{:#}", own["findings"]);
}

/// More packets than wait at a time come after those that were lost.
#[test]
fn early_losses_of_a_long_capture_are_counted() {
    const LONG: u32 = 140_000;
    let mut noise = Noise(65);
    let mut trips: Vec<Trip> = (0..LONG)
        .map(|at| {
            let there = at % 50 > 0;
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let load = [&at.to_be_bytes()[..], &[0; 300][..20 + noise.below(280) as usize]].concat();
            let frame = build::udp(src, dst, (20_001, 20_002), at as u16, &load);
            let (spi, ns) = (if there { 0x1001 } else { 0x2001 }, START + u64::from(at) * 50_000);
            Trip { there, at, ns, frame, shown: [true; 3], spi, number: at + 1 }
        })
        .collect();
    for way in [true, false] {
        (1..).zip(trips.iter_mut().filter(|trip| trip.there == way)).for_each(|(number, trip)| trip.number = number);
    }
    trips.iter_mut().filter(|trip| trip.there).skip(300).step_by(20).take(25).for_each(|trip| trip.shown[EXIT] = false);
    let own = report("long", &trips, None);
    assert_eq!(direction(&own, "1001")["lost_end_to_end"], 25, "{:#}", own["ends"]);
}

/// That a packet is not among the listed ones that the exit lacks says nothing where these are too many to be listed.
#[test]
fn an_exit_of_one_direction_proves_no_arrivals() {
    let mut trips = trips_of(11_500, 57);
    trips.iter_mut().filter(|trip| trip.there).for_each(|trip| trip.shown[EXIT] = false);
    let gone = trips.iter_mut().filter(|trip| trip.there).skip(200).step_by(300);
    gone.take(30).for_each(|trip| trip.shown[TUNNEL] = false);
    let own = report("one-way", &trips, None);
    assert_eq!(lost(&own, "1001"), [Some(30), None, None], "{:#}", own["findings"]);
    // The other port of the tap.
    for trip in &mut trips {
        trip.shown[EXIT] = trip.there && trip.shown[TUNNEL];
    }
    let own = report("other-way", &trips, None);
    assert_eq!(lost(&own, "1001"), [Some(30), Some(0), Some(30)], "{:#}", own["findings"]);
    assert_eq!(lost(&own, "2001")[2], None, "{:#}", own["directions"]);
}

/// An exit tap that misses frames of both ways: the way back proves it, also where packets of it are lost.
#[test]
fn frames_that_the_exit_tap_misses_are_not_lost() {
    let (mut trips, mut noise) = (trips_of(6_000, 59), Noise(61));
    for trip in trips.iter_mut().skip(50) {
        let is_lost = noise.below(300) == 0;
        trip.shown[if trip.there { EXIT } else { PLAIN }] = !is_lost;
        trip.shown[EXIT] &= noise.below(100) > 0;
    }
    let own = report("misses", &trips, None);
    assert!(!says_lost_behind(&own), "{:#}", own["findings"]);
    assert_eq!(lost(&own, "1001")[1..], [None, None]);
}

/// A hole of the exit's capture in which all hosts are new.
#[test]
fn new_hosts_in_a_hole_of_the_exit_are_not_lost() {
    let mut trips = trips_of(1_500, 63);
    for trip in &mut trips {
        let (near, far) =
            (Ipv4Addr::new(10, 0, 1, 2 + (trip.at / 12) as u8), Ipv4Addr::new(10, 0, 2, 2 + (trip.at / 12) as u8));
        let (src, dst) = if trip.there { (near, far) } else { (far, near) };
        trip.frame = build::udp(src, dst, (20_001, 20_002), trip.at as u16, &trip.frame[42..]);
        trip.shown[EXIT] = !(700..900).contains(&trip.at);
    }
    let own = report("new-hosts", &trips, None);
    assert!(!says_lost_behind(&own), "{:#}", own["findings"]);
}

/// What comes from behind another gateway, which the exit does not show, proves nothing of its tap.
#[test]
fn a_third_site_does_not_make_the_exit_tap_miss_frames() {
    let (mut trips, mut noise) = (trips_of(1_500, 67), Noise(69));
    let gone = trips.iter_mut().filter(|trip| trip.there).skip(100).step_by(40);
    gone.take(30).for_each(|trip| trip.shown[EXIT] = false);
    for at in 0..1_000 {
        let ns = START + u64::from(at) * GAP + GAP / 5;
        let bytes = 40 + noise.below(900) as usize;
        let frame = build::udp(FARTHER, NEAR, (20_005, 20_006), at as u16, &noise.bytes(bytes));
        trips.push(Trip { there: false, at, ns, frame, shown: [true, true, false], spi: 0x3001, number: at + 1 });
    }
    trips.sort_by_key(|trip| trip.ns);
    let own = report("third-site", &trips, None);
    assert_eq!(lost(&own, "1001"), [Some(0), Some(30), Some(30)], "{:#}", own["findings"]);
}

/// A tap with a port, and a file, for each direction: what one file shows from before the exit's capture says nothing of the other.
#[test]
fn arrivals_are_known_by_their_time_in_whichever_file() {
    let mut trips = trips_of(1_500, 71);
    trips.iter_mut().filter(|trip| trip.at < 300).for_each(|trip| trip.shown[EXIT] = false);
    let missed = trips.iter_mut().filter(|trip| trip.there).skip(400).step_by(20);
    missed.take(40).for_each(|trip| trip.shown[TUNNEL] = false);
    report("ports", &trips, None);
    let dir = scratch("match-three-taps");
    let ports = [true, false].map(|there| {
        let own = trips.iter().filter(|trip| trip.there == there);
        let frames: Vec<Out> = own
            .map(|trip| {
                let further = build::one_hop_further(&build::one_hop_further(&trip.frame));
                let (ns, frame) = if there { (trip.ns, trip.frame.clone()) } else { (trip.ns + 200_000, further) };
                Out::whole(ns, frame)
            })
            .collect();
        write_file(&dir, &format!("ports-0-{there}.pcap"), &pcap(&frames, ETHERNET, Order::Little, Step::Nano))
    });
    let [tunnel, exit] = [TUNNEL, EXIT].map(|tap| dir.join(format!("ports-{tap}.pcap")));
    for [first, second] in [[&ports[0], &ports[1]], [&ports[1], &ports[0]]] {
        let own = json(first, &tunnel, &["--plain", word(second), "--exit", word(&exit)]);
        assert_eq!(lost(&own, "1001")[0], None, "{:#}", own["findings"]);
    }
}

/// Hosts of another network behind the far gateway send logs through the same SA: that the exit never shows them is no fault of its tap.
#[test]
fn hosts_of_another_network_do_not_make_the_exit_tap_miss_frames() {
    let (mut trips, mut noise) = (trips_of(1_500, 73), Noise(75));
    let gone = trips.iter_mut().filter(|trip| trip.there).skip(100).step_by(40);
    gone.take(30).for_each(|trip| trip.shown[EXIT] = false);
    for at in (0..1_500).step_by(30) {
        let bytes = 40 + noise.below(900) as usize;
        let frame = build::udp(OTHER_FAR, NEAR, (514, 514), at as u16, &noise.bytes(bytes));
        let ns = START + u64::from(at) * GAP + GAP / 5;
        trips.push(Trip { there: false, at, ns, frame, shown: [true, true, false], spi: 0x2001, number: 0 });
    }
    trips.sort_by_key(|trip| trip.ns);
    (1..).zip(trips.iter_mut().filter(|trip| !trip.there)).for_each(|(number, trip)| trip.number = number);
    let own = report("another-network", &trips, None);
    assert_eq!(lost(&own, "1001"), [Some(0), Some(30), Some(30)], "{:#}", own["findings"]);
}
