//! Which files are one tap by their names: several taps in one folder, dates before the place, copies, a clock that is set back under one name.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// One way of a tunnel with numbers from 1 on, a frame a millisecond from `start` on.
fn one_way(spi: u32, count: u32, start: i64) -> Vec<Out> {
    let mut noise = Noise(u64::from(spi));
    let (src, dst) = if spi.is_multiple_of(2) { (R2, R1) } else { (R1, R2) };
    let frame = |n: u32| {
        let time = START.wrapping_add_signed(start + i64::from(n) * MS);
        Out::whole(time, esp(src, dst, spi, n + 1, &noise.bytes(96)))
    };
    (0..count).map(frame).collect()
}

/// Both ways of a tunnel.
fn tunnel(count: u32) -> Vec<Out> {
    let (there, back) = (one_way(0x1001, count, 0), one_way(0x2002, count, MS / 2));
    there.into_iter().zip(back).flat_map(|(there, back)| [there, back]).collect()
}

/// Frames as files of equal size; each is told its name, and by how much its clock is ahead.
fn files(dir: &Path, frames: &[Out], count: usize, of: impl Fn(usize) -> (String, i64)) -> Vec<PathBuf> {
    let file = |(at, part): (usize, &[Out])| {
        let (name, ahead) = of(at);
        let moved = |out: &Out| Out { time_ns: out.time_ns.wrapping_add_signed(ahead), ..out.clone() };
        write_file(dir, &name, &plain_pcap(&part.iter().map(moved).collect::<Vec<_>>()))
    };
    frames.chunks(frames.len().div_ceil(count)).enumerate().map(file).collect()
}

fn run(command: &str, options: &[&str], files: &[PathBuf]) -> Value {
    let mut args = vec![command, "--format", "json", "-q"];
    args.extend(options);
    args.extend(files.iter().map(|file| file.to_str().expect("UTF-8")));
    spiglass(&args).expect(0).json()
}

fn states(dir: &Path, options: &[&str], files: &[PathBuf]) -> Vec<PathBuf> {
    let state = |(at, file): (usize, &PathBuf)| {
        let state = dir.join(format!("{at}.state"));
        let part = (at + 1).to_string();
        let numbered: &[&str] = if options.contains(&"--stream") { &["--part", &part] } else { &[] };
        let words = [&["partial", "-q", "-o", state.to_str().expect("UTF-8")], options, numbered].concat();
        spiglass(&[words, vec![file.to_str().expect("UTF-8")]].concat()).expect(0);
        state
    };
    files.iter().enumerate().map(state).collect()
}

fn shuffled(mut files: Vec<PathBuf>, random: &mut Noise) -> Vec<PathBuf> {
    for at in (1..files.len()).rev() {
        files.swap(at, random.below(at as u64 + 1) as usize);
    }
    files
}

/// The report of some files, which must be the same in every order and from their states.
fn report(dir: &Path, files: &[PathBuf]) -> Value {
    let report = run("report", &[], files);
    let states = states(dir, &[], files);
    let mut random = Noise(files.len() as u64);
    for _ in 0..8 {
        assert_eq!(run("report", &[], &shuffled(files.to_vec(), &mut random)), report);
        let mixed = shuffled(states.clone(), &mut random);
        assert_eq!(run("merge", &["--allow-duplicate"], &mixed), report, "{mixed:?}");
    }
    report
}

/// The names of the files of each tap.
fn taps(report: &Value) -> Vec<Vec<&str>> {
    let captures = items(report, "captures");
    let name = |capture: &Value| {
        let path = text(&captures[capture.as_u64().expect("an index") as usize], "path");
        path.rsplit('/').next().expect("a name")
    };
    items(report, "taps").iter().map(|tap| items(tap, "captures").iter().map(name).collect()).collect()
}

