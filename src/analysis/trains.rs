//! Which fragments of one key are one packet.
//!
//! A packet is byte ranges that fit together once; where a range repeats, another packet begins that bears the same identification. Where
//! fragments fit together in more than one way the packets are counted, and none of them has a size.

use serde::{Deserialize, Serialize};

use super::intern::remap;
use super::seen::Seen;
use super::tables::Remap;
use crate::dissect::{Costs, NullPeek};
use crate::model::{FramePos, Shift, Timestamp};

/// One fragment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) pos: FramePos,
    pub(super) time: Timestamp,
    /// The octets of the packet's payload that it carries.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) more: bool,
    /// It is a copy that a TAP made.
    pub(super) copy: bool,
    pub(super) ip_bytes: u32,
    pub(super) header_bytes: u32,
    pub(super) l1_bytes: u64,
    pub(super) digest: u64,
    /// What only the first fragment of a packet tells.
    pub(super) first: Option<Box<FirstFragment>>,
}

/// What only the first fragment tells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct FirstFragment {
    pub(super) path: u32,
    pub(super) inner_bytes: u32,
    /// Octets behind the outer IP header that the encapsulated packet and the headers in front of it need.
    pub(super) needed: u32,
    pub(super) sas: Vec<(u32, bool)>,
    pub(super) null: Option<NullFirst>,
}

/// The beginning of an ESP packet, as it reads if the SA is ESP-NULL.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct NullFirst {
    pub(super) sa: u32,
    pub(super) owner: u32,
    pub(super) costs: Costs,
    pub(super) stack: u32,
    pub(super) direction: u32,
    /// Octets of ESP in this fragment.
    pub(super) esp_bytes: u32,
    pub(super) peeks: Vec<NullPeek>,
}

/// Fragments that are one packet, or what was seen of it.
#[derive(Default)]
pub(super) struct Train<'p> {
    pub(super) pieces: Vec<&'p Piece>,
    /// The same fragments again, later than a copy would be.
    pub(super) again: Vec<&'p Piece>,
    /// Its fragments fit together in another way, too.
    pub(super) uncertain: bool,
}

impl Piece {
    pub(super) fn remapped(mut self, shift: Shift, map: &Remap) -> Self {
        self.pos = self.pos.shifted(shift);
        if let Some(first) = &mut self.first {
            first.path = remap(&map.paths, first.path);
            for (sa, _) in &mut first.sas {
                *sa = remap(&map.sas, *sa);
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
    pub(super) fn agrees(&self, other: &Self) -> bool {
        !self.overlaps(other) && (self.more || other.end <= self.start) && (other.more || self.end <= other.start)
    }
}

impl<'p> Train<'p> {
    fn of(piece: &'p Piece) -> Self {
        Self { pieces: vec![piece], ..Self::default() }
    }

    /// Whether every fragment is there, and holds what the packet inside needs.
    pub(super) fn is_complete(&self) -> bool {
        let Some(end) = self.end() else { return false };
        let there: u64 = self.pieces.iter().map(|piece| u64::from(piece.end.saturating_sub(piece.start))).sum();
        there == u64::from(end) && self.first().is_some_and(|first| first.needed <= end)
    }

    /// Octets of the packet's payload, once its last fragment was seen.
    pub(super) fn end(&self) -> Option<u32> {
        self.pieces.iter().find(|piece| !piece.more).map(|piece| piece.end)
    }

    pub(super) fn first(&self) -> Option<&'p FirstFragment> {
        self.pieces.iter().find_map(|piece| piece.first.as_deref())
    }

    /// Where it was seen, as one packet.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        self.pieces.iter().for_each(|piece| seen.add(piece.pos, piece.time));
        seen.count = 1;
        seen
    }
}

/// Whether the last fragment completes a packet whose fragments came one after the other, in order.
pub(super) fn ends_in_order(pieces: &[Piece]) -> bool {
    let mut pieces = pieces.iter().rev();
    let Some(last) = pieces.next().filter(|last| !last.more) else { return false };
    let mut start = last.start;
    for piece in pieces {
        if start == 0 || piece.end != start || !piece.more {
            break;
        }
        start = piece.start;
    }
    start == 0
}

/// Divides the fragments of one key into packets.
pub(super) fn trains(pieces: &[Piece]) -> Vec<Train<'_>> {
    let mut trains: Vec<Train<'_>> = Vec::new();
    for piece in pieces {
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
    if trains.len() > 1 && !trains.iter().all(Train::is_complete) {
        trains.iter_mut().for_each(|train| train.uncertain = true);
    }
    trains
}
