//! How much pairing keeps. Nothing grows with the number of frames.

/// Packets of one side that wait for their counterpart. What waits longer is unmatched.
pub(super) const MAX_WAITING: usize = 1 << 17;
/// Flows that are told apart.
pub(super) const MAX_FLOWS: usize = 1 << 16;
/// Pairs that are held back until the clocks are compared; so many are compared at once.
pub(super) const HELD_PAIRS: usize = 1 << 16;
/// SAs and tunnels.
pub(super) const MAX_SAS: usize = 1 << 16;
/// Rows of sizes.
pub(super) const MAX_SIZES: usize = 1 << 16;
/// Lost packets that are named.
pub(super) const MAX_LOST: usize = 10_000;
/// Missing numbers among the packets that are looked at together; what an alignment takes grows with them. Larger gaps are jumps.
pub(super) const MAX_HOLES_AT_ONCE: i64 = 1_024;
/// Holes whose plaintext packet is remembered, in case the packet arrives late.
pub(super) const MAX_HOLES: usize = 4_096;
/// Outer fragments that wait for their first one, or for more.
pub(super) const MAX_TRAINS: usize = 4_096;
/// How long a packet waits for its counterpart once the clocks are known, in nanoseconds.
pub(super) const HORIZON_NS: i64 = 10_000_000_000;
/// How long fragments of one packet wait for each other (as in reports), in nanoseconds.
pub(super) const TRAIN_NS: i64 = 2_000_000_000;
/// Tunnelled packets after which captures without any pair are given up.
pub(super) const HOPELESS: u64 = 1 << 17;
/// Links of plaintext that are told apart, by MAC addresses. Those beyond share the first one's number.
pub(super) const MAX_LINKS: usize = 4_096;
/// Addresses that are put on one side or the other where there are no MAC addresses.
pub(super) const MAX_COLOURS: usize = 1 << 16;
