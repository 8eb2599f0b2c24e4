//! Where a report goes: standard output, or a file that appears when it is complete.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::model::Error;

/// An open destination.
pub(super) enum Sink {
    Stdout(io::Stdout),
    /// A folder for files of their own.
    Folder(PathBuf),
    /// A device or pipe that cannot be replaced.
    Direct(PathBuf, File),
    /// A file under a temporary name beside the one that was asked for.
    Replaced {
        target: PathBuf,
        temporary: PathBuf,
        file: BufWriter<File>,
    },
}

/// Files that are not finished, for whoever ends the program before they are.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what was not finished; for the end of the program.
pub(super) fn remove_unfinished() {
    for temporary in TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // Most have been renamed.
        let _ = std::fs::remove_file(temporary);
    }
}

/// How long a temporary file is left to the run that may still write it.
const ORPHANED: Duration = Duration::from_secs(7 * 86_400);

/// A new file beside the target. Processes in two containers that share a folder may have one number, so the name has the moment
/// and a hash that differs between processes, too.
fn new_temporary(target: &Path, number: usize) -> io::Result<(PathBuf, File)> {
    let mut attempts = 0;
    loop {
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        // Every state of hashing has keys of its own, from the system.
        let told_apart = RandomState::new().hash_one((moment, attempts));
        let name = format!(".spiglass-{}-{told_apart:016x}-{number}.part", std::process::id());
        let temporary = target.with_file_name(name);
        match File::options().write(true).create_new(true).open(&temporary) {
            // One that is there already is another run's.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 16 => attempts += 1,
            file => return Ok((temporary, file?)),
        }
    }
}

/// Removes what runs that were killed left beside the target, a week ago or earlier.
fn remove_orphans(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(".spiglass-") && name.ends_with(".part"));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if ours && age().is_some_and(|age| age >= ORPHANED) {
            // Another run may remove it at the same time.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Refuses to write over what is read: a report in the place of its capture would be all that is left of it.
pub(super) fn keep_apart<'p>(output: &Path, read: impl IntoIterator<Item = &'p Path>) -> Result<(), Error> {
    let place = |path: &Path| std::fs::canonicalize(path).ok().filter(|path| path.is_file());
    let Some(target) = place(output) else { return Ok(()) };
    match read.into_iter().find(|path| place(path).as_ref() == Some(&target)) {
        Some(path) => Err(Error::Usage(format!(
            "{} is read and would be written over; name another file for the output",
            path.display()
        ))),
        None => Ok(()),
    }
}

impl Sink {
    /// Opens it now, so that a wrong path is known before hours of reading. What is `read` must be another file.
    ///
    /// # Errors
    /// [`Error::Output`], or [`Error::Usage`] where the output would be written over what is read.
    pub(super) fn open<'p>(path: Option<&Path>, read: impl IntoIterator<Item = &'p Path>) -> Result<Self, Error> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else { return Ok(Self::Stdout(io::stdout())) };
        keep_apart(path, read)?;
        let fail = |source| Error::Output { path: path.to_path_buf(), source };
        // A link stays a link: what it points to is replaced.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if std::fs::metadata(&target).is_ok_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(&target).map_err(fail)?;
            return Ok(Self::Direct(target, file));
        }
        if target.file_name().is_none() {
            return Err(fail(io::ErrorKind::InvalidInput.into()));
        }
        let mut temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
        remove_orphans(&target);
        let (temporary, file) = new_temporary(&target, temporaries.len()).map_err(fail)?;
        temporaries.push(temporary.clone());
        Ok(Self::Replaced { target, temporary, file: BufWriter::new(file) })
    }

    /// Gives a file another name than the one that was asked for: that one with `extension` behind it.
    pub(super) fn rename_with(&mut self, extension: &str) {
        if let Self::Replaced { target, .. } = self {
            target.as_mut_os_string().push(format!(".{extension}"));
        }
    }

    /// Puts the file in place of the one that was asked for.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Self::Replaced { target, temporary, file } = &self {
            if let Ok(meta) = std::fs::metadata(target) {
                // As the file was; where that is not possible, as new files are.
                let _ = std::fs::set_permissions(temporary, meta.permissions());
            }
            file.get_ref().sync_all()?;
            std::fs::rename(temporary, target)?;
        }
        Ok(())
    }

    /// What messages call it.
    pub(super) fn name(&self) -> PathBuf {
        match self {
            Self::Stdout(_) => PathBuf::from("standard output"),
            Self::Folder(path) | Self::Direct(path, _) | Self::Replaced { target: path, .. } => path.clone(),
        }
    }
}

impl Drop for Sink {
    /// What was not finished leaves nothing behind.
    fn drop(&mut self) {
        if let Self::Replaced { temporary, .. } = self {
            // After a rename there is nothing to remove.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Folder(_) => Err(io::ErrorKind::IsADirectory.into()),
            Self::Direct(_, file) => file.write(bytes),
            Self::Replaced { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Folder(_) => Ok(()),
            Self::Direct(_, file) => file.flush(),
            Self::Replaced { file, .. } => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_only_when_finished() {
        let dir = std::env::temp_dir().join(format!("spiglass-sink-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let target = dir.join("report.json");
        std::fs::write(&target, "old").unwrap();
        let mut sink = Sink::open(Some(&target), []).unwrap();
        sink.write_all(b"half").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        drop(sink);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "nothing is left behind");
        let mut sink = Sink::open(Some(&target), []).unwrap();
        sink.write_all(b"new").unwrap();
        sink.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
        assert!(matches!(Sink::open(Some(&dir.join("missing/report.json")), []), Err(Error::Output { .. })));
        // The same file by another way.
        let read = dir.join("../").join(dir.file_name().unwrap()).join("report.json");
        assert!(matches!(Sink::open(Some(&target), [read.as_path()]), Err(Error::Usage(_))));
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
