//! What makes two sights of a packet the same packet, whatever a router on the way rewrote.
//!
//! A router lowers the TTL and renews the header checksum (RFC 1812 section 5.3.1), may mark DSCP and ECN (RFC 6040) and may change
//! DF. Addresses, protocol, identification, lengths and payload stay.

use crate::dissect::digest::{begin_between, mix, mix_many, mix_sixteen, pair};
use crate::dissect::{IpHeader, ShortPacket};
use crate::model::Address;

/// Octets of payload that must have been captured: they tell apart packets without identification.
const PREFIX: usize = 16;
/// So many bits of a digest more than any capture has packets.
const SEED: u64 = 0x5bd1_e995_9d1b_1f35;

/// Identity of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Identity {
    /// Of the header and the first octets behind it: what every capture of the packet shows.
    pub(in crate::matching) key: u64,
    /// Of the whole payload, where it was captured.
    pub(in crate::matching) whole: Option<u64>,
}

impl Identity {
    /// Whether two packets with the same key are the same, as far as both were captured.
    pub(in crate::matching) fn agrees(self, other: Self) -> bool {
        self.key == other.key && self.whole.zip(other.whole).is_none_or(|(own, other)| own == other)
    }

    /// Whether the whole packet was compared, not only its beginning.
    pub(in crate::matching) fn is_whole(self, other: Self) -> bool {
        self.whole.is_some() && other.whole.is_some()
    }

    /// Identity of the packet with this header, whose octets begin at `header.offset` of `octets`. `None` where too little was
    /// captured.
    pub(in crate::matching) fn of(octets: &[u8], header: &IpHeader) -> Option<Self> {
        let payload = header.offset.checked_add(header.header_bytes)? as usize;
        let bytes = header.total_bytes.checked_sub(header.header_bytes)? as usize;
        Self::new(header, header.protocol, header.total_bytes, octets.get(payload..)?, bytes)
    }

    /// Identity of a packet as its header says, but for protocol, length and payload: `bytes` octets, of which `captured` begins with
    /// those that were captured.
    pub(in crate::matching) fn new(
        header: &IpHeader,
        protocol: u8,
        total: u32,
        captured: &[u8],
        bytes: usize,
    ) -> Option<Self> {
        // Place of a fragment in its packet; DF is not part of it.
        let place = header.fragment_offset << 1 | u32::from(header.more_fragments);
        let key = begin_between(pair(header.src, header.dst), total, header.identification, protocol);
        Self::begun(mix(key, u64::from(place)), captured, bytes)
    }

    /// Identity of an IPv4 packet that is no fragment, between addresses of which this is the digest.
    #[inline]
    pub(in crate::matching) fn between(addresses: u64, protocol: u8, packet: &ShortPacket<'_>) -> Option<Self> {
        let key = begin_between(addresses, packet.total_bytes, packet.identification, protocol);
        Self::begun(mix(key, 0), packet.captured, packet.payload_bytes())
    }

    #[inline]
    fn begun(key: u64, captured: &[u8], bytes: usize) -> Option<Self> {
        let payload = captured.get(..bytes).unwrap_or(captured);
        let key = match payload.first_chunk::<PREFIX>() {
            Some(prefix) => mix_sixteen(key, prefix),
            None => mix_many(key, payload.get(..bytes)?),
        };
        let whole = (payload.len() == bytes).then(|| mix_many(SEED, payload));
        Some(Self { key, whole })
    }
}

/// What fragments of one packet share (RFC 791 section 3.2): the key under which a packet and its fragments are found.
pub(in crate::matching) fn train(src: Address, dst: Address, protocol: u8, identification: u32) -> u64 {
    begin_between(pair(src, dst), 0, identification, protocol)
}

/// What a packet keeps where a gateway sends others in its place, so that no [`Identity`] tells that they are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) enum Kin {
    Nothing,
    /// Whole on the plain side, in fragments in the tunnel: digest of what its fragments share.
    Divided(u64),
    /// In fragments on the plain side, whole in the tunnel: the same.
    Joined(u64),
    /// Digest of a TCP segment that opens a connection, without its options: a gateway lowers the maximum segment size (RFC 4459 section 3.2).
    Opening(u64),
}

impl Kin {
    /// What a plaintext packet keeps that a gateway may divide, or put together with others.
    pub(in crate::matching) fn of_whole(octets: &[u8], header: &IpHeader) -> Self {
        let train = Self::train_of(header);
        if header.is_fragment() {
            return Self::Joined(train);
        }
        Self::opening(octets, header).unwrap_or(Self::Divided(train))
    }

