//! What the first packets of an opaque ESP SA show beside their lengths: the IV, where the next header would be in clear, and how many
//! octets stand around ESP.
//!
//! The figures are the first few packets in capture order, and a bounded set: both merge exactly. The lengths themselves are
//! counted with the sizes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::sas::Sas;
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::dissect::Stack;
use crate::model::{Protocol, all_bits};
use crate::transform::iv::IvSample;

/// Packets of an SA whose IV is kept: enough for a pattern.
const IVS: usize = 4;

/// Octets of it: the shortest IV, and half of the longest.
const IV: usize = 8;
/// Next headers that are different in ciphertext, and packets that must show them: of four random octets hardly two are the same.
const FEWEST: usize = 3;
/// Octets of the ESP header in front of the IV (RFC 4303 section 2).
const HEADER: usize = 8;
/// Octets of an ICV that a packet may end with. The octet in front of it is the next header, where nothing is encrypted.
const ICVS: [u8; 8] = [0, 8, 12, 16, 20, 24, 32, 64];

/// Evidence about the transform of an opaque ESP SA. There may be very many SAs, so it is kept small.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpaqueEvidence {
    seen: Option<Box<Seen>>,
}

/// What was seen of an SA that has opaque packets.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// Of the first packets, in capture order: the eight octets behind the ESP header.
    #[serde(serialize_with = "all_bits")]
    octets: [u64; IVS],
    /// And the sequence number.
    sequences: [u32; IVS],
    /// And the octet in front of an ICV of each length, where the packet was captured to its end.
    #[serde(serialize_with = "all_bits")]
    next_headers: [u64; IVS],
    /// Of which of them that is so, a bit each.
    ends: u8,
    /// Which of them are structured, a bit each.
    structured: u8,
    /// Packets of these two.
    count: u8,
    /// Octets by which the IP packet is longer than its ESP.
    around: Option<u32>,
    /// Whether other packets had other numbers of them.
    differs: bool,
}

/// Of one packet: the sequence number, the octets behind the ESP header, and the next headers where it was captured to its end.
type Sample = (u32, u64, Option<u64>);

/// Whether the payload after the place of an IV is a structure, text or samples, by the spread of the upper halves of its bytes. One random
/// payload in ten thousand is as uneven. False for an IP packet in clear.
fn is_structured(behind: &[u8]) -> bool {
    /// Fewer octets show no spread, more cost time.
    const LEAST: usize = 24;
    const MOST: usize = 64;
    /// Chi-squared of 16 values, with 15 degrees of freedom.
    const UNEVEN: usize = 45;
    let is_ip = |at: usize| behind.get(at).is_some_and(|octet| matches!(octet, 0x45..=0x4f | 0x60..=0x6f));
    let octets = behind.get(IV..).unwrap_or_default();
    let octets = octets.get(..MOST).unwrap_or(octets);
    let mut counts = [0_usize; 16];
    for octet in octets {
        if let Some(count) = counts.get_mut(usize::from(octet >> 4)) {
            *count += 1;
        }
    }
    let squares: usize = counts.iter().map(|count| count * count).sum();
    let all = octets.len();
    all >= LEAST && 16 * squares > all * (all + UNEVEN) && !is_ip(0) && !is_ip(IV)
}

impl Seen {
    fn sample(&self, at: usize) -> Option<Sample> {
        let next_headers = self.next_headers.get(at).filter(|_| self.ends >> at & 1 == 1);
        Some((*self.sequences.get(at)?, *self.octets.get(at)?, next_headers.copied()))
    }
}

impl OpaqueEvidence {
    /// How many more packets add something to the IVs.
    pub(crate) fn wanted(&self) -> u8 {
        self.seen.as_ref().map_or(IVS as u8, |seen| (IVS as u8).saturating_sub(seen.count))
    }

    /// Takes in the octets behind the ESP header of a packet, of which there are `bytes` with the header.
    pub(crate) fn add(&mut self, sequence: u32, behind: &[u8], bytes: u32) {
        if let Some(octets) = behind.first_chunk::<IV>()
            && self.wanted() > 0
        {
            let inside = (bytes as usize).saturating_sub(HEADER);
            let end = behind.get(..inside);
            let is_structured = is_structured(end.unwrap_or(behind));
            self.add_sample(sequence, u64::from_be_bytes(*octets), end.map(next_headers), is_structured);
        }
    }

