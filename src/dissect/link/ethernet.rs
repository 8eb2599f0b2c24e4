//! Ethernet and what an ethertype or an LLC header says follows.

use etherparse::{Ethernet2HeaderSlice, SingleVlanHeaderSlice};

use super::control;
use crate::dissect::layer::LayerKind;
use crate::dissect::walk::{Next, Walk};
use crate::wire::link::{CiscoMetadata, Llc, MplsLabel, Pppoe, SecTag, Snap};

pub(in crate::dissect) const IPV4: u16 = 0x0800;
pub(in crate::dissect) const IPV6: u16 = 0x86dd;
pub(in crate::dissect) const MPLS: u16 = 0x8847;
pub(in crate::dissect) const TRANSPARENT_ETHERNET: u16 = 0x6558;

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
/// The largest value of the type field that is a length (IEEE 802.3 clause 3.2.6).
const LONGEST_LLC: u16 = 1500;
/// The destination of spanning tree.
const BRIDGES: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0];

/// An Ethernet header: the frame's own (`Ethernet`) or one inside a tunnel (`InnerEthernet`).
#[inline]
pub(in crate::dissect) fn ethernet(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    let Ok(header) = Ethernet2HeaderSlice::from_slice(walk.bytes()) else {
        return walk.too_short(kind, ETHERNET_BYTES);
    };
    if kind == LayerKind::Ethernet {
        let destination = header.destination();
        walk.stack.macs = Some((header.source(), destination));
        walk.stack.flags.multicast = destination[0] & 1 != 0;
    } else {
        walk.costs.link = walk.costs.link.saturating_add(ETHERNET_BYTES as u16);
    }
    let number = header.ether_type().0;
    if walk.push(kind, ETHERNET_BYTES) { behind_tag(walk, number) } else { Next::Done }
}

/// Behind an Ethernet header or tag: an ethertype, or the length of an LLC frame.
#[inline]
fn behind_tag(walk: &mut Walk<'_, '_>, number: u16) -> Next {
    if number > LONGEST_LLC {
        return Next::EtherType(number);
    }
    walk.limit_to(LayerKind::Llc, walk.pos, usize::from(number));
    Next::Llc
}

/// What an ethertype says.
#[inline]
pub(in crate::dissect) fn by_ethertype(walk: &mut Walk<'_, '_>, number: u16) -> Next {
    match number {
        IPV4 => crate::dissect::ip::ipv4(walk),
        IPV6 => crate::dissect::ip::ipv6(walk),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => vlan(walk),
        MPLS | 0x8848 => mpls(walk),
        0x8863 | 0x8864 => pppoe(walk),
        0x88e5 => macsec(walk),
        0x8909 => cisco_metadata(walk),
        0x8926 => tag(walk, LayerKind::VnTag),
        0x892f => tag(walk, LayerKind::Hsr),
        0x880b => Next::Ppp,
        0x0806 => leaf(walk, LayerKind::Arp),
        0x888e => leaf(walk, LayerKind::Eapol),
        0x8808 => control::mac_control(walk),
        0x8809 => control::slow(walk),
        0x88cc => control::lldp(walk),
        0x9000 => control::loopback(walk),
        TRANSPARENT_ETHERNET if walk.tunnelled => Next::Ethernet(LayerKind::InnerEthernet),
        _ => walk.unknown(LayerKind::Ethernet, u32::from(number)),
    }
}

/// A layer that is named and not read further.
fn leaf(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    let bytes = walk.wire_bytes();
    walk.push(kind, bytes);
    Next::Done
}

fn vlan(walk: &mut Walk<'_, '_>) -> Next {
    let Ok(header) = SingleVlanHeaderSlice::from_slice(walk.bytes()) else {
        return walk.too_short(LayerKind::Vlan, VLAN_BYTES);
    };
    let number = header.ether_type().0;
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(VLAN_BYTES as u16);
    }
    if walk.push(LayerKind::Vlan, VLAN_BYTES) { behind_tag(walk, number) } else { Next::Done }
}

/// MACsec (IEEE 802.1AE): the frame goes on in clear behind the tag where only its integrity is protected, and ends
/// with an ICV, which is not counted as padding.
fn macsec(walk: &mut Walk<'_, '_>) -> Next {
    let Some(tag) = SecTag::read(walk.bytes()) else { return walk.too_short(LayerKind::Macsec, 6) };
    if !walk.push(LayerKind::Macsec, tag.header_bytes()) {
        return Next::Done;
    }
    if tag.encrypted() {
        return Next::Done;
    }
    if walk.wire_bytes() >= SecTag::ICV_BYTES + 2 {
        walk.end -= SecTag::ICV_BYTES;
        walk.frame_end = walk.end;
    }
    if tag.short_length() != 0 {
        walk.limit_to(LayerKind::Macsec, walk.pos, tag.short_length());
    }
    let Some(&octets) = walk.bytes().first_chunk::<2>() else { return walk.too_short(LayerKind::Macsec, 2) };
    walk.pos += 2;
    behind_tag(walk, u16::from_be_bytes(octets))
}

/// A tag of four octets in front of the real ethertype: VN-Tag, HSR.
fn tag(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    const BYTES: usize = 6;
    let Some(&[_, _, _, _, high, low]) = walk.bytes().first_chunk::<BYTES>() else {
        return walk.too_short(kind, BYTES);
    };
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(BYTES as u16);
    }
    if walk.push(kind, BYTES) { behind_tag(walk, u16::from_be_bytes([high, low])) } else { Next::Done }
}

