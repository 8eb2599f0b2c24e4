//! The calculator: what transforms cost at given packet sizes, and what a link can carry then. No capture is needed.

use serde::{Deserialize, Serialize};

use crate::transform::size::ethernet;
use crate::transform::size::ethernet::{frames_per_s, l1_of_packet, l1_of_packet_with};
use crate::transform::size::fit::{LONGEST, fragments, largest_inner, tcp_mss};
use crate::transform::size::layers::{IpVersion, Layers, Lengths};
use crate::transform::size::parts::Part;
use crate::transform::size::path::{Mode, Path, Protection};

pub use crate::model::vocabulary::CalcSchema;

/// Frame sizes of RFC 2544 section 9.1, with FCS, in octets.
pub const RFC_2544: [u64; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// The simple Internet mix: IP lengths in octets, and how many packets of each in twelve.
pub const IMIX: [(u64, u64); 3] = [(40, 7), (576, 4), (1500, 1)];

/// Octets of an 802.1Q tag.
const TAG: u64 = 4;

/// What is asked of the calculator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// Ways to carry packets, to be compared.
    pub paths: Vec<Path>,
    /// IP lengths of plaintext packets, in octets.
    pub sizes: Vec<u64>,
    /// Whether the sizes are those of [`IMIX`], so that a mean over the mix makes sense.
    pub imix: bool,
    /// 802.1Q tags on the link of the tunnel.
    pub tags: u32,
    /// The longest IP packet of that link, in octets.
    pub mtu: u64,
    /// Rate of the link, in bit/s.
    pub link_rate: u64,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Calculation {
    /// Name and version of the schema.
    pub schema: CalcSchema,
    /// MTU that packets must fit into.
    pub mtu: u64,
    /// Rate of the link.
    pub link_rate_bps: u64,
    /// 802.1Q tags on the link of the tunnel.
    pub vlan_tags: u32,
    /// One for each way.
    pub transforms: Vec<Costs>,
}

/// What one way costs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Costs {
    /// Name of the transform.
    pub transform: String,
    /// The mode of AH and ESP; null where there is neither.
    pub mode: Option<Mode>,
    /// The outer header.
    pub outer: IpVersion,
    /// The packet.
    pub inner: IpVersion,
    /// Whether ESP is in UDP.
    pub udp_encap: bool,
    /// Whether the packet is in GRE.
    pub gre: bool,
    /// Overhead with the least padding.
    pub overhead_min_bytes: i64,
    /// Overhead with the most padding.
    pub overhead_max_bytes: i64,
    /// What the overhead is made of, from the outside in.
    pub parts: Vec<PartRange>,
    /// The largest packet whose outer packet fits into the MTU.
    pub largest_inner_bytes: Option<u64>,
    /// Its outer length.
    pub largest_outer_bytes: Option<u64>,
    /// TCP segment size in IPv4 packets of that length, without TCP options.
    pub tcp_mss_ipv4: Option<u64>,
    /// The same in IPv6.
    pub tcp_mss_ipv6: Option<u64>,
    /// What of the transform is weak, one sentence each.
    pub weak: Vec<String>,
    /// By size.
    pub sizes: Vec<Cost>,
    /// Over the mix, null unless the sizes are a mix.
    pub imix: Option<Mix>,
}

/// One part of an overhead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartRange {
    /// Which.
    pub part: Part,
    /// With the least padding.
    pub min_bytes: i64,
    /// With the most padding.
    pub max_bytes: i64,
}

/// What one size costs. Rates are rounded to thousandths.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// IP length of the packet.
    pub inner_bytes: u64,
    /// IP length of the packet in its layers, before any fragmentation.
    pub outer_bytes: u64,
    /// What is added, octets of the link's own protection (MACsec) included.
    pub overhead_bytes: i64,
    /// The same of the inner length, per cent.
    pub overhead_of_inner_pct: f64,
    /// Layer 1 octets of the packet in an untagged Ethernet frame.
    pub l1_plain_bytes: u64,
    /// Layer 1 octets of the outer packet in its Ethernet frame.
    pub l1_tunnel_bytes: u64,
    /// Frames that the link carries without the tunnel.
    pub max_plain_frames_per_s: f64,
    /// Their plaintext Ethernet frames with FCS, in 10^6 bit/s.
    pub max_plain_mbps: f64,
    /// Frames that the link carries in the tunnel.
    pub max_tunnel_frames_per_s: f64,
    /// Their plaintext Ethernet frames with FCS, in 10^6 bit/s.
    pub max_tunnel_mbps: f64,
    /// Into how many fragments the outer packet is cut at the MTU; 1 where it fits, null where nothing would fit.
    pub fragments: Option<u64>,
}

/// Means over a mix of sizes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mix {
    /// Mean IP length of the packets.
    pub inner_bytes_mean: f64,
    /// Mean IP length of the outer packets.
    pub outer_bytes_mean: f64,
    /// Mean overhead of the mean length, per cent.
    pub overhead_of_inner_pct: f64,
    /// Frames that the link carries without the tunnel.
    pub max_plain_frames_per_s: f64,
    /// Frames that the link carries in the tunnel.
    pub max_tunnel_frames_per_s: f64,
    /// Of the rate without the tunnel, per cent.
    pub tunnel_of_plain_pct: f64,
}

