//! What most packets carry, read at once: UDP and TCP on ports that say nothing, alone or in an IPv4 packet in AH.

use super::{ShortHead, ipv4_header};
use crate::dissect::DissectOptions;
use crate::dissect::layer::LayerKind;
use crate::dissect::stack::{Costs, Layer, Note, SaHeader, Span, Stack};
use crate::dissect::transport::{esp_port, tcp, udp};
use crate::model::{Encapsulation, Protocol, Spi};
use crate::wire::ipsec::Ah;

pub(super) const AH: u8 = 51;
pub(super) const IP_IN_IP: u8 = 4;
pub(super) const UDP: u8 = 17;
pub(super) const TCP: u8 = 6;

pub(super) const UDP_BYTES: usize = 8;
pub(super) const TCP_BYTES: usize = 20;

/// The last header of a packet, and what it says.
struct UpperHeader {
    kind: LayerKind,
    at: usize,
    bytes: usize,
    mismatch: Option<Note>,
    note: Option<Note>,
}

impl UpperHeader {
    /// The header of `protocol` at `at` in a packet that ends at `end`, if nothing is to be read behind it.
    #[inline]
    fn read(data: &[u8], protocol: u8, at: usize, end: usize, options: &DissectOptions) -> Option<Self> {
        match protocol {
            UDP => Self::udp(data, at, end, options),
            TCP => Self::tcp(data, at, end, options),
            _ => None,
        }
    }

    #[inline]
    fn udp(data: &[u8], at: usize, end: usize, options: &DissectOptions) -> Option<Self> {
        let packet = data.get(at..end.min(data.len()))?;
        let (&[s0, s1, d0, d1, l0, l1, _, _], payload) = packet.split_first_chunk::<UDP_BYTES>()?;
        let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        let is_named = |port: u16| udp::is_named(port) || options.udp_ports.contains(&port);
        if is_named(ports.0) || is_named(ports.1) {
            return None;
        }
        let has = end - at;
        let claims = usize::from(u16::from_be_bytes([l0, l1]));
        let (wire, mismatch) = match claims {
            0 => (has, None),
            1..UDP_BYTES => return None,
            _ if claims <= has => (claims, None),
            _ => (has, Some(Note::LengthMismatch { layer: LayerKind::Udp, claims: claims as u32, has: has as u32 })),
        };
        let wire = wire - UDP_BYTES;
        let payload = payload.get(..wire).unwrap_or(payload);
        if esp_port::unmistakable_ike(payload, wire).is_some() {
            return None;
        }
        let note = udp::note_of(payload, (wire, 0), ports, at + UDP_BYTES);
        Some(Self { kind: LayerKind::Udp, at, bytes: UDP_BYTES, mismatch, note })
    }

    #[inline]
    fn tcp(data: &[u8], at: usize, end: usize, options: &DissectOptions) -> Option<Self> {
        let packet = data.get(at..end.min(data.len()))?;
        let fixed = packet.first_chunk::<TCP_BYTES>()?;
        let bytes = usize::from(fixed[12] >> 4) * 4;
        let payload = packet.get(bytes..).filter(|_| bytes >= TCP_BYTES)?;
        let is_named = |at: [u8; 2]| tcp::carries_esp(u16::from_be_bytes(at), options);
        let [s0, s1, d0, d1, ..] = *fixed;
        if is_named([s0, s1]) || is_named([d0, d1]) || payload.starts_with(tcp::STREAM_PREFIX) {
            return None;
        }
        Some(Self { kind: LayerKind::Tcp, at, bytes, mismatch: None, note: None })
    }

    #[inline]
    fn write(self, stack: &mut Stack) {
        push(stack, self.kind, self.at, self.bytes);
        if let Some(note) = self.mismatch {
            stack.notes.push(note);
        }
        if let Some(note) = self.note {
            stack.notes.push(note);
        }
    }
}

#[inline]
fn push(stack: &mut Stack, kind: LayerKind, at: usize, bytes: usize) {
    stack.layers.push(Layer { kind, span: Span { start: at as u32, bytes: bytes as u32 } });
    stack.shape.layers = stack.shape.layers << 6 | kind as u128;
}

/// Reads what is behind these headers into `stack`, if it is nothing but UDP or TCP, or an IPv4 packet with these in AH; else answers false and
/// leaves it alone.
#[inline]
pub(in crate::dissect) fn behind(data: &[u8], head: &ShortHead, options: &DissectOptions, stack: &mut Stack) -> bool {
    if head.protocol == AH {
        return in_ah(data, head, options, stack).is_some();
    }
    let upper = UpperHeader::read(data, head.protocol, ShortHead::BYTES, head.end, options);
    upper.map(|upper| upper.write(stack)).is_some()
}