fn cisco_metadata(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = CiscoMetadata::read(walk.bytes()) else {
        return walk.too_short(LayerKind::CiscoMetadata, CiscoMetadata::BYTES);
    };
    let Some(protocol) = header.protocol() else { return walk.unknown(LayerKind::CiscoMetadata, 0x8909) };
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(CiscoMetadata::BYTES as u16);
    }
    if walk.push(LayerKind::CiscoMetadata, CiscoMetadata::BYTES) { behind_tag(walk, protocol) } else { Next::Done }
}

/// A label stack (RFC 3032); behind the last label IP shows itself by its version. Anything else is a pseudowire that
/// carries Ethernet with (RFC 4385 section 3) or without a control word, told apart by where an ethertype stands.
fn mpls(walk: &mut Walk<'_, '_>) -> Next {
    let mut labels = 0;
    let mut rest = walk.bytes();
    loop {
        let Some(label) = MplsLabel::read(rest) else {
            return walk.too_short(LayerKind::Mpls, labels + MplsLabel::BYTES);
        };
        labels += MplsLabel::BYTES;
        rest = rest.get(MplsLabel::BYTES..).unwrap_or_default();
        if label.is_bottom() {
            break;
        }
    }
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(u16::try_from(labels).unwrap_or(u16::MAX));
    }
    if !walk.push(LayerKind::Mpls, labels) {
        return Next::Done;
    }
    let inner = if walk.stack.macs.is_some() { LayerKind::InnerEthernet } else { LayerKind::Ethernet };
    match rest.first().map(|first| first >> 4) {
        Some(4) => Next::EtherType(IPV4),
        Some(6) => Next::EtherType(IPV6),
        // With the control word the ethertype may lie behind what was captured: then neither can be told.
        Some(0) if rest.len() < 4 + ETHERNET_BYTES && walk.wire_bytes() >= 4 + ETHERNET_BYTES => {
            walk.too_short(inner, 4 + ETHERNET_BYTES)
        }
        Some(0) if ethernet_at(rest, walk.wire_bytes(), 4) => {
            walk.pos += 4;
            Next::Ethernet(inner)
        }
        _ if ethernet_at(rest, walk.wire_bytes(), 0) => Next::Ethernet(inner),
        Some(_) => walk.unknown(LayerKind::Mpls, 0),
        None => walk.too_short(LayerKind::Mpls, 1),
    }
}

/// Whether an Ethernet header with an ethertype of those read here could begin at `offset` of `wire` octets.
fn ethernet_at(bytes: &[u8], wire: usize, offset: usize) -> bool {
    let number = match bytes.get(offset + 12..) {
        Some(&[high, low, ..]) => u16::from_be_bytes([high, low]),
        _ => return false,
    };
    matches!(number, IPV4 | IPV6 | 0x0806 | 0x8100 | 0x88a8 | 0x9100 | MPLS | 0x8863 | 0x8864 | 0x88e5 | 0x88cc)
        || ((3..=LONGEST_LLC).contains(&number) && usize::from(number) + offset + ETHERNET_BYTES <= wire)
}

/// PPPoE (RFC 2516): session data is PPP, everything else discovery.
pub(in crate::dissect) fn pppoe(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Pppoe::read(walk.bytes()) else { return walk.too_short(LayerKind::Pppoe, Pppoe::BYTES) };
    if header.code() != 0 {
        return leaf(walk, LayerKind::PppoeDiscovery);
    }
    if walk.tunnelled {
        walk.costs.link = walk.costs.link.saturating_add(Pppoe::BYTES as u16);
    }
    if !walk.push(LayerKind::Pppoe, Pppoe::BYTES) {
        return Next::Done;
    }
    walk.limit_to(LayerKind::Pppoe, walk.pos, header.payload_bytes());
    Next::Ppp
}

/// LLC (IEEE 802.2) and SNAP behind it.
pub(in crate::dissect) fn llc(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Llc::read(walk.bytes()) else { return walk.too_short(LayerKind::Llc, 3) };
    let points = header.access_points();
    if !walk.push(LayerKind::Llc, header.header_bytes()) {
        return Next::Done;
    }
    match points {
        (0xaa | 0xab, 0xaa | 0xab) => snap(walk),
        (0x42, 0x42) => control::stp(walk),
        _ if walk.stack.macs.is_some_and(|(_, destination)| destination == BRIDGES) => control::stp(walk),
        // The access point of IP itself (RFC 948), which nobody uses, but it is assigned.
        (0x06, 0x06) => Next::EtherType(IPV4),
        (destination, source) => walk.unknown(LayerKind::Llc, u32::from(destination) << 8 | u32::from(source)),
    }
}

fn snap(walk: &mut Walk<'_, '_>) -> Next {
    let Some(header) = Snap::read(walk.bytes()) else { return walk.too_short(LayerKind::Snap, Snap::BYTES) };
    let (organisation, protocol) = (header.organisation(), header.protocol());
    if !walk.push(LayerKind::Snap, Snap::BYTES) {
        return Next::Done;
    }
    match (organisation, protocol) {
        // RFC 1042, and IEEE 802.1H bridges.
        (0 | 0x0000f8, _) => Next::EtherType(protocol),
        (0x00000c, 0x2000) => control::cdp(walk),
        (0x00000c, 0x010b) => control::stp(walk),
        _ => walk.unknown(LayerKind::Snap, u32::from(protocol)),
    }
}
