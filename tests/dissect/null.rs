//! ESP-NULL by bits of evidence: what is in clear is found, what is random is not.

use crate::headers::{esp_in_ipv4, frame, ipv4, seeded, stack_of, sum};
use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, NULL_DECISIVE, NULL_ICVS, NULL_IVS, Note, NullSupport, Stack, stack_name};
use spiglass::model::LinkType;

fn read(packet: &[u8], wire: usize) -> Stack {
    stack_of(&Frame { wire_bytes: wire as u32, ..frame(LinkType::RAW, packet) }, &DissectOptions::default())
}

fn supports(stack: &Stack) -> Vec<NullSupport> {
    let support = |note: &Note| match note {
        Note::Null { support, .. } => Some(*support),
        _ => None,
    };
    stack.notes.iter().filter_map(support).collect()
}

/// An ESP payload: IV, inner packet, TFC, padding to words, trailer, ICV.
fn payload(
    inner: &[u8],
    next_header: u8,
    iv: usize,
    icv: usize,
    tfc: usize,
    noise: &mut impl FnMut() -> u8,
) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..iv).map(|_| noise()).collect();
    bytes.extend_from_slice(inner);
    bytes.extend(std::iter::repeat_n(0, tfc));
    let pad = (4 - (bytes.len() + 2) % 4) % 4;
    bytes.extend(1..=pad as u8);
    bytes.extend([pad as u8, next_header]);
    bytes.extend((0..icv).map(|_| noise()));
    bytes
}

fn udp(bytes: usize, src: [u8; 4], dst: [u8; 4]) -> Vec<u8> {
    let mut datagram = vec![0x30, 0x39, 0x00, 0x35, (bytes >> 8) as u8, bytes as u8, 0, 0];
    datagram.extend((8..bytes).map(|i| i as u8));
    let pseudo = [&src[..], &dst, &[0, 17, (bytes >> 8) as u8, bytes as u8], &datagram].concat();
    let checksum = sum(&pseudo);
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    datagram
}

#[test]
fn every_candidate_is_found_in_one_tunnelled_ipv4_packet() {
    let mut noise = seeded(7);
    for icv in NULL_ICVS {
        for iv in NULL_IVS {
            for size in [20usize, 21, 40, 63, 64, 100] {
                let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 253, &vec![0xab; size]);
                let esp = payload(&inner, 4, iv.into(), icv.into(), 0, &mut noise);
                let stack = read(&esp_in_ipv4(0x1234_5678, 9, &esp), esp_in_ipv4(0, 0, &esp).len());
                let null = stack.null.expect("decided");
                assert_eq!((null.icv_bytes, null.iv_bytes), (icv, iv), "size {size}");
                assert_eq!(usize::from(null.inner_bytes), inner.len());
                assert_eq!(null.pad_bytes.map(usize::from), Some((4 - (inner.len() + 2) % 4) % 4));
                assert_eq!(stack_name(stack.shape), "raw/ipv4/esp/ipv4");
                assert_eq!(stack.encapsulated, Some(1));
            }
        }
    }
}

/// A UDP datagram in IPv6, from fd00::1 to fd00::2, with its checksum.
fn udp_in_ipv6(bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0x30, 0x39, 0x00, 0x35, (bytes >> 8) as u8, bytes as u8, 0, 0];
    datagram.extend((8..bytes).map(|i| i as u8));
    let packet = crate::headers::ipv6(1, 2, 17, &datagram);
    let pseudo = [&packet[8..40], &[0, 0, (bytes >> 8) as u8, bytes as u8, 0, 0, 0, 17], &datagram].concat();
    datagram[6..8].copy_from_slice(&sum(&pseudo).to_be_bytes());
    crate::headers::ipv6(1, 2, 17, &datagram)
}

