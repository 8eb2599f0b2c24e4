//! Packets that are equal to others, hosts that send one packet, and ways of unlike length, where nothing or little is lost.

use std::collections::BTreeMap;

use super::*;

const MS: u64 = 1_000_000;
const SPAN: u64 = 20_000 * MS;

/// Packets that are equal, every so many nanoseconds, and others there and back.
fn equal_beside(every: u64, [there, back]: [Option<u64>; 2], seed: u64) -> Vec<Trip> {
    let mut noise = Noise(seed);
    let mut trips = Vec::new();
    let trip = |there: bool, ns: u64, frame: Vec<u8>| Trip {
        there,
        at: 0,
        ns: START + ns,
        frame,
        shown: [true; 3],
        spi: if there { 0x1001 } else { 0x2001 },
        number: 0,
    };
    trips.extend((0..SPAN / every).map(|at| trip(true, at * every, beat())));
    for (is_there, (src, dst), gap) in [(true, (NEAR, FAR), there), (false, (FAR, NEAR), back)] {
        let Some(gap) = gap else { continue };
        for at in 0..SPAN / gap {
            let bytes = 140 + noise.below(900) as usize;
            let frame = build::udp(src, dst, (20_001, 20_002), at as u16, &noise.bytes(bytes));
            trips.push(trip(is_there, at * gap + noise.below(gap / 2) + gap / 4, frame));
        }
    }
    trips.sort_by_key(|trip| trip.ns);
    for way in [true, false] {
        (1..).zip(trips.iter_mut().filter(|trip| trip.there == way)).for_each(|(number, trip)| trip.number = number);
    }
    trips
}

/// How much later each packet comes to the last tap: some 30 ms, without overtaking another, by way and time.
fn delays(trips: &[Trip], varies: u64, seed: u64) -> BTreeMap<(bool, u64), u64> {
    let mut noise = Noise(seed);
    let mut latest = [0; 2];
    trips
        .iter()
        .map(|trip| {
            // Most are near the least, few are far from it.
            let more = (0..6).map(|_| noise.below(varies)).fold(varies, u64::min) + noise.below(varies) / 4;
            let latest = &mut latest[usize::from(trip.there)];
            *latest = (trip.ns + 30 * MS + more).max(*latest + 1_000);
            ((trip.there, trip.ns), *latest - trip.ns)
        })
        .collect()
}

/// Generators send equal packets, and so do keepalives: few others beside them tell the times, of one way or of none.
#[test]
fn equal_packets_beside_few_others_are_no_loss_and_no_hole() {
    let cases = [
        (4 * MS, [None, None]),
        (4 * MS, [None, Some(200 * MS)]),
        (4 * MS, [Some(2_500 * MS), Some(2_500 * MS)]),
        (50 * MS, [Some(400 * MS), Some(400 * MS)]),
        (10 * MS, [Some(50 * MS), Some(50 * MS)]),
    ];
    for (case, (every, others)) in (0..).zip(cases) {
        for varies in [MS, 20 * MS] {
            let trips = equal_beside(every, others, 81);
            let later = delays(&trips, varies, 83 + case);
            let own = report_later(&format!("equal-{case}"), &trips, None, |trip| later[&(trip.there, trip.ns)]);
            let codes: Vec<&str> = items(&own, "findings").iter().map(|finding| text(finding, "code")).collect();
            assert!(!codes.contains(&"match-loss-behind") && !codes.contains(&"match-hole"), "{case}: {codes:?}");
            let longest = later.values().max().expect("packets") + 200_000;
            for end in items(&own, "ends") {
                assert_eq!(end["lost"], 0, "{case}: {end:#}");
                let most = end["latency_ns"]["max"].as_u64();
                assert!(most.is_none_or(|most| most <= longest + longest / 100), "{case}: {longest} {end:#}");
            }
        }
    }
}

