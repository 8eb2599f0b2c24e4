//! What the first packets of an opaque ESP SA show beside their lengths: the IV, and how many octets stand around ESP.
//!
//! The figures are the first few packets in capture order, and a bounded set: both merge exactly. The lengths themselves are
//! counted with the sizes.

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
/// Octets of the ESP header in front of the IV (RFC 4303 section 2).
const HEADER: usize = 8;

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
    /// Packets of these two.
    count: u8,
    /// Octets by which the IP packet is longer than its ESP.
    around: Option<u32>,
    /// Whether other packets had other numbers of them.
    differs: bool,
}

impl OpaqueEvidence {
    /// How many more packets add something to the IVs.
    pub(crate) fn wanted(&self) -> u8 {
        self.seen.as_ref().map_or(IVS as u8, |seen| (IVS as u8).saturating_sub(seen.count))
    }

    /// Takes in the octets behind the ESP header of a packet.
    pub(crate) fn add(&mut self, sequence: u32, behind: &[u8]) {
        if let Some(octets) = behind.first_chunk::<IV>()
            && self.wanted() > 0
        {
            self.add_iv(sequence, u64::from_be_bytes(*octets));
        }
    }

    fn add_iv(&mut self, sequence: u32, octets: u64) {
        let seen = self.seen.get_or_insert_default();
        let at = usize::from(seen.count);
        // A copy shows nothing new.
        let mut known = seen.sequences.iter().zip(&seen.octets).take(at);
        if known.any(|own| own == (&sequence, &octets)) {
            return;
        }
        if let (Some(own), Some(number)) = (seen.octets.get_mut(at), seen.sequences.get_mut(at)) {
            (*own, *number) = (octets, sequence);
            seen.count += 1;
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
        let Seen { octets, sequences, count, around, differs } = *seen;
        sequences
            .into_iter()
            .zip(octets)
            .take(usize::from(count))
            .for_each(|(sequence, octets)| self.add_iv(sequence, octets));
        if let Some(around) = around {
            self.add_around(around);
        }
        if differs {
            self.seen.get_or_insert_default().differs = true;
        }
    }

    /// The IVs, in capture order.
    pub(crate) fn ivs(&self) -> Vec<IvSample> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let samples = seen.sequences.iter().zip(&seen.octets).take(usize::from(seen.count));
        samples.map(|(&sequence, &octets)| IvSample { sequence, octets }).collect()
    }

    /// Octets around ESP, where all packets have the same.
    pub(crate) fn around(&self) -> Option<u32> {
        self.seen.as_ref().filter(|seen| !seen.differs).and_then(|seen| seen.around)
    }
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
                state.evidence.add(sequence, data.get(at..).unwrap_or_default());
            }
        }
    }

    /// Takes in the octets behind the ESP header of a packet in flow, which is like the last one of its SA.
    #[cold]
    pub(in crate::analysis) fn add_iv(&mut self, sa: u32, sequence: u32, behind: &[u8]) {
        if let Some(state) = self.state_mut(sa) {
            state.evidence.add(sequence, behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(sequences: std::ops::Range<u32>, around: &[u32]) -> OpaqueEvidence {
        let mut evidence = OpaqueEvidence::default();
        sequences.for_each(|sequence| evidence.add_iv(sequence, u64::from(sequence) * 77));
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
}
