//! Sequence numbers that SAs skipped, counted as frames are read.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::trials::limits::{JUMP, MAX_SKIPS};

/// Skips that a late packet may still fill, of each SA.
const OPEN: usize = 64;

/// Numbers missing before a frame, counted at the frame before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Skip {
    /// Time of the frame before.
    pub(crate) after: i64,
    /// Numbers.
    pub(crate) missing: u64,
    /// The SA.
    pub(crate) sa: u16,
}

/// An SA on its way.
#[derive(Clone, Debug)]
struct Run {
    high: i64,
    last: i64,
    /// Skips that late packets may still fill: first number, behind the last, place in the list.
    open: Vec<(i64, i64, usize)>,
}

/// Skips of all SAs, in the order in which they were seen; packets that came late are not missing.
#[derive(Clone, Default, Debug)]
pub(crate) struct SkippedNumbers {
    runs: HashMap<u16, Run, FixedState>,
    found: Vec<Skip>,
}

impl SkippedNumbers {
    /// Takes note of a frame.
    pub(crate) fn see(&mut self, sa: u16, t: i64, sequence: u32) {
        let raw = i64::from(sequence);
        let Some(run) = self.runs.get_mut(&sa) else {
            self.runs.insert(sa, Run { high: raw, last: t, open: Vec::new() });
            return;
        };
        let step = i64::from(sequence.wrapping_sub(run.high as u32) as i32);
        let number = run.high + step;
        if step > 1 && step <= JUMP {
            self.found.push(Skip { after: run.last, missing: (step - 1) as u64, sa });
            run.open.push((run.high + 1, number, self.found.len() - 1));
            if run.open.len() > OPEN {
                run.open.remove(0);
            }
        }
        if !(-JUMP..=0).contains(&step) {
            run.high = number;
        } else if let Some((_, _, at)) = run.open.iter().find(|(from, to, _)| (*from..*to).contains(&number)) {
            if let Some(skip) = self.found.get_mut(*at) {
                skip.missing = skip.missing.saturating_sub(1);
            }
        } else if step < -4_096 {
            // The counter was reset.
            run.high = number;
            run.open.clear();
        }
        run.last = t;
        if self.found.len() >= MAX_SKIPS {
            self.merge();
        }
    }

    /// Skips of an SA that follow each other closely become one, as many as needed.
    fn merge(&mut self) {
        let mut apart = 1_000_000;
        while self.found.len() * 2 > MAX_SKIPS {
            let mut last: HashMap<u16, usize, FixedState> = HashMap::default();
            let mut merged: Vec<Skip> = Vec::with_capacity(self.found.len());
            let mut moved = Vec::with_capacity(self.found.len());
            for skip in &self.found {
                let at = last.get(&skip.sa).copied();
                match at.and_then(|at| merged.get_mut(at)).filter(|own| skip.after - own.after < apart) {
                    Some(own) => own.missing += skip.missing,
                    None => {
                        last.insert(skip.sa, merged.len());
                        merged.push(*skip);
                    }
                }
                moved.push(last.get(&skip.sa).copied().unwrap_or(0));
            }
            self.found = merged;
            for (_, _, at) in self.runs.values_mut().flat_map(|run| &mut run.open) {
                *at = moved.get(*at).copied().unwrap_or(0);
            }
            apart = apart.saturating_mul(2);
        }
    }

    /// Times of all, to be changed.
    pub(crate) fn times(&mut self) -> impl Iterator<Item = &mut i64> {
        self.found.iter_mut().map(|skip| &mut skip.after)
    }

    /// Those of some SAs, in order of time on another clock.
    pub(crate) fn of(&self, mine: &[bool], clock: impl Fn(i64) -> i64) -> Vec<Skip> {
        let own = self.found.iter().filter(|skip| mine.get(usize::from(skip.sa)) == Some(&true));
        let mut own: Vec<Skip> = own.map(|skip| Skip { after: clock(skip.after), ..*skip }).collect();
        own.sort_by_key(|skip| skip.after);
        own
    }
}

/// Numbers missing between two times.
pub(crate) fn missing(skips: &[Skip], from: i64, to: i64) -> u64 {
    let at = skips.partition_point(|skip| skip.after < from);
    skips.get(at..).unwrap_or_default().iter().take_while(|skip| skip.after < to).map(|skip| skip.missing).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_are_not_missing_and_merged_skips_keep_their_sum() {
        let mut skipped = SkippedNumbers::default();
        for (t, sequence) in [(0, 1), (10, 2), (20, 5), (30, 3), (40, 6)] {
            skipped.see(7, t, sequence);
        }
        let all = skipped.of(&[true; 8], |t| t);
        assert_eq!(missing(&all, 0, 100), 1);
        let mut many = SkippedNumbers::default();
        for i in 0..(4 * MAX_SKIPS) as u32 {
            many.see(0, i64::from(i) * 1_000, 2 * i);
        }
        let all = many.of(&[true], |t| t);
        assert!(all.len() < MAX_SKIPS);
        assert_eq!(missing(&all, 0, i64::MAX), 4 * MAX_SKIPS as u64 - 1);
    }
}
