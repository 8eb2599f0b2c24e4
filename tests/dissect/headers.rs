//! Packets for tests, built octet by octet.
#![allow(dead_code)] // each test binary uses its own part

use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, Stack, dissect};
use spiglass::model::{FramePos, LinkType, Timestamp};

/// A frame of which all was captured, without FCS.
pub fn frame(link: LinkType, data: &[u8]) -> Frame<'_> {
    let wire_bytes = u32::try_from(data.len()).expect("a frame");
    let (pos, time) = (FramePos::new(0, 1), Timestamp::UNKNOWN);
    Frame { pos, time, wire_bytes, data, link, interface: 0, fcs_bytes: 0, snap_bytes: u32::MAX }
}

/// What dissection makes of a frame.
pub fn stack_of(frame: &Frame<'_>, options: &DissectOptions) -> Stack {
    let mut stack = Stack::default();
    dissect(frame, options, &mut stack);
    stack
}

/// A source of octets that is the same in every run (xorshift64).
pub fn seeded(seed: u64) -> impl FnMut() -> u8 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    }
}

/// The internet checksum (RFC 1071).
pub fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An IPv4 packet without options.
pub fn ipv4(src: [u8; 4], dst: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
    packet.extend(src);
    packet.extend(dst);
    let checksum = sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

/// An IPv6 packet.
pub fn ipv6(src: u8, dst: u8, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next_header, 64]);
    for last in [src, dst] {
        packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    packet.extend_from_slice(payload);
    packet
}

/// An Ethernet frame.
pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ethertype.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A UDP datagram without checksum.
pub fn udp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    for word in [src, dst, (8 + payload.len()) as u16, 0] {
        datagram.extend(word.to_be_bytes());
    }
    datagram.extend_from_slice(payload);
    datagram
}

/// A TCP segment without options or checksum.
pub fn tcp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    segment.extend(src.to_be_bytes());
    segment.extend(dst.to_be_bytes());
    segment.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0x10, 0, 0, 0, 0, 0]);
    segment.extend_from_slice(payload);
    segment
}

/// ESP: SPI, sequence number and what follows.
pub fn esp(spi: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    [&spi.to_be_bytes()[..], &sequence.to_be_bytes(), payload].concat()
}

/// AH with an ICV of `icv` octets.
pub fn ah(next_header: u8, spi: u32, sequence: u32, icv: usize, payload: &[u8]) -> Vec<u8> {
    let words = ((12 + icv) / 4 - 2) as u8;
    let mut bytes = vec![next_header, words, 0, 0];
    bytes.extend(spi.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(std::iter::repeat_n(0xa5, icv));
    bytes.extend_from_slice(payload);
    bytes
}

/// ESP between two documentation addresses.
pub fn esp_in_ipv4(spi: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    ipv4([192, 0, 2, 1], [192, 0, 2, 2], 50, &esp(spi, sequence, payload))
}

/// An IKE message that is nothing but its header and these payloads.
pub fn ike(version: u8, exchange: u8, flags: u8, next_payload: u8, payloads: &[u8]) -> Vec<u8> {
    let mut message = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    message.extend([next_payload, version << 4, exchange, flags, 0, 0, 0, 0]);
    message.extend((28 + payloads.len() as u32).to_be_bytes());
    message.extend_from_slice(payloads);
    message
}
