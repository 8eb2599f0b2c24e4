//! Runs on both sides of a jump whose frames came out of order: copies and repeated packets of what came before it.

use super::Run;
use crate::analysis::limits::{JUMP_STEP, RESTART_FALL};
use crate::analysis::state::base::interval::IntervalSet;

impl Run {
    /// By what the numbers of `later` move if this run ends with a frame far behind its first one, and `later` goes on from the highest.
    pub(super) fn rises_to(&self, later: &Self) -> Option<i64> {
        let step = later.first.raw.wrapping_sub(self.max as u32) as i32;
        let fell = self.last.unwrapped < self.first.unwrapped - i64::from(RESTART_FALL);
        let near = (-RESTART_FALL..=JUMP_STEP).contains(&step);
        (fell && near).then(|| self.max + i64::from(step) - later.first.unwrapped)
    }

    /// Takes out the numbers far behind the first frame that the run before had already: after a jump ahead, copies and repeated packets
    /// of what came before it are not late.
    pub(super) fn leave_repeated(&mut self, before: &Self) {
        let Some(late) = self.late.as_mut() else { return };
        let mut own = IntervalSet::default();
        own.insert_range(self.first.unwrapped - i64::from(RESTART_FALL), self.max + 1);
        let far = late.first().map(|all| all.minus(&own)).unwrap_or_default();
        let step = self.first.raw.wrapping_sub(before.last.raw) as i32;
        let mut known = before.coverage.clone();
        known.shift(self.first.unwrapped - i64::from(step) - before.last.unwrapped);
        let repeated = far.minus(&far.minus(&known));
        if !repeated.is_empty() {
            late.iter_mut().for_each(|set| *set = set.minus(&repeated));
            self.coverage = self.coverage.minus(&repeated);
        }
    }
}
