//! A frame's stack becomes an observation: small, owned, all that the accumulators see of most frames.

use serde::{Deserialize, Serialize};

use super::link_signalling::is_link_signalling;
use super::packet_digest::packet_digest;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables::{DirectionKey, FlowKey, GROUP, PathKey, Tables};
use crate::capture::Frame;
use crate::dissect::{IpHeader, Layer, LayerKind, Note, SaHeader, Stack, StopCause};
use crate::keys::transported;
use crate::model::report::SaMode;
use crate::model::{Encapsulation, FramePos, Protocol, SaKey, Timestamp, all_bits};
use crate::transform::size::ethernet;

/// What analysis knows of one frame. Numbers refer to the [`Tables`] of the span.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Observation {
    pub(crate) pos: FramePos,
    pub(crate) time: Timestamp,
    /// Digest of the packet from the IP header on, without what changes on the way; 0 for frames without IP.
    #[serde(serialize_with = "all_bits")]
    pub(crate) digest: u64,
    /// Type of service (IPv6: traffic class) of the outermost IP packet.
    pub(crate) tos: u8,
    /// As the capture states it.
    pub(crate) wire_bytes: u32,
    pub(crate) captured_bytes: u32,
    /// With FCS, at least 64.
    pub(crate) l2_bytes: u32,
    /// Outermost IP packet, 0 without IP.
    pub(crate) l3_bytes: u32,
    pub(crate) stack: u32,
    pub(crate) direction: u32,
    /// What its neighbours are looked for in: 0 for the whole tap on links without MACs, else one more than the direction.
    pub(crate) lane: u32,
    /// The encapsulation, where the inner packet is visible; else [`NONE`].
    pub(crate) path: u32,
    /// Whether no SA is around what is encapsulated so.
    pub(crate) path_in_clear: bool,
    /// Inner packet, 0 where it is not visible.
    pub(crate) inner_bytes: u32,
    /// Addresses of the inner or of the clear packet.
    pub(crate) flow: u32,
    /// Time to live and protocol of a clear packet.
    pub(crate) clear: (u8, u8),
    pub(crate) class: Class,
}

impl Observation {
    pub(crate) fn l1_bytes(&self) -> u64 {
        u64::from(self.l2_bytes) + ethernet::PREAMBLE_AND_IFG
    }
}

/// What kind of frame it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Class {
    pub(crate) ip: bool,
    pub(crate) ipsec: bool,
    pub(crate) control: bool,
    /// The outermost IP packet is a fragment.
    pub(crate) fragment: bool,
    pub(crate) cut_by_snaplen: bool,
    pub(crate) offloaded: bool,
    pub(crate) undissected: bool,
    /// ESP-NULL by the evidence of this frame alone: what is inside was read.
    pub(crate) null_read: bool,
    /// IP that is not encapsulated, control frames and IKE aside.
    pub(crate) clear: bool,
    /// Of that, unicast that no gateway sends on its own account: what should perhaps have been encapsulated.
    pub(crate) user: bool,
    pub(crate) l1_assumed: bool,
}

/// One AH, ESP or IPComp header of the frame.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SaSight {
    pub(crate) sa: u32,
    pub(crate) protocol: Protocol,
    pub(crate) sequence: Option<u32>,
    /// AH: header octets. ESP, IPComp: octets from the header to the end.
    pub(crate) bytes: u32,
    /// Length of the IP packet that encloses it.
    pub(crate) outer_bytes: u32,
    pub(crate) encapsulation: Encapsulation,
    /// What follows: tunnel or transport mode, where that is visible.
    pub(crate) mode: SaMode,
    /// The packet inside is hidden, unless the SA turns out to be ESP-NULL.
    pub(crate) opaque: bool,
    /// ESP: the payload was checked against the ESP-NULL candidates.
    pub(crate) null_checked: bool,
    /// The last four octets of an AH ICV field, where they could be padding.
    pub(crate) ah_tail: Option<u32>,
    /// What it adds to the packet it was found to carry when it was decrypted.
    pub(crate) added: Option<EspAdded>,
}

