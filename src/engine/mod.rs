//! A run: captures in, a report or rows out.

mod frames;
mod input;

pub use frames::{FramesOutcome, frames};
pub use input::{Input, Outcome, Progress, ProgressUpdate, Quiet, Settings, TimeBound};
