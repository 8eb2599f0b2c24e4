//! How much pairing keeps. Nothing grows with the number of frames. What a bound turns away is counted, and the report says so:
//! [`degraded`](super::degraded).

/// Packets of one side that wait for their counterpart. What waits longer is unmatched.
pub(super) const MAX_WAITING: usize = 1 << 17;
/// Waiting packets that are compared with one that came: they are alike in their first octets and were not wholly captured.
pub(super) const MAX_ALIKE: usize = 64;
/// Flows that are told apart.
pub(super) const MAX_FLOWS: usize = 1 << 16;
/// Flows outside the tunnel that are listed, those with most packets.
pub(super) const MAX_OUTSIDE: usize = 1_000;
/// Pairs of MAC addresses that are told apart; they say which way a packet goes.
pub(super) const MAX_LINKS: usize = 4_096;
/// Addresses of which a way is known where there are no MAC addresses.
pub(super) const MAX_COLOURS: usize = 1 << 16;
/// Pairs that are held back until the clocks are compared; so many are compared at once.
pub(super) const HELD_PAIRS: usize = 1 << 16;
/// SAs and tunnels.
pub(super) const MAX_SAS: usize = 1 << 16;
/// Rows of sizes.
pub(super) const MAX_SIZES: usize = 1 << 16;
/// Rows of sizes with times: enough for every size of an Ethernet packet both ways, and no more than 64 MiB.
pub(super) const MAX_TIMED_SIZES: usize = 4_096;
/// Lost packets that are named.
pub(super) const MAX_LOST: usize = 10_000;
/// Time bins of all directions; narrower ones are joined. Each holds a distribution of times.
pub(super) const MAX_SPREAD_BINS: usize = 2_048;
/// Time bins of one direction.
pub(super) const MAX_BINS_OF_ONE: usize = 300;
/// Missing numbers among the packets that are looked at together; what an alignment takes grows with them. Larger gaps are jumps.
pub(super) const MAX_HOLES_AT_ONCE: i64 = 1_024;
/// Holes of one direction whose plaintext packet is remembered, in case the packet arrives late.
pub(super) const MAX_HOLES: usize = 4_096;
/// Silences of a tap that are remembered, the longest ones.
pub(super) const MAX_SILENCES: usize = 1 << 12;
/// Missing packets whose time is remembered, and of which lengths are kept apart while the verdict on a silence is open.
pub(super) const MAX_MISSED: usize = 1 << 16;
/// Outer fragments that wait for their first one, or for more.
pub(super) const MAX_TRAINS: usize = 4_096;
/// Fragments of a packet that are kept; the longest packet has fewer on any usual link.
pub(super) const MAX_PIECES: usize = 128;
/// Octets of fragments that are kept in all, to be decrypted.
pub(super) const MAX_KEPT: usize = 1 << 24;
/// Frames that are shown as examples of padding, and of what became of it at the far side. All are counted.
pub(super) const MAX_EXAMPLES: usize = 16;
/// How long a packet waits for its counterpart once the clocks are known, in nanoseconds.
pub(super) const HORIZON_NS: i64 = 10_000_000_000;
/// How long a packet may be on its way between two taps, in nanoseconds. What made room for others earlier might have been paired.
pub(super) const ON_ITS_WAY_NS: i64 = 1_000_000_000;
/// How long fragments of one packet wait for each other (as in reports), in nanoseconds.
pub(super) const TRAIN_NS: i64 = 2_000_000_000;
/// How long fragments that find no room wait before those that waited too long are looked for again, in nanoseconds.
pub(super) const SWEEP_NS: u64 = TRAIN_NS as u64 / 16;
/// Tunnelled packets after which captures without any pair are given up.
pub(super) const HOPELESS: u64 = 1 << 17;
