//! The headers that AH covers, as the ICV takes them: what changes on the way is zero, what changes foreseeably is as it
//! will be at the destination (RFC 4302 section 3.3.3.1, appendix A).

use std::ops::Range;

use super::opened::Unchecked;
use crate::wire::ipsec;

/// The beginning of an IP packet up to the end of AH, as the ICV takes it.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Covered {
    /// IP header, extension headers and AH. The ICV field still holds what the packet holds.
    pub(super) headers: Vec<u8>,
    /// The AH in them.
    pub(super) ah: Range<usize>,
    /// Octets of the whole packet, as its header says.
    pub(super) bytes: usize,
}

const AH: u8 = 51;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// Reads the headers of an IP packet up to its first AH.
pub(super) fn covered(packet: &[u8]) -> Result<Covered, Unchecked> {
    let (mut headers, ah, bytes) = match packet.first().map(|octet| octet >> 4) {
        Some(4) => ipv4(packet)?,
        Some(6) => ipv6(packet)?,
        _ => return Err(Unchecked::NoAh),
    };
    let fixed = packet.get(ah..).and_then(ipsec::Ah::read).ok_or(Unchecked::Cut)?;
    let ah = ah..ah + fixed.header_bytes();
    if ah.end > bytes || ah.len() < ipsec::Ah::BYTES {
        return Err(Unchecked::Short);
    }
    headers.extend_from_slice(packet.get(ah.clone()).ok_or(Unchecked::Cut)?);
    Ok(Covered { headers, ah, bytes })
}

/// The IPv4 header, where AH begins, and the octets of the packet.
fn ipv4(packet: &[u8]) -> Result<(Vec<u8>, usize, usize), Unchecked> {
    let fixed: &[u8; 20] = packet.first_chunk().ok_or(Unchecked::Cut)?;
    let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff;
    if header_bytes < 20 {
        return Err(Unchecked::NoAh);
    }
    if fragment != 0 {
        return Err(Unchecked::Fragment);
    }
    if fixed[9] != AH {
        return Err(Unchecked::NoAh);
    }
    let mut header = packet.get(..header_bytes).ok_or(Unchecked::Cut)?.to_vec();
    // A total length of 0 is segmentation offload: the packet ends where the octets do.
    let bytes = match u16::from_be_bytes([fixed[2], fixed[3]]) {
        0 => packet.len(),
        total => usize::from(total),
    };
    let (start, options) = header.split_at_mut(20);
    let last_hop = ipv4_options(options)?;
    // Type of service; flags and fragment offset; TTL; checksum.
    for at in [1, 6, 7, 8, 10, 11] {
        if let Some(octet) = start.get_mut(at) {
            *octet = 0;
        }
    }
    if let (Some(last_hop), Some(destination)) = (last_hop, start.last_chunk_mut::<4>()) {
        *destination = last_hop;
    }
    Ok((header, header_bytes, bytes))
}

/// Zeroes the options that may change (RFC 4302 appendix A1); the final destination where a source route is not yet at its end.
fn ipv4_options(options: &mut [u8]) -> Result<Option<[u8; 4]>, Unchecked> {
    let mut last_hop = None;
    let mut rest = options;
    while let Some(&kind) = rest.first() {
        let bytes = match kind {
            // End of options: what follows is no option.
            0 => break,
            1 => 1,
            _ => rest.get(1).copied().filter(|bytes| *bytes >= 2).map_or(usize::MAX, usize::from),
        };
        let (option, further) = rest.split_at_mut_checked(bytes).ok_or(Unchecked::NoAh)?;
        if matches!(kind, 131 | 137) && option.get(2).is_some_and(|pointer| usize::from(*pointer) <= bytes) {
            last_hop = option.get(3..).and_then(|route| route.last_chunk::<4>()).copied();
        }
        // No operation, security, extended security, commercial security, router alert, multi-destination delivery.
        if !matches!(kind, 1 | 130 | 133 | 134 | 148 | 149) {
            option.fill(0);
        }
        rest = further;
    }
    Ok(last_hop)
}

