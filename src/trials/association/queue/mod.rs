//! Packets that left a first-in-first-out device: which of those that came in they are.

mod busy;
mod idle;
mod leaving;
mod one_queue;
mod rooms;
mod tail_drop;

pub(crate) use busy::{at_pauses, joined};
pub(super) use idle::Idle;
pub(super) use leaving::{Assigned, Leaving};
pub(super) use one_queue::{OneQueue, Passing, one_queue};
pub(super) use rooms::QueueRoom;
