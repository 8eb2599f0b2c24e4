//! What the world does to a run: files that cannot be read, change while they are read or are none, pipes that close, disks that
//! are full, an interrupt, names that are no text. What was read is reported, and nothing half-written has its final name.
#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::build::{R1, R2, START, esp};
use crate::support::threads::all_at_once;
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, spiglass, write_file};

const LOSS: &str = "fixtures/lab/loss-before-tap-tunnel.pcap";

/// A capture of so many ESP frames, one every 10 microseconds.
fn capture(frames: u32) -> Vec<u8> {
    let out: Vec<Out> =
        (1..=frames).map(|n| Out::whole(START + u64::from(n) * 10_000, esp(R1, R2, 1001, n, &[0xa5; 76]))).collect();
    plain_pcap(&out)
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_spiglass"))
}

/// Runs a line of shell with `$0` the program.
fn shell(line: &str, args: &[&OsStr]) -> (i32, Vec<u8>, String) {
    let output = Command::new("sh")
        .args(["-c", line])
        .arg(env!("CARGO_BIN_EXE_spiglass"))
        .args(args)
        .output()
        .expect("there is a shell");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), output.stdout, stderr)
}

fn fifo(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(&path).status().expect("there is mkfifo").success());
    path
}

/// Waits for the end of a child, and fails if it does not come.
fn ended(child: &mut Child) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code().unwrap_or(-1);
        }
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().expect("it can be killed");
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A run over a pipe.
fn begin(words: &[&str], pipe: &Path) -> Child {
    program().args(words).arg(pipe).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// The exit status of a run, its report, and what it said.
fn reported(child: &mut Child) -> (i32, serde_json::Value, String) {
    let status = ended(child);
    let (mut json, mut stderr) = (Vec::new(), String::new());
    child.stdout.take().expect("its output").read_to_end(&mut json).expect("it can be read");
    child.stderr.take().expect("its errors").read_to_string(&mut stderr).expect("it is text");
    (status, serde_json::from_slice(&json).expect("a whole report"), stderr)
}

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().expect("there is kill").success());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_reported() {
    let dir = scratch("faults-unreadable");
    let missing = dir.join("missing.pcap");
    let run =
        spiglass(&["report", "--format", "json", dir.to_str().unwrap(), missing.to_str().unwrap(), LOSS]).expect(2);
    assert!(run.stderr.contains("directory"), "{run}");
    assert!(run.stderr.contains("missing.pcap"), "{run}");
    let json = run.json();
    let errors: Vec<bool> = json["captures"].as_array().unwrap().iter().map(|c| c["error"].is_string()).collect();
    assert_eq!(errors, [false, true, true], "what could not be read is listed behind the others: {}", json["captures"]);
    // Whoever keeps the report alone must know what it lacks.
    let why = json["degraded_why"].to_string();
    assert!(json["exactness"] == "degraded" && why.contains("missing.pcap: No such file"), "{why}");
    let run = spiglass(&["check", missing.to_str().unwrap()]).expect(2);
    assert!(String::from_utf8_lossy(&run.stdout).contains("No capture could be read."), "{run}");
    // Who is root may read everything.
    let locked = write_file(&dir, "locked.pcap", &capture(3));
    let mut rights = fs::metadata(&locked).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0);
    fs::set_permissions(&locked, rights.clone()).unwrap();
    if fs::File::open(&locked).is_err() {
        let run = spiglass(&["report", locked.to_str().unwrap()]).expect(2);
        assert!(run.stderr.contains("locked.pcap"), "{run}");
    }
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o600);
    fs::set_permissions(&locked, rights).unwrap();
    // A file that opens and cannot be read.
    if Path::new("/proc/self/mem").exists() {
        let run = spiglass(&["report", "--format", "json", "/proc/self/mem", LOSS]).expect(2);
        assert!(run.stderr.contains("/proc/self/mem"), "{run}");
        let json = run.json();
        let captures = json["captures"].as_array().unwrap();
        assert!(captures[0]["error"].is_null() && captures[1]["error"].is_string(), "{captures:?}");
    }
}