/// Answers.
///
/// # Errors
///
/// One sentence where a packet cannot be carried so, or cannot have a size.
pub fn calculate(question: &Question) -> Result<Calculation, String> {
    let transforms: Result<Vec<Costs>, String> = question.paths.iter().map(|path| costs(path, question)).collect();
    Ok(Calculation {
        schema: CalcSchema::V1,
        mtu: question.mtu,
        link_rate_bps: question.link_rate,
        vlan_tags: question.tags,
        transforms: transforms?,
    })
}

fn costs(path: &Path, question: &Question) -> Result<Costs, String> {
    let layers = path.layers().map_err(|error| format!("{}: {error}", path.protection))?;
    let (least, most) = layers.extremes().ok_or_else(|| format!("{}: nothing can be carried", path.protection))?;
    let sizes: Result<Vec<Cost>, String> =
        question.sizes.iter().map(|size| cost(path, &layers, *size, question)).collect();
    let largest = largest_inner(&layers, question.mtu).filter(|inner| *inner >= path.inner.header());
    let mss = |version| largest.and_then(|inner| tcp_mss(inner, version));
    let weak = match path.protection {
        Protection::Suite(suite) => suite.weaknesses(),
        _ => Vec::new(),
    };
    let moded = matches!(path.protection, Protection::Suite(suite) if suite.ah.is_some() || suite.esp.is_some());
    Ok(Costs {
        transform: path.protection.to_string(),
        mode: moded.then_some(path.mode),
        outer: path.outer,
        inner: path.inner,
        udp_encap: path.udp,
        gre: path.gre,
        overhead_min_bytes: least.overhead(),
        overhead_max_bytes: most.overhead(),
        parts: parts(&least, &most),
        largest_inner_bytes: largest,
        largest_outer_bytes: largest.and_then(|inner| layers.lengths(inner)).map(|lengths| lengths.outer),
        tcp_mss_ipv4: mss(IpVersion::V4),
        tcp_mss_ipv6: mss(IpVersion::V6),
        weak: weak.iter().map(|weakness| format!("{}: {}", weakness.algorithm, weakness.why)).collect(),
        sizes: sizes?,
        imix: question.imix.then(|| mix(&layers, question)).flatten(),
    })
}

fn parts(least: &Lengths, most: &Lengths) -> Vec<PartRange> {
    let ranges = most.parts.present().map(|(part, max_bytes)| {
        let min_bytes = least.parts.of(part);
        PartRange { part, min_bytes, max_bytes }
    });
    ranges.collect()
}

// As floats: lengths of packets and rates of links are far below 2^53.
fn cost(path: &Path, layers: &Layers, size: u64, question: &Question) -> Result<Cost, String> {
    let least = path.inner.header();
    if !(least..=LONGEST).contains(&size) {
        let family = if path.inner == IpVersion::V4 { "IPv4" } else { "IPv6" };
        return Err(format!("{size}: a packet of {family} has {least} to {LONGEST} bytes"));
    }
    let lengths = layers.lengths(size).ok_or_else(|| format!("{size}: too short to be carried"))?;
    let (plain, tunnel) = (l1_of_packet(size), l1_tunnel(&lengths, question));
    // The frame with FCS is what layer 1 has without preamble and gap.
    let mbps = |fps: f64| fps * (plain - ethernet::PREAMBLE_AND_IFG) as f64 * 8.0 / 1e6;
    let fps = |l1: u64| frames_per_s(question.link_rate, l1 as f64);
    Ok(Cost {
        inner_bytes: size,
        outer_bytes: lengths.outer,
        overhead_bytes: lengths.overhead(),
        overhead_of_inner_pct: thousandths(lengths.overhead() as f64 * 100.0 / size as f64),
        l1_plain_bytes: plain,
        l1_tunnel_bytes: tunnel,
        max_plain_frames_per_s: thousandths(fps(plain)),
        max_plain_mbps: thousandths(mbps(fps(plain))),
        max_tunnel_frames_per_s: thousandths(fps(tunnel)),
        max_tunnel_mbps: thousandths(mbps(fps(tunnel))),
        fragments: fragments(lengths.outer, path.outer, question.mtu).map(|cut| cut.count),
    })
}

fn l1_tunnel(lengths: &Lengths, question: &Question) -> u64 {
    l1_of_packet_with(lengths.outer, TAG * u64::from(question.tags) + lengths.link)
}

// As floats: a dozen packets.
fn mix(layers: &Layers, question: &Question) -> Option<Mix> {
    let (mut packets, mut inner, mut outer, mut overhead, mut plain, mut tunnel) = (0, 0, 0, 0, 0, 0);
    for (size, weight) in IMIX {
        let lengths = layers.lengths(size)?;
        packets += weight;
        inner += weight * size;
        outer += weight * lengths.outer;
        overhead += i64::try_from(weight).ok()? * lengths.overhead();
        plain += weight * l1_of_packet(size);
        tunnel += weight * l1_tunnel(&lengths, question);
    }
    let mean = |sum: u64| sum as f64 / packets as f64;
    let (plain, tunnel) = (mean(plain), mean(tunnel));
    Some(Mix {
        inner_bytes_mean: thousandths(mean(inner)),
        outer_bytes_mean: thousandths(mean(outer)),
        overhead_of_inner_pct: thousandths(overhead as f64 * 100.0 / inner as f64),
        max_plain_frames_per_s: thousandths(frames_per_s(question.link_rate, plain)),
        max_tunnel_frames_per_s: thousandths(frames_per_s(question.link_rate, tunnel)),
        tunnel_of_plain_pct: thousandths(plain / tunnel * 100.0),
    })
}

fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
