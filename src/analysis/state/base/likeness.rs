//! Whether two states show the same packets: what the sequence numbers and the first packets of the SAs in both say.

use crate::analysis::state::stream::StreamState;

/// What the SAs that two states share say about whether both saw the same packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Likeness {
    /// SAs with numbers in both.
    pub shared: u64,
    /// Of these, SAs of which one state holds half of the numbers of the other, or more.
    pub repeated: u64,
    /// Of these, SAs of which first packets with one number have the same ciphertext in both.
    pub same: u64,
    /// And those of which they have another one.
    pub other: u64,
}

impl Likeness {
    /// Compares two states.
    #[must_use]
    pub fn of(own: &StreamState, later: &StreamState) -> Self {
        let mut all = Self::default();
        for (id, key) in later.tables.sas.iter() {
            let own = own.tables.sas.find(key).and_then(|id| own.sas.get(id));
            let (Some(own), Some(later)) = (own, later.sas.get(id)) else { continue };
            let Some(repeats) = own.sequence.repeats(&later.sequence) else { continue };
            all.shared += 1;
            all.repeated += u64::from(repeats);
            match own.evidence.is_of_same_packets(&later.evidence) {
                Some(true) => all.same += 1,
                Some(false) => all.other += 1,
                None => {}
            }
        }
        all
    }

    /// Whether most SAs have the same numbers in both, and no packet tells that these are other packets: two taps, or counters that began
    /// anew.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.repeated > 0 && self.repeated.saturating_mul(2) >= self.shared && self.other == 0
    }

    /// Whether both saw the same packets for certain.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.repeats() && self.same > 0
    }

    /// Whether the packets of equal numbers are other ones: the counters began anew.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.other > 0 && self.same == 0
    }
}
