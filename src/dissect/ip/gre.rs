//! GRE: tunnels, PPTP, and the ERSPAN shells that travel in it.

use crate::dissect::layer::LayerKind;
use crate::dissect::link::overlay;
use crate::dissect::walk::{Next, Walk};
use crate::wire::gre::Gre;

const KEEPALIVE: u16 = 0;
const WCCP: u16 = 0x883e;
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const PPP: u16 = 0x880b;
const WCCP_REDIRECT_BYTES: usize = 4;

/// A GRE header and its payload.
pub(in crate::dissect) fn gre(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let Some(header) = Gre::read(bytes) else { return walk.too_short(LayerKind::Gre, Gre::BYTES) };
    let protocol = header.protocol();
    match (header.version(), protocol) {
        (0, _) if header.has_routing() => {
            return walk.bad_value(LayerKind::Gre, "routing present bit", "0 (RFC 2784 section 2.3)", 1);
        }
        (0, _) | (1, PPP) => {}
        (version, _) => return walk.bad_value(LayerKind::Gre, "version", "0, or 1 with PPP", u32::from(version)),
    }
    let mut header_bytes = header.header_bytes();
    // WCCP version 2 puts a redirect header in front of the packet, under the same number; version 1 does not.
    if protocol == WCCP && bytes.get(header_bytes).is_some_and(|first| first >> 4 != 4) {
        header_bytes += WCCP_REDIRECT_BYTES;
    }
    if walk.wire_bytes() < header_bytes {
        return walk.too_short(LayerKind::Gre, header_bytes);
    }
    let outside = !walk.tunnelled;
    walk.costs.gre = walk.costs.gre.saturating_add(header_bytes as u16);
    walk.enter_tunnel();
    if !walk.push(LayerKind::Gre, header_bytes) {
        return Next::Done;
    }
    match protocol {
        // A keepalive's answer, or its empty inner packet.
        KEEPALIVE => Next::Done,
        PPP if header.version() == 1 && walk.wire_bytes() == 0 => Next::Done,
        PPP => Next::Ppp,
        WCCP => Next::EtherType(crate::dissect::link::ethernet::IPV4),
        // Type I has no header of its own, and then GRE has no sequence number (RFC 2890) in front of it.
        ERSPAN if !header.has_sequence() => overlay::shell(walk, LayerKind::Erspan, 0, outside),
        ERSPAN | ERSPAN_III => overlay::erspan(walk, outside),
        _ => Next::EtherType(protocol),
    }
}
