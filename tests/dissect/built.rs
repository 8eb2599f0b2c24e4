//! Whatever a builder builds is what dissection finds: every layer at its place, with its addresses, SPIs and costs. And of a frame that is
//! cut, the layers before the cut, and a stop that names the layer, where it begins, what it needs and what there was.

use crate::headers::{ah, esp, ethernet, frame, ipv4, ipv6, stack_of};
use proptest::collection::vec;
use proptest::prelude::*;
use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, LayerKind, Limit, Stack, StopCause};
use spiglass::model::{LinkType, Protocol};

/// A layer that was built: its kind, where it begins, how long its header is, and how many octets of it dissection needs at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Built {
    kind: LayerKind,
    start: usize,
    bytes: usize,
}

/// A header that goes around what is there.
#[derive(Clone, Copy, Debug)]
enum Header {
    Ipv4 { options: usize },
    Ipv6 { destination_options: bool },
    Ah { icv: usize, spi: u32 },
    Gre { key: bool, sequence: bool },
}

fn header() -> impl Strategy<Value = Header> {
    prop_oneof![
        (0usize..=10).prop_map(|options| Header::Ipv4 { options }),
        any::<bool>().prop_map(|destination_options| Header::Ipv6 { destination_options }),
        (prop_oneof![Just(12), Just(16), Just(32)], 256u32..).prop_map(|(icv, spi)| Header::Ah { icv, spi }),
        (any::<bool>(), any::<bool>()).prop_map(|(key, sequence)| Header::Gre { key, sequence }),
    ]
}

/// What is being built, from the inside out: its octets, the IP protocol that names it, and its layers.
#[derive(Clone, Debug)]
struct Packet {
    octets: Vec<u8>,
    protocol: u8,
    layers: Vec<Built>,
    spis: Vec<(Protocol, u32)>,
    ips: usize,
}

impl Packet {
    fn around(&mut self, kind: LayerKind, header: usize, octets: Vec<u8>, protocol: u8) {
        self.layers.iter_mut().for_each(|layer| layer.start += header);
        self.layers.insert(0, Built { kind, start: 0, bytes: header });
        self.octets = octets;
        self.protocol = protocol;
    }

    fn ip(&mut self, options: usize) {
        let mut octets = ipv4([192, 0, 2, 1], [192, 0, 2, 2], self.protocol, &self.octets);
        if options > 0 {
            octets.splice(20..20, std::iter::repeat_n(1, options * 4));
            octets[0] = 0x45 + u8::try_from(options).unwrap();
            let total = u16::try_from(octets.len()).unwrap().to_be_bytes();
            octets[2..4].copy_from_slice(&total);
            octets[10..12].fill(0);
            let checksum = crate::headers::sum(&octets[..20 + options * 4]).to_be_bytes();
            octets[10..12].copy_from_slice(&checksum);
        }
        self.around(LayerKind::Ipv4, 20 + options * 4, octets, 4);
        self.ips += 1;
    }

    fn wrap(&mut self, header: Header) {
        match header {
            Header::Ipv4 { options } => self.ip(options),
            Header::Ipv6 { destination_options } => {
                if destination_options {
                    let extension = [&[self.protocol, 0, 1, 4, 0, 0, 0, 0][..], &self.octets].concat();
                    self.around(LayerKind::Ipv6Options, 8, extension, 60);
                }
                let octets = ipv6(1, 2, self.protocol, &self.octets);
                self.around(LayerKind::Ipv6, 40, octets, 41);
                self.ips += 1;
            }
            Header::Ah { icv, spi } => {
                let octets = ah(self.protocol, spi, 7, icv, &self.octets);
                self.around(LayerKind::Ah, 12 + icv, octets, 51);
                self.spis.insert(0, (Protocol::Ah, spi));
            }
            Header::Gre { key, sequence } => {
                // GRE carries packets, so what it goes around must be one.
                if !matches!(self.protocol, 4 | 41) {
                    self.ip(0);
                }
                let mut octets = vec![u8::from(key) << 5 | u8::from(sequence) << 4, 0];
                octets.extend(if self.protocol == 4 { [0x08, 0x00] } else { [0x86, 0xdd] });
                octets.extend(std::iter::repeat_n(9, 4 * (usize::from(key) + usize::from(sequence))));
                let header = octets.len();
                octets.extend(&self.octets);
                self.around(LayerKind::Gre, header, octets, 47);
            }
        }
    }
}

