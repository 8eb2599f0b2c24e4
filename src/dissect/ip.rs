//! IPv4, IPv6 with its extension headers, and what an IP protocol number says.

pub(super) mod gre;
pub(super) mod icmp;

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};

use super::ipsec;
use super::layer::LayerKind;
use super::stack::{IpHeader, Span};
use super::walk::{Next, Walk};
use crate::dissect::link::overlay;
use crate::dissect::transport::{tcp, udp};
use crate::model::Address;

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const IPV6_FRAGMENT_BYTES: usize = 8;

/// An IP packet whose version says which.
pub(super) fn by_version(walk: &mut Walk<'_, '_>) -> Next {
    match walk.bytes().first() {
        Some(first) if first >> 4 == 4 => ipv4(walk),
        Some(first) if first >> 4 == 6 => ipv6(walk),
        Some(first) => walk.bad_value(LayerKind::Raw, "version", "4 or 6", u32::from(first >> 4)),
        None => walk.too_short(LayerKind::Raw, 1),
    }
}

/// An IPv4 header (RFC 791 section 3.1).
#[inline]
pub(super) fn ipv4(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    match Ipv4HeaderSlice::from_slice(bytes) {
        Ok(header) => ipv4_header(walk, &header, header.slice().len()),
        Err(_) => ipv4_broken(walk, bytes),
    }
}

#[inline(always)]
fn ipv4_header(walk: &mut Walk<'_, '_>, header: &Ipv4HeaderSlice<'_>, header_bytes: usize) -> Next {
    let offset = walk.pos;
    let claims = usize::from(header.total_len());
    let mut total_bytes = claims;
    if claims < header_bytes {
        if claims != 0 {
            return walk.bad_value(LayerKind::Ipv4, "total length", "at least the header length", claims as u32);
        }
        total_bytes = offloaded(walk);
    } else {
        walk.limit_to(LayerKind::Ipv4, offset, claims);
    }
    let protocol = header.protocol().0;
    let ip = IpHeader {
        src: Address::v4(header.source()),
        dst: Address::v4(header.destination()),
        offset: offset as u32,
        header_bytes: header_bytes as u32,
        total_bytes: total_bytes as u32,
        protocol,
        version: 4,
        ttl: header.ttl(),
        tos: header.slice().get(1).copied().unwrap_or(0),
        dont_fragment: header.dont_fragment(),
        more_fragments: header.more_fragments(),
        fragment_offset: u32::from(header.fragments_offset().value()) * 8,
        identification: u32::from(header.identification()),
    };
    if !record(walk, LayerKind::Ipv4, ip, header_bytes) {
        return Next::Done;
    }
    if walk.pos > walk.end {
        walk.pos = offset;
        return walk.too_short(LayerKind::Ipv4, header_bytes);
    }
    // Before anything else: a later fragment of protocol 51 begins with no AH.
    if ip.is_fragment() {
        return fragment(walk, ip.fragment_offset, protocol);
    }
    Next::Ip(protocol)
}

/// An IPv4 header that is not whole. Where only options are missing, the rest is read as if there were none.
#[cold]
fn ipv4_broken(walk: &mut Walk<'_, '_>, bytes: &[u8]) -> Next {
    let Some(fixed) = bytes.first_chunk::<IPV4_BYTES>() else {
        return match bytes.first() {
            Some(first) if first >> 4 != 4 => version(walk, LayerKind::Ipv4, "4", first >> 4),
            _ => walk.too_short(LayerKind::Ipv4, IPV4_BYTES),
        };
    };
    let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
    if fixed[0] >> 4 != 4 {
        return version(walk, LayerKind::Ipv4, "4", fixed[0] >> 4);
    }
    if header_bytes < IPV4_BYTES {
        return walk.bad_value(LayerKind::Ipv4, "header length", "at least 20", header_bytes as u32);
    }
    let mut without_options = *fixed;
    without_options[0] = 0x45;
    match Ipv4HeaderSlice::from_slice(&without_options) {
        Ok(header) => ipv4_header(walk, &header, header_bytes),
        Err(_) => walk.too_short(LayerKind::Ipv4, header_bytes),
    }
}

#[cold]
fn version(walk: &mut Walk<'_, '_>, layer: LayerKind, expected: &'static str, actual: u8) -> Next {
    walk.bad_value(layer, "version", expected, u32::from(actual))
}

/// The length field is 0: the packet has what the frame leaves for it.
#[cold]
fn offloaded(walk: &mut Walk<'_, '_>) -> usize {
    walk.stack.flags.offloaded = true;
    walk.length_unknown = true;
    walk.wire_bytes()
}

/// An IPv6 header (RFC 8200 section 3). Its extension headers follow one by one through [`by_protocol`].
pub(super) fn ipv6(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let Ok(header) = Ipv6HeaderSlice::from_slice(bytes) else {
        return match bytes.first() {
            Some(first) if first >> 4 != 6 => version(walk, LayerKind::Ipv6, "6", first >> 4),
            _ => walk.too_short(LayerKind::Ipv6, IPV6_BYTES),
        };
    };
    let offset = walk.pos;
    let payload = usize::from(header.payload_length());
    let protocol = header.next_header().0;
    let total_bytes = if payload == 0 && protocol != 59 {
        // A jumbogram (RFC 2675) states its length in an option; anything else was never on the wire.
        if protocol == 0 { walk.wire_bytes() } else { offloaded(walk) }
    } else {
        walk.limit_to(LayerKind::Ipv6, offset, IPV6_BYTES + payload);
        IPV6_BYTES + payload
    };
    let ip = IpHeader {
        src: Address::v6(header.source()),
        dst: Address::v6(header.destination()),
        offset: offset as u32,
        header_bytes: IPV6_BYTES as u32,
        total_bytes: total_bytes as u32,
        protocol,
        version: 6,
        ttl: header.hop_limit(),
        tos: header.traffic_class(),
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        identification: 0,
    };
    if record(walk, LayerKind::Ipv6, ip, IPV6_BYTES) { Next::Ip(protocol) } else { Next::Done }
}