fn layouts(report: &Value) -> Vec<&str> {
    let found = items(report, "findings").iter().filter(|finding| text(finding, "code") == "tap-layout");
    found.map(|finding| text(finding, "evidence")).collect()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// Two taps that are rotated together; a name is told the tap and the number of the file.
#[test]
fn rotations_side_by_side_are_told_apart_by_name() {
    type Name = fn(usize, usize) -> String;
    let names: [(&str, Name); 9] = [
        ("interface", |tap, at| format!("eth{tap}_{:05}.pcap", at + 1)),
        ("dumpcap", |tap, at| format!("tap{}_{:05}_2026112612{at:02}00.pcap", tap + 1, at + 1)),
        ("tcpdump", |tap, at| format!("port{}.pcap{}", tap + 1, if at == 0 { String::new() } else { at.to_string() })),
        ("dated", |tap, at| format!("eth{tap}_2026112612{at:02}00.pcap")),
        ("date-first", |tap, at| format!("20261126-12{at}0-{}.pcap", ["west", "east"][tap])),
        ("time-first", |tap, at| format!("2026-11-26T12:{at}0:00_{}.pcap", ["west", "east"][tap])),
        ("index-first", |tap, at| format!("{at}.{}.pcap", ["west", "east"][tap])),
        ("letters", |tap, at| format!("{}_{}.pcap", ["a", "b", "c"][at], ["west", "east"][tap])),
        ("place-first", |tap, at| format!("{}-20261126-12{at}0.pcap", ["west", "east"][tap])),
    ];
    for (kind, name) in names {
        let dir = scratch(&format!("namings-{kind}"));
        let mut all = Vec::new();
        for (tap, spi) in [(0, 0x1001), (1, 0x2002)] {
            let frames = one_way(spi, 900, tap as i64 * MS / 3);
            all.extend(files(&dir, &frames, 3, |at| (name(tap, at), 0)));
        }
        let whole = report(&dir, &all);
        let own = |tap: usize| (0..3).map(|at| name(tap, at)).collect::<Vec<_>>();
        assert_eq!(taps(&whole), [own(0), own(1)], "{kind}");
        for sa in items(&whole, "sas") {
            assert_eq!((number(sa, "frames"), number(sa, "sequence.lost")), (900, 0), "{kind}");
        }
        assert_eq!(layouts(&whole), [""; 0], "{kind}");
    }
}

#[test]
fn names_that_differ_in_zeros_or_compression_follow_each_other_not() {
    let dir = scratch("namings-zeros");
    let frames = tunnel(450);
    let mut all = files(&dir, &frames, 3, |at| (["cap.pcap", "cap.pcap1", "cap.pcap2"][at].into(), 0));
    // The second file again with some frames less: no copy, and of the same number.
    all.push(write_file(&dir, "cap.pcap01", &plain_pcap(&frames[300..590])));
    let whole = report(&dir, &all);
    assert_eq!(taps(&whole), [vec!["cap.pcap", "cap.pcap1", "cap.pcap2"], vec!["cap.pcap01"]]);
}

#[test]
fn a_copy_in_another_folder_leaves_the_order_of_a_rotation_alone() {
    let dir = scratch("namings-copy");
    let mut all = files(&dir, &tunnel(450), 3, |at| (format!("rot-{at}.pcap"), [0, 0, -SECOND][at]));
    for (of, name) in [(0, "a copy.pcap"), (2, "another copy.pcap")] {
        all.push(write_file(&dir, name, &std::fs::read(&all[of]).expect("a capture")));
    }
    let whole = report(&dir, &all);
    assert_eq!(taps(&whole), [["a copy.pcap", "rot-1.pcap", "another copy.pcap"]]);
    assert_eq!((number(&whole, "totals.frames"), number(&whole, "sas.0.sequence.late")), (900, 0));
}

#[test]
fn a_copy_is_counted_once_under_one_name_only() {
    let dir = scratch("namings-once");
    let plain = files(&dir, &tunnel(50), 1, |_| ("x.pcap".into(), 0)).remove(0);
    let other = write_file(&dir, "y.pcap", &std::fs::read(&plain).expect("a capture"));
    let states = states(&dir, &[], &[plain, other]);
    let said = |order: [usize; 2]| {
        let states: Vec<PathBuf> = order.iter().map(|&at| states[at].clone()).collect();
        let run = spiglass(&[&["merge", "--format", "json", "-q"], &paths(&states)[..]].concat());
        let report = run.json();
        layouts(&report).iter().map(|said| (*said).to_owned()).collect::<Vec<_>>()
    };
    for order in [[0, 1], [1, 0]] {
        let [evidence] = said(order).try_into().expect("one finding");
        assert!(
            evidence.contains("y.pcap holds the same frames as") && evidence.matches("holds").count() == 1,
            "{evidence}"
        );
    }
    assert!(said([0, 0])[0].contains("x.pcap is given more than once and is counted once"));
}

fn paths(files: &[PathBuf]) -> Vec<&str> {
    files.iter().map(|file| file.to_str().expect("UTF-8")).collect()
}

/// Files that a program wrote one after the other are no ports of a TAP, whatever the clock did between them.
#[test]
fn a_named_tap_keeps_the_order_of_its_rotation() {
    for step in [5 * MS, 10 * MS, SECOND / 10, SECOND] {
        let dir = scratch(&format!("namings-tap-{step}"));
        let all = files(&dir, &tunnel(600), 3, |at| (format!("rot_{:05}.pcap", at + 1), -step * at as i64));
        let whole = run("report", &["--tap-name", "core"], &all);
        for sa in items(&whole, "sas") {
            let counts = ["frames", "sequence.lost", "sequence.late"].map(|field| number(sa, field));
            assert_eq!(counts, [600, 0, 0], "{step}");
        }
        assert_eq!(codes(&whole), ["capture-clock-back"], "{step}");
        let merged = run("merge", &[], &states(&dir, &["--tap-name", "core"], &all));
        assert_eq!(merged, whole, "{step}");
        let list = write_file(&dir, "list", paths(&all).join("\n").as_bytes());
        let listed = ["--tap-name", "core", "--files-from", list.to_str().expect("UTF-8")];
        assert_eq!(run("report", &listed, &[]), whole, "{step}");
    }
}

/// Names that count on may be those of ports: their frames are merged by time as ever.
#[test]
fn ports_of_a_named_tap_are_still_merged_by_time() {
    let dir = scratch("namings-ports");
    let frames = tunnel(300);
    let port = |odd: usize| {
        let own: Vec<Out> = frames.iter().skip(odd).step_by(2).cloned().collect();
        files(&dir, &own, 1, |_| (format!("port{}.pcap", odd + 1), 0)).remove(0)
    };
    let whole = run("report", &["--tap-name", "core"], &[port(0), port(1)]);
    assert_eq!((items(&whole, "taps").len(), number(&whole, "totals.frames")), (1, 600));
    assert_eq!(number(&whole, "rates.directions.0.frames") + number(&whole, "rates.directions.1.frames"), 600);
    assert_eq!(codes(&whole), [""; 0]);
}

#[test]
fn parts_of_a_stream_are_in_the_order_of_their_numbers() {
    let dir = scratch("namings-parts");
    let names = ["quartz.pcap", "agate.pcap", "onyx.pcap"];
    let all = files(&dir, &tunnel(1_000), 3, |at| (names[at].into(), if at == 0 { 0 } else { -3 * SECOND }));
    let mut numbered = states(&dir, &["--stream", "core"], &all);
    for _ in 0..2 {
        let whole = run("merge", &[], &numbered);
        assert_eq!(taps(&whole), [names]);
        assert_eq!(codes(&whole), ["capture-clock-back"], "{}", at(&whole, "findings"));
        numbered.reverse();
    }
}

#[test]
fn a_file_without_frames_belongs_to_the_rotation_that_it_ends() {
    let dir = scratch("namings-empty");
    let mut all = files(&dir, &tunnel(450), 3, |at| (format!("cap_{:05}_2026112612{at:02}00.pcap", at + 1), 0));
    all.push(write_file(&dir, "cap_00004_20261126120300.pcap", &plain_pcap(&[])));
    let whole = report(&dir, &all);
    assert_eq!((taps(&whole).len(), taps(&whole)[0].len()), (1, 4));
    assert_eq!(codes(&whole), [""; 0]);
}

#[test]
fn one_capture_cut_in_two_ways_is_said_to_be() {
    let dir = scratch("namings-cut");
    let frames = tunnel(450);
    let mut all = files(&dir, &frames, 3, |at| (format!("part-{at}.pcap"), 0));
    all.extend(files(&dir, &frames, 1, |_| ("whole.pcap".into(), 0)));
    let whole = report(&dir, &all);
    assert_eq!(taps(&whole).len(), 2);
    let [evidence] = layouts(&whole).try_into().expect("one finding");
    assert!(evidence.contains("one capture cut in two ways"), "{evidence}");
}

/// The next name, a common time, and no SA in both: nothing decides, and it is said.
#[test]
fn a_clock_that_was_set_back_where_no_sa_goes_on_is_said() {
    for step in [50 * MS, 300 * MS, 3 * SECOND / 2] {
        let dir = scratch(&format!("namings-unlike-{step}"));
        let (before, after) = (one_way(0x1001, 2_000, 0), one_way(0x3001, 2_000, 2 * SECOND));
        let mut all = files(&dir, &before, 1, |_| ("cap_00001.pcap".into(), 0));
        all.extend(files(&dir, &after, 1, |_| ("cap_00002.pcap".into(), -step)));
        let whole = report(&dir, &all);
        assert_eq!(taps(&whole).len(), 2);
        let [evidence] = layouts(&whole).try_into().expect("one finding");
        assert!(evidence.contains("its name is the next one, and no SA is in both"), "{evidence}");
    }
    // Clear traffic has no SA at all.
    let dir = scratch("namings-unlike-clear");
    let clear: Vec<Out> =
        (0..900u64).map(|n| Out::whole(START + n * MS as u64, udp(R1, R2, (1, 2), n as u16, &[n as u8; 60]))).collect();
    let whole = report(&dir, &files(&dir, &clear, 3, |at| (format!("t.pcap{at}"), -100 * MS * at as i64)));
    assert_eq!((taps(&whole).len(), layouts(&whole).len()), (2, 1), "{:?}", layouts(&whole));
}

/// A counter that begins anew within a file, not at its border.
#[test]
fn a_restart_within_a_file_is_not_said_of_its_border() {
    let dir = scratch("namings-restart");
    let (before, mut after) = (one_way(0x1001, 400, 0), one_way(0x1001, 300, 30 * SECOND));
    // Other packets with the same numbers: the same ones would be a replay.
    after.iter_mut().for_each(|frame| frame.data[14 + 20 + 8] ^= 0xff);
    let frames = [before, after].concat();
    let mut all = files(&dir, &frames[..40], 1, |_| ("dawn.pcap".into(), 0));
    all.extend(files(&dir, &frames[40..], 1, |_| ("noon.pcap".into(), 0)));
    let whole = report(&dir, &all);
    assert_eq!((taps(&whole).len(), number(&whole, "sas.0.sequence.restarts")), (1, 1));
    assert_eq!(layouts(&whole), [""; 0]);
}
