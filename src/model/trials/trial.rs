//! One trial, one direction.

use serde::{Deserialize, Serialize};

use super::words::{Basis, Direction, Figure, Kind, Reason, State, Ways};
use crate::model::report::Rfc3339;

/// A load that was kept up for a time, in one direction, and what became of it. Rates and latencies are of the steady part, counts of
/// the whole trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Number from 1 in order of time; two directions that are loaded together share one.
    pub trial: u64,
    /// Which way the packets go.
    pub direction: Direction,
    /// Whether the other direction was loaded, too.
    pub ways: Ways,
    /// Trial or burst.
    pub kind: Kind,
    /// IP length in octets: `512`, `mix:40,576,1500` or `random`; `1391-1406` where all packets of a length were lost encrypted.
    pub size_class: String,
    /// What the device did with the load.
    pub state: State,
    /// How it is known which frame became which.
    pub basis: Basis,
    /// Time of the first frame.
    pub start: Rfc3339,
    /// The same in nanoseconds since the epoch.
    pub start_ns: i64,
    /// From the first frame to the last at the tap where they come in.
    pub seconds: f64,
    /// Of these, before the load was steady.
    pub ramp_seconds: f64,
    /// Longest silence within the load, above 100 ms and 20 of its periods, where the load is not even: its rates are slopes through the silence,
    /// and it says nothing of throughput. Null where there is none.
    #[serde(default)]
    pub pause_seconds: Option<f64>,
    /// Mean IP length of the packets.
    pub inner_bytes: Option<f64>,
    /// Packets at the tap where they come in.
    pub sent: u64,
    /// Packets of these at the tap where they go out.
    pub received: u64,
    /// The difference.
    pub lost: u64,
    /// The same in per cent (RFC 2544 section 26.3).
    pub loss_pct: f64,
    /// By how many packets `lost` may be that of the load before or behind, where equal packets of loads without a pause share a queue; 0
    /// where each packet is known.
    pub lost_error: u64,
    /// Packets of these at the tunnel tap.
    pub tunnelled: Option<u64>,
    /// Packets lost before the tunnel tap.
    pub lost_before_tunnel: Option<u64>,
    /// Packets lost after it.
    pub lost_behind_tunnel: Option<u64>,
    /// Sequence numbers missing after the trial's frames at the tunnel tap.
    pub sequence_lost: Option<u64>,
    /// Offered rate: slope of the least-squares line through the frames.
    pub offered_fps: Option<f64>,
    /// The same at layer 1, with preamble and gap.
    pub offered_l1_bps: Option<f64>,
    /// At layer 2, with FCS.
    pub offered_l2_bps: Option<f64>,
    /// Of IP packets.
    pub offered_l3_bps: Option<f64>,
    /// Of UDP or TCP payload.
    pub offered_l4_bps: Option<f64>,
    /// The offered load of the link's rate, in per cent.
    pub load_pct: Option<f64>,
    /// Forwarded rate, while packets come in.
    pub forwarded_fps: Option<f64>,
    /// Too few frames came out while packets came in: the drain of the queue is in the rate.
    pub forwarded_with_drain: bool,
    /// The forwarded rate at layer 1.
    pub forwarded_l1_bps: Option<f64>,
    /// At layer 2.
    pub forwarded_l2_bps: Option<f64>,
    /// Of IP packets.
    pub forwarded_l3_bps: Option<f64>,
    /// Of UDP or TCP payload.
    pub forwarded_l4_bps: Option<f64>,
    /// Rate at the tunnel tap.
    pub tunnel_fps: Option<f64>,
    /// The same at layer 1: the circuit.
    pub tunnel_l1_bps: Option<f64>,
    /// Control frames on the first tap's link during the trial, both ways.
    pub control_frames: u64,
    /// The same at layer 1.
    pub control_l1_bps: f64,
    /// Whether latencies rest on the model of a full queue, not on packets that are known.
    pub latency_modelled: bool,
    /// Least latency, last bit in to last bit out.
    pub latency_min_ns: Option<i64>,
    /// Median (nearest rank).
    pub latency_p50_ns: Option<i64>,
    /// 99th percentile.
    pub latency_p99_ns: Option<i64>,
    /// Greatest.
    pub latency_max_ns: Option<i64>,
    /// Mean.
    pub latency_mean_ns: Option<f64>,
    /// Store and forward (RFC 1242 section 3.8): last bit in to first bit out, least.
    pub latency_sf_min_ns: Option<i64>,
    /// Median.
    pub latency_sf_p50_ns: Option<i64>,
    /// Greatest.
    pub latency_sf_max_ns: Option<i64>,
    /// Bit forwarding (RFC 1242 section 3.8): first bit in to first bit out, least.
    pub latency_ct_min_ns: Option<i64>,
    /// Median.
    pub latency_ct_p50_ns: Option<i64>,
    /// Greatest.
    pub latency_ct_max_ns: Option<i64>,
    /// From the first tap to the tunnel tap, median.
    pub device_latency_p50_ns: Option<i64>,
    /// By how much latency grows during the trial.
    pub latency_slope_ppm: Option<f64>,
    /// Standard error of the same.
    pub slope_error_ppm: Option<f64>,
    /// Forwarded of offered rate: delivered of sent, corrected by the growth of the queue.
    pub ratio: Option<f64>,
    /// Most frames inside the device and the network after it.
    pub backlog_max_frames: Option<u64>,
    /// From the last frame in to the last frame out.
    pub drain_seconds: Option<f64>,
    /// Longest silence of the output while packets came in, above 100 ms.
    pub stall_seconds: Option<f64>,
    /// Packets that wait, by the median latency above the least of the size.
    pub waiting_frames: Option<f64>,
    /// The same by the greatest latency.
    pub waited_frames: Option<f64>,
    /// Room for waiting packets, as this trial shows it.
    pub buffer_frames: Option<f64>,
    /// Why figures are null.
    pub undetermined: Vec<OpenFigure>,
}

/// A figure that is null, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenFigure {
    /// Which figure or group of figures.
    pub figure: Figure,
    /// The reason.
    pub reason: Reason,
}
