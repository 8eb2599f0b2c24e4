//! What the steps of an SA's numbers tell when all of its frames are known: gaps with the frames on both sides, frames that came late,
//! and frames whose number had been seen.

use super::steps::{Leaps, Sighting};
use super::{IntervalSet, Run, SequenceState};

/// What happened to the numbers of an SA, in the order of its frames.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct History {
    /// Numbers that were skipped, also where they came later.
    pub(crate) gaps: Vec<Skipped>,
    /// Frames whose numbers came after higher ones.
    pub(crate) late: Vec<Behind>,
    /// Frames whose numbers had been seen.
    pub(crate) again: Vec<Behind>,
    /// The last gap, late frame and repeated number, where not all of them are above.
    pub(crate) last_gap: Option<Skipped>,
    pub(crate) last_late: Option<Behind>,
    pub(crate) last_again: Option<Behind>,
    /// Whether every gap and every late frame is above.
    pub(crate) is_whole: bool,
    /// Whether every repeated number is above.
    pub(crate) is_whole_again: bool,
}

/// Numbers that were skipped between two frames.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Skipped {
    /// The first and the last of the numbers, unwrapped.
    pub(crate) numbers: (i64, i64),
    /// The frames with the numbers on both sides.
    pub(crate) before: Sighting,
    pub(crate) after: Sighting,
    /// Those of the numbers that never came, as parts `[start, end)`; `None` where that is no longer known.
    pub(crate) missing: Option<Vec<(i64, i64)>>,
}

/// Frames one after the other whose numbers are behind the highest one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Behind {
    /// The first of them.
    pub(crate) at: Sighting,
    /// How many there are.
    pub(crate) count: u64,
    /// The highest number before them.
    pub(crate) highest: i64,
}

impl Skipped {
    /// How many numbers were skipped.
    pub(crate) fn count(&self) -> u64 {
        self.numbers.0.abs_diff(self.numbers.1) + 1
    }

    /// Whether the first number that never came is the one after `before`.
    pub(crate) fn starts_after(&self, before: i64) -> bool {
        let first = self.missing.as_ref().and_then(|missing| missing.first());
        first.is_some_and(|(start, _)| *start == before + 1)
    }

    /// How many of them came late after all.
    pub(crate) fn filled_late(&self) -> Option<u64> {
        let missing: u64 = self.missing.as_ref()?.iter().map(|(start, end)| start.abs_diff(*end)).sum();
        Some(self.count().saturating_sub(missing))
    }
}

impl Behind {
    /// The number of the first of them.
    pub(crate) fn number(&self) -> i64 {
        self.at.number
    }
}

impl SequenceState {
    /// What happened to the numbers, as far as the steps are listed. `copies`: frames that the TAP adds.
    pub(crate) fn history(&self, copies: u64) -> History {
        let exact = self.refused == 0;
        let mut history = History { is_whole: exact, is_whole_again: exact, ..History::default() };
        let (runs, outliers) = self.joined(copies > 0);
        for run in &runs {
            let (gaps, late, again) = (history.gaps.len(), history.late.len(), history.again.len());
            let whole = run.steps.as_deref().is_none_or(Leaps::is_whole) && run.late_before.get()[0] == 0;
            // What comes after a part that is not known does not belong to the first ones.
            if history.is_whole {
                Walk::of(run).follow(&mut history);
            }
            if whole && history.is_whole {
                let added = |list: &[Behind], before: usize| list.last().filter(|_| list.len() > before).cloned();
                let gap = history.gaps.last().filter(|_| history.gaps.len() > gaps).cloned();
                history.last_gap = gap.or(history.last_gap);
                history.last_late = added(&history.late, late).or(history.last_late);
                history.last_again = added(&history.again, again).or(history.last_again);
            } else {
                history.last_gap = run.last_gap();
                history.last_late = run.last_late();
                history.last_again = run.last_again();
            }
            history.is_whole &= whole && run.folded.get().below.is_none();
            history.is_whole_again &=
                history.is_whole && run.repeats().is_none_or(|(all, first, _)| all == first.len() as u64);
        }
        let mut repeated = false;
        for (all, first, _) in outliers.iter().filter_map(Run::repeats).filter(|(all, ..)| *all > 0) {
            history.again.extend(first.iter().map(|&at| Behind { at, count: 1, highest: at.number }));
            history.is_whole_again &= all == first.len() as u64;
            repeated = true;
        }
        if repeated {
            history.again.sort_by_key(|behind| behind.at.pos);
            history.last_again = history.again.last().cloned().or(history.last_again);
        }
        history
    }
}

/// A walk over the steps of a run.
struct Walk<'r> {
    run: &'r Run,
    /// The frames with the highest and the lowest number so far.
    highest: Sighting,
    lowest: Sighting,
    /// The least number that counts.
    base: i64,
    /// Numbers that came late so far.
    late: IntervalSet,
}

impl<'r> Walk<'r> {
    fn of(run: &'r Run) -> Self {
        let first = Sighting::from(&run.first);
        Self { run, highest: first, lowest: first, base: run.base(), late: IntervalSet::default() }
    }

