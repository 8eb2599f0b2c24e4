//! What `spiglass match` found, as data: exactly what its `--format json` prints. Names carry units; absent is `null`.

mod series;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::report::{
    Capture, Exactness, Finding, FrameRef, Name, Parts, Pattern, Rfc3339, RunSummary, SaMode, Tool, TransformBasis,
    TransformReport,
};
pub use series::{LatencyBucket, Pair, SpreadBin};

pub use super::vocabulary::{ClockBasis, EndsWay, LossPlace, MatchSchema, PairBasis, TunnelWay};

/// Which plaintext packet became which tunnelled packet, and what it cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MatchReport {
    /// Name and version of the schema.
    pub schema: MatchSchema,
    /// What made the report.
    pub tool: Tool,
    /// `exact`, or `degraded` where a limit was hit.
    pub exactness: Exactness,
    /// Which limits were hit and what was dropped, one sentence each.
    pub degraded_why: Vec<String>,
    /// The plaintext side.
    pub plain: Side,
    /// The side of the tunnel.
    pub tunnel: Side,
    /// The far plaintext side, where one was given.
    pub exit: Option<Side>,
    /// How many pairs there are, and how they are known.
    pub pairs: Pairs,
    /// What each SA or tunnel carries.
    pub directions: Vec<Direction>,
    /// Plaintext traffic that does not go through the tunnel.
    pub outside: Vec<Outside>,
    /// Width of a bin of `bins`; null without bins.
    #[serde(default)]
    pub bin_ns: Option<u64>,
    /// What each direction was offered and carried over time; bins without packets are left out.
    #[serde(default)]
    pub bins: Vec<SpreadBin>,
    /// Overhead by packet size.
    pub sizes: Vec<Size>,
    /// Ethernet padding on both sides, and what becomes of it.
    pub padding: Padding,
    /// Packets from one plaintext side to the other; only with a far side.
    pub ends: Vec<Ends>,
    /// Plaintext packets that were never seen in the tunnel, the first of them.
    pub lost: Vec<Lost>,
    /// What is wrong or worth knowing, most severe first.
    pub findings: Vec<Finding>,
    /// How the inputs were read and how many findings there are.
    #[serde(default)]
    pub run: RunSummary,
    /// The exit status the run ends with.
    pub exit_status: u8,
}

impl MatchReport {
    /// The directions whose latency is known, with it.
    #[must_use]
    pub fn timed(&self) -> Vec<(&Direction, &Times)> {
        self.directions.iter().filter_map(|own| Some((own, own.latency_ns.times.as_ref()?))).collect()
    }
}

/// One side.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Side {
    /// Its captures, in the order frame references count them.
    pub captures: Vec<Capture>,
    /// Frames read.
    pub frames: u64,
    /// Packets that could be paired: IP packets of the plaintext side without those of the tunnel itself, packets in a tunnel of the other. An outer
    /// packet in fragments is one.
    pub packets: u64,
    /// Packets in a tunnel or under AH or ESP.
    pub tunnelled: u64,
    /// Packets that the TAP showed again within 10 ms and the tunnel carries once. They are left out of every other figure.
    pub copies: u64,
    /// Time of the earliest frame, in nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// Time of the latest frame.
    pub last_ns: Option<i64>,
    /// The coarsest step of the timestamps, in nanoseconds.
    pub timestamp_step_ns: Option<f64>,
}

/// Counts of pairs.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pairs {
    /// Pairs.
    pub matched: u64,
    /// Of these: less sure than 0.9.
    pub ambiguous: u64,
    /// Plaintext packets that should have been in the tunnel and were not seen there.
    pub unmatched_plain: u64,
    /// Tunnelled packets of which no plaintext packet is known; repeated ones are not among them.
    pub unmatched_tunnel: u64,
    /// Tunnelled packets whose number was there before.
    pub repeated_tunnel: u64,
    /// Plaintext packets of traffic that does not go through the tunnel.
    pub outside_plain: u64,
    /// Plaintext packets from a time that the tunnel's capture does not cover.
    pub uncovered_plain: u64,
    /// Tunnelled packets from a time that the plain capture does not cover.
    pub uncovered_tunnel: u64,
    /// Packets of the exit side from a time that the plain capture does not cover, and the reverse; null without an exit side.
    pub uncovered_exit: Option<u64>,
    /// Plaintext packets of directions whose pairs cannot be determined.
    pub undetermined_plain: u64,
    /// Tunnelled packets of these directions.
    pub undetermined_tunnel: u64,
    /// Pairs by how they are known.
    pub by_basis: ByBasis,
}

