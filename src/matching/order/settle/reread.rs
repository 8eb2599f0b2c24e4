//! Packets that contradict the mapping of lengths of their SA.
//!
//! The first packets may have lengths that several transforms make alike. The mapping that is taken for them goes on only as long as no packet
//! contradicts it: an SA has one transform, so that one length that it never makes excludes it. Of the mappings that make all lengths that are
//! paired, the one that makes the contradicting packets, too, takes its place before these are settled.

use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::FixedState;

use super::LaneBlock;
use crate::matching::order::align;
use crate::matching::order::lane::{Lane, PlainItem};
use crate::matching::order::pairs::SaInfo;
use crate::matching::order::refit::possible;
use crate::matching::packets::flows::FlowId;
use crate::matching::packets::ledger::{Ledger, PlainFate, Serial};
use crate::matching::packets::mapping::{Mapping, candidates};
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvPattern;

/// Packets that are no stray.
const SEVERAL: usize = 2;
/// Packets that speak against a mapping that might make their length out of others.
const MORE: usize = 3;
/// Contradicting packets that are remembered.
const REMEMBERED: usize = 16;
/// Mappings that are replaced at most in one direction.
const REREADS: u32 = 8;
/// Of the pairs so far, 1 in N may have been wrong under the old mapping.
const OF_KEPT: u64 = 256;
/// Usual deviations within which a plaintext packet may be the one of a packet in the tunnel, the least of it in nanoseconds, and how many are looked at.
const SPREADS: f64 = 8.0;
const LEAST: f64 = 150_000.0;
const NEAR: usize = 8;

/// What other mappings are looked for with.
pub(in crate::matching) struct Readings<'r> {
    pub(in crate::matching) catalogue: &'r Catalogue,
    pub(in crate::matching) sas: &'r [SaInfo],
    /// Given transforms, by SA.
    pub(in crate::matching) given: &'r HashMap<u32, Mapping, FixedState>,
}

/// How many plaintext packets of each length are paired.
#[derive(Debug, Default)]
pub(in crate::matching) struct KeptLengths(Vec<u32>);

impl KeptLengths {
    /// One more of this length.
    #[inline]
    pub(in crate::matching) fn add(&mut self, bytes: u32) {
        let at = bytes as usize;
        if at >= self.0.len() {
            self.0.resize((at + 1).next_multiple_of(1 << 9), 0);
        }
        self.0.get_mut(at).into_iter().for_each(|count| *count = count.saturating_add(1));
    }

    /// Each length with its count.
    fn each(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(&self.0).filter(|(_, count)| **count > 0).map(|(bytes, count)| (bytes, u64::from(*count)))
    }
}

/// A packet in the tunnel whose length its mapping makes out of no plaintext packet of its time.
#[derive(Clone, Debug)]
pub(in crate::matching) struct Contradiction {
    sa: u32,
    mapping: u8,
    esp: u32,
    /// Lengths of the plaintext packets of its time.
    near: Vec<u32>,
    /// Whether the mapping never makes this length.
    excluded: bool,
}

impl Contradiction {
    /// Whether a mapping makes its length out of a plaintext packet of its time.
    fn is_made(&self, by: &Mapping) -> bool {
        self.near.iter().any(|bytes| by.esp(*bytes) == Some(self.esp))
    }
}

impl Lane {
    /// Replaces the mapping that packets of a block contradict, if another one makes what is paired and these, too. Whether it did: then the block
    /// is to be aligned again. `end`: how many places are to be settled.
    pub(super) fn reread(
        &mut self,
        ledger: &Ledger,
        readings: &Readings<'_>,
        block: &LaneBlock,
        (end, aligned): (usize, &align::Aligned),
    ) -> bool {
        if self.rereads >= REREADS {
            return false;
        }
        let mut found = self.contradicting(ledger, block, (end, aligned));
        found.retain(|own| !readings.given.contains_key(&own.sa));
        let Some((sa, number)) = found.iter().max_by_key(|own| own.excluded).map(|own| (own.sa, own.mapping)) else {
            return false;
        };
        let of_mapping = self.contradictions.iter().chain(&found).filter(|own| own.mapping == number);
        let all: Vec<Contradiction> = of_mapping.cloned().collect();
        let other = self.other(ledger, readings, (block, sa, number), &all);
        if let Some(other) = other {
            self.mappings.replace(number, other);
            self.contradictions.clear();
            self.rereads += 1;
            return true;
        }
        self.contradictions.extend(found);
        while self.contradictions.len() > REMEMBERED {
            self.contradictions.pop_front();
        }
        false
    }