#[test]
fn every_candidate_is_found_in_one_tunnelled_ipv6_packet() {
    let mut noise = seeded(17);
    for icv in NULL_ICVS {
        for iv in NULL_IVS {
            for (size, tfc) in [(20, 0), (21, 0), (22, 0), (63, 0), (100, 0), (100, 1000)] {
                let inner = udp_in_ipv6(size);
                let packet = esp_in_ipv4(300, 9, &payload(&inner, 41, iv.into(), icv.into(), tfc, &mut noise));
                let stack = read(&packet, packet.len());
                let what = format!("{icv}, {iv}, {size}, {tfc}: {:?}", supports(&stack));
                let null = supports(&stack).into_iter().find(|s| (s.icv_bytes, s.iv_bytes) == (icv, iv)).expect(&what);
                assert_eq!((usize::from(null.inner_bytes), usize::from(null.tfc_bytes)), (inner.len(), tfc), "{what}");
                let addresses = null.inner.map(|(src, dst)| (src.to_string(), dst.to_string()));
                assert_eq!(addresses, Some(("fd00::1".into(), "fd00::2".into())), "{what}");
                // 4 of version, 8 of the trailer's next header, 4 of the packet's own, 16 of its checksum, 8 for each octet of
                // padding, and 16 of the length, where no TFC padding leaves it open.
                let pad = (4 - (inner.len() + tfc + usize::from(iv) + 2) % 4) % 4;
                let bits = 4 + 8 + 4 + 16 + 8 * pad + if tfc == 0 { 16 } else { 0 };
                assert_eq!(usize::from(null.bits), bits, "{what}");
                if bits >= usize::from(NULL_DECISIVE) {
                    assert_eq!(stack.null, Some(null), "{what}");
                    assert_eq!(
                        (stack_name(stack.shape).as_str(), stack.encapsulated),
                        ("raw/ipv4/esp/ipv6/udp", Some(1))
                    );
                }
            }
        }
    }
}

#[test]
fn an_ipv6_packet_without_a_checksum_that_verifies_never_decides() {
    let mut noise = seeded(18);
    let mut wrong = udp_in_ipv6(61);
    *wrong.last_mut().expect("bytes") ^= 1;
    let unknown = crate::headers::ipv6(1, 2, 253, &[7; 61]);
    for (inner, bits) in [(wrong, 39), (unknown, 36)] {
        let packet = esp_in_ipv4(300, 9, &payload(&inner, 41, 0, 16, 0, &mut noise));
        let stack = read(&packet, packet.len());
        assert_eq!(stack.null, None);
        let found: Vec<_> = supports(&stack).iter().map(|s| (s.icv_bytes, s.iv_bytes, s.bits)).collect();
        assert_eq!(found, [(16, 0, bits)]);
        // With TFC padding not even the length speaks for it.
        let packet = esp_in_ipv4(300, 9, &payload(&inner, 41, 0, 16, 400, &mut noise));
        assert_eq!(supports(&read(&packet, packet.len())), []);
    }
}

#[test]
fn transport_mode_decides_with_a_checksum_and_not_without() {
    let mut noise = seeded(8);
    let (src, dst) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let datagram = udp(53, src, dst);
    let esp = payload(&datagram, 17, 0, 16, 0, &mut noise);
    let packet = esp_in_ipv4(300, 1, &esp);
    let stack = read(&packet, packet.len());
    let null = stack.null.expect("decided");
    assert_eq!((null.icv_bytes, null.next_header, null.inner_bytes, null.inner), (16, 17, 53, None));
    assert_eq!((stack_name(stack.shape).as_str(), stack.encapsulated), ("raw/ipv4/esp/udp", None));

    let mut offloaded = datagram.clone();
    offloaded[7] ^= 0x55;
    let packet = esp_in_ipv4(300, 2, &payload(&offloaded, 17, 0, 16, 0, &mut noise));
    let stack = read(&packet, packet.len());
    assert_eq!(stack.null, None);
    let found = supports(&stack);
    assert!(found.iter().any(|s| s.icv_bytes == 16 && s.bits >= 24 && s.bits < NULL_DECISIVE), "{found:?}");
}

