//! Pairs by order, and how long apart their timestamps usually are.

use crate::matching::Matcher;
use crate::matching::order::delay::{BLOCK, SortedBlock, median_of};
use crate::matching::packets::ledger::{PairBasis, Pairing, Tunnelled, TunnelledFate};
use crate::matching::packets::mapping::Mapping;
use crate::matching::packets::numbers::Lately;

/// Pairs of a part, and the most that one may have.
pub(super) const PART: usize = 32;
pub(super) const LONGEST: usize = 2 * PART;
/// Pairs at either end of a stretch that make its delay, and from how many to how many it is looked at again.
pub(super) const STEP: usize = BLOCK;
pub(super) const ENDS: usize = 2 * BLOCK;

/// A pair by order.
#[derive(Clone, Copy, Debug)]
pub(in crate::matching) struct PlacedPair {
    /// Its place among the packets that are held.
    pub(super) at: usize,
    pub(super) stretch: u32,
    pub(super) plain_ns: i64,
    pub(super) tunnel_ns: i64,
    pub(super) bytes: u32,
    pub(super) esp: Option<u32>,
    /// What its own SA makes of a packet of its length.
    pub(super) made: Made,
    pub(super) sa: u32,
}

/// What an SA makes of a packet of some length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Made {
    /// ESP of this length; `None`: it makes no such packet.
    Length(Option<u32>),
    /// Not known: it may make ESP of any length.
    Anything,
}

impl Made {
    /// What a mapping makes of a packet of this length.
    pub(super) fn by(mapping: Option<Mapping>, bytes: u32) -> Self {
        mapping.map_or(Self::Anything, |mapping| Self::Length(mapping.esp(bytes)))
    }

    pub(super) fn fits(self, esp: u32) -> bool {
        match self {
            Self::Length(length) => length == Some(esp),
            Self::Anything => true,
        }
    }
}

impl PlacedPair {
    #[inline]
    pub(super) const fn delay(&self) -> i64 {
        self.tunnel_ns.saturating_sub(self.plain_ns)
    }
}

/// The delay in the middle of some pairs, at most [`LONGEST`], and how much theirs varies.
pub(super) fn middle(own: &[PlacedPair]) -> Option<(i64, i64)> {
    if own.len() <= ENDS { middle_of::<ENDS>(own) } else { middle_of::<LONGEST>(own) }
}

fn middle_of<const N: usize>(own: &[PlacedPair]) -> Option<(i64, i64)> {
    let base = median_of::<N>(own.iter().map(PlacedPair::delay))?;
    let spread = median_of::<N>(own.iter().map(|own| own.delay().saturating_sub(base).saturating_abs()))?;
    Some((base, spread))
}

/// The usual delay, and how much it varies.
pub(super) fn usual(own: &[PlacedPair]) -> Option<(i64, f64)> {
    middle(own).map(of_spread)
}

fn of_spread((base, spread): (i64, i64)) -> (i64, f64) {
    (base, spread.max(1_000) as f64)
}

/// The usual delay of the pairs from each [`STEP`]th one on; each lies in two of these stretches, and is sorted once.
pub(super) fn usuals(own: &[PlacedPair]) -> Vec<(i64, f64)> {
    let (blocks, _) = own.as_chunks::<STEP>();
    let blocks: Vec<SortedBlock> =
        blocks.iter().map(|block| SortedBlock::of(block.each_ref().map(PlacedPair::delay))).collect();
    let pairs = blocks.iter().zip(blocks.iter().skip(1));
    pairs.map(|(one, other)| of_spread(one.middle_and_spread(*other))).collect()
}

/// The mean distance of plaintext packets, in nanoseconds.
pub(super) fn distance(own: &[PlacedPair]) -> f64 {
    let (Some(first), Some(last)) = (own.first(), own.last()) else { return 0.0 };
    last.plain_ns.saturating_sub(first.plain_ns) as f64 / own.len().saturating_sub(1).max(1) as f64
}

#[inline]
pub(super) fn change(one: &PlacedPair, other: &PlacedPair) -> i64 {
    other.delay().saturating_sub(one.delay()).saturating_abs()
}

impl Matcher {
    /// The pairs by order of each lane, and the places of those that were made out of order.
    /// `lanes`: room for them.
    pub(super) fn members(&self, held: &[Tunnelled], lanes: &mut [Vec<PlacedPair>; 2]) -> [Vec<usize>; 2] {
        lanes.iter_mut().for_each(Vec::clear);
        let mut loose: [Vec<usize>; 2] = Default::default();
        let mut latest = Lately::default();
        for (at, packet) in held.iter().enumerate() {
            let TunnelledFate::Paired(Pairing { plain, basis: PairBasis::Order, stretch, .. }) = &packet.fate else {
                continue;
            };
            let (Some(plain_ns), Some(tunnel_ns)) = (plain.time.ns(), packet.time.ns()) else { continue };
            let sa = packet.sa;
            let (Some(lane), mapping) = latest.of(sa, || (self.order.lane(sa), self.order.mapping(sa))) else {
                continue;
            };
            if *stretch == 0 {
                loose.get_mut(lane).into_iter().for_each(|loose| loose.push(at));
                continue;
            }
            let esp = packet.esp.filter(|_| packet.complete);
            let (bytes, made) = (plain.bytes, Made::by(mapping, plain.bytes));
            let member = PlacedPair { at, stretch: *stretch, plain_ns, tunnel_ns, bytes, esp, made, sa };
            let Some(members) = lanes.get_mut(lane) else { continue };
            members.push(member);
        }
        loose
    }
}
