//! Headers that come again: frames that agree with an earlier one in all that dissection reads of their headers, but for lengths and for what
//! numbers packets.
//!
//! Ethernet with a VLAN tag or none, an IP packet without options or extension headers that is no fragment, and in it UDP, TCP or opaque ESP; of IPv4
//! also ESP in UDP, and AH or ESP-NULL around such a packet with UDP or TCP. Of such frames the layers, addresses, marks and SA headers are those of the
//! first one. What differs is read here; what dissection may *note* of their payload is not.

use super::behind::{AH, IP_IN_IP, TCP, TCP_BYTES, UDP, UDP_BYTES};
use crate::capture::Frame;
use crate::dissect::glance::{ESP, ESP_BYTES, IPV4_BYTES, IPV6_BYTES, TAG, word};
use crate::dissect::ipsec::look;
use crate::dissect::ipsec::null::Suspect;
use crate::dissect::layer::LayerKind;
use crate::dissect::stack::{IpHeader, Note, NullSupport, Stack};
use crate::dissect::transport::{esp_port, tcp, udp};
use crate::dissect::{DissectOptions, LONGEST_FRAME};
use crate::model::{Address, LinkType};

/// Where the packet begins in a frame without a tag.
const IP_AT: usize = 14;
const UPPER_AT: usize = IP_AT + IPV4_BYTES;
const AH_BYTES: usize = 12;
/// The least that ESP can be (RFC 4303 section 2.4).
const ESP_LEAST: usize = 12;
/// Captured octets that every frame of these kinds has without its tag, and of IPv6.
const LEAST: usize = UPPER_AT + 8;
const LEAST_OF_IPV6: usize = IP_AT + IPV6_BYTES + 8;
/// EtherTypes of IPv4, IPv6 and a tag, as they stand in a word whose first octet weighs least.
const IPV4: u16 = 0x0800_u16.swap_bytes();
const IPV6: u16 = 0x86dd_u16.swap_bytes();
const TAGGED: u16 = 0x8100_u16.swap_bytes();
/// A frame that is shorter holds no FCS besides its padding, nor does one with fewer octets behind the packet.
const SHORTEST_WITH_FCS: usize = 64;
const FCS: u32 = 4;

/// What frames agree in: the octets of their headers, without those that are read for each frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SharedHeaders {
    /// Of the link, the outer packet, and its ports or SPI.
    outer: [u64; 5],
    /// Of AH, the packet in it, and its ports; the SPI of ESP in UDP; the rest of IPv6.
    inner: [u64; 4],
}

impl SharedHeaders {
    /// Whether both are equal.
    #[inline(always)]
    pub(crate) fn are(&self, other: &Self) -> bool {
        // Without a branch for each, and without a call.
        let ([a, b, c, d, e], [f, g, h, i]) = (self.outer, self.inner);
        let ([j, k, l, m, n], [o, p, q, r]) = (other.outer, other.inner);
        let outer = (a ^ j) | (b ^ k) | (c ^ l) | (d ^ m) | (e ^ n);
        outer | (f ^ o) | (g ^ p) | (h ^ q) | (i ^ r) == 0
    }

    /// A number that most others do not share.
    #[inline(always)]
    pub(crate) const fn number(&self) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let ([_, _, _, near, far], [_, _, inner_near, inner_far]) = (self.outer, self.inner);
        (near ^ far.rotate_left(20) ^ inner_near.rotate_left(40) ^ inner_far.rotate_left(50)).wrapping_mul(FACTOR) >> 32
    }
}

/// A packet as its own header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortPacket<'f> {
    header_bytes: usize,
    pub(crate) total_bytes: u32,
    pub(crate) identification: u32,
    /// What of its payload was captured, and maybe what is behind it.
    pub(crate) captured: &'f [u8],
}

impl ShortPacket<'_> {
    /// Octets of its payload.
    pub(crate) const fn payload_bytes(&self) -> usize {
        (self.total_bytes as usize).saturating_sub(self.header_bytes)
    }
}

