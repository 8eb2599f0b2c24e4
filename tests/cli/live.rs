//! Captures that come while they are read: `watch`, and reports asked for in between.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::build::{START, esp};
use crate::support::scratch;
use crate::support::threads::all_at_once;
use crate::support::writer::{Out, plain_pcap};

/// Octets of a pcap's header.
const HEADER: usize = 24;

fn packet(spi: u32, sequence: u32) -> Out {
    packet_at(u64::from(sequence), spi, sequence)
}

/// A packet so many milliseconds after the first one.
fn packet_at(ms: u64, spi: u32, sequence: u32) -> Out {
    let frame = esp([192, 168, 1, 1].into(), [192, 168, 1, 2].into(), spi, sequence, &[0xa5; 76]);
    Out::whole(START + ms * 1_000_000, frame)
}

/// Records of a pcap without its header.
fn records(of: impl IntoIterator<Item = Out>) -> Vec<u8> {
    plain_pcap(&of.into_iter().collect::<Vec<_>>())[HEADER..].to_vec()
}

struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn begin(args: &[&str], input: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_spiglass"))
            .args(args)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (send, lines) = channel();
        for stream in [
            Box::new(child.stdout.take().expect("a pipe")) as Box<dyn Read + Send>,
            Box::new(child.stderr.take().expect("a pipe")),
        ] {
            let send = send.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| drop(send.send(line)));
            });
        }
        Self { child, lines }
    }

    /// The first line that has these words; how long it took.
    fn wait_for(&self, words: &[&str]) -> String {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while begun.elapsed() < Duration::from_secs(60) {
            let Ok(line) = self.lines.recv_timeout(Duration::from_millis(100)) else { continue };
            if words.iter().all(|word| line.contains(word)) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line with {words:?} in {seen:#?}");
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().expect("there is kill").success());
    }

    fn end(mut self) -> (i32, String) {
        let status = self.child.wait().expect("it ends").code().unwrap_or(-1);
        (status, self.lines.iter().collect::<Vec<_>>().join("\n"))
    }
}

#[test]
fn a_slow_pipe_is_told_line_by_line() {
    let mut running = Running::begin(&["watch", "--every", "200ms", "--silent", "1s", "--rates"], Stdio::piped());
    let mut writer = running.child.stdin.take().expect("a pipe");
    writer.write_all(&plain_pcap(&(1..=5).map(|n| packet(1001, n)).collect::<Vec<_>>())).expect("it is read");
    running.wait_for(&["new SA", "0x000003e9"]);
    writer.write_all(&records([packet(0, 6)])).expect("it is read");
    running.wait_for(&["begins", "error spi-zero"]);
    writer.write_all(&records([packet(1001, 9), packet(0, 10)])).expect("it is read");
    running.wait_for(&["grows", "spi-zero", "1 to 2"]);
    running.wait_for(&["silent", "0x000003e9", "no frame for"]);
    writer.write_all(&records([packet(1001, 20)])).expect("it is read");
    running.wait_for(&["again", "0x000003e9"]);
    running.wait_for(&["rate", "frames/s"]);
    drop(writer);
    let (status, rest) = running.end();
    assert_eq!(status, 0, "{rest}");
    assert!(rest.contains("Security associations"), "the report follows: {rest}");
}

/// A new SA of the same ends takes over; two in use side by side are no rekey, and neither is one that the old SA contradicts.
#[test]
fn a_rekey_is_told_once_the_old_sa_is_silent() {
    let mut running = Running::begin(&["watch", "--every", "200ms", "--silent", "1s"], Stdio::piped());
    let mut writer = running.child.stdin.take().expect("a pipe");
    let old = (1..=50).map(|n| packet_at(u64::from(n) * 10, 1001, n));
    writer.write_all(&plain_pcap(&old.collect::<Vec<_>>())).expect("it is read");
    running.wait_for(&["new SA", "0x000003e9"]);
    writer.write_all(&records((1..=50).map(|n| packet_at(500 + u64::from(n) * 10, 2002, n)))).expect("it is read");
    running.wait_for(&["possible rekey", "ESP 0x000007d2", "0x000003e9"]);
    running.wait_for(&["silent", "0x000003e9"]);
    running.wait_for(&["  rekey  ", "ESP 0x000007d2", "took over from 0x000003e9"]);
    writer.write_all(&records((51..=99).map(|n| packet_at(500 + u64::from(n) * 10, 1001, n)))).expect("it is read");
    running.wait_for(&["no rekey", "0x000007d2", "0x000003e9"]);
    drop(writer);
    let (status, rest) = running.end();
    assert_eq!(status, 0, "{rest}");
    assert!(!rest.contains("took over"), "{rest}");
}