/// Pairs by how they are known.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ByBasis {
    /// The inner packet is visible and the same.
    pub content: u64,
    /// The inner packet was decrypted and is the same.
    pub decrypted: u64,
    /// By lengths, order and times.
    pub order: u64,
}

/// What one SA or tunnel carries.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Direction {
    /// Id of the SA; of tunnels without SA protocol and endpoints: `gre/192.0.2.1/192.0.2.2`.
    pub sa: Name,
    /// Outer source.
    pub src: String,
    /// Outer destination.
    pub dst: String,
    /// The one inner source, or the shortest prefix that covers all.
    pub inner_src: Option<String>,
    /// The one inner destination, or the shortest prefix that covers all.
    pub inner_dst: Option<String>,
    /// Which way its packets go.
    pub way: TunnelWay,
    /// Pairs.
    pub matched: u64,
    /// Of these: less sure than 0.9.
    pub ambiguous: u64,
    /// Plaintext packets of this SA's traffic that were not seen in the tunnel.
    pub unmatched_plain: u64,
    /// Its packets of which no plaintext packet is known.
    pub unmatched_tunnel: u64,
    /// Its packets whose number was there before.
    pub repeated_tunnel: u64,
    /// Plaintext packets of its traffic from a time that the tunnel's capture does not cover.
    pub uncovered_plain: u64,
    /// Its packets from a time that the plain capture does not cover.
    pub uncovered_tunnel: u64,
    /// Packets lost before the tunnel tap: between the plain tap and it where they are encapsulated; else numbers of the SA that it never
    /// saw.
    pub lost_before_tunnel: Option<u64>,
    /// Packets lost after the tunnel tap: between it and the plain tap where they are decapsulated; else between it and the exit tap.
    pub lost_behind_tunnel: Option<u64>,
    /// Packets lost between the plain tap and the exit tap, either way; only with an exit side.
    pub lost_end_to_end: Option<u64>,
    /// Why its packets are not paired, where several alignments explain them equally well.
    pub undetermined: Option<Undetermined>,
    /// Encapsulated: plaintext packets lost on the way to the tunnel's tap. Decapsulated: tunnelled packets lost on the way to the plain
    /// tap. Of all, in per cent.
    pub loss_pct: Option<f64>,
    /// Packets that overtook another between the taps.
    pub reordered: u64,
    /// Mean confidence of its pairs.
    pub confidence: Option<f64>,
    /// How most of its pairs are known.
    pub basis: Option<PairBasis>,
    /// Its transform, by the lengths of the pairs.
    pub transform: TransformReport,
    /// Its mode.
    pub mode: SaMode,
    /// The clocks of the two sides.
    pub clock: Clock,
    /// Time between the taps.
    pub latency_ns: Latency,
    /// Store and forward (RFC 1242 section 3.8): last bit in to first bit out; null without the rate of the link.
    pub latency_sf_ns: Option<Times>,
    /// Bit forwarding (RFC 1242 section 3.8): first bit in to first bit out; null without the rate of the link.
    pub latency_ct_ns: Option<Times>,
    /// The times of `latency_ns` as a histogram, shortest first, occupied buckets alone; null without times.
    #[serde(default)]
    pub latency_buckets: Option<Vec<LatencyBucket>>,
    /// Why `bins` does not say what was offered and lost in this direction; null where it does.
    #[serde(default)]
    pub bins_why: Option<Name>,
    /// Why there is no time between the taps; null where there is one.
    #[serde(default)]
    pub latency_why: Option<Name>,
    /// What the outer header takes over of the inner one.
    pub header: HeaderCopy,
}

/// Why the packets of a direction are not paired.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Undetermined {
    /// Alignments that explain the packets equally well, as far as they were counted.
    pub alignments: u64,
    /// The reason, a sentence.
    pub reason: Name,
    /// What would decide it.
    pub decide: Name,
    /// Sequence numbers of the SA that the tunnel tap did not see.
    pub missing_numbers: u64,
}

