//! Builds frames for captures that nobody recorded.
#![allow(dead_code)] // every test binary uses a part of it

use std::net::Ipv4Addr;

/// Gateways of the made-up tunnel.
pub const R1: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
pub const R2: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);

/// The first moment of made-up captures: 2026-01-01 00:00:00 UTC.
pub const START: u64 = 1_767_225_600_000_000_000;

/// A small generator of repeatable noise (SplitMix64).
pub struct Noise(pub u64);

impl Noise {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.word().to_le_bytes()).take(count).collect()
    }
}

/// An Ethernet frame with an IPv4 packet; the MACs are made of the addresses.
pub fn ipv4(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(34 + payload.len());
    for address in [dst, src] {
        frame.extend([0x02, 0]);
        frame.extend(address.octets());
    }
    frame.extend([0x08, 0x00]);
    let total = u16::try_from(20 + payload.len()).expect("an IPv4 packet");
    let mut header = vec![0x45, 0];
    header.extend(total.to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend([0, 0, 64, protocol, 0, 0]);
    header.extend(src.octets());
    header.extend(dst.octets());
    frame.extend(header);
    frame.extend(payload);
    set_checksum(&mut frame);
    frame
}

/// An Ethernet frame with an IPv6 packet whose addresses end like these; the MACs are those of [`ipv4`].
pub fn ipv6(src: Ipv4Addr, dst: Ipv4Addr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = ipv4(src, dst, next_header, 0, &[]);
    frame.truncate(12);
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend(u16::try_from(payload.len()).expect("an IPv6 packet").to_be_bytes());
    frame.extend([next_header, 64]);
    for address in [src, dst] {
        frame.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend(address.octets());
    }
    frame.extend(payload);
    frame
}

/// The same packet on the link between two routers, from one to the other.
pub fn on_link(frame: &[u8], from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut next = frame.to_vec();
    next[2..6].copy_from_slice(&to.octets());
    next[8..12].copy_from_slice(&from.octets());
    next
}

/// The same packet behind one more router.
pub fn one_hop_further(frame: &[u8]) -> Vec<u8> {
    let mut next = frame.to_vec();
    if frame[12..14] == [0x86, 0xdd] {
        next[21] -= 1;
        return next;
    }
    next[22] -= 1;
    set_checksum(&mut next);
    next
}

/// The same packet in two fragments, the first with so many octets behind the IP header.
pub fn in_fragments(frame: &[u8], first: usize) -> [Vec<u8>; 2] {
    let piece = |payload: &[u8], offset: usize, more: bool| {
        let mut piece = [&frame[..34], payload].concat();
        piece[16..18].copy_from_slice(&u16::try_from(20 + payload.len()).expect("an IPv4 packet").to_be_bytes());
        let field = u16::try_from(offset / 8).expect("an offset") | (u16::from(more) << 13);
        piece[20..22].copy_from_slice(&field.to_be_bytes());
        set_checksum(&mut piece);
        piece
    };
    let (one, other) = frame[34..].split_at(first);
    [piece(one, 0, true), piece(other, first, false)]
}

/// Fills in the IPv4 header checksum.
fn set_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice");
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

/// An Ethernet frame with ESP in IPv4.
pub fn esp(src: Ipv4Addr, dst: Ipv4Addr, spi: u32, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + payload.len());
    body.extend(spi.to_be_bytes());
    body.extend(sequence.to_be_bytes());
    body.extend(payload);
    ipv4(src, dst, 50, u16::try_from(sequence & 0xffff).expect("sixteen bits"), &body)
}

/// An Ethernet frame with UDP in IPv4, without a UDP checksum.
pub fn udp(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), id: u16, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + payload.len());
    body.extend(ports.0.to_be_bytes());
    body.extend(ports.1.to_be_bytes());
    body.extend(u16::try_from(8 + payload.len()).expect("a datagram").to_be_bytes());
    body.extend([0, 0]);
    body.extend(payload);
    ipv4(src, dst, 17, id, &body)
}
