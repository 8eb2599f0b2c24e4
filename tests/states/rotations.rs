//! Files of a rotation, their copies and their states: folded as soon as their neighbours are known, counted once, within a limit.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{items, number, scratch, spiglass, text, write_file};

const MS: u64 = 1_000_000;

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn run(command: &str, options: &[&str], files: &[PathBuf]) -> crate::support::Run {
    let mut args = vec![command];
    args.extend(options);
    args.extend(files.iter().map(|file| path(file)));
    spiglass(&args)
}

fn report(files: &[PathBuf]) -> crate::support::Run {
    run("report", &["--format", "json"], files)
}

fn state(to: PathBuf, files: &[PathBuf]) -> PathBuf {
    run("partial", &["-o", path(&to)], files).expect(0);
    to
}

/// Frames of `sas` SAs in random order, one a millisecond; `lossy`: one number in fifty is missing.
fn frames(sas: u32, count: u32, lossy: bool) -> Vec<Out> {
    let mut random = Noise(u64::from(sas) << 20 | u64::from(count));
    let mut numbers = vec![0u32; sas as usize];
    (0..count)
        .map(|n| {
            let sa = random.below(u64::from(sas)) as u32;
            let size = 40 + 16 * random.below(4) as usize;
            let data = if n % 40 == 7 {
                udp(R1, R2, (1, 2), n as u16, &random.bytes(size))
            } else {
                let number = &mut numbers[sa as usize];
                *number += if lossy && random.below(50) == 0 { 2 } else { 1 };
                esp(R1, R2, 0x1000 + sa, *number, &random.bytes(size))
            };
            Out::whole(START + u64::from(n) * MS, data)
        })
        .collect()
}

/// Writes frames as `count` files; `name` is told the number of each.
fn rotated(dir: &Path, frames: &[Out], count: usize, name: impl Fn(usize) -> String) -> Vec<PathBuf> {
    let size = frames.len().div_ceil(count);
    frames.chunks(size).enumerate().map(|(at, part)| write_file(dir, &name(at), &plain_pcap(part))).collect()
}

fn shuffled(mut files: Vec<PathBuf>, random: &mut Noise) -> Vec<PathBuf> {
    for at in (1..files.len()).rev() {
        files.swap(at, random.below(at as u64 + 1) as usize);
    }
    files
}

/// Names of tcpdump -C, tcpdump -G, dumpcap, and names that say nothing.
fn names(kind: usize, at: usize) -> String {
    match kind {
        0 if at == 0 => "c.pcap".into(),
        0 => format!("c.pcap{at}"),
        1 => format!("g-2026010100{:02}{:02}.pcap", at / 60, at % 60),
        2 => format!("d_{:05}_202601010000{:02}.pcap", at + 1, at % 60),
        _ => format!("{}.pcap", ["zeta", "alpha", "mu", "beta", "pi", "eta", "chi", "tau"][at % 8].repeat(1 + at / 8)),
    }
}

#[test]
fn a_rotation_is_reported_alike_whatever_the_names_the_order_the_groups_and_the_threads() {
    for (kind, lossy) in [(0, false), (1, false), (2, true), (3, false)] {
        let dir = scratch(&format!("rotations-{kind}"));
        let files = rotated(&dir, &frames(30, 3_000, lossy), 24, |at| names(kind, at));
        let mut random = Noise(kind as u64 + 5);
        let whole = report(&files).expect(0);
        assert_eq!(items(&whole.json(), "taps").len(), 1, "names of kind {kind}");
        assert_eq!(items(&whole.json(), "captures").len(), 24);
        for round in 0..3 {
            let mixed = shuffled(files.clone(), &mut random);
            for jobs in ["1", "3"] {
                let again = run("report", &["--format", "json", "--jobs", jobs], &mixed);
                assert!(again.stdout == whole.stdout, "kind {kind}, --jobs {jobs}");
            }
            // Groups, some of neighbours and some not, each a state; some of these merged before.
            let groups = if round == 0 { files.chunks(7) } else { mixed.chunks(5) };
            let states: Vec<PathBuf> =
                groups.enumerate().map(|(at, group)| state(dir.join(format!("{round}-{at}.state")), group)).collect();
            let states = shuffled(states, &mut random);
            let merged = run("merge", &["--format", "json"], &states);
            assert!(merged.stdout == whole.stdout, "kind {kind}, round {round}: {merged}");
            let (some, rest) = states.split_at(2);
            let folded = dir.join(format!("{round}-folded.state"));
            run("merge", &["--state-out", path(&folded)], some).expect(0);
            // The states that went into it are harmless beside it.
            for more in [rest.to_vec(), states.clone()] {
                let mut all = more;
                all.push(folded.clone());
                let words = ["--allow-duplicate", "--format", "json"];
                let merged = run("merge", &words, &shuffled(all, &mut random));
                assert!(merged.stdout == whole.stdout, "kind {kind}, round {round}, folded: {merged}");
            }
        }
    }
}

