//! Folders of states on disks that are full, that nobody may write to, or that vanish: a message with the path, nothing half-written, an end.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::support::build::{R1, R2, START, esp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, spiglass, write_file};
use spiglass::capture::Source;
use spiglass::engine::{Input, OpenRun, Progress, ProgressUpdate, Quiet, Settings, StateDir, run};
use spiglass::model::Error;

/// Captures with different content.
fn captures(dir: &Path, count: u32) -> Vec<PathBuf> {
    let file = |at: u32| {
        let frame = |n: u32| {
            let time = START + u64::from(100 * at + n) * 1_000_000;
            Out::whole(time, esp(R1, R2, 7, 100 * at + n + 1, &[at as u8; 64]))
        };
        write_file(dir, &format!("tap-{at:04}.pcap"), &plain_pcap(&(0..100).map(frame).collect::<Vec<_>>()))
    };
    (0..count).map(file).collect()
}

fn inputs(files: &[PathBuf]) -> Vec<Input> {
    files.iter().map(|file| Input::from(Source::Path(file.clone()))).collect()
}

/// Names of the files in a folder.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
#[cfg(unix)]
fn a_disk_that_is_full_leaves_no_half_state() {
    let dir = scratch("state-dir-full");
    let (files, states) = (captures(&dir, 8), dir.join("states"));
    // No file may be longer than a block: what exceeds it fails as a full disk does.
    let run = |line: &str| {
        let words = ["partial", "--jobs", "4", "--state-dir"].map(std::ffi::OsStr::new);
        Command::new("sh")
            .args(["-c", line, env!("CARGO_BIN_EXE_spiglass")])
            .args(words)
            .arg(&states)
            .args(&files)
            .output()
            .expect("there is a shell")
    };
    let full = run("trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"");
    let stderr = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(&*states.to_string_lossy()), "{stderr}");
    let left: Vec<String> = names(&states).into_iter().filter(|name| !name.ends_with(".run")).collect();
    assert!(left.is_empty(), "{left:?}");
    // With room again the run does what is missing.
    let room = run("exec \"$0\" \"$@\"");
    assert_eq!(room.status.code(), Some(0), "{}", String::from_utf8_lossy(&room.stderr));
    assert_eq!(names(&states).len(), 8);
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn a_folder_that_takes_no_file_is_named() {
    let dir = scratch("state-dir-refuses");
    let files = captures(&dir, 2);
    let below = files[0].join("states");
    // No folder can be made below a file; the system's folder of processes takes no file.
    let mut refusing = vec![below];
    if cfg!(target_os = "linux") {
        refusing.push("/proc/self".into());
    }
    for folder in refusing {
        let words = ["partial".into(), "--state-dir".into(), folder.clone().into_os_string()];
        let files = files.iter().map(|file| file.clone().into_os_string());
        let run = spiglass(&words.into_iter().chain(files).collect::<Vec<_>>()).expect(2);
        assert!(run.stderr.contains(&*folder.to_string_lossy()), "{run}");
        assert!(run.stdout.is_empty(), "{run}");
    }
    assert_eq!(names(&dir).len(), 2, "{:?}", names(&dir));
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn a_folder_that_vanishes_ends_the_run_with_its_path() {
    let dir = scratch("state-dir-vanishes");
    let (files, states) = (captures(&dir, 6), dir.join("states"));
    for jobs in [1, 4] {
        let folder = StateDir::open(&states, &Settings::default(), None).expect("it can be made");
        let (inputs, states, gone) = (inputs(&files), states.clone(), dir.join(format!("gone-{jobs}")));
        let error = {
            let states = states.clone();
            // Only the first has something to rename.
            ends(move || folder.fill(&inputs, jobs, &Quiet, &|_| drop(fs::rename(&states, &gone))))
        };
        let Err(Error::Output { path, .. }) = error else { panic!("{error:?}") };
        assert!(path.starts_with(&states), "{}", path.display());
        assert!(!states.exists());
    }
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// Is interrupted for the first who asks, and for nobody else.
#[derive(Default)]
struct Once(AtomicUsize);

impl Progress for Once {
    fn update(&self, _: &ProgressUpdate<'_>) {}

    fn interrupted(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) == 0
    }
}

/// Is interrupted when it was asked so often.
struct After(AtomicUsize);

impl Progress for After {
    fn update(&self, _: &ProgressUpdate<'_>) {}

    fn interrupted(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 0
    }
}

/// Files that are read side by side: what lies behind one of which a part was not read is left out, so that nothing seems to be missing.
#[test]
fn an_interrupted_run_over_a_rotation_accuses_nobody() {
    let dir = scratch("interrupted-rotation");
    let files = captures(&dir, 12);
    let mut read = BTreeSet::new();
    for asked in 0..60 {
        let outcome = run(&inputs(&files), &Settings::default(), 3, &After(AtomicUsize::new(asked)));
        let report = outcome.report;
        let frames = report.totals.frames;
        read.insert(frames);
        let said: Vec<&str> = report.findings.iter().map(|finding| &*finding.code).collect();
        assert!(!said.contains(&"capture-hole") && !said.contains(&"sequence-gap"), "{asked}: {said:?}");
        let is_said = report.degraded_why.iter().any(|why| why.contains("interrupted"));
        assert_eq!(is_said, report.captures.len() < files.len(), "{asked}: {:?}", report.degraded_why);
    }
    assert!(read.len() > 3, "{read:?}");
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// A thread that ended between taking a capture and telling its content left those with later captures waiting.
#[test]
fn a_thread_that_ends_leaves_no_other_waiting() {
    let dir = scratch("state-dir-waits");
    let files = captures(&dir, 3);
    for round in 0..30 {
        let states = dir.join(format!("states-{round}"));
        let (folder, inputs) =
            (StateDir::open(&states, &Settings::default(), None).expect("it can be made"), inputs(&files));
        let items = ends(move || folder.fill(&inputs, 3, &Once::default(), &|_| ())).expect("states can be written");
        assert!(items.len() < 3, "one thread was told to end");
    }
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// A run that is killed says nothing; the list of its captures stays, and the merged report says that it did not end.
#[test]
fn a_run_that_did_not_end_is_said_until_another_one_has_done_its_work() {
    let dir = scratch("state-dir-ended");
    let (files, states) = (captures(&dir, 3), dir.join("states"));
    let fill = |files: &[PathBuf], progress: &dyn Progress| {
        let folder = StateDir::open(&states, &Settings::default(), None).expect("it can be made");
        folder.fill(&inputs(files), 1, progress, &|_| ()).expect("states can be written")
    };
    let runs = || StateDir::held(&states).expect("a folder").open_runs;
    let merge = |status: i32| {
        let folder = states.as_os_str().to_owned();
        spiglass(&["merge".into(), "--format".into(), "json".into(), "--state-dir".into(), folder]).expect(status)
    };
    fill(&files[..1], &Quiet);
    assert_eq!(runs(), []);
    assert!(fill(&files, &Once::default()).len() < 3);
    assert_eq!(runs(), [OpenRun { captures: 3, alive: false }]);
    let said = merge(2);
    assert!(
        said.stderr.contains("a run over 3 captures into this folder ended before all of them were done"),
        "{said}"
    );
    assert_eq!(said.json()["exactness"], "degraded");
    // One over other captures has not done them.
    fill(&files[1..2], &Quiet);
    assert_eq!(runs().len(), 1);
    let more: Vec<PathBuf> = files.iter().cloned().chain([write_file(&dir, "more.pcap", &plain_pcap(&[]))]).collect();
    fill(&more, &Quiet);
    assert_eq!(runs(), []);
    merge(0);
    // It does not matter where they are named from.
    assert!(fill(&[write_file(&dir, "last.pcap", &plain_pcap(&[])), more[3].clone()], &Once::default()).len() < 2);
    assert_eq!(runs().len(), 1);
    let named = ["partial", "--state-dir", "states", "more.pcap", "last.pcap"];
    let run = Command::new(env!("CARGO_BIN_EXE_spiglass")).args(named).current_dir(&dir).output().expect("it runs");
    assert_eq!((run.status.code(), runs()), (Some(0), vec![]), "{}", String::from_utf8_lossy(&run.stderr));
    fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

/// What comes of something that must end.
fn ends<T: Send + 'static>(of: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || drop(done.send(of())));
    result.recv_timeout(Duration::from_secs(60)).expect("it did not end")
}
