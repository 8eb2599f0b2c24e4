//! Encapsulated Ethernet: mirror shells (VXLAN, GENEVE, ERSPAN, TZSP), and layer-2 tunnels (EtherIP, L2TP).
//!
//! The same header is a shell, a tunnel or payload, by where it stands: outside every tunnel it is a shell, which is
//! peeled (or a tunnel, where the user says so); inside a tunnel it is what the customer sends.

use crate::dissect::layer::LayerKind;
use crate::dissect::walk::{Next, Walk};
use crate::wire::checksum::Sum;
use crate::wire::mirror::{Erspan, Erspan3, Geneve, Tzsp, Vxlan};
use crate::wire::tunnel::{ETHERIP_BYTES, L2tp, is_etherip};

const UDP_BYTES: u16 = 8;

/// A mirror shell of `header_bytes` at the cursor, `outside` every tunnel or inside one.
pub(in crate::dissect) fn shell(walk: &mut Walk<'_, '_>, kind: LayerKind, header_bytes: usize, outside: bool) -> Next {
    if outside {
        walk.pos += header_bytes;
        Next::Mirrored(kind)
    } else {
        walk.push(kind, header_bytes);
        Next::Done
    }
}

/// The mirrored frame behind a shell.
pub(in crate::dissect) fn mirrored(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    walk.peel(kind);
    Next::Ethernet(LayerKind::Ethernet)
}

/// VXLAN or GENEVE: a shell, or a tunnel where the user says that this network is one.
fn overlay(walk: &mut Walk<'_, '_>, kind: LayerKind, header_bytes: usize, ethertype: u16) -> Next {
    let ethernet = ethertype == super::ethernet::TRANSPARENT_ETHERNET;
    if walk.tunnelled || !walk.options.overlay {
        let outside = !walk.tunnelled;
        if outside && !ethernet {
            // A routed packet in a shell: there is no mirrored frame, only its packet.
            walk.pos += header_bytes;
            walk.peel(kind);
            walk.stack.flags.not_ethernet = true;
            return Next::EtherType(ethertype);
        }
        return shell(walk, kind, header_bytes, outside);
    }
    walk.costs.udp = walk.costs.udp.saturating_add(UDP_BYTES);
    walk.costs.link = walk.costs.link.saturating_add(header_bytes as u16);
    walk.enter_tunnel();
    if !walk.push(kind, header_bytes) {
        return Next::Done;
    }
    if ethernet { Next::Ethernet(LayerKind::InnerEthernet) } else { Next::EtherType(ethertype) }
}

pub(in crate::dissect) fn vxlan(walk: &mut Walk<'_, '_>) -> Next {
    match Vxlan::read(walk.bytes()) {
        Some(header) if header.is_valid() && !header.has_next_protocol() => {
            overlay(walk, LayerKind::Vxlan, Vxlan::BYTES, super::ethernet::TRANSPARENT_ETHERNET)
        }
        _ => Next::Done,
    }
}

/// VXLAN with a next protocol (draft-ietf-nvo3-vxlan-gpe).
pub(in crate::dissect) fn vxlan_gpe(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Vxlan::read(walk.bytes()).filter(|header| header.is_valid()) else { return Next::Done };
    let ethertype = match (header.has_next_protocol(), walk.bytes().get(3)) {
        (false, _) | (true, Some(3)) => super::ethernet::TRANSPARENT_ETHERNET,
        (true, Some(1)) => super::ethernet::IPV4,
        (true, Some(2)) => super::ethernet::IPV6,
        _ => return Next::Done,
    };
    overlay(walk, LayerKind::Vxlan, Vxlan::BYTES, ethertype)
}

/// GTP-U (3GPP TS 29.281 section 5.1): named, its user packet is not read.
pub(in crate::dissect) fn gtp_u(walk: &mut Walk<'_, '_>) -> Next {
    /// Header without sequence number, N-PDU number and extensions.
    const BYTES: usize = 8;
    let Some(&[flags, ..]) = walk.bytes().first_chunk::<BYTES>() else { return Next::Done };
    // Version 1, protocol type GTP.
    if flags >> 4 == 3 {
        walk.push(LayerKind::GtpU, BYTES);
    }
    Next::Done
}

pub(in crate::dissect) fn geneve(walk: &mut Walk<'_, '_>) -> Next {
    match Geneve::read(walk.bytes()) {
        Some(header) if header.version() == 0 && header.header_bytes() <= walk.wire_bytes() => {
            overlay(walk, LayerKind::Geneve, header.header_bytes(), header.protocol())
        }
        _ => Next::Done,
    }
}

