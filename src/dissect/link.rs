//! Where a frame begins: link types other than Ethernet, and PPP.

pub(super) mod control;
pub(super) mod ethernet;
pub(super) mod fcs;
pub(super) mod overlay;

use super::layer::LayerKind;
use super::walk::{Next, Walk};
use crate::model::LinkType;
use crate::wire::link::{CiscoHdlc, Sll, Sll2};

/// PPP address and control of HDLC-like framing (RFC 1662 section 3.1).
const PPP_ALL_STATIONS: [u8; 2] = [0xff, 0x03];

/// The first header of a frame of this link type.
#[inline]
pub(super) fn first(walk: &mut Walk<'_, '_>, link: LinkType) -> Next {
    if link == LinkType::ETHERNET {
        return Next::Ethernet(LayerKind::Ethernet);
    }
    walk.stack.flags.not_ethernet = true;
    match link {
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => raw(walk, Next::AnyIp),
        LinkType::IPV4 => raw(walk, Next::EtherType(crate::dissect::link::ethernet::IPV4)),
        LinkType::IPV6 => raw(walk, Next::EtherType(crate::dissect::link::ethernet::IPV6)),
        LinkType::LINUX_SLL => sll(walk),
        LinkType::LINUX_SLL2 => sll2(walk),
        LinkType::NULL | LinkType::LOOP => null(walk),
        LinkType::PPP => Next::Ppp,
        LinkType::PPP_HDLC => match walk.bytes() {
            [0x0f | 0x8f, ..] => hdlc(walk),
            _ => Next::Ppp,
        },
        LinkType::PPP_WITH_DIR => {
            walk.pos += 1;
            Next::Ppp
        }
        LinkType::PPP_ETHER => crate::dissect::link::ethernet::pppoe(walk),
        LinkType::C_HDLC => hdlc(walk),
        other => walk.unknown(LayerKind::Raw, u32::from(other.0)),
    }
}

fn raw(walk: &mut Walk<'_, '_>, next: Next) -> Next {
    if walk.push(LayerKind::Raw, 0) { next } else { Next::Done }
}

fn sll(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Sll::read(walk.bytes()) else { return walk.too_short(LayerKind::Sll, Sll::BYTES) };
    walk.stack.flags.multicast = matches!(header.packet_type(), 1 | 2);
    cooked(walk, LayerKind::Sll, Sll::BYTES, header.protocol())
}

fn sll2(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Sll2::read(walk.bytes()) else { return walk.too_short(LayerKind::Sll2, Sll2::BYTES) };
    walk.stack.flags.multicast = matches!(header.packet_type(), 1 | 2);
    cooked(walk, LayerKind::Sll2, Sll2::BYTES, header.protocol())
}

/// Behind a cooked header: an ethertype, or Linux's number 4 for LLC.
fn cooked(walk: &mut Walk<'_, '_>, kind: LayerKind, bytes: usize, protocol: u16) -> Next {
    if !walk.push(kind, bytes) {
        return Next::Done;
    }
    match protocol {
        4 => Next::Llc,
        0x0600.. => Next::EtherType(protocol),
        _ => walk.unknown(kind, u32::from(protocol)),
    }
}

/// BSD loopback: the protocol family of the machine that captured, in its own byte order (`NULL`) or in network order
/// (`LOOP`). Files get the two mixed up, and the families are small numbers, so the order shows itself.
fn null(walk: &mut Walk<'_, '_>) -> Next {
    let Some(&octets) = walk.bytes().first_chunk::<4>() else { return walk.too_short(LayerKind::Null, 4) };
    let family = u32::from_be_bytes(octets).min(u32::from_le_bytes(octets));
    if !walk.push(LayerKind::Null, 4) {
        return Next::Done;
    }
    match family {
        2 => Next::EtherType(crate::dissect::link::ethernet::IPV4),
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        10 | 24 | 28 | 30 => Next::EtherType(crate::dissect::link::ethernet::IPV6),
        _ => walk.unknown(LayerKind::Null, family),
    }
}

fn hdlc(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = CiscoHdlc::read(walk.bytes()) else { return walk.too_short(LayerKind::Chdlc, CiscoHdlc::BYTES) };
    let protocol = header.protocol();
    if !header.is_valid() {
        return match walk.bytes() {
            [0xff, 0x03, ..] => Next::Ppp,
            _ => walk.unknown(LayerKind::Chdlc, u32::from(protocol)),
        };
    }
    if !walk.push(LayerKind::Chdlc, CiscoHdlc::BYTES) {
        return Next::Done;
    }
    match protocol {
        // The control protocol's keepalives of every few seconds (address 0x8f).
        0x8035 => {
            walk.stack.flags.control = true;
            Next::Done
        }
        0x2000 => crate::dissect::link::control::cdp(walk),
        _ => Next::EtherType(protocol),
    }
}

/// PPP (RFC 1661 section 2): address and control where they are there, then a protocol of one octet (odd) or two.
pub(super) fn ppp(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let framing = if bytes.starts_with(&PPP_ALL_STATIONS) { 2 } else { 0 };
    let (protocol, header_bytes) = match bytes.get(framing..) {
        Some(&[short, ..]) if short & 1 != 0 => (u16::from(short), framing + 1),
        Some(&[high, low, ..]) => (u16::from_be_bytes([high, low]), framing + 2),
        _ => return walk.too_short(LayerKind::Ppp, framing + 2),
    };
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(header_bytes as u16);
    }
    if !walk.push(LayerKind::Ppp, header_bytes) {
        return Next::Done;
    }
    match protocol {
        0x0021 => Next::EtherType(crate::dissect::link::ethernet::IPV4),
        0x0057 => Next::EtherType(crate::dissect::link::ethernet::IPV6),
        0x0281 => Next::EtherType(crate::dissect::link::ethernet::MPLS),
        0x0207 => crate::dissect::link::control::cdp(walk),
        _ => walk.unknown(LayerKind::Ppp, u32::from(protocol)),
    }
}
