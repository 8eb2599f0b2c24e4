//! How many keys and high halves of sequence numbers are tried.

/// Keys tried for one SA: its two ends may state different ones, and lists others again.
pub(crate) const MAX_KEYS_OF_AN_SA: usize = 256;
/// High halves of sequence numbers tried where the wire does not show which: from 0 up, 2^32 packets each.
pub(crate) const MAX_HIGH_HALVES: u32 = 16;
