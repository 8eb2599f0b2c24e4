//! Figures of single trials.

mod device;
pub(crate) mod fit;
mod inside;
mod late;
pub(crate) mod load;
mod measure;
mod pauses;
mod stamps;
mod state;
pub(crate) mod tally;

pub(crate) use late::silence;
pub(crate) use measure::{Measured, Sample, measure};
pub(crate) use state::{group, judge};
