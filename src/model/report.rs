//! The report as data: exactly what `--format json` prints. Names carry units; absent is `null`.

mod accepted;
mod capture;
pub mod diff;
mod finding;
mod gaps;
mod hidden;
mod padding;
mod rates;
mod run;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use accepted::{Accepted, AcceptedBy, BaselineOutcome, KnownFinding};
pub use capture::{Capture, CaptureDigest, DamageReport, Interface};
pub use finding::{ConfigLine, Finding, Fix, Occurrence};
pub use gaps::Gap;
pub use padding::{AhPadding, EspPadding, EthernetPadding, Padding};
pub use rates::{Bin, DirectionRate, GoodputRange, PauseRate, Peak, Rates, SaTimeBin};
pub use run::RunSummary;
pub use words::{Name, Rfc3339, Shown, When};

pub use super::vocabulary::{
    DigestAlgorithm, EventKind, Exactness, LengthBasis, OverheadBasis, Pattern, ReportSchema, SaMode, Severity,
    TapRole, TimeBasis, TransformBasis,
};
use super::{Address, Encapsulation, Protocol, Spi};

/// Everything a run found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of the schema.
    pub schema: ReportSchema,
    /// What made the report.
    pub tool: Tool,
    /// `exact`, or `degraded` where a limit was hit.
    pub exactness: Exactness,
    /// Which limits were hit and what was dropped, one sentence each.
    pub degraded_why: Vec<String>,
    /// The inputs, in the order frame references count them.
    pub captures: Vec<Capture>,
    /// The filters given, as options: no figure holds what they leave out.
    pub filters: Vec<String>,
    /// The other settings that figures depend on, as options, where they are not the usual ones.
    #[serde(default)]
    pub settings: Vec<String>,
    /// The points on the wire.
    pub taps: Vec<Tap>,
    /// Sums over all frames of all taps.
    pub totals: Totals,
    /// Stacks of headers and how often each occurred.
    pub layers: Vec<Layer>,
    /// Security associations.
    pub sas: Vec<Sa>,
    /// Pairs of endpoints with the SAs of each direction.
    pub tunnels: Vec<Tunnel>,
    /// Sequence numbers that were skipped, tap by tap and SA by SA: the first of each SA, and no more than ten thousand in all.
    #[serde(default)]
    pub gaps: Vec<Gap>,
    /// How many more gaps there are at least; of those that filled up later, some are not counted.
    #[serde(default)]
    pub gaps_beyond: u64,
    /// Overhead by inner packet size.
    pub sizes: Vec<Size>,
    /// Outer sizes of SAs whose inner packet is not visible.
    pub outer_sizes: Vec<OuterSize>,
    /// Padding of every kind.
    pub padding: Padding,
    /// Rates from timestamps.
    pub rates: Rates,
    /// What began, ended or changed, in time order.
    pub events: Vec<Event>,
    /// What is wrong or worth knowing, most severe first.
    pub findings: Vec<Finding>,
    /// How the findings compare with those of `--baseline`; null without one.
    #[serde(default)]
    pub baseline: Option<BaselineOutcome>,
    /// What was not understood of the configurations; null without any.
    pub config: Option<ConfigRead>,
    /// How the inputs were read and how many findings there are.
    #[serde(default)]
    pub run: RunSummary,
    /// The exit status the run ends with (repeated on the last line of standard error).
    pub exit_status: u8,
}

/// What was not understood of the configurations that were given.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigRead {
    /// Lines that were skipped although they have words of IPsec in them, the first thousand of each input.
    pub unread: Vec<UnreadLine>,
}

/// A line of a configuration that was skipped. Its text may hold a key, so it is not given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnreadLine {
    /// The input as it was named.
    pub file: String,
    /// Line number in it, from 1.
    pub line: u64,
}

/// What made the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    /// `spiglass`.
    pub name: Cow<'static, str>,
    /// Its version.
    pub version: Cow<'static, str>,
}

impl Tool {
    /// This program.
    #[must_use]
    pub const fn this() -> Self {
        Self { name: Cow::Borrowed("spiglass"), version: Cow::Borrowed(env!("CARGO_PKG_VERSION")) }
    }
}

/// A point on the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tap {
    /// Its name: given with `--tap`, else the stem of its first capture.
    pub name: Name,
    /// Indices into `captures`.
    pub captures: Vec<u32>,
    /// Which side of a tunnel it is on.
    pub role: TapRole,
}

/// Sums over all frames.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Totals {
    /// Frames.
    pub frames: u64,
    /// Captured octets.
    pub captured_bytes: u64,
    /// Octets on the wire as the captures state them.
    pub wire_bytes: u64,
    /// Layer 1 octets.
    pub l1_bytes: u64,
    /// Frames that carry IP.
    pub ip_frames: u64,
    /// Frames that carry AH, ESP or IPComp.
    pub ipsec_frames: u64,
    /// Control frames.
    pub control_frames: u64,
    /// Frames whose outermost IP packet is a fragment.
    pub fragments: u64,
    /// Frames cut by a snapshot length.
    pub truncated_by_snaplen: u64,
    /// Frames that segmentation offload made, never on the wire like this.
    pub offloaded: u64,
    /// Frames of which dissection understood less than the network layer.
    pub undissected: u64,
}

