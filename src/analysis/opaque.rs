//! What the first packets of an opaque ESP SA show beside their lengths: the IV, and how many octets stand around ESP.
//!
//! The figures are the first few packets in capture order, and a bounded set: both merge exactly. The lengths themselves are
//! counted with the sizes.

use serde::{Deserialize, Serialize};

use super::observation::{Observation, SaSight};
use super::sas::Sas;
use crate::dissect::Stack;
use crate::model::Protocol;
use crate::transform::iv::IvSample;

/// Packets of an SA whose IV is kept: enough for a pattern.
const IVS: usize = 8;
/// Different numbers of octets around ESP that are kept.
const AROUND: usize = 4;

/// Octets of the ESP header in front of the IV (RFC 4303 section 2).
const HEADER: usize = 8;

/// Evidence about the transform of an opaque ESP SA.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpaqueEvidence {
    /// Sequence number and the eight octets behind the ESP header of the first packets.
    ivs: Vec<(u32, u64)>,
    /// The least numbers of octets by which the IP packet is longer than its ESP, in order.
    around: Vec<u32>,
    /// Whether there were more than are kept.
    more_around: bool,
}

impl OpaqueEvidence {
    /// Whether further packets add nothing to the IVs: the SA may have an express lane.
    pub(crate) fn is_full(&self) -> bool {
        self.ivs.len() >= IVS
    }

    fn add_iv(&mut self, sequence: u32, octets: u64) {
        if !self.is_full() {
            self.ivs.push((sequence, octets));
        }
    }

    fn add_around(&mut self, octets: u32) {
        let Err(at) = self.around.binary_search(&octets) else { return };
        self.around.insert(at, octets);
        if self.around.len() > AROUND {
            self.around.truncate(AROUND);
            self.more_around = true;
        }
    }

    pub(crate) fn merge(&mut self, later: Self) {
        let Self { ivs, around, more_around } = later;
        ivs.into_iter().for_each(|(sequence, octets)| self.add_iv(sequence, octets));
        around.into_iter().for_each(|octets| self.add_around(octets));
        self.more_around |= more_around;
    }

    /// The IVs, in capture order.
    pub(crate) fn ivs(&self) -> Vec<IvSample> {
        self.ivs.iter().map(|&(sequence, octets)| IvSample { sequence, octets }).collect()
    }

    /// Octets around ESP, where all packets have the same.
    pub(crate) fn around(&self) -> Option<u32> {
        match (self.around.as_slice(), self.more_around) {
            ([only], false) => Some(*only),
            _ => None,
        }
    }
}

impl Sas {
    /// Takes in what a frame shows of its opaque ESP packets. A fragment is shorter than its packet; its lengths say nothing.
    pub(super) fn observe_opaque(&mut self, o: &Observation, data: &[u8], stack: &Stack, sights: &[SaSight]) {
        let opaque = |sight: &SaSight| sight.protocol == Protocol::Esp && sight.opaque;
        for (header, sight) in stack.sas.iter().zip(sights).filter(|(_, sight)| opaque(sight)) {
            let Some(state) = self.state_mut(sight.sa) else { continue };
            if !o.class.fragment {
                state.evidence.add_around(sight.outer_bytes.saturating_sub(sight.bytes));
            }
            if state.evidence.is_full() {
                continue;
            }
            let at = header.offset as usize + HEADER;
            let octets = data.get(at..).and_then(|rest| rest.first_chunk::<HEADER>());
            if let (Some(sequence), Some(octets)) = (sight.sequence, octets) {
                state.evidence.add_iv(sequence, u64::from_be_bytes(*octets));
            }
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
            let mut merged = evidence(0..cut, &[20, 28]);
            merged.merge(evidence(cut..20, &[44, 20, 60, 36]));
            assert_eq!(merged, evidence(0..20, &[60, 36, 44, 28, 20]));
            assert!(merged.is_full() && merged.more_around && merged.around().is_none());
        }
        assert_eq!(evidence(0..1, &[20, 20]).around(), Some(20));
    }
}
