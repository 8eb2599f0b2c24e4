//! Figures over the trials of a packet size, and over sizes.

use serde::{Deserialize, Serialize};

use super::trial::OpenFigure;
use super::words::{Bound, Direction, Fix, Limit, Slope, State, Unit, Ways};

/// A rate at all layers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rates {
    /// Frames per second.
    pub fps: f64,
    /// Layer 1, with preamble and gap.
    pub l1_bps: f64,
    /// Layer 2, with FCS.
    pub l2_bps: f64,
    /// IP packets.
    pub l3_bps: f64,
    /// UDP or TCP payload.
    pub l4_bps: Option<f64>,
}

/// A bracket: the load that passed, and the next that failed.
pub type Limits = [Option<f64>; 2];

/// What the trials of one size and length found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// Median length of the trials.
    pub trial_seconds: f64,
    /// Trials.
    pub trials: u64,
    /// Trials of this size that count for nothing here: stalled, silent, or with unequal directions.
    pub left_out: Vec<u64>,
    /// Highest forwarded rate that was equal to the offered one.
    pub equilibrium: Option<Rates>,
    /// Offered loads, in frames per second, between which it lies.
    pub equilibrium_bracket_fps: Limits,
    /// How the bracket is closed.
    pub equilibrium_basis: Bound,
    /// Highest offered rate without loss (RFC 1242 section 3.17).
    pub rfc1242: Option<Rates>,
    /// Offered loads, in frames per second, between which it lies.
    pub rfc1242_bracket_fps: Limits,
    /// Highest forwarded rate.
    pub mfr: Option<Rates>,
    /// Offered rate at which it was reached.
    pub mfr_offered_fps: Option<f64>,
    /// Highest forwarded rate without loss.
    pub mfrzl: Option<Rates>,
    /// Forwarded rate at the highest offered load.
    pub frmol_fps: Option<f64>,
    /// Forwarded rate of the mildest overload: what the device serves.
    pub service_fps: Option<f64>,
    /// What limits it.
    pub limit: Option<Limit>,
    /// Whether no load without loss lies above one with loss.
    pub monotone: bool,
    /// Room for waiting packets.
    pub buffer_frames: Option<f64>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// A row of the loss table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Loss {
    /// The trial.
    pub trial: u64,
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// Offered load of the link's rate, in per cent.
    pub load_pct: f64,
    /// Lost packets, in per cent.
    pub loss_pct: f64,
    /// What the device did.
    pub state: State,
}

/// Time per packet = `t_fix` + 8 x octets / `r_alg`, by least squares over sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model {
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// IP lengths.
    pub sizes: Vec<u64>,
    /// Time per packet of each.
    pub service_ns: Vec<f64>,
    /// Root mean square of what the line leaves over.
    pub rms_ns: f64,
    /// Rate of what takes time per octet.
    pub r_alg_bps: Option<f64>,
    /// Whether it is known.
    pub r_alg_basis: Slope,
    /// It is at least this.
    pub r_alg_at_least_bps: Option<f64>,
    /// Time per packet that does not depend on its size.
    pub t_fix_ns: Option<f64>,
    /// Whether it is known.
    pub t_fix_basis: Fix,
    /// It is at most this.
    pub t_fix_at_most_ns: Option<f64>,
    /// What the model leaves over at each size, in per cent.
    pub residual_pct: Vec<f64>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// Room for packets that wait.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Buffer {
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// What it counts.
    pub unit: Unit,
    /// Where no trial overflowed: the most packets that waited.
    pub frames_at_least: Option<f64>,
    /// By size.
    pub by_size: Vec<BufferOfSize>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// The room as one size shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BufferOfSize {
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// Packets.
    pub frames: f64,
    /// Octets of IP packets.
    pub octets: f64,
}

/// Bursts of one size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BackToBack {
    /// Which way.
    pub direction: Direction,
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// Median rate of the bursts.
    pub burst_fps: Option<f64>,
    /// Bursts.
    pub bursts: u64,
    /// Longest burst without loss.
    pub longest_lossless_frames: Option<u64>,
    /// Shortest longer burst with loss.
    pub shortest_lossy_frames: Option<u64>,
    /// Corrected buffer (RFC 9004 section 5.4): the longest burst less what was served meanwhile.
    pub buffer_frames: Option<f64>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}
