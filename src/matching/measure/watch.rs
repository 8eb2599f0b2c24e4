//! Sequence numbers of one SA as the tunnel's tap saw them: which were there before, and how many are missing.

use std::collections::BTreeSet;

use crate::analysis::limits::{JUMP_STEP, RESTART_FALL, RUN_GAP_NS, RUN_STEP};

/// Words of the window of numbers that are remembered.
const WORDS: usize = 16;
/// Numbers that are remembered below the highest.
const WINDOW: i64 = WORDS as i64 * 64;

/// The numbers of one SA.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct Watch {
    run: Option<Run>,
    /// Missing in the runs before.
    missing: u64,
    /// The step to the latest number.
    step: Option<Step>,
    /// Numbers that were skipped in too short a time for so many packets.
    leapt: u64,
    /// Whether the number fell by more than packets overtake each other.
    fell: bool,
}

/// By how much packets overtake each other at most.
const FALL: i64 = 64;

/// From one number of an SA to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Step {
    /// Time of the one before.
    pub(in crate::matching) ns: i64,
    /// Numbers between them; `None` where the count began anew.
    pub(in crate::matching) skipped: Option<u64>,
}

/// Numbers without a restart in between, unwrapped.
#[derive(Clone, Debug)]
struct Run {
    raw: u32,
    ns: i64,
    begin: i64,
    number: i64,
    highest: i64,
    /// Numbers from the first one on that were seen.
    distinct: u64,
    /// Numbers below the first one that were seen.
    early: BTreeSet<i64>,
    /// A bit for each number, at its value modulo the window.
    seen: [u64; WORDS],
}

impl Run {
    const fn new(raw: u32, ns: i64) -> Self {
        Self { raw, ns, begin: ns, number: 0, highest: 0, distinct: 0, early: BTreeSet::new(), seen: [0; WORDS] }
    }

    fn missing(&self) -> u64 {
        (self.highest + 1).unsigned_abs().saturating_sub(self.distinct) + self.missing_before()
    }

    /// Numbers below the first that are missing. Those that passed before the capture began are not: one that comes late says nothing of those
    /// between, unless most of them come late as well.
    fn missing_before(&self) -> u64 {
        let (mut seen, mut missing) = (0_u64, 0);
        for number in self.early.iter().rev() {
            seen += 1;
            let all = number.unsigned_abs();
            if seen * 2 >= all {
                missing = all - seen;
            }
        }
        missing
    }

    /// Whether a gap of so many nanoseconds has no room for the packets that are skipped in it, at the pace so far: a gateway that takes over
    /// from another sets its counter ahead.
    fn is_leap(&self, skipped: u64, gap: i64) -> bool {
        /// Fewer packets may be a burst, as may some times as many as usual.
        const MANY: u64 = 64;
        const TIMES: i128 = 8;
        /// Packets that have a pace.
        const PACED: u64 = 8;
        let (lasts, packets) = (i128::from(self.ns.saturating_sub(self.begin)), i128::from(self.distinct));
        skipped >= MANY && self.distinct >= PACED && i128::from(skipped) * lasts > i128::from(gap) * packets * TIMES
    }

    /// Notes the number; whether it was there before.
    fn note(&mut self) -> bool {
        for passed in (self.highest + 1..=self.number).take(WORDS * 64) {
            self.bit(passed, |word, bit| *word &= !bit);
        }
        self.highest = self.highest.max(self.number);
        if self.number < 0 {
            return (self.number > -i64::from(RESTART_FALL)) && !self.early.insert(self.number);
        }
        if self.number <= self.highest - WINDOW {
            // Too late to say: a number that was missing is likelier than one that comes again.
            self.distinct += 1;
            return false;
        }
        let mut before = false;
        self.bit(self.number, |word, bit| {
            before = *word & bit != 0;
            *word |= bit;
        });
        self.distinct += u64::from(!before);
        before
    }

    /// Notes the number behind the highest one, of whose place in the window an older one is forgotten.
    fn go_on(&mut self) {
        self.number += 1;
        self.highest = self.number;
        self.distinct += 1;
        self.bit(self.number, |word, bit| *word |= bit);
    }

    fn bit(&mut self, number: i64, with: impl FnOnce(&mut u64, u64)) {
        let at = number.rem_euclid(WINDOW);
        if let Some(word) = self.seen.get_mut((at / 64) as usize) {
            with(word, 1 << (at % 64));
        }
    }
}