/// Offset and drift between the clocks of the two sides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clock {
    /// What the tunnel's clock is ahead at the first pair.
    pub offset_ns: Option<i64>,
    /// By how much it runs fast.
    pub drift_ppm: Option<f64>,
    /// By how much offset and drift together may be wrong at any time of the pairs, either way.
    pub uncertainty_ns: Option<i64>,
    /// By how much the drift may be wrong.
    pub drift_uncertainty_ppm: Option<f64>,
    /// How offset and drift are known.
    pub basis: ClockBasis,
}

/// Time between the taps, last bit in to last bit out: neither of the latencies of RFC 1242.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// What is measured, from what to what.
    pub definition: Name,
    /// Whether a wrong offset of the clocks makes the figures wrong by as much.
    pub depends_on_offset: bool,
    /// The distribution, null without pairs.
    #[serde(flatten)]
    pub times: Option<Times>,
    /// First bit in to first bit out, where the rate of the link is known: the same as `latency_ct_ns`.
    pub cut_through: Option<Times>,
}

/// A distribution of times in nanoseconds. Least, most and mean are exact, quantiles to within 0.4 %.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Times {
    /// Shortest.
    pub min: i64,
    /// Median.
    pub p50: i64,
    /// Nine of ten are no longer.
    pub p90: i64,
    /// 99 of a hundred are no longer.
    pub p99: i64,
    /// Longest.
    pub max: i64,
    /// Mean.
    pub mean: f64,
}

/// What the outer header takes over of the inner one (RFC 4301 section 5.1.2), in packets.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeaderCopy {
    /// Outer DSCP is the inner one.
    pub dscp_same: u64,
    /// It is another.
    pub dscp_other: u64,
    /// Packets whose inner DSCP is not 0: only these show whether it is copied.
    pub dscp_marked: u64,
    /// Of these, those with the same outer DSCP.
    pub dscp_marked_same: u64,
    /// Outer ECN is the inner one.
    pub ecn_same: u64,
    /// It is another.
    pub ecn_other: u64,
    /// Don't fragment: set inside and outside.
    pub df_copied: u64,
    /// Set outside alone.
    pub df_set: u64,
    /// Set inside alone.
    pub df_cleared: u64,
    /// Set nowhere.
    pub df_unset: u64,
    /// Outer TTL or hop limit is that of the plaintext packet, or one less.
    pub ttl_copied: u64,
    /// It is another.
    pub ttl_own: u64,
    /// Least outer TTL.
    pub outer_ttl_min: Option<u8>,
    /// Greatest outer TTL.
    pub outer_ttl_max: Option<u8>,
}

/// Plaintext traffic that does not go through the tunnel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outside {
    /// Source.
    pub src: String,
    /// Destination.
    pub dst: String,
    /// IP protocol.
    pub protocol: u8,
    /// Packets.
    pub packets: u64,
    /// Of these, seen in clear beside the tunnel.
    pub clear: u64,
}

/// Overhead of one packet size.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Size {
    /// Id of the SA or tunnel.
    pub sa: Name,
    /// IP length of the plaintext packet.
    pub inner_bytes: u64,
    /// Pairs whose outer length is known.
    pub frames: u64,
    /// Least outer IP length, fragments summed; null where every packet of this size was lost, and where the pairs are a few
    /// guesses that lengths chose (then none of the lengths in the tunnel is given).
    pub outer_bytes_min: Option<u64>,
    /// Greatest.
    pub outer_bytes_max: Option<u64>,
    /// Least overhead; negative where compression gains.
    pub overhead_min_bytes: Option<i64>,
    /// Greatest.
    pub overhead_max_bytes: Option<i64>,
    /// Mean overhead of the inner length, in per cent.
    pub overhead_of_inner_pct: Option<f64>,
    /// Layer 1 octets of the plain packet in an untagged Ethernet frame.
    pub l1_plain_bytes: Option<u64>,
    /// Mean layer 1 octets of the tunnelled packet in an untagged Ethernet frame; null where it was cut into fragments.
    pub l1_tunnel_bytes: Option<f64>,
    /// Layer 1 length of the plain packet of the tunnel's, per cent: the share of the circuit that is the packet's own.
    pub circuit_share_pct: Option<f64>,
    /// What the overhead is made of, where it is known.
    pub parts: Option<Parts>,
    /// The overhead that the transform makes of this length, with the headers around it.
    pub predicted_bytes: Option<i64>,
    /// Mean measured less predicted.
    pub difference_bytes: Option<f64>,
    /// Why they differ.
    pub difference_why: Option<Cow<'static, str>>,
    /// Time between the taps.
    pub latency_ns: Option<Times>,
    /// Packets of this size lost before the tunnel tap.
    pub lost_before_tunnel: Option<u64>,
    /// Packets of this size lost between the tunnel tap and the exit tap.
    pub lost_behind_tunnel: Option<u64>,
    /// Packets of this size lost between the plain tap and the exit tap.
    pub lost_end_to_end: Option<u64>,
    /// Smallest MTU that an ICMP error stated to a sender of this traffic, where it explains the loss: the packet is longer.
    pub icmp_mtu_bytes: Option<u64>,
    /// Share of packets of this size that was lost between the taps, in per cent.
    pub loss_pct: Option<f64>,
    /// How most of its pairs are known.
    pub basis: PairBasis,
}

