//! Rates, as data.

use serde::{Deserialize, Serialize};

use super::{LengthBasis, Name, TimeBasis};

/// Rates from timestamps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rates {
    /// Width of a bin.
    pub bin_ns: u64,
    /// Averages and peaks per direction.
    pub directions: Vec<DirectionRate>,
    /// PAUSE frames per sender and class.
    pub pause: Vec<PauseRate>,
    /// Time series.
    pub bins: Vec<Bin>,
    /// Time series of SAs: of each tap, those of the 32 with the most frames. ESP that was recognised on other UDP ports has none.
    #[serde(default)]
    pub sa_bins: Vec<SaTimeBin>,
}

/// Averages and peak of one direction, over the time between its first and last frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DirectionRate {
    /// The tap.
    pub tap: Name,
    /// `from > to`.
    pub direction: String,
    /// Source MAC, or source address on links without.
    pub from: String,
    /// Destination; `*` where only group traffic was sent.
    pub to: String,
    /// Seconds between first and last frame.
    pub seconds: Option<f64>,
    /// Frames, control frames included.
    pub frames: u64,
    /// Frames per second.
    pub frames_per_s: Option<f64>,
    /// Layer 1 without control frames.
    pub l1_bps: Option<f64>,
    /// Layer 1 with control frames.
    pub l1_with_control_bps: Option<f64>,
    /// Layer 2 with FCS.
    pub l2_bps: Option<f64>,
    /// Layer 3.
    pub l3_bps: Option<f64>,
    /// Inner IP octets of encapsulated packets; null where an SA is opaque.
    pub goodput_bps: Option<f64>,
    /// Lower bound from the transform's range; null where TFC padding and dummy packets may be in it.
    pub goodput_min_bps: Option<f64>,
    /// Upper bound from the transform's range; null where the lower bound is.
    pub goodput_max_bps: Option<f64>,
    /// Both bounds, if no SA pads for traffic flow confidentiality (RFC 4303 sections 2.6 and 2.7) and none carries compressed packets (IPComp, RFC 3173); null where no policy leaves that open.
    pub if_no_tfc: Option<GoodputRange>,
    /// IP traffic that is not encapsulated, layer 3.
    pub clear_bps: Option<f64>,
    /// Layer 1 of control frames.
    pub control_l1_bps: Option<f64>,
    /// Layer 1 with control frames of `--link-rate`, per cent.
    pub utilisation_pct: Option<f64>,
    /// The fullest bin.
    pub peak: Option<Peak>,
    /// How layer 1 lengths are known.
    pub l1_basis: LengthBasis,
    /// What `seconds` and the rates over them are measured by.
    pub basis: TimeBasis,
    /// Ids of the SAs seen in it, those with the most frames first, the first hundred. They say which direction of another tap, and which
    /// of `match`, carries the same traffic.
    #[serde(default)]
    pub sas: Vec<Name>,
    /// How many there are; null where that is not kept: in the 65th direction of a tap and later ones.
    #[serde(default)]
    pub sas_total: Option<u64>,
    /// Outer IP addresses of tunnelled packets, `from > to`, those of the SAs with the most frames first, the first sixteen.
    #[serde(default)]
    pub endpoints: Vec<String>,
}

/// Goodput at least and at most.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GoodputRange {
    /// Lower bound from the transform's range.
    pub goodput_min_bps: Option<f64>,
    /// Upper bound from the transform's range.
    pub goodput_max_bps: Option<f64>,
}

/// The fullest bin of a direction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peak {
    /// Where the bin starts.
    pub start_ns: i64,
    /// Layer 1 rate in it.
    pub l1_bps: f64,
    /// Frames per second in it.
    pub frames_per_s: f64,
}

/// PAUSE frames of one sender and class.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PauseRate {
    /// The tap.
    pub tap: Name,
    /// `from > to`.
    pub direction: String,
    /// PFC class; null for 802.3x PAUSE.
    pub class: Option<u8>,
    /// Frames.
    pub frames: u64,
    /// Sum of quanta.
    pub quanta: u64,
    /// Time stopped; null without `--link-rate`.
    pub stopped_ns: Option<u64>,
}

/// One bin of the time series of an SA.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaTimeBin {
    /// Index into `sas`.
    pub sa: u32,
    /// Where it starts.
    pub start_ns: i64,
    /// Width of the bin: that asked for, times a power of two where a tap has more than 8,192 of them.
    pub bin_ns: u64,
    /// Frames that carry the header of the SA; later fragments do not.
    pub frames: u64,
    /// Their layer 1 octets.
    pub l1_bytes: u64,
    /// Octets of the IP packets that enclose the header.
    pub l3_bytes: u64,
}

/// One bin of the time series.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bin {
    /// Index into `directions`.
    pub direction: u32,
    /// Where it starts.
    pub start_ns: i64,
    /// Frames.
    pub frames: u64,
    /// Layer 1 octets without control frames.
    pub l1_bytes: u64,
    /// Layer 2 octets with FCS, without control frames.
    pub l2_bytes: u64,
    /// Layer 3 octets.
    pub l3_bytes: u64,
    /// Visible inner octets; null where an SA is opaque.
    pub goodput_bytes: Option<u64>,
    /// Control frames.
    pub control_frames: u64,
}