/// A frame that may have the headers of an earlier one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadersAgain<'f> {
    pub(crate) headers: SharedHeaders,
    pub(crate) outer: ShortPacket<'f>,
    pub(crate) wire_bytes: u32,
    /// Octets behind the packet, and those of them that were captured.
    pub(crate) pad_bytes: u32,
    pub(crate) pad: Option<&'f [u8]>,
    /// Protocol that the packet carries.
    pub(crate) protocol: u8,
    data: &'f [u8],
    /// Where the packet begins.
    ip_at: usize,
    /// Octets in front of ESP in the packet: those of UDP around it, or none.
    before_esp: usize,
}

impl<'f> HeadersAgain<'f> {
    /// Reads a frame with IPv4; `None` where its lengths contradict each other, or where dissection may find an FCS behind the packet. ESP in UDP and
    /// IPv6 are read [`otherwise`](Self::otherwise): put together here, what most frames say would not stay in registers.
    #[inline(always)]
    pub(crate) fn of(frame: &Frame<'f>) -> Option<Self> {
        let (ends, head, ip_at) = Self::begin(frame)?;
        let is_ipv4 = (word::<8, _>(head) >> 32) as u16 == IPV4;
        if is_ipv4 && !Self::is_in_udp(head) { Self::ipv4(frame, ends, head, ip_at) } else { None }
    }

    /// Reads a frame with IPv6, or with ESP in UDP.
    #[inline(never)]
    pub(crate) fn otherwise(frame: &Frame<'f>) -> Option<Self> {
        let (ends, head, ip_at) = Self::begin(frame)?;
        match (word::<8, _>(head) >> 32) as u16 {
            IPV4 if Self::is_in_udp(head) => Self::ipv4(frame, ends, head, ip_at)?.in_udp(word::<34, _>(head)),
            IPV6 => Self::ipv6(frame, ends, ip_at),
            _ => None,
        }
    }

    /// Reads a frame of either kind.
    pub(crate) fn any(frame: &Frame<'f>) -> Option<Self> {
        Self::of(frame).or_else(|| Self::otherwise(frame))
    }

    /// The first two words of a frame, what follows its tag, or all of it, and where its packet begins.
    #[inline(always)]
    fn begin(frame: &Frame<'f>) -> Option<((u64, u64), &'f [u8; LEAST], usize)> {
        let data = frame.data;
        let is_usual = frame.link == LinkType::ETHERNET && frame.fcs_bytes == 0 && frame.wire_bytes <= LONGEST_FRAME;
        let link: &[u8; 16] = data.first_chunk()?;
        let ends = (word::<0, _>(link), word::<8, _>(link));
        let tag = if (ends.1 >> 32) as u16 == TAGGED { TAG } else { 0 };
        let head: &[u8; LEAST] = data.get(tag..)?.first_chunk()?;
        (is_usual && data.len() <= frame.wire_bytes as usize).then_some((ends, head, IP_AT + tag))
    }

    /// Whether an IPv4 packet carries UDP on the port of NAT traversal.
    #[inline(always)]
    fn is_in_udp(head: &[u8; LEAST]) -> bool {
        (word::<16, _>(head) >> 56) as u8 == UDP && udp::is_nat_traversal(word::<34, _>(head) as u32)
    }

    #[inline(always)]
    fn ipv4(frame: &Frame<'f>, ends: (u64, u64), head: &[u8; LEAST], ip_at: usize) -> Option<Self> {
        let (lengths, upper) = (word::<16, _>(head), word::<34, _>(head));
        let outer = [
            ends.0,
            ends.1,
            // Total length, identification and header checksum are left out.
            lengths & 0xffff_ffff_0000_0000,
            word::<24, _>(head) & 0xffff_ffff_ffff_0000,
            // The end of the destination, the first word behind the header, and what a tag has moved out of the second word.
            word::<32, _>(head) & 0xffff | upper << 16 & 0xffff_ffff_0000 | word::<8, _>(head) & 0xffff_0000_0000_0000,
        ];
        let packet = ShortPacket {
            header_bytes: IPV4_BYTES,
            total_bytes: u32::from((lengths as u16).swap_bytes()),
            identification: u32::from(((lengths >> 16) as u16).swap_bytes()),
            captured: frame.data.get(ip_at + IPV4_BYTES..)?,
        };
        let headers = SharedHeaders { outer, inner: [0; 4] };
        Self::behind_link(frame, headers, packet, (lengths >> 56) as u8, ip_at)
    }

