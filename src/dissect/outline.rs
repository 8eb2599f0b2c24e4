//! A look at frames that show what is in them: AH and IP in IP, without a stack.
//!
//! Ethernet with one VLAN tag or none, an IPv4 packet without options that is no fragment, in it AH, another such packet or both, and TCP or UDP at
//! the end. Of such a frame dissection reads no more than these headers. So frames that agree in what an outline holds of them have equal
//! stacks, but for identification, time to live and sequence number, and what was found of the first one holds for all.
//! Other frames have no outline.

use super::digest;
use super::glance::{is_bare, word};
use super::transport::udp;
use crate::capture::Frame;

const ETHERNET: usize = 14;
const TAGGED: usize = 18;
const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const TCP_BYTES: usize = 20;
/// Octets of AH in front of its ICV.
const AH_BYTES: usize = 12;
/// Octets from the AH header on that the digest reads.
const AH_READ: usize = 24;

const TCP: u8 = 6;
const UDP: u8 = 17;
const AH: u8 = 51;
const IPV4: u8 = 4;

/// What a frame that shows what is in it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outline {
    /// All that dissection reads of its headers and that says something.
    pub(crate) words: [u64; 6],
    /// Sequence number of AH; 0 without.
    pub(crate) sequence: u32,
    /// The packet's digest.
    pub(crate) digest: u64,
}

/// What is behind the outer header.
struct Reached {
    /// Addresses and length of the inner packet; 0 without one.
    addresses: u64,
    total_bytes: u16,
    ah_words: u8,
    spi: u32,
    sequence: u32,
    /// Ports of UDP; of TCP they say nothing.
    ports: u32,
    upper: u8,
}

impl Outline {
    /// Whether it ends in TCP, or in UDP with ports behind which dissection looks no further. Of TCP it holds no ports: where some are asked for, none is.
    pub(crate) fn is_quiet(&self, udp_ports: &[u16], tcp_ports: &[u16]) -> bool {
        let [.., last] = self.words;
        let ports = [last as u16, (last >> 16) as u16].map(u16::swap_bytes);
        if (last >> 40) as u8 == TCP { tcp_ports.is_empty() } else { udp::is_quiet((ports[0], ports[1]), udp_ports) }
    }
}

/// Looks at a frame; `None` for every frame that is not exactly of this kind.
#[inline(always)]
pub(crate) fn outline(frame: &Frame<'_>) -> Option<Outline> {
    let data = frame.data;
    let ip_at = match data.get(12..TAGGED)? {
        [0x08, 0x00, ..] => ETHERNET,
        [0x81, 0x00, _, _, 0x08, 0x00] => TAGGED,
        _ => return None,
    };
    let packet = data.get(ip_at..)?;
    let head: &[u8; IPV4_BYTES] = packet.first_chunk()?;
    let protocol = *head.get(9)?;
    if protocol != AH && protocol != IPV4 {
        return None;
    }
    let first = word::<0, _>(head);
    let total_bytes = ((first >> 16) as u16).swap_bytes();
    if !is_plain(first) || !is_bare(frame, ip_at, total_bytes.into()) {
        return None;
    }
    let addresses = word::<12, _>(head);
    let inside = inside(packet, protocol, usize::from(total_bytes))?;
    let digest = if protocol == AH {
        let begun = digest::begin_ipv4(addresses, 0, protocol);
        let read: &[u8; AH_READ] = packet.get(IPV4_BYTES..)?.first_chunk()?;
        let is_cut = data.len() < frame.wire_bytes as usize;
        if is_cut && digest::shown_behind_two_tags(ip_at, packet.len()) < IPV4_BYTES + AH_READ {
            return None;
        }
        digest::mix_numbered(begun, [word::<0, _>(read), word::<8, _>(read), word::<16, _>(read)])
    } else {
        let begun = digest::begin_ipv4(addresses, first >> 16, protocol);
        digest::packet(begun, packet, (ip_at, IPV4_BYTES), total_bytes.into(), frame.snap_bytes)
    };
    let ends: &[u8; 16] = data.first_chunk()?;
    let Reached { addresses: inner, total_bytes: inner_bytes, ah_words, spi, sequence, ports, upper } = inside;
    let lengths = u64::from(total_bytes) | u64::from(inner_bytes) << 16 | (data.len() as u64) << 32;
    let kinds = u64::from(ports) | u64::from(ah_words) << 32 | u64::from(upper) << 40 | u64::from(protocol) << 48;
    let words = [
        word::<0, _>(ends),
        word::<8, _>(ends) & 0xffff_ffff | u64::from(spi) << 32,
        addresses,
        inner,
        lengths | (ip_at as u64) << 48,
        kinds,
    ];
    Some(Outline { words, sequence, digest })
}

