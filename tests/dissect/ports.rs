//! ESP and IKE in UDP and TCP, WESP, and what could be ESP on other ports.

use crate::headers::{esp, ethernet, frame, ike, ipv4, stack_of, tcp, udp};
use spiglass::capture::Frame;
use spiglass::dissect::{Costs, DissectOptions, Note, Stack, dissect, stack_name};
use spiglass::model::{Address, Encapsulation, FramePos, LinkType, Spi, Timestamp};

const A: [u8; 4] = [192, 0, 2, 1];
const B: [u8; 4] = [192, 0, 2, 2];

fn read(data: &[u8], options: &DissectOptions) -> Stack {
    stack_of(&frame(LinkType::ETHERNET, data), options)
}

fn datagram(src: u16, dst: u16, payload: &[u8]) -> Stack {
    read(&ethernet(0x0800, &ipv4(A, B, 17, &udp(src, dst, payload))), &DissectOptions::default())
}

fn segment(src: u16, dst: u16, payload: &[u8]) -> Stack {
    read(&ethernet(0x0800, &ipv4(A, B, 6, &tcp(src, dst, payload))), &DissectOptions::default())
}

fn marked(message: &[u8]) -> Vec<u8> {
    [&[0; 4], message].concat()
}

fn prefixed(message: &[u8]) -> Vec<u8> {
    [&((message.len() + 2) as u16).to_be_bytes()[..], message].concat()
}

#[test]
fn esp_in_udp_is_the_same_sa_space() {
    let stack = datagram(4500, 61_000, &esp(0xc0de_0001, 3, &[0x9c; 64]));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/esp");
    let sa = stack.sas[0];
    assert_eq!((sa.spi, sa.sequence, sa.bytes, sa.ports), (Spi(0xc0de_0001), 3, 72, (4500, 61_000)));
    assert_eq!(sa.encapsulation, Encapsulation::Udp);
    assert_eq!(stack.costs, Costs { outer_ip: 20, udp: 8, ..Costs::default() });

    let options = DissectOptions { udp_ports: vec![10_000], ..DissectOptions::default() };
    let frame = ethernet(0x0800, &ipv4(A, B, 17, &udp(10_000, 5, &esp(0xc0de_0001, 3, &[0x9c; 64]))));
    assert_eq!(stack_name(read(&frame, &options).shape), "eth/ipv4/udp/esp");
}

#[test]
fn the_marker_is_ike_and_no_spi() {
    let stack = datagram(4500, 4500, &marked(&ike(2, 35, 8, 46, &[0, 0, 0, 8, 1, 2, 3, 4])));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/ike");
    assert_eq!(stack.notes, [Note::Ike { version: 2, invalid_spi: None, delete: None }]);
    assert!(stack.sas.is_empty());

    // A receiver takes what follows for IKE, whatever it is (RFC 3948 section 2.2).
    let stack = datagram(4500, 4500, &esp(0, 77, &[0x9c; 64]));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp");
    assert!(stack.sas.is_empty() && stack.notes.is_empty());
}

#[test]
fn keepalives_are_control() {
    let stack = datagram(4500, 4500, &[0xff]);
    assert_eq!((stack_name(stack.shape).as_str(), stack.flags.control), ("eth/ipv4/udp/nat-keepalive", true));
}

#[test]
fn port_500_carries_ike_without_marker_and_rarely_esp() {
    assert_eq!(stack_name(datagram(500, 500, &ike(1, 2, 0, 1, &[])).shape), "eth/ipv4/udp/ike");
    assert_eq!(stack_name(datagram(500, 500, &esp(0xc0de_0001, 3, &[0x9c; 64])).shape), "eth/ipv4/udp/esp");
    assert_eq!(stack_name(datagram(500, 500, &[0; 40]).shape), "eth/ipv4/udp");
}

#[test]
fn ike_shows_its_endpoint_on_other_ports() {
    let stack = datagram(40_000, 4500, &marked(&ike(2, 34, 8, 33, &[])));
    assert!(stack.notes.contains(&Note::IkeEndpoint { address: Address::v4(A), port: 40_000 }));
    let stack = datagram(40_000, 40_001, &ike(2, 34, 8, 33, &[]));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/ike");
    assert!(stack.notes.contains(&Note::IkeEndpoint { address: Address::v4(B), port: 40_001 }));
}