#[test]
fn a_fifo_reads_like_a_file() {
    let dir = scratch("faults-fifo");
    let bytes = capture(5_000);
    let pipe = fifo(&dir, "pipe");
    let to = pipe.clone();
    let feed = bytes.clone();
    let writer = std::thread::spawn(move || {
        let mut file = fs::File::options().write(true).open(to).expect("the reader opens it");
        // In pieces that end inside records.
        for piece in feed.chunks(7_919) {
            file.write_all(piece).expect("it is read");
        }
    });
    let run = spiglass(&["report", "--format", "json", pipe.to_str().unwrap()]).expect(0);
    writer.join().unwrap();
    assert_eq!(run.json()["totals"]["frames"], 5_000);
}

/// A file that another process cuts, or goes on writing, while it is read.
#[test]
fn a_file_that_shrinks_or_grows_while_it_is_read_is_reported_as_far_as_it_was_there() {
    let dir = scratch("faults-changing");
    let bytes = capture(400_000);
    for (jobs, name) in [("1", "one"), ("2", "two")] {
        let shrinking = write_file(&dir, &format!("shrinking-{name}.pcap"), &bytes);
        let mut child = program()
            .args(["report", "--format", "json", "--jobs", jobs])
            .arg(&shrinking)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        fs::File::options().write(true).open(&shrinking).unwrap().set_len(bytes.len() as u64 / 3 + 5).unwrap();
        let mut json = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut json).unwrap();
        let status = ended(&mut child);
        let report: serde_json::Value = serde_json::from_slice(&json).expect("a whole report");
        assert!(status == 0 || status == 2, "{status}");
        if status == 2 {
            assert_eq!(report["captures"][0]["damage"]["kind"], "cut");
        }
        let growing = write_file(&dir, &format!("growing-{name}.pcap"), &bytes);
        let mut child = program()
            .args(["report", "--format", "json", "--jobs", jobs])
            .arg(&growing)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        fs::File::options().append(true).open(&growing).unwrap().write_all(&bytes[24..100_024]).unwrap();
        json.clear();
        child.stdout.take().unwrap().read_to_end(&mut json).unwrap();
        let status = ended(&mut child);
        let report: serde_json::Value = serde_json::from_slice(&json).expect("a whole report");
        assert!(status == 0 || status == 2, "{status}");
        assert!(report["totals"]["frames"].as_u64().unwrap() >= 400_000);
    }
}

#[test]
fn an_interrupt_reports_what_was_read_and_ends_with_130() {
    let dir = scratch("faults-interrupt");
    all_at_once(&[("1", "report"), ("2", "report"), ("1", "check")], |(jobs, command)| {
        let pipe = fifo(&dir, &format!("pipe-{command}-{jobs}"));
        let mut child = begin(&[command, "--format", "json", "--jobs", jobs], &pipe);
        // The writer stays: nothing but the interrupt ends the run.
        let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
        writer.write_all(&capture(1_000)).unwrap();
        std::thread::sleep(Duration::from_millis(400));
        interrupt(&child);
        let (status, report, stderr) = reported(&mut child);
        drop(writer);
        assert_eq!(status, 130, "{command} --jobs {jobs}: {stderr}");
        assert!(stderr.lines().last().is_some_and(|line| line.contains("130")), "{stderr}");
        assert_eq!((&report["totals"]["frames"], &report["exit_status"]), (&1_000.into(), &130.into()));
        assert_eq!(report["captures"][0]["complete"], false);
    });
}

/// The key reaches what writes to the pipe as well, and that writes what it still holds: all of it is read.
#[test]
fn an_interrupt_reads_the_pipe_to_its_end() {
    let dir = scratch("faults-drain");
    let bytes = capture(20_000);
    let (early, late) = bytes.split_at(1_000 * 60);
    all_at_once(&[("report", "1"), ("report", "2"), ("check", "1")], |(command, jobs)| {
        let pipe = fifo(&dir, &format!("pipe-{command}-{jobs}"));
        let mut child = begin(&[command, "--format", "json", "--jobs", jobs], &pipe);
        let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
        writer.write_all(early).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        interrupt(&child);
        // It takes its time, less than after which a pipe counts as ended.
        std::thread::sleep(Duration::from_millis(700));
        writer.write_all(late).unwrap();
        drop(writer);
        let (status, report, stderr) = reported(&mut child);
        assert_eq!(status, 130, "{stderr}");
        assert!(stderr.contains("reading the pipe to its end"), "{stderr}");
        assert_eq!(report["totals"]["frames"], 20_000, "{command} --jobs {jobs}");
        assert_eq!(report["captures"][0]["complete"], true);
    });
}