/// Ethernet padding on both sides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Padding {
    /// Padding of the plaintext frames that were paired.
    pub plain_ethernet: EthernetPad,
    /// Padding of the tunnel's frames.
    pub tunnel_ethernet: EthernetPad,
    /// Padding of the frames of the far side; null without one.
    pub exit_ethernet: Option<EthernetPad>,
    /// Whether padding of plaintext frames was carried into the tunnel.
    pub carried_into_tunnel: bool,
    /// Padded plaintext frames of which the tunnel shows whether their padding was carried.
    pub carried_known: u64,
    /// Whether the far side shows other padding octets than the near one, in the same packets.
    pub rewritten: bool,
    /// Frames that show it.
    pub examples: Vec<PaddingExample>,
}

/// Padding of the frames of one side.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EthernetPad {
    /// Frames that have some.
    pub frames: u64,
    /// Fewest octets.
    pub pad_bytes_min: u32,
    /// Most octets.
    pub pad_bytes_max: u32,
    /// Frames padded with 0x00.
    pub zero: u64,
    /// With 0xff.
    pub ff: u64,
    /// With one other octet.
    pub repeated: u64,
    /// With different octets.
    pub other: u64,
}

/// One padded packet on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PaddingExample {
    /// The plaintext frame.
    pub plain: FrameRef,
    /// What its padding looks like, null where it has none.
    pub plain_pattern: Option<Pattern>,
    /// The tunnel's frame, where it is known.
    pub tunnel: Option<FrameRef>,
    /// Whether the tunnel carries the padding; null where that cannot be known.
    pub carried: Option<bool>,
    /// The frame of the far side.
    pub exit: Option<FrameRef>,
    /// What its padding looks like.
    pub exit_pattern: Option<Pattern>,
}

/// Packets from one plaintext side to the other, one way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ends {
    /// Source, or the shortest prefix that covers all.
    pub src: String,
    /// Destination, or the shortest prefix that covers all.
    pub dst: String,
    /// Which way its packets go, by their TTL.
    pub way: EndsWay,
    /// Packets seen on both sides.
    pub matched: u64,
    /// Packets of this traffic that the later side did not show.
    pub lost: u64,
    /// The same of all, in per cent.
    pub loss_pct: Option<f64>,
    /// Time between the two sides, clocks compared in the same way.
    pub latency_ns: Option<Times>,
    /// Whether a wrong offset of the clocks makes the times wrong by as much.
    pub depends_on_offset: bool,
}

/// A plaintext packet that was lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lost {
    /// The frame.
    pub frame: FrameRef,
    /// When.
    pub time: Option<Rfc3339>,
    /// IP length.
    pub inner_bytes: u64,
    /// The SA whose number is missing, where a hole in the numbers names the packet: it was lost behind the gateway.
    pub sa: Option<Name>,
    /// That number.
    pub sequence: Option<u32>,
    /// How sure it is that it was this packet.
    pub confidence: f64,
    /// Where it was lost.
    pub verdict: LossPlace,
}

/// An empty transform.
impl Default for TransformReport {
    fn default() -> Self {
        Self {
            basis: TransformBasis::Unknown,
            name: None,
            candidates: Arc::from(Vec::new()),
            evidence: None,
            block_bytes: None,
            iv_bytes: None,
            icv_bytes: None,
        }
    }
}
