//! UDP: which datagrams carry ESP, IKE, a shell or a tunnel, and which could.

use etherparse::UdpHeaderSlice;

use super::esp_port;
use super::foreign::{has_length, is_foreign, may_be_foreign};
use crate::dissect::layer::LayerKind;
use crate::dissect::link::overlay;
use crate::dissect::stack::{IpHeader, Note};
use crate::dissect::walk::{Next, Walk};
use crate::model::Spi;

pub(in crate::dissect) const IKE: u16 = 500;
pub(in crate::dissect) const NAT_TRAVERSAL: u16 = 4500;

const UDP_BYTES: usize = 8;
/// The least that counts as possible ESP on an unusual port: header, one block, and an ICV.
const CANDIDATE_LEAST: usize = 20;

/// Ports on which another protocol is at home, so that ESP is not looked for: DNS, DHCP, TFTP, Kerberos, NTP, NetBIOS,
/// SNMP, LDAP, QUIC, syslog, RIP, L2TP, RADIUS, SSDP, GTP, STUN, Teredo, BFD, VXLAN, SIP, multicast name services, GENEVE, VXLAN of
/// Linux, TZSP.
#[rustfmt::skip]
pub(in crate::dissect) const fn at_home_elsewhere(port: u16) -> bool {
    matches!(
        port,
        53 | 67 | 68 | 69 | 88 | 123 | 137 | 138 | 161 | 162 | 389 | 443 | 514 | 520 | 521 | 1701 | 1812 | 1813 | 1900 | 2123 | 2152
            | 3478 | 3544 | 3784 | 3785 | 4789 | 5060 | 5353 | 5355 | 6081 | 8472 | 37008
    )
}

/// Whether a port says anything of what a datagram carries, on either side.
#[inline]
pub(in crate::dissect) fn is_named(port: u16) -> bool {
    NAMED.get(usize::from(port / 64)).is_none_or(|word| word >> (port % 64) & 1 != 0)
}

/// A bit for each port.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse it")]
static NAMED: [u64; 1024] = {
    let mut named = [0; 1024];
    let mut port = 0_u16;
    loop {
        let is_own =
            matches!(port, IKE | NAT_TRAVERSAL | L2TP | VXLAN | VXLAN_OF_LINUX | GENEVE | TZSP | VXLAN_GPE | GTP_U);
        if is_own || at_home_elsewhere(port) {
            named[port as usize / 64] |= 1 << (port % 64);
        }
        if port == u16::MAX {
            break named;
        }
        port += 1;
    }
};

/// Overlay and mirror ports (RFC 7348, the Linux default, RFC 8926, TZSP).
const VXLAN: u16 = 4789;
const VXLAN_OF_LINUX: u16 = 8472;
const GENEVE: u16 = 6081;
const TZSP: u16 = 37008;
pub(in crate::dissect) const L2TP: u16 = 1701;
/// Of QUIC, whose clients have other ports; ESP in UDP that is to pass firewalls has it at both ends.
const HTTPS: u16 = 443;
const VXLAN_GPE: u16 = 4790;
const GTP_U: u16 = 2152;

/// A UDP header (RFC 768), and what its ports say.
#[inline]
pub(in crate::dissect) fn udp(walk: &mut Walk<'_, '_>) -> Next {
    let Ok(header) = UdpHeaderSlice::from_slice(walk.bytes()) else {
        return walk.too_short(LayerKind::Udp, UDP_BYTES);
    };
    let ports = (header.source_port(), header.destination_port());
    let length = usize::from(header.length());
    // 0 stands for a length that does not fit (RFC 2675 section 4) or was left to offloading.
    if length != 0 {
        if length < UDP_BYTES {
            return walk.bad_value(LayerKind::Udp, "length", "at least 8", length as u32);
        }
        walk.limit_to(LayerKind::Udp, walk.pos, length);
    }
    if !walk.push(LayerKind::Udp, UDP_BYTES) {
        return Next::Done;
    }
    let on = |port: u16| ports.0 == port || ports.1 == port;
    if walk.options.udp_ports.iter().any(|port| on(*port)) {
        return esp_port::datagram(walk, ports);
    }
    if on(NAT_TRAVERSAL) || on(IKE) {
        // A client of DNS or QUIC may have any port; only many packets, or IKE, show that it is ESP all the same.
        let foreign = at_home_elsewhere(ports.0) || at_home_elsewhere(ports.1);
        return if foreign { unusual(walk, ports, length) } else { esp_port::datagram(walk, ports) };
    }
    match ports.1 {
        VXLAN | VXLAN_OF_LINUX => overlay::vxlan(walk),
        GENEVE => overlay::geneve(walk),
        TZSP => overlay::tzsp(walk),
        VXLAN_GPE => overlay::vxlan_gpe(walk),
        GTP_U => overlay::gtp_u(walk),
        _ if on(L2TP) => overlay::l2tp_over_udp(walk),
        _ if ports == (HTTPS, HTTPS) => unusual(walk, ports, length),
        _ if at_home_elsewhere(ports.0) || at_home_elsewhere(ports.1) => Next::Done,
        _ => unusual(walk, ports, length),
    }
}