    /// ESP in UDP, whose header begins with this word.
    fn in_udp(mut self, udp: u64) -> Option<Self> {
        let bytes = usize::from(((udp >> 32) as u16).swap_bytes());
        let message = self.outer.captured.get(UDP_BYTES..)?;
        let spi: &[u8; 4] = message.first_chunk()?;
        self.headers.inner = [u64::from(u32::from_le_bytes(*spi)) | 1 << 32, 0, 0, 0];
        self.before_esp = UDP_BYTES;
        let is_esp = bytes == self.outer.payload_bytes()
            && esp_port::is_plain_esp(udp as u32, message, bytes.checked_sub(UDP_BYTES)?);
        is_esp.then_some(self)
    }

    fn ipv6(frame: &Frame<'f>, ends: (u64, u64), ip_at: usize) -> Option<Self> {
        let head: &[u8; LEAST_OF_IPV6] = frame.data.get(ip_at - IP_AT..)?.first_chunk()?;
        let (lengths, upper) = (word::<16, _>(head), word::<54, _>(head));
        // The length of the payload is left out.
        let outer = [ends.0, ends.1, lengths & 0xffff_ffff_0000_ffff, word::<24, _>(head), word::<32, _>(head)];
        let kind = word::<8, _>(head) & 0xffff_0000_0000_0000;
        let inner = [word::<40, _>(head), word::<48, _>(head) & 0xffff_ffff_ffff | kind, upper & 0xffff_ffff, 0];
        let payload_bytes = u32::from(((lengths >> 16) as u16).swap_bytes());
        let packet = ShortPacket {
            header_bytes: IPV6_BYTES,
            total_bytes: IPV6_BYTES as u32 + payload_bytes,
            identification: 0,
            captured: frame.data.get(ip_at + IPV6_BYTES..)?,
        };
        // Without a length the packet has what the frame leaves for it.
        let own = Self::behind_link(frame, SharedHeaders { outer, inner }, packet, (lengths >> 32) as u8, ip_at);
        own.filter(|_| payload_bytes > 0)
    }

    #[inline(always)]
    fn behind_link(
        frame: &Frame<'f>,
        headers: SharedHeaders,
        outer: ShortPacket<'f>,
        protocol: u8,
        ip_at: usize,
    ) -> Option<Self> {
        let (data, wire) = (frame.data, frame.wire_bytes);
        let end = ip_at as u32 + outer.total_bytes;
        let pad_bytes = wire.checked_sub(end)?;
        let is_whole = data.len() == wire as usize;
        let may_hold_fcs = pad_bytes >= FCS && is_whole && data.len() >= SHORTEST_WITH_FCS;
        if may_hold_fcs || (outer.total_bytes as usize) < outer.header_bytes {
            return None;
        }
        let pad = if pad_bytes > 0 { data.get(end as usize..).filter(|pad| !pad.is_empty()) } else { None };
        Some(Self { headers, outer, wire_bytes: wire, pad_bytes, pad, protocol, data, ip_at, before_esp: 0 })
    }

    /// Octets from the header of ESP on.
    pub(crate) const fn esp_bytes(&self) -> usize {
        self.outer.payload_bytes().saturating_sub(self.before_esp)
    }

