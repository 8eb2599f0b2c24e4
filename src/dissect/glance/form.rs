//! The lengths of a frame of opaque ESP.

use super::{ESP_BYTES, IPV4_BYTES, IPV6_BYTES, LEAST, UDP_BYTES};
use crate::dissect::LONGEST_FRAME;
use crate::dissect::digest::TWO_TAGS;

/// The lengths of a frame that has a [`Glance`](super::Glance), as one word. From the lowest bit: 16 bits for the octets of the IP packet, 8 for its octets before ESP
/// (which tell the stacks apart), from bit 32 on 8 for the octets before the packet, and 16 for the captured octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form(u64);

impl Form {
    /// Bits that no [sound](Self::is_sound) form has: its users may mark their own with them.
    pub(crate) const FREE: u64 = 0xff00_0000_0000_0000;
    const TOTAL: u64 = 0xffff;
    const OUTER: u64 = 0xff << 16;
    const LINK: u64 = 0xff << 32;

    #[inline(always)]
    pub(super) const fn new(
        total_bytes: u16,
        (link_bytes, outer_bytes): (usize, usize),
        captured_bytes: usize,
    ) -> Self {
        // More than fits is more than any frame has that is sound.
        let captured = if captured_bytes < 0xffff { captured_bytes as u64 } else { 0xffff };
        Self(total_bytes as u64 | (outer_bytes as u64) << 16 | (link_bytes as u64) << 32 | captured << 40)
    }

    /// The word.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// A form whose bits of [`Form::FREE`] are masked.
    #[inline(always)]
    pub(crate) const fn of_word(word: u64) -> Self {
        Self(word & !Self::FREE)
    }

    /// Octets of the IP packet.
    #[inline(always)]
    #[must_use]
    pub const fn total_bytes(self) -> u32 {
        self.0 as u16 as u32
    }

    /// Octets of the Ethernet header with its tag.
    #[inline(always)]
    #[must_use]
    pub const fn link_bytes(self) -> u32 {
        (self.0 >> 32) as u8 as u32
    }

    /// Octets of the IP packet in front of ESP.
    #[inline(always)]
    #[must_use]
    pub const fn outer_bytes(self) -> u32 {
        (self.0 >> 16) as u8 as u32
    }

    /// Whether frames of both forms have the same headers.
    #[inline(always)]
    #[must_use]
    pub const fn is_headed_as(self, other: Self) -> bool {
        (self.0 ^ other.0) & (Self::LINK | Self::OUTER) == 0
    }

    /// Octets of the IP packet in the lower half, octets before it in the upper half: words that can be added up.
    #[inline(always)]
    pub(crate) const fn halves(self) -> u64 {
        self.0 & (Self::LINK | Self::TOTAL)
    }

    /// Whether a frame can have these lengths and a glance: a packet of whole words, in a frame that is not too long, of which no more was captured,
    /// and no less than a digest of a copy with two tags reads.
    #[inline(always)]
    pub(crate) const fn is_sound(self) -> bool {
        let (wire_bytes, captured) = (self.wire_bytes() as u64, self.0 >> 40);
        let read = (TWO_TAGS + ESP_BYTES + LEAST) as u64 + self.outer_bytes() as u64;
        let is_enough = captured == wire_bytes || captured >= read;
        self.0 & 3 == 0 && wire_bytes <= LONGEST_FRAME as u64 && captured <= wire_bytes && is_enough
    }

    /// Whether UDP is around ESP.
    #[inline(always)]
    #[must_use]
    pub const fn is_in_udp(self) -> bool {
        self.outer_bytes() == (IPV4_BYTES + UDP_BYTES) as u32
    }

    /// Whether the packet is IPv6.
    #[inline(always)]
    #[must_use]
    pub const fn is_ipv6(self) -> bool {
        self.outer_bytes() == IPV6_BYTES as u32
    }

    /// Octets of the frame on the wire, without FCS.
    #[inline(always)]
    #[must_use]
    pub const fn wire_bytes(self) -> u32 {
        self.link_bytes() + self.total_bytes()
    }

    /// Captured octets of the frame.
    #[inline(always)]
    #[must_use]
    pub const fn captured_bytes(self) -> u32 {
        (self.0 >> 40) as u16 as u32
    }

    /// Whether a snapshot length cut the frame.
    #[inline(always)]
    #[must_use]
    pub const fn is_cut(self) -> bool {
        self.captured_bytes() < self.wire_bytes()
    }

    /// Whether the payload was checked against the ESP-NULL candidates: [`super::Stack::null_checked`].
    #[must_use]
    pub const fn is_null_checked(self) -> bool {
        // An ESP header, eight octets of IV and an IPv6 header's forty.
        !self.is_cut() || self.captured_bytes() >= self.link_bytes() + self.outer_bytes() + 56
    }
}
