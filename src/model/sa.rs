//! Security associations as a passive observer names them.

use serde::{Deserialize, Serialize};

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use super::Address;
use super::vocabulary::vocabularies;

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

impl FromStr for Spi {
    type Err = ParseIntError;

    /// Reads it as it is displayed: `0x000003ea`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).map(Self)
    }
}

vocabularies! {
    /// The protocol of a security association.
    #[non_exhaustive]
    Protocol {
        /// Encapsulating Security Payload, IP protocol 50 (RFC 4303).
        Esp = "esp",
        /// Authentication Header, IP protocol 51 (RFC 4302).
        Ah = "ah",
        /// IP Payload Compression, IP protocol 108 (RFC 3173).
        IpComp = "ipcomp",
    }

    /// How the header of an SA was carried. An attribute of the packets seen, not of the SA's identity:
    /// native and UDP-encapsulated ESP share one SA space.
    #[derive(Default)]
    #[non_exhaustive]
    Encapsulation {
        /// Directly in IP.
        #[default]
        Native = "native",
        /// In UDP (RFC 3948).
        Udp = "udp",
        /// In TCP (RFC 9329).
        Tcp = "tcp",
        /// In a WESP header (RFC 5840).
        Wesp = "wesp",
    }
}

impl Protocol {
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