/// Octets that a decrypted ESP adds besides its header and the two octets of the trailer.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct EspAdded {
    pub(crate) iv: u8,
    pub(crate) icv: u8,
    /// Padding and TFC padding.
    pub(crate) padding: u16,
}

/// Reads the observation off a stack, numbering what is new; SA headers go to `sights`. `octets` are those of the frame, with plaintext
/// in the place of ciphertext where something was decrypted; the digest is of what was on the wire.
pub(crate) fn observe(
    frame: &Frame<'_>,
    stack: &Stack,
    octets: &[u8],
    tables: &mut Tables,
    sights: &mut Vec<SaSight>,
) -> Observation {
    sights.clear();
    let outer = stack.outer();
    let l3_bytes = outer.map_or(0, |ip| ip.total_bytes);
    let ethernet_bytes = match outer {
        Some(_) if stack.flags.not_ethernet => ethernet::HEADER + l3_bytes,
        // The capture lost the frame's length; the packet's own is left.
        Some(ip) if stack.flags.sliced => ip.offset.saturating_sub(stack.start).saturating_add(l3_bytes),
        _ => stack.frame_bytes,
    };
    let shape = tables.stacks.intern(stack.shape);
    let direction = tables.directions.intern(direction_key(stack));
    let mut class = Class {
        ip: outer.is_some(),
        ipsec: !stack.sas.is_empty(),
        control: stack.flags.control,
        fragment: outer.is_some_and(IpHeader::is_fragment),
        cut_by_snaplen: stack.flags.cut_by_snaplen && !stack.flags.in_shell_fragment,
        offloaded: stack.flags.offloaded,
        undissected: outer.is_none() && stack.stop.is_some() && !stack.flags.control,
        null_read: stack.null.is_some(),
        clear: false,
        user: false,
        l1_assumed: stack.flags.not_ethernet || stack.flags.offloaded || stack.flags.sliced,
    };
    let mut observation = Observation {
        pos: frame.pos,
        time: frame.time,
        digest: 0,
        tos: outer.map_or(0, |ip| ip.tos),
        wire_bytes: frame.wire_bytes,
        captured_bytes: frame.data.len() as u32,
        l2_bytes: ethernet_bytes.max(ethernet::MINIMUM_WITHOUT_FCS) + ethernet::FCS,
        l3_bytes,
        stack: shape,
        direction,
        lane: lane(stack, direction),
        path: NONE,
        path_in_clear: false,
        inner_bytes: 0,
        flow: NONE,
        clear: (0, 0),
        class,
    };
    let Some(outer) = outer else { return observation };
    observation.digest = packet_digest(frame, stack, outer);
    for header in &stack.sas {
        sights.push(sight(octets, stack, header, tables));
    }
    if sights.len() > 1 {
        share_segment(sights);
    }
    let inner = inner_packet(stack, outer);
    if let Some((encapsulated, inner_bytes)) = inner {
        let owner = stack.sas.iter().zip(sights.iter()).find(|(h, _)| h.ip < encapsulated.max(1));
        let pair = tables.pairs.intern((outer.src, outer.dst));
        observation.path_in_clear = owner.is_none();
        observation.path = tables.paths.intern(PathKey {
            sa: owner.map_or(NONE, |(_, s)| s.sa),
            pair,
            direction,
            stack: shape,
            encapsulated,
            costs: stack.costs,
        });
        observation.inner_bytes = inner_bytes;
        if let Some(ip) = stack.ips.get(usize::from(encapsulated))
            && encapsulated > 0
        {
            observation.flow = tables.flows.intern(FlowKey { src: ip.src, dst: ip.dst, inner: true });
        }
    } else if stack.sas.is_empty() && stack.encapsulated.is_none() && !class.control && !serves_tunnel(stack, outer) {
        class.clear = true;
        class.user = is_of_user(stack, outer, octets);
        observation.class = class;
        if class.user {
            observation.flow = tables.flows.intern(FlowKey { src: outer.src, dst: outer.dst, inner: false });
            observation.clear = (outer.ttl, outer.protocol);
        }
    }
    observation
}

