//! A capture file that another program is writing, read as it grows.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant;

use super::{Interrupt, PATIENCE};

/// Reads a file, and at its end waits for more: until the run is to end, or another file has its name or its beginning is gone, as when
/// captures are rotated. After an interrupt it is read like a pipe, until it grows no more.
pub(super) struct Growing {
    path: PathBuf,
    file: File,
    interrupt: Arc<Interrupt>,
    /// Octets that were read.
    at: u64,
    /// When it last grew.
    newest: Instant,
}

impl Growing {
    /// Opens a file; waits for it where it is not there yet.
    pub(super) fn open(path: &Path, interrupt: Arc<Interrupt>) -> io::Result<Self> {
        let newest = Instant::now();
        loop {
            let over = interrupt.is_over(newest, true);
            match File::open(path) {
                Ok(file) if file.metadata()?.len() > 0 || over => {
                    return Ok(Self { path: path.to_owned(), file, interrupt, at: 0, newest: Instant::now() });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound || over => return Err(error),
                _ => sleep(PATIENCE),
            }
        }
    }

    /// Whether nothing more will be written to it.
    fn is_left(&self) -> bool {
        let Ok(own) = self.file.metadata() else { return true };
        let named = std::fs::metadata(&self.path);
        own.len() < self.at || named.is_ok_and(|named| !is_one(&own, &named))
    }
}

/// A name, and the file that had it.
pub(in crate::engine) struct FollowedName<'p> {
    path: &'p Path,
    begun: Option<Metadata>,
}

impl<'p> FollowedName<'p> {
    /// The file that has the name now.
    pub(in crate::engine) fn new(path: &'p Path) -> Self {
        Self { path, begun: std::fs::metadata(path).ok() }
    }

    /// Waits until another file has the name or the file begins anew, or until `over`.
    pub(in crate::engine) fn wait_for_next(self, mut over: impl FnMut() -> bool) {
        let Some(known) = self.begun.or_else(|| std::fs::metadata(self.path).ok()) else { return };
        let replaced = |named: Metadata| !is_one(&known, &named) || named.len() < known.len();
        while !over() && !std::fs::metadata(self.path).map_or(true, replaced) {
            sleep(PATIENCE);
        }
    }
}

#[cfg(unix)]
fn is_one(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Where files have no numbers, one that was created at another time is another one.
#[cfg(not(unix))]
fn is_one(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Looked at before the read: what is written in between is read the next time.
            let left = self.is_left();
            let read = self.file.read(buffer)?;
            if read > 0 {
                self.at += read as u64;
                self.newest = Instant::now();
                return Ok(read);
            }
            if left || self.interrupt.is_over(self.newest, true) {
                return Ok(0);
            }
            self.interrupt.pause()?;
            sleep(PATIENCE);
        }
    }
}
