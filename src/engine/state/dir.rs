//! A folder of states, one for each capture: what is there is not analysed again, whoever put it there and whatever ended the run before.
//!
//! A state is named by the content of its capture, by what was asked for and by the version of the format. It gets its name when it is
//! complete. While a capture is analysed a lock is held that the system releases if the process dies, so that processes share a folder
//! and nothing that is left of one blocks another.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use twox_hash::{XxHash3_64, XxHash3_128};

use super::file::VERSION;
use super::running::{OpenRun, Running, open_runs};
use crate::capture::Source;
use crate::engine::rotation::fold::Streams;
use crate::engine::{Analysed, Input, Progress, Settings, State, analyse};
use crate::model::report::Capture;
use crate::model::{Error, Timestamp};

/// Octets that are read at a time to tell what a file holds.
const PIECE: usize = 1 << 18;

/// A folder of states that were made with one request.
#[derive(Clone, Debug)]
pub struct StateDir {
    folder: PathBuf,
    /// Digest of what was asked for.
    asked: u64,
    /// The name of the tap that all captures are of.
    stream: Option<String>,
    settings: Settings,
}

/// What became of one capture.
#[derive(Debug)]
pub struct Item {
    /// The capture as it was named.
    pub path: PathBuf,
    /// Where its state is, where it has one.
    pub state: PathBuf,
    /// What was done.
    pub outcome: ItemOutcome,
    /// What its state says of it.
    pub captures: Vec<Capture>,
}

/// A state that is in the folder.
struct Made {
    at: PathBuf,
    outcome: ItemOutcome,
    content: State,
}

/// What was done about a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemOutcome {
    /// It was analysed.
    Analysed,
    /// Its state was there.
    Skipped,
    /// It has the content of another capture of this run, whose state was used.
    Copied,
    /// It could not be read; its state says why.
    Unreadable,
    /// The run was ended; what had been read by then is in a file beside the states.
    Interrupted,
}

/// What of a folder can be merged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Finished states of this format, by name.
    pub states: Vec<PathBuf>,
    /// What interrupted runs had read of captures without a finished state.
    pub unfinished: Vec<PathBuf>,
    /// States of other versions of the format.
    pub other_versions: usize,
    /// Runs that are not done, or were ended before they were.
    pub open_runs: Vec<OpenRun>,
}

/// Which captures have which content, in the order in which they were named.
#[derive(Default)]
struct Claims {
    /// How many captures are known.
    next: usize,
    by_content: HashMap<u128, usize>,
}

impl StateDir {
    /// The folder, which is made where it is not there.
    ///
    /// # Errors
    /// [`Error::Output`] where it cannot be made; [`Error::Usage`] where the request depends on more than one capture.
    pub fn open(folder: &Path, settings: &Settings, stream: Option<&str>) -> Result<Self, Error> {
        if settings.is_relative() {
            return Err(Error::Usage(
                "--from and --to that count from the first frame need one run; with --state-dir name moments".into(),
            ));
        }
        fs::create_dir_all(folder).map_err(|source| Error::Output { path: folder.into(), source })?;
        let asked = postcard::to_stdvec(&(settings.resolve(Timestamp::UNKNOWN), stream))
            .map_err(|error| Error::Output { path: folder.into(), source: io::Error::other(error) })?;
        let (settings, stream) = (settings.clone(), stream.map(str::to_owned));
        Ok(Self { folder: folder.into(), asked: XxHash3_64::oneshot(&asked), stream, settings })
    }

