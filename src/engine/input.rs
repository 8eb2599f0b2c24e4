//! What a run is given and what it gives back.

use std::path::Path;
use std::sync::Arc;

use super::live::Interrupt;
use crate::analysis;
use crate::capture::DigestRequest;
use crate::capture::{CaptureInfo, Source};
use crate::model::report::Report;
use crate::model::{Error, Timestamp};

/// One capture to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Where it is.
    pub source: Source,
    /// The tap it belongs to, where the user said so.
    pub tap: Option<String>,
}

impl<S: Into<Source>> From<S> for Input {
    /// A capture of which nothing is said but where it is.
    fn from(source: S) -> Self {
        Self { source: source.into(), tap: None }
    }
}

/// What a run is asked for.
pub type Settings = analysis::Settings<TimeBound>;

impl Settings {
    /// Whether a limit counts from the first frame of the run.
    pub(crate) fn is_relative(&self) -> bool {
        [self.from, self.to].iter().flatten().any(|bound| matches!(bound, TimeBound::Relative(_)))
    }

    /// The settings of the analysis, all limits as moments, where the run begins at `start`.
    pub(crate) fn resolve(&self, start: Timestamp) -> analysis::Settings {
        self.with_times(|bound| bound.resolve(start))
    }
}

/// A limit in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeBound {
    /// A moment.
    Absolute(Timestamp),
    /// Nanoseconds after the first frame of the run.
    Relative(i64),
}

impl TimeBound {
    /// The moment meant, where the run begins at `start`. Unknown where it is relative and no start is known.
    #[must_use]
    pub fn resolve(self, start: Timestamp) -> Timestamp {
        match self {
            Self::Absolute(time) => time,
            Self::Relative(after) => {
                start.ns().map_or(Timestamp::UNKNOWN, |start| Timestamp::from_ns(start.saturating_add(after)))
            }
        }
    }
}

/// What came of a run.
#[derive(Debug)]
#[must_use = "`errors` names the inputs that could not be read"]
pub struct Outcome {
    /// What was found in all that could be read.
    pub report: Report,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
}

impl Outcome {
    /// The report, where every input could be read.
    ///
    /// # Errors
    /// The first input that could not be read.
    pub fn complete(self) -> Result<Report, Error> {
        self.errors.into_iter().next().map_or(Ok(self.report), Err)
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct ProgressUpdate<'a> {
    /// The capture being read, as it was named.
    pub path: &'a Path,
    /// Octets taken from it.
    pub bytes_done: u64,
    /// Its size, where it has one.
    pub bytes_total: Option<u64>,
    /// Frames read from it.
    pub frames: u64,
}

impl<'a> ProgressUpdate<'a> {
    /// How far a capture has been read.
    pub(crate) fn of(info: &'a CaptureInfo) -> Self {
        Self { path: &info.path, bytes_done: info.bytes_consumed, bytes_total: info.bytes_total, frames: info.frames }
    }
}

/// Who wants to know how far a run has come, and may end it.
pub trait Progress: Sync {
    /// Called every few milliseconds of work.
    fn update(&self, progress: &ProgressUpdate<'_>);

    /// Whether the run should end now and report what it has.
    fn interrupted(&self) -> bool;

    /// The request to end, where other threads may look at it: then a run ends even while it waits for a pipe, and pipes are read
    /// to their end.
    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        None
    }

    /// Whether files are read on as they grow, and again where another one gets their name.
    fn follows(&self) -> bool {
        false
    }

    /// Of which captures a digest is taken that a report lists, and how; `None` for none.
    fn digest(&self) -> Option<DigestRequest> {
        Some(DigestRequest::default())
    }

    /// Takes a report of what was read so far, as [`Interrupt::want_report`] asked for it.
    fn interim(&self, _: Report) {}
}

/// Nobody wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn update(&self, _: &ProgressUpdate<'_>) {}

    fn interrupted(&self) -> bool {
        false
    }
}