    fn add_sample(&mut self, sequence: u32, octets: u64, next_headers: Option<u64>, is_structured: bool) {
        let seen = self.seen.get_or_insert_default();
        let at = usize::from(seen.count);
        // A copy shows nothing new.
        let own = (sequence, octets, next_headers);
        if (0..at).any(|at| seen.sample(at) == Some(own)) {
            return;
        }
        if let (Some(own), Some(number)) = (seen.octets.get_mut(at), seen.sequences.get_mut(at)) {
            (*own, *number) = (octets, sequence);
            seen.structured |= u8::from(is_structured) << at;
            seen.count += 1;
        }
        if let (Some(own), Some(ends)) = (seen.next_headers.get_mut(at), next_headers) {
            *own = ends;
            seen.ends |= 1 << at;
        }
    }

    /// Takes in how many octets stand around the ESP of a packet.
    pub(crate) fn add_around(&mut self, octets: u32) {
        let seen = self.seen.get_or_insert_default();
        seen.differs |= *seen.around.get_or_insert(octets) != octets;
    }

    pub(crate) fn merge(&mut self, later: Self) {
        let Self { seen } = later;
        let Some(seen) = seen else { return };
        let Seen { octets, sequences, next_headers, ends, structured, count, around, differs } = *seen;
        let samples = sequences.into_iter().zip(octets).zip(next_headers).enumerate().take(usize::from(count));
        for (at, ((sequence, octets), next_headers)) in samples {
            let next_headers = (ends >> at & 1 == 1).then_some(next_headers);
            self.add_sample(sequence, octets, next_headers, structured >> at & 1 == 1);
        }
        if let Some(around) = around {
            self.add_around(around);
        }
        if differs {
            self.seen.get_or_insert_default().differs = true;
        }
    }

    /// The first packets, in capture order.
    fn samples(&self) -> impl Iterator<Item = Sample> {
        self.seen.iter().flat_map(|seen| (0..usize::from(seen.count)).filter_map(|at| seen.sample(at)))
    }

    /// The IVs, in capture order, each of a packet once.
    pub(crate) fn ivs(&self) -> Vec<IvSample> {
        let mut ivs = Vec::new();
        for (sequence, octets, _) in self.samples() {
            let own = IvSample { sequence, octets };
            if !ivs.contains(&own) {
                ivs.push(own);
            }
        }
        ivs
    }

    /// The numbers that different packets bear, among the first packets.
    pub(crate) fn numbers_of_several(&self) -> Vec<u32> {
        let differ = |one: Sample, other: Sample| {
            one.1 != other.1 || one.2.zip(other.2).is_some_and(|(one, other)| one != other)
        };
        let of_several = |own: &Sample| self.samples().any(|other| own.0 == other.0 && differ(*own, other));
        let numbers: BTreeSet<u32> = self.samples().filter(of_several).map(|own| own.0).collect();
        numbers.into_iter().collect()
    }

    /// Whether the packets with one number that both hold are the same ones. `None` where there are none, or where the octets may be a
    /// counter, which is the same in other packets too.
    pub(crate) fn is_of_same_packets(&self, other: &Self) -> Option<bool> {
        let (own, other) = (self.ivs(), other.ivs());
        let common = |iv: &IvSample| Some((iv.octets, other.iter().find(|o| o.sequence == iv.sequence)?.octets));
        let pairs: Vec<(u64, u64)> = own.iter().filter_map(common).collect();
        if pairs.iter().any(|(own, other)| own != other) {
            return Some(false);
        }
        let high = |(octets, _): &(u64, u64)| octets >> 32;
        pairs.iter().zip(pairs.iter().skip(1)).any(|(one, next)| high(one) != high(next)).then_some(true)
    }

