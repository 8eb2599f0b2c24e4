//! Frames become observations.

pub(super) mod express;
pub(super) mod observation;
pub(super) mod observer;
mod link_signalling;
mod packet_digest;