#[test]
fn a_wrong_inner_checksum_counts_less_than_a_verdict() {
    let mut noise = seeded(9);
    let mut inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 6, &[0; 44]);
    inner[10] ^= 1;
    let packet = esp_in_ipv4(300, 1, &payload(&inner, 4, 0, 12, 0, &mut noise));
    let stack = read(&packet, packet.len());
    assert_eq!(stack.null, None);
    assert!(supports(&stack).iter().any(|s| s.icv_bytes == 12 && s.bits == 32));
}

#[test]
fn tfc_padding_is_told_from_the_inner_packet() {
    let mut noise = seeded(10);
    let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 17, &[7; 44]);
    let packet = esp_in_ipv4(300, 1, &payload(&inner, 4, 0, 12, 500, &mut noise));
    let stack = read(&packet, packet.len());
    let null = stack.null.expect("decided");
    assert_eq!((null.tfc_bytes, null.inner_bytes, null.icv_bytes, null.pad_bytes), (500, 64, 12, Some(2)));
    assert_eq!(stack.ips[1].total_bytes, 64);
}

#[test]
fn an_exact_length_leaves_no_room_for_readings_with_tfc_padding() {
    let mut noise = seeded(15);
    let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 17, &[7; 44]);
    let mut esp = payload(&inner, 4, 0, 12, 0, &mut noise);
    // An ICV that ends like a trailer: without an ICV the same octets are the packet, sixteen of TFC padding and a trailer.
    let [.., pad_bytes, next_header] = &mut esp[..] else { unreachable!() };
    (*pad_bytes, *next_header) = (0, 4);
    let packet = esp_in_ipv4(300, 1, &esp);
    let stack = read(&packet, packet.len());
    let found: Vec<_> = supports(&stack).iter().map(|s| (s.icv_bytes, s.inner_bytes, s.tfc_bytes)).collect();
    assert_eq!(found, [(12, 64, 0)]);
    assert_eq!(stack.null.map(|null| null.icv_bytes), Some(12));
}

#[test]
fn a_dummy_packet_among_the_readings_drives_no_packet_out() {
    let mut noise = seeded(19);
    let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 17, &[7; 44]);
    let mut esp = payload(&inner, 4, 0, 12, 500, &mut noise);
    let [.., pad_bytes, next_header] = &mut esp[..] else { unreachable!() };
    (*pad_bytes, *next_header) = (0, 59);
    let packet = esp_in_ipv4(300, 1, &esp);
    let stack = read(&packet, packet.len());
    assert!(supports(&stack).iter().any(|s| s.next_header == 59), "without an ICV this is a dummy packet");
    assert_eq!(stack.null.map(|null| (null.icv_bytes, null.inner_bytes, null.tfc_bytes)), Some((12, 64, 500)));
}

#[test]
fn dummy_packets_support_but_never_decide() {
    let mut noise = seeded(11);
    let dummy: Vec<u8> = (0..64).map(|_| noise()).collect();
    let packet = esp_in_ipv4(300, 1, &payload(&dummy, 59, 0, 12, 0, &mut noise));
    let stack = read(&packet, packet.len());
    assert_eq!(stack.null, None);
    assert!(supports(&stack).iter().any(|s| s.icv_bytes == 12 && s.next_header == 59));
}

#[test]
fn a_snapshot_length_leaves_less_evidence_but_some() {
    let mut noise = seeded(12);
    let inner = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 17, &[7; 400]);
    let packet = esp_in_ipv4(300, 1, &payload(&inner, 4, 0, 16, 0, &mut noise));
    let stack = read(&packet[..60], packet.len());
    assert_eq!(stack.null, None);
    assert_eq!(stack.sas[0].bytes as usize, packet.len() - 20);
    let found = supports(&stack);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].icv_bytes, found[0].pad_bytes, found[0].inner_bytes), (16, None, 420));
    assert!(found[0].bits >= 30 && found[0].bits < NULL_DECISIVE);
}

