//! Packets that no tunnel carries: signalling between neighbours on a link, and errors about packets of SAs.

use crate::dissect::IpHeader;

/// Numbers of IP protocols (RFC 5237).
const ICMP: u8 = 1;
const UDP: u8 = 17;
const ESP: u8 = 50;
const AH: u8 = 51;
const ICMPV6: u8 = 58;
const OSPF: u8 = 89;

/// Whether a packet ends on its link, or is an ICMP error that quotes a packet with ESP, AH or NAT-T. `octets`: those of the frame.
pub(super) fn is_link_signalling(outer: &IpHeader, octets: &[u8]) -> bool {
    /// Time to live of packets that no router has forwarded (RFC 5082 section 3).
    const UNROUTED: u8 = 255;
    // No router forwards a packet with a link-local address (RFC 4291 section 2.5.6).
    if outer.src.is_link_local() || outer.dst.is_link_local() {
        return true;
    }
    let payload = octets.get(outer.offset as usize + outer.header_bytes as usize..).unwrap_or_default();
    if outer.is_fragment() {
        return false;
    }
    match (outer.protocol, payload) {
        // Neighbour discovery (RFC 4861 section 4).
        (ICMPV6, [133..=137, ..]) => outer.ttl == UNROUTED,
        (OSPF, _) => outer.ttl == 1,
        // BFD over one hop (RFC 5881 section 4), and its echo packets.
        (UDP, [_, _, high, low, ..]) => {
            outer.ttl == UNROUTED && matches!(u16::from_be_bytes([*high, *low]), 3_784 | 3_785)
        }
        // Unreachable, redirect, time exceeded, parameter problem (RFC 792), and the errors of RFC 4443 section 3.
        (ICMP, [3 | 5 | 11 | 12, _, _, _, _, _, _, _, quoted @ ..]) => quotes_ipsec_v4(quoted),
        (ICMPV6, [1..=4, _, _, _, _, _, _, _, quoted @ ..]) => quotes_ipsec_v6(quoted),
        _ => false,
    }
}

fn quotes_ipsec_v4(quoted: &[u8]) -> bool {
    let (Some(first), Some(protocol)) = (quoted.first(), quoted.get(9)) else { return false };
    let header = usize::from(first & 0x0f) * 4;
    carries_ipsec(*protocol, quoted.get(header..).unwrap_or_default())
}

fn quotes_ipsec_v6(quoted: &[u8]) -> bool {
    quoted.get(6).is_some_and(|protocol| carries_ipsec(*protocol, quoted.get(40..).unwrap_or_default()))
}

/// ESP, AH, or UDP on the ports of IKE and NAT-T (RFC 3948 section 2).
fn carries_ipsec(protocol: u8, payload: &[u8]) -> bool {
    let is_port = |port: &[u8]| matches!(port, [0x11, 0x94] | [0x01, 0xf4]);
    match (protocol, payload) {
        (ESP | AH, _) => true,
        (UDP, [a, b, c, d, ..]) => is_port(&[*a, *b]) || is_port(&[*c, *d]),
        _ => false,
    }
}
