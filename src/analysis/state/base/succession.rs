//! How the state of one capture goes on in that of another: what the sequence numbers of the SAs in both say.

use serde::{Deserialize, Deserializer, Serialize};

use crate::analysis::state::sa::sequence::SequenceState;
use crate::analysis::state::sound::check;
use crate::analysis::state::stream::StreamState;
use crate::model::SaKey;

/// The sequence numbers of all SAs at one end of a capture, in the order of their keys.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Border {
    sas: Vec<(SaKey, SequenceState)>,
}

impl Border {
    /// The numbers that a state begins with.
    #[must_use]
    pub fn head(state: &StreamState) -> Self {
        Self::of(state, SequenceState::head)
    }

    /// The numbers that a state ends with.
    #[must_use]
    pub fn tail(state: &StreamState) -> Self {
        Self::of(state, SequenceState::tail)
    }

    fn of(state: &StreamState, end: impl Fn(&SequenceState) -> Option<SequenceState>) -> Self {
        let known = state.tables.sas.iter().filter_map(|(id, key)| Some((*key, state.sas.get(id)?)));
        let mut sas: Vec<_> = known.filter_map(|(key, sa)| Some((key, end(&sa.sequence)?))).collect();
        sas.sort_unstable_by_key(|(key, _)| *key);
        Self { sas }
    }
}

impl<'de> Deserialize<'de> for Border {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sas: Vec<(SaKey, SequenceState)> = Vec::deserialize(deserializer)?;
        let sorted = sas.iter().zip(sas.iter().skip(1)).all(|((own, _), (next, _))| own < next);
        if !sorted {
            return Err(serde::de::Error::custom("its SAs at a border are not in order"));
        }
        let border = Self { sas };
        check(&border).map_err(serde::de::Error::custom)?;
        Ok(border)
    }
}

/// What the SAs that two states share say about their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Succession {
    /// SAs with numbers in both.
    pub shared: u64,
    /// Of these, SAs whose numbers go on in the later state with none missing.
    pub joined: u64,
    /// SAs of which both hold the same numbers.
    pub parallel: u64,
    /// SAs whose numbers the later one holds again, where nothing tells whether the packets are the same ones.
    pub unproved: u64,
    /// Numbers that both hold, of the SAs that go on: packets around the border that came again, or frames that are in both.
    pub again: u64,
    /// Numbers missing between the two, of the SAs that go on.
    pub missing: u64,
    /// Numbers from the least to the highest of the SAs that go on, in the state before.
    pub numbers_before: u64,
    /// The same in the later state.
    pub numbers_after: u64,
}

/// How one SA goes on.
enum Step {
    /// The numbers go on. How many are missing between the two, and how many are in both.
    On(u64, u64),
    Same,
    Anew,
}

impl Succession {
    /// Compares the end of one capture with the beginning of another, which begins later.
    #[must_use]
    pub fn of(own: &Border, later: &Border) -> Self {
        let mut all = Self::default();
        let mut known = own.sas.iter().peekable();
        for (key, later) in &later.sas {
            while known.next_if(|(own, _)| own < key).is_some() {}
            let Some((_, own)) = known.next_if(|(own, _)| own == key) else { continue };
            let Some(step) = step(own, later) else { continue };
            all.shared += 1;
            match step {
                Step::On(missing, again) => {
                    all.again = all.again.saturating_add(again);
                    all.joined += u64::from(missing == 0);
                    all.missing = all.missing.saturating_add(missing);
                    all.numbers_before = all.numbers_before.saturating_add(numbers(own.last_range()));
                    all.numbers_after = all.numbers_after.saturating_add(numbers(later.first_range()));
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

    /// Whether hardly an SA misses a number between the two: nothing that belongs there is unknown.
    #[must_use]
    pub fn is_close(&self) -> bool {
        self.goes_on() && self.joined > 0 && self.joined.saturating_mul(10) >= self.shared.saturating_mul(9)
    }

    /// Whether no SA goes on: the numbers of all of them begin anew, or the later capture comes before the other.
    #[must_use]
    pub fn turns_back(&self) -> bool {
        self.goes_on() && self.joined == 0 && self.missing == 0
    }

    /// Whether no number is missing between the two.
    #[must_use]
    pub fn is_seamless(&self) -> bool {
        self.joined > 0 && self.missing == 0
    }
}

/// Numbers that are out of order around a border, at the most.
const REORDERED: u64 = 4_096;
/// Up to this many are always allowed; more only if they are at most half of the numbers on each side.
const FEW_REORDERED: u64 = 32;

/// How many numbers there are from one to the other.
fn numbers(range: Option<(u32, u32)>) -> u64 {
    range.map_or(0, |(low, high)| u64::from(high.wrapping_sub(low)) + 1)
}

fn step(own: &SequenceState, later: &SequenceState) -> Option<Step> {
    let ((own_low, own_high), (later_low, later_high)) = (own.last_range()?, later.first_range()?);
    let ahead = later_low.wrapping_sub(own_high);
    if ahead > 0 && ahead < 1 << 31 {
        return Some(Step::On(u64::from(ahead) - 1, 0));
    }
    let overlap = u64::from(own_high.wrapping_sub(later_low)) + 1;
    let (own_numbers, later_numbers) = (numbers(own.last_range()), numbers(later.first_range()));
    // Numbers that all come before, or go on side by side, are not out of order around a border.
    let is_after = |a: u32, b: u32| (b.wrapping_sub(a) as i32) > 0;
    let around = is_after(own_low, later_low)
        && is_after(own_high, later_high)
        && overlap <= (own_numbers.min(later_numbers) / 2).clamp(FEW_REORDERED, REORDERED);
    Some(match own.common(later) {
        common if around && common.saturating_mul(2) < later_numbers => Step::On(0, common),
        0 => Step::Anew,
        _ => Step::Same,
    })
}
