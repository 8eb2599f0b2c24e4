//! The mergeable state of a span: what all accumulators are made of, what is kept of SAs, of traffic, and how it is written to a file.

pub(super) mod base;
pub(crate) mod sa;
pub(super) mod sound;
pub(crate) mod stream;
pub(crate) mod traffic;
