//! Datagrams on ports that carry ESP in UDP: ESP, IKE, WESP or a keepalive (RFC 3948 section 2, RFC 5840 section 2.1).

use super::foreign::{is_foreign, may_be_foreign};
use super::ike as ike_message;
use super::udp::{IKE, NAT_TRAVERSAL, at_home_elsewhere};
use crate::dissect::ipsec;
use crate::dissect::layer::LayerKind;
use crate::dissect::stack::Note;
use crate::dissect::walk::{Next, Walk};
use crate::model::Encapsulation;
use crate::wire::ike::Header;
use crate::wire::ipsec::Wesp;

const UDP_BYTES: u16 = 8;
/// The shortest ESP: its header, and a trailer that ends at a word (RFC 4303 section 2.4).
const ESP_LEAST: usize = 12;
/// Four zero octets in front of IKE, where ESP has its SPI (RFC 3948 section 2.2).
pub(in crate::dissect) const MARKER: [u8; 4] = [0; 4];
const MARKER_BYTES: usize = MARKER.len();

/// What a datagram or message on such a port is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dissect) enum Kind {
    /// One octet 0xff.
    Keepalive,
    /// IKE behind this many octets of marker.
    Ike(usize),
    /// WESP behind its identifier.
    Wesp,
    /// ESP.
    Esp,
    /// Another protocol that shows itself.
    Foreign,
    /// Nothing, or too little to tell.
    Unclear,
}

/// The payload of a UDP datagram with one of these ports.
pub(in crate::dissect) fn datagram(walk: &mut Walk<'_, '_>, ports: (u16, u16)) -> Next {
    let (bytes, wire) = (walk.bytes(), walk.wire_bytes());
    let without_marker = ports.0 == IKE || ports.1 == IKE;
    let kind = if without_marker {
        kind_on_ike_port(bytes, wire, walk.fragmented)
    } else {
        kind(bytes, wire, walk.fragmented)
    };
    let kind = match kind {
        Kind::Esp if !walk.fragmented && is_foreign(bytes, wire) => Kind::Foreign,
        Kind::Esp if !walk.fragmented && wire < ESP_LEAST => Kind::Unclear,
        kind => kind,
    };
    match kind {
        Kind::Keepalive => {
            walk.stack.flags.control = true;
            walk.push(LayerKind::NatKeepalive, 1);
            Next::Done
        }
        Kind::Ike(marker) => ike(walk, ports, marker),
        Kind::Wesp => {
            walk.costs.udp = walk.costs.udp.saturating_add(UDP_BYTES + MARKER_BYTES as u16);
            walk.pos += MARKER_BYTES;
            ipsec::wesp(walk, Encapsulation::Wesp, ports)
        }
        Kind::Esp => {
            walk.costs.udp = walk.costs.udp.saturating_add(UDP_BYTES);
            ipsec::esp(walk, Encapsulation::Udp, ports, None)
        }
        Kind::Unclear if wire > 0 && bytes.len() < MARKER_BYTES => walk.too_short(LayerKind::Esp, MARKER_BYTES),
        Kind::Foreign | Kind::Unclear => Next::Done,
    }
}

/// Whether a datagram on the port of NAT traversal is ESP and nothing else, by its ports as they stand in the frame and what it carries.
/// SPIs below 256, which the markers of IKE and WESP look like, are left to [`datagram`].
#[inline(always)]
pub(in crate::dissect) fn is_plain_esp(ports: u32, bytes: &[u8], wire: usize) -> bool {
    const LEAST_SPI: u32 = 256;
    let (src, dst) = ((ports as u16).swap_bytes(), ((ports >> 16) as u16).swap_bytes());
    let Some(spi) = bytes.first_chunk().map(|octets| u32::from_be_bytes(*octets)) else { return false };
    (src == NAT_TRAVERSAL || dst == NAT_TRAVERSAL)
        && src != IKE
        && dst != IKE
        && !at_home_elsewhere(src)
        && !at_home_elsewhere(dst)
        && spi >= LEAST_SPI
        && wire >= ESP_LEAST
        && !(may_be_foreign(bytes) && is_foreign(bytes, wire))
}

