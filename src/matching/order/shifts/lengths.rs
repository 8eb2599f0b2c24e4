//! What lengths alone say against a shifted part: of most parts it is enough.

use super::CONTRADICTED;
use super::pair::{LONGEST, Made, PlacedPair};

/// The lengths of a part of one SA, in the order of its pairs.
pub(super) struct PartLengths {
    count: usize,
    /// Lengths of ESP, and what the SA makes of the plaintext packets.
    esp: [u32; LONGEST],
    made: [u32; LONGEST],
}

impl PartLengths {
    /// `None` where the pairs are of several SAs, or not all lengths are known.
    pub(super) fn of(own: &[PlacedPair]) -> Option<Self> {
        /// Longer than any ESP.
        const NEVER: u32 = u32::MAX;
        let mut lengths = Self { count: own.len().min(LONGEST), esp: [0; LONGEST], made: [0; LONGEST] };
        let sa = own.first()?.sa;
        for ((esp, made), pair) in lengths.esp.iter_mut().zip(&mut lengths.made).zip(own) {
            let Made::Length(length) = pair.made else { return None };
            (*esp, *made) = (pair.esp.filter(|esp| *esp != NEVER && pair.sa == sa)?, length.unwrap_or(NEVER));
        }
        Some(lengths)
    }

    /// Whether lengths alone rule the shift out. `most`: the most weight that changes of the delay can give in its favour.
    pub(super) fn suffice(&self, shift: isize, most: f64, enough: f64) -> bool {
        let by = shift.unsigned_abs();
        let (Some(esp), Some(made)) = (self.esp.get(..self.count), self.made.get(..self.count)) else { return false };
        let (esp, made) = if shift < 0 { (esp.get(by..), Some(made)) } else { (Some(esp), made.get(by..)) };
        let (esp, made) = (esp.unwrap_or_default(), made.unwrap_or_default());
        let contradicted: u32 = esp.iter().zip(made).map(|(esp, made)| u32::from(esp != made)).sum();
        CONTRADICTED * f64::from(contradicted) - most >= enough
    }
}
