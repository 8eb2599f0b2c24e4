//! A short way through the frame that captures of IPsec are made of: Ethernet, IPv4 without options, opaque ESP.
//!
//! It reads every length once and writes the facts at once. Whatever is not exactly this frame (a fragment, a length
//! that disagrees, a payload that may be in clear) goes the general way, which gives the same stack for this frame too;
//! the test below holds the two together.

use super::layer::LayerKind;
use super::stack::{Costs, IpHeader, Layer, SaHeader, Shape, Span, Stack};
use crate::dissect::ipsec::look;
use crate::model::{Address, Encapsulation, Protocol, Spi};

const IP_AT: usize = 14;
const ESP_AT: usize = IP_AT + 20;
const PAYLOAD_AT: usize = ESP_AT + 8;
/// SPI, sequence number, and the word that holds pad length and next header.
const ESP_LEAST: usize = 12;

const SHAPE: Shape = Shape {
    layers: (LayerKind::Ethernet as u128) << 12 | (LayerKind::Ipv4 as u128) << 6 | LayerKind::Esp as u128,
    shell: 0,
};
const LAYERS: [Layer; 3] = [
    Layer { kind: LayerKind::Ethernet, span: Span { start: 0, bytes: IP_AT as u32 } },
    Layer { kind: LayerKind::Ipv4, span: Span { start: IP_AT as u32, bytes: 20 } },
    Layer { kind: LayerKind::Esp, span: Span { start: ESP_AT as u32, bytes: 8 } },
];

/// Fills `stack`, which is clear, if the frame is Ethernet, IPv4 and opaque ESP; else answers false and leaves it alone.
#[inline]
#[expect(clippy::indexing_slicing, reason = "every offset is a constant below PAYLOAD_AT, the bytes that `head` has")]
pub(super) fn ethernet_ipv4_esp(data: &[u8], wire: usize, stack: &mut Stack) -> bool {
    let Some(head) = data.first_chunk::<PAYLOAD_AT>() else { return false };
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let long = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let total = usize::from(word(16));
    let fragment = word(20);
    if word(12) != crate::dissect::link::ethernet::IPV4 || head[14] != 0x45 || head[23] != 50 || fragment & 0x3fff != 0
    {
        return false;
    }
    let end = IP_AT + total;
    if total < 20 + ESP_LEAST || !total.is_multiple_of(4) || end > wire || wire > super::LONGEST_FRAME as usize {
        return false;
    }
    let payload = data.get(PAYLOAD_AT..end.min(data.len())).unwrap_or_default();
    if look::worth_a_look(payload, end <= data.len()) {
        return false;
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
    stack.shape = SHAPE;
    stack.layers.extend_from_slice(&LAYERS);
    stack.ips.push(IpHeader {
        src: Address::v4([head[26], head[27], head[28], head[29]]),
        dst: Address::v4([head[30], head[31], head[32], head[33]]),
        offset: IP_AT as u32,
        header_bytes: 20,
        total_bytes: total as u32,
        protocol: 50,
        version: 4,
        ttl: head[22],
        tos: head[15],
        dont_fragment: fragment & 0x4000 != 0,
        more_fragments: false,
        fragment_offset: 0,
        identification: u32::from(word(18)),
    });
    stack.sas.push(SaHeader {
        protocol: Protocol::Esp,
        spi: Spi(long(34)),
        sequence: long(38),
        sequence_seen: true,
        ip: 0,
        encapsulation: Encapsulation::Native,
        offset: ESP_AT as u32,
        bytes: (total - 20) as u32,
        ports: (0, 0),
    });
    stack.costs = Costs { outer_ip: 20, ..Costs::default() };
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{DissectOptions, Stack, general};
    use super::*;
    use crate::model::LinkType;

    fn stack(data: &[u8], wire: usize) -> Stack {
        let mut stack = Stack::default();
        super::super::begin(data, wire, &mut stack);
        stack
    }

    /// A frame that goes the short way, changed in `changes` places.
    fn frame(payload: &[u8], trailer: usize, changes: &[(usize, u8)]) -> Vec<u8> {
        let total = (28 + payload.len()) as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0xb8];
        frame.extend(total.to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0, 64, 50, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 3, 0xea, 0, 0, 0, 9]);
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
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn the_short_way_gives_the_stack_of_the_general_way(
            payload in prop::collection::vec(any::<u8>(), 0..90),
            trailer in 0usize..20,
            changes in prop::collection::vec((0usize..60, any::<u8>()), 0..3),
            missing in 0usize..12,
            cut in 0usize..80,
        ) {
            let frame = frame(&payload, trailer, &changes);
            let wire = frame.len().saturating_sub(missing);
            let data = &frame[..wire - wire.min(cut) / (1 + cut % 3)];
            let mut short = stack(data, wire);
            if ethernet_ipv4_esp(data, wire, &mut short) {
                let mut long = stack(data, wire);
                general(data, wire, LinkType::ETHERNET, &DissectOptions::default(), &[], &mut long);
                prop_assert_eq!(format!("{:?}", short), format!("{:?}", long));
            } else {
                prop_assert_eq!(format!("{:?}", short), format!("{:?}", stack(data, wire)));
            }
        }
    }

    #[test]
    fn the_short_way_is_taken() {
        for trailer in [0, 6] {
            let frame = frame(&[0x9c; 64], trailer, &[]);
            assert!(ethernet_ipv4_esp(&frame, frame.len(), &mut stack(&frame, frame.len())));
            assert!(ethernet_ipv4_esp(&frame[..60], frame.len(), &mut stack(&frame[..60], frame.len())));
        }
    }
}