    /// Whether a number that comes again comes with the same packet, as far as the few samples show: of equal packets these hold one.
    pub(crate) fn repeats_packets(&self) -> bool {
        let samples = self.ivs();
        let is_new = |(at, own): (usize, &IvSample)| samples.iter().take(at).all(|b| b.sequence != own.sequence);
        let differs = samples.iter().zip(samples.iter().skip(1)).any(|(own, next)| own.octets != next.octets);
        differs && samples.iter().enumerate().all(is_new)
    }

    /// Whether most of the first packets are structured.
    pub(crate) fn is_structured(&self) -> bool {
        /// Of fewer packets it may be chance.
        const LEAST: u32 = 3;
        self.seen.as_ref().is_some_and(|seen| seen.structured.count_ones() >= LEAST)
    }

    /// Whether packets of different numbers hold the same: the octets before ICVs of each length, or the four that end the place of an IV
    /// of which the first four change. Of ciphertext neither is so, nor of packets in clear that end with an ICV.
    pub(crate) fn is_one_content(&self) -> bool {
        /// Of fewer packets it may be chance.
        const LEAST: usize = 3;
        let samples: Vec<Sample> = self.samples().collect();
        let mut numbers: Vec<u32> = samples.iter().map(|(sequence, ..)| *sequence).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let pairs = || samples.iter().zip(samples.iter().skip(1));
        let ends_alike = pairs().all(|(a, b)| a.2.is_some() && a.2 == b.2);
        let goes_on_alike = pairs().all(|(a, b)| a.1 as u32 == b.1 as u32 && a.1 as u32 != 0 && a.1 >> 32 != b.1 >> 32);
        samples.len() >= LEAST && numbers.len() == samples.len() && (ends_alike || goes_on_alike)
    }

    /// Octets around ESP, where all packets have the same.
    pub(crate) fn around(&self) -> Option<u32> {
        self.seen.as_ref().filter(|seen| !seen.differs).and_then(|seen| seen.around)
    }

    /// Whether packets have different numbers of octets around ESP.
    pub(crate) fn is_around_mixed(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.differs)
    }

    /// Whether the first packets lie there in clear: they have one next header in front of an ICV, of a protocol that their first octets are
    /// those of. So ESP-NULL is known in transport mode around protocols without a checksum.
    pub(crate) fn is_of_a_protocol(&self) -> bool {
        let is_clear = |icv: &u8| {
            let Some(mut all) = self.next_headers_before(u32::from(*icv)) else { return false };
            let Some(first) = all.next() else { return false };
            let mut same = 1;
            all.all(|own| {
                same += 1;
                own == first
            }) && same >= FEWEST
                && self.ivs().iter().all(|sample| begins_as(first, sample.octets))
        };
        ICVS.iter().any(is_clear)
    }

    /// Whether the first packets have nearly as many next headers as there are packets, if they end with an ICV of this length: that is
    /// ciphertext. `None` where too few packets were captured to their end, or no such length is known.
    pub(crate) fn is_next_header_random(&self, icv_bytes: u32) -> Option<bool> {
        let mut all: Vec<u8> = self.next_headers_before(icv_bytes)?.collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        (count >= FEWEST).then_some(all.len() >= FEWEST)
    }

    /// The octets in front of an ICV of this length, of packets that were captured to their end; `None` for other lengths.
    fn next_headers_before(&self, icv_bytes: u32) -> Option<impl Iterator<Item = u8>> {
        let seen = self.seen.as_ref()?;
        let place = ICVS.iter().position(|icv| u32::from(*icv) == icv_bytes)?;
        let whole = seen.next_headers.iter().enumerate().filter(|(at, _)| seen.ends >> at & 1 == 1);
        Some(whole.filter_map(move |(_, word)| word.to_be_bytes().get(place).copied()))
    }
}

/// SPIs below are reserved (RFC 4303 section 2.1).
const FIRST_SPI: u32 = 256;

