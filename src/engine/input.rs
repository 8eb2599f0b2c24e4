//! What a run is given and what it gives back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::analysis::{self, Expectation};
use crate::capture::{CaptureInfo, Source};
use crate::model::report::Report;
use crate::model::{Address, Error, Spi, Timestamp};

/// One capture to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Where it is.
    pub source: Source,
    /// The tap it belongs to, where the user said so.
    pub tap: Option<String>,
}

/// What a run is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Width of a time bin in nanoseconds.
    pub bin_ns: u64,
    /// Only frames at or after this time.
    pub from: Option<TimeBound>,
    /// Only frames before this time.
    pub to: Option<TimeBound>,
    /// Only frames with this address in one of their IP headers.
    pub peer: Option<Address>,
    /// Only frames with this SPI.
    pub spi: Option<Spi>,
    /// UDP ports besides 500 and 4500 that carry ESP.
    pub udp_ports: Vec<u16>,
    /// VXLAN and GENEVE outside IPsec are overlay tunnels, not mirror shells.
    pub overlay: bool,
    /// Rate of the link in bits per second.
    pub link_rate_bps: Option<u64>,
    /// Lost share of an SA's numbers above which a gap is a warning, per cent.
    pub max_loss_pct: f64,
    /// What should be on the wire.
    pub expectation: Expectation,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bin_ns: 1_000_000_000,
            from: None,
            to: None,
            peer: None,
            spi: None,
            udp_ports: Vec::new(),
            overlay: false,
            link_rate_bps: None,
            max_loss_pct: 0.1,
            expectation: Expectation::default(),
        }
    }
}

impl Settings {
    /// Whether a limit counts from the first frame of the run.
    pub(crate) fn is_relative(&self) -> bool {
        [self.from, self.to].iter().flatten().any(|bound| matches!(bound, TimeBound::Relative(_)))
    }

    /// The settings of the analysis, all limits as moments, where the run begins at `start`.
    pub(crate) fn resolve(&self, start: Timestamp) -> analysis::Settings {
        let Self { bin_ns, from, to, peer, spi, udp_ports, overlay, link_rate_bps, max_loss_pct, expectation } = self;
        analysis::Settings {
            bin_ns: *bin_ns,
            from: from.map(|bound| bound.resolve(start)),
            to: to.map(|bound| bound.resolve(start)),
            peer: *peer,
            spi: *spi,
            udp_ports: udp_ports.clone(),
            overlay: *overlay,
            link_rate_bps: *link_rate_bps,
            max_loss_pct: *max_loss_pct,
            expectation: expectation.clone(),
        }
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
pub struct Outcome {
    /// What was found in all that could be read.
    pub report: Report,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
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

    /// What is set when the run should end, where something else than this thread may look at it: then a run ends even while
    /// it waits for a pipe.
    fn interrupt(&self) -> Option<Arc<AtomicBool>> {
        None
    }
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
