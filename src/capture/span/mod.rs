//! Spans of whole records: walked over, cut, and read alone.

pub(super) mod chunk;
pub(super) mod parts;
pub(super) mod walk;
