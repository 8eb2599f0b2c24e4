//! A short way into the frames that most captures are made of: Ethernet and IPv4 without options, and through opaque ESP, UDP or TCP behind it.
//!
//! It reads every length once and writes the facts at once. Whatever is not exactly this frame (a fragment, a length
//! that disagrees) goes the general way, which gives the same stack for this frame too; the tests hold the two together. Behind the
//! IPv4 header the walk goes on, unless that is ESP which cannot lie in clear, or what `behind` reads.

pub(super) mod again;
mod behind;

pub(super) use behind::behind;

use super::layer::LayerKind;
use super::stack::{Costs, IpHeader, Layer, SaHeader, Shape, Span, Stack};
use crate::dissect::ipsec::look;
use crate::model::{Address, Encapsulation, Protocol, Spi};

const IP_AT: usize = 14;
const PAYLOAD_AT: usize = ShortHead::BYTES + 8;
/// SPI, sequence number, and the word that holds pad length and next header.
const ESP_LEAST: usize = 12;
const ESP: u8 = 50;

const LAYERS: [Layer; 2] = [
    Layer { kind: LayerKind::Ethernet, span: Span { start: 0, bytes: IP_AT as u32 } },
    Layer { kind: LayerKind::Ipv4, span: Span { start: IP_AT as u32, bytes: ShortHead::IP as u32 } },
];
const SHAPE: u128 = (LayerKind::Ethernet as u128) << 6 | LayerKind::Ipv4 as u128;
const ESP_LAYER: Layer = Layer { kind: LayerKind::Esp, span: Span { start: ShortHead::BYTES as u32, bytes: 8 } };

/// What the headers say of what is behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortHead {
    /// What the packet carries.
    pub(super) protocol: u8,
    /// Where it ends on the wire.
    pub(super) end: usize,
}

impl ShortHead {
    /// Octets of the IPv4 header, and of both.
    pub(super) const IP: usize = 20;
    pub(super) const BYTES: usize = IP_AT + Self::IP;
}

/// The facts of an IPv4 header at `at` that has no options, is of no fragment, and states a length that holds it; else `None`.
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "every offset is a constant below ShortHead::IP, the bytes that `head` has"
)]
fn ipv4_header(head: &[u8; ShortHead::IP], at: usize) -> Option<IpHeader> {
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (total, fragment) = (word(2), word(6));
    if head[0] != 0x45 || fragment & 0x3fff != 0 || usize::from(total) < ShortHead::IP {
        return None;
    }
    Some(IpHeader {
        src: Address::v4([head[12], head[13], head[14], head[15]]),
        dst: Address::v4([head[16], head[17], head[18], head[19]]),
        offset: at as u32,
        header_bytes: ShortHead::IP as u32,
        total_bytes: u32::from(total),
        protocol: head[9],
        version: 4,
        ttl: head[8],
        tos: head[1],
        dont_fragment: fragment & 0x4000 != 0,
        more_fragments: false,
        fragment_offset: 0,
        identification: u32::from(word(4)),
    })
}

/// Reads the headers into `stack`, which is clear, if the frame begins with Ethernet and IPv4 and holds the whole packet; else leaves it alone.
#[inline]
pub(super) fn ethernet_ipv4(data: &[u8], wire: usize, stack: &mut Stack) -> Option<ShortHead> {
    let head = data.first_chunk::<{ ShortHead::BYTES }>()?;
    if u16::from_be_bytes([head[12], head[13]]) != crate::dissect::link::ethernet::IPV4 {
        return None;
    }
    let ip = ipv4_header(head.last_chunk()?, IP_AT)?;
    let end = IP_AT + ip.total_bytes as usize;
    if end > wire || wire > super::LONGEST_FRAME as usize {
        return None;
    }
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..] = *head;
    stack.macs = Some(([s0, s1, s2, s3, s4, s5], [d0, d1, d2, d3, d4, d5]));
    stack.flags.multicast = d0 & 1 != 0;
    stack.frame_bytes = wire as u32;
    if wire > end {
        stack.trailer_bytes = (wire - end) as u32;
        if data.len() > end {
            stack.trailer = Some(Span { start: end as u32, bytes: (data.len() - end) as u32 });
        }
    }
    stack.shape = Shape { layers: SHAPE, shell: 0 };
    let [ethernet, ipv4] = LAYERS;
    stack.layers.push(ethernet);
    stack.layers.push(ipv4);
    stack.ips.push(ip);
    Some(ShortHead { protocol: ip.protocol, end })
}

