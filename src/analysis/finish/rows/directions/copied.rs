//! Directions that show packets of other directions again: a mirror shows both sides of a router.

use super::{Folded, ends, folded};
use crate::analysis::finish::tap::Tap;

/// A direction with copies of packets that another one shows.
pub(in crate::analysis::finish) struct CopiedDirection {
    /// `from > to`.
    pub(in crate::analysis::finish) name: String,
    pub(in crate::analysis::finish) frames: u64,
    pub(in crate::analysis::finish) copies: u64,
}

/// Such directions, in the order of the rates.
pub(in crate::analysis::finish) fn copied(tap: &Tap<'_>) -> Vec<CopiedDirection> {
    let own = folded(tap).into_iter().filter(|direction| shows_others_again(tap, direction));
    let rows = own.map(|direction| {
        let (frames, copies) = counts(tap, &direction);
        let (from, to) = ends(direction.key);
        CopiedDirection { name: format!("{from} > {to}"), frames, copies }
    });
    rows.collect()
}

/// Whether a direction has more copies than its other frames can have: they are copies of packets of another direction. Its other frames alone are no
/// rate of the link: they may be traffic of its own, or packets of which the mirror dropped the first sight.
pub(super) fn shows_others_again(tap: &Tap<'_>, direction: &Folded) -> bool {
    let (frames, copies) = counts(tap, direction);
    let others = frames.saturating_sub(copies);
    tap.copying && copies > others.saturating_mul(tap.stream.copies.pattern.most_copies())
}

/// All frames of a direction, and the copies among them.
fn counts(tap: &Tap<'_>, direction: &Folded) -> (u64, u64) {
    let own = tap.stream.rates.iter().filter(|(id, _)| direction.ids.contains(id));
    own.fold((0, 0), |(frames, copies), (_, own)| (frames + own.sums.frames, copies + own.copies.frames))
}
