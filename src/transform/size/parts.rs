//! What an overhead is made of, in octets of one packet.

/// One part of an overhead. The names are those of the report's `parts`, and some that only arithmetic needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// IP headers that were put around the packet, with their options and extension headers.
    OuterIp,
    /// UDP header.
    Udp,
    /// GRE header.
    Gre,
    /// AH with ICV and padding.
    Ah,
    /// IPComp header.
    IpComp,
    /// SPI and sequence number.
    EspHeader,
    /// IV of ESP.
    Iv,
    /// Padding of ESP, TFC padding included.
    EspPad,
    /// Pad length and next header.
    EspTrailer,
    /// ICV of ESP.
    Icv,
    /// Header, padding and tag of WireGuard.
    WireGuard,
    /// SecTAG and ICV of MACsec: octets of the link, not of the IP packet.
    MacSec,
    /// An overhead that was given as a number.
    Constant,
}

impl Part {
    /// All of them, from the outside in.
    pub const ALL: [Self; 13] = [
        Self::MacSec,
        Self::OuterIp,
        Self::Udp,
        Self::Gre,
        Self::Ah,
        Self::EspHeader,
        Self::Iv,
        Self::IpComp,
        Self::EspPad,
        Self::EspTrailer,
        Self::Icv,
        Self::WireGuard,
        Self::Constant,
    ];

    /// The name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OuterIp => "outer_ip",
            Self::Udp => "udp",
            Self::Gre => "gre",
            Self::Ah => "ah",
            Self::IpComp => "ipcomp",
            Self::EspHeader => "esp_header",
            Self::Iv => "iv",
            Self::EspPad => "esp_pad",
            Self::EspTrailer => "esp_trailer",
            Self::Icv => "icv",
            Self::WireGuard => "wireguard",
            Self::MacSec => "macsec",
            Self::Constant => "constant",
        }
    }
}

/// How many octets each part has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts([i64; Part::ALL.len()]);

impl Parts {
    /// Adds to a part.
    pub(in crate::transform) fn add(&mut self, part: Part, octets: u64) {
        let own = self.slot(part);
        *own = own.saturating_add(i64::try_from(octets).unwrap_or(i64::MAX));
    }

    #[expect(clippy::indexing_slicing, reason = "there is a number for each of Part::ALL")]
    const fn slot(&mut self, part: Part) -> &mut i64 {
        &mut self.0[part as usize]
    }

    /// Sets the overhead that was given as a number; it may be negative, where something compresses.
    pub(in crate::transform) fn constant(&mut self, octets: i64) {
        *self.slot(Part::Constant) = octets;
    }

    /// Adds all of another's.
    pub(in crate::transform) fn absorb(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own = own.saturating_add(more);
        }
    }

    /// Octets of one part.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "there is a number for each of Part::ALL")]
    pub const fn of(&self, part: Part) -> i64 {
        self.0[part as usize]
    }

    /// The parts that have any octets, from the outside in.
    pub fn present(&self) -> impl Iterator<Item = (Part, i64)> + '_ {
        Part::ALL.into_iter().map(|part| (part, self.of(part))).filter(|(_, octets)| *octets != 0)
    }

    /// All parts together.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.0.iter().fold(0, |sum, octets| sum.saturating_add(*octets))
    }
}
