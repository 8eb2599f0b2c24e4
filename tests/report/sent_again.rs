//! Packets that come again, and numbers that come again with other packets: copies, loops, replays, and counters that begin anew.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Frames with their times after the first.
type Frames = Vec<(u64, Vec<u8>)>;

fn report(test: &str, mut frames: Frames) -> Value {
    frames.sort_by_key(|(after, _)| *after);
    let out: Vec<Out> = frames.into_iter().map(|(after, data)| Out::whole(START + after, data)).collect();
    let path = support::write_file(&support::scratch("sent-again"), &format!("{test}.pcap"), &plain_pcap(&out));
    support::report(&[&path]).json()
}

/// Packets with these numbers, so long apart, the first of them at `begin`.
fn packets(noise: &mut Noise, numbers: impl IntoIterator<Item = u32>, begin: u64, gap: u64) -> Frames {
    let numbers = (0..).zip(numbers);
    numbers.map(|(at, n)| (begin + at * gap, build::esp(R1, R2, 0x1001, n, &noise.bytes(100)))).collect()
}

/// The same packets later, one a millisecond.
fn again(frames: &[(u64, Vec<u8>)], begin: u64) -> Frames {
    (0..).zip(frames).map(|(at, (_, data))| (begin + at * MS, data.clone())).collect()
}

/// Lost, duplicate and late packets, and restarts, of the only SA.
fn counts(report: &Value) -> [u64; 4] {
    assert_eq!(items(report, "sas").len(), 1);
    ["lost", "duplicate", "late", "restarts"].map(|name| number(report, &format!("sas.0.sequence.{name}")))
}

fn finding<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

fn evidence<'r>(report: &'r Value, code: &str) -> &'r str {
    finding(report, code).map_or("", |finding| text(finding, "evidence"))
}

#[test]
fn a_mirror_may_show_each_packet_up_to_eight_times() {
    for times in [3, 4, 5, 6, 8] {
        let mut noise = Noise(times);
        let own = packets(&mut noise, 1..=120, 0, 10 * MS);
        // One in four is in clear.
        let clear =
            (0..40).map(|n| (n * 30 * MS + 5 * MS, build::udp(R1, R2, (40_000, 53), n as u16, &noise.bytes(60))));
        let all: Frames = own.into_iter().chain(clear).collect();
        let shown = (0..times).flat_map(|copy| all.iter().map(move |(at, data)| (at + copy * 1_000, data.clone())));
        let report = report(&format!("mirror-{times}"), shown.collect());
        assert_eq!(counts(&report), [0; 4], "{times}: {}", at(&report, "findings"));
        assert_eq!(number(&report, "sas.0.frames"), 120, "{times}");
        assert_eq!(number(&report, "sas.0.copies_removed"), 120 * (times - 1), "{times}");
        assert!(finding(&report, "tap-copies").is_some(), "{times}");
        assert_eq!(finding(&report, "sequence-duplicate"), None, "{times}");
        assert_eq!(number(&report, "rates.directions.0.frames"), 160, "{times}");
    }
}

#[test]
fn a_loop_is_told_with_all_its_rounds() {
    let mut noise = Noise(1);
    let own = packets(&mut noise, 1..=400, 0, 10 * MS);
    let rounds = own.iter().skip(100).take(20).flat_map(|(begin, data)| {
        let hops = std::iter::successors(Some(data.clone()), |frame| Some(build::one_hop_further(frame)));
        (1..).zip(hops.skip(1).take(39)).map(move |(round, data)| (begin + round * 100_000, data))
    });
    let report = report("loop", own.iter().cloned().chain(rounds).collect());
    assert_eq!(finding(&report, "tap-copies"), None, "{}", at(&report, "findings"));
    assert_eq!(counts(&report)[..2], [0, 20 * 39]);
    assert!(
        evidence(&report, "sequence-duplicate").contains("780 followed the same packet"),
        "{}",
        at(&report, "findings")
    );
}

#[test]
fn old_packets_after_a_rest_are_no_new_count() {
    for (own, sent_again, rest, more) in [
        (500, 40, 30 * SECOND, 300),
        (500, 40, 30 * SECOND, 0),
        (3_000, 2_000, 12 * SECOND, 500),
        (6_000, 5, SECOND, 0),
    ] {
        let mut noise = Noise(own);
        let live = packets(&mut noise, 1..=own as u32, 0, MS);
        // What begins with 1, and nothing goes on behind it, may be a new count of packets that are all alike.
        let first = if more > 0 { 0 } else { 10 };
        let replayed = again(&live[first..first + sent_again], own * MS + rest);
        let end = own * MS + rest + sent_again as u64 * MS;
        let rest = packets(&mut noise, own as u32 + 1..=own as u32 + more, end + MS, MS);
        let report = report(&format!("replay-{own}-{more}"), [live, replayed, rest].concat());
        let what = format!("{own} {sent_again} {more}: {}", at(&report, "findings"));
        assert_eq!(counts(&report), [0, sent_again as u64, 0, 0], "{what}");
        assert_eq!((finding(&report, "sequence-restart"), finding(&report, "sequence-gap")), (None, None), "{what}");
        assert!(text(finding(&report, "sequence-duplicate").expect(&what), "cause").contains("replay"), "{what}");
    }
}