/// Whoever presses the key twice wants no report.
#[test]
fn a_second_interrupt_ends_at_once() {
    let dir = scratch("faults-twice");
    let pipe = fifo(&dir, "pipe");
    let mut child = begin(&["report"], &pipe);
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(&capture(1_000)).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(200));
    interrupt(&child);
    assert_eq!(ended(&mut child), 130);
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    assert!(out.is_empty(), "{}", String::from_utf8_lossy(&out));
    drop(writer);
}

/// A writer that was not interrupted goes on: the report does not wait for it for ever.
#[test]
fn a_pipe_that_goes_on_is_left() {
    let dir = scratch("faults-goes-on");
    let pipe = fifo(&dir, "pipe");
    let mut child = begin(&["report", "--format", "json"], &pipe);
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    let bytes = capture(20_000);
    let feeder = std::thread::spawn(move || {
        for piece in bytes.chunks(600) {
            if writer.write_all(piece).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    let (status, report, stderr) = reported(&mut child);
    assert_eq!(status, 130, "{stderr}");
    assert!(report["totals"]["frames"].as_u64().is_some_and(|frames| frames > 50), "{}", report["totals"]);
    assert_eq!(report["captures"][0]["complete"], false);
    feeder.join().expect("the feeder ends");
}

#[test]
fn an_interrupt_ends_rows_of_frames() {
    let dir = scratch("faults-interrupt-frames");
    let pipe = fifo(&dir, "pipe");
    let mut child = begin(&["frames"], &pipe);
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(&capture(10)).unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..11 {
        line.clear();
        out.read_line(&mut line).unwrap();
    }
    assert!(line.contains(",10,"), "the last frame is shown while the pipe is open: {line}");
    interrupt(&child);
    assert_eq!(ended(&mut child), 130);
    drop(writer);
}

#[test]
fn a_disk_that_is_full_leaves_no_half_report() {
    let dir = scratch("faults-full");
    let target = dir.join("report.json");
    // No file may be longer than a block or two: what exceeds it fails as a full disk does.
    for old in [None, Some("the report of yesterday")] {
        let _ = fs::remove_file(&target);
        if let Some(old) = old {
            fs::write(&target, old).unwrap();
        }
        let line = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
        let args = ["frames", LOSS, "-o"].map(OsStr::new);
        let (status, stdout, stderr) = shell(line, &[args[0], args[1], args[2], target.as_os_str()]);
        assert_eq!((status, stdout.len()), (2, 0), "{stderr}");
        assert!(stderr.contains("report.json"), "{stderr}");
        assert_eq!(fs::read_to_string(&target).ok().as_deref(), old, "the old report is whole, or there is none");
        let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), usize::from(old.is_some()), "{left:?}");
    }
    if Path::new("/dev/full").exists() {
        for command in ["report", "frames", "partial"] {
            let (status, _, stderr) = shell("exec \"$0\" \"$@\" > /dev/full", &[command, LOSS].map(OsStr::new));
            assert_eq!(status, 2, "{command}: {stderr}");
            assert!(stderr.contains("standard output"), "{command}: {stderr}");
        }
        for args in
            [&["--help"][..], &["--version"], &["match", "--help"], &["explain"], &["man"], &["completions", "bash"]]
        {
            let args: Vec<_> = args.iter().map(OsStr::new).collect();
            let (status, _, stderr) = shell("exec \"$0\" \"$@\" > /dev/full", &args);
            assert_eq!(status, 2, "{args:?}: {stderr}");
            assert!(stderr.contains("standard output: "), "{args:?}: {stderr}");
        }
    }
}

/// A reader that has enough, `head`, is no failure, however much there would be.
#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let dir = scratch("faults-head");
    let tunnel = write_file(&dir, "tunnel.pcap", &capture(30_000));
    let tunnel = tunnel.as_os_str();
    let plain = OsStr::new("fixtures/lab/loss-before-tap-plain-a.pcap");
    let esp = OsStr::new("fixtures/lab/loss-before-tap-tunnel.pcap");
    let args = |words: &[&'static str]| -> Vec<&'static OsStr> { words.iter().map(|word| OsStr::new(*word)).collect() };
    for args in [
        [args(&["frames"]), vec![tunnel]].concat(),
        [args(&["match", "--format", "csv", "--plain"]), vec![plain], args(&["--tunnel"]), vec![esp]].concat(),
        [args(&["report", "--format", "csv", "--table", "sas"]), vec![esp]].concat(),
    ] {
        // The status of the program is told beside it: that of a pipeline is the reader's.
        let line = "{ \"$0\" \"$@\"; echo \"status $?\" >&2; } | head -n 1";
        let (_, stdout, stderr) = shell(line, &args);
        assert_eq!(String::from_utf8_lossy(&stdout).lines().count(), 1, "{args:?}");
        assert_eq!(stderr.trim(), "status 0", "{args:?}");
    }
}

#[test]
fn a_standard_error_that_is_closed_changes_nothing() {
    let (status, stdout, _) =
        shell("exec \"$0\" \"$@\" 2>&-", &["report", "--format", "json", "missing", LOSS].map(OsStr::new));
    assert_eq!(status, 2);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&stdout).unwrap()["exit_status"], 2);
    // Standard error on a pipe that nobody reads.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = program().args(["report", "missing", LOSS]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!output.stdout.is_empty());
    let (status, stdout, stderr) = shell("exec \"$0\" \"$@\" <&-", &["report", "-"].map(OsStr::new));
    assert_eq!(status, 2, "{stderr}");
    assert!(!stdout.is_empty() || !stderr.is_empty());
    let (status, _, stderr) = shell("exec \"$0\" \"$@\" >&-", &["report", LOSS].map(OsStr::new));
    assert!(status == 0 || status == 2, "{status} {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn names_that_are_no_utf8_are_read_and_shown_harmlessly() {
    let dir = scratch("faults-names");
    let name = OsString::from_vec(b"caf\xe9-\x1b[31m\n=1.pcap".to_vec());
    let path = dir.join(&name);
    fs::write(&path, capture(3)).expect("a name of any bytes");
    for format in ["text", "json", "csv", "ndjson", "markdown"] {
        for command in ["report", "frames", "check"] {
            if command == "frames" && !matches!(format, "csv" | "ndjson") {
                continue;
            }
            let table = if format == "csv" && command != "frames" { &["--table", "captures"][..] } else { &[] };
            let output =
                program().args([command, "-v", "--format", format]).args(table).arg(&path).output().expect("it runs");
            assert_eq!(output.status.code(), Some(0), "{command} {format}: {output:?}");
            for stream in [&output.stdout, &output.stderr] {
                let text = std::str::from_utf8(stream).expect("all output is UTF-8");
                assert!(!text.contains('\u{1b}') && !text.contains("\n=1"), "{command} {format}: {text:?}");
            }
        }
    }
    let missing = dir.join(OsString::from_vec(b"\xff\x1b]0;x\x07".to_vec()));
    let output = program().arg("report").arg(&missing).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(!stderr.contains('\u{1b}') && !stderr.contains('\u{7}'), "{stderr:?}");
    let output = program().arg("partial").arg(&path).arg("-o").arg(dir.join("a.state")).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let run = spiglass(&["merge", "--format", "json", dir.join("a.state").to_str().unwrap()]).expect(0);
    assert_eq!(run.json()["totals"]["frames"], 3);
}

