//! Frames become observations.

pub(super) mod express;
pub(super) mod observation;
pub(super) mod observer;
mod packet_digest;
