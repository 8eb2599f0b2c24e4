//! A glance at the frames that captures of IPsec are made of, without a stack.
//!
//! Ethernet with one VLAN tag or none; IPv4 without options, with UDP of NAT traversal or without, or IPv6 without extension headers; opaque ESP,
//! nothing behind it: what a frame of this kind says fits a few words, and analysis can take in a stream of them without looking further.
//! Other frames have no glance.

mod form;

pub use self::form::Form;
use super::digest;
use crate::capture::Frame;
use crate::dissect::ipsec::{look, null};
use crate::dissect::transport::esp_port;
use crate::model::{Address, LinkType};

/// Octets of the Ethernet header without tag.
const ETHERNET: usize = 14;
/// Octets of a VLAN tag (IEEE 802.1Q clause 9.3).
pub(super) const TAG: usize = 4;
/// Octets of headers.
pub(super) const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
pub(super) const IPV6_BYTES: usize = 40;
pub(super) const ESP_BYTES: usize = 8;
/// Where a frame without tag says what its IPv4 packet carries.
const PROTOCOL_AT: usize = ETHERNET + 9;
const UDP: u8 = 17;
pub(super) const ESP: u8 = 50;
const AH: u8 = 51;
const IPV4: u8 = 4;
/// Payload octets that must have been captured.
const LEAST: usize = 16;
/// The octets that a glance reads: those of a frame without tag, or what follows its first four.
type Head = [u8; ETHERNET + IPV4_BYTES + ESP_BYTES + LEAST];

/// What a frame of opaque ESP says, in words as they stand in the frame (the first octet weighs least), so that comparing two frames
/// takes an operation for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// Destination MAC and the first two octets of the source MAC.
    pub macs: u64,
    /// The other four octets of the source MAC.
    pub macs_end: u32,
    /// Source and destination port of UDP around ESP; 0 without.
    pub ports: u32,
    /// Source and destination address; of IPv6 a digest of both, so that frames may agree in it whose addresses differ.
    pub addresses: u64,
    /// SPI.
    pub spi: u32,
    /// Sequence number, as a number.
    pub sequence: u32,
    /// Its lengths.
    pub form: Form,
    /// The packet's digest: addresses, length, identification, SPI, sequence number and sixteen octets more.
    pub digest: u64,
}

/// The octets behind the ESP header of a frame of this form.
#[inline]
pub(crate) fn behind_esp(data: &[u8], form: Form) -> &[u8] {
    data.get((form.link_bytes() + form.outer_bytes()) as usize + ESP_BYTES..).unwrap_or_default()
}

/// Type of service (IPv6: traffic class) of a frame of this form.
pub(crate) fn tos(data: &[u8], form: Form) -> u8 {
    match data.get(form.link_bytes() as usize..) {
        Some(&[first, second, ..]) if form.is_ipv6() => first << 4 | second >> 4,
        Some(&[_, second, ..]) => second,
        _ => 0,
    }
}

/// The addresses of an IPv6 packet with this form's link header, source first.
#[inline(always)]
pub(crate) fn ipv6_ends(data: &[u8], form: Form) -> Option<&[u8; 32]> {
    data.get(form.link_bytes() as usize + 8..)?.first_chunk()
}

/// These addresses.
#[inline(always)]
fn ipv6_addresses(ends: &[u8; 32]) -> (Address, Address) {
    let address = |octets: Option<&[u8; 16]>| Address::v6(octets.copied().unwrap_or_default());
    (address(ends.first_chunk()), address(ends.last_chunk()))
}

/// Looks at a frame; `None` for every frame that is not exactly of this kind.
#[inline]
#[must_use]
pub fn glance(frame: &Frame<'_>) -> Option<Glance> {
    let (glance, doubtful) = first_look(frame)?;
    (!doubtful || is_opaque(frame.data, glance.form)).then_some(glance)
}

/// Looks at a frame, but for the question whether its payload may lie in clear: for most it is answered at once, for the others
/// [`is_opaque`] answers it.
#[inline]
fn first_look(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    kind_look::<PLAIN>(frame).or_else(|| any_look(frame)).filter(|(glance, _)| glance.form.is_sound())
}