/// What a message is where IKE stands behind a marker: UDP port 4500 and others like it, TCP encapsulation.
pub(in crate::dissect) fn kind(bytes: &[u8], wire: usize, fragmented: bool) -> Kind {
    if wire == 1 {
        return if bytes == [0xff] { Kind::Keepalive } else { Kind::Unclear };
    }
    let Some((word, rest)) = bytes.split_first_chunk::<MARKER_BYTES>() else { return Kind::Unclear };
    if *word == MARKER {
        // No SPI is zero here: a receiver takes all of it for IKE.
        let is_ike = wire >= MARKER_BYTES && fits(rest, wire - MARKER_BYTES, fragmented);
        return if is_ike { Kind::Ike(MARKER_BYTES) } else { Kind::Foreign };
    }
    if u32::from_be_bytes(*word) == Wesp::UDP_IDENTIFIER
        && wesp_fits(rest, wire.saturating_sub(MARKER_BYTES), fragmented)
    {
        return Kind::Wesp;
    }
    Kind::Esp
}

/// What a datagram on port 500 is: IKE without a marker, unless its header does not fit and the first word could be an SPI.
fn kind_on_ike_port(bytes: &[u8], wire: usize, fragmented: bool) -> Kind {
    if wire == 1 || fits(bytes, wire, fragmented) {
        return if wire == 1 { kind(bytes, wire, fragmented) } else { Kind::Ike(0) };
    }
    match kind(bytes, wire, fragmented) {
        Kind::Ike(marker) => Kind::Ike(marker),
        Kind::Esp if bytes.first_chunk::<4>().is_some_and(|word| u32::from_be_bytes(*word) > 255) && wire >= 20 => {
            Kind::Esp
        }
        _ => Kind::Unclear,
    }
}

/// Whether an IKE header can stand here: a major version of 1 or 2, a cookie, and a length that the datagram has
/// (a first fragment has less). Octets that a snapshot length cut are given the benefit of the doubt.
fn fits(bytes: &[u8], wire: usize, fragmented: bool) -> bool {
    if wire < Header::BYTES {
        return false;
    }
    let Some(header) = Header::read(bytes) else {
        return Header::is_possible_start(bytes);
    };
    let length = header.message_bytes() as usize;
    matches!(header.major_version(), 1 | 2)
        && header.has_possible_spi()
        && length >= Header::BYTES
        && (length <= wire || fragmented)
}

/// Whether a WESP header can stand here: version 0, no reserved bits, and lengths that are zero if ESP is encrypted
/// and lead in whole words behind the ESP header if not (RFC 5840 section 2).
fn wesp_fits(bytes: &[u8], wire: usize, fragmented: bool) -> bool {
    Wesp::read(bytes).is_some_and(|header| {
        let (offset, trailer) = (header.payload_offset(), header.trailer_bytes());
        let leads = offset >= 12
            && offset.is_multiple_of(4)
            && (fragmented || usize::from(offset) + usize::from(trailer) <= wire);
        header.version() == 0 && if header.encrypted() { (offset, trailer) == (0, 0) } else { leads }
    })
}

/// Where ports say nothing: an IKE header without and behind a marker that is no accident. Answers the marker's octets.
pub(in crate::dissect) fn unmistakable_ike(bytes: &[u8], wire: usize) -> Option<usize> {
    let at = |offset: usize| {
        let header = bytes.get(offset..).and_then(Header::read)?;
        let exact = header.message_bytes() as usize == wire.checked_sub(offset)?;
        (exact && header.known_exchange() && header.minor_version() == 0 && header.has_possible_spi()).then_some(offset)
    };
    at(0).or_else(|| if bytes.first_chunk() == Some(&MARKER) { at(MARKER_BYTES) } else { None })
}

/// An IKE message behind `marker` octets: noted, with endpoints whose ports do not say it already.
pub(in crate::dissect) fn ike(walk: &mut Walk<'_, '_>, ports: (u16, u16), marker: usize) -> Next {
    walk.pos += marker;
    if let Some(ip) = walk.stack.ips.last() {
        for (address, port) in [(ip.src, ports.0), (ip.dst, ports.1)] {
            if port != IKE && port != NAT_TRAVERSAL {
                walk.stack.notes.push(Note::IkeEndpoint { address, port });
            }
        }
    }
    ike_message::message(walk)
}
