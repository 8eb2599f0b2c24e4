//! Where a capture comes from.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::digest::{DigestRequest, Hasher};
use super::memory::MemoryCapture;
use crate::model::report::CaptureDigest;

/// A capture as it was named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file, or anything else with a path that can be read from its beginning, such as a named pipe.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Frames that a program holds.
    Memory(MemoryCapture),
}

impl Source {
    /// From an argument: `-` is standard input, everything else a path.
    #[must_use]
    pub fn from_arg(arg: &OsStr) -> Self {
        if arg == "-" { Self::Stdin } else { Self::Path(PathBuf::from(arg)) }
    }

    /// The source as messages and reports name it; `-` is standard input.
    #[must_use]
    pub fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Stdin => Path::new("-"),
            Self::Memory(capture) => capture.name(),
        }
    }

    /// Opens a file for reading from octet `begin` on; standard input has only one beginning.
    pub(crate) fn open_at(&self, begin: u64) -> io::Result<Opened> {
        let opened = self.open()?;
        let Self::Path(path) = self else { return Ok(opened) };
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(begin))?;
        Ok(Opened { input: Box::new(file), ..opened })
    }

    /// Opens the source for reading.
    pub(crate) fn open(&self) -> io::Result<Opened> {
        match self {
            Self::Stdin => Ok(Opened { input: Box::new(io::stdin()), total: None, live: true }),
            Self::Memory(capture) => {
                Ok(Opened { input: Box::new(capture.reader()), total: Some(capture.len()), live: false })
            }
            Self::Path(path) => {
                let file = File::open(path)?;
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(io::Error::new(
                        io::ErrorKind::IsADirectory,
                        "this is a directory; name the capture files in it",
                    ));
                }
                let regular = metadata.is_file();
                Ok(Opened { input: Box::new(file), total: regular.then_some(metadata.len()), live: !regular })
            }
        }
    }
}

/// An opened source.
pub(crate) struct Opened {
    pub(crate) input: Box<dyn Read + Send>,
    /// Size of a regular file.
    pub(crate) total: Option<u64>,
    /// Whether more may come later: then what is complete is delivered before a buffer is full.
    pub(crate) live: bool,
}

/// Counts what is read from the raw input, below any decompression, and retries interrupted reads there: not every
/// decompressor survives one.
pub(crate) struct Counted {
    pub(crate) input: Box<dyn Read + Send>,
    pub(crate) count: Arc<AtomicU64>,
    /// Where a digest of it is wanted: what takes it, until the input has ended.
    pub(crate) hasher: Option<Hasher>,
    /// The digest, once the input has ended: then all of it was read.
    pub(crate) digest: Arc<OnceLock<CaptureDigest>>,
}

impl Counted {
    pub(crate) fn new(input: Box<dyn Read + Send>, request: Option<DigestRequest>) -> Self {
        Self { input, count: Arc::default(), hasher: request.map(Hasher::new), digest: Arc::default() }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        if n > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.add(buffer.get(..n).unwrap_or_default());
            }
        } else if !buffer.is_empty()
            && let Some(digest) = self.hasher.take().and_then(Hasher::finish)
        {
            // There is one end, so the place is empty.
            let _ = self.digest.set(digest);
        }
        // A progress figure: nothing is ordered by it.
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl From<&str> for Source {
    /// A path.
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<MemoryCapture> for Source {
    fn from(capture: MemoryCapture) -> Self {
        Self::Memory(capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Source::from_arg(OsStr::new("-")), Source::Stdin);
        assert_eq!(Source::from_arg(OsStr::new("-")).name(), Path::new("-"));
        assert_eq!(Source::from_arg(OsStr::new("a.pcap")), Source::Path("a.pcap".into()));
    }

    #[test]
    fn a_directory_is_refused_in_words() {
        let error = Source::Path(std::env::temp_dir()).open().err().expect("a directory cannot be opened");
        assert!(error.to_string().contains("directory"), "{error}");
    }
}
