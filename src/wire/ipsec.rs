//! The headers of IPsec: AH, ESP, IPComp and WESP.

/// The fixed part of an Authentication Header (RFC 4302 section 2).
///
/// ```text
/// | next header | payload len |   reserved   |   SPI (4)   |   sequence (4)   |   ICV ...
/// ```
/// Read apart from its ICV, because a snapshot length that cuts the ICV still leaves SPI and sequence number.
#[derive(Clone, Copy, Debug)]
pub struct Ah<'a>(&'a [u8; Ah::BYTES]);

impl<'a> Ah<'a> {
    /// Octets of the fixed part.
    pub const BYTES: usize = 12;

    /// The fixed part at the start of `bytes`.
    #[inline]
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Protocol number of what follows (section 2.1).
    #[inline]
    #[must_use]
    pub const fn next_header(self) -> u8 {
        self.0[0]
    }

    /// Octets of the whole header: the length field counts 32-bit words minus 2, in IPv6 too (section 2.2).
    #[inline]
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        (self.0[1] as usize + 2) * 4
    }

    /// Reserved field, which must be zero (section 2.3).
    #[inline]
    #[must_use]
    pub const fn reserved(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// Security parameters index (section 2.4).
    #[inline]
    #[must_use]
    pub const fn spi(self) -> u32 {
        u32::from_be_bytes([self.0[4], self.0[5], self.0[6], self.0[7]])
    }

    /// Sequence number, the low half of an extended one (section 2.5).
    #[inline]
    #[must_use]
    pub const fn sequence(self) -> u32 {
        u32::from_be_bytes([self.0[8], self.0[9], self.0[10], self.0[11]])
    }
}

/// The header of an Encapsulating Security Payload (RFC 4303 section 2): SPI and sequence number.
#[derive(Clone, Copy, Debug)]
pub struct Esp<'a>(&'a [u8; Esp::BYTES]);

impl<'a> Esp<'a> {
    /// Octets of the header; IV, payload, padding, trailer and ICV follow.
    pub const BYTES: usize = 8;

    /// The header at the start of `bytes`.
    #[inline]
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Security parameters index (section 2.1).
    #[inline]
    #[must_use]
    pub const fn spi(self) -> u32 {
        u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }

    /// Sequence number, the low half of an extended one (section 2.2).
    #[inline]
    #[must_use]
    pub const fn sequence(self) -> u32 {
        u32::from_be_bytes([self.0[4], self.0[5], self.0[6], self.0[7]])
    }
}

/// The header of IP Payload Compression (RFC 3173 section 3).
#[derive(Clone, Copy, Debug)]
pub struct IpComp<'a>(&'a [u8; IpComp::BYTES]);

impl<'a> IpComp<'a> {
    /// Octets of the header; compressed data follows.
    pub const BYTES: usize = 4;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Protocol number of what was compressed.
    #[must_use]
    pub const fn next_header(self) -> u8 {
        self.0[0]
    }

    /// Compression parameter index.
    #[must_use]
    pub const fn cpi(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

/// The header of Wrapped ESP (RFC 5840 section 2), without the protocol identifier of its UDP form.
///
/// ```text
/// | next header | HdrLen | TrailerLen | V V E P rsvd | [padding (4)] | ESP ...
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wesp<'a>(&'a [u8; Wesp::BYTES]);

impl<'a> Wesp<'a> {
    /// Octets of the header without its padding.
    pub const BYTES: usize = 4;

    /// What stands where the SPI would be when WESP is carried in UDP (section 2.1).
    pub const UDP_IDENTIFIER: u32 = 2;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Protocol number of what ESP carries; 0 when it is encrypted.
    #[must_use]
    pub const fn next_header(self) -> u8 {
        self.0[0]
    }

    /// Octets from the start of this header to the payload behind ESP's IV; 0 when ESP is encrypted.
    #[must_use]
    pub const fn payload_offset(self) -> u8 {
        self.0[1]
    }

    /// Octets of the ICV; 0 when ESP is encrypted.
    #[must_use]
    pub const fn trailer_bytes(self) -> u8 {
        self.0[2]
    }

    /// Version, which must be 0.
    #[must_use]
    pub const fn version(self) -> u8 {
        self.0[3] >> 6
    }

    /// Whether ESP is encrypted.
    #[must_use]
    pub const fn encrypted(self) -> bool {
        self.0[3] & 0x20 != 0
    }

    /// Octets of this header with its padding, which IPv6 needs for alignment.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        if self.0[3] & 0x10 != 0 { 8 } else { 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ah_counts_words_minus_two() {
        // The Authentication Header of figure 9 of the Cisco 892 document.
        let bytes = [0x04, 0x04, 0, 0, 0, 0, 0x03, 0xea, 0x0d, 0x9a, 0xc5, 0x04, 0xd4];
        let ah = Ah::read(&bytes).unwrap();
        assert_eq!((ah.next_header(), ah.header_bytes(), ah.reserved()), (4, 24, 0));
        assert_eq!((ah.spi(), ah.sequence()), (1002, 228_246_788));
        assert!(Ah::read(&bytes[..11]).is_none());
    }

    #[test]
    fn esp_is_two_words() {
        let bytes = [0x52, 0x1d, 0x25, 0x24, 0, 0x0b, 0xee, 0xd9];
        let esp = Esp::read(&bytes).unwrap();
        assert_eq!((esp.spi(), esp.sequence()), (0x521d_2524, 0x000b_eed9));
        assert!(Esp::read(&bytes[..7]).is_none());
    }

    #[test]
    fn ipcomp_and_wesp_fields() {
        let comp = IpComp::read(&[6, 0, 0x12, 0x34]).map(|c| (c.next_header(), c.cpi()));
        assert_eq!(comp, Some((6, 0x1234)));
        let bytes = [4, 20, 12, 0x10];
        let wesp = Wesp::read(&bytes).unwrap();
        assert_eq!((wesp.next_header(), wesp.payload_offset(), wesp.trailer_bytes()), (4, 20, 12));
        assert_eq!((wesp.version(), wesp.encrypted(), wesp.header_bytes()), (0, false, 8));
    }
}
