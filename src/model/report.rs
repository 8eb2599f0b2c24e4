//! The report as data: exactly what `--format json` prints. Names carry units; absent is `null`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::{Address, Spi, Timestamp};

/// The schema name of [`Report`].
pub const SCHEMA: &str = "spiglass.report/1";

/// The name of a tap or a transform, the id of an SA: many rows share one.
pub type Name = Arc<str>;

/// Something small that is written in words, made when they are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A moment in nanoseconds since the Unix epoch, written as RFC 3339 in UTC with nine digits.
///
/// A report of many SAs has many of them, and the words are five times as long as the number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rfc3339(pub i64);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every 64-bit count of nanoseconds lies within the years that jiff knows.
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(moment) => write!(f, "{moment:.9}"),
            Err(_) => write!(f, "{} ns", self.0),
        }
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Everything a run found out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// What made the report.
    pub tool: Tool,
    /// `exact`, or `degraded` where a limit was hit.
    pub exactness: Exactness,
    /// Which limits were hit and what was dropped, one sentence each.
    pub degraded_why: Vec<String>,
    /// The inputs, in the order frame references count them.
    pub captures: Vec<Capture>,
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
    /// The exit status the run ends with (repeated on the last line of standard error).
    pub exit_status: u8,
}

/// What made the report.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// `spiglass`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Whether every figure is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// No limit was hit.
    Exact,
    /// A limit was hit; `degraded_why` says which.
    Degraded,
}

/// One input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Capture {
    /// As it was named.
    pub path: String,
    /// Name of the tap it belongs to.
    pub tap: String,
    /// `pcap` or `pcapng`.
    pub format: String,
    /// `gzip`, `zstd`, `lz4`, `xz`, `bzip2` or null.
    pub compression: Option<String>,
    /// Names of its link types (numbers where spiglass does not read them), in order of appearance.
    pub link_types: Vec<String>,
    /// Its interfaces (pcapng; one nameless in pcap).
    pub interfaces: Vec<Interface>,
    /// Frames read.
    pub frames: u64,
    /// Bytes read, decompressed.
    pub bytes: u64,
    /// Time of the earliest frame.
    pub first: Option<String>,
    /// Time of the latest frame.
    pub last: Option<String>,
    /// The same in nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// The same in nanoseconds since the epoch.
    pub last_ns: Option<i64>,
    /// Whether it was read to a proper end.
    pub complete: bool,
    /// The first damage, if any.
    pub damage: Option<DamageReport>,
}

/// One interface of a capture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interface {
    /// Its name where the capture gives one.
    pub name: Option<String>,
    /// Its link type's name.
    pub link_type: String,
    /// Snapshot length, null or 0 where unlimited.
    pub snaplen: Option<u32>,
    /// Packets the capturing host says it dropped (pcapng interface statistics).
    pub drops: Option<u64>,
}

/// Damage in a capture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DamageReport {
    /// Byte offset in the decompressed stream.
    pub offset: u64,
    /// Number the next frame would have had.
    pub frame: u64,
    /// What was found.
    pub what: String,
    /// `cut` (the file ends inside a record), `corrupt`, or `read` (the operating system or a decompressor failed).
    pub kind: Cow<'static, str>,
}

/// A point on the wire.
#[derive(Clone, Debug, Serialize)]
pub struct Tap {
    /// Its name: given with `--tap`, else the stem of its first capture.
    pub name: Name,
    /// Indices into `captures`.
    pub captures: Vec<u32>,
    /// `plain`, `tunnel`, `mixed` or `unknown`.
    pub role: &'static str,
}

/// Sums over all frames.
#[derive(Clone, Debug, Default, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FrameRef {
    /// Index into `captures`.
    pub capture: u32,
    /// Number within it, from 1.
    pub frame: u64,
}

