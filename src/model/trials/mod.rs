//! What `spiglass trials` measured, as data: exactly what its `--format json` prints. Names carry units; absent is `null`.

mod calculated;
mod rest;
mod size;
mod trial;
mod words;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use calculated::{Device, DeviceAtSize, Replay, TriedLoad};
pub use rest::{Baseline, Search, Segment, Transfer};
pub use size::{BackToBack, Buffer, BufferOfSize, Limits, Loss, Model, Rates, Throughput};
pub use trial::{OpenFigure, Trial};
pub use words::{Basis, Bound, Direction, Figure, Fix, Kind, Limit, Phase, Reason, Slope, State, Unit, Ways};

use super::report::{Capture, Exactness, Finding, RunSummary, Tool};
use super::vocabulary::{LengthBasis, TrialsSchema};

/// What a benchmark run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialsReport {
    /// Name and version of this schema.
    pub schema: TrialsSchema,
    /// What made the report.
    pub tool: Tool,
    /// `exact`, or `degraded` where a limit was hit.
    pub exactness: Exactness,
    /// Which limits were hit and what was dropped, one sentence each.
    pub degraded_why: Vec<String>,
    /// The taps, in the order a packet into the tunnel passes them.
    pub taps: Vec<Tap>,
    /// What the run was told, and the clocks.
    pub bench: Bench,
    /// The trials, in order of time.
    pub trials: Vec<Trial>,
    /// Figures of each packet size.
    pub throughput: Vec<Throughput>,
    /// Loss by load (RFC 2544 section 26.3), in order of time; only with a link rate.
    pub loss: Vec<Loss>,
    /// The device: a time per packet and a rate per octet.
    pub model: Vec<Model>,
    /// Room for packets that wait.
    pub buffers: Vec<Buffer>,
    /// Bursts (RFC 2544 section 26.4, RFC 9004).
    pub back_to_back: Vec<BackToBack>,
    /// Searches for the equilibrium throughput, one for each packet size; only with `--next`.
    pub search: Vec<Search>,
    /// Transfers over TCP.
    pub transfers: Vec<Transfer>,
    /// Latency compared with a run in clear; only with `--baseline`.
    pub baseline: Vec<Baseline>,
    /// Stretches of traffic that are no trial, and why, the first of them.
    pub segments: Vec<Segment>,
    /// What is wrong or worth knowing, most severe first.
    pub findings: Vec<Finding>,
    /// How the inputs were read and how many findings there are.
    #[serde(default)]
    pub run: RunSummary,
    /// The exit status the run ends with.
    pub exit_status: u8,
}

/// A tap.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tap {
    /// `plain`, `tunnel` or `exit`.
    pub name: Cow<'static, str>,
    /// Its captures, in the order frame references count them.
    pub captures: Vec<Capture>,
    /// Frames read.
    pub frames: u64,
    /// IP packets in clear.
    pub packets: u64,
    /// Packets in a tunnel or under AH or ESP.
    pub tunnelled: u64,
    /// Whether lengths on the wire are those of the frames, or assumed: frames that are none of Ethernet count as if they had its headers.
    #[serde(default)]
    pub l1_basis: LengthBasis,
    /// What its clock is ahead of the first tap's when the first packet of the load comes in, in nanoseconds; null where it cannot be known.
    pub clock_offset_ns: Option<i64>,
    /// By how much its clock runs fast against the first tap's.
    pub clock_drift_ppm: Option<f64>,
    /// By how much that may be wrong, in 99 of 100 cases.
    #[serde(default)]
    pub clock_drift_uncertainty_ppm: Option<f64>,
    /// By how much a wrong drift may make times of the trials wrong, either way, in nanoseconds; null where nothing bounds the drift.
    #[serde(default)]
    pub clock_uncertainty_ns: Option<i64>,
    /// Which of these is null, and why.
    #[serde(default)]
    pub undetermined: Vec<OpenFigure>,
}

/// What the run was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bench {
    /// Rate of the links of the testers.
    pub link_rate_bps: Option<u64>,
    /// Rate of the tunnel's link.
    pub tunnel_rate_bps: Option<u64>,
    /// One clock stamped all captures.
    pub one_clock: bool,
    /// Whether a wrong offset of the clocks makes latencies wrong by as much.
    pub depends_on_offset: bool,
    /// A longer silence ends a trial.
    pub trial_gap_ns: u64,
    /// What is shorter is a burst.
    pub min_seconds: f64,
    /// By how much the forwarded rate may be below the offered one and still be equal, in per cent.
    pub equal_pct: f64,
    /// Layer at which loads of the search count.
    pub rate_layer: Cow<'static, str>,
    /// Flows that make the test load: source, destination, protocol and packets, the busiest of them.
    pub flows: Vec<Flow>,
}

/// A flow of the test load.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flow {
    /// Which way it goes.
    pub direction: Direction,
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// IP protocol.
    pub protocol: u8,
    /// Packets at the tap where they come in.
    pub packets: u64,
}
