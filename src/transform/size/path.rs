//! How a packet is carried: what protects it, and what stands around that.

use std::fmt;
use std::str::FromStr;

use super::ah::Alignment;
use super::layers::{Carried, GRE, IpVersion, Layer, Layers};
use crate::model::vocabulary::vocabularies;
use crate::transform::parse::ParseError;
use crate::transform::{Esp, Suite};

/// What protects or only carries packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// IPsec.
    Suite(Suite),
    /// Nothing at all; with GRE, GRE alone.
    Nothing,
    /// IP in IP (RFC 2003), 6in4 (RFC 4213) and the like.
    Ipip,
    /// MACsec (IEEE 802.1AE) on the link, with or without a secure channel identifier.
    MacSec {
        /// Whether the SecTAG has one.
        sci: bool,
    },
    /// WireGuard.
    WireGuard,
    /// So many octets, whatever they are.
    Constant(i32),
}

impl FromStr for Protection {
    type Err = ParseError;

    /// A [`Suite`], or one of `none`, `ipip`, `wireguard`, `macsec` and `macsec-sci` to compare with.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "clear" | "plain" | "gre" => Ok(Self::Nothing),
            "ipip" | "sit" | "6in4" => Ok(Self::Ipip),
            "wireguard" => Ok(Self::WireGuard),
            "macsec" => Ok(Self::MacSec { sci: false }),
            "macsec-sci" => Ok(Self::MacSec { sci: true }),
            _ => text.parse().map(Self::Suite),
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suite(suite) => suite.fmt(f),
            Self::Nothing => f.write_str("none"),
            Self::Ipip => f.write_str("IP in IP"),
            Self::MacSec { sci: false } => f.write_str("MACsec"),
            Self::MacSec { sci: true } => f.write_str("MACsec with SCI"),
            Self::WireGuard => f.write_str("WireGuard"),
            Self::Constant(octets) => write!(f, "constant {octets}"),
        }
    }
}

vocabularies! {
    /// Tunnel or transport mode (RFC 4301 section 4.1).
    #[derive(Default)]
    Mode {
        /// The whole packet is inside.
        #[default]
        Tunnel = "tunnel",
        /// What follows the packet's IP header is inside.
        Transport = "transport",
    }
}

/// How a packet is carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// What protects it.
    pub protection: Protection,
    /// The mode of AH and ESP.
    pub mode: Mode,
    /// Version of the outer IP header.
    pub outer: IpVersion,
    /// Version of the packet itself.
    pub inner: IpVersion,
    /// ESP in UDP (RFC 3948).
    pub udp: bool,
    /// GRE inside the protection: in transport mode GRE takes the outer IP header, in tunnel mode it has one of its own.
    pub gre: bool,
    /// How AH is padded.
    pub ah_alignment: Alignment,
}

/// Why a packet cannot be carried so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathError {
    /// AH covers the addresses that a NAT changes, and RFC 3948 has UDP around ESP only.
    AhInUdp,
    /// Transport mode keeps the packet's own IP header.
    TwoVersions,
    /// UDP encapsulation without ESP.
    UdpWithoutEsp,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AhInUdp => {
                "AH does not go into UDP: it covers the addresses that a NAT changes (RFC 3948 carries ESP only)"
            }
            Self::TwoVersions => "transport mode keeps the IP header of the packet: inside and outside cannot differ",
            Self::UdpWithoutEsp => "UDP encapsulation is for ESP (RFC 3948); this transform has none",
        })
    }
}

impl std::error::Error for PathError {}

impl Path {
    /// Tunnel mode, IPv4 in IPv4, nothing else around.
    #[must_use]
    pub const fn new(protection: Protection) -> Self {
        Self {
            protection,
            mode: Mode::Tunnel,
            outer: IpVersion::V4,
            inner: IpVersion::V4,
            udp: false,
            gre: false,
            ah_alignment: Alignment::Rfc,
        }
    }

    /// The layers around a packet.
    ///
    /// # Errors
    ///
    /// [`PathError`] for combinations that cannot be.
    pub fn layers(&self) -> Result<Layers, PathError> {
        let tunnel = |inside: Vec<Layer>| {
            let gre = self.gre.then_some([Layer::Ip(self.outer), Layer::Gre(GRE)]);
            Layers { carried: Carried::Packet, around: inside.into_iter().chain(gre.into_iter().flatten()).collect() }
        };
        Ok(match self.protection {
            Protection::Suite(suite) => return self.suite(suite),
            Protection::Nothing => tunnel(Vec::new()),
            Protection::Ipip => tunnel(vec![Layer::Ip(self.outer)]),
            Protection::MacSec { sci } => tunnel(vec![Layer::MacSec { sci }]),
            Protection::WireGuard => tunnel(vec![Layer::Ip(self.outer), Layer::Udp, Layer::WireGuard]),
            Protection::Constant(octets) => tunnel(vec![Layer::Constant(octets)]),
        })
    }

    fn suite(&self, suite: Suite) -> Result<Layers, PathError> {
        if self.udp && suite.ah.is_some() {
            return Err(PathError::AhInUdp);
        }
        if self.udp && suite.esp.is_none() {
            return Err(PathError::UdpWithoutEsp);
        }
        let esp = |esp: Esp| Layer::Esp { esp, tfc: 0 };
        let udp = self.udp.then_some(Layer::Udp);
        let protection = [
            udp,
            suite.ah.map(|ah| Layer::Ah(ah, self.ah_alignment)),
            suite.esp.map(esp),
            suite.ipcomp.map(|_| Layer::IpComp),
        ];
        let outer = Layer::Ip(self.outer);
        let gre = Layer::Gre(GRE);
        let (first, last, carried) = match (self.mode, self.gre) {
            (Mode::Tunnel, false) => (Some(outer), vec![], Carried::Packet),
            (Mode::Tunnel, true) => (Some(outer), vec![outer, gre], Carried::Packet),
            (Mode::Transport, true) => (Some(outer), vec![gre], Carried::Packet),
            (Mode::Transport, false) if self.inner != self.outer => return Err(PathError::TwoVersions),
            (Mode::Transport, false) => (None, vec![], Carried::Payload(self.inner)),
        };
        let around = first.into_iter().chain(protection.into_iter().flatten()).chain(last).collect();
        Ok(Layers { carried, around })
    }
}