/// Hellos under manual keys are the same octets after a reload.
#[test]
fn the_same_packets_from_one_on_are_a_new_count() {
    let hellos = packets(&mut Noise(6), 1..=30, 0, SECOND);
    let report = report("hellos", [hellos.clone(), again(&hellos, 60 * SECOND)].concat());
    assert_eq!(counts(&report), [0, 0, 0, 1], "{}", at(&report, "findings"));
}

#[test]
fn new_packets_after_a_rest_are_a_new_count() {
    for (own, begin, rest) in
        [(500, 1, 30 * SECOND), (500, 5_001, 30 * SECOND), (9_000, 1, SECOND), (9_000, 4_500, SECOND)]
    {
        let mut noise = Noise(own);
        let first = if begin > 5_000 { begin } else { 1 };
        let live = packets(&mut noise, (first..).take(own as usize), 0, MS);
        let anew = packets(&mut noise, begin..begin + 200, own * MS + rest, MS);
        let report = report(&format!("anew-{own}-{begin}"), [live, anew].concat());
        assert_eq!(counts(&report), [0, 0, 0, 1], "{own} {begin}: {}", at(&report, "findings"));
    }
}

#[test]
fn old_packets_between_new_ones_are_no_loss() {
    let mut noise = Noise(3);
    let live = packets(&mut noise, 1..=14_000, 0, MS);
    let replayed: Frames = live.iter().take(5_000).map(|(at, data)| (at + 9_000 * MS + MS / 2, data.clone())).collect();
    let report = report("between", [live, replayed].concat());
    assert_eq!(counts(&report), [0, 5_000, 0, 0], "{}", at(&report, "findings"));
}

#[test]
fn numbers_of_other_packets_are_no_duplicates_of_the_network() {
    for last in [50, 300, 3_000] {
        let mut noise = Noise(u64::from(last));
        let live = packets(&mut noise, 1..=last, 0, MS);
        let anew = packets(&mut noise, 1..=last + 300, u64::from(last) * MS + SECOND, MS);
        let report = report(&format!("reused-{last}"), [live.clone(), anew].concat());
        let finding = finding(&report, "sequence-duplicate").expect("numbers came again");
        assert!(!text(finding, "cause").contains("network duplicates"), "{finding}");
        assert!(text(finding, "evidence").contains("bears number 1 again, with other content"), "{finding}");
        // The same packets again are what they were.
        let report =
            self::report(&format!("same-{last}"), [live.clone(), again(&live, u64::from(last) * MS + SECOND)].concat());
        let same = self::finding(&report, "sequence-duplicate").expect("numbers came again");
        assert!(text(same, "cause").contains("network duplicates"), "{same}");
        assert!(!text(same, "evidence").contains("other content"), "{same}");
    }
}

#[test]
fn one_number_for_all_packets_is_no_duplicate() {
    let report = report("zero", packets(&mut Noise(5), std::iter::repeat_n(0, 200), 0, MS));
    let finding = finding(&report, "sequence-duplicate").expect("numbers came again");
    assert!(text(finding, "cause").contains("does not count"), "{finding}");
}

#[test]
fn two_senders_with_one_spi_and_near_counts_are_told() {
    let mut noise = Noise(6);
    let one = packets(&mut noise, 1..=300, 0, 10 * MS);
    let other = packets(&mut noise, 101..=300, 1_200 * MS + 3 * MS, 10 * MS);
    let report = report("two", [one, other].concat());
    assert!(finding(&report, "sequence-interleaved").is_some(), "{}", at(&report, "findings"));
    assert_eq!(finding(&report, "sequence-duplicate"), None);
}

#[test]
fn late_packets_of_the_old_count_do_not_hide_a_restart() {
    for late in 1..=3_u32 {
        let mut noise = Noise(u64::from(late));
        let old = packets(&mut noise, 100_000..=100_499, 0, MS);
        let anew = packets(&mut noise, 1..=400, SECOND, MS);
        let straggle = packets(&mut noise, 100_500..100_500 + late, SECOND + MS / 2, MS);
        let report = report(&format!("straggle-{late}"), [old, anew, straggle].concat());
        let what = at(&report, "findings");
        assert_eq!(finding(&report, "sequence-interleaved"), None, "{what}");
        let [lost, duplicate, _, restarts] = counts(&report);
        assert_eq!([lost, duplicate, restarts], [0, 0, 1], "{late}: {what}");
    }
    // Both nodes of a cluster for a while.
    let mut noise = Noise(9);
    let old = packets(&mut noise, 100_000..=100_499, 0, MS);
    let anew = packets(&mut noise, 1..=400, 300 * MS + MS / 2, MS);
    let report = report("both", [old, anew].concat());
    assert!(finding(&report, "sequence-interleaved").is_some(), "{}", at(&report, "findings"));
}
