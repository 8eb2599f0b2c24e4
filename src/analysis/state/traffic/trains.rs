//! Which fragments of one key are one packet.
//!
//! A packet is byte ranges that fit together once; where a range repeats, another packet begins that bears the same identification. Where
//! fragments fit together in more than one way the packets are counted, and none of them has a size.

use serde::{Deserialize, Serialize};

use crate::analysis::limits::{MAX_DIRECTIONS, MAX_FLOWS};
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Costs, NullPeek};
use crate::model::{FramePos, Shift, Timestamp, all_bits};

/// One fragment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::analysis) struct Piece {
    pub(in crate::analysis) pos: FramePos,
    pub(in crate::analysis) time: Timestamp,
    /// The octets of the packet's payload that it carries.
    pub(in crate::analysis) start: u32,
    pub(in crate::analysis) end: u32,
    pub(in crate::analysis) more: bool,
    /// It is a copy that a TAP made.
    pub(in crate::analysis) copy: bool,
    pub(in crate::analysis) ip_bytes: u32,
    pub(in crate::analysis) header_bytes: u32,
    pub(in crate::analysis) l1_bytes: u64,
    #[serde(serialize_with = "all_bits")]
    pub(in crate::analysis) digest: u64,
    /// The flow in clear that it seems to be of, if its packet is UDP or TCP: its first fragment alone shows what it carries.
    pub(in crate::analysis) flow: u32,
    /// What only the first fragment of a packet tells.
    pub(in crate::analysis) first: Option<Box<FirstFragment>>,
}

/// What only the first fragment tells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::analysis) struct FirstFragment {
    pub(in crate::analysis) path: u32,
    pub(in crate::analysis) inner_bytes: u32,
    /// Octets behind the outer IP header that the encapsulated packet and the headers in front of it need.
    pub(in crate::analysis) needed: u32,
    pub(in crate::analysis) sas: Vec<(u32, bool)>,
    pub(in crate::analysis) null: Option<NullFirst>,
}

/// The beginning of an ESP packet, as it reads if the SA is ESP-NULL.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(in crate::analysis) struct NullFirst {
    pub(in crate::analysis) sa: u32,
    pub(in crate::analysis) owner: u32,
    pub(in crate::analysis) costs: Costs,
    pub(in crate::analysis) stack: u32,
    pub(in crate::analysis) direction: u32,
    /// Octets of ESP in this fragment.
    pub(in crate::analysis) esp_bytes: u32,
    pub(in crate::analysis) peeks: Vec<NullPeek>,
}

/// The number that stands for IKE of a direction, where that of an SA stands: its later fragments show no more than an IP header.
pub(super) const fn ike_of(direction: u32) -> u32 {
    NONE - 1 - direction
}

/// Number of a flow on an unusual UDP port whose datagrams may be ESP; all of its packets decide.
pub(super) const fn suspects_of(flow: u32) -> u32 {
    NONE - 1 - MAX_DIRECTIONS as u32 - flow
}

/// The flow with this number.
pub(in crate::analysis) const fn flow_of_suspects(owner: u32) -> Option<u32> {
    let flow = (NONE - 1 - MAX_DIRECTIONS as u32).saturating_sub(owner);
    let is_flow = owner < NONE - MAX_DIRECTIONS as u32 && flow < MAX_FLOWS as u32;
    if is_flow { Some(flow) } else { None }
}

/// Number of a flow with later fragments of UDP or TCP whose first fragment was not seen.
pub(super) const fn headless_of(flow: u32) -> u32 {
    NONE - 1 - MAX_DIRECTIONS as u32 - MAX_FLOWS as u32 - flow
}

/// The flow with this number.
pub(in crate::analysis) const fn flow_of_headless(owner: u32) -> Option<u32> {
    let flow = (NONE - 1 - MAX_DIRECTIONS as u32 - MAX_FLOWS as u32).saturating_sub(owner);
    let is_flow = owner < NONE - MAX_DIRECTIONS as u32 - MAX_FLOWS as u32 && flow < MAX_FLOWS as u32;
    if is_flow { Some(flow) } else { None }
}

