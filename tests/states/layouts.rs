//! Which files are one tap where clocks differ and counters begin anew: the numbers of the SAs and their first packets decide, or it is said.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// Both ways of a tunnel with numbers from 1 on, a frame every 2 ms, with ciphertext made of `seed`.
fn frames(seed: u64, count: u64) -> Vec<Out> {
    let mut noise = Noise(seed);
    let frame = |at: u64| {
        let (src, dst, spi) = if at.is_multiple_of(2) { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
        let data = esp(src, dst, spi, (at / 2) as u32 + 1, &noise.bytes(96));
        Out::whole(START + at * 2 * MS as u64, data)
    };
    (0..count).map(frame).collect()
}

fn file(dir: &Path, name: &str, frames: &[Out], ahead: i64) -> PathBuf {
    let moved = |out: &Out| Out { time_ns: out.time_ns.wrapping_add_signed(ahead), ..out.clone() };
    write_file(dir, name, &plain_pcap(&frames.iter().map(moved).collect::<Vec<_>>()))
}

fn run(command: &str, options: &[&str], files: &[PathBuf]) -> Value {
    let mut args = vec![command, "--format", "json", "-q"];
    args.extend(options);
    args.extend(files.iter().map(|file| file.to_str().expect("UTF-8")));
    spiglass(&args).expect(0).json()
}

/// The report of some files, in any order and from their states.
fn report(dir: &Path, files: &[PathBuf]) -> Value {
    let report = run("report", &[], files);
    let turned: Vec<PathBuf> = files.iter().rev().cloned().collect();
    assert_eq!(run("report", &[], &turned), report);
    let state = |(at, file): (usize, &PathBuf)| {
        let state = dir.join(format!("{at}.state"));
        let words = ["partial", "-o", state.to_str().expect("UTF-8"), file.to_str().expect("UTF-8")];
        spiglass(&words).expect(0);
        state
    };
    let states: Vec<PathBuf> = files.iter().enumerate().map(state).collect();
    assert_eq!(run("merge", &[], &states), report);
    report
}

/// Taps, and what is found at them.
fn said(report: &Value) -> (usize, Vec<&str>) {
    let codes = items(report, "findings").iter().map(|finding| text(finding, "code")).collect();
    (items(report, "taps").len(), codes)
}

fn layout(report: &Value) -> &str {
    let found = items(report, "findings").iter().find(|finding| text(finding, "code") == "tap-layout");
    found.map_or("", |finding| text(finding, "evidence"))
}

#[test]
fn rotated_taps_that_saw_the_same_are_not_said_to_share_the_traffic() {
    let frames = frames(1, 3_000);
    for (which, cuts) in [[1_000, 2_000], [700, 2_100]].into_iter().enumerate() {
        for ahead in [1_000, MS, 50 * MS, SECOND, -MS, -SECOND] {
            let dir = scratch(&format!("layouts-rotated-{which}-{ahead}"));
            let mut files = Vec::new();
            for (name, cuts, ahead) in [("west", [1_000, 2_000], 0), ("east", cuts, ahead)] {
                let parts = [&frames[..cuts[0]], &frames[cuts[0]..cuts[1]], &frames[cuts[1]..]];
                files.extend((0..).zip(parts).map(|(at, part)| file(&dir, &format!("{name}-{at}.pcap"), part, ahead)));
            }
            assert_eq!(said(&report(&dir, &files)), (2, vec![]), "{cuts:?}, {ahead} ns");
        }
    }
}

/// Two captures of one tunnel at two taps; the clock of one is a minute behind.
#[test]
fn taps_whose_clocks_are_apart_saw_no_counter_begin_anew() {
    let dir = scratch("layouts-clocks");
    let frames = frames(2, 1_000);
    let files = [file(&dir, "west.pcap", &frames, 0), file(&dir, "east.pcap", &frames[..900], 60 * SECOND)];
    let whole = report(&dir, &files);
    assert_eq!(said(&whole), (2, vec!["tap-layout"]), "{}", at(&whole, "findings"));
    let evidence = layout(&whole);
    assert!(evidence.contains("holds packets of 2 of 2 common SAs that"), "{evidence}");
    // Whoever says that it is one tap has packets that were replayed.
    let named = run("report", &["--tap-name", "core"], &files);
    assert_eq!(items(&named, "taps").len(), 1);
}

/// A router starts again between two files: other packets with the same numbers.
#[test]
fn counters_that_begin_anew_between_files_are_of_one_tap() {
    let (before, after) = (frames(3, 1_000), frames(4, 900));
    for (name, ahead) in [("beta", 60 * SECOND), ("alpha2", 60 * SECOND), ("beta", 1_995 * MS), ("alpha2", 1_995 * MS)]
    {
        let dir = scratch(&format!("layouts-anew-{name}-{ahead}"));
        let whole =
            report(&dir, &[file(&dir, "alpha1.pcap", &before, 0), file(&dir, &format!("{name}.pcap"), &after, ahead)]);
        assert_eq!(items(&whole, "taps").len(), 1, "{name}, {ahead}");
        assert_eq!(layout(&whole), "", "{name}, {ahead}");
        let restarts = number(&whole, "sas.0.sequence.restarts");
        assert_eq!(restarts, u64::from(ahead > 10 * SECOND), "without a pause they are numbers seen before");
    }
}

/// The same, and the clock was set back by more than is tolerated.
#[test]
fn counters_that_begin_anew_in_files_that_overlap_are_told_from_taps_that_saw_the_same() {
    let (before, after) = (frames(7, 1_000), frames(8, 900));
    let dir = scratch("layouts-anew-overlap");
    let whole = report(&dir, &[file(&dir, "n1.pcap", &before, 0), file(&dir, "n2.pcap", &after, 1_500 * MS)]);
    assert_eq!(said(&whole), (2, vec!["tap-layout"]));
    assert!(layout(&whole).contains("2 of 2 common SAs with other packets"), "{}", layout(&whole));
    // Parallel taps are not said to be anything.
    let dir = scratch("layouts-parallel-overlap");
    let whole = report(&dir, &[file(&dir, "n1.pcap", &before, 0), file(&dir, "n2.pcap", &before, 1_500 * MS)]);
    assert_eq!(said(&whole), (2, vec![]));
}

/// Where no first packets are in both, nothing decides between counters that began anew and another clock.
#[test]
fn what_numbers_alone_leave_open_is_said() {
    let frames = frames(5, 1_000);
    let dir = scratch("layouts-open");
    let whole =
        report(&dir, &[file(&dir, "west.pcap", &frames, 0), file(&dir, "east.pcap", &frames[200..], 60 * SECOND)]);
    assert_eq!(items(&whole, "taps").len(), 1);
    let evidence = layout(&whole);
    assert!(evidence.contains("holds sequence numbers of 2 of 2 common SAs of"), "{evidence}");
    assert!(evidence.contains("Alternative: two taps with clocks that differ"), "{evidence}");
    // So nobody is accused of numbers that came again.
    let severities = |report: &Value| -> Vec<String> {
        let numbers = items(report, "findings").iter().filter(|own| text(own, "code").starts_with("sequence-"));
        numbers.map(|finding| text(finding, "severity").to_owned()).collect()
    };
    assert_eq!(severities(&whole), ["note", "note"], "{}", at(&whole, "findings"));
    // An SA of the later file alone, whose packets the network doubles there, is another matter.
    let doubled = (0..200_u64).flat_map(|at| {
        let data = esp(R1, R2, 0x3001, at as u32 + 1, &Noise(at).bytes(64));
        [0, 50 * MS as u64].map(|late| Out::whole(START + at * MS as u64 + late, data.clone()))
    });
    let mut both: Vec<Out> = frames[200..].iter().cloned().chain(doubled).collect();
    both.sort_by_key(|frame| frame.time_ns);
    let files = [dir.join("west.pcap"), file(&dir, "east-doubled.pcap", &both, 60 * SECOND)];
    assert_eq!(severities(&report(&dir, &files)), ["warning", "note", "note"]);
    let named = run("report", &["--tap-name", "core"], &[dir.join("west.pcap"), dir.join("east.pcap")]);
    assert_eq!(severities(&named), ["warning", "warning"], "who names the tap says that it is one");
    // Of files that overlap, too.
    let dir = scratch("layouts-open-overlap");
    let whole = report(&dir, &[file(&dir, "n1.pcap", &frames, 0), file(&dir, "n2.pcap", &frames[200..], 1_595 * MS)]);
    assert_eq!(items(&whole, "taps").len(), 2);
    assert!(layout(&whole).contains("holds sequence numbers of 2 of 2 common SAs again"), "{}", layout(&whole));
    // Numbers that go on leave nothing open.
    let dir = scratch("layouts-open-not");
    let whole = report(&dir, &[file(&dir, "west.pcap", &frames[..500], 0), file(&dir, "east.pcap", &frames[500..], 0)]);
    assert_eq!(said(&whole), (1, vec![]));
}

/// An SA in bursts, and a file of other traffic in a pause of it: states of the files around it are not folded over it.
#[test]
fn a_file_in_a_pause_of_its_neighbours_is_placed_alike_in_every_grouping() {
    let dir = scratch("layouts-bursts");
    let mut noise = Noise(6);
    let mut esp_at = |time: i64, spi: u32, n: u32| {
        let (src, dst) = if spi == 0x1001 { (R1, R2) } else { (R2, R1) };
        Out::whole(START.wrapping_add_signed(time), esp(src, dst, spi, n, &noise.bytes(64)))
    };
    // Bursts of 100 frames a second, and ten seconds without.
    let mut burst = |start: i64, first: u32| -> Vec<Out> {
        (0..200)
            .map(|n| esp_at(start + i64::from(n % 100) * 10 * MS + i64::from(n / 100) * 11 * SECOND, 0x1001, first + n))
            .collect()
    };
    let (one, three, four) = (burst(0, 1), burst(22 * SECOND, 201), burst(44 * SECOND, 401));
    let two: Vec<Out> = (0..200).map(|n| esp_at(13 * SECOND + i64::from(n) * 10 * MS, 0x2001, n as u32 + 1)).collect();
    let parts = [one, two, three, four];
    let files: Vec<PathBuf> =
        parts.iter().enumerate().map(|(at, part)| file(&dir, &format!("burst-{at:05}.pcap"), part, 0)).collect();
    let whole = report(&dir, &files);
    assert_eq!(items(&whole, "taps").len(), 1);
    let state = |name: &str, files: &[&PathBuf]| {
        let state = dir.join(name);
        let mut words = vec!["partial", "-o", state.to_str().expect("UTF-8")];
        words.extend(files.iter().map(|file| file.to_str().expect("UTF-8")));
        spiglass(&words).expect(0);
        state
    };
    let states = [state("around.state", &[&files[0], &files[2], &files[3]]), state("within.state", &[&files[1]])];
    assert_eq!(run("merge", &[], &states), whole);
}
