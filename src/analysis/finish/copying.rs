//! Whether a TAP or a SPAN port copies what it shows.

use std::collections::BTreeMap;

use crate::analysis::StreamState;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables::{DirectionKey, FlowKey};
use crate::analysis::state::sa::sas::SaState;
use crate::analysis::state::traffic::rates::Direction;
use crate::dissect::stack_name;
use crate::model::Address;

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
        && !are_forwarded(state)
}

/// Whether most copies are packets of SAs that a router sent on over the same link: they came in one tunnel and left in another one, or
/// left between the same MAC addresses, exchanged. All of these frames were on the wire.
fn are_forwarded(state: &StreamState) -> bool {
    let own = || state.tables.sas.iter().filter_map(|(id, key)| Some((key, state.sas.get(id)?)));
    let mut ends: BTreeMap<(Address, Address), (u64, u64)> = BTreeMap::new();
    let mut turned = 0_u64;
    for (key, sa) in own() {
        let copied = sa.copies.get().frames;
        let (frames, copies) = ends.entry((key.src, key.dst)).or_default();
        (*frames, *copies) = (*frames + sa.seen.count, *copies + copied);
        turned += if copied > 0 && is_turned_back(state, sa) { copied } else { 0 };
    }
    // Packets that were seen in no tunnel, too, are shown by a mirror on both sides of the router that tunnels them.
    let is_tunnelled = |((src, dst), (frames, copies)): &(&(Address, Address), &(u64, u64))| {
        let inside = state.tables.flows.find(&FlowKey { src: *src, dst: *dst, inner: true });
        let inside = inside.and_then(|id| state.flows.get(id));
        *copies > 0 && inside.is_some_and(|inside| is_nearly_all(inside.count, *frames))
    };
    let in_tunnels: u64 = ends.iter().filter(is_tunnelled).map(|(_, (_, copies))| copies).sum();
    let others = if in_tunnels > 0 { in_tunnels.min(copies_of_other_tunnels(state)) } else { 0 };
    others.max(turned).saturating_mul(2) > state.copies.copies().count
}

/// Copies between the ends of tunnels without IPsec that carry copies of packets of SAs only: the originals have other ends.
fn copies_of_other_tunnels(state: &StreamState) -> u64 {
    let mut tunnels: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (key, cell) in state.sizes.visible.iter() {
        let Some(path) = state.tables.paths.get(key.path).filter(|path| path.sa == NONE) else { continue };
        let name = state.tables.stacks.get(path.stack).map(|shape| stack_name(*shape)).unwrap_or_default();
        if name.ends_with("/esp") || name.ends_with("/ah") || name.contains("/ah/") {
            let (frames, copies) = tunnels.entry(path.pair).or_default();
            (*frames, *copies) = (*frames + cell.seen.count, *copies + cell.copies);
        }
    }
    tunnels.values().filter(|(frames, copies)| is_nearly_all(*copies, *frames)).map(|(_, copies)| copies).sum()
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
