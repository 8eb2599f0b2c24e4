//! Captures of several interfaces, whose frames a capture tool writes in turns.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp};
use crate::support::writer::{Order, Out, pcapng_of_interfaces};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A frame of an interface, with its time after the first.
type Frame = (u64, u32, Vec<u8>);

/// Buffers of a quarter of a second that are handed over one interface after the other; `clock` is what the host's clock says of a time.
fn in_turns(test: &str, mut frames: Vec<Frame>, clock: impl Fn(u64) -> u64) -> Value {
    frames.sort_by_key(|(time, interface, _)| (time / (250 * MS), *interface, *time));
    let out: Vec<(u32, Out)> =
        frames.into_iter().map(|(time, on, data)| (on, Out::whole(START + clock(time), data))).collect();
    let file = pcapng_of_interfaces(out.iter().map(|(on, frame)| (*on, frame)), 2, Order::Little);
    let path = support::write_file(&support::scratch("interfaces"), &format!("{test}.pcapng"), &file);
    support::report(&[&path]).json()
}

/// Packets of an SA in each direction: 1,000 a second forth, 250 a second back, for ten seconds.
fn two_ways(ports: (u32, u32)) -> Vec<Frame> {
    let mut noise = Noise(31);
    let mut forth = |n: u64| (n * MS, ports.0, esp(R1, R2, 0x101, n as u32 + 1, &noise.bytes(96)));
    let mut frames: Vec<Frame> = (0..10_000).map(&mut forth).collect();
    frames.extend((0..2_500).map(|n| (n * 4 * MS, ports.1, esp(R2, R1, 0x102, n as u32 + 1, &noise.bytes(96)))));
    frames
}

fn codes(report: &Value) -> BTreeMap<&str, &str> {
    items(report, "findings").iter().map(|finding| (text(finding, "code"), text(finding, "severity"))).collect()
}

/// The rate of each direction, rounded.
fn rates(report: &Value) -> Vec<u64> {
    items(report, "rates.directions")
        .iter()
        .map(|row| at(row, "frames_per_s").as_f64().unwrap_or(0.0).round() as u64)
        .collect()
}

/// The two ports of a TAP: neither clock steps, and each direction keeps its rate.
#[test]
fn interfaces_in_turns_are_no_steps_of_the_clock() {
    let report = in_turns("ports", two_ways((0, 1)), |time| time);
    assert_eq!(codes(&report), BTreeMap::from([("capture-order", "note")]), "{}", at(&report, "findings"));
    assert_eq!(rates(&report), [1_000, 250]);
    for row in items(&report, "rates.directions") {
        assert_eq!(text(row, "basis"), "capture-clock");
        assert!(at(row, "peak").is_object(), "{row}");
    }
    for sa in items(&report, "sas") {
        assert_eq!(
            (number(sa, "sequence.lost"), number(sa, "sequence.late"), number(sa, "sequence.duplicate")),
            (0, 0, 0),
            "{sa}"
        );
    }
}

/// The clock of the host is set back by five seconds: each interface shows that once, and the time between is known.
#[test]
fn a_clock_that_steps_back_under_interfaces_in_turns_steps_once_for_each() {
    let report = in_turns("stepped", two_ways((0, 1)), |time| if time < 5 * SECOND { time + 5 * SECOND } else { time });
    assert!(codes(&report).contains_key("capture-clock-back"), "{}", at(&report, "findings"));
    let back = items(&report, "findings").iter().find(|finding| text(finding, "code") == "capture-clock-back");
    assert_eq!(number(back.expect("it is said"), "count"), 2);
    assert_eq!(rates(&report), [1_000, 250]);
    assert!(items(&report, "rates.directions").iter().all(|row| text(row, "basis") == "clock-stepped"));
}

/// A SPAN port at either side of a gateway's switch: every packet on both interfaces. Nobody is accused of duplicating or reordering.
#[test]
fn packets_of_both_interfaces_in_turns_are_not_called_duplicates_of_the_network() {
    let first = two_ways((0, 0));
    let again: Vec<Frame> = first.iter().map(|(time, _, data)| (time + 30_000, 1, data.clone())).collect();
    let report = in_turns("both", [first, again].concat(), |time| time);
    let codes = codes(&report);
    assert!(codes.values().all(|severity| *severity == "note"), "{}", at(&report, "findings"));
    let repeats = items(&report, "findings").iter().find(|finding| text(finding, "code") == "sequence-duplicate");
    assert!(text(repeats.expect("they are counted"), "evidence").contains("capture-order"));
}
