//! Security associations as a passive observer names them.

use serde::{Deserialize, Serialize};

use std::fmt;

use super::Address;

/// A Security Parameters Index (RFC 4302 section 2.4, RFC 4303 section 2.1), or the CPI of an IPComp
/// association (RFC 3173 section 3.3) in its low 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Spi(pub u32);

impl Spi {
    /// Zero must never be sent on the wire (RFC 4302 section 2.4, RFC 4303 section 2.1).
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// 1 to 255 are reserved by IANA (RFC 4302 section 2.4, RFC 4303 section 2.1).
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        self.0 >= 1 && self.0 <= 255
    }
}

impl fmt::Display for Spi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

/// The protocol of a security association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Protocol {
    /// Encapsulating Security Payload, IP protocol 50 (RFC 4303).
    Esp,
    /// Authentication Header, IP protocol 51 (RFC 4302).
    Ah,
    /// IP Payload Compression, IP protocol 108 (RFC 3173).
    IpComp,
}

impl Protocol {
    /// The name used in every machine-readable output: `esp`, `ah` or `ipcomp`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esp => "esp",
            Self::Ah => "ah",
            Self::IpComp => "ipcomp",
        }
    }

    /// The name as text for people writes it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Esp => "ESP",
            Self::Ah => "AH",
            Self::IpComp => "IPComp",
        }
    }
}

/// How the header of an SA was carried. An attribute of the packets seen, not of the SA's identity:
/// native and UDP-encapsulated ESP share one SA space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Encapsulation {
    /// Directly in IP.
    #[default]
    Native,
    /// In UDP (RFC 3948).
    Udp,
    /// In TCP (RFC 9329).
    Tcp,
    /// Behind a WESP header (RFC 5840).
    Wesp,
}

impl Encapsulation {
    /// The name used in every machine-readable output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Wesp => "wesp",
        }
    }
}

/// What identifies a security association on the wire.
///
/// The SPI alone is not enough: with manual keys one SPI may serve both directions, each with a counter of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SaKey {
    /// The protocol of the header that carries the SPI.
    pub protocol: Protocol,
    /// Source of the IP header that encloses it.
    pub src: Address,
    /// Destination of the IP header that encloses it.
    pub dst: Address,
    /// The index itself.
    pub spi: Spi,
}

impl fmt::Display for SaKey {
    /// The identifier used in every output: `esp/192.168.1.1/192.168.1.2/0x000003ea`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.protocol.name(), self.src, self.dst, self.spi)
    }
}