/// One stack of headers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Layer {
    /// The tap.
    pub tap: Name,
    /// `eth/ipv4/ah/ipv4`.
    pub stack: String,
    /// Frames.
    pub frames: u64,
    /// Octets on the wire.
    pub wire_bytes: u64,
}

/// Where a frame stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameRef {
    /// Index into `captures`.
    pub capture: u32,
    /// Number within it, from 1.
    pub frame: u64,
}

/// One security association.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sa {
    /// `esp/192.168.1.1/192.168.1.2/0x000003ea`.
    pub id: Name,
    /// The tap.
    pub tap: Name,
    /// Protocol of its header.
    pub proto: Protocol,
    /// SPI in decimal.
    pub spi: u32,
    /// SPI in hex.
    pub spi_hex: Shown<Spi>,
    /// Source address.
    pub src: Shown<Address>,
    /// Destination address.
    pub dst: Shown<Address>,
    /// How the header was carried.
    pub encapsulation: Encapsulation,
    /// Its mode.
    pub mode: SaMode,
    /// Frames that carry the header.
    pub frames: u64,
    /// Later IP fragments attributed to it.
    pub fragments: u64,
    /// Packets whose fragments fit together in more than one way: counted, and without a size.
    pub fragments_uncertain: u64,
    /// Outer IP octets of both.
    pub outer_bytes: u64,
    /// Frames that show a packet again, taken out of the figures: TAP copies, or packets that a router sent on (`sa-forwarded`).
    pub copies_removed: u64,
    /// Time of the first frame.
    pub first: Option<Rfc3339>,
    /// Time of the last frame.
    pub last: Option<Rfc3339>,
    /// The same in nanoseconds.
    pub first_ns: Option<i64>,
    /// The same in nanoseconds.
    pub last_ns: Option<i64>,
    /// The first frame.
    pub first_frame: FrameRef,
    /// The last frame.
    pub last_frame: FrameRef,
    /// Sequence numbers; null for IPComp, for pairs of addresses that share a counter (`spi-group`), and for several counters on one SPI
    /// (`sequence-interleaved`).
    pub sequence: Option<Sequence>,
    /// What is known of the transform.
    pub transform: TransformReport,
    /// ICV octets (AH: of the ICV field without known padding), null where unknown.
    pub icv_bytes: Option<u32>,
    /// What came of checking its ICVs; only where the policies state a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icv_checks: Option<IcvChecks>,
    /// Average rate.
    pub rate: SaRate,
    /// ESP header, IV, padding, trailer and ICV together: of decrypted packets, or of all that a known transform allows.
    pub protection_bytes: Option<MinMax>,
    /// Overhead.
    pub overhead: Overhead,
}

/// Sequence numbers of one SA.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sequence {
    /// Of the first frame in capture order.
    pub first: u32,
    /// Of the last frame in capture order.
    pub last: u32,
    /// Unwrapped maximum of the last run.
    pub highest: u64,
    /// Numbers never seen at this tap between the first and the highest.
    pub lost: u64,
    /// Holes.
    pub gaps: u64,
    /// Numbers in the longest hole.
    pub longest_gap: u64,
    /// Frames whose number was seen before.
    pub duplicate: u64,
    /// Numbers first seen below the maximum.
    pub late: u64,
    /// Counter restarts on the same SPI.
    pub restarts: u64,
    /// Crossings of 2^32.
    pub wraps: u64,
    /// What anti-replay windows would have dropped; only sizes that would drop. Without repeated numbers where the capture may show packets twice (notes
    /// `sequence-duplicate`).
    pub replay_window: Vec<ReplayWindow>,
}

/// What came of checking the packets of an SA with keys. TAP copies count like other packets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IcvChecks {
    /// Packets that verify under some key.
    pub verified: u64,
    /// Packets that fail under every key.
    pub failed: u64,
    /// Packets that could not be checked: cut, in fragments, or there is nothing to check.
    pub not_checked: u64,
    /// ESP packets that were decrypted.
    pub decrypted: u64,
}

/// What one anti-replay window would have dropped.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReplayWindow {
    /// Window size in packets.
    pub size: u32,
    /// Frames dropped.
    pub would_drop: u64,
}

/// What is known of an SA's transform.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransformReport {
    /// How it is known.
    pub basis: TransformBasis,
    /// Its name, null where unknown.
    pub name: Option<Name>,
    /// Names consistent with what was seen, the likeliest first.
    pub candidates: Arc<[Name]>,
    /// What an inference rests on and what it cannot decide.
    pub evidence: Option<Name>,
    /// What ESP pads to, in octets: of the configured transform, else what all candidates have in common. Null for AH.
    pub block_bytes: Option<u32>,
    /// Explicit IV of ESP, in octets, known in the same way.
    pub iv_bytes: Option<u32>,
    /// ICV of ESP, in octets, known in the same way.
    pub icv_bytes: Option<u32>,
}