/// The state of a rotation grows with the SAs and, a little, with the files, not with their product.
#[test]
fn the_state_of_a_rotation_is_hardly_larger_than_that_of_one_file() {
    let dir = scratch("rotations-compact");
    let frames = frames(400, 12_000, true);
    let size = |file: &Path| std::fs::metadata(file).expect("it was written").len();
    let one = size(&state(dir.join("one.state"), &rotated(&dir, &frames, 1, |_| "one.pcap".into())));
    let files = rotated(&dir, &frames, 60, |at| format!("r{at:03}.pcap"));
    let many = size(&state(dir.join("many.state"), &files));
    assert!(many < 2 * one, "{many} bytes of 60 files, {one} of one");
    // Alone, they would be many times as large.
    let alone: u64 = files.iter().map(|file| size(&state(dir.join("alone.state"), std::slice::from_ref(file)))).sum();
    assert!(alone > 4 * one, "{alone} {one}");
    let states: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(at, f)| state(dir.join(format!("{at}.state")), std::slice::from_ref(f)))
        .collect();
    let merged = dir.join("merged.state");
    run("merge", &["--state-out", path(&merged)], &states).expect(0);
    assert_eq!(size(&merged), many);
}

/// Another tap's file between two files of a rotation, and one that is parallel to it.
#[test]
fn what_lies_between_two_files_of_a_rotation_is_placed_alike_in_every_order() {
    let dir = scratch("rotations-between");
    let frames = frames(5, 1_200, false);
    let mut files = rotated(&dir, &frames, 4, |at| format!("tap-{at}.pcap"));
    let other: Vec<Out> = (0..100u32)
        .map(|n| Out::whole(START + 250 * MS + u64::from(n) * MS + 500, esp(R2, R1, 9, n + 1, &[n as u8; 40])))
        .collect();
    files.push(write_file(&dir, "other.pcap", &plain_pcap(&other)));
    // What one file left out: it begins and ends between two others.
    let part = files.remove(2);
    let mut random = Noise(3);
    for more in [vec![], vec![part]] {
        let all: Vec<PathBuf> = files.iter().cloned().chain(more).collect();
        let whole = report(&all).expect(0);
        assert_eq!(items(&whole.json(), "taps").len(), 2);
        for _ in 0..4 {
            let mixed = shuffled(all.clone(), &mut random);
            assert!(report(&mixed).stdout == whole.stdout);
            let states: Vec<PathBuf> =
                mixed.chunks(2).enumerate().map(|(at, group)| state(dir.join(format!("{at}.state")), group)).collect();
            let merged = run("merge", &["--format", "json"], &states);
            assert!(merged.stdout == whole.stdout, "{mixed:?}");
        }
    }
}

fn gzip(dir: &Path, name: &str, file: &Path) -> PathBuf {
    use std::io::Write;
    let bytes = std::fs::read(file).expect("a capture");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).expect("memory takes everything");
    write_file(dir, name, &packed.finish().expect("memory takes everything"))
}

fn layout(report: &Value) -> Vec<String> {
    let found = items(report, "findings").iter().filter(|finding| text(finding, "code") == "tap-layout");
    found.map(|finding| text(finding, "evidence").to_owned()).collect()
}

/// Plain beside compressed, under another name, in one run and in several, alone and among the files of a rotation.
#[test]
fn the_same_capture_twice_counts_once_in_every_order_and_grouping() {
    let dir = scratch("rotations-twice");
    let frames = frames(6, 900, false);
    let files = rotated(&dir, &frames, 3, |at| format!("t{at}.pcap"));
    let packed = gzip(&dir, "t1.pcap.gz", &files[1]);
    let renamed = write_file(&dir, "a copy of t2.pcap", &std::fs::read(&files[2]).expect("a capture"));
    let all: Vec<PathBuf> = files.iter().cloned().chain([packed, renamed]).collect();
    let whole = report(&all).expect(0);
    let json = whole.json();
    assert_eq!((number(&json, "totals.frames"), items(&json, "captures").len()), (900, 3));
    let [evidence] = layout(&json).try_into().expect("one finding");
    assert!(
        evidence.contains("t1.pcap.gz holds the same frames as") && evidence.contains("a copy of t2.pcap"),
        "{evidence}"
    );
    let mut random = Noise(8);
    for round in 0..4 {
        let mixed = shuffled(all.clone(), &mut random);
        assert!(report(&mixed).stdout == whole.stdout, "{mixed:?}");
        let states: Vec<PathBuf> = mixed
            .chunks(1 + round)
            .enumerate()
            .map(|(at, group)| state(dir.join(format!("{round}-{at}.state")), group))
            .collect();
        let merged = run("merge", &["--allow-duplicate", "--format", "json"], &states);
        assert!(merged.stdout == whole.stdout, "{mixed:?}: {merged}");
    }
    // Read as one stream, frame by frame, they cannot be told apart any more: it is said.
    let joined = format!("west={},{}", path(&files[0]), path(&gzip(&dir, "t0.pcap.gz", &files[0])));
    let west = spiglass(&["report", "--format", "json", "--tap", &joined]).expect(0).json();
    assert!(layout(&west)[0].contains("if it is the same capture, leave it out"), "{:?}", layout(&west));
    // Given twice by one name.
    let twice = report(&[files[0].clone(), files[0].clone()]).expect(0).json();
    assert_eq!((number(&twice, "totals.frames"), layout(&twice).len()), (300, 1));
}

