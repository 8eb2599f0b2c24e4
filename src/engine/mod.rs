//! A run: captures in, a report or dissected frames out.

#![expect(clippy::arithmetic_side_effects, reason = "bytes and frames of files are below 2^63")]

mod annotate;
mod frames;
mod input;
mod live;
mod pairing;
mod parts;
mod pipeline;
mod rotation;
mod run;
mod start;
mod state;
mod trials;

pub use crate::analysis::Expectation;
pub use annotate::{Annotated, annotate};
pub use frames::{FrameSink, FramesOutcome, frames};
pub use input::{Input, Outcome, Progress, ProgressUpdate, Quiet, Settings, TimeBound};
pub use live::Interrupt;
#[cfg(feature = "cli")]
pub use live::signals::{Signal, on_signal};
pub use pairing::{Matched, PairInputs, PairSink, pair};
pub use run::{Analysed, analyse, cores, run, watch};
pub use state::dir::{Held, Item, ItemOutcome, StateDir};
pub use state::index::RecordIndex;
pub use state::running::OpenRun;
pub use state::{Repeat, State};
pub use trials::{Benchmark, TrialsInputs, trials};
