//! Packets of a scenario as bytes.

use std::net::Ipv6Addr;

use super::scenario::{Scenario, Transform};
use crate::support::build::Noise;

pub const UDP: u8 = 17;
const ESP: u8 = 50;

/// A host or a gateway.
#[derive(Clone, Copy)]
pub struct Node(pub u8, pub u8);

pub const NEAR: Node = Node(1, 10);
pub const FAR: Node = Node(2, 10);
pub const ELSEWHERE: Node = Node(9, 9);
pub const R1: Node = Node(0, 1);
pub const R2: Node = Node(0, 2);
/// The other end of a second tunnel.
pub const R3: Node = Node(0, 3);
/// What the gateway translates the near host's address to.
pub const TRANSLATED: Node = Node(5, 5);
/// A group of hosts behind routers: 239.0.0.9 or ff15::9.
pub const GROUP: Node = Node(239, 9);

impl Node {
    fn v4(self) -> [u8; 4] {
        if self.is_group() { [239, 0, 0, self.1] } else { [10, self.0, 0, self.1] }
    }

    fn v6(self) -> [u8; 16] {
        let (net, site) = if self.is_group() { (0xff15, 0) } else { (0xfd00, self.0.into()) };
        Ipv6Addr::new(net, site, 0, 0, 0, 0, 0, self.1.into()).octets()
    }

    pub fn mac(self) -> [u8; 6] {
        if self.is_group() { [1, 0, 0x5e, 0, 0, self.1] } else { [2, 0, 10, self.0, 0, self.1] }
    }

    pub const fn is_group(self) -> bool {
        self.0 == GROUP.0
    }
}

/// An IP packet.
#[derive(Clone, Copy)]
pub struct Ip {
    pub v6: bool,
    pub from: Node,
    pub to: Node,
    pub protocol: u8,
    pub id: u16,
    pub hops: u8,
    /// Fragment: offset in bytes, and whether more follow.
    pub fragment: (u16, bool),
}

impl Ip {
    pub fn around(&self, payload: &[u8]) -> Vec<u8> {
        let Self { v6, from, to, protocol, id, hops, fragment } = *self;
        let length = |extra: usize| u16::try_from(payload.len() + extra).expect("a packet").to_be_bytes();
        if v6 {
            let head = [&[0x60, 0, 0, 0][..], &length(0), &[protocol, hops], &from.v6(), &to.v6()].concat();
            return [head, payload.to_vec()].concat();
        }
        let place = ((fragment.0 / 8) | (u16::from(fragment.1) << 13)).to_be_bytes();
        let mut head =
            [&[0x45, 0][..], &length(20), &id.to_be_bytes(), &place, &[hops, protocol, 0, 0], &from.v4(), &to.v4()]
                .concat();
        let sum: u32 = head.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice");
        head[10..12].copy_from_slice(&checksum.to_be_bytes());
        [head, payload.to_vec()].concat()
    }
}

/// A packet as it is at one tap.
pub struct Form<'p> {
    pub v6: bool,
    pub from: Node,
    pub to: Node,
    pub id: u16,
    pub hops: u8,
    pub payload: &'p [u8],
}

impl Form<'_> {
    /// In one piece.
    pub fn whole(&self) -> Vec<u8> {
        self.fragment(self.payload, (0, false))
    }

    /// In fragments of at most so many bytes, if it is longer.
    pub fn pieces(&self, most: Option<u64>) -> Vec<Vec<u8>> {
        let Some(most) = most.filter(|most| !self.v6 && self.payload.len() as u64 + 20 > *most) else {
            return vec![self.whole()];
        };
        let room = (most as usize - 20) / 8 * 8;
        let count = self.payload.len().div_ceil(room);
        let pieces = self.payload.chunks(room).enumerate();
        pieces.map(|(at, piece)| self.fragment(piece, ((at * room) as u16, at + 1 < count))).collect()
    }

    fn fragment(&self, payload: &[u8], fragment: (u16, bool)) -> Vec<u8> {
        let Self { v6, from, to, id, hops, .. } = *self;
        Ip { v6, from, to, protocol: UDP, id, hops, fragment }.around(payload)
    }
}

/// An Ethernet frame.
pub fn frame(vlan: bool, from: Node, to: Node, v6: bool, packet: &[u8]) -> Vec<u8> {
    let tag: &[u8] = if vlan { &[0x81, 0, 0, 42] } else { &[] };
    let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    [&to.mac()[..], &from.mac(), tag, &kind, packet].concat()
}

/// What ESP carries behind SPI and number.
pub fn body(scenario: &Scenario, noise: &mut Noise, transform: Transform, inner: &[u8]) -> Vec<u8> {
    let Transform { block, iv, icv, clear } = transform;
    let header = if scenario.inner_v6 { 40 } else { 20 };
    let (content, next) = match (scenario.transport, scenario.inner_v6) {
        (true, _) => (&inner[header..], UDP),
        (false, true) => (inner, 41),
        (false, false) => (inner, 4),
    };
    let bytes = content.len() as u64;
    let pad = (block - (bytes + 2) % block) % block;
    if clear {
        let pads: Vec<u8> = (1..=pad as u8).collect();
        [content, &pads, &[pad as u8, next], &noise.bytes(icv as usize)].concat()
    } else {
        noise.bytes((iv + bytes + pad + 2 + icv) as usize)
    }
}

/// Whether the wire's MTU asks for fragments.
pub fn is_fragmented(scenario: &Scenario, mtu: Option<u64>, body: &[u8]) -> bool {
    let shim = if scenario.nat_t { 8 } else { 0 };
    mtu.is_some_and(|mtu| body.len() as u64 + 28 + shim > mtu)
}

/// Frames of ESP from one gateway to the other; several where the wire's MTU asks for fragments.
pub fn esp(
    scenario: &Scenario,
    mtu: Option<u64>,
    (gateway, peer): (Node, Node),
    (spi, number): (u32, u32),
    body: &[u8],
) -> Vec<Vec<u8>> {
    let mut payload = [&spi.to_be_bytes()[..], &number.to_be_bytes(), body].concat();
    let mut protocol = ESP;
    if scenario.nat_t {
        let length = u16::try_from(payload.len() + 8).expect("a datagram").to_be_bytes();
        payload = [&4_500_u16.to_be_bytes()[..], &4_500_u16.to_be_bytes(), &length, &[0, 0], &payload].concat();
        protocol = UDP;
    }
    let (from, to) = match (scenario.transport, gateway.1 == R1.1) {
        (false, _) => (gateway, peer),
        (true, true) => (NEAR, FAR),
        (true, false) => (FAR, NEAR),
    };
    let v6 = scenario.outer_v6;
    let id = (number & 0xffff) as u16;
    let whole = Ip { v6, from, to, protocol, id, hops: 63, fragment: (0, false) };
    let around = |ip: &Ip, payload: &[u8]| frame(scenario.vlan, gateway, peer, v6, &ip.around(payload));
    match mtu.filter(|_| is_fragmented(scenario, mtu, body)) {
        Some(mtu) => {
            let cut = (mtu as usize - 20) / 8 * 8;
            let (one, other) = payload.split_at(cut);
            let first = Ip { fragment: (0, true), ..whole };
            let last = Ip { fragment: (cut as u16, false), ..whole };
            vec![around(&first, one), around(&last, other)]
        }
        None => vec![around(&whole, &payload)],
    }
}
