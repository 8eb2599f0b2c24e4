//! The rows of a report's tables.

mod carried;
pub(super) mod directions;
pub(super) mod events;
pub(super) mod fragmented;
pub(super) mod gaps;
pub(super) mod inferred;
pub(in crate::analysis) mod lengths;
pub(super) mod padding;
pub(super) mod sa_bins;
pub(in crate::analysis::finish) mod sas;
pub(super) mod sizes;
