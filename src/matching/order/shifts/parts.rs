//! Parts of stretches: pairs in a row whose delay goes on without a jump.

use super::pair::{ENDS, PART, PlacedPair, STEP, change, distance, usuals};
use super::{OF_DISTANCE, SAME, Stretches};

/// Some pairs of one stretch in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofPart {
    pub(super) range: (usize, usize),
    /// It goes on from the one before.
    pub(super) goes_on: bool,
}

impl<M> Stretches<'_, M> {
    /// Parts of the stretches, cut where the delay does not go on.
    pub(super) fn parts(&self) -> Vec<ProofPart> {
        let mut parts: Vec<ProofPart> = Vec::new();
        let mut from = 0;
        for same in self.members.chunk_by(|a, b| a.stretch == b.stretch) {
            let (start, to) = (from, from + same.len());
            let mut goes_on = start == 0;
            let usuals = usuals(same);
            let mut at = ENDS;
            while at + ENDS <= same.len() {
                if let Some(jump) = jump(same, &usuals, at).map(|jump| start + jump).filter(|jump| *jump > from) {
                    cut(&mut parts, (from, jump), goes_on);
                    (from, goes_on) = (jump, false);
                    at += ENDS;
                }
                at += STEP;
            }
            cut(&mut parts, (from, to), goes_on);
            from = to;
        }
        parts
    }
}

/// Cuts pairs in a row into parts.
fn cut(parts: &mut Vec<ProofPart>, (mut from, to): (usize, usize), mut goes_on: bool) {
    while to > from + 2 * PART {
        parts.push(ProofPart { range: (from, from + PART), goes_on });
        (from, goes_on) = (from + PART, true);
    }
    parts.push(ProofPart { range: (from, to), goes_on });
}

/// Where near a place the delay jumps or begins to vary, if it does.
fn jump(own: &[PlacedPair], usuals: &[(i64, f64)], at: usize) -> Option<usize> {
    let near = own.get(at.checked_sub(ENDS)?..at + ENDS)?;
    let (before, after) = near.split_at_checked(ENDS)?;
    let usual = |from: usize| usuals.get(from / STEP).copied();
    let ((base, spread), (other, varies)) = (usual(at - ENDS)?, usual(at)?);
    let distance = OF_DISTANCE * distance(before).min(distance(after));
    let jumps = base.saturating_sub(other).saturating_abs() as f64 > (SAME * spread.max(varies)).max(distance);
    let wanders = spread.max(varies) > (SAME * spread.min(varies)).max(distance);
    if !jumps && !wanders {
        return None;
    }
    let steps =
        near.windows(2).enumerate().filter_map(|(step, two)| Some((change(two.first()?, two.get(1)?), step + 1)));
    let (_, step) = steps.max()?;
    Some(at - ENDS + step)
}
