//! Packets that left a first-in-first-out device: which of those that came in they are.

mod busy;
mod leaving;
mod tail_drop;

pub(crate) use busy::joined;
pub(super) use leaving::{Assigned, Idle, Leaving};