/// The direction whose IKE this number stands for.
pub(in crate::analysis) const fn direction_of_ike(owner: u32) -> Option<u32> {
    let direction = (NONE - 1).saturating_sub(owner);
    if owner != NONE && direction < MAX_DIRECTIONS as u32 { Some(direction) } else { None }
}

/// The number of an SA, or what stands in its place, in the tables of the span before.
pub(super) fn remap_owner(map: &Remap, owner: u32) -> u32 {
    if let Some(flow) = flow_of_suspects(owner) {
        let flow = remap(&map.flows, flow);
        return if flow < MAX_FLOWS as u32 { suspects_of(flow) } else { NONE };
    }
    if let Some(flow) = flow_of_headless(owner) {
        let flow = remap(&map.flows, flow);
        return if flow < MAX_FLOWS as u32 { headless_of(flow) } else { NONE };
    }
    match direction_of_ike(owner) {
        Some(direction) => {
            let direction = remap(&map.directions, direction);
            if direction < MAX_DIRECTIONS as u32 { ike_of(direction) } else { NONE }
        }
        None => remap(&map.sas, owner),
    }
}

/// Fragments that are one packet, or what was seen of it.
#[derive(Default)]
pub(in crate::analysis) struct Train<'p> {
    pub(in crate::analysis) pieces: Vec<&'p Piece>,
    /// The same fragments again, later than a copy would be.
    pub(in crate::analysis) again: Vec<&'p Piece>,
    /// Its fragments fit together in another way, too.
    pub(in crate::analysis) uncertain: bool,
}

impl Piece {
    pub(in crate::analysis) fn remapped(mut self, shift: Shift, map: &Remap) -> Self {
        self.pos = self.pos.shifted(shift);
        self.flow = remap(&map.flows, self.flow);
        if let Some(first) = &mut self.first {
            first.path = remap(&map.paths, first.path);
            for (sa, _) in &mut first.sas {
                *sa = remap_owner(map, *sa);
            }
            if let Some(null) = &mut first.null {
                null.sa = remap(&map.sas, null.sa);
                null.owner = remap(&map.sas, null.owner);
                null.stack = remap(&map.stacks, null.stack);
                null.direction = remap(&map.directions, null.direction);
            }
        }
        self
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    fn repeats(&self, other: &Self) -> bool {
        (self.start, self.end, self.more, self.digest) == (other.start, other.end, other.more, other.digest)
    }

    /// Whether both can be of one packet.
    pub(in crate::analysis) fn agrees(&self, other: &Self) -> bool {
        !self.overlaps(other) && (self.more || other.end <= self.start) && (other.more || self.end <= other.start)
    }
}

impl<'p> Train<'p> {
    fn of(piece: &'p Piece) -> Self {
        Self { pieces: vec![piece], ..Self::default() }
    }

    /// Whether every fragment is there, and holds what the packet inside needs.
    pub(in crate::analysis) fn is_complete(&self) -> bool {
        let Some(end) = self.end() else { return false };
        let there: u64 = self.pieces.iter().map(|piece| u64::from(piece.end.saturating_sub(piece.start))).sum();
        there == u64::from(end) && self.first().is_some_and(|first| first.needed <= end)
    }

    /// Octets of the packet's payload, once its last fragment was seen.
    pub(in crate::analysis) fn end(&self) -> Option<u32> {
        self.pieces.iter().find(|piece| !piece.more).map(|piece| piece.end)
    }

    pub(in crate::analysis) fn first(&self) -> Option<&'p FirstFragment> {
        self.pieces.iter().find_map(|piece| piece.first.as_deref())
    }

    /// The flow under which its fragments are counted where the first of them, with the ports, is missing.
    pub(in crate::analysis) fn headless(&self) -> u32 {
        let flow = self.pieces.first().map_or(NONE, |piece| piece.flow);
        if flow < MAX_FLOWS as u32 { headless_of(flow) } else { NONE }
    }

