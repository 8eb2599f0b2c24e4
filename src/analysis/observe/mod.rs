//! Frames become observations.

pub(super) mod express;
mod link_signalling;
pub(super) mod observation;
pub(super) mod observer;
mod packet_digest;
