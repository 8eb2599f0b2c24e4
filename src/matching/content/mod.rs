//! Pairs by what is in a packet.

pub(super) mod alike;
pub(super) mod beside;
pub(super) mod digested;
pub(super) mod ends;
pub(super) mod identity;
pub(super) mod index;
pub(super) mod queue;
pub(super) mod repeats;
