//! A clock that is set between the files of a rotation: the numbers of the SAs tell their order, and what is missing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp, in_fragments};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// Both ways of a tunnel, a frame a millisecond, with these numbers on the way there.
fn frames(numbers: impl Iterator<Item = u32>) -> Vec<Out> {
    let mut noise = Noise(23);
    let both = numbers.flat_map(|n| [(true, n), (false, n)]);
    let frame = |(at, (there, n)): (u64, (bool, u32))| {
        let (src, dst, spi) = if there { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
        let bytes = 100 + 4 * noise.below(200) as usize;
        Out::whole(START + at * MS as u64, esp(src, dst, spi, n, &noise.bytes(bytes)))
    };
    (0..).zip(both).map(frame).collect()
}

/// Files of 300 frames each; each is told its name, and by how much its clock is ahead.
fn files(dir: &Path, frames: &[Out], of: impl Fn(usize) -> (String, i64)) -> Vec<PathBuf> {
    let file = |(at, part): (usize, &[Out])| {
        let (name, ahead) = of(at);
        let shifted: Vec<Out> =
            part.iter().map(|out| Out { time_ns: out.time_ns.wrapping_add_signed(ahead), ..out.clone() }).collect();
        write_file(dir, &name, &plain_pcap(&shifted))
    };
    frames.chunks(300).enumerate().map(file).collect()
}

fn run(command: &str, files: &[PathBuf]) -> Value {
    let mut args = vec![command, "--format", "json", "-q"];
    args.extend(files.iter().map(|file| file.to_str().expect("UTF-8")));
    spiglass(&args).expect(0).json()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// One tap that lost nothing, whatever the order of the files, from their states too.
fn whole(dir: &Path, mut files: Vec<PathBuf>) {
    let first = run("report", &files);
    let states: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(at, file)| {
            let state = dir.join(format!("{at}.state"));
            let (file, to) = (file.to_str().expect("UTF-8"), state.to_str().expect("UTF-8"));
            spiglass(&["partial", "-q", "-o", to, file]).expect(0);
            state
        })
        .collect();
    files.reverse();
    for report in [run("report", &files), run("merge", &states), first] {
        let frames: u64 = items(&report, "taps.0.captures").len() as u64 * 300;
        assert_eq!((items(&report, "taps").len(), items(&report, "sas").len()), (1, 2), "{files:?}");
        for sa in items(&report, "sas") {
            assert_eq!(number(sa, "frames"), frames / 2);
            for field in ["lost", "late", "duplicate", "restarts"] {
                assert_eq!(number(sa, &format!("sequence.{field}")), 0, "{field}, {files:?}");
            }
        }
        assert_eq!(codes(&report), ["capture-clock-back"], "{files:?}");
    }
}

#[test]
fn files_whose_numbers_go_on_are_one_rotation_whatever_the_clock_did() {
    let frames = frames(1..601);
    // By a tenth of a file, by more than the files last, once in the middle; names that count on and others.
    let names: [fn(usize) -> String; 2] =
        [|at| format!("rotation-{at:02}.pcap"), |at| ["dawn", "noon", "dusk", "night"][at].to_owned() + ".pcap"];
    type Ahead = fn(usize) -> i64;
    let steps: [(&str, Ahead); 3] = [
        ("tenth", |at| -30 * MS * at as i64),
        ("longer", |at| -2 * SECOND * at as i64),
        ("middle", |at| if at < 2 { 0 } else { -3_600 * SECOND }),
    ];
    for (which, name) in names.iter().enumerate() {
        // Files that do not overlap are out of order only if their names say so.
        for (step, ahead) in steps.into_iter().filter(|(step, _)| which == 0 || *step == "tenth") {
            let dir = scratch(&format!("clock-steps-{which}-{step}"));
            let files = files(&dir, &frames, |at| (name(at), ahead(at)));
            whole(&dir, files);
        }
    }
}

/// Rates over a clock that was set back do not depend on where the file was cut.
#[test]
fn rates_are_the_same_whether_a_file_ends_where_the_clock_was_set_back_or_not() {
    let dir = scratch("clock-steps-rates");
    let mut frames = frames(1..601);
    frames[600..].iter_mut().for_each(|out| out.time_ns -= 3 * SECOND as u64);
    let whole = write_file(&dir, "whole.pcap", &plain_pcap(&frames));
    let whole = run("report", &[whole]);
    for cut in [600, 300, 900, 601] {
        let files = [&frames[..cut], &frames[cut..]].into_iter().zip(["r-1.pcap", "r-2.pcap"]);
        let files: Vec<PathBuf> = files.map(|(part, name)| write_file(&dir, name, &plain_pcap(part))).collect();
        let report = run("report", &files);
        for direction in ["rates.directions.0", "rates.directions.1"] {
            for field in ["frames_per_s", "seconds", "l1_bps", "basis"] {
                let place = format!("{direction}.{field}");
                assert!(!at(&report, &place).is_null(), "{cut}, {place}");
                assert_eq!(at(&report, &place), at(&whole, &place), "{cut}");
            }
        }
        for sa in ["sas.0.rate", "sas.1.rate"] {
            assert_eq!(at(&report, sa), at(&whole, sa), "{cut}");
        }
    }
}

/// How far fragments come behind later ones does not depend on how their files are grouped.
#[test]
fn fragments_behind_the_clock_are_the_same_in_every_grouping() {
    let dir = scratch("clock-steps-fragments");
    let mut noise = Noise(7);
    let trains = (0..60u32).flat_map(|n| {
        let packet = esp(R1, R2, 7, n + 1, &noise.bytes(1_400));
        in_fragments(&packet, 800).into_iter().map(move |data| (n, data)).collect::<Vec<_>>()
    });
    // Back by 51 ms after each third.
    let frames: Vec<Out> = trains
        .map(|(n, data)| Out::whole(START + u64::from(n) * MS as u64 - u64::from(n / 20) * 51 * MS as u64, data))
        .collect();
    let why = |report: &Value| report["degraded_why"].to_string();
    let mut known = None;
    for size in [120, 60, 40, 30, 7] {
        let files: Vec<PathBuf> = frames
            .chunks(size)
            .enumerate()
            .map(|(at, part)| write_file(&dir, &format!("f{size}.pcap{at:02}"), &plain_pcap(part)))
            .collect();
        let mut states: Vec<PathBuf> = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let state = dir.join(format!("{size}-{at}.state"));
            spiglass(&["partial", "-q", "-o", state.to_str().expect("UTF-8"), file.to_str().expect("UTF-8")]).expect(0);
            states.push(state);
        }
        for report in [run("report", &files), run("merge", &states)] {
            let said = why(&report).replace(&format!("f{size}"), "f");
            assert!(said.contains("fragments come up to"), "{said}");
            assert_eq!(known.get_or_insert_with(|| said.clone()), &said, "{size}");
        }
    }
}