fn in_ah(data: &[u8], head: &ShortHead, options: &DissectOptions, stack: &mut Stack) -> Option<()> {
    let at = ShortHead::BYTES;
    let ah = Ah::read(data.get(at..head.end.min(data.len()))?)?;
    let bytes = data.get(at + 1).map(|words| (usize::from(*words) + 2) * 4)?;
    let inner = at + bytes;
    if ah.next_header() != IP_IN_IP || bytes < Ah::BYTES || inner > head.end {
        return None;
    }
    let ip = ipv4_header(data.get(inner..)?.first_chunk()?, inner)?;
    let end = inner + ip.total_bytes as usize;
    if end > head.end {
        return None;
    }
    let upper = UpperHeader::read(data, ip.protocol, inner + ShortHead::IP, end, options)?;
    stack.sas.push(SaHeader {
        protocol: Protocol::Ah,
        spi: Spi(ah.spi()),
        sequence: ah.sequence(),
        sequence_seen: true,
        ip: 0,
        encapsulation: Encapsulation::Native,
        offset: at as u32,
        bytes: bytes as u32,
        ports: (0, 0),
    });
    push(stack, LayerKind::Ah, at, bytes);
    push(stack, LayerKind::Ipv4, inner, ShortHead::IP);
    stack.ips.push(ip);
    stack.encapsulated = Some(1);
    stack.costs = Costs { outer_ip: ShortHead::IP as u16, ah: bytes as u16, ..Costs::default() };
    upper.write(stack);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::{begin, either_way, general};
    use super::super::ethernet_ipv4;
    use super::*;
    use crate::model::LinkType;

    /// An IPv4 packet with UDP or TCP.
    fn packet(protocol: u8, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let header = if protocol == UDP { UDP_BYTES } else { TCP_BYTES };
        let total = (20 + header + payload.len()) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1]);
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        if protocol == UDP {
            // Some state another length than there is.
            let stated = match payload.last() {
                Some(last @ 0..32) => u16::from(*last),
                Some(last @ 32..64) => u16::from(*last) << 3,
                _ => 8 + payload.len() as u16,
            };
            packet.extend(stated.to_be_bytes());
            packet.extend([0, 0]);
        } else {
            packet.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        }
        packet.extend_from_slice(payload);
        packet
    }

    fn in_ah(inner: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend(((44 + inner.len()) as u16).to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, AH, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 4, 4, 0, 0, 0, 0, 3, 0xea, 0, 0, 0, 9]);
        packet.extend([0x9c; 12]);
        packet.extend_from_slice(inner);
        packet
    }

    fn ethernet(packet: &[u8], trailer: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend_from_slice(packet);
        frame.extend(std::iter::repeat_n(0, trailer));
        frame
    }

    fn port() -> impl Strategy<Value = u16> {
        prop_oneof![prop::sample::select(vec![53, 443, 500, 4500, 4789, 1701, 6081, 5001, 5201, 7000]), any::<u16>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8000))]

        #[test]
        fn what_is_behind_gives_the_stack_of_the_general_way(
            protocol in prop::sample::select(vec![UDP, UDP, TCP, 1]),
            ports in (port(), port()),
            begin_with in prop::sample::select(vec![&b""[..], b"IKETCP", &[0, 0, 0, 0], &[1, 0, 0, 0], &[0x80, 200, 0, 6], &[22, 0xfe, 0xfd]]),
            rest in prop::collection::vec(any::<u8>(), 0..90),
            ah in any::<bool>(),
            trailer in 0usize..20,
            changes in prop::collection::vec((12usize..100, any::<u8>()), 0..2),
            missing in 0usize..6,
            cut in 0usize..60,
        ) {
            let inner = packet(protocol, ports, &[begin_with, &rest].concat());
            let mut frame = ethernet(&if ah { in_ah(&inner) } else { inner }, trailer);
            for (at, value) in changes {
                if let Some(octet) = frame.get_mut(at) {
                    *octet = value;
                }
            }
            let wire = frame.len().saturating_sub(missing);
            let data = &frame[..wire - wire.min(cut) / (1 + cut % 3 * 8)];
            let options = DissectOptions { udp_ports: vec![7000], tcp_ports: vec![7001], overlay: false, innermost: false };
            let (mut short, mut long) = (Stack::default(), Stack::default());
            begin(data, wire, &mut long);
            either_way(data, wire, LinkType::ETHERNET, &options, &mut short);
            general(data, wire, LinkType::ETHERNET, &options, &[], &mut long);
            prop_assert_eq!(format!("{:?}", short), format!("{:?}", long));
        }
    }

    #[test]
    fn the_short_way_is_taken() {
        for protocol in [UDP, TCP] {
            let inner = packet(protocol, (5001, 5201), &[0x77; 40]);
            for frame in [ethernet(&inner, 0), ethernet(&in_ah(&inner), 6)] {
                let mut stack = Stack::default();
                begin(&frame, frame.len(), &mut stack);
                let head = ethernet_ipv4(&frame, frame.len(), &mut stack).expect("the short way");
                assert!(behind(&frame, &head, &DissectOptions::default(), &mut stack));
            }
        }
    }
}