/// Whether these are the first eight octets of an IPv4 header without options, of a packet that is no fragment.
#[inline(always)]
const fn is_plain(first: u64) -> bool {
    (first ^ 0x45) & 0xff3f_0000_0000_00ff == 0
}

/// Reads what is behind the outer header of a packet of `end` octets.
#[inline(always)]
fn inside(packet: &[u8], protocol: u8, mut end: usize) -> Option<Reached> {
    let (mut at, mut next) = (IPV4_BYTES, protocol);
    let (mut addresses, mut total_bytes, mut ah_words, mut spi, mut sequence) = (0, 0, 0, 0, 0);
    if next == AH {
        let ah: &[u8; AH_BYTES] = packet.get(at..)?.first_chunk()?;
        let begin = word::<0, _>(ah);
        (next, ah_words) = (begin as u8, (begin >> 8) as u8);
        (spi, sequence) = ((begin >> 32) as u32, ((word::<4, _>(ah) >> 32) as u32).swap_bytes());
        let bytes = (usize::from(ah_words) + 2) * 4;
        if bytes < AH_BYTES {
            return None;
        }
        at += bytes;
    }
    if next == IPV4 {
        let inner: &[u8; IPV4_BYTES] = packet.get(at..)?.first_chunk()?;
        let first = word::<0, _>(inner);
        total_bytes = ((first >> 16) as u16).swap_bytes();
        let bytes = usize::from(total_bytes);
        if !is_plain(first) || bytes < IPV4_BYTES || at + bytes > end {
            return None;
        }
        addresses = word::<12, _>(inner);
        end = at + bytes;
        next = *inner.get(9)?;
        at += IPV4_BYTES;
    }
    let ports = match next {
        UDP => udp_ports(packet.get(at..)?.first_chunk()?, end.checked_sub(at)?)?,
        TCP if is_plain_tcp(packet.get(..end.min(packet.len()))?.get(at..)?) => 0,
        _ => return None,
    };
    Some(Reached { addresses, total_bytes, ah_words, spi, sequence, ports, upper: next })
}

/// The ports of UDP that fills its packet.
#[inline(always)]
fn udp_ports(header: &[u8; UDP_BYTES], bytes: usize) -> Option<u32> {
    let header = u64::from_le_bytes(*header);
    let states = usize::from(((header >> 32) as u16).swap_bytes());
    (states == bytes && states >= UDP_BYTES).then_some(header as u32)
}

/// Whether this is TCP with a whole header, on ports and with content that no encapsulated stream has.
#[inline(always)]
fn is_plain_tcp(segment: &[u8]) -> bool {
    const NAT_TRAVERSAL: u16 = udp::NAT_TRAVERSAL;
    let Some(&[s0, s1, d0, d1, _, _, _, _, _, _, _, _, offset, ..]) = segment.first_chunk::<TCP_BYTES>() else {
        return false;
    };
    let bytes = usize::from(offset >> 4) * 4;
    let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
    let content = segment.get(bytes..);
    bytes >= TCP_BYTES
        && !ports.contains(&NAT_TRAVERSAL)
        && content.is_some_and(|octets| !octets.starts_with(b"IKETCP"))
}
