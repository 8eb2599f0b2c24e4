//! What an overhead is made of, in octets of one packet.

use crate::model::vocabulary::vocabularies;

vocabularies! {
    /// One part of an overhead, from the outside in. The names are those of the report's `parts`, and some that only arithmetic needs.
    Part {
        /// SecTAG and ICV of MACsec: octets of the link, not of the IP packet.
        MacSec = "macsec",
        /// IP headers that were put around the packet, with their options and extension headers.
        OuterIp = "outer_ip",
        /// UDP header.
        Udp = "udp",
        /// GRE header.
        Gre = "gre",
        /// AH with ICV and padding.
        Ah = "ah",
        /// SPI and sequence number.
        EspHeader = "esp_header",
        /// IV of ESP.
        Iv = "iv",
        /// IPComp header.
        IpComp = "ipcomp",
        /// Padding of ESP, TFC padding included.
        EspPad = "esp_pad",
        /// Pad length and next header.
        EspTrailer = "esp_trailer",
        /// ICV of ESP.
        Icv = "icv",
        /// Header, padding and tag of WireGuard.
        WireGuard = "wireguard",
        /// An overhead that was given as a number.
        Constant = "constant",
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
        Part::ALL.iter().copied().map(|part| (part, self.of(part))).filter(|(_, octets)| *octets != 0)
    }

    /// All parts together.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.0.iter().fold(0, |sum, octets| sum.saturating_add(*octets))
    }
}