    /// Where it was seen, as one packet.
    pub(in crate::analysis) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        self.pieces.iter().for_each(|piece| seen.add(piece.pos, piece.time));
        seen.count = 1;
        seen
    }

    /// The frames of its fragments.
    pub(in crate::analysis) fn frames(&self) -> Listed {
        let pieces = self.pieces.iter().chain(&self.again);
        let mut at: Vec<_> = pieces.map(|piece| (piece.pos, piece.time)).collect();
        at.sort_unstable_by_key(|(pos, _)| *pos);
        let mut frames = Listed::default();
        at.into_iter().for_each(|(pos, time)| frames.add(pos, time));
        frames
    }
}

/// Whether the last fragment completes a packet whose fragments came one after the other, in order. A copy completes nothing for certain:
/// it may be of the packet before, whose copies come after the next one has begun.
pub(in crate::analysis) fn ends_in_order(pieces: &[Piece]) -> bool {
    let is_own = pieces.last().is_some_and(|last| !last.copy);
    is_own && (whole_end(pieces.iter()).is_some() || whole_end(pieces.iter().filter(|piece| !piece.copy)).is_some())
}

/// Whether fragments end with a packet that is whole with a copy at its end, of which the next fragment is no part.
pub(in crate::analysis) fn is_whole_before(pieces: &[Piece], next: &Piece) -> bool {
    let copied = pieces.last().is_some_and(|last| last.copy) && !next.copy;
    let whole = if copied { whole_end(pieces.iter()) } else { None };
    let own = |count| pieces.iter().rev().take(count).filter(|piece| !piece.copy);
    whole.is_some_and(|count| own(count).any(|piece| !piece.agrees(next)))
}

/// How many of the last fragments are a packet, one after the other in order.
fn whole_end<'p>(pieces: impl DoubleEndedIterator<Item = &'p Piece>) -> Option<usize> {
    let mut pieces = pieces.rev();
    let last = pieces.next().filter(|last| !last.more)?;
    let (mut start, mut count) = (last.start, 1);
    for piece in pieces {
        if start == 0 || piece.end != start || !piece.more {
            break;
        }
        start = piece.start;
        count += 1;
    }
    (start == 0).then_some(count)
}

/// Divides the fragments of one key into packets. Copies are only for what packets lack without them.
pub(in crate::analysis) fn trains(pieces: &[Piece]) -> Vec<Train<'_>> {
    let mut trains: Vec<Train<'_>> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.copy) {
        if let Some(train) = trains.iter_mut().find(|train| train.pieces.iter().any(|own| own.repeats(piece))) {
            train.again.push(piece);
            continue;
        }
        let mut fits = trains.iter_mut().filter(|train| train.pieces.iter().all(|own| own.agrees(piece)));
        match (fits.next(), fits.next()) {
            (Some(one), None) => one.pieces.push(piece),
            (Some(one), Some(another)) => {
                one.pieces.push(piece);
                one.uncertain = true;
                another.uncertain = true;
                fits.for_each(|train| train.uncertain = true);
            }
            (None, _) => {
                // Ranges that overlap by a part fit no whole packet; which octets count is the receiver's decision.
                let partly = |own: &Piece| own.overlaps(piece) && (own.start, own.end) != (piece.start, piece.end);
                let mut train = Train::of(piece);
                for other in trains.iter_mut().filter(|other| other.pieces.iter().any(|own| partly(own))) {
                    other.uncertain = true;
                    train.uncertain = true;
                }
                trains.push(train);
            }
        }
    }
    for piece in pieces.iter().filter(|piece| piece.copy) {
        let lacks = |train: &&mut Train<'_>| !train.is_complete() && train.pieces.iter().all(|own| own.agrees(piece));
        if let Some(train) = trains.iter_mut().find(lacks) {
            train.pieces.push(piece);
            train.pieces.sort_by_key(|piece| piece.pos);
        }
    }
    if trains.len() > 1 && !trains.iter().all(Train::is_complete) {
        trains.iter_mut().for_each(|train| train.uncertain = true);
    }
    trains
}
