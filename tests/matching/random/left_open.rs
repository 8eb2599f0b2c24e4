//! What looks like loss and is none, or is of another SA: packets without content, hosts that no tap sees, long waits, several SAs. Beside each the
//! loss that must still be told.

use serde_json::Value;

use super::holes::{CLEAR, codes, direction, healthy, report};
use super::scenario::{Pace, Scenario, Unusual};
use super::traffic::{Made, make};
use super::{holds, way, words, write};
use crate::support::build::START;
use crate::support::{items, number, spiglass, text};

fn report_of(scenario: &Scenario, made: &Made) -> Value {
    let files = write(scenario, made);
    spiglass(&[&words(scenario, &files)[..], &["--format", "json"]].concat()).expect(0).json()
}

/// Gives an IPv4 header another source, of the same network.
fn from_another_host(head: &mut [u8]) {
    head[15] = 77;
    head[10..12].fill(0);
    let sum: u32 = head.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice");
    head[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Both ways have lost what is true of them.
fn expect_truth(scenario: &Scenario) -> Value {
    let (made, report) = report(scenario);
    for (way, name) in [(1, "lost_before_tunnel"), (2, "lost_behind_tunnel")] {
        let own = direction(&report, way);
        let (truth, told) = (&made.truth[&way], own[name].as_f64());
        assert!(told.is_some_and(|told| holds(told, truth.lost, 0)), "{told:?}, it is {truth:?}: {own}");
        assert!(number(own, "matched") + truth.lost + 3 >= truth.sent, "{truth:?}: {own}");
    }
    report
}

/// RFC 4303 section 2.6: the receiver discards them.
#[test]
fn packets_without_content_are_not_lost() {
    let dummies = Scenario { unusual: Unusual::Dummies(100), transform: CLEAR, ..healthy() };
    for scenario in [dummies, Scenario { inner_v6: true, nat_t: true, ..dummies }] {
        let report = expect_truth(&scenario);
        assert!(!codes(&report).contains(&"match-loss"), "{:?}", codes(&report));
        expect_truth(&Scenario { lost_before: 50, ..scenario });
    }
}

/// RFC 1112 section 7: routers forward packets to groups, so a tunnel carries them. What hosts send to a group of their link goes nowhere else.
#[test]
fn packets_to_a_group_are_paired_and_their_losses_told() {
    for (transform, back) in [(healthy().transform, 8), (CLEAR, 8), (healthy().transform, 0)] {
        for (exit, inner_v6) in [(true, false), (false, true)] {
            let group =
                Scenario { unusual: Unusual::Group, transform, back, inner_v6, exit, lost_before: 20, ..healthy() };
            let (made, report) = report(&group);
            let (own, truth) = (direction(&report, 1), &made.truth[&1]);
            let names = if exit { &["lost_before_tunnel", "lost_end_to_end"][..] } else { &["lost_before_tunnel"] };
            for name in names {
                let told = own[*name].as_f64();
                assert!(told.is_some_and(|told| holds(told, truth.lost, truth.edge)), "{name} of {truth:?}: {own}");
            }
            assert!(number(own, "matched") + truth.lost >= truth.sent, "{truth:?}: {own}");
            let codes = codes(&report);
            assert!(!codes.contains(&"match-nothing") && !codes.contains(&"match-hole"), "{codes:?}");
        }
    }
}

/// Times that a file keeps more exactly than they were taken are as uncertain as they were taken.
#[test]
fn clocks_are_known_no_better_than_their_steps() {
    for (step_ns, ahead_ns) in [(1_000_000, 6_033_271_000), (10_000_000, -3_189_415_000), (1_000, 6_033_271_000)] {
        let coarse =
            Scenario { packets: 600, pace: Pace::Random(20_000_000), one_clock: false, ahead_ns, step_ns, ..healthy() };
        let (_, report) = report(&coarse);
        for own in items(&report, "directions") {
            assert_eq!(own["clock"]["basis"], "both-directions", "{step_ns}: {own}");
            let [offset, within] = ["offset_ns", "uncertainty_ns"].map(|name| own["clock"][name].as_i64().expect("ns"));
            // Both are rounded to nanoseconds.
            assert!((offset - ahead_ns).abs() <= within + 1, "{step_ns}: {offset} +- {within}, it is {ahead_ns}");
            assert!(step_ns < 1_000_000 || within >= 2 * step_ns as i64, "{step_ns}: {offset} +- {within}");
            let definition = text(&own["latency_ns"], "definition");
            let steps = if step_ns < 1_000_000 { "0.001 us" } else { &format!("{} us", step_ns / 1_000) };
            assert!(definition.contains(&format!("in steps of {steps}")), "{definition}");
        }
    }
}

/// Fewer packets than make a beginning come while others wait for it.
#[test]
fn packets_that_come_slowly_are_paired() {
    for back in [8, 1] {
        let slow = Scenario { packets: 300, pace: Pace::Even(300_000_000), back, ..healthy() };
        let report = expect_truth(&slow);
        assert!(!codes(&report).contains(&"match-loss"), "{back}: {:?}", codes(&report));
    }
    let slow = Scenario { packets: 300, pace: Pace::Random(300_000_000), lost_before: 50, ..healthy() };
    assert!(codes(&expect_truth(&slow)).contains(&"match-loss"));
}

/// Of the packets out of the tunnel every other one is from a host that the plain tap does not see.
#[test]
fn packets_of_a_host_that_the_tap_does_not_see_are_not_lost() {
    /// Where the inner IPv4 header begins in an Ethernet frame with ESP-NULL.
    const INNER: usize = 14 + 20 + 8;
    let scenario = Scenario { transform: CLEAR, lost_after: 50, ..healthy() };
    let mut made = make(&scenario);
    for (at, seen) in made.tunnel.iter_mut().filter(|seen| seen.packet.0 == 2).enumerate().filter(|(at, _)| at % 2 == 1)
    {
        from_another_host(&mut seen.data[INNER..INNER + 20]);
        seen.packet = (0, at as u64);
    }
    let hidden = |packet: (u32, u64)| packet.0 == 2 && !made.tunnel.iter().any(|seen| seen.packet == packet);
    let shown: Vec<bool> = made.plain.iter().map(|seen| !hidden(seen.packet)).collect();
    let mut shown = shown.into_iter();
    made.plain.retain(|_| shown.next() == Some(true));
    let report = report_of(&scenario, &made);
    let own = direction(&report, 2);
    assert!(own["loss_pct"].is_null() && own["lost_behind_tunnel"].is_null(), "{own}");
    assert!(text(own, "undetermined.reason").contains("never showed"), "{own}");
    expect_truth(&scenario);
}

/// What was lost before a rekeying was meant for the old SA.
#[test]
fn losses_are_of_the_sa_of_their_time() {
    let lossy = Scenario { outage: Some((200, 300)), rekey: Some(500), ..healthy() };
    for scenario in [lossy, Scenario { transform: CLEAR, ..lossy }, Scenario { outage: Some((700, 800)), ..lossy }] {
        let (made, report) = report(&scenario);
        let early = scenario.outage.is_some_and(|(from, _)| from < 500);
        let lost = made.truth[&1].lost;
        assert!(lost > 50);
        for own in items(&report, "directions").iter().filter(|own| way(own) == 1) {
            let told = own["lost_before_tunnel"].as_f64().unwrap_or_else(|| panic!("{own}"));
            let is_old = text(own, "sa").ends_with("1001");
            assert!(holds(told, if is_old == early { lost } else { 0 }, 0), "{told} of {lost}: {own}");
        }
    }
}

/// A flow whose packets go through several SAs at a time: which of them a packet was lost of that no number names, nothing tells.
#[test]
fn losses_of_shared_load_are_of_no_sa() {
    let shared = Scenario { unusual: Unusual::Parallel(4, 0), transform: CLEAR, ..healthy() };
    let (_, told) = report(&Scenario { lost_before: 50, ..shared });
    let ways = |report: &Value| -> Vec<Value> {
        items(report, "directions").iter().filter(|own| way(own) == 1).cloned().collect()
    };
    for own in ways(&told) {
        assert!(own["loss_pct"].is_null(), "{own}");
        assert!(text(&own, "undetermined.reason").contains("several SAs"), "{own}");
    }
    for own in ways(&report(&shared).1) {
        assert_eq!(own["loss_pct"].as_f64(), Some(0.0), "{own}");
    }
}

/// The gateway translates addresses: no packet is seen on both plaintext sides, and none was lost behind the tunnel's tap.
#[test]
fn translated_addresses_are_no_loss_behind_the_tunnel() {
    let scenario = Scenario {
        unusual: Unusual::Translated,
        exit: true,
        windows: [(150, 750), (0, 1_000), (0, 1_000)],
        ..healthy()
    };
    let (_, report) = report(&scenario);
    let own = direction(&report, 1);
    assert!(own["lost_behind_tunnel"].is_null() && own["lost_end_to_end"].is_null(), "{own}");
    assert!(text(own, "undetermined.reason").contains("translates addresses"), "{own}");
    assert!(!codes(&report).contains(&"match-loss-behind"));
}

/// Two hosts send in turn; of one of them nothing arrives any more from a time on.
#[test]
fn a_flow_that_is_lost_from_some_time_on_is_not_outside() {
    /// Where the IPv4 header begins in an Ethernet frame.
    const HEADER: usize = 14;
    for back in [0, 8] {
        let scenario = Scenario { back, ..healthy() };
        let mut made = make(&scenario);
        for seen in made.plain.iter_mut().filter(|seen| seen.packet.0 == 1 && seen.packet.1 % 2 == 1) {
            from_another_host(&mut seen.data[HEADER..HEADER + 20]);
        }
        let from = START + made.span / 4;
        let before = made.tunnel.len();
        made.tunnel.retain(|seen| seen.packet.0 != 1 || seen.packet.1 % 2 == 0 || seen.ns < from);
        let lost = (before - made.tunnel.len()) as u64;
        let report = report_of(&scenario, &made);
        let own = direction(&report, 1);
        let told = own["lost_before_tunnel"].as_f64();
        assert!(told.is_none_or(|told| holds(told, lost, 0)), "{back}: {told:?} of {lost}: {own}");
        assert!(items(&report, "outside").is_empty(), "{back}: {}", report["outside"]);
    }
}
