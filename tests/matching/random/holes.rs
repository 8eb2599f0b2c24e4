//! Holes in a capture are no loss, outages are, and what nothing tells apart is said to be open.

use serde_json::Value;

use super::scenario::{Pace, Part, Scenario, Size, Transform, Unusual};
use super::traffic::{Made, Seen, make};
use super::{capture, holds, way, words, write};
use crate::support::build::START;
use crate::support::{items, number, spiglass, text};

const HOLE: Part = (400, 550);

/// Mixed sizes both ways, nothing lost, one clock.
pub(super) fn healthy() -> Scenario {
    Scenario {
        seed: 3,
        packets: 800,
        pace: Pace::Random(1_000_000),
        size: Size::Any,
        there: 8,
        back: 8,
        transform: Transform { block: 16, iv: 16, icv: 12, clear: false },
        delay_ns: 55_000,
        jitter_ns: 8_000,
        lost_before: 0,
        lost_after: 0,
        lost_behind: 0,
        copies: 0,
        elsewhere: 0,
        overtaken: 0,
        windows: [(0, 1_000); 3],
        holes: [None; 3],
        outage: None,
        others_ns: None,
        one_clock: true,
        ahead_ns: 0,
        drift_ppm: 0.0,
        set: None,
        step_ns: 1_000,
        inner_v6: false,
        outer_v6: false,
        nat_t: false,
        vlan: false,
        transport: false,
        rekey: None,
        exit: false,
        identical: false,
        mtu: None,
        swapped: false,
        unusual: Unusual::Nothing,
    }
}

pub(super) const CLEAR: Transform = Transform { block: 4, iv: 0, icv: 12, clear: true };

pub(super) fn report(scenario: &Scenario) -> (Made, Value) {
    let made = make(scenario);
    let files = write(scenario, &made);
    let report = spiglass(&[&words(scenario, &files)[..], &["--format", "json"]].concat()).expect(0).json();
    (made, report)
}

pub(super) fn direction(report: &Value, wanted: u32) -> &Value {
    items(report, "directions").iter().find(|own| way(own) == wanted).expect("a direction")
}

pub(super) fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// No loss on any way, the packets of the other side not covered, and a note that says so.
fn expect_hole(scenario: &Scenario, field: &str, least: u64) {
    let (_, report) = report(scenario);
    for own in items(&report, "directions") {
        assert!(own["loss_pct"].as_f64().is_none_or(|loss| loss == 0.0), "{}: {own}", way(own));
        for lost in ["lost_before_tunnel", "lost_behind_tunnel", "lost_end_to_end"] {
            assert_eq!(own[lost].as_u64().unwrap_or(0), 0, "{lost}: {own}");
        }
    }
    let uncovered = number(&report, field);
    assert!(uncovered >= least, "{field} {uncovered}, at least {least} are");
    let codes = codes(&report);
    assert!(codes.contains(&"match-hole") && !codes.contains(&"match-loss"), "{codes:?}");
    assert!(items(&report, "lost").is_empty(), "{}", report["lost"]);
}

/// What an outage dropped is lost, all of it.
fn expect_loss(scenario: &Scenario) {
    let (made, report) = report(scenario);
    let mut lost = 0;
    for own in items(&report, "directions") {
        let truth = &made.truth[&way(own)];
        let name = if way(own) == 1 { "lost_before_tunnel" } else { "lost_behind_tunnel" };
        let claimed = own[name].as_f64().unwrap_or_else(|| panic!("{name} of {own}"));
        assert!(holds(claimed, truth.lost, truth.edge), "{name}: {claimed}, it is {truth:?}");
        lost += truth.lost;
    }
    assert!(lost > 50);
    assert!(codes(&report).contains(&"match-loss"));
}

#[test]
fn a_hole_in_the_tunnel_capture_is_no_loss() {
    let hole = Scenario { holes: [None, Some(HOLE), None], ..healthy() };
    for scenario in [
        hole,
        Scenario { transform: CLEAR, ..hole },
        Scenario { back: 1, transform: CLEAR, ..hole },
        Scenario { pace: Pace::Bursts(600_000), ..hole },
        Scenario { one_clock: false, ahead_ns: -7_000_000_000, drift_ppm: 20.0, ..hole },
        Scenario { rekey: Some(470), ..hole },
        Scenario { nat_t: true, inner_v6: true, vlan: true, ..hole },
        Scenario { others_ns: Some(3_000_000), ..hole },
    ] {
        expect_hole(&scenario, "pairs.uncovered_plain", 60);
    }
}