#[test]
fn random_payloads_never_decide_and_their_sums_sink() {
    const PAYLOADS: i64 = 100_000;
    let mut noise = seeded(13);
    let mut sums = [[0i64; NULL_IVS.len()]; NULL_ICVS.len()];
    let mut checked = 0;
    for round in 0..PAYLOADS {
        let length = 8 + (round as usize * 4) % 1400;
        let esp: Vec<u8> = (0..length).map(|_| noise()).collect();
        let packet = esp_in_ipv4(0x1000, round as u32, &esp);
        let stack = read(&packet, packet.len());
        assert_eq!(stack.null, None, "payload {round}");
        checked += i64::from(stack.null_checked(&stack.sas[0]));
        let found = supports(&stack);
        assert!(found.iter().all(|s| s.bits < NULL_DECISIVE), "payload {round}: {found:?}");
        for (row, icv) in sums.iter_mut().zip(NULL_ICVS) {
            for (cell, iv) in row.iter_mut().zip(NULL_IVS) {
                let vote = found.iter().find(|s| (s.icv_bytes, s.iv_bytes) == (icv, iv));
                *cell += vote.map_or(-8, |s| i64::from(s.bits));
            }
        }
    }
    assert_eq!(checked, PAYLOADS);
    for cell in sums.as_flattened() {
        assert!(*cell < -7 * PAYLOADS, "{sums:?}");
    }
}

#[test]
fn random_payloads_cut_by_a_snapshot_length_do_not_decide_either() {
    const PAYLOADS: i64 = 100_000;
    let mut noise = seeded(14);
    let mut sum = 0i64;
    for round in 0..PAYLOADS {
        let esp: Vec<u8> = (0..80).map(|_| noise()).collect();
        let packet = esp_in_ipv4(0x1000, round as u32, &esp);
        let stack = read(&packet, 1400);
        assert_eq!(stack.null, None);
        sum += supports(&stack).iter().map(|s| i64::from(s.bits)).sum::<i64>() - 8;
    }
    assert!(sum < -7 * PAYLOADS, "{sum}");
}

/// The checksum of an upper layer over a pseudo header of IPv4.
fn over_pseudo_header(mut bytes: Vec<u8>, protocol: u8, at: usize) -> Vec<u8> {
    let length = (bytes.len() as u16).to_be_bytes();
    let pseudo = [&[192, 0, 2, 1, 192, 0, 2, 2, 0, protocol][..], &length, &bytes].concat();
    bytes[at..at + 2].copy_from_slice(&sum(&pseudo).to_be_bytes());
    bytes
}