/// The same lengths and times, other octets: not the same capture.
#[test]
fn captures_that_differ_in_what_they_carry_are_not_the_same() {
    let dir = scratch("rotations-alike");
    let clear = |octet: u8| -> Vec<Out> {
        (0..50u64).map(|n| Out::whole(START + n * 100 * MS, udp(R1, R2, (1, 2), 0, &[octet; 60]))).collect()
    };
    let files: Vec<PathBuf> =
        [1, 2].iter().map(|&n| write_file(&dir, &format!("clear-{n}.pcap"), &plain_pcap(&clear(n)))).collect();
    let report = report(&files).expect(0).json();
    assert_eq!((number(&report, "totals.frames"), items(&report, "taps").len()), (100, 2));
}

#[test]
fn states_that_share_a_part_of_what_was_folded_are_left_out() {
    let dir = scratch("rotations-shared");
    let files = rotated(&dir, &frames(4, 600, false), 3, |at| format!("s{at}.pcap"));
    let (first, second) = (state(dir.join("a.state"), &files[..2]), state(dir.join("b.state"), &files[1..]));
    // Whatever the order of arguments it is the same one, and the rest is reported.
    let other = state(dir.join("c.state"), &[write_file(&dir, "z.pcap", &plain_pcap(&frames(2, 50, false)))]);
    let (there, back) = ([first.clone(), second.clone(), other.clone()], [other, second, first]);
    for options in [&["--format", "json"][..], &["--allow-duplicate", "--format", "json"]] {
        let merged = run("merge", options, &there).expect(2);
        assert!(
            merged.stderr.contains("b.state: ") && merged.stderr.contains("s1.pcap is in a state before it, too"),
            "{merged}"
        );
        let report = merged.json();
        assert_eq!((number(&report, "totals.frames"), text(&report, "exactness")), (450, "degraded"));
        assert!(report["degraded_why"].to_string().contains("b.state"), "{}", report["degraded_why"]);
        assert!(run("merge", options, &back).expect(2).stdout == merged.stdout);
    }
}

#[test]
fn names_in_a_list_belong_to_the_tap_that_is_named() {
    let dir = scratch("rotations-listed");
    let files = rotated(&dir, &frames(4, 600, false), 4, |at| format!("l{at}.pcap"));
    let list = files.iter().map(|file| format!("{}\n", path(file))).collect::<String>();
    let list = write_file(&dir, "list", list.as_bytes());
    let report =
        spiglass(&["report", "--format", "json", "--tap-name", "west", "--files-from", path(&list)]).expect(0).json();
    assert_eq!(text(&report, "taps.0.name"), "west");
    assert_eq!((items(&report, "taps").len(), items(&report, "captures").len()), (1, 4));
    assert_eq!((number(&report, "totals.frames"), number(&report, "sas.0.sequence.lost")), (600, 0));
}

