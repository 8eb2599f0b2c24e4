//! The file header of a pcap and the variants it announces.

use super::super::byte_order::ByteOrder;
use super::super::limits::record_limit;
use super::super::resolution::Resolution;
use crate::model::LinkType;

/// A magic number that is read. pcap-parser knows neither the modified ones nor all of them in both byte orders, so
/// the header is decoded here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Magic {
    pub(crate) order: ByteOrder,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// 0xa1b2c3d4.
    Micro,
    /// 0xa1b23c4d.
    Nano,
    /// 0xa1b2cd34: 24-octet record headers.
    Kuznetsov,
    /// 0x1c0001ac: nanoseconds, four more octets in the file header.
    IxiaHardware,
    /// 0x1c0001ab: microseconds, four more octets in the file header.
    IxiaSoftware,
}

impl Magic {
    /// From the first four octets.
    pub(crate) fn sniff(bytes: &[u8]) -> Option<Self> {
        let first = *bytes.first_chunk::<4>()?;
        [(ByteOrder::Little, u32::from_le_bytes(first)), (ByteOrder::Big, u32::from_be_bytes(first))]
            .into_iter()
            .find_map(|(order, magic)| {
                let kind = match magic {
                    0xa1b2_c3d4 => Kind::Micro,
                    0xa1b2_3c4d => Kind::Nano,
                    0xa1b2_cd34 => Kind::Kuznetsov,
                    0x1c00_01ac => Kind::IxiaHardware,
                    0x1c00_01ab => Kind::IxiaSoftware,
                    _ => return None,
                };
                Some(Self { order, kind })
            })
    }

    /// Octets of the file header.
    pub(crate) const fn header_bytes(self) -> usize {
        match self.kind {
            Kind::IxiaHardware | Kind::IxiaSoftware => 28,
            _ => 24,
        }
    }
}

/// In which order a record header states its two lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lengths {
    /// Captured, then original: version 2.4.
    CapturedFirst,
    /// Original, then captured: versions before 2.3 and DG/UX.
    OriginalFirst,
    /// Version 2.3 was written both ways: the smaller is the captured one.
    SmallerIsCaptured,
}

/// All that is needed to read the records of a pcap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) order: ByteOrder,
    pub(crate) nanoseconds: bool,
    pub(crate) record_header: usize,
    pub(crate) lengths: Lengths,
    pub(crate) limit: u32,
    pub(crate) snaplen: u32,
    pub(crate) link: LinkType,
    pub(crate) fcs_bytes: u8,
}

impl Header {
    /// Decodes the file header, which `bytes` must hold whole; the error says why it is refused.
    pub(crate) fn parse(magic: Magic, bytes: &[u8]) -> Result<Self, String> {
        let order = magic.order;
        let cut =
            || format!("the file ends inside the pcap file header ({} of {} bytes)", bytes.len(), magic.header_bytes());
        if bytes.len() < magic.header_bytes() {
            return Err(cut());
        }
        let (Some(major), Some(minor), Some(snaplen), Some(network)) =
            (order.u16_at(bytes, 4), order.u16_at(bytes, 6), order.u32_at(bytes, 16), order.u32_at(bytes, 20))
        else {
            return Err(cut());
        };
        let lengths = match (major, minor) {
            (2, 0..=2) | (543, 0) => Lengths::OriginalFirst,
            (2, 3) => Lengths::SmallerIsCaptured,
            (2, _) => Lengths::CapturedFirst,
            _ => return Err(format!("this is pcap version {major}.{minor}; versions 2.x are read")),
        };
        // The bits between the link type and its FCS flag are reserved: what they would mean is unknown.
        if network & 0x03ff_0000 != 0 {
            return Err(format!(
                "the reserved bits of the pcap link type are not zero (0x{network:08x}); the header is damaged"
            ));
        }
        // AIX writes the standard magic, version 2.2, interface types of RFC 1573 and nanoseconds.
        let aix = if magic.kind == Kind::Micro && (major, minor) == (2, 2) { aix_link(network) } else { None };
        let fcs_bytes = if network & 0x0400_0000 != 0 { (network >> 28) as u8 * 2 } else { 0 };
        Ok(Self {
            order,
            nanoseconds: matches!(magic.kind, Kind::Nano | Kind::IxiaHardware) || aix.is_some(),
            record_header: if magic.kind == Kind::Kuznetsov { 24 } else { 16 },
            lengths,
            limit: record_limit(snaplen),
            snaplen,
            link: aix.unwrap_or(LinkType(network as u16)),
            fcs_bytes,
        })
    }

    /// Whether the records are of the kind that almost all captures have.
    #[inline(always)]
    pub(crate) const fn is_usual(&self) -> bool {
        matches!((self.order, self.lengths), (ByteOrder::Little, Lengths::CapturedFirst))
    }