/// Kinds of frames that streams are made of, each with a look of its own: ESP in IPv4 without a tag, behind one, in UDP without a tag, in IPv6 without
/// a tag; and what has an [outline](super::outline()) in IPv4 without a tag, which has no glance.
pub(crate) const PLAIN: u8 = 0;
pub(crate) const TAGGED: u8 = 1;
pub(crate) const IN_UDP: u8 = 2;
pub(crate) const IN_IPV6: u8 = 3;
pub(crate) const OUTLINED: u8 = 4;
const OTHER: u8 = 5;

/// The kind of which a frame is, if it is of any: by its EtherTypes, and what an IPv4 packet without a tag carries.
#[inline]
pub(crate) fn kind_of(frame: &Frame<'_>) -> u8 {
    match frame.data.get(12..ETHERNET + TAG) {
        Some([0x08, 0x00, ..]) => match frame.data.get(PROTOCOL_AT) {
            Some(&UDP) => IN_UDP,
            Some(&(AH | IPV4)) => OUTLINED,
            Some(&ESP) => PLAIN,
            _ => OTHER,
        },
        Some([0x86, 0xdd, ..]) => IN_IPV6,
        Some([0x81, 0x00, _, _, 0x08, 0x00]) => TAGGED,
        _ => OTHER,
    }
}

/// The first look at a frame of a kind; `None` where it is none of it. Whether its form [is sound](Form::is_sound) is left to be asked: of forms
/// that are equal, for one of them.
#[inline(always)]
pub(crate) fn kind_look<const KIND: u8>(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    match KIND {
        TAGGED => look_at::<{ ETHERNET + TAG }>(frame),
        IN_UDP => look_in_udp(frame, ETHERNET),
        IN_IPV6 => look_in_ipv6::<ETHERNET>(frame),
        OUTLINED => None,
        _ => look_at::<ETHERNET>(frame),
    }
}

/// The first look at a frame of any kind; again the form may be unsound.
#[inline(never)]
pub(crate) fn any_look(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    match frame.data.get(12..14)? {
        [0x08, 0x00] if frame.data.get(PROTOCOL_AT) == Some(&UDP) => kind_look::<IN_UDP>(frame),
        [0x08, 0x00] => kind_look::<PLAIN>(frame),
        _ => look_otherwise(frame),
    }
}

/// Looks at a frame that is not IPv4 without a tag.
#[inline(never)]
fn look_otherwise(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    const BEHIND_TAG: usize = ETHERNET + TAG;
    match frame.data.get(12..BEHIND_TAG)? {
        [0x86, 0xdd, ..] => kind_look::<IN_IPV6>(frame),
        [0x81, 0x00, _, _, 0x08, 0x00] => kind_look::<TAGGED>(frame).or_else(|| look_in_udp(frame, BEHIND_TAG)),
        [0x81, 0x00, _, _, 0x86, 0xdd] => look_in_ipv6::<BEHIND_TAG>(frame),
        _ => None,
    }
}

/// Looks at a frame whose IPv4 packet begins at `IP_AT`. Its form may be unsound.
#[inline(always)]
fn look_at<const IP_AT: usize>(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    let data = frame.data;
    let behind_tag = data.get(IP_AT - ETHERNET..)?;
    let (head, ends): (&Head, _) = (behind_tag.first_chunk()?, data.first_chunk()?);
    let (kind, lengths) = (word::<8, _>(head), word::<16, _>(head));
    let total_bytes = (lengths as u16).swap_bytes();
    // Two words hold EtherType, version and header length (8, 0, 0x45), and fragment and protocol (50).
    let wrong = ((kind ^ 0x0045_0008_0000_0000) & 0x00ff_ffff_0000_0000)
        | ((lengths ^ 0x3200_0000_0000_0000) & 0xff00_ff3f_0000_0000)
        | u64::from(misfits(frame, IP_AT, total_bytes.into()));
    if wrong != 0 {
        return None;
    }
    let (addresses, esp) = (word::<26, _>(head), word::<34, _>(head));
    let begun = digest::begin_ipv4(addresses, 0, ESP);
    let words = [esp, word::<42, _>(head), word::<50, _>(head)];
    let form = Form::new(total_bytes, (IP_AT, IPV4_BYTES), data.len());
    Some(looked_at(frame, ends, (addresses, 0), form, begun, words))
}