/// A rekey is possible at once, and contradicted by the next packets of the SA that seemed to be replaced.
#[test]
fn a_rekey_that_is_only_possible_is_taken_back() {
    let mut running = Running::begin(&["watch", "--every", "200ms", "--silent", "60s"], Stdio::piped());
    let mut writer = running.child.stdin.take().expect("a pipe");
    let old = (1..=50).map(|n| packet_at(u64::from(n) * 10, 1001, n));
    writer.write_all(&plain_pcap(&old.collect::<Vec<_>>())).expect("it is read");
    running.wait_for(&["new SA", "0x000003e9"]);
    writer.write_all(&records((1..=50).map(|n| packet_at(500 + u64::from(n) * 10, 2002, n)))).expect("it is read");
    running.wait_for(&["possible rekey", "ESP 0x000007d2", "0x000003e9"]);
    writer.write_all(&records((51..=99).map(|n| packet_at(500 + u64::from(n) * 10, 1001, n)))).expect("it is read");
    running.wait_for(&["no rekey", "0x000007d2", "0x000003e9"]);
    drop(writer);
    let (status, rest) = running.end();
    assert_eq!(status, 0, "{rest}");
    assert!(!rest.contains("took over") && !rest.contains("possible rekey"), "{rest}");
}

/// Nothing follows that could contradict it: a capture that ends says its rekeys.
#[test]
fn the_last_rekey_is_told_at_the_end() {
    let dir = scratch("live-rekey");
    let old = (1..=50).map(|n| packet_at(u64::from(n) * 10, 1001, n));
    let new = (1..=50).map(|n| packet_at(500 + u64::from(n) * 10, 2002, n));
    let path = crate::support::write_file(&dir, "rekey.pcap", &plain_pcap(&old.clone().chain(new).collect::<Vec<_>>()));
    let input = Stdio::from(std::fs::File::open(path).expect("it opens"));
    let (status, lines) = Running::begin(&["watch", "--format", "ndjson"], input).end();
    assert_eq!(status, 0, "{lines}");
    assert!(lines.contains(r#""event":"rekey""#) && lines.contains("took over from 0x000003e9"), "{lines}");
    // Side by side: no rekey.
    let mut beside: Vec<Out> = old.chain((1..=50).map(|n| packet_at(105 + u64::from(n) * 10, 2002, n))).collect();
    beside.sort_by_key(|out| out.time_ns);
    let path = crate::support::write_file(&dir, "beside.pcap", &plain_pcap(&beside));
    let input = Stdio::from(std::fs::File::open(path).expect("it opens"));
    let (_, lines) = Running::begin(&["watch", "--format", "ndjson"], input).end();
    assert!(!lines.contains("took over"), "{lines}");
}

#[test]
fn lines_of_json_are_objects() {
    let mut running = Running::begin(&["watch", "-", "--every", "100ms", "--format", "ndjson"], Stdio::piped());
    let mut writer = running.child.stdin.take().expect("a pipe");
    writer.write_all(&plain_pcap(&[packet(1001, 1)])).expect("it is read");
    let line = running.wait_for(&["sa-new"]);
    let change: serde_json::Value = serde_json::from_str(&line).expect("an object");
    assert_eq!((&change["row"], &change["event"]), (&"change".into(), &"sa-new".into()));
    drop(writer);
    let (status, rest) = running.end();
    assert_eq!(status, 0, "{rest}");
    for line in rest.lines().filter(|line| line.starts_with('{')) {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

/// A file that grows, by records and by parts of them, and is then replaced, as captures in rotation are.
#[test]
fn a_growing_file_is_followed_over_a_rotation() {
    let dir = scratch("live-growing");
    let path = dir.join("eth1.pcap");
    let _ = std::fs::remove_file(&path);
    let name = path.to_str().expect("text");
    let running = Running::begin(&["watch", name, "--every", "100ms"], Stdio::null());
    // It is not there yet.
    std::thread::sleep(Duration::from_millis(300));
    let whole = plain_pcap(&[packet(1001, 1), packet(1001, 2)]);
    append(&path, &whole[..whole.len() - 10]);
    running.wait_for(&["new SA", "0x000003e9"]);
    append(&path, &whole[whole.len() - 10..]);
    append(&path, &records([packet(2002, 3)]));
    running.wait_for(&["new SA", "0x000007d2"]);
    std::fs::rename(&path, dir.join("eth1.pcap.1")).expect("it is renamed");
    append(&path, &plain_pcap(&[packet(3003, 4)]));
    running.wait_for(&["new SA", "0x00000bbb"]);
    running.signal("-INT");
    let (status, rest) = running.end();
    assert_eq!(status, 130, "{rest}");
    assert!(rest.contains("4 frames"), "{rest}");
}

/// The key reaches what writes the file as well, and that writes what it still holds: all of it is read.
#[test]
fn an_interrupt_reads_a_growing_file_to_its_end() {
    let dir = scratch("live-drain");
    let whole = plain_pcap(&(1..=40).map(|n| packet(1001, n)).collect::<Vec<_>>());
    let cases = [("all", whole.len()), ("half", HEADER + 20 * 134 + 7), ("header", HEADER), ("nothing", 0)];
    all_at_once(&cases, |&(case, early)| {
        let path = dir.join(format!("{case}.pcap"));
        std::fs::write(&path, &whole[..early]).expect("written");
        let running = Running::begin(
            &["watch", path.to_str().expect("text"), "--every", "100ms", "--format", "ndjson"],
            Stdio::null(),
        );
        std::thread::sleep(Duration::from_millis(500));
        running.signal("-INT");
        running.wait_for(&["reading the file to its end"]);
        // The writer takes its time, less than after which a file counts as ended, and writes in two pieces.
        let middle = early.midpoint(whole.len());
        for piece in [&whole[early..middle], &whole[middle..]] {
            std::thread::sleep(Duration::from_millis(700));
            append(&path, piece);
        }
        let (status, rest) = running.end();
        assert_eq!(status, 130, "{rest}");
        let rows = rest.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let report = rows.into_iter().find(|row| row["row"] == "report").expect("a report follows");
        assert_eq!(report["totals"]["frames"], 40, "{case}: {rest}");
    });
}

/// What another file of the name holds when the key is pressed belongs to the report as well.
#[test]
fn an_interrupt_reads_the_file_that_a_rotation_began() {
    let dir = scratch("live-drain-rotation");
    let path = dir.join("eth1.pcap");
    std::fs::write(&path, plain_pcap(&[packet(1001, 1)])).expect("written");
    let running = Running::begin(&["watch", path.to_str().expect("text"), "--every", "100ms"], Stdio::null());
    running.wait_for(&["new SA", "0x000003e9"]);
    running.signal("-INT");
    running.wait_for(&["reading the file to its end"]);
    std::fs::rename(&path, dir.join("eth1.pcap.1")).expect("it is renamed");
    append(&path, &plain_pcap(&[packet(1001, 2), packet(1001, 3)]));
    let (status, rest) = running.end();
    assert_eq!(status, 130, "{rest}");
    assert!(rest.contains("3 frames"), "{rest}");
}

#[test]
fn a_second_interrupt_ends_a_growing_file_at_once() {
    let dir = scratch("live-twice");
    let path = dir.join("eth1.pcap");
    std::fs::write(&path, plain_pcap(&[packet(1001, 1)])).expect("written");
    let running = Running::begin(&["watch", path.to_str().expect("text"), "--every", "100ms"], Stdio::null());
    running.wait_for(&["new SA"]);
    running.signal("-INT");
    running.wait_for(&["reading the file to its end"]);
    running.signal("-INT");
    let (status, rest) = running.end();
    assert_eq!(status, 130, "{rest}");
    assert!(!rest.contains("Security associations"), "{rest}");
}

/// A damaged file is read once; the one that takes its name is read next.
#[test]
fn a_damaged_file_is_read_once() {
    let dir = scratch("live-damaged");
    let path = dir.join("eth1.pcap");
    let mut bytes = plain_pcap(&(1..=9).map(|n| packet(1001, n)).collect::<Vec<_>>());
    let half = bytes.len() / 2;
    bytes[half..].fill(0xff);
    std::fs::write(&path, &bytes).expect("written");
    let running = Running::begin(&["watch", path.to_str().expect("text"), "--every", "100ms"], Stdio::null());
    running.wait_for(&["begins", "capture-damaged"]);
    std::thread::sleep(Duration::from_millis(500));
    std::fs::rename(&path, dir.join("eth1.pcap.1")).expect("it is renamed");
    append(&path, &plain_pcap(&[packet(2002, 1)]));
    running.wait_for(&["new SA", "0x000007d2"]);
    running.signal("-INT");
    let (status, rest) = running.end();
    assert_eq!(status, 130, "{rest}");
    assert!(!rest.contains("tap-layout"), "the same file was read twice: {rest}");
}

fn append(path: &Path, bytes: &[u8]) {
    std::fs::File::options().append(true).create(true).open(path).expect("it opens").write_all(bytes).expect("written");
}

/// SIGUSR1: what was read so far, on standard error; the report of the end is whole.
#[test]
fn a_report_in_between() {
    for jobs in ["1", "2"] {
        let mut running = Running::begin(&["report", "-", "--format", "json", "--jobs", jobs], Stdio::piped());
        let mut writer = running.child.stdin.take().expect("a pipe");
        writer.write_all(&plain_pcap(&(1..=50).map(|n| packet(1001, n)).collect::<Vec<_>>())).expect("it is read");
        std::thread::sleep(Duration::from_millis(500));
        running.signal("-USR1");
        running.wait_for(&["50 frames"]);
        writer.write_all(&records((51..=60).map(|n| packet(1001, n)))).expect("it is read");
        drop(writer);
        let (status, rest) = running.end();
        assert_eq!(status, 0, "{rest}");
        assert!(rest.contains("\"frames\": 60"), "{rest}");
    }
}
