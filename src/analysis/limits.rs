//! Every bound of the analysis state, in one place. A bound that is hit is counted and makes the report `degraded`.

/// One second in nanoseconds.
pub(crate) const SECOND_NS: i64 = 1_000_000_000;

/// Security associations held; headers of further ones are counted, not tracked.
pub(crate) const MAX_SAS: usize = 200_000;
/// Ways a packet travels (SA, direction, stack, header costs) held.
pub(crate) const MAX_PATHS: usize = 400_000;
/// Distinct stacks held.
pub(crate) const MAX_STACKS: usize = 4_096;
/// Directions held; the rest is summed as `other`.
pub(crate) const MAX_DIRECTIONS: usize = 4_096;
/// Directions reported, in order of first appearance; the rest is summed as `other`. More are held than reported, so that
/// which ones are reported does not depend on how a stream is cut.
pub(crate) const REPORTED_DIRECTIONS: usize = 64;
/// Pairs of addresses held, inner and clear together.
pub(crate) const MAX_FLOWS: usize = 65_536;
/// Size cells held (path, inner size, outer size, padding).
pub(crate) const MAX_SIZE_CELLS: usize = 1_000_000;
/// Time bins held; beyond, neighbouring bins are joined.
pub(crate) const MAX_BINS: usize = 100_000;
/// Time bins of all SAs together; beyond, neighbouring bins are joined. More than there are SAs: each has one.
pub(crate) const MAX_SA_BINS: usize = 1 << 18;
/// SAs of a tap whose time bins are reported, those with the most frames.
pub(crate) const REPORTED_SA_BINS_OF: usize = 32;
/// Time bins of all SAs of a tap that are reported; beyond, neighbouring bins are joined.
pub(crate) const REPORTED_SA_BINS: usize = 8_192;
/// UDP flows watched for ESP on unusual ports.
pub(crate) const MAX_UDP_CANDIDATES: usize = 4_096;
/// Time bins of what one first word of such a flow would be as an SA; beyond, neighbouring bins are joined.
pub(crate) const MAX_SUSPECT_BINS: usize = 256;
/// UDP flows on unusual ports of which datagrams that cannot be ESP are counted.
pub(crate) const MAX_UDP_MISFITS: usize = 65_536;
/// Numbers in the place of an SPI that one such flow may have before it is no ESP.
pub(crate) const MAX_FLOW_SPIS: usize = 16;
/// Fragment groups held at once.
pub(crate) const MAX_FRAGMENT_GROUPS: usize = 65_536;
/// Fragments in these groups.
pub(crate) const MAX_PIECES: u64 = 1 << 18;
/// Distinct ICMP, IKE and PAUSE observations held.
pub(crate) const MAX_NOTICES: usize = 4_096;
/// Entries of the window that recognises copies.
pub(crate) const MAX_COPY_WINDOW: usize = 1 << 20;
/// Frames of a span's first moments that are kept whole, because an earlier span may hold what they are copies of.
pub(crate) const MAX_COPY_HEAD: usize = 1 << 18;
/// Runs of one SA's sequence numbers.
pub(crate) const MAX_RUNS: usize = 256;
/// Intervals of one SA's coverage before old gaps are folded into counters.
pub(crate) const MAX_INTERVALS: usize = 1 << 16;
/// How far behind the maximum gaps are kept when an SA's coverage is folded.
pub(crate) const FOLD_BEHIND: i64 = 1 << 20;
/// How far behind the maximum late numbers are kept one by one when an SA has more than [`MAX_INTERVALS`] intervals of them. What is
/// further behind is final, but for a state that is merged behind one that saw the same numbers.
pub(crate) const LATE_BEHIND: i64 = 1 << 16;
/// Intervals of all SAs of a state together. Beyond, of each run only the newest are kept, and the older ones summed.
pub(crate) const MAX_TOTAL_INTERVALS: usize = 1 << 22;
/// How many of the newest intervals of a run are kept then; half as many, until they fit.
pub(crate) const FIRST_KEPT: u32 = 1 << 15;
/// Frames of one kind, or of one SA and kind, that are listed besides being counted; the last one is kept besides.
pub(crate) const FIRST_LISTED: usize = 100;
/// Steps of a run of sequence numbers that are listed: numbers that do not follow the one before them.
pub(crate) const FIRST_STEPS: usize = 1_024;
/// The last steps of a run that are kept besides.
pub(crate) const LAST_STEPS: usize = 8;
/// Frames and steps that all SAs, flows and encapsulations of a state list together. Beyond, each lists half as many, until they fit.
pub(crate) const MAX_TOTAL_LISTED: u64 = 1 << 18;
/// Memory of the analysis, in octets, where no other limit is set: beyond, no further SAs, encapsulations, flows and sizes are admitted.
pub const MEMORY_LIMIT: u64 = 4 << 30;
/// Frames observed at length, and SAs, between two looks at the memory.
pub(crate) const LOOK_EVERY: usize = 1 << 14;
/// Octets that an SA, an interval, an entry of a table or a time bin take, about: with their keys and the room that maps keep free.
pub(crate) const SA_BYTES: usize = 1_024;
pub(crate) const INTERVAL_BYTES: usize = 40;
pub(crate) const ENTRY_BYTES: usize = 192;
/// The same of a time bin of an SA.
pub(crate) const SA_BIN_BYTES: usize = 64;
/// And of a direction of an SA beyond the first 64 of the tap.
pub(crate) const WAY_BYTES: usize = 16;
/// And of a frame of the window of copies that is kept for the span before.
pub(crate) const HEAD_FRAME_BYTES: usize = 512;
/// Octets that a state takes with nothing in it, about.
pub(crate) const STATE_BYTES: usize = 16 << 10;

/// A sequence step backwards after this much silence starts a new run.
pub(crate) const RUN_GAP_NS: i64 = 10 * SECOND_NS;
/// A sequence step further than this backwards starts a new run; either way, it is of another stream to `match`.
pub(crate) const RUN_STEP: i32 = 1 << 24;
/// A sequence step further than this forward starts a new run: it is a jump, not loss.
pub(crate) const JUMP_STEP: i32 = 1 << 20;
/// A number that falls by more than this begins a new run if the next one goes on from it: the largest anti-replay window in the field.
pub(crate) const RESTART_FALL: i32 = 4_096;
/// How far from a number the next one may be to go on from it: where it is, the numbers before the fall are at least as far again.
pub(crate) const RESTART_NEXT: u32 = 2_048;
/// Frames with the same octets within this time are copies.
pub(crate) const COPY_WINDOW_NS: i64 = 10_000_000;
/// Backward clock steps up to this size are tolerated by the windows; a larger one starts them afresh.
pub(crate) const CLOCK_TOLERANCE_NS: i64 = 10_000_000;
/// Backward steps of the clock beyond that which are kept; with more of them there are no rates.
pub(crate) const MAX_BACK_STEPS: usize = 64;
/// Interfaces of a capture whose clocks are followed.
pub(crate) const MAX_INTERFACES: usize = 64;
/// Fragments of one datagram follow each other within this time.
pub(crate) const FRAGMENT_GAP_NS: i64 = 2 * SECOND_NS;
