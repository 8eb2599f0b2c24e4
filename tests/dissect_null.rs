//! ESP-NULL by bits of evidence: what is in clear is found, what is random is not.

mod frames;

use frames::{esp_in_ipv4, frame, ipv4, seeded, stack_of, sum};
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