#[test]
fn notifications_in_clear() {
    // IKEv1 informational: notify with DOI 1, protocol ESP, an SPI of four octets, type INVALID-SPI.
    let notify = [0u8, 0, 0, 16, 0, 0, 0, 1, 3, 4, 0, 11, 0xde, 0xad, 0xbe, 0xef];
    let stack = datagram(500, 500, &ike(1, 5, 0, 11, &notify));
    assert_eq!(stack.notes, [Note::Ike { version: 1, invalid_spi: Some(Some(Spi(0xdead_beef))), delete: None }]);
    // The same, encrypted, says nothing.
    let stack = datagram(500, 500, &ike(1, 5, 1, 11, &notify));
    assert_eq!(stack.notes, [Note::Ike { version: 1, invalid_spi: None, delete: None }]);
    let delete = [0u8, 0, 0, 16, 0, 0, 0, 1, 3, 4, 0, 1, 0xca, 0xfe, 0, 1];
    let stack = datagram(500, 500, &ike(1, 5, 0, 12, &delete));
    assert_eq!(stack.notes, [Note::Ike { version: 1, invalid_spi: None, delete: Some(Some(Spi(0xcafe_0001))) }]);
    // IKEv2: the SPI is the notification data; then a delete of ESP SPIs.
    let both = [42u8, 0, 0, 12, 0, 0, 0, 11, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 12, 3, 4, 0, 1, 0xca, 0xfe, 0, 1];
    let stack = datagram(500, 500, &ike(2, 37, 0, 41, &both));
    let (invalid_spi, delete) = (Some(Some(Spi(0xdead_beef))), Some(Some(Spi(0xcafe_0001))));
    assert_eq!(stack.notes, [Note::Ike { version: 2, invalid_spi, delete }]);
    // Outside any IKE SA its own SPIs mean nothing, and may be zero (RFC 7296 section 1.5).
    let mut outside = ike(2, 37, 8, 41, &[0, 0, 0, 12, 0, 0, 0, 11, 0xde, 0xad, 0xbe, 0xef]);
    outside[..16].fill(0);
    let told = [Note::Ike { version: 2, invalid_spi: Some(Some(Spi(0xdead_beef))), delete: None }];
    assert_eq!(datagram(500, 500, &outside).notes, told);
    assert_eq!(datagram(4500, 4500, &marked(&outside)).notes, told);
    outside[18] = 34;
    assert!(datagram(500, 500, &outside).notes.is_empty());
}

#[test]
fn candidates_are_whole_words_on_ports_of_nobody() {
    let payload = esp(0xc0de_0001, 3, &[0x9c; 16]);
    let stack = datagram(40_000, 40_001, &payload);
    let ports = (40_000, 40_001);
    let candidate = Note::UdpCandidate { spi: Spi(0xc0de_0001), sequence: 3, ports, offset: 42, bytes: 24, missing: 0 };
    assert_eq!(stack.notes, [candidate]);
    assert!(datagram(40_000, 53, &payload).notes.is_empty(), "DNS is at home there");
    // What cannot be ESP speaks against its flow.
    let other = [Note::UdpOther { ports }];
    assert_eq!(datagram(40_000, 40_001, &payload[..22]).notes, other, "not whole words");
    assert_eq!(datagram(40_000, 40_001, &esp(200, 3, &[0x9c; 16])).notes, other, "a reserved SPI");
    assert_eq!(datagram(40_000, 40_001, &[&[4, 0, 0, 0][..], &[0x9c; 28]].concat()).notes, other, "WireGuard");
    assert!(datagram(40_000, 40_001, &[0xff]).notes.is_empty(), "a keepalive");
}

