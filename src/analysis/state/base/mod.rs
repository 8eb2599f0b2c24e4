//! What accumulators are made of: sets of numbers, numbered keys, counts with their first and last frame.

pub(in crate::analysis) mod direction_set;
pub(in crate::analysis) mod intern;
pub(in crate::analysis) mod interval;
pub(in crate::analysis) mod likeness;
pub(in crate::analysis) mod listed;
pub(in crate::analysis) mod rare;
pub(in crate::analysis) mod seen;
pub(in crate::analysis) mod span;
pub(in crate::analysis) mod steps;
pub(in crate::analysis) mod succession;
pub(in crate::analysis) mod tables;