/// Whether eight octets are the first ones of a protocol that has no checksum to verify: ESP (RFC 4303 section 2), AH (RFC 4302 section 2), RSVP (RFC 2205 section 3.1.1), EIGRP (RFC 7868
/// section 6.1), EtherIP (RFC 3378 section 3), a session of L2TPv3 (RFC 3931 section 4.1.1).
fn begins_as(protocol: u8, octets: u64) -> bool {
    let [first, second, third, fourth, ..] = octets.to_be_bytes();
    match protocol {
        50 => octets >> 32 >= u64::from(FIRST_SPI),
        51 => matches!((second, third, fourth), (1.., 0, 0)),
        46 => first >> 4 == 1 && matches!(second, 1..=20),
        88 => first == 2 && matches!(second, 1..=11),
        97 => matches!((first, second), (0x30, 0)),
        // Text is no session.
        115 => {
            let session = [first, second, third, fourth];
            session != [0; 4] && !session.iter().all(|octet| matches!(octet, b' '..=b'~'))
        }
        _ => false,
    }
}

/// The octets in front of ICVs of each length, the shortest first; 0 where the packet is too short.
fn next_headers(behind: &[u8]) -> u64 {
    let at = |icv: u8| behind.len().checked_sub(usize::from(icv) + 1).and_then(|at| behind.get(at));
    u64::from_be_bytes(ICVS.map(|icv| at(icv).copied().unwrap_or_default()))
}

impl Sas {
    /// Takes in what a frame shows of its opaque ESP packets. A fragment is shorter than its packet; its lengths say nothing.
    pub(in crate::analysis) fn observe_opaque(
        &mut self,
        o: &Observation,
        data: &[u8],
        stack: &Stack,
        sights: &[SaSight],
    ) {
        let opaque = |sight: &SaSight| sight.protocol == Protocol::Esp && sight.opaque;
        for (header, sight) in stack.sas.iter().zip(sights).filter(|(_, sight)| opaque(sight)) {
            let Some(state) = self.state_mut(sight.sa) else { continue };
            if !o.class.fragment {
                state.evidence.add_around(sight.outer_bytes.saturating_sub(sight.bytes));
            }
            let at = header.offset as usize + HEADER;
            if let Some(sequence) = sight.sequence {
                // The end of a fragment is not that of its packet.
                let bytes = if o.class.fragment { u32::MAX } else { sight.bytes };
                state.evidence.add(sequence, data.get(at..).unwrap_or_default(), bytes);
            }
        }
    }

    /// Takes in the octets behind the ESP header of a packet in flow, which is like the last one of its SA.
    #[cold]
    pub(in crate::analysis) fn add_iv(&mut self, sa: u32, sequence: u32, behind: &[u8], bytes: u32) {
        if let Some(state) = self.state_mut(sa) {
            state.evidence.add(sequence, behind, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(sequences: std::ops::Range<u32>, around: &[u32]) -> OpaqueEvidence {
        let mut evidence = OpaqueEvidence::default();
        for sequence in sequences {
            let octets = u64::from(sequence) * 77;
            evidence.add_sample(sequence, octets, (sequence % 3 > 0).then_some(octets), sequence % 2 > 0);
        }
        around.iter().for_each(|octets| evidence.add_around(*octets));
        evidence
    }

    #[test]
    fn merging_is_what_one_state_would_have_seen() {
        for cut in 0..20 {
            let mut merged = evidence(0..cut, &[20, 20]);
            merged.merge(evidence(cut..20, &[20, 44]));
            assert_eq!(merged, evidence(0..20, &[20, 20, 20, 44]));
            assert!(merged.wanted() == 0 && merged.ivs().len() == IVS && merged.around().is_none());
        }
        assert_eq!(evidence(0..1, &[20, 20]).around(), Some(20));
    }

    #[test]
    fn next_headers_are_random_where_hardly_two_are_the_same() {
        let of = |ends: &[(u8, usize)]| {
            let mut evidence = OpaqueEvidence::default();
            for (&(next, cut), sequence) in ends.iter().zip(1..) {
                let behind = [&[sequence as u8; 20][..], &[next], &[7; 12]].concat();
                evidence.add(sequence, behind.get(..33 - cut).unwrap_or_default(), 8 + 33);
            }
            evidence.is_next_header_random(12)
        };
        assert_eq!(of(&[(1, 0), (200, 0), (77, 0), (3, 0)]), Some(true));
        assert_eq!(of(&[(88, 0), (88, 0), (88, 0), (89, 0)]), Some(false));
        assert_eq!(of(&[(1, 0), (200, 0), (77, 1), (3, 1)]), None);
    }
}
