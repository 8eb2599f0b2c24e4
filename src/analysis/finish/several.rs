//! SAs whose numbers tell neither loss nor order: several counters, a count that may have begun anew, numbers of segments.

use std::collections::BTreeMap;

use super::tap::{SaView, Tap};
use crate::analysis::state::sa::sas::SaState;
use crate::analysis::state::sa::sequence::SequenceFigures;
use crate::analysis::state::sa::sequence::falls::Reused;
use crate::analysis::state::sa::sequence::steps::Leap;
use crate::analysis::state::sa::sizes::{OpaqueKey, Sizes};
use crate::analysis::state::traffic::rates::Direction;
use crate::transform::size::ethernet::LONGEST_ON_WIRE;

/// What leaves an SA without figures of its numbers.
pub(crate) enum Several {
    /// Numbers alternate between counts that begin with these.
    Counts(Vec<u32>),
    /// Different packets bear each of these numbers.
    Numbers(Vec<u32>),
    /// The count may have begun anew, by too little to be certain.
    Fell(Leap),
    /// The network card cuts this many of its packets into segments behind the capture, and each segment has a number of its own.
    Segmented(u64),
}

impl Several {
    /// Frames for each one whose number was seen before, at most, where several senders count at a time.
    const AGAIN: u64 = 8;
    /// Numbers of several packets that are named.
    const NAMED: usize = 4;

    /// What the packets of an SA show.
    pub(super) fn of(state: &SaState, figures: &SequenceFigures) -> Option<Self> {
        let restarts = !figures.restarts().is_empty();
        let falls = figures.late > 0 || figures.outliers > 0 || restarts;
        let counts = if falls { state.sequence.counters() } else { Vec::new() };
        if !counts.is_empty() {
            return Some(Self::Counts(counts));
        }
        if let Some(fall) = state.sequence.fall_in_doubt().filter(|_| figures.late > 0) {
            return Some(Self::Fell(fall));
        }
        // After a restart numbers come again with other packets, and one packet may be forged: there are several counters where they go on
        // side by side.
        let frames = state.sequence.numbered();
        let repeats = !restarts && figures.duplicate.saturating_mul(Self::AGAIN) >= frames;
        let numbers = if repeats { state.evidence.numbers_of_several() } else { Vec::new() };
        if numbers.len() > 1 {
            return Some(Self::Numbers(numbers));
        }
        let reused = repeats.then(|| state.sequence.reused()).filter(Reused::is_mixed)?;
        let mut numbers: Vec<u32> = reused.other.iter().take(Self::NAMED).map(|at| at.number as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Some(Self::Numbers(numbers))
    }
}

/// Takes the figures from SAs with packets that a network card segments after the capture (ESP segmentation offload): each has the number of its
/// first segment, and the next packet that of the next segment.
pub(super) fn take_segmented(sas: &mut [SaView<'_>], sizes: &Sizes) {
    // Cards segment what they encrypt. What is as long in fragments was sent so.
    let is_segmented = |key: &OpaqueKey| key.outer_bytes > LONGEST_ON_WIRE && key.fragments <= 1;
    let mut segmented: BTreeMap<u32, u64> = BTreeMap::new();
    for (key, cell) in sizes.opaque.iter().filter(|(key, _)| is_segmented(key)) {
        *segmented.entry(key.sa).or_default() += cell.seen.count;
    }
    for sa in sas {
        let Some(packets) = segmented.get(&sa.id) else { continue };
        if sa.sequence.as_ref().is_some_and(|figures| figures.lost > 0) {
            (sa.sequence, sa.history, sa.several) = (None, None, Some(Several::Segmented(*packets)));
        }
    }
}

/// Whether the tap may show packets twice on their way, as before a router and behind it, in another tunnel there: nearly all numbers came again,
/// and two directions of the SA have room for all of its packets. `frames`: those with numbers, without copies of the TAP.
pub(in crate::analysis::finish) fn is_at_two_places(
    figures: &SequenceFigures,
    frames: u64,
    state: &SaState,
    tap: &Tap<'_>,
) -> bool {
    /// Nine in ten, for a mirror may lose some.
    const MOST: (u64, u64) = (9, 10);
    let distinct = frames.saturating_sub(figures.duplicate);
    let most = |part: u64| part.saturating_mul(MOST.1) >= distinct.saturating_mul(MOST.0);
    let own = state.directions.first();
    // What the tap copies came again besides.
    let copies = |direction: &Direction| if tap.copying { direction.copies.frames } else { 0 };
    let has_room = |(id, direction): &(u32, &Direction)| {
        *id < u64::BITS && own >> *id & 1 == 1 && most(direction.sums.frames.saturating_sub(copies(direction)))
    };
    most(figures.duplicate) && tap.stream.rates.iter().filter(has_room).count() > 1
}

/// Whether nearly all of its numbers came twice, in a direction that several interfaces show: each of them may show every packet, later than copies
/// are looked for.
pub(in crate::analysis::finish) fn is_on_interfaces(tap: &Tap<'_>, sa: &SaView<'_>) -> bool {
    let Some(figures) = &sa.sequence else { return false };
    let copies = sa.left_out().frames;
    let distinct = sa.state.sequence.numbered().saturating_sub(copies).saturating_sub(figures.duplicate);
    figures.duplicate > 0
        && figures.duplicate.saturating_mul(10) >= distinct.saturating_mul(9)
        && (0..u64::BITS).any(|bit| tap.interfaces_of(sa.state.directions.first() & 1 << bit).count_ones() > 1)
}