/// The IPv6 header with the extension headers in front of AH, where AH begins, and the octets of the packet.
fn ipv6(packet: &[u8]) -> Result<(Vec<u8>, usize, usize), Unchecked> {
    let fixed: &[u8; 40] = packet.first_chunk().ok_or(Unchecked::Cut)?;
    let bytes = match u16::from_be_bytes([fixed[4], fixed[5]]) {
        // A jumbogram, or segmentation offload: the packet ends where the octets do.
        0 => packet.len(),
        payload => 40 + usize::from(payload),
    };
    let mut next = fixed[6];
    let mut headers = fixed.to_vec();
    // Traffic class and flow label; hop limit.
    for (at, kept) in [(0, 0xf0), (1, 0), (2, 0), (3, 0), (7, 0)] {
        if let Some(octet) = headers.get_mut(at) {
            *octet &= kept;
        }
    }
    while next != AH {
        let here = packet.get(headers.len()..).unwrap_or_default();
        let kind = next;
        if kind == FRAGMENT {
            return Err(Unchecked::Fragment);
        }
        if !matches!(kind, HOP_BY_HOP | ROUTING | DESTINATION) {
            return Err(Unchecked::NoAh);
        }
        let &[following, eights] = here.first_chunk().ok_or(Unchecked::Cut)?;
        let mut header = here.get(..(usize::from(eights) + 1) * 8).ok_or(Unchecked::Cut)?.to_vec();
        if kind == ROUTING {
            if let Some((start, _)) = headers.split_first_chunk_mut::<40>() {
                routing(&mut header, start);
            }
        } else {
            ipv6_options(header.get_mut(2..).unwrap_or_default())?;
        }
        headers.extend_from_slice(&header);
        next = following;
    }
    let ah = headers.len();
    Ok((headers, ah, bytes))
}

/// Zeroes the data of options that may change on the way: bit 0x20 of their type (RFC 8200 section 4.2).
fn ipv6_options(options: &mut [u8]) -> Result<(), Unchecked> {
    let mut rest = options;
    while let Some(&kind) = rest.first() {
        // Pad1 is one octet, every other option says its length.
        let bytes = if kind == 0 { 1 } else { rest.get(1).map_or(usize::MAX, |data| 2 + usize::from(*data)) };
        let (option, further) = rest.split_at_mut_checked(bytes).ok_or(Unchecked::NoAh)?;
        if kind & 0x20 != 0 {
            option.iter_mut().skip(2).for_each(|octet| *octet = 0);
        }
        rest = further;
    }
    Ok(())
}