/// The checksum of the octets alone.
fn plain(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    let checksum = sum(&bytes);
    bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn segment(offset_and_reserved: u8, flags: u8) -> Vec<u8> {
    let mut bytes = vec![0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, offset_and_reserved, flags, 0x10, 0, 0, 0, 0, 0];
    bytes.extend(b"GET / HTTP/1.1\r\n");
    over_pseudo_header(bytes, 6, 16)
}

#[test]
fn every_upper_layer_that_can_be_verified_decides() {
    let icmp = |kind: u8| plain([&[kind, 0, 0, 0, 0, 9, 0, 1][..], &[0x61; 24]].concat(), 2);
    let igmp = |kind: u8| plain(vec![kind, 0, 0, 0, 224, 0, 0, 251], 2);
    let pim = plain([&[0x20, 0, 0, 0, 0, 1, 0, 2, 0, 105][..], &[0; 10]].concat(), 2);
    let vrrp = over_pseudo_header(vec![0x31, 7, 100, 1, 0, 100, 0, 0, 192, 0, 2, 9], 112, 6);
    let customer = ipv4([10, 1, 0, 1], [10, 2, 0, 1], 17, &[7; 40]);
    let gre = [&[0, 0, 8, 0][..], &customer].concat();
    let keyed = [&[0x20, 0, 8, 0, 0, 0, 0, 1][..], &customer].concat();
    let ah = crate::headers::ah(4, 1002, 5, 12, &customer);
    let cases: &[(u8, Vec<u8>, &str)] = &[
        (6, segment(0x50, 0x02), "raw/ipv4/esp/tcp"), // SYN
        (6, segment(0x50, 0x12), "raw/ipv4/esp/tcp"), // SYN, ACK
        (6, segment(0x50, 0x10), "raw/ipv4/esp/tcp"), // ACK
        (6, segment(0x50, 0x18), "raw/ipv4/esp/tcp"), // PSH, ACK
        (6, segment(0x50, 0x11), "raw/ipv4/esp/tcp"), // FIN, ACK
        (6, segment(0x50, 0x04), "raw/ipv4/esp/tcp"), // RST
        (6, segment(0x50, 0x14), "raw/ipv4/esp/tcp"), // RST, ACK
        (6, segment(0x60, 0x10), "raw/ipv4/esp/tcp"), // four octets of options
        (1, icmp(8), "raw/ipv4/esp/icmp"),
        (1, icmp(0), "raw/ipv4/esp/icmp"),
        (2, igmp(0x16), "raw/ipv4/esp"),
        (103, pim, "raw/ipv4/esp"),
        (112, vrrp, "raw/ipv4/esp"),
        (47, gre, "raw/ipv4/esp/gre/ipv4/udp"),
        (47, keyed, "raw/ipv4/esp/gre/ipv4/udp"),
        (51, ah, "raw/ipv4/esp/ah/ipv4/udp"),
    ];
    let mut noise = seeded(16);
    for (index, (next_header, inner, expected)) in cases.iter().enumerate() {
        let packet = esp_in_ipv4(300, 1, &payload(inner, *next_header, 0, 12, 0, &mut noise));
        let stack = read(&packet, packet.len());
        let found = supports(&stack);
        let what = format!("case {index}, next header {next_header}: {found:?}");
        let [only] = found[..] else { panic!("{what}") };
        assert_eq!((only.icv_bytes, only.iv_bytes, only.next_header), (12, 0, *next_header), "{what}");
        assert_eq!((usize::from(only.inner_bytes), stack.null), (inner.len(), Some(only)), "{what}");
        assert_eq!(
            (stack_name(stack.shape).as_str(), stack.encapsulated.is_some()),
            (*expected, next_header == &47 || next_header == &51)
        );

        // One bit of what the checksum covers, and nothing is beyond doubt.
        let mut wrong = inner.clone();
        let at = wrong.len() - if matches!(next_header, 47 | 51) { 44 } else { 1 };
        wrong[at] ^= 1;
        let packet = esp_in_ipv4(300, 1, &payload(&wrong, *next_header, 0, 12, 0, &mut noise));
        let stack = read(&packet, packet.len());
        assert_eq!(stack.null, None, "{what}");
        let left = supports(&stack);
        assert_eq!(left.is_empty(), matches!(next_header, 1 | 2 | 103 | 112), "{what}: {left:?}");
        assert!(left.iter().all(|s| s.bits < NULL_DECISIVE), "{what}: {left:?}");
    }
}

#[test]
fn segments_that_no_stack_sends_support_nothing() {
    let mut noise = seeded(20);
    // No flag that every segment has; SYN with FIN or RST; reserved bits; a header shorter or longer than there is room for.
    let cases = [
        (0x50, 0x00),
        (0x50, 0x08),
        (0x50, 0x01),
        (0x50, 0x03),
        (0x50, 0x06),
        (0x52, 0x10),
        (0x58, 0x10),
        (0x40, 0x10),
        (0xf0, 0x10),
    ];
    for (offset_and_reserved, flags) in cases {
        let packet = esp_in_ipv4(300, 1, &payload(&segment(offset_and_reserved, flags), 6, 0, 12, 0, &mut noise));
        assert_eq!(supports(&read(&packet, packet.len())), [], "{offset_and_reserved:#x} {flags:#x}");
    }
}