/// Looks at a frame whose IPv4 packet begins at `ip_at`, with UDP on the port of NAT traversal.
#[inline(always)]
fn look_in_udp(frame: &Frame<'_>, ip_at: usize) -> Option<(Glance, bool)> {
    let data = frame.data;
    let head: &[u8; IPV4_BYTES + UDP_BYTES + ESP_BYTES + LEAST] = data.get(ip_at..)?.first_chunk()?;
    if head.get(9) != Some(&UDP) {
        return None;
    }
    let (first, udp) = (word::<0, _>(head), word::<20, _>(head));
    let total_bytes = ((first >> 16) as u16).swap_bytes();
    let udp_bytes = ((udp >> 32) as u16).swap_bytes();
    // Version and header length, fragment, and the length of the datagram.
    let wrong = ((first ^ 0x45) & 0xff3f_0000_0000_00ff)
        | u64::from(udp_bytes ^ total_bytes.wrapping_sub(IPV4_BYTES as u16))
        | unlike(frame, ip_at, total_bytes.into());
    let (ports, esp) = (udp as u32, word::<28, _>(head));
    let message = data.get(ip_at + IPV4_BYTES + UDP_BYTES..)?;
    if wrong != 0 || !esp_port::is_plain_esp(ports, message, usize::from(udp_bytes) - UDP_BYTES) {
        return None;
    }
    let addresses = word::<12, _>(head);
    let begun = digest::begin_ipv4(addresses, 0, UDP);
    let words = [esp, word::<36, _>(head), word::<44, _>(head)];
    let form = Form::new(total_bytes, (ip_at, IPV4_BYTES + UDP_BYTES), data.len());
    Some(looked_at(frame, data.first_chunk()?, (addresses, ports), form, begun, words))
}

/// Looks at a frame whose IPv6 packet begins at `IP_AT`.
#[inline(always)]
fn look_in_ipv6<const IP_AT: usize>(frame: &Frame<'_>) -> Option<(Glance, bool)> {
    let data = frame.data;
    let head: &[u8; IPV6_BYTES + ESP_BYTES + LEAST] = data.get(IP_AT..)?.first_chunk()?;
    let first = word::<0, _>(head);
    let total_bytes = IPV6_BYTES as u32 + u32::from(((first >> 32) as u16).swap_bytes());
    // Version, and next header.
    let wrong = ((first ^ 0x0032_0000_0000_0060) & 0x00ff_0000_0000_00f0) | unlike(frame, IP_AT, total_bytes);
    let (src, dst) = ipv6_addresses(head.get(8..)?.first_chunk()?);
    // A mapped address looks like one of IPv4.
    if wrong != 0 || src.is_v4() || dst.is_v4() {
        return None;
    }
    // Version and flow label, without the traffic class.
    let label = (first as u32).swap_bytes() & 0xf00f_ffff;
    let begun = digest::begin(src, dst, total_bytes, label, ESP);
    let words = [word::<40, _>(head), word::<48, _>(head), word::<56, _>(head)];
    let form = Form::new(total_bytes as u16, (IP_AT, IPV6_BYTES), data.len());
    Some(looked_at(frame, data.first_chunk()?, (digest::pair(src, dst), 0), form, begun, words))
}

/// 0 if this is an Ethernet frame without FCS whose IP packet at `ip_at` has `total_bytes` octets, a multiple of four, and nothing follows the
/// packet. Else another number.
#[inline(always)]
fn unlike(frame: &Frame<'_>, ip_at: usize, total_bytes: u32) -> u64 {
    not_bare(frame, ip_at, total_bytes) | u64::from(total_bytes % 4)
}

