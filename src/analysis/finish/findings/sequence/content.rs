//! Numbers that came again: whether with the same packets.

use super::Numbered;
use super::causes::{COUNTED_AGAIN, NOT_COUNTED, REPLAYED};

impl Numbered<'_> {
    /// Whether the numbers came again with the same packets, as far as that is known, and what is likely then.
    pub(super) fn content(&self) -> (String, Option<&'static str>) {
        let Self { tap, sa, distinct, .. } = self;
        let numbers = sa.state.evidence.numbers_of_several();
        if *distinct == 1 && !numbers.is_empty() {
            return (" The packets differ, and all of them bear this one number.".into(), Some(NOT_COUNTED));
        }
        let reused = sa.state.sequence.reused();
        let Some(first) = reused.other.first() else {
            return (String::new(), reused.rested.then_some(REPLAYED));
        };
        let (frame, number) = (tap.frame(first.pos).frame, first.number as u32);
        if reused.same == 0 {
            let differ = format!(" The packets differ: frame {frame} bears number {number} again, with other content.");
            return (differ, Some(COUNTED_AGAIN));
        }
        let (same, other) = (reused.same, reused.other.len());
        let both = format!(
            " Of {} steps back that were compared, {same} lead to the same packet again and {other} to another one (first in frame {frame}, number {number}).",
            same + other as u64
        );
        (both, None)
    }
}