    /// The packets of a block that contradict their mappings.
    fn contradicting(
        &self,
        ledger: &Ledger,
        block: &LaneBlock,
        (end, aligned): (usize, &align::Aligned),
    ) -> Vec<Contradiction> {
        let Some((delay, base)) = self.delay.and_then(|delay| Some((delay, delay.base? as i64))) else {
            return Vec::new();
        };
        let width = (SPREADS * delay.spread.max(delay.jitter)).max(LEAST) as i64;
        let alone = block.places.iter().zip(&block.tunnelled).zip(aligned).take(end);
        let alone = alone.filter(|((_, row), found)| found.is_none() && !row.hole);
        let mut taken: Option<HashSet<Serial, FixedState>> = None;
        let mut found: Vec<Contradiction> = Vec::new();
        for ((place, row), _) in alone {
            let Some((esp, own)) = row.esp.zip(self.mappings.at(row.mapping)) else { continue };
            let excluded = !own.allows(esp);
            let taken = taken.get_or_insert_with(|| {
                let paired = aligned.iter().flatten().filter_map(|(at, _)| block.candidates.get(*at));
                paired.map(|(_, item)| item.serial).collect()
            });
            // What an excluded mapping has paired beside it may be wrong, too.
            let is_free = |item: &&PlainItem| {
                (excluded || !taken.contains(&item.serial))
                    && ledger.plain.get(item.serial).is_some_and(|packet| packet.fate == PlainFate::Waiting)
            };
            let sent = row.ns.saturating_sub(base);
            let from = self.plain.partition_point(|item| item.ns < sent.saturating_sub(width));
            let near = self.plain.range(from..).take_while(|item| item.ns <= sent.saturating_add(width));
            let near = near.filter(is_free).take(NEAR).map(|item| item.bytes).collect();
            let own_contradiction = Contradiction { sa: place.item.sa, mapping: row.mapping, esp, near, excluded };
            if excluded || !own_contradiction.near.is_empty() && !own_contradiction.is_made(&own) {
                found.push(own_contradiction);
            }
        }
        found
    }

    /// The mapping that makes most of the contradicting packets, and the lengths that are paired as this one does; of several the likeliest.
    fn other(
        &self,
        ledger: &Ledger,
        readings: &Readings<'_>,
        (block, sa, number): (&LaneBlock, u32, u8),
        all: &[Contradiction],
    ) -> Option<Mapping> {
        let own = self.mappings.at(number)?;
        let excluding = all.iter().filter(|own| own.excluded).count();
        if excluding == 0 && (self.partial || all.len() < MORE) {
            return None;
        }
        let info = readings.sas.get(sa as usize)?;
        let flows: BTreeSet<FlowId> = block.candidates.iter().map(|(_, item)| item.flow).collect();
        let rows = block.tunnelled.iter().filter(|row| row.mapping == number && !row.hole).filter_map(|row| row.esp);
        let seen: BTreeSet<u32> = rows.chain(all.iter().map(|own| own.esp)).collect();
        let paired = self.kept.each().filter_map(|(bytes, _)| own.esp(bytes));
        let lengths: Vec<u32> = paired.chain(seen.iter().copied()).collect::<BTreeSet<u32>>().into_iter().collect();
        let families = readings.catalogue.weighed(&lengths, IvPattern::of(&info.ivs));
        let kept: u64 = self.kept.each().map(|(_, count)| count).sum();
        let agrees = |other: &Mapping| {
            let differs = self.kept.each().filter(|(bytes, _)| other.esp(*bytes) != own.esp(*bytes));
            differs.map(|(_, count)| count).sum::<u64>() * OF_KEPT <= kept
        };
        let mut best: Option<(usize, Mapping)> = None;
        for (_, inside, family) in candidates(families, &possible(info, &flows, ledger)) {
            let other = Mapping { family, inside, floor: own.floor };
            let made = all.iter().filter(|own| own.is_made(&other)).count();
            if best.is_none_or(|(most, _)| made > most)
                && other != own
                && seen.iter().all(|esp| other.allows(*esp))
                && agrees(&other)
            {
                best = Some((made, other));
            }
        }
        let (made, other) = best?;
        let is_told =
            if excluding > 0 { made > 0 || excluding >= SEVERAL } else { made >= MORE && made * 2 > all.len() };
        is_told.then_some(other)
    }
}