/// Whether a packet in clear is what a user sends to one host, and no gateway on its own account.
fn is_of_user(stack: &Stack, outer: &IpHeader, octets: &[u8]) -> bool {
    let is_too_big = || stack.notes.iter().any(|note| matches!(note, Note::TooBig { .. }));
    !outer.dst.is_multicast() && !is_too_big() && !is_link_signalling(outer, octets)
}

/// Frames without MAC addresses share lane 0; the others have that of their direction.
fn lane(stack: &Stack, direction: u32) -> u32 {
    match stack.macs {
        None => 0,
        Some(_) if direction == NONE => NONE,
        Some(_) => direction + 1,
    }
}

/// The encapsulated packet, where it is visible: which IP header (0: the outer one, in transport mode) and its length.
fn inner_packet(stack: &Stack, outer: &IpHeader) -> Option<(u8, u32)> {
    if outer.fragment_offset != 0 {
        return None;
    }
    if let Some(encapsulated) = stack.encapsulated {
        return Some((encapsulated, stack.encapsulated_bytes()?));
    }
    // An AH that says it is shorter than its fixed part does not say where the packet goes on; a tunnel's header that could not be
    // read does not say how long the packet in it is.
    if stack.stop.is_some_and(|stop| tunnels(stop.layer) && !matches!(stop.cause, StopCause::Unknown { .. })) {
        return None;
    }
    // Behind a tunnel's header, what is in the tunnel was not reached, or is no IP packet. UDP around decrypted ESP is none.
    let in_udp =
        stack.sas.first().is_some_and(|sa| sa.encapsulation == Encapsulation::Udp && stack.opened(sa).is_some());
    let nat_t = if in_udp { u32::from(stack.costs.udp) } else { 0 };
    if stack.costs.behind_ip() > u32::from(stack.costs.ah) + nat_t {
        return None;
    }
    // AH in transport mode hides nothing: the packet without its AH headers is the inner packet (RFC 4302 section 3.1.1).
    let all_ah = stack.sas.iter().all(|sa| sa.protocol == Protocol::Ah && sa.ip == 0);
    if all_ah && !stack.sas.is_empty() && !outer.is_fragment() {
        let ah: u32 = stack.sas.iter().map(|sa| sa.bytes).sum();
        return Some((0, outer.total_bytes.checked_sub(ah)?));
    }
    let inside = transported(stack).filter(|_| !outer.is_fragment())?;
    Some((0, inside.bytes(outer)))
}

/// Whether a header of this kind makes a tunnel where it follows AH.
const fn tunnels(layer: LayerKind) -> bool {
    use LayerKind::{Ah, EtherIp, Gre, Ipv4, Ipv6, L2tp};
    matches!(layer, Ah | Ipv4 | Ipv6 | Gre | EtherIp | L2tp)
}

fn sight(octets: &[u8], stack: &Stack, header: &SaHeader, tables: &mut Tables) -> SaSight {
    let ip = stack.ips.get(usize::from(header.ip));
    let sa = ip.map_or(NONE, |ip| {
        tables.sas.intern(SaKey { protocol: header.protocol, src: ip.src, dst: ip.dst, spi: header.spi })
    });
    let mut mode = SaMode::Unknown;
    let mut opaque = header.protocol != Protocol::Ah;
    let mut ah_tail = None;
    let mut added = None;
    match header.protocol {
        Protocol::Ah => {
            if let Some(next) = layer_behind(stack, header.offset) {
                mode = match next.kind {
                    LayerKind::Ipv4 | LayerKind::Ipv6 => SaMode::Tunnel,
                    _ => SaMode::Transport,
                };
                // Behind an AH in front of ESP everything is as hidden as the ESP makes it.
                opaque = matches!(next.kind, LayerKind::Esp | LayerKind::IpComp)
                    && !stack.opened.iter().any(|opened| opened.offset == next.span.start);
            }
            ah_tail = ah_padding_tail(octets, header);
        }
        Protocol::Esp => {
            if let Some(opened) = stack.opened(header) {
                mode = match opened.next_header {
                    DUMMY => SaMode::Unknown,
                    _ if opened.is_tunnel() => SaMode::Tunnel,
                    _ => SaMode::Transport,
                };
                // Several messages of one TCP segment are checked, and not looked into.
                opaque = header.encapsulation == Encapsulation::Tcp && stack.sas.len() > 1;
                added = Some(EspAdded {
                    iv: opened.iv_bytes,
                    icv: opened.icv_bytes,
                    padding: u16::try_from(opened.padding(header.bytes)).unwrap_or(u16::MAX),
                });
            } else if let Some(null) = &stack.null {
                mode = if matches!(null.next_header, 4 | 41) { SaMode::Tunnel } else { SaMode::Transport };
            }
        }
        Protocol::IpComp => {}
    }
    SaSight {
        sa,
        protocol: header.protocol,
        sequence: header.sequence_seen.then_some(header.sequence),
        bytes: header.bytes,
        outer_bytes: ip.map_or(0, |ip| ip.total_bytes),
        encapsulation: header.encapsulation,
        mode,
        opaque,
        null_checked: header.protocol == Protocol::Esp && added.is_none() && stack.null_checked(header),
        ah_tail,
        added,
    }
}