#[test]
fn wesp_natively_and_in_udp() {
    let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 1, &[8, 0, 0xf7, 0xff]);
    let mut payload = inner;
    payload.extend([1, 2, 2, 4]);
    payload.extend([0xa5; 12]);
    let wesp = [&[4u8, 12, 12, 0][..], &esp(300, 1, &payload)].concat();
    let frame = ethernet(0x0800, &ipv4(A, B, 141, &wesp));
    let stack = read(&frame, &DissectOptions::default());
    assert_eq!(stack_name(stack.shape), "eth/ipv4/wesp/esp/ipv4/icmp");
    assert_eq!(stack.costs, Costs { outer_ip: 20, udp: 4, ..Costs::default() });
    assert_eq!(stack.sas[0].encapsulation, Encapsulation::Wesp);

    // tshark reads this as ESP with SPI 2.
    let stack = datagram(4500, 4500, &[&[0u8, 0, 0, 2][..], &wesp].concat());
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/wesp/esp/ipv4/icmp");
    assert_eq!((stack.sas[0].spi, stack.costs.udp), (Spi(300), 16));

    let encrypted = [&[0u8, 0, 0, 0x20][..], &esp(301, 1, &[0x9c; 64])].concat();
    let stack = datagram(4500, 4500, &[&[0u8, 0, 0, 2][..], &encrypted].concat());
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/wesp/esp");
    // A real SPI of 2 does not look like WESP behind it.
    let stack = datagram(4500, 4500, &esp(2, 0x9c9c_9c9c, &[0x9c; 64]));
    assert_eq!((stack_name(stack.shape).as_str(), stack.sas[0].spi), ("eth/ipv4/udp/esp", Spi(2)));
}

#[test]
fn whole_messages_in_tcp() {
    let one = prefixed(&esp(0xc0de_0001, 1, &[0x9c; 64]));
    let two = prefixed(&esp(0xc0de_0001, 2, &[0x9c; 64]));
    let key_exchange = prefixed(&marked(&ike(2, 35, 8, 46, &[])));

    let stack = segment(4500, 40_000, &one);
    assert_eq!(stack_name(stack.shape), "eth/ipv4/tcp/tcp-encap/esp");
    assert_eq!(stack.costs, Costs { outer_ip: 20, tcp: 20, udp: 2, ..Costs::default() });
    assert_eq!((stack.sas[0].encapsulation, stack.sas[0].bytes), (Encapsulation::Tcp, 72));

    let stack = segment(4500, 40_000, &[&one[..], &two, &key_exchange].concat());
    assert_eq!(stack_name(stack.shape), "eth/ipv4/tcp/tcp-encap/esp/ike");
    assert_eq!(stack.sas.iter().map(|sa| sa.sequence).collect::<Vec<_>>(), [1, 2]);

    let stack = segment(40_000, 443, &[&b"IKETCP"[..], &key_exchange].concat());
    assert_eq!(stack_name(stack.shape), "eth/ipv4/tcp/tcp-encap/ike");

    let cut = &[&one[..], &two].concat()[..one.len() + 20];
    for payload in [cut, &one[3..], &[9; 100]] {
        let stack = segment(4500, 40_000, payload);
        assert!(stack.flags.tcp_continuation && stack.sas.is_empty());
    }
    let stack = segment(4500, 40_000, &[]);
    assert!(!stack.flags.tcp_continuation, "an acknowledgement continues nothing");
    assert!(!segment(443, 40_000, &one).flags.tcp_continuation);
}

/// Too few octets to tell what a datagram is: said where there should be more, and not where there are none, or where they say nothing.
#[test]
fn a_datagram_that_is_too_short_to_tell_is_said_to_be() {
    use spiglass::dissect::{LayerKind, Limit, StopCause};
    let frame = ethernet(0x0800, &ipv4(A, B, 17, &udp(4500, 4500, &esp(300, 1, &[0x9c; 32]))));
    let mut stack = Stack::default();
    let cut = Frame {
        pos: FramePos::new(0, 1),
        time: Timestamp::UNKNOWN,
        wire_bytes: frame.len() as u32,
        data: &frame[..44],
        link: LinkType::ETHERNET,
        interface: 0,
        fcs_bytes: 0,
        snap_bytes: u32::MAX,
    };
    dissect(&cut, &DissectOptions::default(), &mut stack);
    let stop = stack.stop.expect("it was cut");
    assert_eq!((stop.layer, stop.offset), (LayerKind::Esp, 42));
    assert_eq!(stop.cause, StopCause::TooShort { needed: 4, had: 2, limit: Limit::Snaplen });
    let short = datagram(4500, 4500, &[1, 2, 3]).stop.expect("it is too short");
    assert_eq!(short.cause, StopCause::TooShort { needed: 4, had: 3, limit: Limit::Length(LayerKind::Udp) });
    assert_eq!(datagram(4500, 4500, &[]).stop, None, "nothing is nothing");
    assert_eq!(datagram(500, 500, &[0, 0, 0, 5]).stop, None, "four bytes that are neither IKE nor an SPI");
    assert_eq!(datagram(500, 500, &[0, 0, 0, 5, 1, 1, 1, 1]).stop, None);
}
