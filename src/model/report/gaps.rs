//! Numbers of an SA that were skipped, as data.

use serde::{Deserialize, Serialize};

use super::{FrameRef, Name};

/// Sequence numbers that were skipped between two frames of an SA.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gap {
    /// The tap.
    pub tap: Name,
    /// Id of the SA.
    pub sa: Name,
    /// The first number that was skipped, as packets bear it.
    pub first_missing: u32,
    /// The last one; lower than the first where the numbers go past 2^32.
    pub last_missing: u32,
    /// How many were skipped.
    pub count: u64,
    /// The frame with the number before them.
    pub frame_before: FrameRef,
    /// The frame with the number after them.
    pub frame_after: FrameRef,
    /// Time of the frame before.
    pub time_before_ns: Option<i64>,
    /// Time of the frame after.
    pub time_after_ns: Option<i64>,
    /// How many of them came late after all; the others never came. Null where that is no longer known.
    pub filled_late: Option<u64>,
}
