//! Every output that machines read, frozen: JSON, CSV and states of all fixtures and of `../shared/lab`, with one job and
//! with two. Sentences for people are not frozen: their wording may improve. A change of these outputs must be meant: read the differences, then write the new digests with
//! `SPIGLASS_FREEZE=write cargo test --test house freeze`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use twox_hash::XxHash3_128;

use crate::support;
use crate::support::threads::each;

const JOBS: [&str; 2] = ["1", "2"];

/// The tables of `report` as CSV.
const TABLES: [&str; 8] = ["findings", "sas", "tunnels", "sizes", "padding", "rates", "layers", "captures"];

#[test]
fn outputs_of_the_fixtures_are_frozen() {
    frozen("fixtures", &Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"));
}

#[test]
fn outputs_of_the_lab_are_frozen() {
    let Some(lab) = support::shared("lab") else { return };
    frozen("lab", &lab);
}

/// Compares the digests of all captures below `directory` with those that are kept under `name`.
fn frozen(name: &str, directory: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/house/frozen").join(format!("{name}.txt"));
    let captures = captures(directory);
    let read = each(&captures, |capture| digests(directory, capture));
    let now: BTreeMap<String, String> = read.into_iter().flatten().chain(matches(directory, &captures)).collect();
    assert!(now.len() > 20, "the captures below {} were found", directory.display());
    let lines: String = now.iter().map(|(what, digest)| format!("{digest}  {what}\n")).collect();
    if std::env::var_os("SPIGLASS_FREEZE").is_some() {
        std::fs::write(&kept, lines).expect("the digests can be written");
        return;
    }
    let text = std::fs::read_to_string(&kept).unwrap_or_default();
    let before: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once("  ")).map(|(digest, what)| (what, digest)).collect();
    let changed: Vec<&str> = now
        .iter()
        .filter(|(what, digest)| before.get(what.as_str()) != Some(&digest.as_str()))
        .map(|(what, _)| what.as_str())
        .chain(before.keys().copied().filter(|what| !now.contains_key(*what)))
        .collect();
    assert!(
        changed.is_empty(),
        "{} of {} outputs changed (if that is meant: SPIGLASS_FREEZE=write cargo test --test house freeze):\n  {}",
        changed.len(),
        now.len(),
        changed.join("\n  ")
    );
}

/// What is read of one capture: `report` as JSON and CSV, and the report of its state. One job and two must agree.
fn digests(directory: &Path, capture: &str) -> Vec<(String, String)> {
    let [one, two] = JOBS.map(|jobs| output(directory, &["report", "--format", "json", "--jobs", jobs, capture]));
    assert_eq!(one, two, "{capture}: a report by one job and by two");
    let [state, other] = JOBS.map(|jobs| state(directory, capture, jobs));
    assert_eq!(state, other, "{capture}: a state by one job and by two");
    let mut digests = vec![(format!("{capture} report.json"), one), (format!("{capture} state"), state)];
    // Every table of every capture takes longer than it tells: those of the tunnel hold all kinds of rows.
    if capture.ends_with("tunnel.pcap") || !directory.ends_with("lab") {
        digests.extend(TABLES.iter().map(|table| {
            let args = ["report", "--format", "csv", "--table", table, capture];
            (format!("{capture} {table}.csv"), output(directory, &args))
        }));
    }
    digests
}

/// The report of a state, which is what a state means; its bytes may change with the version of its format.
fn state(directory: &Path, capture: &str, jobs: &str) -> String {
    let path = support::scratch(&format!("frozen-{jobs}")).join(capture.replace('/', "_"));
    let path = path.to_str().expect("UTF-8");
    let partial = output(directory, &["partial", "--quiet", "--jobs", jobs, "-o", path, capture]);
    let merged = output(directory, &["merge", "--quiet", "--format", "json", path]);
    // What `partial` prints is empty: its status is what matters.
    format!("{} {merged}", partial.split(' ').next().unwrap_or_default())
}

/// `match` of every folder that holds a plain and a tunnel capture.
fn matches(directory: &Path, all: &[String]) -> Vec<(String, String)> {
    let has = |name: &String| all.contains(name);
    let pairs = all.iter().filter_map(|tunnel| {
        let plain = [("tunnel.pcap", "plain-a.pcap"), ("-tunnel.pcap", "-plain-a.pcap")]
            .iter()
            .filter_map(|(end, other)| Some(format!("{}{other}", tunnel.strip_suffix(end)?)))
            .find(has)?;
        Some((plain, tunnel.clone()))
    });
    let pairs: Vec<(String, String)> = pairs.collect();
    let matched = each(&pairs, |(plain, tunnel)| {
        let sides = ["--plain", plain, "--tunnel", tunnel];
        let of = |format: &[&str]| output(directory, &[&["match"], &sides[..], format].concat());
        [
            (format!("{tunnel} match.json"), of(&["--format", "json"])),
            (format!("{tunnel} pairs.csv"), of(&["--format", "csv", "--table", "pairs"])),
        ]
    });
    matched.into_iter().flatten().collect()
}

/// Members and columns that hold sentences.
const SENTENCES: [&str; 12] = [
    "title",
    "evidence",
    "cause",
    "remedy",
    "what",
    "why",
    "reason",
    "decide",
    "degraded_why",
    "difference_why",
    "definition",
    "transform_evidence",
];

/// What is frozen of an output: JSON and CSV without sentences, anything else as it is.
fn without_sentences(output: &[u8]) -> Vec<u8> {
    if let Ok(mut json) = serde_json::from_slice::<Value>(output) {
        strip(&mut json);
        return json.to_string().into_bytes();
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(output);
    let rows: Result<Vec<csv::StringRecord>, _> = reader.records().collect();
    let Ok(rows) = rows else { return output.to_vec() };
    let Some(names) = rows.first() else { return output.to_vec() };
    let kept: Vec<usize> =
        (0..names.len()).filter(|at| !SENTENCES.iter().any(|end| names[*at].ends_with(end))).collect();
    let cells = rows.iter().flat_map(|row| kept.iter().map(|at| format!("{},", &row[*at])).chain(["\n".to_owned()]));
    cells.collect::<String>().into_bytes()
}

fn strip(json: &mut Value) {
    match json {
        Value::Object(members) => {
            // A code under such a name, as `what` of an event is one, has no space.
            let sentence = |value: &Value| value.as_str().is_none_or(|text| text.contains(' '));
            members.retain(|name, value| !SENTENCES.contains(&name.as_str()) || !sentence(value));
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Exit status and digest of what a run prints; its paths are relative, so that they are the same everywhere.
fn output(directory: &Path, args: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_spiglass"))
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("spiglass {args:?}: {error}"));
    let mut digest = XxHash3_128::new();
    digest.write(&without_sentences(&run.stdout));
    format!("{} {:032x}", run.status.code().unwrap_or(-1), digest.finish_128())
}

/// Captures below a directory, relative to it, sorted.
fn captures(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = vec![directory.to_path_buf()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.expect("an entry").path();
            let ends = |end: &str| path.to_string_lossy().ends_with(end);
            if path.is_dir() {
                left.push(path);
            } else if [".pcap", ".pcapng", ".gz", ".zst"].iter().any(|end| ends(end)) {
                let relative = path.strip_prefix(directory).expect("below the directory");
                found.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