/// More SAs than the memory is allowed to hold: counted, said, and the others are right.
#[test]
fn a_limit_on_memory_is_kept_and_said() {
    let dir = scratch("rotations-memory");
    let capture = |from: u32| -> Vec<Out> {
        (from..from + 40_000)
            .map(|n| Out::whole(START + u64::from(n) * 1_000, esp(R1, R2, 0x1000 + n, 1, &[n as u8; 40])))
            .collect()
    };
    let one = write_file(&dir, "one.pcap", &plain_pcap(&capture(0)));
    let limited = ["--format", "json", "--memory-limit", "8M"];
    let run_limited = |files: &[PathBuf]| run("report", &limited, files).expect(0).json();
    let report = run_limited(std::slice::from_ref(&one));
    assert_eq!((text(&report, "exactness"), number(&report, "totals.frames")), ("degraded", 40_000));
    assert!(text(&report, "degraded_why.0").contains("memory limit of 8 MiB"), "{}", report["degraded_why"]);
    let held = items(&report, "sas").len();
    assert!((1_000..35_000).contains(&held), "{held}");
    // In several files no more is held.
    let files = rotated(&dir, &capture(0), 10, |at| format!("m{at}.pcap"));
    let report = run_limited(&files);
    assert_eq!((text(&report, "exactness"), number(&report, "totals.frames")), ("degraded", 40_000));
    assert!(items(&report, "sas").len() < 35_000);
    // Nor in parallel taps.
    let taps: Vec<PathBuf> = (0..6u32)
        .map(|n| {
            write_file(
                &dir,
                &format!("tap-{}.pcap", ["a", "b", "c", "d", "e", "f"][n as usize]),
                &plain_pcap(&capture(n)[..10_000]),
            )
        })
        .collect();
    let report = run_limited(&taps);
    assert_eq!((text(&report, "exactness"), number(&report, "totals.frames")), ("degraded", 60_000));
    assert!(items(&report, "sas").len() < 35_000, "{}", items(&report, "sas").len());
    // A check does not pass in silence.
    let checked = run("check", &["--memory-limit", "8M"], std::slice::from_ref(&one)).expect(1);
    assert!(checked.stderr.contains("not exact") && checked.stderr.contains("memory limit of 8 MiB"), "{checked}");
    run("check", &["--memory-limit", "8M", "--fail-on", "never"], std::slice::from_ref(&one)).expect(0);
    // Without the limit all are held; states merge up to it.
    let states: Vec<PathBuf> = taps
        .iter()
        .enumerate()
        .map(|(at, tap)| state(dir.join(format!("{at}.state")), std::slice::from_ref(tap)))
        .collect();
    let whole = run("merge", &["--format", "json"], &states).expect(0).json();
    assert_eq!((text(&whole, "exactness"), items(&whole, "sas").len()), ("exact", 60_000));
    let merged = run("merge", &limited, &states).expect(2);
    assert!(merged.stderr.contains("--memory-limit allows"), "{merged}");
    assert_eq!(text(&merged.json(), "exactness"), "degraded");
    // Files of one rotation, folded into one state: the limit that is said is that of the merge.
    let states: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(at, file)| state(dir.join(format!("folded-{at}.state")), std::slice::from_ref(file)))
        .collect();
    let merged = run("merge", &limited, &states).json();
    let why = items(&merged, "degraded_why")
        .iter()
        .find_map(|why| why.as_str().filter(|why| why.contains("memory limit of")));
    assert!(why.is_some_and(|why| why.contains("memory limit of 8 MiB")), "{}", merged["degraded_why"]);
}

/// What an interrupted run had not read is missing from what its state goes into.
#[test]
#[cfg(unix)]
fn the_state_of_an_interrupted_run_says_so_in_the_merged_report() {
    use std::process::{Command, Stdio};
    let dir = scratch("rotations-interrupted");
    let pipe = dir.join("pipe");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let to = dir.join("interrupted.state");
    let mut child = Command::new(env!("CARGO_BIN_EXE_spiglass"))
        .args(["partial", "-o", path(&to), path(&pipe)])
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut writer = std::fs::File::options().write(true).open(&pipe).expect("the pipe is read");
    std::io::Write::write_all(&mut writer, &plain_pcap(&frames(2, 500, false))).expect("the pipe takes it");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(signalled.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    drop(writer);
    // Whoever looks for the state does not take what was read by then for it.
    assert!(!to.exists());
    let report = run("merge", &["--format", "json"], &[dir.join("interrupted.state.partial")]).json();
    assert_eq!((text(&report, "exactness"), number(&report, "totals.frames")), ("degraded", 500));
    assert!(text(&report, "degraded_why.0").contains("interrupted"), "{}", report["degraded_why"]);
}

/// Unfinished files of runs that were killed long ago are removed, those that may still be written are not.
#[test]
fn orphans_are_removed_and_others_are_kept() {
    let dir = scratch("rotations-orphans");
    let (old, new) = (dir.join(".spiglass-1-0123456789abcdef-0.part"), dir.join(".spiglass-1-fedcba9876543210-0.part"));
    let foreign = dir.join("notes.part");
    for file in [&old, &new, &foreign] {
        std::fs::write(file, "half").expect("it can be written");
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(8 * 86_400);
    for file in [&old, &foreign] {
        std::fs::File::options().write(true).open(file).expect("it is there").set_modified(long_ago).expect("a time");
    }
    let capture = write_file(&dir, "o.pcap", &plain_pcap(&frames(1, 10, false)));
    run("report", &["-o", path(&dir.join("report"))], &[capture]).expect(0);
    assert!(!old.exists() && new.exists() && foreign.exists());
}
