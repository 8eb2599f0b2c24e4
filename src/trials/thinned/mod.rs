//! Rows of which not every record was kept: what each record stands for is counted, and times between records are read off the curve
//! of all that passed. Counts stay those of all frames; latencies are those of the packets whose records were kept at both taps.

mod curve;
mod measure;
mod pair;
mod queue;

use curve::{Curve, PassedFrames};
pub(crate) use measure::{ThinSample, stall, tally};
pub(crate) use pair::{Window, pair, sums};

use super::read::kept::Share;

/// What the records of a row stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thin {
    /// Of each record.
    pub(crate) share: Vec<Share>,
    /// Of each record, whether all packets that it stands for have its length.
    pub(crate) alike: Vec<bool>,
    /// Packets that came in up to each record.
    pub(crate) sent: Vec<f64>,
    /// Of these, what reached the tunnel tap; empty without one.
    pub(crate) tunnelled: Vec<f64>,
    /// Of these, what reached the last tap; empty without one.
    pub(crate) received: Vec<f64>,
    /// Records at the last tap, in order: when, and what they stand for.
    pub(crate) exits: Vec<(i64, Share)>,
    /// The same at the tunnel tap.
    pub(crate) wires: Vec<(i64, Share)>,
}

/// How much of a sum up to each record falls between two records.
pub(crate) fn between(sums: &[f64], from: usize, to: usize) -> f64 {
    let until = |end: usize| end.checked_sub(1).and_then(|at| sums.get(at)).copied().unwrap_or(0.0);
    (until(to) - until(from)).max(0.0)
}
