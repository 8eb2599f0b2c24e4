//! Bounds and thresholds of `trials`. Each threshold is that of the specification of the command; each bound says what it bounds.

/// Records of all taps that are kept; of more, every second one of the longest bunches is.
pub(super) const MAX_RECORDS: usize = 1 << 18;
/// Bunches of frames of one flow or SA whose records are thinned apart from others.
pub(super) const MAX_PARTS: usize = 1 << 15;
/// Records further apart than this are all kept, in nanoseconds: half of the shortest silence that says something.
pub(super) const APART_NS: i64 = STALL_NS / 2;
/// Flows that are told apart; the others share one number.
pub(super) const MAX_FLOWS: usize = 1 << 12;
/// Pairs of addresses whose direction is decided.
pub(super) const MAX_LANES: usize = 1 << 10;
/// Of these, the first ones have room for all beginnings of bunches; the others for as many fewer.
pub(super) const BUSY_LANES: usize = 64;
/// SAs that are told apart.
pub(super) const MAX_SAS: usize = 1 << 12;
/// Beginnings of bunches that are kept of each pair of addresses.
pub(super) const MAX_STARTS: usize = 1 << 12;
/// Control frames that are kept of each tap; of more, two neighbours are one record.
pub(super) const MAX_CONTROL: usize = 1 << 15;
/// Skips of sequence numbers that are kept apart of each tap; of more, those that follow each other closely are one.
pub(super) const MAX_SKIPS: usize = 1 << 15;
/// TCP connections that are told apart.
pub(super) const MAX_TRANSFERS: usize = 1 << 10;
/// Stretches of one transfer that were seen, with holes between them.
pub(super) const MAX_STRETCHES: usize = 1 << 8;
/// Fragments of outer packets that wait for the others.
pub(super) const MAX_TRAINS: usize = 1 << 10;
/// Segments that are listed as no trial.
pub(super) const MAX_LISTED: usize = 1_000;

/// Times further from 1970 stick there, so that differences of times have room in 64 bits: 73 years.
pub(super) const FURTHEST_NS: i64 = 1 << 61;
/// Times that are finer than this are not looked at, and those that are coarser than that are no times, in nanoseconds.
pub(super) const COARSE_NS: i64 = 1_000_000;
pub(super) const COARSEST_NS: i64 = 1_000_000_000;
/// Frames that tell how fine the times of a tap are, at least.
pub(super) const COARSE_FRAMES: u64 = 50;
/// A clock that steps back by less is no step but frames out of order, in nanoseconds.
pub(super) const STEP_BACK_NS: i64 = 5_000_000;
/// A clock that is set forward by less is not told from what devices do, in nanoseconds.
pub(super) const FORWARD_NS: i64 = 20_000_000;
/// Packets on either side of a step of a clock, at least.
pub(super) const SETTLED: usize = 20;
/// Steps of clocks that are undone, at most.
pub(super) const MAX_FORWARD: usize = 8;
/// Two equal frames of a tap that are closer may be one frame that it shows twice, in nanoseconds.
pub(super) const COPY_NS: i64 = 5_000_000;
/// Frames of an SA that are replayed in a row, at most.
pub(super) const REPLAYED: usize = 4_096;
/// By how much times of different taps on one clock may contradict each other, in nanoseconds.
pub(super) const TAPS_APART: i64 = 100_000;
/// A flow whose busiest second has less of the busiest flow's is background.
pub(super) const BACKGROUND: f64 = 0.05;

/// Frames that a run of one size needs to be cut off beside anything else.
pub(super) const RUN: usize = 64;
/// Least width of a bin, in nanoseconds.
pub(super) const BIN_NS: i64 = 10_000_000;
/// Frames of a bin on average, at least.
pub(super) const BIN_FRAMES: f64 = 16.0;
/// Bins on either side whose median a bin is compared with.
pub(super) const AROUND: usize = 5;
/// Score above which two levels are two loads.
pub(super) const SCORE: f64 = 6.0;
/// Share of the higher level that they must differ by.
pub(super) const LEVELS: f64 = 0.02;
/// Bins on each side of a border, at least.
pub(super) const SIDE: usize = 4;
/// A part of this length is no ramp, in nanoseconds.
pub(super) const RAMP_NS: i64 = 1_000_000_000;
/// A part whose rate changes by this share of its mean, all along, is a ramp.
pub(super) const RAMP: f64 = 0.25;
/// Standard errors beyond which a rate changes within a part.
pub(super) const SLOPED: f64 = 3.0;
/// Fewer frames are learning frames.
pub(super) const FEWEST: usize = 20;
/// Frames that a device sends on behind the end of a load, at least, where its queue still drains.
pub(super) const DRAINED: usize = 4;
/// How long after a capture's last trial its queue may drain in any case, in nanoseconds; longer only without a silence.
pub(super) const DRAIN_NS: i64 = 3_000_000_000;

/// What anchors of one offset agree within, in nanoseconds.
pub(super) const ANCHOR_NS: i64 = 30_000_000;
/// A clock drifts less.
pub(super) const DRIFT: f64 = 5e-4;
/// Two clocks that nobody keeps drift apart by less, as a rule.
pub(super) const USUAL_DRIFT: f64 = 1e-4;
/// By how much departures may seem to precede arrivals where several clocks stamped them, in nanoseconds.
pub(super) const SLACK_NS: i64 = ANCHOR_NS;
/// By how much clocks that were compared may still be apart, in nanoseconds.
pub(super) const CLOCKS_APART: i64 = 500_000;
/// Stamps in microseconds of two taps leave differences of times wrong by as much, in nanoseconds.
pub(super) const STAMPS_NS: f64 = 1_000.0;
/// Anchors of each tap that are compared.
pub(super) const MAX_ANCHORS: usize = 192;
/// A forward step of a sequence number by more is no loss.
pub(super) const JUMP: i64 = 1 << 20;
/// Cells of the comparison of lengths.
pub(super) const MAX_CELLS: usize = 1 << 24;

/// Loads of both directions that differ by less are equal.
pub(super) const WAYS: f64 = 0.05;
/// Slices over which the growth of latency is measured.
pub(super) const SLICES: usize = 16;
/// Frames that a forwarded rate needs before the drain.
pub(super) const BEFORE_DRAIN: usize = 20;
/// A shorter silence of the output is no stall, in nanoseconds.
pub(super) const STALL_NS: i64 = 100_000_000;
/// Frames that must have come in during a stall.
pub(super) const STALL_FRAMES: usize = 10;
/// Packets that wait in a device that is not overloaded, at most.
pub(super) const WAITING: f64 = 4.0;
/// Trials whose lengths differ by less are of one length.
pub(super) const LENGTHS: f64 = 1.25;
/// Share of its rate from which on the circuit is the limit.
pub(super) const FULL: f64 = 0.98;
/// Loads that differ by less are equal loads of two runs.
pub(super) const SAME_LOAD: f64 = 0.01;
/// RFC 2544 section 24: a shorter trial is noted, in seconds.
pub(crate) const SHORT_SECONDS: f64 = 60.0;
