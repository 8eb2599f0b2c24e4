//! What the pairs of one size add up to.

use std::collections::BTreeMap;

use super::quantiles::Quantiles;
use crate::matching::limits::{MAX_SIZES, MAX_TIMED_SIZES};
use crate::matching::packets::ledger::{PairBasis, Tunnelled};
use crate::matching::packets::mapping::Mapping;

/// Sums of the parts of overheads.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct PartSums {
    pub(in crate::matching) outer_ip: u64,
    pub(in crate::matching) udp: u64,
    pub(in crate::matching) tcp: u64,
    pub(in crate::matching) gre: u64,
    pub(in crate::matching) ah: u64,
    pub(in crate::matching) esp_header: u64,
    pub(in crate::matching) iv: u64,
    pub(in crate::matching) esp_pad: u64,
    pub(in crate::matching) esp_trailer: u64,
    pub(in crate::matching) icv: u64,
    pub(in crate::matching) fragmentation: u64,
}

/// One size of one SA.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct SizeTally {
    pub(in crate::matching) frames: u64,
    pub(in crate::matching) outer: (u64, u64),
    pub(in crate::matching) overhead: (i64, i64),
    pub(in crate::matching) overhead_sum: i64,
    pub(in crate::matching) parts: PartSums,
    /// Lengths of opaque ESP, and of it, least.
    pub(in crate::matching) esp: Option<(u32, u32)>,
    pub(in crate::matching) predicted_sum: i64,
    pub(in crate::matching) predicted: u64,
    pub(in crate::matching) carried: u64,
    pub(in crate::matching) padded_further: u64,
    /// `None` for a size beyond those whose times are kept.
    pub(in crate::matching) times: Option<Quantiles>,
    pub(in crate::matching) basis: [u64; 3],
}

/// The sizes of one SA.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct SizeTallies {
    places: BTreeMap<u32, u32>,
    tallies: Vec<SizeTally>,
    /// Sizes that came lately with their places, each at its value modulo the number of these.
    lately: Vec<Option<(u32, u32)>>,
}

impl SizeTallies {
    /// Sizes that are found without a search.
    const LATELY: usize = 128;

    /// The tally of a size, made if there is none and room for it. `all`: how many sizes there are of all SAs.
    pub(in crate::matching) fn tally(&mut self, bytes: u32, all: &mut usize) -> Option<&mut SizeTally> {
        let lately = bytes as usize % Self::LATELY;
        let place = match self.lately.get(lately) {
            Some(Some((own, place))) if *own == bytes => *place,
            _ => {
                let place = self.place(bytes, all)?;
                self.lately.resize(Self::LATELY, None);
                self.lately.get_mut(lately).into_iter().for_each(|own| *own = Some((bytes, place)));
                place
            }
        };
        self.tallies.get_mut(place as usize)
    }

    fn place(&mut self, bytes: u32, all: &mut usize) -> Option<u32> {
        if let Some(place) = self.places.get(&bytes) {
            return Some(*place);
        }
        if *all >= MAX_SIZES {
            return None;
        }
        *all += 1;
        let place = self.tallies.len() as u32;
        self.tallies.push(SizeTally::new(*all <= MAX_TIMED_SIZES));
        self.places.insert(bytes, place);
        Some(place)
    }

    pub(in crate::matching) fn get(&self, bytes: u32) -> Option<&SizeTally> {
        self.tallies.get(*self.places.get(&bytes)? as usize)
    }

    /// All sizes, the smallest first.
    pub(in crate::matching) fn iter(&self) -> impl Iterator<Item = (u32, &SizeTally)> {
        self.places.iter().filter_map(|(bytes, place)| Some((*bytes, self.tallies.get(*place as usize)?)))
    }
}

impl SizeTally {
    /// `timed`: whether its times are kept.
    pub(in crate::matching) fn new(timed: bool) -> Self {
        Self { times: timed.then(Quantiles::default), ..Self::default() }
    }

    /// Counts a pair.
    pub(in crate::matching) fn add(
        &mut self,
        packet: &Tunnelled,
        inner: u32,
        basis: PairBasis,
        mapping: Option<Mapping>,
        carried: Option<bool>,
    ) {
        let outer = u64::from(packet.outer_bytes);
        let overhead = outer as i64 - i64::from(inner);
        let first = self.frames == 0;
        self.outer = if first { (outer, outer) } else { (self.outer.0.min(outer), self.outer.1.max(outer)) };
        self.overhead =
            if first { (overhead, overhead) } else { (self.overhead.0.min(overhead), self.overhead.1.max(overhead)) };
        self.frames += 1;
        self.overhead_sum += overhead;
        if let Some(count) = self.basis.get_mut(basis as usize) {
            *count += 1;
        }
        self.carried += u64::from(carried == Some(true));
        let costs = packet.costs;
        let pieces = u64::from(packet.pieces.saturating_sub(1));
        let header = if packet.marks.dont_fragment.is_some() { 20 } else { 48 };
        let sums = &mut self.parts;
        sums.outer_ip += u64::from(costs.outer_ip);
        sums.udp += u64::from(costs.udp);
        sums.tcp += u64::from(costs.tcp);
        sums.gre += u64::from(costs.gre) + u64::from(costs.link) + u64::from(costs.ipcomp);
        sums.ah += u64::from(costs.ah);
        sums.fragmentation += pieces * header;
        let around = u64::from(costs.outer_ip)
            + u64::from(costs.udp)
            + u64::from(costs.tcp)
            + u64::from(costs.gre)
            + u64::from(costs.ah)
            + u64::from(costs.ipcomp)
            + u64::from(costs.link)
            + pieces * header;
        let predicted = match packet.inner {
            Some(visible) => {
                let esp = visible.esp;
                sums.esp_header += u64::from(esp.header);
                sums.iv += u64::from(esp.iv);
                sums.esp_pad += u64::from(esp.pad);
                sums.esp_trailer += u64::from(esp.trailer);
                sums.icv += u64::from(esp.icv);
                let fixed = esp.header + esp.iv + esp.trailer + esp.icv;
                // No more padding than the block needs.
                let pad = if esp.block > 0 { esp.pad % esp.block } else { 0 };
                self.padded_further += u64::from(esp.block > 0 && esp.pad >= esp.block);
                (costs.ipcomp == 0).then(|| around + u64::from(fixed + pad))
            }
            None => packet.esp.zip(mapping.and_then(|mapping| mapping.esp(inner))).map(|(seen, made)| {
                let (least, most) = self.esp.unwrap_or((seen, seen));
                self.esp = Some((least.min(seen), most.max(seen)));
                (outer + u64::from(made)).saturating_sub(u64::from(seen) + u64::from(inner))
            }),
        };
        if let Some(predicted) = predicted {
            self.predicted += 1;
            self.predicted_sum += predicted as i64;
        }
    }
}