    /// What of a folder can be merged.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be listed.
    pub fn held(folder: &Path) -> Result<Held, Error> {
        let io = |source| Error::Io { path: folder.into(), source };
        let mut held = Held { open_runs: open_runs(folder).map_err(io)?, ..Held::default() };
        let own = format!(".v{VERSION}.state");
        for entry in fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.ends_with(&own) {
                held.states.push(path);
            } else if let Some(finished) = name.strip_suffix(".partial").filter(|name| name.ends_with(&own)) {
                if !folder.join(finished).exists() {
                    held.unfinished.push(path);
                }
            } else if name.ends_with(".state") {
                held.other_versions = held.other_versions.saturating_add(1);
            }
        }
        held.states.sort();
        held.unfinished.sort();
        Ok(held)
    }

    /// Makes the states that are missing, on up to `jobs` threads, each of one capture. `told` hears of each capture when it is done.
    ///
    /// # Errors
    /// [`Error::Output`] where a state cannot be written: then no further capture is begun.
    pub fn fill(
        &self,
        inputs: &[Input],
        jobs: usize,
        progress: &dyn Progress,
        told: &(dyn Fn(&Item) + Sync),
    ) -> Result<Vec<Item>, Error> {
        let running = Running::begin(&self.folder, inputs);
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let claims = (Mutex::new(Claims::default()), Condvar::new());
        let worker = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(input) = inputs.get(at) else { return done };
                let ended = || failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
                let ends = progress.interrupted() || ended();
                let content =
                    if ends { Err(io::ErrorKind::Interrupted.into()) } else { digest_of(input.source.name()) };
                // Also where this run ends: threads with later captures wait for this one's turn to pass.
                let first = claim(&claims, at, content.as_ref().ok().copied());
                if ends {
                    return done;
                }
                let first = first.filter(|first| *first != at).and_then(|first| inputs.get(first));
                match self.item(input, content, first, progress) {
                    Ok(Made { at: state, outcome, content }) => {
                        let path = input.source.name().into();
                        let item = Item { path, state, outcome, captures: content.captures() };
                        told(&item);
                        done.push((at, item));
                    }
                    Err(error) => {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        return done;
                    }
                }
            }
        };
        let mut done: Vec<(usize, Item)> = thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
            let joined = workers.into_iter().map(|worker| match worker.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.flatten().collect()
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        if let Some(running) = running.filter(|_| done.len() == inputs.len()) {
            running.done()?;
        }
        done.sort_unstable_by_key(|(at, _)| *at);
        Ok(done.into_iter().map(|(_, item)| item).collect())
    }

    /// One capture, which may have the content of one that was named before it.
    fn item(
        &self,
        input: &Input,
        content: io::Result<u128>,
        first: Option<&Input>,
        progress: &dyn Progress,
    ) -> Result<Made, Error> {
        let path = input.source.name();
        let by_path = XxHash3_64::oneshot(path.as_os_str().as_encoded_bytes());
        let unread = self.state_path(&format!("unread-{by_path:016x}"));
        let content = match content {
            Ok(content) => content,
            Err(source) => {
                let mut content = State::new(self.settings.resolve(Timestamp::UNKNOWN), Streams::default());
                content.lacks_inputs(&[Error::Io { path: path.into(), source }]);
                let lock = Lock::take(&unread)?;
                put(&unread, &content)?;
                drop(lock);
                return Ok(Made { at: unread, outcome: ItemOutcome::Unreadable, content });
            }
        };
        // It could not be read before, and now it can.
        remove(&unread)?;
        // What makes another report is in the name.
        let digest = progress.digest().map_or_else(
            || "none".to_owned(),
            |request| {
                let whole = if request.most_bytes == u64::MAX { "-of-all" } else { "" };
                format!("{}{whole}", request.algorithm.name())
            },
        );
        let own = self.state_path(&format!("{content:032x}-{digest}"));
        let Some(first) = first else { return self.analysed(input, own, progress) };
        let copy = self.state_path(&format!("{content:032x}-{digest}-{by_path:016x}"));
        if let Ok(content) = State::open(&Source::Path(copy.clone())) {
            return Ok(Made { at: copy, outcome: ItemOutcome::Skipped, content });
        }
        let mut made = self.analysed(first, own, progress)?;
        if made.outcome == ItemOutcome::Interrupted {
            return Ok(made);
        }
        let old = first.source.name().to_string_lossy();
        made.content.rename_input(&old, &path.to_string_lossy());
        let lock = Lock::take(&copy)?;
        put(&copy, &made.content)?;
        drop(lock);
        Ok(Made { at: copy, outcome: ItemOutcome::Copied, content: made.content })
    }

    /// The state of a capture, made unless it is there.
    fn analysed(&self, input: &Input, at: PathBuf, progress: &dyn Progress) -> Result<Made, Error> {
        // One that is damaged is made again.
        let there = || State::open(&Source::Path(at.clone())).ok();
        if let Some(content) = there() {
            return Ok(Made { at, outcome: ItemOutcome::Skipped, content });
        }
        let lock = Lock::take(&at)?;
        // Another process may have made it meanwhile.
        if let Some(content) = there() {
            return Ok(Made { at, outcome: ItemOutcome::Skipped, content });
        }
        let Analysed { state: mut content, errors } = analyse(std::slice::from_ref(input), &self.settings, 1, progress);
        content.label(self.stream.as_deref(), None);
        content.lacks_inputs(&errors);
        let unfinished = beside(&at, "partial");
        if progress.interrupted() {
            put(&unfinished, &content)?;
            drop(lock);
            return Ok(Made { at: unfinished, outcome: ItemOutcome::Interrupted, content });
        }
        put(&at, &content)?;
        remove(&unfinished)?;
        drop(lock);
        let outcome = if errors.is_empty() { ItemOutcome::Analysed } else { ItemOutcome::Unreadable };
        Ok(Made { at, outcome, content })
    }

    fn state_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{:016x}.v{VERSION}.state", self.asked))
    }
}

/// Writes a state under another name first, so that one of its own name is whole. Whoever writes holds its lock: the other name is of this
/// state alone, and what a process that died left of it is written over.
fn put(path: &Path, state: &State) -> Result<(), Error> {
    let temporary = beside(path, "tmp");
    let write = || {
        let mut file = File::create(&temporary)?;
        state.write(io::BufWriter::new(&mut file))?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        // The disk may be full: what is there of it is of no use.
        let _ = fs::remove_file(&temporary);
        Error::Output { path: path.into(), source }
    })
}

/// The first capture with this content, once all captures that were named before this one are known.
fn claim(claims: &(Mutex<Claims>, Condvar), at: usize, content: Option<u128>) -> Option<usize> {
    let (claims, known) = claims;
    let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
    while claims.next < at {
        claims = known.wait(claims).unwrap_or_else(PoisonError::into_inner);
    }
    let first = content.map(|content| *claims.by_content.entry(content).or_insert(at));
    claims.next = at.saturating_add(1);
    known.notify_all();
    first
}

/// Digest of the octets of a file as it is, compressed or not.
fn digest_of(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        let what = "not a regular file; --state-dir needs files, which it can read again";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let mut digest = XxHash3_128::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(digest.finish_128()),
            Ok(n) => digest.write(piece.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A name beside a state.
fn beside(state: &Path, extension: &str) -> PathBuf {
    let mut name = state.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// Removes a file that may not be there.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Output { path: path.into(), source }),
        _ => Ok(()),
    }
}

/// The right to make a state. The system takes it back from a process that dies.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits for it.
    fn take(state: &Path) -> Result<Self, Error> {
        let path = beside(state, "lock");
        let fail = |source| Error::Output { path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for Lock {
    /// The state is there by now, so whoever waits for this file, or makes another one, finds it.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
