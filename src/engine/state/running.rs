//! Runs that write into a folder of states. Each keeps a list of its captures there until all of them are done: a run that was killed can
//! say nothing, but its list stays.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::dir::remove;
use super::file::VERSION;
use crate::engine::Input;
use crate::model::Error;

/// A run into a folder that is not done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OpenRun {
    /// How many captures it was to analyse.
    pub captures: usize,
    /// Whether it still goes on.
    pub alive: bool,
}

/// A run's list in its folder, locked as long as the run lives.
pub(super) struct Running {
    path: PathBuf,
    captures: BTreeSet<String>,
    _file: File,
}

impl Running {
    /// Writes the list; `None` where the folder takes no file. Then it takes no state either, which is said where there is one to write.
    pub(super) fn begin(folder: &Path, inputs: &[Input]) -> Option<Self> {
        // Another run may name them from another folder.
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let captures: BTreeSet<String> =
            inputs.iter().map(|input| format!("{:?}", whole(input.source.name()).as_os_str())).collect();
        let mut list = captures.iter().map(|path| format!("{path}\n")).collect::<String>();
        let path = folder.join(format!("run-{:016x}.v{VERSION}.run", XxHash3_64::oneshot(list.as_bytes())));
        list.insert_str(0, &format!("{}\n", captures.len()));
        let write = || -> io::Result<File> {
            let mut file = File::options().create(true).truncate(false).write(true).open(&path)?;
            // Another run over the same captures has it: one of both is enough.
            let _ = file.try_lock();
            file.write_all(list.as_bytes())?;
            Ok(file)
        };
        if let Ok(file) = write() {
            return Some(Self { path, captures, _file: file });
        }
        // Half a list is of no use.
        let _ = fs::remove_file(&path);
        None
    }

    /// All captures are done: takes away the list, and out of those of runs that ended early what is done now.
    pub(super) fn done(self) -> Result<(), Error> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        for list in lists(folder).unwrap_or_default() {
            if list == self.path || is_alive(&list) {
                continue;
            }
            let known = fs::read_to_string(&list).unwrap_or_default();
            let open: Vec<&str> = known.lines().skip(1).filter(|path| !self.captures.contains(*path)).collect();
            if open.is_empty() {
                remove(&list)?;
            } else if open.len() + 1 < known.lines().count() {
                // A folder that takes no file keeps the old list, which says no less.
                let _ = fs::write(&list, format!("{}\n{}\n", open.len(), open.join("\n")));
            }
        }
        remove(&self.path)
    }
}

/// The runs into a folder that are not done.
pub(super) fn open_runs(folder: &Path) -> io::Result<Vec<OpenRun>> {
    let run = |list: PathBuf| {
        let known = fs::read_to_string(&list).unwrap_or_default();
        let captures = known.lines().next().and_then(|count| count.parse().ok()).unwrap_or(0);
        OpenRun { captures, alive: is_alive(&list) }
    };
    let mut runs: Vec<OpenRun> = lists(folder)?.into_iter().map(run).collect();
    runs.sort_unstable();
    Ok(runs)
}

fn lists(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let own = format!(".v{VERSION}.run");
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    let is_list = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&own));
    Ok(paths.into_iter().filter(is_list).collect())
}

/// Whether the run that wrote a list still holds it.
fn is_alive(list: &Path) -> bool {
    File::open(list).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
