//! What `calc` says about a bench: a device by its model, and a search that is played through.

use serde::{Deserialize, Serialize};

use super::words::Limit;
use crate::model::vocabulary::{DeviceSchema, SearchSchema};

/// What a device with a time per packet and a rate per octet forwards, size by size: `calc --model`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Device {
    /// Name and version of this schema.
    pub schema: DeviceSchema,
    /// Time per packet that does not depend on its size.
    pub t_fix_ns: u64,
    /// Rate of what takes time per octet; null where size makes no difference.
    pub r_alg_bps: Option<u64>,
    /// Rate of the tunnel's link.
    pub link_rate_bps: u64,
    /// How packets are carried on the link; null in clear.
    pub transform: Option<String>,
    /// Each size.
    pub sizes: Vec<DeviceAtSize>,
    /// Over the mix of 40, 576 and 1500 bytes (7 : 4 : 1); only with `--sizes imix`.
    pub imix: Option<DeviceAtSize>,
}

/// What a device forwards of one size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceAtSize {
    /// IP length; of a mix the mean.
    pub inner_bytes: f64,
    /// Layer 1 octets on the tunnel's link.
    pub l1_bytes: f64,
    /// Packets per second that the device takes.
    pub device_fps: f64,
    /// Packets per second that the link takes.
    pub link_fps: f64,
    /// Which of them is the limit.
    pub limit: Limit,
    /// Packets per second that are forwarded.
    pub fps: f64,
    /// Layer 1 rate on the tunnel's link.
    pub l1_bps: f64,
    /// Rate of IP packets of the plaintext.
    pub l3_bps: f64,
}

/// A search for the equilibrium throughput of a device that is known, load by load: `calc --search`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Replay {
    /// Name and version of this schema.
    pub schema: SearchSchema,
    /// First load.
    pub start_bps: f64,
    /// First step.
    pub step_bps: f64,
    /// What the device forwards whole.
    pub actual_bps: f64,
    /// Share of the load below which a step ends the search, in per cent.
    pub tolerance_pct: f64,
    /// Iterations, those with a load of 0 among them.
    pub iterations: u64,
    /// Highest load that was forwarded whole; null where none was.
    pub found_bps: Option<f64>,
    /// The loads, in the order in which they are tried.
    pub loads: Vec<TriedLoad>,
}

/// One load of a search.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedLoad {
    /// Number from 1.
    #[serde(rename = "trial")]
    pub iteration: u64,
    /// The load.
    pub load_bps: f64,
    /// Whether the device forwards it whole.
    pub equal: bool,
}
