//! Link-layer types of a capture.

use std::fmt;

/// A link type as pcap and pcapng number it, without the FCS bits of a pcap header.
/// Numbers and names: the tcpdump project's link-layer header types registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback, protocol family in host byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, possibly behind HDLC address and control.
    pub const PPP: Self = Self(9);
    /// Raw IP as some BSD-derived writers number it.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662), or Cisco HDLC.
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE session without Ethernet (RFC 2516).
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IPv4 or IPv6, told apart by the version nibble.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC.
    pub const C_HDLC: Self = Self(104);
    /// OpenBSD loopback, protocol family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// PPP in HDLC-like framing whose address octet (0xff) was replaced by a direction, as Linux pppd writes it.
    pub const PPP_PPPD: Self = Self(166);
    /// PPP with a direction octet in front.
    pub const PPP_WITH_DIR: Self = Self(204);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// The registry's name where spiglass reads the type, `None` otherwise.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NULL => "NULL",
            Self::ETHERNET => "ETHERNET",
            Self::PPP => "PPP",
            Self::RAW_BSD | Self::RAW_OPENBSD | Self::RAW => "RAW",
            Self::PPP_HDLC => "PPP_HDLC",
            Self::PPP_ETHER => "PPP_ETHER",
            Self::C_HDLC => "C_HDLC",
            Self::LOOP => "LOOP",
            Self::LINUX_SLL => "LINUX_SLL",
            Self::PPP_PPPD => "PPP_PPPD",
            Self::PPP_WITH_DIR => "PPP_WITH_DIR",
            Self::IPV4 => "IPV4",
            Self::IPV6 => "IPV6",
            Self::LINUX_SLL2 => "LINUX_SLL2",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}