/// Whether one of two ports, as they stand in the frame, is that of NAT traversal.
#[inline(always)]
pub(in crate::dissect) const fn is_nat_traversal(ports: u32) -> bool {
    const OWN: u16 = NAT_TRAVERSAL.swap_bytes();
    ports as u16 == OWN || (ports >> 16) as u16 == OWN
}

/// Whether dissection ends at a UDP header with these ports: one belongs to a protocol whose content is not read, and none to IPsec or a tunnel.
pub(in crate::dissect) fn is_quiet(ports: (u16, u16), carrying: &[u16]) -> bool {
    let on = |port: u16| ports.0 == port || ports.1 == port;
    let named = on(NAT_TRAVERSAL) || on(IKE) || on(L2TP) || carrying.iter().any(|port| on(*port));
    let tunnel = matches!(ports.1, VXLAN | VXLAN_OF_LINUX | GENEVE | TZSP | VXLAN_GPE | GTP_U);
    !named && !tunnel && ports != (HTTPS, HTTPS) && (at_home_elsewhere(ports.0) || at_home_elsewhere(ports.1))
}

/// A datagram on ports that say nothing: IKE shows itself by its header, ESP only by many datagrams together.
fn unusual(walk: &mut Walk<'_, '_>, ports: (u16, u16), length: usize) -> Next {
    let bytes = walk.bytes();
    let wire = walk.wire_bytes();
    if walk.fragmented {
        // The header states how long the whole datagram is.
        let is_own = walk.stack.ips.last().is_some_and(IpHeader::is_fragment);
        let missing = length.saturating_sub(UDP_BYTES).checked_sub(wire).filter(|missing| is_own && *missing > 0);
        let note = missing.and_then(|missing| note_of(bytes, (wire, missing), ports, walk.pos));
        walk.stack.notes.extend(note);
        return Next::Done;
    }
    if let Some(marker) = esp_port::unmistakable_ike(bytes, wire) {
        return esp_port::ike(walk, ports, marker);
    }
    walk.stack.notes.extend(note_of(bytes, (wire, 0), ports, walk.pos));
    Next::Done
}

/// What is noted of a datagram that is no IKE, of `here` octets that begin at `at`, and `missing` ones in other fragments.
#[inline]
pub(in crate::dissect) fn note_of(
    bytes: &[u8],
    (here, missing): (usize, usize),
    ports: (u16, u16),
    at: usize,
) -> Option<Note> {
    let wire = here + missing;
    // A keepalive of one octet says nothing about the flow (RFC 3948 section 2.3).
    let (&[s0, s1, s2, s3, n0, n1, n2, n3], _) = bytes.split_first_chunk::<8>()?;
    let spi = Spi(u32::from_be_bytes([s0, s1, s2, s3]));
    let foreign = || may_be_foreign(bytes) && is_foreign(bytes, wire) || has_length(bytes, wire);
    let fits = wire >= CANDIDATE_LEAST && wire.is_multiple_of(4) && spi.0 > 255 && !foreign();
    Some(if fits {
        let sequence = u32::from_be_bytes([n0, n1, n2, n3]);
        Note::UdpCandidate { spi, sequence, ports, offset: at as u32, bytes: wire as u32, missing: missing as u32 }
    } else {
        Note::UdpOther { ports }
    })
}
