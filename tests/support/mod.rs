//! What the black-box tests share: running the binary, reading its outputs, and a second opinion about captures.
#![allow(dead_code)] // every test binary uses a part of it

pub mod build;
pub mod oracle;
pub mod rit;
pub mod sane;
pub mod state_file;
pub mod threads;
pub mod writer;

use std::fmt::Debug;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How one run of the binary ended.
pub struct Run {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
    command: String,
}

impl Run {
    /// Standard output as the one JSON value it must be.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{self} does not print JSON: {error}"))
    }

    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|error| panic!("{self} does not print UTF-8: {error}"))
    }

    /// Standard output as CSV: one map of column to value for each row, after checking the header.
    pub fn csv(&self, header: &str) -> Vec<Row> {
        let mut reader = csv::ReaderBuilder::new().from_reader(self.stdout.as_slice());
        let names = reader.headers().unwrap_or_else(|error| panic!("{self} prints no CSV: {error}")).clone();
        assert_eq!(names.iter().collect::<Vec<_>>().join(","), header, "the header row of {self}");
        let rows: Result<Vec<_>, _> = reader.records().collect();
        rows.unwrap_or_else(|error| panic!("{self} prints a broken row: {error}"))
            .into_iter()
            .map(|row| Row { names: names.clone(), values: row })
            .collect()
    }

    /// Panics unless the run ended with `status`.
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "exit status of {self}");
        self
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` (exit {}, stderr: {})", self.command, self.status, self.stderr.trim_end())
    }
}

/// One CSV row.
pub struct Row {
    names: csv::StringRecord,
    values: csv::StringRecord,
}

impl Row {
    /// The value in a column; the column must exist.
    pub fn get(&self, column: &str) -> &str {
        let at =
            self.names.iter().position(|name| name == column).unwrap_or_else(|| panic!("there is a column {column}"));
        self.values.get(at).unwrap_or_default()
    }
}

/// Runs the binary with `args`, standard input closed.
pub fn spiglass<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Run {
    spiglass_with_input(args, None)
}

/// No run on a small capture takes this long: one that does hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// Runs the binary with `args` and feeds it `input`. A run that does not end is killed, and the test fails.
pub fn spiglass_with_input<S: AsRef<std::ffi::OsStr>>(args: &[S], input: Option<&[u8]>) -> Run {
    let words: Vec<String> = args.iter().map(|arg| arg.as_ref().to_string_lossy().into_owned()).collect();
    let command = format!("spiglass {}", words.join(" "));
    let mut child = Command::new(env!("CARGO_BIN_EXE_spiglass"))
        .args(args)
        .env_remove("NO_COLOR")
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("`{command}` starts: {error}"));
    let feeder = child.stdin.take().map(|mut pipe| {
        let bytes = input.unwrap_or_default().to_vec();
        // A child that stops reading early closes the pipe; its exit status tells what happened.
        std::thread::spawn(move || drop(pipe.write_all(&bytes)))
    });
    // Both pipes are drained at once, or a child that fills one would wait for ever.
    let stdout = drain(child.stdout.take().expect("piped"));
    let stderr = drain(child.stderr.take().expect("piped"));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap_or_else(|error| panic!("`{command}` ends: {error}")) {
            break status;
        }
        if begun.elapsed() > DEADLINE {
            child.kill().expect("a child of this test can be killed");
            panic!("`{command}` did not end within {DEADLINE:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if let Some(feeder) = feeder {
        feeder.join().expect("the feeder does not panic");
    }
    Run {
        status: status.code().unwrap_or(-1),
        stdout: stdout.join().expect("the reader does not panic"),
        stderr: String::from_utf8_lossy(&stderr.join().expect("the reader does not panic")).into_owned(),
        command,
    }
}

/// Whether a program of Wireshark's is there. In CI it must be: `what` must not go untested.
pub fn installed(program: &str, what: &str) -> bool {
    let version = std::process::Command::new(program).arg("--version").output();
    let here = version.is_ok_and(|output| output.status.success());
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(here || !in_ci, "CI is set and {program} is not installed: {what} must not go untested");
    if !here {
        eprintln!("{program} is not installed: NOT TESTED: {what}");
    }
    here
}

/// Reads a pipe to its end beside the test.
fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

/// `report --format json` of some captures, whatever the exit status.
pub fn report(captures: &[&Path]) -> Run {
    let mut args = vec!["report", "--format", "json"];
    args.extend(captures.iter().map(|path| path.to_str().expect("a UTF-8 path")));
    spiglass(&args)
}

/// The header row of `frames --format csv`.
pub const FRAMES_HEADER: &str = "capture,frame,time_ns,interface,wire_bytes,captured_bytes,stack,outer_src,outer_dst,outer_bytes,\
encapsulation,ah_spi,ah_sequence,ah_bytes,esp_spi,esp_sequence,inner_src,inner_dst,inner_bytes,overhead_bytes,ethernet_pad_bytes,\
esp_pad_bytes,fragment,stop";

/// `frames --format csv` of one capture, whatever the exit status.
pub fn frames(capture: &Path) -> Vec<Row> {
    spiglass(&["frames", "--format", "csv", capture.to_str().expect("a UTF-8 path")]).csv(FRAMES_HEADER)
}

/// The repository's own fixtures.
pub fn fixture(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    assert!(path.is_file(), "{} is part of the repository", path.display());
    path
}

/// A directory of the captures that are kept beside the repository, in `../shared` or where `SPIGLASS_SHARED` says.
///
/// Without them a test that needs them can check nothing, and says so. In CI that is a failure.
pub fn shared(what: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SPIGLASS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join(what);
    if path.is_dir() {
        return Some(path);
    }
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    assert!(!in_ci, "CI is set and {} is not there: the checks that need it must not be skipped", path.display());
    // Not `eprintln!`: the test harness would swallow it, and a check that checks nothing must not look like one that passed.
    let name = std::thread::current().name().unwrap_or("this test").to_owned();
    drop(writeln!(std::io::stderr(), "{name}: {} is not there, NOTHING WAS CHECKED", path.display()));
    None
}

/// A scratch directory of one test: the same in every run, so that runs do not pile up and a failure can be looked at.
pub fn scratch(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&path).expect("a scratch directory can be made");
    path
}

/// Writes a file of a scratch directory.
pub fn write_file(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Reads a JSON file.
pub fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value at a dotted path (`captures.0.frames`); it must be there, `null` included.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|key| !key.is_empty()).fold(value, |here, key| {
        let next = match here {
            Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => here.get(key),
        };
        next.unwrap_or_else(|| panic!("no {key} (of {path}) in {here}"))
    })
}

/// An unsigned number at a path.
pub fn number(value: &Value, path: &str) -> u64 {
    let found = at(value, path);
    found.as_u64().unwrap_or_else(|| panic!("{path} is {found}, not a number of things"))
}

/// Text at a path.
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    let found = at(value, path);
    found.as_str().unwrap_or_else(|| panic!("{path} is {found}, not text"))
}

/// Items of the array at a path.
pub fn items<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    let found = at(value, path);
    found.as_array().unwrap_or_else(|| panic!("{path} is {found}, not an array"))
}

/// Collects what does not agree, so that one run shows all of it.
pub struct Checks {
    context: String,
    done: usize,
    failures: Vec<String>,
}

impl Checks {
    pub fn new(context: impl Into<String>) -> Self {
        Self { context: context.into(), done: 0, failures: Vec::new() }
    }

    /// Says what the next checks are about.
    pub fn about(&mut self, context: impl Into<String>) -> &mut Self {
        self.context = context.into();
        self
    }

    /// `got` must be `want`.
    pub fn eq<G: PartialEq<W> + Debug, W: Debug>(&mut self, what: &str, got: G, want: W) {
        let ok = got == want;
        self.ok(ok, || format!("{what}: got {got:?}, want {want:?}"));
    }

    /// `got` must be within a billionth of `want`: ratios of exact integers.
    pub fn close(&mut self, what: &str, got: &Value, want: f64) {
        let ok = got.as_f64().is_some_and(|got| (got - want).abs() <= 1e-9 * want.abs().max(1e-9));
        self.ok(ok, || format!("{what}: got {got}, want {want}"));
    }

    /// `ok` must hold.
    pub fn ok(&mut self, ok: bool, message: impl FnOnce() -> String) {
        self.done += 1;
        if !ok {
            self.failures.push(format!("{}: {}", self.context, message()));
        }
    }

    /// Takes over what another compared.
    pub fn add(&mut self, other: Self) {
        self.done += other.done;
        self.failures.extend(other.failures);
    }

    /// Panics with everything that did not agree; also if nothing was compared at all.
    pub fn finish(self) {
        assert!(self.done > 0, "{}: nothing was compared", self.context);
        assert!(
            self.failures.is_empty(),
            "{} of {} comparisons failed:\n  {}\n",
            self.failures.len(),
            self.done,
            self.failures.join("\n  ")
        );
    }
}

/// RFC 3339 in UTC with nine digits, computed from the civil calendar.
pub fn rfc3339(ns: i64) -> String {
    let (seconds, fraction) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to civil date: eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{fraction:09}Z")
}

/// `ip xfrm state` as somebody without privileges would have printed it: no keys.
pub fn without_keys(states: &str) -> String {
    let line = |line: &str| {
        let algorithm = ["auth", "enc", "aead"].iter().any(|word| line.trim_start().starts_with(word));
        let words = line.split(' ').map(|word| if algorithm && word.starts_with("0x") { "0x" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    states.lines().map(line).collect::<Vec<_>>().join("\n")
}