/// Between two files of one tap nobody records; how short that is says nothing.
#[test]
fn a_gap_between_two_files_of_a_tap_is_no_loss() {
    for (side, back, hole) in
        [(0, 0, (400, 550)), (0, 8, (400, 550)), (1, 0, (500, 520)), (1, 8, (400, 550)), (0, 0, (500, 515))]
    {
        let mut scenario = Scenario { back, pace: Pace::Even(1_000_000), ..healthy() };
        scenario.holes[side] = Some(hole);
        if side == 0 && back == 0 {
            // Out of the tunnel only: nothing but the border of the files tells.
            (scenario.there, scenario.back) = (0, 8);
        }
        let mut made = make(&scenario);
        let middle = START + made.span / 1_000 * (hole.0 + hole.1) / 2;
        let whole = if side == 0 { &mut made.plain } else { &mut made.tunnel };
        let second = whole.split_off(whole.partition_point(|seen| seen.ns < middle));
        let files = write(&scenario, &made);
        let dir = files.plain.parent().expect("a folder");
        let rest = capture(&scenario, dir, "second.pcap", &second, &|_| 0);
        let option = if side == 0 { "--plain" } else { "--tunnel" };
        let mut words = words(&scenario, &files);
        words.extend([option, rest.to_str().expect("a path of text"), "--format", "json"]);
        let report = spiglass(&words).expect(0).json();
        let lost: u64 = items(&report, "directions")
            .iter()
            .map(|own| {
                own["lost_before_tunnel"].as_u64().unwrap_or(0) + own["lost_behind_tunnel"].as_u64().unwrap_or(0)
            })
            .sum();
        let uncovered = number(&report, if side == 0 { "pairs.uncovered_tunnel" } else { "pairs.uncovered_plain" });
        assert!(lost == 0 && uncovered >= 8, "{side} {back} {hole:?}: {lost} lost, {uncovered} uncovered");
        assert!(!codes(&report).contains(&"match-loss"));
    }
}

#[test]
fn a_hole_in_the_plain_capture_is_no_loss() {
    let hole = Scenario { holes: [Some(HOLE), None, None], ..healthy() };
    for scenario in [
        hole,
        Scenario { transform: CLEAR, ..hole },
        Scenario { back: 0, ..hole },
        Scenario { pace: Pace::Bursts(600_000), ..hole },
        Scenario { one_clock: false, ahead_ns: 3_600_000_000_000, ..hole },
        Scenario { others_ns: Some(3_000_000), ..hole },
    ] {
        expect_hole(&scenario, "pairs.uncovered_tunnel", 60);
    }
}

#[test]
fn a_hole_in_the_exit_capture_is_no_loss() {
    let hole = Scenario { holes: [None, None, Some(HOLE)], exit: true, ..healthy() };
    for scenario in [hole, Scenario { transform: CLEAR, ..hole }] {
        expect_hole(&scenario, "pairs.uncovered_exit", 60);
    }
    // Both ends at once.
    expect_hole(&Scenario { holes: [Some((200, 300)), None, Some(HOLE)], ..hole }, "pairs.uncovered_exit", 60);
}

#[test]
fn an_outage_is_loss_while_the_taps_show_other_frames() {
    let outage = Scenario { outage: Some(HOLE), ..healthy() };
    for scenario in [
        outage,
        Scenario { back: 0, others_ns: Some(20_000_000), ..outage },
        Scenario { back: 0, others_ns: Some(20_000_000), transform: CLEAR, ..outage },
        Scenario { back: 1, ..outage },
        // Nothing else is seen, but the sequence numbers go on without a step.
        Scenario { back: 0, ..outage },
        Scenario { back: 0, transform: CLEAR, ..outage },
    ] {
        expect_loss(&scenario);
    }
}

#[test]
fn what_nothing_tells_apart_stays_open() {
    // Only packets out of the tunnel: the plain tap shows none for a while. A hole and an outage look the same.
    let back = |scenario: Scenario| {
        let (_, report) = report(&scenario);
        let own = direction(&report, 2);
        assert!(own["loss_pct"].is_null() && own["lost_behind_tunnel"].is_null(), "{own}");
        assert!(text(own, "undetermined.reason").contains("no frame at all"), "{own}");
        assert!(number(&report, "pairs.undetermined_tunnel") > 60);
        let codes = codes(&report);
        assert!(codes.contains(&"match-undetermined") && !codes.contains(&"match-loss"), "{codes:?}");
    };
    let quiet = Scenario { there: 0, ..healthy() };
    back(Scenario { holes: [Some(HOLE), None, None], ..quiet });
    back(Scenario { outage: Some(HOLE), ..quiet });
}

/// Only packets into the tunnel: a hole in its capture and a wire between gateway and tap that is down make the same captures.
#[test]
fn a_silent_tap_of_one_direction_stays_open() {
    let quiet = Scenario { back: 0, ..healthy() };
    for transform in [quiet.transform, CLEAR] {
        let (_, report) = report(&Scenario { holes: [None, Some(HOLE), None], transform, ..quiet });
        let own = direction(&report, 1);
        assert!(own["loss_pct"].is_null() && own["lost_before_tunnel"].is_null(), "{own}");
        assert!(text(own, "undetermined.reason").contains("no frame at all"), "{own}");
        assert!(number(&report, "pairs.undetermined_plain") > 60);
        let codes = codes(&report);
        assert!(!codes.contains(&"match-hole") && !codes.contains(&"match-loss"), "{codes:?}");
    }
}