/// Average rate of an SA between its first and last frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaRate {
    /// Frames per second.
    pub frames_per_s: Option<f64>,
    /// Layer 1 bits per second.
    pub l1_bps: Option<f64>,
}

/// A range of octets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MinMax {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

/// Overhead of an SA and how it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Overhead {
    /// How it is known.
    pub basis: OverheadBasis,
    /// Smallest, in octets; negative where compression gains.
    pub min_bytes: Option<i64>,
    /// Largest, in octets.
    pub max_bytes: Option<i64>,
    /// Mean per packet, in octets.
    pub mean_bytes: Option<f64>,
}

/// A pair of endpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tunnel {
    /// The tap.
    pub tap: Name,
    /// The lower address.
    pub a: String,
    /// The higher address.
    pub b: String,
    /// Ids of SAs from `a` to `b`.
    pub sas_a_to_b: Vec<Name>,
    /// Ids of SAs from `b` to `a`.
    pub sas_b_to_a: Vec<Name>,
    /// First frame's time.
    pub first_ns: Option<i64>,
    /// Last frame's time.
    pub last_ns: Option<i64>,
}

/// Overhead at one inner packet size.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Size {
    /// The tap.
    pub tap: Name,
    /// `from > to` of the outer addresses.
    pub direction: String,
    /// Id of the outermost SA; null for tunnels without IPsec.
    pub sa: Option<Name>,
    /// Layers from the outer IP header on, without the encapsulated packet: `ipv4/ah`.
    pub encapsulation: String,
    /// Inner IP length.
    pub inner_bytes: u64,
    /// Smallest outer IP length.
    pub outer_bytes_min: u64,
    /// Largest outer IP length.
    pub outer_bytes_max: u64,
    /// Mean outer IP length.
    pub outer_bytes_mean: f64,
    /// Packets.
    pub frames: u64,
    /// Packets per second between the first and the last of this row; null where that is one moment.
    pub frames_per_s: Option<f64>,
    /// Smallest overhead.
    pub overhead_min_bytes: i64,
    /// Largest overhead.
    pub overhead_max_bytes: i64,
    /// Mean overhead.
    pub overhead_mean_bytes: f64,
    /// Mean overhead of the inner length, per cent.
    pub overhead_of_inner_pct: f64,
    /// Mean overhead of the tunnel's layer 1 length, per cent.
    pub overhead_of_l1_pct: f64,
    /// Layer 1 length of the plain packet of the tunnel's, per cent: the share of the circuit that is the packet's own.
    pub circuit_share_pct: f64,
    /// Layer 1 octets of the plain packet in an untagged Ethernet frame.
    pub l1_plain_bytes: u64,
    /// Mean layer 1 octets of the tunnelled packet.
    pub l1_tunnel_bytes: f64,
    /// End-to-end layer 1 rate of this row.
    pub l1_plain_bps: Option<f64>,
    /// Circuit layer 1 rate of this row.
    pub l1_tunnel_bps: Option<f64>,
    /// What the overhead is made of, mean octets.
    pub parts: Parts,
    /// How it is known.
    pub basis: OverheadBasis,
}

/// What an overhead is made of: mean octets per packet. Where a tunnel carries Ethernet frames, their header, tags and padding
/// count to the GRE or UDP that carries them; with EtherIP and L2TP directly in IP they are `link`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts {
    /// Outer IP headers with options and extension headers.
    pub outer_ip: f64,
    /// UDP headers.
    pub udp: f64,
    /// TCP headers.
    pub tcp: f64,
    /// GRE headers.
    pub gre: f64,
    /// Ethernet headers, tags and padding inside EtherIP and L2TP in IP.
    pub link: f64,
    /// AH with ICV and padding.
    pub ah: f64,
    /// SPI and sequence number of ESP.
    pub esp_header: f64,
    /// IV of ESP.
    pub iv: f64,
    /// Padding of ESP, TFC padding included.
    pub esp_pad: f64,
    /// Pad length and next header of ESP.
    pub esp_trailer: f64,
    /// ICV of ESP.
    pub icv: f64,
    /// IP headers of all fragments but the first.
    pub fragmentation: f64,
}

/// Outer sizes of an opaque SA.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OuterSize {
    /// The tap.
    pub tap: Name,
    /// Id of the SA.
    pub sa: Name,
    /// Outer IP length.
    pub outer_bytes: u64,
    /// Packets.
    pub frames: u64,
}

/// What began, ended or changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// When: `time` in words and `time_ns`.
    #[serde(flatten)]
    pub when: When,
    /// The tap.
    pub tap: Name,
    /// What it was.
    pub what: EventKind,
    /// Id of the SA.
    pub sa: Name,
    /// The SA it follows, for a rekey.
    pub from_sa: Option<Name>,
    /// The frame that shows it.
    pub frame: FrameRef,
}
