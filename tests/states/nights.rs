//! Nights of many captures: folders of states, restarts, captures that fail. No capture may be missing without a word.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::build::{Noise, R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, Run, fixture, items, oracle, scratch, spiglass};

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A rotation of `count` files, cut out of one capture.
fn rotation(dir: &Path, count: usize) -> Vec<PathBuf> {
    let records = oracle::read_capture(&fixture("lab/loss-before-tap-tunnel.pcap")).records;
    let share = records.len().div_ceil(count);
    let files = records.chunks(share).enumerate().map(|(at, records)| {
        let out = |r: &oracle::Record| Out {
            time_ns: r.time_ns.unsigned_abs(),
            data: r.data.clone(),
            wire_bytes: r.wire_bytes as u32,
        };
        support::write_file(
            dir,
            &format!("tap-{at:04}.pcap"),
            &plain_pcap(&records.iter().map(out).collect::<Vec<_>>()),
        )
    });
    files.collect()
}

fn run(words: &[&str], files: &[PathBuf]) -> Run {
    let mut args: Vec<&str> = words.to_vec();
    args.extend(files.iter().map(|file| path(file)));
    spiglass(&args)
}

/// Names and contents of the files in a folder.
fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(dir)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    files.sort();
    files
}

#[test]
fn a_folder_of_states_is_the_report_of_one_run_and_a_second_run_does_nothing() {
    let dir = scratch("nights-folder");
    let files = rotation(&dir, 40);
    let states = dir.join("states");
    let words = ["partial", "--state-dir", path(&states), "--jobs", "4"];
    let first = run(&words, &files).expect(0);
    assert!(first.stderr.contains("40 captures: 40 analysed"), "{first}");
    let made = content(&states);
    assert_eq!(made.len(), 40, "states and nothing else");
    let merged = spiglass(&["merge", "--format", "json", "--state-dir", path(&states)]).expect(0);
    assert!(merged.stdout == run(&["report", "--format", "json"], &files).stdout);

    let again = run(&words, &files).expect(0);
    assert!(again.stderr.contains("40 captures: 40 skipped"), "{again}");
    assert!(content(&states) == made);
    // The content decides, not the name; other settings are other states.
    let renamed = dir.join("renamed.pcap");
    fs::rename(&files[7], &renamed).expect("a file is renamed");
    assert!(run(&words, &[renamed]).expect(0).stderr.contains("1 skipped"));
    let bins = run(&["partial", "--bin", "100ms", "--state-dir", path(&states)], &files[..1]).expect(0);
    assert!(bins.stderr.contains("1 analysed"), "{bins}");
    // A state that the disk damaged is made again.
    let (damaged, whole) = &made[3];
    fs::write(damaged, &whole[..whole.len() - 1]).expect("a state is cut");
    let mut rest = files.clone();
    rest.remove(7);
    assert!(run(&words, &rest).expect(0).stderr.contains("1 analysed, 38 skipped"));
    assert!(&fs::read(damaged).expect("a state") == whole);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// Acceptance: killed at random and begun again, the same octets at the end.
#[test]
#[cfg(unix)]
fn a_folder_of_states_survives_being_killed() {
    let dir = scratch("nights-killed");
    let files = rotation(&dir, 120);
    let whole = dir.join("whole");
    run(&["partial", "--state-dir", path(&whole)], &files).expect(0);
    let names = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let name =
            |(path, content): (PathBuf, Vec<u8>)| (path.file_name().unwrap().to_str().unwrap().to_owned(), content);
        content(folder).into_iter().map(name).collect()
    };
    let states = dir.join("states");
    // A run that is killed at once has not made it.
    fs::create_dir_all(&states).expect("a folder");
    let mut random = Noise(5);
    let (mut interrupted, signals) = (0, ["-KILL", "-TERM"]);
    for round in 0..10 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_spiglass"))
            .args(["partial", "--state-dir", path(&states), "--jobs", "2"])
            .args(&files)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(2 + random.below(60)));
        let signal = signals[round % 2];
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
        let status = child.wait().expect("it ends");
        interrupted += u32::from(!status.success());
        // Whatever has the name of a state is one.
        for (name, octets) in names(&states).iter().filter(|(name, _)| name.ends_with(".state")) {
            let (_, made) = names(&whole).into_iter().find(|(known, _)| known == name).expect("the state of a capture");
            assert!(*octets == made, "{name}");
        }
    }
    run(&["partial", "--state-dir", path(&states)], &files).expect(0);
    let left = names(&states).into_iter().filter(|(name, _)| name.ends_with(".state")).collect::<Vec<_>>();
    assert!(left == names(&whole));
    assert!(interrupted > 0, "no run was ended early: the test shows nothing");
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// Acceptance: one unreadable, one cut, one empty, one duplicate, one of other settings among many.
#[test]
fn every_fault_of_a_night_is_named_and_the_other_figures_are_exact() {
    let dir = scratch("nights-faults");
    let files = rotation(&dir, 60);
    let sound = run(&["report", "--format", "json"], &files).expect(0).json();
    let junk = support::write_file(&dir, "junk.pcap", b"this is no capture at all, it is a text");
    let missing = dir.join("missing.pcap");
    let empty = support::write_file(&dir, "empty.pcap", b"");
    let last = fs::read(files.last().expect("files")).expect("a file");
    let cut = [&last[..], &last[24..40], &[0; 5]].concat();
    fs::write(files.last().expect("files"), cut).expect("a file is cut");
    let copy = dir.join("copy.pcap");
    fs::copy(&files[10], &copy).expect("a copy");
    let states = dir.join("states");
    let mut all = files.clone();
    all.extend([junk, missing, empty, copy]);
    let made = run(&["partial", "--state-dir", path(&states), "--jobs", "3"], &all).expect(2);
    let words = made.stderr.lines().last().expect("a line").to_owned();
    assert!(words.contains("inputs=64 read=60 cut=1 damaged=0 unreadable=3 "), "{words}");
    let odd = dir.join("odd.state");
    spiglass(&["partial", "--bin", "100ms", "-o", path(&odd), path(&fixture("lab/ah-sha256-tunnel.pcap"))]).expect(0);
    // Under a name as the folder's own states have it: `0123456789abcdef.v13.state`.
    let own =
        fs::read_dir(&states).expect("states").flatten().map(|own| own.file_name().to_string_lossy().into_owned());
    let named = own.filter(|own| own.ends_with(".state")).min().expect("a state");
    let odd_name = format!("odd.{}", named.split_once('.').expect("a version").1);
    fs::copy(&odd, states.join(&odd_name)).expect("a copy");

    let merged = spiglass(&["merge", "--format", "json", "--state-dir", path(&states)]).expect(2);
    let report = merged.json();
    let errors: Vec<String> =
        items(&report, "captures").iter().filter_map(|capture| Some(capture["error"].as_str()?.to_owned())).collect();
    assert_eq!(errors.len(), 4, "{errors:?}");
    for named in ["junk.pcap", "missing.pcap", "empty.pcap", &*odd_name] {
        assert!(errors.iter().any(|error| error.contains(named)), "{named}: {errors:?}");
    }
    assert!(errors.iter().any(|error| error.contains("--bin")), "{errors:?}");
    assert!(report["findings"].to_string().contains("copy.pcap"), "the duplicate is named in the report");
    assert!(merged.stderr.contains("copy.pcap") || merged.stderr.contains("tap-0010.pcap"), "{merged}");
    let run_of = |name: &str| report["run"][name].as_u64().expect("a number");
    assert_eq!((run_of("inputs"), run_of("cut"), run_of("unreadable")), (64, 1, 4), "{}", report["run"]);
    for figures in ["totals", "sas", "sizes", "tunnels", "layers"] {
        assert!(report[figures] == sound[figures], "{figures} differ");
    }
    let allowed = spiglass(&["merge", "--allow-duplicate", "--state-dir", path(&states)]).expect(2);
    assert!(!allowed.stderr.contains("more than once"), "{allowed}");
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn states_that_follow_each_other_on_standard_input_are_merged() {
    let dir = scratch("nights-joined");
    let files = rotation(&dir, 5);
    let mut joined = Vec::new();
    for file in &files {
        joined.extend(spiglass(&["partial", path(file)]).expect(0).stdout);
    }
    let whole = run(&["report", "--format", "json"], &files).stdout;
    let merge = |input: &[u8]| support::spiglass_with_input(&["merge", "--format", "json", "-"], Some(input));
    assert!(merge(&joined).expect(0).stdout == whole);
    // One in the middle that is damaged does not hide the ones behind it.
    let length = joined.len();
    joined[length / 2] ^= 1;
    let run = merge(&joined).expect(2);
    assert_eq!(run.json()["run"]["unreadable"], 1, "{run}");
    assert_eq!(run.json()["run"]["read"], 4);
    // Nor does one that was cut, in its body or in its head, however many octets of the next one it claims.
    let states: Vec<Vec<u8>> =
        files[..3].iter().map(|file| spiglass(&["partial", path(file)]).expect(0).stdout).collect();
    for left in [states[1].len() / 2, states[1].len() - 1, 40, 30, 20] {
        let run = merge(&[&states[0][..], &states[1][..left], &states[2]].concat()).expect(2);
        assert_eq!(run.json()["run"]["read"], 2, "{left}: {run}");
        assert!(run.stderr.contains(&format!("{left} bytes were skipped")), "{left}: {run}");
        // At the end nothing follows.
        let run = merge(&[&states[0][..], &states[1][..left]].concat()).expect(2);
        assert_eq!((&run.json()["run"]["read"], &run.json()["run"]["unreadable"]), (&1.into(), &1.into()), "{run}");
    }
    // The same state twice is an error, unless that is allowed; it counts once.
    let state = spiglass(&["partial", path(&files[0])]).expect(0).stdout;
    let run = merge(&[&state[..], &state].concat()).expect(2);
    assert!(run.stderr.contains("digest") && run.stderr.contains("1 capture more than once"), "{run}");
    let one = merge(&state).expect(0).json();
    assert!(run.json()["totals"] == one["totals"]);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn standard_input_has_the_name_that_it_is_given() {
    let octets = fs::read(fixture("lab/ah-sha256-tunnel.pcap")).expect("a fixture");
    let named = support::spiglass_with_input(&["partial", "--name", "tap3.pcap", "-"], Some(&octets)).expect(0);
    let report =
        support::spiglass_with_input(&["merge", "--format", "json", "-"], Some(&named.stdout)).expect(0).json();
    assert_eq!((&report["captures"][0]["path"], &report["taps"][0]["name"]), (&"tap3.pcap".into(), &"tap3".into()));
    let junk = support::spiglass_with_input(&["partial", "--name", "tap4.pcap", "-"], Some(b"no capture")).expect(2);
    let report = support::spiglass_with_input(&["merge", "--format", "json", "-"], Some(&junk.stdout)).expect(2).json();
    let error = report["captures"][0]["error"].as_str().expect("an error");
    assert!(report["captures"][0]["path"] == "tap4.pcap" && error.starts_with("tap4.pcap: "), "{error}");
    spiglass(&["partial", "--name", "x", path(&fixture("lab/ah-sha256-tunnel.pcap"))]).expect(2);
}

/// What damage means is said once for all captures, or by kind.
#[test]
fn damage_is_an_error_a_warning_or_nothing_as_asked() {
    let dir = scratch("nights-damage");
    let whole = fs::read(fixture("lab/ah-sha256-tunnel.pcap")).expect("a fixture");
    let cut = support::write_file(&dir, "cut.pcap", &whole[..whole.len() - 3]);
    let mut broken = whole.clone();
    let length = broken.len();
    broken.splice(length..length, [0xff; 64]);
    let broken = support::write_file(&dir, "broken.pcap", &broken);
    let status = |on: &str, file: &Path| {
        let run = spiglass(&["report", "--on-damage", on, path(file)]);
        let warned = run.stderr.contains("frames were read");
        (run.status, warned)
    };
    assert_eq!(status("error", &cut), (2, true));
    assert_eq!(status("warn", &cut), (0, true));
    assert_eq!(status("ignore", &cut), (0, false));
    assert_eq!(status("cut=ignore", &broken), (2, true));
    assert_eq!(status("cut=ignore,damaged=warn", &broken), (0, true));
    let run = spiglass(&["report", "--format", "json", "--on-damage", "ignore", path(&broken), path(&cut)]).expect(0);
    assert_eq!((&run.json()["run"]["cut"], &run.json()["run"]["damaged"]), (&1.into(), &1.into()));
    // What cannot be read at all is an error in any case.
    spiglass(&["report", "--on-damage", "ignore", path(&dir.join("missing.pcap"))]).expect(2);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// A report without the digests of its captures: nobody has read the octets of a file in order that was analysed in parts.
fn undigested(run: &Run) -> String {
    let mut report = run.json();
    for capture in report["captures"].as_array_mut().expect("captures") {
        let capture = capture.as_object_mut().expect("a capture");
        let (digest, missing) = (capture.remove("digest"), capture.remove("digest_missing"));
        assert!(digest.expect("it is a member").is_null() != missing.expect("it is a member").is_null());
    }
    report.to_string()
}

/// Acceptance: parts by an index, in any order and process, merge to the report of the whole.
#[test]
fn parts_by_an_index_merge_to_the_whole_in_any_order() {
    let dir = scratch("nights-index");
    let records = oracle::read_capture(&fixture("lab/loss-before-tap-tunnel.pcap")).records;
    let frames: Vec<Out> = (0..8_u64)
        .flat_map(|round| {
            records.iter().map(move |r| Out {
                time_ns: r.time_ns.unsigned_abs() + round * 20_000_000_000,
                data: r.data.clone(),
                wire_bytes: r.wire_bytes as u32,
            })
        })
        .collect();
    let whole = plain_pcap(&frames);
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 7);
    for (name, octets) in [("whole.pcap", &whole), ("cut.pcap", &cut)] {
        let file = support::write_file(&dir, name, octets);
        let index = dir.join("f.idx");
        spiglass(&["index", path(&file), "-o", path(&index)]).expect(0);
        let expected = undigested(&spiglass(&["report", "--format", "json", path(&file)]));
        for of in [1, 2, 5, 16] {
            let mut states: Vec<PathBuf> = (1..=of)
                .map(|part| {
                    let state = dir.join(format!("{part}-{of}.state"));
                    let part = format!("{part}/{of}");
                    spiglass(&["partial", path(&file), "--index", path(&index), "--part", &part, "-o", path(&state)]);
                    state
                })
                .collect();
            states.reverse();
            let run = run(&["merge", "--format", "json"], &states);
            assert_eq!(support::text(&run.json(), "captures.0.digest_missing"), "the file was read in parts");
            assert!(undigested(&run) == expected, "{name} in {of} parts: {run}");
            // By way of a merged state of some of them.
            if let Some((last, rest)) = states.split_last().filter(|(_, rest)| !rest.is_empty()) {
                let some = dir.join("some.state");
                run_of(&["merge", "--state-out", path(&some)], rest);
                let again = [some, last.clone()];
                let again = run_of(&["merge", "--format", "json"], &again);
                assert!(undigested(&again) == expected, "{name} by way of a state");
                // A part that is missing is named, and nothing behind it is believed.
                let report = run_of(&["merge", "--format", "json"], rest).json();
                let error = items(&report, "captures").last().expect("a capture")["error"].to_string();
                assert!(error.contains(&format!("analysed in {of} parts, of which number 1 is not here")), "{error}");
                assert_eq!(report["totals"]["frames"], 0, "{}", report["totals"]);
            }
        }
        // Another file of the same length is not taken for it.
        let mut other = octets.clone();
        let middle = other.len() / 2;
        other[middle..middle + 40_000.min(octets.len() / 4)].fill(0);
        let other = support::write_file(&dir, "other.pcap", &other);
        let part = ["--index", path(&index), "--part", "2/3"];
        let run = spiglass(&["partial", path(&other), part[0], part[1], part[2], part[3]]).expect(2);
        assert!(run.stderr.contains("not the file that the index was made of"), "{run}");
        let longer = support::write_file(&dir, "longer.pcap", &[octets.as_slice(), octets].concat());
        spiglass(&["partial", path(&longer), part[0], part[1], part[2], part[3]]).expect(2);
    }
    spiglass(&["partial", path(&dir.join("whole.pcap")), "--part", "1/2"]).expect(2);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// A capture that is long enough for 64 parts of many frames each, with SAs that lose, repeat and reorder numbers across the borders of parts.
#[test]
fn sixty_four_parts_merge_to_the_whole() {
    let dir = scratch("nights-64-parts");
    let mut noise = Noise(64);
    let frames: Vec<Out> = (0..40_000u32)
        .map(|n| {
            let (ends, spi) = [((R1, R2), 7), ((R2, R1), 8), ((R1, R2), 9)][n as usize % 3];
            let number = match noise.below(50) {
                0 => n / 3,
                1 => n / 3 + 5,
                _ => n / 3 + 2,
            };
            let length = 64 + noise.below(400) as usize;
            let octets = noise.bytes(length);
            Out::whole(START + u64::from(n) * 500_000, esp(ends.0, ends.1, spi, number, &octets))
        })
        .collect();
    let file = support::write_file(&dir, "long.pcap", &plain_pcap(&frames));
    let index = dir.join("long.idx");
    spiglass(&["index", path(&file), "-o", path(&index)]).expect(0);
    let states: Vec<PathBuf> = (1..=64u32)
        // In an order of their own: 27 and 64 have no common divisor.
        .map(|at| {
            let part = at * 27 % 64 + 1;
            let state = dir.join(format!("{part}.state"));
            let part = format!("{part}/64");
            let index = ["--index", path(&index), "--part", &part, "--digest", "none"];
            spiglass(&[&["partial", path(&file), "-o", path(&state)], &index[..]].concat()).expect(0);
            state
        })
        .collect();
    let whole = spiglass(&["report", "--format", "json", "--digest", "none", path(&file)]).expect(0);
    assert_eq!(support::number(&whole.json(), "totals.frames"), 40_000);
    assert!(run(&["merge", "--format", "json"], &states).expect(0).text() == whole.text());
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

fn run_of(words: &[&str], files: &[PathBuf]) -> Run {
    run(words, files)
}