    /// Length of a timestamp's tick.
    pub(crate) const fn resolution(&self) -> Resolution {
        if self.nanoseconds { Resolution::NANOSECONDS } else { Resolution::MICROSECONDS }
    }
}

/// The link type of an AIX interface type, `None` where the number is not one of AIX.
const fn aix_link(network: u32) -> Option<LinkType> {
    Some(match network {
        6 => LinkType::ETHERNET,
        9 => LinkType(6),
        15 => LinkType(10),
        24 => LinkType::NULL,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(magic: u32, version: (u16, u16), network: u32) -> Result<Header, String> {
        let mut bytes = magic.to_le_bytes().to_vec();
        bytes.extend(version.0.to_le_bytes());
        bytes.extend(version.1.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(65_535_u32.to_le_bytes());
        bytes.extend(network.to_le_bytes());
        bytes.extend([0; 4]);
        Header::parse(Magic::sniff(&bytes).expect("a known magic"), &bytes)
    }

    /// pcap-parser keeps the FCS bits in the link type (0x24000001 for Ethernet with FCS).
    #[test]
    fn fcs_bits_are_not_part_of_the_link_type() {
        let h = header(0xa1b2_c3d4, (2, 4), 0x2400_0001).unwrap();
        assert_eq!((h.link, h.fcs_bytes), (LinkType::ETHERNET, 4));
        let h = header(0xa1b2_c3d4, (2, 4), 0x2000_0001).unwrap();
        assert_eq!((h.link, h.fcs_bytes), (LinkType::ETHERNET, 0), "a length without its flag says nothing");
        assert!(header(0xa1b2_c3d4, (2, 4), 0x0030_0000).unwrap_err().contains("reserved"));
    }

    /// pcap-parser does not know the big-endian modified magic.
    #[test]
    fn every_magic_is_known_in_both_byte_orders() {
        for (magic, nanoseconds, record_header, file_header) in [
            (0xa1b2_c3d4_u32, false, 16, 24),
            (0xa1b2_3c4d, true, 16, 24),
            (0xa1b2_cd34, false, 24, 24),
            (0x1c00_01ac, true, 16, 28),
            (0x1c00_01ab, false, 16, 28),
        ] {
            let h = header(magic, (2, 4), 1).unwrap();
            assert_eq!((h.nanoseconds, h.record_header), (nanoseconds, record_header), "{magic:08x}");
            let little = Magic::sniff(&magic.to_le_bytes()).unwrap();
            let big = Magic::sniff(&magic.to_be_bytes()).unwrap();
            assert_eq!((little.order, big.order), (ByteOrder::Little, ByteOrder::Big));
            assert_eq!(big.header_bytes(), file_header);
        }
        assert_eq!(Magic::sniff(&0xa12b_3c4d_u32.to_le_bytes()), None);
    }

    #[test]
    fn the_usual_kind_is_little_endian_with_the_captured_length_first() {
        assert!(header(0xa1b2_c3d4, (2, 4), 1).unwrap().is_usual());
        assert!(header(0xa1b2_3c4d, (2, 4), 1).unwrap().is_usual());
        assert!(!header(0xa1b2_c3d4, (2, 3), 1).unwrap().is_usual());
        assert!(!header(0xa1b2_c3d4, (2, 1), 1).unwrap().is_usual());
        let big = Header { order: ByteOrder::Big, ..header(0xa1b2_c3d4, (2, 4), 1).unwrap() };
        assert!(!big.is_usual());
    }

    #[test]
    fn old_versions_swap_the_lengths_and_other_majors_are_refused() {
        assert_eq!(header(0xa1b2_c3d4, (2, 1), 1).unwrap().lengths, Lengths::OriginalFirst);
        assert_eq!(header(0xa1b2_c3d4, (2, 3), 1).unwrap().lengths, Lengths::SmallerIsCaptured);
        assert_eq!(header(0xa1b2_c3d4, (2, 9), 1).unwrap().lengths, Lengths::CapturedFirst);
        assert_eq!(header(0xa1b2_c3d4, (543, 0), 1).unwrap().lengths, Lengths::OriginalFirst);
        assert!(header(0xa1b2_c3d4, (3, 0), 1).unwrap_err().contains("3.0"));
    }

    #[test]
    fn aix_captures_have_interface_types_and_nanoseconds() {
        let h = header(0xa1b2_c3d4, (2, 2), 6).unwrap();
        assert_eq!((h.link, h.nanoseconds), (LinkType::ETHERNET, true));
        let h = header(0xa1b2_c3d4, (2, 2), 1).unwrap();
        assert_eq!((h.link, h.nanoseconds), (LinkType::ETHERNET, false));
    }
}