#[test]
fn without_a_terminal_and_without_a_home_it_works() {
    let output = program()
        .env_clear()
        .args(["report", "--color", "auto", "--progress", "auto", LOSS])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}'));
    for width in ["0", "1", "99999999999999999999", "nonsense"] {
        let output =
            program().env("COLUMNS", width).env("TZ", "No/Where").args(["report", LOSS]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "COLUMNS={width}: {output:?}");
    }
}

#[test]
fn what_is_read_is_never_written_over() {
    let dir = scratch("faults-same");
    let bytes = capture(10);
    let path = write_file(&dir, "only.pcap", &bytes);
    let linked = dir.join("link.pcap");
    let _ = fs::remove_file(&linked);
    std::os::unix::fs::symlink(&path, &linked).unwrap();
    let (path, linked) = (path.to_str().unwrap(), linked.to_str().unwrap());
    for args in [
        vec!["report", path, "-o", path],
        vec!["partial", path, "-o", linked],
        vec!["frames", linked, "-o", path],
        vec!["check", "--config", path, LOSS, "-o", path],
        vec!["match", "--plain", LOSS, "--tunnel", path, "-o", path],
    ] {
        let run = spiglass(&args).expect(2);
        assert!(run.stderr.contains("would be written over"), "{args:?}: {run}");
        assert_eq!(fs::read(path).unwrap(), bytes, "{args:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_not_called_an_input() {
    let dir = scratch("faults-output");
    let missing = dir.join("no/such/place.json");
    let run = spiglass(&["report", LOSS, "-o", missing.to_str().unwrap()]).expect(2);
    assert!(run.stderr.contains("the output could not be written") && !run.stderr.contains("input"), "{run}");
    // As long as names may be: the unfinished file has a short one.
    let long = dir.join("x".repeat(250));
    spiglass(&["report", LOSS, "-o", long.to_str().unwrap()]).expect(0);
    assert!(fs::read_to_string(&long).unwrap().contains("loss-before-tap"));
}

#[test]
fn whatever_ends_a_run_leaves_no_unfinished_file() {
    let dir = scratch("faults-ended");
    let runs = [
        ("-TERM", "report", &["report"][..]),
        ("-HUP", "partial", &["partial"]),
        ("-INT", "merge", &["merge"]),
        ("-TERM", "check", &["check", LOSS, "--config"]),
        ("-INT", "list", &["report", "--files-from"]),
    ];
    all_at_once(&runs, |(name, kind, args)| {
        let out = dir.join(format!("out-{kind}"));
        fs::create_dir_all(&out).unwrap();
        let pipe = fifo(&dir, &format!("pipe-{kind}"));
        let mut child = program()
            .args(*args)
            .arg(&pipe)
            .arg("-o")
            .arg(out.join("report"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let writer = fs::File::options().write(true).open(&pipe).unwrap();
        std::thread::sleep(Duration::from_millis(400));
        signal(&child, name);
        // 128 and the number of the signal, where that is the user's or the system's wish to end.
        assert_eq!(ended(&mut child), if *name == "-TERM" { 143 } else { 130 }, "{name} {args:?}");
        drop(writer);
        let left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let whole = if *args == ["partial"] { "report.partial" } else { "report" };
        assert!(left.iter().all(|name| name == whole), "{name} {args:?}: {left:?}");
    });
}

/// Of a capture that could not be read nothing is known: neither that it has no findings nor that there is no IPsec in it.
#[test]
fn nothing_is_said_of_a_capture_that_could_not_be_read() {
    let dir = scratch("faults-nothing-read");
    let empty = write_file(&dir, "empty.pcap", &[]);
    let empty = empty.to_str().expect("a path of text");
    let run = spiglass(&["report", empty]).expect(2);
    assert!(
        run.text().contains("Not determined: what would show them could not be read.") && !run.text().contains("None.")
    );
    let words = ["match", "--plain", empty, "--tunnel", LOSS];
    assert!(!spiglass(&words).expect(2).text().contains("None."));
    for words in [&["check", empty][..], &["check", "--expect-ipsec", empty]] {
        let json = spiglass(&[words, &["--format", "json"]].concat()).expect(2).json();
        assert_eq!(json["findings"], serde_json::json!([]), "{words:?}");
    }
}
