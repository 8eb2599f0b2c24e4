//! How much all SAs together may hold of their sequence numbers.
//!
//! Of each run the newest intervals are kept, as many as fit; what is older becomes counters. How many that is depends on the
//! sum over all SAs, and a merged state keeps no more than the one of both that keeps less: so the order of merging does not matter,
//! as long as nothing arrives that is older than what is kept. What does is counted and said.

use super::{IntervalSet, Run, SequenceState};

impl SequenceState {
    /// Intervals that are held, those of late numbers included.
    pub(crate) fn intervals(&self) -> usize {
        self.runs.iter().map(Run::intervals).sum()
    }

    /// Keeps the newest `kept` intervals of each run (at least one), and as many of late numbers.
    pub(crate) fn keep_newest(&mut self, kept: usize) {
        self.runs.iter_mut().for_each(|run| run.keep_newest(kept.max(1)));
    }

    /// Leaps and frames that are listed where at most one in 2^`level` of the usual number may be.
    pub(crate) fn listed(&self, level: u32) -> u64 {
        self.runs.iter().filter_map(|run| run.steps.as_ref()).map(|steps| steps.listed(level)).sum()
    }

    /// Keeps as many as that.
    pub(crate) fn truncate_lists(&mut self, level: u32) {
        self.runs.iter_mut().filter_map(|run| run.steps.as_mut()).for_each(|steps| steps.truncate(level));
    }

    /// Frames that arrived where everything had become counters.
    pub(crate) fn beyond_horizon(&self) -> u64 {
        self.runs.iter().map(|run| run.folded.get().beyond_horizon).sum()
    }
}

/// Where the newest `kept` intervals begin, if there are more.
fn newest(set: &IntervalSet, kept: usize) -> Option<i64> {
    let more = set.intervals().checked_sub(kept).filter(|more| *more > 0)?;
    set.parts().nth(more).map(|(start, _)| start)
}

impl Run {
    fn intervals(&self) -> usize {
        let late = self.late.iter().flat_map(|late| late.iter()).map(IntervalSet::intervals);
        self.coverage.intervals() + late.sum::<usize>()
    }

    fn keep_newest(&mut self, kept: usize) {
        if let Some(floor) = newest(&self.coverage, kept) {
            self.fold_below(floor);
        }
        // Whatever is late by more is late, so that the first class holds them all.
        if let Some(floor) = self.late.as_ref().and_then(|late| newest(late.first()?, kept)) {
            self.fold_late_below(floor);
        }
    }

    /// Counts numbers of a later run that lie where this one has only counters, and takes them out of it.
    pub(super) fn refuse_folded(&mut self, later: &mut Self) {
        let Some(below) = self.folded.get().below else { return };
        let old = later.coverage.up_to(below - 1);
        if old.is_empty() {
            return;
        }
        self.folded.edit().beyond_horizon += old.len();
        later.coverage = later.coverage.minus(&old);
        for set in later.late.iter_mut().flat_map(|late| late.iter_mut()) {
            *set = set.minus(&old);
        }
    }
}