/// Ethernet, an outer IPv4 header, headers of every order, and ESP that is not in clear.
fn built() -> impl Strategy<Value = (Vec<u8>, Packet)> {
    (vec(header(), 0..6), vec(128u8.., 32..90), 256u32.., 0usize..18).prop_map(|(headers, random, spi, pad)| {
        let octets = esp(spi, 5, &random);
        let mut packet = Packet {
            layers: vec![Built { kind: LayerKind::Esp, start: 0, bytes: 8 }],
            octets,
            protocol: 50,
            spis: vec![(Protocol::Esp, spi)],
            ips: 0,
        };
        headers.into_iter().for_each(|header| packet.wrap(header));
        packet.ip(0);
        let mut frame = ethernet(0x0800, &packet.octets);
        packet.layers.iter_mut().for_each(|layer| layer.start += 14);
        packet.layers.insert(0, Built { kind: LayerKind::Ethernet, start: 0, bytes: 14 });
        frame.extend(std::iter::repeat_n(0, pad));
        (frame, packet)
    })
}

fn read(data: &[u8], wire: usize) -> Stack {
    let wire_bytes = u32::try_from(wire).unwrap();
    stack_of(&Frame { wire_bytes, ..frame(LinkType::ETHERNET, data) }, &DissectOptions::default())
}

fn found(stack: &Stack) -> Vec<Built> {
    let built = |layer: &spiglass::dissect::Layer| Built {
        kind: layer.kind,
        start: layer.span.start as usize,
        bytes: layer.span.bytes as usize,
    };
    stack.layers.iter().map(built).collect()
}

/// Decided by one frame or not, the layers behind ESP are not what was built.
fn opaque(stack: &Stack) -> bool {
    stack.null.is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_was_built_is_found((frame, packet) in built()) {
        let stack = read(&frame, frame.len());
        prop_assume!(opaque(&stack));
        prop_assert_eq!(stack.stop, None);
        prop_assert_eq!(found(&stack), packet.layers.clone());
        let spis: Vec<_> = stack.sas.iter().map(|sa| (sa.protocol, sa.spi.0)).collect();
        prop_assert_eq!(spis, packet.spis.clone());
        prop_assert_eq!(stack.ips.len(), packet.ips);
        prop_assert_eq!(stack.trailer_bytes as usize, frame.len() - 14 - packet.octets.len());
    }

    #[test]
    fn a_cut_at_any_octet_names_the_layer_that_it_hit((frame, packet) in built()) {
        prop_assume!(opaque(&read(&frame, frame.len())));
        for captured in 0..frame.len() {
            let stack = read(&frame[..captured], frame.len());
            let whole: Vec<Built> =
                packet.layers.iter().copied().take_while(|layer| layer.start + layer.bytes <= captured).collect();
            let got = found(&stack);
            prop_assert!(got.len() >= whole.len(), "{captured}: {got:?}");
            prop_assert_eq!(&got[..whole.len()], &whole[..], "{}", captured);
            // A header whose fixed part is there is known, its options or ICV cut: then the one behind it is missing.
            let rest = packet.layers.get(whole.len()..).unwrap_or_default();
            let known = |layer: &Built| match layer.kind {
                LayerKind::Ipv4 => layer.start + 20 <= captured,
                LayerKind::Ah => layer.start + 12 <= captured,
                LayerKind::Gre => layer.start + 4 <= captured,
                LayerKind::Ipv6Options => layer.start + 2 <= captured,
                _ => false,
            };
            let Some(hit) = rest.iter().find(|layer| !known(layer)) else {
                prop_assert_eq!(stack.stop, None, "{}", captured);
                continue;
            };
            // AH and ESP are known by their first octets; what else is cut is named.
            let Some(stop) = stack.stop else {
                prop_assert!(matches!(hit.kind, LayerKind::Ah | LayerKind::Esp | LayerKind::Ipv6Options), "{captured}: {stack:?}");
                continue;
            };
            prop_assert!(stop.layer == hit.kind, "{captured}: {stop:?}, cut in {hit:?}");
            prop_assert_eq!(stop.offset as usize, hit.start, "{}", captured);
            let StopCause::TooShort { needed, had, limit } = stop.cause else {
                return Err(TestCaseError::fail(format!("{captured}: {stop:?}")));
            };
            prop_assert_eq!(had as usize, captured.saturating_sub(hit.start), "{}", captured);
            prop_assert!(had < needed && needed as usize <= hit.bytes.max(1), "{captured}: {stop:?}, cut in {hit:?}");
            prop_assert_eq!(limit, Limit::Snaplen, "{}", captured);
        }
    }

    /// Not the capture but the frame is short: the same layers, and the stop names what limited them.
    #[test]
    fn a_frame_that_ends_early_is_said_to_end_early((frame, packet) in built()) {
        prop_assume!(opaque(&read(&frame, frame.len())));
        for there in 0..frame.len() {
            let stack = read(&frame[..there], there);
            if let Some(stop) = stack.stop && let StopCause::TooShort { needed, had, limit } = stop.cause {
                // Where a sound IP header says that there was more, the frame was sliced.
                prop_assert!(had < needed && (limit != Limit::Snaplen || stack.flags.sliced), "{there}: {stop:?}");
                let known = packet.layers.iter().any(|layer| layer.start == stop.offset as usize);
                prop_assert!(known, "{there}: {stop:?} {:?}", packet.layers);
            }
        }
    }
}
