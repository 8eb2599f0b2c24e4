//! A count that may have begun anew by less than a restart falls: below all numbers before it.

use super::SequenceState;
use super::run::Run;
use super::steps::{Leap, Leaps};

/// A step down by no more than this is a late packet.
const NEAR: i64 = 64;
/// Numbers one after the other that show a count, before the fall and after it.
const COUNTED: i64 = 16;

impl SequenceState {
    /// The first fall below all numbers of its run, after which the numbers count on from there and the count before it does not go on. A new
    /// count looks so, and so does a long stretch of packets that arrives late.
    pub(crate) fn fall_in_doubt(&self) -> Option<Leap> {
        self.runs.iter().find_map(|run| fall_of(run, run.steps.as_deref()?))
    }
}

fn fall_of(run: &Run, steps: &Leaps) -> Option<Leap> {
    let all = steps.first();
    let mut least = run.first.unwrapped;
    let mut begin = run.first.unwrapped;
    for (at, leap) in all.iter().enumerate() {
        let (from, to) = (leap.before.number, leap.after.number);
        let rest = all.get(at + 1..).unwrap_or_default();
        // Where not all steps are listed, the last one says how far the numbers counted at least.
        let end = rest.first().map_or(run.last.unwrapped, |next| next.before.number);
        let is_counted =
            from - begin + 1 >= COUNTED && end - to + 1 >= COUNTED && (!rest.is_empty() || steps.is_whole());
        if to < least && from - to > NEAR && is_counted && !rest.iter().any(|next| returns(next, from)) {
            return Some(*leap);
        }
        least = least.min(to);
        begin = to;
    }
    None
}

/// Whether a step leads back up to where the count before had stopped.
fn returns(step: &Leap, stopped: i64) -> bool {
    let (from, to) = (step.before.number, step.after.number);
    to - from > NEAR && (to - stopped).abs() <= NEAR
}