pub(in crate::dissect) fn tzsp(walk: &mut Walk<'_, '_>) -> Next {
    match Tzsp::read(walk.bytes()) {
        Some(header) if header.protocol == 1 => {
            let outside = !walk.tunnelled;
            shell(walk, LayerKind::Tzsp, header.header_bytes, outside)
        }
        _ => Next::Done,
    }
}

/// ERSPAN type II or III, told apart by the version in their first octet.
pub(in crate::dissect) fn erspan(walk: &mut Walk<'_, '_>, outside: bool) -> Next {
    let bytes = walk.bytes();
    let Some(header) = Erspan::read(bytes) else { return walk.too_short(LayerKind::Erspan, Erspan::BYTES) };
    match header.version() {
        1 => shell(walk, LayerKind::Erspan, Erspan::BYTES, outside),
        2 => {
            let Some(header) = Erspan3::read(bytes) else {
                return walk.too_short(LayerKind::Erspan, Erspan3::BYTES);
            };
            if header.frame_type() == 0 {
                return shell(walk, LayerKind::Erspan, header.header_bytes(), outside);
            }
            walk.unknown(LayerKind::Erspan, u32::from(header.frame_type()))
        }
        version => walk.bad_value(LayerKind::Erspan, "version", "1 or 2", u32::from(version)),
    }
}

/// EtherIP (RFC 3378).
pub(in crate::dissect) fn etherip(walk: &mut Walk<'_, '_>) -> Next {
    let Some(&header) = walk.bytes().first_chunk::<ETHERIP_BYTES>() else {
        return walk.too_short(LayerKind::EtherIp, ETHERIP_BYTES);
    };
    if !is_etherip(header) {
        return walk.bad_value(LayerKind::EtherIp, "version", "3", u32::from(header[0] >> 4));
    }
    walk.costs.link = walk.costs.link.saturating_add(ETHERIP_BYTES as u16);
    walk.enter_tunnel();
    if walk.push(LayerKind::EtherIp, ETHERIP_BYTES) { Next::Ethernet(LayerKind::InnerEthernet) } else { Next::Done }
}

/// L2TP in UDP: version 2 carries PPP, version 3 whatever was agreed.
pub(in crate::dissect) fn l2tp_over_udp(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = L2tp::read(walk.bytes()) else { return Next::Done };
    if header.control {
        let bytes = walk.wire_bytes();
        walk.push(LayerKind::L2tp, bytes);
        return Next::Done;
    }
    if header.header_bytes > walk.wire_bytes() {
        return walk.too_short(LayerKind::L2tp, header.header_bytes);
    }
    walk.costs.udp = walk.costs.udp.saturating_add(UDP_BYTES);
    session(walk, header.header_bytes, header.version == 2)
}

/// L2TP version 3 directly in IP (RFC 3931 section 4.1.1): a session identifier, 0 for control messages.
pub(in crate::dissect) fn l2tp_over_ip(walk: &mut Walk<'_, '_>) -> Next {
    let Some(&octets) = walk.bytes().first_chunk::<4>() else { return walk.too_short(LayerKind::L2tp, 4) };
    if octets == [0; 4] {
        let bytes = walk.wire_bytes();
        walk.push(LayerKind::L2tp, bytes);
        return Next::Done;
    }
    session(walk, 4, false)
}

fn session(walk: &mut Walk<'_, '_>, header_bytes: usize, ppp: bool) -> Next {
    // Cookie and sublayer of version 3 are known to the endpoints only; an IPv4 header with a valid checksum behind
    // an ethertype tells where the inner frame begins.
    let hidden = if ppp {
        Some(0)
    } else {
        let rest = walk.bytes().get(header_bytes..).unwrap_or_default();
        [0, 4, 8, 12].into_iter().find(|offset| rest.get(*offset..).is_some_and(is_ethernet_with_ipv4))
    };
    let header_bytes = header_bytes + hidden.unwrap_or(0);
    let cost = u16::try_from(header_bytes).unwrap_or(u16::MAX);
    walk.costs.link = walk.costs.link.saturating_add(cost);
    walk.enter_tunnel();
    if !walk.push(LayerKind::L2tp, header_bytes) {
        return Next::Done;
    }
    match hidden {
        Some(_) if ppp => Next::Ppp,
        Some(_) => Next::Ethernet(LayerKind::InnerEthernet),
        None => Next::Done,
    }
}

fn is_ethernet_with_ipv4(bytes: &[u8]) -> bool {
    let Some(&[high, low, ref ip @ ..]) = bytes.get(12..) else { return false };
    [high, low] == [0x08, 0x00]
        && ip.first() == Some(&0x45)
        && ip.get(..20).is_some_and(|h| Sum::default().octets(h).verifies())
}