/// One security association.
#[derive(Clone, Debug, Serialize)]
pub struct Sa {
    /// `esp/192.168.1.1/192.168.1.2/0x000003ea`.
    pub id: Name,
    /// The tap.
    pub tap: Name,
    /// `esp`, `ah` or `ipcomp`.
    pub proto: &'static str,
    /// SPI in decimal.
    pub spi: u32,
    /// SPI in hex.
    pub spi_hex: Shown<Spi>,
    /// Source address.
    pub src: Shown<Address>,
    /// Destination address.
    pub dst: Shown<Address>,
    /// `native`, `udp`, `tcp` or `wesp`.
    pub encapsulation: &'static str,
    /// `tunnel`, `transport` or `unknown`.
    pub mode: &'static str,
    /// Frames that carry the header.
    pub frames: u64,
    /// Later IP fragments attributed to it.
    pub fragments: u64,
    /// Outer IP octets of both.
    pub outer_bytes: u64,
    /// TAP copies taken out of the figures.
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
    /// Sequence numbers; null for IPComp.
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
#[derive(Clone, Debug, Serialize)]
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
    /// What anti-replay windows would have dropped; only sizes that would drop.
    pub replay_window: Vec<ReplayWindow>,
}

/// What came of checking the packets of an SA with keys. TAP copies count like other packets.
#[derive(Clone, Copy, Debug, Serialize)]
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
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReplayWindow {
    /// Window size in packets.
    pub size: u32,
    /// Frames dropped.
    pub would_drop: u64,
}

/// What is known of an SA's transform.
#[derive(Clone, Debug, Serialize)]
pub struct TransformReport {
    /// `expected`, `visible`, `inferred` or `unknown`.
    pub basis: &'static str,
    /// Its name, null where unknown.
    pub name: Option<Name>,
    /// Names consistent with what was seen, the likeliest first.
    pub candidates: Arc<[Name]>,
    /// What an inference rests on and what it cannot decide.
    pub evidence: Option<Name>,
}

/// Average rate of an SA between its first and last frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SaRate {
    /// Frames per second.
    pub frames_per_s: Option<f64>,
    /// Layer 1 bits per second.
    pub l1_bps: Option<f64>,
}

/// A range of octets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MinMax {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

/// Overhead of an SA and how it is known.
#[derive(Clone, Debug, Serialize)]
pub struct Overhead {
    /// `visible`, `decrypted`, `matched`, `modelled` or `unknown`.
    pub basis: &'static str,
    /// Smallest, in octets; negative where compression gains.
    pub min_bytes: Option<i64>,
    /// Largest, in octets.
    pub max_bytes: Option<i64>,
    /// Mean per packet, in octets.
    pub mean_bytes: Option<f64>,
}

/// A pair of endpoints.
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
    /// `visible`, `decrypted`, `matched` or `modelled`.
    pub basis: &'static str,
}

/// What an overhead is made of: mean octets per packet. Where a tunnel carries Ethernet frames, their header, tags and padding
/// count to the GRE or UDP that carries them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)] // the field names are the published vocabulary of the figure
pub struct Parts {
    pub outer_ip: f64,
    pub udp: f64,
    pub tcp: f64,
    pub gre: f64,
    pub ah: f64,
    pub esp_header: f64,
    pub iv: f64,
    pub esp_pad: f64,
    pub esp_trailer: f64,
    pub icv: f64,
    pub fragmentation: f64,
}

/// Outer sizes of an opaque SA.
#[derive(Clone, Debug, Serialize)]
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

/// Padding of every kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Padding {
    /// Octets behind the IP packet in Ethernet frames.
    pub ethernet: Vec<EthernetPadding>,
    /// ESP padding, where it is visible.
    pub esp: Vec<EspPadding>,
    /// Padding of the AH ICV field.
    pub ah: Vec<AhPadding>,
}

/// Ethernet padding of one direction and pattern.
#[derive(Clone, Debug, Serialize)]
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
    /// `zero`, `ff`, `repeated` or `other`.
    pub pattern: &'static str,
    /// First frames that show it.
    pub examples: Vec<FrameRef>,
}