/// The wire of the tunnel is down for a while: no packet of either direction passes the tap, and none is called covered by no capture.
#[test]
fn a_wire_that_is_down_is_no_hole() {
    for (back, transform) in [(8, healthy().transform), (8, CLEAR), (1, healthy().transform)] {
        let scenario = Scenario { back, transform, ..healthy() };
        let mut made = make(&scenario);
        let is_down = |seen: &Seen| (START + made.span * 4 / 10..START + made.span * 11 / 20).contains(&seen.ns);
        let down: std::collections::BTreeSet<(u32, u64)> =
            made.tunnel.iter().filter(|seen| is_down(seen)).map(|seen| seen.packet).collect();
        let is_lost = |seen: &Seen| down.contains(&seen.packet);
        made.tunnel.retain(|seen| !down.contains(&seen.packet));
        made.plain.retain(|seen| seen.packet.0 == 1 || !is_lost(seen));
        let files = write(&scenario, &made);
        let report = spiglass(&[&words(&scenario, &files)[..], &["--format", "json"]].concat()).expect(0).json();
        let own = direction(&report, 1);
        assert!(own["loss_pct"].as_f64().is_none_or(|loss| loss > 10.0), "{own}");
        assert!(!codes(&report).contains(&"match-hole"), "{own}");
    }
}

/// The tunnel's capture begins after the plain one: what was sent before says nothing against a flow, and both directions are paired.
#[test]
fn packets_from_before_the_tunnel_capture_make_nothing_outside() {
    let late = Scenario { windows: [(0, 1_000), (210, 840), (0, 1_000)], delay_ns: 20_000_000, ..healthy() };
    for scenario in [late, Scenario { packets: 300, ..late }, Scenario { back: 1, pace: Pace::Even(600_000), ..late }] {
        let (made, report) = report(&scenario);
        assert!(items(&report, "outside").is_empty(), "{}", report["outside"]);
        for way in [1, 2] {
            let own = direction(&report, way);
            assert!(number(own, "matched") * 10 > made.truth[&way].sent * 9, "{own}");
            assert_eq!(own["loss_pct"].as_f64(), Some(0.0), "{own}");
        }
    }
}

/// The plain tap is on the far side, 500 us from the tunnel's, and timestamps are in steps of milliseconds: which tap was first, TTLs tell.
#[test]
fn coarse_timestamps_do_not_exchange_directions() {
    let coarse = Scenario { exit: true, pace: Pace::Random(4_000_000), ..healthy() };
    for step_ns in [1_000_000, 10_000_000] {
        for scenario in [1, 2, 3, 4].map(|seed| Scenario { seed, step_ns, ..coarse }) {
            let files = write(&scenario, &make(&scenario));
            let path = |path: &std::path::Path| path.to_str().expect("a path of text").to_owned();
            let words = ["match", "-q", "--one-clock", "--format", "json", "--plain", &path(&files.exit), "--tunnel"];
            let report = spiglass(&[&words[..], &[&path(&files.tunnel)]].concat()).expect(0).json();
            for own in items(&report, "directions") {
                let wrong = if way(own) == 1 { "encapsulated" } else { "decapsulated" };
                assert_ne!(text(own, "way"), wrong, "{step_ns} {}: {own}", scenario.seed);
            }
        }
    }
}

/// The clock is set while only one direction has packets: neither a latency of two seconds follows nor a hole in a capture.
#[test]
fn a_clock_that_is_set_beside_one_direction_makes_no_latency() {
    for by in [2_000_000_000, -2_000_000_000] {
        let set = Scenario { one_clock: false, ahead_ns: 5_000_000, pace: Pace::Even(1_000_000), ..healthy() };
        let scenario = Scenario { set: Some((500, by)), ..set };
        let mut made = make(&scenario);
        // The way back ends before, or begins after: where the other one shows the greater difference.
        let middle = START + made.span / 2;
        let is_kept = |seen: &Seen| seen.packet.0 != 2 || (by > 0) == (seen.ns < middle - made.span / 10);
        made.plain.retain(is_kept);
        made.tunnel.retain(is_kept);
        let files = write(&scenario, &made);
        let report = spiglass(&[&words(&scenario, &files)[..], &["--format", "json"]].concat()).expect(0).json();
        let own = direction(&report, 1);
        let most = own["latency_ns"]["max"].as_i64().unwrap_or(0);
        assert!(most < 1_000_000_000, "{by}: {own}");
        // The silence that it leaves is no hole of a capture.
        assert!(!codes(&report).contains(&"match-hole"), "{by}: {own}");
    }
}
