//! What the pairs of one size add up to.

use std::collections::BTreeMap;

use super::quantiles::Quantiles;
use crate::dissect::Costs;
use crate::matching::limits::{MAX_SIZES, MAX_TIMED_SIZES};
use crate::matching::packets::ledger::{EspParts, PairBasis, Tunnelled};
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

/// What a pair adds to the figures of its size besides its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct SizedPair {
    inner_bytes: u32,
    outer_bytes: u32,
    pieces: u16,
    costs: Costs,
    is_v4: bool,
    /// Parts of ESP where they are visible.
    inside: Option<EspParts>,
    /// Length of opaque ESP.
    esp: Option<u32>,
    basis: PairBasis,
    mapping: Option<Mapping>,
    carried: Option<bool>,
}

impl SizedPair {
    /// `mapping`: that of its SA; `carried`: whether padding of its plaintext frame is in the tunnel.
    #[inline]
    pub(in crate::matching) fn of(
        packet: &Tunnelled,
        inner_bytes: u32,
        basis: PairBasis,
        mapping: Option<Mapping>,
        carried: Option<bool>,
    ) -> Self {
        Self {
            inner_bytes,
            outer_bytes: packet.outer_bytes,
            pieces: packet.pieces,
            costs: packet.costs,
            is_v4: packet.marks.dont_fragment.is_some(),
            inside: packet.inner.map(|inner| inner.esp),
            esp: packet.esp,
            basis,
            mapping,
            carried,
        }
    }
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
    /// The latest pairs, which are alike, and how many they are: not in the sums yet.
    alike: Option<(SizedPair, u64)>,
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

    /// Sums up the pairs that are only counted yet.
    pub(in crate::matching) fn settle(&mut self) {
        self.tallies.iter_mut().for_each(SizeTally::settle);
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

    /// Counts a pair. Most pairs of a size are alike but for their times: they are counted, and summed up when another comes.
    #[inline]
    pub(in crate::matching) fn add(&mut self, pair: SizedPair) {
        match &mut self.alike {
            Some((own, count)) if *own == pair => *count += 1,
            _ => {
                self.settle();
                self.alike = Some((pair, 1));
            }
        }
    }

    /// Sums up the pairs that are only counted yet.
    pub(in crate::matching) fn settle(&mut self) {
        let Some((pair, count)) = self.alike.take() else { return };
        let SizedPair { inner_bytes, outer_bytes, pieces, costs, is_v4, inside, esp, basis, mapping, carried } = pair;
        let outer = u64::from(outer_bytes);
        let overhead = outer as i64 - i64::from(inner_bytes);
        let first = self.frames == 0;
        self.outer = if first { (outer, outer) } else { (self.outer.0.min(outer), self.outer.1.max(outer)) };
        self.overhead =
            if first { (overhead, overhead) } else { (self.overhead.0.min(overhead), self.overhead.1.max(overhead)) };
        self.frames += count;
        let times = count as i64;
        self.overhead_sum += overhead * times;
        if let Some(own) = self.basis.get_mut(basis as usize) {
            *own += count;
        }
        self.carried += u64::from(carried == Some(true)) * count;
        let pieces = u64::from(pieces.saturating_sub(1));
        let fragmentation = pieces * if is_v4 { 20 } else { 48 };
        self.parts.add(&costs, fragmentation, inside, count);
        let around = u64::from(costs.outer_ip) + u64::from(costs.behind_ip()) + fragmentation;
        let predicted = match inside {
            Some(esp) => {
                let fixed = u64::from(esp.header) + u64::from(esp.iv) + u64::from(esp.trailer) + u64::from(esp.icv);
                // No more padding than the block needs.
                let pad = u64::from(esp.pad.checked_rem(esp.block).unwrap_or(0));
                self.padded_further += u64::from(esp.block > 0 && esp.pad >= esp.block) * count;
                (costs.ipcomp == 0).then(|| around + fixed + pad)
            }
            None => esp.zip(mapping.and_then(|mapping| mapping.esp(inner_bytes))).map(|(seen, made)| {
                let (least, most) = self.esp.unwrap_or((seen, seen));
                self.esp = Some((least.min(seen), most.max(seen)));
                (outer + u64::from(made)).saturating_sub(u64::from(seen) + u64::from(inner_bytes))
            }),
        };
        if let Some(predicted) = predicted {
            self.predicted += count;
            self.predicted_sum += predicted as i64 * times;
        }
    }
}

impl PartSums {
    /// Adds pairs that are alike; `inside`: the parts of ESP that are visible.
    fn add(&mut self, costs: &Costs, fragmentation: u64, inside: Option<EspParts>, count: u64) {
        let Costs { outer_ip, udp, tcp, gre, ah, ipcomp, link } = *costs;
        self.outer_ip += u64::from(outer_ip) * count;
        self.udp += u64::from(udp) * count;
        self.tcp += u64::from(tcp) * count;
        self.gre += (u64::from(gre) + u64::from(link) + u64::from(ipcomp)) * count;
        self.ah += u64::from(ah) * count;
        self.fragmentation += fragmentation * count;
        let Some(EspParts { header, iv, pad, trailer, icv, block: _ }) = inside else { return };
        self.esp_header += u64::from(header) * count;
        self.iv += u64::from(iv) * count;
        self.esp_pad += u64::from(pad) * count;
        self.esp_trailer += u64::from(trailer) * count;
        self.icv += u64::from(icv) * count;
    }
}
