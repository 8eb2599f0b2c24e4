//! How the state of one capture goes on in that of another: what the sequence numbers of the SAs in both say.

use super::partial::Partial;
use super::sequence::SequenceState;

/// What the SAs that two states share say about their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Succession {
    /// SAs with numbers in both.
    pub shared: u64,
    /// Of these, SAs whose numbers go on in the later state with none missing.
    pub joined: u64,
    /// SAs of which both hold the same numbers.
    pub parallel: u64,
    /// Numbers missing between the two, of the SAs that go on.
    pub missing: u64,
}

/// How one SA goes on.
enum Step {
    On(u64),
    Same,
    Anew,
}

impl Succession {
    /// Compares two states, of which `later` begins later.
    #[must_use]
    pub fn of(own: &Partial, later: &Partial) -> Self {
        let mut all = Self::default();
        for (id, key) in later.tables.sas.iter() {
            let known = own.tables.sas.find(key).and_then(|id| own.sas.get(id));
            let Some((own, later)) = known.zip(later.sas.get(id)) else { continue };
            let Some(step) = step(&own.sequence, &later.sequence) else { continue };
            all.shared += 1;
            match step {
                Step::On(missing) => {
                    all.joined += u64::from(missing == 0);
                    all.missing = all.missing.saturating_add(missing);
                }
                Step::Same => all.parallel += 1,
                Step::Anew => {}
            }
        }
        all
    }

    /// Whether both captures saw the same packets: two taps.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        self.parallel > 0 && self.parallel.saturating_mul(2) >= self.shared
    }

    /// Whether the later capture goes on where the other ends.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.shared > 0 && self.parallel == 0
    }

    /// Whether no number is missing between the two.
    #[must_use]
    pub fn is_seamless(&self) -> bool {
        self.joined > 0 && self.missing == 0
    }
}

/// Numbers that are out of order around a border, at the most.
const REORDERED: u64 = 4_096;

fn step(own: &SequenceState, later: &SequenceState) -> Option<Step> {
    let ((_, own_high), (later_low, later_high)) = (own.last_range()?, later.first_range()?);
    let ahead = later_low.wrapping_sub(own_high);
    if ahead > 0 && ahead < 1 << 31 {
        return Some(Step::On(u64::from(ahead) - 1));
    }
    let overlap = u64::from(own_high.wrapping_sub(later_low)) + 1;
    let later_numbers = u64::from(later_high.wrapping_sub(later_low)) + 1;
    Some(match own.common(later) {
        // Around the border packets come out of order.
        common if overlap <= REORDERED && common.saturating_mul(2) < later_numbers => Step::On(0),
        0 => Step::Anew,
        _ => Step::Same,
    })
}
