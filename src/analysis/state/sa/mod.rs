//! What is kept of each SA.

pub(in crate::analysis) mod bins;
pub(in crate::analysis) mod candidates;
pub(crate) mod keyed;
pub(in crate::analysis) mod null;
pub(in crate::analysis) mod opaque;
pub(in crate::analysis) mod pads;
pub(in crate::analysis) mod sas;
pub(in crate::analysis) mod sequence;
pub(in crate::analysis) mod sizes;
