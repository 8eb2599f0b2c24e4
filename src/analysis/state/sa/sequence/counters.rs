//! Several counters in one SA: senders that share its keys and SPI, each with a count of its own.
//!
//! Their numbers alternate, and each counter continues where it had stopped. The numbers between two counters were never sent: counting
//! them as lost would be false.

use super::SequenceState;
use crate::analysis::limits::{JUMP_STEP, RESTART_FALL};

/// Longest step within one counter, up or down: packets lost or late.
const NEAR: u32 = 64;
/// Most counters tracked in one SA.
const MAX_COUNTS: usize = 8;
/// A step down beyond this is no late packet.
const FALL: u32 = RESTART_FALL.unsigned_abs();
/// Least returns upwards, and downwards, that show alternation.
const FEWEST: u64 = 4;

/// The numbers of one counter so far.
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
    /// Steps up and down to within [`NEAR`] of another counter's last number; those of them to exactly its next number; steps to no known
    /// counter.
    up: u64,
    down: u64,
    exact: u64,
    strays: u64,
    /// Numbers by which other counters than the latest have gone on since that began.
    behind: u64,
    /// Of the exact ones, steps down by more than a restart falls.
    falls: u64,
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
        leaping.counters(|from, to| self.has_most_between(from, to))
    }

    /// Whether most numbers between the last one of a counter and the first of the next were seen, or there are none.
    fn has_most_between(&self, last: u32, first: u32) -> bool {
        let (from, to) = (i64::from(last) + 1, i64::from(first));
        let parts = self.runs.iter().flat_map(|run| run.coverage.parts());
        let seen: i64 = parts.map(|(start, end)| (end.min(to) - start.max(from)).max(0)).sum();
        seen.saturating_mul(2) >= to - from
    }
}

impl Leaping {
    /// Takes in numbers that go on by one, up to `last`.
    fn extend(&mut self, last: u32) {
        if let Some(own) = self.counts.get_mut(self.current)
            && last.wrapping_sub(own.last) as i32 > 0
        {
            let more = last.wrapping_sub(own.last);
            own.last = last;
            self.behind += if self.current + 1 < self.counts.len() { u64::from(more) } else { 0 };
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
        let exact = self.counts.get(at).is_some_and(|count| number == count.last.wrapping_add(1));
        self.exact += u64::from(exact);
        self.falls += u64::from(exact && own.last.wrapping_sub(number) > FALL && !rises);
        self.current = at;
        self.extend(number);
    }

    /// Begins a counter; beyond [`MAX_COUNTS`], it replaces the current one.
    fn begin(&mut self, number: u32) {
        let count = Count { first: number, last: number };
        self.behind = 0;
        if self.counts.len() < MAX_COUNTS {
            self.current = self.counts.len();
            self.counts.push(count);
        } else if let Some(own) = self.counts.get_mut(self.current) {
            *own = count;
        }
    }

    /// Whether a counter began anew, and a few packets of the old count came late between the first ones of the new.
    fn is_restart_with_late_packets(&self) -> bool {
        /// Packets that a network holds back at a switch-over, at most.
        const LATE: u64 = 16;
        let [old, new] = self.counts.as_slice() else { return false };
        self.current == 1
            && new.first < old.first
            && self.behind <= LATE
            && u64::from(new.last.wrapping_sub(new.first)) > 4 * self.behind
    }

    /// The first number of each counter, in ascending order; empty unless the counters alternate and their ranges are disjoint.
    ///
    /// A late bulk returns once and then begins elsewhere (`strays`); parallel paths return to numbers that are not the next (`exact`);
    /// packets captured twice have overlapping ranges. `is_filled`: whether numbers between two counters were seen, which are never sent: a part of
    /// one counter came late.
    fn counters(mut self, is_filled: impl Fn(u32, u32) -> bool) -> Vec<u32> {
        if self.is_restart_with_late_packets() {
            return Vec::new();
        }
        let returns = self.up + self.down;
        let exact = self.exact.saturating_mul(4) >= returns.saturating_mul(3);
        let alternates = self.up.min(self.down) >= FEWEST && exact && self.strays.saturating_mul(8) <= returns;
        self.counts.sort_by_key(|count| count.first);
        // A counter that begins anew does not begin where another one has stopped, far below; packets that are that late fill what they left.
        // What lies between counters further apart is a jump and no loss, whatever they are.
        let apart_by = |(one, next): (&Count, &Count)| next.first.wrapping_sub(one.last);
        let far = |pair: (&Count, &Count)| (FALL + 1..=JUMP_STEP.unsigned_abs()).contains(&apart_by(pair));
        let several = |count: &Count| count.first != count.last;
        let resumes = self.falls > 0
            && exact
            && self.strays < self.counts.len() as u64
            && self.counts.iter().all(several)
            && self.counts.iter().zip(self.counts.iter().skip(1)).all(far);
        let apart = self.counts.is_sorted_by(|one, next| one.last < next.first && !is_filled(one.last, next.first))
            && self.counts.iter().all(|count| count.first <= count.last);
        let firsts = self.counts.iter().map(|count| count.first);
        if (alternates || resumes) && apart { firsts.collect() } else { Vec::new() }
    }
}
