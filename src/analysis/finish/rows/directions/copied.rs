//! Directions that show little but copies: a mirror shows both sides of a router.

use super::{Folded, ends, folded};
use crate::analysis::finish::tap::{SaView, Tap};

/// Frames that are no copies, below which they and their share (one in a hundred) are too few for rates.
const FEW: u64 = 20;

/// A direction of which more than nine in ten frames are copies of packets of another one.
pub(in crate::analysis::finish) struct CopiedDirection {
    /// `from > to`.
    pub(in crate::analysis::finish) name: String,
    pub(in crate::analysis::finish) frames: u64,
    pub(in crate::analysis::finish) copies: u64,
    /// Whether the others are enough for rates.
    pub(in crate::analysis::finish) has_rates: bool,
}

/// Such directions, in the order of the rates.
pub(in crate::analysis::finish) fn copied(tap: &Tap<'_>) -> Vec<CopiedDirection> {
    let rows = folded(tap).into_iter().map(|direction| {
        let (frames, copies) = counts(tap, &direction);
        let (from, to) = ends(direction.key);
        let has_rates = !is_all_copies(tap, &direction);
        CopiedDirection { name: format!("{from} > {to}"), frames, copies, has_rates }
    });
    rows.filter(|row| tap.copying && is_mostly(row.copies, row.frames)).collect()
}

/// Whether a direction has hardly a frame of its own besides copies: its rates would be those of an idle link.
pub(super) fn is_all_copies(tap: &Tap<'_>, direction: &Folded) -> bool {
    let (frames, copies) = counts(tap, direction);
    let others = frames.saturating_sub(copies);
    let few = others == 0 || others < FEW && others.saturating_mul(100) < frames;
    let is_own = || others.saturating_sub(missed(tap, direction)).saturating_mul(2) >= others;
    tap.copying && copies > 0 && (few || is_mostly(copies, frames) && !is_own())
}

const fn is_mostly(copies: u64, frames: u64) -> bool {
    copies.saturating_mul(10) > frames.saturating_mul(9)
}

/// All frames of a direction, and the copies among them.
fn counts(tap: &Tap<'_>, direction: &Folded) -> (u64, u64) {
    let own = tap.stream.rates.iter().filter(|(id, _)| direction.ids.contains(id));
    own.fold((0, 0), |(frames, copies), (_, own)| (frames + own.sums.frames, copies + own.copies.frames))
}

/// Packets of SAs in a direction that have no copy although most of them do: a mirror port may have dropped one of the two frames, so that the other one is
/// no copy.
fn missed(tap: &Tap<'_>, direction: &Folded) -> u64 {
    let bits = direction.ids.iter().filter(|&&id| id < u64::BITS).fold(0, |bits, id| bits | 1_u64 << id);
    let single = |sa: &SaView<'_>| {
        let copies = sa.left_out().frames;
        let packets = sa.state.seen.count.saturating_sub(copies);
        if copies.saturating_mul(2) >= packets { packets.saturating_sub(copies) } else { 0 }
    };
    tap.sas.iter().filter(|sa| sa.state.directions.first() & bits != 0).map(single).sum()
}
