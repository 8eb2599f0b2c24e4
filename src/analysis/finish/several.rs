//! Several counters on one SA: its numbers tell neither loss nor order.

use std::collections::BTreeSet;

use super::tap::{SaView, Tap};
use crate::analysis::StreamState;
use crate::analysis::state::base::tables::DirectionKey;
use crate::analysis::state::sa::sas::SaState;
use crate::analysis::state::sa::sequence::SequenceFigures;
use crate::analysis::state::traffic::rates::Direction;

/// What shows several counters.
pub(crate) enum Several {
    /// Numbers alternate between counts that begin with these.
    Counts(Vec<u32>),
    /// Different packets bear this number.
    Number(u32),
    /// Packets from so many MAC addresses bear numbers that overlap.
    Senders(usize),
}

impl Several {
    /// What the packets of an SA show.
    pub(super) fn of(state: &SaState, figures: &SequenceFigures) -> Option<Self> {
        let restarts = !figures.restarts().is_empty();
        let falls = figures.late > 0 || figures.outliers > 0 || restarts;
        let counts = if falls { state.sequence.counters() } else { Vec::new() };
        if !counts.is_empty() {
            return Some(Self::Counts(counts));
        }
        // After a restart, numbers come again with other packets; after one packet, that is one number.
        let repeats = figures.duplicate > 1 && !restarts;
        repeats.then(|| state.evidence.number_of_several()).flatten().map(Self::Number)
    }
}

/// Finds SAs of several senders by their MAC addresses, and takes the figures of their numbers.
pub(super) fn take(sas: &mut [SaView<'_>], stream: &StreamState, copying: bool) {
    for sa in sas {
        let senders = senders(stream, sa.state.directions.first());
        let copies = if copying { sa.state.copies.get().frames } else { 0 };
        let frames = sa.state.sequence.numbered().saturating_sub(copies);
        let is_shared = sa.sequence.as_ref().is_some_and(|own| mixes(own, frames, sa.state, stream));
        if senders > 1 && is_shared {
            (sa.sequence, sa.history, sa.several) = (None, None, Some(Several::Senders(senders)));
        }
    }
}

/// Whether numbers come again so often that they are those of several counters. Packets of parallel paths come out of order, and hardly any of
/// them twice.
fn mixes(figures: &SequenceFigures, frames: u64, state: &SaState, stream: &StreamState) -> bool {
    /// At least one frame in so many comes again, and one in so many does or is late.
    const AGAIN: u64 = 8;
    const ODD: u64 = 4;
    figures.duplicate.saturating_mul(AGAIN) >= frames
        && (figures.late + figures.duplicate).saturating_mul(ODD) >= frames
        && !is_at_two_places(figures, frames, state, stream)
}

/// Whether the tap may show packets twice on their way, as before a router and behind it, in another tunnel there: nearly all numbers came again,
/// and two directions of the SA have room for all of its packets. `frames`: those with numbers, without copies of the TAP.
pub(in crate::analysis::finish) fn is_at_two_places(
    figures: &SequenceFigures,
    frames: u64,
    state: &SaState,
    stream: &StreamState,
) -> bool {
    /// Nine in ten, for a mirror may lose some.
    const MOST: (u64, u64) = (9, 10);
    let distinct = frames.saturating_sub(figures.duplicate);
    let most = |part: u64| part.saturating_mul(MOST.1) >= distinct.saturating_mul(MOST.0);
    let own = state.directions.first();
    let has_room =
        |(id, direction): &(u32, &Direction)| *id < u64::BITS && own >> *id & 1 == 1 && most(direction.sums.frames);
    most(figures.duplicate) && stream.rates.iter().filter(has_room).count() > 1
}

/// Whether nearly all of its numbers came twice, in a direction that several interfaces show: each of them may show every packet, later than copies
/// are looked for.
pub(in crate::analysis::finish) fn is_on_interfaces(tap: &Tap<'_>, sa: &SaView<'_>) -> bool {
    let Some(figures) = &sa.sequence else { return false };
    let copies = if tap.copying { sa.state.copies.get().frames } else { 0 };
    let distinct = sa.state.sequence.numbered().saturating_sub(copies).saturating_sub(figures.duplicate);
    figures.duplicate > 0
        && figures.duplicate.saturating_mul(10) >= distinct.saturating_mul(9)
        && (0..u64::BITS).any(|bit| tap.interfaces_of(sa.state.directions.first() & 1 << bit).count_ones() > 1)
}

/// Source MAC addresses of these directions.
fn senders(stream: &StreamState, directions: u64) -> usize {
    let source = |bit: u32| match stream.tables.directions.get(bit) {
        Some(DirectionKey::Mac(src, _)) if directions >> bit & 1 == 1 => Some(*src),
        _ => None,
    };
    (0..u64::BITS).filter_map(source).collect::<BTreeSet<_>>().len()
}
