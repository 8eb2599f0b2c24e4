//! What a benchmark run measured: trials found in the load, which frame became which, and every figure of the benchmark documents.
//!
//! [`read`] takes from each frame what is needed. When all taps are read, [`segments`] finds the trials where packets come in,
//! [`association`] finds where they went, [`figures`] measures each trial and [`sizes`] what trials of a size say together. Association
//! is its own, not that of `match`: constant sizes with heavy loss have no content and no even order, but a first-in-first-out queue.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "times stick within 2^61 of 1970 (`limits::FURTHEST_NS`), so that differences have room; frames are counted in 64 bits and records \
              bounded by `limits`; rates, latencies and sums of squares are floats"
)]

mod association;
mod begins;
mod changed;
mod figures;
mod finish;
mod left_out;
mod limits;
mod read;
pub(crate) mod report;
mod segments;
mod settings;
mod shown;
mod sizes;
mod thinned;
mod transfers;
mod trial;
mod untold;

pub(crate) use association::ClockFigures;
pub(crate) use finish::{Figured, TapsGiven, finish};
pub(crate) use limits::SHORT_SECONDS;
pub(crate) use read::{Place, Taps};
pub use segments::{GivenTrial, read_given};
pub use settings::{RateLayer, SearchSettings, TrialsSettings};
pub use sizes::baseline::ClearTrial;
pub use sizes::search::{Standing, follow};
