//! How much the octets of an upper layer say for themselves, where ESP might carry them in clear in transport mode.

use crate::model::Address;
use crate::wire::checksum::Sum;
use crate::wire::gre::Gre;

/// Next headers that are looked for. At most sixteen of 256, so that finding one is four bits.
pub(in crate::dissect) const fn plausible(next_header: u8) -> bool {
    matches!(next_header, 1 | 2 | 4 | 6 | 17 | 41 | 47 | 51 | 58 | 59 | 89 | 103 | 112 | 132)
}

/// What an upper layer in transport mode shows.
pub(in crate::dissect) struct Upper {
    /// Bits of evidence.
    pub(in crate::dissect) bits: u8,
    /// Whether a checksum over it verifies.
    pub(in crate::dissect) verified: bool,
}

const fn is_ip(ethertype: [u8; 2]) -> bool {
    matches!(u16::from_be_bytes(ethertype), 0x0800 | 0x86dd)
}

/// Whether the octets are one IP packet of exact length that a checksum confirms: of the IPv4 header, or of the upper
/// layer in IPv6. Length and checksum are sixteen bits each.
fn whole_ip(bytes: &[u8]) -> bool {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => {
            let Some(&[first, _, high, low]) = bytes.first_chunk::<4>() else { return false };
            let header_bytes = usize::from(first & 0x0f) * 4;
            usize::from(u16::from_be_bytes([high, low])) == bytes.len()
                && header_bytes >= 20
                && bytes.get(..header_bytes).is_some_and(|header| Sum::default().octets(header).verifies())
        }
        Some(6) => {
            let Some((fixed, rest)) = bytes.split_first_chunk::<40>() else { return false };
            let (head, addresses) = fixed.split_at(8);
            let &[_, _, _, _, high, low, next_header, _] = head else { return false };
            let (Some(src), Some(dst)) = (addresses.first_chunk::<16>(), addresses.last_chunk::<16>()) else {
                return false;
            };
            let endpoints = (Address::v6(*src), Address::v6(*dst));
            usize::from(u16::from_be_bytes([high, low])) == rest.len()
                && matches!(next_header, 6 | 17 | 58)
                && upper_layer(rest, next_header, Some(endpoints)).is_some_and(|upper| upper.verified)
        }
        _ => false,
    }
}

/// What the octets show if they are a whole `protocol` header and payload; `None` where they cannot be.
pub(in crate::dissect) fn upper_layer(
    bytes: &[u8],
    protocol: u8,
    endpoints: Option<(Address, Address)>,
) -> Option<Upper> {
    let over_pseudo_header = || {
        endpoints.is_some_and(|(src, dst)| {
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            Sum::default().pseudo_header(src, dst, protocol, length).octets(bytes).verifies()
        })
    };
    let plain = || Sum::default().octets(bytes).verifies();
    match protocol {
        17 => {
            let [_, _, _, _, length @ .., c0, c1] = *bytes.first_chunk::<8>()?;
            if usize::from(u16::from_be_bytes(length)) != bytes.len() {
                return None;
            }
            let verified = [c0, c1] != [0, 0] && over_pseudo_header();
            Some(Upper { bits: if verified { 32 } else { 16 }, verified })
        }
        6 => {
            let header = bytes.first_chunk::<20>()?;
            let header_bytes = usize::from(header[12] >> 4) * 4;
            let flags = header[13];
            let (syn, fin, rst, ack) = (flags & 2 != 0, flags & 1 != 0, flags & 4 != 0, flags & 16 != 0);
            let sane = header[12] & 0x0e == 0 && !(syn && (fin || rst)) && (syn || rst || ack);
            if header_bytes < 20 || header_bytes > bytes.len() || !sane {
                return None;
            }
            let verified = over_pseudo_header();
            Some(Upper { bits: if verified { 22 } else { 6 }, verified })
        }
        1 | 2 => {
            let &[kind, ..] = bytes.first_chunk::<8>()?;
            let known = match protocol {
                1 => matches!(kind, 0 | 3 | 5 | 8 | 11..=14),
                _ => matches!(kind, 0x11 | 0x12 | 0x16 | 0x17 | 0x22),
            };
            // The type's 4 bits and the checksum's 16.
            (known && plain()).then_some(Upper { bits: 20, verified: true })
        }
        58 => {
            let &[kind, ..] = bytes.first_chunk::<4>()?;
            let known = matches!(kind, 1..=4 | 128..=137 | 143);
            (known && over_pseudo_header()).then_some(Upper { bits: 20, verified: true })
        }
        // OSPF: version and the length of the packet (RFC 2328 section A.3.1, RFC 5340 section A.3.1).
        89 => {
            let &[version, kind, length @ ..] = bytes.first_chunk::<4>()?;
            let length = usize::from(u16::from_be_bytes(length));
            let sane = matches!(version, 2 | 3) && matches!(kind, 1..=5) && length == bytes.len();
            sane.then_some(Upper { bits: 28, verified: false })
        }
        // PIM: version 2, and a checksum of the whole packet, with a pseudo header in IPv6 (RFC 7761 section 4.9).
        103 => {
            let &[first] = bytes.first_chunk::<1>()?;
            (first >> 4 == 2 && (plain() || over_pseudo_header())).then_some(Upper { bits: 19, verified: true })
        }
        // VRRP: version 2 or 3, type advertisement, and the same two ways of a checksum (RFC 5798 section 5.2).
        112 => {
            let &[first, ..] = bytes.first_chunk::<8>()?;
            (matches!(first, 0x21 | 0x31) && (plain() || over_pseudo_header()))
                .then_some(Upper { bits: 22, verified: true })
        }
        // GRE: no reserved bits, version 0, and an ethertype that is carried.
        47 => {
            let &[first, second, high, low] = bytes.first_chunk::<4>()?;
            let carried = matches!(u16::from_be_bytes([high, low]), 0x0800 | 0x86dd | 0x6558 | 0x8847 | 0x2001);
            if first & 0x4f != 0 || second != 0 || !carried {
                return None;
            }
            let packet = Gre::read(bytes).and_then(|header| bytes.get(header.header_bytes()..));
            let verified = is_ip([high, low]) && packet.is_some_and(whole_ip);
            Some(Upper { bits: if verified { 56 } else { 24 }, verified })
        }
        // AH: reserved field zero and a length that fits (RFC 4302 section 2).
        51 => {
            let &[next, words, r0, r1, ..] = bytes.first_chunk::<12>()?;
            let header_bytes = (usize::from(words) + 2) * 4;
            let sane = plausible(next) && [r0, r1] == [0, 0] && (24..=76).contains(&header_bytes);
            if !sane || header_bytes >= bytes.len() {
                return None;
            }
            let verified = matches!(next, 4 | 41) && bytes.get(header_bytes..).is_some_and(whole_ip);
            Some(Upper { bits: if verified { 52 } else { 20 }, verified })
        }
        // SCTP: the first chunk's type and length (RFC 9260 section 3.2).
        132 => {
            let &[_, _, _, _, _, _, _, _, _, _, _, _, kind, _, high, low] = bytes.first_chunk::<16>()?;
            let length = usize::from(u16::from_be_bytes([high, low]));
            (kind <= 14 && (4..=bytes.len() - 12).contains(&length)).then_some(Upper { bits: 6, verified: false })
        }
        _ => None,
    }
}
