//! Several counters in one SA: senders that share its keys and SPI, each with a count of its own.
//!
//! Their numbers alternate, and each count goes on where it had stopped. What lies between two counts was never sent: as loss and
//! lateness of one counter it would be false.

use super::SequenceState;

/// A step that is no longer stays within its count: some packets lost or late.
const NEAR: u32 = 64;
/// Counts that are told apart; a number that belongs to none of them begins the next one.
const MAX_COUNTS: usize = 8;
/// Fewer returns, up and down each, show no habit.
const FEWEST: u64 = 4;

/// A count among those that alternate.
struct Count {
    first: u32,
    last: u32,
}

/// How the numbers leap between counts.
#[derive(Default)]
struct Leaping {
    counts: Vec<Count>,
    /// Which one the latest number belongs to.
    current: usize,
    /// Leaps up and down to where another count had stopped, those of them that lead to its very next number, and leaps to elsewhere.
    up: u64,
    down: u64,
    exact: u64,
    strays: u64,
}

impl SequenceState {
    /// The first number of each counter, where the packets alternate between several; empty for one counter.
    ///
    /// As far as the steps are listed: [`crate::analysis::limits::FIRST_STEPS`] of each run.
    pub(crate) fn counters(&self) -> Vec<u32> {
        let mut leaping = Leaping::default();
        for run in &self.runs {
            leaping.follow(run.first.raw);
            let Some(steps) = run.steps.as_deref() else {
                leaping.extend(run.last.raw);
                continue;
            };
            for step in steps.first() {
                leaping.extend(step.before.number as u32);
                leaping.follow(step.after.number as u32);
            }
            if !steps.is_whole() {
                break;
            }
            leaping.extend(run.last.raw);
        }
        leaping.counters()
    }
}

impl Leaping {
    /// Takes in numbers that go on by one, up to `last`.
    fn extend(&mut self, last: u32) {
        if let Some(own) = self.counts.get_mut(self.current)
            && last.wrapping_sub(own.last) as i32 > 0
        {
            own.last = last;
        }
    }

    /// Takes in a number that is not the one after the last.
    fn follow(&mut self, number: u32) {
        let near = |count: &Count| (number.wrapping_sub(count.last) as i32).unsigned_abs() <= NEAR;
        let Some(own) = self.counts.get(self.current) else {
            return self.begin(number);
        };
        if near(own) {
            return self.extend(number);
        }
        let Some(at) = self.counts.iter().position(near) else {
            self.strays += 1;
            return self.begin(number);
        };
        let rises = number.wrapping_sub(own.last) as i32 > 0;
        let count = if rises { &mut self.up } else { &mut self.down };
        *count += 1;
        self.exact += u64::from(self.counts.get(at).is_some_and(|count| number == count.last.wrapping_add(1)));
        self.current = at;
        self.extend(number);
    }

    /// Begins a count; beyond the limit, the current one moves there.
    fn begin(&mut self, number: u32) {
        let count = Count { first: number, last: number };
        if self.counts.len() < MAX_COUNTS {
            self.current = self.counts.len();
            self.counts.push(count);
        } else if let Some(own) = self.counts.get_mut(self.current) {
            *own = count;
        }
    }

    /// Bulks that arrive late lead back once each, and to numbers that belong between those of the other path; packets that are
    /// captured twice repeat numbers.
    fn counters(mut self) -> Vec<u32> {
        let returns = self.up + self.down;
        let alternates = self.up.min(self.down) >= FEWEST
            && self.exact.saturating_mul(4) >= returns.saturating_mul(3)
            && self.strays.saturating_mul(8) <= returns;
        self.counts.sort_by_key(|count| count.first);
        let apart = self.counts.is_sorted_by(|one, next| one.first <= one.last && one.last < next.first);
        let firsts = self.counts.iter().map(|count| count.first);
        if alternates && apart { firsts.collect() } else { Vec::new() }
    }
}