/// Whether this is an Ethernet frame without FCS whose IP packet at `ip_at` has `total_bytes` octets, and nothing follows the packet.
#[inline(always)]
pub(super) fn is_bare(frame: &Frame<'_>, ip_at: usize, total_bytes: u32) -> bool {
    not_bare(frame, ip_at, total_bytes) == 0
}

/// 0 if that is so, else another number.
#[inline(always)]
fn not_bare(frame: &Frame<'_>, ip_at: usize, total_bytes: u32) -> u64 {
    let wrong = misfits(frame, ip_at, total_bytes);
    // The highest bit tells which of two lengths is greater, without a comparison for each.
    let wire = u64::from(frame.wire_bytes);
    let beyond = wire.wrapping_sub(frame.data.len() as u64) | u64::from(super::LONGEST_FRAME).wrapping_sub(wire);
    u64::from(wrong) | beyond >> 63
}

/// 0 if this is an Ethernet frame without FCS that ends on the wire where its IP packet at `ip_at` ends, which has `total_bytes` octets. Else another number.
#[inline(always)]
fn misfits(frame: &Frame<'_>, ip_at: usize, total_bytes: u32) -> u32 {
    (frame.wire_bytes ^ (ip_at as u32 + total_bytes))
        | (frame.link.0 ^ LinkType::ETHERNET.0) as u32
        | u32::from(frame.fcs_bytes)
}

/// The glance at a frame, and whether its payload may lie in clear. `words`: the ESP header and the first octets behind it.
#[inline(always)]
fn looked_at(
    frame: &Frame<'_>,
    ends: &[u8; 16],
    (addresses, ports): (u64, u32),
    form: Form,
    begun: u64,
    words: [u64; 3],
) -> (Glance, bool) {
    let [esp, ..] = words;
    let glance = Glance {
        macs: word::<0, _>(ends),
        macs_end: word::<8, _>(ends) as u32,
        ports,
        addresses,
        spi: esp as u32,
        sequence: ((esp >> 32) as u32).swap_bytes(),
        form,
        digest: digest::mix_numbered(begun, words),
    };
    let whole = frame.data.len() == frame.wire_bytes as usize;
    (glance, look::may_be_worth_a_look(behind_esp(frame.data, form), whole))
}

/// The eight octets from `AT` on.
#[inline(always)]
pub(super) fn word<const AT: usize, const N: usize>(head: &[u8; N]) -> u64 {
    const { assert!(AT + 8 <= N) };
    // One load: put together of single octets, it is taken apart again for each use.
    head.get(AT..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u64::from_le_bytes(*octets))
}

/// Whether dissection would find nothing in the payload of a frame of this form that a first look doubts; false where the form is unsound.
#[inline]
pub(crate) fn is_opaque(data: &[u8], form: Form) -> bool {
    let payload = behind_esp(data, form);
    form.is_sound() && (!look::worth_a_second_look(payload, !form.is_cut()) || is_opaque_at_length(data, form, payload))
}

#[inline(never)]
fn is_opaque_at_length(data: &[u8], form: Form, payload: &[u8]) -> bool {
    let endpoints = endpoints(data, form);
    let wire_bytes = (form.total_bytes() - form.outer_bytes()) as usize - ESP_BYTES;
    let suspect = null::Suspect { sa: 0, payload, wire_bytes, endpoints, around: endpoints, declared: None };
    let mut notes = Vec::new();
    suspect.check(&mut notes);
    notes.is_empty()
}

/// Source and destination of the packet of a frame of this form.
fn endpoints(data: &[u8], form: Form) -> Option<(Address, Address)> {
    if form.is_ipv6() {
        return ipv6_ends(data, form).map(ipv6_addresses);
    }
    let [src, dst] = data.get(form.link_bytes() as usize + 12..)?.first_chunk::<8>()?.as_chunks::<4>().0 else {
        return None;
    };
    Some((Address::v4(*src), Address::v4(*dst)))
}