/// The numbers of the file behind a pause end where those of the file before it begin: times in order outweigh that.
#[test]
fn a_counter_that_begins_anew_behind_a_pause_turns_no_files_around() {
    for (which, names) in [["night-1.pcap", "night-2.pcap"], ["dusk.pcap", "dawn.pcap"]].into_iter().enumerate() {
        let dir = scratch(&format!("clock-steps-anew-{which}"));
        let frames = frames((151..301).chain(1..151));
        let ahead = |at: usize| if at == 0 { 0 } else { 60 * SECOND };
        let mut files = files(&dir, &frames, |at| (names[at].to_owned(), ahead(at)));
        for _ in 0..2 {
            let report = run("report", &files);
            assert_eq!(items(&report, "taps").len(), 1);
            let said = codes(&report);
            assert!(said.contains(&"sequence-restart") && !said.contains(&"capture-clock-back"), "{names:?}: {said:?}");
            assert_eq!(number(&report, "sas.0.sequence.restarts"), 1);
            files.reverse();
        }
    }
}

#[test]
fn a_counter_that_begins_anew_between_two_files_is_still_said_to() {
    let dir = scratch("clock-steps-restart");
    let frames = frames((9_001..9_151).chain(1..151));
    let report = run("report", &files(&dir, &frames, |at| (format!("night{at}.pcap"), 0)));
    assert_eq!(items(&report, "taps").len(), 1);
    assert_eq!(codes(&report), ["sequence-restart", "sequence-restart"]);
    assert_eq!(number(&report, "sas.0.sequence.restarts"), 1);
}

#[test]
fn taps_that_share_the_traffic_are_two_and_it_is_said() {
    let dir = scratch("clock-steps-shared");
    let tap = |odd: u32| {
        let own = frames((0..150).map(|n| 2 * n + 1 + odd));
        files(&dir, &own, |_| (format!("link-{}.pcap", ["a", "b"][odd as usize]), i64::from(odd) * MS / 2)).remove(0)
    };
    let report = run("report", &[tap(0), tap(1)]);
    assert_eq!(items(&report, "taps").len(), 2);
    let layout = items(&report, "findings").iter().find(|finding| text(finding, "code") == "tap-layout");
    let evidence = text(layout.expect("it is said"), "evidence");
    assert!(
        evidence.contains("2 common SAs have disjoint sequence numbers") && evidence.ends_with("may be at the other."),
        "{evidence}"
    );
}

/// Of a fast link the files last less than a second.
#[test]
fn a_missing_file_of_short_ones_is_a_hole() {
    let dir = scratch("clock-steps-missing");
    let mut files = files(&dir, &frames(1..601), |at| (format!("short-{at}.pcap"), 0));
    files.remove(2);
    let report = run("report", &files);
    assert!(codes(&report).contains(&"capture-hole"), "{:?}", codes(&report));
    let hole = items(&report, "findings").iter().find(|finding| text(finding, "code") == "capture-hole");
    assert!(
        text(hole.expect("just seen"), "evidence").contains("300 sequence numbers are missing"),
        "{}",
        at(&report, "findings")
    );
}
