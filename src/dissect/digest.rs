//! Digests that equal packets share and different packets do not, to recognise copies.
//!
//! Fixed for ever, because states of several machines merge: it must never depend on a seed of the process.

use crate::model::Address;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Octets of an Ethernet header with two VLAN tags.
pub(crate) const TWO_TAGS: usize = 22;
/// Octets behind the IP header that are read where they are there.
const LEAST: usize = 24;
const FACTOR: u64 = 0x2d35_8dcc_aa6c_78a5;

/// Begins a digest with what the IP header says: addresses, length, the word that holds identification (IPv6: the flow label) and the
/// protocol. Type of service, TTL and header checksum are left out: they change on the way.
#[inline(always)]
pub(crate) fn begin(src: Address, dst: Address, total_bytes: u32, word: u32, protocol: u8) -> u64 {
    if src.is_v4() && dst.is_v4() {
        let [src, dst] = [src, dst].map(|address| u64::from((address.words().1 as u32).swap_bytes()));
        let lengths = u64::from((total_bytes as u16).swap_bytes()) | u64::from(word.swap_bytes()) << 16;
        // What no header can say: a packet that is longer.
        return begin_ipv4(src | dst << 32, lengths | u64::from(total_bytes >> 16) << 48, protocol);
    }
    begin_between(pair(src, dst), total_bytes, word, protocol)
}

/// Begins a digest with the same, of IPv4 as of IPv6; `addresses`: the digest of both ([`pair`]). Of IPv4 it is not that of [`begin`].
#[inline(always)]
pub(crate) fn begin_between(addresses: u64, total_bytes: u32, word: u32, protocol: u8) -> u64 {
    // Two products that do not wait for each other.
    let identity = u64::from(word) | u64::from(protocol) << 32;
    addresses ^ fold(u64::from(total_bytes) ^ FACTOR, identity ^ SEED)
}

/// The same of IPv4, in words as they stand in the header (the first octet weighs least): the addresses; and length, identification and
/// place of the fragment, nothing above. Of a packet with a sequence number all of these are 0: a router may fragment it, and a firewall may give it
/// another identification.
#[inline(always)]
pub(super) const fn begin_ipv4(addresses: u64, lengths: u64, protocol: u8) -> u64 {
    fold(addresses ^ SEED, (lengths | (protocol as u64) << 56) ^ FACTOR)
}

/// Adds what tells packets of an SA apart: the words of the AH or ESP header and behind it.
#[inline(always)]
pub(crate) const fn mix_numbered(begun: u64, [header, first, second]: [u64; 3]) -> u64 {
    mix(fold(begun ^ header, first ^ FACTOR), second)
}

/// A digest of two addresses.
#[inline(always)]
pub(crate) fn pair(src: Address, dst: Address) -> u64 {
    let ((a, b), (c, d)) = (src.words(), dst.words());
    fold(b ^ d.rotate_left(32) ^ SEED, a ^ c.rotate_left(32) ^ FACTOR)
}

/// Adds a word: a folded 64-bit product.
#[inline(always)]
pub(crate) const fn mix(hash: u64, word: u64) -> u64 {
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
/// octets and the last 64. `link`: octets in front of it; `snap`: of longer frames no more octets were captured.
#[inline]
pub(crate) fn packet(begun: u64, bytes: &[u8], (link, header): (usize, usize), total: usize, snap: u32) -> u64 {
    // Generators number packets at their end. Of packets that were cut, the end is not theirs; a copy with other VLAN tags has as much less
    // of the packet as it has more of them, so that both are read as if they had two, also where only a copy with two would have been cut.
    // Only where an identification tells packets apart: what a generator numbers at the end alone would be equal.
    let told = header == 20 && bytes.get(4..6).is_some_and(|id| id != [0, 0]);
    let snap = if told { snap } else { u32::MAX };
    let whole = bytes.len() == total && link.max(TWO_TAGS) + total <= snap as usize;
    let end = if whole { 128.max(total.saturating_sub(64))..total } else { 0..0 };
    let captured = if bytes.len() < total { link + bytes.len() } else { usize::MAX };
    let shown = shown_behind_two_tags(0, captured.min(snap as usize));
    let read = if whole { bytes.len() } else { bytes.len().min(shown.max(header + LEAST)) };
    let begun = mix_many(begun, bytes.get(header..read.min(128)).unwrap_or_default());
    match bytes.get(end) {
        Some(end) if !end.is_empty() => mix_many(begun, end),
        _ => begun,
    }
}

/// Adds many octets and how many they are: two words by one product, and two products that do not wait for each other.
#[inline]
pub(crate) fn mix_many(hash: u64, octets: &[u8]) -> u64 {
    let (words, odd) = octets.as_chunks::<8>();
    let (blocks, rest) = words.as_chunks::<4>();
    let (mut left, mut right) = (hash ^ SEED, hash.rotate_left(32) ^ octets.len() as u64);
    for [a, b, c, d] in blocks {
        left = fold(left ^ u64::from_le_bytes(*a), u64::from_le_bytes(*b) ^ FACTOR);
        right = fold(right ^ u64::from_le_bytes(*c), u64::from_le_bytes(*d) ^ FACTOR);
    }
    if !rest.is_empty() || !odd.is_empty() {
        let word = |at: usize| rest.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        // The last octets once more, where they fill no word; the length tells how many of them are new.
        let last = match octets.last_chunk() {
            Some(last) => u64::from_le_bytes(*last),
            None => odd.iter().fold(0, |word, octet| word << 8 | u64::from(*octet)),
        };
        left = fold(left ^ word(0), word(1) ^ FACTOR);
        right = fold(right ^ word(2), last ^ FACTOR);
    }
    mix(left, right.rotate_left(32))
}

/// Octets that a cut frame would show of a packet behind two tags, of which it shows `bytes` behind `link` octets.
#[inline]
pub(crate) const fn shown_behind_two_tags(link: usize, bytes: usize) -> usize {
    (link + bytes).saturating_sub(TWO_TAGS)
}

/// [`mix_many`] of sixteen octets.
#[inline(always)]
pub(crate) fn mix_sixteen(hash: u64, octets: &[u8; 16]) -> u64 {
    let wide = u128::from_le_bytes(*octets);
    let (first, last) = (wide as u64, (wide >> 64) as u64 ^ FACTOR);
    let left = fold(hash ^ SEED ^ first, last);
    let right = fold(hash.rotate_left(32) ^ octets.len() as u64, last);
    mix(left, right.rotate_left(32))
}

/// A digest of all octets.
pub(crate) fn content(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(SEED ^ bytes.len() as u64, |hash, chunk| {
        mix(hash, chunk.iter().fold(0, |word, octet| word << 8 | u64::from(*octet)))
    })
}

/// Both halves of a product, folded.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let wide = (a as u128) * (b as u128);
    wide as u64 ^ (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_octets_are_told_from_those_that_differ_in_one_bit_or_in_length() {
        let octets: Vec<u8> = (1..=140).collect();
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..octets.len() {
            assert!(seen.insert(mix_many(7, &octets[..length])), "{length}");
            // As zeros that are not there.
            assert!(seen.insert(mix_many(7, &vec![0; length + 1])), "{length} zeros");
        }
        for bit in 0..octets.len() * 8 {
            let mut other = octets.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(mix_many(7, &other)), "bit {bit}");
        }
        assert_ne!(mix_many(7, &octets), mix_many(8, &octets));
        let sixteen = octets.first_chunk().expect("there are more");
        assert_eq!(mix_sixteen(7, sixteen), mix_many(7, sixteen));
    }
}
