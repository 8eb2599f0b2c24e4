//! Digests that equal packets share and different packets do not, to recognise copies.
//!
//! Fixed for ever, because states of several machines merge: it must never depend on a seed of the process.

use crate::model::Address;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Octets of an Ethernet header with two VLAN tags.
const TWO_TAGS: usize = 22;
/// Octets behind the IP header that are read where they are there.
const LEAST: usize = 24;
const FACTOR: u64 = 0x2d35_8dcc_aa6c_78a5;

/// Begins a digest with what the IP header says: addresses, length, the word that holds identification (IPv6: the flow label) and the
/// protocol. Type of service, TTL and header checksum are left out: they change on the way.
#[inline(always)]
pub(crate) fn begin(src: Address, dst: Address, total_bytes: u32, word: u32, protocol: u8) -> u64 {
    // Two products that do not wait for each other.
    let identity = u64::from(word) | u64::from(protocol) << 32;
    pair(src, dst) ^ fold(u64::from(total_bytes) ^ FACTOR, identity ^ SEED)
}

/// A digest of two addresses.
#[inline(always)]
pub(crate) fn pair(src: Address, dst: Address) -> u64 {
    let ((a, b), (c, d)) = (src.words(), dst.words());
    fold(b ^ d.rotate_left(32) ^ SEED, a ^ c.rotate_left(32) ^ FACTOR)
}

/// Adds a word: a folded 64-bit product.
#[inline(always)]
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    fold(hash ^ word, FACTOR).wrapping_add(SEED)
}

/// Adds octets, by words as long as there are some.
#[inline]
pub(crate) fn mix_octets(mut hash: u64, octets: &[u8]) -> u64 {
    let mut words = octets.chunks_exact(8);
    for word in &mut words {
        if let Ok(word) = word.try_into() {
            hash = mix(hash, u64::from_le_bytes(word));
        }
    }
    for &octet in words.remainder() {
        hash = mix(hash, u64::from(octet));
    }
    hash
}

/// The digest of a packet, `begun`, whose header of `header` octets is followed by nothing that tells packets apart at once: up to 128
/// octets and the last 64. `link`: octets in front of it.
#[inline]
pub(crate) fn packet(begun: u64, bytes: &[u8], link: usize, header: usize, total: usize) -> u64 {
    // Generators number packets at their end. Of packets that were cut, the end is not theirs; a copy with other VLAN tags has as much less
    // of the packet as it has more of them, so that both are read as if they had two.
    let whole = bytes.len() == total;
    let end = if whole { 128.max(total.saturating_sub(64))..total } else { 0..0 };
    let of_two_tags = (link + bytes.len()).saturating_sub(TWO_TAGS).max(header + LEAST);
    let read = if whole { bytes.len() } else { bytes.len().min(of_two_tags) };
    let rest = bytes.get(header..read.min(128)).unwrap_or_default();
    mix_octets(mix_octets(begun, rest), bytes.get(end).unwrap_or_default())
}

/// A digest of all octets.
pub(crate) fn content(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(SEED ^ bytes.len() as u64, |hash, chunk| {
        mix(hash, chunk.iter().fold(0, |word, octet| word << 8 | u64::from(*octet)))
    })
}

/// Both halves of a product, folded.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}
