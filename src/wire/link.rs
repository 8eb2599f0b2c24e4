//! Link-layer headers: Linux cooked captures, LLC and SNAP, MPLS, PPPoE, MACsec, Cisco HDLC and Cisco metadata.

/// A Linux "cooked" header, version 1 (LINKTYPE_LINUX_SLL).
#[derive(Clone, Copy, Debug)]
pub struct Sll<'a>(&'a [u8; Sll::BYTES]);

impl<'a> Sll<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 16;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Ethertype, or one of Linux's own numbers below 0x0600.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[14], self.0[15]])
    }

    /// Packet type: 0 to us, 1 broadcast, 2 multicast, 3 to others, 4 from us.
    #[must_use]
    pub const fn packet_type(self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }
}

/// A Linux "cooked" header, version 2 (LINKTYPE_LINUX_SLL2).
#[derive(Clone, Copy, Debug)]
pub struct Sll2<'a>(&'a [u8; Sll2::BYTES]);

impl<'a> Sll2<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 20;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Ethertype, or one of Linux's own numbers below 0x0600.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }

    /// Packet type, as in version 1.
    #[must_use]
    pub const fn packet_type(self) -> u8 {
        self.0[10]
    }
}

/// An LLC header (IEEE 802.2) of one or two control octets.
#[derive(Clone, Copy, Debug)]
pub struct Llc<'a>(&'a [u8; 3]);

impl<'a> Llc<'a> {
    /// The header at the start of `bytes`; the second control octet, if any, is not needed.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Destination and source service access points.
    #[must_use]
    pub const fn access_points(self) -> (u8, u8) {
        (self.0[0], self.0[1])
    }

    /// First control octet; 3 is unnumbered information.
    #[must_use]
    pub const fn control(self) -> u8 {
        self.0[2]
    }

    /// Octets of the header: unnumbered frames have one control octet, others two.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        if self.0[2] & 3 == 3 { 3 } else { 4 }
    }
}

/// A SNAP header behind LLC aa-aa-03 (IEEE 802).
#[derive(Clone, Copy, Debug)]
pub struct Snap<'a>(&'a [u8; Snap::BYTES]);

impl<'a> Snap<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 5;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Organisation: 0 means that the protocol is an ethertype.
    #[must_use]
    pub const fn organisation(self) -> u32 {
        u32::from_be_bytes([0, self.0[0], self.0[1], self.0[2]])
    }

    /// Protocol as the organisation numbers it.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[3], self.0[4]])
    }
}

/// One MPLS label stack entry (RFC 3032 section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct MplsLabel<'a>(&'a [u8; MplsLabel::BYTES]);

impl<'a> MplsLabel<'a> {
    /// Octets of the entry.
    pub const BYTES: usize = 4;

    /// The entry at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Whether this is the last entry.
    #[must_use]
    pub const fn is_bottom(self) -> bool {
        self.0[2] & 1 != 0
    }
}

/// A PPPoE header (RFC 2516 section 4).
#[derive(Clone, Copy, Debug)]
pub struct Pppoe<'a>(&'a [u8; Pppoe::BYTES]);

impl<'a> Pppoe<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 6;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Code: 0 for session data.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0[1]
    }

    /// Octets behind this header.
    #[must_use]
    pub const fn payload_bytes(self) -> usize {
        u16::from_be_bytes([self.0[4], self.0[5]]) as usize
    }
}

/// A MACsec security tag behind its ethertype (IEEE 802.1AE clause 9.3).
#[derive(Clone, Copy, Debug)]
pub struct SecTag<'a>(&'a [u8; 6]);

impl<'a> SecTag<'a> {
    /// The ICV of the default cipher suites, GCM-AES (IEEE 802.1AE clause 14.5).
    pub const ICV_BYTES: usize = 16;

    /// The tag at the start of `bytes`; the secure channel identifier is not needed.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// E bit: whether the user data is encrypted.
    #[must_use]
    pub const fn encrypted(self) -> bool {
        self.0[0] & 0x08 != 0
    }