/// The plain capture begins between two heartbeats: that before it is not the next one, whose delay would be their distance.
#[test]
fn a_heartbeat_before_the_plain_capture_is_not_the_next_one() {
    for every in [500 * MS, 1_000 * MS, 2_000 * MS] {
        let mut trips = equal_beside(every, [Some(8 * MS); 2], 87);
        // They are sent from the far side.
        for trip in trips.iter_mut().filter(|trip| trip.frame == beat()) {
            (trip.there, trip.spi, trip.frame) = (false, 0x2001, build::udp(FAR, NEAR, (3_784, 3_784), 0, &[1; 32]));
        }
        for way in [true, false] {
            (1..)
                .zip(trips.iter_mut().filter(|trip| trip.there == way))
                .for_each(|(number, trip)| trip.number = number);
        }
        let later = delays(&trips, MS, 89);
        // Until then the other taps alone show what comes.
        for trip in &mut trips {
            let comes = trip.ns - START + if trip.there { 0 } else { later[&(trip.there, trip.ns)] };
            trip.shown[PLAIN] = comes > every / 10 * 4;
        }
        let own = report_later("begins-between", &trips, None, |trip| later[&(trip.there, trip.ns)]);
        let codes: Vec<&str> = items(&own, "findings").iter().map(|finding| text(finding, "code")).collect();
        assert!(!codes.contains(&"match-loss-behind") && !codes.contains(&"match-hole"), "{every}: {codes:?}");
        for end in items(&own, "ends") {
            assert_eq!(
                (&end["lost"], end["latency_ns"]["max"].as_u64().is_none_or(|most| most < 40 * MS)),
                (&0.into(), true),
                "{end:#}"
            );
        }
    }
}

/// Of hosts whose only packet was lost neither the tunnel nor the exit shows anything: how many were lost is not known.
#[test]
fn hosts_that_send_one_packet_may_have_lost_it() {
    for (name, lost_of) in [("single", 0), ("single-lost", 20), ("single-one", 249)] {
        let (mut trips, mut noise) = (Vec::new(), Noise(93));
        for (at, there) in (0..500).flat_map(|at| [(at, true), (at, false)]) {
            let client = Ipv4Addr::new(10, 0, if at < 250 { 1 } else { 4 }, 1 + (at % 250) as u8);
            let port = 20_000 + at as u16;
            let (src, dst, ports) = if there { (client, FAR, (port, 53)) } else { (FAR, client, (53, port)) };
            let bytes = 40 + noise.below(200) as usize;
            let frame = build::udp(src, dst, ports, at as u16, &noise.bytes(bytes));
            let ns = START + u64::from(at) * GAP + noise.below(GAP / 2) + if there { 0 } else { GAP / 2 };
            trips.push(Trip {
                there,
                at,
                ns,
                frame,
                shown: [true; 3],
                spi: if there { 0x1001 } else { 0x2001 },
                number: 0,
            });
        }
        let is_lost = |at: u32| lost_of > 0 && at % lost_of == 7;
        // A query that is lost is not answered.
        trips.retain(|trip| trip.there || !is_lost(trip.at % 250));
        for trip in trips.iter_mut().filter(|trip| is_lost(trip.at % 250)) {
            trip.shown = [true, false, false];
        }
        // The gateway drops before it gives a number.
        for way in [true, false] {
            let numbered = trips.iter_mut().filter(|trip| trip.there == way && trip.shown[TUNNEL]);
            (1..).zip(numbered).for_each(|(number, trip)| trip.number = number);
        }
        let own = report(name, &trips, None);
        let end = items(&own, "ends").iter().find(|end| end["way"] == "plain-to-exit").expect("a way");
        assert_eq!(end["loss_pct"].is_null(), lost_of > 0, "{name}: {end:#}");
        assert_eq!(lost(&own, "1001")[2], (lost_of == 0).then_some(0), "{name}: {:#}", own["directions"]);
    }
}

/// One clock tells how long the way is each way.
#[test]
fn one_clock_tells_the_ways_between_both_plaintext_sides() {
    let trips = trips_of(300, 91);
    report_later("unlike", &trips, None, |trip| if trip.there { 50 * MS } else { 0 });
    let dir = scratch("match-three-taps");
    let files = [PLAIN, TUNNEL, EXIT].map(|tap| dir.join(format!("unlike-{tap}.pcap")));
    let own = json(&files[PLAIN], &files[TUNNEL], &["--one-clock", "--exit", word(&files[EXIT])]);
    for (way, least) in [("plain-to-exit", 50 * MS + 200_000), ("exit-to-plain", 200_000)] {
        let end = items(&own, "ends").iter().find(|end| end["way"] == way).expect("a way");
        assert_eq!((&end["latency_ns"]["min"], &end["depends_on_offset"]), (&least.into(), &false.into()), "{end:#}");
    }
}
