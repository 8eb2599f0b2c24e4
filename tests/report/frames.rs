//! Findings lead to their frames: gaps with the frames on both sides, occurrences, and situations in which a frame would be named wrongly.

use crate::support;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, pcapng, plain_pcap};
use crate::support::{at, items, number, text};

const MS: u64 = 1_000_000;

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn written(dir: &str, name: &str, frames: &[Out]) -> PathBuf {
    support::write_file(&support::scratch(dir), name, &plain_pcap(frames))
}

fn report(files: &[PathBuf]) -> Value {
    let mut args = vec!["report", "--format", "json", "-q"];
    args.extend(files.iter().map(|file| path(file)));
    support::spiglass(&args).json()
}

/// One SA's packets with these numbers, a millisecond apart.
fn numbered(numbers: &[u32]) -> Vec<Out> {
    let mut noise = Noise(7);
    let one =
        |(n, number): (u64, &u32)| Out::whole(START + n * MS, build::esp(R1, R2, 0x3e9, *number, &noise.bytes(88)));
    (0..).zip(numbers).map(one).collect()
}

fn finding<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

/// First and last number, how many, frames before and after, and how many came late.
fn gaps(report: &Value) -> Vec<(u64, u64, u64, u64, u64, u64)> {
    let row = |gap: &Value| {
        let of = |member| number(gap, member);
        let frames = (of("frame_before.frame"), of("frame_after.frame"));
        (of("first_missing"), of("last_missing"), of("count"), frames.0, frames.1, of("filled_late"))
    };
    items(report, "gaps").iter().map(row).collect()
}

/// Frames of a finding, how many packets or numbers each is about, and the total.
fn occurrences(report: &Value, code: &str) -> (Vec<(u64, u64)>, Value) {
    let found = finding(report, code).unwrap_or_else(|| panic!("there is {code}"));
    let rows = items(found, "occurrences").iter().map(|one| (number(one, "frame"), number(one, "count"))).collect();
    (rows, at(found, "occurrences_total").clone())
}

#[test]
fn a_gap_names_the_frames_on_both_sides_and_the_numbers() {
    let sent: Vec<u32> = (1..=20).chain(24..=30).chain(32..=40).collect();
    let report = report(&[written("frames", "gap.pcap", &numbered(&sent))]);
    assert_eq!(gaps(&report), [(21, 23, 3, 20, 21, 0), (31, 31, 1, 27, 28, 0)]);
    assert_eq!(occurrences(&report, "sequence-gap"), (vec![(21, 3), (28, 1)], json!(2)));
    let gap = finding(&report, "sequence-gap").unwrap();
    assert!(text(gap, "evidence").contains("First gap after sequence 20 (between frames 20 and 21)."), "{gap}");
    assert_eq!(text(gap, "filter"), "esp.spi == 0x000003e9 && esp.sequence in {20..24, 30..32}");
    assert_eq!(number(&report, "gaps.0.time_after_ns") - number(&report, "gaps.0.time_before_ns"), MS);
    assert_eq!(number(&report, "gaps_beyond"), 0);
}

#[test]
fn a_gap_that_a_late_frame_fills_says_so_and_is_no_loss() {
    let report = report(&[written("frames", "late.pcap", &numbered(&[1, 2, 3, 7, 5, 8, 9, 12, 10, 11, 13]))]);
    assert_eq!(gaps(&report), [(4, 6, 3, 3, 4, 1), (10, 11, 2, 7, 8, 2)]);
    // What never came: 4 and 6, two holes around the late 5.
    assert_eq!(occurrences(&report, "sequence-gap"), (vec![(4, 1), (4, 1)], json!(2)));
    assert_eq!(occurrences(&report, "sequence-late"), (vec![(5, 1), (9, 2)], json!(2)));
}