/// A routing header of type 0 or 2 and the destination address as they are at the final destination (RFC 4302 section 3.3.3.1.2.3;
/// RFC 6275 section 6.4). Other types have no such form and stay as they are.
fn routing(header: &mut [u8], fixed: &mut [u8; 40]) {
    const ADDRESS: usize = 16;
    let &mut [_, _, kind, ref mut left, ..] = header else { return };
    let segments = usize::from(*left);
    if !matches!(kind, 0 | 2) {
        return;
    }
    *left = 0;
    let (addresses, _) = header.get_mut(8..).unwrap_or_default().as_chunks_mut::<ADDRESS>();
    // The current destination takes the place of the next stop, each stop that of the one behind it.
    let Some(coming) = addresses.len().checked_sub(segments).and_then(|done| addresses.get_mut(done..)) else { return };
    let Some(destination) = fixed.last_chunk_mut::<ADDRESS>() else { return };
    for stop in coming {
        std::mem::swap(stop, destination);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An AH of 24 octets with its ICV, and four octets of payload.
    const TAIL: [u8; 28] = [17, 4, 0, 0, 0, 0, 3, 0xe9, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 7, 7, 7, 7];

    fn with_options(options: &[u8]) -> Vec<u8> {
        let words = u8::try_from(5 + options.len() / 4).expect("a short header");
        let total = u8::try_from(20 + options.len() + TAIL.len()).expect("a short packet");
        let fixed = [0x40 | words, 0xb9, 0, total, 0x12, 0x34, 0x40, 0, 63, AH, 0xab, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2];
        [&fixed[..], options, &TAIL].concat()
    }

    #[test]
    fn ipv4_fields_that_change_are_zero() {
        let packet = with_options(&[]);
        let covered = covered(&packet).expect("AH");
        assert_eq!((covered.ah.clone(), covered.bytes), (20..44, packet.len()));
        let header = [0x45, 0, 0, 48, 0x12, 0x34, 0, 0, 0, AH, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        assert_eq!(covered.headers[..20], header);
        assert_eq!(covered.headers[20..], TAIL[..24]);
    }

    #[test]
    fn ipv4_options_stay_or_are_zeroed_whole() {
        let options = |options: &[u8]| {
            covered(&with_options(options)).map(|covered| covered.headers[20..20 + options.len()].to_vec())
        };
        // Router alert stays, a time stamp does not, nothing behind the end of options matters.
        assert_eq!(options(&[148, 4, 0, 0, 68, 4, 5, 0]), Ok(vec![148, 4, 0, 0, 0, 0, 0, 0]));
        assert_eq!(options(&[1, 1, 0, 9]), Ok(vec![1, 1, 0, 9]));
        assert_eq!(options(&[7, 9, 4, 0]), Err(Unchecked::NoAh), "an option longer than the header");
        assert_eq!(options(&[7, 1, 4, 0]), Err(Unchecked::NoAh), "shorter than itself");
    }

    #[test]
    fn a_source_route_shows_the_final_destination() {
        let destination = |pointer: u8| {
            let packet = with_options(&[1, 131, 11, pointer, 10, 9, 9, 8, 10, 9, 9, 9]);
            let headers = covered(&packet).expect("AH").headers;
            assert_eq!(headers[20..32], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            headers[16..20].to_vec()
        };
        assert_eq!(destination(4), [10, 9, 9, 9]);
        assert_eq!(destination(8), [10, 9, 9, 9]);
        assert_eq!(destination(12), [10, 0, 0, 2], "it is there already");
    }

    #[test]
    fn fragments_and_other_protocols_are_not_checked() {
        let change = |at: usize, octet: u8| {
            let mut packet = with_options(&[]);
            packet[at] = octet;
            covered(&packet).map(|covered| covered.ah)
        };
        assert_eq!(change(6, 0x20), Err(Unchecked::Fragment));
        assert_eq!(change(7, 1), Err(Unchecked::Fragment));
        assert_eq!(change(9, 50), Err(Unchecked::NoAh));
        assert_eq!(change(0, 0x44), Err(Unchecked::NoAh));
        assert_eq!(change(0, 0x55), Err(Unchecked::NoAh));
        assert_eq!(change(21, 9), Err(Unchecked::Short), "AH longer than the packet");
        assert_eq!(change(21, 0), Err(Unchecked::Short), "AH shorter than its fixed part");
        assert_eq!(covered(&with_options(&[])[..30]).map(|covered| covered.ah), Err(Unchecked::Cut));
    }

    fn ipv6_packet(first: u8, extensions: &[u8]) -> Vec<u8> {
        let payload = u8::try_from(extensions.len() + TAIL.len()).expect("a short packet");
        let mut packet = vec![0x6b, 0x9f, 0xff, 0xff, 0, payload, first, 63];
        packet.extend([0xaa; 16]);
        packet.extend([0xdd; 16]);
        [&packet[..], extensions, &TAIL].concat()
    }

    #[test]
    fn ipv6_fields_and_options_that_change_are_zero() {
        // A hop-by-hop header: option 0x3e may change, Pad1, option 0x1e may not.
        let extension = [AH, 1, 0x3e, 3, 5, 5, 5, 0, 0x1e, 3, 5, 5, 5, 1, 1, 0];
        let packet = ipv6_packet(HOP_BY_HOP, &extension);
        let covered = covered(&packet).expect("AH");
        assert_eq!((covered.ah.clone(), covered.bytes), (56..80, packet.len()));
        assert_eq!(covered.headers[..8], [0x60, 0, 0, 0, 0, packet[5], HOP_BY_HOP, 0]);
        assert_eq!(covered.headers[40..56], [AH, 1, 0x3e, 3, 0, 0, 0, 0, 0x1e, 3, 5, 5, 5, 1, 1, 0]);
    }

    #[test]
    fn a_routing_header_is_taken_as_it_arrives() {
        let stops = |left: u8| {
            let extension = [&[AH, 4, 0, left, 0, 0, 0, 0][..], &[0x11; 16], &[0x22; 16]].concat();
            let headers = covered(&ipv6_packet(ROUTING, &extension)).expect("AH").headers;
            [headers[24], headers[43], headers[48], headers[64]]
        };
        // Destination, segments left, first and second stop. By hand: two swaps, one swap, none.
        assert_eq!(stops(2), [0x22, 0, 0xdd, 0x11]);
        assert_eq!(stops(1), [0x22, 0, 0x11, 0xdd]);
        assert_eq!(stops(0), [0xdd, 0, 0x11, 0x22]);
        assert_eq!(stops(3), [0xdd, 0, 0x11, 0x22], "more stops than addresses: nothing is moved");
    }

    #[test]
    fn an_ipv6_fragment_is_not_checked() {
        let found = |first, extension: &[u8]| covered(&ipv6_packet(first, extension)).map(|covered| covered.ah);
        assert_eq!(found(FRAGMENT, &[AH, 0, 0, 0, 0, 0, 0, 1]), Err(Unchecked::Fragment));
        assert_eq!(found(17, &[]), Err(Unchecked::NoAh));
        assert_eq!(
            found(DESTINATION, &[AH, 0, 0x1e, 9, 0, 0, 0, 0]),
            Err(Unchecked::NoAh),
            "an option longer than its header"
        );
    }
}