/// Records an IP header at the cursor and moves behind it.
#[inline(always)]
fn record(walk: &mut Walk<'_, '_>, kind: LayerKind, ip: IpHeader, header_bytes: usize) -> bool {
    if !walk.push(kind, header_bytes) {
        return false;
    }
    let index = walk.stack.ips.len();
    walk.stack.ips.push(ip);
    if index == 0 {
        trailer(walk);
    } else {
        walk.enter_inner_ip(index);
    }
    walk.costs.outer_ip = walk.costs.outer_ip.saturating_add(header_bytes as u16);
    true
}

/// What the frame holds behind its outermost IP packet.
#[inline]
fn trailer(walk: &mut Walk<'_, '_>) {
    let bytes = walk.frame_end.saturating_sub(walk.end);
    if bytes != 0 {
        walk.stack.trailer_bytes = bytes as u32;
        let captured = walk.frame_end.min(walk.data.len()).saturating_sub(walk.end);
        if captured != 0 {
            walk.stack.trailer = Some(Span { start: walk.end as u32, bytes: captured as u32 });
        }
    }
}

/// Behind the header of a fragment: the first one has its upper layer, the others have data.
fn fragment(walk: &mut Walk<'_, '_>, fragment_offset: u32, protocol: u8) -> Next {
    walk.fragmented = true;
    if fragment_offset == 0 {
        return Next::Ip(protocol);
    }
    let bytes = walk.wire_bytes();
    walk.push(LayerKind::Fragment, bytes);
    Next::Done
}

/// What an IP protocol number, or an IPv6 next header, says.
#[inline]
pub(super) fn by_protocol(walk: &mut Walk<'_, '_>, protocol: u8) -> Next {
    match protocol {
        50 => ipsec::esp(walk, crate::model::Encapsulation::Native, (0, 0), None),
        51 => ipsec::ah(walk),
        17 => udp::udp(walk),
        6 => tcp::tcp(walk),
        4 => ipv4(walk),
        41 => ipv6(walk),
        47 => gre::gre(walk),
        1 => icmp::icmp(walk),
        58 => icmp::icmpv6(walk),
        108 => ipsec::ipcomp(walk),
        141 => ipsec::wesp(walk, crate::model::Encapsulation::Wesp, (0, 0)),
        0 | 43 | 60 | 135 | 139 | 140 if in_ipv6(walk) => extension(walk),
        44 if in_ipv6(walk) => fragment_header(walk),
        59 => {
            let bytes = walk.wire_bytes();
            walk.push(LayerKind::NoNext, bytes);
            Next::Done
        }
        97 => overlay::etherip(walk),
        115 => overlay::l2tp_over_ip(walk),
        137 => Next::EtherType(crate::dissect::link::ethernet::MPLS),
        // RFC 8986 section 4.9 and IANA: Ethernet directly in IP.
        143 => {
            walk.enter_tunnel();
            Next::Ethernet(LayerKind::InnerEthernet)
        }
        _ => Next::Done,
    }
}

fn in_ipv6(walk: &Walk<'_, '_>) -> bool {
    walk.stack.ips.last().is_some_and(|ip| ip.version == 6)
}

/// An extension header that states its own length (RFC 8200 sections 4.3 to 4.6, RFC 6275, 7401 and 5533).
fn extension(walk: &mut Walk<'_, '_>) -> Next {
    let Some(&[next, words]) = walk.bytes().first_chunk::<2>() else {
        return walk.too_short(LayerKind::Ipv6Options, 8);
    };
    let bytes = (usize::from(words) + 1) * 8;
    if walk.wire_bytes() < bytes {
        return walk.too_short(LayerKind::Ipv6Options, bytes);
    }
    if behind_ip(walk, LayerKind::Ipv6Options, bytes, next) { Next::Ip(next) } else { Next::Done }
}

fn fragment_header(walk: &mut Walk<'_, '_>) -> Next {
    let Some(&[next, _, high, low, id @ ..]) = walk.bytes().first_chunk::<IPV6_FRAGMENT_BYTES>() else {
        return walk.too_short(LayerKind::Ipv6Fragment, IPV6_FRAGMENT_BYTES);
    };
    let field = u16::from_be_bytes([high, low]);
    let fragment_offset = u32::from(field & !7);
    let more_fragments = field & 1 != 0;
    if let Some(ip) = walk.stack.ips.last_mut() {
        ip.fragment_offset = fragment_offset;
        ip.more_fragments = more_fragments;
        ip.identification = u32::from_be_bytes(id);
    }
    if !behind_ip(walk, LayerKind::Ipv6Fragment, IPV6_FRAGMENT_BYTES, next) {
        return Next::Done;
    }
    if more_fragments || fragment_offset != 0 { fragment(walk, fragment_offset, next) } else { Next::Ip(next) }
}

/// Records an extension header and adds it to its IP header, unless AH or ESP stands between the two.
fn behind_ip(walk: &mut Walk<'_, '_>, kind: LayerKind, bytes: usize, next: u8) -> bool {
    let adjoins = walk.stack.ips.last().is_some_and(|ip| (ip.offset + ip.header_bytes) as usize == walk.pos);
    if adjoins && let Some(ip) = walk.stack.ips.last_mut() {
        ip.header_bytes += bytes as u32;
        ip.protocol = next;
    }
    walk.costs.outer_ip = walk.costs.outer_ip.saturating_add(bytes as u16);
    walk.push(kind, bytes)
}