impl Watch {
    /// Takes in a number in capture order; whether it was there before.
    pub(in crate::matching) fn see(&mut self, raw: u32, ns: i64) -> bool {
        self.step = None;
        let Some(run) = &mut self.run else {
            return self.run.insert(Run::new(raw, ns)).note();
        };
        let before = run.ns;
        let step = i64::from(raw.wrapping_sub(run.raw).cast_signed());
        // Most numbers are the next one.
        if step == 1 && run.number == run.highest {
            (run.raw, run.ns) = (raw, ns);
            run.go_on();
            self.step = Some(Step { ns: before, skipped: Some(0) });
            return false;
        }
        let jumps = step > i64::from(JUMP_STEP) || step < -i64::from(RUN_STEP);
        if (step < 0 && ns.saturating_sub(run.ns) >= RUN_GAP_NS) || jumps {
            self.missing += run.missing();
            *run = Run::new(raw, ns);
            self.step = Some(Step { ns: before, skipped: None });
        } else {
            self.fell |= step < -FALL;
            let skipped = (run.number + step - run.highest - 1).max(0).unsigned_abs();
            self.leapt += if run.is_leap(skipped, ns.saturating_sub(run.ns)) { skipped } else { 0 };
            (run.raw, run.ns) = (raw, ns);
            run.number += step;
            self.step = Some(Step { ns: before, skipped: Some(skipped) });
        }
        run.note()
    }

    /// The step to the latest number; `None` for the first.
    pub(in crate::matching) const fn step(&self) -> Option<Step> {
        self.step
    }

    /// Numbers that were seen.
    pub(in crate::matching) fn seen(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.distinct + run.early.len() as u64)
    }

    /// Whether a number was far below the one before it: the SA began to count anew, or packets were replayed.
    pub(in crate::matching) const fn fell(&self) -> bool {
        self.fell
    }

    /// Numbers that were skipped in too short a time for so many packets: set ahead, or lost in a burst.
    pub(in crate::matching) const fn leapt(&self) -> u64 {
        self.leapt
    }

    /// Numbers that were not seen, up to the highest one.
    pub(in crate::matching) fn missing(&self) -> u64 {
        self.missing + self.run.as_ref().map_or(0, Run::missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(numbers: &[u32]) -> (Vec<bool>, u64) {
        let mut watch = Watch::default();
        let before = numbers.iter().map(|number| watch.see(*number, 0)).collect();
        (before, watch.missing())
    }

    #[test]
    fn missing_and_repeated_numbers_are_told_apart() {
        assert_eq!(watch(&[7, 8, 9]), (vec![false; 3], 0));
        assert_eq!(watch(&[7, 8, 8, 11, 9]), (vec![false, false, true, false, false], 1));
        assert_eq!(watch(&[u32::MAX, 1, 0]), (vec![false; 3], 0));
        // The first was overtaken by those before.
        assert_eq!(watch(&[10, 8, 8]), (vec![false, false, true], 1));
        // An old one says nothing of those between it and the first.
        assert_eq!(watch(&[1_000, 7, 1_001, 1_003]), (vec![false; 4], 1));
        assert_eq!(watch(&[1_000, 997, 998, 990, 997, 1_001]).1, 1);
        // A window later the bit is free again.
        let numbers: Vec<u32> = (0..3_000).filter(|number| number % 10 != 3).collect();
        assert_eq!(watch(&numbers).1, 300);
        assert!(watch(&numbers).0.iter().all(|before| !before));
    }

    /// No gateway loses a million packets in a row: its counter was set ahead.
    #[test]
    fn a_jump_is_no_loss() {
        let jump = JUMP_STEP.cast_unsigned();
        assert_eq!(watch(&[7, 8, 9 + jump, 10 + jump, 12 + jump]).1, 1);
        assert_eq!(watch(&[7, 8, 8 + jump]).1, u64::from(jump) - 1);
    }

    /// Ten packets a second leave no room for five hundred in a tenth of one.
    #[test]
    fn a_leap_is_told_from_an_outage() {
        let after = |gap: i64| {
            let mut watch = Watch::default();
            (0..100).for_each(|number| assert!(!watch.see(number, i64::from(number) * 100)));
            watch.see(600, 9_900 + gap);
            watch.leapt()
        };
        assert_eq!([100, 50_000].map(after), [500, 0]);
    }

    #[test]
    fn a_restart_is_no_loss() {
        let mut watch = Watch::default();
        for (raw, ns) in [(100, 0), (101, 1), (1, RUN_GAP_NS + 2), (3, RUN_GAP_NS + 3)] {
            assert!(!watch.see(raw, ns));
        }
        assert_eq!(watch.missing(), 1);
    }
}