#[test]
fn numbers_of_another_count_are_in_no_gap() {
    // 32 bits go around, a counter begins anew, a number leaps ahead, and one is damaged.
    let wrap: Vec<u32> =
        (0..6).map(|n| 0xffff_fffc_u32.wrapping_add(n)).filter(|n| *n != 0xffff_ffff && *n != 0).collect();
    let whole = report(&[written("frames", "wrap.pcap", &numbered(&wrap))]);
    assert_eq!(gaps(&whole), [(0xffff_ffff, 0, 2, 3, 4, 0)]);
    let filter = text(finding(&whole, "sequence-gap").unwrap(), "filter");
    assert_eq!(filter, "esp.spi == 0x000003e9 && esp.sequence in {0..1, 4294967294..4294967295}");
    let anew: Vec<u32> = (5_000..5_020).chain(1..20).collect();
    let anew = report(&[written("frames", "anew.pcap", &numbered(&anew))]);
    assert_eq!(gaps(&anew), []);
    assert_eq!(occurrences(&anew, "sequence-restart"), (vec![(21, 1)], json!(1)));
    let ahead: Vec<u32> = (1..20).chain(3_000_000..3_000_020).collect();
    let ahead = report(&[written("frames", "ahead.pcap", &numbered(&ahead))]);
    assert_eq!(gaps(&ahead), []);
    assert_eq!(occurrences(&ahead, "sequence-jump"), (vec![(20, 2_999_980)], json!(1)));
    let damaged: Vec<u32> = (1..20).chain([0x7000_0000]).chain(20..40).collect();
    assert_eq!(gaps(&report(&[written("frames", "damaged.pcap", &numbered(&damaged))])), []);
}

#[test]
fn a_gap_between_two_files_names_both() {
    let sent: Vec<u32> = (1..=20).chain(24..=40).collect();
    let frames = numbered(&sent);
    let files = [written("frames-two", "t-1.pcap", &frames[..20]), written("frames-two", "t-2.pcap", &frames[20..])];
    let whole = report(&files);
    let gap = at(&whole, "gaps.0");
    assert_eq!(at(gap, "frame_before"), &json!({"capture": 0, "frame": 20}));
    assert_eq!(at(gap, "frame_after"), &json!({"capture": 1, "frame": 1}));
    let evidence = text(finding(&whole, "sequence-gap").unwrap(), "evidence");
    let [first, second] = files.each_ref().map(|file| path(file));
    assert!(evidence.contains(&format!("(between frame 20 of {first} and frame 1 of {second})")), "{evidence}");
    // The same of states, whichever is given first.
    let dir = support::scratch("frames-states");
    let states: Vec<PathBuf> = files
        .iter()
        .zip(["a", "b"])
        .map(|(file, name)| {
            let state = dir.join(name);
            support::spiglass(&["partial", "-o", path(&state), path(file)]).expect(0);
            state
        })
        .collect();
    for order in [[0, 1], [1, 0]] {
        let args = ["merge", "--format", "json", "-q", path(&states[order[0]]), path(&states[order[1]])];
        let merged = support::spiglass(&args).json();
        assert_eq!((at(&merged, "gaps"), at(&merged, "findings")), (at(&whole, "gaps"), at(&whole, "findings")));
    }
}

#[test]
fn one_spi_at_two_addresses_has_filters_of_its_own() {
    let mut noise = Noise(9);
    let frames: Vec<Out> = (1..40_u32)
        .filter(|n| *n != 20)
        .flat_map(|n| [(R1, R2, n), (R2, R1, n)])
        .filter(|(src, _, n)| *src == R1 || *n != 30)
        .zip(0..)
        .map(|((src, dst, n), at)| Out::whole(START + at * MS, build::esp(src, dst, 0x3e9, n, &noise.bytes(88))))
        .collect();
    let report = report(&[written("frames", "shared.pcap", &frames)]);
    let filters: Vec<&str> = items(&report, "findings")
        .iter()
        .filter(|finding| text(finding, "code") == "sequence-gap")
        .map(|finding| text(finding, "filter"))
        .collect();
    assert_eq!(filters.len(), 2);
    for (filter, src) in filters.iter().zip(["192.168.1.1", "192.168.1.2"]) {
        assert!(filter.contains(&format!("ip.src == {src}")), "{filter}");
    }
}

#[test]
fn copies_of_a_tap_make_no_gap_and_repeat_nothing() {
    let sent: Vec<u32> = (1..=60).filter(|n| *n != 31).collect();
    let once = numbered(&sent);
    let twice: Vec<Out> = once
        .iter()
        .flat_map(|frame| {
            let copy = Out::whole(frame.time_ns + 20_000, build::one_hop_further(&frame.data));
            [frame.clone(), copy]
        })
        .collect();
    let report = report(&[written("frames", "copies.pcap", &twice)]);
    assert!(finding(&report, "tap-copies").is_some());
    // The copy of number 30 is the frame before the gap that bears it last; the gap ends at the first 32.
    assert_eq!(gaps(&report), [(31, 31, 1, 60, 61, 0)]);
    assert!(finding(&report, "sequence-duplicate").is_none());
}

