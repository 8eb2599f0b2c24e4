//! Searches, transfers, baselines, and what is no trial.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::trial::OpenFigure;
use super::words::{Direction, Kind, Phase, Ways};
use crate::model::report::Rfc3339;

/// A search for the equilibrium throughput of one size, replayed over its trials.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Search {
    /// Which way.
    pub direction: Direction,
    /// Whether the other direction is loaded, too.
    pub ways: Ways,
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// Layer at which loads count.
    pub rate_layer: Cow<'static, str>,
    /// First load.
    pub start_bps: f64,
    /// First step.
    pub step_bps: f64,
    /// Whether the search has ended.
    pub done: bool,
    /// Iteration: the last one, or the one that `next_load` is for.
    pub iteration: u64,
    /// The load to try next, in bit/s.
    pub next_load: Option<f64>,
    /// The same in frames per second.
    pub next_fps: Option<f64>,
    /// A load to try again first, longer: its trial was undetermined.
    pub repeat_load: Option<f64>,
    /// Step, in bit/s.
    pub step: f64,
    /// Where the search is.
    pub phase: Phase,
    /// Trials that were used.
    pub trials_used: u64,
    /// Highest equal load so far, in bit/s.
    pub equilibrium_load: Option<f64>,
}

/// A transfer over TCP, one way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transfer {
    /// Which way the data go.
    pub direction: Direction,
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Octets of payload, each once.
    pub payload_bytes: u64,
    /// Segments with payload at the first tap.
    pub segments: u64,
    /// The same at the last tap.
    pub received_segments: Option<u64>,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Time of the first data.
    pub first_data: Rfc3339,
    /// The same in nanoseconds since the epoch.
    pub first_data_ns: i64,
    /// From the first data to the acknowledgement of the last octet.
    pub seconds: Option<f64>,
    /// From the first SYN to the last FIN.
    pub elapsed_seconds: Option<f64>,
    /// 8 x octets / `seconds`.
    pub goodput_l4_bps: Option<f64>,
    /// 8 x octets / `elapsed_seconds`: the OpenWrt document's figure.
    pub elapsed_l4_bps: Option<f64>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// The latency of a trial against the same load in clear.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Baseline {
    /// Which way.
    pub direction: Direction,
    /// IP length in octets, `mix:...` or `random`.
    pub size_class: String,
    /// The trial.
    pub trial: u64,
    /// The trial in clear.
    pub baseline_trial: u64,
    /// Offered rate.
    pub offered_fps: Option<f64>,
    /// Mean latency in clear.
    pub baseline_mean_ns: Option<f64>,
    /// Mean latency.
    pub latency_mean_ns: Option<f64>,
    /// Median latency in clear.
    pub baseline_p50_ns: Option<i64>,
    /// Median latency.
    pub latency_p50_ns: Option<i64>,
    /// Increase of the mean, in per cent of the baseline.
    pub increase_pct: Option<f64>,
    /// The mean as a share of the baseline's, in per cent.
    pub of_baseline_pct: Option<f64>,
    /// Whether neither lost packets, and both latencies are of one clock.
    pub comparable: bool,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// A stretch of traffic that is no trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Segment {
    /// Which way.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Time of the first frame.
    pub start: Rfc3339,
    /// The same in nanoseconds since the epoch.
    pub start_ns: i64,
    /// From the first frame to the last.
    pub seconds: f64,
    /// Frames.
    pub frames: u64,
    /// Why it is no trial, a sentence.
    pub why: String,
}
