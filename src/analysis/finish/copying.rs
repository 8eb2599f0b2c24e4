//! Whether a TAP or a SPAN port copies what it shows.

use crate::analysis::StreamState;
use crate::analysis::state::traffic::rates::Direction;

/// A tap is a copying TAP if at least 1 of this many frames is a copy.
const COPYING_TAP: u64 = 5;

/// A packet that comes again more often runs in a loop.
const MOST_COPIES: u64 = 7;
/// A TAP that copies also copies packets of SAs: at least `NUMBERED` of them, and 1 in `NUMBERED_SHARE`.
const NUMBERED: u64 = 20;
const NUMBERED_SHARE: u64 = 10;
/// Where all copies are of the same few packets, which a generator may send in pairs, so many packets of SAs without a copy decide.
const FEW_NUMBERED: u64 = 3;

/// Whether the TAP makes the copies: there are many, and they are copies of packets with sequence numbers or fill a whole direction.
pub(super) fn is_copying(state: &StreamState) -> bool {
    let frames = state.totals.sums.frames;
    frames > 0
        && state.copies.copies().count.saturating_mul(COPYING_TAP) >= frames
        && (state.copies.pattern.is_of_a_tap() && are_of_a_tap(state, frames) || is_every_number_copied(state))
}

/// Whether all packets with sequence numbers have copies, about equally many. A generator's packets beside them do not count. Without an SA, flows
/// in UDP that may be ESP are looked at, where their numbers go on.
fn is_every_number_copied(state: &StreamState) -> bool {
    let (mut numbered, mut copied) = numbered(state);
    if numbered == 0 {
        let flows = state.candidates.flows();
        for sa in flows.values().flat_map(|flow| flow.sas.values()).map(|suspect| &suspect.state) {
            let (frames, copies) = (sa.seen.count, sa.copies.get().frames);
            if sa.steps.get().small.saturating_mul(2) >= frames.saturating_sub(copies) {
                (numbered, copied) = (numbered + frames, copied + copies);
            }
        }
    }
    let packets = numbered.saturating_sub(copied);
    // A few may be beyond the window, or alike twice.
    let each = (copied + packets / 2).checked_div(packets).unwrap_or(0);
    packets >= NUMBERED
        && !state.copies.pattern.loops()
        && (1..=MOST_COPIES).contains(&each)
        && copied.abs_diff(each * packets).saturating_mul(NUMBERED_SHARE) <= packets
}

/// Frames of SAs that bear sequence numbers, and copies among them.
fn numbered(state: &StreamState) -> (u64, u64) {
    let states = state.tables.sas.iter().filter_map(|(id, _)| state.sas.get(id));
    states.fold((0, 0), |(all, copies), sa| (all + sa.seen.count, copies + sa.copies.get().frames))
}

/// Whether copies are those of a TAP: packets that bear sequence numbers have copies too, where there are enough of them, or a direction
/// shows nothing but copies, as a second interface does. A generator that sends bursts of equal packets does neither.
fn are_of_a_tap(state: &StreamState, frames: u64) -> bool {
    let (numbered, copied) = numbered(state);
    let only_copies = |direction: &Direction| {
        let copies = direction.copies.frames;
        copies > 0 && copies.saturating_mul(10) >= direction.sums.frames.saturating_mul(9)
    };
    // The same packets again and again, and few packets without numbers, are a TAP's only where it makes pairs of all.
    let pattern = &state.copies.pattern;
    let is_short = pattern.is_short() && copied == 0;
    let are_pairs = state.rates.iter().any(is_doubled) && (!is_short || pattern.has_only_pairs());
    if (pattern.recurs() || is_short) && (numbered >= FEW_NUMBERED && copied == 0 || !are_pairs) {
        return false;
    }
    copied > 0
        || numbered < NUMBERED
        || numbered.saturating_mul(NUMBERED_SHARE) < frames
        || state.rates.iter().any(|(_, direction)| only_copies(direction))
}

/// Whether about half of a direction's frames are copies, or all of them.
fn is_doubled((_, direction): (u32, &Direction)) -> bool {
    let (copies, packets) = (direction.copies.frames, direction.sums.frames.saturating_sub(direction.copies.frames));
    copies > 0 && copies.saturating_mul(10) >= packets.saturating_mul(9)
}