/// Next header of a dummy packet (RFC 4303 section 2.6).
pub(crate) const DUMMY: u8 = 59;

/// Octets in front of each message in TCP (RFC 9329 section 3).
pub(crate) const TCP_LENGTH: u32 = 2;

/// Several messages of one TCP segment share its IP packet: each costs its own octets, and the first the headers too.
fn share_segment(sights: &mut [SaSight]) {
    let mut messages = sights.iter_mut().filter(|s| s.encapsulation == Encapsulation::Tcp);
    let Some(first) = messages.next() else { return };
    for message in messages {
        message.outer_bytes = message.bytes + TCP_LENGTH;
        first.outer_bytes = first.outer_bytes.saturating_sub(message.outer_bytes);
    }
}

/// The layer that begins behind the one at `offset`.
fn layer_behind(stack: &Stack, offset: u32) -> Option<Layer> {
    let at = stack.layers.iter().position(|l| l.kind == LayerKind::Ah && l.span.start == offset)?;
    stack.layers.get(at + 1).copied()
}

/// The last four octets of the ICV field where the field is longer than a common ICV by just that: 16 + 4, 24 + 4 or 32 + 4
/// (RFC 4868 truncations, padded to 64 bits).
fn ah_padding_tail(octets: &[u8], header: &SaHeader) -> Option<u32> {
    if !matches!(header.bytes, 32 | 40 | 48) {
        return None;
    }
    let end = (header.offset + header.bytes) as usize;
    let tail = octets.get(end.checked_sub(4)?..end)?;
    tail.try_into().ok().map(u32::from_be_bytes)
}

fn direction_key(stack: &Stack) -> DirectionKey {
    match (stack.macs, stack.outer()) {
        (Some((src, _)), _) if stack.flags.multicast => DirectionKey::Mac(src, GROUP),
        (Some((src, dst)), _) => DirectionKey::Mac(src, dst),
        (None, Some(ip)) => DirectionKey::Ip(ip.src, ip.dst),
        (None, None) => DirectionKey::Unknown,
    }
}

/// Whether a frame without a tunnel header of its own still belongs to one: IKE, a segment of a stream that carries ESP,
/// a later fragment of a packet of a tunnel's protocol, or one of which too little is there.
fn serves_tunnel(stack: &Stack, outer: &IpHeader) -> bool {
    let tunnel_protocol = matches!(outer.protocol, 4 | 41 | 47 | 50 | 51 | 108 | 141);
    // Cut or too short to say more: not in clear, whatever it is.
    (outer.fragment_offset != 0 || stack.stop.is_some()) && tunnel_protocol
        || stack.is_cut_in_udp()
        || stack.flags.tcp_encapsulation
        || stack.layers.last().is_some_and(|l| l.kind == LayerKind::Ike)
        || stack.notes.iter().any(|n| matches!(n, Note::Ike { .. }))
}

#[cfg(test)]
mod tests;