/// ESP padding of one SA.
#[derive(Clone, Debug, Serialize)]
pub struct EspPadding {
    /// The tap.
    pub tap: Name,
    /// Id of the SA.
    pub sa: Name,
    /// How it is known.
    pub basis: &'static str,
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
#[derive(Clone, Debug, Serialize)]
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

/// Rates from timestamps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Width of a bin.
    pub bin_ns: u64,
    /// Averages and peaks per direction.
    pub directions: Vec<DirectionRate>,
    /// PAUSE frames per sender and class.
    pub pause: Vec<PauseRate>,
    /// Time series.
    pub bins: Vec<Bin>,
}

/// Averages and peak of one direction, over the time between its first and last frame.
#[derive(Clone, Debug, Serialize)]
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
    /// Lower bound from the transform's range.
    pub goodput_min_bps: Option<f64>,
    /// Upper bound from the transform's range.
    pub goodput_max_bps: Option<f64>,
    /// IP traffic that is not encapsulated, layer 3.
    pub clear_bps: Option<f64>,
    /// Layer 1 of control frames.
    pub control_l1_bps: Option<f64>,
    /// Layer 1 with control frames of `--link-rate`, per cent.
    pub utilisation_pct: Option<f64>,
    /// The fullest bin.
    pub peak: Option<Peak>,
    /// `measured`, or `assumed` where lengths of an Ethernet frame had to be assumed.
    pub l1_basis: &'static str,
}

/// The fullest bin of a direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Peak {
    /// Where the bin starts.
    pub start_ns: i64,
    /// Layer 1 rate in it.
    pub l1_bps: f64,
    /// Frames per second in it.
    pub frames_per_s: f64,
}

/// PAUSE frames of one sender and class.
#[derive(Clone, Debug, Serialize)]
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

/// One bin of the time series.
#[derive(Clone, Copy, Debug, Serialize)]
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

/// A moment that is written twice, as `time` in words and as `time_ns`; both null where it is unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct When(pub Timestamp);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("When", 2)?;
        fields.serialize_field("time", &self.0.ns().map(Rfc3339))?;
        fields.serialize_field("time_ns", &self.0.ns())?;
        fields.end()
    }
}

/// What began, ended or changed.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// When: `time` in words and `time_ns`.
    #[serde(flatten)]
    pub when: When,
    /// The tap.
    pub tap: Name,
    /// `sa-start`, `sa-stop`, `rekey`, `restart` or `wrap`.
    pub what: &'static str,
    /// Id of the SA.
    pub sa: Name,
    /// The SA it follows, for a rekey.
    pub from_sa: Option<Name>,
    /// The frame that shows it.
    pub frame: FrameRef,
}

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something is probably wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// The word used in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What is wrong or worth knowing.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The stable code, as `spiglass explain` knows it.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// The tap, empty where it concerns a capture.
    pub tap: Name,
    /// Id of the SA or the flow it concerns.
    pub sa: Option<Name>,
    /// How often.
    pub count: u64,
    /// First frame.
    pub first_frame: Option<FrameRef>,
    /// Last frame.
    pub last_frame: Option<FrameRef>,
    /// First frame's time.
    pub first: Option<String>,
    /// Last frame's time.
    pub last: Option<String>,
    /// The same in nanoseconds.
    pub first_ns: Option<i64>,
    /// The same in nanoseconds.
    pub last_ns: Option<i64>,
    /// What was seen, with figures.
    pub evidence: String,
    /// The likely cause.
    pub cause: String,
    /// What to do.
    pub remedy: String,
    /// Lines of configuration that cause it.
    pub config: Vec<ConfigLine>,
    /// Lines to type.
    pub fix: Vec<Fix>,
}

/// A line of configuration, secrets removed.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigLine {
    /// The file.
    pub file: String,
    /// The router.
    pub host: String,
    /// Line number, from 1.
    pub line: u64,
    /// Its text.
    pub text: String,
}

/// Lines to type on one router.
#[derive(Clone, Debug, Serialize)]
pub struct Fix {
    /// The router.
    pub host: String,
    /// The lines.
    pub lines: Vec<String>,
}