    fn follow(mut self, history: &mut History) {
        let again = history.again.len();
        let mut from = self.highest;
        let steps = self.run.steps.as_deref();
        for step in steps.map(Leaps::first).unwrap_or_default() {
            self.stretch(from, step.before, history);
            from = step.after;
        }
        let whole = steps.is_none_or(Leaps::is_whole);
        if whole {
            self.stretch(from, (&self.run.last).into(), history);
        } else if from.number > self.highest.number {
            // Where the numbers go on to is not known, but what is before them is.
            self.stretch(from, from, history);
        }
        let Some((_, repeats, _)) = self.run.repeats() else { return };
        let known = repeats.iter().filter(|mark| whole || mark.pos <= from.pos);
        history.again.extend(known.map(|&at| Behind { at, count: 1, highest: at.number }));
        if let Some(own) = history.again.get_mut(again..) {
            own.sort_by_key(|behind| behind.at.pos);
        }
    }

    /// Takes in frames whose numbers go on by one.
    fn stretch(&mut self, from: Sighting, to: Sighting, history: &mut History) {
        let highest = self.highest.number;
        if from.number > highest {
            if from.number > highest + 1 {
                let gap = self.run.gap((highest + 1, from.number - 1), self.highest, from);
                history.gaps.push(gap);
            }
        } else if from != self.highest {
            self.behind(from, to, history);
        }
        if to.number > self.highest.number {
            self.highest = to;
        }
        // Numbers below that do not count.
        if from.number < self.lowest.number && from.number >= self.base {
            if to.number + 1 < self.lowest.number {
                history.gaps.push(self.run.gap((to.number + 1, self.lowest.number - 1), to, self.lowest));
            }
            self.lowest = from;
        }
    }

    /// Takes in those of them that are not above all numbers before.
    fn behind(&mut self, from: Sighting, to: Sighting, history: &mut History) {
        let end = to.number.min(self.highest.number) + 1;
        let (mut late, all) = (self.run.late_between(from.number, end), end.abs_diff(from.number));
        late = late.minus(&self.late.between(from.number, end));
        self.late.union(&late);
        let highest = self.highest.number;
        let known = self.run.late_before.get()[0] == 0;
        for (list, count) in [(&mut history.late, late.len()), (&mut history.again, all.saturating_sub(late.len()))] {
            if count > 0 && known {
                list.push(Behind { at: from, count, highest });
            }
        }
    }
}

impl Run {
    fn gap(&self, numbers: (i64, i64), before: Sighting, after: Sighting) -> Skipped {
        let known = self.folded.get().below.is_none_or(|below| numbers.0 >= below);
        let missing = known.then(|| {
            let skipped = IntervalSet::single(numbers.0, numbers.1 + 1);
            skipped.minus(&self.coverage.between(numbers.0, numbers.1 + 1)).parts().collect()
        });
        Skipped { numbers, before, after, missing }
    }

    /// Numbers of `[start, end)` that came late.
    fn late_between(&self, start: i64, end: i64) -> IntervalSet {
        self.late
            .as_ref()
            .and_then(|late| late.first())
            .map_or_else(IntervalSet::default, |set| set.between(start, end))
    }

    pub(super) fn is_late(&self, number: i64) -> bool {
        !self.late_between(number, number + 1).is_empty()
    }

    /// Frames that bear the number of the frame before them.
    fn repeats(&self) -> Option<(u64, &[Sighting], Option<Sighting>)> {
        self.steps.as_deref().map(Leaps::again)
    }

    /// Whether numbers were repeated otherwise than at once.
    fn is_replayed(&self) -> bool {
        let folded = self.folded.get();
        let covered = self.coverage.len() + folded.covered + folded.beyond_horizon;
        self.frames.saturating_sub(covered) > self.repeats().map_or(0, |(all, ..)| all)
    }

    /// The last gap, of a run whose steps are not all known.
    fn last_gap(&self) -> Option<Skipped> {
        if self.is_replayed() {
            return None;
        }
        for step in self.tail().rev().filter(|step| step.after.number > step.before.number + 1) {
            let gap = self.gap((step.before.number + 1, step.after.number - 1), step.before, step.after);
            match gap.filled_late()? {
                // Of numbers between two frames that came in order, none came before.
                0 if !self.is_late(step.before.number) && !self.is_late(step.after.number) => return Some(gap),
                filled if filled == gap.count() => {}
                _ => return None,
            }
        }
        None
    }

    /// The last frame that came late, of such a run.
    fn last_late(&self) -> Option<Behind> {
        if self.is_replayed() {
            return None;
        }
        let step = self.tail().rev().find(|step| step.after.number < step.before.number)?;
        self.is_late(step.after.number).then_some(Behind { at: step.after, count: 1, highest: step.before.number })
    }

    /// The last frame whose number had been seen, of such a run.
    fn last_again(&self) -> Option<Behind> {
        let again = self.repeats().and_then(|(.., last)| last)?;
        (!self.is_replayed()).then_some(Behind { at: again, count: 1, highest: again.number })
    }

    /// The last steps.
    fn tail(&self) -> impl DoubleEndedIterator<Item = &super::steps::Leap> {
        let steps = self.steps.as_deref();
        steps.into_iter().flat_map(|steps| steps.last().iter())
    }
}
