//! Pairs one by one and over time, as data.

use serde::{Deserialize, Serialize};

use super::PairBasis;
use crate::model::report::{FrameRef, Name};

/// One pair: a row of `--table pairs`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pair {
    /// The plaintext frame.
    pub plain: FrameRef,
    /// The tunnel's frame; of several fragments the first.
    pub tunnel: FrameRef,
    /// Id of the SA or tunnel.
    pub sa: Name,
    /// Sequence number, where there is one.
    pub sequence: Option<u32>,
    /// IP length of the plaintext packet.
    pub inner_bytes: u64,
    /// IP length of the tunnelled packet, fragments summed; absent where fragments are missing.
    pub outer_bytes: Option<u64>,
    /// Outer less inner.
    pub overhead_bytes: Option<i64>,
    /// Time between the taps, clocks compared.
    pub delay_ns: Option<i64>,
    /// How it is known.
    pub basis: PairBasis,
    /// 0 to 1.
    pub confidence: f64,
    /// Time of the plaintext frame, by the clock of its tap.
    #[serde(default)]
    pub plain_time_ns: Option<i64>,
    /// Time of the tunnel's frame, by the clock of its tap.
    #[serde(default)]
    pub tunnel_time_ns: Option<i64>,
}

/// What a direction carried in one bin of time. A packet counts in the bin of its time at the first tap it passes, by that tap's clock; so
/// what was offered and not carried was lost. Only packets of times that the captures of both taps cover count.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpreadBin {
    /// Index into `directions`.
    pub direction: u32,
    /// Where it starts: a multiple of `bin_ns` since the epoch.
    pub start_ns: i64,
    /// Packets at the first tap: plaintext where they are encapsulated, tunnelled where they are decapsulated. Null where the direction's
    /// `bins_why` says why.
    pub offered_frames: Option<u64>,
    /// Their IP bytes; null where one is not known, too.
    pub offered_bytes: Option<u64>,
    /// Of these, packets that the second tap showed.
    pub carried_frames: u64,
    /// Their IP bytes at the second tap; null where one is not known.
    pub carried_bytes: Option<u64>,
    /// Offered less carried packets.
    pub lost_frames: Option<u64>,
    /// Median time between the taps, as in `latency_ns`; null without times.
    pub latency_p50_ns: Option<i64>,
    /// Longest time between the taps.
    pub latency_max_ns: Option<i64>,
}

/// How many pairs took how long from tap to tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyBucket {
    /// Shortest time in it, in nanoseconds.
    pub from_ns: i64,
    /// Shortest time beyond it: at most a sixteenth of its values further, so that its middle is within 3.2 % of each value.
    pub to_ns: i64,
    /// Pairs.
    pub count: u64,
}
