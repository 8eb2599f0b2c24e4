//! Exact lengths of a packet inside layers of encapsulation.

use super::ah::{self, Alignment};
use super::parts::{Part, Parts};
use crate::model::vocabulary::vocabularies;
use crate::transform::algorithm::compression;
use crate::transform::{Esp, Integrity};

vocabularies! {
    /// Version of IP.
    #[derive(Default)]
    IpVersion {
        /// IPv4 without options.
        #[default]
        V4 = "ipv4",
        /// IPv6 without extension headers.
        V6 = "ipv6",
    }
}

impl IpVersion {
    /// Length of the header, in octets.
    #[must_use]
    pub const fn header(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// SPI and sequence number, in octets (RFC 4303 section 2).
pub const ESP_HEADER: u64 = 8;
/// Pad length and next header, in octets (RFC 4303 section 2).
pub const ESP_TRAILER: u64 = 2;
/// UDP header, in octets.
pub const UDP: u64 = 8;
/// GRE header without checksum, key and sequence number, in octets (RFC 2784); each of these is 4 more (RFC 2890).
pub const GRE: u32 = 4;
/// Header (16) and tag (16) of a WireGuard data message; what is inside is padded to 16.
pub const WIREGUARD: u64 = 32;
/// SecTAG without a secure channel identifier, in octets (IEEE 802.1AE); the identifier is 8 more.
pub const SECTAG: u64 = 8;
/// ICV of MACsec's default cipher suite, in octets.
pub const MACSEC_ICV: u64 = 16;

/// One layer around a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// An IP header.
    Ip(IpVersion),
    /// An extension header of IPv6, or options of IPv4, of this length.
    IpOptions(u32),
    /// UDP.
    Udp,
    /// GRE of this length.
    Gre(u32),
    /// AH.
    Ah(&'static Integrity, Alignment),
    /// ESP; `tfc` is the length that plaintext is filled up to against traffic analysis (RFC 4303 section 2.7), 0 for none.
    Esp {
        /// The algorithms.
        esp: Esp,
        /// In octets.
        tfc: u32,
    },
    /// IPComp's header; what it saves depends on the content.
    IpComp,
    /// WireGuard's data message.
    WireGuard,
    /// MACsec, with or without a secure channel identifier.
    MacSec {
        /// Whether the SecTAG has one.
        sci: bool,
    },
    /// So many octets.
    Constant(i32),
}

/// What the layers are around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// A whole packet: tunnel mode, GRE and the like.
    Packet,
    /// What follows the IP header of the packet: transport mode. The header is not part of the overhead.
    Payload(IpVersion),
}

/// Layers around a packet, from the outside in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layers {
    /// What is inside.
    pub carried: Carried,
    /// From the outside in. In transport mode the IP header of the packet stands outside the first.
    pub around: Vec<Layer>,
}

/// Lengths of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// IP length of the packet as it was, in octets.
    pub inner: u64,
    /// IP length of the packet in its layers, in octets.
    pub outer: u64,
    /// Octets that the link carries on top of Ethernet's own header (MACsec).
    pub link: u64,
    /// What lies between.
    pub parts: Parts,
}

impl Lengths {
    /// Outer less inner, with what the link adds; negative where something compresses.
    #[must_use]
    pub fn overhead(&self) -> i64 {
        self.parts.sum()
    }
}

impl Layers {
    /// Lengths of a packet of this IP length; `None` if it is shorter than its own header (transport mode) or longer than
    /// any packet (IPv6 jumbograms included, RFC 2675).
    #[must_use]
    pub fn lengths(&self, inner: u64) -> Option<Lengths> {
        let header = match self.carried {
            Carried::Packet => 0,
            Carried::Payload(version) => version.header(),
        };
        let mut parts = Parts::default();
        let mut length = inner.checked_sub(header).filter(|_| inner <= u32::MAX.into())?;
        let mut link = 0;
        for (at, layer) in self.around.iter().enumerate().rev() {
            let mut added = Parts::default();
            match *layer {
                Layer::Ip(version) => added.add(Part::OuterIp, version.header()),
                Layer::IpOptions(octets) => added.add(Part::OuterIp, octets.into()),
                Layer::Udp => added.add(Part::Udp, UDP),
                Layer::Gre(octets) => added.add(Part::Gre, octets.into()),
                Layer::Ah(integrity, alignment) => {
                    let ipv6 = self.version_outside(at) == Some(IpVersion::V6);
                    added.add(Part::Ah, ah::header_bytes(integrity, ipv6, alignment).into());
                }
                Layer::Esp { esp, tfc } => {
                    let aligned =
                        (length.max(tfc.into()) + ESP_TRAILER).next_multiple_of(esp.cipher.alignment.max(1).into());
                    added.add(Part::EspHeader, ESP_HEADER);
                    added.add(Part::Iv, esp.cipher.iv.into());
                    added.add(Part::EspPad, aligned - ESP_TRAILER - length);
                    added.add(Part::EspTrailer, ESP_TRAILER);
                    added.add(Part::Icv, esp.icv().into());
                }
                Layer::IpComp => added.add(Part::IpComp, compression::HEADER.into()),
                Layer::WireGuard => added.add(Part::WireGuard, WIREGUARD + length.next_multiple_of(16) - length),
                Layer::MacSec { sci } => {
                    let octets = SECTAG + if sci { 8 } else { 0 } + MACSEC_ICV;
                    parts.add(Part::MacSec, octets);
                    link += octets;
                }
                Layer::Constant(octets) => added.constant(octets.into()),
            }
            length = length.saturating_add_signed(added.sum());
            parts.absorb(&added);
        }
        Some(Lengths { inner, outer: length.saturating_add(header), link, parts })
    }

    /// Version of the IP header that stands outside a layer.
    fn version_outside(&self, at: usize) -> Option<IpVersion> {
        let around = self.around.iter().take(at).rev().find_map(|layer| match layer {
            Layer::Ip(version) => Some(*version),
            _ => None,
        });
        around.or(match self.carried {
            Carried::Payload(version) => Some(version),
            Carried::Packet => None,
        })
    }

    /// Lengths at the least and at the most padding: over sixty-four sizes, more than the alignment of any layer.
    #[must_use]
    pub fn extremes(&self) -> Option<(Lengths, Lengths)> {
        let sizes = || (1_000..1_064).filter_map(|inner| self.lengths(inner));
        Some((sizes().min_by_key(Lengths::overhead)?, sizes().max_by_key(Lengths::overhead)?))
    }
}