    /// Whether dissection of this frame says no more than its headers do, for all that have the same: `stack` is what it said.
    pub(crate) fn is_by_headers(&self, stack: &Stack, options: &DissectOptions) -> bool {
        use LayerKind::{Ah, Esp, Ethernet, Ipv4, Ipv6, Tcp, Udp, Vlan};
        let kinds: Vec<LayerKind> = stack.layers.iter().map(|layer| layer.kind).collect();
        let ([Ethernet, Vlan, packet @ ..] | [Ethernet, packet @ ..]) = kinds.as_slice() else { return false };
        let is_known = match packet {
            [Ipv4, Udp, Esp] => self.before_esp > 0,
            [Ipv4 | Ipv6, Udp | Tcp | Esp] => self.before_esp == 0,
            [Ipv4, Ah | Esp, Ipv4, Udp | Tcp] => true,
            _ => false,
        };
        if !is_known || stack.shape.shell != 0 {
            return false;
        }
        let has_options =
            |ip: &IpHeader| ip.header_bytes as usize != if ip.version == 4 { IPV4_BYTES } else { IPV6_BYTES };
        let is_plain = stack.ips.iter().all(|ip| !has_options(ip) && !ip.is_fragment());
        let ports = stack.layers.last().and_then(|last| {
            let [s0, s1, d0, d1] = *self.data.get(last.span.start as usize..)?.first_chunk()?;
            Some((last.kind, (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]))))
        });
        let is_quiet = match ports {
            Some((Udp, ports)) => {
                let says_nothing = |port: u16| !udp::is_named(port) && !options.udp_ports.contains(&port);
                udp::is_quiet(ports, &options.udp_ports) || says_nothing(ports.0) && says_nothing(ports.1)
            }
            Some((Tcp, ports)) => !tcp::carries_esp(ports.0, options) && !tcp::carries_esp(ports.1, options),
            Some((Esp, _)) => true,
            _ => false,
        };
        let says_nothing = |note: &Note| match note {
            Note::UdpCandidate { .. } | Note::UdpOther { .. } => true,
            Note::Null { .. } => stack.null.is_some(),
            _ => false,
        };
        let is_all = stack.notes.iter().all(says_nothing) && stack.opened.is_empty();
        is_plain && is_quiet && is_all && stack.peeks.is_empty() && stack.stop.is_none()
    }

    /// Whether the packet is no part of a stream of encapsulated messages, which a TCP segment on any port may begin.
    #[inline(always)]
    pub(crate) fn is_unprefixed(&self) -> bool {
        self.protocol != TCP || is_unprefixed(self.outer.captured)
    }

    /// The sequence number of ESP that dissection leaves opaque; `None` where it may find more.
    #[inline(always)]
    pub(crate) fn opaque_sequence(&self) -> Option<u32> {
        let bytes = self.esp_bytes();
        let captured = self.outer.captured.get(self.before_esp..)?;
        let (&[_, _, _, _, n0, n1, n2, n3], payload) = captured.split_first_chunk::<ESP_BYTES>()?;
        if bytes < ESP_LEAST || !bytes.is_multiple_of(4) {
            return None;
        }
        let whole = payload.get(..bytes - ESP_BYTES);
        let is_opaque = !look::worth_a_look(whole.unwrap_or(payload), whole.is_some());
        is_opaque.then(|| u32::from_be_bytes([n0, n1, n2, n3]))
    }

    /// Reads AH and the packet in it: its headers count with those of the frame.
    #[inline(always)]
    pub(crate) fn into_ah(self) -> Option<ShownInside<'f>> {
        let ah: &[u8; AH_BYTES] = self.outer.captured.first_chunk()?;
        let begin = word::<0, _>(ah);
        let sequence = ((word::<4, _>(ah) >> 32) as u32).swap_bytes();
        let bytes = (usize::from((begin >> 8) as u8) + 2) * 4;
        if bytes < AH_BYTES { None } else { self.inside(begin, sequence, bytes, None) }
    }

    /// Reads the IPv4 packet in ESP-NULL, where this frame alone shows beyond doubt that it is that, without padding against traffic analysis. `notes`
    /// is room for what that takes.
    pub(crate) fn into_null(self, notes: &mut Vec<Note>) -> Option<ShownInside<'f>> {
        let bytes = self.outer.payload_bytes();
        let (&[_, _, _, _, n0, n1, n2, n3], payload) = self.outer.captured.split_first_chunk::<ESP_BYTES>()?;
        let payload = payload.get(..bytes.checked_sub(ESP_BYTES)?)?;
        if bytes < ESP_LEAST || !look::worth_a_look(payload, true) {
            return None;
        }
        let [src, dst] = self.data.get(self.ip_at + 12..)?.first_chunk::<8>()?.as_chunks::<4>().0 else { return None };
        let endpoints = Some((Address::v4(*src), Address::v4(*dst)));
        notes.clear();
        let suspect =
            Suspect { sa: 0, payload, wire_bytes: payload.len(), endpoints, around: endpoints, declared: None };
        let support = suspect.check(notes)?;
        let NullSupport { icv_bytes, iv_bytes, next_header, tfc_bytes: 0, inner: Some(_), .. } = support else {
            return None;
        };
        let sequence = u32::from_be_bytes([n0, n1, n2, n3]);
        let kind = u64::from(u32::from_be_bytes([icv_bytes, iv_bytes, next_header, 1]));
        let at = ESP_BYTES + usize::from(iv_bytes);
        if next_header == IP_IN_IP { self.inside(kind, sequence, at, Some(support)) } else { None }
    }

    /// The packet at `at` in the payload of this one. `kind`: what is between both.
    #[inline(always)]
    fn inside(mut self, kind: u64, sequence: u32, at: usize, null: Option<NullSupport>) -> Option<ShownInside<'f>> {
        let behind = self.outer.captured;
        let inner: &[u8; IPV4_BYTES + 4] = behind.get(at..)?.first_chunk()?;
        let lengths = word::<0, _>(inner);
        let (total_bytes, upper) = (u32::from(((lengths >> 16) as u16).swap_bytes()), word::<16, _>(inner));
        let protocol = *inner.get(9)?;
        let (numberless, marks) = (lengths & 0xffff_0000_0000_ffff, word::<8, _>(inner) & 0xffff_ffff_0000_ffff);
        self.headers.inner = [kind, numberless, marks, upper];
        let captured = behind.get(at + IPV4_BYTES..)?;
        let identification = u32::from(((lengths >> 32) as u16).swap_bytes());
        let packet = ShortPacket { header_bytes: IPV4_BYTES, total_bytes, identification, captured };
        let least = if protocol == TCP { TCP_BYTES } else { UDP_BYTES };
        let behind_bytes = self.outer.payload_bytes().checked_sub(at + total_bytes as usize)? as u32;
        let is_there = packet.payload_bytes() >= least && captured.len() >= least;
        let is_unprefixed = protocol != TCP || is_unprefixed(captured);
        let inside = ShownInside { frame: self, sequence, inner: packet, protocol, behind_bytes, null };
        (is_there && is_unprefixed).then_some(inside)
    }

    /// Whether it is an IPv4 packet that carries AH.
    #[inline(always)]
    pub(crate) const fn is_ah(&self) -> bool {
        self.protocol == AH && self.outer.header_bytes == IPV4_BYTES
    }

    /// Whether it is an IPv4 packet that carries ESP.
    #[inline(always)]
    pub(crate) const fn is_esp(&self) -> bool {
        self.protocol == ESP && self.outer.header_bytes == IPV4_BYTES
    }
}

/// A frame of AH or ESP-NULL around an IPv4 packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownInside<'f> {
    pub(crate) frame: HeadersAgain<'f>,
    pub(crate) sequence: u32,
    pub(crate) inner: ShortPacket<'f>,
    /// What the inner packet carries.
    pub(crate) protocol: u8,
    /// Octets between the ends of both packets.
    pub(crate) behind_bytes: u32,
    /// What shows that it is ESP-NULL.
    pub(crate) null: Option<NullSupport>,
}

/// Whether a TCP segment does not begin a stream of encapsulated messages (RFC 9329 section 4).
#[inline(always)]
fn is_unprefixed(segment: &[u8]) -> bool {
    let bytes = segment.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    segment.get(bytes..).is_some_and(|content| !content.starts_with(tcp::STREAM_PREFIX))
}
