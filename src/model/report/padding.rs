//! Padding, as data.

use serde::{Deserialize, Serialize};

use super::{FrameRef, Name, OverheadBasis, Pattern};

/// Padding of every kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Padding {
    /// Octets behind the IP packet in Ethernet frames.
    pub ethernet: Vec<EthernetPadding>,
    /// ESP padding, where it is visible.
    pub esp: Vec<EspPadding>,
    /// Padding of the AH ICV field.
    pub ah: Vec<AhPadding>,
}

/// Ethernet padding of one direction and pattern.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EthernetPadding {
    /// The tap.
    pub tap: Name,
    /// `from > to`.
    pub direction: String,
    /// Frames.
    pub frames: u64,
    /// Shortest.
    pub pad_bytes_min: u64,
    /// Longest.
    pub pad_bytes_max: u64,
    /// What it consists of.
    pub pattern: Pattern,
    /// First frames that show it.
    pub examples: Vec<FrameRef>,
}

/// ESP padding of one SA.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EspPadding {
    /// The tap.
    pub tap: Name,
    /// Id of the SA.
    pub sa: Name,
    /// How it is known.
    pub basis: OverheadBasis,
    /// Frames by pad length.
    pub pad_lengths: std::collections::BTreeMap<u32, u64>,
    /// Frames padded 1, 2, 3, ... or not at all.
    pub monotonic: u64,
    /// Frames padded otherwise.
    pub other: u64,
    /// Frames with more padding than alignment needs (TFC included).
    pub longer_than_needed: u64,
}

/// Padding of the AH ICV field of one SA.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AhPadding {
    /// The tap.
    pub tap: Name,
    /// Id of the SA.
    pub sa: Name,
    /// Frames that have padding.
    pub frames: u64,
    /// Of these, frames whose padding is not all zero.
    pub nonzero: u64,
}