#[test]
fn frames_without_time_are_named_without_one() {
    let mut frames = numbered(&[1, 2, 3, 6, 7, 8]);
    frames.iter_mut().for_each(|frame| frame.time_ns = u64::MAX);
    let file = support::write_file(
        &support::scratch("frames"),
        "untimed.pcapng",
        &pcapng(&frames, crate::support::writer::Order::Little),
    );
    let report = report(&[file]);
    assert_eq!(gaps(&report), [(4, 5, 2, 3, 4, 0)]);
    assert!(at(&report, "gaps.0.time_before_ns").is_null() && at(&report, "gaps.0.time_after_ns").is_null());
    assert!(at(finding(&report, "sequence-gap").unwrap(), "occurrences.0.time_ns").is_null());
}

#[test]
fn the_first_hundred_and_the_last_are_listed() {
    let mut noise = Noise(3);
    let zero = |n: u64| Out::whole(START + n * MS, build::esp(R1, R2, 0, u32::try_from(n).unwrap() + 1, &[7; 88]));
    let report_of_zero = report(&[written("frames", "zero.pcap", &(0..300).map(zero).collect::<Vec<_>>())]);
    let (rows, total) = occurrences(&report_of_zero, "spi-zero");
    assert_eq!((rows.len(), total), (101, json!(300)));
    assert_eq!((rows[0].0, rows[99].0, rows[100].0), (1, 100, 300));
    assert_eq!(text(finding(&report_of_zero, "spi-zero").unwrap(), "filter"), "esp.spi == 0x00000000");
    // One number in three is missing: a thousand gaps.
    let sent: Vec<u32> = (0..2_000).map(|n| 1 + n + n / 2 * u32::from(noise.below(1) == 0)).collect();
    let lossy = report(&[written("frames", "lossy.pcap", &numbered(&sent))]);
    let (rows, total) = occurrences(&lossy, "sequence-gap");
    assert_eq!((rows.len(), total), (101, json!(999)));
    assert_eq!((rows[0], rows[99], rows[100]), ((3, 1), (201, 1), (1_999, 1)));
    assert_eq!((items(&lossy, "gaps").len(), number(&lossy, "gaps_beyond")), (250, 749));
}

#[test]
fn tables_have_the_rows_of_the_json() {
    let sent: Vec<u32> = (1..=20).chain(24..=40).collect();
    let file = written("frames", "tables.pcap", &numbered(&sent));
    let csv = |table: &str, header: &str| {
        support::spiglass(&["report", "--format", "csv", "--table", table, "-q", path(&file)]).csv(header)
    };
    let header = "tap,sa,first_missing,last_missing,count,frame_before,frame_after,time_before_ns,time_after_ns,filled_late,capture_before,capture_after";
    let rows = csv("gaps", header);
    assert_eq!(
        rows.iter().map(|row| (row.get("first_missing"), row.get("frame_after"))).collect::<Vec<_>>(),
        [("21", "21")]
    );
    let bins =
        csv("bins", "tap,direction,start_ns,bin_ns,frames,l1_bytes,l2_bytes,l3_bytes,goodput_bytes,control_frames");
    assert_eq!(bins.iter().map(|row| row.get("frames").parse::<u64>().unwrap()).sum::<u64>(), 37);
    let sizes = csv("outer_sizes", "tap,sa,outer_bytes,frames");
    assert_eq!(
        sizes.iter().map(|row| (row.get("outer_bytes"), row.get("frames"))).collect::<Vec<_>>(),
        [("116", "37")]
    );
}

/// SAs without end list less and less each, and the report says that it lists a part.
#[test]
fn many_sas_with_gaps_list_a_bounded_number() {
    let mut noise = Noise(5);
    let mut frames = Vec::new();
    for round in 0..12_u32 {
        for sa in 0..2_000_u32 {
            let time = START + u64::from(round * 2_000 + sa) * 100_000;
            frames.push(Out::whole(time, build::esp(R1, R2, 0x1000 + sa, 1 + 2 * round, &noise.bytes(40))));
        }
    }
    let report = report(&[written("frames", "many.pcap", &frames)]);
    assert_eq!(items(&report, "gaps").len(), 10_000);
    assert_eq!(number(&report, "gaps_beyond"), 2_000 * 11 - 10_000);
    assert_eq!(text(&report, "exactness"), "exact");
}
