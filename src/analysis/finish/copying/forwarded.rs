//! SAs whose packets a router sends on where the tap shows them again: each packet is there twice, and the receiver gets it once.

use std::collections::{BTreeMap, BTreeSet};

use super::is_nearly_all;
use crate::analysis::StreamState;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables::{DirectionKey, FlowKey};
use crate::analysis::state::sa::sas::SaState;
use crate::dissect::stack_name;
use crate::model::{Address, SaKey};

/// What a tap shows of packets that were sent on.
pub(in crate::analysis::finish) struct Forwarded<'s> {
    state: &'s StreamState,
    /// Ends of SAs whose packets came in one tunnel without IPsec and left in another one that begins where the first one ends.
    in_tunnels: BTreeSet<(Address, Address)>,
}

/// Frames of a tunnel, and the copies among them.
#[derive(Clone, Copy, Default)]
pub(super) struct TunnelFrames {
    pub(super) frames: u64,
    pub(super) copies: u64,
}

impl TunnelFrames {
    /// Whether it shows only what another tunnel shows before.
    pub(super) fn is_copied(&self) -> bool {
        is_nearly_all(self.copies, self.frames)
    }
}

impl<'s> Forwarded<'s> {
    pub(in crate::analysis::finish) fn of(state: &'s StreamState) -> Self {
        Self { state, in_tunnels: ends_in_tunnels(state) }
    }

    /// Whether the copies of an SA's packets are these packets as they left again, once each.
    pub(in crate::analysis::finish) fn takes_in(&self, key: &SaKey, sa: &SaState) -> bool {
        let Self { state, in_tunnels } = self;
        are_sent_once(state, sa)
            && (in_tunnels.contains(&(key.src, key.dst)) || turns_back(state, sa))
            && has_few_other_repeats(sa)
    }
}

/// Copies of an SA's packets, and the packets, without those whose number comes again later than copies do.
fn counts(sa: &SaState) -> (u64, u64) {
    let copies = sa.copies.get().frames;
    (copies, sa.seen.count.saturating_sub(copies).saturating_sub(other_repeats(sa)))
}

/// Frames of an SA whose number comes again and that are no copies.
fn other_repeats(sa: &SaState) -> u64 {
    match sa.copies.get().frames {
        0 => 0,
        copies => sa.sequence.finish(copies).map_or(0, |figures| figures.duplicate),
    }
}

/// Whether most packets have one copy.
fn are_sent_once(state: &StreamState, sa: &SaState) -> bool {
    let (copies, packets) = counts(sa);
    copies > 0 && copies <= packets && copies.saturating_mul(2) >= packets && !state.copies.pattern.loops()
}

/// Whether hardly a number of an SA comes again but in its copies. A router that takes about as long as copies are looked for makes others, too: then
/// they are repeats of which nothing is known.
fn has_few_other_repeats(sa: &SaState) -> bool {
    let copies = sa.copies.get().frames;
    is_nearly_all(copies, copies.saturating_add(other_repeats(sa)))
}

/// Whether the packets of an SA go from one MAC address to another, and their copies go back. Other traffic between the two does not matter.
pub(super) fn turns_back(state: &StreamState, sa: &SaState) -> bool {
    let (copies, packets) = counts(sa);
    let directions = &state.tables.directions;
    let rates = |id: u32| state.rates.iter().find(|(own, _)| *own == id).map(|(_, direction)| direction);
    let own = |id: &u32| sa.directions.first() >> *id & 1 == 1;
    are_sent_once(state, sa)
        && (0..u64::BITS).filter(own).any(|id| {
            let Some(DirectionKey::Mac(src, dst)) = directions.get(id) else { return false };
            let back = directions.find(&DirectionKey::Mac(*dst, *src)).filter(|back| *back < u64::BITS && own(back));
            let Some((there, back)) = rates(id).zip(back.filter(|back| *back != id).and_then(rates)) else {
                return false;
            };
            is_nearly_all(there.sums.frames.saturating_sub(there.copies.frames), packets)
                && there.copies.frames.saturating_mul(10) <= copies
                && is_nearly_all(back.copies.frames, copies)
        })
}

/// Ends of SAs whose packets are nearly all in tunnels without IPsec, where each tunnel that shows nothing but copies begins at the end of another one.
fn ends_in_tunnels(state: &StreamState) -> BTreeSet<(Address, Address)> {
    let ends = tunnelled(state);
    if ends.is_empty() {
        return BTreeSet::new();
    }
    let tunnels = tunnels(state);
    let (second, first): (Vec<_>, Vec<_>) = tunnels.iter().partition(|(_, own)| own.is_copied());
    let hubs: BTreeSet<Address> = first.iter().map(|((_, dst), _)| *dst).collect();
    let sent_on: u64 = second.iter().map(|(_, own)| own.copies).sum();
    if second.is_empty() || !second.iter().all(|((src, _), _)| hubs.contains(src)) {
        return BTreeSet::new();
    }
    let copies: u64 = ends.values().map(|own| own.copies).sum();
    // More copies than left in such tunnels have another reason.
    if copies > sent_on { BTreeSet::new() } else { ends.into_keys().collect() }
}

/// Frames between the ends of SAs, of those that have copies and are nearly all in tunnels.
pub(super) fn tunnelled(state: &StreamState) -> BTreeMap<(Address, Address), TunnelFrames> {
    let mut ends: BTreeMap<(Address, Address), TunnelFrames> = BTreeMap::new();
    let sas = || state.tables.sas.iter().filter_map(|(id, key)| Some((key, state.sas.get(id)?)));
    if sas().all(|(_, sa)| sa.copies.get().frames == 0) {
        return ends;
    }
    for (key, sa) in sas() {
        let own = ends.entry((key.src, key.dst)).or_default();
        own.frames += sa.seen.count;
        own.copies += sa.copies.get().frames;
    }
    // Packets that were seen in no tunnel, too, are shown by a mirror on both sides of the router that tunnels them.
    ends.retain(|(src, dst), own| {
        let inside = state.tables.flows.find(&FlowKey { src: *src, dst: *dst, inner: true });
        let inside = inside.and_then(|id| state.flows.get(id));
        own.copies > 0 && inside.is_some_and(|inside| is_nearly_all(inside.count, own.frames))
    });
    ends
}

/// Tunnels without IPsec that carry packets of SAs, by their ends.
pub(super) fn tunnels(state: &StreamState) -> BTreeMap<(Address, Address), TunnelFrames> {
    let mut tunnels: BTreeMap<(Address, Address), TunnelFrames> = BTreeMap::new();
    for (key, cell) in state.sizes.visible.iter() {
        let Some(path) = state.tables.paths.get(key.path).filter(|path| path.sa == NONE) else { continue };
        let name = state.tables.stacks.get(path.stack).map(|shape| stack_name(*shape)).unwrap_or_default();
        if let Some(ends) = state.tables.pair_of(path)
            && (name.ends_with("/esp") || name.ends_with("/ah") || name.contains("/ah/"))
        {
            let own = tunnels.entry(ends).or_default();
            own.frames += cell.seen.count;
            own.copies += cell.copies;
        }
    }
    tunnels
}
