//! What equal packets share and different packets do not.

use crate::capture::Frame;
use crate::dissect::digest;
use crate::dissect::{IpHeader, Stack};
use crate::model::Protocol;

/// A digest that equal packets share and different packets do not: from the IP header on, up to 128 octets and the last 64, with the
/// original length; type of service, TTL (hop limit) and IPv4 header checksum masked. Of an IPv4 packet with a sequence number also the length,
/// the identification and the bits of fragmentation; it begins with the IP header of the SA, as a router may put the packet into GRE or another IP packet (RFC 2784) between
/// two sightings; `finish/copying.rs` tells such a router from one that sends the packet on. Fixed for a format version of states, because
/// those of several machines merge.
#[inline]
pub(super) fn packet_digest(frame: &Frame<'_>, stack: &Stack, outermost: &IpHeader) -> u64 {
    let numbered = stack.sas.first().filter(|sa| sa.sequence_seen);
    let outer = numbered.and_then(|sa| stack.ips.get(usize::from(sa.ip))).unwrap_or(outermost);
    let start = outer.offset as usize;
    let bytes = frame.data.get(start..).unwrap_or_default();
    if frame.data.len() < frame.wire_bytes as usize && !is_told_apart(bytes, stack, outer) {
        return 0;
    }
    let total = outer.total_bytes as usize;
    let bytes = bytes.get(..total.min(bytes.len())).unwrap_or(bytes);
    // Traffic class and hop limit of IPv6 are in the first two words (RFC 8200 section 3).
    let (head, mask) = if outer.version == 4 { (4..8, u32::MAX) } else { (0..4, 0xf00f_ffff) };
    let word = bytes.get(head).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes) & mask;
    // The first fragment of a packet with a number is that packet in another cut, and a firewall may change the identification (pf `scrub`).
    let (length, word) = match numbered {
        Some(_) if outer.version == 4 => (0, 0),
        _ => (outer.total_bytes, word),
    };
    let begun = digest::begin(outer.src, outer.dst, length, word, outer.protocol);
    if let Some(sa) = numbered {
        // Behind an AH or ESP header stand octets that differ between any two packets: sixteen of them decide. Of a frame that was cut, a copy
        // with other tags shows fewer: as many are read as it would show, and at least the number.
        let at = (sa.offset as usize).saturating_sub(start);
        let is_cut = frame.data.len() < frame.wire_bytes as usize;
        let shown = if is_cut { digest::shown_behind_two_tags(start, bytes.len()) } else { bytes.len() };
        let end = (at + 24).min(shown.max(at + numbered_bytes(sa.protocol))).min(bytes.len());
        let read = bytes.get(at..end).unwrap_or_default();
        match *read.as_chunks().0 {
            [header, first, second] => digest::mix_numbered(begun, [header, first, second].map(u64::from_le_bytes)),
            _ => digest::mix_octets(begun, read),
        }
    } else {
        digest::packet(begun, bytes, (start, if outer.version == 4 { 20 } else { 40 }), total, frame.snap_bytes)
    }
}

/// Whether what was captured of a packet tells it from the next one of its flow: a sequence number, an identification with the ports
/// and the checksum behind it, or the first octets of the content.
fn is_told_apart(bytes: &[u8], stack: &Stack, outer: &IpHeader) -> bool {
    /// Octets behind the IP header: a UDP header, and what of the content comes first.
    const ENOUGH: usize = 24;
    const PORTS: usize = 8;
    if let Some(sa) = stack.sas.first() {
        return sa.sequence_seen;
    }
    let behind = bytes.len().saturating_sub(outer.header_bytes as usize);
    behind >= ENOUGH || (outer.identification != 0 && behind >= PORTS)
}

/// Octets of a header of IPsec up to the end of its sequence number (RFC 4302 section 2, RFC 4303 section 2).
const fn numbered_bytes(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Ah => 12,
        Protocol::Esp | Protocol::IpComp => 8,
    }
}
