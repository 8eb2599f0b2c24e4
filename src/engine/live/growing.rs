//! A capture file that another program is writing, read as it grows.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;

use super::{Interrupt, PATIENCE};

/// Reads a file, and at its end waits for more: until the run is to end, or another file has its name or its beginning is gone, as when
/// captures are rotated.
pub(super) struct Growing {
    path: PathBuf,
    file: File,
    interrupt: Arc<Interrupt>,
    /// Octets that were read.
    at: u64,
}

impl Growing {
    /// Opens a file; waits for it where it is not there yet.
    pub(super) fn open(path: &Path, interrupt: Arc<Interrupt>) -> io::Result<Self> {
        loop {
            match File::open(path) {
                Ok(file) if file.metadata()?.len() > 0 || interrupt.is_asked() => {
                    return Ok(Self { path: path.to_owned(), file, interrupt, at: 0 });
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound || interrupt.is_asked() => return Err(error),
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
            self.at += read as u64;
            if read > 0 || left || self.interrupt.is_asked() {
                return Ok(read);
            }
            self.interrupt.pause()?;
            sleep(PATIENCE);
        }
    }
}