    /// What a packet in the tunnel has kept of such a one.
    pub(in crate::matching) fn of_part(octets: &[u8], header: &IpHeader) -> Self {
        let train = Self::train_of(header);
        if header.is_fragment() {
            return Self::Divided(train);
        }
        Self::opening(octets, header).unwrap_or(Self::Joined(train))
    }

    /// What a plaintext packet keeps of IPv4 that is no fragment, between addresses of which this is the digest.
    #[inline]
    pub(in crate::matching) fn of_whole_between(addresses: u64, protocol: u8, packet: &ShortPacket<'_>) -> Self {
        let train = begin_between(addresses, 0, packet.identification, protocol);
        opening(train, protocol, packet.captured).unwrap_or(Self::Divided(train))
    }

    /// The same of a packet in the tunnel.
    #[inline]
    pub(in crate::matching) fn of_part_between(addresses: u64, protocol: u8, packet: &ShortPacket<'_>) -> Self {
        let train = begin_between(addresses, 0, packet.identification, protocol);
        opening(train, protocol, packet.captured).unwrap_or(Self::Joined(train))
    }

    fn train_of(header: &IpHeader) -> u64 {
        train(header.src, header.dst, header.protocol, header.identification)
    }

    fn opening(octets: &[u8], header: &IpHeader) -> Option<Self> {
        let segment = octets.get(header.offset.checked_add(header.header_bytes)? as usize..)?;
        opening(Self::train_of(header), header.protocol, segment)
    }
}

/// What a packet keeps whose payload is a TCP segment that opens a connection.
#[inline]
fn opening(train: u64, protocol: u8, segment: &[u8]) -> Option<Kin> {
    const TCP: u8 = 6;
    const SYN: u8 = 2;
    if protocol != TCP {
        return None;
    }
    let (numbers, rest) = segment.split_first_chunk::<12>()?;
    let is_opening = rest.get(1)? & SYN != 0;
    is_opening.then(|| Kin::Opening(mix_many(train, numbers)))
}

/// What packets between two addresses share.
pub(in crate::matching) fn ends(src: Address, dst: Address) -> u64 {
    begin_between(pair(src, dst), 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;
    use crate::dissect::{DissectOptions, Stack, dissect};
    use crate::model::{FramePos, LinkType, Timestamp};

    /// An IPv4 packet of 60 octets.
    fn packet() -> Vec<u8> {
        let mut octets = vec![0x45, 0, 0, 60, 0x12, 0x34, 0x40, 0, 64, 254, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1];
        octets.extend(0..40);
        octets
    }

    fn identity(octets: &[u8], wire: u32) -> Option<Identity> {
        let frame = Frame {
            pos: FramePos::new(0, 1),
            time: Timestamp::UNKNOWN,
            wire_bytes: wire,
            data: octets,
            link: LinkType::RAW,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        let mut stack = Stack::default();
        dissect(&frame, &DissectOptions::default(), &mut stack);
        Identity::of(octets, stack.outer()?)
    }

    fn changed(at: usize, to: u8) -> Vec<u8> {
        let mut octets = packet();
        octets[at] = to;
        octets
    }

    #[test]
    fn what_routers_rewrite_makes_no_other_packet() {
        let own = identity(&packet(), 60).expect("an identity");
        // Type of service, DF, TTL, checksum, and octets behind the packet.
        for (at, to) in [(1, 0xb8), (6, 0), (8, 63), (10, 0xab)] {
            assert!(own.agrees(identity(&changed(at, to), 60).expect("an identity")), "byte {at}");
        }
        let padded = [packet(), vec![0xff; 6]].concat();
        assert!(own.agrees(identity(&padded, 66).expect("an identity")));
    }

    #[test]
    fn everything_else_does() {
        let own = identity(&packet(), 60).expect("an identity");
        for at in [4, 5, 9, 12, 15, 16, 19, 20, 35, 36, 59] {
            let other = identity(&changed(at, 0xee), 60).expect("an identity");
            assert!(!own.agrees(other), "byte {at}");
        }
    }

    #[test]
    fn a_cut_packet_is_compared_as_far_as_it_goes() {
        let own = identity(&packet(), 60).expect("an identity");
        let cut = identity(&packet()[..40], 60).expect("the first bytes are there");
        assert!(own.agrees(cut) && !own.is_whole(cut) && own.is_whole(own));
        assert!(own.agrees(identity(&changed(59, 0)[..40], 60).expect("an identity")), "nobody saw the difference");
        assert_eq!(identity(&packet()[..30], 60), None);
    }
}
