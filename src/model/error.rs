//! The one error of the library, and damage found in a capture.

use serde::{Deserialize, Serialize};

use std::path::{Path, PathBuf};

/// Why something could not be done at all. Damage inside a capture that could be read up to there is [`Damage`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be opened or read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The input as it was named; `-` is standard input.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The input is not a capture that can be read, or not one at all.
    #[error("{path}: {what}", path = path.display())]
    Format {
        /// The input as it was named.
        path: PathBuf,
        /// What was found, what was expected and what to do, as one sentence.
        what: String,
    },
    /// The output could not be opened or written.
    #[error("{path}: {source}", path = path.display())]
    Output {
        /// The output as it was named.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The run was asked for something that makes no sense.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// The input or output that it is about; `None` for a wrong command line.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. } | Self::Format { path, .. } | Self::Output { path, .. } => Some(path),
            Self::Usage(_) => None,
        }
    }
}

/// What kind of damage ended or interrupted the reading of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends in the middle of a record: an interrupted capture or copy.
    Cut,
    /// A record or block cannot be what it claims to be.
    Corrupt,
    /// The operating system or a decompressor failed half-way.
    Read,
}

impl DamageKind {
    /// The word used in every output: `cut`, `corrupt` or `read`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Corrupt => "corrupt",
            Self::Read => "read",
        }
    }
}

/// The first damage found in a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What kind it is.
    pub kind: DamageKind,
    /// Byte offset in the decompressed stream where the damaged record or block begins.
    pub offset: u64,
    /// Number that the next frame would have had, from 1.
    pub frame: u64,
    /// What was found and what was expected, as a clause without a full stop: `the record claims 3221225472 bytes, the limit is 262144`.
    pub what: String,
    /// How many further places were damaged after this one (pcapng reading resumes at the next block).
    pub further: u64,
}
