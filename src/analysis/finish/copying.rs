//! Whether a TAP or a SPAN port copies what it shows.

mod forwarded;

use self::forwarded::{Forwarded, tunnelled, tunnels, turns_back};
use crate::analysis::StreamState;
use crate::analysis::state::base::tables::DirectionKey;
use crate::analysis::state::sa::sas::{Copies, SaState};
use crate::analysis::state::traffic::rates::Direction;
use crate::model::SaKey;

/// A tap is a copying TAP if at least 1 of this many frames is a copy.
const COPYING_TAP: u64 = 5;

/// A packet that comes again more often runs in a loop.
const MOST_COPIES: u64 = 7;
/// A TAP that copies also copies packets of SAs: at least `NUMBERED` of them, and 1 in `NUMBERED_SHARE`.
const NUMBERED: u64 = 20;
const NUMBERED_SHARE: u64 = 10;
/// Where all copies are of the same few packets, which a generator may send in pairs, so many packets of SAs without a copy decide.
const FEW_NUMBERED: u64 = 3;

/// What copies of an SA's packets are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopiesAre {
    /// Made by the TAP or the SPAN port.
    OfTap,
    /// The packets themselves, as a router sent them on.
    SentOn,
    /// Not known, as what a network duplicates: they count.
    Open,
}

impl CopiesAre {
    /// What they are for each SA of a tap; `copying`: whether the TAP makes them.
    pub(super) fn of(state: &StreamState, copying: bool) -> impl Fn(&SaKey, &SaState) -> Self {
        let forwarded = (!copying).then(|| Forwarded::of(state));
        move |key, sa| match &forwarded {
            None => Self::OfTap,
            Some(forwarded) if forwarded.takes_in(key, sa) => Self::SentOn,
            Some(_) => Self::Open,
        }
    }

    /// Of an SA's frames those that its figures are without.
    pub(super) fn left_out(self, sa: &SaState) -> Copies {
        match self {
            Self::OfTap | Self::SentOn => sa.copies.get(),
            Self::Open => Copies::default(),
        }
    }
}

/// Whether the TAP makes the copies: there are many, and they are copies of packets with sequence numbers or fill a whole direction.
pub(super) fn is_copying(state: &StreamState) -> bool {
    let frames = state.totals.sums.frames;
    frames > 0
        && state.copies.copies().count.saturating_mul(COPYING_TAP) >= frames
        && (state.copies.pattern.is_of_a_tap() && are_of_a_tap(state, frames) || is_every_number_copied(state))
        && !are_forwarded(state)
}

/// Whether most copies are packets of SAs that a router sent on over the same link: they came in one tunnel and left in another one, or
/// left between the same MAC addresses, exchanged. All of these frames were on the wire.
fn are_forwarded(state: &StreamState) -> bool {
    let own = state.tables.sas.iter().filter_map(|(id, _)| state.sas.get(id));
    let copied = own.map(|sa| (sa, sa.copies.get().frames)).filter(|(_, copied)| *copied > 0);
    let is_turned = |sa: &SaState| is_turned_back(state, sa) || turns_back(state, sa);
    let turned: u64 = copied.filter(|(sa, _)| is_turned(sa)).map(|(_, copied)| copied).sum();
    let in_tunnels: u64 = tunnelled(state).values().map(|own| own.copies).sum();
    let of_others = || tunnels(state).values().filter(|own| own.is_copied()).map(|own| own.copies).sum();
    let others = if in_tunnels > 0 { in_tunnels.min(of_others()) } else { 0 };
    others.max(turned).saturating_mul(2) > state.copies.copies().count
}

/// Whether an SA has packets from one MAC address to another and back, and those of one of the two directions are copies.
fn is_turned_back(state: &StreamState, sa: &SaState) -> bool {
    let directions = &state.tables.directions;
    let own = |id: u32| id < u64::BITS && sa.directions.first() >> id & 1 == 1;
    state.rates.iter().filter(|(id, direction)| own(*id) && only_copies(direction)).any(|(id, _)| {
        let Some(DirectionKey::Mac(src, dst)) = directions.get(id) else { return false };
        src != dst && directions.find(&DirectionKey::Mac(*dst, *src)).is_some_and(own)
    })
}

/// Whether a direction shows nothing but copies.
fn only_copies(direction: &Direction) -> bool {
    is_nearly_all(direction.copies.frames, direction.sums.frames)
}

/// Whether a part is nine tenths of all.
const fn is_nearly_all(part: u64, all: u64) -> bool {
    part > 0 && part.saturating_mul(10) >= all.saturating_mul(9)
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