/// Reads ESP behind these headers into `stack`, where it cannot lie in clear; else answers false and leaves it alone.
#[inline]
pub(super) fn opaque_esp(data: &[u8], head: &ShortHead, stack: &mut Stack) -> bool {
    let Some(&[p0, p1, p2, p3, n0, n1, n2, n3]) = data.get(ShortHead::BYTES..).and_then(<[u8]>::first_chunk) else {
        return false;
    };
    let bytes = head.end - ShortHead::BYTES;
    if head.protocol != ESP || bytes < ESP_LEAST || !bytes.is_multiple_of(4) {
        return false;
    }
    let payload = data.get(PAYLOAD_AT..head.end.min(data.len())).unwrap_or_default();
    if look::worth_a_look(payload, head.end <= data.len()) {
        return false;
    }
    stack.shape.layers = SHAPE << 6 | LayerKind::Esp as u128;
    stack.layers.push(ESP_LAYER);
    stack.sas.push(SaHeader {
        protocol: Protocol::Esp,
        spi: Spi(u32::from_be_bytes([p0, p1, p2, p3])),
        sequence: u32::from_be_bytes([n0, n1, n2, n3]),
        sequence_seen: true,
        ip: 0,
        encapsulation: Encapsulation::Native,
        offset: ShortHead::BYTES as u32,
        bytes: bytes as u32,
        ports: (0, 0),
    });
    stack.costs = Costs { outer_ip: ShortHead::IP as u16, ..Costs::default() };
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{DissectOptions, Stack, begin, either_way, general};
    use super::*;
    use crate::model::LinkType;

    fn stack(data: &[u8], wire: usize) -> Stack {
        let mut stack = Stack::default();
        begin(data, wire, &mut stack);
        stack
    }

    /// A frame that goes the short way, changed in `changes` places.
    fn frame(protocol: u8, payload: &[u8], trailer: usize, changes: &[(usize, u8)]) -> Vec<u8> {
        let total = (28 + payload.len()) as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0xb8];
        frame.extend(total.to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        match protocol {
            51 => frame.extend([4, 4, 0, 0, 0, 0, 3, 0xea]),
            17 => frame.extend([0x13, 0x89, 0x14, 0x51, 0, 8 + payload.len() as u8, 0, 0]),
            4 => frame.extend([0x45, 0, 0, 8 + payload.len() as u8, 0, 9, 0, 0]),
            _ => frame.extend([0, 0, 3, 0xea, 0, 0, 0, 9]),
        }
        frame.extend_from_slice(payload);
        frame.extend(std::iter::repeat_n(0, trailer));
        for (at, value) in changes {
            if let Some(octet) = frame.get_mut(*at) {
                *octet = *value;
            }
        }
        frame
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8000))]

        #[test]
        fn the_short_way_gives_the_stack_of_the_general_way(
            protocol in prop::sample::select(vec![50_u8, 50, 50, 51, 17, 17, 6, 4, 1, 89]),
            payload in prop::collection::vec(any::<u8>(), 0..90),
            trailer in 0usize..20,
            changes in prop::collection::vec((0usize..60, any::<u8>()), 0..3),
            missing in 0usize..12,
            cut in 0usize..80,
        ) {
            let frame = frame(protocol, &payload, trailer, &changes);
            let wire = frame.len().saturating_sub(missing);
            let data = &frame[..wire - wire.min(cut) / (1 + cut % 3)];
            let options = DissectOptions::default();
            let (mut short, mut long) = (Stack::default(), stack(data, wire));
            either_way(data, wire, LinkType::ETHERNET, &options, &mut short);
            general(data, wire, LinkType::ETHERNET, &options, &[], &mut long);
            prop_assert_eq!(format!("{:?}", short), format!("{:?}", long));
        }
    }

    #[test]
    fn the_short_way_is_taken() {
        for trailer in [0, 6] {
            let frame = frame(ESP, &[0x9c; 64], trailer, &[]);
            for captured in [frame.len(), 60] {
                let data = &frame[..captured];
                let mut stack = stack(data, frame.len());
                let head = ethernet_ipv4(data, frame.len(), &mut stack).expect("the short way");
                assert!(opaque_esp(data, &head, &mut stack));
            }
        }
    }
}