    /// Octets of the tag: 6, or 14 with a secure channel identifier (SC bit).
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        if self.0[0] & 0x20 != 0 { 14 } else { 6 }
    }

    /// Octets of user data if fewer than 48, else 0.
    #[must_use]
    pub const fn short_length(self) -> usize {
        (self.0[1] & 0x3f) as usize
    }
}

/// A Cisco HDLC header: address, control and ethertype.
#[derive(Clone, Copy, Debug)]
pub struct CiscoHdlc<'a>(&'a [u8; CiscoHdlc::BYTES]);

impl<'a> CiscoHdlc<'a> {
    /// Octets of the header.
    pub const BYTES: usize = 4;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Whether the address is one that Cisco HDLC uses: 0x0f unicast, 0x8f multicast.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self.0[0], 0x0f | 0x8f)
    }

    /// Ethertype, or 0x8035 for the keepalive protocol.
    #[must_use]
    pub const fn protocol(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

/// A Cisco metadata header (ethertype 0x8909), which carries a security group tag beside the real ethertype.
///
/// Behind Ethernet the real ethertype comes last, behind GRE first; version 1 and a length of 1 stand before the one
/// option there is in all that was seen.
#[derive(Clone, Copy, Debug)]
pub struct CiscoMetadata<'a>(&'a [u8; CiscoMetadata::BYTES]);

impl<'a> CiscoMetadata<'a> {
    /// Octets of the header with its one option, behind the ethertype, the real ethertype included.
    pub const BYTES: usize = 8;

    /// The header at the start of `bytes`.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    /// Ethertype of what follows; `None` in a form that was never seen.
    #[must_use]
    pub const fn protocol(self) -> Option<u16> {
        match *self.0 {
            [1, 1, _, _, _, _, high, low] | [high, low, 1, 1, ..] => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llc_control_of_one_or_two_octets() {
        assert_eq!(Llc::read(&[0x42, 0x42, 3]).map(Llc::header_bytes), Some(3));
        assert_eq!(Llc::read(&[0xf0, 0xf1, 0]).map(Llc::header_bytes), Some(4));
        assert_eq!(Llc::read(&[0x42, 0x42, 3]).map(Llc::access_points), Some((0x42, 0x42)));
        let snap = [0, 0, 0x0c, 0x20, 0];
        assert_eq!(Snap::read(&snap).map(|s| (s.organisation(), s.protocol())), Some((0x0c, 0x2000)));
    }

    #[test]
    fn cooked_headers() {
        let mut sll = [0u8; 16];
        sll[1] = 4;
        sll[14..].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(Sll::read(&sll).map(|s| (s.protocol(), s.packet_type())), Some((0x86dd, 4)));
        let mut sll2 = [0u8; 20];
        sll2[..2].copy_from_slice(&[8, 0]);
        sll2[10] = 2;
        assert_eq!(Sll2::read(&sll2).map(|s| (s.protocol(), s.packet_type())), Some((0x0800, 2)));
    }

    #[test]
    fn tags_and_labels() {
        assert_eq!(MplsLabel::read(&[0, 0x01, 0xd1, 0xff]).map(MplsLabel::is_bottom), Some(true));
        assert_eq!(Pppoe::read(&[0x11, 0, 0, 1, 0, 44]).map(|p| (p.code(), p.payload_bytes())), Some((0, 44)));
        let tag = SecTag::read(&[0x20, 40, 0, 0, 0, 1]).unwrap();
        assert_eq!((tag.encrypted(), tag.header_bytes(), tag.short_length()), (false, 14, 40));
        assert!(SecTag::read(&[0x0c, 0, 0, 0, 0, 1]).is_some_and(SecTag::encrypted));
        let hdlc = CiscoHdlc::read(&[0x0f, 0, 8, 0]).unwrap();
        assert!(hdlc.is_valid() && hdlc.protocol() == 0x0800);
        let metadata = |bytes: [u8; 8]| CiscoMetadata::read(&bytes).and_then(CiscoMetadata::protocol);
        assert_eq!(metadata([1, 1, 0, 1, 0, 9, 8, 0]), Some(0x0800));
        assert_eq!(metadata([8, 0, 1, 1, 0, 1, 0, 0]), Some(0x0800));
        assert_eq!(metadata([2, 1, 0, 1, 0, 9, 8, 0]), None);
    }
}
